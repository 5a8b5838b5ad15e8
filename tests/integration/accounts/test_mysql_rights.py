"""What an account may do in MySQL by its grants, its roles and what was partially revoked: what a SQL session of
the account may do after its login. Each change counts as soon as it is answered."""

import contextlib
import random

import pymysql
import pytest

import mc
from account_server import PORT_OPTIONS, SEMISYNC_OPTIONS, held_grants, may, start_with_accounts
from hs import Closed, find_words, refused, reply
from mc_tables import Container
from private_servers import create, remove

pytestmark = [pytest.mark.again_in("mysql-9.7"), pytest.mark.mysql("the roles and the partial revokes of MySQL"),
              pytest.mark.sanitized("mysql")]

DENIED = refused(3, "denied")
MC_DENIED = b"SERVER_ERROR access denied"
ROUNDS = 150
TOGGLES = 40
ROLES = ("one_role", "two_role", "must_role")
# Names of the schema g_1 in grants: as a pattern, escaped, and a pattern that names others as well.
SCHEMAS = ("`g_1`", r"`g\_1`", "`g%`", "`other`")


@pytest.fixture(scope="module", params=["OFF", "ON"], ids=["wildcards", "partial revokes"])
def shared_guarded(request):
    options = [*PORT_OPTIONS, f"--partial-revokes={request.param}"]
    server = start_with_accounts(create(request.config, options=options))
    sql = server.sql()
    sql.run("CREATE DATABASE g_1")
    sql.run("CREATE TABLE g_1.t (id INT PRIMARY KEY, a INT, b INT, KEY (b)) ENGINE=InnoDB")
    sql.run("INSERT INTO g_1.t VALUES (1, 10, 100)")
    for role in ROLES:
        sql.run(f"CREATE ROLE {role}")
    server.partial = request.param == "ON"
    yield server
    remove(server)


@pytest.fixture
def guarded(shared_guarded):
    yield shared_guarded
    shared_guarded.close_clients()
    sql = shared_guarded.sql()
    sql.run("SET GLOBAL mandatory_roles = '', GLOBAL activate_all_roles_on_login = OFF,"
            " GLOBAL activate_mandatory_roles = ON")
    for user in ("reader", "writer", "cache"):
        sql.run(f"SET DEFAULT ROLE NONE TO {user}@localhost")
        sql.run(f"REVOKE ALL, GRANT OPTION FROM {user}@localhost")
        sql.run(f"REVOKE IF EXISTS {', '.join(ROLES)} FROM {user}@localhost")
    for role in ROLES:
        sql.run(f"REVOKE ALL, GRANT OPTION FROM {role}")
        sql.run(f"REVOKE IF EXISTS {', '.join(ROLES)} FROM {role}")
    sql.close()


def database(server):
    """The name of the schema in a grant that is for the schema alone."""
    return "`g_1`" if server.partial else r"`g\_1`"


REQUESTS = (
    ("", "a", "", find_words(0, "=", [-1]), "SELECT a FROM g_1.t WHERE id = -1"),
    ("", "a", "b", find_words(0, "=", [-1], 1, 0, filters=[("F", "=", 0, 1)]),
     "SELECT a FROM g_1.t WHERE id = -1 AND b = 1"),
    ("b", "b", "", find_words(0, "=", [-1]), "SELECT b FROM g_1.t WHERE b = -1"),
)


