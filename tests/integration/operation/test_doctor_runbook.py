"""Further troubles of the runbook (docs/OPERATIONS.md): each is made, and looked for in what the doctor says."""

import argparse
import contextlib
import errno
import itertools
import re
import socket
import ssl
import subprocess
import sys
import threading

import pymysql
import pytest

import hs
from doctor import NOTHING, busy, doctor, finds_nothing, says
from hs import find_words, line
from load import BINLOG_OPTIONS
from lost_cache import OPTIONS as SLOW_DISK
from server import REPOSITORY, is_mysql, wait_until
from tls import TLS_ON

sys.path.insert(0, str(REPOSITORY / "packaging"))
# pylint: disable=wrong-import-position
from rowsocket_observe import blockers, connecting

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]


def make_table(server, rows=100):
    sql = server.sql()
    sql.run("CREATE DATABASE d")
    sql.run("CREATE TABLE d.t (id INT PRIMARY KEY, x INT NOT NULL DEFAULT 0) ENGINE=InnoDB")
    sql.run("INSERT INTO d.t VALUES " + ", ".join(f"({number}, 0)" for number in range(1, rows + 1)))
    return sql


def writer(server):
    return server.hs_wr().opened("d", "t", "", "x")


def send_update(index, key):
    index.client.send(*find_words(index.id, "=", [key], 1, 0, mod=["U", 9]))


def test_a_slow_disk(make_server, lossy_disk):
    server = make_server(options=SLOW_DISK, environment=lossy_disk.environment)
    make_table(server)
    index, reader = writer(server), server.hs_rd().opened("d", "t", "", "x")
    lossy_disk.be_slow(15)
    values = itertools.count(1)
    with busy(lambda: index.update("=", [1], [next(values)])), busy(lambda: reader.find("=", [1])):
        says(server, "a commit over handlersocket takes", "the disk (iostat -x 1)",
             "replies to finds over handlersocket wait")


@pytest.mark.mariadb("MySQL ends a server that cannot write its binary log, as binlog_error_action asks")
def test_a_disk_that_takes_no_more(make_server, lossy_disk):
    server = make_server(options=[*SLOW_DISK, *BINLOG_OPTIONS], environment=lossy_disk.environment)
    make_table(server)
    index = writer(server)
    lossy_disk.refuse("tests.0", errno.EIO)
    values = itertools.count(1)
    with busy(lambda: index.update("=", [1], [next(values)])):
        says(server, "commits over handlersocket have failed", "the error log says why")
    lossy_disk.accept()


@pytest.mark.mariadb("MySQL's semi-synchronous replication is a plugin that has to be installed")
def test_a_worker_alone_that_waits_for_a_replica(make_server):
    """Where nobody reads, the worker itself commits."""
    server = make_server(options=BINLOG_OPTIONS)
    sql = make_table(server)
    index = writer(server)
    index.update("=", [1], [1])
    for name, value in (("timeout", "600000"), ("wait_no_slave", "ON"), ("enabled", "ON")):
        sql.run(f"SET GLOBAL rpl_semi_sync_master_{name} = {value}")
    send_update(index, 1)
    says(server, "writes over handlersocket stand still: 1 connections wait", "commits wait for a replica's acknowledgement")
    done = subprocess.run([sys.executable, REPOSITORY / "packaging/rowsocket-exporter", "--once", "--socket", server.env["SQL_SOCKET"],
                           "--user", "root"], capture_output=True, text=True, check=False)
    waits = re.findall(r'rowsocket_batch_wait_seconds{mode="",plugin="handlersocket",state="commit"} ([\d.]+)', done.stdout)
    assert waits and float(waits[0]) >= 1, done
    sql.run("SET GLOBAL rpl_semi_sync_master_enabled = OFF")
    index.client.recv()


def test_more_locked_rows_than_lock_wait_threads(make_server):
    server = make_server(options=["--handlersocket-lock-wait-threads=2"])
    make_table(server)
    owner = server.sql("d")
    owner.run("BEGIN")
    owner.run("UPDATE t SET x = 1 WHERE id <= 10")
    waiting = [writer(server) for _ in range(10)]
    for number, index in enumerate(waiting, 1):
        send_update(index, number)
    says(server, "10 connections wait for rows", "2 of 2 lock wait threads of handlersocket are at work, others queue", "KILL")
    owner.run("COMMIT")
    for index in waiting:
        index.client.recv()


