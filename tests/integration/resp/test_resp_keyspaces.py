"""Keyspaces over RESP: a prefix whose keys are items of a memcached container, or rows of a table."""

import time

import pytest

import mc
import resp
from mc_tables import WHOLE, Container
from resp import Client, Error
from server import free_port, run_packaged, wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]

RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"
WRONG_TYPE = Error("WRONGTYPE Operation against a key holding the wrong kind of value")


@pytest.fixture(scope="module")
def server(resp_server):
    run_packaged(resp_server.sql(), "rowsocket_store.sql")
    sql = resp_server.sql("shop")
    Container(resp_server, "shop", "items", WHOLE.replace("e BIGINT", "e DECIMAL(20,3)"))
    Container(resp_server, "shop", "pairs", "a VARBINARY(20), b INT, v VARCHAR(20), w VARCHAR(20), PRIMARY KEY (a, b)",
              key="a,b", value="v,w", flags="0", token="0", expiry="0")
    Container(resp_server, "shop", "numbered", "k INT(5) ZEROFILL PRIMARY KEY, v VARCHAR(20)", flags="0", token="0", expiry="0")
    sql.run("INSERT INTO rowsocket.keyspaces (prefix, kind, container) VALUES"
            " (':1:', 'value', 'items'), ('pair|', 'value', 'pairs'), ('number:', 'value', 'numbered'), ('lost:', 'value', 'nowhere')")
    sql.run("INSERT INTO rowsocket.keyspaces (prefix, kind, container, read_only) VALUES ('read:', 'value', 'items', 1)")
    sql.run("INSERT INTO rowsocket.keyspaces (prefix, kind, db_schema, db_table, db_index, fields, if_absent, read_only)"
            " VALUES ('p/', 'row', 'shop', 'product', NULL, 'name, stock', 'refuse', 0),"
            " ('sku=', 'row', 'shop', 'product', 'by_sku', NULL, 'insert', 1),"
            " (':1:p/', 'row', 'shop', 'product', NULL, 'name', 'insert', 0)")
    with_client(resp_server, lambda client: wait_until(
        lambda: client.ask("HGET", "p/7", "name") == b"Teapot" and client.ask("SET", ":1:seen", 1) == "OK", 10,
        "the keyspaces"))
    return resp_server


def with_client(server, do):
    client = Client(server.resp_port)
    try:
        return do(client)
    finally:
        client.close()


@pytest.fixture(params=[2, 3])
def client(server, request):
    server.sql().run("DELETE FROM shop.items")
    client = Client(server.resp_port, request.param)
    yield client
    client.close()


@pytest.fixture
def other(server):
    """A client of memcached's protocol."""
    return mc.connect(server)


def test_one_item_over_three_protocols_and_sql(client, other, server):
    sql = server.sql("shop")
    assert client.ask("SET", ":1:a", b"x\x00y", "EX", 100) == "OK"
    assert other.value("@@items.a") == b"x\x00y"
    row = sql.row("SELECT v, f, e FROM items WHERE k = 'a'")
    assert row[:2] == (b"x\x00y", b"0") and 98 <= float(row[2]) - time.time() <= 102
    before = token(other, "a")
    assert client.ask("INCR", ":1:n") == 1 and other.value("@@items.n") == b"1"
    assert client.ask("APPEND", ":1:a", "z") == 4 and token(other, "a") != before
    before = token(other, "a")
    assert client.ask("EXPIRE", ":1:a", 50) == 1 and token(other, "a") == before
    assert client.ask("PERSIST", ":1:a") == 1 and token(other, "a") == before and client.ask("TTL", ":1:a") == -1
    assert other.command("ms @@items.f 1 F5 T100", b"1") == b"HD"
    assert 98 <= client.ask("TTL", ":1:f") <= 100 and client.ask("INCR", ":1:f") == 2
    assert sql.row("SELECT f FROM items WHERE k = 'f'") == (b"5",), "a counter keeps the flags"
    assert client.ask("SET", ":1:f", "text") == "OK" and sql.row("SELECT f, e FROM items WHERE k = 'f'") == (b"0", b"0.000")
    sql.run("UPDATE items SET v = 'by SQL' WHERE k = 'f'")
    assert client.ask("GET", ":1:f") == b"by SQL" and client.ask("GETDEL", ":1:f") == b"by SQL"
    assert other.command("mg @@items.f v") == b"EN"


