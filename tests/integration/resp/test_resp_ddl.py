"""Tables that change while connections know them: what a connection has found of a table is renewed, in pipelines too."""

import pathlib

import pytest

import resp
from resp import Client, Error
from server import is_mysql, run_packaged, wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]

SCRATCH = "dd"
KNOWN_S = 10  # a connection believes what it has found for a second


@pytest.fixture(scope="module")
def server(resp_server):
    run_packaged(resp_server.sql(), "rowsocket_store.sql")
    return resp_server


@pytest.fixture
def sql(shop):
    shop.run(f"CREATE TABLE {SCRATCH} (id INT DEFAULT 0 PRIMARY KEY, a INT, b INT)")
    shop.run(f"INSERT INTO {SCRATCH} VALUES (1, 5, 2)")
    return shop


def after_a_get(client, *commands):
    """The replies to commands that come in one packet, after a GET of the store."""
    client.sock.sendall(b"".join(b"*%d\r\n" % len(words) + b"".join(
        b"$%d\r\n%s\r\n" % (len(str(word)), str(word).encode()) for word in words) for words in (("GET", "x"), *commands)))
    return [client.receive() for _ in range(len(commands) + 1)][1:]


def test_a_pipeline_sees_new_and_dropped_columns(client, sql):
    hgetall, watch = ("HGETALL", "dd:1"), (("WATCH", "dd:1"), ("UNWATCH",))
    assert after_a_get(client, hgetall, *watch) == [[b"a", b"5", b"b", b"2"], "OK", "OK"]
    sql.run("ALTER TABLE dd ADD COLUMN c INT DEFAULT 4")
    wait_until(lambda: after_a_get(client, hgetall, *watch)[0] == [b"a", b"5", b"b", b"2", b"c", b"4"], KNOWN_S)
    sql.run("ALTER TABLE dd DROP COLUMN a")
    wait_until(lambda: after_a_get(client, hgetall, *watch) == [[b"b", b"2", b"c", b"4"], "OK", "OK"], KNOWN_S)


def test_a_read_of_a_locked_table_may_be_tried_again(make_server):
    server = resp.start(make_server, "--loose-resp-wrlock-timeout=1")
    client, sql = Client(server.resp_port), server.sql()
    assert client.ask("HGET", "product:7", "stock") == b"5"
    sql.run("LOCK TABLES shop.product WRITE")
    answer = client.ask("HGET", "product:7", "stock")
    assert "TRYAGAIN not done: the table was locked" in str(answer)
    sql.run("UNLOCK TABLES")
    assert client.ask("HGET", "product:7", "stock") == b"5"
    client.close()


def test_a_watch_of_a_locked_table_stops_the_transaction_after_it(make_server):
    server = resp.start(make_server, "--loose-resp-wrlock-timeout=1")
    client, sql = Client(server.resp_port), server.sql()
    take = ("HSET", "product:7", "stock", 9)

    def failed_watch():
        sql.run("LOCK TABLES shop.product WRITE")
        assert client.ask("WATCH", "product:7").startswith("TRYAGAIN not done: the table was locked")
        sql.run("UNLOCK TABLES")
    for _ in range(2):  # at first the connection does not know the table
        failed_watch()
        assert client.transaction(take) == Error("EXECABORT nothing was done: a WATCH before it has failed")
        assert client.ask("HGET", "product:7", "stock") == b"5"
    for ends in ([("UNWATCH",)], [("MULTI",), ("DISCARD",)], [("RESET",)]):
        failed_watch()
        for command in ends:
            client.ask(*command)
        assert client.transaction(take) == [0], ends
    client.close()


def test_an_optimistic_loop_ends(client, sql):
    def attempt():
        watched = after_a_get(client, ("WATCH", "dd:1"))
        done = after_a_get(client, ("MULTI",), ("HSET", "dd:1", "a", 6), ("EXEC",))
        return watched == ["OK"] and isinstance(done[-1], list)
    assert attempt()
    sql.run("ALTER TABLE dd ADD COLUMN c INT DEFAULT 4")
    wait_until(attempt, KNOWN_S)


def test_watch_sees_a_column_that_has_just_come(client, sql):
    assert client.ask("WATCH", "dd:1") == "OK" and client.transaction(("HSET", "dd:1", "a", 5)) == [0]
    sql.run("ALTER TABLE dd ADD COLUMN c INT DEFAULT 4")
    watched = client.ask("WATCH", "dd:1")
    sql.run("UPDATE dd SET c = 99")
    done = client.transaction(("HSET", "dd:1", "a", 6))
    assert isinstance(watched, Error) or done is None or isinstance(done, Error), (watched, done)
    assert (sql.rows("SELECT a FROM dd") == [(b"5",)]) == (done is None or isinstance(done, Error))


