"""Accounts over RESP: AUTH and HELLO, privileges, what a client without a login may do."""

import pytest
import redis

from resp import Client, Error

pytestmark = [pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]

WRONG = Error("WRONGPASS invalid username-password pair or user is disabled.")


RESP_OPTIONS = ["--loose-resp-accounts=ON"]


@pytest.fixture(scope="module")
def server(resp_server):
    sql = resp_server.sql()
    sql.run("CREATE USER app@'127.%' IDENTIFIED BY 'right'")
    sql.run("GRANT SELECT (id, name), UPDATE (name) ON shop.product TO app@'127.%'")
    sql.run("CREATE USER 'default'@'127.%' IDENTIFIED BY 'one word'")
    sql.run("GRANT ALL ON shop.* TO 'default'@'127.%'")
    return resp_server


def test_nothing_is_served_before_a_login(server):
    client = Client(server.resp_port)
    for command in (["PING"], ["HGETALL", "product:7"], ["INFO"], ["MULTI"], ["CLIENT", "ID"]):
        assert client.ask(*command) == Error("NOAUTH Authentication required.")
    assert client.ask("HELLO", 3).startswith("NOAUTH HELLO must be called")
    client.sock.sendall(b"*11\r\n")
    assert client.receive() == Error("ERR Protocol error: unauthenticated multibulk length")
    client = Client(server.resp_port)
    client.sock.sendall(b"*2\r\n$4\r\nAUTH\r\n$999999\r\n")
    assert client.receive() == Error("ERR Protocol error: unauthenticated bulk length")


def test_auth_and_hello(server):
    client = Client(server.resp_port)
    assert client.ask("AUTH", "app", "wrong") == WRONG
    assert client.ask("HELLO", 3, "AUTH", "app", "wrong", "SETNAME", "x") == WRONG
    assert client.ask("AUTH", "app", "right") == "OK"
    assert client.ask("CLIENT", "GETNAME") is None
    assert client.ask("HGET", "product:7", "name") == b"Teapot"
    other = Client(server.resp_port)
    assert other.ask("HELLO", 3, "AUTH", "app", "right", "SETNAME", "web")[b"proto"] == 3
    assert other.ask("CLIENT", "GETNAME") == b"web" and other.ask("HGET", "product:99", "name") is None
    assert other.ask("RESET") == "RESET" and other.ask("PING") == Error("NOAUTH Authentication required.")
    word = Client(server.resp_port)
    assert word.ask("AUTH", "one word") == "OK" and word.ask("HGET", "product:7", "stock") == b"5"


def test_privileges_are_sqls(server):
    client = Client(server.resp_port)
    client.ask("AUTH", "app", "right")
    assert client.ask("HGET", "product:7", "stock").startswith("NOPERM")
    assert client.ask("HGETALL", "product:7").startswith("NOPERM")
    assert client.ask("HSET", "product:8", "name", "Mug").startswith("NOPERM"), "it may insert"
    assert client.ask("HDEL", "product:8", "name") == 1
    assert client.ask("DEL", "product:7").startswith("NOPERM")
    assert client.ask("HGET", "line:1:x", "n").startswith("NOPERM") and client.ask("HGET", "nothing:1", "n").startswith("NOPERM")
    assert client.transaction(("HDEL", "product:8", "name"), ("HGET", "product:7", "stock")).startswith(
        "EXECABORT undone: command 2: NOPERM")
    sql = server.sql()
    sql.run("GRANT INSERT ON shop.product TO app@'127.%'")
    assert client.ask("HSET", "product:8", "name", "Cup") == 1
    sql.run("REVOKE ALL, GRANT OPTION FROM app@'127.%'")
    assert client.ask("HGET", "product:7", "name").startswith("NOPERM")
    sql.run("GRANT SELECT (id, name), UPDATE (name) ON shop.product TO app@'127.%'")


def test_an_account_that_is_dropped_ends_its_connections(server):
    sql = server.sql()
    sql.run("CREATE USER gone@'127.%' IDENTIFIED BY 'right'")
    client = Client(server.resp_port)
    assert client.ask("AUTH", "gone", "right") == "OK"
    sql.run("DROP USER gone@'127.%'")
    assert client.receive().startswith("NOAUTH")
    with pytest.raises(ConnectionError):
        client.receive()


@pytest.mark.parametrize("protocol", [2, 3])
def test_redis_py_logs_in(server, protocol):
    with redis.Redis(port=server.resp_port, protocol=protocol, username="app", password="right") as client:
        assert client.hget("product:7", "name") == b"Teapot"
