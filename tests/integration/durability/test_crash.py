"""SIGKILL under load: after recovery every acknowledged write is there, and no write is there in part."""

import pytest

from load import (Crew, Reader, both_logs, clients_kept, make_tables, make_writers, scaled,
                  violations)
from server import wait_until

pytestmark = pytest.mark.again_in("mariadb-11.8", "mysql-9.7")

ROUNDS = 20


def crash_under_load(server, db, rng):
    """One round: load, SIGKILL at a random moment, recovery. Returns the violations."""
    sql = server.sql()
    make_tables(sql, db)
    writers = [writer for number, batch in enumerate((1, 8, 40, 120))
               for writer in make_writers(server, sql, db, 1, first=1 + number, batch=batch)]
    reader = Reader(server, db, writers, rng)
    with Crew() as crew:
        for client in (*writers, reader):
            crew.start(client.run, crew.stopping)
        goal = rng.randint(1, 600)
        wait_until(lambda: crew.check() and
                   sum(writer.acknowledged for writer in writers) >= goal, 30, "acknowledgements")
        with clients_kept(server):
            server.kill()
    server.close_clients()
    server.start()
    sql = server.sql()
    wrong = violations(sql, writers)
    for writer in writers:
        wrong += holes(sql, db, writer)
    for row in sql.rows(f"CHECK TABLE {db}.led, {db}.cnt EXTENDED"):
        if row[3] != b"OK":
            wrong.append(f"CHECK TABLE: {row}")
    return wrong, sum(writer.acknowledged for writer in writers)


def holes(sql, db, writer):
    """The requests of one connection take effect in order: the tables have all requests up to some request,
    and no later one."""
    there = {int(seq) for seq, in sql.rows(f"SELECT seq FROM {db}.led WHERE w = %s", writer.number)}
    last = max(there, default=0)
    return [f"writer {writer.number}: {last} is there and {seq} is not"
            for seq, state in writer.rows.items()
            if seq < last and seq not in there and state is not False]


@pytest.mark.slow
@both_logs
def test_sigkill_under_load(make_server, rng, options):
    server = make_server(options=options)
    total = 0
    for number in range(scaled(ROUNDS) // 2):
        wrong, acknowledged = crash_under_load(server, f"crash{number}", rng)
        assert wrong == [], f"round {number}"
        total += acknowledged
    assert total > 100


def test_the_same_round_sees_lost_writes(make_server, rng):
    """On a server that is told to write its log once a second, the check does not pass."""
    server = make_server(options=["--innodb-flush-log-at-trx-commit=0"])
    rounds = (crash_under_load(server, f"lost{number}", rng)[0] for number in range(10))
    assert any("is lost" in text for wrong in rounds for text in wrong)
