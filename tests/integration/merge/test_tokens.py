"""Idempotency tokens: a request takes effect once, however often it is sent (H11)."""

import collections
import types

import pytest

import hs
from load import Crew, clients_kept, lock_waits, scaled
from lost_cache import OPTIONS, LostCache
from server import run_packaged, wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8", "mysql-9.7"), pytest.mark.sanitized("mariadb", "mysql")]

TABLE = "rowsocket_tokens.sql"
STOCK = 1_000_000
TAKE = hs.find_words(0, "=", [1], 1, 0, filters=[("F", ">", 0, 3)], mod=["-?", 1])


def make_stock(server, db="shop", stock=1000):
    sql = server.sql()
    sql.run(f"CREATE DATABASE IF NOT EXISTS {db}")
    sql.run(f"CREATE TABLE {db}.stock (id INT PRIMARY KEY, stock INT NOT NULL) ENGINE=InnoDB")
    sql.run(f"INSERT INTO {db}.stock VALUES (1, {stock}), (2, {stock})")
    return sql


def opened(server, db="shop"):
    client = server.hs_wr()
    assert client.open_index(0, db, "stock", "PRIMARY", "stock", "stock") == hs.OK
    return client


def once(token, tokens=TAKE):
    return ("T", token, *tokens)


@pytest.fixture
def shop(make_server):
    server = make_server(options=["--handlersocket-tokens=ON", "--handlersocket-token-ttl=3600"])
    run_packaged(make_stock(server), TABLE)
    return server


def test_a_repeated_request_gets_the_first_answer_again(shop):
    client, sql = opened(shop), shop.sql()
    assert client.request(*once("a")) == hs.reply(0, 1, 1000)
    assert client.request(*once("a")) == hs.reply(0, 1, 1000)
    assert client.request(*once("b")) == hs.reply(0, 1, 999)
    # On another connection the index has another id.
    other = shop.hs_wr()
    assert other.open_index(5, "shop", "stock", "PRIMARY", "stock", "stock") == hs.OK
    assert other.request("T", "a", 5, *TAKE[1:]) == hs.reply(0, 1, 1000)
    assert other.open_index(6, "shop", "stock", "", "stock", "stock") == hs.OK
    assert other.request("T", "b", 6, *TAKE[1:]) == hs.reply(0, 1, 999)
    assert sql.value("SELECT stock FROM shop.stock WHERE id = 1") == b"998"
    assert sql.rows("SELECT token, answer FROM rowsocket.tokens ORDER BY token") == [
        (b"a", b"0\t1\t1000\n"), (b"b", b"0\t1\t999\n")]


def test_only_requests_that_write_take_a_token(shop):
    """The error is `token` for every other command; an id that P has yet to open is no error."""
    client = opened(shop)
    for rest in (["P", 0, "shop", "stock", "", "stock"], ["P", 7, "shop", "stock", "", "stock"],
                 ["A", 1, "secret"], [0, "=", 1, 1]):
        assert client.request("T", "t", *rest) == hs.refused(2, "token"), rest
    assert client.request("T", "t", 7, *TAKE[1:]) == hs.refused(2, "stmtnum")


def test_the_same_token_in_one_pipeline(shop):
    client = opened(shop)
    assert client.pipeline([once("x"), once("x"), once("y"), once("x")]) == [
        hs.reply(0, 1, 1000), hs.reply(0, 1, 1000), hs.reply(0, 1, 999), hs.reply(0, 1, 1000)]


def merged(sql):
    return [sql.status(f"Handlersocket_merged_{what}") for what in ("rows", "requests")]


def test_requests_of_one_batch_change_their_row_once(shop):
    client, sql = opened(shop), shop.sql()
    rows, requests = merged(sql)
    batch = [once(f"t{number}") for number in range(60)]
    answers = [hs.reply(0, 1, 1000 - number) for number in range(60)]
    assert client.pipeline(batch) == answers
    moved = [after - before for after, before in zip(merged(sql), (rows, requests))]
    assert 1 <= moved[0] < 6 and moved[1] >= 50
    assert client.pipeline(batch) == answers
    assert sql.value("SELECT stock FROM shop.stock WHERE id = 1") == b"940"
    assert sql.value("SELECT COUNT(*) FROM rowsocket.tokens") == b"60"


