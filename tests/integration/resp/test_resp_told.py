"""What a client is told that it has stored is what the column holds, and what it has made is found by its key."""

import pytest

from resp import Client, Error
from server import is_mysql, run_packaged, wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]

SCRATCH = "told"
REFUSED = ("CONSTRAINT", "ERR")
PADS = "CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"  # A collation that ignores blanks at the end of a text.


@pytest.fixture
def sql(shop):
    return shop


@pytest.mark.parametrize("kind, before, command, by", [
    ("FLOAT", "1234567", "HINCRBY", "1"),
    ("FLOAT", "0.12345670163631439", "HINCRBYFLOAT", "0"),
    ("FLOAT", "1", "HINCRBYFLOAT", "1e-9"),
    ("ENUM('1','5','7')", "'1'", "HINCRBY", "1"),
    ("ENUM('0','1','2')", "'2'", "HINCRBY", "1"),
    ("SET('1','2','4')", "'1'", "HINCRBY", "2"),
    ("YEAR", "2000", "HINCRBY", "-1950"),
    ("YEAR", "NULL", "HINCRBY", "0"),
    ("DATE", "NULL", "HINCRBY", "20200101"),
    ("TIME", "NULL", "HINCRBYFLOAT", "10.5"),
    ("FLOAT(7,2)", "1", "HINCRBYFLOAT", "0.125"),
    ("DOUBLE(9,2)", "1", "HINCRBYFLOAT", "0.125"),
    ("DECIMAL(9,2)", "1", "HINCRBYFLOAT", "0.125"),
    ("TINYINT", "100", "HINCRBY", "100"),
    ("DOUBLE", "1", "HINCRBY", "9007199254740992"),
])
def test_a_sum_that_the_column_cannot_hold_is_refused(client, sql, kind, before, command, by):
    sql.run(f"CREATE TABLE told (id INT PRIMARY KEY, v {kind})")
    sql.run(f"INSERT INTO told VALUES (1, {before})")
    was = sql.rows("SELECT v, v + 0e0 FROM told")
    answer = client.ask(command, "shop.told:1", "v", by)
    assert str(answer).startswith(REFUSED), answer
    assert client.transaction((command, "shop.told:1", "v", by)).startswith("EXECABORT")
    assert sql.rows("SELECT v, v + 0e0 FROM told") == was


def test_what_a_float_and_a_computed_column_do_not_take_is_said_in_words(client, sql):
    sql.run("CREATE TABLE told (id INT PRIMARY KEY, f FLOAT, g INT AS (id * 2) STORED, p POINT)")
    sql.run("INSERT INTO told (id, f) VALUES (1, 1)")
    for command in (("HINCRBYFLOAT", "shop.told:1", "f", "1e-9"), ("HINCRBY", "shop.told:1", "f", "1")):
        assert client.ask(*command).startswith("CONSTRAINT the column cannot hold the sum as it is: it is too short, or a FLOAT"), command
    assert client.ask("HSET", "shop.told:1", "g", "4") == Error(
        f"CONSTRAINT a generated column takes no value ({3105 if is_mysql() else 1906})")
    assert client.ask("HSET", "shop.told:1", "p", "x").startswith("CONSTRAINT a value is no geometry as the column keeps it")


def test_a_table_that_is_not_served_is_not_one_that_is_missing(client, sql):
    sql.run("CREATE TABLE told (a INT, b TEXT, UNIQUE KEY by_a (a), FULLTEXT KEY words (b))")
    sql.run("INSERT INTO told VALUES (1, 'x')")
    sql.run("CREATE OR REPLACE VIEW looked AS SELECT * FROM told")
    for command in ("HGETALL", "HLEN", "DEL", "EXISTS"):
        assert client.ask(command, "shop.looked:1").startswith("NOTABLE this is a view"), command
        assert client.ask(command, "shop.told:1").startswith("NOTABLE the table has no primary key: add one"), command
        assert client.ask(command, "shop.told@words:x").startswith("NOTABLE the table has no index of this name"), command
    assert client.ask("HGETALL", "shop.told@by_a:1") == [b"b", b"x"]
    sql.run("DROP VIEW looked")


