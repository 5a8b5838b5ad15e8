"""Many requests for few rows: merged or not, their answers and the rows are those of some order of the
requests, one by one."""

import threading
from decimal import Decimal

import pytest

from hs import OK, counted, find_words, reply
from load import Crew
from row_history import Event, History
from server import is_mysql

pytestmark = pytest.mark.again_in("mariadb-11.8", "mysql-9.7")

ROWS = (1, 2, 3)
COLUMNS = ("ver", "stock", "amount", "name", "note", "day")
BASE = ("id INT PRIMARY KEY, ver BIGINT NOT NULL, stock INT NOT NULL, amount DECIMAL(12,3),"
        " name VARCHAR(40) CHARACTER SET utf8mb4, note BLOB, day DATE DEFAULT '2024-05-06'")
# The kinds of tables: the text behind the columns, the statements before and after the table is made, and the
# counter of the requests that are not merged because of this kind.
KINDS = {
    "plain": ("", (), (), None),
    "indexed": (", KEY (stock), KEY (name, stock)", (), (), None),
    "on update": (", ts TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6)",
                  (), (), None),
    "other generated": (", k INT, g INT AS (k + 1) STORED, v INT AS (k * 2) VIRTUAL, KEY (v)", (), (), None),
    "more blobs": (", b2 LONGTEXT DEFAULT ('two'), b3 BLOB DEFAULT (REPEAT('x', 9000))", (), (), None),
    "child": (", parent INT DEFAULT 7, FOREIGN KEY (parent) REFERENCES p (id)",
              ("CREATE TABLE p (id INT PRIMARY KEY)", "INSERT INTO p VALUES (7)"), (), None),
    "parent": ("", (), ("CREATE TABLE c (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES t (id))",), "foreign_key"),
    "check": (", CHECK (stock < 400)", (), (), "check"),
    "generated": (", g INT AS (stock + 1) STORED, v BIGINT AS (ver * 2) VIRTUAL, KEY (v)", (), (), "generated"),
    "unique": (", UNIQUE (ver, id)", (), (), "unique_key"),
    "unique blob": (", UNIQUE (note, id)", (), (), "unique_key"),
    "partitioned": ("PARTITION BY HASH (id) PARTITIONS 3", (), (), "table"),
    "engine": ("ENGINE=Aria", (), (), "engine"),
}


if is_mysql():
    # MySQL's tables do not tell which of their columns others refer to; the rest it does not have.
    for other in ("parent", "unique blob", "engine"):
        del KINDS[other]


def number(value):
    return None if value is None else int(value)


def decimal(value):
    return None if value is None else Decimal(value.decode())


READERS = {"ver": number, "stock": number, "amount": decimal, "name": lambda value: value,
           "note": lambda value: value, "day": lambda value: value}


def state_of(columns, cells):
    return {name: READERS[name](cell) for name, cell in zip(columns, cells)}


