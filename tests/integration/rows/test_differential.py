"""Random work through the socket and, on twin tables, through SQL: answers and tables are equal.

A failure prints the smallest part of the work that still fails, and the seed of the work.
"""

import dataclasses
import itertools
import random
import time

import pymysql
import pytest

import hs
from load import scaled
from private_servers import create, remove
from random_work import Source, random_opens
from schema import random_table
from server import is_mysql, wait_until
from sql_model import NOW, Model, Open

pytestmark = [pytest.mark.again_in("mariadb-11.8", "mysql-9.7"), pytest.mark.slow]

OPERATIONS = 30_000
BATCHES_PER_CASE = 16
OPTIONS = ["--innodb-flush-log-at-trx-commit=0", "--innodb-stats-persistent=OFF"]
SHRINK_SECONDS = 25
LOST = (2006, 2013)  # errors of SQL whose server is gone


@dataclasses.dataclass
class Case:
    """Tables (name: schema.Table or DDL text with {name}) and the work on them."""
    tables: dict
    opens: list
    batches: list


class Difference(Exception):
    """A difference in the batch of this number."""

    def __init__(self, text, batch):
        super().__init__(text)
        self.batch = batch


class Laboratory:
    """A server, a schema and an SQL session, made anew when the server died of a case."""

    def __init__(self, server, db):
        self.server, self.db = server, db
        self.enter()

    def enter(self):
        if not (self.server.running and self.server.alive()):
            self.server.running = False
            self.server.close_clients()
            self.server.start()
        self.sql = self.server.sql()
        self.sql.run(f"CREATE DATABASE IF NOT EXISTS {self.db} CHARACTER SET utf8mb4")
        self.sql.run(f"USE {self.db}")

    def accepts(self, table):
        """Whether the server makes such a table, and the library serves it."""
        definition = table.ddl(f"{self.db}.probe")
        if is_mysql() and b"ENGINE=InnoDB" not in definition:
            return False
        try:
            self.sql.run(definition)
        except pymysql.MySQLError:
            return False
        self.sql.run(f"DROP TABLE {self.db}.probe")
        return True

    def lost(self, error):
        """The text for a connection that was closed, or an answer that did not come."""
        def died():
            return not self.server.alive()
        try:
            wait_until(died, 5, "the server to be gone")
        except TimeoutError:
            return f"{type(error).__name__}: {error}"
        log = self.server.log_tail(70)
        self.enter()
        return "the server died\n" + log


class Runner:
    """Carries out one case on fresh tables."""

    def __init__(self, laboratory, case):
        server, db, sql = laboratory.server, laboratory.db, laboratory.sql
        self.laboratory = laboratory
        self.server, self.db, self.sql, self.case = server, db, sql, case
        self.pool = {}
        self.operations = 0
        twins = {name: f"{name}_sql" for name in case.tables}
        self.model = Model(sql, db, twins, self.recent())
        self.wr, self.rd = server.hs_wr(), server.hs_rd()

    def recent(self):
        return self.sql.value("SELECT NOW() - INTERVAL 1 HOUR")

    def create(self):
        self.sql.run("SET autocommit = 1")
        for name in reversed(self.case.tables):
            self.sql.run(f"DROP TABLE IF EXISTS {self.db}.{name}, {self.db}.{name}_sql")
        for name, table in self.case.tables.items():
            for suffix in ("", "_sql"):
                self.sql.run(table.ddl(f"{self.db}.{name}{suffix}"))
        self.sql.run("SET autocommit = 0")
        return self

    def open(self):
        for opened in self.case.opens:
            for client in (self.wr, self.rd):
                reply = client.open_index(*opened.tokens(self.db)[1:])
                if reply != hs.reply(0, 1):
                    raise Difference(f"{opened.tokens(self.db)} answers {reply}", -1)

    def batch(self, number, requests):
        writes = any(request.writes for request in requests)
        client = self.wr if writes or number % 2 else self.rd
        data = b"".join(hs.line(*request.tokens()) for request in requests)
        lines = client.pipeline_deep(data, len(requests))
        for request, raw in zip(requests, lines):
            reply = hs.parse(raw)
            difference = self.model.check(request, reply)
            self.operations += 1
            if difference:
                self.sql.run("ROLLBACK")
                raise Difference(f"{request.tokens()}\n  answers {reply}\n  {difference}", number)
        self.sql.run("COMMIT")
        if writes:
            self.compare_tables(number)

    def compare_tables(self, number):
        for name, table in self.case.tables.items():
            columns = ", ".join(column.name for column in table.columns)
            order = Model.order(Open(0, name, table, table.primary, [], []), False)
            rows = [self.masked(table, self.sql.rows(
                f"SELECT {columns} FROM {self.db}.{name}{suffix} ORDER BY {order}"))
                for suffix in ("", "_sql")]
            self.sql.run("COMMIT")
            names = [column.name for column in table.columns]
            self.pool.setdefault(name, []).extend(dict(zip(names, row)) for row in rows[0])
            del self.pool[name][:-60]
            if rows[0] != rows[1]:
                ours = [row for row in rows[0] if row not in rows[1]]
                theirs = [row for row in rows[1] if row not in rows[0]]
                raise Difference(f"table {name} ({columns})\n  only in ours: {ours[:5]}\n"
                                 f"  only in SQL's: {theirs[:5]}", number)

    def masked(self, table, rows):
        if not any(column.now for column in table.columns):
            return rows
        return [tuple(NOW if cell and column.now and cell >= self.model.recent_from else cell
                      for column, cell in zip(table.columns, row)) for row in rows]

    def check_indexes(self):
        """Every index has the rows of the table; closing the tables breaks nothing."""
        for name in self.case.tables:
            self.sql.run(f"FLUSH TABLES {self.db}.{name}")
            for row in self.sql.rows(f"CHECK TABLE {self.db}.{name} EXTENDED"):
                if row[2] == b"error" or (row[2] == b"status" and row[3] != b"OK"):
                    raise Difference(f"CHECK TABLE says {row}", len(self.case.batches))
        self.sql.run("COMMIT")

    def run(self, next_batch):
        """The whole work: the batches that next_batch(number) gives, until it gives None."""
        self.at = -1
        try:
            self.create().open()
            while (requests := next_batch(self.at + 1)) is not None:
                self.at += 1
                self.batch(self.at, requests)
            self.at += 1
            self.check_indexes()
        except (hs.Closed, OSError, pymysql.OperationalError) as error:
            if isinstance(error, pymysql.OperationalError) and error.args[0] not in LOST:
                raise
            raise Difference(self.laboratory.lost(error), self.at) from None
        finally:
            self.wr.close()
            self.rd.close()
        return self


