"""MULTI and EXEC over RESP: all commands are done, or none is."""

import threading

import pymysql
import pytest
import redis

from resp import Client, Error
from server import run_packaged, wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]


@pytest.fixture(scope="module")
def server(resp_server):
    resp_server.sql().run("CREATE TABLE shop.orders (id INT PRIMARY KEY, product INT) ENGINE=InnoDB")
    return resp_server


@pytest.fixture(params=[2, 3])
def client(server, request):
    sql = server.sql("shop")
    sql.run("UPDATE product SET stock = 5 WHERE id = 7")
    sql.run("DELETE FROM orders")
    client = Client(server.resp_port, request.param)
    yield client
    client.close()


def state(server):
    sql = server.sql("shop")
    return int(sql.value("SELECT stock FROM product WHERE id = 7")), int(sql.value("SELECT COUNT(*) FROM orders"))


TAKE = ("HINCRBY", "product:7", "stock", -1)
ENOUGH = ("ROW.REQUIRE", "product:7", "stock", ">=", 1)


def test_a_purchase(client, server):
    assert client.transaction(ENOUGH, TAKE, ("HSET", "orders:1", "product", 7), ("PING",), ("HGET", "product:7", "stock")) \
        == ["OK", 4, 1, "PONG", b"4"]
    assert state(server) == (4, 1)


def test_a_guard_that_does_not_hold_is_nil_or_an_error(client, server):
    none = ("ROW.REQUIRE", "product:7", "stock", ">=", 100)
    assert client.transaction(TAKE, none, ("HSET", "orders:1", "product", 7)) is None
    assert client.transaction(TAKE, (*none, "ERROR", "sold out")) == Error("GUARD sold out")
    assert client.transaction(("ROW.REQUIRE", "product:99", "stock", "=", 0)) is None
    assert state(server) == (5, 0)


def test_an_error_undoes_everything(client, server):
    assert client.transaction(("HSET", "orders:1", "product", 7), TAKE, ("HSET", "product:7", "sku", "C:8")) == Error(
        "EXECABORT undone: command 3: CONSTRAINT another row has this value in a unique index (1062)")
    assert client.transaction(TAKE, ("HINCRBY", "product:7", "name", 1)) == Error(
        "EXECABORT undone: command 2: ERR hash value is not an integer")
    assert state(server) == (5, 0)
    assert client.ask("PING") == "PONG"


def test_errors_while_queueing(client, server):
    assert client.ask("MULTI") == "OK" and client.ask("MULTI") == Error("ERR MULTI calls can not be nested")
    assert client.ask(*TAKE) == "QUEUED"
    assert client.ask("HGET", "x").startswith("ERR wrong number") and client.ask("HSET", "nokey", "a", "b").startswith("NOTABLE")
    assert client.ask("EXEC") == Error("EXECABORT Transaction discarded because of previous errors.")
    assert client.ask("EXEC") == Error("ERR EXEC without MULTI")
    assert client.ask("DISCARD") == Error("ERR DISCARD without MULTI")
    for refused in (("LPUSH", "a", "b"), ("HELLO", 3), ("SUBSCRIBE", "a"), ("nosuch",)):
        client.ask("MULTI")
        assert isinstance(client.ask(*refused), Error)
        assert client.ask("EXEC").startswith("EXECABORT")
    assert client.ask("MULTI") == "OK" and client.ask(*TAKE) == "QUEUED" and client.ask("DISCARD") == "OK"
    assert client.transaction() == []
    assert client.transaction(("HSET", "product:7", "nofield", 1)).startswith("EXECABORT nothing was done: command 1: NOFIELD")
    assert client.ask("MULTI") == "OK"
    for _ in range(10_000):
        client.send("PING")
    assert {client.receive() for _ in range(10_000)} == {"QUEUED"}
    assert client.ask("PING").startswith("TOOLARGE a transaction has at most")
    assert client.ask("EXEC").startswith("EXECABORT")
    assert state(server) == (5, 0)


def test_several_keys_are_one_unit(client, server):
    for number in range(1, 6):
        client.ask("HSET", f"orders:{number}", "product", 7)
    assert client.ask("EXISTS", "orders:1", "orders:1", "orders:77", "product:7") == 3
    assert client.ask("DEL", "orders:1", "orders:2", "orders:77") == 2
    assert client.transaction(("DEL", "orders:3", "orders:4"), ("EXISTS", "orders:3", "orders:5")) == [2, 1]
    assert state(server) == (5, 1)


def test_pipelined_transactions(client, server):
    for number in range(100):
        for command in (("MULTI",), ENOUGH, TAKE, ("HSET", f"orders:{number}", "product", 7), ("EXEC",)):
            client.send(*command)
    answers = [client.receive() for _ in range(500)][4::5]
    assert answers == [["OK", left, 1] for left in (4, 3, 2, 1, 0)] + [None] * 95
    assert state(server) == (0, 5)


def test_a_connection_that_ends_in_multi_does_nothing(client, server):
    client.ask("MULTI")
    client.ask(*TAKE)
    client.close()
    assert state(server) == (5, 0)


