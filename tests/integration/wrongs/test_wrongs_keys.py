"""Row 9 of docs/WRONGS.md: keys compare as in SQL's WHERE, in the sense of spec/handlersocket.md."""

import pytest

import oracle
from hs import OK, counted, refused, reply
from server import is_mysql

pytestmark = pytest.mark.again_in("mariadb-11.8")

wrong = pytest.mark.bundled_wrong


@pytest.fixture
def numbers(sql):
    sql.run("CREATE TABLE n (id INT PRIMARY KEY AUTO_INCREMENT, tiny TINYINT, utiny TINYINT UNSIGNED,"
            " i INT, big BIGINT, ubig BIGINT UNSIGNED, d DECIMAL(6,2),"
            " KEY(tiny), KEY(utiny), KEY(i), KEY(big), KEY(ubig), KEY(d))")
    sql.run("INSERT INTO n (tiny, utiny, i, big, ubig, d) VALUES"
            " (-128, 0, -2147483648, -9223372036854775808, 0, -9999.99),"
            " (-1, 1, -1, -1, 1, -0.01), (0, 2, 0, 0, 2, 0), (1, 5, 1, 1, 5, 1), (2, 44, 2, 2, 44, 1.5),"
            " (127, 255, 2147483647, 9223372036854775807, 18446744073709551615, 9999.99),"
            " (NULL, NULL, NULL, NULL, NULL, NULL), (44, 127, 44, 44, 127, 12.34)")


@wrong(9)
@pytest.mark.parametrize("column,value", [
    ("tiny", 300), ("tiny", -300), ("tiny", 128), ("utiny", 300), ("utiny", -1), ("utiny", 256),
    ("i", 2147483648), ("i", -2147483649), ("i", "1e10"), ("big", "9223372036854775808"),
    ("big", "-9223372036854775809"), ("big", "1e30"), ("ubig", "18446744073709551616"), ("ubig", -1),
    ("d", 10000), ("d", -10000), ("d", "1e20")])
def test_number_outside_the_range_of_the_column(numbers, sql, rd, column, value):
    oracle.check(sql, rd("n", column, "id"), "n", column, value, nothing_equal=True)


@wrong(9, some=True)
@pytest.mark.parametrize("column,value", [
    ("tiny", "1.5"), ("i", "1.5"), ("i", "-0.5"), ("i", "0.4"), ("d", "12.345"), ("d", "12.335"),
    ("d", "-0.005"), ("d", "1.505"), ("ubig", "1.5"), ("ubig", "-0.5"), ("big", "1.5")])
def test_number_between_two_values_of_the_column(numbers, sql, rd, column, value):
    oracle.check(sql, rd("n", column, "id"), "n", column, value, nothing_equal=True)


@wrong(9)
@pytest.mark.parametrize("column", ["tiny", "i", "big", "ubig", "d"])
def test_empty_text_on_a_number_starts_at_zero(numbers, sql, rd, column):
    oracle.check(sql, rd("n", column, "id"), "n", column, "", nothing_equal=True)


@wrong(9)
@pytest.mark.parametrize("value", ["5x", "abc", "1 2", "--1", "0x1", "\x00"])
def test_text_that_is_no_number_equals_no_number(numbers, rd, value):
    for column in ("tiny", "i", "big", "ubig", "d"):
        assert rd("n", column, "id").rows("=", [value], 100) == []


def test_number_written_in_another_way_finds_its_row(numbers, rd):
    for value in ("1", "1.0", "+1", "01", "1e0", " 1", "10e-1", "1 ", "1\n", "\t1", "1.0\v\f\r ", "1e0\t"):
        assert rd("n", "i", "id").rows("=", [value], 10) == [(b"4",)], value
        assert rd("n", "d", "id").rows("=", [value], 10) == [(b"4",)], value


@wrong(9)
def test_minimum_below_the_range_returns_every_row(numbers, rd):
    index = rd("n", "tiny", "tiny")
    everything = [(b"-128",), (b"-1",), (b"0",), (b"1",), (b"2",), (b"44",), (b"127",)]
    for op in (">", ">="):
        assert index.rows(op, [-1000], 100) == everything
    for op in ("<", "<="):
        assert index.rows(op, [1000], 100) == everything[::-1] + [(None,)]