def random_case(rng, accepts):
    """A case without its batches, with a table that the server accepts."""
    while True:
        table = random_table(rng)
        if accepts(table):
            return Case({"t": table}, random_opens(rng, "t", table, 0), [])


def replay(laboratory, case):
    """The difference that a case has, or None."""
    try:
        Runner(laboratory, case).run(
            lambda number: case.batches[number] if number < len(case.batches) else None)
    except Difference as difference:
        return difference
    return None


def grouped(case, tagged):
    """The case with these requests: those with the same tag are sent together."""
    batches = [[request for _, request in group]
               for _, group in itertools.groupby(tagged, key=lambda pair: pair[0])]
    return dataclasses.replace(case, batches=batches)


def shrink(laboratory, case, difference):
    """Leaves out requests as long as a difference remains; sends the requests one by one if there is a
    difference then, too."""
    deadline = time.monotonic() + SHRINK_SECONDS
    tagged = [(number, request) for number, batch in enumerate(case.batches[:difference.batch + 1])
              for request in batch]
    single = [(number, request) for number, (_, request) in enumerate(tagged)]
    alone = replay(laboratory, grouped(case, single))
    if alone:
        tagged, difference = single, alone
    step = max(1, len(tagged) // 2)
    while step and time.monotonic() < deadline:
        at = 0
        while at < len(tagged) and time.monotonic() < deadline:
            fewer = tagged[:at] + tagged[at + step:]
            still = replay(laboratory, grouped(case, fewer))
            if still is None:
                at += step
            else:
                tagged, difference = fewer, still
        step //= 2
    return grouped(case, tagged), difference


def story(case, difference, seed):
    """The reproduction as text."""
    lines = [f"seed {seed}", str(difference), "to see it again:"]
    lines += [table.ddl(name).decode() + ";" for name, table in case.tables.items()]
    used = [request.open.id for batch in case.batches for request in batch]
    lines += ["P " + " ".join(map(str, opened.tokens("DB")[1:])) for opened in case.opens
              if opened.id in used]
    lines += ["\n".join(str(request.tokens()) for request in batch) + "\n--"
              for batch in case.batches]
    return "\n".join(lines)


def run_case(laboratory, case, rng, seed, batches=BATCHES_PER_CASE):
    """Random work on the case's tables until there is a difference; returns its runner."""
    runner = Runner(laboratory, case)
    source = Source(rng, case.opens, runner.pool)

    def next_batch(number):
        if number == batches:
            return None
        case.batches.append(source.batch())
        return case.batches[-1]
    try:
        return runner.run(next_batch)
    except Difference as difference:
        found = difference
    text = story(*shrink(laboratory, case, found), seed)
    print(text)  # shown even when the server turns out to be dead at the end of the test
    pytest.fail(text, pytrace=False)


@pytest.fixture(scope="module")
def fast_server(request):
    server = create(request.config, options=OPTIONS).start()
    yield server
    remove(server)


@pytest.mark.parametrize("part", range(10))
def test_random_work_is_as_through_sql(fast_server, seed, part):
    """The work has ten parts, so that one difference does not hide the others."""
    laboratory = Laboratory(fast_server, f"diff{part}")
    operations = refused = number = 0
    while operations < scaled(OPERATIONS) / 10:
        name = f"{seed}/{part}/{number}"
        rng = random.Random(name)
        runner = run_case(laboratory, random_case(rng, laboratory.accepts), rng, name)
        operations += runner.operations
        refused += runner.model.refused
        number += 1
    assert refused < operations / 10, "too much is refused with indexop"
    fast_server.close_clients()
