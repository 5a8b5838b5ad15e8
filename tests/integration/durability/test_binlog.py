"""Binlog (row 2 of docs/WRONGS.md): the same row events, GTIDs and times as the same work in SQL."""

import re
import subprocess
import time

import pytest

import hs
from server import server_env

pytestmark = [pytest.mark.mariadb("test_mysql_binlog has MySQL's events"), pytest.mark.again_in("mariadb-11.8")]

COLUMNS = ("id", "s", "d", "ts", "b", "bl", "e", "f", "n", "u")
TABLE = """CREATE TABLE {db}.t (id INT AUTO_INCREMENT PRIMARY KEY, s VARCHAR(30) CHARACTER SET
  latin1, d DECIMAL(10,3), ts TIMESTAMP(3) NULL, b BIT(10), bl BLOB, e ENUM('a','b'), f DOUBLE,
  n BIGINT UNSIGNED NOT NULL DEFAULT 7, u UUID, g INT AS (n % 5) STORED, v INT AS (n % 7) VIRTUAL,
  KEY (n), KEY (g)) ENGINE={engine}"""
ROWS = (
    ("1", "é", "1.500", "2020-01-01 10:00:00.123", b"\x02\x01", b"\0\1\2\xff", "b", "0.1", "10",
     "123e4567-e89b-12d3-a456-426655440000"),
    ("2", None, None, None, None, None, None, None, "11", None),
    ("3", "", "-1.000", "2001-01-01 00:00:00.000", b"\0\1", b"x" * 3000, "a", "-5", "12",
     "00000000-0000-0000-0000-000000000001"),
)


def literal(value):
    return b"NULL" if value is None else b"x'" + value.hex().encode() + b"'" \
        if isinstance(value, bytes) else f"'{value}'".encode()


class Twins:
    """The table on the socket's side (database h) and on SQL's side (q)."""

    def __init__(self, server, engine="InnoDB"):
        self.server = server
        self.sql = server.sql()
        self.sql.run("SET binlog_format = ROW")
        for db in ("h", "q"):
            self.sql.run(f"CREATE OR REPLACE DATABASE {db}")
            self.sql.run(TABLE.format(db=db, engine=engine))
        self.client = server.hs_wr()
        assert self.client.open_index(0, "h", "t", "", COLUMNS) == hs.reply(0, 1)
        assert self.client.open_index(1, "h", "t", "", "s,bl,n") == hs.reply(0, 1)
        assert self.client.open_index(2, "h", "t", "n", "n") == hs.reply(0, 1)

    def position(self):
        file, position, *_ = self.sql.row("SHOW MASTER STATUS")
        return file.decode(), int(position)

    def gtid(self):
        return int(self.sql.value("SELECT @@gtid_binlog_pos").rsplit(b"-", 1)[1])

    def events_of(self, work):
        """The types of the events that `work` makes, and their rows as text, without the names of the
        databases and without the values that differ between any two statements."""
        file, start = self.position()
        work()
        types = [row[2].decode() for row in self.sql.rows(
            f"SHOW BINLOG EVENTS IN '{file}' FROM {start}")]
        return [one for one in types if one != "Annotate_rows"], self.decoded(file, start)

    def decoded(self, file, start):
        program = server_env()["ROWSOCKET_SERVER_PREFIX"] + "/usr/bin/mariadb-binlog"
        path = self.server.directory / "data" / file
        text = subprocess.run(
            [program, "--no-defaults", "-vv", "--base64-output=decode-rows",
             f"--start-position={start}", str(path)],
            capture_output=True, check=True, timeout=30).stdout.decode(errors="replace")
        lines = []
        for line in text.splitlines():
            flags = re.search(r"(Write|Update|Delete)_rows: .*(flags: .*)$", line)
            if flags:
                lines.append(flags.group(1) + flags.group(2))
            elif line.startswith(("###", "# Number of rows")):
                lines.append(line.replace("`h`", "`db`").replace("`q`", "`db`"))
        return lines


def sql_insert(row):
    return b"INSERT INTO q.t (%s) VALUES (%s)" % (",".join(COLUMNS).encode(),
                                                  b",".join(map(literal, row)))