@pytest.mark.parametrize("value", ["0", "1", "44", "127", "-1", None])
def test_number_that_the_column_holds(numbers, sql, rd, value):
    for column in ("tiny", "i", "big", "d"):
        oracle.check(sql, rd("n", column, "id"), "n", column, value)


@pytest.fixture
def words(sql):
    sql.run("CREATE TABLE w (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(3), c CHAR(3), b VARBINARY(3),"
            " f BINARY(3), l VARCHAR(3) CHARACTER SET latin1, p VARCHAR(40), t TEXT,"
            " KEY(v), KEY(c), KEY(b), KEY(f), KEY(l), KEY p3 (p(3)), KEY t3 (t(3)))")
    for text in ("", "a", "ab", "abc", "abd", "b", "B", "é", "zzz", None):
        cut = text and text.encode()[:3]
        sql.run("INSERT INTO w (v, c, b, f, l) VALUES (%s, %s, %s, %s, %s)", text, text, cut, cut, text)
    for text in ("abcdef", "abcxyz", "abc", "abcde", "abd", "ab", "", "éàüxyz", "éàü"):
        sql.run("INSERT INTO w (p, t) VALUES (%s, %s)", text, text)


@wrong(9, some=True)
@pytest.mark.parametrize("value", ["abcdefgh", "abcd", "zzzz", "bbbbbb", "aaaaaaa"])
def test_text_longer_than_the_column(words, sql, rd, value):
    for column in ("v", "c", "b", "l"):
        oracle.check(sql, rd("w", column, "id"), "w", column, value, nothing_equal=True)


@wrong(9, some=True)
@pytest.mark.parametrize("value", ["", "a", "ab", "abc", "b", "é", "AB", "a ", "zz", None])
def test_text_that_the_column_holds(words, sql, rd, value):
    for column in ("v", "c", "l"):
        oracle.check(sql, rd("w", column, "id"), "w", column, value)


def test_text_that_the_character_set_of_the_column_cannot_hold(words, sql, rd):
    index = rd("w", "l", "id")
    assert index.rows("=", ["日"], 10) == []
    assert index.rows("=", ["?"], 10) == []


@wrong(9)
def test_short_value_does_not_find_a_padded_binary(words, sql, rd):
    sql.run("INSERT INTO w (id, f) VALUES (100, 'xy')")
    index = rd("w", "f", "id")
    assert index.rows("=", ["xy"], 10) == []
    assert index.rows("=", [b"xy\x00"], 10) == [(b"100",)]
    oracle.check(sql, index, "w", "f", b"xy")
    oracle.check(sql, index, "w", "f", b"xy\x00")


@wrong(9, some=True)
@pytest.mark.parametrize("value", ["abcdef", "abcxyz", "abc", "abcdeX", "abd", "ab", "abcg", "éàüxyz"])
def test_value_longer_than_the_index_prefix(words, sql, rd, value):
    for name, column in (("p3", "p"), ("t3", "t")):
        index = rd("w", name, f"id,{column}")
        for op in ("=", ">", ">=", "<", "<="):
            expected = oracle.find(sql, "w", column, op, value)
            found = index.rows(op, [value], 1000)
            assert sorted((row[0],) for row in found) == sorted(expected), (column, op, value)


@wrong(9)
def test_limit_on_an_index_prefix_counts_the_rows_that_match(words, rd):
    index = rd("w", "p3", "p")
    assert index.rows("=", ["abcxyz"], 1) == [(b"abcxyz",)]
    assert index.rows("=", ["abcde"], 1, 0) == [(b"abcde",)]
    assert index.rows("=", ["abcde"], 1, 1) == []


@wrong(9)
@pytest.mark.parametrize("value", ["2024-02-30", "2024-13-01", "hello", "", "20240230"])
def test_value_that_is_no_date_equals_no_date(sql, rd, value):
    sql.run("CREATE TABLE d (id INT PRIMARY KEY, d DATE, t DATETIME, KEY(d), KEY(t))")
    sql.run("SET sql_mode = ''")
    sql.run("INSERT INTO d VALUES (1, '2024-02-28', '2024-02-28'), (2, '0000-00-00', '0000-00-00'),"
            " (3, '2024-03-01', '2024-03-01')")
    for column in ("d", "t"):
        assert rd("d", column, "id").rows("=", [value], 10) == []


