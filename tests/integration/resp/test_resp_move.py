"""RENAME, RENAMENX and COPY of strings, and HRANDFIELD of rows."""

import pytest

from mc_tables import WHOLE, Container
from resp import Client, Error
from server import run_packaged, wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]

NO_KEY = Error("ERR no such key")


@pytest.fixture(scope="module")
def server(resp_server):
    run_packaged(resp_server.sql(), "rowsocket_store.sql")
    sql = resp_server.sql("shop")
    Container(resp_server, "shop", "items", WHOLE.replace("e BIGINT", "e DECIMAL(20,3)"))
    Container(resp_server, "shop", "plain", "k VARBINARY(250) PRIMARY KEY, v MEDIUMBLOB", flags="0", token="0", expiry="0")
    sql.run("INSERT INTO rowsocket.keyspaces (prefix, kind, container) VALUES (':1:', 'value', 'items'), (':2:', 'value', 'items'), (':p:', 'value', 'plain')")
    client = Client(resp_server.resp_port)
    wait_until(lambda: client.ask("SET", ":p:seen", 1) == "OK", 10, "the keyspaces")
    client.close()
    return resp_server


@pytest.fixture(params=[2, 3])
def client(server, request):
    client = Client(server.resp_port, request.param)
    client.ask("FLUSHALL")
    server.sql().run("DELETE FROM shop.items")
    server.sql().run("DELETE FROM shop.plain")
    yield client
    client.close()


@pytest.mark.parametrize("a, b", [("a", "b"), (":1:a", ":1:b"), ("a", ":1:b"), (":1:a", "b")])
def test_rename_and_copy(client, a, b):
    ask = client.ask
    assert ask("RENAME", a, b) == NO_KEY and ask("RENAMENX", a, b) == NO_KEY and ask("COPY", a, b) == 0
    assert ask("SET", a, "x", "EX", 100) == "OK" and ask("COPY", a, b) == 1 and ask("COPY", a, b) == 0
    assert [ask("GET", key) for key in (a, b)] == [b"x", b"x"] and 98 <= ask("TTL", b) <= 100
    assert ask("SET", a, "y") == "OK" and ask("COPY", a, b, "REPLACE") == 1 and ask("GET", b) == b"y" and ask("TTL", b) == -1
    assert ask("RENAMENX", a, b) == 0 and ask("EXISTS", a, b) == 2
    assert ask("SET", a, "z", "PX", 50000) == "OK" and ask("RENAME", a, b) == "OK"
    assert [ask("GET", key) for key in (a, b)] == [None, b"z"] and 49000 < ask("PTTL", b) <= 50001 and ask("EXISTS", a) == 0
    assert ask("RENAMENX", b, a) == 1 and ask("GET", a) == b"z"
    assert ask("RENAME", a, a) == "OK" and ask("RENAMENX", a, a) == 0 and ask("RENAME", b, b) == NO_KEY and ask("GET", a) == b"z"
    assert ask("COPY", a, a) == Error("ERR source and destination objects are the same")
    assert ask("PEXPIRE", a, 1) == 1
    wait_until(lambda: ask("EXISTS", a) == 0, 10, "its end")
    assert ask("RENAME", a, b) == NO_KEY and ask("COPY", a, b) == 0


def test_transactions_move_all_or_nothing(client):
    client.ask("SET", "a", 1)
    assert client.transaction(("RENAME", "a", "b"), ("COPY", "b", "c"), ("INCR", "c"), ("RENAMENX", "b", "c")) == ["OK", 1, 2, 0]
    assert client.transaction(("SET", "d", 1), ("RENAME", "none", "x")) == Error("EXECABORT undone: command 2: ERR no such key")
    assert client.ask("MGET", "a", "b", "c", "d") == [None, b"1", b"2", None]
    assert client.ask("WATCH", "x") == "OK" and Client(client.sock.getpeername()[1]).ask("SET", "x", 1) == "OK"
    assert client.transaction(("RENAME", "b", "x")) is None and client.ask("GET", "b") == b"1"


