"""Purchases of several rows, by groups of HandlerSocket and by transactions of RESP or SQL, with the books of their
answers.

A purchase takes a piece of one or two products, if there are any, adds to its user's row and writes the order, whose
note names the purchase. One thread plays all buyers but those of SQL.
"""

import collections
import dataclasses
import pathlib
import random
import selectors
import socket
import struct
import time

import pymysql

import hs
from groups import APPLIED, optional, required, take
from resp import Client, Error

USERS = 40
ITEMS = (1, 2)
# RESP's clients choose the ids of their orders, below those that AUTO_INCREMENT gives.
FIRST_GENERATED_ID = 1 << 40
NO_SUCH_ROW = 1_000_000
STEP_S = 0.05


@dataclasses.dataclass
class PurchaseShop:
    """The tables of one round. unique: whether the note of an order is a unique key; where it is none, a purchase
    that is done twice leaves two orders. filler: bytes of an order besides."""

    server: object
    db: str
    rng: random.Random
    stock: int = 1_000_000
    unique: bool = False
    filler: int = 0

    def make(self, sql):
        sql.run(f"CREATE DATABASE {self.db}")
        sql.run(f"CREATE TABLE {self.db}.stock (id INT PRIMARY KEY, stock INT NOT NULL) ENGINE=InnoDB")
        sql.run(f"INSERT INTO {self.db}.stock VALUES " + ", ".join(f"({item}, {self.stock})" for item in ITEMS))
        sql.run(f"CREATE TABLE {self.db}.users (id INT PRIMARY KEY, bought INT NOT NULL) ENGINE=InnoDB")
        sql.run(f"INSERT INTO {self.db}.users VALUES " + ", ".join(f"({user}, 0)" for user in range(USERS)))
        sql.run(f"CREATE TABLE {self.db}.orders (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, user INT NOT NULL,"
                " item INT NOT NULL, note VARCHAR(40) NOT NULL, filler VARCHAR(4000) NOT NULL DEFAULT '',"
                f" {'UNIQUE ' if self.unique else ''}KEY by_note (note), KEY by_user (user, id)) ENGINE=InnoDB"
                f" AUTO_INCREMENT={FIRST_GENERATED_ID} CHARSET=latin1")

    def resp_socket(self):
        return pathlib.Path(self.server.directory) / "data" / "resp.sock"


@dataclasses.dataclass
class Purchase:
    """One requested purchase. number: its connection's count of purchases."""

    note: str
    number: int
    user: int
    items: tuple
    token: str | None
    doomed: bool  # a last command of the purchase finds no row
    shuffle: int  # the place of the user's command


class Books:
    """The answers to the buyers. asked: each purchase by its note; applied: the ids of the orders of purchases that
    were answered as applied, by their notes."""

    def __init__(self):
        self.asked, self.applied, self.unknown = {}, {}, set()
        self.refused = collections.Counter()
        self.wrong, self.repeated = [], 0

    @property
    def answers(self):
        return len(self.applied) + sum(self.refused.values())

    def settle(self, purchase, number, refusal):
        """Notes an answer: the id of the order, or why there is none."""
        if refusal is not None:
            self.refused[refusal] += 1
        elif purchase.note in self.applied:
            self.wrong.append(f"{purchase.note} was applied twice")
        else:
            self.applied[purchase.note] = number
        if purchase.doomed and refusal is None:
            self.wrong.append(f"{purchase.note} was applied, though its last command finds no row")