def date_of(kind, text):
    """What MariaDB reads of a text that is no date, as a text with which MySQL's SQL compares. By itself SQL in
    MySQL refuses such a text (1525), and compares a TIME with it as texts."""
    if kind == "TIME":
        return {"hello": "00:00:00", "": "00:00:00", "5x": "00:00:05", "2024-02-30": "00:20:24"}.get(text, text)
    return text if kind == "YEAR" or text == "2024-02-30" else "0000-00-00"


@wrong(9, some=True)
@pytest.mark.parametrize("kind", ["DATE", "DATETIME", "DATETIME(3)", "TIMESTAMP NULL", "TIME", "YEAR"])
@pytest.mark.parametrize("value", ["hello", "", "0", "5x", "2024-02-30", "-1"])
def test_ranges_from_text_that_is_no_date_are_those_of_sql(sql, rd, kind, value):
    sql.run(f"CREATE TABLE d (id INT PRIMARY KEY, d {kind}, KEY(d))")
    sql.run("SET sql_mode = ''")
    sql.run("INSERT INTO d VALUES (1, 0), (2, '2011-01-01 18:30:25'), (3, NULL), (4, '2030-12-31 01:02:03')")
    sql.run("SET sql_mode = " + ("ALLOW_INVALID_DATES" if is_mysql() else "DEFAULT"))
    asked = date_of(kind, value) if is_mysql() else value
    plain, index = rd("d", "", "id", "d"), rd("d", "d", "id")
    for op in (">", ">=", "<", "<="):
        expected = oracle.find(sql, "d", "d", op, asked)
        assert index.rows(op, [value], 9) == expected, (op, value)
        assert plain.rows(">=", [0], 9, 0, filters=[("F", op, 0, value)]) == sorted(expected), (op, value)
    unequal = set(oracle.find(sql, "d", "d", "!=", asked)) | {(b"3",)}
    found = set(plain.rows(">=", [0], 9, 0, filters=[("F", "!=", 0, value)]))
    assert unequal <= found, (value, "and = finds nothing, so that a row may be here that SQL calls equal")


@pytest.mark.parametrize("value", ["2024-02-28", "2024-2-28", "20240228", "24-02-28", "2024/02/28",
                                   "2024-02-28 00:00:00"])
def test_date_in_any_form_that_sql_reads(sql, rd, value):
    sql.run("CREATE TABLE d (id INT PRIMARY KEY, d DATE, t DATETIME, KEY(d), KEY(t))")
    sql.run("INSERT INTO d VALUES (1, '2024-02-28', '2024-02-28'), (2, '2024-02-29', '2024-02-29'),"
            " (3, NULL, NULL), (4, '2020-01-01', '2020-01-01')")
    for column in ("d", "t"):
        oracle.check(sql, rd("d", column, "id"), "d", column, value)


@wrong(9)
def test_date_key_with_a_time_of_day(sql, rd):
    sql.run("CREATE TABLE d (id INT PRIMARY KEY, d DATE, t DATETIME, KEY(d), KEY(t))")
    sql.run("INSERT INTO d VALUES (1, '2024-02-28', '2024-02-28'), (2, '2024-02-29', '2024-02-29')")
    oracle.check(sql, rd("d", "d", "id"), "d", "d", "2024-02-28 12:00:00")
    oracle.check(sql, rd("d", "t", "id"), "d", "t", "2024-02-28 00:00:00.5")


@wrong(9, some=True)
@pytest.mark.parametrize("kind,text", [("FLOAT", "1.1"), ("FLOAT", "16777216"), ("FLOAT", "3.14159"),
                                       ("FLOAT(7,3)", "0.1"), ("DOUBLE", "0.1"), ("DOUBLE", "1e300")])
