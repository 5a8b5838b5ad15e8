"""Many keys over RESP: SCAN and KEYS over the store and over a table, DBSIZE, FLUSHDB, databases."""

import pytest
import redis

from resp import Client, Error
from server import run_packaged, wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]

STRINGS = 2500


@pytest.fixture(scope="module")
def server(resp_server):
    sql = resp_server.sql()
    run_packaged(sql, "rowsocket_store.sql")
    sql.run("CREATE TABLE shop.text (a VARCHAR(20) COLLATE utf8mb4_general_ci, b INT, PRIMARY KEY (a, b)) ENGINE=InnoDB")
    sql.run("INSERT INTO shop.text VALUES ('b:1', 2), ('A', -1), ('a', 7), ('c\\\\d', 0), ('é*', 5)")
    sql.run("CREATE TABLE shop.many (id BIGINT PRIMARY KEY, u INT, UNIQUE KEY by_u (u)) ENGINE=InnoDB")
    sql.run("INSERT INTO shop.many SELECT s.seq, IF(s.seq % 2, s.seq, NULL) FROM (WITH RECURSIVE n (seq) AS"
            " (SELECT 1 UNION ALL SELECT seq + 1 FROM n WHERE seq < 900) SELECT seq FROM n) AS s")
    sql.run("INSERT INTO shop.many VALUES (1001, -5), (1002, 0)")
    sql.run("CREATE TABLE shop.fraction (f DOUBLE PRIMARY KEY) ENGINE=InnoDB")
    sql.run("CREATE TABLE shop.moment (t TIMESTAMP PRIMARY KEY) ENGINE=InnoDB")
    sql.run("CREATE TABLE shop.page (id INT PRIMARY KEY, body TEXT, UNIQUE KEY front (body(10)), KEY many (id)) ENGINE=InnoDB")
    return resp_server


@pytest.fixture
def client(server):
    server.sql().run("DELETE FROM rowsocket.store")
    client = Client(server.resp_port)
    yield client
    client.close()


def scan(client, *options):
    cursor, keys = b"0", []
    while True:
        cursor, page = client.ask("SCAN", cursor, *options)
        keys += page
        if cursor == b"0":
            return keys


def fill(client, count=STRINGS):
    for begin in range(0, count, 50):
        client.ask("MSET", *[word for i in range(begin, min(begin + 50, count)) for word in (f"k:{i}", i)])


def test_each_key_of_the_store_once(client):
    fill(client)
    client.ask("SET", "gone", "x", "PX", 1)
    wait_until(lambda: client.ask("GET", "gone") is None, 5, "the expiry")
    wanted = sorted(f"k:{i}".encode() for i in range(STRINGS))
    assert sorted(scan(client)) == sorted(scan(client, "COUNT", 999)) == wanted
    assert sorted(scan(client, "MATCH", "k:1?", "COUNT", 3)) == [f"k:1{i}".encode() for i in range(10)]
    assert scan(client, "MATCH", "*:77") == [b"k:77"] and scan(client, "TYPE", "hash") == [] and len(scan(client, "TYPE", "string")) == STRINGS
    assert len(client.ask("KEYS", "k:24*")) == 111 and client.ask("DBSIZE") == STRINGS


def test_keys_that_come_and_go_do_not_hide_others(client, server, rng):
    fill(client, 300)
    other = Client(server.resp_port)
    cursor, listed, number = b"0", [], 0
    while True:
        cursor, page = client.ask("SCAN", cursor, "COUNT", 7)
        listed += page
        for _ in range(10):
            number += 1
            other.ask("SET", f"k:{rng.randrange(300)}x{number}", "new")
            other.ask("DEL", f"k:{rng.randrange(200, 300)}")
        if cursor == b"0":
            break
    stay = {f"k:{i}".encode() for i in range(200)}
    assert stay <= set(listed) and len(listed) == len(set(listed))


