"""The scripts of locks and caches over RESP: recognized by their text, done without Lua."""

import hashlib
import threading

import pytest
import redis
from redis.exceptions import LockError, LockNotOwnedError

import resp
from resp import Client, Error
from server import run_packaged, wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]

RELEASE = 'if redis.call("get",KEYS[1]) == ARGV[1] then\n    return redis.call("del",KEYS[1])\nelse\n    return 0\nend'
EXTEND = RELEASE.replace('"del",KEYS[1]', '"pexpire", KEYS[1], ARGV[2]')
REFRESH = EXTEND.replace("pexpire", "expire")
ADD = "return redis.call('exists',KEYS[1])<1 and redis.call('setex',KEYS[1],ARGV[2],ARGV[1])"


@pytest.fixture(scope="module")
def server(resp_server):
    run_packaged(resp_server.sql(), "rowsocket_store.sql")
    return resp_server


@pytest.fixture
def client(server):
    server.sql().run("DELETE FROM rowsocket.store")
    client = Client(server.resp_port)
    yield client
    client.close()


def test_compare_and_delete_or_expire(client):
    client.ask("SET", "lock", "mine", "PX", 60_000)
    for script in (RELEASE, EXTEND, REFRESH):
        assert client.ask("EVAL", script, 1, "lock", "other", 5) == 0 and client.ask("EVAL", script, 1, "none", "mine", 5) == 0
    assert client.ask("EVAL", EXTEND, 1, "lock", "mine", 500_000) == 1 and 400_000 < client.ask("PTTL", "lock") <= 500_000
    assert client.ask("EVAL", REFRESH, 1, "lock", "mine", 50) == 1 and 40 < client.ask("TTL", "lock") <= 50
    assert client.ask("EVAL", EXTEND, 1, "lock", "mine", "x") == Error("ERR value is not an integer or out of range")
    assert client.ask("EVAL", RELEASE, 1, "lock", "mine") == 1 and client.ask("EXISTS", "lock") == 0
    client.ask("SET", "lock", "mine")
    assert client.ask("EVAL", EXTEND, 1, "lock", "mine", -1) == 1 and client.ask("EXISTS", "lock") == 0


def test_add_of_a_cache(client):
    assert client.ask("EVAL", ADD, 1, "page", "<html>", 60) == "OK" and client.ask("TTL", "page") == 60
    assert client.ask("EVAL", ADD, 1, "page", "other", 60) is None and client.ask("GET", "page") == b"<html>"
    client.ask("PEXPIRE", "page", 10)
    wait_until(lambda: client.ask("GET", "page") is None, 5, "the expiry")
    assert client.ask("EVAL", ADD.replace("setex", "psetex"), 1, "page", "other", 90_000) == "OK", "the other one has expired"
    assert client.ask("PTTL", "page") > 80_000


REDSYNC_DELETE = """
	local val = redis.call("GET", KEYS[1])
	if val == ARGV[1] then
		return redis.call("DEL", KEYS[1])
	elseif val == false then
		return -1
	else
		return 0
	end
"""
REDSYNC_HOLD = """
	if redis.call("GET", KEYS[1]) == ARGV[1] then
		return redis.call("PEXPIRE", KEYS[1], ARGV[2])
	elseif redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2], "NX") then
		return 1
	else
		return 0
	end
"""


def test_redsync(client):
    assert client.ask("EVAL", REDSYNC_DELETE, 1, "lock", "mine") == -1
    assert client.ask("EVAL", REDSYNC_HOLD, 1, "lock", "mine", 60_000) == 1 and 50_000 < client.ask("PTTL", "lock") <= 60_000
    assert client.ask("EVAL", REDSYNC_HOLD, 1, "lock", "other", 90_000) == 0 and client.ask("GET", "lock") == b"mine"
    assert client.ask("EVAL", REDSYNC_HOLD, 1, "lock", "mine", 90_000) == 1 and client.ask("PTTL", "lock") > 80_000
    assert client.ask("EVAL", REDSYNC_DELETE, 1, "lock", "other") == 0 and client.ask("EXISTS", "lock") == 1
    assert client.ask("EVAL", REDSYNC_DELETE, 1, "lock", "mine") == 1 and client.ask("EXISTS", "lock") == 0


