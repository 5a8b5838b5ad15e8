"""Random columns, values and keys over RESP against SQL on a table alike: the same is refused, the rows are equal, and
what is read is what SQL shows."""

import decimal
import random
import re

import pymysql
import pytest

import columns
from kinds import Decimal, Integer
from resp import Client, Error

pytestmark = [pytest.mark.again_in("mariadb-11.8", "mysql-9.7"), pytest.mark.ours]

TABLES = 25
COMMANDS = 120
INT64 = range(-2 ** 63, 2 ** 63)
BY = ["1", "-1", "5", "1000", "-70000", str(2 ** 31), str(2 ** 63 - 1), str(-2 ** 63)]
BY_FRACTION = ["1", "-0.5", "0.001", "12.25", "1e3", "-1e-3", "123456789"]


class Twins:
    """A table that RESP writes, shop.ours, and one that SQL does, shop.theirs, with one column c of a random type."""

    def __init__(self, server, seed, kind=None):
        self.rng = random.Random(seed)
        self.sql = server.sql("shop")
        self.client = Client(server.resp_port, self.rng.choice((2, 3)))
        self.kind = kind(self.rng) if kind else columns.random_kind(self.rng)
        self.sums = {True: 0, False: 0}  # of DECIMAL: whether they were done
        for table in ("ours", "theirs"):
            self.sql.run(f"CREATE OR REPLACE TABLE {table} (id INT PRIMARY KEY, c {self.kind.ddl} NULL, n INT NOT NULL DEFAULT 3)"
                         " ENGINE=InnoDB")

    def by_sql(self, query):
        """Whether SQL takes the statement."""
        try:
            self.sql.run(query)
        except pymysql.MySQLError:
            return False
        return True

    def row(self):
        return self.rng.randint(1, 4)

    def set(self):
        number, value = self.row(), (self.kind.edge if self.rng.random() < 0.4 else self.kind.sample)(self.rng).data
        literal = self.kind.literal(value)
        reply = self.client.ask("HSET", f"ours:{number}", "c", value)
        taken = self.by_sql(b"INSERT INTO theirs (id, c) VALUES (%d, %s) ON DUPLICATE KEY UPDATE c = %s" % (number, literal, literal))
        assert taken != isinstance(reply, Error), (self.kind.ddl, "HSET", value, reply, taken)

    def set_null(self):
        number = self.row()
        was = self.sql.value(f"SELECT COUNT(c) FROM theirs WHERE id = {number}")
        assert self.client.ask("HDEL", f"ours:{number}", "c") == int(was)
        self.sql.run(f"UPDATE theirs SET c = NULL WHERE id = {number}")

    def delete(self):
        number = self.row()
        assert self.client.ask("DEL", f"ours:{number}") == self.sql.run(f"DELETE FROM theirs WHERE id = {number}")

    def increment(self):
        """HINCRBY of what is an integer: as SQL's assignment of the sum."""
        number, by = self.row(), self.rng.choice(BY)
        rows = self.sql.rows(f"SELECT CAST(c AS CHAR) FROM theirs WHERE id = {number}")
        reply = self.client.ask("HINCRBY", f"ours:{number}", "c", by)
        before = (rows[0][0] or b"0").decode() if rows else ""
        if re.fullmatch(r"0|-?[1-9]\d*", before) and int(before) in INT64 and int(before) + int(by) in INT64:
            total = int(before) + int(by)
            taken = self.by_sql(f"UPDATE theirs SET c = '{total}' WHERE id = {number}")
            assert reply == total if taken else isinstance(reply, Error), (self.kind.ddl, before, by, reply, taken)
        elif not isinstance(reply, Error):
            # SQL takes other texts for numbers, too: 5.0, 05.
            assert decimal.Decimal(before) + int(by) == reply, (self.kind.ddl, before, by, reply)
            self.sql.run(f"UPDATE theirs SET c = '{reply}' WHERE id = {number}")

    def add(self):
        """HINCRBYFLOAT of a DECIMAL is exact, or refused."""
        number, by = self.row(), self.rng.choice(BY_FRACTION)
        rows = self.sql.rows(f"SELECT CAST(c AS CHAR) FROM theirs WHERE id = {number}")
        reply = self.client.ask("HINCRBYFLOAT", f"ours:{number}", "c", by)
        if not rows:
            assert isinstance(reply, Error)
            return
        self.sums[not isinstance(reply, Error)] += 1
        if isinstance(reply, Error):
            return
        with decimal.localcontext(prec=100):
            total = decimal.Decimal((rows[0][0] or b"0").decode()) + decimal.Decimal(by)
        assert decimal.Decimal(reply.decode()) == total, (self.kind.ddl, rows, by, reply)
        assert self.by_sql(f"UPDATE theirs SET c = '{total:f}' WHERE id = {number}"), (self.kind.ddl, rows, by, reply)

    def compare(self):
        rows = [self.sql.rows(f"SELECT id, HEX(c), n FROM {table} ORDER BY id") for table in ("ours", "theirs")]
        assert rows[0] == rows[1], self.kind.ddl
        for number, shown in self.sql.rows("SELECT id, c FROM ours"):
            assert self.client.ask("HGET", f"ours:{int(number)}", "c") == shown, self.kind.ddl
            fields = [b"n", b"3"] if shown is None else [b"c", shown, b"n", b"3"]
            found = self.client.ask("HGETALL", f"ours:{int(number)}")
            assert found in (fields, dict(zip(fields[::2], fields[1::2], strict=True))), self.kind.ddl

    def run(self, commands):
        works = [self.set] * 4 + [self.set_null, self.delete]
        if isinstance(self.kind, Integer):
            works += [self.increment] * 3
        if isinstance(self.kind, Decimal):
            works += [self.increment, self.add, self.add]
        for done in range(commands):
            self.rng.choice(works)()
            if done % 20 == 0:
                self.compare()
        self.compare()
        self.client.close()


