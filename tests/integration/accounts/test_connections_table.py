"""information_schema.ROWSOCKET_CONNECTIONS shows each connection, whose it is, and what it has done."""

import pymysql
import pytest

import logins
from hs import OK, find_words, refused
from server import wait_until

pytestmark = [pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]

COLUMNS = ("plugin, mode, account, address, port, tls_version, tls_cipher, tls_subject, age_ms, idle_ms, requests,"
           " errors, buffered_bytes, id, name, state")


@pytest.fixture
def server(make_server):
    server = make_server(options=[*logins.OPTIONS, "--handlersocket-plain-secret=sesame"], start=False)
    server.options.append(f"--handlersocket-socket={server.directory}/rd.sock")
    server.start()
    logins.prepare(server)
    return server


def connections(sql):
    names = COLUMNS.split(", ")
    return [dict(zip(names, row)) for row in sql.rows(
        f"SELECT {COLUMNS} FROM information_schema.ROWSOCKET_CONNECTIONS ORDER BY plugin, mode, port")]


def test_connections_are_shown(server):
    sql = server.sql()
    assert connections(sql) == []
    source = logins.fresh_source()
    client, answer = logins.log_in(server, "app", "right", source=source)
    assert answer == OK and logins.is_in(client)
    assert client.request("x") == refused(2, "cmd")
    cached = logins.connect_mc(server)
    assert logins.log_in_mc(cached, "app", "right") == b"STORED"
    local = server.connect(f"{server.directory}/rd.sock")
    assert local.auth("sesame") == OK
    memcached, reads, writes = connections(sql)
    assert (writes["plugin"], writes["mode"], writes["account"], writes["address"]) == (
        b"handlersocket", b"mode=wr", b"app@127.%", source.encode())
    assert int(writes["port"]) == client.sock.getsockname()[1]
    assert (writes["requests"], writes["errors"]) == (b"3", b"1")
    assert writes["tls_version"] is writes["tls_cipher"] is writes["tls_subject"] is None
    assert (memcached["plugin"], memcached["account"]) == (b"daemon_memcached", b"app@127.%")
    assert (reads["mode"], reads["account"], reads["address"], reads["port"]) == (b"mode=rd", None, b"localhost", b"0")
    assert len({row["id"] for row in (memcached, reads, writes)}) == 3
    for row in (memcached, reads, writes):
        assert row["name"] is None and row["state"] == b"idle"
        assert 0 <= int(row["idle_ms"]) <= int(row["age_ms"]) < 60_000
    client.close()
    wait_until(lambda: len(connections(sql)) == 2, what="the end of a connection")


def test_unfinished_requests_are_counted(server):
    client, _ = logins.log_in(server, "app", "right")
    client.send_raw(b"P\t0\t" + b"x" * 200_000)
    sql = server.sql()
    wait_until(lambda: int(connections(sql)[0]["buffered_bytes"]) >= 200_000, what="the bytes")


def test_only_users_with_process_see_connections(server):
    sql = server.sql()
    logins.log_in(server, "app", "right")
    sql.run("CREATE USER plain@localhost")
    assert connections(server.sql(user="plain")) == []
    assert len(connections(sql)) == 1


def test_each_statement_sees_the_columns_that_it_reads(server):
    """Only columns that a statement reads are filled: whichever way it reads them."""
    sql = server.sql()
    clients = [logins.log_in(server, "app", "right")[0] for _ in range(3)]
    table = "information_schema.ROWSOCKET_CONNECTIONS"
    ports = sorted(client.sock.getsockname()[1] for client in clients)
    seen = connections(sql)
    assert [int(row["port"]) for row in seen] == ports
    ids = sorted(int(row["id"]) for row in seen)

    def numbers(statement):
        return sorted(int(value) for [value] in sql.rows(statement))

    assert numbers(f"SELECT COUNT(*) FROM {table}") == [3]
    assert numbers(f"SELECT port FROM {table}") == ports
    assert numbers(f"SELECT id FROM {table} WHERE port IN ({ports[0]}, {ports[2]}) AND address LIKE '127.%'") == sorted(
        int(row["id"]) for row in (seen[0], seen[2]))
    assert numbers(f"SELECT a.id FROM {table} a JOIN {table} b ON a.id = b.id WHERE a.port = b.port") == ids
    assert numbers(f"SELECT id FROM {table} ORDER BY port DESC LIMIT 1") == [int(seen[2]["id"])]
    assert numbers(f"SELECT COUNT(*) FROM {table} GROUP BY account HAVING account = 'app@127.%'") == [3]
    assert numbers(f"SELECT (SELECT MAX(port) FROM {table}) - MIN(port) FROM {table}") == [ports[2] - ports[0]]
    sql.run("CREATE DATABASE kept")
    sql.run(f"CREATE TABLE kept.rows_of_it AS SELECT * FROM {table}")
    assert numbers("SELECT port FROM kept.rows_of_it") == ports
    sql.run(f"CREATE VIEW kept.seen AS SELECT * FROM {table}")
    assert numbers("SELECT id FROM kept.seen WHERE port > 0") == ids
    sql.run(f"PREPARE counts FROM 'SELECT port FROM {table} WHERE id > ? - 1'")
    sql.run(f"SET @least = {ids[0]}")
    for _ in range(2):
        assert numbers("EXECUTE counts USING @least") == ports


