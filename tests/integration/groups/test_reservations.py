"""Reserve, confirm, expire, as docs/RESERVATIONS.md has it: no piece is lost, and none is sold twice."""

import random
import threading
import time

import pymysql
import pytest
import redis

import recipes
import resp
from server import run_packaged, wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8", "mysql-9.7"), pytest.mark.ours]

RECIPE = recipes.sections("docs/RESERVATIONS.md")["Reserve, confirm, expire"]
STOCK, BUYERS, EACH = 100, 6, 30
DEADLOCK = 1213


def functions_of_the_recipe(port):
    """The functions of the document, whose server is the one at this port."""
    [program] = [text for language, text in RECIPE if language == "python"]
    names = {}
    definitions = program[:program.index("now = int(")].replace("port=6379", f"port={port}")
    exec(definitions, names)  # pylint: disable=exec-used # the document is what is tested
    return names


def in_sql(sql):
    """The same three steps as transactions of SQL."""
    def is_done(first, *others):
        while True:
            try:
                sql.run("BEGIN")
                changed = sql.run(*first)
                for statement in others if changed else ():
                    sql.run(*statement)
                sql.run("COMMIT" if changed else "ROLLBACK")
                return bool(changed)
            except pymysql.OperationalError as error:
                if error.args[0] != DEADLOCK:
                    raise
    return {
        "reserve": lambda name, item, user, ends: is_done(
            ("UPDATE stock SET left_over = left_over - 1 WHERE item = %s AND left_over >= 1", item),
            ("INSERT INTO reservation VALUES (%s, %s, %s, %s)", name, item, user, ends)),
        "confirm": lambda name, item, user, now: is_done(
            ("DELETE FROM reservation WHERE id = %s AND ends > %s", name, now),
            ("INSERT INTO sold VALUES (%s, %s, %s)", name, item, user)),
        "give_back": lambda name, item, now: is_done(
            ("DELETE FROM reservation WHERE id = %s AND ends <= %s", name, now),
            ("UPDATE stock SET left_over = left_over + 1 WHERE item = %s", item))}


@pytest.fixture
def shop(make_server):
    server = resp.start(make_server)
    sql = server.sql()
    run_packaged(sql, "rowsocket_tokens.sql")
    sql.run("USE shop")
    for language, text in RECIPE:
        if language == "sql" and "CREATE TABLE" in text:
            recipes.play_sql(sql, text)
    sql.run(f"UPDATE stock SET left_over = {STOCK}")
    return server


class Sale:
    """Buyers who pay in time or not, and workers that give back what has expired. `beside`: the buyers and workers with
    these numbers do it in SQL."""

    def __init__(self, server, seed, beside=()):
        self.server, self.seed, self.beside = server, seed, beside
        self.confirmed, self.refused, self.failures = [], 0, []
        self.ended = threading.Event()

    def certainly(self, function, *arguments):
        """Sends the same again until there is an answer, as a client does that has lost its connection."""
        while True:
            try:
                return function(*arguments)
            except (redis.ConnectionError, redis.TimeoutError):
                wait_until(lambda: self.server.running, 60, "the server")

    def functions(self, number):
        if number in self.beside:
            return in_sql(self.server.sql("shop"))
        return functions_of_the_recipe(self.server.resp_port)

    def buy(self, buyer):
        names, rng = self.functions(buyer), random.Random(self.seed * 100 + buyer)
        for number in range(EACH):
            name, is_late = f"{buyer}-{number}", rng.random() < 0.3
            ends = int(time.time()) + (-1 if is_late else 600)
            if not self.certainly(names["reserve"], name, 7, buyer, ends):
                self.refused += 1
                continue
            has_paid = self.certainly(names["confirm"], name, 7, buyer, int(time.time()))
            if has_paid:
                self.confirmed.append(name)
            if has_paid == is_late:
                self.failures.append((name, has_paid))

    def work(self, worker):
        names, sql = self.functions(worker), None
        while not self.ended.is_set():
            try:
                sql = sql or self.server.sql("shop")
                expired = sql.rows("SELECT id FROM reservation WHERE ends <= UNIX_TIMESTAMP() LIMIT 100")
            except pymysql.Error:  # The server is being started again.
                sql, expired = None, []
            for (name,) in expired:
                self.certainly(names["give_back"], name.decode(), 7, int(time.time()))
            self.ended.wait(0.02)


def sell(sale, kills):
    threads = [threading.Thread(target=sale.buy, args=(buyer,)) for buyer in range(BUYERS)]
    workers = [threading.Thread(target=sale.work, args=(worker,)) for worker in range(2)]
    for thread in threads + workers:
        thread.start()
    for _ in range(kills):
        before = len(sale.confirmed)
        wait_until(lambda before=before: len(sale.confirmed) > before + 5 or not any(thread.is_alive() for thread in threads),
                   60, "sales")
        sale.server.strike()
        sale.server.kill()
        sale.server.start()
    for thread in threads:
        thread.join()
    sql = sale.server.sql("shop")
    wait_until(lambda: sql.rows("SELECT id FROM reservation") == [], 30, "all that has expired is given back")
    sale.ended.set()
    for worker in workers:
        worker.join()
    sold = {name.decode() for (name,) in sql.rows("SELECT id FROM sold")}
    assert sold == set(sale.confirmed) and len(sale.confirmed) == len(sold), "each has what it was told"
    assert sale.failures == [], "who pays in time gets it, and who is late does not"
    assert int(sql.value("SELECT left_over FROM stock")) + len(sold) == STOCK
    assert len(sold) <= STOCK and sale.refused > 0


@pytest.mark.parametrize("kills", [0, 2])
def test_each_piece_is_in_stock_reserved_or_sold(shop, kills, request):
    sell(Sale(shop, request.config.getoption("--seed") or 1), kills)


def test_beside_transactions_of_sql(shop, request):
    """Half of the buyers and of the workers say it in SQL."""
    sell(Sale(shop, request.config.getoption("--seed") or 1, beside=(0, 2, 4)), kills=0)