class Player:
    """One connection with its own random requests; its events hold all its answers."""

    COUNTED = ("ver", "stock", "amount")
    NAMED = ("ver", "note", "name", "stock")

    def __init__(self, number, rng, client, db, versions):
        self.number, self.rng, self.client, self.versions = number, rng, client, versions
        self.counted = client.opened(db, "t", "", self.COUNTED, ("stock", "name", "day")).id
        self.named = client.opened(db, "t", "", self.NAMED, ("stock", "amount")).id
        self.whole = client.opened(db, "t", "", ("id", *COLUMNS)).id
        self.events = []  # (row, Event)
        self.refused = 0

    def play(self, rounds, depth):
        for _ in range(rounds):
            requests = [self.draw() for _ in range(depth)]
            replies = self.client.pipeline([tokens for tokens, _ in requests])
            for (_, answered), reply in zip(requests, replies):
                answered(reply)

    def draw(self):
        row = self.rng.choice(ROWS)
        draw = self.rng.choices(
            (self.read, self.take, self.add, self.update, self.overflow, self.delete, self.insert,
             self.count),
            (2, 6, 3, 2, 1, 0.4, 2, 2))[0]
        return draw(row)

    def note(self, row, *args, **kwargs):
        self.events.append((row, Event(self.number, *args, **kwargs)))

    def read(self, row):
        limit = self.rng.randint(-5, 300)
        tokens = find_words(self.counted, "=", [row], 1, 0, filters=[("F", ">", 0, limit)])

        def answered(reply):
            seen = state_of(self.COUNTED, reply.cells) if reply.cells else None
            assert reply.code == 0 and (seen is None or seen["stock"] > limit)
            self.note(row, "read", seen, unmet=lambda state: state["stock"] <= limit)
        return tokens, answered

    def take(self, row):
        """The sale: a decrement if enough is left. `-` with several columns subtracts from each."""
        amount = self.rng.choice(("0", "0.5", "1.125", None))
        stock = self.rng.randint(1, 4)
        limit = self.rng.randint(0, 20)
        operator = self.rng.choice("FW")
        filters = [(operator, ">", 0, limit), ("F", ">", 2, "2020-01-01")]
        tokens = find_words(self.counted, "=", [row], 1, 0, filters=filters,
                            mod=["-?", -1, stock, amount])

        def changed(state):
            after = dict(state, ver=state["ver"] + 1, stock=state["stock"] - stock)
            if amount is not None and state["amount"] is not None:
                after["amount"] = state["amount"] - Decimal(amount)
            return after

        def answered(reply):
            assert reply.code == 0, reply
            seen = state_of(self.COUNTED, reply.cells) if reply.cells else None
            if seen is None:
                self.note(row, "read", unmet=lambda state: state["stock"] <= limit)
                return
            assert seen["stock"] > limit
            after = changed(seen)
            sign = any((seen[name] or 0) * (after[name] or 0) < 0 for name in self.COUNTED)
            self.note(row, "read" if sign else "change", seen, None if sign else changed)
        return tokens, answered

    def add(self, row):
        stock, amount = self.rng.randint(-3, 9), self.rng.choice(("-2.25", "1", "7"))
        tokens = find_words(self.counted, "=", [row], 1, 0, mod=["+?", 1, stock, amount])
        return tokens, self.adds(row, stock, amount)

    def adds(self, row, stock, amount):
        def changed(state):
            total = state["amount"]
            return dict(state, ver=state["ver"] + 1, stock=state["stock"] + stock,
                        amount=None if total is None else total + Decimal(amount))

        def answered(reply):
            if self.is_refused(reply):
                return
            seen = state_of(self.COUNTED, reply.cells) if reply.cells else None
            self.note(row, "read" if seen is None else "change", seen, changed)
        return answered

    def count(self, row):
        """Without `?` the answer is only the number of rows."""
        tokens = find_words(self.counted, "=", [row], 1, 0, mod=["+", 1, 1, None])

        def answered(reply):
            if self.is_refused(reply):
                return
            assert reply[2] in (b"0", b"1"), reply
            if reply[2] == b"1":
                self.note(row, "anonymous",
                          change=lambda state: dict(state, ver=state["ver"] + 1, stock=state["stock"] + 1))
        return tokens, answered

    def overflow(self, row):
        """The request is refused, and leaves the row as it was before."""
        if self.rng.random() < 0.5:
            tokens = find_words(self.counted, "=", [row], 1, 0, mod=["+?", 1, 3000000000, "1"])
        else:
            tokens = find_words(self.named, "=", [row], 1, 0, mod=["U?", 5, b"longer than before" * 99, b"x" * 50, 1])

        def answered(reply):
            if not self.is_refused(reply):
                assert reply.code == 0 and not reply.cells, reply
                self.note(row, "read")
        return tokens, answered

    def update(self, row):
        version, stock = self.versions(), self.rng.randint(0, 300)
        name = self.rng.choice((b"", None, b"n%d" % version, "\u00e4\u4e2d\U0001f600".encode()))
        note = self.rng.choice((None, b"", b"\x00\x01\xff%d" % version, b"%d" % version * 2000))
        tokens = find_words(self.named, "=", [row], 1, 0, mod=["U?", version, note, name, stock])

        def answered(reply):
            if self.is_refused(reply):
                return
            seen = state_of(self.NAMED, reply.cells) if reply.cells else None
            self.note(row, "read" if seen is None else "change", seen,
                      lambda state: dict(state, ver=version, name=name, note=note, stock=stock))
        return tokens, answered

    def delete(self, row):
        tokens = find_words(self.counted, "=", [row], 1, 0, mod=["D?"])

        def answered(reply):
            assert reply.code == 0, reply
            seen = state_of(self.COUNTED, reply.cells) if reply.cells else None
            self.note(row, "read" if seen is None else "delete", seen)
        return tokens, answered

    def insert(self, row):
        made = {"ver": self.versions(), "stock": self.rng.randint(0, 300), "amount": Decimal("10.000"),
                "name": b"new", "note": b"\xfe" * self.rng.choice((1, 9000)), "day": b"2025-06-07"}
        tokens = [self.whole, "+", 7, row, *made.values()]

        def answered(reply):
            if reply.code == 0:
                self.note(row, "insert", change=lambda _: dict(made))
            else:
                assert reply.number == 121, reply
        return tokens, answered

    def is_refused(self, reply):
        """A value out of range, too long, or against the CHECK."""
        if reply.code == 0:
            return False
        assert reply.number in (1264, 1406, 4025), reply
        self.refused += 1
        return True


