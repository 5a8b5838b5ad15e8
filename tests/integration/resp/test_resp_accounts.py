"""Accounts over RESP: AUTH and HELLO, privileges, what a client without a login may do."""

import re
import subprocess

import pymysql
import pytest
import redis

from recipes import REPOSITORY
from resp import Client, Error
from server import SCRIPT, free_port, is_mysql, run_packaged

pytestmark = [pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]

WRONG = Error("WRONGPASS invalid username-password pair or user is disabled.")


RESP_OPTIONS = ["--loose-resp-accounts=ON"]


@pytest.fixture(scope="module")
def server(resp_server):
    sql = resp_server.sql()
    sql.run("CREATE USER app@'127.%' IDENTIFIED BY 'right'")
    sql.run("GRANT SELECT (id, name), UPDATE (name) ON shop.product TO app@'127.%'")
    sql.run("CREATE USER 'default'@'127.%' IDENTIFIED BY 'one word'")
    sql.run("GRANT ALL ON shop.* TO 'default'@'127.%'")
    return resp_server


def test_nothing_is_served_before_a_login(server):
    client = Client(server.resp_port)
    for command in (["PING"], ["HGETALL", "product:7"], ["INFO"], ["MULTI"], ["CLIENT", "ID"]):
        assert client.ask(*command) == Error("NOAUTH Authentication required.")
    assert client.ask("HELLO", 3).startswith("NOAUTH HELLO must be called")
    client.sock.sendall(b"*11\r\n")
    assert client.receive() == Error("ERR Protocol error: unauthenticated multibulk length")
    client = Client(server.resp_port)
    client.sock.sendall(b"*2\r\n$4\r\nAUTH\r\n$999999\r\n")
    assert client.receive() == Error("ERR Protocol error: unauthenticated bulk length")


def test_auth_and_hello(server):
    client = Client(server.resp_port)
    assert client.ask("AUTH", "app", "wrong") == WRONG
    assert client.ask("HELLO", 3, "AUTH", "app", "wrong", "SETNAME", "x") == WRONG
    assert client.ask("AUTH", "app", "right") == "OK"
    assert client.ask("CLIENT", "GETNAME") is None
    assert client.ask("HGET", "product:7", "name") == b"Teapot"
    other = Client(server.resp_port)
    assert other.ask("HELLO", 3, "AUTH", "app", "right", "SETNAME", "web")[b"proto"] == 3
    assert other.ask("CLIENT", "GETNAME") == b"web" and other.ask("HGET", "product:99", "name") is None
    assert other.ask("RESET") == "RESET" and other.ask("PING") == Error("NOAUTH Authentication required.")
    word = Client(server.resp_port)
    assert word.ask("AUTH", "one word") == "OK" and word.ask("HGET", "product:7", "stock") == b"5"


def test_the_third_wrong_password_ends_a_connection_that_is_logged_in(server):
    server.sql().run("CREATE USER third@'127.%' IDENTIFIED BY 'right'")
    client = Client(server.resp_port)
    assert client.ask("AUTH", "third", "right") == "OK"
    for _ in range(3):
        assert client.ask("AUTH", "third", "wrong") == WRONG
    with pytest.raises(ConnectionError):
        client.ask("PING")


def test_keys_count_against_the_rate(server):
    """A SCAN counts as one key, and what asks no table is not counted. What is beyond the rate is owed: 400 keys are owed
    for most of a minute."""
    sql = server.sql()
    for script in ("rowsocket_store.sql", "rowsocket_tokens.sql"):
        run_packaged(sql, script)
    for name in ("busy", "scanning"):
        sql.run(f"CREATE USER {name}@'127.%' IDENTIFIED BY 'right'")
        sql.run(f"GRANT ALL ON shop.* TO {name}@'127.%'")
        sql.run(f"GRANT SELECT ON rowsocket.store TO {name}@'127.%'")
    client, other = Client(server.resp_port), Client(server.resp_port)
    assert client.ask("AUTH", "busy", "right") == "OK" and other.ask("AUTH", "scanning", "right") == "OK"
    sql.run("SET GLOBAL resp_account_requests_per_second = 7")
    try:
        assert client.ask("MGET", *["product:7"] * 400) == [None] * 400
        for command in (["HGET", "product:7", "name"], ["SCAN", 0, "MATCH", "product:*"], ["ROW.OUTCOME", "a"]):
            assert client.ask(*command) == Error("RATE the account has made more requests than resp_account_requests_per_second")
        assert client.ask("PING") == "PONG" and client.ask("CLIENT", "GETNAME") is None
        for _ in range(6):
            assert other.ask("SCAN", 0, "MATCH", "product:*")[0] == b"0"
        assert other.ask("HGET", "product:7", "name") == b"Teapot"
    finally:
        sql.run("SET GLOBAL resp_account_requests_per_second = 0")
    assert client.ask("HGET", "product:7", "name") == b"Teapot"


