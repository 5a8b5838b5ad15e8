"""Purchases by groups while servers are killed, statements are killed, DDL runs and SQL buys in another order: the
stock that is gone, the orders that are there and the answers agree."""

import contextlib
import selectors
import threading
import time

import pymysql
import pytest

import hs
from groups import APPLIED, optional, required, take
from load import BINLOG_OPTIONS, scaled

pytestmark = [pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]

STOCK = 1_000_000
CONNECTIONS = 24
IN_FLIGHT = 4


def prepare(server):
    sql = server.sql()
    sql.run("CREATE DATABASE g")
    sql.run("CREATE TABLE g.stock (id INT PRIMARY KEY, stock INT NOT NULL) ENGINE=InnoDB")
    sql.run(f"INSERT INTO g.stock VALUES (1, {STOCK}), (2, {STOCK})")
    sql.run("CREATE TABLE g.users (id INT PRIMARY KEY, bought INT NOT NULL) ENGINE=InnoDB")
    sql.run("INSERT INTO g.users VALUES " + ", ".join(f"({number}, 0)" for number in range(40)))
    sql.run("CREATE TABLE g.orders (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, user INT NOT NULL, item INT NOT NULL,"
            " note VARCHAR(40) NOT NULL, UNIQUE KEY (note), KEY (user, id)) ENGINE=InnoDB")
    return sql


class Buyer:
    """One connection with some purchases in flight: a basket of one or two products, the user's row, the order."""

    def __init__(self, server, rng, number):
        self.rng, self.number, self.serial = rng, number, 0
        self.client = server.hs_wr()
        self.stock = self.client.opened("g", "stock", "", "stock", "stock")
        self.users = self.client.opened("g", "users", "", "bought")
        self.orders = self.client.opened("g", "orders", "", "user,item,note")
        self.sent, self.applied, self.others = [], {}, []
        self.pending = b""

    def buy(self):
        self.serial += 1
        note, user = f"{self.number}-{self.serial}", self.rng.randrange(40)
        items = self.rng.sample((1, 2), self.rng.choice((1, 1, 2)))
        lines = [required(self.stock, *take(self.stock, item)) for item in items]
        lines.insert(self.rng.randrange(len(lines) + 1), required(self.users, "=", 1, user, 1, 0, "+", 1))
        lines += [optional(self.stock, *take(self.stock, 99))]
        lines += [required(self.orders, "+", 3, user, items[0] if len(items) == 1 else 3, note)]
        if self.rng.random() < 0.1:  # not applied: nothing of it may be left
            lines.append(required(self.users, "=", 1, 1000, 1, 0, "+", 1))
        self.sent.append((note, len(lines) + 1))
        self.client.sock.sendall(b"".join(hs.line(*tokens) for tokens in [["G", len(lines)], *lines]))

    def receive(self):
        data = self.client.sock.recv(1 << 16)
        if not data:
            raise ConnectionError
        self.pending += data
        while self.sent:
            note, count = self.sent[0]
            lines = self.pending.split(b"\n", count)
            if len(lines) <= count:
                return
            self.pending = lines[count]
            self.sent.pop(0)
            answer = hs.parse(lines[0])
            if answer == APPLIED:
                self.applied[note] = int(hs.parse(lines[count - 1])[2])
            else:
                self.others.append(answer)
            self.buy()


def trade(buyers, seconds, goes_on=lambda: True):
    """The buyers buy for so long, or until their connections end."""
    selector = selectors.DefaultSelector()
    for buyer in buyers:
        selector.register(buyer.client.sock, selectors.EVENT_READ, buyer)
        for _ in range(IN_FLIGHT):
            buyer.buy()
    end = time.monotonic() + seconds
    while time.monotonic() < end and selector.get_map() and goes_on():
        for key, _ in selector.select(0.05):
            try:
                key.data.receive()
            except OSError:
                selector.unregister(key.fileobj)


