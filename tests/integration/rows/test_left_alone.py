"""`-` over several columns: a row that any column would take through zero is left alone, whatever their order."""

import pytest

import hs

pytestmark = [pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]


@pytest.mark.parametrize("columns,operands", [("u,s", [6, 20]), ("s,u", [20, 6])])
def test_the_order_of_columns_does_not_matter(sql, wr, columns, operands):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, u INT UNSIGNED, s INT)")
    sql.run("INSERT INTO t VALUES (1, 0, 8)")
    index = wr("t", "", columns)
    assert index.modify("=", [1], ["-", *operands]) == hs.counted(0)
    assert sql.rows("SELECT u, s FROM t") == [(b"0", b"8")]


@pytest.mark.parametrize("columns,operands", [("u,s", [6, 2]), ("s,u", [2, 6])])
def test_a_row_that_no_column_leaves_alone_is_refused(sql, wr, columns, operands):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, u INT UNSIGNED, s INT)")
    sql.run("INSERT INTO t VALUES (1, 0, 8)")
    assert wr("t", "", columns).modify("=", [1], ["-", *operands]) == hs.refused(1, "1264")
    assert sql.rows("SELECT u, s FROM t") == [(b"0", b"8")]


@pytest.mark.parametrize("default", ["", "DEFAULT 0", "DEFAULT 15"])
@pytest.mark.parametrize("requests", [1, 2])
def test_a_sum_with_null_moves_on_update_as_in_sql(sql, wr, default, requests):
    sql.run(f"CREATE TABLE t (id INT PRIMARY KEY, c INT NULL {default},"
            " at DATETIME NOT NULL DEFAULT '2000-01-01' ON UPDATE CURRENT_TIMESTAMP)")
    sql.run("INSERT INTO t (id, c) VALUES (1, NULL), (2, NULL)")
    sql.run("UPDATE t SET c = c + 1 WHERE id = 2")
    index = wr("t", "", "c")
    line = hs.find_words(index.id, "=", [1], 1, 0, mod=["+", 1])
    assert index.client.pipeline([line] * requests) == [hs.counted(1)] * requests
    moved = sql.rows("SELECT at > '2000-01-01' FROM t ORDER BY id")
    assert moved[0] == moved[1], moved