def test_requests_with_and_without_a_token_and_groups_share_a_row(shop):
    client, sql = opened(shop), shop.sql()
    rows = merged(sql)[0]
    none = ("T", "none", *hs.find_words(0, "=", [9], 1, 0, mod=["-?", 1]))
    wrong = ("T", "wrong", *hs.find_words(0, "=", [1], 1, 0, mod=["U", "many"]))
    group = (["G", 1], ["R", *TAKE])
    answers = client.pipeline([once("a"), TAKE, wrong, once("b"), *group, once("a"), none, TAKE, once("b", TAKE[:-1] + [2]), once("c")])
    assert answers[:2] == [hs.reply(0, 1, 1000), hs.reply(0, 1, 999)]
    assert answers[2][0] != b"0"
    assert answers[3:7] == [hs.reply(0, 1, 998), hs.reply(0, 2, 1, 0), hs.reply(0, 1, 997), hs.reply(0, 1, 1000)]
    assert answers[7:] == [hs.reply(0, 1), hs.reply(0, 1, 996), hs.refused(1, "tokendiffers"), hs.reply(0, 1, 995)]
    assert sql.value("SELECT stock FROM shop.stock WHERE id = 1") == b"994"
    assert sql.rows("SELECT token FROM rowsocket.tokens ORDER BY token") == [(b"a",), (b"b",), (b"c",), (b"none",)]
    assert 1 <= merged(sql)[0] - rows < 4


def test_a_lock_on_an_expired_token_delays_no_request(make_server):
    """innodb_rollback_on_timeout: where the removal of the expired token meets the lock, the batch is taken back."""
    server = make_server(options=["--handlersocket-tokens=ON", "--handlersocket-token-ttl=3600",
                                  "--innodb-rollback-on-timeout=ON"])
    sql, locker = make_stock(server), server.sql()
    run_packaged(sql, TABLE)
    sql.run("INSERT INTO rowsocket.tokens (token, request, answer, created) VALUES ('old', 'r', 'a', 1)")
    locker.run("BEGIN")
    locker.run("SELECT * FROM rowsocket.tokens WHERE token = 'old' FOR UPDATE")
    client = opened(server)
    waits = sql.status("Handlersocket_lock_waits")
    assert [client.request(*once(f"t{number}")) for number in range(20)] == [
        hs.reply(0, 1, 1000 - number) for number in range(20)]
    assert sql.status("Handlersocket_lock_waits") == waits
    assert sql.value("SELECT COUNT(*) FROM rowsocket.tokens") == b"21"


def test_an_answer_that_is_too_large_to_be_kept(shop):
    sql, client = shop.sql(), shop.hs_wr()
    sql.run("CREATE TABLE shop.large (id INT PRIMARY KEY, v LONGTEXT) ENGINE=InnoDB")
    sql.run("INSERT INTO shop.large VALUES (1, REPEAT('x', 65000)), (2, REPEAT('x', 66000))")
    assert client.open_index(3, "shop", "large", "", "v") == hs.OK
    change = [hs.find_words(3, "=", [number], 1, 0, mod=["U?", "new"]) for number in (1, 2)]
    assert client.request(*once("a", change[0])) == hs.reply(0, 1, b"x" * 65000)
    assert client.request(*once("b", change[1])) == hs.refused(1, "resultsize")
    assert sql.rows("SELECT id, LENGTH(v) FROM shop.large") == [(b"1", b"3"), (b"2", b"66000")]
    assert sql.rows("SELECT token FROM rowsocket.tokens") == [(b"a",)]


def test_a_condition_that_failed_is_an_answer_too(shop):
    sql, client = shop.sql(), opened(shop)
    sql.run("UPDATE shop.stock SET stock = 3")
    assert client.request(*once("a")) == hs.reply(0, 1)
    sql.run("UPDATE shop.stock SET stock = 10")
    assert client.request(*once("a")) == hs.reply(0, 1)
    assert sql.value("SELECT stock FROM shop.stock WHERE id = 1") == b"10"


