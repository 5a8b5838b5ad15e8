"""Random work on a real memcached and on Rowsocket: the same answers, and then the same rows."""

import itertools
import random
import re

import pytest

import mc
from load import scaled
from mc_random_work import Side, Source
from mc_tables import definition

pytestmark = pytest.mark.again_in("mariadb-11.8")

ROUNDS, BATCHES = 12, 60


class Pairs:
    """The tokens of one server with the tokens of the other that stand for the same state."""

    def __init__(self):
        self.there, self.back = {}, {}

    def fit(self, ones, others):
        return len(ones) == len(others) and all(
            self.there.setdefault(one, other) == other and self.back.setdefault(other, one) == one
            for one, other in zip(ones, others))


def first_unlike(left, right):
    """The first difference of two answers, as text."""
    if isinstance(left, list):
        left, right = (b"; ".join(str(one).encode() for one in side) for side in (left, right))
    elif isinstance(left, dict):
        left, right = ({key: side.get(key) for key in {*left, *right} if left.get(key) != right.get(key)}
                       for side in (left, right))
        return f"{left!r:.600}\n{right!r:.600}"
    at = next((at for at, (one, other) in enumerate(zip(left, right)) if one != other),
              min(len(left), len(right)))
    start = max(0, at - 100)
    return f"{left[start:at + 200]!r}\n{right[start:at + 200]!r}"


def difference(sides, source, batches):
    """Plays so many batches; returns the first with a different answer, or None."""
    pairs = Pairs()
    for number in range(batches):
        dialect, requests = source.batch()
        (left, left_tokens), (right, right_tokens) = (side.play(dialect, requests) for side in sides)
        shown = b"; ".join(request[:70] for request in requests)
        if left != right:
            return f"batch {number}, {dialect}: {shown}\n{first_unlike(left, right)}"
        if not pairs.fit(left_tokens, right_tokens):
            return f"batch {number}, {dialect}: {shown}: tokens {left_tokens} {right_tokens}"
        stored = [side.learn() for side in sides]
        if stored[0] != stored[1]:
            return f"batch {number}, {dialect}: {shown} leaves\n{first_unlike(*stored)}"
    return None


def test_two_real_memcacheds_have_no_difference(rng):
    """Tests the comparison itself: it finds no difference between two real memcacheds."""
    with mc.Real() as one, mc.Real() as other:
        source = Source(rng)
        with one.connect() as client:  # afterwards equal tokens are no precondition
            for _ in range(100):
                client.set("z", b"")
            assert client.command("flush_all") == b"OK"
        found = difference([Side(one.connect), Side(other.connect)], source, BATCHES)
        assert found is None, found


@pytest.mark.ours
def test_rowsocket_answers_as_memcached(memcached, seed):
    """Rowsocket answers everything that a real memcached answers; SELECT reads the values that Rowsocket
    stores."""
    sql = memcached.sql()
    row = definition(sql)
    with mc.Real() as real:
        for number in range(scaled(ROUNDS)):
            with real.connect() as one, mc.connect(memcached) as other:
                assert one.command("flush_all") == other.command("flush_all") == b"OK"
            sides = [Side(real.connect), Side(lambda: mc.connect(memcached))]
            found = difference(sides, Source(random.Random(f"{seed}/memcached/{number}")), BATCHES)
            assert found is None, f"round {number}: {found}"
            stored = sides[0].learn()
            rows = sql.rows(f"SELECT {row['key_columns']}, {row['flags']}, {row['value_columns']} FROM"
                            f" {row['db_schema']}.{row['db_table']} WHERE {row['expire_time_column']}"
                            f" IS NULL OR {row['expire_time_column']} > UNIX_TIMESTAMP()")
            assert {key: (int(flags), value) for key, flags, value in rows} == stored
            real.close_clients()
            memcached.close_clients()
            sql = memcached.sql()


