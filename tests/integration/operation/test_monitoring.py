"""rowsocket-exporter, its rules and dashboard in a real Prometheus, and rowsocket-top."""

import contextlib
import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

import pymysql
import pytest
from prometheus_client.parser import text_string_to_metric_families

import mc
import resp
from hs import counted, refused
from server import REPOSITORY, cache_dir, free_port, is_mysql, read_env, run_packaged, wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]

PACKAGING = REPOSITORY / "packaging"
MONITORING = PACKAGING / "monitoring"


@pytest.fixture
def server(quiet_server):
    yield quiet_server
    quiet_server.close_clients()


@pytest.fixture
def work(sql, rd, wr):
    """Finds, updates and errors on a table of the test's own."""
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT) ENGINE=InnoDB")
    sql.run("INSERT INTO t VALUES (1, 0), (2, 0)")
    reads, writes = rd("t", "", "id,x"), wr("t", "", "x")

    def do(times=20):
        for number in range(times):
            assert len(reads.rows("=", [1])) == 1
            assert writes.update("=", [2], [time.monotonic_ns() % 1_000_000_007]) == counted(1)
        assert reads.find("?", [1]) == refused(2, "op")
        return number
    return do


def prometheus_env():
    return read_env(cache_dir() / "prometheus" / "env")


def run(program, server, *arguments, **kwargs):
    command = [sys.executable, PACKAGING / program, "--socket", server.env["SQL_SOCKET"], "--user", "root", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **kwargs)


def scraped(text):
    """{(sample name, frozenset of labels): value}"""
    return {(sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(text) for sample in family.samples}


def fetch(url):
    """A proxy that the environment names cannot reach the loopback of this machine."""
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=10) as answer:
        return answer.read().decode()


def is_served(url):
    try:
        return fetch(url)
    except OSError:
        return None


