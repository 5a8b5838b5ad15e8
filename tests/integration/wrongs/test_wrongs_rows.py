"""Rows 4 to 8 of docs/WRONGS.md: a row written here is the row that SQL would have written."""

import pytest

from hs import OK, counted, generated, refused, reply
from server import is_mysql

pytestmark = pytest.mark.again_in("mariadb-11.8")

wrong = pytest.mark.bundled_wrong
# The numbers of SQL's errors.
IS_GENERATED, CHECK_FAILS = (3105, 3819) if is_mysql() else (1906, 4025)


def mariadb(*values):
    """A parameter of a test that only MariaDB can take."""
    return pytest.param(*values, marks=pytest.mark.mariadb("a type or a key of MariaDB"))


def same_rows(sql, one, other, columns="*"):
    """Two tables hold the same rows."""
    assert sql.rows(f"SELECT {columns} FROM {one} ORDER BY 1") == sql.rows(
        f"SELECT {columns} FROM {other} ORDER BY 1")


# Row 4: DEFAULT, NULL, CURRENT_TIMESTAMP, ON UPDATE, DEFAULT(expression).

@wrong(4, some=True)
@pytest.mark.parametrize("definition", [
    "INT", "INT DEFAULT 7", "INT NOT NULL DEFAULT -3", "VARCHAR(9)", "VARCHAR(9) DEFAULT 'dé'",
    "VARCHAR(9) NOT NULL DEFAULT 'x'", "DECIMAL(5,2) DEFAULT 1.25", "DATETIME DEFAULT '2001-02-03 04:05:06'",
    mariadb("TEXT DEFAULT 'long'"), "TEXT DEFAULT ('long')", "BLOB DEFAULT (REPEAT('x', 3))", "INT DEFAULT (1 + 2 * 3)",
    "VARCHAR(20) DEFAULT (CONCAT('id-', id))", "ENUM('a','b') DEFAULT 'b'", "BIT(4) DEFAULT b'101'",
    "SET('a','b') DEFAULT 'a,b'", "DOUBLE DEFAULT 0.5", "YEAR DEFAULT 1999", mariadb("JSON DEFAULT '[1]'"),
    "JSON DEFAULT ('[1]')", mariadb("UUID DEFAULT '123e4567-e89b-12d3-a456-426655440000'"),
    mariadb("INET6 DEFAULT '::1'"), "DATE DEFAULT '2020-02-20'"])
def test_omitted_column_gets_its_default(sql, wr, definition):
    for table in ("ours", "theirs"):
        sql.run(f"CREATE TABLE {table} (id INT PRIMARY KEY, x {definition}, y INT DEFAULT 5)")
    sql.run("INSERT INTO theirs (id) VALUES (1), (2)")
    index = wr("ours", "", "id")
    assert index.insert(1) == OK and index.insert(2) == OK
    same_rows(sql, "ours", "theirs", "id, x, y")


@wrong(4)
def test_omitted_timestamp_gets_the_current_time(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, a TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(6),"
            " b DATETIME DEFAULT CURRENT_TIMESTAMP, c DATETIME(3) DEFAULT (NOW(3)), d DATE DEFAULT (CURDATE()))")
    before = sql.value("SELECT NOW(6)")
    assert wr("t", "", "id").insert(1) == OK
    assert sql.row("SELECT a BETWEEN %s AND NOW(6), b BETWEEN %s - INTERVAL 1 SECOND AND NOW(),"
                   " c BETWEEN %s - INTERVAL 1 SECOND AND NOW(6), d BETWEEN CURDATE() - INTERVAL 1 DAY"
                   " AND CURDATE() FROM t", before.decode(), before.decode(), before.decode()) == (b"1",) * 4


@wrong(4)
def test_default_by_function_is_evaluated_for_every_row(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, u VARCHAR(36) DEFAULT (UUID()))")
    index = wr("t", "", "id")
    assert index.client.pipeline([[index.id, "+", 1, number] for number in range(5)]) == [OK] * 5
    assert sql.value("SELECT COUNT(DISTINCT u) FROM t") == b"5"


