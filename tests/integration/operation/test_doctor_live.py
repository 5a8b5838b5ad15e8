"""rowsocket-doctor --live names what is wrong now: each trouble is made, and looked for in what the doctor says."""

import contextlib
import socket
import subprocess
import sys

import pytest

import hs
import logins
import resp
from doctor import NOTHING, busy, doctor, finds_nothing, says
from hs import OK, find_words, line
from server import REPOSITORY, run_packaged, wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]

@pytest.fixture
def server(quiet_server):
    yield quiet_server
    quiet_server.close_clients()


@pytest.fixture
def table(sql):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT NOT NULL DEFAULT 0) ENGINE=InnoDB")
    sql.run("INSERT INTO t SELECT seq, 0 FROM seq_1_to_1000")
    return sql.value("SELECT DATABASE()").decode()


def test_nothing_is_wrong_with_a_server_that_does_its_work(table, server, rd, wr):
    reads, writes, number = rd("t", "", "x"), wr("t", "", "x"), iter(range(1, 1_000_000))

    def work():
        at = next(number)
        reads.find("=", [at % 1000 + 1])
        writes.update("=", [at % 1000 + 1], [at])
    with busy(work):
        finds_nothing(server)


def test_the_transaction_that_holds_a_row_is_named(table, server, wr):
    index, owner = wr("t", "", "x"), server.sql(table)
    owner.run("BEGIN")
    owner.run("UPDATE t SET x = 7 WHERE id = 3")
    index.client.send(*find_words(index.id, "=", [3], 1, 0, mod=["U", 9]))
    says(server, "1 connections wait for rows", f"connection {int(owner.value('SELECT CONNECTION_ID()'))} of SQL (root@localhost)",
         "executes nothing now", "KILL")
    owner.run("COMMIT")
    index.client.recv()
    wait_until(lambda: doctor(server) == NOTHING, timeout_s=30, what="the end of the trouble")


def test_requests_over_resp_that_fail_are_named(make_server):
    """Its errors have no counters by their cause."""
    server = resp.start(make_server)
    server.sql().run("SET GLOBAL read_only = ON")
    client = resp.Client(server.resp_port)
    with busy(lambda: client.ask("HGETALL", "nothing.there:1")):
        says(server, "requests over resp were answered with an error", "most by resp ", "read_only is ON")
    client.close()


def test_an_account_that_sees_nothing_is_not_told_that_nothing_is_wrong(table, server, rd, sql):
    rd("t", "", "x").find("=", [1])
    sql.run("CREATE USER none@localhost")
    try:
        done = subprocess.run([sys.executable, REPOSITORY / "packaging/rowsocket-doctor", "--live", "--interval", "0.1", "--socket",
                               server.env["SQL_SOCKET"], "--user", "none"], capture_output=True, text=True, check=False)
        assert done.returncode == 1 and "Nothing is wrong" not in done.stdout and table
        assert "PROCESS" in done.stderr
    finally:
        sql.run("DROP USER none@localhost")


def test_a_hot_row_is_named(table, server, rd):
    index = rd("t", "", "x")
    request = line(*find_words(index.id, "=", [77], 1, 0))
    with busy(lambda: index.client.pipeline_deep(request * 200, 200)):
        says(server, "is for one: ", f"{table}.t PRIMARY 77")


def test_clients_that_do_not_read_are_named(make_server):
    server = make_server(options=["--loose-handlersocket-buffer-max-bytes=65536"])
    sql = server.sql()
    sql.run("CREATE DATABASE wide")
    sql.run("CREATE TABLE wide.t (id INT PRIMARY KEY, v LONGTEXT) ENGINE=InnoDB")
    sql.run("INSERT INTO wide.t VALUES (1, REPEAT('x', 1000000))")
    client = hs.Client(("127.0.0.1", int(server.env["HS_PORT"])), receive_buffer_bytes=4096)
    index = client.opened("wide", "t", "", "v")
    client.send_raw(line(*find_words(index.id, "=", [1], 1, 0)) * 50)
    says(server, "that their clients do not read", "SET GLOBAL handlersocket_kill_connection = ID")
    client.close()


def test_connections_at_their_limit_are_named(make_server):
    server = make_server(options=["--loose-handlersocket-connections-max=10"])
    clients = [server.hs_rd() for _ in range(10)]
    for client in clients:
        client.ask_for_nothing()

    def try_one():
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", int(server.env["HS_PORT"])), 5) as one:
            one.recv(1)
    says(server, "handlersocket mode=rd has 10 connections of 10")
    with busy(try_one):
        says(server, "handlersocket has turned", "which limit it was: handlersocket_connections_max")


def test_logins_that_fail_are_named(make_server):
    server = make_server(options=logins.OPTIONS)
    logins.prepare(server)

    def try_one():
        client, answer = logins.log_in(server, "app", "wrong", source=logins.fresh_source())
        assert answer != OK
        client.close()
    with busy(try_one):
        says(server, "handlersocket has refused", "logins")