REDLOCK_LOCK = """
	-- Return 0 if an entry already exists.
	for i, key in ipairs(KEYS) do
		if redis.call("exists", key) == 1 then
			return 0
		end
	end

	-- Create an entry for each provided key.
	for i, key in ipairs(KEYS) do
		redis.call("set", key, ARGV[1], "PX", ARGV[2])
	end

	-- Return the number of entries added.
	return #KEYS
"""
REDLOCK_UNLOCK = """
	local count = 0
	for i, key in ipairs(KEYS) do
		-- Only remove entries for *this* lock value.
		if redis.call("get", key) == ARGV[1] then
			redis.pcall("del", key)
			count = count + 1
		end
	end

	-- Return the number of entries removed.
	return count
"""
REDLOCK_EXTEND = """
	-- Return 0 if an entry exists with a *different* lock value.
	for i, key in ipairs(KEYS) do
		if redis.call("get", key) ~= ARGV[1] then
			return 0
		end
	end

	-- Update the entry for each provided key.
	for i, key in ipairs(KEYS) do
		redis.call("set", key, ARGV[1], "PX", ARGV[2])
	end

	-- Return the number of entries updated.
	return #KEYS
"""


def test_redlock_of_node(client):
    assert client.ask("EVAL", REDLOCK_LOCK, 1, "lock", "mine", 60_000) == 1 and 50_000 < client.ask("PTTL", "lock") <= 60_000
    assert client.ask("EVAL", REDLOCK_LOCK, 1, "lock", "other", 60_000) == 0
    assert client.ask("EVAL", REDLOCK_EXTEND, 1, "lock", "other", 90_000) == 0
    assert client.ask("EVAL", REDLOCK_EXTEND, 1, "lock", "mine", 90_000) == 1 and client.ask("PTTL", "lock") > 80_000
    assert client.ask("EVAL", REDLOCK_UNLOCK, 1, "lock", "other") == 0 and client.ask("EVAL", REDLOCK_UNLOCK, 1, "lock", "mine") == 1
    assert client.ask("EVAL", REDLOCK_UNLOCK, 1, "lock", "mine") == 0
    assert client.ask("EVAL", REDLOCK_LOCK, 2, "a", "b", "mine", 60_000).startswith("ERR the script has one key")


INCR = """
                    local exists = redis.call('EXISTS', KEYS[1])
                    if (exists == 1) then
                        return redis.call('INCRBY', KEYS[1], ARGV[1])
                    else return false end
"""


def test_incr_of_django_redis(client, server):
    assert client.ask("EVAL", INCR, 1, "n", 1) is None and client.ask("EXISTS", "n") == 0
    assert client.ask("EVAL", INCR.split("then")[1].split("else")[0], 1, "m", 5) == 5, "without asking whether it is there"
    client.ask("SET", "n", 5, "EX", 100)
    assert client.ask("EVAL", INCR, 1, "n", -7) == -2 and client.ask("TTL", "n") > 90
    assert client.ask("EVAL", INCR, 1, "n", "x") == Error("ERR value is not an integer or out of range")

    def count():
        one = Client(server.resp_port)
        for _ in range(100):
            one.ask("EVAL", INCR, 1, "n", 1)
        one.close()
    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert client.ask("GET", "n") == b"398", "no count is lost"


PUT = "local v = redis.call('hget', KEYS[1], ARGV[1]); redis.call('hset', KEYS[1], ARGV[1], ARGV[2]); return v"
REMOVE = "local v = redis.call('hget', KEYS[1], ARGV[1]); redis.call('hdel', KEYS[1], ARGV[1]); return v"
FAST_REPLACE = ("if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then redis.call('hset', KEYS[1], ARGV[1], ARGV[2]); return 1;"
                " else return 0; end")
SWAP = "if redis.call('hget', KEYS[1], ARGV[1]) == ARGV[2] then redis.call('hset', KEYS[1], ARGV[1], ARGV[3]); return 1; else return 0; end"


