"""Random work through the socket and, on twin tables, through SQL: answers and tables are equal.

A failure prints the smallest part of the work that still shows it, and the seed that makes it.
"""

import dataclasses
import random
import time

import pymysql
import pytest

import hs
from load import scaled
from randomwork import Source, random_opens
from schema import random_table
from sqlmodel import NOW, Model, Open

OPERATIONS = 20_000
BATCHES_PER_CASE = 16
OPTIONS = ["--innodb-flush-log-at-trx-commit=0", "--innodb-stats-persistent=OFF"]
SHRINK_SECONDS = 25


@dataclasses.dataclass
class Case:
    """Tables (name: schema.Table or DDL text with {name}) and what is done with them."""
    tables: dict
    opens: list
    batches: list


class Difference(Exception):
    """What differs; batch and position say after which request."""

    def __init__(self, text, batch, request=None):
        super().__init__(text)
        self.batch, self.request = batch, request


class Runner:
    """Carries out one case on fresh tables."""

    def __init__(self, server, db, sql, case):
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
                raise Difference(f"{request.tokens()}\n  answers {reply}\n  {difference}", number,
                                 request)
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
        """Every index holds what the table holds."""
        for name in self.case.tables:
            for row in self.sql.rows(f"CHECK TABLE {self.db}.{name} EXTENDED"):
                if row[2] == b"error" or (row[2] == b"status" and row[3] != b"OK"):
                    raise Difference(f"CHECK TABLE says {row}", len(self.case.batches))
        self.sql.run("COMMIT")

    def close(self):
        self.wr.close()
        self.rd.close()


def random_case(rng, accepts):
    """A case without its batches, of a table that the server accepts."""
    while True:
        table = random_table(rng)
        if accepts(table):
            return Case({"t": table}, random_opens(rng, "t", table, 0), [])


def accepts(sql, db):
    def try_table(table):
        try:
            sql.run(table.ddl(f"{db}.probe"))
        except pymysql.MySQLError:
            return False
        sql.run(f"DROP TABLE {db}.probe")
        return True
    return try_table


def replay(server, db, sql, case):
    """The difference that a case shows, or None."""
    runner = Runner(server, db, sql, case).create()
    try:
        runner.open()
        for number, requests in enumerate(case.batches):
            runner.batch(number, requests)
        runner.check_indexes()
    except Difference as difference:
        return difference
    finally:
        runner.close()
    return None


def shrink(server, db, sql, case, difference):
    """Leaves out batches, then requests, as long as something still differs."""
    deadline = time.monotonic() + SHRINK_SECONDS
    case = dataclasses.replace(case, batches=case.batches[:difference.batch + 1])
    for flat in (False, True):
        parts = [[request] for batch in case.batches for request in batch] if flat \
            else case.batches
        whole = replay(server, db, sql, dataclasses.replace(case, batches=parts))
        if whole is None:
            continue  # it takes the pipelining
        difference, step = whole, max(1, len(parts) // 2)
        while step and time.monotonic() < deadline:
            at = 0
            while at < len(parts) and time.monotonic() < deadline:
                fewer = parts[:at] + parts[at + step:]
                still = replay(server, db, sql, dataclasses.replace(case, batches=fewer))
                if still is None:
                    at += step
                else:
                    parts, difference = fewer, still
            step //= 2
        case = dataclasses.replace(case, batches=parts)
    return case, difference


def story(case, difference, seed):
    """A reproduction that can be read."""
    lines = [f"seed {seed}", str(difference), "to see it again:"]
    lines += [table.ddl(name).decode() + ";" for name, table in case.tables.items()]
    used = [request.open.id for batch in case.batches for request in batch]
    lines += ["P " + " ".join(map(str, opened.tokens("DB")[1:])) for opened in case.opens
              if opened.id in used]
    lines += ["\n".join(str(request.tokens()) for request in batch) + "\n--"
              for batch in case.batches]
    return "\n".join(lines)


def run_case(server, db, sql, case, rng, seed, batches=BATCHES_PER_CASE):
    """Random work on the case's tables until it differs; returns the number of operations."""
    runner = Runner(server, db, sql, case).create()
    source = Source(rng, case.opens, runner.pool)
    try:
        runner.open()
        for number in range(batches):
            case.batches.append(source.batch())
            runner.batch(number, case.batches[-1])
        runner.check_indexes()
    except Difference as difference:
        runner.close()
        case, difference = shrink(server, db, sql, case, difference)
        pytest.fail(story(case, difference, seed), pytrace=False)
    finally:
        runner.close()
    return runner


@pytest.fixture(scope="module")
def fast_server(request):
    from conftest import _create, _remove
    server = _create(request.config, options=OPTIONS).start()
    yield server
    _remove(server)


@pytest.mark.parametrize("part", range(10))
def test_random_work_is_as_through_sql(fast_server, seed, part):
    """Ten parts so that one difference does not hide the others."""
    db = f"diff{part}"
    sql = fast_server.sql()
    sql.run(f"CREATE DATABASE {db} CHARACTER SET utf8mb4")
    sql.run(f"USE {db}")
    operations = refused = case_number = 0
    while operations < scaled(OPERATIONS) / 10:
        name = f"{seed}/{part}/{case_number}"
        rng = random.Random(name)
        case = random_case(rng, accepts(sql, db))
        runner = run_case(fast_server, db, sql, case, rng, name)
        operations += runner.operations
        refused += runner.model.refused
        case_number += 1
    assert refused < operations / 10, "too much is refused with indexop"
    fast_server.close_clients()