def token(other, key):
    return other.token(f"@@items.{key}")


def test_an_old_token_of_memcached_does_not_overwrite(client, other):
    assert client.ask("SET", ":1:c", "1") == "OK"
    old = token(other, "c")
    assert client.ask("SET", ":1:c", "2") == "OK"
    assert other.command(f"ms @@items.c 1 C{old}", b"3") == b"EX" and client.ask("GET", ":1:c") == b"2"


def test_commands_on_items(client):
    ask = client.ask
    assert ask("GET", ":1:k") is None and ask("EXISTS", ":1:k") == 0 and ask("TYPE", ":1:k") == "none" and ask("TTL", ":1:k") == -2
    assert ask("SET", ":1:k", "v", "XX") is None and ask("SET", ":1:k", "v", "NX", "GET") is None and ask("GET", ":1:k") == b"v"
    assert ask("SET", ":1:k", "w", "EX", 90) == "OK" and ask("SET", ":1:k", "x", "KEEPTTL") == "OK" and ask("TTL", ":1:k") > 80
    assert ask("GETEX", ":1:k", "PERSIST") == b"x" and ask("TTL", ":1:k") == -1 and ask("TYPE", ":1:k") == "string"
    assert ask("MSET", ":1:a", 1, "bare", 2, ":1:b", 3) == "OK" and ask("MGET", ":1:a", "bare", ":1:b", ":1:none") == [b"1", b"2", b"3", None]
    assert ask("DEL", ":1:a", "bare", ":1:b", ":1:none") == 3
    assert ask("INCRBYFLOAT", ":1:d", "1.5") == b"1.5" and ask("SETRANGE", ":1:d", 1, "_") == 3 and ask("GET", ":1:d") == b"1_5"
    assert ask("EXPIRE", ":1:d", -1) == 1 and ask("GET", ":1:d") is None
    assert ask("HGETALL", ":1:k") == WRONG_TYPE and ask("HSET", ":1:k", "f", 1) == WRONG_TYPE
    assert client.transaction(("SET", ":1:t", 1), ("INCR", ":1:t"), ("HINCRBY", "product:7", "stock", 0)) == ["OK", 2, 5]
    assert client.transaction(("INCR", ":1:t"), ("INCR", ":1:k")).startswith("EXECABORT") and ask("GET", ":1:t") == b"2"


def test_watch_sees_what_memcached_writes(client, other):
    client.ask("SET", ":1:w", 1)
    for change, expected in ((None, ["OK"]), (b"5", None)):
        assert client.ask("WATCH", ":1:w", ":1:absent") == "OK"
        if change:
            assert other.command("ms @@items.absent 1", change) == b"HD"
        assert client.transaction(("SET", ":1:w", 2)) == expected


def test_expired_items_are_absent_and_renewed_whole(client, other, server):
    server.sql("shop").run("INSERT INTO items (k, v, f, e) VALUES ('old', 'v', 7, UNIX_TIMESTAMP() - 5)")
    assert client.ask("GET", ":1:old") is None and client.ask("APPEND", ":1:old", "new") == 3
    assert server.sql("shop").row("SELECT v, f, e FROM items WHERE k = 'old'") == (b"new", b"0", b"0.000")
    assert client.ask("SET", ":1:soon", "v", "PX", 1) == "OK"
    wait_until(lambda: client.ask("GET", ":1:soon") is None, 10, "that it expires")
    wait_until(lambda: server.sql("shop").value("SELECT COUNT(*) FROM items WHERE k = 'soon'") == b"0", 20, "the purge")