@pytest.mark.parametrize("lock, unlock", [("FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES"),
                                          ("LOCK TABLES d.t WRITE", "UNLOCK TABLES")])
def test_tables_that_are_locked(make_server, lock, unlock):
    server = make_server()
    make_table(server)
    index, owner = writer(server), server.sql("d")
    holder = f"connection {int(owner.value('SELECT CONNECTION_ID()'))} of SQL (root@localhost) holds"
    bystander = server.sql("d")
    bystander.run("BEGIN")
    bystander.rows("SELECT * FROM t WHERE id = 2")
    of_another_kind = f"connection {int(bystander.value('SELECT CONNECTION_ID()'))} of SQL"
    if not lock.startswith("FLUSH"):  # it would wait for this transaction
        bystander.run("COMMIT")
    ways = [[holder]] if is_mysql() else [["somebody has FLUSH TABLES WITH READ LOCK, LOCK TABLES", "metadata_lock_info"], [holder]]
    for number, words in enumerate(ways):
        if number:
            server.sql().run("INSTALL SONAME 'metadata_lock_info'")
        owner.run(lock)
        send_update(index, number + 1)
        says(server, "threads of the library wait for", *words)
        assert of_another_kind not in doctor(server)
        owner.run(unlock)
        assert index.client.recv() == hs.counted(1)
    bystander.run("COMMIT")
    wait_until(lambda: doctor(server) == NOTHING, timeout_s=30, what="the end of the trouble")


@contextlib.contextmanager
def sleeping(server, table):
    """A statement that uses a table until the end; gives its connection's number."""
    session = server.sql("d")
    number = int(session.value("SELECT CONNECTION_ID()"))

    def run():
        with contextlib.suppress(pymysql.MySQLError):
            session.run(f"SELECT SLEEP(600) FROM {table} LIMIT 1")
    thread = threading.Thread(target=run)
    thread.start()
    wait_until(lambda: server.sql().rows(f"SELECT 1 FROM information_schema.PROCESSLIST WHERE id = {number} AND state = 'User sleep'"),
               what="the statement runs")
    try:
        yield number
    finally:
        server.sql().run(f"KILL {number}")
        thread.join()


@pytest.mark.mariadb("MySQL's ports serve no engine that locks whole tables")
def test_a_table_that_a_statement_locks_whole(make_server):
    server = make_server()
    sql = make_table(server)
    sql.run("CREATE TABLE d.m (id INT PRIMARY KEY, x INT NOT NULL) ENGINE=MyISAM")
    sql.run("INSERT INTO d.m VALUES (1, 0), (2, 0)")
    index, idle, values = server.hs_wr().opened("d", "m", "", "x"), server.sql("d"), itertools.count(1)
    assert index.update("=", [1], [next(values)]) == hs.counted(1)
    idle.run("BEGIN")
    for table in ("t", "m"):
        idle.rows(f"SELECT * FROM {table} WHERE id = 2")
    innocent = f"connection {int(idle.value('SELECT CONNECTION_ID()'))} of SQL"
    for does in ("may use", "uses"):
        if does == "uses":
            sql.run("INSTALL SONAME 'metadata_lock_info'")
        with sleeping(server, "t") as scan, sleeping(server, "m") as holder:
            index.client.send(*find_words(index.id, "=", [1], 1, 0, mod=["U", next(values)]))
            says(server, "threads of the library wait for table level lock",
                 f"connection {holder} of SQL (root@localhost) {does} d.m for", f"KILL {holder}")
            said = doctor(server)
            assert innocent not in said and f"connection {scan} of SQL" not in said and "FLUSH TABLES" not in said, said
        assert index.client.recv() == hs.counted(1)
    idle.run("COMMIT")