def test_what_cannot_be_moved(client):
    ask = client.ask
    ask("SET", "a", 1)
    for command in ("RENAME", "RENAMENX", "COPY"):
        assert ask(command, "a", "product:7").startswith("NOTSERVED RENAME and COPY are for strings"), command
        assert ask(command, "product:7", "a").startswith("NOTSERVED RENAME and COPY are for strings"), command
    assert ask("COPY", "a", "a", "DB", 3) == 1 and ask("COPY", "a", "b", "DB", 16) == Error("ERR DB index is out of range")
    assert ask("COPY", "a", "b", "DB", "x") == Error("ERR value is not an integer or out of range")
    assert ask("COPY", "a", "b", "DB") == ask("COPY", "a", "b", "WHAT") == Error("ERR syntax error")
    assert ask("SELECT", 3) == "OK" and ask("GET", "a") == b"1" and ask("SELECT", 0) == "OK"
    ask("SET", ":1:a", 1)
    assert ask("RENAME", ":1:a", ":2:a") == "OK" and ask("GET", ":1:a") == b"1", "one row by two prefixes"
    ask("SET", "t", 1, "EX", 100)
    assert ask("RENAME", "t", ":p:t").startswith("NOTSERVED keys of this container do not expire") and ask("GET", "t") == b"1"
    assert ask("RENAME", "a", ":p:a") == "OK" and ask("GET", ":p:a") == b"1"
    assert ask("RENAME", "x" * 1025, "a") == NO_KEY and ask("RENAME", ":p:a", "y" * 1025).startswith("CONSTRAINT the key of a string is longer") and ask("GET", ":p:a") == b"1"


def test_flags_and_time_go_with_an_item(client, server):
    server.sql().run("INSERT INTO shop.items (k, v, f, c, e) VALUES ('a', 'x', 7, NOW(6), 0)")
    assert client.ask("RENAME", ":1:a", ":1:b") == "OK"
    assert server.sql().row("SELECT v, f FROM shop.items") == (b"x", b"7")


def test_fields_at_random(client):
    ask = client.ask
    fields = {b"name": b"Teapot", b"price": b"24.90", b"stock": b"5", b"sku": b"T-7"}
    for _ in range(20):
        assert ask("HRANDFIELD", "product:7") in fields
        assert len(ask("HRANDFIELD", "product:7", -9)) == 9 and set(ask("HRANDFIELD", "product:7", -9)) <= set(fields)
    assert set(ask("HRANDFIELD", "product:7", 9)) == set(fields) and len(set(ask("HRANDFIELD", "product:7", 2))) == 2
    assert {ask("HRANDFIELD", "product:7") for _ in range(200)} == set(fields), "each comes"
    pairs = ask("HRANDFIELD", "product:7", 4, "WITHVALUES")
    assert len(pairs) in (4, 8) and (dict(pairs) if len(pairs) == 4 else dict(zip(pairs[::2], pairs[1::2]))) == fields
    assert len(pairs) == (8 if client.ask("CLIENT", "INFO").find(b"resp=2") >= 0 else 4)
    assert ask("HRANDFIELD", "product:99") is None and ask("HRANDFIELD", "product:99", 3) == [] and ask("HRANDFIELD", "product:7", 0) == []
    assert b"price" not in ask("HRANDFIELD", "product:8", 9), "NULL is an absent field"
    assert ask("HRANDFIELD", "product:7", "x") == Error("ERR value is not an integer or out of range")
    assert ask("HRANDFIELD", "product:7", 1, "what") == ask("HRANDFIELD", "product:7", 1, "withvalues", 1) == Error("ERR syntax error")
    assert ask("HRANDFIELD", "product:7", -(2 ** 63) + 1, "WITHVALUES") == Error("ERR value is out of range")
    assert ask("HRANDFIELD", "product:7", -(10 ** 12)).startswith("TOOLARGE")
    assert client.transaction(("HRANDFIELD", "product:7", 0)) == [[]]
