"""Kinds of tables that need care: periods, sequences, other engines, odd names, cascades."""

import pytest

from groups import APPLIED, group, required
from hs import OK, counted, generated, refused, reply

wrong = pytest.mark.bundled_wrong


@pytest.mark.mariadb("periods of tables")
@wrong(6)
def test_application_time_period_and_without_overlaps(sql, wr):
    sql.run("CREATE TABLE t (id INT, s DATE, e DATE, x INT, PERIOD FOR p (s, e), UNIQUE (id, p WITHOUT OVERLAPS),"
            " KEY kx (x))")
    index = wr("t", "kx", "id,s,e,x")
    assert index.insert(1, "2020-01-01", "2020-02-01", 1) == OK
    for values in ((1, "2020-01-15", "2020-03-01", 2), (1, "2020-05-01", "2020-03-01", 2), (1, None, "2020-03-01", 2)):
        number = sql.error("INSERT INTO t VALUES (%s, %s, %s, %s)", *values)
        assert index.insert(*values).number == {1062: 121}.get(number, number)
    assert index.update("=", [1], [1, "2020-01-01", "2019-01-01", 1]).number == 4025
    assert sql.rows("SELECT * FROM t") == [(b"1", b"2020-01-01", b"2020-02-01", b"1")]


@pytest.mark.mariadb("sequences")
@wrong(4)
def test_default_from_a_sequence_is_right_or_refused(sql, wr):
    sql.run("CREATE SEQUENCE s START WITH 100")
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT DEFAULT (NEXT VALUE FOR s))")
    answer = wr("t", "", "id").insert(1)
    rows = sql.rows("SELECT * FROM t")
    assert (answer, rows) in ((OK, [(b"1", b"100")]), (refused(1, "sequence"), []))
    sql.run("INSERT INTO t VALUES (9, 9)")
    assert wr("t", "", "id,x").update("=", [9], [9, 10]) == counted(1)
    assert sql.value("SELECT x FROM t WHERE id = 9") == b"10"


@pytest.mark.mariadb("in MySQL the library serves InnoDB alone")
@pytest.mark.parametrize("engine", ["MyISAM", "Aria"])
def test_auto_increment_within_a_group(sql, wr, engine):
    sql.run(f"CREATE TABLE t (g INT, id INT AUTO_INCREMENT, PRIMARY KEY (g, id)) ENGINE={engine}")
    index = wr("t", "", "g")
    assert [index.insert(group) for group in (1, 1, 2, 1, 2)] == list(map(generated, (1, 2, 1, 3, 2)))


@pytest.mark.mariadb("in MySQL the library serves InnoDB alone")
def test_memory_engine_and_its_hash_indexes(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT, KEY tree (x) USING BTREE, KEY hash (x) USING HASH)"
            " ENGINE=MEMORY")
    sql.run("INSERT INTO t VALUES (1, 5), (2, 6), (3, 5)")
    assert wr("t", "tree", "id").rows(">", [5], 9) == [(b"2",)]
    assert sorted(wr("t", "hash", "id").rows("=", [5], 9)) == [(b"1",), (b"3",)]


@pytest.mark.mariadb("in MySQL the library serves InnoDB alone")
@wrong(9)
def test_hash_index_refuses_ranges(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT, KEY hash (x) USING HASH) ENGINE=MEMORY")
    for op in (">", ">=", "<", "<="):
        assert wr("t", "hash", "id").find(op, [5], 9) == refused(2, "indexop")


@wrong(12)
def test_table_without_its_tablespace_answers_errors(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT)")
    index = wr("t", "", "id,x")
    assert index.insert(1, 1) == OK
    sql.run("SET lock_wait_timeout = 4")
    sql.run("ALTER TABLE t DISCARD TABLESPACE")
    for answer in (index.find("=", [1]), index.insert(2, 2), index.delete("=", [1])):
        assert answer.code == 1, answer
    assert wr("t", "", "x").client.request("?") == refused(2, "cmd")


@pytest.mark.mariadb("test_mysql_writes has the engines that are refused in MySQL")
@pytest.mark.ours
def test_an_engine_that_handler_cannot_read_is_refused(server, db, sql):
    """The children of an open MERGE table are not open: a read would follow null pointers."""
    columns = "(id INT NOT NULL, v INT, KEY (id))"
    for child in ("m1", "m2"):
        sql.run(f"CREATE TABLE {child} {columns} ENGINE=MyISAM")
        sql.run(f"INSERT INTO {child} VALUES (1, 1)")
    sql.run(f"CREATE TABLE t {columns} ENGINE=MERGE UNION=(m1, m2) INSERT_METHOD=LAST")
    assert sql.error("HANDLER t OPEN") == 1031
    for client in (server.hs_rd(), server.hs_wr()):
        for table in ("t", "seq_1_to_10"):
            assert client.open_index(0, db, table, "0") == refused(1, "tableengine"), table
        assert client.open_index(1, db, "m1", "id", "id,v") == OK
        assert client.find(1, "=", [1]) == reply(0, 2, 1, 1)