class PurchaseBuyer:
    """One connection with some purchases in flight."""

    def __init__(self, shop, books, number, in_flight=4, tokens=0.3):
        self.shop, self.books, self.rng, self.number = shop, books, shop.rng, number
        self.in_flight, self.tokens, self.serial = in_flight, tokens, 0
        self.sent, self.data, self.buys, self.bought = collections.deque(), b"", True, []
        self.open()

    def choose(self):
        """Chooses a new purchase. Now and then it has the note of an existing order, which a unique key refuses."""
        self.serial += 1
        rng, note = self.rng, f"{self.number}-{self.serial}"
        items = tuple(rng.sample(ITEMS, rng.choice((1, 1, 2))))
        purchase = Purchase(note, self.serial, rng.randrange(USERS), items, None, rng.random() < 0.1,
                            rng.randrange(len(items) + 1))
        if rng.random() < self.tokens:
            purchase.token = f"{self.shop.db}-{note}"
        elif self.shop.unique and self.bought and rng.random() < 0.1:
            purchase.note = rng.choice(self.bought)
        self.books.asked.setdefault(purchase.note, []).append(purchase)
        return purchase

    def buy(self):
        purchase = self.choose()
        self.sent.append(purchase)
        self.sock.sendall(self.request(purchase))

    def start(self):
        for _ in range(self.in_flight):
            self.buy()

    def receive(self):
        part = self.sock.recv(1 << 16)
        if not part:
            raise ConnectionError("the end")
        self.data += part
        while self.sent and (answer := self.next_answer(self.sent[0])) is not None:
            purchase = self.sent.popleft()
            self.books.settle(purchase, *answer)
            if answer[1] is None:
                self.bought.append(purchase.note)
            if self.buys:
                self.buy()

    def leave(self):
        """Ends the connection with a TCP reset."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.end()

    def end(self):
        self.books.unknown.update(purchase.note for purchase in self.sent)
        self.client.close()


class GroupBuyer(PurchaseBuyer):
    """Buys by groups of HandlerSocket."""

    def open(self):
        self.client = self.shop.server.hs_wr()
        self.sock = self.client.sock
        db = self.shop.db
        self.stock = self.client.opened(db, "stock", "", "stock", "stock")
        self.users = self.client.opened(db, "users", "", "bought")
        self.orders = self.client.opened(db, "orders", "", "user,item,note,filler")

    def lines(self, purchase):
        lines = [required(self.stock, *take(self.stock, item)) for item in purchase.items]
        lines.insert(purchase.shuffle, required(self.users, "=", 1, purchase.user, 1, 0, "+", 1))
        lines += [optional(self.stock, *take(self.stock, NO_SUCH_ROW))]
        lines += [required(self.orders, "+", 4, purchase.user, sum(purchase.items), purchase.note,
                           "x" * self.shop.filler)]
        if purchase.doomed:
            lines.append(required(self.users, "=", 1, NO_SUCH_ROW, 1, 0, "+", 1))
        return lines

    def request(self, purchase):
        lines = self.lines(purchase)
        front = ["T", purchase.token] if purchase.token else []
        return b"".join(hs.line(*tokens) for tokens in [[*front, "G", len(lines)], *lines])

    def next_answer(self, purchase):
        count = len(self.lines(purchase)) + 1
        lines = self.data.split(b"\n", count)
        if len(lines) <= count:
            return None
        self.data = lines[count]
        return self.answer(lines[:count], purchase)

    @staticmethod
    def answer(lines, purchase):
        """(id of the order, None), or (None, why there is none)."""
        first = hs.parse(lines[0])
        if first == APPLIED:
            return int(hs.parse(lines[-2 if purchase.doomed else -1])[2]), None
        return None, "stopped" if first[0] == b"0" else first[2].decode()

    def outcome(self, purchase):
        """Whether the server knows the purchase's token, by T <token> ?"""
        first = self.client.request("T", purchase.token, "?")
        for _ in range(int(first[3])):
            self.client.recv()
        return first[2].decode()

    def again(self, purchase):
        """Sends the same purchase once more, and returns the answer."""
        lines = self.lines(purchase)
        front = ["T", purchase.token, "G", len(lines)]
        self.client.send_raw(b"".join(hs.line(*tokens) for tokens in [front, *lines]))
        return self.answer([self.client.recv_line() for _ in range(len(lines) + 1)], purchase)


