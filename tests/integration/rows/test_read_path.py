"""Finds take shortcuts: the rows that they see, and the pages that they do not read, prove the shortcuts
right."""

import pytest

from server import is_mysql, wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.ours]  # only this plugin has the shortcuts

FINDS = 500


def test_each_turn_sees_what_was_committed_before_it(sql, rd):
    """Tables stay ready between turns that follow each other closely; read views do not stay."""
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT) ENGINE=InnoDB")
    sql.run("INSERT INTO t VALUES (1, 0)")
    index = rd("t", "", "x")
    for value in range(1, 200):
        sql.run("UPDATE t SET x = %s WHERE id = 1", value)
        assert index.rows("=", [1]) == [(str(value).encode(),)]


def test_a_column_that_tells_the_time_goes_on(sql, rd, server, db):
    """No moment passes in which the table would be closed; the time zone may change, too."""
    now = "CONCAT(s)" if is_mysql() else "NOW(6)"  # MySQL has no such columns of the present time.
    sql.run(f"CREATE TABLE t (id INT PRIMARY KEY, s INT, now VARCHAR(30) AS ({now}) VIRTUAL,"
            " at DATETIME AS (FROM_UNIXTIME(s)) VIRTUAL, stamp TIMESTAMP)")
    sql.run("INSERT INTO t (id, s, stamp) VALUES (1, 1600000000, FROM_UNIXTIME(1600000000))")
    index = rd("t", "", "now,at,stamp")
    first, at, _ = index.rows("=", [1])[0]
    seen = set()
    if not is_mysql():
        wait_until(lambda: seen.add(index.rows("=", [1])[0][0]) or len(seen) > 20, step_s=0)
    assert first not in seen
    zones = ["+05:00", "-03:30", "SYSTEM"]
    try:
        for zone in zones:
            sql.run("SET GLOBAL time_zone = %s", zone)
            expected = server.sql(db).value("SELECT at FROM t")
            assert index.rows("=", [1])[0][1:] == (expected, expected)
            for _ in range(50):
                index.rows("=", [1])
    finally:
        sql.run("SET GLOBAL time_zone = SYSTEM")
    assert at == expected


def test_tables_that_stay_ready_take_turns(sql, rd):
    """Several tables and indexes of one worker, one request a turn."""
    for table in "abc":
        sql.run(f"CREATE TABLE {table} (id INT PRIMARY KEY, x INT, y INT, KEY kx (x)) ENGINE=InnoDB")
        sql.run(f"INSERT INTO {table} SELECT seq, seq * 10, ASCII('{table}') FROM seq_1_to_50")
    indexes = [(table, rd(table, "", "x,y"), rd(table, "kx", "id"), rd(table, "kx", "y"))
               for table in "abc"]
    for key in range(1, 51):
        for table, primary, covered, secondary in indexes:
            letter = str(ord(table)).encode()
            assert primary.rows("=", [key]) == [(str(key * 10).encode(), letter)]
            assert covered.rows("=", [key * 10]) == [(str(key).encode(),)]
            assert secondary.rows("=", [key * 10]) == [(letter,)]


def test_index_that_holds_all_columns_is_read_alone(sql, rd):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT, y INT, KEY kx (x)) ENGINE=InnoDB")
    sql.run("INSERT INTO t SELECT seq, seq, seq FROM seq_1_to_20000")

    covered, whole = rd("t", "kx", "id,x"), rd("t", "kx", "id,y")

    def page_gets(index):
        def read():
            return sql.status("Innodb_buffer_pool_read_requests")
        before = read()
        for key in range(1, FINDS + 1):
            assert index.rows("=", [key * 7]) == [(str(key * 7).encode(),) * 2]
        return read() - before
    # The server reads pages for itself, too, and more of them at first: the least of several rounds counts.
    rounds = [(page_gets(covered), page_gets(whole)) for _ in range(5)]
    assert min(gets for gets, _ in rounds) < 0.8 * min(gets for _, gets in rounds), rounds


@pytest.mark.parametrize("value", ["", "short", "longer than the prefix", "é" * 12, "trailing  "])
def test_index_over_a_prefix_does_not_hold_the_column(sql, rd, value):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(40), KEY ks (s(5))) ENGINE=InnoDB"
            " CHARSET utf8mb4")
    sql.run("INSERT INTO t VALUES (1, %s)", value)
    assert rd("t", "ks", "s,id").rows("=", [value]) == [(value.encode(), b"1")]


@pytest.mark.parametrize("collation", ["utf8mb4_general_ci", "utf8mb4_bin", "latin1_swedish_ci",
                                       "utf8mb4_0900_ai_ci" if is_mysql() else "utf8mb4_nopad_bin", "utf8mb4_unicode_ci"])
def test_covering_index_gives_the_text_as_it_was_stored(sql, rd, collation):
    """The index compares by the collation, and holds the text as it was stored."""
    charset = collation.split("_", 1)[0]
    sql.run(f"CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(40), KEY ks (s)) ENGINE=InnoDB"
            f" CHARSET {charset} COLLATE {collation}")
    sql.run("INSERT INTO t VALUES (1, 'Abc '), (2, 'aBC'), (3, 'Ärger'), (4, NULL), (5, '')")
    index = rd("t", "ks", "s,id")
    wanted = sql.rows("SELECT s, id FROM t WHERE s = 'abc' ORDER BY s, id")
    assert sorted(index.rows("=", ["abc"], 9)) == sorted(wanted)
    assert index.rows("=", ["Ärger"], 9) == [("Ärger".encode(), b"3")]
    assert index.rows("=", [None], 9) == [(None, b"4")]


NUMBERS = ["0", "-1", "1", "127", "-128", "128", "255", "256", "-129", "32767", "-32768", "65535",
           "8388607", "-8388608", "16777215", "2147483647", "-2147483648", "4294967295",
           "9223372036854775807", "-9223372036854775808", "18446744073709551615", "007", "+5", "-0"]


@pytest.mark.parametrize("kind", ["TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT"])
@pytest.mark.parametrize("sign", ["", " UNSIGNED"])
def test_integers_of_every_width_find_themselves(sql, rd, kind, sign):
    sql.run(f"CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, n {kind}{sign}, KEY kn (n))"
            " ENGINE=InnoDB")
    sql.run("SET sql_mode = ''")
    for number in NUMBERS:  # a number out of range is cut to the end of the range
        sql.run("INSERT INTO t (n) VALUES (%s)", number)
    sql.run("SET sql_mode = DEFAULT")
    index = rd("t", "kn", "n,id")
    for number in NUMBERS:
        for op in ("=", "<", "<=", ">", ">="):
            wanted = sql.rows(f"SELECT n, id FROM t WHERE n {op} {number}")
            assert sorted(index.rows(op, [number], 99)) == sorted(wanted), (op, number)
