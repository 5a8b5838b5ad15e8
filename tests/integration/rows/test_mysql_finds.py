"""In MySQL: finds of every type as SQL shows them, and an answer of its own for what is not served."""

import pytest

import hs
from server import wait_until

pytestmark = [pytest.mark.again_in("mysql-9.7"), pytest.mark.mysql("MySQL's own types and refusals"),
              pytest.mark.sanitized("mysql")]

VALUES = {
    "ti": ("TINYINT", "-128", "127"), "bu": ("BIGINT UNSIGNED", "18446744073709551615", "0"),
    "z": ("INT ZEROFILL", "7", "4294967295"), "d": ("DECIMAL(30,10)", "-1.5", "12345678901234567890.5"),
    "f": ("FLOAT", "0.1", "-1e30"), "db": ("DOUBLE", "1e-300", "3.5"), "y": ("YEAR", "1901", "2155"),
    "b": ("BIT(12)", "b'101'", "4095"), "e": ("ENUM('x','ÿ','z') CHARACTER SET latin1", "'ÿ'", "'x'"),
    "s": ("SET('a','b')", "'a,b'", "''"), "da": ("DATE", "'1000-01-01'", "'9999-12-31'"),
    "t": ("TIME(3)", "'-838:59:59'", "'01:02:03.004'"),
    "dt": ("DATETIME", "'2024-02-29 23:59:59'", "'1000-01-01'"),
    "dt6": ("DATETIME(6)", "'2024-02-29 23:59:59.000001'", "'9999-12-31 23:59:59.999999'"),
    "ts": ("TIMESTAMP(2) NULL", "'2024-06-01 12:00:00.12'", "'1970-01-02'"),
    "c": ("CHAR(5)", "'ab'", "'日本'"), "v": ("VARCHAR(300)", "''", "REPEAT('ü', 300)"),
    "l1": ("VARCHAR(20) CHARACTER SET latin1", "'Äß'", "'a'"),
    "u16": ("VARCHAR(20) CHARACTER SET utf16", "'Äß日'", "'a'"),
    "vb": ("VARBINARY(20)", "x'00ff10'", "''"), "bi": ("BINARY(3)", "'a'", "'abc'"),
    "tx": ("TEXT", "'text'", "REPEAT('long', 5000)"), "bl": ("BLOB", "x'00'", "''"),
    "j": ("JSON", "'{\"a\": [1, \"ü\"]}'", "'null'"),
    "p": ("POINT", "ST_GeomFromText('POINT(1 2)')", "ST_GeomFromText('POINT(0 -1)')"),
    "g": ("INT AS (ti + 1) VIRTUAL", None, None), "gs": ("VARCHAR(400) AS (CONCAT(v, '!')) STORED", None, None),
    "inv": ("INT INVISIBLE", "1", "2"),
}


def make_types(sql):
    columns = ", ".join(f"`{name}` {kind}" for name, (kind, *_) in VALUES.items())
    sql.run(f"CREATE TABLE t (id INT PRIMARY KEY, {columns}, KEY (dt), KEY (v), KEY (g))")
    given = {name: values for name, (_, *values) in VALUES.items() if values[0] is not None}
    names = ", ".join(f"`{name}`" for name in given)
    for row in (0, 1):
        sql.run(f"INSERT INTO t (id, {names}) VALUES ({row}, " + ", ".join(v[row] for v in given.values()) + ")")
    sql.run("INSERT INTO t (id) VALUES (2)")
    return list(VALUES)


def test_every_type_is_shown_as_sql_shows_it(sql, rd):
    names = make_types(sql)
    index = rd("t", "", ",".join(["id", *names]))
    expected = sql.rows("SELECT id, " + ", ".join(f"`{name}`" for name in names) + " FROM t ORDER BY id")
    assert index.rows(">=", [0], 10) == expected
    for name in names:  # alone, so that no neighbor helps
        assert rd("t", "", name).rows("=", [0]) == [(expected[0][names.index(name) + 1],)], name


@pytest.mark.parametrize("op", ["=", "<", "<=", ">", ">="])
def test_keys_compare_as_in_sql(sql, rd, op):
    make_types(sql)
    for column, keys in {"dt": ["2024-02-29 23:59:59", "2024-01-01", "0999-12-31"], "g": ["-127", "128", "0"],
                         "v": ["", "u", "U" * 300, "ü"]}.items():
        null = f"OR `{column}` IS NULL" if "<" in op else ""  # NULL sorts before everything.
        for key in keys:
            assert sorted(rd("t", column, "id").rows(op, [key], 10)) == sorted(
                sql.rows(f"SELECT id FROM t WHERE `{column}` {op} %s {null}", key)), (column, key)


def make_numbers(sql):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20), KEY by_a (a, b))")
    sql.run("INSERT INTO t SELECT seq, MOD(seq, 7), CONCAT('b', MOD(seq, 5)) FROM seq_1_to_60")