def test_a_dropped_column_is_an_absent_field(client, sql):
    assert client.ask("HMGET", "dd:1", "a", "b") == [b"5", b"2"] and client.ask("HGET", "dd:1", "a") == b"5"
    sql.run("ALTER TABLE dd DROP COLUMN a")
    wait_until(lambda: client.ask("HMGET", "dd:1", "a", "b") == [None, b"2"], KNOWN_S)
    assert client.ask("HGET", "dd:1", "a") is None and client.ask("HEXISTS", "dd:1", "a") == 0


@pytest.mark.parametrize("command, after", [
    (("HGETALL", "dd:1"), [b"a", b"5", b"b", b"2"]), (("HLEN", "dd:1"), 2), (("HKEYS", "dd:1"), [b"a", b"b"]),
    (("HVALS", "dd:1"), [b"5", b"2"]), (("HSCAN", "dd:1", 0), [b"0", [b"a", b"5", b"b", b"2"]]),
    (("HGET", "dd:1", "x"), None), (("HMGET", "dd:1", "a", "x"), [b"5", None]),
    (("MEMORY", "USAGE", "dd:1"), 8)], ids=str)
def test_a_command_without_a_mistake_may_be_tried_again_when_columns_go(client, sql, command, after):
    again = Error("TRYAGAIN not done: the table's columns have changed since the command before")
    for statement in ("DROP COLUMN x", "RENAME COLUMN x TO y"):
        sql.run("ALTER TABLE dd ADD COLUMN x INT")
        wait_until(lambda: not isinstance(client.ask("HSET", "dd:1", "x", 3), Error), KNOWN_S)
        wait_until(lambda: client.ask(*command) != after, KNOWN_S)
        sql.run(f"ALTER TABLE dd {statement}")
        sql.run("UPDATE dd SET y = NULL" if "TO" in statement else "DO 0")
        assert client.ask(*command) in (again, after)
        assert client.ask(*command) == after, "the columns were looked up again"
    done = Error("EXECABORT undone: command 2: " + again)
    sql.run("ALTER TABLE dd RENAME COLUMN y TO x")
    sql.run("UPDATE dd SET x = 3")
    wait_until(lambda: client.transaction(("HINCRBY", "dd:1", "a", 0), command)[1] != after, KNOWN_S)
    sql.run("ALTER TABLE dd DROP COLUMN x")
    assert client.transaction(("HINCRBY", "dd:1", "a", 0), command) in (done, [5, after])


def test_a_write_that_is_refused_for_now_says_why(make_server):
    server = resp.start(make_server, "--loose-resp-wrlock-timeout=1")
    client, sql = Client(server.resp_port), server.sql()
    take = ("HSET", "product:7", "stock", 9)
    assert client.ask(*take) == 0
    sql.run("LOCK TABLES shop.product WRITE")
    locked = "READONLY not done: the table was locked for longer than resp_wrlock_timeout"
    assert client.ask(*take) == Error(locked)
    refused = client.transaction(take)
    assert refused.startswith("EXECABORT nothing was done: ") and refused.endswith(locked.removeprefix("READONLY")), refused
    sql.run("UNLOCK TABLES")
    states = [("SET GLOBAL read_only = ON", "SET GLOBAL read_only = OFF")]
    if is_mysql():
        states.append(("ALTER SCHEMA shop READ ONLY = 1", "ALTER SCHEMA shop READ ONLY = 0"))
    for begin, end in states:
        sql.run(begin)
        assert client.ask(*take) == Error("READONLY the server takes no writes now: read_only, or the schema is READ ONLY"), begin
        sql.run(end)
        assert client.ask(*take) == 0
    client.close()


def test_a_dropped_table_leaves_its_keys_to_the_store(client, sql):
    assert client.ask("GET", "dd:1").startswith("WRONGTYPE") and client.ask("EXISTS", "dd:1") == 1
    sql.run("DROP TABLE dd")
    wait_until(lambda: client.ask("SET", "dd:1", "text") == "OK", KNOWN_S)
    wait_until(lambda: client.ask("GET", "dd:1") == b"text", KNOWN_S)
    wait_until(lambda: client.ask("EXISTS", "dd:1") == 1 and client.ask("DEL", "dd:1") == 1, KNOWN_S)


def assert_refused(server, table):
    """Commands on a key of the table are errors, each over a connection that does not know the table."""
    for command in (("EXISTS", f"{table}:7"), ("DEL", f"{table}:7"), ("SET", f"{table}:7", "x"), ("GET", f"{table}:7"),
                    ("WATCH", f"{table}:7"), ("SCAN", 0, "MATCH", f"shop.{table}:*")):
        one = Client(server.resp_port)
        answer = one.ask(*command)
        one.close()
        assert isinstance(answer, Error), (command, answer)


def test_a_key_of_a_table_without_its_rows_is_no_string(server, sql):
    sql.run("ALTER TABLE dd DISCARD TABLESPACE")
    assert_refused(server, "dd")
    assert sql.rows("SELECT k FROM rowsocket.store WHERE k LIKE 'dd:%'") == []