def test_text_read_from_a_floating_column_finds_its_row_again(sql, rd, kind, text):
    sql.run(f"CREATE TABLE f (id INT PRIMARY KEY, x {kind}, KEY(x))")
    sql.run(f"INSERT INTO f VALUES (1, {text}), (2, 7)")
    read = rd("f", "", "x").rows("=", [1])[0][0]
    assert rd("f", "x", "id").rows("=", [read], 10) == [(b"1",)]
    assert (b"1",) in rd("f", "x", "id").rows(">=", [read], 10)
    assert rd("f", "", "id", "x").rows("=", [1], 1, 0, filters=[("F", "=", 0, read)]) == [(b"1",)]


@wrong(9)
@pytest.mark.parametrize("text", ["junk", "", "1.5abc"])
def test_float_key_that_is_no_number_finds_nothing(sql, rd, text):
    sql.run("CREATE TABLE f (id INT PRIMARY KEY, x FLOAT, n INT, KEY (x), KEY both_parts (x, n), KEY turned (n, x))")
    sql.run("INSERT INTO f VALUES (1, 0, 0), (2, 1.5, 5)")
    assert rd("f", "x", "id").rows("=", [text], 9) == []
    assert rd("f", "both_parts", "id").rows("=", [text, 0], 9) == []
    assert rd("f", "both_parts", "id").rows("=", ["1.5", "5" + text], 9) == ([(b"2",)] if text == "" else [])
    assert rd("f", "turned", "id").rows("=", [5, text], 9) == []


@wrong(9)
def test_float_in_front_of_another_key_part(sql, rd):
    """Several values have the same text; the key part behind them has no order of its own over all of
    them."""
    sql.run("CREATE TABLE f (id INT PRIMARY KEY, x FLOAT, n INT, KEY both_parts (x, n), KEY down (x DESC, n))")
    sql.run("INSERT INTO f VALUES (1, 0.12345678, 5), (2, 0.123457, 3), (3, 0.2, 3), (4, 0.12345685, 4)")
    shown = [value for (value,) in (rd("f", "", "x").rows("=", [number])[0] for number in (1, 2, 4))]
    assert shown == [b"0.123457"] * 3
    for index in ("both_parts", "down"):
        for number, n in ((1, 5), (2, 3), (4, 4)):
            assert rd("f", index, "id").rows("=", [shown[0], n], 9) == [(b"%d" % number,)]


@wrong(9)
def test_float_after_the_front_of_a_text(sql, rd):
    sql.run("CREATE TABLE f (id INT PRIMARY KEY, t VARCHAR(20), x FLOAT, KEY k (t(5), x))")
    sql.run("INSERT INTO f VALUES (1, 'abcdeZ', 1.5), (2, 'abcdeA', 1.5), (3, 'abcdf', 1.5)")
    assert rd("f", "k", "id").rows("=", ["abcdeA", "1.5"], 9) == [(b"2",)]
    sql.run("INSERT INTO f SELECT seq + 10, CONCAT('b', seq), 1.5 FROM seq_1_to_5000")
    before = int(sql.status("Handler_read_next"))
    assert rd("f", "k", "id").rows("=", ["abcdeA", "1.5"], 9) == [(b"2",)]
    # The scan does not go to the end of the index.
    assert int(sql.status("Handler_read_next")) - before < 1000


@wrong(9)
@pytest.mark.mariadb("InnoDB has no hash indexes")
def test_float_in_a_hash_index(sql, rd):
    sql.run("CREATE TABLE f (id INT PRIMARY KEY, x FLOAT, KEY h (x) USING HASH) ENGINE=MEMORY")
    sql.run("INSERT INTO f VALUES (1, 1.5), (2, 2), (3, 1.5)")
    assert sorted(rd("f", "h", "id").rows("=", ["1.5"], 9)) == [(b"1",), (b"3",)]
    assert rd("f", "h", "id").rows("=", ["1.5x"], 9) == []


@wrong(9)
def test_time_key_with_more_digits_than_the_column(sql, rd):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x TIME, KEY(x))")
    sql.run("INSERT INTO t VALUES (1, '00:00:00'), (2, '10:11:12'), (3, '10:11:13'), (4, NULL)")
    index = rd("t", "x", "id")
    assert index.rows("=", ["10:11:12.9"], 9) == []
    assert index.rows("<", ["10:11:12.9"], 9) == [(b"2",), (b"1",), (b"4",)] == index.rows("<=", ["10:11:12.9"], 9)
    assert index.rows(">", ["10:11:12.9"], 9) == [(b"3",)] == index.rows(">=", ["10:11:12.9"], 9)