class Changes:
    """Random changes of what the account reader may do."""

    def __init__(self, rng, server):
        self.rng, self.sql, self.partial = rng, server.sql(), server.partial

    def __call__(self):
        roll = self.rng.random()
        if roll < 0.4:
            self.grant()
        elif roll < 0.65:
            self.take()
        elif roll < 0.9:
            self.member()
        else:
            self.policy()

    def grant(self):
        rng = self.rng
        holder = rng.choice(("reader@localhost", *ROLES))
        what = rng.choice(("SELECT", "SELECT", "UPDATE", "SELECT (id, a)", "SELECT (b)", "UPDATE (a)", "SELECT (id)"))
        levels = ["g_1.t"] if "(" in what else ["g_1.t", rng.choice(SCHEMAS) + ".*", "*.*"]
        self.sql.run(f"GRANT {what} ON {rng.choice(levels)} TO {holder}")

    def take(self):
        """Takes what may not be there; where revokes are partial, from one schema alone."""
        rng = self.rng
        holder = rng.choice(("reader@localhost", *ROLES))
        what, level = rng.choice((
            *[("ALL, GRANT OPTION", "")] * 6, *[("SELECT", "ON *.*")] * 2,
            ("SELECT", "ON g_1.t"), ("SELECT (a)", "ON g_1.t"),
            *(("SELECT", f"ON {schema}.*") for schema in SCHEMAS)))
        with contextlib.suppress(pymysql.MySQLError):
            self.sql.run(f"REVOKE {what} {level} FROM {holder}")

    def member(self):
        rng = self.rng
        to, role = rng.choice((*(("reader@localhost", role) for role in ROLES), ("one_role", "two_role")))
        if rng.random() < 0.6:
            self.sql.run(f"GRANT {role} TO {to}")
            which = rng.choice(("ALL", "ALL", "NONE", role))
            if to != "one_role":
                self.sql.run(f"SET DEFAULT ROLE {which} TO {to}")
        else:
            with contextlib.suppress(pymysql.MySQLError):  # a mandatory role
                self.sql.run(f"REVOKE {role} FROM {to}")

    def policy(self):
        rng = self.rng
        self.sql.run(rng.choice((
            "SET GLOBAL mandatory_roles = 'must_role'", "SET GLOBAL mandatory_roles = ''",
            "SET GLOBAL activate_all_roles_on_login = ON", "SET GLOBAL activate_all_roles_on_login = OFF",
            "SET GLOBAL activate_mandatory_roles = ON", "SET GLOBAL activate_mandatory_roles = OFF")))


def test_finds_are_allowed_where_sql_allows_them(guarded, request):
    rng = random.Random(f"{request.config.getoption('--seed')} {guarded.partial}")
    change = Changes(rng, guarded)
    client = guarded.hs_rd()
    seen = {True: 0, False: 0}
    for _ in range(ROUNDS):
        change()
        for index, columns, filters, tokens, statement in REQUESTS:
            expected = may(guarded, "reader", statement)
            answer = client.open_index(0, "g_1", "t", index, columns, filters)
            if answer != DENIED:
                answer = client.request(*tokens)
            shown = change.sql.rows("SHOW GRANTS FOR reader@localhost")
            assert (answer == DENIED) == (not expected), (answer, statement, shown)
            assert answer == DENIED or answer.code == 0, answer
            seen[expected] += 1
    assert min(seen.values()) > 10, seen


LEVELS = {
    "column": ("GRANT SELECT (id, a) ON g_1.t TO {to}", "REVOKE SELECT (id, a) ON g_1.t FROM {to}"),
    "table": ("GRANT SELECT ON g_1.t TO {to}", "REVOKE SELECT ON g_1.t FROM {to}"),
    "database": ("GRANT SELECT ON {db}.* TO {to}", "REVOKE SELECT ON {db}.* FROM {to}"),
    "global": ("GRANT SELECT ON *.* TO {to}", "REVOKE SELECT ON *.* FROM {to}"),
    "all": ("GRANT SELECT ON g_1.t TO {to}", "REVOKE ALL, GRANT OPTION FROM {to}"),
    "role": ("GRANT SELECT ON g_1.t TO one_role", "REVOKE SELECT ON g_1.t FROM one_role"),
    "columns of a role": ("GRANT SELECT (id, a) ON g_1.t TO one_role", "REVOKE SELECT (id, a) ON g_1.t FROM one_role"),
    "member": ("GRANT two_role TO one_role", "REVOKE two_role FROM one_role"),
    "default role": ("SET DEFAULT ROLE one_role, must_role TO {to}", "SET DEFAULT ROLE one_role TO {to}"),
    "mandatory role": ("SET GLOBAL mandatory_roles = 'must_role'", "SET GLOBAL mandatory_roles = ''"),
    "all roles": ("SET GLOBAL activate_all_roles_on_login = ON", "SET GLOBAL activate_all_roles_on_login = OFF"),
    "account": ("RENAME USER other@localhost TO reader@localhost", "RENAME USER reader@localhost TO other@localhost"),
}