def test_logins_that_an_accounts_limit_refuses_are_told_from_wrong_passwords(make_server):
    server = make_server(options=logins.OPTIONS)
    sql = logins.prepare(server)
    sql.run("CREATE USER hourly@'127.%' IDENTIFIED BY 'p' WITH MAX_QUERIES_PER_HOUR 5")

    def try_one():
        client, answer = logins.log_in(server, "hourly", "p", source=logins.fresh_source())
        assert answer != OK
        client.close()
    with busy(try_one):
        says(server, "handlersocket has refused", "most not for a wrong password", "hourly@127.% (MAX_QUERIES_PER_HOUR 5)")


def test_an_account_beyond_its_rate_is_named_with_the_variable(make_server):
    server = make_server(options=logins.OPTIONS)
    sql = logins.prepare(server)
    client, answer = logins.log_in(server, "app", "right")
    assert answer == OK
    index = client.opened("g", "t", "", "v")
    sql.run("SET GLOBAL handlersocket_account_requests_per_second = 3")
    with busy(lambda: index.find("=", [1])):
        says(server, "were answered account_rate", ", most of account app@", "raise *_account_requests_per_second")


@pytest.mark.parametrize("value", ["none", "large"])
def test_values_that_a_column_does_not_take_are_named(table, server, wr, value):
    """Over HandlerSocket, whose errors of engines are usual where a row is there already."""
    index = wr("t", "", "x")
    server.sql(table).run("CREATE TABLE other (id INT PRIMARY KEY) ENGINE=InnoDB")
    taken = server.hs_wr().opened(table, "other", "", "id")  # Another thread uses it than that of `index`.
    taken.insert(1)
    with busy(lambda: taken.insert(1)):
        assert "an engine's error" not in doctor(server)
        with busy(lambda: index.update("=", [1], [None if value == "none" else 1 << 40])):
            says(server, f" requests over handlersocket for {table}.t were answered with an engine's error", "most by handlersocket ",
                 "a column does not take")


def test_a_table_that_is_dropped_under_its_clients_is_named(table, server, sql, rd):
    sql.run("CREATE TABLE gone (id INT PRIMARY KEY) ENGINE=InnoDB")
    index = rd("gone", "", "id")
    index.find("=", [1])
    sql.run("DROP TABLE gone")
    with busy(lambda: index.find("=", [1])):
        says(server, "were answered open_table in the last", f", at {table}.gone PRIMARY")


def test_requests_that_fail_are_named_with_the_reason(table, server, hs_rd):
    def write():
        hs_rd.request(0, "+", 1, 5)
    hs_rd.opened(table, "t", "", "x")
    with busy(write):
        says(server, "were answered readonly", "give them the port of writes")


def test_long_turns_are_named(table, server, sql, rd):
    sql.run("CREATE TABLE long_ (id INT PRIMARY KEY, v VARCHAR(20)) ENGINE=InnoDB")
    sql.run("INSERT INTO long_ SELECT seq, 'y' FROM seq_1_to_1000000")
    index = rd("long_", "", "id", "v")
    with busy(lambda: index.find(">", [0], 1, 0, filters=[("F", "=", 0, "none")])):
        says(server, "a turn over handlersocket executes for", f"most time goes to index {table}.long_ PRIMARY (",
             "ms a request), and to account -", "scans and long ranges")


# The doctor's modules are beside it, and not among the tests'.
LISTENERS = (f"import sys; sys.dont_write_bytecode = True; sys.path.insert(0, '{REPOSITORY}/packaging');"
             " from rowsocket_doctor import listeners;")


def test_the_doctors_questions_are_answered_as_it_expects(make_server):
    """By its questions the doctor tells this library from a memcached or a Redis on the same port."""
    server = resp.start(make_server)
    ports = {"daemon_memcached": int(server.env["MEMCACHED_PORT"]), "resp": server.resp_port}
    look = LISTENERS + (f" import re, socket; ports = {ports!r}\nfor name, (question, wanted) in"
                        " listeners.QUESTIONS.items():\n"
                        "    if name not in ports: continue\n"
                        "    with socket.create_connection(('127.0.0.1', ports[name])) as peer:\n"
                        "        peer.settimeout(20)\n        peer.sendall(question)\n        answer = b''\n"
                        "        while not re.match(wanted, answer, re.S): answer += peer.recv(4096) or 1 / 0")
    subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)


def test_what_a_client_of_resp_sees(make_server):
    server = resp.start(make_server)
    look = LISTENERS + f" print(listeners.resp_client_sees(('127.0.0.1', {server.resp_port}), False))"

    def seen():
        return subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True).stdout
    assert "rows alone; a GET answers: -" in seen()
    run_packaged(server.sql(), "rowsocket_store.sql")
    wait_until(lambda: "rows and strings" in seen(), what="the store")


def test_a_server_without_the_library_is_named(make_server):
    assert "the library is not loaded" in doctor(make_server("none"))
