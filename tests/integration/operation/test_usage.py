"""ROWSOCKET_TABLE_STATISTICS and ROWSOCKET_USER_STATISTICS: what is done for each table, index and account."""

import pytest

import mc
import resp
from hs import OK, find_words, line
from logins import log_in
from mc_tables import Container
from server import wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8", "mysql-9.7"), pytest.mark.ours]

COUNTS = "requests writes rows_read rows_changed merged errors lock_waits lock_time_us time_us".split()


def usage(sql, table, names, where):
    rows = sql.rows(f"SELECT {', '.join(names + COUNTS)} FROM information_schema.ROWSOCKET_{table} WHERE {where}")
    return {tuple(name.decode() for name in row[:len(names)]): dict(zip(COUNTS, map(float, row[len(names):]))) for row in rows}


def of_tables(sql, schema):
    return usage(sql, "TABLE_STATISTICS", ["plugin", "table_name", "index_name"], f"table_schema = '{schema}'")


def of_accounts(sql, plugin):
    return usage(sql, "USER_STATISTICS", ["user", "host"], f"plugin = '{plugin}'")


def wait_for(read, key, **counts):
    """The counts of the key, as soon as they are these: a turn counts behind its replies."""
    def found():
        row = read().get(key)
        return row and all(row[name] == count for name, count in counts.items())

    wait_until(found, 10, f"{key}: {counts}; there is {read()}")
    return read()[key]


@pytest.fixture
def schema(sql):
    sql.run("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(20), x INT NOT NULL DEFAULT 0, UNIQUE KEY by_b (b)) ENGINE=InnoDB")
    sql.run("INSERT INTO t (a, b) VALUES (1, 'one'), (2, 'two'), (3, 'three')")
    return sql.value("SELECT DATABASE()").decode()


def test_requests_count_for_the_index_that_they_use(schema, sql, rd, wr):
    by_key, by_b, writer = rd("t", "", "x"), rd("t", "by_b", "a"), wr("t", "PRIMARY", "a,x")
    for _ in range(5):
        by_key.find("=", [1])
    by_key.find(">=", [1], 10)
    by_b.find("=", ["two"])
    by_b.find("=", ["none"])
    assert writer.client.request(writer.id, "+", 2, 9, 1) == OK
    assert writer.client.request(writer.id, "+", 2, 9, 1).number == 121
    primary = wait_for(lambda: of_tables(sql, schema), ("handlersocket", "t", "PRIMARY"), requests=8)
    assert primary["writes"] == 2 and primary["errors"] == 1
    assert primary["rows_read"] == 8 and primary["rows_changed"] == 1
    assert primary["time_us"] > 0 and primary["lock_waits"] == 0
    second = wait_for(lambda: of_tables(sql, schema), ("handlersocket", "t", "by_b"), requests=2)
    assert second["rows_read"] == 1 and second["writes"] == 0


def test_merged_writes_and_waits_for_locks(schema, sql, server, wr):
    index = wr("t", "", "x")
    request = line(*find_words(index.id, "=", [3], 1, 0, mod=["+", 1]))
    assert len(index.client.pipeline_deep(request * 60, 60)) == 60
    merged = wait_for(lambda: of_tables(sql, schema), ("handlersocket", "t", "PRIMARY"), requests=60, writes=60, rows_changed=60)
    assert merged["merged"] > 30
    owner = server.sql(schema)
    owner.run("BEGIN")
    owner.run("UPDATE t SET x = 7 WHERE a = 2")
    waits = sql.status("Handlersocket_lock_waits")
    index.client.send(*find_words(index.id, "=", [2], 1, 0, mod=["U", 9]))
    wait_until(lambda: sql.status("Handlersocket_lock_waits") == waits + 1, what="a lock wait")
    sql.row("SELECT SLEEP(0.2)")
    owner.run("ROLLBACK")
    waited = wait_for(lambda: of_tables(sql, schema), ("handlersocket", "t", "PRIMARY"), requests=61, lock_waits=1)
    assert 200_000 <= waited["lock_time_us"] <= waited["time_us"] and waited["rows_changed"] == 61


def test_all_protocols_and_what_accounts_have_done(make_server):
    server = resp.start(make_server, "--loose-resp-accounts=ON", "--handlersocket-accounts=ON")
    sql = server.sql()
    Container(server, "shop", "items")
    for user in ("ann", "bob"):
        sql.run(f"CREATE USER {user}@'127.0.0.1' IDENTIFIED BY 'pw'")
    sql.run("GRANT SELECT, UPDATE ON shop.* TO ann@'127.0.0.1'")
    ann, bob, memcached = resp.Client(server.resp_port), resp.Client(server.resp_port), mc.connect(server)
    assert ann.ask("AUTH", "ann", "pw") == "OK" and bob.ask("AUTH", "bob", "pw") == "OK"
    for _ in range(3):
        assert ann.ask("HGET", "product:7", "name") == b"Teapot"
    assert ann.transaction(("HINCRBY", "product:7", "stock", -1), ("HGET", "line:1:x\\:y", "n")) == [4, b"3"]
    assert bob.ask("HGET", "product:7", "name").startswith("NOPERM")
    accounts = wait_for(lambda: of_accounts(sql, "resp"), ("ann", "127.0.0.1"), requests=5)
    assert accounts["writes"] == 1 and accounts["rows_read"] == 4 and accounts["rows_changed"] == 1
    tables = wait_for(lambda: of_tables(sql, "shop"), ("resp", "product", "PRIMARY"), writes=1)
    assert tables["rows_changed"] == 1
    wait_for(lambda: of_tables(sql, "shop"), ("resp", "line", "PRIMARY"), requests=1, rows_read=1)
    handlersocket, _ = log_in(server, "ann", "pw", source="127.0.0.1")
    handlersocket.opened("shop", "product", "PRIMARY", "name")
    handlersocket.pipeline([(0, "=", 1, 7)])
    wait_for(lambda: of_accounts(sql, "handlersocket"), ("ann", "127.0.0.1"), requests=1, rows_read=1)
    wait_until(lambda: memcached.command("mg @@items.?") == b"EN", 10, "the container")
    assert memcached.command("ms @@items.k 1", b"x") == b"HD"
    wait_for(lambda: of_accounts(sql, "daemon_memcached"), ("", ""), writes=1, rows_changed=1)
    wait_for(lambda: of_tables(sql, "shop"), ("daemon_memcached", "items", "PRIMARY"), writes=1)
    sql.run("CREATE USER plain@localhost")
    plain = server.sql(user="plain")
    for table in ("TABLE_STATISTICS", "USER_STATISTICS"):
        assert plain.rows(f"SELECT * FROM information_schema.ROWSOCKET_{table}") == [], "it needs PROCESS"