def test_deleting_an_expired_item_changes_no_row_that_refers_to_it(make_server):
    """Nobody purges the item here, so that whatever happens to it is done by a command."""
    server = resp.start(make_server, "--loose-daemon-memcached-purge-rows-per-second=0")
    sql, client = server.sql("shop"), Client(server.resp_port)
    run_packaged(sql, "rowsocket_store.sql")
    Container(server, "shop", "items")
    sql.run("INSERT INTO rowsocket.keyspaces (prefix, kind, container) VALUES ('i:', 'value', 'items')")
    sql.run("INSERT INTO items (k, v) VALUES ('a', '1')")
    wait_until(lambda: client.ask("GET", "i:a") == b"1", 10, "the keyspace")
    sql.run("UPDATE items SET e = 1")
    for rule in ("", "ON DELETE CASCADE", "ON DELETE SET NULL"):
        sql.run(f"CREATE TABLE child (k VARBINARY(250), FOREIGN KEY (k) REFERENCES items (k) {rule}) ENGINE=InnoDB")
        sql.run("INSERT INTO child VALUES ('a')")
        assert client.ask("DEL", "i:a") == 0 and client.ask("UNLINK", "i:a") == 0 and client.ask("GETDEL", "i:a") is None
        assert client.ask("SET", "i:b", 1) == "OK" and client.ask("DEL", "i:a", "i:b") == 1
        assert sql.rows("SELECT k FROM child") == sql.rows("SELECT k FROM items") == [(b"a",)], rule
        sql.run("DROP TABLE child")


def test_keys_and_values_of_several_columns(client, server):
    sql = server.sql("shop")
    assert client.ask("SET", "pair|x|7", "one|two") == "OK" and client.ask("GET", "pair|x|7") == b"one|two"
    assert sql.row("SELECT a, b, v, w FROM pairs") == (b"x", b"7", b"one", b"two")
    assert client.ask("SET", "pair|x|7", "one").startswith("CONSTRAINT the value has not the columns")
    assert client.ask("GET", "pair|x|007") is None and client.ask("DEL", "pair|x") == 0
    assert client.ask("SET", "pair|x|007", "a|b").startswith("CONSTRAINT the key's columns cannot hold")
    assert client.ask("SET", "pair|x|7", "a|b", "EX", 5).startswith("NOTSERVED keys of this container do not expire")
    assert client.ask("GET", "pair|x|7") == b"one|two" and client.ask("TTL", "pair|x|7") == -1


def test_what_a_keyspace_does_not_allow(client):
    assert client.ask("GET", "lost:1") == Error("NOSTORE innodb_memcache.containers has no container 'nowhere'")
    assert client.ask("SET", ":1:r", "v") == "OK" and client.ask("GET", "read:r") == b"v"
    for command in (("SET", "read:r", 1), ("DEL", "read:r"), ("EXPIRE", "read:r", 1), ("INCR", "read:r"), ("PERSIST", "read:r")):
        assert client.ask(*command).startswith("NOPERM rowsocket.keyspaces"), command
    assert client.transaction(("GET", "read:r")) == [b"v"]


@pytest.mark.parametrize("policy, refused, served", [
    ("get_policy", (("GETEX", ":1:p"), ("GETSET", ":1:p", "w"), ("SET", ":1:p", "w", "GET"), ("GETDEL", ":1:p")), ("INCR", ":1:n")),
    ("delete_policy", (("DEL", ":1:p"), ("GETDEL", ":1:p"), ("EVAL", RELEASE, 1, ":1:p", "v")), ("GET", ":1:p"))])
def test_policies_of_containers(client, server, policy, refused, served):
    """A policy of `disabled` refuses each command that would do what it forbids."""
    sql = server.sql()
    assert client.ask("SET", ":1:p", "v") == "OK"
    sql.run(f"UPDATE innodb_memcache.cache_policies SET {policy} = 'disabled'")
    try:
        wait_until(lambda: isinstance(client.ask("GETDEL", ":1:none"), Error), 10, "the policy")
        for command in refused:
            assert client.ask(*command).startswith(f"NOPERM {policy} of"), command
        assert not isinstance(client.ask(*served), Error)
    finally:
        sql.run(f"UPDATE innodb_memcache.cache_policies SET {policy} = 'innodb_only'")
    wait_until(lambda: client.ask("GETDEL", ":1:p") == b"v", 10, "the policy")