@pytest.mark.mysql("indexes over expressions")
def test_a_scan_by_an_expression_says_that_it_is_not_served(client, sql):
    sql.run("CREATE TABLE told (id INT PRIMARY KEY, a INT, UNIQUE KEY more ((a + 1)))")
    sql.run("INSERT INTO told VALUES (1, 5)")
    assert client.ask("HGET", "shop.told@more:6", "a") == b"5"
    assert client.ask("SCAN", 0, "MATCH", "shop.told@more:*").startswith("NOTSERVED SCAN by an index over an expression")


@pytest.mark.parametrize("kind, before, command, by, answer, after", [
    ("INT(5) ZEROFILL", "7", "HINCRBY", "1", 8, b"00008"),
    ("DECIMAL(9,2)", "24.90", "HINCRBYFLOAT", "0.1", b"25", b"25.00"),
    ("DECIMAL(9,2)", "-0.50", "HINCRBYFLOAT", "0.5", b"0", b"0.00"),
    ("DOUBLE", "0.1", "HINCRBYFLOAT", "0.2", b"0.3", b"0.3"),
    ("DOUBLE", "5", "HINCRBYFLOAT", "0.1", b"5.1", b"5.1"),
    ("DOUBLE", "NULL", "HINCRBYFLOAT", "1e-20", b"0.00000000000000000001", b"1e-20"),
    ("DOUBLE", "-1", "HINCRBYFLOAT", "1", b"0", b"0"),
    ("DOUBLE(9,2)", "5", "HINCRBYFLOAT", "0.1", b"5.1", b"5.10"),
    ("DOUBLE", "1e17", "HINCRBYFLOAT", "0.5", b"100000000000000000", b"1e17"),
    ("VARCHAR(20)", "'9'", "HINCRBY", "1", 10, b"10"),
    ("YEAR", "2000", "HINCRBY", "1", 2001, b"2001"),
])
def test_a_sum_is_what_the_row_has(client, sql, kind, before, command, by, answer, after):
    sql.run(f"CREATE TABLE told (id INT PRIMARY KEY, v {kind})")
    sql.run(f"INSERT INTO told VALUES (1, {before})")
    assert client.ask(command, "shop.told:1", "v", by) == answer
    assert client.ask("HGET", "shop.told:1", "v") == after


@pytest.mark.parametrize("kind, key", [
    ("ENUM('a','b')", "1"), ("SET('a','b')", "3"), ("SET('a','b')", "b,a"), ("DECIMAL(5,2)", "1.234"),
    ("DECIMAL(5,2)", "1.2e-3"), ("FLOAT", "16777217"), ("FLOAT(7,2)", "1.234"), ("DOUBLE(7,2)", "1.234"),
    ("DATE", "2020-01-01 10"), ("DATETIME", "2020-01-01 10\\:00\\:00.5"), ("TIME", "10\\:00\\:00.5"), ("INT", "7e-1"),
    ("INT", "1e1"), ("INT", "7 "), ("INT", "\t7"), ("INT", "7\n"), ("INT", "007"), ("BINARY(5)", "a"),
    pytest.param("TIME", "2024-01-05 10\\:11\\:12", marks=pytest.mark.mariadb("MySQL's = finds the row")),
    pytest.param("TIME", "20240105101112", marks=pytest.mark.mariadb("MySQL's = finds the row")),
    pytest.param("CHAR(5) COLLATE utf8mb4_general_nopad_ci", "a ", marks=pytest.mark.mariadb("its name there")),
    pytest.param("CHAR(5) COLLATE utf8mb4_0900_ai_ci", "a ", marks=pytest.mark.mysql("its name there")),
])
def test_a_row_that_its_key_would_not_find_is_not_made(client, sql, kind, key):
    sql.run(f"CREATE TABLE told (id {kind} PRIMARY KEY, f VARCHAR(10))")
    answer = client.ask("HSET", f"shop.told:{key}", "f", "x")
    assert str(answer).startswith(("CONSTRAINT", "NOROW")), answer
    assert sql.rows("SELECT COUNT(*) FROM told") == [(b"0",)]


