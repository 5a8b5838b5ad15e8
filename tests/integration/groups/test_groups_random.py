"""Random groups over tables with unique keys, foreign keys, generated columns and CHECK, and the same in transactions
of SQL on twin tables: the same answers, the same rows; and the same rows on a replica."""

import pymysql
import pytest

import hs
from groups import APPLIED, NOT_DONE, failed, group, stopped
from load import scaled
from test_replica import Pair

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.again_in("mysql-9.7"), pytest.mark.ours, pytest.mark.slow]

GROUPS = 2500
TABLES = {
    "a": "id INT PRIMARY KEY, n INT UNSIGNED NOT NULL, name VARCHAR(20), g INT UNSIGNED AS (n * 2) STORED,"
         " UNIQUE KEY (name), KEY (g), CHECK (n < 60)",
    "b": "id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, a_id INT, note VARCHAR(30), KEY (a_id), UNIQUE KEY (note),"
         " FOREIGN KEY (a_id) REFERENCES {a} (id) ON DELETE CASCADE",
    "c": "k VARCHAR(4) COLLATE utf8mb4_bin NOT NULL, m INT NOT NULL, n INT UNSIGNED NOT NULL, PRIMARY KEY (k, m)",
}
ERRORS = {1062: "121", 1452: "151", 1451: "152", 1264: "1264", 1690: "1264", 4025: "4025", 3819: "3819"}


class Random:
    """Requests, as tokens behind the id and as SQL on the twin."""

    def __init__(self, rng, opened):
        self.rng, self.opened = rng, opened

    def request(self):
        """(tokens, function of a cursor that returns the expected reply and how many rows it has)"""
        return self.rng.choice((self.insert_a, self.insert_b, self.insert_c, self.change_a, self.change_a, self.change_c,
                                self.change_c, self.delete_a, self.range_c, self.find_by_name))()

    def id(self):
        return self.rng.randint(1, 9)

    def insert(self, name, columns, values, generates=False):
        def run(cursor):
            marks = ", ".join(["%s"] * len(values))
            cursor.execute(f"INSERT INTO {name[-1]}2 ({columns}) VALUES ({marks})", values)
            return (hs.reply(0, 1, cursor.lastrowid) if generates else hs.OK), 1
        return [self.opened[name].id, "+", len(values), *values], run

    def insert_a(self):
        return self.insert("a", "id, n, name", [self.id(), self.rng.randint(0, 40), f"n{self.rng.randint(1, 12)}"])

    def insert_b(self):
        return self.insert("b", "a_id, note", [self.id(), f"note{self.rng.randint(1, 400)}"], generates=True)

    def insert_c(self):
        return self.insert("c", "k, m, n", [self.rng.choice("xy"), self.rng.randint(1, 4), self.rng.randint(0, 9)])

    def change(self, index, table, condition, keys, key_tokens):
        verb, operand = self.rng.choice(("+", "-", "-", "U")), self.rng.randint(0, 25)
        guard = self.rng.choice((None, self.rng.randint(0, 30)))
        tokens = [index.id, *key_tokens, 1, 0]
        where = condition
        if guard is not None:
            tokens += ["F", ">=", 0, guard]
            where += f" AND n >= {guard}"
        met = where
        if verb == "-":
            where += f" AND n >= {operand}"

        def run(cursor):
            if verb == "-" and operand:  # 0 has no sign to change: less than it is out of range
                cursor.execute(f"SELECT n FROM {table}2 WHERE {met} AND n = 0", keys)
                if cursor.fetchall():
                    raise pymysql.err.DataError(1264)
            cursor.execute(f"SELECT n FROM {table}2 WHERE {where} FOR UPDATE", keys)
            found = len(cursor.fetchall())
            value = operand if verb == "U" else f"n {verb} {operand}"
            cursor.execute(f"UPDATE {table}2 SET n = {value} WHERE {where}", keys)
            return hs.counted(found), found
        return [*tokens, verb, operand], run

    def change_a(self):
        key = self.rng.choice((str(self.id()), f"0{self.id()}"))
        return self.change(self.opened["n"], "a", "id = %s", [int(key)], ["=", 1, key])

    def change_c(self):
        key = [self.rng.choice("xy"), self.rng.randint(1, 4)]
        return self.change(self.opened["cn"], "c", "k = %s AND m = %s", key, ["=", 2, *key])

    def delete_a(self):
        key = self.id()

        def run(cursor):
            cursor.execute("DELETE FROM a2 WHERE id = %s", [key])
            return hs.counted(cursor.rowcount), cursor.rowcount
        return [self.opened["a"].id, "=", 1, key, 1, 0, "D"], run

    def range_c(self):
        key = self.rng.choice("xy")

        def run(cursor):
            cursor.execute("SELECT m, n FROM c2 WHERE k = %s ORDER BY m LIMIT 3", [key])
            rows = cursor.fetchall()
            return hs.reply(0, 2, *(cell for row in rows for cell in row)), len(rows)
        return [self.opened["mn"].id, "=", 1, key, 3, 0], run

    def find_by_name(self):
        name = f"n{self.rng.randint(1, 12)}"

        def run(cursor):
            cursor.execute("SELECT id, n, g FROM a2 WHERE name = %s", [name])
            rows = cursor.fetchall()
            return hs.reply(0, 3, *(cell for row in rows for cell in row)), len(rows)
        return [self.opened["name"].id, "=", 1, name], run


