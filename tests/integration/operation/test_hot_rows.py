"""information_schema.ROWSOCKET_HOT_ROWS: the rows that are asked for most, and waited for longest."""

import pytest

import mc
import resp
from groups import APPLIED, required
from hs import counted, find_words, line
from server import wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]


@pytest.fixture
def server(quiet_server):
    yield quiet_server
    quiet_server.close_clients()


@pytest.fixture
def table(sql):
    sql.run("CREATE TABLE t (a INT, b VARCHAR(20), x INT NOT NULL DEFAULT 0, PRIMARY KEY (a, b)) ENGINE=InnoDB")
    sql.run("INSERT INTO t (a, b) VALUES (1, 'one'), (2, 'two'), (3, 'three')")
    return sql.value("SELECT DATABASE()").decode()


def hot(sql, schema, seconds=600):
    """{(table, index, key): row} of one schema."""
    names = "requests merged lock_waits lock_time_us overcount".split()
    rows = sql.rows(f"SELECT table_name, index_name, key_text, {', '.join(names)} FROM"
                    " information_schema.ROWSOCKET_HOT_ROWS WHERE seconds = %s AND table_schema = %s", seconds, schema)
    return {tuple(name.decode() for name in row[:3]): dict(zip(names, map(float, row[3:]))) for row in rows}


def wait_for(sql, schema, key, requests):
    wait_until(lambda: hot(sql, schema).get(key, {"requests": 0})["requests"] == requests,
               what=f"{requests} requests of {key}; there are {hot(sql, schema)}")
    return hot(sql, schema)[key]


def test_the_rows_that_are_asked_for_are_named_and_counted(table, sql, rd):
    index = rd("t", "", "x")
    for key, times in (([1, "one"], 30), ([2, "two"], 5), ([9, "none"], 2)):
        for _ in range(times):
            index.find("=", key)
    row = wait_for(sql, table, ("t", "PRIMARY", "1,one"), 30)
    assert row["merged"] == row["lock_waits"] == row["overcount"] == 0
    wait_for(sql, table, ("t", "PRIMARY", "2,two"), 5)
    wait_for(sql, table, ("t", "PRIMARY", "9,none"), 2)
    assert hot(sql, table, 10) == hot(sql, table, 60) == hot(sql, table)
    # A range names no row.
    index.find(">", [0, ""], 10)
    assert len(hot(sql, table)) == 3


def test_requests_that_share_a_change_are_counted_as_merged(table, sql, wr):
    index = wr("t", "", "x")
    request = line(*find_words(index.id, "=", [3, "three"], 1, 0, mod=["+", 1]))
    assert len(index.client.pipeline_deep(request * 60, 60)) == 60
    row = wait_for(sql, table, ("t", "PRIMARY", "3,three"), 60)
    assert row["merged"] > 30
    assert sql.value("SELECT x FROM t WHERE a = 3") == b"60"


def test_the_row_that_is_waited_for_is_named_with_the_time(table, server, sql, wr):
    index, owner = wr("t", "", "x"), server.sql(table)
    owner.run("BEGIN")
    owner.run("UPDATE t SET x = 7 WHERE a = 2")
    waits = sql.status("Handlersocket_lock_waits")
    index.client.send(*find_words(index.id, "=", [2, "two"], 1, 0, mod=["U", 9]))
    wait_until(lambda: sql.status("Handlersocket_lock_waits") == waits + 1, what="a lock wait")
    owner.run("COMMIT")
    assert index.client.recv() == counted(1)
    row = wait_for(sql, table, ("t", "PRIMARY", "2,two"), 1)
    assert row["lock_waits"] == 1 and row["lock_time_us"] > 0


def test_many_that_wait_for_a_row_are_counted_once_each(table, server, sql):
    owner, writers = server.sql(table), [server.hs_wr().opened(table, "t", "PRIMARY", "x") for _ in range(8)]
    owner.run("BEGIN")
    owner.run("UPDATE t SET x = 7 WHERE a = 2")
    waits = sql.status("Handlersocket_lock_waits")
    for index in writers:
        index.client.send(*find_words(index.id, "=", [2, "two"], 1, 0, mod=["+", 1]))
    wait_until(lambda: sql.status("Handlersocket_lock_waits") == waits + 8, what="the lock waits")
    owner.run("COMMIT")
    assert [index.client.recv() for index in writers] == [counted(1)] * 8
    row = wait_for(sql, table, ("t", "PRIMARY", "2,two"), 8)
    assert row["lock_waits"] >= 8