@pytest.mark.parametrize("op", ["=", "<", "<=", ">", ">="])
@pytest.mark.parametrize("limit,offset", [(1, 0), (5, 3), (100, 0), (100, 59)])
def test_limit_and_offset_count_rows_in_the_order_of_the_index(sql, rd, op, limit, offset):
    make_numbers(sql)
    order = "DESC" if "<" in op else "ASC"
    tail = f"ORDER BY %s LIMIT {offset}, {limit}"
    assert rd("t", "", "id,a,b").rows(op, [30], limit, offset) == sql.rows(
        f"SELECT id, a, b FROM t WHERE id {op} 30 " + tail % f"id {order}")
    assert rd("t", "by_a", "id,a,b").rows(op, [3], limit, offset) == sql.rows(
        f"SELECT id, a, b FROM t WHERE a {op} 3 " + tail % f"a {order}, b {order}, id {order}")


def test_lists_and_filters_choose_the_rows_that_sql_chooses(sql, rd):
    make_numbers(sql)
    index = rd("t", "", "id,b", "a,b")
    assert index.rows("=", [""], 10, 0, within=(0, [3, 61, 5, 4])) == sql.rows(
        "SELECT id, b FROM t WHERE id IN (3, 61, 5, 4) ORDER BY FIELD(id, 3, 61, 5, 4)")
    assert index.rows(">", [0], 100, 0, filters=[("F", "=", 0, 3), ("F", ">", 1, "b1")]) == sql.rows(
        "SELECT id, b FROM t WHERE a = 3 AND b > 'b1' ORDER BY id")
    assert index.rows(">", [0], 100, 0, filters=[("W", "<", 0, 5)]) == sql.rows(
        "SELECT id, b FROM t WHERE id < 5 ORDER BY id")


def test_tables_and_views_that_are_not_served_have_errors_of_their_own(sql, hs_rd, db):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT)")
    sql.run("CREATE TABLE m (id INT PRIMARY KEY) ENGINE=MyISAM")
    sql.run("CREATE VIEW v AS SELECT * FROM t")
    for table, error in (("m", "unserved"), ("v", "view"), ("none", "open_table")):
        assert hs_rd.open_index(1, db, table, "", "id").error == error
    for schema, table in (("mysql", "user"), ("performance_schema", "threads"), ("sys", "sys_config")):
        assert hs_rd.open_index(1, schema, table, "0", "host").error == "systemtable"


def test_indexes_without_an_order_of_rows_are_refused(sql, hs_rd, rd, db):
    """A row stands in a multi-valued index once for each value of its array."""
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, j JSON, b VARCHAR(20), p POINT NOT NULL SRID 0, n INT,"
            " KEY many ((CAST(j->'$.n' AS SIGNED ARRAY))), KEY mixed (n, (CAST(j->'$.n' AS SIGNED ARRAY))),"
            " FULLTEXT KEY words (b), SPATIAL KEY places (p), KEY plain (n))")
    sql.run("INSERT INTO t VALUES (1, '{\"n\": [3, 4, 3]}', 'a word', POINT(1, 2), 5)")
    for name in ("many", "mixed", "words", "places"):
        assert hs_rd.open_index(1, db, "t", name, "id") == hs.refused(2, "idxnum"), name
    assert rd("t", "plain", "id,b").rows("=", [5]) == [(b"1", b"a word")]


@pytest.mark.parametrize("op", ["=", "<", "<=", ">", ">="])
def test_functional_indexes_and_descending_parts(sql, rd, op):
    """Behind a key is behind it in the order of the index: in a descending part these are smaller values."""
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20), KEY sums ((a * 2 - id)), KEY upper ((UPPER(b)), a),"
            " KEY down (a DESC), KEY mixed (a DESC, b), KEY front (b (2) DESC))")
    sql.run("INSERT INTO t SELECT seq, MOD(seq * 5, 7), CONCAT(CHAR(97 + MOD(seq, 3)), MOD(seq, 11)) FROM seq_1_to_40")
    sql.run("INSERT INTO t VALUES (50, NULL, NULL)")
    back = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}[op]
    up, down = ("DESC", "ASC") if "<" in op else ("ASC", "DESC")
    for index, key, where, order in (
            ("sums", 0, f"a * 2 - id {op} 0", f"a * 2 - id {up}, id {up}"),
            ("upper", "B4", f"UPPER(b) {op} 'B4'", f"UPPER(b) {up}, a {up}, id {up}"),
            ("down", 3, f"a {back} 3", f"a {down}, id {up}"),
            ("mixed", 3, f"a {back} 3", f"a {down}, b {up}, id {up}"),
            ("front", "b1", f"b {back} 'b1'", f"LEFT(b, 2) {down}, id {up}")):
        null = " OR a IS NULL" if " < " in where or " <= " in where else ""
        assert rd("t", index, "id").rows(op, [key], 99) == sql.rows(
            f"SELECT id FROM t USE INDEX () WHERE {where}{null} ORDER BY {order}"), index


