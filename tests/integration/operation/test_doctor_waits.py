"""Whom the doctor names as the holder of what the library's threads wait for: not those who wait, too, and nobody beside.
What it says to do is done, and helps."""

import contextlib
import re
import threading

import pymysql
import pytest

import hs
from doctor import doctor, says
from server import is_mysql, wait_until
from test_doctor_runbook import make_table, send_update, writer

# Requests that wait for a table are to wait until the test has asked the doctor.
PATIENT = ["--handlersocket-wrlock-timeout=300"]

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]


def number_of(session):
    return int(session.value("SELECT CONNECTION_ID()"))


def named(said):
    """The connections of SQL of which the doctor speaks, those that it tells to KILL among them."""
    return set(map(int, re.findall(r"(?:connection|KILL) (\d+)", said)))


class Statements:
    """Statements of SQL that wait, each in a thread and a session of its own."""

    def __init__(self, server):
        self.server = server
        self.threads = []

    def run(self, statement, session=None):
        session = session or self.server.sql("d")

        def execute():
            with contextlib.suppress(pymysql.MySQLError):  # who is killed, or chosen to end a deadlock
                session.run(statement)
        self.threads.append(threading.Thread(target=execute))
        self.threads[-1].start()

    def join(self):
        for thread in self.threads:
            thread.join()


def wait_for_rows(server, count):
    """Waits until so many transactions wait for rows. InnoDB looks anew where nobody has asked for 0.1 s."""
    sql = server.sql()
    wait_until(lambda: int(sql.value("SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'")) == count,
               what=f"{count} transactions wait for rows", step_s=0.2)


def wait_for_state(server, state, count):
    sql = server.sql()
    wait_until(lambda: int(sql.value(f"SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE state = '{state}'")) == count,
               what=f"{count} threads are {state}")


def open_transaction(server):
    """A transaction that is open, and locks nothing for which anybody waits."""
    session = server.sql("d")
    session.run("CREATE TABLE beside (id INT PRIMARY KEY) ENGINE=InnoDB")
    session.run("BEGIN")
    session.rows("SELECT * FROM beside")
    return session


@pytest.mark.parametrize("lock", ["UPDATE t SET x = 7 WHERE id = 3", "SELECT * FROM t WHERE id = 3 LOCK IN SHARE MODE"])
def test_who_queues_for_a_row_is_not_named_beside_its_holder(make_server, lock):
    """MariaDB gives all transactions that have only read the number 0."""
    server = make_server()
    make_table(server)
    beside, index, owner, waiting = open_transaction(server), writer(server), server.sql("d"), Statements(server)
    owner.run("BEGIN")
    owner.run(lock)
    send_update(index, 3)  # A thread of the library is the first that waits.
    wait_for_rows(server, 1)
    for _ in range(3):
        waiting.run("UPDATE t SET x = 5 WHERE id = 3")
    wait_for_rows(server, 4)
    holder = number_of(owner)
    says(server, f"connection {holder} of SQL (root@localhost) holds rows for which 4 wait", f"KILL {holder}")
    said = doctor(server)
    assert named(said) == {holder}, said
    server.sql().run(f"KILL {holder}")
    assert index.client.recv() == hs.counted(1)
    waiting.join()
    beside.run("COMMIT")


def test_a_prepared_transaction_whose_session_has_gone(make_server):
    server = make_server()
    sql = make_table(server)
    index, owner = writer(server), server.sql("d")
    for statement in ("XA START 'sale'", "UPDATE t SET x = 7 WHERE id = 3", "XA END 'sale'", "XA PREPARE 'sale'"):
        owner.run(statement)
    owner.close()
    send_update(index, 3)
    says(server, "that XA has prepared holds rows for which 1 wait", "XA RECOVER lists it")
    said = doctor(server)
    assert named(said) == set(), said
    assert [row[3] for row in sql.rows("XA RECOVER")] == [b"sale"]
    sql.run("XA ROLLBACK 'sale'")
    assert index.client.recv() == hs.counted(1)


def test_a_deadlock_that_nobody_looks_for(make_server):
    server = make_server()
    sql = make_table(server)
    sql.run("SET GLOBAL innodb_deadlock_detect = OFF")
    index, waiting = writer(server), Statements(server)
    beside, *both = open_transaction(server), server.sql("d"), server.sql("d")
    numbers = {number_of(session) for session in both}
    for key, session in enumerate(both, 1):
        session.run("BEGIN")
        session.run(f"UPDATE t SET x = 7 WHERE id = {key}")
    for key, session in enumerate(reversed(both), 1):
        waiting.run(f"UPDATE t SET x = 8 WHERE id = {key}", session)
    wait_for_rows(server, 2)
    send_update(index, 1)
    waiting.run("UPDATE t SET x = 9 WHERE id = 2")
    wait_for_rows(server, 4)
    says(server, *(f"connection {number} of SQL (root@localhost) has been in a deadlock for" for number in numbers),
         "innodb_deadlock_detect is OFF")
    said = doctor(server)
    assert named(said) == numbers, said
    if is_mysql():
        assert "SET GLOBAL innodb_deadlock_detect = ON ends it" in said
        sql.run("SET GLOBAL innodb_deadlock_detect = ON")
    else:
        assert f"KILL {min(numbers)} ends it" in said
        sql.run(f"KILL {min(numbers)}")
    wait_until(lambda: not all(thread.is_alive() for thread in waiting.threads[:2]), timeout_s=20, what="the end of the deadlock")
    for session in both:
        with contextlib.suppress(pymysql.MySQLError):
            session.run("COMMIT")
    waiting.join()
    assert index.client.recv() == hs.counted(1)
    beside.run("COMMIT")


