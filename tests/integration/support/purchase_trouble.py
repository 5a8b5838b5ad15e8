"""Troubles of purchases of several rows: one round plays buyers during one trouble, then compares stock, users, orders,
tokens and answers (purchase.py)."""

import dataclasses
import errno
import re
import threading
import time

import pymysql

from load import Crew, processes
from purchase import Books, GroupBuyer, PurchaseShop, Tables, Trade, TransactionBuyer, buy_by_sql, violations
from server import run_packaged, wait_until

OPTIONS = ["--handlersocket-tokens=ON", "--loose-resp-socket=resp.sock", "--innodb-lock-wait-timeout=2"]
PLAY_S = 1.5        # before a kill, and after a trouble has happened often enough
KILLS = 30          # of threads, in a round of kills
AGAIN_MAX = 40      # purchases with a token that one buyer sends again
ROOMY_ORDER = 3000  # bytes of an order in rounds with a full disk, in which its table has to grow
# "stopped": sold out or doomed. The others: a note that exists already, a lock wait that timed out, a deadlock between
# the ports or with SQL, a purchase by SQL that was told of one.
ALWAYS = r"stopped|121|146|149|.*(CONSTRAINT|TRYAGAIN).*|sql .*"
# A table that cannot grow (135 or its text); a thread that was killed; a table that ALTER holds.
ALLOWED = {"disk": r".*", "kill": r".*kill.*|.*KILL.*|1317|.*lock_tables.*", "ddl": r".*lock_tables.*|.*TRYAGAIN.*"}


