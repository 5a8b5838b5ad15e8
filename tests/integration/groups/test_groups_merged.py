"""Groups of one batch that change the same row share its lock and its one write: the same answers and the same rows as
one by one, and as the same in transactions of SQL; and the same rows on a replica."""

import select
import time

import pymysql
import pytest

import hs
from groups import APPLIED, NOT_DONE, add, required, stopped, take
from hs import counted, reply
from load import scaled
from test_groups_random import Random, expected
from test_replica import Pair

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.again_in("mysql-9.7"), pytest.mark.ours, pytest.mark.slow]

BATCHES = 80
GROUPS_OF_A_BATCH = 30
WAIT_S = 2
TABLES = {
    "d": "id INT PRIMARY KEY, code INT NOT NULL, n INT UNSIGNED NOT NULL, UNIQUE KEY (code), KEY (n)",
    "p": "id INT PRIMARY KEY, n INT UNSIGNED NOT NULL",
    "q": "id INT PRIMARY KEY, p_id INT, n INT UNSIGNED NOT NULL,"
         " FOREIGN KEY (p_id) REFERENCES {p} (id) ON DELETE CASCADE",
    "r": "id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, p_id INT, note VARCHAR(30), UNIQUE KEY (note), KEY (p_id),"
         " FOREIGN KEY (p_id) REFERENCES {p} (id)",
}


class Merged(Random):
    """Requests for few rows of these tables, by several names."""

    def request(self):
        return self.rng.choice((self.by_id, self.by_id, self.by_id, self.by_code, self.range, self.p, self.q, self.q,
                                self.insert_d, self.insert_p, self.insert_q, self.insert_r, self.insert_r, self.delete,
                                self.find, self.find_range))()

    def key(self):
        return self.rng.choice(("1", "1", "1", "2", "01", "3"))

    def change_row(self, name, column="id"):
        key = self.key()
        index = self.opened[name if column == "id" else column]
        return self.change(index, name, f"{column} = %s", [int(key)], ["=", 1, key])

    def by_id(self):
        return self.change_row("d")

    def by_code(self):
        return self.change_row("d", "code")

    def p(self):
        return self.change_row("p")

    def q(self):
        return self.change_row("q")

    def range(self):
        by = self.rng.randint(1, 9)

        def run(cursor):
            cursor.execute("UPDATE d2 SET n = n + %s WHERE id >= 2", [by])
            return counted(cursor.rowcount), cursor.rowcount
        return [self.opened["d"].id, ">=", 1, 2, 99, 0, "+", by], run

    def insert_d(self):
        key = self.rng.randint(1, 4)
        return self.insert("all d", "id, code, n", [key, key, self.rng.randint(0, 40)])

    def insert_p(self):
        return self.insert("all p", "id, n", [self.rng.randint(1, 4), self.rng.randint(0, 40)])

    def insert_q(self):
        return self.insert("all q", "id, p_id, n", [self.rng.randint(1, 4), self.rng.randint(1, 4), 30])

    def insert_r(self):
        return self.insert("all r", "p_id, note", [self.rng.randint(1, 3), f"note{self.rng.randint(1, 4000)}"], generates=True)

    def delete(self):
        name, key = self.rng.choice("ddpq"), self.key()

        def run(cursor):
            cursor.execute(f"DELETE FROM {name}2 WHERE id = %s", [int(key)])
            return counted(cursor.rowcount), cursor.rowcount
        return [self.opened[name].id, "=", 1, key, 1, 0, "D"], run

    def find(self):
        name, key = self.rng.choice("dpq"), self.key()

        def run(cursor):
            cursor.execute(f"SELECT n FROM {name}2 WHERE id = %s", [int(key)])
            rows = cursor.fetchall()
            return reply(0, 1, *(row[0] for row in rows)), len(rows)
        return [self.opened[name].id, "=", 1, key], run

    def find_range(self):
        def run(cursor):
            cursor.execute("SELECT n FROM d2 WHERE n >= 5 ORDER BY n LIMIT 9")
            rows = cursor.fetchall()
            return reply(0, 1, *(row[0] for row in rows)), len(rows)
        return [self.opened["by n"].id, ">=", 1, 5, 9, 0], run


