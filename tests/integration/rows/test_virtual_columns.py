"""VIRTUAL columns whose expression fails for some rows: a request is refused because of such a row only where
SQL's own INSERT or UPDATE would compute the column."""

import pymysql
import pytest

from hs import OK, counted, find_words, refused, reply
from mc_tables import WHOLE, Container
from test_wrongs_rows import same_rows

pytestmark = [pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]

COLUMNS = "id INT PRIMARY KEY, a INT, n INT, s VARCHAR(20)"
FAILING = ("v INT AS (10 / a) VIRTUAL, w TINYINT AS (n * 10) VIRTUAL, x DATE AS (CAST(s AS DATE)) VIRTUAL,"
           " y TEXT AS (CONCAT(s, 10 / a)) VIRTUAL")
# For each row: the error of an INSERT that computes the column.
ROWS = (((1, 1, 1, "2020-01-01"), None), ((2, 0, 1, "2020-01-01"), 1365), ((3, 1, 99, "2020-01-01"), 1264),
        ((4, 1, 1, "hello"), 1292))
NEEDED = {  # The statements that make SQL compute the columns.
    "index": ("", ", KEY (v), KEY (w), KEY (x)"),
    "check": ("", ", CHECK (v IS NULL OR w IS NULL OR x IS NULL OR TRUE)"),
    "stored": (", s1 INT AS (v + 1) STORED, s2 INT AS (w + 1) STORED, s3 DATE AS (x + INTERVAL 1 DAY) STORED", ""),
}


def twins(sql, text):
    for table in ("ours", "theirs"):
        sql.run(f"CREATE TABLE {table} ({text})")


@pytest.mark.parametrize("columns, key", [
    pytest.param("x TEXT, v TEXT AS (CONCAT(x, '-')) {}, UNIQUE u (v)", ["a-"], marks=pytest.mark.mariadb("UNIQUE over a TEXT")),
    pytest.param("x LONGTEXT, v CHAR(32) AS (MD5(x)) {}, UNIQUE u (v) USING HASH", ["0cc175b9c0f1b6a831c399e269772661"],
                 marks=pytest.mark.mariadb("MD5 in a column")),
    ("x TEXT, n INT DEFAULT 5, v VARCHAR(20) AS (CONCAT(x, '-')) {}, UNIQUE u (v, n) USING HASH", ["a-", "5"])])
@pytest.mark.parametrize("kind", ["VIRTUAL", "STORED"])
def test_unique_hash_over_a_generated_column(sql, rd, wr, columns, key, kind):
    """The columns of the expression are not read: their memory belongs to another row, or is freed."""
    sql.run(f"CREATE TABLE t (id INT PRIMARY KEY, {columns.format(kind)})")
    sql.run("INSERT INTO t (id, x) VALUES (1, 'a'), (2, REPEAT('b', 15)), (3, NULL)")
    by_id, by_hash, changes = rd("t", "", "id,x"), rd("t", "u", "id"), wr("t", "u", "x")
    for other in (2, 3, 1):
        assert len(by_id.rows("=", [other])) == 1
        assert by_hash.rows("=", key) == [(b"1",)]
        assert by_hash.rows("=", ["none", *key[1:]]) == []
    assert changes.delete("=", ["none", *key[1:]]) == counted(0)
    assert changes.delete("=", key) == counted(1)
    assert sql.rows("SELECT id FROM t ORDER BY id") == [(b"2",), (b"3",)]


COMPUTED = pytest.mark.mariadb("MySQL's INSERT computes every column")


@COMPUTED
@pytest.mark.parametrize("engine", ["InnoDB", "MyISAM", "Aria"])
@pytest.mark.parametrize("partitions", ["", "PARTITION BY HASH (id) PARTITIONS 3"], ids=["", "partitioned"])
def test_column_that_nothing_needs_refuses_no_row(sql, wr, engine, partitions):
    for table in ("ours", "theirs"):
        sql.run(f"CREATE TABLE {table} ({COLUMNS}, {FAILING}, st INT AS (n + 1) STORED, UNIQUE KEY un (n, id),"
                f" d INT DEFAULT (n + 2)) ENGINE={engine} {partitions}")
    index, number, scan = wr("ours", "", "id,a,n,s"), wr("ours", "", "n"), wr("ours", "un", "s")
    for row, _ in ROWS:
        assert index.insert(*row) == OK
        sql.run("INSERT INTO theirs (id, a, n, s) VALUES (%s, %s, %s, %s)", *row)
    columns = "id, a, n, s, st, d"
    same_rows(sql, "ours", "theirs", columns)
    for row, _ in ROWS:
        assert number.update("=", [row[0]], [90]) == counted(1)
        assert number.modify("=", [row[0]], ["+", 7]) == counted(1)
        sql.run("UPDATE theirs SET n = 97 WHERE id = %s", row[0])
    assert scan.modify("=", [97], ["U", "bye"], 9) == counted(4)
    sql.run("UPDATE theirs SET s = 'bye' WHERE n = 97")
    same_rows(sql, "ours", "theirs", columns)
    assert scan.delete("=", [97], 9) == counted(4)