def test_privileges_are_sqls(server):
    client = Client(server.resp_port)
    client.ask("AUTH", "app", "right")
    assert client.ask("HGET", "product:7", "stock").startswith("NOPERM")
    assert client.ask("INFO", "keyspace") == b"# Keyspace\r\n", "it may not read the store"
    assert client.ask("HGETALL", "product:7").startswith("NOPERM")
    assert client.ask("HSET", "product:8", "name", "Mug").startswith("NOPERM"), "it may insert"
    assert client.ask("HDEL", "product:8", "name") == 1
    assert client.ask("DEL", "product:7").startswith("NOPERM")
    assert client.ask("HGET", "line:1:x", "n").startswith("NOPERM") and client.ask("HGET", "nothing:1", "n").startswith("NOPERM")
    assert client.transaction(("HDEL", "product:8", "name"), ("HGET", "product:7", "stock")).startswith(
        "EXECABORT nothing was done: command 2: NOPERM")
    sql = server.sql()
    sql.run("GRANT INSERT ON shop.product TO app@'127.%'")
    assert client.ask("HSET", "product:8", "name", "Cup") == 1
    sql.run("REVOKE ALL, GRANT OPTION FROM app@'127.%'")
    assert client.ask("HGET", "product:7", "name").startswith("NOPERM")
    sql.run("GRANT SELECT (id, name), UPDATE (name) ON shop.product TO app@'127.%'")


def test_no_privilege_is_asked_for_on_the_servers_own_tables(server):
    """None would help, and the tables hold what a client is not to read."""
    client = Client(server.resp_port)
    client.ask("AUTH", "app", "right")
    for key in ("mysql.user:1", "MySQL.global_priv:1", "sys.x:1", "performance_schema.threads:1", "information_schema.tables:1"):
        for command in (("HGETALL", key), ("HSET", key, "a", 1)):
            assert client.ask(*command).startswith("NOTABLE no table of this name is served"), command


def test_an_account_that_is_dropped_ends_its_connections(server):
    sql = server.sql()
    sql.run("CREATE USER gone@'127.%' IDENTIFIED BY 'right'")
    client = Client(server.resp_port)
    assert client.ask("AUTH", "gone", "right") == "OK"
    sql.run("DROP USER gone@'127.%'")
    assert client.receive().startswith("NOAUTH")
    with pytest.raises(ConnectionError):
        client.receive()


@pytest.mark.parametrize("protocol", [2, 3])
def test_redis_py_logs_in(server, protocol):
    with redis.Redis(port=server.resp_port, protocol=protocol, username="app", password="right") as client:
        assert client.hget("product:7", "name") == b"Teapot"


def test_the_error_has_the_grant_that_is_missing(server):
    """An administrator who runs the GRANT of an error lets the command through."""
    sql = server.sql("shop")
    run_packaged(sql, "rowsocket_store.sql")
    sql.run("CREATE USER `o'x`@'127.%' IDENTIFIED BY 'pw'")
    commands = (("HGETALL", "product:7"), ("HSET", "product:8", "name", "Cup"), ("HINCRBY", "product:8", "stock", 0),
                ("HDEL", "product:8", "price"), ("DEL", "shop.line:9:z"), ("GET", "k"), ("SET", "k", 1), ("GETDEL", "k"),
                ("EXPIRE", "k", 10), ("PERSIST", "k"), ("GETEX", "k", "EX", 9), ("APPEND", "k", 1), ("DEL", "k"), ("INCR", "k"),
                ("EXISTS", "k"), ("RENAME", "a", "b"), ("RENAMENX", "b", "a"), ("COPY", "a", "c"), ("SCAN", 0), ("FLUSHDB",), ("FLUSHALL",))
    sql.run("INSERT INTO rowsocket.store (db, k, v) VALUES (0, 'a', '1')")
    for command in commands:
        client = Client(server.resp_port)
        assert client.ask("AUTH", "o'x", "pw") == "OK"
        # A command for any key is about a string where the account sees nothing of the table.
        for table in ("shop.product", "shop.line"):
            sql.run(f"GRANT INDEX ON {table} TO `o'x`@'127.%'")
        refusal = client.ask(*command)
        assert refusal.startswith("NOPERM a privilege is missing: GRANT "), (command, refusal)
        sql.run(refusal.removeprefix("NOPERM a privilege is missing: "))
        reply = client.ask(*command)
        assert not isinstance(reply, Error), (command, refusal, reply)
        sql.run("REVOKE ALL, GRANT OPTION FROM `o'x`@'127.%'")
        client.close()


