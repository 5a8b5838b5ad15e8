"""Threads that wait for locked rows: an account that waits for many rows leaves some threads to the other accounts."""

import pytest

import hs
import logins
from server import wait_until

pytestmark = [pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]

THREADS = 4


def test_an_account_that_waits_for_many_rows_holds_up_no_other(make_server):
    server = make_server(options=[*logins.OPTIONS, f"--handlersocket-lock-wait-threads={THREADS}",
                                  "--innodb-lock-wait-timeout=30"])
    sql = logins.prepare(server)
    sql.run("CREATE USER other@'127.%' IDENTIFIED BY 'right'")
    sql.run("GRANT ALL ON g.* TO other@'127.%'")
    sql.run("INSERT INTO g.t VALUES (2, ''), (3, ''), (4, ''), (5, ''), (6, ''), (7, ''), (8, ''), (9, '')")
    greedy, modest = server.sql("g"), server.sql("g")
    for session in (greedy, modest):
        session.run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
    greedy.run("BEGIN")
    greedy.run("SELECT * FROM t WHERE id IN (1, 2, 3, 4, 5, 6, 7, 8) FOR UPDATE")
    modest.run("BEGIN")
    modest.run("SELECT * FROM t WHERE id = 9 FOR UPDATE")

    def ask(user, row):
        client, answer = logins.log_in(server, user, "right")
        assert answer == hs.reply(0, 1)
        index = client.opened("g", "t", "", "v")
        client.send(*hs.find_words(index.id, "=", [row], 1, 0, mod=["U", user]))
        return client

    waiting = [ask("app", row) for row in range(1, 9)]
    wait_until(lambda: sql.status("Handlersocket_lock_waits") == 8, 30, "the waits of the one account")
    other = ask("other", 9)
    wait_until(lambda: sql.status("Handlersocket_lock_waits") == 9, 30, "the wait of the other")
    modest.run("ROLLBACK")
    assert other.recv() == hs.counted(1)
    greedy.run("ROLLBACK")
    assert [client.recv() for client in waiting] == [hs.counted(1)] * 8
    assert sql.rows("SELECT COUNT(*) FROM g.t WHERE v = 'app'") == [(b"8",)]
