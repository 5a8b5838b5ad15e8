"""Requests obey the locks of SQL sessions, and leave no locks behind. (More in test_lockwait.)"""

import contextlib

import pymysql
import pytest

import hs
from hs import OK, counted, refused
from server import is_mysql, wait_until

pytestmark = pytest.mark.again_in("mysql-9.7")

wrong = pytest.mark.bundled_wrong
LOCKED = refused(1, "lock_tables")


@pytest.fixture
def table(sql):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT, KEY(x))")
    sql.run("INSERT INTO t SELECT seq, seq FROM seq_1_to_20")


@pytest.fixture
def admin(server, db):
    """A session whose locks and settings are undone after the test."""
    session = server.sql(db)
    session.run("SET lock_wait_timeout = 5")
    yield session
    session.run("UNLOCK TABLES")
    session.run("ROLLBACK")
    with contextlib.suppress(pymysql.MySQLError):  # no stage was begun
        session.run("UNLOCK INSTANCE" if is_mysql() else "BACKUP STAGE END")
    session.run("SET GLOBAL read_only = 0")


def writes(index, number):
    return [[index.id, "+", 2, number, 1], [index.id, "=", 1, 1, 1, 0, "U", 1, 7], [index.id, "=", 1, 2, 1, 0, "D"]]


@wrong(12)
def test_read_only_server_refuses_writes_and_reads_on(table, admin, sql, rd, wr):
    reader, writer = rd("t", "", "x"), wr("t", "", "id,x")
    assert writer.insert(50, 1) == OK
    admin.run("SET GLOBAL read_only = 1")
    assert writer.client.pipeline(writes(writer, 51)) == [LOCKED] * 3
    assert reader.rows("=", [1]) == [(b"1",)] and writer.rows("=", [1]) == [(b"1", b"1")]
    assert sql.value("SELECT COUNT(*) FROM t") == b"21"
    admin.run("SET GLOBAL read_only = 0")
    assert writer.client.pipeline(writes(writer, 51)) == [OK, counted(1), counted(1)]


@wrong(12, some=True)
@pytest.mark.parametrize("lock,release", [
    (["FLUSH TABLES WITH READ LOCK"], "UNLOCK TABLES"), (["LOCK TABLE t WRITE"], "UNLOCK TABLES"),
    (["LOCK TABLE t READ"], "UNLOCK TABLES"),
    pytest.param(
        ["BACKUP STAGE START", "BACKUP STAGE FLUSH", "BACKUP STAGE BLOCK_DDL", "BACKUP STAGE BLOCK_COMMIT"],
        "BACKUP STAGE END", marks=pytest.mark.mariadb("BACKUP STAGE"))], ids=lambda value: value[-1] if isinstance(value, list) else "")
def test_write_waits_for_a_lock_or_says_so(table, admin, sql, wr, lock, release):
    writer = wr("t", "", "id,x")
    assert writer.insert(50, 1) == OK
    for statement in lock:
        admin.run(statement)
    writer.client.send(writer.id, "+", 2, 51, 51)
    early = writer.client.readable(0.3)
    if early:
        assert writer.client.recv() == LOCKED
        admin.run(release)
        assert writer.insert(51, 51) == OK
    else:
        if not lock[0].startswith("LOCK TABLE t WRITE"):
            assert admin.rows("SELECT * FROM t WHERE id = 51") == []
        admin.run(release)
        assert writer.client.recv() == OK
    assert sql.value("SELECT x FROM t WHERE id = 51") == b"51"


@pytest.mark.mariadb("BACKUP STAGE")
def test_finds_go_on_while_a_backup_keeps_a_commit_back(table, admin, rd, wr):
    """No session sees the change before the commit goes on: no find on another port has to wait for it."""
    reader, writer = rd("t", "", "x"), wr("t", "", "x")
    before = reader.rows("=", [1])
    for stage in ("START", "FLUSH", "BLOCK_DDL", "BLOCK_COMMIT"):
        admin.run(f"BACKUP STAGE {stage}")
    writer.client.send(writer.id, "=", 1, 1, 1, 0, "U", 77)
    assert not writer.client.readable(0.3)
    assert reader.rows("=", [1]) == before
    admin.run("BACKUP STAGE END")
    assert writer.client.recv() == counted(1)
    assert reader.rows("=", [1]) == [(b"77",)]


