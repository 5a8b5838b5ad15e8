"""Rows of system-versioned tables over RESP: the current ones, by the keys that SQL has for them."""

import itertools

import pytest

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.ours, pytest.mark.mariadb("system versioning")]

SCRATCH = "versioned"
PERIOD = "s {0} GENERATED ALWAYS AS ROW START, e {0} GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (s, e),"
TIMES, TRANSACTIONS = PERIOD.format("TIMESTAMP(6)"), PERIOD.format("BIGINT UNSIGNED")


@pytest.fixture
def sql(shop):
    return shop


def make(sql, columns, period="", engine="InnoDB", partitions=""):
    """A table with a row that has two former versions, and one that is deleted."""
    sql.run(f"CREATE TABLE versioned ({columns}, v INT, {period} PRIMARY KEY (id), UNIQUE KEY u (n)) ENGINE={engine}"
            f" WITH SYSTEM VERSIONING {partitions}")
    sql.run("INSERT INTO versioned (id, n, v) VALUES (1, 10, 5), (2, 20, 6), (3, NULL, 7)")
    sql.run("UPDATE versioned SET v = v + 1 WHERE id = 1")
    sql.run("UPDATE versioned SET v = v + 1 WHERE id = 1")
    sql.run("DELETE FROM versioned WHERE id = 2")


@pytest.mark.parametrize("columns", ["id INT, n INT", "id VARCHAR(9), n DECIMAL(5)", "id INT, n INT, KEY f (id, v)"])
def test_a_row_is_found_by_its_key_without_its_end(client, sql, columns):
    make(sql, columns)
    assert client.ask("HGETALL", "versioned:1") == [b"n", b"10", b"v", b"7"]
    assert sql.rows("SELECT n, v FROM versioned WHERE id = 1") == [(b"10", b"7")]
    assert client.ask("HGETALL", "versioned@u:10") == [b"id", b"1", b"v", b"7"]
    assert client.ask("HGETALL", "versioned:2") == client.ask("HGETALL", "versioned@u:20") == []
    assert [client.ask("EXISTS", key) for key in ("versioned:1", "versioned:2", "versioned@u:10")] == [1, 0, 1]
    assert client.ask("HGET", "versioned:1", "row_start") == sql.value("SELECT row_start FROM versioned WHERE id = 1")
    key = "versioned:1:2038-01-19 03\\:14\\:07.999999"
    assert client.ask("EXISTS", key).startswith("NOROW the key has not one value for each column")


def test_keys_are_listed_without_the_end_of_their_rows(client, sql):
    make(sql, "id INT, n INT")
    assert client.ask("SCAN", 0, "MATCH", "versioned:*", "COUNT", 100) == [b"0", [b"versioned:1", b"versioned:3"]]
    assert client.ask("KEYS", "versioned@u:*") == [b"versioned@u:10"]
    sql.run("SET GLOBAL time_zone = '+02:00'")
    found = client.ask("EXISTS", "versioned:1")
    sql.run("SET GLOBAL time_zone = DEFAULT")
    assert found == 1


@pytest.mark.parametrize("engine, period, partitions", [
    ("MyISAM", "", ""), ("Aria", "", ""), ("InnoDB", TRANSACTIONS, ""),
    ("InnoDB", TIMES, "PARTITION BY SYSTEM_TIME (PARTITION past HISTORY, PARTITION now CURRENT)")])
def test_a_row_is_found_in_any_versioned_table(client, sql, engine, period, partitions):
    make(sql, "id INT, n INT", period, engine, partitions)
    for row, (key, column) in itertools.product((1, 2, 3), (("versioned:{0}", "id"), ("versioned@u:{0}0", "n DIV 10"))):
        found = client.ask("HGET", key.format(row), "v")
        assert [(found,)] == (sql.rows(f"SELECT v FROM versioned WHERE {column} = {row}") or [(None,)]), key.format(row)
    assert client.ask("KEYS", "versioned:*") == [b"versioned:1", b"versioned:3"]


def test_a_period_that_the_table_names_is_shown_as_sql_shows_it(client, sql):
    make(sql, "id INT, n INT", TIMES)
    for field, value in zip(("n", "v", "s", "e"), sql.row("SELECT n, v, s, e FROM versioned WHERE id = 1"), strict=True):
        assert client.ask("HGET", "versioned:1", field) == value, field
    assert client.ask("HKEYS", "versioned:1") == [b"n", b"v", b"s", b"e"]


def test_a_long_text_is_found_by_its_unique_index(client, sql):
    """The index holds a hash over the text and the end of the row."""
    sql.run("CREATE TABLE versioned (id INT PRIMARY KEY, t TEXT, UNIQUE KEY u (t)) ENGINE=InnoDB WITH SYSTEM VERSIONING")
    sql.run("INSERT INTO versioned VALUES (1, 'a'), (2, 'b')")
    sql.run("UPDATE versioned SET id = 5 WHERE id = 1")
    assert client.ask("HGET", "versioned@u:a", "id") == b"5"
    sql.run("DELETE FROM versioned")
    assert client.ask("EXISTS", "versioned@u:a", "versioned@u:b") == 0


def test_the_past_of_a_row_is_not_gone_through(client, sql):
    make(sql, "id INT, n INT")
    for _ in range(50):
        sql.run("UPDATE versioned SET v = v + 1 WHERE id = 1")
    counted = ("SELECT SUM(VARIABLE_VALUE) FROM information_schema.GLOBAL_STATUS"
               " WHERE VARIABLE_NAME IN ('HANDLER_READ_NEXT', 'HANDLER_READ_PREV')")
    before = int(sql.value(counted))
    assert client.ask("HGET", "versioned:1", "v") == client.ask("HGET", "versioned@u:10", "v") == b"57"
    assert int(sql.value(counted)) < before + 50


def test_a_transaction_reads_the_current_row_and_writes_none(client, sql):
    make(sql, "id INT, n INT")
    assert client.ask("WATCH", "versioned:1") == "OK"
    assert client.transaction(("ROW.REQUIRE", "versioned:1", "v", "=", 7), ("HINCRBY", "product:7", "stock", 0),
                              ("HGET", "versioned:1", "v")) == ["OK", 5, b"7"]
    assert client.transaction(("ROW.REQUIRE", "versioned:1", "v", "=", 6), ("HINCRBY", "product:7", "stock", 1)) is None
    client.ask("WATCH", "versioned:1")
    sql.run("UPDATE versioned SET v = 9 WHERE id = 1")
    assert client.transaction(("HINCRBY", "product:7", "stock", 1)) is None
    for command in (("HSET", "versioned:1", "v", 1), ("HSET", "versioned:9", "v", 1), ("DEL", "versioned:1"),
                    ("HINCRBY", "versioned:1", "v", 1)):
        assert client.ask(*command).startswith("CONSTRAINT the table is system-versioned"), command
    assert sql.rows("SELECT id, v FROM versioned ORDER BY id") == [(b"1", b"9"), (b"3", b"7")]