def test_null_equals_null_and_sorts_lowest(numbers, rd):
    index = rd("n", "tiny", "tiny")
    assert index.rows("=", [None], 10) == [(None,)]
    assert index.rows("<=", [None], 10) == [(None,)]
    assert index.rows("<", [None], 10) == []
    assert len(index.rows(">", [None], 10)) == 7
    assert len(index.rows(">=", [None], 10)) == 8
    assert index.rows("<", [-1], 10) == [(b"-128",), (None,)]


@wrong(9)
def test_null_for_a_not_null_key_part_finds_nothing(sql, rd):
    sql.run("CREATE TABLE t (a INT NOT NULL, b VARCHAR(9) NOT NULL, PRIMARY KEY(a), KEY(b))")
    sql.run("INSERT INTO t VALUES (0, ''), (1, 'x')")
    assert rd("t", "", "a").rows("=", [None], 10) == []
    assert rd("t", "b", "a").rows("=", [None], 10) == []


@pytest.fixture
def pairs(sql):
    sql.run("CREATE TABLE c (id INT PRIMARY KEY AUTO_INCREMENT, a TINYINT, b VARCHAR(3), KEY ab (a, b))")
    sql.run("INSERT INTO c (a, b) SELECT x.a, y.b FROM (SELECT 1 AS a UNION SELECT 2 UNION SELECT 3) x,"
            " (SELECT 'a' AS b UNION SELECT 'b' UNION SELECT 'abc' UNION SELECT '') y")


@wrong(9, some=True)
@pytest.mark.parametrize("key", [(2, "b"), (2, "bb"), (2, "aaaa"), (2, "zzzz"), (300, "a"), (-300, "a"),
                                 ("1.5", "a"), (2, ""), (1, "abcdef"), (3, "zzzzz")])
def test_composite_key_compares_as_a_row_in_sql(pairs, sql, rd, key):
    index = rd("c", "ab", "a,b")
    a, b = map(sql.literal, (str(key[0]), key[1]))
    for op, down in ((">", ""), (">=", ""), ("<", "DESC"), ("<=", "DESC"), ("=", "")):
        expected = sql.rows(f"SELECT a, b FROM c WHERE (a, b) {op} ({a}, {b})"
                            f" ORDER BY a {down}, b {down}")
        assert index.rows(op, list(key), 100) == expected, (op, key)


@wrong(9, some=True)
@pytest.mark.parametrize("value", [2, 300, -300, "1.5", ""])
def test_first_part_of_a_composite_key(pairs, sql, rd, value):
    index = rd("c", "ab", "a,b")
    for op, down in ((">", ""), (">=", ""), ("<", "DESC"), ("<=", "DESC")):
        expected = sql.rows(f"SELECT a, b FROM c WHERE a {op} %s ORDER BY a {down}, b {down}", str(value))
        assert index.rows(op, [value], 100) == expected, (op, value)


@wrong(9)
def test_enum_and_set_ranges_go_by_number(sql, rd):
    sql.run("CREATE TABLE e (id INT PRIMARY KEY, e ENUM('z','m','a'), s SET('q','p','o'), KEY(e), KEY(s))")
    sql.run("INSERT INTO e VALUES (1, 'z', 'q'), (2, 'm', 'p'), (3, 'a', 'q,p'), (4, NULL, NULL)")
    index = rd("e", "e", "e")
    assert index.rows(">", ["z"], 9) == [(b"m",), (b"a",)]
    assert index.rows(">=", ["m"], 9) == [(b"m",), (b"a",)]
    assert index.rows("<", ["a"], 9) == [(b"m",), (b"z",), (None,)]
    assert index.rows("=", ["nothing"], 9) == []
    assert index.rows("=", ["2"], 9) == []
    index = rd("e", "s", "s")
    assert index.rows(">", ["q"], 9) == [(b"p",), (b"q,p",)]
    assert index.rows("=", ["q,p"], 9) == [(b"q,p",)]
    assert index.rows("=", ["q,zzz"], 9) == []


