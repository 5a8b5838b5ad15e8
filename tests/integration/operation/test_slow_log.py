"""Slow requests in the server's own log of slow queries, and over RESP."""

import concurrent.futures
import itertools
import re
import subprocess

import pytest

import mc
import resp
from doctor import busy
from hs import OK
from lost_cache import OPTIONS as SLOW_DISK
from mc_tables import Container
from private_servers import create, remove
from server import PLUGINS, server_env, wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8", "mysql-9.7"), pytest.mark.ours]

HEAD = re.compile(r"# Query_time: +(?P<time>[\d.]+) +Lock_time: +(?P<lock>[\d.]+) +Rows_sent: +(?P<sent>\d+)")


class Logged:
    """A server whose log is empty at first, and what stands in it for a request."""

    def __init__(self, server):
        self.server, self.sql = server, server.sql()
        self.path = server.directory / "data" / "slow.log"
        self.sql.run("SET GLOBAL slow_query_log_file = 'slow.log'")
        self.sql.run("SET GLOBAL log_output = 'FILE,TABLE'")
        self.sql.run("SET GLOBAL slow_query_log = 1")

    def file(self):
        return self.path.read_text(errors="replace") if self.path.exists() else ""

    def entry(self, part):
        """The lines of the only entry with this text in the file."""
        wait_until(lambda: part in self.file(), 10, f"{part} in the log")
        entries = re.split(r"(?m)^(?=# (?:Time|User@Host):)", self.file())
        found = [entry for entry in entries if part in entry]
        assert len(found) == 1, found
        return found[0]

    def row(self, part):
        """The only row with this text in the table, which the server writes after the file."""
        wait_until(lambda: self.rows(part), 10, f"{part} in the table")
        (row,) = self.rows(part)
        return row

    def rows(self, part):
        columns = "user_host, rows_sent, db, sql_text, TIME_TO_SEC(query_time), TIME_TO_SEC(lock_time)"
        return self.sql.rows(f"SELECT {columns} FROM mysql.slow_log WHERE sql_text LIKE %s", f"%{part}%")


@pytest.fixture(scope="module")
def logged(request):
    server = resp.start(lambda **kwargs: create(request.config, **kwargs))
    yield Logged(server)
    remove(server)


@pytest.fixture(autouse=True)
def limits(logged):
    yield
    logged.sql.run("SET GLOBAL long_query_time = 10")
    for plugin in PLUGINS:
        logged.sql.run(f"SET GLOBAL {plugin}_slow_log_values = ON")


def everything_is_slow(logged):
    logged.sql.run("SET GLOBAL long_query_time = 0")


def test_a_fast_request_is_not_in_the_log(logged):
    client = logged.server.hs_wr()
    client.opened("shop", "product", "PRIMARY", "name")
    before = logged.file()
    for _ in range(10):
        client.pipeline([(0, "=", 1, 7)])
    assert logged.file() == before


def test_requests_of_all_protocols(logged):
    server = logged.server
    Container(server, "shop", "items")
    memcached = mc.connect(server)
    wait_until(lambda: memcached.command("mg @@items.?") == b"EN", 10, "the container")
    handlersocket, client = server.hs_wr(), resp.Client(server.resp_port)
    assert client.ask("CLIENT", "SETNAME", "web-3") == "OK"
    handlersocket.opened("shop", "product", "PRIMARY", "name")
    everything_is_slow(logged)
    handlersocket.pipeline([(0, "=", 1, 7)])
    assert memcached.command("ms @@items.it's 1", b"x") == b"HD"
    assert client.ask("HGET", "product:8", "name") == b"Cup" and client.ask("HINCRBY", "product:8", "stock", 1) == 1
    assert client.transaction(("HINCRBY", "product:8", "stock", -1), ("HGET", "product:8", "stock")) == [0, b"0"]
    entry = logged.entry("SELECT `name` FROM `shop`.`product` WHERE KEY `PRIMARY` = ('7') /* handlersocket find, connection ")
    head = HEAD.search(entry)
    assert 0 <= float(head["time"]) < 10 and head["sent"] == "1" and "127.0.0.1" in entry
    assert "UPDATE `shop`.`items` WHERE KEY `PRIMARY` = ('it\\'s') /* daemon_memcached set" in logged.entry("daemon_memcached set")
    assert ", web-3 */" in logged.entry("WHERE KEY `PRIMARY` = ('8') /* resp hget,")
    assert HEAD.search(logged.entry("/* resp hincrby,"))["sent"] == "0"
    unit = logged.entry("/* resp exec,")
    assert unit.count("`shop`.`product`") == 2 and "; SELECT `stock`" in unit
    row = logged.row("/* resp hget,")
    assert b"127.0.0.1" in row[0] and row[1:3] == (b"1", b"shop")
    slow = client.ask("SLOWLOG", "GET", 1)
    assert slow[0][3][0] == b"exec" and slow[0][5] == b"web-3" and slow[0][4].startswith(b"127.0.0.1:")
    assert client.ask("SLOWLOG", "LEN") >= 3 and client.ask("SLOWLOG", "RESET") == "OK"
    # With every request slow, the ones that ask are in it, too: they ask no engine, and are not.
    assert client.ask("SLOWLOG", "LEN") == 0