WORK = (
    *((lambda c, row=row: c.insert(0, row), [sql_insert(row)]) for row in ROWS),
    (lambda c: c.modify(1, "=", [1], ["U", "new", b"\1\2", 20]),
     ["UPDATE q.t SET s = 'new', bl = x'0102', n = 20 WHERE id = 1"]),
    (lambda c: c.modify(1, "=", [1], ["U", "new", b"\1\2", 20]), None),  # a change to the same values
    (lambda c: c.modify(2, ">=", [11], ["+", 100], 10),
     ["UPDATE q.t SET n = n + 100 WHERE n >= 11 ORDER BY n"]),
    (lambda c: c.modify(2, "=", [120], ["-", 3]), ["UPDATE q.t SET n = n - 3 WHERE n = 120"]),
    (lambda c: c.insert(1, ["only", None, 3]), ["INSERT INTO q.t (s, bl, n) VALUES ('only', NULL, 3)"]),
    (lambda c: c.delete(1, ">=", [2], 10), ["DELETE FROM q.t WHERE id >= 2 ORDER BY id"]),
)


def binlog_options(*options):
    return ["--log-bin=events", "--server-id=77", "--gtid-domain-id=3", *options]


def same_events(twins):
    """Each piece of work makes the events of its SQL statement, and one GTID."""
    for number, (work, statements) in enumerate(WORK):
        before = twins.gtid()
        types, rows = twins.events_of(lambda: done(work(twins.client)))
        assert twins.gtid() == before + bool(statements), f"work {number}"
        if statements:
            expected = twins.events_of(lambda: [twins.sql.run(one) for one in statements])
            assert (types, rows) == expected, f"work {number}"
        else:
            assert types == []
    assert twins.sql.rows("SELECT * FROM h.t") == twins.sql.rows("SELECT * FROM q.t")


def done(reply):
    assert reply.code == 0, reply


@pytest.mark.parametrize("image", ["FULL", "MINIMAL", "NOBLOB"])
def test_events_are_those_of_sql(make_server, image):
    same_events(Twins(make_server(options=binlog_options(
        "--binlog-format=ROW", f"--binlog-row-image={image}", "--binlog-row-metadata=FULL"))))


@pytest.mark.parametrize("binlog_format", ["STATEMENT", "MIXED"])
def test_rows_are_logged_whatever_the_global_format(make_server, binlog_format):
    same_events(Twins(make_server(options=binlog_options(f"--binlog-format={binlog_format}"))))


@pytest.mark.parametrize("engine", ["MyISAM", "Aria"])
def test_engines_without_transactions(make_server, engine):
    same_events(Twins(make_server(options=binlog_options("--binlog-format=ROW")), engine))


def test_times_servers_and_gtids(make_server):
    twins = Twins(make_server(options=binlog_options("--binlog-format=MIXED")))
    file, start = twins.position()
    before = int(time.time())
    seen = twins.gtid()
    for row in ROWS:
        done(twins.client.insert(0, row))
    after = int(time.time())
    assert twins.gtid() == seen + len(ROWS)
    program = server_env()["ROWSOCKET_SERVER_PREFIX"] + "/usr/bin/mariadb-binlog"
    path = twins.server.directory / "data" / file
    text = subprocess.run([program, "--no-defaults", f"--start-position={start}", str(path)],
                          capture_output=True, check=True, timeout=30).stdout.decode()
    stamps = re.findall(r"^#(\d{6} +\d+:\d\d:\d\d) server id (\d+) .*(?:GTID|_rows|Xid)", text, re.M)
    assert len(stamps) >= 3 * len(ROWS)
    for stamp, server_id in stamps:
        assert server_id == "77"
        at = time.mktime(time.strptime(stamp, "%y%m%d %H:%M:%S"))
        assert before - 1 <= at <= after + 1, stamp
    assert re.findall(r"GTID 3-77-(\d+)", text) == [
        str(seen + number) for number in range(1, len(ROWS) + 1)]


def test_requests_that_fail_or_only_read_leave_no_event(make_server):
    twins = Twins(make_server(options=binlog_options()))
    done(twins.client.insert(0, ROWS[0]))
    done(twins.client.insert(0, ROWS[1]))
    seen = twins.gtid()

    def work():
        assert twins.client.insert(0, ROWS[0]) == hs.reply(1, 1, 121)
        done(twins.client.find(0, "=", [1]))
        done(twins.client.modify(1, "=", [99], ["D"]))
        assert twins.client.modify(2, ">", [0], ["U", "x"], 10).code == 1
        assert twins.client.modify(1, "=", [1], ["U", "日", None, 1]).code == 1
    assert twins.events_of(work) == ([], [])
    assert twins.gtid() == seen


