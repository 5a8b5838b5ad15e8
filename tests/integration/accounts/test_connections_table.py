"""information_schema.ROWSOCKET_CONNECTIONS shows each connection, whose it is, and what it has done."""

import pytest

import logins
from hs import OK, refused
from server import wait_until

pytestmark = [pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]

COLUMNS = ("plugin, mode, account, address, port, tls_version, tls_cipher, tls_subject, age_ms, idle_ms, requests,"
           " errors, buffered_bytes")


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
    for row in (memcached, reads, writes):
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


def test_many_connections(server):
    clients = [logins.connect(server) for _ in range(300)]
    assert all(client.request("x") == refused(2, "cmd") for client in clients)
    assert len(connections(server.sql())) == 300
