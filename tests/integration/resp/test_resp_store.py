"""Strings over RESP: rows of rowsocket.store, with expiry."""

import time

import pytest
import redis

from resp import Client, Error
from server import run_packaged, wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]

KEY = ":1:name"  # Django's: it names no table
TOO_LONG = Error("CONSTRAINT the key of a string is longer than 1,024 bytes (1406)")
NO_INTEGER = Error("ERR value is not an integer or out of range")


@pytest.fixture(scope="module")
def server(resp_server):
    run_packaged(resp_server.sql(), "rowsocket_store.sql")
    return resp_server


@pytest.fixture(params=[2, 3])
def client(server, request):
    server.sql().run("DELETE FROM rowsocket.store")
    client = Client(server.resp_port, request.param)
    yield client
    client.close()


def test_set_and_get(client, server):
    assert client.ask("GET", KEY) is None and client.ask("SET", KEY, b"a\x00\xff") == "OK"
    assert client.ask("GET", KEY) == b"a\x00\xff" and client.ask("STRLEN", KEY) == 3 and client.ask("TYPE", KEY) == "string"
    assert server.sql().rows("SELECT k, v, expires FROM rowsocket.store") == [(KEY.encode(), b"a\x00\xff", None)]
    assert client.ask("SET", KEY, "b", "NX") is None and client.ask("SET", KEY, "b", "XX") == "OK"
    assert client.ask("SET", "none", "b", "XX") is None and client.ask("SETNX", "none", "b") == 1
    assert client.ask("SET", KEY, "c", "GET") == b"b" and client.ask("SET", "new", "c", "GET") is None
    assert client.ask("SET", KEY, "d", "NX", "GET") == b"c" and client.ask("GET", KEY) == b"c"
    assert client.ask("GETSET", KEY, "e") == b"c" and client.ask("GETDEL", KEY) == b"e" and client.ask("GET", KEY) is None
    assert client.ask("APPEND", KEY, "ab") == 2 and client.ask("APPEND", KEY, "c") == 3 and client.ask("GET", KEY) == b"abc"
    assert client.ask("GETRANGE", KEY, 1, -1) == b"bc" and client.ask("SUBSTR", KEY, -9, 0) == b"a"
    assert client.ask("SETRANGE", KEY, 4, "x") == 5 and client.ask("GET", KEY) == b"abc\x00x"
    assert client.ask("SETRANGE", "missing", 5, "") == 0 and client.ask("SETRANGE", KEY, 2 ** 40, "x").startswith("ERR string exceeds")
    assert client.ask("EXISTS", KEY, KEY, "missing") == 2 and client.ask("DEL", KEY, "missing", "new") == 2


def test_counters(client):
    assert client.ask("INCR", "n") == 1 and client.ask("INCRBY", "n", 41) == 42 and client.ask("DECR", "n") == 41
    assert client.ask("DECRBY", "n", -9) == 50 and client.ask("GET", "n") == b"50"
    assert client.ask("SET", "n", "x") == "OK" and client.ask("INCR", "n") == NO_INTEGER
    assert client.ask("INCRBY", "n", "1.5") == NO_INTEGER
    assert client.ask("SET", "n", 2 ** 63 - 1) == "OK"
    assert client.ask("INCR", "n") == Error("ERR increment or decrement would overflow")


def test_expiry(client, server):
    assert client.ask("SET", "e", "v", "EX", 100) == "OK" and 98 <= client.ask("TTL", "e") <= 100
    assert 98_000 < client.ask("PTTL", "e") <= 100_000 and client.ask("SET", "e", "w", "KEEPTTL") == "OK"
    assert client.ask("TTL", "e") > 90 and client.ask("INCR", "e").startswith("ERR")
    assert client.ask("SET", "e", "w") == "OK" and client.ask("TTL", "e") == -1 and client.ask("TTL", "none") == -2
    assert client.ask("EXPIRE", "e", 50, "XX") == 0 and client.ask("EXPIRE", "e", 50, "NX") == 1
    assert client.ask("EXPIRE", "e", 40, "GT") == 0 and client.ask("EXPIRE", "e", 60, "GT") == 1
    assert client.ask("EXPIRE", "e", 70, "LT") == 0 and client.ask("PERSIST", "e") == 1 and client.ask("PERSIST", "e") == 0
    at = int(time.time()) + 1000
    assert client.ask("EXPIREAT", "e", at) == 1 and client.ask("EXPIRETIME", "e") == at
    assert client.ask("GETEX", "e", "PERSIST") == b"w" and client.ask("TTL", "e") == -1
    assert client.ask("EXPIRE", "e", -1) == 1 and client.ask("EXISTS", "e") == 0
    assert client.ask("SETEX", "e", 0, "v") == Error("ERR invalid expire time in 'setex' command")
    assert client.ask("SET", "e", "v", "EX", "x") == NO_INTEGER and client.ask("SET", "e", "v", "FOO") == Error("ERR syntax error")
    assert client.ask("SET", "e", "v", "PX", 1) == "OK"
    wait_until(lambda: client.ask("GET", "e") is None, 10, "that it expires")
    assert client.ask("SETNX", "e", "again") == 1 and client.ask("TTL", "e") == -1
    for number in range(20):
        client.ask("SET", f"gone{number}", "v", "PX", 1)
    sql = server.sql()
    wait_until(lambda: client.ask("GET", "e") and sql.value("SELECT COUNT(*) FROM rowsocket.store") == b"1", 20, "the purge")