@pytest.mark.parametrize("number", range(TABLES))
def test_random_columns(server, number, request):
    Twins(server, f"{request.config.getoption('--seed')} {number}").run(COMMANDS)


def test_random_decimals(server, request):
    """Few of the random columns are of DECIMAL. If most sums were refused, the others would show little."""
    done = refused = 0
    for number in range(4):
        twins = Twins(server, f"{request.config.getoption('--seed')} decimal {number}", Decimal)
        twins.run(COMMANDS)
        done, refused = done + twins.sums[True], refused + twins.sums[False]
    assert done > refused / 10, (done, refused)


def as_key(parts):
    return b":".join(part.replace(b"\\", b"\\\\").replace(b":", b"\\:") for part in parts)


@pytest.mark.parametrize("number", range(TABLES))
def test_random_keys(server, number, request):
    """Each row that SQL has put there is found by the key that SQL shows, and SCAN lists this key."""
    rng = random.Random(f"{request.config.getoption('--seed')} keys {number}")
    kinds = []
    while len(kinds) < 1 + number % 2:
        kind = columns.random_kind(rng)
        if kind.in_primary_key and kind.indexable:
            kinds.append(kind)
    sql, client = server.sql("shop"), Client(server.resp_port)
    names = [f"k{place}" for place in range(len(kinds))]
    sql.run("CREATE OR REPLACE TABLE keyed (" + "".join(f"{name} {kind.ddl} NOT NULL, " for name, kind in zip(names, kinds))
            + f"v INT NOT NULL, PRIMARY KEY ({', '.join(names)})) ENGINE=InnoDB")
    for value in range(40):
        literals = b", ".join(kind.literal(kind.sample(rng).data) for kind in kinds)
        try:
            sql.run(b"INSERT INTO keyed VALUES (%s, %d)" % (literals, value))
        except pymysql.MySQLError:
            pass  # The key is there.
    rows = sql.rows(f"SELECT {', '.join(names)}, v FROM keyed")
    assert rows
    keys = [b"keyed:" + as_key(row[:-1]) for row in rows]
    for key, row in zip(keys, rows):
        assert client.ask("HGET", key, "v") == row[-1], ([kind.ddl for kind in kinds], key)
    found = client.ask("SCAN", 0, "MATCH", "keyed:*", "COUNT", 1000)
    assert not isinstance(found, Error) and sorted(found[1]) == sorted(keys), (found, [kind.ddl for kind in kinds])
    for key in keys:
        assert client.ask("HINCRBY", key, "v", 100) >= 100
    assert client.ask("DEL", *keys) == len(keys) and sql.value("SELECT COUNT(*) FROM keyed") == b"0"
    client.close()