@wrong(9)
def test_bit_compares_by_its_bytes(sql, rd):
    sql.run("CREATE TABLE b (id INT PRIMARY KEY, b BIT(12), KEY(b))")
    sql.run("INSERT INTO b VALUES (1, 0), (2, 1), (3, 5), (4, 4095), (5, 49), (6, NULL)")
    index = rd("b", "b", "id")
    assert index.rows("=", [b"\x00\x05"], 9) == [(b"3",)]
    assert index.rows("=", [b"\x05"], 9) == [(b"3",)]
    assert index.rows("=", ["1"], 9) == [(b"5",)]
    assert index.rows(">", [b"\x05"], 9) == [(b"5",), (b"4",)]
    assert index.rows("=", [b"\xff\xff\xff"], 9) == []
    assert index.rows("<", [b"\xff\xff\xff"], 2) == [(b"4",), (b"5",)]


def test_descending_index_is_followed(sql, rd):
    sql.run("CREATE TABLE d (a INT PRIMARY KEY, b INT, KEY down (b DESC))")
    sql.run("INSERT INTO d VALUES (1, 10), (2, 20), (3, 30), (4, 40)")
    index = rd("d", "down", "b")
    assert index.rows(">", [30], 9) == [(b"20",), (b"10",)]
    assert index.rows(">=", [30], 9) == [(b"30",), (b"20",), (b"10",)]
    assert index.rows("<", [20], 9) == [(b"30",), (b"40",)]
    assert index.rows("<=", [20], 9) == [(b"20",), (b"30",), (b"40",)]
    assert index.rows("=", [20], 9) == [(b"20",)]


@wrong(9)
@pytest.mark.mariadb("UNIQUE over a whole TEXT")
def test_unique_text_answers_equal_and_refuses_ranges(sql, rd):
    sql.run("CREATE TABLE u (id INT PRIMARY KEY, t TEXT, UNIQUE KEY ut (t))")
    sql.run("INSERT INTO u VALUES (1, 'one'), (2, 'two'), (3, NULL)")
    index = rd("u", "ut", "id")
    assert index.rows("=", ["two"], 9) == [(b"2",)]
    assert index.rows("=", ["TWO"], 9) == [(b"2",)]
    assert index.rows("=", ["zwei"], 9) == []
    for op in (">", ">=", "<", "<="):
        assert index.find(op, ["one"], 9) == refused(2, "indexop")


def test_key_value_that_is_invalid_utf8_finds_nothing(words, rd):
    for column in ("v", "c", "l"):
        assert rd("w", column, "id").find("=", [b"\xff\xfe"], 9) == reply(0, 1)


@wrong(9)
def test_in_values_compare_as_keys_do(numbers, rd):
    index = rd("n", "tiny", "tiny")
    assert index.rows("=", [""], 9, 0, within=(0, [300, 1, "abc", "1.5", 2])) == [(b"1",), (b"2",)]


def test_collation_decides_what_is_equal(sql, hs_rd, db):
    unpadded = "utf8mb4_0900_ai_ci" if is_mysql() else "utf8mb4_unicode_520_nopad_ci"
    sql.run("CREATE TABLE k (id INT PRIMARY KEY, ci VARCHAR(9) COLLATE utf8mb4_general_ci,"
            " bin VARCHAR(9) COLLATE utf8mb4_bin, u VARCHAR(9) COLLATE utf8mb4_unicode_520_ci,"
            f" np VARCHAR(9) COLLATE {unpadded}, KEY(ci), KEY(bin), KEY(u), KEY(np))")
    sql.run("INSERT INTO k VALUES (1,'ß','ß','ß','ß'), (2,'ss','ss','ss','ss'), (3,'A','A','A','A'),"
            " (4,'a','a','a','a'), (5,'a ','a ','a ','a '), (6,'é','é','é','é'), (7,'e','e','e','e')")
    assert hs_rd.open_index(99, db, "k", "ci", "id") == OK
    for column in ("ci", "bin", "u", "np"):
        index = hs_rd.opened(db, "k", column, "id")
        for value in ("ss", "ß", "a", "A", "a ", "E", "é", "a  "):
            oracle.check(sql, index, "k", column, value)


