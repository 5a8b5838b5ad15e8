"""H4: the answers of concurrent clients for one row could have come from the requests one after the other."""

import time

import pytest

import hs
from linearizable import ABSENT, Operation, is_linearizable
from load import Crew, scaled
from server import wait_until

KEYS = 3
CLIENTS = 6
ROUND_OPERATIONS = 25  # operations of each client between two moments of silence


class Player:
    """One connection that executes random operations on few rows and records the answers."""

    def __init__(self, server, db, rng):
        self.client = server.hs_wr()
        assert self.client.open_index(0, db, "reg", "PRIMARY", "id,n", "n") == hs.OK
        assert self.client.open_index(1, db, "reg", "PRIMARY", "n", "n") == hs.OK
        self.rng = rng
        self.histories = [[] for _ in range(KEYS)]

    def request(self, key):
        """(name, argument, tokens)"""
        name = self.rng.choice(("get", "increment", "decrement", "decrement", "set", "delete",
                                "insert", "insert"))
        # A subtraction that would change the sign is not done (spec/handlersocket.md, find_modify).
        argument = self.rng.randint(1, 3 if name == "decrement" else 9)
        if name == "insert":
            return name, argument, (0, "+", 2, key, argument)
        mod = {"get": None, "increment": ["+?", argument], "decrement": ["-?", argument],
               "set": ["U?", argument], "delete": ["D?"]}[name]
        filters = [("F", ">", 0, 3)] if name == "decrement" else ()
        return name, argument, hs.find_words(1, "=", [key], 1, 0, filters=filters, mod=mod)

    def result(self, name, reply):
        if name == "insert":
            assert reply == hs.OK or reply.number == 121, reply
            return "stored" if reply == hs.OK else "exists"
        assert reply.code == 0 and len(reply.cells) <= 1, reply
        if reply.cells:
            return int(reply.cells[0])
        return ABSENT if name == "get" else "nothing"

    def play(self, stopping):
        for _ in range(ROUND_OPERATIONS):
            if stopping.is_set():
                return
            asked = [(key, *self.request(key))
                     for key in self.rng.choices(range(KEYS), k=self.rng.choice((1, 1, 3)))]
            sent = time.monotonic()
            self.client.send_raw(b"".join(hs.line(*tokens) for *_, tokens in asked))
            for key, name, argument, _ in asked:
                reply = self.client.recv()
                self.histories[key].append(Operation(
                    sent, time.monotonic(), name, argument, self.result(name, reply)))


def make_register(server, db):
    server.sql().run(f"CREATE DATABASE IF NOT EXISTS {db}")
    server.sql(db).run("CREATE TABLE reg (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB")


def play_round(server, db, rng):
    """One round of all players. Returns the histories by key, and the state before each history."""
    sql = server.sql(db)
    begin = dict(sql.rows("SELECT id, n FROM reg"))
    players = [Player(server, db, rng) for _ in range(CLIENTS)]
    with Crew() as crew:
        for player in players:
            crew.start(player.play, crew.stopping)
        wait_until(lambda: crew.check() and not any(t.is_alive() for t in crew.threads), 60)
    states = [int(begin[str(key).encode()]) if str(key).encode() in begin else ABSENT
              for key in range(KEYS)]
    return [(sum((player.histories[key] for player in players), []), states[key])
            for key in range(KEYS)]


def random_histories(server, db, rng):
    """One history of each row. Returns the violations, and the number of operations."""
    played = play_round(server, db, rng)
    wrong = [f"row {key}, from {state}: {history}" for key, (history, state) in enumerate(played)
             if not history or not is_linearizable(history, state)]
    return wrong, sum(len(history) for history, _ in played)


def test_mixed_histories_are_linearizable(server, db, rng):
    make_register(server, db)
    for _ in range(scaled(8)):
        wrong, _ = random_histories(server, db, rng)
        assert wrong == []
        server.close_clients()


def operations(*entries):
    return [Operation(*entry) for entry in entries]


@pytest.mark.parametrize("history, good", [
    # Two increments at the same time may have happened in either order.
    (operations((0, 5, "increment", 1, 8), (1, 4, "increment", 1, 7)), True),
    (operations((0, 5, "increment", 1, 7), (1, 4, "increment", 1, 7)), False),
    # A get after the answer of a set must see the set.
    (operations((0, 1, "set", 9, 7), (2, 3, "get", 0, 9)), True),
    (operations((0, 1, "set", 9, 7), (2, 3, "get", 0, 7)), False),
    # A set without an answer happened before the get, after it, or not at all.
    (operations((0, None, "set", 9, None), (2, 3, "get", 0, 7), (4, 5, "get", 0, 9)), True),
    (operations((0, None, "set", 9, None), (2, 3, "get", 0, 9), (4, 5, "get", 0, 7)), False),
    (operations((0, 1, "delete", 0, 7), (2, 3, "insert", 5, "stored"),
                (4, 5, "decrement", 1, 5), (6, 7, "get", 0, 4)), True),
    (operations((0, 1, "delete", 0, 7), (2, 3, "insert", 5, "exists")), False),
    (operations((0, 1, "decrement", 5, 7), (2, 3, "decrement", 1, 2)), False),
])
def test_the_checker_of_linearizability(history, good):
    assert is_linearizable(history, 7) is good
