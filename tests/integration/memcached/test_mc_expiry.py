"""Expiry with a clock that is moved: daemon_memcached_clock_offset, seconds that are added to the clock."""

import pytest

import mc
from mc_tables import WHOLE, Container
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
    """The item is there until its time, and absent after it."""
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
    """An exptime of more than 30 days is seconds since 1970, by the same clock, with 64 bits."""
    now = int(memcached.sql().value("SELECT UNIX_TIMESTAMP()"))
    assert client.set("k", b"v", expiry=now + 500) == b"STORED"
    assert client.set("far", b"v", expiry=1 << 33) == b"STORED"
    clock.move(490)
    assert client.get("k", "far").keys() == {b"k", b"far"}
    clock.move(15)
    assert client.get("k", "far").keys() == {b"far"}
    ttl = int(client.meta("mg far t")[0].split(b" t")[1])
    assert abs(ttl - ((1 << 33) - now - 505)) < 60


def test_an_expired_item_can_be_set_again(client, clock):
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
    """mg R: one win when less than R's number of seconds is left."""
    assert client.set("k", b"v", expiry=100) == b"STORED"
    assert client.meta("mg k R30 v") == (b"VA 1", b"v")
    clock.move(75)
    assert client.meta("mg k R30 v") == (b"VA 1 W", b"v")
    assert client.meta("mg k R30 v") == (b"VA 1 Z", b"v")
    assert client.set("k", b"w", expiry=100) == b"STORED"
    assert client.meta("mg k R30 v") == (b"VA 1", b"w")


def test_an_expired_row_is_set_as_if_it_were_not_there(make_server):
    """Columns that are not mapped get the values of a new row; a row that lives keeps them."""
    server = make_server(options=["--loose-daemon-memcached-purge-rows-per-second=0"])
    server.sql().run("CREATE DATABASE more")
    columns = ("id INT AUTO_INCREMENT PRIMARY KEY, " + WHOLE.replace("PRIMARY KEY", "NOT NULL") +
               ", UNIQUE KEY k (k), x INT NOT NULL DEFAULT 7, y TEXT")
    container = Container(server, "more", "kept", columns, index="k")
    client, sql = container.ready(), container.sql
    ways = {"set": lambda key: client.set(key, b"2"), "add": lambda key: client.set(key, b"2", verb="add"),
            "ma": lambda key: client.meta(b"ma %s N0 J2" % key)[0],
            "mg": lambda key: client.meta(b"mg %s N0" % key)[0],
            "live": lambda key: client.set(key, b"2")}
    for way, store in ways.items():
        for again in range(2):
            key = f"{way}{again}"
            sql.run("INSERT INTO kept (k, v, e, x, y) VALUES (%s, '1', %s, 1, 'mine')", key,
                    0 if way == "live" else 1000)
            before = int(container.row(key, "id")[0])
            assert store(container.at(key)) in (b"STORED", b"HD", b"HD W")
            number, x, y = container.row(key, "id, x, y")
            if way == "live":
                assert (int(number), x, y) == (before, b"1", b"mine")
            else:
                assert (x, y) == (b"7", None) and int(number) > before
    client.send(b"".join(b"set %s 0 0 1\r\n%d\r\n" % (container.at("many"), number) for number in range(9)))
    assert [client.line() for _ in range(9)] == [b"STORED"] * 9
    assert container.row("many", "v, x") == (b"8", b"7")


def test_a_refused_set_leaves_an_expired_row(make_server):
    """A refused set that shares a statement with commands before it: half of it must not be committed."""
    server = make_server(options=["--loose-daemon-memcached-purge-rows-per-second=0"])
    server.sql().run("CREATE DATABASE more")
    container = Container(server, "more", "kept", WHOLE + ", x INT NOT NULL DEFAULT 7, CHECK (v <> 'bad')")
    client, sql = container.ready(), container.sql
    sql.run("INSERT INTO kept (k, v, e, x) VALUES ('live', '1', 0, 1), ('old', '1', 1000, 1)")
    live, old = container.at("live"), container.at("old")
    for _ in range(3):
        client.send(b"incr %s 1\r\nset %s 0 0 3\r\nbad\r\nincr %s 1\r\n" % (live, old, live))
        number, refused, after = [client.line() for _ in range(3)]
        assert int(after) == int(number) + 1 and refused.startswith(b"SERVER_ERROR")
        assert container.row("old", "v, x") == (b"1", b"1")
    assert container.row("live", "v, x") == (b"7", b"1")


@pytest.fixture
def kept(make_server):
    """A container with expired rows that nobody purges: k, to which a foreign key refers, and free."""
    server = make_server(options=["--loose-daemon-memcached-purge-rows-per-second=0"])
    server.sql().run("CREATE DATABASE more")
    container = Container(server, "more", "kept", WHOLE + ", x INT NOT NULL DEFAULT 7")
    sql = container.sql
    sql.run("CREATE TABLE child (k VARBINARY(250), FOREIGN KEY (k) REFERENCES kept (k)) ENGINE=InnoDB")
    sql.run("INSERT INTO kept (k, v, e, x) VALUES ('k', '1', 1000, 1), ('free', '1', 1000, 1)")
    sql.run("INSERT INTO child VALUES ('k')")
    return container