def opened(client):
    return {"d": client.opened("g", "d", "", "n", "n"), "code": client.opened("g", "d", "code", "n", "n"),
            "by n": client.opened("g", "d", "n", "n"), "p": client.opened("g", "p", "", "n", "n"),
            "q": client.opened("g", "q", "", "n", "n"), "all d": client.opened("g", "d", "", "id,code,n"),
            "all p": client.opened("g", "p", "", "id,n"), "all q": client.opened("g", "q", "", "id,p_id,n"),
            "all r": client.opened("g", "r", "", "p_id,note")}


def without_ids(requests, answers):
    """The answers, with a word for each generated id: a batch that runs again has used some of them up."""
    return [(*answer[:2], "an id") if tokens[1] == "+" and len(answer) == 3 and answer[0] == b"0" else answer
            for (_, tokens, _), answer in zip(requests, answers, strict=True)]


def assert_ids_are_told(sql, requests, answers):
    for (_, tokens, _), answer in zip(requests, answers, strict=True):
        if tokens[1] == "+" and len(answer) == 3:
            assert sql.value(f"SELECT id FROM r WHERE note = '{tokens[-1]}'") == answer[2], tokens


def assert_equal(sql, where):
    for name in TABLES:
        columns = "note, p_id" if name == "r" else "*"
        assert (sql.rows(f"SELECT {columns} FROM {name} ORDER BY 1")
                == sql.rows(f"SELECT {columns} FROM {name}2 ORDER BY 1")), (name, where)