@pytest.mark.mariadb("MySQL's ports serve no engine that locks whole tables")
def test_a_table_that_lock_tables_locks_whole(make_server):
    server = make_server()
    sql = make_table(server)
    sql.run("CREATE TABLE d.m (id INT PRIMARY KEY, x INT NOT NULL) ENGINE=MyISAM")
    sql.run("INSERT INTO d.m VALUES (1, 0)")
    sql.run("INSTALL SONAME 'metadata_lock_info'")
    index, owner = server.hs_wr().opened("d", "m", "", "x"), server.sql("d")
    owner.run("LOCK TABLES m READ")
    index.client.send(*find_words(index.id, "=", [1], 1, 0, mod=["U", 7]))
    says(server, "threads of the library wait for table level lock",
         f"connection {int(owner.value('SELECT CONNECTION_ID()'))} of SQL (root@localhost) may hold d.m by LOCK TABLES")
    owner.run("UNLOCK TABLES")
    assert index.client.recv() == hs.counted(1)


def test_an_alter_that_waits_for_a_transaction(make_server):
    server = make_server()
    make_table(server)
    index, owner, changer = writer(server), server.sql("d"), server.sql("d")
    owner.run("BEGIN")
    owner.rows("SELECT * FROM t WHERE id = 1")
    thread = threading.Thread(target=lambda: changer.run("ALTER TABLE t ADD COLUMN y INT"))
    thread.start()
    wait_until(lambda: b"Waiting for table metadata lock" in
               {row[6] for row in server.sql().rows("SHOW PROCESSLIST")}, what="the ALTER waits")
    send_update(index, 1)
    # A transaction that only reads is in InnoDB's list from its first read on.
    says(server, "threads of the library wait for table metadata lock", f"connection {int(owner.value('SELECT CONNECTION_ID()'))} of SQL",
         "KILL")
    owner.run("COMMIT")
    thread.join()
    assert index.client.recv() == hs.counted(1)


def test_memory_that_clients_hold(make_server):
    server = make_server(options=["--handlersocket-memory-max-bytes=1048576"])
    address = ("127.0.0.1", int(server.env["HS_PORT"]))
    held = [socket.create_connection(address) for _ in range(10)]
    for each in held:
        each.sendall(b"x" * 103_000)
    says(server, "hold", "bytes of unfinished requests, of commands after MULTI, of requests that wait for locks and of unsent replies", "handlersocket_memory_max_bytes")

    def one_more():
        with contextlib.suppress(OSError), socket.create_connection(address, 5) as one:
            one.sendall(b"x" * 200_000)
            one.recv(1)
    with busy(one_more):
        says(server, "connections without an answer", "raise handlersocket_memory_max_bytes")
    for each in held:
        each.close()


def test_slow_requests(make_server):
    server = make_server()
    sql = make_table(server)
    sql.run("SET GLOBAL long_query_time = 0.000001")
    index, values = writer(server), itertools.count(1)
    with busy(lambda: index.update("=", [1], [next(values)])):
        says(server, "took longer than long_query_time, which is 1e-06 s", "SET GLOBAL long_query_time", "slow_query_log")


def test_handshakes_that_fail(make_server, certificates):
    server = make_server(options=[*certificates.options(), *TLS_ON])
    trusts_nobody = ssl.create_default_context()

    def try_one():
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", int(server.env["HS_PORT"])), 5) as plain, \
                trusts_nobody.wrap_socket(plain, server_hostname="localhost"):
            pass
    # Also on a busy machine there is one in each second.
    with busy(try_one), busy(try_one), busy(try_one):
        says(server, "TLS handshakes with handlersocket have failed", "certificate", interval_s=1)


def test_handshakes_that_do_not_go_on(make_server, certificates):
    server = make_server(options=[*certificates.options(), *TLS_ON])
    with contextlib.ExitStack() as clients:
        for _ in range(25):
            clients.enter_context(socket.create_connection(("127.0.0.1", int(server.env["HS_PORT"])), 5)).sendall(b"\x16")
        says(server, "25 connections of handlersocket have begun a TLS handshake that does not go on, 25 of them from 127.0.0.1")


