"""The same rows over memcached and in SQL: each side reads the other's writes at once."""

import contextlib
import time

import pytest

import mc
from load import Crew, Transaction
from mc_tables import Container, definition
from server import wait_until

pytestmark = pytest.mark.ours


@pytest.fixture
def client(container):
    return container.ready()


def test_the_demo_container_is_a_table(server):
    """The default container: a `set` stores a row, and a row that SQL stores is an item."""
    sql, client = server.sql(), mc.connect(server)
    row = definition(sql)
    table = f"{row['db_schema']}.{row['db_table']}"
    key, value, flags = row["key_columns"], row["value_columns"], row["flags"]
    assert client.set("demo", b"one", flags=5) == b"STORED"
    assert sql.rows(f"SELECT {value}, {flags} FROM {table} WHERE {key} = 'demo'") == [(b"one", b"5")]
    sql.run(f"INSERT INTO {table} ({key}, {value}, {flags}) VALUES ('demo2', 'two', 7)")
    assert client.get("demo2") == {b"demo2": (7, b"two")}
    sql.run(f"DELETE FROM {table} WHERE {key} LIKE 'demo%'")
    assert client.get("demo", "demo2") == {}


def test_every_verb_is_seen_by_select(container, client):
    key = container.at("k")
    assert client.set(key, b"one", flags=3) == b"STORED"
    assert container.row("k", "v, f, e") == (b"one", b"3", b"0")
    assert client.set(key, b"two", verb="add") == b"NOT_STORED"
    assert client.set(key, b" and", verb="append") == b"STORED"
    assert container.row("k", "v, f") == (b"one and", b"3")
    assert client.set(key, b"all ", verb="prepend") == b"STORED"
    assert container.row("k") == (b"all one and",)
    assert client.set(key, b"41", flags=9, verb="replace") == b"STORED"
    assert client.command(f"incr {key.decode()} 1") == b"42"
    assert container.row("k", "v, f") == (b"42", b"9")
    assert client.command(f"decr {key.decode()} 40") == b"2"
    assert container.row("k") == (b"2",)
    assert client.meta(b"ms %s 3 T0 F4" % key, b"new")[0] == b"HD"
    assert container.row("k", "v, f") == (b"new", b"4")
    now = time.time()
    assert client.command(f"touch {key.decode()} 100") == b"TOUCHED"
    assert now + 99 < int(container.row("k", "e")[0]) < time.time() + 102
    assert client.command(f"delete {key.decode()}") == b"DELETED"
    assert container.row("k") is None
    assert client.set(key, bytes(range(256)), verb="add") == b"STORED"
    assert container.row("k") == (bytes(range(256)),)


def test_every_statement_is_seen_by_get(container, client):
    sql, key = container.sql, container.at("k")
    sql.run(f"INSERT INTO {container.table} (k, v, f) VALUES ('k', 'one', 12)")
    assert client.get(key) == {key: (12, b"one")}
    sql.run(f"UPDATE {container.table} SET v = 'two' WHERE k = 'k'")
    assert client.value(key) == b"two"
    sql.run(f"REPLACE INTO {container.table} (k, v) VALUES ('k', 'three')")
    assert client.get(key) == {key: (0, b"three")}
    sql.run(f"UPDATE {container.table} SET k = 'z'")
    assert client.value(key) is None and client.value(container.at("z")) == b"three"
    sql.run(f"TRUNCATE {container.table}")
    assert client.value(container.at("z")) is None


def test_sql_moves_the_token(container, client):
    """A cas with a token from before an UPDATE is refused, whatever the UPDATE wrote."""
    key = container.at("k")
    assert client.set(key, b"one") == b"STORED"
    token = client.token(key)
    container.sql.run(f"UPDATE {container.table} SET v = 'two'")
    assert client.token(key) > token
    line = b"cas %s 0 0 4 %d" % (key, token)
    client.send(line + b"\r\nmine\r\n")
    assert client.line() == b"EXISTS"
    assert client.value(key) == b"two"
    client.send(b"cas %s 0 0 4 %d\r\nmine\r\n" % (key, client.token(key)))
    assert client.line() == b"STORED"
    assert container.row("k") == (b"mine",)


def test_sql_sets_the_expiry(container, client):
    key = container.at("k")
    assert client.set(key, b"one") == b"STORED"
    container.sql.run(f"UPDATE {container.table} SET e = UNIX_TIMESTAMP() + 500")
    assert client.meta(b"mg %s t" % key)[0] in (b"HD t499", b"HD t500", b"HD t501")
    container.sql.run(f"UPDATE {container.table} SET e = UNIX_TIMESTAMP() - 1")
    assert client.value(key) is None
    container.sql.run(f"UPDATE {container.table} SET e = 0")
    assert client.value(key) == b"one"