def test_as_rowsocket_setup_leaves_it(make_server):
    """Clients without a login have the rights of rowsocket@localhost: strings, and what is granted to it."""
    text = (REPOSITORY / "packaging/rowsocket-setup").read_text()
    statements = [statement for statement in re.findall(r'\bsql --execute "((?:CREATE USER|GRANT)[^"]+)"', text) if "$" not in statement]
    assert len(statements) == 3
    server = make_server(options=["--loose-resp-user=rowsocket@localhost"])
    sql = server.sql()
    for script in ("rowsocket_store.sql", "example.sql"):
        run_packaged(sql, script)
    for statement in statements:
        sql.run(statement)
    sql.run("CREATE DATABASE shop")
    sql.run("CREATE TABLE shop.product (id INT PRIMARY KEY, name VARCHAR(20)) ENGINE=InnoDB")
    sql.run("INSERT INTO shop.product VALUES (7, 'Teapot')")
    port = free_port()
    server.kill()
    server.start(options=["--loose-resp-user=rowsocket@localhost", f"--loose-resp-port={port}"])
    client, sql = Client(port), server.sql()
    assert client.ask("SET", "k", "v", "EX", 100) == "OK" and client.ask("GET", "k") == b"v"
    assert client.ask("HGET", "test.user:101", "user_name") is not None
    refusal = client.ask("HGET", "shop.product:7", "name")
    assert refusal == Error("NOPERM a privilege is missing: GRANT SELECT ON `shop`.`product` TO 'rowsocket'@'localhost'")
    sql.run(refusal.removeprefix("NOPERM a privilege is missing: "))
    assert client.ask("HGET", "shop.product:7", "name") == b"Teapot" and client.ask("HSET", "shop.product:7", "name", "x").startswith("NOPERM")


def test_rowsocket_setup_makes_its_account_where_passwords_are_checked(make_server):
    """An empty password is refused there, also for an account with which nobody can log in."""
    text = (REPOSITORY / "packaging/rowsocket-setup").read_text()
    make_account = re.search(r"^case \$daemon in\n  mariadbd\) unchecked=.*?^}\n", text, re.M | re.S)[0] + "make_account\n"
    server = make_server("none")
    sql = server.sql()
    sql.run("INSTALL COMPONENT 'file://component_validate_password'" if is_mysql() else "INSTALL SONAME 'simple_password_check'")
    with pytest.raises(pymysql.MySQLError, match="does not satisfy the current policy"):
        sql.run("CREATE USER other@localhost ACCOUNT LOCK")
    client = f"sql() {{ '{SCRIPT}' sql '{server.directory}' \"$@\"; }}\ndaemon={'mysqld' if is_mysql() else 'mariadbd'}\n"
    for _ in range(2):
        done = subprocess.run(["sh", "-e"], input=client + make_account, text=True, capture_output=True, check=False, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    [[made]] = sql.rows("SHOW CREATE USER rowsocket@localhost")
    assert b"ACCOUNT LOCK" in made


def test_a_fence_needs_a_privilege_on_the_tokens(server):
    """It ends the transaction of another client, and writes a row."""
    sql = server.sql()
    run_packaged(sql, "rowsocket_tokens.sql")
    client = Client(server.resp_port)
    client.ask("AUTH", "app", "right")
    assert client.ask("ROW.OUTCOME", "order-4711") == [b"unknown", None], "who asks needs none"
    refusal = client.ask("ROW.OUTCOME", "order-4711", "FENCE")
    assert refusal.startswith("NOPERM FENCE writes for another client: GRANT")
    assert sql.rows("SELECT COUNT(*) FROM rowsocket.tokens") == [(b"0",)]
    sql.run(refusal.removeprefix("NOPERM FENCE writes for another client: "))
    assert client.ask("ROW.OUTCOME", "order-4711", "FENCE") == [b"never", None]
    sql.run("REVOKE SELECT, INSERT, UPDATE ON rowsocket.tokens FROM app@'127.%'")