def test_a_group_waits_for_the_row_that_is_locked_and_not_for_its_first(table, server, sql, wr):
    index, owner = wr("t", "", "x"), server.sql(table)
    owner.run("BEGIN")
    owner.run("UPDATE t SET x = 7 WHERE a = 2")
    waits = sql.status("Handlersocket_lock_waits")
    requests = [required(index, "=", 2, *key, 1, 0, "+", 1) for key in ([1, "one"], [2, "two"])]
    index.client.send_raw(b"".join(line(*tokens) for tokens in (["G", 2], *requests)))
    wait_until(lambda: sql.status("Handlersocket_lock_waits") == waits + 1, what="a lock wait")
    owner.run("COMMIT")
    assert [index.client.recv() for _ in range(3)] == [APPLIED, counted(1), counted(1)]
    wait_for(sql, table, ("t", "PRIMARY", "1,one"), 1)
    rows = hot(sql, table)
    assert rows["t", "PRIMARY", "2,two"]["lock_waits"] >= 1 and rows["t", "PRIMARY", "1,one"]["lock_waits"] == 0


def test_keys_of_a_get_and_of_a_command_are_counted(make_server, server, sql, container):
    client = container.ready(mc.connect(server))
    client.get(container.at("a"), container.at("b"))
    schema = container.table.split(".")[0]
    wait_for(sql, schema, (container.name, "PRIMARY", "a"), 1)
    wait_for(sql, schema, (container.name, "PRIMARY", "b"), 1)
    redis = resp.start(make_server)
    client = resp.Client(redis.resp_port)
    assert client.ask("HGET", "shop.product:7", "name") == b"Teapot"
    assert client.ask("HMGET", "shop.line:1:x%3Ay", "n") is not None
    wait_for(redis.sql(), "shop", ("product", "PRIMARY", "7"), 1)


def test_a_key_of_any_bytes_is_shown(server, sql, container):
    client = container.ready(mc.connect(server))
    client.get(container.at(b"\xff\xfe"), container.at("\u00e9".encode()))
    schema = container.table.split(".")[0]
    wait_for(sql, schema, (container.name, "PRIMARY", r"\xFF\xFE"), 1)
    wait_for(sql, schema, (container.name, "PRIMARY", "\u00e9"), 1)


def test_whoever_may_not_read_the_tables_sees_no_key(table, server, sql, rd):
    rd("t", "", "x").find("=", [1, "one"])
    wait_for(sql, table, ("t", "PRIMARY", "1,one"), 1)
    sql.run("CREATE USER plain@localhost")
    assert hot(server.sql(user="plain"), table) == {}
    sql.run("GRANT PROCESS ON *.* TO plain@localhost")
    [(_, _, key)] = hot(server.sql(user="plain"), table)
    assert key.startswith("#") and "one" not in key
    sql.run("GRANT SELECT ON *.* TO plain@localhost")
    assert ("t", "PRIMARY", "1,one") in hot(server.sql(user="plain"), table)
    sql.run("DROP USER plain@localhost")


@pytest.mark.mysql("partial revokes")
def test_a_schema_that_was_partially_revoked_shows_no_key(make_server):
    server = make_server(options=["--partial-revokes=ON"])
    sql = server.sql()
    for schema in ("known", "secret"):
        sql.run(f"CREATE DATABASE {schema}")
        sql.run(f"CREATE TABLE {schema}.t (id VARCHAR(20) PRIMARY KEY, x INT) ENGINE=InnoDB")
        server.hs_rd().opened(schema, "t", "", "x").find("=", ["one"])
        wait_for(sql, schema, ("t", "PRIMARY", "one"), 1)
    sql.run("CREATE USER plain@localhost")
    sql.run("GRANT SELECT, PROCESS ON *.* TO plain@localhost")
    assert ("t", "PRIMARY", "one") in hot(server.sql(user="plain"), "secret")
    sql.run("REVOKE SELECT ON secret.* FROM plain@localhost")
    reader = server.sql(user="plain")
    assert ("t", "PRIMARY", "one") in hot(reader, "known")
    [(_, _, key)] = hot(reader, "secret")
    assert key.startswith("#") and "one" not in key
