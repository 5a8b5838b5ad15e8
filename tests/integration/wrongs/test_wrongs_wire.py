"""Rows 1 to 3 and 12 to 20 of docs/WRONGS.md, as seen on the wire. (test_deadlock, test_replica, test_ddl and
test_locks test more of rows 1, 2, 12 and 13.)"""

import socket
import time

import pytest

from hs import OK, counted, line, refused, reply
from server import is_mysql, wait_until

pytestmark = pytest.mark.again_in("mariadb-11.8")

wrong = pytest.mark.bundled_wrong


@pytest.fixture
def table(sql):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x VARCHAR(20), KEY(x))")
    sql.run("INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three'), (4, '')")


def waiting_for_a_row(sql):
    return sql.status("Innodb_row_lock_current_waits")


# Row 1.

@wrong(1)
def test_success_is_answered_only_for_what_is_committed(server, db, sql, wr):
    sql.run("CREATE TABLE d (id INT PRIMARY KEY, h INT, s INT)")
    sql.run("INSERT INTO d VALUES (1, 0, 0), (2, 0, 0), (3, 0, 0)")
    sql.run("CREATE TABLE heavy (id INT PRIMARY KEY)")
    index, other = wr("d", "", "h"), server.sql(db)
    other.run("BEGIN")
    other.run("INSERT INTO heavy SELECT seq FROM seq_1_to_500")
    other.run("UPDATE d SET s = 1 WHERE id = 2")
    index.client.send_raw(b"".join(line(index.id, "=", 1, number, 1, 0, "U", 7) for number in (1, 2, 3)))
    wait_until(lambda: waiting_for_a_row(sql), what="a request waits for row 2")
    other.run("UPDATE d SET s = 1 WHERE id = 1")
    other.run("COMMIT")
    answers = [index.client.recv() for _ in range(3)]
    rows = sql.rows("SELECT h FROM d ORDER BY id")
    assert [(answer == counted(1)) for answer in answers] == [row == (b"7",) for row in rows]
    assert answers == [counted(1)] * 3


# Row 2.

@wrong(2)
@pytest.mark.parametrize("format", ["ROW", "MIXED", "STATEMENT"])
def test_writes_are_in_the_binary_log_as_rows(make_server, format):
    gtids = ["--gtid-mode=ON", "--enforce-gtid-consistency=ON"] if is_mysql() else []
    server = make_server(options=["--log-bin", "--server-id=1", f"--binlog-format={format}", *gtids])
    sql = server.sql()
    sql.run("CREATE DATABASE b")
    sql.run("CREATE TABLE b.t (id INT PRIMARY KEY, x INT)")
    start = sql.rows("SHOW BINARY LOG STATUS" if is_mysql() else "SHOW MASTER STATUS")[0]
    position = "SELECT @@GLOBAL.gtid_executed" if is_mysql() else "SELECT @@gtid_binlog_pos"
    before = sql.value(position)
    index = server.hs_wr().opened("b", "t", "", "id,x")
    assert index.insert(1, 1) == OK
    assert index.update("=", [1], [1, 2]) == counted(1)
    assert index.delete("=", [1]) == counted(1)
    events = [row[2].decode() for row in sql.rows(
        "SHOW BINLOG EVENTS IN %s FROM " + start[1].decode(), start[0].decode())]
    rows = [name for name in events if "rows" in name.lower()]
    assert [name.split("_rows")[0].lower() for name in rows] == ["write", "update", "delete"], events
    # In MySQL a BEGIN stands before the rows of each transaction.
    assert events.count("Query") == (3 if is_mysql() else 0) and "Xid" in events and "Gtid" in events
    assert sql.value(position) != before


# Row 3.

@wrong(3, some=True)
@pytest.mark.parametrize("first", ["Q", "/", "Quit", "/x", "Q\t1", "\x02", "p"])
def test_no_first_byte_stops_or_closes_anything(table, server, db, rd, first):
    client = server.hs_rd()
    assert client.request_raw(first.encode()) == refused(2, "cmd")
    assert client.open_index(0, db, "t", "", "x") == OK
    assert server.hs_wr().request_raw(b"Q") == refused(2, "cmd")
    assert rd("t", "", "x").rows("=", [1]) == [(b"one",)]
    assert server.hs_rd().open_index(0, db, "t", "", "x") == OK