@pytest.mark.ours
@pytest.mark.parametrize("partitions", ["", " PARTITION BY HASH (id) PARTITIONS 2"], ids=["plain", "partitioned"])
@pytest.mark.mariadb("BACKUP STAGE")
def test_a_backup_that_keeps_commits_back_also_stops_changes_in_aria(make_server, partitions):
    """A change in Aria stands at once: it must not be there and be answered with an error."""
    server = make_server(options=["--handlersocket-wrlock-timeout=1", "--log-bin=aria-bin", "--server-id=1"])
    sql, admin = server.sql(), server.sql()
    sql.run("CREATE DATABASE a")
    sql.run(f"CREATE TABLE a.t (id INT PRIMARY KEY, n INT) ENGINE=Aria{partitions}")
    sql.run("CREATE TABLE a.inno (id INT PRIMARY KEY, n INT) ENGINE=InnoDB")
    sql.run("INSERT INTO a.t VALUES (1, 0)")
    sql.run("INSERT INTO a.inno VALUES (1, 0)")
    client = server.hs_wr()
    assert client.open_index(0, "a", "t", "", "n") == OK
    assert client.open_index(1, "a", "inno", "", "n") == OK
    for stage in ("START", "FLUSH", "BLOCK_DDL", "BLOCK_COMMIT"):
        admin.run(f"BACKUP STAGE {stage}")
    assert client.modify(0, "=", [1], ["+", 1]) == LOCKED
    assert sql.value("SELECT n FROM a.t") == b"0"
    # The request stands behind a change in InnoDB, whose commit waits.
    client.send_raw(b"".join(hs.line(*hs.find_words(index_id, "=", [1], 1, 0, mod=["+", 1])) for index_id in (1, 0)))
    assert not client.readable(0.3)
    assert sql.value("SELECT n FROM a.t") == b"0"
    admin.run("BACKUP STAGE END")
    assert client.recv() == counted(1)
    answer = client.recv()
    assert answer in (counted(1), LOCKED)
    assert sql.value("SELECT n FROM a.t") == (b"1" if answer == counted(1) else b"0")
    assert client.modify(0, "=", [1], ["+", 1]) == counted(1)
    assert sql.value("SELECT n FROM a.inno") == b"1"


@wrong(12, some=True)
@pytest.mark.parametrize("lock", ["FLUSH TABLES WITH READ LOCK", "LOCK TABLE t READ",
                                  "LOCK INSTANCE FOR BACKUP" if is_mysql() else "BACKUP STAGE START"])
def test_reads_go_on_under_a_read_lock(table, admin, rd, lock):
    reader = rd("t", "", "x")
    assert reader.rows("=", [1]) == [(b"1",)]
    admin.run(lock)
    assert reader.rows("=", [1]) == [(b"1",)]


@pytest.mark.ours
@pytest.mark.parametrize("lock", ["FLUSH TABLES WITH READ LOCK", "LOCK TABLE t WRITE"])
def test_lock_that_outlasts_the_timeout_is_an_error_and_undoes_nothing_else(make_server, lock):
    server = make_server(options=["--handlersocket-wrlock-timeout=1"])
    sql = server.sql()
    sql.run("CREATE DATABASE k")
    sql.run("USE k")
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT)")
    sql.run("CREATE TABLE u (id INT PRIMARY KEY, x INT)")
    writer, other = server.hs_wr().opened("k", "t", "", "id,x"), server.hs_wr().opened("k", "u", "", "id,x")
    assert writer.insert(1, 1) == OK
    sql.run(lock)
    assert writer.insert(2, 2) == LOCKED
    if "FLUSH" not in lock:
        assert other.insert(1, 1) == OK
    sql.run("UNLOCK TABLES")
    assert writer.insert(2, 2) == OK
    assert sql.value("SELECT COUNT(*) FROM t") == b"2"


@wrong(13, some=True)
def test_table_locked_by_sql_delays_only_its_own_requests(table, admin, server, db, wr):
    admin.run("CREATE TABLE u LIKE t")
    waiting = wr("t", "", "id,x")
    assert waiting.insert(50, 1) == OK
    admin.run("LOCK TABLE t WRITE")
    waiting.client.send(waiting.id, "+", 2, 51, 1)
    for number in range(20):
        assert server.hs_wr().opened(db, "u", "", "id,x").insert(number, number) == OK
    admin.run("UNLOCK TABLES")
    assert waiting.client.recv() == OK


# Row locks.

def locks(sql):
    table = "performance_schema.data_locks" if is_mysql() else "information_schema.INNODB_LOCKS"
    return sql.rows(f"SELECT * FROM {table}")


@wrong(13, some=True)
@pytest.mark.parametrize("port", ["rd", "wr"])
def test_reads_take_no_row_locks_and_wait_for_none(table, server, db, sql, port):
    index = (server.hs_rd() if port == "rd" else server.hs_wr()).opened(db, "t", "", "x")
    locker = server.sql(db)
    locker.run("BEGIN")
    locker.run("UPDATE t SET x = 99 WHERE id <= 5")
    assert index.rows("=", [1]) == [(b"1",)]
    assert index.rows(">=", [1], 5) == [(str(number).encode(),) for number in range(1, 6)]
    assert sql.status("Innodb_row_lock_current_waits") == 0
    # The server's own threads have transactions now and then.
    wait_until(lambda: sql.value("SELECT COUNT(*) FROM information_schema.INNODB_TRX") == b"1", step_s=0.2,
               what="only the other session's transaction is open")
    assert sql.error("SELECT * FROM t WHERE id = 1 FOR UPDATE NOWAIT") == (3572 if is_mysql() else 1205)
    locker.run("ROLLBACK")
    sql.run("SET innodb_lock_wait_timeout = 1")
    sql.run("UPDATE t SET x = x + 1")