@wrong(4)
def test_omitted_column_without_default_is_refused_as_in_strict_sql(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT NOT NULL, y VARCHAR(5) NOT NULL)")
    assert sql.error("INSERT INTO t (id) VALUES (1)") == 1364
    assert wr("t", "", "id").insert(1).number == 1364
    assert sql.rows("SELECT * FROM t") == []


def test_columns_without_a_value_get_their_default(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT DEFAULT 7, y INT DEFAULT 8)")
    index = wr("t", "", "id,x,y")
    assert index.client.request(index.id, "+", 2, 1, 70) == OK
    assert sql.rows("SELECT * FROM t") == [(b"1", b"70", b"8")]


def test_values_beyond_the_columns_are_ignored(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT)")
    assert wr("t", "", "id,x").insert(1, 2, 3, 4) == OK
    assert sql.rows("SELECT * FROM t") == [(b"1", b"2")]


@wrong(4)
def test_on_update_happens_when_the_row_changes(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT,"
            " u TIMESTAMP(6) NULL ON UPDATE CURRENT_TIMESTAMP(6), v DATETIME ON UPDATE CURRENT_TIMESTAMP)")
    sql.run("INSERT INTO t VALUES (1, 1, '2001-01-01', '2001-01-01')")
    assert wr("t", "", "x").update("=", [1], [2]) == counted(1)
    assert sql.row("SELECT x, u > NOW(6) - INTERVAL 1 MINUTE, v > NOW() - INTERVAL 1 MINUTE FROM t") == (
        b"2", b"1", b"1")


@wrong(4)
def test_on_update_happens_for_increments(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT, u TIMESTAMP NULL ON UPDATE CURRENT_TIMESTAMP)")
    sql.run("INSERT INTO t VALUES (1, 1, '2001-01-01')")
    assert wr("t", "", "x").modify("=", [1], ["+", 5]) == counted(1)
    assert sql.row("SELECT x, u > NOW() - INTERVAL 1 MINUTE FROM t") == (b"6", b"1")


def test_on_update_does_not_happen_when_the_row_stays_the_same(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT, u TIMESTAMP NULL ON UPDATE CURRENT_TIMESTAMP)")
    sql.run("INSERT INTO t VALUES (1, 1, '2001-01-01')")
    assert wr("t", "", "x").update("=", [1], [1]) == counted(1)
    assert sql.row("SELECT x, u FROM t") == (b"1", b"2001-01-01 00:00:00")


def test_on_update_yields_to_a_value_that_is_given(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT, u TIMESTAMP NULL ON UPDATE CURRENT_TIMESTAMP)")
    sql.run("INSERT INTO t VALUES (1, 1, '2001-01-01')")
    assert wr("t", "", "x,u").update("=", [1], [2, "2002-02-02 02:02:02"]) == counted(1)
    assert sql.row("SELECT x, u FROM t") == (b"2", b"2002-02-02 02:02:02")


def test_generated_ids(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, x VARCHAR(5))")
    index = wr("t", "", "x")
    assert [index.insert(text) for text in "abc"] == [generated(1), generated(2), generated(3)]
    given = wr("t", "", "id,x")
    assert given.insert(10, "d") == generated(0)
    assert index.insert("e") == generated(11)
    assert given.insert(0, "f") == generated(12)
    assert sql.rows("SELECT id FROM t") == [(text,) for text in (b"1", b"2", b"3", b"10", b"11", b"12")]


def test_null_for_an_auto_increment_column_generates(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, x VARCHAR(5))")
    assert wr("t", "", "id,x").insert(None, "a") == generated(1)


# Row 5: generated columns.

GENERATED = ("(id INT PRIMARY KEY, a INT, b VARCHAR(9), s INT AS (a * 2) STORED,"
             " v VARCHAR(20) AS (CONCAT(b, '-', a)) VIRTUAL, w INT AS (a % 3) VIRTUAL, KEY(w), KEY(s), UNIQUE(v))")


