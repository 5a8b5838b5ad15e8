"""The mapping tables: several containers, @@name.key, several columns, changes under load."""

import contextlib
import itertools

import pytest

import mc
from load import Crew
from mc_tables import WHOLE, Container
from server import wait_until

pytestmark = pytest.mark.ours


@pytest.fixture
def make(server, db):
    """make(suffix, ...): a container with a table of its own."""
    made = []

    def one(suffix, *args, **kwargs):
        made.append(Container(server, db, f"{db}{suffix}", *args, **kwargs))
        return made[-1]
    yield one
    for container in made:
        container.drop()


TURNED = "ALTER TABLE {} DROP PRIMARY KEY, ADD PRIMARY KEY (k2, k1)"
CHANGED = b"SERVER_ERROR the container's table has changed or is gone"


@pytest.fixture
def pairs(make):
    container = make("o", "k1 VARBINARY(9), k2 VARBINARY(9), v VARBINARY(99), PRIMARY KEY (k1, k2)", "k1|k2",
                     flags="0", token="0", expiry="0")
    container.sql.run(f"INSERT INTO {container.table} VALUES ('a', 'b', 'ab'), ('b', 'a', 'ba')")
    return container


def test_key_columns_that_change_places_name_no_other_row(pairs):
    """The meaning of a key follows the table on which it is executed, not the last look at its definition."""
    client, sql = pairs.ready(), pairs.sql
    key = pairs.at("a|b")
    answers = set()
    with Crew() as crew:
        def ask():
            with mc.connect(pairs.server) as other:
                while not crew.stopping.is_set():
                    answers.add(other.set(key, b"ab"))
                    answers.add(other.meta(b"mg %s v" % key))
        crew.start(ask)
        for order in ("k2, k1", "k1, k2", "k2, k1"):
            sql.run(f"ALTER TABLE {pairs.table} DROP PRIMARY KEY, ADD PRIMARY KEY ({order})")
            wait_until(lambda: client.meta(b"mg %s v" % key) == (b"VA 2", b"ab"), what="it is known again")
    assert answers <= {b"STORED", (b"VA 2", b"ab"), CHANGED, (CHANGED, None)}
    assert sql.rows(f"SELECT * FROM {pairs.table} ORDER BY k1") == [(b"a", b"b", b"ab"), (b"b", b"a", b"ba")]


def test_request_that_waited_for_a_change_of_the_key(pairs):
    client, sql = pairs.ready(), pairs.sql
    sql.run(f"LOCK TABLES {pairs.table} WRITE")
    waits = sql.status("Daemon_memcached_lock_waits")
    client.send(b"set %s 0 0 3\r\nnew\r\n" % pairs.at("a|b"))
    wait_until(lambda: sql.status("Daemon_memcached_lock_waits") != waits, what="the set waits")
    sql.run(TURNED.format(pairs.table))
    sql.run("UNLOCK TABLES")
    assert client.line() in (CHANGED, b"STORED")
    assert sql.value(f"SELECT v FROM {pairs.table} WHERE k1 = 'b'") == b"ba"


def test_key_column_that_comes_to_take_different_keys_for_equal(make):
    container = make("i", "k VARBINARY(9) PRIMARY KEY, v VARBINARY(99)", flags="0", token="0", expiry="0")
    client = container.ready()
    assert client.set(container.at("AA"), b"upper") == b"STORED"
    container.sql.run(f"ALTER TABLE {container.table} MODIFY k VARCHAR(9) CHARACTER SET utf8mb4"
                      " COLLATE utf8mb4_general_ci")
    assert client.set(container.at("aa"), b"lower").startswith(b"SERVER_ERROR")
    assert container.sql.rows(f"SELECT * FROM {container.table}") == [(b"AA", b"upper")]