def test_a_locked_string_keeps_no_other_from_being_purged(client, server):
    """Whether anybody uses the port or not; and moments before 1970 are moments, too."""
    sql, owner = server.sql(), server.sql()
    sql.run("INSERT INTO rowsocket.store (k, v, expires) VALUES ('held', 'v', (UNIX_TIMESTAMP() + 3) * 1000), ('kept', 'v', NULL)")
    owner.run("BEGIN")
    assert owner.value("SELECT v FROM rowsocket.store WHERE db = 0 AND k = 'held' FOR UPDATE") == b"v"
    sql.run("INSERT INTO rowsocket.store (k, v, expires) VALUES ('a', 'v', (UNIX_TIMESTAMP() + 3) * 1000 + 1), ('b', 'v', 0), ('c', 'v', -5)")
    left = "SELECT k FROM rowsocket.store ORDER BY k"
    wait_until(lambda: sql.rows(left) == [(b"held",), (b"kept",)], 20, "the purge of the others")
    owner.run("ROLLBACK")
    wait_until(lambda: sql.rows(left) == [(b"kept",)], 20, "the purge of the string that was locked")


def test_a_time_counts_from_the_end_of_the_wait_for_a_lock(client, server):
    """Who takes a lock has it for the time that it has asked for, however long its command has waited."""
    sql, locker = server.sql(), server.sql()
    sql.run("INSERT INTO rowsocket.store (k, v) VALUES ('held', 'v')")
    locker.run("BEGIN")
    locker.run("UPDATE rowsocket.store SET expires = 1 WHERE db = 0 AND k = 'held'")
    before = sql.status("Resp_lock_waits")
    client.send("SET", "held", "mine", "NX", "PX", 2000)
    wait_until(lambda: sql.status("Resp_lock_waits") > before, 20, "the wait")
    time.sleep(2.5)
    locker.run("COMMIT")
    assert client.receive() == "OK" and 0 < client.ask("PTTL", "held") <= 2000
    assert Client(server.resp_port).ask("SET", "held", "of another", "NX", "PX", 2000) is None


def test_several_keys(client, server):
    assert client.ask("MSET", "a", 1, "b", 2) == "OK" and client.ask("MGET", "a", "none", "b") == [b"1", None, b"2"]
    assert client.ask("MSET", "a", 1, "b") == Error("ERR wrong number of arguments for 'mset' command")
    assert client.transaction(("SET", "a", 5), ("INCR", "a"), ("EXPIRE", "a", 10), ("MGET", "a", "b")) == [
        "OK", 6, 1, [b"6", b"2"]]
    assert client.transaction(("SET", "a", 7), ("INCRBY", "b", 1), ("HINCRBY", "product:99", "stock", 1)).startswith("EXECABORT")
    assert client.ask("GET", "a") == b"6"
    assert client.transaction(("SET", "a", 7), ("HINCRBY", "product:7", "stock", -1)) == ["OK", 4]
    server.sql().run("UPDATE shop.product SET stock = 5 WHERE id = 7")


def test_a_key_of_a_table_is_a_row_and_others_are_strings(client):
    assert client.ask("GET", "product:7").startswith("WRONGTYPE") and client.ask("SET", "shop.product:9", "x").startswith("WRONGTYPE")
    assert client.ask("EXPIRE", "product:7", 5).startswith("NOTSERVED")
    for key in ("com.acme.Books::1", "nothing:5", "sess:abc", "cache::k", "celery-task-meta-1"):
        assert client.ask("SET", key, "v") == "OK" and client.ask("GET", key) == b"v", key
        assert client.ask("EXISTS", key, "product:7") == 2 and client.ask("DEL", key) == 1
    assert client.ask("HGETALL", "sess:abc").startswith("NOTABLE")


def test_a_key_that_names_a_system_table_is_a_string(client):
    for key in ("sys.cache:1", "mysql.user:1", "performance_schema.threads:1"):
        assert client.ask("SET", key, "v") == "OK" and client.ask("GET", key) == b"v" and client.ask("TYPE", key) == "string"
        assert client.ask("HGETALL", key).startswith("NOTABLE")