@pytest.fixture
def exporter(server):
    port = free_port()
    process = subprocess.Popen(  # pylint: disable=consider-using-with
        [sys.executable, PACKAGING / "rowsocket-exporter", "--listen", f"127.0.0.1:{port}", "--socket",
         server.env["SQL_SOCKET"], "--user", "root"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}/metrics"
    try:
        wait_until(lambda: is_served(url), what="the exporter")
        yield url
    finally:
        process.kill()
        process.wait()


def test_what_is_exported_is_what_the_server_says(server, sql, work):
    work(25)
    key = {"plugin": "handlersocket", "mode": "mode=wr", "verb": "update", "phase": "whole"}
    count = "SELECT count, sum_us FROM information_schema.ROWSOCKET_LATENCY WHERE mode = 'mode=wr' AND verb = 'update' AND phase = 'whole'"
    wait_until(lambda: int(sql.row(count)[0]) >= 25, what="the latencies")
    done = run("rowsocket-exporter", server, "--once")
    assert done.returncode == 0, done.stderr
    found = scraped(done.stdout)
    assert found["rowsocket_up", frozenset()] == 1
    plugin = frozenset({("plugin", "handlersocket")})
    for name, metric in (("finds", "finds"), ("commits", "commits"), ("connections_accepted", "connections_accepted")):
        assert found[f"rowsocket_{metric}_total", plugin] == sql.status(f"Handlersocket_{name}")
    assert found["rowsocket_errors_total", plugin | {("error", "op")}] == sql.status("Handlersocket_errors_op")
    assert found["rowsocket_connections", plugin] == sql.status("Handlersocket_connections")
    for mode in ("mode=rd", "mode=wr"):
        executed = sql.row("SELECT SUM(requests), SUM(errors) FROM information_schema.ROWSOCKET_USER_STATISTICS"
                           " WHERE plugin = 'handlersocket' AND mode = %s", mode)
        names = ("rowsocket_executed_requests_total", "rowsocket_executed_requests_failed_total")
        assert [found[name, plugin | {("mode", mode)}] for name in names] == [int(count) for count in executed]
        assert int(executed[0]) >= 25
    requests, sum_us = sql.row(count)
    assert found["rowsocket_request_duration_seconds_count", frozenset(key.items())] == int(requests)
    assert abs(found["rowsocket_request_duration_seconds_sum", frozenset(key.items())] * 1e6 - float(sum_us)) < 1
    ends = [value for (name, labels), value in found.items()
            if name == "rowsocket_request_duration_seconds_bucket" and frozenset(key.items()) <= labels]
    assert ends == sorted(ends) and ends[-1] == int(requests) and len(ends) == 29
    checked = subprocess.run([prometheus_env()["ROWSOCKET_PROMTOOL"], "check", "metrics"], input=done.stdout, text=True,
                             capture_output=True, check=False)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


def test_every_counter_of_the_table_is_exported(server):
    found = {name for name, _ in scraped(run("rowsocket-exporter", server, "--once").stdout)}
    lines = (REPOSITORY / "spec/counters.tsv").read_text().splitlines()
    names = {line.split("\t")[0] for line in lines if line and not line.startswith("#")
             and line.split("\t")[2] == "counter" and line.split("\t")[4] != "-"}
    renamed = {"bytes_received": "received_bytes", "bytes_sent": "sent_bytes", "errors": "error_replies"}
    wanted = {f"rowsocket_{renamed.get(name, name)}_total" for name in names if not name.startswith("unmerged_")}
    assert wanted <= found, wanted - found
    assert "rowsocket_unmerged_requests_total" in found


def test_a_server_that_does_not_answer_is_down(make_server):
    server = make_server()
    port = free_port()
    with subprocess.Popen([sys.executable, PACKAGING / "rowsocket-exporter", "--listen", f"127.0.0.1:{port}",
                           "--socket", server.env["SQL_SOCKET"], "--user", "root"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as process:
        url = f"http://127.0.0.1:{port}/metrics"
        try:
            wait_until(lambda: is_served(url), what="the exporter")
            assert scraped(fetch(url))["rowsocket_up", frozenset()] == 1
            server.stop()
            for _ in range(2):
                assert scraped(fetch(url))["rowsocket_up", frozenset()] == 0
            server.start()
            assert scraped(fetch(url))["rowsocket_up", frozenset()] == 1
        finally:
            process.kill()
        assert "is the server running" in process.stderr.read()


def test_a_server_without_room_for_temporary_tables_is_up(make_server):
    """Its tmpdir goes away, by which it takes no more, as if it were full."""
    with tempfile.TemporaryDirectory() as parent:
        folder = pathlib.Path(parent) / "tmp"
        folder.mkdir()
        folder.chmod(0o777)
        pathlib.Path(parent).chmod(0o755)
        server = make_server(options=[f"--tmpdir={folder}"])
        found = scraped(run("rowsocket-exporter", server, "--once").stdout)
        assert found["rowsocket_collector_success", frozenset({("collector", "latencies")})] == 1
        shutil.rmtree(folder)
        done = run("rowsocket-exporter", server, "--once")
        found = scraped(done.stdout)
        assert found["rowsocket_up", frozenset()] == 1 and ("rowsocket_connections", frozenset({("plugin", "resp")})) in found
        if not is_mysql():  # MySQL's temporary tables are in memory until they are large.
            assert found["rowsocket_collector_success", frozenset({("collector", "latencies")})] == 0
            assert "rowsocket-exporter: latencies cannot be read: " in done.stderr
            done = run("rowsocket-top", server, "--once", "--interval", "0.1")
            assert done.returncode == 0 and "latencies cannot be read: " in done.stdout and "HOT ROW" in done.stdout, done
            done = run("rowsocket-doctor", server, "--live", "--interval", "0.1")
            assert done.stderr == "" and "latencies of what the server shows cannot be read" in done.stdout, done
            assert "locks of what the server shows cannot be read" in done.stdout and "df -h on tmpdir" in done.stdout
        folder.mkdir()


@contextlib.contextmanager
def statement_that_is_not_utf_8(server):
    """A session that executes one."""
    session, admin = server.sql(), server.sql()
    number = int(session.value("SELECT CONNECTION_ID()"))

    def execute():
        with contextlib.suppress(pymysql.MySQLError):
            session.run(b"SELECT SLEEP(600), _binary'\xff\xfe'")
    thread = threading.Thread(target=execute)
    thread.start()
    try:
        wait_until(lambda: admin.rows("SELECT 1 FROM information_schema.PROCESSLIST"
                                      f" WHERE id = {number} AND state = 'User sleep'"), what="the statement")
        yield
    finally:
        admin.run(f"KILL {number}")
        thread.join()


def test_a_statement_of_sql_with_bytes_that_are_not_utf_8(server, exporter, work):
    work(1)
    with statement_that_is_not_utf_8(server):
        for _ in range(2):  # over the connection that the exporter keeps
            found = scraped(fetch(exporter))
            assert found["rowsocket_up", frozenset()] == 1
            assert {value for (name, _), value in found.items() if name == "rowsocket_collector_success"} == {1}
        once, top = run("rowsocket-exporter", server, "--once"), run("rowsocket-top", server, "--once", "--interval", "0.1")
        assert (once.returncode, once.stderr, top.returncode, top.stderr) == (0, "", 0, "")
        assert "rowsocket_up 1.0" in once.stdout and "HOT ROW (60 s)" in top.stdout and "cannot be read" not in top.stdout
        done = run("rowsocket-doctor", server, "--live", "--interval", "0.1")
        assert done.stderr == "" and "cannot be read" not in done.stdout, done


def test_a_server_whose_backslashes_do_not_escape(server, sql, work):
    """The programs would not find the library's variables by LIKE in MySQL."""
    work(1)
    before = sql.value("SELECT @@GLOBAL.sql_mode").decode()
    sql.run("SET GLOBAL sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'")
    try:
        exporter, top = run("rowsocket-exporter", server, "--once"), run("rowsocket-top", server, "--once", "--interval", "0.1")
        doctor = run("rowsocket-doctor", server, "--live", "--interval", "0.1")
    finally:
        sql.run("SET GLOBAL sql_mode = %s", before)
    found = scraped(exporter.stdout)
    assert found["rowsocket_up", frozenset()] == 1 and ("rowsocket_connections", frozenset({("plugin", "daemon_memcached")})) in found
    assert top.returncode == 0 and "HOT ROW (60 s)" in top.stdout, top.stderr
    assert doctor.stderr == "" and "not loaded" not in doctor.stdout and "cannot be read" not in doctor.stdout, doctor


def test_an_account_that_sees_nothing_is_told_by_a_metric(server, sql, work):
    work(1)
    sql.run("CREATE USER blind@localhost")
    try:
        done = run("rowsocket-exporter", server, "--once", "--user", "blind")
    finally:
        sql.run("DROP USER blind@localhost")
    found = scraped(done.stdout)
    assert found["rowsocket_up", frozenset()] == 1
    assert found["rowsocket_collector_success", frozenset({("collector", "connections")})] == 0
    assert "for which it needs the privilege PROCESS" in done.stderr


def test_the_alerts_fire_when_they_should():
    done = subprocess.run([prometheus_env()["ROWSOCKET_PROMTOOL"], "test", "rules", "rowsocket.rules.test.yml"],
                          cwd=REPOSITORY / "tests/integration/operation", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rules = re.findall(r"- alert: (\w+)", (MONITORING / "rowsocket.rules.yml").read_text())
    tested = (REPOSITORY / "tests/integration/operation/rowsocket.rules.test.yml").read_text()
    assert [rule for rule in rules if f"alertname: {rule}\n" not in tested] == []


@pytest.fixture
def prometheus(exporter, tmp_path):
    """The address of a Prometheus that scrapes the exporter and has the rules."""
    port = free_port()
    target = urllib.parse.urlparse(exporter).netloc
    (tmp_path / "prometheus.yml").write_text(
        "global: {scrape_interval: 200ms, evaluation_interval: 200ms}\n"
        f"rule_files: ['{MONITORING}/rowsocket.rules.yml']\n"
        f"scrape_configs: [{{job_name: rowsocket, static_configs: [{{targets: ['{target}']}}]}}]\n")
    process = subprocess.Popen(  # pylint: disable=consider-using-with
        [prometheus_env()["ROWSOCKET_PROMETHEUS"], f"--config.file={tmp_path}/prometheus.yml",
         f"--storage.tsdb.path={tmp_path}/data", f"--web.listen-address=127.0.0.1:{port}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: is_served(f"http://127.0.0.1:{port}/-/ready"), timeout_s=30, what="Prometheus")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def answer(prometheus, query):
    url = f"{prometheus}/api/v1/query?" + urllib.parse.urlencode({"query": query})
    return json.loads(fetch(url))["data"]["result"]


def test_every_panel_of_the_dashboard_has_data(prometheus, work):
    dashboard = json.loads((MONITORING / "rowsocket-dashboard.json").read_text())
    queries = [target["expr"].replace("$instance", ".*").replace("$__rate_interval", "10s")
               for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(queries) > 15

    def without_data():
        work(5)
        return [query for query in queries
                if not [one for one in answer(prometheus, query) if one["value"][1] != "NaN"]]
    wait_until(lambda: not without_data(), timeout_s=60, what="data for every query", step_s=0.3)
    groups = json.loads(fetch(f"{prometheus}/api/v1/rules"))["data"]["groups"]
    assert {rule["health"] for group in groups for rule in group["rules"]} == {"ok"}


def test_the_exporter_for_redis_reads_the_port(make_server):
    server = resp.start(make_server)
    run_packaged(server.sql(), "rowsocket_store.sql")
    client = resp.Client(server.resp_port)
    assert client.ask("SET", "a", "1") == client.ask("SET", "b", "1", "EX", 1000) == "OK"
    for _ in range(5):
        assert client.ask("HGET", "shop.product:7", "name") == b"Teapot"
    assert client.ask("HGET", "shop.product:7").startswith("ERR wrong number")
    port = free_port()
    with subprocess.Popen([prometheus_env()["ROWSOCKET_REDIS_EXPORTER"], "-redis.addr",
                           f"redis://127.0.0.1:{server.resp_port}", "-web.listen-address", f"127.0.0.1:{port}"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            url = f"http://127.0.0.1:{port}/metrics"
            wait_until(lambda: is_served(url), what="the exporter")
            wait_until(lambda: scraped(fetch(url)).get(
                ("redis_commands_total", frozenset({("cmd", "hget")}))) == 5, what="the commands")
            found = scraped(fetch(url))
        finally:
            process.kill()
    values = {name: value for (name, _), value in found.items()}
    hget = frozenset({("cmd", "hget")})
    failures = {kind: found.get((f"redis_commands_{kind}_calls_total", hget)) for kind in ("rejected", "failed")}
    assert failures == {"rejected": 1, "failed": 0}, sorted(name for name, _ in found if "commands" in name or "error" in name)
    assert values["redis_blocked_clients"] == 0 and values["redis_cpu_user_seconds_total"] > 0
    assert values["redis_up"] == 1 and values["redis_exporter_last_scrape_error"] == 0
    assert values["redis_connected_clients"] >= 2 and values["redis_memory_used_bytes"] > 1 << 20
    assert found["redis_latency_percentiles_usec", frozenset({("cmd", "hget"), ("quantile", "99")})] > 0
    keys = {name: found[name, frozenset({("db", "db0")})] for name in ("redis_db_keys", "redis_db_keys_expiring")}
    assert keys == {"redis_db_keys": 2, "redis_db_keys_expiring": 1}
    assert values["redis_net_input_bytes_total"] > 0 and values["redis_uptime_in_seconds"] >= 0


def test_top_shows_rates_and_hot_rows(server, sql, work):
    work()
    schema = sql.value("SELECT DATABASE()").decode()
    with subprocess.Popen([sys.executable, PACKAGING / "rowsocket-top", "--json", "--interval", "0.5", "--socket",
                           server.env["SQL_SOCKET"], "--user", "root"], stdout=subprocess.PIPE, text=True) as process:
        try:
            for _ in range(20):  # Intervals; the first may begin behind the work.
                work(10)
                shown = json.loads(process.stdout.readline())
                verbs = {(row["plugin"], row["mode"], row["verb"]): row for row in shown["verbs"]}
                hot = [one for one in shown["hot_rows"] if one["row"] == f"{schema}.t PRIMARY 2"]
                if ("handlersocket", "mode=wr", "update") in verbs and hot:
                    break
        finally:
            process.kill()
    row = verbs["handlersocket", "mode=wr", "update"]
    assert row["per_second"] > 0 and 0 < row["p50_us"] <= row["p99_us"]
    [hot] = hot
    assert 0 <= hot["overcount"] < hot["requests"]
    [table] = [one for one in shown["tables"] if one["name"] == f"{schema}.t PRIMARY"]
    assert table["requests_per_second"] >= table["writes_per_second"] > 0 and table["mean_us"] > 0
    assert "-" in [one["name"] for one in shown["accounts"]]
    [plugin] = [one for one in shown["plugins"] if one["plugin"] == "handlersocket"]
    assert plugin["connections"] >= 2 and plugin["commits_per_second"] > 0
    done = run("rowsocket-top", server, "--once", "--interval", "0.1")
    assert done.returncode == 0 and f"{schema}.t PRIMARY 2" in done.stdout
    assert re.search(r"^HOT ROW \(60 s\) +requests +too many +merged", done.stdout, re.MULTILINE)


def test_memcacheds_sum_of_errors_is_a_metric_of_its_own(server, sql):
    with mc.connect(server) as client:
        assert client.command("what is this") == b"ERROR"
    found = scraped(run("rowsocket-exporter", server, "--once").stdout)
    labels = [dict(labels) for name, labels in found if name == "rowsocket_errors_total"]
    assert labels and all("error" in one for one in labels)
    total = found["rowsocket_error_replies_total", frozenset({("plugin", "daemon_memcached")})]
    assert total == sql.status("Daemon_memcached_errors") >= 1


def test_a_refused_line_of_memcached_counts_among_the_latencies(server):
    """RowsocketRequestsFail divides the errors by these counts."""
    with mc.connect(server) as client:
        assert client.command("what is this") == b"ERROR"
    labels = {"plugin": "daemon_memcached", "mode": "mode=rw", "verb": "none", "phase": "whole"}
    key = ("rowsocket_request_duration_seconds_count", frozenset(labels.items()))
    wait_until(lambda: scraped(run("rowsocket-exporter", server, "--once").stdout).get(key, 0) >= 1, what="the refused line")


def test_an_option_file_names_the_account(server, sql, tmp_path):
    sql.run("CREATE USER metrics@localhost IDENTIFIED BY 'a secret'")
    sql.run("GRANT PROCESS ON *.* TO metrics@localhost")
    options = tmp_path / "client.cnf"
    options.write_text(f"[client]\nuser = metrics\npassword = a secret\nsocket = {server.env['SQL_SOCKET']}\n")
    for program, said in (("rowsocket-exporter", "rowsocket_up 1.0"), ("rowsocket-top", "HOT ROW (60 s)")):
        done = subprocess.run([sys.executable, PACKAGING / program, "--once", "--defaults-file", options],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0 and said in done.stdout, done.stderr
    sql.run("DROP USER metrics@localhost")


def test_errors_say_what_to_do(server, tmp_path):
    for program in ("rowsocket-top", "rowsocket-exporter"):
        done = subprocess.run([sys.executable, PACKAGING / program, "--once", "--socket", tmp_path / "none"],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 1 and "is the server running, and --socket or --host right?" in done.stderr
        done = run(program, server, "--once", "--user", "nobody_at_all")
        assert done.returncode == 1 and "--user or --defaults-file" in done.stderr, done.stderr
        for text, said in ((None, "cannot be read: No such file or directory"), ("user = root\n", "has no group [client]"),
                           ("[client]\n[client]\n", "is no option file")):
            path = tmp_path / f"{program}.cnf"
            path.unlink(missing_ok=True)
            if text is not None:
                path.write_text(text)
            done = run(program, server, "--once", "--defaults-file", path)
            assert done.returncode == 1 and said in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_the_exporter_says_that_its_port_is_taken(server):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = "127.0.0.1:%d" % taken.getsockname()[1]
        done = run("rowsocket-exporter", server, "--listen", address)
    assert done.returncode == 1 and "Address already in use; --listen ADDRESS:PORT takes another" in done.stderr, done.stderr
    assert run("rowsocket-exporter", server, "--listen", "127.0.0.1:70000").returncode == 2


def test_a_reader_of_the_output_may_go(server):
    """As head does behind its last line."""
    for program, options in (("rowsocket-top", ["--json", "--interval", "0.1"]), ("rowsocket-exporter", ["--once"])):
        with subprocess.Popen([sys.executable, PACKAGING / program, "--socket", server.env["SQL_SOCKET"], "--user", "root", *options],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            process.stdout.close()
            assert process.stderr.read() == ""
            assert process.wait() == 1
