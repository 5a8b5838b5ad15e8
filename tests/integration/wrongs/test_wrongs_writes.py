"""Rows 10, 11, 19, 21 and 22 of docs/WRONGS.md: the rows that a write leaves."""

import threading

import pytest

from hs import OK, counted, generated, refused, reply
from server import is_mysql

pytestmark = pytest.mark.again_in("mariadb-11.8")

wrong = pytest.mark.bundled_wrong
# The engines that cannot roll back are served in MariaDB alone.
WITHOUT_ROLLBACK = [pytest.param(name, marks=pytest.mark.mariadb("engines without transactions"))
                    for name in ("Aria", "MyISAM")]


# Row 10: each row is changed at most once.

@pytest.fixture
def twenty(sql):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT, y INT, KEY(x))")
    sql.run("INSERT INTO t SELECT seq, seq, 0 FROM seq_1_to_20")


@wrong(10)
@pytest.mark.parametrize("op,start,mod,low,high", [
    (">=", 1, ["+", 1], 2, 21), (">", 0, ["+", 5], 6, 25), ("<=", 20, ["+", -3], -2, 17),
    (">=", 1, ["+", 100], 101, 120)])
def test_increment_of_the_scanned_column_visits_each_row_once(twenty, sql, wr, op, start, mod, low, high):
    assert wr("t", "x", "x").modify(op, [start], mod, 1000) == counted(20)
    assert sql.row("SELECT MIN(x), MAX(x), COUNT(DISTINCT x) FROM t") == (
        str(low).encode(), str(high).encode(), b"20")


@wrong(10)
def test_update_of_the_scanned_column_visits_each_row_once(twenty, sql, wr):
    assert wr("t", "x", "x").update(">=", [1], [50], 1000) == counted(20)
    assert sql.row("SELECT MIN(x), MAX(x), COUNT(*) FROM t") == (b"50", b"50", b"20")


@wrong(10)
def test_before_images_show_each_row_once(twenty, wr):
    answer = wr("t", "x", "x").modify(">=", [1], ["+?", 1], 1000)
    assert answer.rows == [(str(number).encode(),) for number in range(1, 21)]


@wrong(10)
def test_primary_key_can_be_moved_upwards(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY)")
    sql.run("INSERT INTO t SELECT seq * 10 FROM seq_1_to_20")
    assert wr("t", "", "id").modify(">=", [1], ["+", 5], 1000) == counted(20)
    assert sql.row("SELECT MIN(id), MAX(id), COUNT(*) FROM t") == (b"15", b"205", b"20")


def test_limit_and_offset_choose_the_rows_that_change(twenty, sql, wr):
    assert wr("t", "x", "y").update(">=", [5], [1], 3, 2) == counted(3)
    assert sql.rows("SELECT x FROM t WHERE y = 1") == [(b"7",), (b"8",), (b"9",)]


@wrong(10)
def test_in_with_a_value_listed_twice_changes_its_row_once(twenty, sql, wr):
    answer = wr("t", "", "x").modify("=", [""], ["+", 1], 10, within=(0, [3, 3, 4]))
    assert answer.code == 0
    assert sql.rows("SELECT x FROM t WHERE id IN (3, 4)") == [(b"4",), (b"5",)]


# Row 11: errors leave no trace.

@wrong(11)
def test_failed_open_does_not_spoil_inserts_with_given_ids(sql, wr, db):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, x INT)")
    index = wr("t", "", "id,x")
    assert index.client.open_index(7, db, "missing", "", "id") == refused(1, "open_table")
    for number in (5, 6):
        assert index.insert(number, number) == generated(0)
    assert sql.rows("SELECT * FROM t") == [(b"5", b"5"), (b"6", b"6")]


@wrong(11)
def test_failed_write_does_not_change_later_answers(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, x INT NOT NULL UNIQUE CHECK (x < 100))")
    index = wr("t", "", "id,x")
    assert index.insert(1, 1) == generated(0)
    for values in ((2, 1), (2, 100), (2, "abc"), (2, None), (2, "99999999999"), (1, 2)):
        assert index.insert(*values).code == 1
        assert index.update("=", [1], [1, 1]) == counted(1)
        assert index.rows("=", [1]) == [(b"1", b"1")]
    assert index.insert(2, 2) == generated(0)
    assert wr("t", "", "x").insert(3) == generated(3)
    assert sql.rows("SELECT * FROM t") == [(b"1", b"1"), (b"2", b"2"), (b"3", b"3")]