@pytest.mark.parametrize("rule", ["", "ON UPDATE CASCADE", "ON UPDATE SET NULL"])
def test_a_foreign_key_keeps_an_expired_row(kept, rule):
    """The expired row can be set all the same."""
    kept.sql.run("DROP TABLE child")
    kept.sql.run(f"CREATE TABLE child (k VARBINARY(250), FOREIGN KEY (k) REFERENCES kept (k) {rule}) ENGINE=InnoDB")
    kept.sql.run("INSERT INTO child VALUES ('k')")
    container, client = kept, kept.ready()
    for key, x in (("k", b"1"), ("free", b"7")):
        assert client.set(container.at(key), b"2") == b"STORED"
        assert container.row(key, "v, x") == (b"2", x)
        assert client.value(container.at(key)) == b"2"
    assert kept.sql.rows("SELECT k FROM child") == [(b"k",)]


@pytest.mark.parametrize("rule", ["CASCADE", "SET NULL"])
def test_a_row_in_place_of_an_expired_one_takes_none_that_refers_to_it(kept, rule):
    """The account may have no right to delete, and nobody has asked for the child to go."""
    container, client = kept, kept.ready()
    container.sql.run(f"CREATE TABLE other (k VARBINARY(250), FOREIGN KEY (k) REFERENCES kept (k) ON DELETE {rule}) ENGINE=InnoDB")
    container.sql.run("INSERT INTO other VALUES ('free')")
    assert client.set(container.at("free"), b"2") == b"STORED" and client.value(container.at("free")) == b"2"
    assert container.sql.rows("SELECT k FROM other") == [(b"free",)]
    assert container.row("free", "v, x") == (b"2", b"1"), "it was changed"


NOTHING_TO_CHANGE = [
    (b"delete K", b"NOT_FOUND"), (b"touch K 100", b"NOT_FOUND"), (b"incr K 1", b"NOT_FOUND"),
    (b"append K 0 0 1\r\nx", b"NOT_STORED"), (b"prepend K 0 0 1\r\nx", b"NOT_STORED"),
    (b"replace K 0 0 1\r\nx", b"NOT_STORED"), (b"cas K 0 0 1 5\r\nx", b"NOT_FOUND"),
    (b"gat 100 K", b"END"), (b"md K", b"NF"), (b"mg K T0 v", b"EN"), (b"ma K", b"NF"),
    (b"ms K 1 MR\r\nx", b"NS"), (b"set K 0 -1 1\r\nx", b"STORED"), (b"ms K 1 T-1\r\nx", b"HD")]


def test_an_expired_row_that_a_foreign_key_keeps_is_absent(kept):
    """The row is absent for every command, alone or together with commands that remove another expired
    row."""
    client, key, free = kept.ready(), kept.at("k"), kept.at("free")
    before = kept.row("k", "*")
    for request, answer in NOTHING_TO_CHANGE:
        client.send(request.replace(b"K", key) + b"\r\n")
        assert client.line() == answer, request
    client.send(b"".join(request.replace(b"K", key) + b"\r\n" for request, _ in NOTHING_TO_CHANGE)
                + b"delete %s\r\nset %s 0 0 1\r\nv\r\n" % (free, kept.at("other")))
    assert [client.line() for _ in NOTHING_TO_CHANGE] == [answer for _, answer in NOTHING_TO_CHANGE]
    assert (client.line(), client.line()) == (b"NOT_FOUND", b"STORED")
    assert kept.row("k", "*") == before and kept.row("free") is None and kept.row("other") == (b"v",)


@pytest.mark.parametrize("rule", ["CASCADE", "SET NULL"])
def test_clearing_an_expired_row_away_takes_none_that_refers_to_it(kept, rule):
    """No command has asked for the rows that refer to it, each in its own batch and all in one."""
    client, free, sql = kept.ready(), kept.at("free"), kept.sql
    sql.run("CREATE TABLE other (k VARBINARY(250), FOREIGN KEY (k) REFERENCES kept (k)"
            f" ON DELETE {rule}) ENGINE=InnoDB")
    sql.run("INSERT INTO other VALUES ('free')")
    before = kept.row("free", "*")
    for request, answer in NOTHING_TO_CHANGE:
        client.send(request.replace(b"K", free) + b"\r\n")
        assert client.line() == answer, request
        assert sql.rows("SELECT k FROM other") == [(b"free",)], request
    client.send(b"".join(request.replace(b"K", free) + b"\r\n" for request, _ in NOTHING_TO_CHANGE))
    assert [client.line() for _ in NOTHING_TO_CHANGE] == [answer for _, answer in NOTHING_TO_CHANGE]
    assert sql.rows("SELECT k FROM other") == [(b"free",)] and kept.row("free", "*") == before


def test_a_gat_goes_on_after_an_expired_row_that_stays(kept):
    client = kept.ready()
    for number in range(2):
        assert client.set(kept.at(f"live{number}"), b"v") == b"STORED"
    keys = [kept.at(key) for key in ("live0", "k", "free", "live1")]
    assert client.get(*keys, verb="gat 1000") == {keys[0]: (0, b"v"), keys[3]: (0, b"v")}
    assert kept.row("k") == (b"1",) and kept.row("free") is None
    for number in range(2):
        assert int(kept.row(f"live{number}", "e")[0]) > 1_700_000_000