def test_a_key_of_a_table_that_cannot_be_opened_is_no_string(make_server):
    """The table's file is gone while the server knows its definition."""
    server = resp.start(make_server)
    sql = server.sql()
    run_packaged(sql, "rowsocket_store.sql")
    file = pathlib.Path(sql.value("SELECT @@datadir").decode()) / "shop" / "product.ibd"
    sql.close()
    server.stop()
    file.unlink()
    server.start()
    assert_refused(server, "product")
    assert server.sql().rows("SELECT k FROM rowsocket.store") == []


def test_each_table_of_a_command_is_renewed(client, sql):
    """Not only the first one, for which the command is parsed again."""
    sql.run("CREATE TABLE also (id INT PRIMARY KEY, x INT, y INT)")
    sql.run("INSERT INTO also VALUES (1, 2, 3)")
    try:
        commands = (("HSET", "dd:1", "a", 5), ("HGETALL", "also:1"), ("HMGET", "also:1", "x", "y"))
        assert client.transaction(*commands)[1:] == [[b"x", b"2", b"y", b"3"], [b"2", b"3"]]
        assert client.ask("EXISTS", "dd:1", "new:1") == 1
        sql.run("ALTER TABLE also DROP COLUMN x")
        sql.run("CREATE TABLE new (id INT PRIMARY KEY)")
        sql.run("INSERT INTO new VALUES (1)")
        wait_until(lambda: client.ask("EXISTS", "dd:1", "new:1") == 2, KNOWN_S)
        wait_until(lambda: client.transaction(*commands)[1:] == [[b"y", b"3"], [None, b"3"]], KNOWN_S)
    finally:
        sql.run("DROP TABLE also, new")


def test_a_column_that_has_become_the_key_is_not_written(client, sql):
    """At once, not only when the connection looks at the table again."""
    assert client.ask("HSET", "dd:1", "a", 5) == 0 and client.ask("HINCRBY", "dd:1", "a", 0) == 5
    sql.run("ALTER TABLE dd DROP PRIMARY KEY, ADD PRIMARY KEY (a)")
    for command in (("HSET", "dd:11", "a", 12), ("HINCRBY", "dd:5", "a", 3), ("HSET", "dd:5", "a", 7)):
        assert client.ask(*command).startswith("NOFIELD"), command
    assert sql.rows("SELECT a, b FROM dd") == [(b"5", b"2")]


def test_the_store_that_is_gone_is_named(client, sql):
    assert client.ask("SET", "gone", 1) == "OK"
    sql.run("RENAME TABLE rowsocket.store TO rowsocket.elsewhere")
    try:
        assert client.ask("GET", "gone").startswith("NOSTORE") and client.ask("SET", "gone", 2).startswith("NOSTORE")
    finally:
        sql.run("RENAME TABLE rowsocket.elsewhere TO rowsocket.store")
    wait_until(lambda: client.ask("GET", "gone") == b"1", KNOWN_S)


@pytest.fixture
def prefixes(client, sql):
    """Two prefixes of one table, of which the first alone has an expiry."""
    sql.run("CREATE TABLE sess (id INT PRIMARY KEY, exp BIGINT, name VARCHAR(20), zz VARCHAR(20))")
    sql.run("INSERT INTO sess VALUES (1, NULL, 'n', 'z'), (2, 4000000000, 'n2', 'z2')")
    sql.run("INSERT INTO rowsocket.keyspaces (prefix, kind, db_schema, db_table, expires) VALUES"
            " ('se/', 'row', 'shop', 'sess', 'exp'), ('adm/', 'row', 'shop', 'sess', NULL)")
    wait_until(lambda: client.ask("EXISTS", "adm/1") == 1 and client.ask("EXISTS", "se/1") == 1, KNOWN_S)
    yield
    sql.run("DELETE FROM rowsocket.keyspaces WHERE db_table = 'sess'")
    sql.run("DROP TABLE sess")


@pytest.mark.usefixtures("prefixes")
def test_prefixes_of_one_table_do_not_share_their_columns(server, sql):
    def fresh(*commands):
        one = Client(server.resp_port)
        answers = [one.ask(*command) for command in commands]
        one.close()
        return answers
    assert fresh(("HMGET", "se/2", "name"), ("HMGET", "adm/2", "exp", "name")) == [[b"n2"], [b"4000000000", b"n2"]]
    assert fresh(("HDEL", "adm/1", "exp", "name"), ("HDEL", "se/2", "name")) == [1, 1]
    assert sql.rows("SELECT * FROM sess ORDER BY id") == [(b"1", None, None, b"z"), (b"2", b"4000000000", None, b"z2")]
    assert fresh(("HSET", "adm/1", "exp", 4000000000, "name", "a"), ("HSET", "se/2", "name", "NEW")) == [2, 1]
    assert sql.rows("SELECT exp, name FROM sess ORDER BY id") == [(b"4000000000", b"a"), (b"4000000000", b"NEW")]
