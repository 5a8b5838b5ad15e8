"""KILL and KILL QUERY of the plugin's own threads, as an administrator uses them with SHOW PROCESSLIST."""

import pymysql
import pytest

import hs
import semisync
from load import (Crew, Reader, Transaction, errors_of, make_tables, make_writers, processes, scaled,
                  violations, worker_ids)
from server import is_mysql, wait_until

KILLED = {"1 killed", "1 1317"}


@pytest.fixture
def rows(sql):
    sql.run("CREATE TABLE kr (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB")
    sql.run("INSERT INTO kr VALUES (1, 0), (2, 0), (3, 0)")


def opened(server, db, port="hs_wr"):
    client = getattr(server, port)()
    assert client.open_index(0, db, "kr", "PRIMARY", "n") == hs.reply(0, 1)
    return client


def add_one(row):
    return hs.find_words(0, "=", [row], 1, 0, mod=["+", 1])


def kill(sql, number, what=""):
    """False if the thread is already gone."""
    try:
        sql.run(f"KILL {what} {number}")
        return True
    except pymysql.MySQLError as error:
        if error.args[0] != 1094:  # unknown thread id
            raise
        return False


def kill_all(sql, what=""):
    return sum(kill(sql, number, what) for number in worker_ids(sql))


def test_workers_are_in_the_process_list(server, db, rows, sql):
    clients = [opened(server, db, port) for port in ("hs_wr", "hs_rd")]
    assert len(worker_ids(sql)) >= 2
    for client in clients:
        assert client.find(0, "=", [1]) == hs.reply(0, 1, 0)


def test_kill_query_of_idle_workers_changes_nothing(server, db, rows, sql):
    writer, reader = opened(server, db), opened(server, db, "hs_rd")
    for count in range(1, 6):
        assert kill_all(sql, "QUERY") >= 2
        for client in (writer, reader):
            assert client.find(0, "=", [1]) == hs.reply(0, 1, count - 1)
        assert writer.request(*add_one(1)) == hs.reply(0, 1, 1)


def test_kill_query_ends_the_request_that_waits_and_nothing_more(server, db, rows, sql):
    holder = Transaction(server, db)
    assert holder.run("UPDATE kr SET n = 10 WHERE id = 2")
    waiting, other = opened(server, db), opened(server, db)
    waiting.send_raw(b"".join(hs.line(*add_one(row)) for row in (1, 2, 3)))
    assert waiting.recv() == hs.reply(0, 1, 1)
    replies = []

    def killed():
        kill_all(sql, "QUERY")
        if waiting.readable(0.1):
            replies.append(waiting.recv())
        return replies
    wait_until(killed, 10, "an answer after KILL QUERY")
    assert f"{replies[0].code} {replies[0].error}" in KILLED
    assert waiting.recv() == hs.reply(0, 1, 1)
    assert other.request(*add_one(1)) == hs.reply(0, 1, 1)
    holder.rollback()
    assert waiting.request(*add_one(2)) == hs.reply(0, 1, 1)
    assert sql.rows("SELECT n FROM kr ORDER BY id") == [(b"2",), (b"1",), (b"1",)]


def test_kill_of_workers_keeps_connections_and_service(server, db, rows, sql):
    writers = [opened(server, db) for _ in range(5)]
    readers = [opened(server, db, "hs_rd") for _ in range(5)]
    for count in range(1, 6):
        assert kill_all(sql) >= 2
        for writer in writers:
            reply = writer.request(*add_one(1))
            if reply != hs.reply(0, 1, 1):  # the killed thread had the request
                assert f"{reply.code} {reply.error}" in KILLED
                assert writer.request(*add_one(1)) == hs.reply(0, 1, 1)
        for reader in readers:
            reply = reader.find(0, "=", [1])
            assert reply == hs.reply(0, 1, 5 * count) or \
                f"{reply.code} {reply.error}" in KILLED, reply
        wait_until(lambda: len(worker_ids(sql)) >= 2, 2, "workers in the process list again")
        new = opened(server, db)
        assert new.find(0, "=", [1]) == hs.reply(0, 1, 5 * count)
    assert sql.value("SELECT n FROM kr WHERE id = 1") == b"25"


def kill_lane_of_one_request(sql):
    """Kills the thread in whose lane one request waits for a lock, and returns its id. A thread that an earlier KILL
    has met gets another id."""
    def lanes():
        return [int(process["id"]) for process in processes(sql)
                if "mode=lock wait, 1 request" in str(process["state"]) + str(process["info"])]
    return wait_until(lambda: next((lane for lane in lanes() if kill(sql, lane)), None), what="a wait in the lane")


