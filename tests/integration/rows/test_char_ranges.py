"""Ranges over CHAR keys: where the index has its texts in the order in which they are compared, a range begins at its
key, and neither reads nor locks the rows in front of it."""

import pytest

import oracle
from hs import counted, find_words
from load import Transaction
from server import is_mysql

pytestmark = [pytest.mark.ours, pytest.mark.again_in("mysql-9.7")]

ANSWER_S = 10  # for requests that nothing should delay
RANGES = (">", ">=", "<", "<=")
# Blanks at the end count in MySQL's, which is the default there. In MariaDB such a collation has the padding in the
# order of the index, so that a range reads all of it.
COLLATION = "utf8mb4_0900_ai_ci" if is_mysql() else "utf8mb4_general_ci"


@pytest.fixture
def words(sql):
    sql.run(f"CREATE TABLE t (id INT PRIMARY KEY, c CHAR(10) COLLATE {COLLATION}, n INT NOT NULL DEFAULT 0,"
            " KEY one_part (c), KEY both_parts (c, n)) ENGINE=InnoDB")
    sql.run("INSERT INTO t (id, c) SELECT seq, CONCAT('w', LPAD(seq, 5, '0')) FROM seq_1_to_5000")
    sql.run("INSERT INTO t (id, c) VALUES (6000, 'zzz'), (6001, 'zzzz')")


def steps(sql):
    """How many rows have been read behind or in front of others."""
    return sql.status("Handler_read_next") + sql.status("Handler_read_prev")


@pytest.mark.parametrize("op, key, found", [
    (">=", "zzz", [6000, 6001]), (">=", "ZZZ", [6000, 6001]), (">", "zzz", [6001]), (">", "zzzzz", []),
    ("<=", "w00002", [2, 1]), ("<", "w00002", [1]), ("<=", "a", [])])
@pytest.mark.parametrize("name, others", [("one_part", []), ("both_parts", [0])])
def test_a_range_begins_at_its_key(words, sql, rd, op, key, found, name, others):
    index = rd("t", name, "id")
    expected = [(b"%d" % number,) for number in found]
    assert index.rows(op, [key, *others], 9) == expected
    before = steps(sql)
    assert index.rows(op, [key, *others], 9) == expected
    assert steps(sql) - before < 10


def test_a_change_of_a_range_locks_no_row_in_front_of_it(words, server, db, sql, wr):
    holder = Transaction(server, db)
    assert holder.run("SELECT id FROM t WHERE id = 1 FOR UPDATE")
    index = wr("t", "one_part", "n")
    index.client.send(*find_words(index.id, ">=", ["zzz"], 1, 0, mod=["U", 7]))
    assert index.client.recv(ANSWER_S) == counted(1)
    holder.commit()
    assert sql.rows("SELECT id FROM t WHERE n = 7") == [(b"6000",)]


# Texts whose order the padding may change: a TAB sorts before a blank.
TEXTS = ("", "a", "a\t", "a!", "ab", "ab\t", "ab!", "abc", "b", None)
OF_MYSQL = pytest.mark.parametrize("collation", ["utf8mb4_0900_ai_ci", "utf8mb4_0900_as_cs", "utf8mb4_0900_bin"])


def make_texts(sql, collation):
    sql.run(f"CREATE TABLE t (id INT PRIMARY KEY, c CHAR(3) COLLATE {collation}, KEY (c)) ENGINE=InnoDB")
    for number, text in enumerate(TEXTS):
        sql.run("INSERT INTO t VALUES (%s, %s)", number, text)


@pytest.mark.mysql("its index orders a CHAR without the padding")
@OF_MYSQL
def test_blanks_at_the_end_of_a_key_have_their_place(sql, rd, collation):
    """SQL reads the table without the index: with it, SQL takes the blanks off the key."""
    make_texts(sql, collation)
    index = rd("t", "c", "id")
    for value in ("", " ", "a", "A", "a ", "a  ", "a\t", "ab ", "ab c", "ab\t ", "abc ", "abcd", "b ", None):
        oracle.check(sql, index, "t IGNORE INDEX (c)", "c", value)


@pytest.mark.mysql("its index orders a CHAR without the padding")
@OF_MYSQL
def test_ranges_of_texts_that_are_shown_with_their_padding(make_server, collation):
    server = make_server(options=["--sql-mode=PAD_CHAR_TO_FULL_LENGTH"])
    sql = server.sql()
    sql.run("CREATE DATABASE pads")
    sql.run("USE pads")
    make_texts(sql, collation)
    index = server.hs_rd().opened("pads", "t", "c", "id")
    for value in ("", "a", "a  ", "a\t", "a\t ", "ab ", "ab\t", "abc", "b  "):
        for op in RANGES:
            expected = oracle.find(sql, "t IGNORE INDEX (c)", "c", op, value)
            assert sorted(index.rows(op, [value], 99)) == sorted(expected), (op, value)
