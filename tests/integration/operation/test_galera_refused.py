"""A node of a Galera cluster: writes would stay on this node alone, so they are refused on every path."""

import socket

import pytest

import galera
import mc
from hs import OK, counted, refused
from mc_tables import Container
from server import run_packaged, wait_until

pytestmark = pytest.mark.ours

NOT_HERE = refused(1, "galera")


def free_port():
    """A free port whose neighbor is free as well."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
            except (OSError, OverflowError):
                continue
            return port


@pytest.fixture
def node(make_server):
    server = make_server(options=[
        *galera.options(free_port()), "--loose-daemon-memcached-flush-all=ON", "--handlersocket-tokens=ON",
        "--loose-daemon-memcached-purge-rows-per-second=10000"])
    sql = server.sql()
    wait_until(lambda: sql.rows("SHOW STATUS LIKE 'wsrep_ready'")[0][1] == b"ON", 60, "the node is ready")
    return server


@pytest.fixture
def sql(node):
    return node.sql()


@pytest.fixture
def rows(sql):
    sql.run("CREATE OR REPLACE DATABASE g")
    sql.run("CREATE TABLE g.t (id INT PRIMARY KEY, n INT, v VARCHAR(20), KEY n (n)) ENGINE=InnoDB")
    sql.run("INSERT INTO g.t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c')")
    return lambda: sql.rows("SELECT * FROM g.t ORDER BY id")


def test_handlersocket_writes(node, sql, rows):
    before = rows()
    with node.hs_wr() as client:
        index, by_n = client.opened("g", "t", "", "n,v"), client.opened("g", "t", "n", "n")
        whole = client.opened("g", "t", "", "id,n,v")
        assert whole.insert(9, 1, "x") == NOT_HERE
        assert index.update("=", [1], [5, "x"]) == NOT_HERE
        assert index.modify("=", [1], ["U?", 5, "x"]) == NOT_HERE
        assert index.delete("=", [1]) == NOT_HERE
        assert by_n.modify("=", [10], ["+", 5]) == NOT_HERE
        assert by_n.modify(">", [10], ["-?", 5], 9) == NOT_HERE
        assert by_n.delete(">", [10], 9) == NOT_HERE
        # Many requests for one row, which would be merged.
        decrement = [by_n.id, "=", 1, 10, 1, 0, "-", 1]
        of_key = [index.id, "=", 1, 1, 1, 0, "U", 7, "m"]
        assert set(client.pipeline([decrement] * 5 + [of_key] * 5)) == {NOT_HERE}
        assert index.rows("=", [1]) == [(b"10", b"a")]
    assert rows() == before


def test_handlersocket_tokens(node, sql, rows):
    run_packaged(sql, "rowsocket_tokens.sql")
    before = rows()
    with node.hs_wr() as client:
        index = client.opened("g", "t", "", "n")
        assert client.request("T", "token", index.id, "=", 1, 1, 1, 0, "U", 5) == NOT_HERE
    assert rows() == before
    assert sql.value("SELECT COUNT(*) FROM rowsocket.tokens") == b"0"


def test_memcached_writes(node, sql):
    sql.run("CREATE DATABASE IF NOT EXISTS m")
    sql.run("DROP TABLE IF EXISTS m.box")
    container = Container(node, "m", "box")
    client = container.ready(mc.connect(node))
    sql.run("INSERT INTO m.box (k, v) VALUES ('a', '1')")
    sql.run("INSERT INTO m.box (k, v, e) VALUES ('old', '1', 1)")
    before = sql.rows("SELECT * FROM m.box ORDER BY k")
    at = container.at("a").decode()
    assert b"@@box" in client.get("@@box")
    for verb in ("set", "add", "replace", "append", "prepend"):
        key = "@@box.b" if verb == "add" else at
        reply = client.set(key, b"new", verb=verb)
        assert reply.startswith(b"SERVER_ERROR") and b"Galera" in reply, (verb, reply)
    token = client.token(at)
    for line, data in ((f"cas {at} 0 0 1 {token}", b"x"), (f"ms {at} 1", b"x"), (f"incr {at} 1", None),
                       (f"decr {at} 1", None), (f"delete {at}", None), (f"touch {at} 100", None),
                       (f"gat 100 {at}", None), (f"md {at}", None), (f"ma {at}", None), (f"mg {at} T100", None),
                       (f"mg @@box.new N100 v", None), ("flush_all", None), ("flush_all 1", None)):
        reply = client.command(line, data)
        assert reply.startswith(b"SERVER_ERROR") and b"Galera" in reply, (line, reply)
    answer = mc.connect(node).binary(mc.SET, container.at("a"), b"x", mc.storing())
    assert answer.status != 0 and b"Galera" in answer.value
    assert sql.rows("SELECT * FROM m.box ORDER BY k") == before
    assert client.value(at) == b"1"
    # The housekeeper removes no rows until the server is no node any more.
    sql.run("SET GLOBAL wsrep_on = OFF")
    wait_until(lambda: sql.rows("SELECT k FROM m.box") == [(b"a",)], 30, "the expired row is removed")


def test_writes_go_on_where_wsrep_is_off(node, sql, rows):
    sql.run("SET GLOBAL wsrep_on = OFF")
    with node.hs_wr() as client:
        assert client.opened("g", "t", "", "n").update("=", [1], [5]) == counted(1)
        assert client.opened("g", "t", "", "id,n").insert(9, 1) == OK
    assert len(rows()) == 4
