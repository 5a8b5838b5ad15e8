"""The flash sale: no piece oversold, none lost, no client shut out (H1, H2, H3, H6, H14)."""

import itertools
import random
import statistics
import types

import pytest

import hs
from load import both_logs, scaled
from sale import (KEEP, NOTHING_NOW, Buyer, CounterBuyer, Purchase, Sale, applied, book_violations,
                  crash_violations, error_violations, jain, killed_sale, make_table, of_row,
                  order_violations)

pytestmark = pytest.mark.again_in("mariadb-11.8")

CRASH_ROUNDS = 20


def run_dry(server, sql, db, stock, connections, depth=1):
    """Sells all pieces and returns the violations, and the sale."""
    make_table(sql, db, stock)
    sale = Sale(server, db, connections, depth)
    try:
        sale.play(lambda sale: sale.error_replies)
    finally:
        sale.close()
    final = int(sql.value(f"SELECT stock FROM {db}.stock WHERE id = 1"))
    wrong = error_violations(sale)
    wrong += [f"{len(sale.unknown)} were not answered"] if sale.unknown else []
    wrong += book_violations(sale.books, stock, final)
    return wrong + order_violations(sale.books), sale


@pytest.mark.parametrize("connections, depth, stock", [
    (1, 1, 500), (8, 1, 3000), (64, 8, 30_000), (512, 1, 30_000)])
def test_a_sale_sells_every_piece_once(server, sql, db, connections, depth, stock):
    wrong, sale = run_dry(server, sql, db, stock, connections, depth)
    assert wrong == []
    assert len(applied(sale.books)) == stock - KEEP


@pytest.mark.slow
def test_half_a_million_pieces_at_4096_connections(make_server):
    server = make_server(options=["--max-connections=100"])
    wrong, sale = run_dry(server, server.sql(), "sale", scaled(500_000), 4096)
    assert wrong == []
    sold_out = [one for one in sale.books if one.before is None]
    assert len(sold_out) == 4096  # each buyer has been told once


def books(*befores):
    """The book of one buyer who asks again after each answer; None: not applied."""
    purchases = []
    for at, before in enumerate(befores):
        purchase = Purchase(None, sent=2 * at)
        purchase.answered, purchase.before = 2 * at + 1, before
        purchases.append(purchase)
    return purchases


def test_the_books_notice_a_piece_sold_twice_or_never():
    assert book_violations(books(7, 6, 5, 4), 7, KEEP) == []
    assert book_violations(books(7, 6, 6, 4), 7, KEEP) != []
    assert book_violations(books(7, 6, 5), 7, KEEP) != []
    assert book_violations(books(7, 6, 5, 4), 7, 2) != []
    assert order_violations(books(7, 6, 5, 4)) == []
    assert order_violations(books(7, 5, 6, 4)) != []


def test_the_books_notice_a_refusal_while_there_was_stock():
    sold = range(100, KEEP, -1)
    assert order_violations(books(*sold, None, None)) == []
    for wrong in (books(None, *sold), books(*sold[:96], None, *sold[96:])):
        # all pieces were sold once, but this buyer's answers miss some
        assert book_violations(wrong, 100, KEEP) == []
        assert order_violations(wrong) != []
    # A request that was sent before the refusal was answered may still come before the refused request.
    together = books(None, *sold)
    together[0].answered = together[-1].answered
    assert order_violations(together) == []

    killed = types.SimpleNamespace(books=books(7, 6, None), unknown=[])
    assert crash_violations(killed, 7, 5) == ["1 were refused, and 5 are left"]


def test_several_hot_rows(server, sql, db):
    make_table(sql, db, 3000, rows=8)
    sale = Sale(server, db, 64, depth=4, rows=8)
    try:
        sale.play()
    finally:
        sale.close()
    assert not sale.errors and not sale.unknown
    for row in range(1, 9):
        final = int(sql.value("SELECT stock FROM stock WHERE id = %s", row))
        assert book_violations(of_row(sale.books, row), 3000, final) == []
        assert order_violations(of_row(sale.books, row)) == []


def test_clients_with_equal_demand_are_served_alike(server, sql, db):
    make_table(sql, db, 60_000)
    sale = Sale(server, db, 100)
    try:
        sale.play()
    finally:
        sale.close()
    counts = dict.fromkeys(range(100), 0)
    for one in applied(sale.books):
        counts[one.buyer.number] += 1
    assert jain(list(counts.values())) >= 0.95