@wrong(5)
def test_generated_columns_are_computed_on_every_kind_of_write(sql, wr):
    sql.run(f"CREATE TABLE ours {GENERATED}")
    sql.run(f"CREATE TABLE theirs {GENERATED}")
    index = wr("ours", "", "id,a,b")
    for number in range(1, 9):
        assert index.insert(number, number, f"n{number}") == OK
        sql.run("INSERT INTO theirs (id, a, b) VALUES (%s, %s, %s)", number, number, f"n{number}")
    assert index.update("=", [2], [2, 50, "upd"]) == counted(1)
    assert wr("ours", "", "a").modify("=", [3], ["+", 100]) == counted(1)
    assert wr("ours", "", "a").modify("=", [4], ["-", 1]) == counted(1)
    assert index.delete("=", [5]) == counted(1)
    for query in ("UPDATE theirs SET a = 50, b = 'upd' WHERE id = 2", "UPDATE theirs SET a = a + 100 WHERE id = 3",
                  "UPDATE theirs SET a = a - 1 WHERE id = 4", "DELETE FROM theirs WHERE id = 5"):
        sql.run(query)
    same_rows(sql, "ours", "theirs")
    for column in ("w", "s", "v"):
        assert sql.rows(f"SELECT id, {column} FROM ours FORCE INDEX ({column}) WHERE {column} IS NOT NULL"
                        f" ORDER BY id") == sql.rows(f"SELECT id, {column} FROM theirs ORDER BY id")
    assert sql.rows("CHECK TABLE ours EXTENDED")[-1][-1] == b"OK"


def test_virtual_columns_are_read_and_found(sql, rd):
    sql.run(f"CREATE TABLE t {GENERATED}")
    sql.run("INSERT INTO t (id, a, b) VALUES (1, 10, 'x'), (2, 11, 'y'), (3, 12, NULL)")
    assert rd("t", "", "s,v,w").rows(">=", [1], 9) == [
        (b"20", b"x-10", b"1"), (b"22", b"y-11", b"2"), (b"24", None, b"0")]
    assert rd("t", "w", "v").rows("=", [2], 9) == [(b"y-11",)]
    assert rd("t", "v", "id").rows("=", ["x-10"], 9) == [(b"1",)]
    assert rd("t", "s", "id,w").rows("<", [24], 9) == [(b"2", b"2"), (b"1", b"1")]
    assert rd("t", "", "id", "w,v").rows(">", [0], 9, 0, filters=[("F", ">", 0, 0), ("F", "!=", 1, "x-10")]) == [
        (b"2",)]


@wrong(5)
def test_value_for_a_generated_column_is_refused(sql, wr):
    sql.run(f"CREATE TABLE t {GENERATED}")
    sql.run("INSERT INTO t (id, a, b) VALUES (1, 1, 'x')")
    for column in ("s", "v"):
        assert sql.error(f"INSERT INTO t (id, {column}) VALUES (9, 9)") == IS_GENERATED
        assert wr("t", "", f"id,{column}").insert(9, 9).number == IS_GENERATED
        assert wr("t", "", f"id,{column}").update("=", [1], [1, 99]).number == IS_GENERATED
    assert sql.rows("SELECT id, s, v FROM t") == [(b"1", b"2", b"x-1")]


@wrong(5)
@pytest.mark.mariadb("MySQL's SQL refuses NULL as any other value")
def test_null_for_a_generated_column_is_no_value(sql, wr):
    for table in ("ours", "theirs"):
        sql.run(f"CREATE TABLE {table} {GENERATED}")
    index = wr("ours", "", "id,a,b,v,s")
    assert index.insert(1, 1, "x", None, None) == OK
    sql.run("INSERT INTO theirs (id, a, b, v, s) VALUES (1, 1, 'x', NULL, NULL)")
    same_rows(sql, "ours", "theirs")
    assert index.update("=", [1], [1, 5, "y", None, None]) == counted(1)
    sql.run("UPDATE theirs SET a = 5, b = 'y', v = NULL, s = NULL")
    same_rows(sql, "ours", "theirs")


@pytest.mark.again_in("mysql-9.7")
@pytest.mark.mysql("MariaDB takes NULL for no value")
def test_null_for_a_generated_column_is_refused(sql, wr):
    sql.run(f"CREATE TABLE t {GENERATED}")
    sql.run("INSERT INTO t (id, a, b) VALUES (1, 1, 'x')")
    for column in ("s", "v"):
        assert sql.error(f"INSERT INTO t (id, {column}) VALUES (9, NULL)") == IS_GENERATED
        assert wr("t", "", f"id,{column}").insert(9, None).number == IS_GENERATED
        assert wr("t", "", f"id,{column}").update("=", [1], [1, None]).number == IS_GENERATED
    assert sql.rows("SELECT id, s, v FROM t") == [(b"1", b"2", b"x-1")]