@wrong(3)
def test_views_and_sequences_are_refused_by_name(sql, table, db, hs_rd, hs_wr):
    sql.run("CREATE VIEW v AS SELECT * FROM t")
    if not is_mysql():
        sql.run("CREATE SEQUENCE s")
    for client in (hs_rd, hs_wr):
        assert client.open_index(0, db, "v", "", "x") == refused(1, "view")
        if not is_mysql():
            assert client.open_index(0, db, "s", "", "next_not_cached_value") == refused(1, "sequence")
        assert client.open_index(0, db, "t", "", "x") == OK


@wrong(3, some=True)
@pytest.mark.parametrize("schema,name", [
    ("mysql", "global_priv"), ("mysql", "user"), ("information_schema", "TABLES"),
    ("performance_schema", "threads"), ("sys", "sys_config"), ("INFORMATION_SCHEMA", "tables"),
    ("mysql", "innodb_table_stats"), ("performance_schema", "setup_actors")])
def test_tables_of_the_server_are_refused(server, hs_rd, hs_wr, schema, name):
    for client in (hs_rd, hs_wr):
        answer = client.open_index(0, schema, name, "0", "")
        assert answer in (refused(1, "systemtable"), refused(1, "open_table"), refused(1, "view")), answer
    if schema == "mysql":
        assert hs_rd.open_index(0, schema, name, "0", "") in (refused(1, "systemtable"), refused(1, "view"))


@wrong(3, some=True)
@pytest.mark.parametrize("count", ["4294967295", "4294967296", "18446744073709551615", "1000000000", "99999"])
def test_huge_key_count(table, db, rd, count):
    index = rd("t", "", "x")
    for request in (b"0\t=\t%s\t1", b"0\t+\t%s\t1", b"0\t=\t1\t1\t1\t0\t@\t0\t%s\t1"):
        answer = index.client.request_raw(request % count.encode())
        assert answer.code == 2, answer
    assert index.rows("=", [1]) == [(b"one",)]


@wrong(3)
@pytest.mark.parametrize("number", ["4294967295", "4294967296", "18446744073709551615", "99999999"])
def test_huge_index_id(table, db, rd, number):
    index = rd("t", "", "x")
    assert index.client.open_index(number, db, "t", "", "x") == refused(2, "stmtnum")
    assert index.client.find(number, "=", [1]) == refused(2, "stmtnum")
    assert index.rows("=", [1]) == [(b"one",)]


@wrong(3)
def test_index_that_cannot_be_read_by_key_is_refused(sql, hs_rd, db):
    sql.run("CREATE TABLE f (id INT PRIMARY KEY, t TEXT, g GEOMETRY NOT NULL, FULLTEXT ft (t), SPATIAL sp (g))"
            f" ENGINE={'InnoDB' if is_mysql() else 'MyISAM'}")
    assert hs_rd.open_index(0, db, "f", "ft", "id") == refused(2, "idxnum")
    assert hs_rd.open_index(0, db, "f", "sp", "id") == refused(2, "idxnum")
    assert hs_rd.open_index(0, db, "f", "", "id,t") == OK


# Row 12.

@wrong(12)
@pytest.mark.parametrize("statement", [
    "ALTER TABLE t ADD COLUMN y INT", "TRUNCATE TABLE t", "RENAME TABLE t TO u", "DROP TABLE t",
    "FLUSH TABLES WITH READ LOCK", "SET GLOBAL read_only = 1", "LOCK TABLE t WRITE", "OPTIMIZE TABLE t",
    "CREATE INDEX k ON t (x, id)", "FLUSH TABLES t"])
