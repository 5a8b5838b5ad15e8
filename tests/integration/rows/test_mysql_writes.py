"""In MySQL: a write leaves the row that SQL's statement would have left, and refuses what is not served."""

import struct

import pymysql
import pytest

import hs
from groups import APPLIED, group, required
import mc

pytestmark = [pytest.mark.again_in("mysql-9.7"), pytest.mark.mysql("MySQL's own columns, indexes and refusals"),
              pytest.mark.sanitized("mysql")]

# What the server puts into a row by itself: (columns, and the values that a request gives to a and b).
TABLES = {
    "expressions": "d VARCHAR(40) DEFAULT (CONCAT('d', a)), e JSON DEFAULT (JSON_ARRAY(a, b)), f TEXT DEFAULT ('f')",
    "generated": "g INT AS (a + 1) STORED, v VARCHAR(60) AS (CONCAT(b, g)) VIRTUAL, KEY (v), KEY (g)",
    "functional": "KEY f ((a * 2)), UNIQUE KEY u ((CONCAT(b, a)))",
    "invisible": "i INT DEFAULT 5 INVISIBLE, j VARCHAR(9) DEFAULT (a) INVISIBLE, KEY (i)",
    "check": "CHECK (a < 100), c INT DEFAULT (a) CHECK (c > -50)",
    "spatial": "p POINT NOT NULL DEFAULT (POINT(a, 1)) SRID 0, SPATIAL KEY (p)",
    "full text": "FULLTEXT KEY (b)",
    "binary": "x VARBINARY(20) DEFAULT (UNHEX(HEX(b))), w VECTOR(2) DEFAULT (TO_VECTOR('[1,2]'))",
    "descending": "KEY (a DESC, b), UNIQUE KEY (b, id DESC)",
}
WORK = (
    ("INSERT INTO theirs (id, a, b) VALUES (%s, %s, %s)", lambda i, *row: i.insert(*row)),
    ("UPDATE theirs SET id = %s, a = %s, b = %s WHERE id = 1", lambda i, *row: i.update("=", [1], row)),
)
ROWS = ((1, 1, "one"), (2, 2, "zwei"), (3, -7, "three"), (4, 500, "four"), (5, -60, "five"), (2, 9, "again"),
        (6, None, None), (7, "x", "y"), (8, 3, "b" * 31), (9, 2**31, "big"))


def number_of(error):
    return 121 if error in (1062, 1586) else error


@pytest.mark.parametrize("kind", TABLES)
def test_the_server_completes_a_row_as_for_sql(sql, wr, kind):
    for table in ("ours", "theirs"):
        sql.run(f"CREATE TABLE {table} (id INT PRIMARY KEY, a INT, b VARCHAR(30), {TABLES[kind]})")
    index = wr("ours", "", "id,a,b")
    taken = 0
    for statement, request in WORK:
        for row in ROWS:
            try:
                sql.run(statement, *row)
                assert request(index, *row).code == 0, row
                taken += 1
            except pymysql.MySQLError as error:
                assert request(index, *row) == hs.refused(1, number_of(error.args[0])), row
    assert taken > 6
    for number in (2, 3):
        sql.run("UPDATE theirs SET a = a + 3 WHERE id = %s", number)
        assert wr("ours", "", "a").modify("=", [number], ["+", 3]) == hs.counted(1)
    names = [name for name, in sql.rows("SELECT column_name FROM information_schema.columns WHERE table_name = 'ours'"
                                        " AND table_schema = DATABASE() AND column_name NOT LIKE '!%'")]
    columns = ", ".join(f"HEX(`{name.decode()}`)" for name in names)
    assert sql.rows(f"SELECT {columns} FROM ours ORDER BY id") == sql.rows(f"SELECT {columns} FROM theirs ORDER BY id")
    assert sql.rows("CHECK TABLE ours EXTENDED")[-1][-1] == b"OK"
    sql.run("DELETE FROM theirs WHERE id >= 2")
    assert index.delete(">=", [2], 100).code == 0
    assert sql.rows(f"SELECT {columns} FROM ours") == sql.rows(f"SELECT {columns} FROM theirs")