@wrong(11)
def test_failed_open_of_another_connection_changes_nothing(sql, wr, server, db):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, x INT)")
    for args in (("nowhere", "t"), (db, "t", "nothing"), (db, "t", "", "nothing"), (db, "")):
        assert server.hs_wr().open_index(0, *args).code != 0
    assert wr("t", "", "id,x").insert(5, 5) == generated(0)


# Row 19: a request that fails leaves nothing.

@wrong(19)
def test_update_refused_at_its_second_row_leaves_the_first(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT UNIQUE, y TINYINT)")
    sql.run("INSERT INTO t VALUES (1, 10, 1), (2, 20, 126), (3, 30, 127)")
    before = sql.rows("SELECT * FROM t")
    assert wr("t", "", "x").update(">=", [1], [99], 10) == refused(1, 121)
    assert sql.rows("SELECT * FROM t") == before
    assert wr("t", "", "y").modify(">=", [1], ["+", 1], 10).number in (1264, 1690)
    assert sql.rows("SELECT * FROM t") == before


@wrong(19)
def test_delete_refused_by_a_foreign_key_at_its_second_row_leaves_the_first(sql, wr):
    sql.run("CREATE TABLE p (id INT PRIMARY KEY)")
    sql.run("CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id))")
    sql.run("INSERT INTO p VALUES (1), (2), (3)")
    sql.run("INSERT INTO c VALUES (1, 2)")
    assert wr("p", "", "id").delete(">=", [1], 10) == refused(1, 152)
    assert sql.value("SELECT COUNT(*) FROM p") == b"3"
    assert wr("c", "", "id,p").insert(2, 9) == refused(1, 151)
    assert wr("c", "", "p").update("=", [1], [9]) == refused(1, 151)
    assert sql.rows("SELECT * FROM c") == [(b"1", b"2")]


@wrong(19)
def test_failed_request_in_a_pipeline_leaves_the_others(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT UNIQUE)")
    index = wr("t", "", "id,x")
    answers = index.client.pipeline([
        [index.id, "+", 2, 1, 1], [index.id, "+", 2, 2, 2], [index.id, ">=", 1, 0, 9, 0, "U", 1, 1],
        [index.id, "+", 2, 2, 5], [index.id, "+", 2, 3, 3], [index.id, ">=", 1, 2, 9, 0, "U", 7, 8],
        [index.id, "=", 1, 1, 1, 0, "U", 1, 11]])
    assert answers == [OK, OK, refused(1, 121), refused(1, 121), OK, refused(1, 121), counted(1)]
    assert sql.rows("SELECT * FROM t ORDER BY id") == [(b"1", b"11"), (b"2", b"2"), (b"3", b"3")]


# Row 21: increments are exact, in the column's own type.

INCREMENTS = [
    ("BIGINT UNSIGNED", "9223372036854775807", "+", "5", "9223372036854775812"),
    ("BIGINT UNSIGNED", "18446744073709551610", "+", "5", "18446744073709551615"),
    ("BIGINT UNSIGNED", "18446744073709551610", "+", "6", None),
    ("BIGINT UNSIGNED", "18446744073709551615", "-", "18446744073709551615", "0"),
    ("BIGINT UNSIGNED", "18446744073709551615", "-", "1", "18446744073709551614"),
    ("BIGINT UNSIGNED", "0", "-", "1", None), ("INT UNSIGNED", "0", "-", "1", None),
    ("INT UNSIGNED", "3", "+", "-5", None),
    ("BIGINT", "9223372036854775807", "+", "1", None), ("BIGINT", "-9223372036854775808", "+", "-1", None),
    ("BIGINT", "9223372036854775806", "+", "1", "9223372036854775807"),
    ("TINYINT", "127", "+", "1", None), ("TINYINT", "-128", "+", "-1", None), ("TINYINT", "100", "+", "27", "127"),
    ("TINYINT", "0", "-", "128", "-128"), ("TINYINT", "0", "-", "129", None),
    ("TINYINT UNSIGNED", "255", "+", "1", None), ("SMALLINT", "32767", "+", "1", None),
    ("MEDIUMINT", "8388607", "+", "1", None), ("INT", "2147483647", "+", "1", None),
    ("INT UNSIGNED", "4294967295", "+", "1", None),
    ("DECIMAL(6,2)", "1.25", "+", "0.50", "1.75"), ("DECIMAL(6,2)", "9999.99", "+", "0.01", None),
    ("DECIMAL(6,2)", "5.00", "-", "0.01", "4.99"), ("DECIMAL(30,10)", "12345678901234567890.0000000001", "+",
                                                    "0.0000000009", "12345678901234567890.0000000010"),
    ("DOUBLE", "1.5", "+", "0.25", "1.75"), ("DOUBLE", "1.5", "-", "0.5", "1"), ("FLOAT", "1.5", "+", "0.25", "1.75"),
    ("BIT(64)", b"\x01", "-", "1", b"\x00"), ("BIT(64)", b"\x00", "-", "1", None), ("BIT(8)", b"\x00", "+", "-1", None),
    ("BIT(64)", b"\xff" * 8, "+", "1", None), ("DOUBLE", "1e308", "+", "1e308", None), ("DOUBLE", "0.1", "+", "1e20", "100000000000000000000")]