def test_idle_connection_blocks_no_statement(table, server, db, sql, rd, wr, statement):
    reader, writer = rd("t", "", "x"), wr("t", "", "id,x")
    assert reader.rows("=", [1]) == [(b"one",)] and writer.insert(9, "nine") == OK
    admin = server.sql(db)
    try:
        admin.run("SET lock_wait_timeout = 4")
        assert b"error" not in [row[2].lower() for row in admin.rows(statement)]
    finally:
        admin.run("UNLOCK TABLES")
        admin.run("SET GLOBAL read_only = 0")


@wrong(12)
def test_ids_stay_across_a_change_of_the_table(table, sql, rd, wr):
    reader, writer = rd("t", "", "x"), wr("t", "", "id,x")
    assert writer.insert(9, "nine") == OK
    sql.run("SET lock_wait_timeout = 4")
    sql.run("ALTER TABLE t ADD COLUMN y INT NOT NULL DEFAULT 4 FIRST, ENGINE=InnoDB")
    assert reader.rows("=", [9]) == [(b"nine",)]
    assert writer.insert(10, "ten") == OK
    assert sql.rows("SELECT * FROM t WHERE id = 10") == [(b"4", b"10", b"ten")]


# Row 13.

@wrong(13)
def test_locked_row_delays_only_the_requests_for_it(table, server, db, sql, wr):
    locker = server.sql(db)
    locker.run("BEGIN")
    locker.run("UPDATE t SET x = 'locked' WHERE id = 1")
    waiting = wr("t", "", "x")
    waiting.client.send(waiting.id, "=", 1, 1, 1, 0, "U", "mine")
    wait_until(lambda: waiting_for_a_row(sql), what="the request waits for row 1")
    others = [server.hs_wr().opened(db, "t", "", "id,x") for _ in range(5)]
    for number, index in enumerate(others):
        assert index.insert(100 + number, "new") == OK
        assert index.update("=", [2], [2, f"two {number}"]) == counted(1)
    assert server.hs_rd().opened(db, "t", "", "x").rows("=", [1]) == [(b"one",)]
    assert not waiting.client.readable(0)
    locker.run("COMMIT")
    assert waiting.client.recv() == counted(1)
    assert sql.value("SELECT x FROM t WHERE id = 1") == b"mine"


# Row 14.

@wrong(14)
@pytest.mark.mariadb("MySQL has no BACKUP STAGE")
def test_a_commit_that_a_backup_blocks_closes_no_connection(make_server):
    """The bundled plugin's commit fails after lock_wait_timeout."""
    server = make_server(options=["--lock-wait-timeout=1"])
    sql = server.sql()
    sql.run("CREATE DATABASE b")
    sql.run("CREATE TABLE b.t (id INT PRIMARY KEY)")
    indexes = [server.hs_wr().opened("b", "t", "", "id") for _ in range(3)]
    for stage in ("START", "FLUSH", "BLOCK_DDL", "BLOCK_COMMIT"):
        sql.run(f"BACKUP STAGE {stage}")
    for number, index in enumerate(indexes):
        index.client.send(index.id, "+", 1, number)
    assert not indexes[0].client.readable(3)
    sql.run("BACKUP STAGE END")
    assert [index.client.recv() for index in indexes] == [OK] * 3


# A commit of the bundled plugin does not fail here, because nothing is written to the binary log (row 2).
@wrong(2)
def test_failed_commit_is_answered_and_the_connection_stays(make_server):
    server = make_server(options=["--log-bin", "--server-id=1", "--binlog-format=ROW",
                                  "--max-binlog-cache-size=4096", "--binlog-cache-size=4096"])
    sql = server.sql()
    sql.run("CREATE DATABASE b")
    sql.run("CREATE TABLE b.t (id INT PRIMARY KEY, x TEXT)")
    index = server.hs_wr().opened("b", "t", "", "id,x")
    requests = [[index.id, "+", 2, number, "x" * (20_000 if number % 2 else 100)] for number in range(10)]
    answers = index.client.pipeline(requests)
    stored = {int(row[0]) for row in sql.rows("SELECT id FROM b.t")}
    for number, answer in enumerate(answers):
        assert (answer == OK) == (number in stored), (number, answer)
        assert answer == OK or answer.code == 1
    assert {answer == OK for answer in answers} == {True, False}, "some fit in the cache of the binary log, and some do not"
    assert index.insert(50, "small") == OK
    assert sql.value("SELECT x FROM b.t WHERE id = 50") == b"small"


