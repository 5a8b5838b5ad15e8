"""The load generator (scripts/build bench): every kind of workload, and wrong replies that it must notice."""

import json
import subprocess

import pytest

from server import REPOSITORY, is_mysql

LOAD = REPOSITORY / "build-bench" / "bench" / "rowsocket-load"
NULL = REPOSITORY / "build-bench" / "bench" / "rowsocket-null"
ROWS = 1000
TIMEOUT_S = 60
ROW = r"0\t3\tuser 1\tuser1@example.com\t2010-02-03 11:22:33"


class Report(dict):
    def __init__(self, done):
        super().__init__(json.loads(done.stdout))
        self.exit_status = done.returncode


def load(*options):
    """Runs the generator; returns its JSON object, with exit_status."""
    command = [LOAD, "--seconds", "0.5", "--warmup", "0.1", "--rows", ROWS, *options]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=TIMEOUT_S, check=False)
    assert done.returncode in (0, 1), (done.returncode, done.stdout, done.stderr)
    return Report(done)


def assert_right(report):
    assert report.exit_status == 0 and report["right"], report
    assert report["requests"] > 0
    assert report["mismatches"] == report["errors"] == 0, report
    assert report["whole_run"]["unanswered"] == report["whole_run"]["disconnects"] == 0


@pytest.fixture
def table(server, db, sql):
    """1,000 rows as the generator's defaults expect them; returns the options that name them."""
    sql.run("""CREATE TABLE user (user_id INT UNSIGNED PRIMARY KEY, user_name VARCHAR(50),
               user_email VARCHAR(255), created DATETIME, note VARCHAR(50),
               stock INT UNSIGNED NOT NULL DEFAULT 500000, KEY by_name (user_name))
               ENGINE=InnoDB""")
    sql.run(f"""INSERT INTO user (user_id, user_name, user_email, created)
                SELECT seq, CONCAT('user ', seq), CONCAT('user', seq, '@example.com'),
                       '2010-02-03 11:22:33' FROM seq_1_to_{ROWS}""")
    if is_mysql():  # The generator logs in as root over TCP, without TLS.
        sql.run("CREATE USER root@'127.0.0.1'")
        sql.run("GRANT ALL ON *.* TO root@'127.0.0.1'")
    yield ("--db", db, "--pid", server.pid)
    if is_mysql():
        sql.run("DROP USER root@'127.0.0.1'")