def near(line):
    """Seconds to live, to the nearest ten: one of the servers may already have counted the next second
    down."""
    return re.sub(rb" t(\d+)", lambda seconds: b" t%d" % ((int(seconds[1]) + 5) // 10 * 10), line)


@pytest.mark.ours
@pytest.mark.parametrize("verb,flags", [("mg", ("T300", "N100", "R200", "t", "v")),
                                        ("ma", ("T300", "N100", "t", "v", "C1"))])
def test_flags_in_every_order(memcached, verb, flags):
    """Each flag sees the effects of the flags before it, on a key that is absent, lives for ever, or lives
    for less than R asks for."""
    with mc.Real() as real:
        sides = [real.connect(), mc.connect(memcached)]
        for count in range(1, len(flags) + 1):
            for order in itertools.permutations(flags, count):
                for state in (None, 0, 150):
                    answers = [[], []]
                    for client, told in zip(sides, answers):
                        client.command("delete k")
                        if state is not None:
                            assert client.set("k", b"5", expiry=state) == b"STORED"
                        for line in (f"{verb} k {' '.join(order)}", "mg k t v"):
                            reply, value = client.meta(line)
                            told.append((near(reply), value))
                    assert answers[0] == answers[1], (order, state)


@pytest.mark.ours
def test_a_token_in_binary_requests_that_need_none(memcached):
    """Touch compares no token, and a command that creates has none to compare with."""
    with mc.Real() as real:
        answers = []
        for client in (real.connect(), mc.connect(memcached)):
            client.binary(mc.DELETE, b"k")
            told = [client.binary(mc.INCR, b"k", b"", mc.counting(1, 5, 0), token=7)]
            for opcode in (mc.TOUCH, mc.GAT, mc.GET, mc.INCR, mc.DELETE, mc.APPEND, mc.TOUCH):
                extras = {mc.TOUCH: bytes(4), mc.GAT: bytes(4), mc.INCR: mc.counting(1)}.get(opcode, b"")
                told.append(client.binary(opcode, b"k", b"" if opcode != mc.APPEND else b"x", extras, token=7))
            answers.append([(one.opcode, one.status, one.extras, one.value) for one in told])
        assert answers[0] == answers[1]


@pytest.mark.ours
def test_counters_grow_as_those_of_memcached(memcached):
    """The counters that both servers have grow by the same."""
    names = ("cmd_get", "cmd_set", "cmd_touch", "get_hits", "get_misses", "delete_hits",
             "delete_misses", "incr_hits", "incr_misses", "decr_hits", "decr_misses", "cas_hits",
             "cas_misses", "cas_badval", "touch_hits", "touch_misses")
    with mc.Real() as real:
        counted = []
        for client in (real.connect(), mc.connect(memcached)):
            client.command("flush_all")
            client.send(b"stats reset\r\n")
            assert client.line() == b"RESET"
            assert client.set("k", b"5") == b"STORED"
            assert client.set("k", b"5", verb="add") == b"NOT_STORED"
            assert client.set("n", b"5", verb="append") == b"NOT_STORED"
            client.send(b"set k 0 0 1\r\n12\r\nmn\r\n")
            while client.line() != b"MN":
                pass
            client.get("k", "n")
            client.get("k", "n", verb="gat 0")
            for line in ("incr k 1", "incr n 1", "decr k 1", "decr n 1", "touch k 0", "touch n 0",
                         "delete n", "mg k v", "mg n v", "mg k T0 v", "mg n T0 v", "md k C1", "ma k",
                         "ma n", "mn"):
                client.meta(line)
            token = client.token("k")
            for key, value in (("k", token + 100_000_000), ("n", 1), ("k", token)):
                client.send(b"cas %s 0 0 1 %d\r\n5\r\n" % (key.encode(), value))
                client.line()
            client.command("delete k")
            stats = client.stats()
            counted.append({name: stats[name] for name in names if name in stats})
        assert len(counted[0]) == len(counted[1])
        assert counted[1] == counted[0]