ROW_IS_FOUND = [
    ("ENUM('a','b')", "b"), ("SET('a','b')", "a,b"), ("DECIMAL(5,2)", "1.20"), ("DECIMAL(5,2)", "-3"), ("FLOAT", "1.5"),
    ("DOUBLE", "0.1"), ("DATE", "2020-01-01"), ("DATETIME(1)", "2020-01-01 10\\:00\\:00.5"), ("TIME", "10\\:00\\:00"),
    ("BIGINT UNSIGNED", "18446744073709551615"), ("YEAR", "2020"), ("VARBINARY(4)", "7e-1"), ("VARCHAR(9)", "007"),
    ("INT(3) ZEROFILL", "007"), ("TIME", "1 02\\:03"), ("TIME", "101112"), (f"CHAR(5) {PADS}", "a "),
    (f"CHAR(5) {PADS}", "abcde  "), (f"VARCHAR(5) {PADS}", "a "), (f"VARCHAR(5) {PADS}", "abcde "), ("CHAR(5) CHARACTER SET ucs2", "a "),
]
ROW_IS_FOUND_IN_MYSQL = [("TIME", "2024-01-05 10\\:11\\:12")]
ROW_IS_FOUND_IN_MARIADB = [
    ("UUID", "aabbccdd-1234-1234-1234-123456789abc"), ("UUID", "AABBCCDD-1234-1234-1234-123456789ABC"),
    ("UUID", "aabbccdd123412341234123456789abc"), ("INET6", "FE80\\:\\:1"), ("INET6", "2001\\:DB8\\:\\:0001"),
    ("INET6", "\\:\\:FFFF\\:1.2.3.4"),
]


@pytest.mark.parametrize("kind, key", ROW_IS_FOUND + [
    pytest.param(*each, marks=pytest.mark.mariadb("a type of MariaDB's")) for each in ROW_IS_FOUND_IN_MARIADB] + [
        pytest.param(*each, marks=pytest.mark.mysql("its = takes the time")) for each in ROW_IS_FOUND_IN_MYSQL])
def test_a_row_that_is_made_is_found(client, sql, kind, key):
    sql.run(f"CREATE TABLE told (id {kind} PRIMARY KEY, f VARCHAR(10))")
    assert client.ask("HSET", f"shop.told:{key}", "f", "x") == 1
    assert client.ask("HGET", f"shop.told:{key}", "f") == b"x" and client.ask("EXISTS", f"shop.told:{key}") == 1
    assert client.ask("HSET", f"shop.told:{key}", "f", "y") == 0
    assert sql.rows(f"SELECT f FROM told WHERE id = '{key.replace(chr(92), '')}'") == [(b"y",)]


def test_other_texts_of_a_number_name_no_row(client, sql):
    sql.run("CREATE TABLE told (id INT PRIMARY KEY, f VARCHAR(10))")
    sql.run("INSERT INTO told VALUES (7, 'a'), (10, 'b')")
    for key in ("1e1", "7 ", "\t7", "7\n", "7.0", "+7", ""):
        assert client.ask("HGETALL", f"shop.told:{key}") == [] and client.ask("DEL", f"shop.told:{key}") == 0, key
    assert sql.rows("SELECT id FROM told ORDER BY id") == [(b"7",), (b"10",)]