def test_requests_of_one_connection_take_effect_in_order(server, db, sql, wr):
    """Pipelined: conditions see the changes of the requests before them, also over two rows."""
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB")
    sql.run("INSERT INTO t VALUES (1, 10), (2, 10)")
    index = wr("t", "PRIMARY", "n", "n")
    others = [server.hs_wr() for _ in range(4)]
    for other in others:
        assert other.open_index(0, db, "t", "PRIMARY", "n", "n") == hs.OK

    def request(row, operator, value, *modification):
        return hs.find_words(index.id, "=", [row], 1, 0, filters=[("F", operator, 0, value)],
                             mod=list(modification))
    for other in others:  # other requests in the same batch
        other.send_raw(hs.line(*hs.find_words(0, "=", [1], 1, 0, mod=["+", 0])) * 20)
    replies = index.client.pipeline([
        request(1, "=", 10, "U", 20),       # 1: 10 -> 20
        request(1, "=", 10, "-?", 1),       # the condition does not hold any more
        request(2, ">=", 10, "+?", 5),      # 2: 10 -> 15
        request(1, ">", 15, "-?", 1),       # 1: 20 -> 19
        request(2, "=", 15, "D?"),          # 2 is gone
        request(2, ">=", 0, "-?", 1),       # there is nothing to take from
        request(1, "=", 19, "-?", 9),
        request(1, "=", 10, "+", 1)])
    assert replies == [hs.counted(1), hs.reply(0, 1), hs.reply(0, 1, 10), hs.reply(0, 1, 20),
                       hs.reply(0, 1, 15), hs.reply(0, 1), hs.reply(0, 1, 19), hs.counted(1)]
    for other in others:
        assert {other.recv() for _ in range(20)} == {hs.counted(1)}
    assert sql.rows("SELECT id, n FROM t") == [(b"1", b"11")]


def test_one_request_that_is_wrong_fails_alone(server, db, sql, wr):
    """A value out of range between requests for the same row, of several connections."""
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, n TINYINT UNSIGNED NOT NULL) ENGINE=InnoDB")
    sql.run("INSERT INTO t VALUES (1, 100)")
    index = wr("t", "PRIMARY", "n")
    lines = [(["+", 1], hs.counted(1)), (["+", 200], None), (["-", 2], hs.counted(1)),
             (["U", "abc"], None), (["+?", 3], hs.reply(0, 1, 99))]
    replies = index.client.pipeline([hs.find_words(index.id, "=", [1], 1, 0, mod=mod)
                                     for mod, _ in lines])
    for reply, (_, expected) in zip(replies, lines):
        if expected is None:
            assert reply.code != 0, reply
        else:
            assert reply == expected
    assert sql.value("SELECT n FROM t") == b"102"


@pytest.mark.slow
@both_logs
@pytest.mark.parametrize("buyers", [Buyer, CounterBuyer], ids=["handlersocket", "memcached"])
def test_sigkill_in_the_middle_of_a_sale(make_server, rng, options, buyers):
    server = make_server(options=options)
    unknown = 0
    for number in range(scaled(CRASH_ROUNDS) // 4):
        wrong, sale = killed_sale(server, rng, f"sale{number}", rng.randint(1, 2000), buyers)
        assert wrong == [], f"round {number}"
        unknown += len(sale.unknown)
    assert unknown > 0  # the kills met requests under way


def test_the_crash_round_sees_lost_sales(make_server):
    """On a server that writes its log once a second the check does not pass."""
    server = make_server(options=["--innodb-flush-log-at-trx-commit=0"])
    rng = random.Random(7)
    rounds = (killed_sale(server, rng, f"lost{number}", rng.randint(1, 2000))[0]
              for number in range(10))
    assert any(" taken, " in text for wrong in rounds for text in wrong)


class Greedy:
    """A client that keeps `depth` requests pipelined for as long as other clients play."""

    def __init__(self, server, db, depth):
        self.client = server.hs_wr()
        assert self.client.open_index(0, db, "stock", "PRIMARY", "stock", "stock") == hs.OK
        self.line = hs.line(*hs.find_words(0, "=", [1], 1, 0, filters=[("F", ">", 0, KEEP)],
                                           mod=["-", 1]))
        self.client.sock.setblocking(False)
        self.depth, self.under_way, self.unsent = depth, 0, b""

    def keep_busy(self):
        """Takes the replies that are there and sends as many requests again. Returns the number of
        replies."""
        before = self.under_way
        try:
            while part := self.client.sock.recv(1 << 20):
                self.under_way -= part.count(b"\n")
        except NOTHING_NOW:
            pass
        answered, missing = before - self.under_way, self.depth - self.under_way
        self.under_way += missing
        self.unsent += self.line * missing
        try:
            self.unsent = self.unsent[self.client.sock.send(self.unsent):]
        except NOTHING_NOW:
            pass
        return answered


def answered_beside_the_others(server, db, greedy, taken=4000):
    """The number of the greedy client's requests that are answered for each request of one of 63 other
    clients, while they take `taken` pieces. Where this program itself stands still for a moment, the others
    do too; the median tells the usual number."""
    sale = Sale(server, db, 63)
    shares, answered, before = [], 0, 0

    def step(sale):
        nonlocal answered, before
        answered += greedy.keep_busy()
        if sale.taken - before >= 200:
            shares.append(answered / (sale.taken - before))
            answered, before = 0, sale.taken
        return sale.taken >= taken
    try:
        sale.play(step)
    finally:
        sale.close()
    return statistics.median(shares)


def test_a_deep_pipeline_leaves_room_for_the_others(server, sql, db):
    """Beside one client that keeps 10,000 requests pipelined, a request of another client waits for a bounded
    number of the greedy client's requests, however many it has sent."""
    make_table(sql, db, 2_000_000_000)
    greedy = Greedy(server, db, 10_000)
    greedy.keep_busy()
    share = answered_beside_the_others(server, db, greedy)
    # A batch serves all 63 clients and as many of the greedy client's requests; without shares it would be 32
    # for each.
    assert 0 < share < 8