class TransactionBuyer(PurchaseBuyer):
    """Buys by MULTI of RESP."""

    def open(self):
        self.client = Client(self.shop.resp_socket())
        self.sock = self.client.sock

    def id_of(self, purchase):
        return self.number * 1_000_000 + purchase.number

    def commands(self, purchase):
        db = self.shop.db
        takes = []
        for item in purchase.items:
            takes += [("ROW.REQUIRE", f"{db}.stock:{item}", "stock", ">=", 1), ("HINCRBY", f"{db}.stock:{item}", "stock", -1)]
        takes.insert(2 * purchase.shuffle, ("HINCRBY", f"{db}.users:{purchase.user}", "bought", 1))
        commands = [*takes, ("HGET", f"{db}.stock:{NO_SUCH_ROW}", "stock"),
                    ("HSET", f"{db}.orders:{self.id_of(purchase)}", "user", purchase.user, "item", sum(purchase.items),
                     "note", purchase.note, "filler", "x" * self.shop.filler)]
        if purchase.doomed:
            commands.append(("ROW.REQUIRE", f"{db}.users:{NO_SUCH_ROW}", "bought", ">=", 0))
        if purchase.token:
            commands.insert(purchase.shuffle, ("ROW.ONCE", purchase.token))
        return commands

    def request(self, purchase):
        parts = []
        for words in (("MULTI",), *self.commands(purchase), ("EXEC",)):
            words = [str(word).encode() for word in words]
            parts.append(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        return b"".join(parts)

    def next_answer(self, purchase):
        at = 0
        for _ in range(len(self.commands(purchase)) + 2):
            found = reply_at(self.data, at)
            if found is None:
                return None
            reply, at = found
        self.data = self.data[at:]
        return self.answer(reply, purchase)

    def answer(self, reply, purchase):
        if isinstance(reply, Error):
            return None, str(reply)
        return (None, "stopped") if reply is None else (self.id_of(purchase), None)

    def outcome(self, purchase):
        reply = self.client.ask("ROW.OUTCOME", purchase.token)
        assert not isinstance(reply, Error), f"{purchase.token}: {reply}"
        return reply[0].decode()

    def again(self, purchase):
        return self.answer(self.client.transaction(*self.commands(purchase)), purchase)


def reply_at(data, at):
    """(reply, the offset after it) of RESP 2; None if it is not complete."""
    end = data.find(b"\r\n", at)
    if end < 0:
        return None
    kind, text, at = data[at:at + 1], data[at + 1:end], end + 2
    if kind == b"-":
        return Error(text.decode()), at
    if kind in (b"+", b":"):
        return text, at
    count = int(text)
    if count < 0:
        return None, at
    if kind == b"$":
        return (data[at:at + count], at + count + 2) if len(data) >= at + count + 2 else None
    items = []
    for _ in range(count):
        found = reply_at(data, at)
        if found is None:
            return None
        items.append(found[0])
        at = found[1]
    return items, at


def buy_by_sql(shop, books, number, stopping):
    """Purchases by a SQL transaction, which locks the rows in the opposite order, until `stopping` is set."""
    rng, session = random.Random(f"{shop.db}-{number}"), shop.server.sql(shop.db)
    serial = 0
    while not stopping.is_set():
        serial += 1
        items = tuple(sorted(rng.sample(ITEMS, rng.choice((1, 2))), reverse=True))
        purchase = Purchase(f"sql{number}-{serial}", serial, rng.randrange(USERS), items, None, False, 0)
        books.asked.setdefault(purchase.note, []).append(purchase)
        try:
            session.run("BEGIN")
            session.run("INSERT INTO orders (user, item, note) VALUES (%s, %s, %s)", purchase.user, sum(items), purchase.note)
            order = int(session.value("SELECT LAST_INSERT_ID()"))
            session.run("UPDATE users SET bought = bought + 1 WHERE id = %s", purchase.user)
            taken = [session.run("UPDATE stock SET stock = stock - 1 WHERE id = %s AND stock >= 1", item) for item in items]
            session.run("COMMIT" if all(taken) else "ROLLBACK")
        except pymysql.Error as error:
            books.refused[f"sql {error.args[0]}"] += 1
            session.run("ROLLBACK")
            continue
        books.settle(purchase, order, None if all(taken) else "sql sold out")


class Trade:
    """Plays buyers against one server."""

    def __init__(self, buyers):
        self.buyers = list(buyers)
        self.selector = selectors.DefaultSelector()
        for buyer in self.buyers:
            self.selector.register(buyer.sock, selectors.EVENT_READ, buyer)
            buyer.start()

    @property
    def active(self):
        return [key.data for key in (self.selector.get_map() or {}).values()]

    def play(self, until, timeout_s=60):
        """Plays until `until()` holds, or no connection is left."""
        deadline = time.monotonic() + timeout_s
        while self.selector.get_map() and not until():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(self.active)} buyers are left after {timeout_s} s")
            for key, _ in self.selector.select(STEP_S):
                try:
                    key.data.receive()
                except (OSError, hs.Closed):
                    self.lose(key.data)

    def lose(self, buyer, leave=False):
        self.selector.unregister(buyer.sock)
        (buyer.leave if leave else buyer.end)()

    def finish(self, timeout_s=60):
        """Lets no buyer buy any more, and waits for all answers."""
        for buyer in self.buyers:
            buyer.buys = False
        self.play(lambda: not any(buyer.sent for buyer in self.active), timeout_s)

    def close(self):
        for buyer in self.active:
            self.lose(buyer)
        self.selector.close()


