"""A set in a container with durability.NAME = relaxed does not wait for its flush where another session will
flush; sets in all other containers wait: the order of the server's system calls."""

import pytest

import mc
from load import Crew, scaled
from server import wait_until
from systemcalls import Durability, Trace
from test_durability import REDO, marker
from test_durability_seen import SLOW_FLUSH

pytestmark = pytest.mark.ours


COMMITTERS = 4
COMMITTING = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE IN ('Commit', 'waiting for handler commit')"


def commit_all_the_time(server, crew, number):
    sql = server.sql()
    while not crew.stopping.is_set():
        sql.run("REPLACE INTO traffic.busy VALUES (%s, UUID())", number)


def early_replies(server, rng, path, rounds):
    """Sets values while SQL commits: one session flushes, and another waits for the next flush. Returns the
    replies that left before the flush that covers them."""
    sql = server.sql()
    sql.run("CREATE DATABASE traffic")
    sql.run("CREATE TABLE traffic.busy (id INT PRIMARY KEY, v CHAR(36))")
    client, promises = mc.connect(server), []
    with Crew() as crew, Trace(server, path, ["-e", SLOW_FLUSH]) as trace:
        for number in range(COMMITTERS):
            crew.start(commit_all_the_time, server, crew, number)
        for _ in range(rounds):
            value = marker(rng)
            opaque = b"O" + value[:16]
            wait_until(lambda: int(sql.value(COMMITTING)) >= 2, 10, "two commits", step_s=0)
            command = f"ms k {len(value)} {opaque.decode()}"
            assert client.command(command, value) == b"HD " + opaque
            promises.append((value[8:40], opaque))
        crew.stop()
        trace.note_replies([client])
    port = int(server.env["MEMCACHED_PORT"])
    return Durability(trace.calls, [REDO], port).violations(promises)


@pytest.mark.parametrize("relaxed", [False, True], ids=["strict", "relaxed"])
def test_only_a_relaxed_container_does_not_wait_for_the_flush(make_server, rng, tmp_path, relaxed):
    server = make_server(options=["--innodb-flush-log-at-trx-commit=1"])
    name = "default" if relaxed else "another"
    server.sql().run("INSERT INTO innodb_memcache.config_options VALUES (%s, 'relaxed')",
                     f"durability.{name}")
    server.stop()  # The setting is read at start, and later within a second.
    server.start()
    early = early_replies(server, rng, tmp_path / "trace", scaled(12))
    assert bool(early) == relaxed, early
    assert all("before" in text for text in early), early