def test_old_values_of_a_map_are_those_of_hget(client, server):
    sql = server.sql("shop")
    sql.run("CREATE OR REPLACE TABLE kinds (id INT PRIMARY KEY, d DATETIME(3), b BIT(12), f FLOAT, z INT(5) ZEROFILL,"
            " n DOUBLE, e ENUM('a', 'b'), x VARBINARY(9), twice INT AS (id * 2) STORED)")
    sql.run("INSERT INTO kinds (id, d, b, f, z, n, e, x) VALUES"
            " (1, '2026-11-28 01:02:03.400', b'100000001111', 1.1, 7, 0.1, 'b', X'00FF0D0A')")
    new = {"d": "2027-01-01 00:00:00.000", "b": b"\x01\x02", "f": 2.5, "z": "00008", "n": "0.25", "e": "a", "x": b"\0"}
    for field, value in new.items():
        old = client.ask("HGET", "shop.kinds:1", field)
        assert client.ask("EVAL", SWAP, 1, "shop.kinds:1", field, b"other", value) == 0
        assert old is not None and client.ask("EVAL", PUT, 1, "shop.kinds:1", field, value) == old, field
        shown = client.ask("HGET", "shop.kinds:1", field)
        assert shown != old and client.ask("EVAL", SWAP, 1, "shop.kinds:1", field, shown, old) == 1, field
        assert client.ask("HGET", "shop.kinds:1", field) == old, field
    assert client.ask("EVAL", REMOVE, 1, "shop.kinds:1", "twice") is None, "what stays was not removed"
    assert client.ask("HGET", "shop.kinds:1", "twice") == b"2"
    assert client.ask("EVAL", PUT, 1, "shop.kinds:1", "none", 1).startswith("NOFIELD")
    assert client.ask("EVAL", PUT, 1, "page:1", "none", 1).startswith("NOTABLE")
    assert client.ask("EVAL", REMOVE, 1, "shop.product:7", "stock").startswith("CONSTRAINT")
    assert client.ask("HGET", "shop.product:7", "stock") == b"5"


def test_a_map_refuses_what_is_too_large(client, server):
    server.sql().run("SET GLOBAL max_allowed_packet = 67108864")
    sql = server.sql("shop")
    sql.run("CREATE OR REPLACE TABLE texts (id INT PRIMARY KEY, t LONGTEXT)")
    sql.run("INSERT INTO texts VALUES (1, REPEAT('x', 16777217)), (2, REPEAT('x', 16777216))")
    assert client.ask("EVAL", PUT, 1, "shop.texts:1", "t", "y").startswith("TOOLARGE")
    assert client.ask("HSTRLEN", "shop.texts:1", "t") == 16777217
    assert len(client.ask("EVAL", PUT, 1, "shop.texts:2", "t", "y")) == 16777216


def test_maps_on_rows_of_a_keyspace(client, server):
    sql = server.sql()
    for prefix, rest in (("m/", "'name,stock', 'refuse'"), ("i/", "'name,stock', 'insert'")):
        sql.run("INSERT INTO rowsocket.keyspaces (prefix, kind, db_schema, db_table, fields, if_absent) VALUES"
                f" ('{prefix}', 'row', 'shop', 'product', {rest})")
    wait_until(lambda: client.ask("EVAL", PUT, 1, "i/7", "name", "Teapot") == b"Teapot", 5, "the prefixes")
    assert client.ask("EVAL", FAST_REPLACE, 1, "m/99", "name", "x") == 0
    assert client.ask("EVAL", PUT, 1, "m/99", "name", "x").startswith("NOROW")
    assert client.ask("EVAL", PUT, 1, "i/7", "sku", "x").startswith("NOFIELD")
    assert client.ask("EVAL", REMOVE, 1, "i/7", "sku") is None and client.ask("HGET", "shop.product:7", "sku") == b"T-7"
    assert client.ask("EVAL", PUT, 1, "i/99", "name", "x") is None and client.ask("EVAL", PUT, 1, "m/99", "name", "y") == b"x"
    assert client.ask("DEL", "i/99") == 1