def test_every_verb_takes_a_name(make):
    one, other = make("x"), make("y")
    client = one.ready()
    other.ready(client)
    client.command("delete k")  # a key of the default container, which another test may have left
    for number, container in enumerate((one, other)):
        key = container.at("k")
        text = key.decode()
        assert client.set(key, b"%d" % number, verb="add") == b"STORED"
        assert client.set(key, b"0", verb="append") == b"STORED"
        assert client.set(key, b"1", verb="prepend") == b"STORED"
        assert client.command(f"incr {text} 5") == b"%d" % (105 + number * 10)
        assert client.command(f"decr {text} 1") == b"%d" % (104 + number * 10)
        assert client.command(f"touch {text} 0") == b"TOUCHED"
        assert client.set(key, b"7", verb="replace") == b"STORED"
        client.send(b"cas %s 0 0 1 %d\r\n%d\r\n" % (key, client.token(key), number))
        assert client.line() == b"STORED"
        assert container.row("k") == (b"%d" % number,)
        assert client.get(key, verb="gat 0") == {key: (0, b"%d" % number)}
        assert client.meta(b"mg %s v k" % key) == (b"VA 1 k" + key, b"%d" % number)
        assert client.meta(b"ms %s 1" % key, b"%d" % (number + 5)) == (b"HD", None)
        assert client.meta(b"ma %s v" % key) == (b"VA 1", b"%d" % (number + 6))
    keys = [one.at("k"), other.at("k"), one.at("none"), other.at("none")]
    assert client.get(*keys) == {keys[0]: (0, b"6"), keys[1]: (0, b"7")}
    with mc.connect(one.server) as binary:
        assert binary.binary(mc.GET, keys[1]).value == b"7"
        assert binary.binary(mc.GETK, keys[0]).key == keys[0]
        assert binary.binary(mc.INCR, keys[0], b"", mc.counting(3)).status == 0
        assert binary.binary(mc.DELETE, keys[1]).status == 0
    assert one.row("k") == (b"9",) and other.row("k") is None
    assert client.command(f"delete {keys[0].decode()}") == b"DELETED"
    assert client.meta(b"md %s" % keys[0])[0] == b"NF"
    assert client.value("k") is None


def test_a_container_name_alone_switches_the_connection(make):
    one, other = make("x"), make("y")
    client = one.ready()
    other.ready(client)
    client.command("delete k")
    client.send(b"get @@%s\r\n" % one.name.encode())
    client.reply_to_get()
    assert client.set("k", b"in one") == b"STORED"
    assert one.row("k") == (b"in one",)
    assert client.set(other.at("k"), b"in other") == b"STORED"
    assert client.value("k") == b"in one"
    client.send(b"get @@%s\r\n" % other.name.encode())
    client.reply_to_get()
    assert client.value("k") == b"in other"
    with mc.connect(one.server) as fresh:
        assert fresh.value("k") is None


def test_a_name_without_a_container_is_an_error(make):
    client = make("x").ready()
    for request in (b"get @@nobody.k", b"delete @@nobody.k", b"incr @@nobody.k 1", b"touch @@nobody.k 1"):
        client.send(request + b"\r\n")
        line = client.line()
        assert line.startswith((b"CLIENT_ERROR", b"SERVER_ERROR")), (request, line)
    assert client.set("@@nobody.k", b"v").startswith((b"CLIENT_ERROR", b"SERVER_ERROR"))
    assert client.in_step("text")


VALUES = [b"plain", b"", b"a|b", b"|", b"\\", b"\\|", b"||", b"\\\\|\\", b"\\N", b"\0|\xff", b"end\\"]


def test_several_value_columns_lose_nothing(make, rng):
    """Every combination of separators, escapes, empty columns and NULLs reads as it was written, from both
    ends."""
    container = make("x", "k VARBINARY(20) PRIMARY KEY, a VARBINARY(30), b VARBINARY(30), c VARBINARY(30)",
                     value="a,b,c", flags="0", token="0", expiry="0")
    client = container.ready()
    rows = list(itertools.product([*VALUES, None], repeat=3))
    texts = {}
    for number, cells in enumerate(rng.sample(rows, 200)):
        container.sql.run(f"INSERT INTO {container.table} VALUES (%s, %s, %s, %s)", f"s{number}", *cells)
        text = client.value(container.at(f"s{number}"))
        assert texts.setdefault(text, cells) == cells, "two rows are one text"
        assert client.set(container.at(f"m{number}"), text) == b"STORED"
        assert container.row(f"m{number}", "a, b, c") == cells
    assert client.set(container.at("p"), b"1|2|3") == b"STORED"
    assert container.row("p", "a, b, c") == (b"1", b"2", b"3")
    for wrong in (b"1|2", b"1|2|3|4", b""):
        assert client.set(container.at("p"), wrong).startswith((b"CLIENT_ERROR", b"SERVER_ERROR")), wrong
    assert container.row("p", "a, b, c") == (b"1", b"2", b"3")