@pytest.mark.parametrize("level", LEVELS)
def test_a_change_counts_at_once(guarded, level):
    sql = guarded.sql()
    reads = guarded.hs_rd()
    give, take = (statement.format(to="reader@localhost", db=database(guarded)) for statement in LEVELS[level])
    sql.run("GRANT one_role TO reader@localhost")
    sql.run("SET DEFAULT ROLE one_role TO reader@localhost")
    if level in ("default role", "all roles"):
        sql.run("GRANT must_role TO reader@localhost")
    if level == "account":
        sql.run("GRANT SELECT ON g_1.t TO reader@localhost")
    sql.run("GRANT SELECT ON g_1.t TO two_role, must_role")
    sql.run("GRANT SELECT (b) ON g_1.t TO reader@localhost")  # so that the table may be opened
    index = reads.opened("g_1", "t", "", "a")
    sql.run("REVOKE SELECT (b) ON g_1.t FROM reader@localhost")
    if level == "account":
        sql.run(take)
    for _ in range(TOGGLES):
        sql.run(give)
        assert index.find("=", [1]) == reply(0, 1, 10)
        sql.run(take)
        assert index.find("=", [1]) == DENIED
    if level == "account":
        sql.run(give)


@pytest.mark.parametrize("shared_guarded", ["ON"], ids=["partial revokes"], indirect=True)
def test_what_was_partially_revoked_is_denied_at_once(guarded):
    sql = guarded.sql()
    sql.run("GRANT SELECT ON *.* TO reader@localhost")
    index = guarded.hs_rd().opened("g_1", "t", "", "a")
    for _ in range(TOGGLES):
        sql.run("REVOKE SELECT ON g_1.* FROM reader@localhost")
        assert index.find("=", [1]) == DENIED
        assert index.client.open_index(5, "g_1", "t", "", "a") == DENIED
        sql.run("GRANT SELECT ON g_1.* TO reader@localhost")
        assert index.find("=", [1]) == reply(0, 1, 10)


def test_gets_of_memcached_are_judged_by_the_account_of_the_port(guarded):
    sql = guarded.sql("g_1")
    one = Container(guarded, "g_1", "m", columns="k VARBINARY(250) PRIMARY KEY, v INT", flags="0", token="0",
                    expiry="0")
    sql.run("INSERT INTO m VALUES ('1', 7)")
    sql.run("GRANT SELECT ON g_1.m TO cache@localhost")
    one.ready()
    client = mc.connect(guarded)
    try:
        for _ in range(TOGGLES):
            assert client.get("@@m.1") == {b"@@m.1": (0, b"7")}
            sql.run("REVOKE SELECT ON g_1.m FROM cache@localhost")
            assert client.get("@@m.1") == MC_DENIED
            sql.run("GRANT SELECT ON g_1.m TO cache@localhost")
    finally:
        one.drop()


# --- The lock of the grants ---

GRANT = "GRANT INSERT ON g_1.t TO reader@localhost"


@pytest.fixture
def semisync(make_server):
    """A server whose GRANT waits for a replica that does not come, while it holds the lock of the grants. The port
    that writes has no account."""
    server = start_with_accounts(make_server(
        options=["--handlersocket-user=reader@localhost", *SEMISYNC_OPTIONS, "--handlersocket-wrlock-timeout=2"],
        start=False))
    sql = server.sql()
    sql.run("CREATE DATABASE g_1")
    sql.run("CREATE TABLE g_1.t (id INT PRIMARY KEY, n INT) ENGINE=InnoDB")
    sql.run("INSERT INTO g_1.t VALUES (1, 5)")
    sql.run("GRANT SELECT ON g_1.* TO reader@localhost")
    return server


def test_a_held_lock_of_the_grants_delays_those_alone_who_have_an_account(semisync):
    judged, opening = semisync.hs_rd().opened("g_1", "t", "", "n"), semisync.hs_rd()
    free = semisync.hs_wr().opened("g_1", "t", "", "n")
    with held_grants(semisync, GRANT):
        judged.client.send(*find_words(judged.id, "=", [1]))
        opening.send_raw(b"P\t0\tg_1\tt\t\tid,n\n")
        for _ in range(200):
            assert free.find("=", [1]) == reply(0, 1, 5)
        assert judged.client.recv() == refused(1, "lock_tables")
        assert opening.recv() == refused(1, "lock_tables")
    assert judged.find("=", [1]) == reply(0, 1, 5)
    assert opening.open_index(0, "g_1", "t", "", "id,n").code == 0


def test_the_plugin_ends_while_a_request_waits_for_the_lock_of_the_grants(semisync):
    opening = semisync.hs_rd()
    with held_grants(semisync, GRANT) as sql:
        opening.send_raw(b"P\t0\tg_1\tt\t\tn\n")
        sql.run("UNINSTALL SONAME 'rowsocket'")
        with contextlib.suppress(Closed):
            assert opening.recv() in (refused(1, "killed"), refused(1, "lock_tables"))
