"""Random transactions over several rows of two tables, by groups of HandlerSocket, MULTI of RESP and SQL, and whether
their history is strictly serializable.

A transaction is a list of parts: ("get", row), ("set", row, value), ("add", row, count) and ("least", row, bound),
which stops the transaction if the row has less. Its result is the values that its gets and adds have seen, or STOPPED.
The model is the list of all rows' values, on which a transaction is one step; linearizable.py searches an order of the
steps that explains all results and contradicts no clock, as the checker porcupine (A. Athalye, 2017) does for any
model. Values that are set are new each time, as for Elle (K. Kingsbury, P. Alvaro, "Elle: Inferring Isolation Anomalies
from Experimental Observations", 2020), so that a read tells which write it has seen, and few orders remain to look at.
"""

import itertools
import pathlib
import time

import pymysql

import hs
from groups import APPLIED, group, required
from linearizable import Operation, is_linearizable
from load import Crew
from resp import Client, Error

TABLES = ("reg", "other")
ROWS = 6  # row r is row r // 2 of table r % 2
STOPPED = "stopped"
TRANSACTIONS = 30  # of each player between two moments of silence


def step(state, operation):
    """The state after the transaction; raises ValueError if it cannot have had its result."""
    values, seen = list(state), []
    for kind, row, *argument in operation.argument:
        if kind == "least" and values[row] < argument[0]:
            values, seen = state, STOPPED
            break
        if kind in ("get", "add"):
            seen.append(values[row])
        if kind == "set":
            values[row] = argument[0]
        if kind == "add":
            values[row] += argument[0]
    if operation.answered is not None and operation.result != (seen if seen is STOPPED else tuple(seen)):
        raise ValueError
    return tuple(values)


