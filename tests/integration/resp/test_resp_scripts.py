"""The scripts of locks and caches over RESP: recognised by their text, done without Lua."""

import hashlib
import threading

import pytest
import redis
from redis.exceptions import LockError, LockNotOwnedError

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