def check(sql, buyers):
    """The stock, the orders, the users and the answers agree."""
    stock = {int(item): int(left) for item, left in sql.rows("SELECT id, stock FROM g.stock")}
    orders = {note.decode(): (int(number), int(item))
              for number, item, note in sql.rows("SELECT id, item, note FROM g.orders")}
    for item in (1, 2):
        assert STOCK - stock[item] == sum(bought in (item, 3) for _, bought in orders.values())
    assert int(sql.value("SELECT SUM(bought) FROM g.users")) == len(orders)
    unknown = {note for buyer in buyers for note, _ in buyer.sent}
    applied = {note: number for buyer in buyers for note, number in buyer.applied.items()}
    assert {note: orders.get(note, (None,))[0] for note in applied} == applied
    assert set(orders) - set(applied) <= unknown
    return len(applied)


def test_nothing_is_lost_or_done_by_half_when_the_server_is_killed(make_server, rng):
    server = make_server(options=BINLOG_OPTIONS)
    sql = prepare(server)
    buyers = []
    for round_number in range(scaled(2)):
        running = [Buyer(server, rng, f"{round_number}-{number}") for number in range(CONNECTIONS)]
        killer = threading.Timer(0.3 + rng.random() / 2, server.kill)
        killer.start()
        trade(running, 20, killer.is_alive)
        killer.join()
        buyers += running
        server.start()
        assert check(server.sql(), buyers) > 0
    del sql


def test_others_that_lock_kill_and_alter_leave_no_half_purchase(make_server, rng):
    """SQL buys in the other order, KILL QUERY hits the library's threads, and DDL changes the order's table."""
    server = make_server(options=["--innodb-lock-wait-timeout=2", "--innodb-flush-log-at-trx-commit=0"])
    sql = prepare(server)
    buyers = [Buyer(server, rng, number) for number in range(CONNECTIONS)]
    stops = threading.Event()
    by_sql = [0]

    def buy_by_sql():
        session = server.sql("g")
        while not stops.is_set():
            with contextlib.suppress(pymysql.Error):
                session.run("BEGIN")
                session.run(f"INSERT INTO orders (user, item, note) VALUES (5, 1, 'sql-{by_sql[0]}')")
                session.run("UPDATE users SET bought = bought + 1 WHERE id = 5")
                session.run("UPDATE stock SET stock = stock - 1 WHERE id = 1")
                session.run("COMMIT")
                by_sql[0] += 1
                continue
            session.run("ROLLBACK")

    def disturb():
        session = server.sql("g")
        number = 0
        while not stops.is_set():
            number += 1
            with contextlib.suppress(pymysql.Error):
                for thread, in session.rows("SELECT id FROM information_schema.processlist WHERE user = 'handlersocket'"):
                    session.run(f"KILL QUERY {int(thread)}")
                if number % 10 == 0:
                    session.run(f"ALTER TABLE orders COMMENT '{number}'")
            stops.wait(0.02)

    threads = [threading.Thread(target=buy_by_sql), threading.Thread(target=disturb)]
    for thread in threads:
        thread.start()
    try:
        trade(buyers, 4 if scaled(1) < 2 else scaled(4))
    finally:
        stops.set()
        for thread in threads:
            thread.join()
    for buyer in buyers:
        buyer.client.sock.settimeout(30)
        while buyer.sent:
            count = len(buyer.sent)
            serial, buyer.buy = buyer.buy, lambda: None
            buyer.receive()
            buyer.buy = serial
            assert len(buyer.sent) <= count
    sql.run("DELETE FROM g.orders WHERE note LIKE 'sql-%'")
    sql.run(f"UPDATE g.stock SET stock = stock + {by_sql[0]} WHERE id = 1")
    sql.run(f"UPDATE g.users SET bought = bought - {by_sql[0]} WHERE id = 5")
    assert check(sql, buyers) > 100
