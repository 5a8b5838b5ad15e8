"""Transactions over several rows, by groups of HandlerSocket, MULTI of RESP and SQL at once, are strictly serializable:
one order explains all their answers, and what was answered before another was sent comes first in it."""

import pytest

from group_history import (MIXED, STOPPED, TRANSACTIONS, CarelessSqlPlayer, GroupPlayer, MultiPlayer, histories,
                           is_explained, step)
from linearizable import Operation, is_linearizable
from load import scaled
from private_servers import create, remove

pytestmark = [pytest.mark.again_in("mariadb-11.8", "mysql-9.7"), pytest.mark.ours]


@pytest.fixture(scope="module")
def server(request):
    """As durable as it must be for what a client sees: nothing is killed here."""
    server = create(request.config, options=["--loose-resp-socket=resp.sock", "--innodb-flush-log-at-trx-commit=2"]).start()
    yield server
    remove(server)


@pytest.mark.parametrize("kinds", [
    [GroupPlayer] * 5, [MultiPlayer] * 5, MIXED], ids=["groups", "multi", "both and SQL"])
def test_histories_of_groups_are_strictly_serializable(server, db, rng, kinds):
    done = 0
    for history, state, end in histories(server, db, rng, kinds, scaled(6)):
        assert is_explained(history, state, end), (state, sorted(history, key=lambda one: one.sent), end)
        done += len(history)
    assert done > scaled(6) * TRANSACTIONS


def test_the_checker_finds_what_reads_without_locks_lose(server, db, rng):
    """A live history that is not serializable: SQL that writes what it has made of reads without locks."""
    assert not all(is_explained(*one) for one in histories(
        server, db, rng, [GroupPlayer, MultiPlayer, *[CarelessSqlPlayer] * 4], 20))


def transactions(*entries):
    return [Operation(sent, answered, "transaction", parts, result) for sent, answered, parts, result in entries]


def get(*rows):
    return tuple(("get", row) for row in rows)


READ_BOTH = get(0, 1)


@pytest.mark.parametrize("history, good", [
    # Two transactions at the same time, each of which may have been the first.
    (transactions((0, 5, (*get(0), ("set", 0, 7)), (0,)), (1, 4, (*get(0), ("set", 0, 9)), (7,))), True),
    (transactions((0, 5, (*get(0), ("set", 0, 7)), (9,)), (1, 4, (*get(0), ("set", 0, 9)), (0,))), True),
    # A lost update: both have seen the same row and changed it.
    (transactions((0, 5, (*get(0), ("set", 0, 7)), (0,)), (1, 4, (*get(0), ("set", 0, 9)), (0,))), False),
    # Write skew: each has read both rows and changed one.
    (transactions((0, 5, (*READ_BOTH, ("set", 0, 7)), (0, 0)), (1, 4, (*READ_BOTH, ("set", 1, 9)), (0, 7))), False),
    (transactions((0, 5, (*READ_BOTH, ("set", 0, 7)), (0, 0)), (1, 4, (*READ_BOTH, ("set", 1, 9)), (7, 0))), True),
    (transactions((0, 5, (*READ_BOTH, ("set", 0, 7)), (0, 0)), (1, 4, (*READ_BOTH, ("set", 1, 9)), (0, 0))), False),
    # A read that begins behind an answer sees what was answered.
    (transactions((0, 1, (("set", 0, 7), ("set", 1, 8)), ()), (2, 3, READ_BOTH, (7, 8))), True),
    (transactions((0, 1, (("set", 0, 7), ("set", 1, 8)), ()), (2, 3, READ_BOTH, (0, 0))), False),
    (transactions((0, 4, (("set", 0, 7), ("set", 1, 8)), ()), (2, 3, READ_BOTH, (0, 0))), True),
    # A half of a transaction is never seen, nor one that has gone again.
    (transactions((0, 4, (("set", 0, 7), ("set", 1, 8)), ()), (2, 3, READ_BOTH, (7, 0))), False),
    (transactions((0, 9, (("set", 0, 7),), ()), (1, 2, get(0), (7,)), (3, 4, get(0), (0,))), False),
    # A transaction that was stopped has changed nothing, and was stopped for a reason.
    (transactions((0, 1, (("set", 0, 7), ("least", 1, 1)), STOPPED), (2, 3, get(0), (0,))), True),
    (transactions((0, 1, (("set", 0, 7), ("least", 1, 1)), STOPPED), (2, 3, get(0), (7,))), False),
    (transactions((0, 1, (("set", 0, 7), ("least", 1, 0)), STOPPED)), False),
    # It sees its own changes; one without an answer is done or not.
    (transactions((0, 1, (("add", 0, 7), *get(0)), (0, 7))), True),
    (transactions((0, 1, (("add", 0, 7), *get(0)), (0, 0))), False),
    (transactions((0, None, (("set", 0, 7),), None), (2, 3, get(0), (0,)), (4, 5, get(0), (7,))), True),
    (transactions((0, None, (("set", 0, 7),), None), (2, 3, get(0), (7,)), (4, 5, get(0), (0,))), False),
])
def test_the_checker_of_histories_of_several_rows(history, good):
    assert is_linearizable(history, (0, 0), step) is good
