"""Expiry with a clock that is moved: daemon_memcached_clock_offset, seconds that are added to it."""

import pytest

import mc
from server import wait_until

pytestmark = pytest.mark.ours


class Clock:
    def __init__(self, sql):
        self.sql, self.offset_s = sql, 0

    def move(self, seconds):
        self.offset_s += seconds
        self.sql.run(f"SET GLOBAL daemon_memcached_clock_offset = {self.offset_s}")


@pytest.fixture
def clock(memcached):
    one = Clock(memcached.sql())
    yield one
    one.move(-one.offset_s)


@pytest.fixture
def client(memcached):
    client = mc.connect(memcached)
    assert client.command("flush_all") == b"OK"
    return client


@pytest.mark.parametrize("lives_s", [1, 2, 60, 86400, 2592000])
def test_nothing_expires_before_its_time(client, clock, lives_s):
    """Nor is it there when that has passed."""
    assert client.set("k", b"v", expiry=lives_s) == b"STORED"
    assert client.set("z", b"v") == b"STORED"
    if lives_s > 2:
        clock.move(lives_s - 2)
        assert client.value("k") == b"v"
        assert client.meta("mg k t")[0] in (b"HD t1", b"HD t2")
        clock.move(4)
    else:
        assert client.value("k") == b"v"
        clock.move(lives_s + 2)
    assert client.value("k") is None
    assert client.value("z") == b"v"


def test_touch_and_gat_move_the_end(client, clock):
    for key in ("touch", "gat", "mg", "stays"):
        assert client.set(key, b"v", expiry=100) == b"STORED"
    assert client.command("touch touch 1000") == b"TOUCHED"
    assert client.get("gat", verb="gat 1000") == {b"gat": (0, b"v")}
    assert client.meta("mg mg T1000")[0] == b"HD"
    clock.move(200)
    assert client.get("touch", "gat", "mg", "stays").keys() == {b"touch", b"gat", b"mg"}
    clock.move(900)
    assert client.get("touch", "gat", "mg", "stays") == {}


def test_a_time_of_day(memcached, client, clock):
    """More than 30 days is seconds since 1970, by the same clock; 64 bits of it."""
    now = int(memcached.sql().value("SELECT UNIX_TIMESTAMP()"))
    assert client.set("k", b"v", expiry=now + 500) == b"STORED"
    assert client.set("far", b"v", expiry=1 << 33) == b"STORED"
    clock.move(490)
    assert client.get("k", "far").keys() == {b"k", b"far"}
    clock.move(15)
    assert client.get("k", "far").keys() == {b"far"}
    ttl = int(client.meta("mg far t")[0].split(b" t")[1])
    assert abs(ttl - ((1 << 33) - now - 505)) < 60


def test_what_has_expired_is_set_again(client, clock):
    assert client.set("k", b"5", flags=9, expiry=10) == b"STORED"
    token = client.token("k")
    clock.move(12)
    assert client.set("k", b"x", verb="append") == b"NOT_STORED"
    assert client.command("incr k 1") == b"NOT_FOUND"
    assert client.set("k", b"6", verb="add") == b"STORED"
    assert client.get("k") == {b"k": (0, b"6")}
    assert client.token("k") > token
    clock.move(100)
    assert client.value("k") == b"6"


def test_a_delayed_flush(client, clock):
    assert client.set("k", b"v") == b"STORED"
    assert client.command("flush_all 100") == b"OK"
    clock.move(95)
    assert client.value("k") == b"v"
    clock.move(6)
    wait_until(lambda: client.value("k") is None, 10, "the flush")
    assert client.set("k", b"w") == b"STORED"
    assert client.value("k") == b"w"


def test_recache_wins_near_the_end(client, clock):
    """mg R: one win when less than so much is left."""
    assert client.set("k", b"v", expiry=100) == b"STORED"
    assert client.meta("mg k R30 v") == (b"VA 1", b"v")
    clock.move(75)
    assert client.meta("mg k R30 v") == (b"VA 1 W", b"v")
    assert client.meta("mg k R30 v") == (b"VA 1 Z", b"v")
    assert client.set("k", b"w", expiry=100) == b"STORED"
    assert client.meta("mg k R30 v") == (b"VA 1", b"w")