def test_many_connections(server):
    clients = [logins.connect(server) for _ in range(300)]
    assert all(client.request("x") == refused(2, "cmd") for client in clients)
    assert len(connections(server.sql())) == 300


def id_of(sql, client):
    [row] = [row for row in connections(sql) if int(row["port"]) == client.sock.getsockname()[1]]
    return int(row["id"])


def test_an_operator_ends_one_connection(server):
    sql = server.sql()
    first, second = logins.log_in(server, "app", "right")[0], logins.log_in(server, "app", "right")[0]
    sql.run(f"SET GLOBAL handlersocket_kill_connection = {id_of(sql, first)}")
    assert first.at_end()
    assert logins.is_in(second)
    assert sql.value("SELECT @@handlersocket_kill_connection") == b"0"
    wait_until(lambda: len(connections(sql)) == 1, what="the end of a connection")


def test_a_connection_that_there_is_not_is_refused(server):
    sql = server.sql()
    cached = logins.connect_mc(server)
    assert logins.log_in_mc(cached, "app", "right") == b"STORED"
    theirs = int(connections(sql)[0]["id"])
    for number in (theirs, theirs + 1000, -1):
        with pytest.raises(pymysql.MySQLError) as refused_with:
            sql.run(f"SET GLOBAL handlersocket_kill_connection = {number}")
        assert refused_with.value.args[0] == 1094 and "ROWSOCKET_CONNECTIONS" in refused_with.value.args[1]
    sql.run("SET GLOBAL handlersocket_kill_connection = 0")
    sql.run(f"SET GLOBAL daemon_memcached_kill_connection = {theirs}")
    assert cached.is_closed()
    sql.run("CREATE USER plain@localhost")
    assert server.sql(user="plain").error("SET GLOBAL handlersocket_kill_connection = 0") == 1227


def test_a_connection_that_waits_for_a_lock_is_seen_and_ended(server):
    sql, owner = server.sql(), server.sql()
    sql.run("CREATE DATABASE w")
    sql.run("CREATE TABLE w.t (id INT PRIMARY KEY, x INT) ENGINE=InnoDB")
    sql.run("INSERT INTO w.t VALUES (1, 0)")
    sql.run("GRANT ALL ON w.* TO app@'127.%'")
    client, _ = logins.log_in(server, "app", "right")
    index = client.opened("w", "t", "", "x")
    owner.run("BEGIN")
    owner.run("UPDATE w.t SET x = 5")
    client.send(*find_words(index.id, "=", [1], 1, 0, mod=["U", 9]))
    wait_until(lambda: connections(sql)[0]["state"] == b"lock wait", what="the wait")
    # Until a lane thread has taken the update up, the end of its connection drops it.
    taken = "SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE '%mode=lock wait, 1 request%'"
    wait_until(lambda: sql.value(taken) == b"1", what="a lane thread")
    sql.run(f"SET GLOBAL handlersocket_kill_connection = {id_of(sql, client)}")
    assert client.at_end()
    owner.run("COMMIT")
    wait_until(lambda: connections(sql) == [], what="the end of the connection")
    # The update was under way: the lane carries it out, and no client gets its answer.
    wait_until(lambda: sql.value("SELECT x FROM w.t") == b"9", what="the update")
    sql.run("DROP DATABASE w")