def test_times_that_the_server_sets(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, n INT, made TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(6),"
            " seen DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6))")
    index = wr("t", "", "id,n")
    before = sql.value("SELECT NOW(6)")
    assert index.insert(1, 1) == hs.OK
    made, seen = sql.row("SELECT made, seen FROM t")
    assert before < made == seen < sql.value("SELECT NOW(6)")
    assert index.update("=", [1], [1, 1]) == hs.counted(1)  # nothing changes
    assert sql.row("SELECT made, seen FROM t") == (made, seen)
    assert index.update("=", [1], [1, 2]) == hs.counted(1)
    assert sql.value("SELECT made = %s AND seen > %s FROM t", made, seen) == b"1"


def test_a_multi_valued_index_follows_its_column(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, j JSON, KEY m ((CAST(j->'$.z' AS UNSIGNED ARRAY))))")
    index = wr("t", "", "id,j")
    assert index.insert(1, '{"z": [1, 2]}') == hs.OK
    assert index.insert(2, '{"z": [2, 3]}') == hs.OK
    assert index.insert(3, "no json") == hs.refused(1, 3140)
    assert index.update("=", [1], [1, '{"z": [7]}']) == hs.counted(1)
    with_two = "SELECT id FROM t FORCE INDEX (m) WHERE %s MEMBER OF (j->'$.z')"
    assert [sql.rows(with_two, one) for one in (1, 2, 7)] == [[], [(b"2",)], [(b"1",)]]
    assert sql.rows("CHECK TABLE t EXTENDED")[-1][-1] == b"OK"


def test_a_vector_is_its_packed_floats(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, w VECTOR(2))")
    index = wr("t", "", "id,w")
    one, other = struct.pack("<2f", 1.5, -2), struct.pack("<2f", 3, 4)
    assert index.insert(1, one) == hs.OK and index.insert(2, None) == hs.OK
    assert index.update("=", [2], [2, other]) == hs.counted(1)
    for wrong in (b"", b"[1,2]", one + other + one, struct.pack("<2f", float("inf"), 0)):
        assert index.insert(3, wrong).code == 1, wrong
    assert sql.rows("SELECT id, HEX(w) FROM t") == [(b"1", one.hex().upper().encode()),
                                                   (b"2", other.hex().upper().encode())]
    assert index.rows("=", [1]) == [(b"1", one)]


def test_a_generated_invisible_primary_key(sql, wr):
    sql.run("SET sql_generate_invisible_primary_key = ON")
    sql.run("CREATE TABLE t (a INT, b VARCHAR(9), KEY ka (a))")
    index = wr("t", "ka", "a,b")
    assert [index.insert(7, one).code for one in "xyz"] == [0, 0, 0]
    assert index.modify("=", [7], ["U", 7, "same"], limit=2) == hs.counted(2)
    assert sql.rows("SELECT my_row_id, a, b FROM t") == [(b"1", b"7", b"same"), (b"2", b"7", b"same"), (b"3", b"7", b"z")]


def test_a_value_for_a_generated_column_is_refused_by_its_number(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, g INT AS (id) STORED, v INT AS (id) VIRTUAL)")
    for column in ("g", "v"):
        index = wr("t", "", f"id,{column}")
        for value in (1, None):
            assert index.insert(1, value) == hs.refused(1, 3105)
    assert wr("t", "", "id").insert(1) == hs.OK
    assert wr("t", "", "g").modify("=", [1], ["+", 1]) == hs.refused(1, 3105)
    assert sql.rows("SELECT * FROM t") == [(b"1", b"1", b"1")]


def test_what_is_not_served_is_refused(sql, hs_wr, db):
    sql.run("CREATE TABLE m (id INT PRIMARY KEY) ENGINE=MyISAM")
    assert hs_wr.open_index(1, db, "m", "", "id").error == "unserved"
    sql.run("SET foreign_key_checks = 0")
    sql.run("CREATE TABLE c (id INT PRIMARY KEY, n INT, FOREIGN KEY (id) REFERENCES missing (id))")
    assert hs_wr.open_index(1, db, "c", "", "id,n") == hs.OK
    assert hs_wr.insert(1, [1, 1]).error == "unserved"