@dataclasses.dataclass
class Tables:
    """What the tables hold. stock, bought: numbers by ids; orders: (id, user, item, note); by_index: how many orders
    each index has."""

    stock: dict
    bought: dict
    orders: list
    by_index: dict

    @staticmethod
    def read(sql, db):
        def numbers(query):
            return {int(key): int(value) for key, value in sql.rows(query)}
        orders = [(int(number), int(user), int(item), note.decode())
                  for number, user, item, note in sql.rows(f"SELECT id, user, item, note FROM {db}.orders FORCE INDEX (PRIMARY)")]
        by_index = {index: int(sql.value(f"SELECT COUNT(*) FROM {db}.orders FORCE INDEX ({index}) WHERE {condition}"))
                    for index, condition in (("by_note", "note >= ''"), ("by_user", "user >= 0"))}
        return Tables(numbers(f"SELECT id, stock FROM {db}.stock"), numbers(f"SELECT id, bought FROM {db}.users"), orders, by_index)


def violations(start, tables, books):
    """Checks that the stock has lost as much as there are orders: one for each purchase answered as applied, and for
    some with an unknown answer. The answered ids are those in the table, each order is there once, as requested, and
    none lacks its takes or its user."""
    wrong = list(books.wrong)
    orders = {note: (number, user, item) for number, user, item, note in tables.orders}
    if len(orders) != len(tables.orders):
        twice = [note for note, count in collections.Counter(row[3] for row in tables.orders).items() if count > 1]
        wrong.append(f"orders that are there twice: {twice[:5]}")
    for item in ITEMS:
        ordered = sum(bought in (item, sum(ITEMS)) for _, _, bought, _ in tables.orders)
        if start - tables.stock[item] != ordered or tables.stock[item] < 0:
            wrong.append(f"item {item}: {start} at the start, {tables.stock[item]} left, {ordered} ordered")
    by_user = collections.Counter(user for _, user, _, _ in tables.orders)
    wrong += [f"user {user} has {bought}, and {by_user[user]} orders" for user, bought in tables.bought.items()
              if bought != by_user[user]]
    wrong += [f"{note} was answered the order {number}, and is {orders.get(note)}" for note, number in books.applied.items()
              if orders.get(note, (None,))[0] != number]
    wrong += [f"{note} is there, and was not answered as applied" for note in orders
              if note not in books.applied and note not in books.unknown]
    wrong += [f"{note} is {order}, which nobody asked for" for note, order in orders.items()
              if order[1:] not in [(one.user, sum(one.items)) for one in books.asked.get(note, ())]]
    wrong += [f"{count} orders by the index {index}, {len(tables.orders)} in the table"
              for index, count in tables.by_index.items() if count != len(tables.orders)]
    return wrong