# Row 6: UNIQUE over TEXT and BLOB, CHECK, strict mode, triggers.

@wrong(6)
@pytest.mark.mariadb("keys of this length")
@pytest.mark.parametrize("kind", ["TEXT", "BLOB", "VARCHAR(4000)"])
def test_unique_hash_is_enforced(sql, wr, kind):
    sql.run(f"CREATE TABLE t (id INT PRIMARY KEY, x {kind}, UNIQUE KEY ux (x))")
    index = wr("t", "", "id,x")
    assert index.insert(1, "same") == OK
    assert index.insert(2, "same") == refused(1, 121)
    assert index.insert(2, "other") == OK
    assert index.update("=", [2], [2, "same"]) == refused(1, 121)
    assert index.insert(3, None) == OK and index.insert(4, None) == OK
    assert index.update("=", [1], [1, "same"]) == counted(1)
    assert sql.rows("SELECT id, x FROM t ORDER BY id") == [
        (b"1", b"same"), (b"2", b"other"), (b"3", None), (b"4", None)]


@wrong(6)
def test_check_constraints_are_enforced(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT CHECK (x > 0), y INT, CONSTRAINT low CHECK (y < x))")
    assert sql.error("INSERT INTO t VALUES (1, -1, -5)") == CHECK_FAILS
    index = wr("t", "", "id,x,y")
    assert index.insert(1, -1, -5).number == CHECK_FAILS
    assert index.insert(1, 3, 4).number == CHECK_FAILS
    assert index.insert(1, 5, 3) == OK
    assert index.insert(2, None, 3) == OK
    assert index.update("=", [1], [1, 2, 3]).number == CHECK_FAILS
    assert wr("t", "", "y").modify("=", [1], ["+", 2]).number == CHECK_FAILS
    assert sql.rows("SELECT * FROM t") == [(b"1", b"5", b"3"), (b"2", None, b"3")]


STRICT = [("TINYINT", "300"), ("TINYINT UNSIGNED", "-1"), ("INT", "abc"), ("INT", "5x"), ("INT", ""),
          ("BIGINT", "9223372036854775808"), ("VARCHAR(3)", "abcd"), ("CHAR(3)", "abcd"), ("BINARY(3)", "abcd"),
          ("VARBINARY(3)", "abcd"), ("DATE", "2024-02-30"), ("DATETIME", "0"), ("DATETIME", "hello"),
          ("TIMESTAMP NULL", "1960-01-01"), ("TIME", "900:00:00"), ("YEAR", "1800"), ("ENUM('a','b')", "c"),
          ("SET('a','b')", "a,c"), ("DECIMAL(4,2)", "100"), ("FLOAT", "1e60"), ("DOUBLE", "1e400"),
          ("BIT(3)", b"\x08"), ("JSON", "{"), ("TINYTEXT", "x" * 256), ("INT NOT NULL", None),
          ("VARCHAR(3) NOT NULL", None),
          *([] if is_mysql() else [("UUID", "nope"), ("INET6", "nope"), ("INET4", "1.2.3")])]


@wrong(6)
@pytest.mark.parametrize("kind,value", STRICT, ids=[f"{kind}-{str(value)[:12]}" for kind, value in STRICT])
def test_value_that_strict_sql_refuses_is_refused(sql, wr, kind, value):
    sql.run(f"CREATE TABLE t (id INT PRIMARY KEY, x {kind})")
    number = sql.error("INSERT INTO t VALUES (1, %s)", value)
    index = wr("t", "", "id,x")
    assert index.insert(1, value).number == number
    assert sql.rows("SELECT * FROM t") == []
    if kind == "JSON":  # a CHECK constraint: the value of the update below cannot be stored
        return
    sql.run("SET sql_mode = ''")
    sql.run("INSERT IGNORE INTO t VALUES (2, %s)", value)
    before = sql.rows("SELECT * FROM t")
    sql.run("SET sql_mode = DEFAULT")
    number = sql.error("UPDATE t SET id = 3, x = %s", value)
    assert index.update("=", [2], [3, value]).number == number
    assert sql.rows("SELECT * FROM t") == before