def test_triggers_are_not_run_and_their_writes_refused(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, n INT)")
    sql.run("CREATE TABLE c (id INT PRIMARY KEY, t INT, FOREIGN KEY (t) REFERENCES t (id) ON DELETE CASCADE)")
    sql.run("CREATE TRIGGER on_insert BEFORE INSERT ON t FOR EACH ROW SET NEW.n = 0")
    index = wr("t", "", "id,n")
    assert index.insert(1, 1).error == "trigger"
    sql.run("DROP TRIGGER on_insert")
    assert index.insert(1, 1) == hs.OK
    sql.run("INSERT INTO c VALUES (1, 1)")
    sql.run("CREATE TRIGGER of_child BEFORE DELETE ON c FOR EACH ROW SET @x = 1")
    assert index.delete("=", [1]).error == "trigger"
    assert index.update("=", [1], [1, 5]) == hs.counted(1), "an update reaches no row of the child"
    assert index.insert(2, 2) == hs.OK  # No row of the child changes.
    sql.run("CREATE TABLE other (id INT PRIMARY KEY)")
    other = wr("other", "", "id")
    assert index.client is other.client
    finds = group(index.client, [required(index, "=", 1, 1), required(other, "+", 1, 7)])
    assert finds[0] == APPLIED, "a find runs no cascade"
    sql.run("DROP TRIGGER of_child")
    assert index.delete("=", [1]) == hs.counted(1)
    assert sql.rows("SELECT * FROM c") == []


@pytest.mark.parametrize("variable", ["read_only", "super_read_only"])
def test_a_server_that_is_read_only(server, sql, wr, variable):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY)")
    index = wr("t", "", "id")
    assert index.insert(1) == hs.OK
    try:
        sql.run(f"SET GLOBAL {variable} = 1")
        assert index.insert(2).error == "lock_tables"
        assert index.rows("=", [1]) == [(b"1",)]
    finally:
        sql.run("SET GLOBAL super_read_only = 0")
        sql.run("SET GLOBAL read_only = 0")
    assert index.insert(2) == hs.OK


def test_a_server_that_is_offline(server, sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, n INT)")
    index = wr("t", "", "id,n")
    client = index.client
    stored = mc.connect(server)
    assert index.insert(1, 1) == hs.OK and stored.set("kept", b"x") == b"STORED"
    sql.run("SET GLOBAL offline_mode = 1")
    try:
        for reply in (index.insert(2, 2), index.find("=", [1]), index.modify("=", [1], ["+", 0])):
            assert reply == hs.refused(1, "offline")
        assert [client.request("H", asked) for asked in ("read", "write")] == [hs.refused(1, "unavailable")] * 2
        refusal = b"SERVER_ERROR the server is offline (offline_mode)"
        assert stored.get("kept") == stored.set("kept", b"y") == refusal
    finally:
        sql.run("SET GLOBAL offline_mode = 0")
    assert index.rows("=", [1]) == [(b"1", b"1")]
    assert client.request("H", "write") == hs.OK
    assert stored.value("kept") == b"x"
    assert sql.rows("SELECT * FROM t") == [(b"1", b"1")]


def test_a_schema_that_is_read_only(sql, wr, db):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY)")
    index = wr("t", "", "id")
    assert index.insert(1) == hs.OK
    sql.run(f"ALTER SCHEMA {db} READ ONLY = 1")
    try:
        assert index.insert(2).error == "lock_tables"
        assert index.rows("=", [1]) == [(b"1",)]
    finally:
        sql.run(f"ALTER SCHEMA {db} READ ONLY = 0")
    assert index.insert(2) == hs.OK


def test_expressions_follow_sql_mode_from_the_first_request_on(sql, wr):
    """The server resolves an expression when it opens the table, and MySQL's table cache keeps it so."""
    saved = sql.value("SELECT @@GLOBAL.sql_mode").decode()
    try:
        for number, mode in enumerate(["NO_UNSIGNED_SUBTRACTION", ""] * 3):
            sql.run(f"SET GLOBAL sql_mode = '{mode}'")
            sql.run(f"CREATE TABLE t{number} (id INT PRIMARY KEY, n INT UNSIGNED, v INT AS (n - 1) STORED)")
            inserted = wr(f"t{number}", "", "id,n").insert(1, 0)
            assert inserted == (hs.OK if mode else hs.refused(1, 1690)), (number, mode)
            assert sql.rows(f"SELECT v FROM t{number}") == ([(b"-1",)] if mode else [])
    finally:
        sql.run(f"SET GLOBAL sql_mode = '{saved}'")


