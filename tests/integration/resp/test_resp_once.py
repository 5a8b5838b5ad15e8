"""ROW.ONCE: a transaction takes effect once, however often it is sent; ROW.OUTCOME: what became of it."""

import concurrent.futures

import pytest
import redis

import resp
from loses_replies import LosesReplies
from resp import Client, Error
from server import run_packaged

pytestmark = [pytest.mark.again_in("mariadb-11.8", "mysql-9.7"), pytest.mark.ours]

ENOUGH = ("ROW.REQUIRE", "product:7", "stock", ">=", 1)
TAKE = ("HINCRBY", "product:7", "stock", -1)
DIFFERS = Error("EXECABORT undone: TOKENDIFFERS the token was used for another transaction; nothing was done")


@pytest.fixture(scope="module")
def server(resp_server):
    sql = resp_server.sql()
    sql.run("CREATE TABLE shop.orders (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, buyer VARCHAR(20)) ENGINE=InnoDB")
    run_packaged(sql, "rowsocket_store.sql")
    client = Client(resp_server.resp_port)
    missing = client.transaction(("ROW.ONCE", "t"), TAKE)
    assert missing.startswith("EXECABORT nothing was done: NOTOKENS") and "rowsocket_tokens.sql" in missing
    run_packaged(sql, "rowsocket_tokens.sql")
    assert client.transaction(("ROW.ONCE", "t"), TAKE) == ["OK", 4], "the connection need not be a new one"
    return resp_server


@pytest.fixture
def sql(server):
    sql = server.sql("shop")
    sql.run("UPDATE product SET stock = 1000 WHERE id = 7")
    sql.run("DELETE FROM orders")
    sql.run("DELETE FROM rowsocket.tokens")
    return sql


def sold(sql):
    return 1000 - int(sql.value("SELECT stock FROM product WHERE id = 7")), int(sql.value("SELECT COUNT(*) FROM orders"))


def sale(token, buyer):
    return ("ROW.ONCE", token), ENOUGH, TAKE, ("HSET", f"orders:{buyer}", "buyer", f"b{buyer}")


@pytest.mark.parametrize("version", [2, 3])
def test_a_repeated_transaction_gets_the_first_reply_again(server, sql, version):
    first = Client(server.resp_port, version).transaction(*sale("a", 1))
    assert first == ["OK", "OK", 999, 1]
    for _ in range(3):
        again = Client(server.resp_port, version)
        assert again.ask("WATCH", "product:7") == "OK", "the watched row is another one by now"
        assert again.transaction(*sale("a", 1)) == first
    assert again.transaction(*sale("b", 2)) == ["OK", "OK", 998, 1]
    assert sold(sql) == (2, 2)


def test_another_transaction_with_the_token_is_refused(server, sql):
    client = Client(server.resp_port)
    assert client.transaction(*sale("a", 1))[2] == 999
    assert client.transaction(*sale("a", 2)) == DIFFERS
    assert client.transaction(("ROW.ONCE", "a"), TAKE) == DIFFERS
    assert client.ask("SELECT", 1) == "OK" and client.transaction(*sale("a", 1)) == DIFFERS
    assert Client(server.resp_port, 3).transaction(*sale("a", 1)) == DIFFERS, "its reply would have another shape"
    assert sold(sql) == (1, 1)


def test_what_is_not_applied_keeps_no_token(server, sql):
    client = Client(server.resp_port)
    sql.run("UPDATE product SET stock = 0 WHERE id = 7")
    assert client.transaction(*sale("a", 1)) is None
    assert client.transaction(("ROW.ONCE", "a"), TAKE, ("HSET", "product:7", "sku", "C:8")).startswith("EXECABORT undone: command 3:")
    assert client.ask("ROW.OUTCOME", "a") == [b"unknown", None]
    sql.run("UPDATE product SET stock = 1000 WHERE id = 7")
    assert client.transaction(*sale("a", 1)) == ["OK", "OK", 999, 1]


def test_the_outcome_can_be_asked_and_fenced(server, sql):
    client = Client(server.resp_port)
    client.transaction(*sale("a", 1))
    assert client.ask("ROW.OUTCOME", "a") == [b"done", ["OK", "OK", 999, 1]]
    assert client.ask("ROW.OUTCOME", "a", "FENCE") == [b"done", ["OK", "OK", 999, 1]]
    assert Client(server.resp_port, 3).ask("ROW.OUTCOME", "a")[0] == b"done"
    assert client.ask("ROW.OUTCOME", "b", "FENCE") == [b"never", None]
    assert client.transaction(*sale("b", 2)) == DIFFERS, "a late arrival"
    assert sold(sql) == (1, 1)


def test_what_cannot_be_kept_is_not_done(server, sql):
    client = Client(server.resp_port)
    assert client.ask("SET", "large", "x" * 66_000) == "OK"
    assert client.transaction(("ROW.ONCE", "a"), TAKE, ("GET", "large")) == Error(
        "EXECABORT undone: command 3: TOOLARGE the reply is larger than the 64 KiB that are kept with a token:"
        " read in another transaction")
    assert client.transaction(("ROW.ONCE", "a"), ("HGET", "product:7", "stock")) == Error(
        "EXECABORT nothing was done: ERR ROW.ONCE is for transactions that write")
    assert sold(sql) == (0, 0)


