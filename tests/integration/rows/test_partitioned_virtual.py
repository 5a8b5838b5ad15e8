"""Indexes over virtual columns of partitioned tables: rows come in the index's order, as from the same table
without partitions. (Aria has no such indexes, and MySQL partitions InnoDB's tables alone.)"""

import pytest

from hs import counted
from server import is_mysql

pytestmark = pytest.mark.ours

ENGINES = ["InnoDB"] if is_mysql() else ["InnoDB", "MyISAM"]

# The virtual columns, their index, and keys of one part and of all parts.
INDEXES = {
    "number": ("v INT AS (x % 7) VIRTUAL", "v", [["3"], ["-9"], ["99"]]),
    "two parts": ("v INT AS (x % 7) VIRTUAL", "v, y", [["3"], ["3", "c"], ["3", ""], ["3", "zz"]]),
    "behind a column": ("v VARCHAR(20) AS (CONCAT(y, x % 5)) VIRTUAL", "y, v", [["b"], ["b", "b2"], ["b", "zz"]]),
    "descending": ("v INT AS (x % 7) VIRTUAL", "v DESC, y", [["3"], ["3", "b"]]),
    "with NULLs": ("v INT AS (NULLIF(x % 7, 4)) VIRTUAL", "v", [["3"], [None], ["5"]]),
    "prefix of a text": ("v TEXT AS (REPEAT(y, 1 + x % 4)) VIRTUAL", "v(2)", [["bb"], ["bbb"], ["c"]]),
    "double": ("v DOUBLE AS (x / 4) VIRTUAL", "v", [["5.25"], ["5"]]),
    "float": ("v FLOAT AS (x / 3) VIRTUAL", "v, y", [["5"], ["3.33333"], ["3.33333", "b"]]),
    "date": ("v DATE AS (DATE_ADD('2024-01-01', INTERVAL x % 20 DAY)) VIRTUAL", "v", [["2024-01-05"]]),
}
PARTITIONS = ("HASH (id) PARTITIONS 5", "RANGE (id) (PARTITION a VALUES LESS THAN (20), PARTITION b VALUES LESS"
              " THAN (21), PARTITION c VALUES LESS THAN MAXVALUE)")


def twins(sql, engine, partitions, columns, index):
    text = f"id INT PRIMARY KEY, x INT, y VARCHAR(9), w TEXT, n INT DEFAULT 0, {columns}, KEY k ({index})"
    sql.run(f"CREATE TABLE t ({text}) ENGINE={engine} PARTITION BY {partitions}")
    sql.run(f"CREATE TABLE plain ({text}) ENGINE=InnoDB")
    for number in range(1, 61):
        x = number * 37 % 61
        for table in ("t", "plain"):
            sql.run(f"INSERT INTO {table} (id, x, y, w) VALUES (%s, %s, %s, REPEAT(%s, 300))", number, x,
                    "abcd"[x % 4], str(number))


def parted(rows, width):
    """Tables in which rows of MyISAM with equal keys have no order."""
    return [row[:width] for row in rows], sorted(rows, key=repr)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("partitions", PARTITIONS, ids=["hash", "range"])
@pytest.mark.parametrize("columns, index, keys", INDEXES.values(), ids=INDEXES)
def test_finds(sql, rd, engine, partitions, columns, index, keys):
    twins(sql, engine, partitions, columns, index)
    shown = "v,id,w,y"
    ours, plain = rd("t", "k", shown), rd("plain", "k", shown)
    for key in keys:
        for op in ("=", ">", ">=", "<", "<="):
            found, expected = ours.rows(op, key, 99), plain.rows(op, key, 99)
            if engine == "InnoDB":
                assert found == expected, (op, key)
                assert ours.rows(op, key, 3, 2) == plain.rows(op, key, 3, 2)
            elif "(2)" not in index:
                assert parted(found, 1) == parted(expected, 1), (op, key)
            else:
                assert sorted(found) == sorted(expected), (op, key)


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_come_in_the_order_of_sql(sql, rd, engine):
    columns, index, _ = INDEXES["number"]
    twins(sql, engine, PARTITIONS[0], columns, index)
    for op in (">", ">=", "<", "<="):
        down = "DESC" if op[0] == "<" else ""
        found = rd("t", "k", "v,id").rows(op, ["3"], 99)
        assert [row[0] for row in found] == [row[0] for row in sql.rows(
            f"SELECT v FROM t USE INDEX () WHERE v {op} 3 ORDER BY v {down}, id {down}")]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("partitions", PARTITIONS, ids=["hash", "range"])
def test_modifications(sql, wr, engine, partitions):
    columns, index, _ = INDEXES["two parts"]
    twins(sql, engine, partitions, columns, index)
    ours, plain = wr("t", "k", "n"), wr("plain", "k", "n")
    moves, moves_plain = wr("t", "k", "x"), wr("plain", "k", "x")
    for op, key in (("=", ["3"]), ("=", ["3", "b"]), (">", ["4"]), ("<=", ["2", "b"])):
        assert ours.modify(op, key, ["+", 5], 99) == plain.modify(op, key, ["+", 5], 99) != counted(0)
        assert moves.modify(op, key, ["+", 70], 99) == moves_plain.modify(op, key, ["+", 70], 99)
    for change in (ours, plain):
        assert change.delete(">=", ["5"], 1) == counted(1)
        assert change.delete("<", ["2"], 3, 1) == counted(3)
    rows = [sorted(sql.rows(f"SELECT id, x, y, n, v FROM {table} USE INDEX ()")) for table in ("t", "plain")]
    if engine == "InnoDB":
        assert rows[0] == rows[1]
    assert len(rows[0]) == 56
    assert sql.rows("CHECK TABLE t EXTENDED")[-1][-1] == b"OK"


def test_rows_in_the_partition_that_the_server_did_not_read_last(sql, wr):
    """A change of the first row, after another partition's row was read behind it."""
    columns, index, _ = INDEXES["number"]
    twins(sql, "InnoDB", PARTITIONS[0], columns, index)
    for _ in range(10):
        first = sql.rows("SELECT id FROM t USE INDEX () ORDER BY v, id LIMIT 1")[0][0]
        assert wr("t", "k", "id").delete(">=", [None], 1) == counted(1)
        assert sql.rows("SELECT id FROM t WHERE id = %s", first) == []
    assert sql.rows("CHECK TABLE t EXTENDED")[-1][-1] == b"OK"