# Row 15.

@wrong(15, some=True)
@pytest.mark.parametrize("port", ["rd", "wr"])
def test_half_closed_connection_is_answered_and_closed(table, server, db, port):
    client = server.hs_rd() if port == "rd" else server.hs_wr()
    client.send_raw(f"P\t0\t{db}\tt\t\tx\n".encode() + b"0\t=\t1\t1\n" * 3)
    client.half_close()
    assert client.recv_all(10) == b"0\t1\n" + b"0\t1\tone\n" * 3


def test_idle_half_closed_connection_is_closed(table, server):
    client = server.hs_rd()
    assert client.request_raw(b"x") == refused(2, "cmd")
    client.half_close()
    assert client.at_end(10)


# Row 16 is in test_security.

# Row 17.

MALFORMED = ["5x", "", " 1", "1 ", "+1", "-1", "0x1", "1.0", "1e0", "18446744073709551616",
             "99999999999999999999999999", "１"]


@wrong(17, some=True)
@pytest.mark.parametrize("text", MALFORMED)
def test_malformed_number_is_an_error(table, db, rd, text):
    index = rd("t", "", "x", "x")
    raw = text.encode()
    places = {"key count": b"0\t=\t%s\t1", "limit": b"0\t=\t1\t1\t%s\t0", "offset": b"0\t=\t1\t1\t1\t%s",
              "key part": b"0\t=\t1\t1\t1\t0\t@\t%s\t1\t1", "value count": b"0\t=\t1\t1\t1\t0\t@\t0\t%s\t1",
              "filter column": b"0\t=\t1\t1\t1\t0\tF\t=\t%s\tone"}
    for place, request in places.items():
        answer = index.client.request_raw(request % raw)
        assert answer == refused(2, "number"), (place, answer)
    assert index.client.request_raw(b"P\t%s\t%s\tt\t\tx" % (raw, db.encode())) == refused(2, "number")
    assert index.rows("=", [1]) == [(b"one",)]


@wrong(17)
def test_limit_does_not_wrap(table, rd):
    index = rd("t", "", "id")
    for limit in (4294967295, 4294967296, 4294967297, 2**63, 2**64 - 1):
        assert index.rows(">=", [1], limit, 2) == [(b"3",), (b"4",)], limit
    for offset in (4294967296, 4294967295, 2**64 - 1):
        assert index.find(">=", [1], 2**64 - 1, offset) == reply(0, 1), offset


def test_leading_zeros_are_fine(table, rd):
    client = rd("t", "", "id").client
    assert client.request_raw(b"00\t=\t01\t2\t0001\t000") == reply(0, 1, 2)


# Row 18.

def test_missing_trailing_values_are_empty_strings(table, sql, rd, wr):
    client = rd("t", "x", "id").client
    assert client.request_raw(b"0\t=\t1") == reply(0, 1, 4)
    index = wr("t", "", "id,x")
    assert index.client.request_raw(b"0\t+\t2\t9") == OK
    assert sql.row("SELECT x FROM t WHERE id = 9") == (b"",)
    assert wr("t", "", "x").client.request_raw(b"1\t=\t1\t2\t1\t0\tU") == counted(1)
    assert sql.row("SELECT x FROM t WHERE id = 2") == (b"",)


# Row 20.