def test_hdel_of_columns_that_are_never_null(client, sql):
    sql.run("CREATE TABLE told (id INT PRIMARY KEY, a INT, g INT AS (a * 2) VIRTUAL, h INT AS (a * 3) STORED,"
            " t TIMESTAMP NOT NULL DEFAULT '2020-01-01 00:00:00', n INT NOT NULL DEFAULT 1)")
    sql.run("INSERT INTO told (id, a) VALUES (1, 5)")
    assert client.ask("HDEL", "shop.told:1", "g", "h") == 0
    assert client.ask("HDEL", "shop.told:1", "t").startswith("CONSTRAINT")
    assert client.ask("HDEL", "shop.told:1", "n").startswith("CONSTRAINT")
    assert client.ask("HDEL", "shop.told:1", "a", "g") == 1
    assert sql.rows("SELECT a, g, h, n FROM told") == [(None, None, None, b"1")]


KINDS = ("ENUM('1','5','7')", "DECIMAL(9,2)", "FLOAT", "INT", "DOUBLE")


@pytest.fixture
def containers(server, sql):
    """A client to whom told_0/ to told_4/ are prefixes of containers with a value of another type each."""
    run_packaged(sql, "rowsocket_store.sql")
    for number, kind in enumerate(KINDS):
        name = f"told_{number}"
        sql.run(f"CREATE TABLE shop.{name} (k VARBINARY(20) PRIMARY KEY, v {kind}, flags INT, cas BIGINT UNSIGNED, exp INT)")
        sql.run(f"INSERT INTO shop.{name} VALUES ('a', '1', 0, 1, 0)")
        sql.run(f"INSERT INTO innodb_memcache.containers VALUES ('{name}', 'shop', '{name}', 'k', 'v', 'flags', 'cas', 'exp', 'PRIMARY')")
        sql.run(f"INSERT INTO rowsocket.keyspaces (prefix, kind, container) VALUES ('{name}/', 'value', '{name}')")
    client = Client(server.resp_port)
    wait_until(lambda: client.ask("GET", "told_4/a") == b"1", 10, "the keyspaces")
    yield client
    client.close()
    for number in range(len(KINDS)):
        sql.run(f"DROP TABLE shop.told_{number}")
        sql.run(f"DELETE FROM innodb_memcache.containers WHERE name = 'told_{number}'")
        sql.run(f"DELETE FROM rowsocket.keyspaces WHERE prefix = 'told_{number}/'")


def test_containers_hold_what_they_tell(containers, sql):
    for command in (("INCRBY", "told_0/a", 1), ("INCRBYFLOAT", "told_1/a", "0.125"), ("APPEND", "told_1/a", "5"),
                    ("INCRBYFLOAT", "told_2/a", "1e-9"), ("INCRBYFLOAT", "told_3/a", "0.5"), ("APPEND", "told_3/a", ".5"),
                    ("INCRBY", "told_4/a", 9007199254740992)):
        assert str(containers.ask(*command)).startswith(("CONSTRAINT", "ERR")), command
    assert [sql.rows(f"SELECT v FROM told_{number}")[0][0] for number in range(5)] == [b"1", b"1.00", b"1", b"1", b"1"]
    assert containers.ask("INCRBYFLOAT", "told_1/a", "0.12") == b"1.12" and containers.ask("GET", "told_1/a") == b"1.12"


@pytest.mark.parametrize("kind, last", [("TINYINT", 127), ("BIGINT UNSIGNED", 2 ** 64 - 1)])
def test_numbers_that_are_used_up_are_no_lock(client, sql, kind, last):
    """The row is found by another key than that of its AUTO_INCREMENT, of which SQL then says that it is used up."""
    sql.run(f"CREATE TABLE told (id {kind} AUTO_INCREMENT PRIMARY KEY, k VARBINARY(20) UNIQUE NOT NULL, v INT)")
    sql.run(f"INSERT INTO told VALUES ({last}, 'a', 1)")
    for _ in range(2):
        answer = str(client.ask("HSET", "shop.told@k:z", "v", "1"))
        assert answer.startswith("CONSTRAINT") and "(1062)" in answer or "(167)" in answer, answer
    assert client.ask("HSET", "shop.told@k:a", "v", "2") == 0
    assert sql.rows("SELECT k, v FROM told") == [(b"a", b"2")]