def compare_in_mysql(sql, index, value):
    """By itself SQL refuses a year behind 9999 there (1525), takes the zero of a TIMESTAMP for a time behind
    every one before 1970, and keeps the fraction of a time that it moves to the end of a gap."""
    column = "CAST(a AS DATETIME(6))" if value < "1970-01-01 01:00:01" else "a"
    others = {"9999-12-31 23:59:59.9999999": "0000-00-00", "2024-03-31 02:30:00.5": "2024-03-31 03:00:00"}
    asked = others.get(value, value)
    for op in ("=", ">", ">=", "<", "<="):
        expected = [] if op == "=" and asked != value else oracle.find(sql, "t", column, op, asked)
        assert index.rows(op, [value], 9) == expected, (op, value)


@pytest.mark.ours
@pytest.mark.parametrize("kind", ["TIMESTAMP(3)", "TIMESTAMP(6)"])
def test_ranges_of_timestamp_from_a_fraction_of_a_second_that_it_cannot_hold(make_server, kind):
    """2:30 at the end of March does not exist in the server's time zone."""
    server = make_server(environment={"TZ": "CET-1CEST,M3.5.0,M10.5.0/3"})
    sql = server.sql()
    sql.run("CREATE DATABASE tz")
    sql.run("USE tz")
    sql.run("SET sql_mode = ''")
    sql.run(f"CREATE TABLE t (id INT PRIMARY KEY, a {kind} NULL, KEY (a))")
    sql.run("INSERT INTO t VALUES (1, 0), (2, '2000-01-01'), (3, '2024-03-31 01:59:59.75'), (4, NULL),"
            " (5, '2024-03-31 03:00:00.25'), (6, '2024-03-31 03:00:00.75'), (7, '2030-01-01 00:00:00.25')")
    assert sql.value("SELECT UNIX_TIMESTAMP('2024-03-31 03:00:00') - UNIX_TIMESTAMP('2024-03-31 01:00:00')"
                     ) == b"3600"
    index = server.hs_rd().opened("tz", "t", "a", "id")
    for value in ("2040-01-01 00:00:00.5", "2040-01-01 00:00:00", "9999-12-31 23:59:59.9999999",
                  "1960-01-01 00:00:00.5", "1970-01-01 01:00:00.5", "2024-03-31 02:30:00.5",
                  "2024-03-31 02:30:00", "2024-03-31 03:00:00.5"):
        if is_mysql():
            compare_in_mysql(sql, index, value)
        else:
            oracle.check(sql, index, "t", "a", value)


@pytest.mark.ours
@pytest.mark.parametrize("mode", ["", "NO_ZERO_DATE", "NO_ZERO_IN_DATE", "TRADITIONAL"])
def test_dates_that_may_not_be_written_any_more_are_found_and_deleted(make_server, mode):
    server = make_server(options=[f"--sql-mode={mode}"])
    sql = server.sql()
    sql.run("CREATE DATABASE dates")
    sql.run("USE dates")
    sql.run("SET sql_mode = 'ALLOW_INVALID_DATES'")
    values = ("0000-00-00", "2024-01-00", "2024-00-10", "2024-02-30", "2024-02-29", "2024-03-01")
    for column, kind in (("d", "DATE"), ("t", "DATETIME"), ("ts", "TIMESTAMP NULL")):
        sql.run(f"CREATE TABLE {column} (id INT PRIMARY KEY, {column} {kind}, KEY ({column}))")
        for number, value in enumerate(values):
            sql.run(f"INSERT IGNORE INTO {column} VALUES (%s, %s)", number, value)
    if not is_mysql():  # In MySQL, SQL compares in this mode alone with such dates, and otherwise refuses.
        sql.run("SET sql_mode = DEFAULT")
    client = server.hs_wr()
    for column in ("d", "t", "ts"):
        index = client.opened("dates", column, column, "id")
        plain = client.opened("dates", column, "", "id", column)
        for value in (*values, "2024-02-31"):
            oracle.check(sql, index, column, column, value)
            for op in ("=", "!="):
                expected = sql.rows(f"SELECT id FROM {column} WHERE {column} {op} %s ORDER BY id", value)
                assert plain.rows(">=", [0], 9, 0, filters=[("F", op, 0, value)]) == expected, (column, op, value)
        for value in ("2024-13-01", "2024-02-32", "hello"):
            assert index.rows("=", [value], 9) == []
        assert index.delete("=", ["0000-00-00"]) == counted(1)
        assert sql.rows(f"SELECT id FROM {column} WHERE id = 0") == []