@pytest.mark.parametrize("variable, value, usual", [
    ("min_examined_row_limit", 100, 0),
    pytest.param("log_slow_filter", "'full_scan'", "DEFAULT", marks=pytest.mark.mariadb("log_slow_filter")),
])
def test_what_the_servers_limits_keep_out_is_counted_alone(logged, variable, value, usual):
    client = logged.server.hs_rd()
    assert client.request("N", variable) == OK  # The name is in the log's lines.
    index = client.opened("shop", "product", "PRIMARY", "stock")
    logged.sql.run(f"SET GLOBAL {variable} = {value}")
    try:
        everything_is_slow(logged)
        before = int(logged.sql.status("Handlersocket_slow_requests"))
        assert len(index.rows("=", [8])) == 1
        new = logged.server.sql("shop")
        new.run(f"SELECT stock, '{variable}' FROM product WHERE id = 8")
        assert int(logged.sql.status("Handlersocket_slow_requests")) == before + 1
    finally:
        logged.sql.run(f"SET GLOBAL {variable} = {usual}")
    assert len(index.rows("=", [9])) <= 1
    assert "('9')" in logged.entry(f", {variable} */")
    assert f"SELECT stock, '{variable}'" not in logged.file()


@pytest.mark.mariadb("log_slow_rate_limit")
def test_one_of_many_is_in_the_log_with_a_rate_limit(logged):
    client = logged.server.hs_rd()
    index = client.opened("shop", "product", "PRIMARY", "name,stock")
    logged.sql.run("SET GLOBAL log_slow_rate_limit = 5")
    try:
        everything_is_slow(logged)
        for _ in range(20):
            index.rows("=", [7])
    finally:
        logged.sql.run("SET GLOBAL log_slow_rate_limit = DEFAULT")
    part = "SELECT `name`, `stock` FROM `shop`.`product` WHERE KEY `PRIMARY` = ('7')"
    wait_until(lambda: logged.file().count(part) >= 4, 10, "the lines")
    assert logged.file().count(part) in (4, 5)


def test_a_wait_for_a_lock_is_the_requests_lock_time(logged):
    client, sql = resp.Client(logged.server.resp_port), logged.server.sql()
    logged.sql.run("SET GLOBAL long_query_time = 0.2")
    sql.run("BEGIN")
    sql.run("UPDATE shop.product SET stock = stock + 1 WHERE id = 7")
    client.send("HINCRBY", "product:7", "stock", "0")
    wait_until(lambda: logged.sql.rows("SELECT STATE FROM information_schema.ROWSOCKET_CONNECTIONS WHERE STATE = 'lock wait'"), 10,
               "the wait")
    sql.row("SELECT SLEEP(0.5)")
    sql.run("ROLLBACK")
    assert client.receive() == 5
    entry = logged.entry("WHERE KEY `PRIMARY` = ('7') /* resp hincrby,")
    head = HEAD.search(entry)
    assert re.search(r"Rows_examined: 1\b", entry), "not those of earlier requests"
    assert 0.4 < float(head["lock"]) <= float(head["time"]) < 10


def test_rows_that_a_scan_has_looked_at(logged):
    client, sql = logged.server.hs_rd(), logged.server.sql()
    sql.run("CREATE TABLE shop.many (id INT PRIMARY KEY, x INT NOT NULL) ENGINE=InnoDB")
    sql.run("INSERT INTO shop.many VALUES " + ", ".join(f"({number}, 0)" for number in range(300)))
    index = client.opened("shop", "many", "PRIMARY", "id", "x")
    everything_is_slow(logged)
    assert index.rows(">=", [0], 10, 0, filters=[("F", "=", 0, 1)]) == [] and index.rows("=", [7]) == [(b"7",)]
    for part, examined in (("FROM `shop`.`many` WHERE KEY `PRIMARY` >= ('0')", (300, 301)),
                           ("FROM `shop`.`many` WHERE KEY `PRIMARY` = ('7')", (1, 2))):
        found = int(re.search(r"Rows_examined: (\d+)", logged.entry(part))[1])
        assert found in examined, (part, found)


def test_workers_that_wait_for_the_logs_table_lose_no_line(logged):
    server, count = logged.server, 300
    handlersocket = server.hs_wr()
    handlersocket.opened("shop", "product", "PRIMARY", "id")
    clients = [resp.Client(server.resp_port) for _ in range(3)]
    everything_is_slow(logged)

    def find(_):
        assert all(handlersocket.pipeline([(0, "=", 1, 7)]) == [(b"0", b"1", b"7")] for _ in range(count))

    def ask(client):
        assert all(client.ask("HMGET", "product:7", "id") == [b"7"] for _ in range(count))

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        done = [pool.submit(find, None), *(pool.submit(ask, client) for client in clients)]
        for work in done:
            work.result()
    logged.sql.run("SET GLOBAL long_query_time = 10")
    for part, lines in (("SELECT `id` FROM `shop`.`product`%/* handlersocket find,", count), ("/* resp hmget,", 3 * count)):
        wait_until(lambda part=part, lines=lines: len(logged.rows(part)) == lines, 10, f"{lines} lines in the table")