def test_decimal_digits_that_do_not_fit_are_rounded_as_sql_does(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x DECIMAL(6,2), y INT, z DATETIME, w TIME(1))")
    sql.run("CREATE TABLE s LIKE t")
    row = (1, "12.345", "1.5", "2001-02-03 04:05:06.7", "10:11:12.35")
    sql.run("INSERT INTO s VALUES (%s, %s, %s, %s, %s)", *row)
    sql.run("INSERT INTO s VALUES (2, '-0.005', '-1.5', '2001-02-03', '5')")
    index = wr("t", "", "id,x,y,z,w")
    assert index.insert(*row) == OK
    assert index.insert(2, "-0.005", "-1.5", "2001-02-03", "5") == OK
    same_rows(sql, "t", "s")


@wrong(6)
@pytest.mark.parametrize("time", ["BEFORE", "AFTER"])
def test_table_with_triggers_is_refused_for_writing_and_can_be_read(sql, wr, rd, time):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT)")
    sql.run("CREATE TABLE log (what VARCHAR(9))")
    sql.run("INSERT INTO t VALUES (1, 1)")
    for event in ("INSERT", "UPDATE", "DELETE"):
        sql.run(f"CREATE TRIGGER tr_{event} {time} {event} ON t FOR EACH ROW INSERT INTO log VALUES ('{event}')")
    index = wr("t", "", "id,x")
    for answer in (index.insert(2, 2), index.update("=", [1], [1, 5]), index.modify("=", [1], ["+", 0, 1]),
                   index.delete("=", [1])):
        assert answer == refused(1, "trigger")
    assert sql.rows("SELECT * FROM t") == [(b"1", b"1")]
    assert rd("t", "", "x").rows("=", [1]) == [(b"1",)]
    assert index.rows("=", [1]) == [(b"1", b"1")]


@wrong(6)
def test_trigger_made_while_the_index_is_open_counts(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT)")
    index = wr("t", "", "id,x")
    assert index.insert(1, 1) == OK
    sql.run("SET lock_wait_timeout = 3")
    sql.run("CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET NEW.x = NEW.x + 1")
    assert index.insert(2, 2) == refused(1, "trigger")
    sql.run("DROP TRIGGER tr")
    assert index.insert(2, 2) == OK
    assert sql.rows("SELECT * FROM t") == [(b"1", b"1"), (b"2", b"2")]


# Row 7: system versioning.

@wrong(7)
@pytest.mark.mariadb("system versioning")
def test_system_versioned_table_is_refused_for_writing_and_stays_right(sql, wr, rd):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT) WITH SYSTEM VERSIONING")
    sql.run("INSERT INTO t VALUES (1, 1), (2, 2)")
    sql.run("UPDATE t SET x = 11 WHERE id = 1")
    sql.run("DELETE FROM t WHERE id = 2")
    before = sql.rows("SELECT id, x FROM t FOR SYSTEM_TIME ALL ORDER BY id, x")
    index = wr("t", "", "id,x")
    for answer in (index.insert(3, 3), index.update("=", [1], [1, 5]), index.delete("=", [1])):
        assert answer == refused(1, "versioned")
    assert sql.rows("SELECT id, x FROM t FOR SYSTEM_TIME ALL ORDER BY id, x") == before
    assert rd("t", "", "id,x").rows(">=", [0], 99) == [(b"1", b"11")]
    assert rd("t", "", "id,x").rows("=", [1], 99) == [(b"1", b"11")]
    assert rd("t", "", "id,x").find("=", [2], 99) == reply(0, 2)


# Row 8: values are converted as for a SQL client with SET NAMES utf8mb4.