def test_many_send_the_same_at_once(server, sql):
    """40 transactions, each sent over 8 connections at the same time, in an order of its own for each."""
    def buy(order):
        client = Client(server.resp_port)
        return {number: client.transaction(*sale(f"t{number}", number)) for number in order}

    orders = [[(7 * at + step * number) % 40 + 1 for number in range(40)] for at, step in enumerate([1, 3, 7, 9, 11, 13, 17, 19])]
    with concurrent.futures.ThreadPoolExecutor(len(orders)) as pool:
        replies = list(pool.map(buy, orders))
    assert all(reply == replies[0] for reply in replies), "each has the one reply of its transaction"
    assert sorted(reply[2] for reply in replies[0].values()) == list(range(960, 1000))
    assert sold(sql) == (40, 40)


@pytest.mark.parametrize("has_token", [True, False], ids=["token", "none"])
def test_a_client_that_sends_again_by_itself(server, sql, has_token):
    """redis-py with retries loses three replies: with a token one row is sold, without it four."""
    # The replies to MULTI and to what is queued are no array: the first one is EXEC's.
    proxy = LosesReplies(server.resp_port, 3, b"\r\n*4\r\n")
    retry = redis.retry.Retry(redis.backoff.NoBackoff(), 5)
    with redis.Redis(port=proxy.port, retry=retry,
                     retry_on_error=[redis.ConnectionError]) as client:
        pipeline = client.pipeline(transaction=True)
        pipeline.execute_command(*(("ROW.ONCE", "r-1") if has_token else ("PING",)))
        pipeline.execute_command(*ENOUGH)
        pipeline.hincrby("product:7", "stock", -1)
        pipeline.hset("orders:1", "buyer", "ann")
        replies = pipeline.execute()
    proxy.listener.close()
    assert proxy.times == 0
    assert replies[2] == (999 if has_token else 996)
    assert sold(sql) == ((1, 1) if has_token else (4, 1))


def test_a_token_outlives_the_server(make_server):
    server = resp.start(make_server)
    run_packaged(server.sql(), "rowsocket_tokens.sql")
    once = (("ROW.ONCE", "a"), ("HINCRBY", "product:7", "stock", -1))
    assert Client(server.resp_port).transaction(*once) == ["OK", 4]
    server.strike()
    server.kill()
    server.start()
    client = Client(server.resp_port)
    assert client.ask("ROW.OUTCOME", "a") == [b"done", ["OK", 4]]
    assert client.transaction(*once) == ["OK", 4]
    assert client.ask("HGET", "product:7", "stock") == b"4"


def test_a_table_of_tokens_that_is_locked_is_not_missing(make_server):
    server = resp.start(make_server, "--loose-resp-wrlock-timeout=1")
    sql = server.sql()
    run_packaged(sql, "rowsocket_tokens.sql")
    client = Client(server.resp_port)
    assert client.ask("HGET", "product:7", "stock") == b"5"
    sql.run("LOCK TABLES rowsocket.tokens WRITE")
    locked = client.transaction(("ROW.ONCE", "a"), TAKE)
    assert locked.startswith("EXECABORT nothing was done: TRYAGAIN") and "NOTOKENS" not in locked
    assert client.ask("ROW.OUTCOME", "a").startswith("TRYAGAIN")
    sql.run("UNLOCK TABLES")
    assert client.transaction(("ROW.ONCE", "a"), TAKE) == ["OK", 4]
    assert client.ask("ROW.OUTCOME", "a") == [b"done", ["OK", 4]]
    client.close()


def test_the_reply_is_for_those_who_may_have_it(make_server):
    server = resp.start(make_server, "--loose-resp-accounts=ON")
    sql = server.sql()
    run_packaged(sql, "rowsocket_tokens.sql")
    for user in ("ann", "bob"):
        sql.run(f"CREATE USER {user}@'127.0.0.1' IDENTIFIED BY 'pw'")
    sql.run("GRANT SELECT, UPDATE ON shop.product TO ann@'127.0.0.1'")
    sql.run("GRANT SELECT ON shop.line TO bob@'127.0.0.1'")
    ann, bob = Client(server.resp_port), Client(server.resp_port)
    assert ann.ask("AUTH", "ann", "pw") == "OK" and bob.ask("AUTH", "bob", "pw") == "OK"
    assert ann.transaction(("ROW.ONCE", "a"), TAKE) == ["OK", 4], "no right on rowsocket.tokens is needed"
    assert bob.transaction(("ROW.ONCE", "a"), TAKE).startswith("EXECABORT")
    assert ann.ask("ROW.OUTCOME", "a") == bob.ask("ROW.OUTCOME", "a") == [b"done", None]
    assert ann.transaction(("ROW.ONCE", "a"), TAKE) == ["OK", 4]