def test_a_key_of_several_columns(make):
    container = make("x", "a INT, k VARBINARY(20), v BLOB, PRIMARY KEY (a, k)", key="a,k", flags="0",
                     token="0", expiry="0")
    client = container.ready()
    key = container.at("12|x y".replace(" ", "_"))
    assert client.set(key, b"v") == b"STORED"
    assert container.sql.rows(f"SELECT * FROM {container.table}") == [(b"12", b"x_y", b"v")]
    assert client.value(key) == b"v"
    container.sql.run(f"INSERT INTO {container.table} VALUES (-7, 'z', 'sql')")
    assert client.value(container.at("-7|z")) == b"sql"
    assert client.command(f"delete {key.decode()}") == b"DELETED"
    assert client.in_step("text")


def test_keys_are_byte_exact(make):
    container = make("x")
    client = container.ready()
    assert client.set(container.at("AA"), b"upper") == b"STORED"
    assert client.set(container.at("aa"), b"lower") == b"STORED"
    assert client.value(container.at("AA")) == b"upper" and client.value(container.at("aA")) is None
    assert len(container.sql.rows(f"SELECT k FROM {container.table}")) == 2
    folding = make("y", WHOLE.replace("VARBINARY(250)", "VARCHAR(100) COLLATE utf8mb4_general_ci"))
    client.send(b"get %s\r\n" % folding.at("k"))
    assert client.line().startswith((b"SERVER_ERROR", b"CLIENT_ERROR"))
    wait_until(lambda: folding.name in folding.server.log() and "collation" in folding.server.log(), 10,
               "why the container cannot be used")
    assert client.value(container.at("AA")) == b"upper"


@pytest.mark.parametrize("change,why", [
    ({"db_table": "nobody"}, "nobody"), ({"value_columns": "nothing"}, "nothing"),
    ({"key_columns": "x"}, "key"), ({"unique_idx_name_on_key": "none"}, "none"), ({"flags": "x"}, "flags"),
    ({"cas_column": "x"}, "cas"), ({"expire_time_column": "x"}, "expire"), ({"flags": "v"}, "twice"),
    ({"db_schema": "mysql"}, "mysql")])
def test_a_wrong_row_disables_its_container_alone(make, change, why):
    good, bad = make("x"), make("y", WHOLE + ", x BLOB")
    client = good.ready()
    bad.ready(client)
    row = dict(zip(("db_schema", "db_table", "key_columns", "value_columns", "flags", "cas_column",
                    "expire_time_column", "unique_idx_name_on_key"),
                   (good.table.split(".")[0], bad.name, "k", "v", "f", "c", "e", "PRIMARY")))
    bad.map(**{**row, **change})

    def refused():
        client.send(b"mg %s v\r\n" % bad.at("k"))
        return client.meta_reply()[0].startswith((b"SERVER_ERROR", b"CLIENT_ERROR"))
    wait_until(refused, 10, "that the container is wrong")
    assert any(bad.name in line and why in line for line in bad.server.log().splitlines())
    assert client.set(good.at("k"), b"v") == b"STORED"
    assert client.set("demo", b"v") == b"STORED"
    bad.map(**row)
    bad.ready(client)
    assert client.set(bad.at("k"), b"v") == b"STORED"


def test_a_dropped_table(make):
    container = make("x")
    client = container.ready()
    key = container.at("k")
    assert client.set(key, b"v") == b"STORED"
    container.sql.run(f"DROP TABLE {container.table}")
    assert client.set(key, b"v").startswith(b"SERVER_ERROR")
    client.send(b"get %s\r\n" % key)
    assert client.line().startswith((b"SERVER_ERROR", b"CLIENT_ERROR"))
    assert client.in_step("text") and client.set("demo", b"v") == b"STORED"
    container.sql.run(f"CREATE TABLE {container.table} ({WHOLE})")
    container.ready(client)
    assert client.value(key) is None
    assert client.set(key, b"w") == b"STORED"
    assert container.row("k") == (b"w",)