def test_names_of_every_kind(sql, wr):
    table, key = "ü" * 64, "k" * 64
    sql.run(f"CREATE TABLE `{table}` (`{table}` INT PRIMARY KEY, `a.b/c` INT, KEY `{key}` (`a.b/c`))")
    assert wr(table, "", f"{table},a.b/c").insert(1, 2) == OK
    assert wr(table, key, "a.b/c").rows("=", [2]) == [(b"2",)]


@pytest.mark.bundled_wrong(9, some=True)
@pytest.mark.parametrize("table", ["a.b", "c/d", "e\\f", "~g"])
def test_names_that_have_characters_of_a_path(server, db, sql, wr, rd, table):
    sql.run(f"CREATE TABLE `{table}` (id INT PRIMARY KEY, v INT)")
    assert wr(table, "", "id,v").insert(1, 2) == OK
    assert rd(table, "", "id,v").rows("=", [1]) == sql.rows(f"SELECT * FROM `{table}`")
    for name in ("../t", "./t", "d/../t", "t/", "/etc/passwd"):
        assert server.hs_rd().open_index(0, db, name, "", "id").code != 0, name


def test_full_text_index_follows_writes(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x TEXT, FULLTEXT (x))")
    index = wr("t", "", "id,x")
    assert index.insert(1, "hello world") == OK and index.insert(2, "more words") == OK
    assert index.update("=", [1], [1, "other words"]) == counted(1)
    assert index.delete("=", [2]) == counted(1)
    assert sql.rows("SELECT id FROM t WHERE MATCH (x) AGAINST ('words')") == [(b"1",)]
    assert sql.rows("SELECT id FROM t WHERE MATCH (x) AGAINST ('hello')") == []
    assert sql.rows("CHECK TABLE t EXTENDED")[-1][-1] == b"OK"


@pytest.mark.mariadb("system versioning")
def test_cascade_to_a_versioned_table_keeps_history(sql, wr):
    sql.run("CREATE TABLE p (id INT PRIMARY KEY)")
    sql.run("CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE"
            " ON UPDATE CASCADE) WITH SYSTEM VERSIONING")
    sql.run("INSERT INTO p VALUES (1), (2)")
    sql.run("INSERT INTO c VALUES (1, 1), (2, 2)")
    index = wr("p", "", "id")
    answers = [index.update("=", [2], [3]), index.delete("=", [1])]
    history = sql.rows("SELECT id, p, row_end > NOW(6) FROM c FOR SYSTEM_TIME ALL ORDER BY id, row_end")
    if answers == [counted(1)] * 2:
        assert history == [(b"1", b"1", b"0"), (b"2", b"2", b"0"), (b"2", b"3", b"1")]
    else:
        assert answers == [refused(1, "versioned")] * 2
        assert history == [(b"1", b"1", b"1"), (b"2", b"2", b"1")]


@pytest.mark.mariadb("system versioning")
@pytest.mark.ours
def test_finds_in_a_versioned_table_are_by_its_keys_as_sql_shows_them(sql, rd):
    """The server puts the end of each row's time behind the columns of a unique key."""
    sql.run("CREATE TABLE t (id INT, n INT, x TEXT, PRIMARY KEY (id), UNIQUE KEY u (n), UNIQUE KEY h (x))"
            " WITH SYSTEM VERSIONING")
    sql.run("INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, NULL, 'c')")
    for _ in range(5):
        sql.run("UPDATE t SET n = n + 1")
    sql.run("DELETE FROM t WHERE id = 2")
    for name, column, values in (("PRIMARY", "id", (1, 2, 3)), ("u", "n", (10, 15, 20, 25)), ("h", "x", ("a", "b", "c"))):
        index = rd("t", name, "id,n,x")
        for value in values:
            assert index.rows("=", [value], limit=10) == sql.rows(f"SELECT * FROM t WHERE {column} = %s", value)
            assert index.find("=", [value, "2038-01-19 03:14:07.999999"]) == refused(2, "kpnum")
    assert rd("t", "", "id,n").rows(">=", [0], limit=10) == sql.rows("SELECT id, n FROM t ORDER BY id")
    assert rd("t", "u", "id,n").rows(">", [0], limit=10) == sql.rows("SELECT id, n FROM t WHERE n > 0 ORDER BY n")


