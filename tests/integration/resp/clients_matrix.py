"""The matrix of docs/CLIENTS.md: each client connects, logs in, pipelines, shares its connections, does a transaction and
loses replies, in plain and over TLS. Run by `scripts/test clients`: most clients have to be fetched."""

import functools

import pytest

import resp_clients
from loses_replies import LosesReplies
from private_servers import create, remove
from server import free_port, run_packaged
from third_party import HERE
from tls import Certificates

LOST = 3
VIEWS = 1000000  # no other reply has such a number


def program(kind, file, *client):
    """A function that runs this client's program with further arguments."""
    text = (HERE / file).read_text(encoding="utf-8")
    return functools.partial(resp_clients.PROGRAMS[kind], text, *client)


# A client's program, and how often HINCRBY by 1 is done while its first three replies are lost.
CLIENTS = {
    "redis-py": (program("python", "resp_python.py"), 4),
    "node-redis": (program("javascript", "resp_node.mjs", "node-redis"), 1),
    "ioredis": (program("javascript", "resp_node.mjs", "ioredis"), 4),
    "go-redis": (program("go", "resp_go.go", "go-redis"), 4),
    "rueidis": (program("go", "resp_go.go", "rueidis"), 1),
    "redigo": (program("go", "resp_go.go", "redigo"), 1),
    "Jedis": (program("java", "RespMain.java", "jedis"), 1),
    "Lettuce": (program("java", "RespMain.java", "lettuce"), 4),
    "Vert.x": (program("java", "RespMain.java", "vertx"), 1),
    "redis-rs": (program("rust", "resp_rust.rs", "redis-rs"), 1),
    "fred": (program("rust", "resp_rust.rs", "fred"), 3),
    "redis-rb": (program("ruby", "resp_ruby.rb"), 2),
    "phpredis": (program("php", "resp_php.php", "phpredis"), 1),
    "Predis": (program("php", "resp_php.php", "predis"), 1),
}
ROUND = ["row Teapot 24.90", "pipeline 100", "pool 200"]


@pytest.fixture(scope="module")
def server(request):
    port = free_port()
    made = create(request.config, options=[f"--loose-resp-port={port}", "--loose-resp-accounts=ON",
                                           "--loose-resp-ssl=ON", *Certificates.shared().options()]).start()
    made.resp_port = port
    sql = made.sql()
    for script in ("rowsocket_store.sql", "rowsocket_tokens.sql"):
        run_packaged(sql, script)
    for statement in ("CREATE DATABASE shop", "CREATE TABLE shop.product (id INT PRIMARY KEY, name VARCHAR(50),"
                      " price DECIMAL(10,2), stock INT NOT NULL)", "CREATE TABLE shop.page (id INT PRIMARY KEY, views BIGINT)",
                      "CREATE USER web@'127.0.0.1' IDENTIFIED BY 'Open-Sesame-7'",
                      "GRANT SELECT, INSERT, UPDATE, DELETE ON shop.* TO web@'127.0.0.1'",
                      "GRANT SELECT, INSERT, UPDATE, DELETE ON rowsocket.store TO web@'127.0.0.1'"):
        sql.run(statement)
    yield made
    remove(made)


@pytest.fixture
def sql(server):
    sql = server.sql("shop")
    for statement in ("REPLACE INTO product VALUES (7, 'Teapot', 24.90, 2)", f"REPLACE INTO page VALUES (1, {VIEWS})",
                      "DELETE FROM rowsocket.store", "DELETE FROM rowsocket.tokens"):
        sql.run(statement)
    return sql


@pytest.mark.parametrize("way", ["plain", "tls"])
@pytest.mark.parametrize("name", CLIENTS)
def test_a_round(server, sql, name, way):
    certificate = "-" if way == "plain" else str(Certificates.shared().authority.certificate)
    *told, transactions = CLIENTS[name][0](str(server.resp_port), certificate, "round").splitlines()
    assert told == ROUND
    assert transactions.lower().replace("none", "null").replace("<nil>", "null") == "transaction 1 0 null"
    assert sql.value("SELECT stock FROM product") == b"0"


@pytest.mark.parametrize("name", CLIENTS)
def test_lost_replies_of_a_count(server, sql, name):
    """The client's own tries end with a reply, or with an error in the caller's hands."""
    run, done = CLIENTS[name]
    with LosesReplies(server.resp_port, LOST, b"\r\n:1000") as proxy:
        try:
            run(str(proxy.port), "-", "count")
        except AssertionError:
            pass
    assert sql.value("SELECT views FROM page") == b"%d" % (VIEWS + done)


@pytest.mark.parametrize("name", CLIENTS)
def test_lost_replies_of_a_transaction_with_a_token(server, sql, name):
    """A program that sends the same again until it has a reply sells one piece."""
    # EXEC's array has the replies of three commands, the first of which is ROW.ONCE's.
    with LosesReplies(server.resp_port, LOST, b"\r\n*3\r\n+OK") as proxy:
        assert CLIENTS[name][0](str(proxy.port), "-", "once").strip() == "1"
        assert proxy.times == 0
    assert sql.value("SELECT stock FROM product") == b"1"