def test_a_locked_row_is_waited_for(client, server):
    locker, sql = server.sql("shop"), server.sql()
    locker.run("BEGIN")
    locker.run("SELECT * FROM product WHERE id = 7 FOR UPDATE")
    before = sql.status("Resp_lock_waits")
    client.ask("MULTI")
    client.ask(*TAKE)
    client.send("EXEC")
    wait_until(lambda: sql.status("Resp_lock_waits") > before, 20, "the wait")
    assert Client(server.resp_port).ask("HINCRBY", "product:8", "stock", 0) == 0
    locker.run("ROLLBACK")
    assert client.receive() == [4]


def watched(client, key, meanwhile):
    assert client.ask("WATCH", key) == "OK"
    meanwhile()
    return client.transaction(TAKE)


def test_a_watched_row_that_sql_changes(client, server):
    sql = server.sql("shop")
    assert watched(client, "product:8", lambda: None) == [4]
    assert watched(client, "product:8", lambda: sql.run("UPDATE product SET name = 'Mug' WHERE id = 8")) is None
    assert watched(client, "product:9", lambda: None) == [3], "a row that is not there"
    assert watched(client, "product:9", lambda: sql.run("INSERT INTO product (id) VALUES (9)")) is None
    assert watched(client, "product:9", lambda: sql.run("DELETE FROM product WHERE id = 9")) is None
    assert watched(client, "product@by_sku:C\\:8", lambda: sql.run("UPDATE product SET stock = 1 WHERE id = 8")) is None
    assert watched(client, "product:007", lambda: None) == [2], "no row has such a key"
    assert state(server) == (2, 0)
    sql.run("UPDATE product SET name = 'Cup', stock = 0 WHERE id = 8")


def test_a_watched_string(client, server):
    run_packaged(server.sql(), "rowsocket_store.sql")
    other = Client(server.resp_port)
    other.ask("DEL", "s")
    assert watched(client, "s", lambda: other.ask("SET", "t", 1)) == [4]
    assert watched(client, "s", lambda: other.ask("SET", "s", 1)) is None
    assert watched(client, "s", lambda: other.ask("EXPIRE", "s", 100)) is None
    assert watched(client, "s", lambda: (other.ask("SELECT", 4), other.ask("SET", "s", 2))) == [3], "of another database"
    other.ask("SELECT", 0)
    assert client.ask("SET", "soon", 1, "PX", 150) == "OK"
    assert watched(client, "soon", lambda: wait_until(lambda: other.ask("GET", "soon") is None, 5, "expiry")) is None, "it has expired meanwhile"
    assert watched(client, "soon", lambda: None) == [2]


def test_watch_ends_with_its_transaction(client, server):
    sql = server.sql("shop")
    for ends in (["UNWATCH"], ["MULTI", "DISCARD"], ["MULTI", "EXEC"]):
        client.ask("WATCH", "product:8")
        for command in ends:
            client.ask(command)
        sql.run("UPDATE product SET stock = stock + 1 WHERE id = 8")
        assert client.transaction(["HGET", "product:8", "name"]) == [b"Cup"], ends
    client.ask("MULTI")
    assert client.ask("WATCH", "product:8") == Error("ERR WATCH inside MULTI is not allowed")
    assert client.ask("EXEC") == [] and client.ask("WATCH") == Error("ERR wrong number of arguments for 'watch' command")


@pytest.mark.parametrize("removes", [False, True])
def test_an_insert_between_check_and_write_is_seen(client, server, removes):
    """SQL inserts the row that was absent while EXEC is between the comparison, or an HDEL that finds nothing and
    locks nothing, and its own write."""
    sql = server.sql("shop")
    inserted = threading.Event()
    both, nils = [], 0
    for number in range(200):
        assert client.ask("WATCH", f"orders:{number}") == "OK"
        first = [["HDEL", f"orders:{number}", "product"]] if removes else []
        for command in (["MULTI"], *first, *[["HGET", "product:7", "stock"]] * 50, ["HSET", f"orders:{number}", "product", 1]):
            client.ask(*command)
        inserted.clear()

        def insert():
            try:
                sql.run(f"INSERT INTO orders VALUES ({number}, 2)")
                inserted.set()
            except pymysql.err.IntegrityError:
                pass  # EXEC was first

        thread = threading.Thread(target=insert)
        begins = [thread.start, lambda: client.send("EXEC")]
        for begin in begins if number % 2 else begins[::-1]:
            begin()
        answer = client.receive()
        thread.join()
        nils += answer is None
        if answer is not None and inserted.is_set():
            both.append(number)
    assert both == [] and 0 < nils < 200, (both, nils)


@pytest.mark.parametrize("protocol", [2, 3])
def test_redis_pys_transaction_counts_each_call(server, client, protocol):  # pylint: disable=unused-argument
    """transaction() reads under WATCH, writes in MULTI and repeats on nil: no increment is lost."""

    def add():
        with redis.Redis(port=server.resp_port, protocol=protocol) as py:
            for _ in range(40):
                py.transaction(lambda pipe: (now := int(pipe.hget("product:7", "stock")), pipe.multi(),
                                             pipe.hset("product:7", "stock", now + 1)), "product:7")

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert state(server)[0] == 5 + 4 * 40


