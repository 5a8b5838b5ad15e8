"""Partitioned InnoDB tables: a request changes and finds the rows that the same table without partitions would
show, in the same order, and each row stands in the partition where SQL's statement would have put it."""

import pymysql
import pytest

import hs
from load import Crew, Transaction
from server import is_mysql, wait_until
from test_replica import Pair

pytestmark = [pytest.mark.again_in("mysql-9.7"), pytest.mark.ours, pytest.mark.sanitized("mysql")]

COLUMNS = "id INT NOT NULL, a INT NOT NULL, b VARCHAR(9) NOT NULL, d DATE NOT NULL, n INT DEFAULT 0"
# For each kind of partitions: further columns, the primary key, and the partitions.
KINDS = {
    "hash": ("", "id", "HASH (id) PARTITIONS 4"),
    "linear hash": ("", "a, id", "LINEAR HASH (a) PARTITIONS 5"),
    "hash of a function": ("", "id, d", "HASH (MONTH(d)) PARTITIONS 3"),
    "key": ("", "id, b", "KEY (b) PARTITIONS 4"),
    "key of the primary key": ("", "b, id", "KEY () PARTITIONS 3"),
    "range": ("", "id, a", "RANGE (a) (PARTITION p VALUES LESS THAN (-2), PARTITION q VALUES LESS THAN (5), PARTITION r"
                           " VALUES LESS THAN (30))"),
    "range of a function": ("", "d, id", "RANGE (TO_DAYS(d)) (PARTITION p VALUES LESS THAN (TO_DAYS('2024-05-05')),"
                                         " PARTITION q VALUES LESS THAN MAXVALUE)"),
    "range columns": ("", "a, b, id", "RANGE COLUMNS (a, b) (PARTITION p VALUES LESS THAN (3, 'b'), PARTITION q VALUES"
                                      " LESS THAN (3, 'dd'), PARTITION r VALUES LESS THAN (30, MAXVALUE))"),
    "list": ("", "id, a", "LIST (a % 3) (PARTITION p VALUES IN (0, 1, -1), PARTITION q VALUES IN (2, -2))"),
    "list columns": ("", "b, id", "LIST COLUMNS (b) (PARTITION p VALUES IN ('a', 'ba', 'abc'), PARTITION q VALUES IN"
                                  " ('b', 'ab', 'bab', 'c'))"),
    "subpartitions": ("", "id, a, b", "RANGE (a) SUBPARTITION BY KEY (b) SUBPARTITIONS 3 (PARTITION p VALUES LESS THAN"
                                      " (4), PARTITION q VALUES LESS THAN (30))"),
    "subpartitions of a hash": ("", "id, a", "LIST (a % 3) SUBPARTITION BY HASH (id) SUBPARTITIONS 2 (PARTITION p VALUES"
                                             " IN (0, 1, -1), PARTITION q VALUES IN (2, -2))"),
    "stored column": (", g INT AS (a % 4) STORED", "", "HASH (g) PARTITIONS 4"),
    "virtual column": (", v INT AS (a % 4) VIRTUAL", "", "LIST (v) (PARTITION p VALUES IN (0, 1, -1, -3), PARTITION q"
                                                          " VALUES IN (2, 3, -2))"),
    "no primary key": ("", "", "KEY (a) PARTITIONS 3"),
}
if is_mysql():  # MariaDB takes no generated column in a primary key
    KINDS["stored in the key"] = (", g INT AS (a % 4) STORED NOT NULL", "g, id", "HASH (g) PARTITIONS 4")
INDEXES = {"ka": "a", "kb": "b (1)", "kd": "d DESC, n", "kab": "a, b DESC", "kba": "b, a"}
KEYS = {"ka": [[4], [-99], [99]], "kb": [["ab"], ["b"], ["zz"], [""]], "kd": [["2024-05-05"], ["2024-05-05", 0]],
        "kab": [[4], [4, "ab"], [3, "zz"]], "kba": [["ab"], ["ab", 4], ["AB", 4]]}
