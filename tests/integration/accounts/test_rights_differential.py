"""Random grants on random tables: every verb of both protocols is allowed exactly where SQL allows the same
account the same statements."""

import random

import pytest

import mc
from accountserver import PORT_OPTIONS, may, start_with_accounts
from hs import refused
from mc_tables import Container
from server import is_mysql

DENIED = refused(3, "denied")
ROUNDS = 40
REQUESTS = 25
PRIVILEGES = ("SELECT", "INSERT", "UPDATE", "DELETE")


@pytest.fixture
def guarded(make_server):
    server = start_with_accounts(make_server(options=PORT_OPTIONS, start=False))
    server.sql().run("CREATE DATABASE g")
    return server


class Grants:
    """Random grants of one account."""

    def __init__(self, rng, sql, account):
        self.rng, self.sql, self.account = rng, sql, account

    def draw(self, tables):
        """tables: {name: [columns]} of the schema g."""
        rng = self.rng
        self.sql.run(f"REVOKE ALL, GRANT OPTION FROM {self.account}")
        if not is_mysql():
            self.sql.run("REVOKE ALL, GRANT OPTION FROM PUBLIC")
        for table, columns in tables.items():
            for _ in range(rng.choice((0, 1, 2, 4))):
                given = rng.sample(columns, rng.randint(1, len(columns)))
                self.grant(f"{rng.choice(PRIVILEGES[:3])} ({', '.join(given)}) ON g.{table}")
            if rng.random() < 0.5:
                self.grant(f"{rng.choice(PRIVILEGES)} ON g.{table}")
        if rng.random() < 0.3:
            self.grant(f"{rng.choice(PRIVILEGES)} ON {rng.choice(('g', 'nowhere'))}.*")
        if rng.random() < 0.15:
            self.grant(f"{rng.choice((*PRIVILEGES, 'CREATE, DROP'))} ON *.*")

    def grant(self, what):
        may_be_public = self.rng.random() < 0.15 and "*.*" not in what and not is_mysql()
        to = "PUBLIC" if may_be_public else self.account
        self.sql.run(f"GRANT {what} TO {to}")


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
    grants = Grants(rng, sql, "writer@localhost")
    seen = {True: 0, False: 0}
    for _ in range(ROUNDS):
        grants.draw({table.name: table.columns for table in tables})
        for _ in range(REQUESTS):
            table = rng.choice(tables)
            index, opened, filters, tokens, statements = table.request()
            expected = may(guarded, "writer", *statements)
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
VERBS = {
    "get K": ("SELECT v, f, e FROM g.m WHERE k = 'x'",), "gets K": (READ,),
    "set K 0 0 1": STORE, "add K 0 0 1": STORE, "replace K 0 0 1": STORE, "cas K 0 0 1 7": STORE,
    "append K 0 0 1": COUNT, "prepend K 0 0 1": COUNT, "incr K 1": COUNT, "decr K 1": COUNT,
    "delete K": (READ, "DELETE FROM g.m WHERE k = 'x'"),
    "touch K 100": (READ, "UPDATE g.m SET e = 1 WHERE k = 'x'"),
    "gat 100 K": (READ, "UPDATE g.m SET e = 1 WHERE k = 'x'"),
}


def test_memcached_allows_what_sql_allows(guarded, request):
    rng = random.Random(f"{request.config.getoption('--seed')} cache")
    sql = guarded.sql()
    sql.run("GRANT SELECT ON g.* TO cache@localhost")
    one = Container(guarded, "g", "m")
    client = one.ready()
    grants = Grants(rng, sql, "cache@localhost")
    seen = {True: 0, False: 0}
    for _ in range(ROUNDS * 2):
        grants.draw({"m": ["k", "v", "f", "c", "e"]})
        for command, statements in VERBS.items():
            words = command.replace("K", "@@m.x")
            data = b"1" if command.split()[0] in ("set", "add", "replace", "cas", "append", "prepend") else None
            client.send(words.encode() + b"\r\n" + (b"" if data is None else data + b"\r\n") + b"mn\r\n")
            lines = []
            while not lines or lines[-1] != b"MN":
                lines.append(client.line())
            expected = may(guarded, "cache", *statements)
            shown = command, lines, sql.rows("SHOW GRANTS FOR cache@localhost")
            assert (lines[0] == b"SERVER_ERROR access denied") == (not expected), shown
            seen[expected] += 1
        sql.run("DELETE FROM g.m")
    assert min(seen.values()) > ROUNDS * len(VERBS) / 20, seen