def test_a_map_counts_each_swap_once(server, client):
    def work():
        one, done = Client(server.resp_port), 0
        while done < 50:
            now = int(one.ask("HGET", "shop.product:8", "stock"))
            done += one.ask("EVAL", SWAP, 1, "shop.product:8", "stock", now, now + 1)
        one.close()

    client.ask("HSET", "shop.product:8", "stock", 0)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert client.ask("HGET", "shop.product:8", "stock") == b"200"


def test_rights_on_maps(make_server):
    server = resp.start(make_server, "--loose-resp-accounts=ON")
    sql = server.sql()
    sql.run("CREATE USER anna@'127.0.0.1' IDENTIFIED BY 'pw'")
    client = Client(server.resp_port)
    assert client.ask("AUTH", "anna", "pw") == "OK"
    for script, arguments in ((PUT, ("name", "x")), (FAST_REPLACE, ("name", "x")), (REMOVE, ("name",))):
        assert client.ask("EVAL", script, 1, "shop.product:7", *arguments).startswith("NOPERM")
    sql.run("GRANT SELECT, UPDATE ON shop.product TO anna@'127.0.0.1'")
    wait_until(lambda: client.ask("EVAL", FAST_REPLACE, 1, "shop.product:7", "name", "Pot") == 1, 5, "the rights")
    assert client.ask("EVAL", PUT, 1, "shop.product:9", "name", "x").startswith("NOPERM")
    assert client.ask("EVAL", FAST_REPLACE, 1, "shop.product:9", "name", "x") == 0
    client.close()


def test_what_evalsha_knows(client, server):
    sha1 = hashlib.sha1(RELEASE.encode()).hexdigest()
    other = Client(server.resp_port)
    assert client.ask("EVALSHA", "0" * 40, 1, "a", "b") == Error("NOSCRIPT No matching script. Please use EVAL.")
    assert client.ask("SCRIPT", "LOAD", RELEASE) == sha1.encode() and client.ask("SCRIPT", "EXISTS", sha1, "0" * 40) == [1, 0]
    other.ask("SET", "lock", "mine")
    assert other.ask("EVALSHA", sha1.upper(), 1, "lock", "mine") == 1, "all connections know what one has brought"
    for lua in ("return 1", RELEASE + " ", RELEASE.replace("del", "expire"), RELEASE + "--", "while true do end"):
        answer = client.ask("EVAL", lua, 1, "a", "b")
        assert answer == 0 if lua == RELEASE + " " else answer.startswith("NOTSERVED"), lua
    assert client.ask("SCRIPT", "LOAD", "return 1").startswith("NOTSERVED")
    assert client.ask("EVAL", RELEASE, 2, "a", "b", "c").startswith("ERR the script has one key")
    assert client.ask("EVAL", RELEASE, 1, "product:7", "5").startswith("WRONGTYPE")
    assert client.transaction(["SET", "lock", "x"], ["EVAL", RELEASE, 1, "lock", "x"]) == ["OK", 1]


@pytest.mark.parametrize("protocol", [2, 3])
def test_redis_pys_lock(server, client, protocol):  # pylint: disable=unused-argument
    with redis.Redis(port=server.resp_port, protocol=protocol) as py:
        lock = py.lock("job", timeout=20)
        assert lock.acquire() and not py.lock("job").acquire(blocking=False)
        assert lock.extend(30) and 45_000 < py.pttl("job") <= 50_000
        assert lock.extend(10, replace_ttl=True) and py.pttl("job") <= 10_000
        assert lock.reacquire() and py.pttl("job") > 10_000
        lock.release()
        with pytest.raises(LockError):
            lock.release()
        assert lock.acquire()
        py.set("job", "another owner's")
        with pytest.raises(LockNotOwnedError):
            lock.release()


def test_a_lock_lets_one_in_at_a_time(server, client):  # pylint: disable=unused-argument
    count = [0]

    def work():
        with redis.Redis(port=server.resp_port) as py:
            for _ in range(20):
                with py.lock("counter", timeout=30, sleep=0.001):
                    seen = count[0]
                    py.ping()  # the others run meanwhile
                    count[0] = seen + 1

    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count[0] == 100