@pytest.mark.mariadb("system versioning")
def test_a_history_partition_that_is_due_is_left_to_sql(sql, wr):
    """Opened to be written to, the table would be marked as one whose partition is being added, for which each
    statement of SQL's waits."""
    sql.run("CREATE TABLE other (id INT PRIMARY KEY, v INT)")
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING PARTITION BY SYSTEM_TIME INTERVAL 1 YEAR"
            " STARTS '2024-01-01 00:00:00' AUTO PARTITIONS 2")
    sql.run("INSERT INTO other VALUES (1, 1)")
    sql.run("INSERT INTO t VALUES (1, 1)")
    other, index = wr("other", "", "v"), wr("t", "", "v")
    for _ in range(3):
        assert other.update("=", [1], [5]) == counted(1)
        assert index.update("=", [1], [5]) == refused(1, "versioned")
        answer, answers = group(other.client, [required(other, "=", 1, 1, 1, 0, "U", 6), required(index, "=", 1, 1)])
        assert answer == APPLIED and answers[1].cells == (b"1",)
    defined = sql.row("SHOW CREATE TABLE t")[1]
    assert defined.endswith(b"PARTITIONS 2"), defined
    sql.run("SET max_statement_time = 20")
    assert sql.run("UPDATE t SET v = 7") == 1
    sql.run("SET max_statement_time = DEFAULT")


def test_self_referencing_cascade(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES t (id) ON DELETE CASCADE)")
    sql.run("INSERT INTO t VALUES (1, NULL), (2, 1), (3, 2), (4, NULL)")
    assert wr("t", "", "id").delete("=", [1]) == counted(1)
    assert sql.rows("SELECT id FROM t") == [(b"4",)]


@pytest.mark.mariadb("SQL itself leaves the last row of such a circle as it was in MySQL")
def test_cascade_that_leads_back_to_a_table_with_an_indexed_virtual_column(sql, wr):
    """InnoDB searches for the table among those that were opened for cascades, and ends the server if the
    table is missing."""
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, p INT, v INT AS (p + 1) VIRTUAL, KEY (p), KEY (v),"
            " FOREIGN KEY (p) REFERENCES t (id) ON DELETE SET NULL)")
    sql.run("INSERT INTO t (id, p) VALUES (1, NULL), (2, 1)")
    assert wr("t", "", "id").delete("=", [1]) == counted(1)
    assert sql.rows("SELECT * FROM t FORCE INDEX (v)") == [(b"2", None, None)]
    sql.run("CREATE TABLE a (id INT PRIMARY KEY, b INT, v INT AS (b + 1) VIRTUAL, KEY (b), KEY (v))")
    sql.run("CREATE TABLE b (id INT PRIMARY KEY, a INT,"
            " FOREIGN KEY (a) REFERENCES a (id) ON DELETE CASCADE)")
    sql.run("INSERT INTO a (id, b) VALUES (1, NULL), (2, 5)")
    sql.run("INSERT INTO b VALUES (5, 1)")
    sql.run("ALTER TABLE a ADD FOREIGN KEY (b) REFERENCES b (id) ON DELETE SET NULL")
    assert wr("a", "", "id").delete("=", [1]) == counted(1)
    assert sql.rows("SELECT * FROM a FORCE INDEX (v)") == [(b"2", None, None)]
    assert sql.value("SELECT COUNT(*) FROM b") == b"0"


def test_auto_increment_follows_the_server_settings(sql, make_server):
    server = make_server(options=["--auto-increment-increment=5", "--auto-increment-offset=3"])
    admin = server.sql()
    admin.run("CREATE DATABASE a")
    admin.run("CREATE TABLE a.t (id INT PRIMARY KEY AUTO_INCREMENT, x INT)")
    index = server.hs_wr().opened("a", "t", "", "x")
    assert [index.insert(number) for number in range(3)] == list(map(generated, (3, 8, 13)))


def test_column_named_twice(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT)")
    sql.run("INSERT INTO t VALUES (1, 2)")
    assert wr("t", "", "id,x,x").find("=", [1]) == reply(0, 3, 1, 2, 2)


@wrong(22)
def test_partitions_are_chosen_by_every_kind_of_key(sql, wr, rd):
    sql.run("CREATE TABLE t (a INT, b VARCHAR(9), x INT, PRIMARY KEY (a, b), KEY kx (x)) PARTITION BY LIST COLUMNS (b)"
            " (PARTITION p VALUES IN ('a', 'b'), PARTITION q VALUES IN ('c', 'd'))")
    index = wr("t", "", "a,b,x")
    for number, text in enumerate("abcd"):
        assert index.insert(1, text, number) == OK
    assert index.insert(1, "z", 1).code == 1
    assert index.update("=", [1, "a"], [1, "d", 9]) == refused(1, 121)
    assert index.update("=", [1, "a"], [2, "d", 9]) == counted(1)
    assert rd("t", "kx", "a,b").rows("=", [9], 9) == [(b"2", b"d")]
    assert sorted(rd("t", "", "a,b").rows("=", [1], 9)) == [(b"1", b"b"), (b"1", b"c"), (b"1", b"d")]