def test_the_keys_of_a_table_find_its_rows(client):
    keys = scan(client, "MATCH", "shop.text:*", "COUNT", 2)
    assert sorted(keys) == sorted(["shop.text:b\\:1:2".encode(), b"shop.text:A:-1", b"shop.text:a:7", "shop.text:c\\\\d:0".encode(),
                                   "shop.text:é*:5".encode()])
    assert client.ask("EXISTS", *keys) == 5
    assert scan(client, "MATCH", "text:a:*") == [b"text:a:7"] and client.ask("KEYS", "text:[Aa]:*") == [b"text:A:-1", b"text:a:7"]
    assert len(scan(client, "MATCH", "many:*", "COUNT", 100)) == 902
    by_u = scan(client, "MATCH", "many@by_u:*", "COUNT", 100)
    assert by_u[:3] == [b"many@by_u:-5", b"many@by_u:0", b"many@by_u:1"], "they come behind pages of rows with NULL"
    assert len(by_u) == 452, "a row whose key is NULL has no name"
    for unlisted in ("fraction:*", "moment:*", "page@front:*", "page@many:*"):
        assert client.ask("SCAN", 0, "MATCH", unlisted).startswith("NOTSERVED"), unlisted
    assert scan(client, "MATCH", "many:*", "TYPE", "string") == []


def test_cursors(client, server):
    fill(client, 30)
    cursor, _ = client.ask("SCAN", 0)
    other = Client(server.resp_port)
    page = other.ask("SCAN", cursor)
    assert page[1] == client.ask("SCAN", cursor)[1], "a scan may go on by another connection, and a page be asked for again"
    for wrong in (12345, "x", -1, 2 ** 70):
        assert client.ask("SCAN", wrong) == Error("ERR invalid cursor"), wrong
    assert client.ask("SCAN", cursor, "MATCH", "many:*") == Error("ERR invalid cursor"), "a cursor is of one table"
    assert client.ask("SCAN", 0, "COUNT", 0) == Error("ERR syntax error")
    assert client.ask("SCAN", 0, "COUNT", "x") == Error("ERR value is not an integer or out of range")


def test_a_scan_goes_on_while_others_scan(client, server):
    """A busy scan takes no other scan's place: 9,000 pages are more than positions that are kept."""
    fill(client, 30)
    cursor, _ = client.ask("SCAN", 0)
    page = client.ask("SCAN", cursor)
    assert not isinstance(page, Error), page
    other = Client(server.resp_port)
    for _ in range(300):
        scan(other, "COUNT", 1)
    again = client.ask("SCAN", cursor)
    assert not isinstance(again, Error) and again[1] == page[1], again


def test_keys_and_dbsize_of_many(client, server):
    server.sql().run("INSERT INTO rowsocket.store (k, v) SELECT CONCAT('m', a.id * 1000 + b.id), '' FROM shop.many AS a, shop.many AS b"
                     " WHERE a.id <= 15 AND b.id <= 900")
    server.sql().run("ANALYZE TABLE rowsocket.store")
    assert client.ask("KEYS", "*").startswith("TOOLARGE") and client.ask("KEYS", "m1002*") == [b"m1002"] + [f"m1002{i}".encode() for i in range(10)]
    assert 10_000 <= client.ask("DBSIZE") <= 20_000
    assert client.ask("FLUSHALL") == "OK" and client.ask("DBSIZE") == 0


def test_databases_are_apart_for_strings_alone(client, server):
    assert client.ask("SET", "k", "0") == "OK" and client.ask("SELECT", 5) == "OK" and client.ask("GET", "k") is None
    assert client.ask("SET", "k", "5") == "OK" and client.ask("HGET", "product:7", "stock") == b"5"
    assert client.ask("SCAN", 0) == [b"0", [b"k"]] and client.ask("DBSIZE") == 1
    assert client.ask("FLUSHDB") == "OK" and client.ask("DBSIZE") == 0 and client.ask("SELECT", 0) == "OK"
    assert client.ask("GET", "k") == b"0" and client.ask("FLUSHDB", "NOW") == Error("ERR syntax error")
    assert server.sql().rows("SELECT db, k FROM rowsocket.store") == [(b"0", b"k")]