WORDS = ("a", "ab", "abc", "b", "ba", "bab", "c")


def make(sql, kind, *tables):
    """Tables with partitions of that kind; those of the name `plain` have none. With KEY MySQL takes no prefix."""
    columns, primary, partitions = KINDS[kind]
    indexes = dict(INDEXES, kb="b") if is_mysql() and "KEY (" in partitions else INDEXES
    keys = "".join(f", KEY {name} ({parts})" for name, parts in indexes.items())
    primary = f", PRIMARY KEY ({primary})" if primary else ", KEY (id)"
    for table in tables:
        by = "" if table == "plain" else f" PARTITION BY {partitions}"
        sql.run(f"CREATE TABLE {table} ({COLUMNS}{columns}{primary}{keys}){by}")


def row_of(number):
    return (number, number * 37 % 23 - 5, WORDS[number * 5 % 7], f"2024-05-{number * 11 % 28 + 1:02}", number % 3)


def fill(sql, tables, count=60):
    rows = ", ".join(str(row_of(number)) for number in range(1, count + 1))
    for table in tables:
        sql.run(f"INSERT INTO {table} (id, a, b, d, n) VALUES {rows}")


def names_of_partitions(sql, table):
    return [name.decode() for (name,) in sql.rows(
        "SELECT COALESCE(subpartition_name, partition_name) FROM information_schema.partitions WHERE table_schema ="
        " DATABASE() AND table_name = %s ORDER BY 1", table)]


def assert_twins(sql, ours="ours", theirs="theirs"):
    for name in names_of_partitions(sql, ours):
        rows = [sorted(sql.rows(f"SELECT * FROM {table} PARTITION ({name})")) for table in (ours, theirs)]
        assert rows[0] == rows[1], name
    assert sql.rows(f"CHECK TABLE {ours} EXTENDED")[-1][-1] == b"OK"


def number_of(sql, statement, *args):
    """The number that a request answers where SQL's statement fails; 0 where it does not."""
    try:
        sql.run(statement, *args)
    except pymysql.MySQLError as error:
        return {1062: 121}.get(error.args[0], error.args[0])
    return 0


def code_of(reply):
    return 0 if reply.code == 0 else reply.number


@pytest.mark.parametrize("kind", KINDS)
def test_finds_come_in_the_order_of_the_index(sql, rd, kind):
    make(sql, kind, "ours", "plain")
    fill(sql, ("ours", "plain"))
    for index, keys in KEYS.items():
        for shown in ("id,a,b,d,n", "n"):
            ours, plain = rd("ours", index, shown), rd("plain", index, shown)
            for key in keys:
                for op in ("=", ">", ">=", "<", "<="):
                    found, expected = ours.rows(op, key, 99), plain.rows(op, key, 99)
                    if index == "kb":  # rows with equal prefixes have no order
                        assert sorted(found) == sorted(expected), (op, key)
                        assert shown == "n" or [row[2][:1] for row in found] == [row[2][:1] for row in expected]
                    elif KINDS[kind][1]:
                        assert found == expected, (index, op, key)
                        assert ours.rows(op, key, 3, 2) == plain.rows(op, key, 3, 2)
                    else:  # rows with equal keys have no order
                        assert sorted(found) == sorted(expected), (index, op, key)
    if KINDS[kind][1]:
        first = KINDS[kind][1].split(",")[0]
        whole = [rd(table, "", f"{first},id") for table in ("ours", "plain")]
        for row in sql.rows(f"SELECT {first} FROM ours WHERE id % 9 = 0"):
            for op in ("=", ">", ">=", "<", "<="):
                assert whole[0].rows(op, row, 99) == whole[1].rows(op, row, 99), (op, row)
    assert rd("ours", "ka", "id").rows("=", [""], 99, within=(0, [4, 99, 3])) == rd("plain", "ka", "id").rows(
        "=", [""], 99, within=(0, [4, 99, 3]))