def test_clients_that_do_not_log_in(make_server):
    server = make_server(options=["--handlersocket-plain-secret=s", "--handlersocket-auth-timeout=1"])

    def come_and_wait():
        clients = [socket.create_connection(("127.0.0.1", int(server.env["HS_PORT"])), 30) for _ in range(5)]
        for client in clients:
            with contextlib.suppress(ConnectionResetError):
                client.recv(1)
            client.close()
    with busy(come_and_wait):
        says(server, "because their clients sent nothing, or did not log in", "handlersocket_auth_timeout", interval_s=2)


def test_a_column_that_is_gone(make_server):
    server = make_server()
    make_table(server)
    client = server.hs_rd()
    with busy(lambda: client.open_index(1, "d", "t", "PRIMARY", "gone")):
        says(server, "were answered fld", "the table has been changed")


def test_a_counter_of_rows_that_is_used_up(make_server):
    server = make_server()
    sql = make_table(server)
    sql.run("CREATE TABLE d.small (id TINYINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, x INT) ENGINE=InnoDB")
    sql.run("INSERT INTO d.small VALUES (254, 1)")
    index, writes = server.hs_wr().opened("d", "small", "", "x"), writer(server)
    keys = server.hs_wr().opened("d", "t", "", "id")
    with busy(lambda: keys.insert(1)):  # a row that is there, as any application meets it
        finds_nothing(server)
    with busy(lambda: index.insert(7)), busy(lambda: writes.update("=", [1], [2])):
        if is_mysql():  # It answers as where the row is there, in SQL as well.
            says(server, "AUTO_INCREMENT of d.small is used up: id (tinyint unsigned) has its highest number")
        else:
            says(server, "requests over handlersocket failed in the last", "at d.small: ", "AUTO_INCREMENT is used up")


def test_one_client_among_many(make_server):
    server = make_server()
    make_table(server)
    others = [server.hs_rd() for _ in range(12)]
    for other in others:
        other.ask_for_nothing()
    index = server.hs_rd().opened("d", "t", "", "x")
    assert index.client.request("N", "import") == hs.OK
    requests = b"".join(line(*find_words(index.id, "=", [number], 1, 0)) for number in range(1, 101))
    other = others[0].opened("d", "t", "", "x")
    with busy(lambda: index.client.pipeline_deep(requests, 100)), busy(lambda: other.find("=", [1])):
        says(server, "one of 13 connections asks for", " import 127.0.0.1:", "_kill_connection = ")


def test_a_table_that_the_doctor_reads_is_locked(make_server):
    """It waits for nobody, and says what it knows."""
    server = make_server()
    make_table(server)
    owner, blocker, index = server.sql("d"), server.sql(), writer(server)
    owner.run("BEGIN")
    owner.run("UPDATE t SET x = 1 WHERE id = 3")
    blocker.run("LOCK TABLES innodb_memcache.containers WRITE, mysql.user WRITE")
    send_update(index, 3)
    says(server, "1 connections wait for rows", "expired rows, or rowsocket.tokens, cannot be read", "Lock wait timeout",
         "limits of accounts, in mysql.user, cannot be read")
    owner.run("COMMIT")
    index.client.recv()
    blocker.run("UNLOCK TABLES")
    finds_nothing(server)


def test_the_server_ends_a_statement_before_its_reader_goes(make_server):
    server = make_server()
    options = argparse.Namespace(host=None, port=0, socket=server.env["SQL_SOCKET"], user="root", defaults_file=None)
    with connecting.connect(options, read_timeout=5) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT @@lock_wait_timeout, {'@@max_execution_time / 1000' if is_mysql() else '@@max_statement_time'}")
        assert [float(value) for value in cursor.fetchone()] == [1, 4]


def test_a_port_that_is_taken(make_server):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = make_server(options=[f"--loose-resp-port={port}"])
        says(server, "resp is not loaded, although other plugins of the library are", "INSTALL PLUGIN resp SONAME")
    sql = server.sql()
    sql.run("INSTALL PLUGIN resp SONAME 'rowsocket.so'")
    finds_nothing(server)