def test_another_request_with_the_same_token_is_an_error(shop):
    client, sql = opened(shop), shop.sql()
    assert client.request(*once("a")) == hs.reply(0, 1, 1000)
    two = hs.find_words(0, "=", [2], 1, 0, filters=[("F", ">", 0, 3)], mod=["-?", 1])
    assert client.request(*once("a", two)) == hs.refused(1, "tokendiffers")
    assert client.open_index(1, "shop", "stock", "PRIMARY", "id", "stock") == hs.OK
    assert client.request("T", "a", 1, *TAKE[1:]) == hs.refused(1, "tokendiffers")
    assert sql.rows("SELECT stock FROM shop.stock") == [(b"999",), (b"1000",)]


def test_a_request_that_failed_keeps_no_token(shop):
    client, sql = opened(shop), shop.sql()
    assert client.open_index(2, "shop", "stock", "PRIMARY", "id,stock") == hs.OK
    assert client.request("T", "a", 2, "+", 2, 1, 5).number == 121
    assert sql.rows("SELECT * FROM rowsocket.tokens") == []
    assert client.request("T", "a", 2, "+", 2, 7, 5) == hs.OK
    assert client.request("T", "a", 2, "+", 2, 7, 5) == hs.OK


@pytest.mark.parametrize("tokens", [
    ("T", ""), ("T", "", *TAKE), ("T", "a" * 65, *TAKE), ("T", None, *TAKE), ("T", "a"),
    ("T", "a", 0, "=", 1, 1), ("T", "a", "P", 1, "shop", "stock", "PRIMARY", "stock")])
def test_requests_that_cannot_have_a_token(shop, tokens):
    client = opened(shop)
    assert client.request(*tokens).code != 0
    assert client.request(*once("b")) == hs.reply(0, 1, 1000)


def test_a_token_is_any_64_bytes(shop):
    client = opened(shop)
    token = bytes(range(64))
    assert client.request(*once(token)) == hs.reply(0, 1, 1000)
    assert client.request(*once(token)) == hs.reply(0, 1, 1000)
    assert client.request(*once(token[:63])) == hs.reply(0, 1, 999)


def test_the_same_token_twice_behind_a_locked_row(shop):
    """A client that has waited too long sends the request again: both requests wait for the row at the same
    time."""
    clients, sql = [opened(shop) for _ in range(3)], shop.sql()
    holder = shop.sql()
    holder.run("BEGIN")
    holder.run("SELECT * FROM shop.stock WHERE id = 1 FOR UPDATE")
    for number, client in enumerate(clients):
        client.send(*once("a"))
        wait_until(lambda waiting=number + 1: sql.status("Handlersocket_lock_waits") == waiting, 20,
                   "its wait")
    wait_until(lambda: lock_waits(sql) == 1, 20, "the wait of them all", 0.15)
    holder.run("COMMIT")
    assert [client.recv() for client in clients] == [hs.reply(0, 1, 1000)] * 3
    assert sql.value("SELECT stock FROM shop.stock WHERE id = 1") == b"999"


def test_expired_tokens_that_are_being_deleted_keep_nobody_waiting(shop):
    """A request that has waited for the row holds it: it must not wait for a token's row then."""
    client, sql = opened(shop), shop.sql()
    for number in range(10):
        client.request(*once(f"old{number}"))
    sql.run("UPDATE rowsocket.tokens SET created = created - 7200")
    cleaner, holder = shop.sql(), shop.sql()
    cleaner.run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
    cleaner.run("BEGIN")
    cleaner.run("DELETE FROM rowsocket.tokens WHERE token LIKE 'old%'")
    holder.run("BEGIN")
    holder.run("SELECT * FROM shop.stock WHERE id = 1 FOR UPDATE")
    client.send(*once("new"))
    wait_until(lambda: lock_waits(sql) == 1, 20, "the wait for the row", 0.15)
    holder.run("COMMIT")
    assert client.recv() == hs.reply(0, 1, 990)
    cleaner.run("COMMIT")