def read_while_sql_updates(container, client, where, read_both):
    """While SQL gives two rows the same new value again and again, read_both(reader, keys) reads them: each
    time equal values, and different values over time."""
    keys = [container.at("a"), container.at("b")]
    for key in keys:
        assert client.set(key, b"0") == b"STORED"
    values = []

    def write(stopping):
        with contextlib.closing(container.server.sql()) as sql:
            number = 0
            while not stopping.is_set():
                number += 1
                sql.run(f"UPDATE {container.table} SET v = {number} {where}")

    def read(stopping):
        with mc.Client(("127.0.0.1", int(container.server.env["MEMCACHED_PORT"])), tls=mc.TLS) as reader:
            while not stopping.is_set():
                first, *others = read_both(reader, keys)
                assert {first} == set(others)
                values.append(first)
    with Crew() as crew:
        crew.start(write, crew.stopping)
        crew.start(read, crew.stopping)
        wait_until(lambda: crew.check() and len(values) > 150 and len(set(values)) > 20, 30, "reads")


def test_a_get_reads_one_consistent_view(container, client):
    """Two rows that SQL always changes together are never read apart, neither in one get nor in a
    pipeline."""
    def read_both(reader, keys):
        found = reader.get(*keys)
        assert found[keys[0]] == found[keys[1]], found
        reader.send(b"get %s\r\nmg %s v\r\n" % tuple(keys))
        first, (line, second) = reader.reply_to_get(), reader.meta_reply()
        assert line.startswith(b"VA")
        return first[keys[0]][1], second
    read_while_sql_updates(container, client, "", read_both)


def test_a_pipeline_with_writes_reads_one_consistent_view(container, client):
    """SQL changes two rows together; a pipeline that also writes a third row reads both rows as of one time,
    in many requests and with its own writes between them."""
    def read_both(reader, keys):
        text = b"set %s 0 0 1\r\nx\r\nget %s\r\nset %s 0 0 1\r\ny\r\nget %s\r\n"
        reader.send(text % (container.at("x"), keys[0], container.at("y"), keys[1]))
        assert reader.line() == b"STORED"
        first = reader.reply_to_get()[keys[0]]
        assert reader.line() == b"STORED"
        return first, reader.reply_to_get()[keys[1]]
    read_while_sql_updates(container, client, "WHERE k < 'c'", read_both)


def test_a_locked_row_is_an_error_and_no_miss(server, container, client):
    """Writes wait for the lock as SQL does, then answer an error; reads do not wait."""
    key = container.at("k")
    assert client.set(key, b"old") == b"STORED"
    holder = Transaction(server, container.table.split(".")[0])
    holder.run(f"UPDATE {container.table} SET v = 'held' WHERE k = 'k'")
    assert client.value(key) == b"old"
    waiting = mc.connect(server, timeout_s=30)
    waiting.send(b"set %s 0 0 3\r\nnew\r\n" % key)
    wait_until(lambda: int(container.sql.value(
        "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'")) or
        waiting.buffer, 20, "a lock wait", 0.15)  # the server looks ten times a second
    assert client.value(key) == b"old"
    holder.commit()
    assert waiting.line() == b"STORED"
    assert container.row("k") == (b"new",)


def test_a_lock_that_stays_is_an_error(make_server):
    server = make_server(options=["--innodb-lock-wait-timeout=1"])
    sql = server.sql()
    sql.run("CREATE DATABASE lw")
    container = Container(server, "lw", "box")
    client = container.ready(mc.connect(server, timeout_s=30))
    key = container.at("k")
    assert client.set(key, b"5") == b"STORED"
    holder = Transaction(server, "lw")
    holder.run("UPDATE lw.box SET v = '6'")
    for request in (b"set %s 0 0 1\r\n1\r\n", b"incr %s 1\r\n", b"delete %s\r\n", b"touch %s 9\r\n"):
        client.send(request % key)
        assert client.line().startswith(b"SERVER_ERROR "), request
    client.send(b"md %s\r\n" % key)
    assert client.line().startswith(b"SERVER_ERROR ")
    holder.rollback()
    assert client.in_step("text") and client.value(key) == b"5"


