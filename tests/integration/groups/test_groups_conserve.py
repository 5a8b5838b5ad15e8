"""Purchases of several rows by groups of HandlerSocket, MULTI of RESP and SQL beside each trouble of scripts/torture
--only purchase: stock, orders, users, tokens and answers agree (G2). Also: the comparison finds each wrong number."""

import pytest

from load import BINLOG_OPTIONS, scaled
from lost_cache import OPTIONS as FORGETFUL_OPTIONS
from purchase import Books, Purchase, Tables, violations
from purchase_trouble import FORGETFUL, OPTIONS, TROUBLES, purchases_in_trouble

pytestmark = [pytest.mark.again_in("mysql-9.7"), pytest.mark.ours, pytest.mark.slow]


@pytest.mark.parametrize("trouble", sorted(set(TROUBLES)))
def test_nothing_is_lost_or_done_by_half(make_server, lossy_disk, rng, trouble):
    forgets = trouble in FORGETFUL
    server = make_server(options=[*(FORGETFUL_OPTIONS if forgets else ()), *BINLOG_OPTIONS, *OPTIONS],
                         environment=lossy_disk.environment if forgets else None)
    for number in range(scaled(1)):
        wrong, counted = purchases_in_trouble(trouble, server, lossy_disk if forgets else None, f"sale{number}", rng)
        assert wrong == [] and counted["applied"] + counted["unknown"] > 0
        server.close_clients()


def sold():
    """Tables and books that agree: one order of one item was answered, one of both items was not, a third purchase is
    unknown and not there, and a fourth was refused."""
    books = Books()
    for number, (note, user, items) in enumerate((("a", 1, (1,)), ("b", 2, (2, 1)), ("c", 1, (2,)), ("d", 2, (1,)))):
        books.asked[note] = [Purchase(note, number, user, items, None, False, 0)]
    books.settle(books.asked["a"][0], 7, None)
    books.settle(books.asked["d"][0], None, "stopped")
    books.unknown |= {"b", "c"}
    orders = [(7, 1, 1, "a"), (8, 2, 3, "b")]
    return Tables({1: 8, 2: 9}, {1: 1, 2: 1}, orders, {"by_note": 2, "by_user": 2}), books


def stock(item, left):
    return lambda tables, books: tables.stock.update({item: left})


def order(at, row):
    return lambda tables, books: tables.orders.__setitem__(at, row)


@pytest.mark.parametrize("breaking, text", [
    (stock(1, 7), "item 1: 10 at the start, 7 left, 2 ordered"),
    (stock(2, 10), "item 2: 10 at the start, 10 left, 1 ordered"),
    (order(0, (6, 1, 1, "a")), "a was answered the order 7"),
    (order(1, (8, 2, 2, "b")), "b is (8, 2, 2), which nobody asked for"),
    (order(1, (8, 2, 3, "e")), "e is there, and was not answered as applied"),
    (order(1, (8, 2, 3, "a")), "orders that are there twice: ['a']"),
    (lambda tables, books: tables.orders.pop(0), "a was answered the order 7, and is None"),
    (lambda tables, books: tables.bought.update({1: 2}), "user 1 has 2, and 1 orders"),
    (lambda tables, books: tables.by_index.update({"by_user": 1}), "1 orders by the index by_user, 2 in the table"),
    (lambda tables, books: books.unknown.clear(), "b is there, and was not answered as applied"),
    (lambda tables, books: books.settle(books.asked["a"][0], 7, None), "a was applied twice"),
])
def test_the_comparison_finds_a_wrong_number(breaking, text):
    tables, books = sold()
    assert violations(10, tables, books) == []
    breaking(tables, books)
    assert any(wrong.startswith(text) for wrong in violations(10, tables, books)), violations(10, tables, books)