def test_a_request_that_fails_half_way_is_not_in_the_binlog(make_server):
    """The failing request is in one batch with requests that stand: the binlog has only these."""
    server = make_server(options=binlog_options())
    twins = Twins(server)
    twins.sql.run("CREATE TABLE h.un (id INT PRIMARY KEY, u INT UNIQUE)")
    twins.sql.run("INSERT INTO h.un VALUES (1, 1), (2, 2), (3, 4)")
    assert twins.client.open_index(5, "h", "un", "", "u") == hs.reply(0, 1)
    assert twins.client.open_index(6, "h", "un", "", "id,u") == hs.reply(0, 1)

    def work():
        replies = twins.client.pipeline([
            (6, "+", 2, 10, 10), hs.find_words(5, ">=", [2], 2, 0, mod=["+", 2]),
            hs.find_words(5, "<=", [3], 3, 0, mod=["U", 50]), (6, "+", 2, 11, 11)])
        assert [reply.code for reply in replies] == [0, 1, 1, 0]
    _, rows = twins.events_of(work)
    assert [line for line in rows if "@1=" in line] == [
        f"###   @1={number} /* INT meta=0 nullable=0 is_null=0 */" for number in (10, 11)]
    assert twins.sql.rows("SELECT id, u FROM h.un ORDER BY id") == [
        (b"1", b"1"), (b"2", b"2"), (b"3", b"4"), (b"10", b"10"), (b"11", b"11")]


def test_a_new_domain_and_server_id_are_followed(make_server):
    """New values hold as for new SQL sessions, while the same worker threads go on."""
    twins = Twins(make_server(options=binlog_options()))
    done(twins.client.insert(0, ROWS[0]))
    twins.sql.run("SET GLOBAL gtid_domain_id = 9")
    twins.sql.run("SET GLOBAL server_id = 78")
    done(twins.client.insert(0, ROWS[1]))
    assert twins.sql.value("SELECT @@gtid_binlog_pos").split(b",")[-1] == b"9-78-1"


@pytest.mark.parametrize("engine", ["Aria", "MyISAM", "MEMORY", "InnoDB"])
def test_finds_on_other_tables_between_changes(make_server, engine):
    """The first change of a statement comes after a find that took a lock and gave it back."""
    twins = Twins(make_server(options=binlog_options()))
    twins.sql.run(f"CREATE TABLE h.other (id INT PRIMARY KEY) ENGINE={engine}")
    for row in ROWS:
        done(twins.client.insert(0, row))
        twins.sql.run(sql_insert(row))
    assert twins.client.open_index(5, "h", "other", "", "id") == hs.reply(0, 1)

    def work():
        change = ["U", "behind a find", None, 5]
        replies = twins.client.pipeline([
            hs.find_words(1, "=", [99], 1, 0, mod=change), hs.find_words(5, "=", [1]),
            hs.find_words(1, "=", [3], 1, 0, mod=change), hs.find_words(5, "=", [1]),
            hs.find_words(1, "=", [2], 1, 0, mod=["D"])])
        assert [reply.code for reply in replies] == [0] * 5

    def in_sql():  # where the batch reads Aria, too, its commit has no Xid, and not two phases
        twins.sql.run("BEGIN")
        twins.sql.run("UPDATE q.t SET s = 'behind a find', bl = NULL, n = 5 WHERE id = 3")
        twins.sql.run("DELETE FROM q.t WHERE id = 2")
        twins.sql.run("COMMIT")
    assert twins.events_of(work) == twins.events_of(in_sql)


def test_each_transaction_has_an_xid_of_its_own(make_server):
    """Each transaction has an Xid of its own, even if it begins with a find: recovery after a crash would mix
    up transactions that have the same Xid, or none."""
    server = make_server(options=binlog_options())
    sql = server.sql()
    sql.run("CREATE DATABASE h")
    sql.run("CREATE TABLE h.x (id INT PRIMARY KEY, v INT) ENGINE=InnoDB")
    sql.run("INSERT INTO h.x VALUES (1, 0)")
    client, other = server.hs_wr(), server.hs_wr()
    for one in (client, other):
        assert one.open_index(0, "h", "x", "", "v") == hs.reply(0, 1)
    update, find = hs.find_words(0, "=", [1], 1, 0, mod=["+", 1]), hs.find_words(0, "=", [1])
    for requests in ([update], [find, update], [update, find, update]):
        for _ in range(10):
            # The find of one client stands before the write of the other in their batch, or behind it.
            other.send_raw(hs.line(*find) + hs.line(*update))
            assert [reply.code for reply in client.pipeline(requests)] == [0] * len(requests)
            assert [other.recv().code for _ in range(2)] == [0, 0]
    xids = [row[5].decode() for row in sql.rows("SHOW BINLOG EVENTS") if row[2] == b"Xid"]
    numbers = [re.search(r"xid=(\d+)", text).group(1) for text in xids]
    assert len(numbers) >= 30 and len(set(numbers)) == len(numbers) and "0" not in numbers