def test_kill_of_a_worker_that_waits_for_a_lock(server, db, rows, sql):
    holder = Transaction(server, db)
    assert holder.run("UPDATE kr SET n = 10 WHERE id = 2")
    waiting, other = opened(server, db), opened(server, db)
    waiting.send_raw(b"".join(hs.line(*add_one(row)) for row in (2, 3)))
    assert other.request(*add_one(1)) == hs.reply(0, 1, 1)
    kill_lane_of_one_request(sql)
    first = waiting.recv()
    assert f"{first.code} {first.error}" in KILLED
    assert other.request(*add_one(1)) == hs.reply(0, 1, 1)
    kill_all(sql)
    holder.rollback()
    second = waiting.recv()
    assert second == hs.reply(0, 1, 1) or f"{second.code} {second.error}" in KILLED
    assert waiting.request(*add_one(3)) == hs.reply(0, 1, 1)
    expected = [2, 0, int(second.code == 0) + 1]
    assert sql.rows("SELECT n FROM kr ORDER BY id") == [(b"%d" % n,) for n in expected]


def test_the_log_says_what_thread_was_killed(server, db, rows, sql):
    holder = Transaction(server, db)
    assert holder.run("UPDATE kr SET n = 10 WHERE id = 2")
    waiting = opened(server, db)
    waiting.send(*add_one(2))
    lane = kill_lane_of_one_request(sql)
    reply = waiting.recv()
    assert f"{reply.code} {reply.error}" in KILLED
    holder.rollback()
    wait_until(lambda: f" thread {lane} (handlersocket: mode=lock wait, " in server.log(), what="the line of the log")


def kills_under_load(server, db, what, rng, times):
    """Writers and readers while workers are killed; returns (violations, errors of clients)."""
    sql = server.sql()
    make_tables(sql, db)
    writers = make_writers(server, sql, db, 4)
    readers = [Reader(server, db, writers, rng.__class__(number)) for number in range(2)]
    with Crew() as crew:
        for client in writers + readers:
            crew.start(client.run, crew.stopping)
        kills = 0
        while kills < times:
            goal = sum(writer.acknowledged for writer in writers) + 20
            wait_until(lambda: crew.check() and
                       sum(writer.acknowledged for writer in writers) >= goal, 20, "acknowledgements")
            ids = worker_ids(sql)
            kills += kill(sql, rng.choice(ids), what) if ids else 0
    assert not any(writer.breaks for writer in writers), "a connection was closed"
    return violations(sql, writers), errors_of(writers + readers)


@pytest.mark.parametrize("what", ["QUERY", "CONNECTION"])
def test_repeated_kills_under_load_lose_nothing(server, db, rng, what):
    wrong, errors = kills_under_load(server, db, what, rng, scaled(60))
    assert wrong == []
    assert set(errors) <= KILLED, errors


@pytest.fixture(params=["AFTER_SYNC", "AFTER_COMMIT"])
def source(make_server, request):
    """(server, SQL session): a server whose commits wait for a replica that does not come."""
    server = make_server(options=["--log-bin=cut-off", "--server-id=1", *semisync.options(600_000, request.param)])
    sql = server.sql()
    sql.run("CREATE DATABASE du")
    sql.run("CREATE TABLE du.kr (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB")
    sql.run("INSERT INTO du.kr VALUES (1, 0), (2, 0), (3, 0)")
    return server, sql


def commit_that_waits(sql, client):
    """Sends an increment of row 1. Returns the thread whose commit waits for the replica."""
    sql.run(f"SET GLOBAL {semisync.SOURCE} = 1")
    client.send(*add_one(1))
    return wait_until(lambda: semisync.waiting_threads(sql, "handlersocket"), 30,
                      "a commit that waits for the replica", 0.2)[0]


def test_a_commit_that_is_killed_while_it_waits_for_a_replica_is_not_answered_before_its_end(source):
    """The change is there, and a failover may lose it. In MariaDB, KILL ends the wait, and SQL's client, whose
    connection KILL ends, gets no answer either. In MySQL, KILL does not end the wait."""
    server, sql = source
    client, other = opened(server, "du"), opened(server, "du")
    thread = commit_that_waits(sql, client)
    assert kill(sql, thread)
    if is_mysql():
        assert not client.readable(0.5)
        assert semisync.waiting_threads(sql, "handlersocket") == [thread]
    else:
        with pytest.raises(hs.Closed):
            client.recv()
    sql.run(f"SET GLOBAL {semisync.SOURCE} = 0")
    if is_mysql():
        assert client.recv() == hs.reply(0, 1, 1)
    assert other.request(*add_one(2)) == hs.reply(0, 1, 1)
    assert sql.rows("SELECT n FROM du.kr") == [(b"1",), (b"1",), (b"0",)]


def test_a_commit_that_shutdown_cuts_off_is_not_answered(source):
    """Shutdown ends the wait for the replica, and the change may not survive a failover."""
    server, sql = source
    client = opened(server, "du")
    commit_that_waits(sql, client)
    sql.run("SHUTDOWN")
    with pytest.raises(hs.Closed):
        client.recv(60)
    wait_until(lambda: not server.alive(), 60, "the end of the server")
    server.kill()
    server.start()
    assert server.sql().rows("SELECT n FROM du.kr") == [(b"1",), (b"0",), (b"0",)]
