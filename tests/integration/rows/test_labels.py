"""ENUM and SET by texts that are no labels: SQL finds that every row differs from them. By numbers beyond the labels,
a key finds what a filter passes."""

import pytest

from hs import counted

pytestmark = pytest.mark.ours


@pytest.mark.parametrize("kind", ["ENUM('a', 'b')", "SET('a', 'b')"])
@pytest.mark.parametrize("text", ["none", "c", "aa", "a c"])
def test_every_row_differs_from_what_is_no_label(sql, rd, wr, kind, text):
    sql.run(f"CREATE TABLE t (id INT PRIMARY KEY, e {kind}, n INT DEFAULT 0)")
    sql.run("INSERT INTO t (id, e) VALUES (1, 'a'), (2, 'b'), (3, NULL)")
    others = sql.rows("SELECT id FROM t WHERE NOT e <=> %s ORDER BY id", text)
    assert len(others) == 3
    find, change = rd("t", "", "id", "e"), wr("t", "", "n", "e")
    assert find.rows(">", [0], 9, 0, filters=[("F", "!=", 0, text)]) == others
    assert find.rows(">", [0], 9, 0, filters=[("F", "=", 0, text)]) == []
    assert change.modify(">", [0], ["+", 1], 9, filters=[("F", "!=", 0, text)]) == counted(3)
    assert sql.value("SELECT SUM(n) FROM t") == b"3"


@pytest.mark.again_in("mysql-9.7")
@pytest.mark.parametrize("kind, number", [("ENUM('a', 'b')", 99), ("SET('a', 'b')", 99)])
@pytest.mark.parametrize("op", ["<", "<=", ">", ">=", "="])
def test_a_number_beyond_the_labels_is_one_number_as_key_and_filter(sql, rd, kind, number, op):
    sql.run(f"CREATE TABLE t (id INT PRIMARY KEY, e {kind} NOT NULL, KEY (e))")
    sql.run("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    passed = rd("t", "", "id", "e").rows(">", [0], 9, 0, filters=[("F", op, 0, number)])
    found = rd("t", "e", "id").rows(op, [number], 9)
    assert sorted(found) == passed == ([(b"1",), (b"2",)] if op in ("<", "<=") else [])


@pytest.mark.again_in("mysql-9.7")
@pytest.mark.parametrize("kind", ["ENUM('5', 'b', '1', 'd')", "SET('5', 'b', '1', 'd')"])
@pytest.mark.parametrize("charset", ["utf8mb4", "ucs2", "utf16", "utf32"])
def test_an_element_is_added_to_by_its_number(sql, wr, kind, charset):
    for table in ("ours", "theirs"):
        sql.run(f"CREATE TABLE {table} (id INT PRIMARY KEY, e {kind} CHARACTER SET {charset})")
        sql.run(f"INSERT INTO {table} VALUES (1, 1), (2, 2), (3, NULL)")
    index = wr("ours", "", "e")
    for statement, mod in (("UPDATE theirs SET e = e + 1", ["+", 1]), ("UPDATE theirs SET e = e - 1", ["-", 1])):
        sql.run(statement)
        assert index.modify(">", [0], mod, 9) == counted(3)
        shown = [sql.rows(f"SELECT id, e, e + 0 FROM {table} ORDER BY id") for table in ("ours", "theirs")]
        assert shown[0] == shown[1]