def test_containers_change_under_load(make, server, db):
    """Definitions move between two tables, tables are altered, containers are added and removed; every answer
    is that of one of the tables or a clear error, and no connection is lost or out of step."""
    container = make("x")
    client = container.ready()
    container.sql.run(f"CREATE TABLE {db}.second LIKE {container.table}")
    for table in (container.table, f"{db}.second"):
        container.sql.run(f"REPLACE INTO {table} (k, v) VALUES ('k', '{table}')")
    allowed = {container.table.encode(), f"{db}.second".encode()}
    seen, errors = {}, {}

    def play(stopping):
        with mc.Client(("127.0.0.1", int(server.env["MEMCACHED_PORT"]))) as one:
            number = 0
            while not stopping.is_set():
                number += 1
                one.send(b"mg %s v\r\nset %s 0 0 1\r\nx\r\nmn\r\n" % (
                    container.at("k"), container.at(f"w{number % 50}")))
                line, value = one.meta_reply()
                assert value in allowed or line.startswith(b"SERVER_ERROR"), (line, value)
                seen[value] = seen.get(value, 0) + 1
                stored = one.line()
                assert stored == b"STORED" or stored.startswith(b"SERVER_ERROR"), stored
                errors[stored] = errors.get(stored, 0) + 1
                assert one.line() == b"MN"
    with Crew() as crew:
        for _ in range(3):
            crew.start(play, crew.stopping)
        schema = container.table.split(".")[0]
        for number in range(6):
            table = ("second", container.name)[number % 2]
            container.map(key_columns="k", value_columns="v", flags="f", cas_column="c",
                          expire_time_column="e", unique_idx_name_on_key="PRIMARY", db_schema=schema,
                          db_table=table)
            wait_until(lambda: crew.check() and client.value(container.at("k")) ==
                       f"{schema}.{table}".encode(), 10, "the change")
            container.sql.run(f"ALTER TABLE {schema}.{table} ADD COLUMN extra{number} INT DEFAULT 7 FIRST")
            with contextlib.closing(Container(server, db, f"{db}e{number}").sql):
                container.sql.run("DELETE FROM innodb_memcache.containers WHERE name = %s", f"{db}e{number}")
    assert set(seen) >= allowed, seen
    assert errors[b"STORED"] > sum(errors.values()) * 0.5, errors


@pytest.mark.parametrize("event", ["INSERT", "UPDATE", "DELETE"])
def test_what_would_run_a_trigger_is_refused(make, event):
    """Only the statement that SQL would run the trigger for; the documents say so."""
    container = make("x")
    client = container.ready()
    assert client.set(container.at("k"), b"5") == b"STORED"
    container.sql.run(f"CREATE TRIGGER {container.name} AFTER {event} ON {container.table} FOR EACH ROW SET @seen = 1")
    key, new = container.at("k").decode(), container.at("new").decode()
    answers = {"INSERT": [client.set(new.encode(), b"v"), client.command(f"ma {new}2 N0")],
               "UPDATE": [client.set(key.encode(), b"6"), client.command(f"incr {key} 1"),
                          client.command(f"touch {key} 1000")],
               "DELETE": [client.command(f"delete {key}")]}
    for statement, given in answers.items():
        for answer in given:
            assert (answer == b"SERVER_ERROR the table has triggers") == (statement == event), (statement, given)
    assert client.value(container.at("k")) == {"INSERT": None, "UPDATE": None, "DELETE": b"7"}[event]


def test_the_log_says_that_a_trigger_for_delete_keeps_expired_items(make):
    container = make("x", WHOLE + ", unmapped INT")
    client = container.ready()
    container.sql.run(f"CREATE TRIGGER {container.name} AFTER DELETE ON {container.table} FOR EACH ROW SET @seen = 1")
    container.sql.run(f"INSERT INTO {container.table} (k, v, e) VALUES ('a', 'expired', 1000)")
    told = f"expired rows of container {container.name} stay: {container.table} or a table that refers to it has a trigger"
    wait_until(lambda: told in container.server.log(), 10, "the log", 0.1)
    assert client.set(container.at("a"), b"new") == b"SERVER_ERROR the table has triggers"
    assert container.row("a") == (b"expired",)
    container.sql.run(f"DROP TRIGGER {container.name}")
    wait_until(lambda: container.row("a") is None, 30, "the purge", 0.1)
    assert container.server.log().count(told) == 1


@pytest.mark.parametrize("index", ["2024_e", "0"])
def test_an_index_of_expiry_may_have_a_name_of_digits(make, index):
    """The container stays in use, and a row that has expired is purged behind one that lives."""
    container = make("x", WHOLE + f", KEY `{index}` (e)")
    client = container.ready()
    container.sql.run(f"INSERT INTO {container.table} (k, v, e) VALUES ('a', 'lives', UNIX_TIMESTAMP() + 1000),"
                      " ('b', 'expired', 1000)")
    wait_until(lambda: container.row("b") is None, 30, "the purge", 0.1)
    assert client.value(container.at("a")) == b"lives"