@pytest.mark.parametrize("groups", [GROUPS_OF_A_BATCH, 1], ids=["merged", "one by one"])
def test_random_groups_of_a_batch_are_transactions_of_sql(make_server, rng, groups):
    pair = Pair(make_server, replica_plugin="none")
    sql = pair.sql
    sql.run("CREATE DATABASE g")
    sql.run("USE g")
    for name, columns in TABLES.items():
        for suffix in ("", "2"):
            sql.run(f"CREATE TABLE {name}{suffix} ({columns.format(p='p' + suffix)}) ENGINE=InnoDB")
    for suffix in ("", "2"):
        sql.run(f"INSERT INTO d{suffix} (id, code, n) VALUES (1, 1, 90), (2, 2, 90)")
        sql.run(f"INSERT INTO p{suffix} VALUES (1, 90), (2, 90)")
        sql.run(f"INSERT INTO q{suffix} VALUES (1, 1, 90), (2, 2, 90)")
    client = pair.primary.hs_wr()
    source = Merged(rng, opened(client))
    connection = pymysql.connect(unix_socket=pair.primary.env["SQL_SOCKET"], user="root", database="g",
                                 client_flag=pymysql.constants.CLIENT.FOUND_ROWS)
    for number in range(scaled(BATCHES * GROUPS_OF_A_BATCH) // groups):
        batch = []
        for _ in range(groups):
            size = rng.choice((1, 1, 2, 2, 3, 3, 5))
            batch.append([(rng.random() < 0.5, *source.request()) for _ in range(size)])
        lines = []
        for requests in batch:
            lines.append(["G", len(requests)])
            lines += [["R" if is_required else "O", *tokens] for is_required, tokens, _ in requests]
        answers = client.pipeline(lines)
        for requests in batch:
            wanted, others = expected(connection, requests)
            mine, answers = answers[:len(requests) + 1], answers[len(requests) + 1:]
            assert mine[0] == wanted, (number, lines)
            assert without_ids(requests, mine[1:]) == without_ids(requests, others), (number, lines)
            if wanted == APPLIED:
                assert_ids_are_told(sql, requests, mine[1:])
        assert_equal(sql, (number, lines))
    merged = int(sql.status("Handlersocket_groups_merged"))
    assert merged > scaled(BATCHES) if groups > 1 else merged == 0
    pair.catch_up()
    for name in TABLES:
        rows = f"SELECT * FROM g.{name} ORDER BY 1"
        assert pair.copy.rows(rows) == sql.rows(rows)


def test_a_row_that_no_key_without_null_names_is_changed_up_and_down_in_a_group(make_server):
    """MySQL's replicas look for all rows of an event at once, where the table has no such key."""
    pair = Pair(make_server, replica_plugin="none")
    pair.sql.run("CREATE DATABASE g")
    pair.sql.run("CREATE TABLE g.t (id INT, n INT NOT NULL, UNIQUE KEY id (id)) ENGINE=InnoDB")
    pair.sql.run("INSERT INTO g.t VALUES (1, 18), (2, 50), (NULL, 50)")
    client = pair.primary.hs_wr()
    row = client.opened("g", "t", "id", "n")
    changes = [required(row, "=", 1, 1, 1, 0, sign, by) for sign, by in (("+", 1), ("-", 1), ("-", 2))]
    assert client.pipeline([["G", 3], *changes]) == [APPLIED, counted(1), counted(1), counted(1)]
    pair.assert_equal()


@pytest.fixture
def shop(sql, db, server):
    sql.run("CREATE TABLE stock (id INT PRIMARY KEY, stock INT NOT NULL, name VARCHAR(20), UNIQUE KEY (name)) ENGINE=InnoDB")
    sql.run("INSERT INTO stock VALUES (1, 100, 'hat'), (2, 100, 'shoe')")
    sql.run("CREATE TABLE orders (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, user INT, item INT, note VARCHAR(40),"
            " UNIQUE KEY (note), KEY (user, id)) ENGINE=InnoDB")
    client = server.hs_wr()
    return client, client.opened(db, "stock", "", "stock", "stock"), client.opened(db, "orders", "", "user,item,note")


def purchases(shop, items, note=None):
    """Lines of one purchase of each of the items."""
    _, stock, orders = shop
    return [["G", len(items) + 1], *(required(stock, *take(stock, item)) for item in items),
            required(orders, *add(1, items[0], note))]


class Counters:
    """How far the counters of merged groups and of rows closed early have moved."""

    def __init__(self, sql):
        self.sql = sql
        self.before = self.now()

    def now(self):
        rows = self.sql.rows("SHOW GLOBAL STATUS WHERE Variable_name LIKE 'Handlersocket_rows_closed_%' OR"
                             " Variable_name IN ('Handlersocket_groups_merged', 'Handlersocket_merged_rows')")
        return {name.decode().split("_", 1)[1]: int(value) for name, value in rows}

    def moved(self):
        return {name: value - self.before[name] for name, value in self.now().items() if value != self.before[name]}


def assert_shared(counters, groups, rows=1):
    """Almost all of the groups have shared their rows, which stayed open: a pipeline may be several batches."""
    moved = counters.moved()
    batches = moved.pop("merged_rows") / rows
    assert moved == {"groups_merged": moved["groups_merged"]}
    assert 1 <= batches < 6 and groups - 3 <= moved["groups_merged"] <= groups


def left(sql):
    return [int(row[0]) for row in sql.rows("SELECT stock FROM stock ORDER BY id")]


def test_purchases_of_one_batch_change_their_row_once(shop, sql):
    counters = Counters(sql)
    answers = shop[0].pipeline(purchases(shop, ["1"]) * 20)
    assert answers[::3] == [APPLIED] * 20 and answers[1::3] == [counted(1)] * 20
    assert answers[2::3] == [reply(0, 1, number) for number in range(1, 21)]
    assert left(sql) == [80, 100]
    assert_shared(counters, 20)


def test_baskets_of_one_batch_change_their_rows_once(shop, sql):
    counters = Counters(sql)
    answers = shop[0].pipeline(purchases(shop, ["1", "2"]) * 20)
    assert answers[::4] == [APPLIED] * 20
    assert left(sql) == [80, 80]
    assert_shared(counters, 20, rows=2)


def test_a_purchase_that_fails_among_others_is_taken_back_alone(shop, sql):
    lines = []
    for number in range(20):
        lines += purchases(shop, ["1"], note="twice" if number % 5 == 4 else f"note {number}")
    answers = shop[0].pipeline(lines)
    assert answers[::3].count(APPLIED) == 17
    assert left(sql) == [83, 100]
    assert sql.value("SELECT COUNT(*) FROM orders") == b"17"


def test_purchases_stop_where_nothing_is_left(shop, sql):
    sql.run("UPDATE stock SET stock = 7 WHERE id = 1")
    answers = shop[0].pipeline(purchases(shop, ["2", "1"]) * 20)
    assert answers[::4] == [APPLIED] * 7 + [stopped(2)] * 13
    assert answers[-3:] == [NOT_DONE] * 3
    assert left(sql) == [0, 93]


@pytest.mark.parametrize("way, reason", [
    ("another text", "same_row"), ("another index", "write"), ("a range", "write"), ("a find", "find")])
def test_one_row_by_another_way_in_one_batch(shop, sql, db, way, reason):
    client, stock, _ = shop
    other = {
        "another text": lambda: required(stock, "=", 1, "01", 1, 0, "-", 1),
        "another index": lambda: required(client.opened(db, "stock", "name", "stock"), "=", 1, "hat", 2, 0, "-", 1),
        "a range": lambda: required(stock, "<", 1, "2", 9, 0, "-", 1),
        "a find": lambda: required(stock, "<", 1, "2", 9, 0),
    }[way]()
    counters = Counters(sql)
    answers = client.pipeline((purchases(shop, ["1"]) * 2 + [["G", 1], other]) * 5)
    sold = 10
    for number in range(5):
        mine = answers[number * 8:number * 8 + 8]
        assert mine[0] == mine[3] == mine[6] == APPLIED
        if way == "a find":
            assert mine[7] == reply(0, 1, 100 - 2 * (number + 1))
        else:
            sold = 15
    assert left(sql) == [100 - sold, 100]
    assert counters.moved().get(f"rows_closed_{reason}", 0) >= 2, counters.moved()


@pytest.mark.mariadb("in MySQL a parent's changes are not merged")
def test_orders_that_refer_to_the_stock_leave_its_row_open(shop, sql):
    sql.run("ALTER TABLE orders ADD FOREIGN KEY (item) REFERENCES stock (id)")
    counters = Counters(sql)
    assert shop[0].pipeline(purchases(shop, ["1"]) * 20)[::3] == [APPLIED] * 20
    assert left(sql) == [80, 100]
    assert_shared(counters, 20)


def test_single_requests_share_the_row_with_groups(shop, sql):
    _, stock, _ = shop
    counters = Counters(sql)
    single = [stock.id, *take(stock, "1")]
    answers = shop[0].pipeline((purchases(shop, ["1"]) + [single]) * 10)
    assert answers[3::4] == [counted(1)] * 10
    assert left(sql) == [80, 100]
    assert_shared(counters, 10)


def test_groups_that_share_a_row_wait_once_for_an_index(sql, db, server):
    """The row is free, and its place in an index is not, which shows when the row is written."""
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL, KEY n (n)) ENGINE=InnoDB")
    sql.run("INSERT INTO t VALUES (1, 50), (2, 90), (3, 97)")
    before = sql.value("SELECT @@GLOBAL.innodb_lock_wait_timeout").decode()
    sql.run(f"SET GLOBAL innodb_lock_wait_timeout = {WAIT_S}")
    clients = [server.hs_wr(timeout_s=60) for _ in range(6)]
    rows = [client.opened(db, "t", "", "n", "n") for client in clients]
    locker = server.sql(db)
    locker.run("BEGIN")
    locker.rows("SELECT * FROM t FORCE INDEX (n) WHERE n BETWEEN 80 AND 95 FOR UPDATE")
    for client, row in zip(clients, rows, strict=True):
        client.send_raw(hs.line("G", 1) + hs.line(*required(row, "=", 1, 1, 1, 0, "+", 1)))
    waits_s, last = [], time.monotonic()
    while clients:
        assert select.select([client.sock for client in clients], [], [], 60)[0]
        for client in [one for one in clients if one.readable(0)]:
            assert client.recv()[2] == b"146"
            assert client.recv() == NOT_DONE
            clients.remove(client)
        waits_s.append(time.monotonic() - last)
        last = time.monotonic()
    locker.run("ROLLBACK")
    sql.run(f"SET GLOBAL innodb_lock_wait_timeout = {before}")
    assert max(waits_s) < 1.7 * WAIT_S, waits_s


def test_a_cascade_reaches_the_open_row(sql, db, server):
    """ON DELETE SET NULL changes a row that groups share, between them."""
    sql.run("CREATE TABLE p (id INT PRIMARY KEY) ENGINE=InnoDB")
    sql.run("CREATE TABLE q (id INT PRIMARY KEY, n INT NOT NULL, p_id INT,"
            " FOREIGN KEY (p_id) REFERENCES p (id) ON DELETE SET NULL) ENGINE=InnoDB")
    sql.run("INSERT INTO p VALUES (1)")
    sql.run("INSERT INTO q VALUES (1, 10, 1)")
    client = server.hs_wr()
    p, q = client.opened(db, "p", "", "id"), client.opened(db, "q", "", "n")
    counters = Counters(sql)
    add_one = [["G", 1], required(q, "=", 1, 1, 1, 0, "+", 1)]
    answers = client.pipeline(add_one * 3 + [["G", 1], required(p, "=", 1, 1, 1, 0, "D")] + add_one * 3)
    assert answers == [APPLIED, counted(1)] * 7
    assert sql.rows("SELECT n, p_id FROM q") == [(b"16", None)]
    assert counters.moved()["rows_closed_foreign_key"] == 1