def test_finished_requests_leave_no_transaction_open(table, sql, rd, wr):
    reader, writer = rd("t", "", "x"), wr("t", "", "id,x")
    reader.rows(">=", [1], 20)
    writer.insert(50, 50)
    writer.update("=", [1], [1, 2])
    writer.insert(50, 50)
    wait_until(lambda: sql.value("SELECT COUNT(*) FROM information_schema.INNODB_TRX") == b"0", step_s=0.2,
               what="no transaction is open")
    sql.run("SET innodb_lock_wait_timeout = 1")
    sql.run("UPDATE t SET x = x + 1")


@wrong(13)
def test_lock_wait_timeout_is_146_and_leaves_nothing(make_server):
    server = make_server(options=["--innodb-lock-wait-timeout=1"])
    sql = server.sql()
    sql.run("CREATE DATABASE k")
    sql.run("USE k")
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT)")
    sql.run("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
    locker = server.sql("k")
    locker.run("BEGIN")
    locker.run("UPDATE t SET x = 20 WHERE id = 2")
    index = server.hs_wr().opened("k", "t", "", "x")
    index.client.send(index.id, "=", 1, 1, 1, 0, "U", 7)
    index.client.send(index.id, ">=", 1, 1, 9, 0, "U", 8)
    index.client.send(index.id, "=", 1, 3, 1, 0, "U", 9)
    other = server.hs_wr().opened("k", "t", "", "id,x")
    assert other.insert(4, 4) == OK
    assert [index.client.recv() for _ in range(3)] == [counted(1), refused(1, 146), counted(1)]
    locker.run("COMMIT")
    assert sql.rows("SELECT x FROM t") == [(b"7",), (b"20",), (b"9",), (b"4",)]


@wrong(13)
def test_later_requests_of_the_waiting_connection_wait_behind_in_order(table, server, db, sql, wr):
    locker = server.sql(db)
    locker.run("BEGIN")
    locker.run("UPDATE t SET x = 100 WHERE id = 1")
    index = wr("t", "", "x")
    index.client.send(index.id, "=", 1, 1, 1, 0, "+", 1)
    index.client.send(index.id, "=", 1, 1)
    index.client.send(index.id, "=", 1, 2)
    wait_until(lambda: sql.status("Innodb_row_lock_current_waits") == 1, what="the request waits")
    assert server.hs_wr().opened(db, "t", "", "x").rows("=", [2]) == [(b"2",)]
    assert not index.client.readable(0.1)
    locker.run("COMMIT")
    assert [index.client.recv() for _ in range(3)] == [counted(1), hs.reply(0, 1, 101), hs.reply(0, 1, 2)]


@wrong(13, some=True)
def test_client_that_leaves_while_its_request_waits_harms_nobody(table, server, db, sql):
    locker = server.sql(db)
    for number in range(5):
        locker.run("BEGIN")
        locker.run("UPDATE t SET x = 100 WHERE id = 1")
        index = server.hs_wr().opened(db, "t", "", "x")
        index.client.send(index.id, "=", 1, 1, 1, 0, "+", 1)
        index.client.send(index.id, "=", 1, 2)
        wait_until(lambda: sql.status("Innodb_row_lock_current_waits") == 1, what="the request waits")
        if number % 2:
            index.client.half_close()
        else:
            index.client.close()
        assert server.hs_wr().opened(db, "t", "", "x").rows("=", [2]) == [(b"2",)]
        locker.run("COMMIT")
        wait_until(lambda: sql.status("Innodb_row_lock_current_waits") == 0, what="nobody waits")
        if number % 2:
            assert index.client.recv_all(10) == b"0\t1\t1\n0\t1\t2\n"
    assert server.hs_wr().opened(db, "t", "", "x").rows("=", [2]) == [(b"2",)]


@wrong(13)
def test_many_waiting_requests_do_not_stop_the_others(table, server, db, sql):
    locker = server.sql(db)
    locker.run("BEGIN")
    locker.run("UPDATE t SET x = 100 WHERE id = 1")
    waiting = [server.hs_wr().opened(db, "t", "", "x") for _ in range(30)]
    for index in waiting:
        index.client.send(index.id, "=", 1, 1, 1, 0, "+", 1)
    wait_until(lambda: sql.status("Innodb_row_lock_current_waits") >= 1, what="requests wait")
    free = server.hs_wr().opened(db, "t", "", "id,x")
    for number in range(100, 150):
        assert free.insert(number, number) == OK
    locker.run("COMMIT")
    assert [index.client.recv() for index in waiting] == [counted(1)] * 30
    assert sql.value("SELECT x FROM t WHERE id = 1") == b"130"