def make_tables(server, db):
    """Makes rows with a primary key and another unique key. Returns their state."""
    sql = server.sql(db)
    for table in TABLES:
        sql.run(f"CREATE TABLE {table} (id INT PRIMARY KEY, name VARCHAR(10) NOT NULL, n INT NOT NULL, UNIQUE KEY by_name (name))"
                " ENGINE=InnoDB")
        sql.run(f"INSERT INTO {table} VALUES " + ", ".join(f"({at}, 'row{at}', 0)" for at in range(ROWS // 2)))
    return (0,) * ROWS


def final_state(server, db):
    found = {(table, int(at)): int(n) for table in TABLES for at, n in server.sql(db).rows(f"SELECT id, n FROM {table}")}
    return tuple(found[TABLES[row % 2], row // 2] for row in range(ROWS))


class Player:
    """One connection. `values` gives numbers that no one has set yet."""

    def __init__(self, server, db, rng, values):
        self.db, self.rng, self.values = db, rng, values
        self.history = []
        self.open(server)

    def parts(self):
        """The parts of a random transaction: gets of some rows, then writes of some; a fifth only read, some have a
        guard."""
        rng = self.rng
        parts = [("get", row) for row in rng.sample(range(ROWS), rng.randint(1, 3))]
        if rng.random() < 0.2:
            return tuple(parts)
        for row in rng.sample(range(ROWS), rng.randint(1, 3)):
            parts.append(rng.choice((("set", row, next(self.values)), ("add", row, rng.randint(1, 3)))))
        if rng.random() < 0.2:
            parts.insert(rng.randrange(len(parts)), ("least", rng.randrange(ROWS), next(self.values) // 2))
        if rng.random() < 0.3:  # a row that the transaction has changed itself
            parts.append(("get", parts[-1][1]))
        return tuple(parts)

    def play(self, count, stopping):
        for _ in range(count):
            if stopping.is_set():
                return
            parts, sent = self.parts(), time.monotonic()
            result = self.result(parts)
            if result is not None:  # None: not done, because of a deadlock
                self.history.append(Operation(sent, time.monotonic(), "transaction", parts, result))


class GroupPlayer(Player):
    """Groups of HandlerSocket; rows are named by the primary key and by the other one."""

    def open(self, server):
        self.client = server.hs_wr()
        self.indexes = {(table, index): self.client.opened(self.db, table, index, "n", "n")
                        for table in TABLES for index in ("", "by_name")}

    def line(self, kind, row, *argument):
        name = self.rng.choice(("", "by_name"))
        key = f"row{row // 2}" if name else row // 2
        front = (self.indexes[TABLES[row % 2], name], "=", 1, key, 1, 0)
        return required(*front, *{"get": (), "set": ("U", *argument), "add": ("+?", *argument),
                                  "least": ("F", ">=", 0, *argument)}[kind])

    def result(self, parts):
        answer, answers = group(self.client, [self.line(*part) for part in parts])
        if answer == APPLIED:
            return tuple(int(one.cells[0]) for part, one in zip(parts, answers) if part[0] in ("get", "add"))
        if answer.code == 0:
            assert parts[int(answer[3]) - 1][0] == "least", (parts, answer)
            return STOPPED
        assert answer[2] in (b"146", b"149"), answer
        return None


class MultiPlayer(Player):
    """MULTI of RESP."""

    def open(self, server):
        folder = server.sql().value("SELECT @@datadir").decode()
        self.client = Client(pathlib.Path(folder) / "resp.sock")

    def command(self, kind, row, *argument):
        key = f"{self.db}.{TABLES[row % 2]}" + self.rng.choice((f":{row // 2}", f"@by_name:row{row // 2}"))
        return {"get": ("HGET", key, "n"), "set": ("HSET", key, "n", *argument), "add": ("HINCRBY", key, "n", *argument),
                "least": ("ROW.REQUIRE", key, "n", ">=", *argument)}[kind]

    def result(self, parts):
        answers = self.client.transaction(*(self.command(*part) for part in parts))
        if answers is None:
            return STOPPED
        if isinstance(answers, Error):
            assert "TRYAGAIN" in answers, answers
            return None
        return tuple(int(answer) - (part[2] if part[0] == "add" else 0)
                     for part, answer in zip(parts, answers) if part[0] in ("get", "add"))


class SqlPlayer(Player):
    """SQL transactions, which read by `lock`."""

    lock = "FOR UPDATE"

    def open(self, server):
        self.sql = server.sql(self.db)

    def read(self, row, lock):
        return int(self.sql.value(f"SELECT n FROM {TABLES[row % 2]} WHERE id = {row // 2} {lock}"))

    def result(self, parts):
        seen, reads_only = [], all(kind == "get" for kind, *_ in parts)
        self.sql.run("BEGIN")
        try:
            for kind, row, *argument in parts:
                before = self.read(row, "" if reads_only else self.lock)
                if kind == "least" and before < argument[0]:
                    self.sql.run("ROLLBACK")
                    return STOPPED
                if kind in ("get", "add"):
                    seen.append(before)
                if kind in ("set", "add"):
                    value = argument[0] if kind == "set" else before + argument[0]
                    self.sql.run(f"UPDATE {TABLES[row % 2]} SET n = {value} WHERE id = {row // 2}")
            self.sql.run("COMMIT")
        except pymysql.Error as error:
            assert error.args[0] in (1205, 1213, 1020), error
            self.sql.run("ROLLBACK")
            return None
        return tuple(seen)


class CarelessSqlPlayer(SqlPlayer):
    """SQL transactions that read without locks before they write, so their updates can be lost."""

    lock = ""


def history_of(server, db, rng, kinds, count, crew):
    """The operations of one player of each kind, `count` transactions each."""
    values = itertools.count(1_000, 10)
    players = [kind(server, db, rng, values) for kind in kinds]
    threads = [crew.start(player.play, count, crew.stopping) for player in players]
    for thread in threads:
        while thread.is_alive() and crew.check():
            thread.join(0.05)
    crew.check()
    return [operation for player in players for operation in player.history]


MIXED = [GroupPlayer, MultiPlayer, GroupPlayer, MultiPlayer, SqlPlayer, SqlPlayer]


def is_explained(history, state, end):
    """Whether an order explains the history, with a last look at the end."""
    look = Operation(float("inf"), float("inf"), "transaction", tuple(("get", row) for row in range(len(end))), end)
    return is_linearizable([*history, look], state, step)


def histories(server, db, rng, kinds, count):
    """(history, state before, state after it) of so many stretches."""
    state = make_tables(server, db)
    for _ in range(count):
        with Crew() as crew:
            history = history_of(server, db, rng, kinds, TRANSACTIONS, crew)
        end = final_state(server, db)
        yield history, state, end
        state = end