def rows_of(sql):
    rows = sql.rows(f"SELECT id, {', '.join(COLUMNS)} FROM t")
    return {int(row[0]): state_of(COLUMNS, row[1:]) for row in rows}


@pytest.mark.bundled_wrong(21)
@pytest.mark.parametrize("kind", KINDS)
def test_some_order_explains_all_answers(server, db, sql, rng, kind):
    more, before, after, reason = KINDS[kind]
    columns, options = ("", more) if more[:1].isalpha() else (more, "")
    for statement in (*before, f"CREATE TABLE t ({BASE}{columns}) {options}", *after):
        sql.run(statement)
    counters = ["Handlersocket_merged_requests"] + ([f"Handlersocket_unmerged_{reason}"] if reason else [])
    counts = [sql.status(name) for name in counters]
    sql.run("INSERT INTO t (id, ver, stock, amount) VALUES (1, 1, 200, 5), (2, 1, 3, NULL)")
    histories = {row: History(rows_of(sql).get(row)) for row in ROWS}
    lock, numbers = threading.Lock(), iter(range(1, 1 << 30))

    def versions():
        with lock:
            return next(numbers) * 1000000
    players = [Player(number, type(rng)(rng.random()), server.hs_wr(), db, versions)
               for number in range(12)]
    with Crew(join_timeout_s=120) as crew:
        for player in players:
            crew.start(player.play, 6, 40)
    assert all(len(player.events) > 100 for player in players)
    for player in players:
        for row, event in player.events:
            histories[row].events.append(event)
    final = rows_of(sql)
    for row in ROWS:
        histories[row].check(final.get(row))
    assert sum(player.refused for player in players) > 20
    grown = [sql.status(name) - count for name, count in zip(counters, counts)]
    if reason in (None, "foreign_key") or kind == "unique blob":
        assert grown[0] > 200, grown
    assert min(grown[1:], default=1) > 0, (reason, grown)
    assert sql.rows("CHECK TABLE t")[-1][-1] == b"OK"


@pytest.mark.bundled_wrong(7)
def test_a_key_that_changes_by_itself_is_not_merged(server, db, sql):
    """With ON UPDATE in the key, the row has another key after the first change."""
    sql.run("CREATE TABLE t (id INT, ts TIMESTAMP NOT NULL DEFAULT '2020-01-01 00:00:00'"
            " ON UPDATE CURRENT_TIMESTAMP, n INT, PRIMARY KEY (id, ts))")
    sql.run("INSERT INTO t (id, n) VALUES (1, 10), (2, 10)")
    key = "2020-01-01 00:00:00"
    client = server.hs_wr()
    assert client.open_index(0, db, "t", "", "n") == OK

    def change(row, *mod):
        return find_words(0, "=", [row, key], 1, 0, mod=mod)
    assert client.pipeline([change(1, "+", 1)] * 3) == [counted(1), counted(0), counted(0)]
    assert client.pipeline([change(2, "-?", 1), find_words(0, "=", [2, key]), change(2, "D?")]) == [
        reply(0, 1, 10), reply(0, 1), reply(0, 1)]
    assert sql.rows("SELECT id, n FROM t ORDER BY id") == [(b"1", b"11"), (b"2", b"9")]