def test_random_commands_are_as_in_a_model(client, rng):
    model = {}
    for number in range(1500):
        key = f"k{rng.randrange(8)}"
        command = rng.choice(("SET", "SETNX", "GET", "GETSET", "APPEND", "INCRBY", "DEL", "STRLEN", "EXISTS", "GETDEL"))
        value = rng.choice((str(rng.randrange(100)), "text"))
        old = model.get(key)
        if command == "SET":
            model[key], wanted = value, "OK"
        elif command == "SETNX":
            wanted = int(old is None)
            model.setdefault(key, value)
        elif command in ("GET", "GETSET", "GETDEL"):
            wanted = None if old is None else old.encode()
            if command == "GETSET":
                model[key] = value
            elif command == "GETDEL":
                model.pop(key, None)
        elif command == "APPEND":
            model[key] = (old or "") + value
            wanted = len(model[key])
        elif command == "INCRBY":
            value = str(rng.randrange(-50, 50))
            if old is not None and not old.lstrip("-").isdigit() or old not in (None, str(int(old)) if old and old.lstrip("-").isdigit() else None):
                wanted = NO_INTEGER
            else:
                model[key] = str(int(old or 0) + int(value))
                wanted = int(model[key])
        else:
            wanted = {"DEL": int(old is not None), "EXISTS": int(old is not None), "STRLEN": len(old or "")}[command]
            if command == "DEL":
                model.pop(key, None)
        has_value = command in ("SET", "SETNX", "GETSET", "APPEND", "INCRBY")
        answer = client.ask(command, key, *([value] if has_value else []))
        if wanted == NO_INTEGER and len(old or "") > 1 and old.isdigit():
            continue  # a number with zeros in front: as the server reads it
        assert answer == wanted, (number, command, key, value, old)


def test_without_its_table(server):
    server.sql().run("RENAME TABLE rowsocket.store TO rowsocket.away")
    try:
        client = Client(server.resp_port)
        assert client.ask("GET", "x").startswith("NOSTORE") and client.ask("HGET", "product:7", "stock") == b"5"
    finally:
        server.sql().run("RENAME TABLE rowsocket.away TO rowsocket.store")


def test_redis_py_as_a_cache(server):
    with redis.Redis(port=server.resp_port) as client:
        assert client.set("page:1", b"<html>", ex=60) and client.get("page:1") == b"<html>" and client.ttl("page:1") > 50
        assert client.mset({"a": 1, "b": 2}) and client.mget("a", "b") == [b"1", b"2"]


def test_many_keys_at_once(client, server):
    """As caches of frameworks set, get and delete them, in one transaction or command."""
    client.send("MULTI")
    for number in range(2000):
        client.send("SETEX", f"many:{number}", 100, number)
    client.send("EXEC")
    assert [client.receive() for _ in range(2001)] == ["OK"] + ["QUEUED"] * 2000
    assert client.receive() == ["OK"] * 2000
    names = [f"many:{number}" for number in range(10_000)]
    assert client.ask("MGET", *names) == [b"%d" % number for number in range(2000)] + [None] * 8000
    assert client.ask("DEL", *names, "one more").startswith("TOOLARGE")
    assert client.ask("DEL", *names) == 2000
    assert client.ask("MSETNX", *[word for name in names[:5000] for word in (name, 1)], "many:7", 2) == 1
    assert client.ask("GET", "many:7") == b"2" and client.ask("UNLINK", *names) == 5000
    with redis.Redis(port=server.resp_port) as py, py.pipeline(transaction=True) as pipe:
        for number in range(200):
            pipe.set(f"py:{number}", number, ex=100)
        assert pipe.execute() == [True] * 200


def test_long_keys(client, server):
    """Rails shortens keys that are longer than 1,024 bytes. A table of an older version is widened, with what it has."""
    sql = server.sql()
    sql.run("ALTER TABLE rowsocket.store MODIFY k VARBINARY(512) NOT NULL")
    assert client.ask("SET", "old", 1) == "OK" and client.ask("SET", "k" * 513, 1).startswith("CONSTRAINT")
    run_packaged(sql, "rowsocket_store.sql")
    assert client.ask("SET", "k" * 1024, 2) == "OK" and client.ask("SET", "k" * 1025, 1) == TOO_LONG
    assert client.transaction(("SET", "k", 1), ("MSET", "a", 1, "k" * 1025, 1)) == Error(f"EXECABORT undone: command 2: {TOO_LONG}")
    assert client.ask("MGET", "old", "k" * 1024, "k" * 1025) == [b"1", b"2", None]