@pytest.fixture
def cascading(make_server):
    """(SQL, a writing connection) of a server whose cascades run triggers."""
    server = make_server(options=["--enable-cascade-triggers=ON"])
    sql = server.sql()
    sql.run("CREATE DATABASE k")
    sql.run("USE k")
    return sql, server.hs_wr()


def test_a_delete_that_sets_null_in_its_own_table_runs_no_trigger(cascading):
    sql, client = cascading
    sql.run("CREATE TABLE log (x INT)")
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES t (id) ON DELETE SET NULL)")
    sql.run("INSERT INTO t VALUES (1, NULL), (2, 1)")
    assert client.open_index(0, "k", "t", "", "id") == hs.OK
    sql.run("CREATE TRIGGER u AFTER UPDATE ON t FOR EACH ROW INSERT INTO log VALUES (1)")
    assert client.request(0, "=", 1, 1, 1, 0, "D").error == "trigger"
    sql.run("DROP TRIGGER u")
    assert client.request(0, "=", 1, 1, 1, 0, "D") == hs.counted(1)
    assert sql.rows("SELECT * FROM t") == [(b"2", None)] and sql.rows("SELECT * FROM log") == []


# Of a parent p, its child c and the child's child g: the rules of c and of g, the table and the statement of the
# trigger, and the writes to p that may run it.
REACHED = (
    ("ON DELETE CASCADE", "", "c", "DELETE", {"delete"}),
    ("ON DELETE CASCADE", "", "c", "UPDATE", set()),
    ("ON DELETE CASCADE", "", "c", "INSERT", set()),
    ("ON DELETE SET NULL", "", "c", "UPDATE", {"delete"}),
    ("ON DELETE SET NULL", "", "c", "DELETE", set()),
    ("ON UPDATE CASCADE", "", "c", "UPDATE", {"key"}),
    ("ON UPDATE SET NULL", "", "c", "UPDATE", {"key"}),
    ("ON UPDATE CASCADE", "", "c", "DELETE", set()),
    ("ON UPDATE CASCADE ON DELETE SET NULL", "", "c", "UPDATE", {"key", "delete"}),
    ("", "ON UPDATE CASCADE ON DELETE CASCADE", "g", "UPDATE", set()),
    ("ON UPDATE CASCADE", "ON UPDATE CASCADE", "g", "UPDATE", {"key"}),
    ("ON UPDATE CASCADE", "ON DELETE CASCADE", "g", "DELETE", set()),
    ("ON DELETE CASCADE", "ON DELETE CASCADE", "g", "DELETE", {"delete"}),
    ("ON DELETE CASCADE", "ON DELETE SET NULL", "g", "UPDATE", {"delete"}),
    ("ON DELETE SET NULL", "ON UPDATE SET NULL", "g", "UPDATE", {"delete"}),
    ("ON DELETE SET NULL", "ON DELETE CASCADE", "g", "DELETE", set()),
)
WRITES = {"number": "UPDATE p SET n = n + 1 WHERE id = 1", "key": "UPDATE p SET id = 9 WHERE id = 1",
          "delete": "DELETE FROM p WHERE id = 1"}


def test_a_write_is_refused_where_its_cascades_may_run_a_trigger(cascading):
    sql, client = cascading
    sql.run("CREATE TABLE log (x INT)")
    for of_child, of_grandchild, table, event, refused in REACHED:
        for write, statement in WRITES.items():
            what = (of_child, of_grandchild, table, event, write)
            sql.run("DROP TABLE IF EXISTS g, c, p")
            sql.run("CREATE TABLE p (id INT PRIMARY KEY, n INT)")
            sql.run(f"CREATE TABLE c (id INT PRIMARY KEY, p INT UNIQUE, FOREIGN KEY (p) REFERENCES p (id) {of_child})")
            sql.run(f"CREATE TABLE g (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES c (p) {of_grandchild})")
            for row in ("p VALUES (1, 5)", "c VALUES (1, 1)", "g VALUES (1, 1)")[:3 if of_grandchild else 2]:
                sql.run(f"INSERT INTO {row}")
            sql.run(f"CREATE TRIGGER t AFTER {event} ON {table} FOR EACH ROW INSERT INTO log VALUES (1)")
            assert client.open_index(0, "k", "p", "", "n") == hs.OK and client.open_index(1, "k", "p", "", "id") == hs.OK
            answer = {"number": lambda: client.request(0, "=", 1, 1, 1, 0, "+", 1),
                      "key": lambda: client.request(1, "=", 1, 1, 1, 0, "U", 9),
                      "delete": lambda: client.request(0, "=", 1, 1, 1, 0, "D")}[write]()
            assert (answer == hs.refused(1, "trigger")) == (write in refused), (what, answer)
            assert sql.rows("SELECT * FROM log") == [], what
            if write in refused:
                sql.run(statement)
                assert sql.rows("SELECT COUNT(*) FROM log") == [(b"1",)], (what, "SQL runs it")
                sql.run("DELETE FROM log")