@pytest.mark.mysql("MariaDB has its locks in information_schema")
def test_who_holds_rows_where_performance_schema_is_off(make_server):
    server = make_server(options=["--performance-schema=OFF"])
    sql = make_table(server)
    beside, index, owner, waiting = open_transaction(server), writer(server), server.sql("d"), Statements(server)
    owner.run("BEGIN")
    owner.run("UPDATE t SET x = 7 WHERE id = 3")
    send_update(index, 3)
    wait_for_rows(server, 1)
    for _ in range(3):
        waiting.run("UPDATE t SET x = 5 WHERE id = 3")
    wait_for_rows(server, 4)
    says(server, "1 connections wait for rows that are locked", "performance_schema is OFF, so that the server does not show who")
    said = doctor(server)
    assert named(said) == set(), said
    [query] = re.findall("SELECT .* ORDER BY t.trx_started", said)
    [[number, *_]] = sql.rows(query)
    assert int(number) == number_of(owner)
    sql.run(f"KILL {int(number)}")
    assert index.client.recv() == hs.counted(1)
    waiting.join()
    beside.run("COMMIT")


@pytest.mark.mysql("MariaDB's plugin metadata_lock_info needs no performance_schema")
def test_who_holds_tables_where_performance_schema_is_off(make_server):
    server = make_server(options=["--performance-schema=OFF", *PATIENT])
    make_table(server)
    beside, index, owner = open_transaction(server), writer(server), server.sql("d")
    owner.run("LOCK TABLES t WRITE")
    send_update(index, 3)
    says(server, "threads of the library wait for table metadata lock: somebody has", "performance_schema is OFF")
    said = doctor(server)
    assert named(said) == set() and "MariaDB" not in said, said
    owner.run("UNLOCK TABLES")
    assert index.client.recv() == hs.counted(1)
    beside.run("COMMIT")


@pytest.mark.mariadb("MySQL shows who holds a lock of a table")
def test_who_has_locked_a_table_is_found_by_the_plugin(make_server):
    server = make_server(options=PATIENT)
    sql = make_table(server)
    beside, index, owner, waiting = open_transaction(server), writer(server), server.sql("d"), Statements(server)
    holder = number_of(owner)
    owner.run("LOCK TABLES t WRITE")
    send_update(index, 3)
    waiting.run("UPDATE t SET x = 5 WHERE id = 4")
    wait_for_state(server, "Waiting for table metadata lock", 2)
    says(server, "threads of the library wait for table metadata lock: somebody has", "INSTALL SONAME 'metadata_lock_info'")
    said = doctor(server)
    assert named(said) == set(), said
    sql.run("INSTALL SONAME 'metadata_lock_info'")
    says(server, f"connection {holder} of SQL (root@localhost) holds MDL_SHARED_NO_READ_WRITE of d.t")
    said = doctor(server)
    assert named(said) == {holder}, said
    sql.run(f"KILL {holder}")
    assert index.client.recv() == hs.counted(1)
    waiting.join()
    beside.run("COMMIT")


@pytest.mark.mariadb("MySQL shows who holds the lock")
@pytest.mark.parametrize("locks", [["FLUSH TABLES WITH READ LOCK"], ["BACKUP STAGE START", "BACKUP STAGE BLOCK_COMMIT"]])
def test_who_has_the_backup_lock(make_server, locks):
    server = make_server(options=PATIENT)
    sql = make_table(server)
    beside, index, waiting = open_transaction(server), writer(server), Statements(server)
    for installed in (False, True):
        owner = server.sql("d")
        holder = number_of(owner)
        for lock in locks:
            owner.run(lock)
        send_update(index, 3 + installed)
        waiting.run("UPDATE t SET x = 5 WHERE id = 5")
        wait_for_state(server, "Waiting for backup lock", 2)
        if installed:
            says(server, f"connection {holder} of SQL (root@localhost) holds MDL_BACKUP_")
        else:
            says(server, "threads of the library wait for backup lock: somebody has", "INSTALL waits for this lock, too")
        said = doctor(server)
        assert named(said) == ({holder} if installed else set()), said
        if not installed:
            waiting.run("INSTALL SONAME 'metadata_lock_info'")
            wait_for_state(server, "Waiting for backup lock", 3)
        sql.run(f"KILL {holder}")
        assert index.client.recv() == hs.counted(1)
        waiting.join()
    beside.run("COMMIT")


@pytest.mark.mariadb("MySQL shows who holds the lock")
def test_an_alter_that_runs(make_server):
    server = make_server(options=PATIENT)
    sql = make_table(server, rows=5000)
    beside, index, changer, waiting = open_transaction(server), writer(server), server.sql("d"), Statements(server)
    number = number_of(changer)
    waiting.run("ALTER TABLE t ADD COLUMN y CHAR(128) AS (SHA2(REPEAT(id, 1000000), 512)) PERSISTENT, ALGORITHM=COPY,"
                " LOCK=SHARED", changer)  # MariaDB 11.8 copies under LOCK=NONE, unless it is told otherwise.
    wait_for_state(server, "copy to tmp table", 1)
    send_update(index, 3)
    waiting.run("UPDATE t SET x = 5 WHERE id = 5")
    wait_for_state(server, "Waiting for table metadata lock", 2)
    says(server, f"connection {number} of SQL (root@localhost) may be the cause: its statement runs", "it executes: ALTER TABLE t")
    said = doctor(server)
    assert named(said) == {number}, said
    sql.run(f"KILL {number}")
    assert index.client.recv() == hs.counted(1)
    waiting.join()
    beside.run("COMMIT")
