"""A set in a container with durability.NAME = relaxed does not wait for its flush where another session will
flush; sets in all other containers wait, and so do transactions of RESP in any: the order of the server's system calls."""

import pytest

import mc
import resp
from load import Crew, scaled
from server import run_packaged, wait_until
from system_calls import Durability, Trace
from test_durability import REDO, marker
from test_durability_seen import SLOW_FLUSH

pytestmark = pytest.mark.ours


COMMITTERS = 4
COMMITTING = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE IN ('Commit', 'waiting for handler commit')"


def commit_all_the_time(server, crew, number):
    sql = server.sql()
    while not crew.stopping.is_set():
        sql.run("REPLACE INTO traffic.busy VALUES (%s, UUID())", number)


class Sets:
    """Sets over memcached; each reply shows the text that the set has given."""

    def __init__(self, server):
        self.client, self.port = mc.connect(server), int(server.env["MEMCACHED_PORT"])

    def set(self, value, shown):
        assert self.client.command(f"ms k {len(value)} {shown.decode()}", value) == b"HD " + shown

    def note_replies(self, trace):
        trace.note_replies([self.client])


class Transactions:
    """The same in a MULTI of RESP."""

    def __init__(self, server):
        self.client, self.port = resp.Client(server.resp_port), server.resp_port

    def set(self, value, shown):
        assert self.client.transaction(("SET", "item:k", value), ("ECHO", shown)) == ["OK", shown]

    def note_replies(self, trace):
        self.client.ask("PING")


def early_replies(server, client, rng, path, rounds):
    """Sets values while SQL commits: one session flushes, and another waits for the next flush. Returns the
    replies that left before the flush that covers them."""
    sql = server.sql()
    sql.run("CREATE DATABASE traffic")
    sql.run("CREATE TABLE traffic.busy (id INT PRIMARY KEY, v CHAR(36))")
    promises = []
    with Crew() as crew, Trace(server, path, ["-e", SLOW_FLUSH]) as trace:
        for number in range(COMMITTERS):
            crew.start(commit_all_the_time, server, crew, number)
        for _ in range(rounds):
            value = marker(rng)
            opaque = b"O" + value[:16]
            wait_until(lambda: int(sql.value(COMMITTING)) >= 2, 10, "two commits", step_s=0)
            client.set(value, opaque)
            promises.append((value[8:40], opaque))
        crew.stop()
        client.note_replies(trace)
    return Durability(trace.calls, [REDO], client.port).violations(promises)


def relax(server, name):
    """The setting is read at start, and later within a second."""
    server.sql().run("INSERT INTO innodb_memcache.config_options VALUES (%s, 'relaxed')", f"durability.{name}")
    server.stop()
    server.start()


@pytest.mark.parametrize("relaxed", [False, True], ids=["strict", "relaxed"])
def test_only_a_relaxed_container_does_not_wait_for_the_flush(make_server, rng, tmp_path, relaxed):
    server = make_server(options=["--innodb-flush-log-at-trx-commit=1"])
    relax(server, "default" if relaxed else "another")
    early = early_replies(server, Sets(server), rng, tmp_path / "trace", scaled(12))
    assert bool(early) == relaxed, early
    assert all("before" in text for text in early), early


def test_a_transaction_waits_for_the_flush_in_a_relaxed_container(make_server, rng, tmp_path):
    server = resp.start(make_server, "--innodb-flush-log-at-trx-commit=1")
    run_packaged(server.sql(), "rowsocket_store.sql")
    server.sql().run("INSERT INTO rowsocket.keyspaces (prefix, kind, container) VALUES ('item:', 'value', 'default')")
    relax(server, "default")
    assert not early_replies(server, Transactions(server), rng, tmp_path / "trace", scaled(12))