@wrong(20)
def test_null_among_in_values_is_null(sql, rd):
    # In collations of uca1400, the default of newer servers, '' equals x'00'.
    sql.run("CREATE TABLE n (id INT PRIMARY KEY, x VARCHAR(9) COLLATE utf8mb4_general_ci,"
            " b VARBINARY(9), KEY(x), KEY(b))")
    sql.run("INSERT INTO n VALUES (1, NULL, NULL), (2, 'a', 'a'), (3, '', ''), (4, x'00', x'00')")
    for column in ("x", "b"):
        index = rd("n", column, "id")
        assert index.rows("=", [None], 9, 0, within=(0, [None])) == [(b"1",)]
        assert index.rows("=", [""], 9, 0, within=(0, ["a", None, ""])) == [(b"2",), (b"1",), (b"3",)]
        assert index.rows("=", [""], 9, 0, within=(0, [b"\x00"])) == [(b"4",)]


# Decision 4: filters.

@pytest.fixture
def filtered(sql, rd):
    sql.run("CREATE TABLE f (id INT PRIMARY KEY, k INT, t TINYINT, v VARCHAR(3), KEY(k))")
    sql.run("INSERT INTO f VALUES (1, 1, 1, 'a'), (2, 1, 2, 'b'), (3, 1, NULL, NULL), (4, 2, 2, 'b'), (5, 2, 5, 'c'),"
            " (6, 3, 127, 'zzz')")
    return rd("f", "", "id", "t,v,k")


@wrong(9)
def test_filter_values_compare_as_sql_does(filtered, sql):
    for op in ("=", "!=", "<", "<=", ">", ">="):
        for column, name, values in ((0, "t", [300, -300, "1.5", "2", "127"]), (1, "v", ["b", "bbbb", "zzzz", ""])):
            for value in values:
                null = "OR f.%s IS NULL" % name if op in ("<", "<=", "!=") else ""
                expected = sql.rows(f"SELECT id FROM f WHERE {name} {op} %s {null} ORDER BY id", str(value))
                found = filtered.rows(">=", [1], 99, 0, filters=[("F", op, column, value)])
                assert found == expected, (name, op, value)


def test_null_filter_equals_null_and_sorts_lowest(filtered):
    def ids(op, column):
        return [int(row[0]) for row in filtered.rows(">=", [1], 99, 0, filters=[("F", op, column, None)])]
    for column in (0, 1):
        assert ids("=", column) == [3] == ids("<=", column)
        assert ids("!=", column) == [1, 2, 4, 5, 6] == ids(">", column)
        assert ids("<", column) == [] and ids(">=", column) == [1, 2, 3, 4, 5, 6]


def test_first_filter_that_is_unmet_decides(filtered):
    def ids(*filters):
        return [int(row[0]) for row in filtered.rows(">=", [1], 99, 0, filters=filters)]
    assert ids(("F", "=", 0, 2), ("W", "=", 1, "b")) == [2, 4]
    assert ids(("W", "=", 1, "b"), ("F", "=", 0, 2)) == []
    assert ids(("W", "!=", 0, 5)) == [1, 2, 3, 4]
    assert ids(("F", "!=", 0, 1), ("W", "<", 2, 3)) == [2, 3, 4, 5]


def test_filters_with_in_see_the_first_row_of_each_value(filtered, rd):
    index = rd("f", "k", "id", "t,v")
    assert index.rows("=", [""], 99, 0, within=(0, [2, 9, 1, 3])) == [(b"4",), (b"1",), (b"6",)]
    assert index.rows("=", [""], 99, 0, within=(0, [1, 2, 3]), filters=[("F", "=", 0, 2)]) == [(b"4",)]
    assert index.rows("=", [""], 99, 0, within=(0, [1, 2, 3]), filters=[("W", "!=", 0, 2)]) == [(b"1",)]
    assert index.rows("=", [""], 99, 0, within=(0, [2, 1, 2])) == [(b"4",), (b"1",), (b"4",)]
    assert index.rows("=", [""], 1, 1, within=(0, [2, 1, 3])) == [(b"1",)]


def test_limit_and_offset_count_the_rows_that_passed(filtered):
    assert filtered.rows(">=", [1], 1, 1, filters=[("F", "=", 0, 2)]) == [(b"4",)]
    assert filtered.rows(">=", [1], 5, 1, filters=[("F", ">", 0, 1)]) == [(b"4",), (b"5",), (b"6",)]