def expected(connection, requests):
    """What the same in a transaction of SQL gives, which is committed or rolled back."""
    replies, position = [], 0
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
        try:
            for position, (is_required, _, run) in enumerate(requests, 1):
                reply, rows = run(cursor)
                if is_required and rows == 0:
                    cursor.execute("ROLLBACK")
                    return stopped(position), [NOT_DONE] * len(requests)
                replies.append(reply)
        except pymysql.Error as error:
            cursor.execute("ROLLBACK")
            return failed(1, ERRORS[error.args[0]], position), [NOT_DONE] * len(requests)
        cursor.execute("COMMIT")
    return APPLIED, replies


def test_random_groups_are_transactions_of_sql(make_server, rng):
    pair = Pair(make_server, replica_plugin="none")
    sql = pair.sql
    sql.run("CREATE DATABASE g")
    sql.run("USE g")
    for name, columns in TABLES.items():
        for suffix in ("", "2"):
            sql.run(f"CREATE TABLE {name}{suffix} ({columns.format(a='a' + suffix)}) ENGINE=InnoDB")
    client = pair.primary.hs_wr()
    opened = {
        "a": client.opened("g", "a", "", "id,n,name"), "b": client.opened("g", "b", "", "a_id,note"),
        "c": client.opened("g", "c", "", "k,m,n"), "n": client.opened("g", "a", "", "n", "n"),
        "cn": client.opened("g", "c", "", "n", "n"), "mn": client.opened("g", "c", "", "m,n"),
        "name": client.opened("g", "a", "name", "id,n,g")}
    source = Random(rng, opened)
    connection = pymysql.connect(unix_socket=pair.primary.env["SQL_SOCKET"], user="root", database="g",
                                 client_flag=pymysql.constants.CLIENT.FOUND_ROWS)
    ends = {True: 0, False: 0}
    for number in range(scaled(GROUPS)):
        requests = [(rng.random() < 0.6, *source.request()) for _ in range(rng.randint(1, 8))]
        lines = [["R" if is_required else "O", *tokens] for is_required, tokens, _ in requests]
        answer = group(client, lines)
        wanted = expected(connection, requests)
        assert answer == wanted, (number, lines)
        ends[answer[0] == APPLIED] += 1
        if number % 250 == 0:
            assert_equal(sql)
    assert min(ends.values()) > scaled(GROUPS) / 10, ends
    assert_equal(sql)
    pair.catch_up()
    for name in TABLES:
        for suffix in ("", "2"):
            rows = f"SELECT * FROM g.{name}{suffix} ORDER BY 1, 2"
            assert pair.copy.rows(rows) == sql.rows(rows)


def assert_equal(sql):
    for name in TABLES:
        assert sql.rows(f"SELECT * FROM {name} ORDER BY 1, 2") == sql.rows(f"SELECT * FROM {name}2 ORDER BY 1, 2"), name