def test_rows_by_a_prefix(client, server):
    ask = client.ask
    assert fields(ask("HGETALL", "p/7")) == {b"name": b"Teapot", b"stock": b"5"} and ask("HLEN", "p/7") == 2
    assert ask("HGET", "p/7", "price") is None and ask("HMGET", "p/7", "price", "stock", "none") == [None, b"5", None]
    assert ask("HEXISTS", "p/7", "price") == 0 and ask("HDEL", "p/7", "price") == 0
    assert ask("HSET", "p/7", "price", 1) == ask("HSET", "p/7", "nothing", 1) and ask("HINCRBY", "p/7", "sku", 1).startswith("NOFIELD")
    assert server.sql().row("SELECT price FROM shop.product WHERE id = 7") == (b"24.90",)
    assert ask("HINCRBY", "p/7", "stock", -1) == 4 and ask("HINCRBY", "p/7", "stock", 1) == 5
    assert ask("HSET", "p/99", "name", "New").startswith("NOROW") and ask("HGETALL", "p/99") in ({}, [])
    assert ask("GET", "p/7") == WRONG_TYPE and ask("SET", "p/7", 1) == WRONG_TYPE
    assert ask("HGET", "sku=T-7", "name") == b"Teapot" and ask("HSET", "sku=T-7", "name", "x").startswith("NOPERM")
    assert ask("HGETALL", ":1:p/7") in ({b"name": b"Teapot"}, [b"name", b"Teapot"]), "the longest prefix counts"


def fields(reply):
    return reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2]))


def scanned(client, pattern, *options):
    """All keys of SCANs from 0 to 0, which come once each."""
    keys, cursor = [], b"0"
    while True:
        cursor, some = client.ask("SCAN", cursor, "MATCH", pattern, "COUNT", 3, *options)
        keys += some
        if cursor == b"0":
            assert len(set(keys)) == len(keys)
            return set(keys)


def test_scan_over_a_prefix(client, server):
    sql = server.sql("shop")
    for number in range(10):
        client.ask("SET", f":1:s{number}", number)
    sql.run("UPDATE items SET e = 1 WHERE k = 's3'")
    keys = {b":1:s%d" % number for number in range(10) if number != 3}
    assert scanned(client, ":1:*") == keys == set(client.ask("KEYS", ":1:*"))
    assert scanned(client, ":1:s[01]") == {b":1:s0", b":1:s1"} and scanned(client, ":1:*", "TYPE", "hash") == set()
    sql.run("DELETE FROM pairs")
    for key in ("x|1", "x\\|y|2", "y|1"):
        assert client.ask("SET", f"pair|{key}", "a|b") == "OK"
    assert scanned(client, "pair|*") == {b"pair|x|1", b"pair|x\\|y|2", b"pair|y|1"} and client.ask("GET", "pair|x\\|y|2") == b"a|b"
    assert scanned(client, "p/*") == {b"p/7", b"p/8"} and scanned(client, "sku=*") == {b"sku=T-7", b"sku=C\\:8"}
    assert client.ask("HGET", "sku=C\\:8", "name") == b"Cup"
    assert client.ask("SCAN", 0, "MATCH", "lost:*").startswith("NOSTORE")


def test_a_key_that_is_listed_names_the_row_that_it_is_listed_for(client, server):
    sql = server.sql("shop")
    assert client.ask("SET", "number:7", "a") == "OK" and sql.rows("SELECT k FROM numbered") == [(b"00007",)]
    assert scanned(client, "number:*") == {b"number:7"} == set(client.ask("KEYS", "number:*"))
    assert client.ask("GET", "number:7") == b"a" and client.ask("GET", "number:00007") is None and client.ask("DEL", "number:7") == 1
    # Commands take :1:p/7 for a row of product.
    sql.run("INSERT INTO items (k, v) VALUES ('p/7', 'v'), ('q', 'v')")
    assert scanned(client, ":1:*") == {b":1:q"} == set(client.ask("KEYS", ":1:*"))
    assert scanned(client, ":1:p/*") == {b":1:p/7", b":1:p/8"}