def test_redis_py(server, client):
    fill(client, 100)
    with redis.Redis(port=server.resp_port, db=0) as py:
        assert len(list(py.scan_iter(match="k:*", count=7))) == 100
        assert sorted(py.scan_iter(match="product:*")) == [b"product:7", b"product:8"]
    with redis.Redis(port=server.resp_port, db=3) as py:
        assert list(py.scan_iter()) == [] and py.set("x", 1) and py.keys() == [b"x"]


def test_info_has_the_keys_of_each_database(client, server):
    def keyspace():
        return client.ask("INFO", "keyspace").decode().removeprefix("# Keyspace\r\n").strip().split("\r\n")

    assert keyspace() == [""]
    fill(client, 100)
    client.ask("SELECT", 5)
    assert client.ask("SET", "a", 1, "EX", 1000) == client.ask("SET", "b", 1) == "OK"
    first, second = keyspace()
    assert first == "db0:keys=100,expires=0,avg_ttl=0"
    assert second.startswith("db5:keys=2,expires=1,avg_ttl=") and 900_000 < int(second.rpartition("=")[2]) <= 1_000_000
    client.ask("SELECT", 0)
    fill(client)
    server.sql().run("ANALYZE TABLE rowsocket.store")
    first, second = keyspace()
    assert 0.5 * STRINGS < int(first.removeprefix("db0:keys=").partition(",")[0]) < 1.5 * STRINGS
    assert second.startswith("db5:keys=2,") and b"# Keyspace\r\ndb0:keys=" in client.ask("INFO")


def test_an_escaped_pattern_begins_with_what_it_escapes(client, server):
    """A prefix may have any separator, and any bytes."""
    for key in ("a*b:1", "a*b:2", "axb:3", "a"):
        assert client.ask("SET", key, 1) == "OK"
    assert sorted(scan(client, "MATCH", "a\\*b:*")) == sorted(client.ask("KEYS", "a\\*b:*")) == [b"a*b:1", b"a*b:2"]
    assert scan(client, "MATCH", "\\a") == [b"a"] and scan(client, "MATCH", "a\\") == []
    sql = server.sql()
    sql.run("INSERT INTO rowsocket.keyspaces (prefix, kind, db_schema, db_table) VALUES ('g*[a]/', 'row', 'shop', 'product')")
    try:
        wait_until(lambda: client.ask("EXISTS", "g*[a]/7") == 1, 10, "the keyspace")
        assert sorted(scan(client, "MATCH", "g\\*\\[a\\]/*")) == sorted(client.ask("KEYS", "g\\*\\[a\\]/*")) == [b"g*[a]/7", b"g*[a]/8"]
    finally:
        sql.run("DELETE FROM rowsocket.keyspaces WHERE prefix = 'g*[a]/'")


def test_info_does_not_wait_for_a_locked_store(client, server):
    """Connections that have read the store before, and new ones, which look the table up."""
    assert client.ask("SET", "a", 1) == "OK" and b"db0:keys=1" in client.ask("INFO")
    locker, second = server.sql(), Client(server.resp_port)
    locker.run("LOCK TABLES rowsocket.store WRITE")
    waits = locker.status("Resp_lock_waits")
    for one in (client, second):
        info = one.ask("INFO")
        assert b"redis_version:" in info and b"db0:" not in info
    assert locker.status("Resp_lock_waits") == waits
    locker.run("UNLOCK TABLES")
    assert b"db0:keys=1" in client.ask("INFO") and b"db0:keys=1" in second.ask("INFO")
    second.close()


def test_randomkey_chooses_among_all_keys_of_the_database(client):
    assert client.ask("RANDOMKEY") is None
    fill(client)
    client.ask("SELECT", 5)
    assert client.ask("SET", "other", 1) == "OK" and client.ask("RANDOMKEY") == b"other"
    client.ask("SELECT", 0)
    keys = sorted(b"k:%d" % number for number in range(STRINGS))
    seen = {client.ask("RANDOMKEY") for _ in range(400)}
    assert seen <= set(keys) and len(seen) > 20
    assert any(key < keys[500] for key in seen) and any(key > keys[-500] for key in seen)