def test_cascades_around_a_circle_are_looked_at_once(cascading):
    sql, client = cascading
    sql.run("CREATE TABLE a (id INT PRIMARY KEY, o INT)")
    sql.run("CREATE TABLE b (id INT PRIMARY KEY, o INT, FOREIGN KEY (o) REFERENCES a (id) ON DELETE CASCADE)")
    sql.run("ALTER TABLE a ADD FOREIGN KEY (o) REFERENCES b (id) ON DELETE CASCADE")
    sql.run("INSERT INTO a VALUES (1, NULL)")
    sql.run("CREATE TRIGGER t BEFORE UPDATE ON b FOR EACH ROW SET @x = 1")
    assert client.open_index(0, "k", "a", "", "o") == hs.OK
    assert client.request(0, "=", 1, 1, 1, 0, "D") == hs.counted(1)


def test_a_parent_is_written_to_after_its_child(cascading):
    """A table that an earlier statement has used is not one that a statement uses now."""
    sql, client = cascading
    sql.run("CREATE TABLE p (id INT PRIMARY KEY, n INT)")
    sql.run("CREATE TABLE c (id INT PRIMARY KEY, p INT, n INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE)")
    sql.run("INSERT INTO p VALUES (1, 0), (2, 0)")
    sql.run("INSERT INTO c VALUES (1, 1, 0), (2, 2, 0)")
    assert client.open_index(0, "k", "c", "", "id,n") == hs.OK and client.open_index(1, "k", "p", "", "id,n") == hs.OK
    change = [hs.find_words(index, "=", [1], 1, 0, mod=["U", 1, 5]) for index in (0, 1)]
    assert client.pipeline(change * 3) == [hs.counted(1)] * 6
    assert client.request(1, "=", 1, 2, 1, 0, "D") == hs.counted(1)
    assert sql.rows("SELECT * FROM p") == [(b"1", b"5")] and sql.rows("SELECT * FROM c") == [(b"1", b"1", b"5")]


@pytest.mark.parametrize("locked", [1, 2, 3])
def test_a_cascade_of_a_cascade_that_waits_too_long_changes_nothing(make_server, locked):
    """The server's own functions do not report such a wait, unless it is for the first row of the last table."""
    server = make_server(options=["--innodb-lock-wait-timeout=1"])
    sql, holder = server.sql(), server.sql()
    sql.run("CREATE DATABASE k")
    sql.run("USE k")
    sql.run("CREATE TABLE a (id INT PRIMARY KEY)")
    for child, parent in (("b", "a"), ("c", "b")):
        sql.run(f"CREATE TABLE {child} (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES {parent} (id) ON DELETE CASCADE)")
    rows = {"a": [(b"1",)], "b": [(b"1", b"1")], "c": [(b"1", b"1"), (b"2", b"1"), (b"3", b"1")]}
    sql.run("INSERT INTO a VALUES (1)")
    sql.run("INSERT INTO b VALUES (1, 1)")
    sql.run("INSERT INTO c VALUES (1, 1), (2, 1), (3, 1)")
    client = server.hs_wr()
    assert client.open_index(0, "k", "a", "", "id") == hs.OK
    holder.run("BEGIN")
    holder.run(f"SELECT id FROM k.c WHERE id = {locked} FOR UPDATE")
    assert client.request(0, "=", 1, 1, 1, 0, "D") == hs.refused(1, 146)
    holder.run("ROLLBACK")
    assert {table: sql.rows(f"SELECT * FROM {table} ORDER BY id") for table in rows} == rows
    assert client.request(0, "=", 1, 1, 1, 0, "D") == hs.counted(1)
    assert [sql.rows(f"SELECT * FROM {table}") for table in rows] == [[]] * 3