def test_a_keyspace_comes_and_goes_while_clients_are_connected(client, server):
    sql = server.sql()
    assert client.ask("SET", "new:1", "in the store") == "OK"
    sql.run("INSERT INTO rowsocket.keyspaces (prefix, kind, container) VALUES ('new:', 'value', 'items')")
    wait_until(lambda: client.ask("GET", "new:1") is None, 10, "the new keyspace")
    assert b"new:1" not in scanned(client, "*")
    sql.run("DELETE FROM rowsocket.keyspaces WHERE prefix = 'new:'")
    wait_until(lambda: client.ask("GET", "new:1") == b"in the store", 10, "its end")
    assert b"new:1" in scanned(client, "*")
    client.ask("DEL", "new:1")


@pytest.mark.mariadb("sequences")
def test_a_default_of_a_sequence_keeps_only_items_from_being_made(client, server):
    sql = server.sql("shop")
    sql.run("CREATE SEQUENCE sequence")
    container = Container(server, "shop", "drawn", "k VARBINARY(9) PRIMARY KEY, v VARBINARY(9), n INT DEFAULT NEXTVAL(sequence)",
                          flags="0", token="0", expiry="0")
    sql.run("INSERT INTO drawn VALUES ('a', '1', 1)")
    sql.run("INSERT INTO rowsocket.keyspaces (prefix, kind, container) VALUES ('drawn:', 'value', 'drawn')")
    wait_until(lambda: client.ask("GET", "drawn:a") == b"1", 10, "the keyspace")
    assert client.ask("INCR", "drawn:a") == 2
    for command in (("SET", "drawn:b", 1), ("INCR", "drawn:b"), ("APPEND", "drawn:b", 1), ("COPY", "drawn:a", "drawn:b")):
        assert client.ask(*command).startswith("CONSTRAINT a column's DEFAULT is NEXTVAL(...)"), command
    assert mc.connect(server).set(container.at("b"), b"1").startswith(b"SERVER_ERROR a column's DEFAULT is NEXTVAL(...)")
    sql.run("DELETE FROM rowsocket.keyspaces WHERE container = 'drawn'")
    container.drop()
    sql.run("DROP TABLE drawn")
    sql.run("DROP SEQUENCE sequence")


def test_random_commands_are_as_in_the_store(client, rng):
    """The same commands on a key of a container and on one of the store have the same replies."""
    at = int(time.time())
    commands = [("GET",), ("SET", "5"), ("SET", "x", "NX"), ("SET", "7", "XX", "KEEPTTL"), ("SET", "9", "EX", "100"), ("APPEND", "1"),
                ("INCRBY", "3"), ("DECR",), ("SETRANGE", "2", "z"), ("GETRANGE", "0", "1"), ("STRLEN",), ("EXISTS",), ("TYPE",), ("DEL",),
                ("GETDEL",), ("GETSET", "4"), ("SETNX", "6"), ("EXPIRE", "100"), ("EXPIREAT", str(at + 200), "GT"), ("EXPIREAT", str(at + 50), "LT"),
                ("PERSIST",), ("GETEX", "EX", "100"), ("EXPIRE", "-1"), ("INCRBYFLOAT", "0.5")]
    client.ask("DEL", "bare", ":1:key")
    for _ in range(1500):
        command, *options = rng.choice(commands)
        replies = [client.ask(command, key, *options) for key in ("bare", ":1:key")]
        assert replies[0] == replies[1], (command, options)
        ttls = [client.ask("TTL", key) for key in ("bare", ":1:key")]
        assert abs(ttls[0] - ttls[1]) <= 1 and (ttls[0] < 0) == (ttls[1] < 0), (command, options, ttls)


