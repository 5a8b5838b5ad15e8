"""Random grants on random tables: every verb of both protocols is allowed exactly where SQL allows the same
account the same statements.

MySQL's SQL departs from the grants in one point, which these tests say exactly. Where UPDATE or DELETE is granted
above the table (on *.* or the schema), SQL does not read the table's grants before it looks at the columns that the
statement reads, and so does not see a SELECT on the table: it sees one above the table, or on the columns
themselves. What the grants allow is then asked of a second account, a twin, whose UPDATE and DELETE are granted
on each table in place of the levels above."""

import random
import re

import pytest

import mc
from account_server import PORT_OPTIONS, may, start_with_accounts
from hs import refused
from mc_tables import Container
from server import is_mysql

DENIED = refused(3, "denied")
ROUNDS = 40
REQUESTS = 25
PRIVILEGES = ("SELECT", "INSERT", "UPDATE", "DELETE")


@pytest.fixture
def guarded(make_server):
    twins = [f"CREATE USER {name}_twin@localhost" for name in ("writer", "cache")] if is_mysql() else []
    server = start_with_accounts(make_server(options=PORT_OPTIONS, start=False), twins)
    server.sql().run("CREATE DATABASE g")
    return server


class Grants:
    """Random grants of one account, and in MySQL of its twin."""

    def __init__(self, rng, server, user, on_tables=(0, 1)):
        """on_tables: of how many privileges on each table as a whole one number is drawn."""
        self.rng, self.server, self.sql, self.user, self.on_tables = rng, server, server.sql(), user, on_tables
        self.tables, self.above, self.on_columns = (), set(), set()

    def draw(self, tables):
        """tables: {name: [columns]} of the schema g."""
        rng = self.rng
        self.tables, self.above, self.on_columns = tables, set(), set()
        self.sql.run(f"REVOKE ALL, GRANT OPTION FROM {self.user}@localhost")
        self.sql.run(f"REVOKE ALL, GRANT OPTION FROM {f'{self.user}_twin@localhost' if is_mysql() else 'PUBLIC'}")
        for table, columns in tables.items():
            for _ in range(rng.choice((0, 1, 2, 4))):
                given, what = rng.sample(columns, rng.randint(1, len(columns))), rng.choice(PRIVILEGES[:3])
                self.grant(f"{what} ({', '.join(given)})", f"g.{table}")
                if what == "SELECT":
                    self.on_columns |= {(table, column) for column in given}
            for what in rng.sample(PRIVILEGES, rng.choice(self.on_tables)):
                self.grant(what, f"g.{table}")
        if rng.random() < 0.3:
            self.grant_above(rng.choice(PRIVILEGES), rng.choice(("g.*", "nowhere.*")))
        if rng.random() < 0.15:
            self.grant_above(rng.choice((*PRIVILEGES, "CREATE, DROP")), "*.*")

    def grant(self, what, where):
        to = "PUBLIC" if not is_mysql() and where != "*.*" and self.rng.random() < 0.15 else f"{self.user}@localhost"
        self.sql.run(f"GRANT {what} ON {where} TO {to}")
        if is_mysql():
            is_above = what in ("UPDATE", "DELETE") and where in ("*.*", "g.*")
            for place in [f"g.{table}" for table in self.tables] if is_above else [where]:
                self.sql.run(f"GRANT {what} ON {place} TO {self.user}_twin@localhost")

    def grant_above(self, what, where):
        self.grant(what, where)
        if where != "nowhere.*":
            self.above.add(what)

    def allow(self, *statements):
        """Whether the grants allow all of the statements."""
        if not is_mysql() or not self.above & {"UPDATE", "DELETE"}:
            return may(self.server, self.user, *statements)
        allowed = [may(self.server, f"{self.user}_twin", statement) for statement in statements]
        for statement, is_allowed in zip(statements, allowed):
            assert may(self.server, self.user, statement) == (is_allowed and self.sql_sees(statement)), statement
        return all(allowed)

    def sql_sees(self, statement):
        """Whether MySQL sees a SELECT on each column that the statement reads, if there is one."""
        if statement.split()[0] not in self.above & {"UPDATE", "DELETE"} or "SELECT" in self.above:
            return True
        table, rest = re.search(r" g\.(\w+) (.*)", statement).groups()
        read = re.sub(r"\w+ = (?=.* WHERE )", "", rest)
        return all((table, column) in self.on_columns for column in self.tables[table]
                   if re.search(rf"\b{column}\b", read))