class Round:
    """The buyers and the books of one round on one server, or on the servers `sellers`."""

    stocks = (1_000_000, 1_000_000, 500)
    allowed = ""  # refusals besides those that ALWAYS and ALLOWED name

    def __init__(self, trouble, server, lossy_disk, db, rng, sellers=()):
        self.trouble, self.server, self.lossy_disk, self.db, self.rng = trouble, server, lossy_disk, db, rng
        self.shop = PurchaseShop(server, db, rng, stock=rng.choice(self.stocks), unique=rng.random() < 0.5,
                                 filler=ROOMY_ORDER if trouble == "disk" else 0)
        sql = server.sql()
        run_packaged(sql, "rowsocket_tokens.sql")
        self.shop.make(sql)
        self.made(sql)
        shops = [dataclasses.replace(self.shop, server=seller) for seller in sellers or (server,)]
        self.books, self.goal = Books(), int(10 ** rng.uniform(0, 3))
        kinds = rng.choice(((GroupBuyer,), (TransactionBuyer,), (GroupBuyer, TransactionBuyer)))
        tokens, in_flight = rng.choice((0, 0.3, 1)), rng.choice((1, 1, 4))
        self.trade = Trade(kinds[number % len(kinds)](rng.choice(shops), self.books, number, in_flight, tokens)
                           for number in range(1, 1 + rng.choice((2, 8, 32, 64))))

    def made(self, sql):
        """Makes the new tables survive a crash."""
        sql.run("FLUSH ENGINE LOGS")

    def reached(self, more=0):
        """A condition for play(): true after so many answers, or when the time is up."""
        end, goal = time.monotonic() + PLAY_S, self.books.answers + more if more else self.goal
        return lambda: self.books.answers >= goal or time.monotonic() > end

    def killed(self):
        """A SIGKILL while the buyers buy, a power cut if the server's disk forgets, and a restart."""
        self.trade.play(self.reached())
        killer = threading.Timer(self.rng.choice((0, self.rng.uniform(0, 0.03))), self.server.strike)
        killer.start()
        try:
            self.trade.play(lambda: False)
        finally:
            killer.join()
            self.start_again()

    def start_again(self):
        self.server.kill()
        if self.lossy_disk:
            self.lossy_disk.cut_power(self.server)
        self.server.start()

    def vanishing(self):
        """A third of the clients leave while their purchases are under way."""
        leaving = self.rng.sample(self.trade.buyers, (len(self.trade.buyers) + 2) // 3)
        while leaving:
            self.trade.play(self.reached(self.rng.randint(1, 20)))
            self.trade.lose(leaving.pop(), leave=True)
        self.trade.play(self.reached(20))

    def disk_full(self):
        """The orders' table cannot grow for some time; then the power is cut."""
        self.trade.play(self.reached())
        self.lossy_disk.refuse(f"/{self.db}/orders.ibd", errno.ENOSPC)
        full, end = self.books.refused.copy(), time.monotonic() + PLAY_S
        self.trade.play(lambda: (self.books.refused - full).total() > 20 or time.monotonic() > end)
        self.lossy_disk.accept()
        self.trade.play(self.reached(50))
        self.trade.finish()
        self.start_again()

    def beside(self, *others, often=2, timeout_s=60):
        """Lets the buyers play while threads run others(stopping, times), until each thread has done its part so
        often."""
        times = [[] for _ in others]
        with Crew(timeout_s) as crew:
            for function, done in zip(others, times):
                crew.start(function, crew.stopping, done)
            reached = self.reached()
            self.trade.play(lambda: crew.check() and all(len(done) >= often for done in times) and reached(), timeout_s)

    def sql_buyers(self):
        def buyer(number):
            def run(stopping, times):
                times += [1] * KILLS
                buy_by_sql(self.shop, self.books, number, stopping)
            return run
        return [buyer(number) for number in range(3)]

    def killing(self, stopping, times):
        """Kills the library's threads with KILL QUERY and KILL."""
        session = self.server.sql()
        while not stopping.is_set():
            for thread in processes(session):
                if not re.search("handlersocket|resp", thread["user"] + thread["state"]):
                    continue
                try:
                    session.run(f"{self.rng.choice(('KILL QUERY', 'KILL QUERY', 'KILL'))} {thread['id']}")
                    times.append(1)
                except pymysql.MySQLError as error:
                    if error.args[0] != 1094:  # the thread has gone
                        raise
            stopping.wait(0.01)

    def altering(self, stopping, times):
        session, number = self.server.sql(self.db), 0
        session.run("SET SESSION lock_wait_timeout = 60")
        while not stopping.is_set():
            number += 1
            try:
                session.run(f"ALTER TABLE orders ADD COLUMN c{number} INT DEFAULT {number}")
                session.run(f"ALTER TABLE orders ADD INDEX i{number} (c{number})")
                session.run("OPTIMIZE TABLE orders")
                session.run(f"ALTER TABLE orders DROP COLUMN c{number}, FORCE")
            except pymysql.IntegrityError:
                # MySQL's manual, "Online DDL Limitations": an ALTER TABLE fails even for a duplicate that existed only
                # for a moment, such as one of a purchase that was rolled back.
                pass
            times.append(number)

    def play(self):
        sql_too = self.sql_buyers() if self.rng.random() < 0.5 else []
        {"crash": self.killed, "cut": self.killed, "vanish": self.vanishing, "disk": self.disk_full,
         "kill": lambda: self.beside(self.killing, *sql_too, often=KILLS), "ddl": lambda: self.beside(self.altering, *sql_too, often=1),
         "deadlock": lambda: self.beside(*self.sql_buyers())}[self.trouble]()
        self.trade.finish()

    @staticmethod
    def quiet(sql):
        """Waits until nothing is under way any more, because requests of clients that have left may be."""
        def busy():
            return [name for name in ("Handlersocket_connections", "Resp_connections") if sql.status(name)]
        wait_until(lambda: not busy(), 30, "the end of all connections")

    def ask_again(self, tables):
        """Asks about purchases with a token: the server must know exactly those whose orders exist. Sent again, an
        applied purchase gets its answer again, and an unknown one gets an answer."""
        there, wrong = {note for *_, note in tables.orders}, []
        for buyer in self.trade.buyers:
            lost = [purchase for purchase in buyer.sent if purchase.token]
            kept = [purchase for purchases in self.books.asked.values() for purchase in purchases
                    if purchase.token and purchase.note in self.books.applied
                    and purchase.note.startswith(f"{buyer.number}-")]
            if not lost and not kept:
                continue
            other = type(buyer)(self.shop, self.books, buyer.number)
            for purchase in [*lost, *kept[-5:]][:AGAIN_MAX]:
                wrong += self.ask_one_again(other, purchase, purchase.note in there)
            other.client.close()
        return wrong

    def ask_one_again(self, buyer, purchase, there):
        outcome = buyer.outcome(purchase)
        if outcome != ("done" if there else "unknown"):
            return [f"the outcome of {purchase.token} is {outcome}, its order is {'' if there else 'not '}there"]
        self.books.repeated += 1
        number, refusal = buyer.again(purchase)
        if purchase.note in self.books.applied:
            first = self.books.applied[purchase.note]
            return [] if number == first else [f"{purchase.token} was answered {first}, then {number or refusal}"]
        self.books.settle(purchase, number, refusal)
        self.books.unknown.discard(purchase.note)
        return [f"{purchase.token} is done, and was answered {refusal}"] if there and refusal else []

    def judge(self):
        sql = self.server.sql()
        self.quiet(sql)
        tables = Tables.read(sql, self.db)
        wrong = violations(self.shop.stock, tables, self.books) + self.ask_again(tables)
        wrong += violations(self.shop.stock, Tables.read(sql, self.db), self.books)
        allowed = re.compile("|".join(filter(None, (ALWAYS, self.allowed, ALLOWED.get(self.trouble)))), re.S)
        wrong += [f"{count} were answered {text!r}" for text, count in self.books.refused.items()
                  if not allowed.fullmatch(text)]
        if not self.books.applied and not self.books.unknown:
            wrong.append("nothing was bought")
        for table in ("stock", "users", "orders"):
            told = sql.rows(f"CHECK TABLE {self.db}.{table}")[-1]
            wrong += [f"CHECK TABLE {table}: {told}"] if told[3] != b"OK" else []
        return wrong


# The more important ones come more often.
TROUBLES = ("crash", "crash", "crash", "cut", "cut", "kill", "deadlock", "vanish", "ddl", "disk")
FORGETFUL = ("cut", "disk")  # troubles of a server whose disk forgets what was not flushed


def purchases_in_trouble(trouble, server, lossy_disk, db, rng):
    """One round. Returns the violations, and its counts."""
    return outcome_of(Round(trouble, server, lossy_disk, db, rng))


def outcome_of(played):
    """Plays the round, and checks it. Returns the violations, and its counts."""
    try:
        played.play()
    finally:
        played.trade.close()
    unknown = len(played.books.unknown)
    wrong, books = played.judge(), played.books
    return wrong, {"applied": len(books.applied), "unknown": unknown, "refused": sum(books.refused.values()),
                   "repeated": books.repeated, played.trouble: 1}