def test_a_token_that_is_locked_keeps_no_others_from_the_row(shop):
    clients, sql = [opened(shop) for _ in range(2)], shop.sql()
    cleaner, holder = shop.sql(), shop.sql()
    clients[0].request(*once("a"))
    cleaner.run("BEGIN")
    cleaner.run("DELETE FROM rowsocket.tokens WHERE token = 'a'")
    holder.run("BEGIN")
    holder.run("SELECT * FROM shop.stock WHERE id = 1 FOR UPDATE")
    clients[0].send(*once("a"))
    wait_until(lambda: sql.status("Handlersocket_lock_waits") == 1, 20, "its wait")
    clients[1].send(*TAKE)
    wait_until(lambda: sql.status("Handlersocket_lock_waits") == 2, 20, "the other's wait")
    holder.run("COMMIT")
    assert clients[1].recv() == hs.reply(0, 1, 999)
    cleaner.run("COMMIT")
    assert clients[0].recv() == hs.reply(0, 1, 998)


def test_a_new_token_in_a_locked_gap_keeps_no_others_from_the_row(shop):
    """It is tried again until the gap is free, and holds the row for none of that time."""
    clients, sql, cleaner = [opened(shop) for _ in range(2)], shop.sql(), shop.sql()
    for number in range(3):
        clients[0].request(*once(f"old{number}"))
    cleaner.run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    cleaner.run("BEGIN")
    cleaner.run("DELETE FROM rowsocket.tokens")
    clients[0].send(*once("new"))
    wait_until(lambda: sql.status("Handlersocket_lock_waits") >= 1, 20, "its wait")
    for number in range(30):
        assert clients[1].request(*TAKE) == hs.reply(0, 1, 997 - number)
    assert not clients[0].readable(0.3)
    cleaner.run("ROLLBACK")
    assert clients[0].recv() == hs.reply(0, 1, 967)


def test_a_dropped_table_of_tokens_is_reported(shop):
    client, sql = opened(shop), shop.sql()
    assert client.request(*once("a")) == hs.reply(0, 1, 1000)
    sql.run("ALTER TABLE rowsocket.tokens DROP COLUMN answer")
    assert client.request(*once("b")) == hs.refused(1, "tokentable")
    sql.run("DROP TABLE rowsocket.tokens")
    assert client.request(*once("b")) == hs.refused(1, "tokentable")
    run_packaged(sql, TABLE)
    assert client.request(*once("b")) == hs.reply(0, 1, 999)


def test_tokens_are_off_by_default(server, db, sql, hs_wr):
    sql.run("CREATE TABLE stock (id INT PRIMARY KEY, stock INT NOT NULL) ENGINE=InnoDB")
    assert hs_wr.open_index(0, db, "stock", "PRIMARY", "stock", "stock") == hs.OK
    assert hs_wr.request(*once("a")) == hs.refused(2, "cmd")


def test_without_the_table_nothing_is_done(make_server):
    server = make_server(options=["--handlersocket-tokens=ON"])
    sql = make_stock(server)
    client = opened(server)
    assert client.pipeline([once("a"), once("b"), TAKE]) == [
        hs.refused(1, "tokentable"), hs.refused(1, "tokentable"), hs.reply(0, 1, 1000)]
    run_packaged(sql, TABLE)
    assert client.request(*once("a")) == hs.reply(0, 1, 999)


def test_expired_tokens_are_new_and_go(shop):
    client, sql = opened(shop), shop.sql()
    for number in range(10):
        client.request(*once(f"old{number}"))
    assert sql.value("SELECT COUNT(*) FROM rowsocket.tokens") == b"10"
    sql.run("UPDATE rowsocket.tokens SET created = created - 7200")
    assert client.request(*once("old3")) == hs.reply(0, 1, 990)
    for number in range(5):
        client.request(*once(f"new{number}"))
    assert sql.rows("SELECT COUNT(*) FROM rowsocket.tokens WHERE token LIKE 'old%'") == [(b"1",)]