@pytest.mark.parametrize("kind", KINDS)
def test_rows_stand_where_sql_puts_them(sql, wr, kind):
    make(sql, kind, "ours", "theirs")
    index, by_id = wr("ours", "ka", "id,a,b,d,n"), wr("ours", "ka", "a,b")
    for number in range(1, 50):
        row = row_of(number)
        if number % 7 == 0:
            row = (row[0], 500, "outside", *row[3:])
        assert code_of(index.insert(*row)) == number_of(
            sql, "INSERT INTO theirs (id, a, b, d, n) VALUES (%s, %s, %s, %s, %s)", *row), row
        assert code_of(index.insert(*row)) == number_of(
            sql, "INSERT INTO theirs (id, a, b, d, n) VALUES (%s, %s, %s, %s, %s)", *row), row
    assert_twins(sql)
    for old in range(-5, 18):
        for new, word in ((old + 1, "c"), (500, "ab"), (old, "outside"), (-old, "bab")):
            condition = "WHERE a = %s"
            assert code_of(by_id.update("=", [old], [new, word], 99)) == number_of(
                sql, f"UPDATE theirs SET a = %s, b = %s {condition}", new, word, old), (old, new, word)
        assert code_of(by_id.modify("=", [old + 1], ["+", 3], 1)) == 0
        sql.run("DELETE FROM theirs WHERE a IN (%s, %s)", old + 1, old + 4)
        for gone in (old + 1, old + 4):
            by_id.delete("=", [gone], 99)
    assert_twins(sql)


@pytest.mark.parametrize("kind", KINDS)
def test_changes_of_many_rows(sql, wr, kind):
    """Also changes of the columns by which partitions and indexes are chosen, while the index is read."""
    make(sql, kind, "ours", "plain")
    fill(sql, ("ours", "plain"))
    tables = ("ours", "plain")
    for index, key, op in (("ka", [4], ">="), ("kab", [9], "<"), ("kba", ["ab"], "<="), ("kd", ["2024-05-09"], ">")):
        numbers = [wr(table, index, "n") for table in tables]
        assert numbers[0].modify(op, key, ["+", 2], 99) == numbers[1].modify(op, key, ["+", 2], 99) != hs.counted(0)
        moves = [wr(table, index, "d,b") for table in tables]
        answers = [one.update(op, key, ["2024-06-01", "ba"], 5) for one in moves]
        if KINDS[kind][1]:
            assert answers[0] == answers[1]
            answers = [one.delete(op, key, 3, 1) for one in moves]
            assert answers[0] == answers[1]
        else:
            break
    if KINDS[kind][1]:
        rows = [sorted(sql.rows(f"SELECT * FROM {table}")) for table in tables]
        assert rows[0] == rows[1]
    assert sql.rows("CHECK TABLE ours EXTENDED")[-1][-1] == b"OK"


def test_generated_ids(sql, wr):
    for table in ("ours", "theirs"):
        sql.run(f"CREATE TABLE {table} (id TINYINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, n INT, KEY (n)) PARTITION BY"
                " HASH (id) PARTITIONS 3")
    given, free = wr("ours", "", "id,n"), wr("ours", "", "n")
    for number in range(1, 12):
        sql.run("INSERT INTO theirs (n) VALUES (%s)", number)
        assert free.insert(number) == hs.generated(number)
    for value in (30, 20, 240, 12):
        sql.run("INSERT INTO theirs VALUES (%s, 1)", value)
        assert given.insert(value, 1).code == 0
    sql.run("UPDATE theirs SET id = 250 WHERE id = 5")
    assert given.update("=", [5], [250, 5]) == hs.counted(1)
    for _ in range(8):
        assert (free.insert(9).code == 0) == (number_of(sql, "INSERT INTO theirs (n) VALUES (9)") == 0)
    assert_twins(sql)


DEFINITION = ("CREATE TABLE {} (id INT NOT NULL, a INT NOT NULL, n INT, PRIMARY KEY (id, a), KEY (a)) PARTITION BY RANGE"
              " (a) (PARTITION p VALUES LESS THAN (10), PARTITION q VALUES LESS THAN (20), PARTITION z VALUES LESS THAN"
              " (30))")