class Table:
    """A random table, and requests for it as both protocols say them."""

    def __init__(self, rng, sql, name):
        self.rng, self.name = rng, name
        self.columns = [f"c{i}" for i in range(rng.randint(2, 6))]
        self.key = rng.sample(self.columns, rng.randint(1, 2))
        self.second = rng.sample(self.columns, rng.randint(1, min(3, len(self.columns))))
        sql.run(f"CREATE TABLE g.{name} ({', '.join(f'{column} INT NOT NULL DEFAULT 0' for column in self.columns)},"
                f" PRIMARY KEY ({', '.join(self.key)}), KEY k ({', '.join(self.second)})) ENGINE=InnoDB")
        self.next_value = 1000

    def request(self):
        """(index, opened columns, filter columns, tokens without the id, SQL)."""
        rng = self.rng
        index, parts = rng.choice((("PRIMARY", self.key), ("k", self.second)))
        opened = rng.sample(self.columns, rng.randint(1, len(self.columns)))
        filter_columns = rng.sample(self.columns, rng.randint(0, len(self.columns)))
        verb = rng.choice(("find", "find", "U", "U?", "+", "-", "+?", "D", "D?", "insert"))
        if verb == "insert":
            given = opened[:rng.randint(1, len(opened))]
            self.next_value += 1
            values = [self.next_value] * len(given)
            sql = f"INSERT INTO g.{self.name} ({', '.join(given)}) VALUES ({', '.join(map(str, values))})"
            return index, opened, filter_columns, ["+", len(values), *values], [sql]
        count = rng.randint(1, len(parts))
        tokens = [rng.choice(("=", ">=", "<")), count, *[-5] * count, 10, 0]
        where = [f"{part} {tokens[0]} -5" for part in parts[:count]]
        if rng.random() < 0.3:
            at = rng.randrange(count)
            tokens += ["@", at, 2, -5, -6]
            where.append(f"{parts[at]} IN (-5, -6)")
        for _ in range(rng.choice((0, 0, 1, 2)) if filter_columns else 0):
            at = rng.randrange(len(filter_columns))
            tokens += ["F", "=", at, 3]
            where.append(f"{filter_columns[at]} = 3")
        where = " AND ".join(where)
        select = f"SELECT {', '.join(opened)} FROM g.{self.name} WHERE {where}"
        if verb == "find":
            return index, opened, filter_columns, tokens, [select]
        if verb[0] == "D":
            statements = [f"DELETE FROM g.{self.name} WHERE {where}"]
            tokens.append(verb)
        else:
            # U empties the columns that get no value; + and - leave them as they are.
            given = opened if verb[0] == "U" else opened[:rng.randint(1, len(opened))]
            change = "1" if verb[0] == "U" else None
            sets = ", ".join(f"{column} = {change or column + ' + 1'}" for column in given)
            statements = [f"UPDATE g.{self.name} SET {sets} WHERE {where}"]
            tokens += [verb, *[1] * len(given)]
        return index, opened, filter_columns, tokens, statements + ([select] if verb.endswith("?") else [])


def test_handlersocket_allows_what_sql_allows(guarded, request):
    rng = random.Random(f"{request.config.getoption('--seed')} rights")
    sql = guarded.sql()
    tables = [Table(rng, sql, f"t{i}") for i in range(3)]
    client = guarded.hs_wr()
    grants = Grants(rng, guarded, "writer")
    seen = {True: 0, False: 0}
    for _ in range(ROUNDS):
        grants.draw({table.name: table.columns for table in tables})
        for _ in range(REQUESTS):
            table = rng.choice(tables)
            index, opened, filters, tokens, statements = table.request()
            expected = grants.allow(*statements)
            answer = client.open_index(0, "g", table.name, index, opened, filters)
            if answer != DENIED:
                answer = client.request(0, *tokens)
            shown = sql.rows("SHOW GRANTS FOR writer@localhost"), tokens, statements
            assert (answer == DENIED) == (not expected), (answer, shown)
            assert answer in (DENIED, refused(1, "121")) or answer.code == 0, (answer, shown)
            seen[expected] += 1
    assert min(seen.values()) > ROUNDS * REQUESTS / 20, seen