def test_an_account_needs_the_rights_that_sql_asks_for(make_server):
    server = resp.start(make_server, "--loose-resp-accounts=ON")
    sql = server.sql("shop")
    run_packaged(sql, "rowsocket_store.sql")
    Container(server, "shop", "items")
    sql.run("INSERT INTO rowsocket.keyspaces (prefix, kind, container) VALUES ('i:', 'value', 'items')")
    sql.run("INSERT INTO items (k, v) VALUES ('a', '1')")
    grants = {"reader": "SELECT ON shop.items", "writer": "SELECT, INSERT, UPDATE ON shop.items", "nobody": "SELECT ON shop.product"}
    for name, grant in grants.items():
        sql.run(f"CREATE USER {name}@'127.0.0.1' IDENTIFIED BY 'pw'")
        sql.run(f"GRANT {grant} TO {name}@'127.0.0.1'")
    reads, writes, none = (Client(server.resp_port) for _ in range(3))
    for client, name in ((reads, "reader"), (writes, "writer"), (none, "nobody")):
        assert client.ask("AUTH", name, "pw") == "OK"
    wait_until(lambda: reads.ask("GET", "i:a") == b"1", 10, "the keyspace")
    assert none.ask("GET", "i:a").startswith("NOPERM") and none.ask("SCAN", 0, "MATCH", "i:*").startswith("NOPERM")
    assert reads.ask("SCAN", 0, "MATCH", "i:*") == [b"0", [b"i:a"]]
    for command in (("SET", "i:a", 2), ("INCR", "i:a"), ("DEL", "i:a"), ("EXPIRE", "i:a", 9), ("GETEX", "i:a", "EX", 9)):
        assert reads.ask(*command).startswith("NOPERM"), command
    assert writes.ask("SET", "i:a", 2) == "OK" and writes.ask("INCR", "i:a") == 3 and writes.ask("DEL", "i:a").startswith("NOPERM")


@pytest.mark.mysql("offline_mode")
def test_a_server_that_starts_offline_says_so(make_server):
    """It has not read yet what its keys mean."""
    server = resp.start(make_server)
    run_packaged(server.sql(), "rowsocket_store.sql")
    server.stop()
    server.start([*server.options, "--offline-mode=ON"])
    client = Client(server.resp_port)
    offline = Error("OFFLINE the server's offline_mode is ON")
    assert client.ask("HGET", "product:7", "name") == offline == client.ask("GET", "x")
    server.sql().run("SET GLOBAL offline_mode = OFF")
    wait_until(lambda: client.ask("HGET", "product:7", "name") == b"Teapot", 10, "the first read")
    client.close()


@pytest.mark.parametrize("first, second", [("resp", "daemon_memcached"), ("daemon_memcached", "resp")])
def test_one_plugin_keeps_house_and_another_goes_on(make_server, first, second):
    """Expired items are purged whichever plugins run, also when the one that did it has gone."""
    server = make_server(plugin="none", options=[f"--loose-resp-port={free_port()}"])
    sql = server.sql()
    for script in ("innodb_memcache.sql", "rowsocket_store.sql"):
        run_packaged(sql, script)
    sql.run("CREATE DATABASE shop")
    Container(server, "shop", "items")
    sql.run("USE shop")

    def purges():
        sql.run("INSERT INTO items (k, v, e) VALUES ('old', 'v', 1)")
        wait_until(lambda: sql.value("SELECT COUNT(*) FROM items") == b"0", 20, "the purge")

    sql.run(f"INSTALL PLUGIN {first} SONAME 'rowsocket.so'")
    purges()
    sql.run(f"INSTALL PLUGIN {second} SONAME 'rowsocket.so'")
    purges()
    sql.run(f"UNINSTALL PLUGIN {first}")
    purges()
    sql.run(f"INSTALL PLUGIN {first} SONAME 'rowsocket.so'")
    sql.run(f"UNINSTALL PLUGIN {second}")
    purges()