@pytest.fixture
def null_server():
    """rowsocket-null's port; it answers the same row to every line."""
    with subprocess.Popen([str(NULL), "--reply", ROW], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as process:
        yield int(process.stdout.readline().removeprefix("PORT="))
        process.stdin.close()  # the end of its input ends the server
        assert process.wait(TIMEOUT_S) == 0


READS = {
    "hs-get": ("-C", "8", "-D", "4"),
    "hs-get zipf": ("-C", "4", "--keys", "zipf", "-T", "2"),
    "hs-in": ("-C", "2"),
    "hs-range": ("-C", "2"),
    "hs-secondary": ("-C", "2", "--index", "by_name", "--key", "user {n}"),
    "sql-get": ("-C", "4"),
    "sql-get-prepared": ("-C", "4"),
    "sql-in": ("-C", "2"),
    "sql-range": ("-C", "2"),
    "handler-read": ("-C", "2"),
}


@pytest.mark.parametrize("name", READS)
def test_reads_are_right_and_lies_are_noticed(server, table, name):
    port = server.env["HS_PORT" if name.startswith("hs") else "SQL_PORT"]
    options = ("--workload", name.split()[0], "--port", port, *table, *READS[name])
    report = load(*options)
    assert_right(report)
    assert report["rows"] >= report["requests"]
    latency = report["latency_us"]
    assert 0 < latency["p50"] <= latency["p90"] <= latency["p99"] <= latency["p999"]
    assert latency["p999"] <= latency["max"]
    assert sum(count for _, count in report["histogram"]) == report["requests"]
    assert report["server_cpu"]["resident_kb_end"] > 0
    assert report["server_cpu"]["voluntary_switches"] > 0
    lied = load(*options, "--expect-offset", "1")
    assert lied.exit_status == 1 and not lied["right"]
    assert lied["mismatches"] == lied["whole_run"]["requests"] and lied["mismatch_examples"]


WRITES = {
    "hs-update": ("--update-columns", "note", "--set", "n {v}"),
    "hs-mixed": ("--update-columns", "note", "--set", "n {v}"),
    "hs-insert": (),
    "sql-update": ("--update-columns", "note", "--set", "n {v}"),
    "sql-insert": ("--batch", "5"),
    "sql-replace": ("--values", "user {v},u{n}@x,2010-02-03 11:22:33"),
}


@pytest.mark.parametrize("workload", WRITES)
def test_counted_writes_are_in_the_table(server, sql, table, workload):
    port = server.env["HS_PORT_WR" if workload.startswith("hs") else "SQL_PORT"]
    report = load("--workload", workload, "--port", port, *table, "-C", "4", *WRITES[workload])
    assert_right(report)
    written = sql.status("Handler_write") + sql.status("Handler_update")
    assert written >= report["whole_run"]["requests"] * (0.05 if workload == "hs-mixed" else 1)
    if workload.endswith("insert"):
        rows = report["whole_run"]["requests"] * report["options"]["batch"]
        assert int(sql.value("SELECT COUNT(*) FROM user")) == ROWS + rows


@pytest.mark.parametrize("workload", ["hs-decrement", "sql-decrement"])
def test_decrements_are_counted_one_by_one(server, sql, table, workload):
    """The stock is sold out in the middle of the run: the applied decrements are the missing stock."""
    sql.run("UPDATE user SET stock = 300 WHERE user_id <= 2")
    verify = ("--verify-conservation",) if workload.startswith("hs") else ()
    port = server.env["HS_PORT_WR" if workload.startswith("hs") else "SQL_PORT"]
    report = load("--workload", workload, "--port", port, *table, "-C", "8", "--hot-rows", "2",
                  *verify)
    assert_right(report)
    left = int(sql.value("SELECT SUM(stock) FROM user WHERE user_id <= 2"))
    assert report["whole_run"]["applied"] == 600 - left
    assert (report["whole_run"]["applied"] + report["whole_run"]["not_applied"] ==
            report["whole_run"]["requests"])
    if verify:
        assert report["conservation"]["distinct"] == report["whole_run"]["applied"]
        assert report["conservation"]["duplicates"] == 0 and report["conservation"]["without_gaps"]


def test_an_error_reply_is_no_right_reply(server, table):
    report = load("--workload", "hs-update", "--port", server.env["HS_PORT"], *table)
    assert report.exit_status == 1
    assert list(report["error_texts"]) == ["2\t1\treadonly"]
    assert report["errors"] == report["whole_run"]["requests"] and report["mismatches"] == 0


def test_the_null_server_answers_every_line(null_server):
    options = ("--workload", "hs-get", "--port", null_server, "-C", "20", "-D", "50")
    assert_right(load(*options, "--expect-reply", ROW))


def test_a_fixed_rate_is_kept_and_idle_connections_are_counted(null_server):
    report = load("--workload", "hs-get", "--port", null_server, "-C", "3", "--rate", "2000",
                  "--idle", "500", "--idle-hello", "--expect-reply", ROW)
    assert_right(report)
    whole = report["whole_run"]
    assert abs(whole["requests"] + whole["unsent"] - 1200) <= 1  # the requests of 0.6 s
    assert report["idle"]["connections"] == 500 and report["idle"]["per_second"] > 0


def test_a_load_that_cannot_run_ends_with_status_2():
    for options in (("--workload", "hs-get", "--port", "1"), ("--workload", "no", "--port", "1"),
                    ("--workload", "hs-get")):
        done = subprocess.run([str(LOAD), *options], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=TIMEOUT_S, check=False)
        assert done.returncode == 2 and done.stderr and not done.stdout, options