ALL = "v, f, c, e"
READ = f"SELECT {ALL} FROM g.m WHERE k = 'x'"
STORE = (READ, "INSERT INTO g.m (k, v, f, c, e) VALUES ('new', 1, 1, NOW(), 1)",
         "UPDATE g.m SET v = 1, f = 1, c = NOW(), e = 1 WHERE k = 'x'")
COUNT = (READ, "UPDATE g.m SET v = 1, c = NOW() WHERE k = 'x'")
GIVE = (READ, "UPDATE g.m SET e = 1 WHERE k = 'x'")
REMOVE = (READ, "DELETE FROM g.m WHERE k = 'x'")
END = (*GIVE, REMOVE[1])
DATA = b"1"
# Requests in each dialect, and the statements of SQL that they are.
TEXT = {
    "get K": ("SELECT v, f, e FROM g.m WHERE k = 'x'",), "gets K": (READ,),
    "set K 0 0 1": STORE, "add K 0 0 1": STORE, "replace K 0 0 1": STORE, "cas K 0 0 1 7": STORE,
    "append K 0 0 1": COUNT, "prepend K 0 0 1": COUNT, "incr K 1": COUNT, "decr K 1": COUNT,
    "delete K": REMOVE, "touch K 100": GIVE, "gat 100 K": GIVE, "touch K -1": END,
}
META = {
    "mg K c v f t": (READ,), "mg K v T100": GIVE,
    "ms K 1": STORE, "ms K 1 ME": STORE, "ms K 1 MR": STORE, "ms K 1 C7": STORE, "ms K 1 MA": COUNT,
    "ms K 1 MP": COUNT, "ma K": COUNT, "ma K MD D3": COUNT, "md K": REMOVE,
}
BINARY = {
    (mc.GET,): (READ,), (mc.SET, DATA, mc.storing()): STORE, (mc.ADD, DATA, mc.storing()): STORE,
    (mc.REPLACE, DATA, mc.storing()): STORE, (mc.APPEND, DATA): COUNT, (mc.PREPEND, DATA): COUNT,
    (mc.INCR, b"", mc.counting(1)): COUNT, (mc.DECR, b"", mc.counting(1)): COUNT, (mc.DELETE,): REMOVE,
    (mc.TOUCH, b"", b"\0\0\0\x64"): GIVE, (mc.GAT, b"", b"\0\0\0\x64"): GIVE,
}
WITH_DATA = ("set", "add", "replace", "cas", "append", "prepend", "ms")


def text_is_denied(client, command):
    """Text and meta: whether the request for the key x is denied, and what came."""
    data = DATA + b"\r\n" if command.split()[0] in WITH_DATA else b""
    client.send(command.replace("K", "@@m.x").encode() + b"\r\n" + data + b"mn\r\n")
    lines = []
    while not lines or lines[-1] != b"MN":
        lines.append(client.line())
    return lines[0] == b"SERVER_ERROR access denied", lines


def binary_is_denied(client, request):
    opcode, *rest = request
    answer = client.binary(opcode, b"@@m.x", *rest)
    return answer.status == 0x20, answer


DIALECTS = {"text": (TEXT, text_is_denied), "meta": (META, text_is_denied), "binary": (BINARY, binary_is_denied)}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_memcached_allows_what_sql_allows(guarded, request, dialect):
    requests, is_denied = DIALECTS[dialect]
    rng = random.Random(f"{request.config.getoption('--seed')} {dialect}")
    sql = guarded.sql()
    sql.run("GRANT SELECT ON g.* TO cache@localhost")
    Container(guarded, "g", "m").ready()
    client = mc.connect(guarded)
    grants = Grants(rng, guarded, "cache", on_tables=(0, 1, 2, 3, 4))
    seen = {True: 0, False: 0}
    for _ in range(ROUNDS):
        grants.draw({"m": ["k", "v", "f", "c", "e"]})
        allowed = {statements: grants.allow(*statements) for statements in set(requests.values())}
        for sent, statements in requests.items():
            denied, answer = is_denied(client, sent)
            expected = allowed[statements]
            shown = sent, answer, sql.rows("SHOW GRANTS FOR cache@localhost")
            assert denied == (not expected), shown
            seen[expected] += 1
        sql.run("DELETE FROM g.m")
    assert min(seen.values()) > ROUNDS * len(requests) / 20, seen