@wrong(8)
@pytest.mark.mariadb("types of MariaDB")
@pytest.mark.parametrize("kind,text", [
    ("UUID", "123e4567-e89b-12d3-a456-426655440000"), ("UUID", "123E4567E89B12D3A456426655440000"),
    ("INET6", "2001:db8::ff00:42:8329"), ("INET6", "::"), ("INET6", "::ffff:1.2.3.4"), ("INET4", "192.0.2.33")])
def test_network_and_uuid_text_is_stored_and_found(sql, wr, kind, text):
    for table in ("ours", "theirs"):
        sql.run(f"CREATE TABLE {table} (id INT PRIMARY KEY, x {kind}, KEY(x))")
    sql.run("INSERT INTO theirs VALUES (1, %s)", text)
    index = wr("ours", "", "id,x")
    assert index.insert(1, text) == OK
    same_rows(sql, "ours", "theirs")
    stored = sql.value("SELECT x FROM theirs")
    assert index.rows("=", [1]) == [(b"1", stored)]
    assert wr("ours", "x", "id").rows("=", [text], 9) == [(b"1",)]


@wrong(8, some=True)
@pytest.mark.parametrize("charset,text", [
    ("latin1", "Grüße €"), ("latin2", "Łódź"), ("cp1251", "Привет"), ("sjis", "日本語"), ("utf8mb3", "日本 é"),
    ("utf8mb4", "🐬 é"), ("ucs2", "日本 é"), ("utf16", "🐬 é"), ("utf16le", "🐬"), ("utf32", "🐬 é"), ("gbk", "中文")])
def test_text_is_converted_to_the_character_set_of_the_column(sql, wr, charset, text):
    for table in ("ours", "theirs"):
        sql.run(f"CREATE TABLE {table} (id INT PRIMARY KEY, v VARCHAR(20), c CHAR(20), t TEXT, KEY(v), KEY(c))"
                f" CHARACTER SET {charset}")
    sql.run("INSERT INTO theirs VALUES (1, %s, %s, %s)", text, text, text)
    index = wr("ours", "", "id,v,c,t")
    assert index.insert(1, text, text, text) == OK
    columns = "id, HEX(v), HEX(c), HEX(t)"
    same_rows(sql, "ours", "theirs", columns)
    assert index.rows("=", [1]) == [(b"1",) + (text.encode(),) * 3]
    for key in ("v", "c"):
        assert wr("ours", key, "id").rows("=", [text], 9) == [(b"1",)]
    assert wr("ours", "", "id", "v").rows("=", [1], 1, 0, filters=[("F", "=", 0, text)]) == [(b"1",)]
    assert index.update("=", [1], [1, text * 2, text, text]) == counted(1)
    sql.run("UPDATE theirs SET v = %s", text * 2)
    same_rows(sql, "ours", "theirs", columns)


# MySQL takes such a text at the end of a value for one that is cut short.
CUT_SHORT = (b"\xe9",)


@wrong(8)
@pytest.mark.parametrize("charset,value", [
    ("utf8mb4", b"\xff\xfe"), ("utf8mb4", b"abc\xc3"), ("latin1", b"\xe9"),
    ("latin1", "日本".encode()), ("utf8mb3", "🐬".encode()), ("ucs2", "🐬".encode()), ("ascii", "é".encode())])
def test_text_that_cannot_be_converted_is_refused(sql, wr, charset, value):
    sql.run(f"CREATE TABLE t (id INT PRIMARY KEY, x VARCHAR(20)) CHARACTER SET {charset}")
    sql.run("INSERT INTO t VALUES (1, 'a')")
    number = sql.error(b"INSERT INTO t VALUES (2, '" + value + b"')")
    assert number == (1406 if is_mysql() and value in CUT_SHORT and charset != "utf8mb4" else 1366)
    index = wr("t", "", "id,x")
    assert index.insert(2, value).number == number
    assert index.update("=", [1], [1, value]).number == number
    assert sql.rows("SELECT * FROM t") == [(b"1", b"a")]


def test_binary_columns_take_every_byte(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, b VARBINARY(300), c BLOB)")
    every = bytes(range(256))
    index = wr("t", "", "id,b,c")
    assert index.insert(1, every, every) == OK
    assert sql.row("SELECT b, c FROM t") == (every, every)
    assert index.rows("=", [1]) == [(b"1", every, every)]