def test_values_can_be_left_out(logged):
    client = resp.Client(logged.server.resp_port)
    logged.sql.run("SET GLOBAL resp_slow_log_values = OFF")
    everything_is_slow(logged)
    assert client.ask("HSET", "product:7", "sku", "secret-7") == 0
    entry = logged.entry("/* resp hset,")
    assert "WHERE KEY `PRIMARY` = (?)" in entry and "secret-7" not in logged.file()
    client.ask("HSET", "product:7", "sku", "T-7")


def test_accounts_are_shown_and_see_no_others(make_server):
    logged = Logged(resp.start(make_server, "--loose-resp-accounts=ON"))
    sql = logged.sql
    sql.run("CREATE USER anna@'127.0.0.1' IDENTIFIED BY 'pw'")
    sql.run("GRANT SELECT ON shop.* TO anna@'127.0.0.1'")
    client = resp.Client(logged.server.resp_port)
    assert client.ask("AUTH", "anna", "pw") == "OK"
    everything_is_slow(logged)
    assert client.ask("HGET", "product:7", "name") == b"Teapot"
    assert re.search(r"# User@Host: anna\[anna\] @ +\[127\.0\.0\.1\]", logged.entry("/* resp hget,"))
    assert client.ask("SLOWLOG", "GET") == [] and client.ask("SLOWLOG", "LEN") == 0
    sql.run("SET GLOBAL long_query_time = 10")
    assert sql.row("SELECT CURRENT_USER()")  # The session of the worker is its own again:
    assert client.ask("HGET", "product:7", "name") == b"Teapot"


@pytest.mark.mysql("log_slow_extra is MySQL's")
def test_the_longer_format_of_mysql(logged):
    logged.sql.run("SET GLOBAL log_slow_extra = ON")
    everything_is_slow(logged)
    client = resp.Client(logged.server.resp_port)
    assert client.ask("HGET", "product:7", "price") == b"24.90"
    assert HEAD.search(logged.entry("SELECT `price` FROM"))["sent"] == "1", "it has no more than what a request has"
    logged.sql.run("SET GLOBAL log_slow_extra = OFF")


@pytest.mark.mariadb("the program is in MariaDB's package")
def test_mysqldumpslow_groups_them(logged):
    everything_is_slow(logged)
    client = resp.Client(logged.server.resp_port)
    for number in (7, 8):
        client.ask("HGET", f"product:{number}", "sku")
    logged.entry("SELECT `sku` FROM `shop`.`product` WHERE KEY `PRIMARY` = ('8')")
    done = subprocess.run(["perl", f"{server_env()['ROWSOCKET_SERVER_PREFIX']}/usr/bin/mariadb-dumpslow", str(logged.path)], capture_output=True, text=True, check=True)
    groups = [text for text in done.stdout.split("\n\n") if "SELECT `sku`" in text]
    assert len(groups) == 1 and "Count: 2" in groups[0] and "KEY `PRIMARY` = ('S')" in groups[0]


def test_finds_that_are_held_for_long(make_server, lossy_disk):
    """Their replies wait for the commit of another worker, on a slow disk."""
    server = make_server(options=SLOW_DISK, environment=lossy_disk.environment)
    log, sql = Logged(server), server.sql()
    sql.run("CREATE DATABASE d")
    sql.run("CREATE TABLE d.t (id INT PRIMARY KEY, x INT NOT NULL) ENGINE=InnoDB")
    sql.run("INSERT INTO d.t VALUES (1, 0)")
    sql.run("SET GLOBAL long_query_time = 0.01")
    writes, reads = server.hs_wr().opened("d", "t", "", "x"), server.hs_rd().opened("d", "t", "", "x")
    lossy_disk.be_slow(30)
    values = itertools.count(1)
    with busy(lambda: writes.update("=", [1], [next(values)])), busy(lambda: reads.find("=", [1])):
        wait_until(lambda: "replies held for commits of other connections' /* handlersocket find, connection " in log.file(), 30,
                   "an entry")
    assert "use ;" not in log.file()


def test_the_logs_table_has_names_in_utf8_whatever_the_servers_default_is(make_server):
    latin1 = ["--character-set-server=latin1", "--collation-server=latin1_swedish_ci"]
    server = make_server(options=latin1)
    log, sql = Logged(server), server.sql()
    sql.run("CREATE DATABASE d")
    sql.run("CREATE TABLE d.`café` (id INT PRIMARY KEY)")
    index = server.hs_rd().opened("d", "café", "", "id")
    everything_is_slow(log)
    assert index.find("=", [1]).code == 0
    assert "`d`.`café`".encode() in log.row("/* handlersocket find,")[3]