def test_a_server_with_no_connection_left(make_server):
    server = make_server(options=["--max-connections=10"])
    with contextlib.suppress(pymysql.MySQLError):
        for _ in range(20):
            server.sql()
    done = subprocess.run([sys.executable, REPOSITORY / "packaging/rowsocket-doctor", "--live", "--socket", server.env["SQL_SOCKET"],
                           "--user", "root"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "Too many connections: max_connections keeps SQL out" in done.stderr, done


@pytest.mark.mysql("MariaDB's metadata_lock_info knows no waits")
def test_a_look_at_many_locks_of_tables_is_short(make_server):
    server = make_server()
    sql = make_table(server)
    for number in range(20):
        sql.run(f"CREATE TABLE d.t{number} (id INT PRIMARY KEY) ENGINE=InnoDB")
    sql.run("SET GLOBAL max_connections = 1000")
    readers = [server.sql("d") for _ in range(400)]
    for session in readers:
        session.run("BEGIN")
        for number in range(20):
            session.rows(f"SELECT * FROM t{number}")
    waits = "SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE lock_status = 'PENDING'"
    altering = [threading.Thread(target=server.sql("d").run, args=(f"ALTER TABLE t{number % 20} ADD COLUMN x{number} INT",))
                for number in range(40)]
    for one in altering:
        one.start()
    wait_until(lambda: int(sql.value(waits)) == 40, what="waits for each table")
    options = argparse.Namespace(host=None, port=0, socket=server.env["SQL_SOCKET"], user="root", defaults_file=None)
    with connecting.connect(options, read_timeout=3) as connection:  # The server ends the statement behind 2 s.
        holders = blockers.of_tables(connection, "9.7", ["table metadata lock"])
    assert len(holders) == blockers.SHOWN and {holder["holds"] for holder in holders} <= {"SHARED_READ", "SHARED_UPGRADABLE"}, holders
    for session in readers:
        session.run("COMMIT")
    for one in altering:
        one.join()


def test_a_table_of_tokens_that_is_gone(make_server):
    server = make_server(options=["--handlersocket-tokens=ON"])
    make_table(server)
    index, numbers = writer(server), itertools.count(1)

    def write():
        request = find_words(index.id, "=", [1], 1, 0, mod=["U", 9])
        assert index.client.request("T", f"token{next(numbers)}", *request) == hs.refused(1, "tokentable")
    with busy(write):
        says(server, "were answered token_table", "the table rowsocket.tokens is not there", "rowsocket_tokens.sql")


def test_a_table_that_is_changed_while_clients_use_it(make_server):
    server = make_server()
    sql = make_table(server)
    sql.run("ALTER TABLE d.t ADD INDEX by_x (x)")
    reader, index, values = server.hs_rd().opened("d", "t", "by_x", "x"), writer(server), itertools.count(1)
    with busy(lambda: reader.find("=", [1])), busy(lambda: index.update("=", [1], [next(values)])):
        sql.run("ALTER TABLE d.t DROP INDEX by_x")
        says(server, "were answered idxnum in the last", ", at d.t by_x", "clients ask for an index that does not exist")
        sql.run("CREATE TRIGGER d.tr BEFORE UPDATE ON d.t FOR EACH ROW SET NEW.x = 1")
        says(server, "were answered trigger in the last", ", at d.t PRIMARY", "the table has a trigger")


def test_large_rows_that_make_others_wait(make_server):
    server = make_server(options=["--max-allowed-packet=64M"])
    sql = make_table(server)
    sql.run("CREATE TABLE d.big (id INT PRIMARY KEY, v LONGBLOB) ENGINE=InnoDB")
    sql.run("INSERT INTO d.big VALUES (1, REPEAT('x', 8000000))")
    small, big = server.hs_rd().opened("d", "t", "", "x"), server.hs_rd().opened("d", "big", "", "v")
    find = line(*find_words(big.id, "=", [1], 1, 0))

    def read_large():
        big.client.sock.sendall(find)
        while not big.client.sock.recv(1 << 20).endswith(b"\n"):
            pass
    with busy(read_large), busy(lambda: small.find("=", [1])):
        says(server, "handlersocket sends", "requests take longest by index d.big PRIMARY", "the columns that they need")