def test_an_open_index_does_not_delay_ddl(sql, rd):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT)")
    sql.run("INSERT INTO t VALUES (1, 1)")
    index = rd("t", "", "x")
    assert index.rows("=", [1]) == [(b"1",)]
    sql.run("SET lock_wait_timeout = 10")
    sql.run("ALTER TABLE t MODIFY x BIGINT, ADD y INT DEFAULT 5 FIRST")
    assert index.rows("=", [1]) == [(b"1",)]
    sql.run("LOCK TABLES t WRITE")
    sql.run("UNLOCK TABLES")
    sql.run("FLUSH TABLES WITH READ LOCK")
    assert index.rows("=", [1]) == [(b"1",)]
    sql.run("UNLOCK TABLES")
    sql.run("DROP TABLE t")
    assert index.find("=", [1]).error == "open_table"


def test_a_locked_row_is_read_without_waiting(server, sql, rd, db):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT)")
    sql.run("INSERT INTO t VALUES (1, 1)")
    other = server.sql(db)
    other.run("BEGIN")
    other.run("UPDATE t SET x = 2")
    assert rd("t", "", "x").rows("=", [1]) == [(b"1",)]
    other.run("COMMIT")
    assert rd("t", "", "x").rows("=", [1]) == [(b"2",)]


def test_kill_takes_one_worker_and_no_client(server, sql, rd):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY)")
    sql.run("INSERT INTO t VALUES (1)")
    index = rd("t", "", "id")
    assert index.rows("=", [1]) == [(b"1",)]
    workers = [int(row[0]) for row in sql.rows(
        "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'handlersocket'")]
    assert workers
    for worker in workers:
        sql.run(f"KILL {worker}")
    wait_until(lambda: "was killed; a new one takes over" in server.log() or index.rows("=", [1]) == [])
    assert index.rows("=", [1]) == [(b"1",)]


def test_the_plugins_are_uninstalled_and_installed_while_they_serve(make_server):
    server = make_server()
    sql = server.sql()
    sql.run("CREATE DATABASE d")
    sql.run("CREATE TABLE d.t (id INT PRIMARY KEY)")
    sql.run("INSERT INTO d.t VALUES (1)")
    for _ in range(3):
        index = server.hs_rd().opened("d", "t", "", "id")
        assert index.rows("=", [1]) == [(b"1",)]
        sql.run("UNINSTALL PLUGIN handlersocket")
        with pytest.raises((hs.Closed, ConnectionError)):
            index.find("=", [1])
        sql.run("INSTALL PLUGIN handlersocket SONAME 'rowsocket.so'")
    index = server.hs_rd().opened("d", "t", "", "id")
    assert index.rows("=", [1]) == [(b"1",)]
    assert sql.status("Handlersocket_finds") == 1


def test_names_with_a_separator_are_of_different_tables(server, sql):
    """One connection, one session: table c of schema a/b, and table b/c of schema a."""
    tables = [("hs_a/b", "c", "theirs"), ("hs_a", "b/c", "mine")]
    try:
        for schema, table, owner in tables:
            sql.run(f"CREATE DATABASE `{schema}`")
            # In files of their own InnoDB would give both the same name, and refuse the second.
            sql.run(f"CREATE TABLE `{schema}`.`{table}` (id INT PRIMARY KEY, v VARCHAR(9))"
                    f" TABLESPACE {'innodb_system' if owner == 'mine' else 'innodb_file_per_table'}")
            sql.run(f"INSERT INTO `{schema}`.`{table}` VALUES (1, '{owner}')")
        client = server.hs_rd()
        opened = [client.opened(schema, table, "", "v") for schema, table, _ in tables]
        for _ in range(20):  # The tables stay open for a moment only.
            client.send_raw(b"".join(hs.line(index.id, "=", 1, 1) for index in opened))
            assert [client.recv()[-1] for _ in opened] == [b"theirs", b"mine"]
    finally:
        for schema, _, _ in tables:
            sql.run(f"DROP DATABASE IF EXISTS `{schema}`")


def test_patterns_of_virtual_columns_are_each_tables_own(sql, rd, db, server):
    """What a regular expression is compiled to must not outlive the memory of its statement."""
    for table, pattern in (("tx", "^x"), ("ty", "^y")):
        sql.run(f"CREATE TABLE {table} (id INT PRIMARY KEY, a VARCHAR(20), v INT AS (REGEXP_LIKE(a, '{pattern}')))")
        sql.run(f"INSERT INTO {table} (id, a) VALUES (1, 'x1')")
    sql.run("CREATE TABLE plain (id INT PRIMARY KEY, n INT)")
    sql.run("INSERT INTO plain VALUES (1, 1)")
    client = server.hs_rd()
    x, y, plain = (client.opened(db, table, "", column) for table, column in
                   (("tx", "v"), ("ty", "v"), ("plain", "n")))
    for _ in range(200):
        for index, expected in ((plain, b"1"), (x, b"1"), (y, b"0"), (x, b"1")):
            assert index.rows("=", [1]) == [(expected,)]