def test_an_answer_that_was_kept_is_durable_when_it_is_given_again(make_server, tmp_path):
    """Other sessions see a commit before it is flushed: here a setting delays the flush until it is asked
    for."""
    lossy_disk = LostCache(tmp_path)
    server = make_server(options=[*OPTIONS, "--handlersocket-tokens=ON",
                                  "--innodb-flush-log-at-timeout=2700",
                                  "--innodb-stats-auto-recalc=OFF"],
                         environment=lossy_disk.environment)
    sql = make_stock(server)
    run_packaged(sql, TABLE)
    client = opened(server)
    assert client.request(*once("a")) == hs.reply(0, 1, 1000)
    sql.run("FLUSH ENGINE LOGS")
    sql.run("SET GLOBAL innodb_flush_log_at_trx_commit = 2")
    assert client.request(*once("b")) == hs.reply(0, 1, 999)
    sql.run("SET GLOBAL innodb_flush_log_at_trx_commit = 1")
    assert opened(server).request(*once("b")) == hs.reply(0, 1, 999)
    server.kill()
    lossy_disk.cut_power(server)
    server.start()
    sql = server.sql()
    assert sql.value("SELECT stock FROM shop.stock WHERE id = 1") == b"998"
    assert sql.rows("SELECT token FROM rowsocket.tokens ORDER BY token") == [(b"a",), (b"b",)]


class Shopper:
    """Takes pieces with a token each and sends the request again after every loss, until it has an answer.
    place.server is where the shop is now."""

    def __init__(self, place, db, number):
        self.place, self.db, self.number = place, db, number
        self.bought, self.repeated = {}, 0

    def run(self, stopping):
        client, count = None, 0
        self.asked = None  # the last token, whether it was answered or not
        while not stopping.is_set() or self.token(count) in self.bought:
            token = self.token(count)
            if token in self.bought:
                count += 1
                continue
            try:
                if client is None:
                    client = opened(self.place.server, self.db)
                self.repeated += token == self.asked
                self.asked = token
                reply = client.request(*once(token))
                if reply.code == 0:
                    self.bought[token] = int(reply.cells[0])
                else:  # a server that is the primary no longer, for example
                    raise hs.Closed(str(reply))
            except (hs.Closed, OSError, AssertionError, KeyError):
                client = None
                stopping.wait(0.02)
        # The last piece may have been taken without an answer: the shopper asks until it has an answer.
        self.last = self.token(count)

    def token(self, count):
        return f"{self.db}-{self.number}-{count}"


def kill_and_start(server):
    with clients_kept(server):
        server.kill()
        server.start()
    return server


def kills_and_reconnects(server, db, rng, kills, restart=kill_and_start):
    """Shoppers on a new table, while the server is killed so many times. restart(server) kills the server and
    returns the server that takes over. Returns the violations, the number of bought pieces, and the number of
    repeated requests."""
    make_stock(server, db, STOCK)
    place = types.SimpleNamespace(server=server)
    shoppers = [Shopper(place, db, number) for number in range(8)]

    def bought():
        return sum(len(shopper.bought) for shopper in shoppers)
    with clients_kept(server), Crew() as crew:
        for shopper in shoppers:
            crew.start(shopper.run, crew.stopping)
        for number in range(kills + 1):
            goal = bought() + rng.randint(1, 400)
            wait_until(lambda goal=goal: crew.check() and bought() >= goal, 60, "purchases")
            if number < kills:
                place.server = restart(place.server)
    server = place.server
    client, wrong = opened(server, db), []
    for shopper in shoppers:
        reply = client.request(*once(shopper.last))
        if reply.code == 0:
            shopper.bought[shopper.last] = int(reply.cells[0])
        else:
            wrong.append(f"{shopper.last} is answered {reply}")
    befores = collections.Counter(before for shopper in shoppers
                                  for before in shopper.bought.values())
    wrong += [f"{before} was sold {count} times" for before, count in befores.items() if count > 1]
    taken = STOCK - int(server.sql().value(f"SELECT stock FROM {db}.stock WHERE id = 1"))
    if taken != bought():
        wrong.append(f"{taken} taken, {bought()} bought")
    return wrong, bought(), sum(shopper.repeated for shopper in shoppers)


def test_exactly_once_across_kills_and_reconnects(shop, rng):
    wrong, _, repeated = kills_and_reconnects(shop, "crash", rng, scaled(3))
    assert wrong == []
    assert repeated > 0  # the kills met requests under way