@wrong(21, some=True)
@pytest.mark.parametrize("kind,start,op,operand,expected", INCREMENTS)
def test_increment_is_exact_or_refused(sql, wr, kind, start, op, operand, expected):
    sql.run(f"CREATE TABLE t (id INT PRIMARY KEY, x {kind})")
    sql.run("INSERT INTO t VALUES (1, %s)", start)
    before = sql.value("SELECT x FROM t")
    answer = wr("t", "", "x").modify("=", [1], [op, operand])
    if expected is None:
        assert answer.number in (1264, 1690, 167), answer
        assert sql.value("SELECT x FROM t") == before
    else:
        assert answer == counted(1)
        sql.run("INSERT INTO t VALUES (2, %s)", expected)
        assert sql.value("SELECT COUNT(DISTINCT x) FROM t") == b"1", sql.rows("SELECT x FROM t")


def test_increment_of_a_varchar_by_its_integer_value(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x VARCHAR(20))")
    sql.run("INSERT INTO t VALUES (1, '41'), (2, '-5')")
    index = wr("t", "", "x")
    assert index.modify("=", [1], ["+", 1]) == counted(1)
    assert index.modify("=", [2], ["-", 1]) == counted(1)
    assert sql.rows("SELECT x FROM t") == [(b"42",), (b"-6",)]


@wrong(21)
@pytest.mark.mariadb("MySQL adds a real number, as SQL does")
@pytest.mark.parametrize("kind", ["VARCHAR(30)", "TEXT", "BLOB"])
@pytest.mark.parametrize("start", [2**64, 10**25, -2**64])
def test_increment_of_a_text_that_is_an_integer_beyond_64_bits_is_refused(sql, wr, kind, start):
    sql.run(f"CREATE TABLE t (id INT PRIMARY KEY, x {kind})")
    sql.run("INSERT INTO t VALUES (1, %s)", str(start))
    assert wr("t", "", "x").modify("=", [1], ["+", 1]).number == 1264
    assert sql.value("SELECT x FROM t") == str(start).encode()


@wrong(21, some=True)
@pytest.mark.again_in("mysql-9.7")
@pytest.mark.parametrize("kind", ["VARCHAR(30)", "TEXT", "BLOB", "JSON"])
@pytest.mark.parametrize("start", [2**63 - 1, 2**63, 10**19, 2**64 - 1, -2**63, -2**63 - 1])
@pytest.mark.parametrize("op, operand", [("+", 0), ("+", 1), ("-", 1)])
def test_increment_of_a_text_that_is_a_large_integer_is_exact_or_refused(sql, wr, kind, start, op, operand):
    sql.run(f"CREATE TABLE t (id INT PRIMARY KEY, x {kind})")
    sql.run("INSERT INTO t VALUES (1, %s)", str(start))
    before = sql.value("SELECT x FROM t")
    answer = wr("t", "", "x").modify("=", [1], [op, operand])
    exact = start + operand if op == "+" else start - operand
    takes_numbers = kind != "JSON" or not is_mysql()  # MySQL's JSON takes texts alone.
    if takes_numbers and -2**63 <= exact < 2**64:
        assert answer == counted(1)
        assert sql.value("SELECT x FROM t") == str(exact).encode()
    else:
        assert answer.number in (1264, 3140), answer
        assert sql.value("SELECT x FROM t") == before