@pytest.mark.parametrize("index", ["1st", "0"])
def test_a_unique_index_may_have_a_name_of_digits(make, index):
    columns = f"id INT AUTO_INCREMENT PRIMARY KEY, k VARBINARY(20), v VARBINARY(20), UNIQUE KEY `{index}` (k)"
    container = make("x", columns, flags="0", token="0", expiry="0", index=index)
    client = container.ready()
    assert client.set(container.at("a"), b"1") == b"STORED" and client.value(container.at("a")) == b"1"
    assert container.row("a", "id, v") == (b"1", b"1")


def test_a_generated_key_is_refused(make):
    """The container is refused before the first set fails because no set can store the key."""
    container = make("x", "k VARBINARY(20) AS (v) STORED UNIQUE, v VARBINARY(20)", flags="0", token="0",
                     expiry="0", index="k")
    client = mc.connect(container.server)
    why = f"SERVER_ERROR container {container.name} is disabled: key column k is generated".encode()
    wait_until(lambda: client.command(f"mg {container.at('a').decode()}") == why, 10, "the refusal")


@pytest.mark.parametrize("mapped, column, title", [
    ("flags", "g INT AS (LENGTH(v)) STORED", "flags column"),
    ("token", "g BIGINT UNSIGNED AS (LENGTH(v)) STORED", "cas_column"),
    ("expiry", "g BIGINT AS (LENGTH(v)) STORED", "expire_time_column")])
def test_a_generated_column_for_what_an_item_has_is_refused(make, mapped, column, title):
    """A set would be answered STORED, and the item would have other flags, another cas or another expiry."""
    columns = {"flags": "0", "token": "0", "expiry": "0", mapped: "g"}
    container = make("x", f"k VARBINARY(20) PRIMARY KEY, v VARBINARY(20), {column}", **columns)
    client = mc.connect(container.server)
    why = f"SERVER_ERROR container {container.name} is disabled: {title} g is generated".encode()
    wait_until(lambda: client.command(f"mg {container.at('a').decode()}") == why, 10, "the refusal")


def test_policies(make, server):
    """A policy of `disabled` refuses its verbs, and no others."""
    container = make("x")
    client = container.ready()
    sql = server.sql()
    key = container.at("k")
    assert client.set(key, b"v") == b"STORED"
    sql.run("UPDATE innodb_memcache.cache_policies SET delete_policy = 'disabled'")
    try:
        def refused():
            client.send(b"delete %s\r\n" % container.at("none"))
            return client.line() != b"NOT_FOUND"
        wait_until(refused, 10, "the policy")
        client.send(b"delete %s\r\n" % key)
        assert client.line().startswith((b"SERVER_ERROR", b"CLIENT_ERROR"))
        assert client.value(key) == b"v" and client.set(key, b"w") == b"STORED"
        with mc.connect(server) as binary:
            assert binary.binary(mc.DELETE, key).status == 4
    finally:
        sql.run("UPDATE innodb_memcache.cache_policies SET delete_policy = 'innodb_only'")
    wait_until(lambda: client.command(f"delete {container.at('none').decode()}") == b"NOT_FOUND", 10,
               "the policy")
    assert client.command(f"delete {key.decode()}") == b"DELETED"


@pytest.mark.mariadb("WITH SYSTEM VERSIONING")
def test_a_versioned_table_is_read_and_not_written(make):
    container = make("x", WHOLE + ", KEY (e)) WITH SYSTEM VERSIONING -- ")
    client, key = container.ready(), container.at("k")
    container.sql.run(f"INSERT INTO {container.table} (k, v) VALUES ('k', 'old')")
    container.sql.run(f"UPDATE {container.table} SET v = 'new' WHERE k = 'k'")
    assert client.value(key) == b"new"
    assert client.command(f"mg {key.decode()} c v").startswith(b"VA 3")
    for line, data in ((f"set {key.decode()} 0 0 1", b"1"), (f"delete {key.decode()}", None),
                       (f"incr {key.decode()} 1", None), (f"touch {key.decode()} 9", None)):
        client = mc.connect(container.server)
        assert client.command(line, data) == b"SERVER_ERROR the table is versioned"
    container.sql.run(f"DELETE FROM {container.table}")
    assert mc.connect(container.server).value(key) is None