def test_rows_that_sql_has_locked_delay_only_those_who_ask_for_them(server, db, sql):
    sql.run(DEFINITION.format("t"))
    sql.run("INSERT INTO t VALUES (1, 5, 0), (2, 5, 0), (1, 15, 0), (2, 15, 0)")
    holder = Transaction(server, db)
    assert holder.run("UPDATE t SET n = 100 WHERE id = 1 AND a = 5")
    assert holder.run("INSERT INTO t VALUES (3, 15, 100)")
    clients = [server.hs_wr() for _ in range(5)]
    for client in clients:
        assert client.open_index(0, db, "t", "", "n") == hs.OK
        assert client.open_index(1, db, "t", "", "id,a,n") == hs.OK
    add = ["+", 1]
    waits = [hs.find_words(0, "=", [1, 5], 1, 0, mod=add), hs.find_words(1, "=", [1, 5], 1, 0, mod=["U", 1, 16, 7]),
             (1, "+", 3, 3, 15, 1), hs.find_words(1, "=", [2, 5], 1, 0, mod=["U", 3, 15, 7])]
    for client, request in zip(clients, waits):
        client.send(*request)
    for row in ([2, 15], [1, 15], [2, 15]):
        assert clients[-1].modify(0, "=", row, add) == hs.counted(1)
    for client in clients[:-1]:
        assert not client.readable(0), "answered although the row is locked"
    holder.commit()
    replies = [client.recv(30) for client in clients[:-1]]
    # The first two may come in either order: the row that has moved is not found.
    assert replies[0] in (hs.counted(0), hs.counted(1)) and replies[1] == hs.counted(1)
    assert replies[2:] == [hs.refused(1, 121)] * 2
    assert sorted(sql.rows("SELECT id, a, n FROM t")) == [
        (b"1", b"15", b"1"), (b"1", b"16", b"7"), (b"2", b"15", b"2"), (b"2", b"5", b"0"), (b"3", b"15", b"100")]
    assert sql.rows("CHECK TABLE t EXTENDED")[-1][-1] == b"OK"


# Statements beside traffic that uses the partitions p and q.
DDL = (
    "ALTER TABLE t TRUNCATE PARTITION z", "ALTER TABLE t DROP PARTITION z",
    "ALTER TABLE t ADD PARTITION (PARTITION z VALUES LESS THAN (30))",
    "ALTER TABLE t EXCHANGE PARTITION z WITH TABLE other", "ALTER TABLE t EXCHANGE PARTITION z WITH TABLE other",
    "ALTER TABLE t REORGANIZE PARTITION p, q INTO (PARTITION pq VALUES LESS THAN (20))",
    "ALTER TABLE t REORGANIZE PARTITION pq INTO (PARTITION p VALUES LESS THAN (10), PARTITION q VALUES LESS THAN (20))",
    "ALTER TABLE t REBUILD PARTITION p", "ALTER TABLE t ANALYZE PARTITION q", "ALTER TABLE t CHECK PARTITION p",
    "ALTER TABLE t OPTIMIZE PARTITION q", "ALTER TABLE t REMOVE PARTITIONING",
    "ALTER TABLE t PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (10), PARTITION q VALUES LESS THAN (20),"
    " PARTITION z VALUES LESS THAN (30))",
)