def test_a_row_that_cannot_be_taken_back_nor_logged_is_an_incident(make_server):
    """As in SQL: replicas stop at the incident, and the events behind it in the log can be read."""
    server = make_server(options=binlog_options("--binlog-stmt-cache-size=4096", "--binlog-format=ROW",
                                                "--max-binlog-stmt-cache-size=4096"))
    sql = server.sql()
    sql.run("CREATE DATABASE h")
    sql.run("CREATE TABLE h.my (id INT PRIMARY KEY, b LONGBLOB) ENGINE=MyISAM")
    sql.run("CREATE TABLE h.inno (id INT PRIMARY KEY) ENGINE=InnoDB")
    client = server.hs_wr()
    assert client.open_index(0, "h", "my", "", "id,b") == hs.reply(0, 1)
    assert client.open_index(1, "h", "inno", "", "id") == hs.reply(0, 1)

    def incidents(work):
        file, start = sql.row("SHOW MASTER STATUS")[:2]
        work()
        types = [row[2].decode() for row in sql.rows(
            f"SHOW BINLOG EVENTS IN '{file.decode()}' FROM {int(start)}")]
        return types.count("Incident"), types
    large = b"x" * 20_000
    assert client.insert(0, [0, b"small"]) == hs.reply(0, 1)
    in_sql, _ = incidents(lambda: sql.error("INSERT INTO h.my VALUES (1, REPEAT('x', 20000))"))
    ours, types = incidents(lambda: client.insert(0, [2, large]))
    assert ours == in_sql == 1, types
    assert sql.value("SELECT COUNT(*) FROM h.my") == b"3"
    # The incident leaves no mark: a request that InnoDB refuses is taken back, without an incident.
    done(client.insert(1, [1]))
    done(client.insert(0, [3, b"small"]))
    program = server_env()["ROWSOCKET_SERVER_PREFIX"] + "/usr/bin/mariadb-binlog"
    for file, *_ in sql.rows("SHOW BINARY LOGS"):
        path = server.directory / "data" / file.decode()
        subprocess.run([program, "--no-defaults", "--verify-binlog-checksum", "-vv", "--force-read", str(path)],
                       capture_output=True, check=True, timeout=30)
        assert sql.rows(f"SHOW BINLOG EVENTS IN '{file.decode()}'")


def test_binlog_filters(make_server):
    twins = Twins(make_server(options=binlog_options("--binlog-ignore-db=h")))
    types, rows = twins.events_of(lambda: done(twins.client.insert(0, ROWS[0])))
    assert rows == []
    assert twins.sql.value("SELECT COUNT(*) FROM h.t") == b"1"


def test_the_binlog_can_be_turned_over_under_traffic(make_server):
    """FLUSH BINARY LOGS, PURGE: no event is lost in between."""
    twins = Twins(make_server(options=binlog_options("--max-binlog-size=4096")))
    for number in range(10, 200):
        done(twins.client.insert(0, (str(number), "x", *ROWS[1][2:])))
        if number % 40 == 0:
            twins.sql.run("FLUSH BINARY LOGS")
    inserts = 0
    for log, *_ in twins.sql.rows("SHOW BINARY LOGS"):
        inserts += sum("INSERT INTO `db`.`t`" in line for line in twins.decoded(log.decode(), 4))
    assert inserts == 190


@pytest.mark.parametrize("after_it", ["other statement", "same statement"])
def test_a_first_row_that_is_refused_leaves_the_commit_its_two_phases(make_server, after_it):
    """Without the two phases, a crash between binary log and engine would leave the transaction in only one
    of them."""
    server = make_server(options=binlog_options("--binlog-format=ROW"))
    sql = server.sql()
    sql.run("CREATE DATABASE two")
    sql.run("CREATE TABLE two.t (id INT PRIMARY KEY, v INT UNIQUE)")
    sql.run("INSERT INTO two.t VALUES (1, 1), (2, 2)")
    client = server.hs_wr()
    assert client.open_index(0, "two", "t", "", "id,v") == hs.OK
    assert client.open_index(1, "two", "t", "", "v") == hs.OK
    refused = [0, "+", 2, 1, 9]
    done = ([0, "+", 2, 3, 9] if after_it == "same statement"
            else hs.find_words(1, "=", [2], 1, 0, mod=["U", 9]))
    before = int(sql.status("Handler_prepare"))
    assert client.pipeline([refused, done])[0] == hs.reply(1, 1, 121)
    kinds = [row[2] for row in sql.rows("SHOW BINLOG EVENTS IN '%s'" % sql.row(
        "SHOW MASTER STATUS")[0].decode())]
    assert kinds[-1] == b"Xid", kinds[-8:]
    assert int(sql.status("Handler_prepare")) > before