@pytest.mark.ours
def test_letter_that_stands_for_two_in_an_index_prefix(sql, rd):
    """'ä' equals 'ae' in the collation. An index of first characters has the two far apart, but `=` finds
    through it the rows that SQL finds."""
    for charset in ("latin1", "utf8mb4"):
        sql.run(f"CREATE TABLE {charset} (id INT PRIMARY KEY AUTO_INCREMENT, c VARCHAR(9), KEY k (c(1)))"
                f" CHARACTER SET {charset} COLLATE {charset}_german2_ci")
        for text in ("a", "ae", "AE", "ä", "b", "ss", "ß", "s", "z"):
            sql.run(f"INSERT INTO {charset} (c) VALUES (%s)", text)
        index = rd(charset, "k", "id")
        for value in ("ä", "ae", "ß", "ss", "b"):
            for op in ("<", "<=", ">", ">="):
                expected = sql.rows(f"SELECT id FROM {charset} IGNORE INDEX (k) WHERE c {op} %s", value)
                assert sorted(index.rows(op, [value], 99)) == sorted(expected), (charset, op, value)
            forced = sql.rows(f"SELECT id FROM {charset} FORCE INDEX (k) WHERE c = %s ORDER BY id", value)
            assert index.rows("=", [value], 99) == forced, (charset, value)


@pytest.mark.ours
def test_numbers_of_more_digits_than_a_double_has(sql, rd, wr):
    """The digits are cut before they are read; a number half way between two DOUBLEs is rounded as by SQL, by
    a digit far behind."""
    half = "9007199254740993"  # 2**53 + 1
    texts = ["1" + "0" * 900 + "e-900", half + "0" * 1000 + "e-1000", half + "0" * 999 + "1e-1000",
             half + "0" * 1000 + ".00e-1000", half + "0" * 1000 + ".001e-1000", "-" + half + "0" * 900 + "1E-901",
             "0" * 2000 + "5", " +" + "7" * 1500 + "e-1499", "7" * 1500 + "e-1499x", "8" * 1200 + "e",
             "8" * 1200, "9" * 20_300 + "e-19999", "9" * 20_300 + "e-99999999999", "0." + "3" * 2000]
    sql.run("CREATE TABLE d (id INT PRIMARY KEY, d DOUBLE, f FLOAT, KEY (d))")
    for number, text in enumerate(texts):
        sql.run("INSERT IGNORE INTO d VALUES (%s, %s, %s)", number, text, text)
    sql.run("INSERT INTO d VALUES (100, 9007199254740992, 5), (101, 9007199254740994, 6), (102, 1, 7.77778)")
    index, floats = rd("d", "d", "id", "f"), rd("d", "PRIMARY", "id", "d,f")
    for text in texts:
        for op in ("<", "<=", ">", ">="):
            expected = sql.rows(f"SELECT id FROM d WHERE d {op} %s ORDER BY id", text)
            assert sorted(index.rows(op, [text], 100), key=lambda row: int(row[0])) == expected, (op, text[:20])
            for place, column in enumerate(("d", "f")):
                expected = sql.rows(f"SELECT id FROM d WHERE {column} {op} %s ORDER BY id", text)
                assert floats.rows(">=", [0], 200, 0, filters=[("F", op, place, text)]) == expected, (op, column, text[:20])
    adder = wr("d", "", "d")
    adder.update("=", [102], ["1"])
    assert adder.client.modify(adder.id, "=", [102], ["+", half + "0" * 999 + "1e-1000"]) == counted(1)
    assert sql.value("SELECT d = 1 + 9007199254740994 FROM d WHERE id = 102") == b"1"