def test_null_column_or_operand_is_skipped(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT, y INT)")
    sql.run("INSERT INTO t VALUES (1, NULL, 5), (2, 3, 5)")
    index = wr("t", "", "x,y")
    assert index.modify("=", [1], ["+", 1, 1]) == counted(1)
    assert index.modify("=", [2], ["-", None, 2]) == counted(1)
    assert sql.rows("SELECT x, y FROM t") == [(None, b"6"), (b"3", b"3")]


@pytest.mark.parametrize("kind,start,operand,expected", [
    ("INT", 3, 5, None), ("INT", 5, 5, 0), ("INT", -3, -5, None), ("INT", -5, -5, 0), ("INT", 0, 7, -7),
    ("INT", -3, 5, -8), ("INT UNSIGNED", 3, 5, None), ("INT UNSIGNED", 5, 3, 2), ("BIGINT UNSIGNED", 1, 2, None),
    ("DECIMAL(5,1)", "0.5", 1, None), ("TINYINT", 100, 100, 0)])
@wrong(21, some=True)
def test_decrement_across_zero_leaves_the_row_alone(sql, wr, kind, start, operand, expected):
    sql.run(f"CREATE TABLE t (id INT PRIMARY KEY, x {kind})")
    sql.run("INSERT INTO t VALUES (1, %s)", str(start))
    answer = wr("t", "", "x").modify("=", [1], ["-", operand])
    assert answer == counted(0 if expected is None else 1)
    assert sql.value("SELECT x = %s FROM t", str(start if expected is None else expected)) == b"1"


def test_row_with_one_column_across_zero_is_left_alone_as_a_whole(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT, y INT)")
    sql.run("INSERT INTO t VALUES (1, 10, 10), (2, 10, 1), (3, 20, 20)")
    index = wr("t", "", "x,y")
    assert index.modify(">=", [1], ["-", 5, 5], 10) == counted(2)
    assert sql.rows("SELECT x, y FROM t") == [(b"5", b"5"), (b"10", b"1"), (b"15", b"15")]
    answer = index.modify(">=", [1], ["-?", 5, 5], 10)
    assert answer == reply(0, 2, 5, 5, 10, 1, 15, 15)
    assert sql.rows("SELECT x, y FROM t") == [(b"0", b"0"), (b"10", b"1"), (b"10", b"10")]


@wrong(21)
@pytest.mark.parametrize("operand", ["abc", "1x"])
def test_operand_that_is_no_number_is_refused(sql, wr, operand):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT)")
    sql.run("INSERT INTO t VALUES (1, 5)")
    assert wr("t", "", "x").modify("=", [1], ["+", operand]).code == 1
    assert sql.value("SELECT x FROM t") == b"5"


# Decision 6 and 7.

@wrong(6)
def test_invalid_value_is_an_error_only_when_there_is_a_row(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x TINYINT)")
    sql.run("INSERT INTO t VALUES (1, 1)")
    index = wr("t", "", "x")
    assert index.update("=", [2], ["abc"]) == counted(0)
    assert index.modify("=", [2], ["+", "abc"]) == counted(0)
    assert index.update("=", [1], ["abc"]).number == 1366


def test_pipeline_sees_its_own_writes(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT)")
    index = wr("t", "", "id,x")
    client, number = index.client, index.id
    answers = client.pipeline([
        [number, "+", 2, 1, 10], [number, "=", 1, 1], [number, "=", 1, 1, 1, 0, "D"], [number, "=", 1, 1],
        [number, "+", 2, 1, 20], [number, "=", 1, 1, 1, 0, "+", 0, 5], [number, "=", 1, 1]])
    assert answers == [OK, reply(0, 2, 1, 10), counted(1), reply(0, 2), OK, counted(1), reply(0, 2, 1, 25)]