@pytest.mark.parametrize("columns,indexes", NEEDED.values(), ids=NEEDED)
def test_column_that_is_needed_refuses_the_rows_that_sql_refuses(sql, wr, columns, indexes):
    twins(sql, f"{COLUMNS}, {FAILING}{columns}{indexes}")
    index = wr("ours", "", "id,a,n,s")
    for row, number in ROWS:
        if number is None:
            assert index.insert(*row) == OK
            sql.run("INSERT INTO theirs (id, a, n, s) VALUES (%s, %s, %s, %s)", *row)
        else:
            assert sql.error("INSERT INTO theirs (id, a, n, s) VALUES (%s, %s, %s, %s)", *row) == number
            assert index.insert(*row) == refused(1, number)
    for column, value in (("a", 0), ("n", 99), ("s", "hello")):
        number = sql.error(f"UPDATE theirs SET {column} = %s", value)
        assert wr("ours", "", column).update("=", [1], [value]) == refused(1, number), column
    same_rows(sql, "ours", "theirs", "id, a, n, s")
    assert sql.rows("CHECK TABLE ours EXTENDED")[-1][-1] == b"OK"


def test_column_that_is_opened_is_computed(sql, wr):
    sql.run(f"CREATE TABLE t ({COLUMNS}, {FAILING})")
    sql.run("SET sql_mode = ''")  # In MySQL a strict INSERT refuses the row.
    sql.run("INSERT INTO t (id, a, n, s) VALUES (1, 5, 1, 'x'), (2, 0, 2, 'x')")
    assert wr("t", "", "n,v").modify("=", [1], ["-?", 1]) == reply(0, 2, 1, 2)
    filtered = wr("t", "", "n", "v")
    assert filtered.modify(">=", [1], ["+", 5], 9, 0, filters=[("F", "=", 0, 2)]) == counted(1)
    assert filtered.delete(">=", [1], 9, 0, filters=[("F", "=", 0, None)]) == counted(1)
    assert sql.rows("SELECT id, n, v FROM t") == [(b"1", b"5", b"2")]


@COMPUTED
@pytest.mark.parametrize("image", ["FULL", "NOBLOB", "MINIMAL"])
def test_row_event_needs_the_columns_that_it_shows(make_server, image):
    server = make_server(options=["--log-bin", "--server-id=1", "--binlog-format=ROW",
                                  f"--binlog-row-image={image}"])
    sql = server.sql()
    sql.run("CREATE DATABASE vc")
    sql.run("USE vc")
    twins(sql, f"{COLUMNS}, {FAILING}")
    client = server.hs_wr()
    index, number = client.opened("vc", "ours", "", "id,a,n,s"), client.opened("vc", "ours", "", "n")
    for row, refusal in ROWS:
        try:
            sql.run("INSERT INTO theirs (id, a, n, s) VALUES (%s, %s, %s, %s)", *row)
            assert index.insert(*row) == OK
        except pymysql.MySQLError as error:
            assert error.args[0] == refusal and image != "MINIMAL"
            assert index.insert(*row) == refused(1, refusal)
    sql.run("SET SESSION binlog_format = STATEMENT")
    for table in ("ours", "theirs"):
        sql.run(f"REPLACE INTO {table} (id, a, n, s) VALUES (7, 0, 1, 'hello')")
    sql.run("SET SESSION binlog_format = ROW")
    try:
        sql.run("UPDATE theirs SET n = 2 WHERE id = 7")
        expected = counted(1)
    except pymysql.MySQLError as error:
        expected = refused(1, error.args[0])
    assert number.update("=", [7], [2]) == expected
    assert (expected == counted(1)) == (image == "MINIMAL")
    same_rows(sql, "ours", "theirs", "id, a, n, s")


@COMPUTED
def test_memcached_items(server, db):
    container = Container(server, db, f"vc{db}", WHOLE + ", x DATE AS (CAST(v AS DATE)) VIRTUAL,"
                          " a INT DEFAULT 0, y INT AS (10 / a) VIRTUAL")
    try:
        client = container.ready()
        key = container.at("k")
        assert client.set(key, b"5") == b"STORED" and client.set(key, b"6") == b"STORED"
        assert client.command(f"incr {key.decode()} 4") == b"10"
        assert client.set(key, b"x", verb="append") == b"STORED"
        assert container.row("k") == (b"10x",)
        assert client.command(f"delete {key.decode()}") == b"DELETED"
    finally:
        container.drop()


def test_merged_requests(sql, hs_wr, db):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, n INT, a INT, v INT AS (10 / a) VIRTUAL)")
    sql.run("SET sql_mode = ''")  # In MySQL a strict INSERT refuses the row.
    sql.run("INSERT INTO t (id, n, a) VALUES (1, 0, 0)")
    index, merged = hs_wr.opened(db, "t", "", "n"), sql.status("Handlersocket_merged_requests")
    assert hs_wr.pipeline([find_words(index.id, "=", [1], 1, 0, mod=["+", 1])] * 20) == [counted(1)] * 20
    assert sql.value("SELECT n FROM t") == b"20"
    assert sql.status("Handlersocket_merged_requests") == merged + 20