def test_read_only_is_an_error(make_server):
    server = make_server()
    client = mc.connect(server)
    assert client.set("k", b"5") == b"STORED"
    sql = server.sql()
    sql.run("SET GLOBAL read_only = 1")
    for request in (b"set k 0 0 1\r\n1\r\n", b"add z 0 0 1\r\n1\r\n", b"incr k 1\r\n", b"delete k\r\n",
                    b"touch k 9\r\n"):
        client.send(request)
        assert client.line().startswith(b"SERVER_ERROR "), request
    assert client.value("k") == b"5"
    with mc.connect(server) as binary:
        answer = binary.binary(mc.SET, b"k", b"1", mc.storing())
        assert answer.status not in (0, 1, 2, 5), answer
        assert binary.in_step("binary")
    sql.run("SET GLOBAL read_only = 0")
    assert client.command("incr k 1") == b"6"


def test_nulls_in_mapped_columns(server, db):
    """NULL in flags, token and expiry counts as none; a NULL value differs from an empty value."""
    container = Container(
        server, db, f"n{db}", "k VARBINARY(250) PRIMARY KEY, v BLOB, f INT UNSIGNED, c BIGINT UNSIGNED,"
        " e BIGINT")
    try:
        client = container.ready()
        container.sql.run(f"INSERT INTO {container.table} VALUES ('k', 'v', NULL, NULL, NULL),"
                          " ('n', NULL, 1, 1, 0), ('o', '', 0, 5, 0)")
        key = container.at("k")
        assert client.get(key) == {key: (0, b"v")}
        assert client.get(key, verb="gets")[key][2] != 0
        assert client.meta(b"mg %s t f" % key)[0] == b"HD t-1 f0"
        assert client.value(container.at("o")) == b""
        # A row without a value is neither an empty item nor an error that ends the stream.
        found = client.get(container.at("n"))
        assert found == {} or found == {container.at("n"): (1, b"")}, found
        assert client.in_step("text")
        assert client.set(container.at("n"), b"x") == b"STORED"
        assert container.row("n") == (b"x",)
        assert client.set(key, b"y", flags=8) == b"STORED"
        assert container.row("k", "v, f") == (b"y", b"8")
    finally:
        container.drop()


def test_a_value_that_its_column_cannot_hold(server, db):
    """Each type through its field, with SQL's errors; the row stays, and the stream stays in step."""
    container = Container(server, db, f"t{db}", "k VARBINARY(20) PRIMARY KEY, v SMALLINT", flags="0",
                          token="0", expiry="0")
    try:
        client = container.ready()
        key = container.at("k")
        assert client.set(key, b"-32768") == b"STORED"
        assert container.row("k") == (b"-32768",)
        for bad in (b"32768", b"abc", b"1" * 300, b"", b"1.5x"):
            assert client.set(key, bad).startswith((b"SERVER_ERROR ", b"CLIENT_ERROR ")), bad
        assert client.set(container.at("k" * 21), b"1").startswith((b"SERVER_ERROR ", b"CLIENT_ERROR "))
        assert container.sql.rows(f"SELECT k, v FROM {container.table}") == [(b"k", b"-32768")]
        assert client.set(key, b"40") == b"STORED"
        assert client.command(f"incr {key.decode()} 2") == b"42"
        assert client.command(f"incr {key.decode()} 40000").startswith((b"SERVER_ERROR ", b"CLIENT_ERROR "))
        assert container.row("k") == (b"42",)
        assert client.in_step("text")
    finally:
        container.drop()


@pytest.mark.parametrize("column,value,stored", [
    ("INT", b"123", b"123"), ("BIGINT UNSIGNED", b"18446744073709551615", b"18446744073709551615"),
    ("DECIMAL(10,2)", b"12.50", b"12.50"), ("DOUBLE", b"1.5", b"1.5"), ("DATE", b"2024-02-29", b"2024-02-29"),
    ("DATETIME(3)", b"2024-02-29 12:34:56.789", b"2024-02-29 12:34:56.789"), ("VARCHAR(20)", b"text", b"text"),
    ("VARCHAR(20) CHARACTER SET utf8mb4", "Zoë 🐬".encode(), "Zoë 🐬".encode()),
    ("ENUM('a','b')", b"b", b"b"), ("TEXT", b"long " * 1000, b"long " * 1000), ("BINARY(3)", b"abc", b"abc"),
    ("LONGBLOB", b"\0\xff" * 9000, b"\0\xff" * 9000)],
    ids=lambda value: value if isinstance(value, str) else "")
def test_value_types(server, db, column, value, stored):
    container = Container(server, db, f"y{db}", f"k VARBINARY(20) PRIMARY KEY, v {column}", flags="0",
                          token="0", expiry="0")
    try:
        client = container.ready()
        key = container.at("k")
        assert client.set(key, value) == b"STORED"
        assert container.row("k") == (stored,)
        assert client.value(key) == stored
    finally:
        container.drop()