@wrong(22, some=True)
@pytest.mark.parametrize("engine", ["InnoDB", *WITHOUT_ROLLBACK])
def test_duplicate_key_is_121_on_every_index(sql, wr, engine):
    sql.run(f"CREATE TABLE t (id INT PRIMARY KEY, x INT UNIQUE) ENGINE={engine}")
    index = wr("t", "", "id,x")
    assert index.insert(1, 1) == OK
    assert index.insert(1, 2) == refused(1, 121)
    assert index.insert(2, 1) == refused(1, 121)
    assert index.insert(2, 2) == OK
    assert index.update("=", [2], [2, 1]) == refused(1, 121)
    assert index.update("=", [2], [1, 3]) == refused(1, 121)
    assert sql.rows("SELECT * FROM t") == [(b"1", b"1"), (b"2", b"2")]


# Row 22: partitioned tables, and MyISAM tables that SQL writes too.

PARTITIONS = ["HASH(id) PARTITIONS 4", "KEY(id) PARTITIONS 3",
              "RANGE(id) (PARTITION a VALUES LESS THAN (10), PARTITION b VALUES LESS THAN (1000))",
              "LIST(id % 2) (PARTITION a VALUES IN (0), PARTITION b VALUES IN (1))"]


@wrong(22, some=True)
@pytest.mark.parametrize("engine", ["InnoDB", *WITHOUT_ROLLBACK])
@pytest.mark.parametrize("partitions", PARTITIONS, ids=lambda text: text.split("(")[0])
def test_partitioned_table(sql, wr, rd, engine, partitions):
    sql.run(f"CREATE TABLE t (id INT PRIMARY KEY, x INT, KEY(x)) ENGINE={engine} PARTITION BY {partitions}")
    index = wr("t", "", "id,x")
    for number in range(1, 21):
        assert index.insert(number, number * 10) == OK
    assert index.insert(1, 1) == refused(1, 121)
    assert rd("t", "", "x").rows("=", [7]) == [(b"70",)]
    assert rd("t", "x", "id").rows("=", [70], 9) == [(b"7",)]
    assert index.update("=", [7], [7, 71]) == counted(1)
    assert index.update("=", [8], [108, 80]) == counted(1)
    assert index.modify("=", [9], ["+", 0, 1]) == counted(1)
    assert index.delete("=", [10]) == counted(1)
    expected = [(n, n * 10) for n in range(1, 21) if n not in (7, 8, 9, 10)] + [(7, 71), (9, 91), (108, 80)]
    assert sorted((int(a), int(b)) for a, b in sql.rows("SELECT * FROM t")) == sorted(expected)
    for op in (">", ">=", "<", "<="):
        answer = rd("t", "", "id").find(op, [7], 100)
        down = "DESC" if op[0] == "<" else ""
        assert answer == refused(2, "indexop") or answer.rows == sql.rows(
            f"SELECT id FROM t WHERE id {op} 7 ORDER BY id {down}"), op
    if partitions.startswith("RANGE"):
        assert index.insert(5000, 1).number in (160, sql.error("INSERT INTO t VALUES (5000, 1)"))
    assert sql.rows("CHECK TABLE t EXTENDED")[-1][-1] == b"OK"


@pytest.mark.parametrize("engine", WITHOUT_ROLLBACK)
@wrong(22, rarely=True)
def test_table_without_transactions_written_from_both_sides_stays_sound(server, db, sql, wr, engine):
    sql.run(f"CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, who CHAR(1), x VARCHAR(200), KEY(x))"
            f" ENGINE={engine}")
    other, failures = server.sql(db), []

    def writes_sql():
        try:
            for number in range(150):
                other.run("INSERT INTO t (who, x) VALUES ('s', REPEAT(%s, %s))", "s", number % 190 + 1)
                other.run("UPDATE t SET x = CONCAT('u', x) WHERE who = 's' ORDER BY id LIMIT 1")
        except Exception as error:  # the assertion below shows it
            failures.append(error)

    index = wr("t", "", "who,x")
    thread = threading.Thread(target=writes_sql)
    thread.start()
    inserted = 0
    for number in range(300):
        inserted += index.insert("h", "h" * (number % 190 + 1)).code == 0
        index.update(">=", [number], ["h" if number % 2 else "s", "u" * (number % 50)])
    thread.join()
    assert failures == []
    assert sql.rows("CHECK TABLE t EXTENDED")[-1][-1] == b"OK"
    assert inserted == 300
    assert int(sql.value("SELECT COUNT(*) FROM t")) == 450