def test_transactions_in_flight_on_one_connection_share_commits(client, server):
    """As clients send them that many callers share: 60 purchases at once."""
    server.sql().run("UPDATE shop.product SET stock = 100 WHERE id = 7")
    before = server.sql().status("Resp_commits")
    commands = [(("MULTI",), ENOUGH, TAKE, ("HSET", f"orders:{number}", "product", 7), ("EXEC",)) for number in range(1, 61)]
    client.sock.sendall(b"".join(
        b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(str(word)), str(word).encode()) for word in words)
        for purchase in commands for words in purchase))
    for number in range(60):
        assert [client.receive() for _ in range(5)] == ["OK", "QUEUED", "QUEUED", "QUEUED", ["OK", 99 - number, 1]]
    assert state(server) == (40, 60)
    assert server.sql().status("Resp_commits") - before < 30


def send_at_once(client, commands):
    client.sock.sendall(b"".join(
        b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(str(word)), str(word).encode()) for word in words)
        for words in commands))


def test_select_hello_and_watch_in_flight_share_commits(client, server):
    """Commands in front of them and behind them are in one turn, and mean what they mean one by one."""
    run_packaged(server.sql(), "rowsocket_store.sql")
    version = client.ask("HELLO")
    version = (version if isinstance(version, dict) else dict(zip(version[::2], version[1::2])))[b"proto"]
    pairs = [(("SELECT", number % 16), ("HELLO", version), ("SET", "k", number)) for number in range(100)]
    before = server.sql().status("Resp_commits")
    send_at_once(client, [command for pair in pairs for command in pair])
    assert [client.receive() for _ in range(300)][2::3] == ["OK"] * 100
    assert server.sql().status("Resp_commits") - before < 50
    for number in range(16):
        assert client.ask("SELECT", number) == "OK" and client.ask("GET", "k") == b"%d" % (84 + (number - 84) % 16)
    client.ask("SELECT", 0)
    before = server.sql().status("Resp_commits")
    watched_ones = (("WATCH", "k", "product:7"), ("MULTI",), TAKE, ("SET", "k", "x"), ("EXEC",))
    send_at_once(client, [("SET", "k", "begin")] + [command for _ in range(40) for command in watched_ones])
    assert client.receive() == "OK"
    for left in range(4, -36, -1):
        assert [client.receive() for _ in range(5)] == ["OK", "OK", "QUEUED", "QUEUED", [left, "OK"]]
    assert server.sql().status("Resp_commits") - before < 20
    send_at_once(client, [("WATCH", "k"), ("SET", "k", "y"), ("MULTI",), ("SET", "k", "z"), ("EXEC",), ("GET", "k")])
    assert [client.receive() for _ in range(6)] == ["OK", "OK", "OK", "QUEUED", None, b"y"]
    client.ask("DEL", "k")


def test_what_stands_behind_a_locked_row_is_parsed_again(client, server):
    """A turn that stops takes SELECT, HELLO, MULTI and WATCH back, and they take effect once the row is free."""
    run_packaged(server.sql(), "rowsocket_store.sql")
    owner = server.sql("shop")
    owner.run("BEGIN")
    owner.run("UPDATE product SET stock = stock + 5 WHERE id = 7")
    send_at_once(client, [("SELECT", 3), TAKE, ("SET", "k", 3), ("SELECT", 4), ("SET", "k", 4), ("HELLO", 3, "SETNAME", "later"), ("WATCH", "k"),
                          ("MULTI",), ("SET", "k", 5), TAKE, ("EXEC",), ("CLIENT", "GETNAME"), ("SELECT", 3), ("GET", "k")])
    wait_until(lambda: owner.rows("SELECT STATE FROM information_schema.ROWSOCKET_CONNECTIONS WHERE STATE = 'lock wait'"), 10, "the wait")
    owner.run("COMMIT")
    replies = [client.receive() for _ in range(14)]
    assert replies[:5] == ["OK", 9, "OK", "OK", "OK"] and isinstance(replies[5], dict)
    assert replies[6:] == ["OK", "OK", "QUEUED", "QUEUED", ["OK", 8], b"later", "OK", b"3"]
    client.ask("DEL", "k")


def test_transactions_behind_one_whose_row_is_locked(client, server):
    """They wait with it, and each has its replies."""
    owner = server.sql("shop")
    owner.run("BEGIN")
    owner.run("UPDATE product SET stock = stock + 5 WHERE id = 7")
    for _ in range(3):
        client.send("MULTI")
        client.send(*TAKE)
        client.send("EXEC")
    wait_until(lambda: owner.rows("SELECT STATE FROM information_schema.ROWSOCKET_CONNECTIONS WHERE STATE = 'lock wait'"), 10, "the wait")
    owner.run("COMMIT")
    assert [client.receive() for _ in range(9)] == [reply for left in (9, 8, 7) for reply in ("OK", "QUEUED", [left])]
