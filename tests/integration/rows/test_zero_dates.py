"""Texts that SQL takes for the zero date."""

import pytest

from hs import counted
from server import is_mysql

pytestmark = pytest.mark.ours

# MySQL's SQL compares the number 0 with dates, and refuses these texts.
SHORT = ("0", "00", "000", "0000")
ZEROS = ("00000", "000000", "00000000", "00000000000000", "0000-00-00", "0000-00-00 00:00:00")


@pytest.mark.parametrize("kind", ["DATE", "DATETIME", "DATETIME(6)", "TIMESTAMP", "TIMESTAMP(6)"])
def test_equal_to_zeros(sql, rd, wr, kind):
    sql.run("SET SESSION sql_mode = ''")
    sql.run(f"CREATE TABLE t (id INT PRIMARY KEY, c {kind} NULL, n INT DEFAULT 0, KEY k (c))")
    sql.run("INSERT INTO t (id, c) VALUES (1, 0), (2, '2024-02-03 04:05:06'), (3, NULL), (4, 0)")
    for zeros in SHORT + ZEROS:
        same = zeros
        if is_mysql() and zeros in SHORT:
            same = None if kind.startswith("TIMESTAMP") else 0
        expected = sql.rows("SELECT id FROM t WHERE c = %s ORDER BY id", same)
        assert rd("t", "k", "id").rows("=", [zeros], 9) == expected, zeros
        assert rd("t", "", "id", "c").rows(">", [0], 9, 0, filters=[("F", "=", 0, zeros)]) == expected, zeros
        assert wr("t", "k", "n").modify("=", [zeros], ["+", 1], 9) == counted(len(expected))
        assert sql.rows("SELECT id FROM t WHERE n = 1 ORDER BY id") == expected
        sql.run("UPDATE t SET n = 0")
    assert wr("t", "k", "n").delete("=", ["0000-00-00"], 9) == counted(2)


@pytest.mark.parametrize("text", ["", "abc", "日", "0x", "2024-13-01"])
def test_a_text_that_is_no_date_deletes_no_zero_date(sql, wr, text):
    """In SQL the text equals the zero date, with a warning that no client of the protocol sees."""
    sql.run("SET SESSION sql_mode = ''")
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, c DATETIME, KEY k (c))")
    sql.run("INSERT INTO t VALUES (1, 0)")
    assert wr("t", "k", "id").delete("=", [text], 9) == counted(0)