def test_ddl_of_partitions_beside_traffic(server, db, sql):
    """No request fails, and none is lost."""
    sql.run(DEFINITION.format("t"))
    sql.run("CREATE TABLE other (id INT NOT NULL, a INT NOT NULL, n INT, PRIMARY KEY (id, a), KEY (a))")
    sql.run("INSERT INTO other VALUES (900, 25, 9)")
    sql.run("INSERT INTO t VALUES (1, 5, 0), (2, 15, 0), (3, 5, 0), (700, 25, 1)")
    added = [0, 0, 0]

    def work(which):
        writer, reader = server.hs_wr(), server.hs_rd()
        for client in (writer, reader):
            assert client.open_index(0, db, "t", "", "n") == hs.OK
            assert client.open_index(1, db, "t", "", "id,a,n") == hs.OK
        row = ([1, 5], [2, 15], [3, 5])[which]
        while not crew.stopping.is_set():
            requests = [hs.find_words(0, "=", row, 1, 0, mod=["+", 1])] * 3
            assert writer.pipeline(requests) == [hs.counted(1)] * 3
            added[which] += 3
            new = 1000 + which
            assert writer.insert(1, [new, 1, added[which]]) == hs.OK
            assert writer.update(1, "=", [new, 1], [new, 19, added[which]]) == hs.counted(1)
            assert reader.find(1, "=", [new, 19]) == hs.reply(0, 3, new, 19, added[which])
            assert writer.delete(1, "=", [new, 19]) == hs.counted(1)
            assert reader.find(0, "=", row) == hs.reply(0, 1, added[which])

    ddl = server.sql(db)
    ddl.run("SET lock_wait_timeout = 30")
    with Crew() as crew:
        for which in range(3):
            crew.start(work, which)
        for statement in DDL:
            goal = sum(added) + 12
            wait_until(lambda: crew.check() and sum(added) >= goal, 30, "traffic goes on")
            ddl.rows(statement)
    assert sorted(sql.rows("SELECT id, a, n FROM t WHERE id < 900")) == sorted(
        (b"%d" % (which + 1), (b"5", b"15", b"5")[which], b"%d" % added[which]) for which in range(3))
    assert sql.rows("CHECK TABLE t EXTENDED")[-1][-1] == b"OK"


def events(sql, statement):
    """The kinds and lengths of the row events that were logged while `statement` ran."""
    status = "SHOW BINARY LOG STATUS" if is_mysql() else "SHOW MASTER STATUS"
    file, position, *_ = sql.row(status)
    statement()
    return [(row[2], int(row[4]) - int(row[1])) for row in sql.rows(
        f"SHOW BINLOG EVENTS IN '{file.decode()}' FROM {position.decode()}") if b"_rows" in row[2] and row[2] != b"Annotate_rows"]


@pytest.mark.parametrize("image", ["full", "minimal"])
def test_events_are_those_of_sql_and_a_replica_is_equal(make_server, image):
    """An event says in which partition its row stands, and from which it has come."""
    pair = Pair(make_server, f"--binlog-row-image={image}")
    sql = pair.sql
    sql.run("CREATE DATABASE b")
    sql.run("USE b")
    client = pair.primary.hs_wr()
    for kind in ("hash", "range", "subpartitions", "stored column", "virtual column"):
        make(sql, kind, "ours", "sqls")
        index = client.opened("b", "ours", "ka", "id,a,b,d,n")
        row = (1, 4, "ab", "2024-05-06", 1)
        for ours, theirs in (
                (lambda: index.insert(*row), "INSERT INTO sqls (id, a, b, d, n) VALUES (1, 4, 'ab', '2024-05-06', 1)"),
                (lambda: index.update("=", [4], [1, 4, "ab", "2024-05-06", 2]), "UPDATE sqls SET id = 1, a = 4, b = 'ab',"
                 " d = '2024-05-06', n = 2 WHERE a = 4"),
                (lambda: index.update("=", [4], [1, 15, "ba", "2024-05-06", 2]), "UPDATE sqls SET id = 1, a = 15, b ="
                 " 'ba', d = '2024-05-06', n = 2 WHERE a = 4"),
                (lambda: index.delete("=", [15]), "DELETE FROM sqls WHERE a = 15")):
            made = events(sql, lambda: ours().code == 0), events(sql, lambda: sql.run(theirs))
            assert made[0] == made[1] != [], (kind, theirs)
        for number in range(1, 40):
            assert index.insert(*row_of(number)).code == 0
        assert index.modify(">", [5], ["U", 77, 11, "ba", "2024-07-08", 5], 1) == hs.counted(1)
        pair.assert_equal()
        sql.run("DROP TABLE ours, sqls")
