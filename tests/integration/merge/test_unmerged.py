"""Counters tell how many requests for one row ran one by one, and why: every reason is tested."""

import pytest

import hs
from server import is_mysql

pytestmark = pytest.mark.ours

REQUESTS = 20  # pipelined by one client, so that all are in one batch
PLAIN = "CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL, x INT DEFAULT 1{}) {}"
# For each reason: the statements for the table, and the index that names its row.
TABLES = {
    "request": ([PLAIN.format(", KEY kx (x)", "")], "kx"),
    "engine": ([PLAIN.format("", "ENGINE=Aria")], ""),
    "table": ([PLAIN.format("", "PARTITION BY HASH (id) PARTITIONS 2")], ""),
    "trigger": ([PLAIN.format("", ""), "CREATE TRIGGER tr BEFORE UPDATE ON t FOR EACH ROW SET @x = 1"], ""),
    "versioned": ([PLAIN.format("", "WITH SYSTEM VERSIONING")], ""),
    "unique_key": ([PLAIN.format(", UNIQUE (n)", "")], ""),
    "foreign_key": (["CREATE TABLE p (id INT PRIMARY KEY)", "INSERT INTO p SELECT seq FROM seq_1_to_200",
                     PLAIN.format(", FOREIGN KEY (n) REFERENCES p (id)", "")], ""),
    "generated": ([PLAIN.format(", g INT AS (n + 1) STORED", "")], ""),
    "check": ([PLAIN.format(", CHECK (n < 1000)", "")], ""),
}
ELSEWHERE = ("engine", "table", "versioned") if is_mysql() else ()  # what MySQL does not have, or is not served there
REFUSED = ("trigger", "versioned")
ADD = hs.find_words(0, "=", [1], 1, 0, mod=["+", 1])


def opened(client, db, index=""):
    assert client.open_index(0, db, "t", index, "n") == hs.OK
    return client


def schema(server):
    """A session in the new schema u."""
    sql = server.sql()
    sql.run("CREATE DATABASE u")
    sql.run("USE u")
    return sql


def reasons(sql):
    """The values of the counters of unmerged requests."""
    rows = sql.rows("SHOW GLOBAL STATUS LIKE 'Handlersocket_unmerged_%'")
    return {name.decode().split("unmerged_")[1]: int(value) for name, value in rows}


def moved(sql, before):
    return {name: value - before[name] for name, value in reasons(sql).items() if value != before[name]}


@pytest.mark.parametrize("reason", [name for name in TABLES if name not in ELSEWHERE])
def test_requests_that_cannot_be_merged(server, db, sql, hs_wr, reason):
    statements, index = TABLES[reason]
    for statement in (*statements, "INSERT INTO t (id, n) VALUES (1, 100)"):
        sql.run(statement)
    client = opened(hs_wr, db, index)
    expected = hs.refused(1, reason) if reason in REFUSED else hs.counted(1)
    # A busy machine may receive a pipeline in two parts, of which one has a single request.
    for number in range(1, 6):
        before = reasons(sql)
        assert client.pipeline([ADD] * REQUESTS) == [expected] * REQUESTS
        counted = moved(sql, before)
        if counted == {reason: REQUESTS}:
            break
    assert counted == {reason: REQUESTS}
    assert int(sql.value("SELECT n FROM t")) == (100 if reason in REFUSED else 100 + number * REQUESTS)


def test_requests_that_are_merged_have_no_reason(server, db, sql, hs_wr):
    sql.run(PLAIN.format("", ""))
    sql.run("INSERT INTO t (id, n) VALUES (1, 100)")
    client, before = opened(hs_wr, db), reasons(sql)
    merged = sql.status("Handlersocket_merged_requests")
    assert client.pipeline([ADD] * REQUESTS) == [hs.counted(1)] * REQUESTS
    assert moved(sql, before) == {}
    assert sql.status("Handlersocket_merged_requests") == merged + REQUESTS


def test_requests_whose_batch_ran_again_one_by_one(make_server):
    """The events of the batch are larger than a transaction's may be."""
    server = make_server(options=["--log-bin=rerun", "--server-id=1", "--binlog-cache-size=4096",
                                  "--max-binlog-cache-size=4096"])
    sql = schema(server)
    sql.run(PLAIN.format("", ""))
    sql.run("INSERT INTO t (id, n) VALUES (1, 100)")
    sql.run("CREATE TABLE more (id INT PRIMARY KEY, v VARCHAR(900) DEFAULT (REPEAT('x', 900)))")
    client, before = opened(server.hs_wr(), "u"), reasons(sql)
    assert client.open_index(1, "u", "more", "", "id") == hs.OK
    inserts = [(1, "+", 1, number) for number in range(20)]
    replies = client.pipeline([ADD] * REQUESTS + inserts)
    assert replies == [hs.counted(1)] * REQUESTS + [hs.OK] * len(inserts)
    assert moved(sql, before) == {"rerun": REQUESTS}
    assert sql.value("SELECT n FROM t") == b"120"


def test_every_counter_of_unmerged_requests_has_a_test_here(sql):
    assert set(reasons(sql)) == {*TABLES, "rerun"}
