"""What the account of a port may do by roles: what a SQL session of the account may do after its login."""

import contextlib
import itertools
import random
import time

import pymysql
import pytest

from account_server import PORT_OPTIONS, SEMISYNC_OPTIONS, held_grants, may, start_with_roles
from hs import OK, find_words, refused, reply
from server import is_mysql, wait_until

DENIED = refused(3, "denied")
ROUNDS = 150
HOLDERS = ("writer@localhost", *([] if is_mysql() else ["PUBLIC"]), "inner_role", "outer_role", "other_role")
FIND = "SELECT a FROM g.t WHERE id = -1"


def change_of_a_row(statement, reads):
    """The statements that an account needs the privileges of to change a row by its id. MySQL 9.7 denies the one statement
    to an account that has SELECT on the table where a role has UPDATE or DELETE on the schema: it looks for SELECT among
    the privileges on columns alone then. Each half by itself is allowed, and the port asks for both halves."""
    return [f"SELECT {reads} FROM g.t WHERE id = -1", statement] if is_mysql() else [statement + " WHERE id = -1"]


# Requests of an index that has opened a with the filter column b, and the statements of SQL.
REQUESTS = (
    (find_words(0, "=", [-1]), [FIND]),
    (find_words(0, "=", [-1], 1, 0, filters=[("F", "=", 0, 1)]), [FIND + " AND b = 1"]),
    (find_words(0, "=", [-1], 1, 0, mod=["U", 1]), change_of_a_row("UPDATE g.t SET a = 1", "id")),
    (find_words(0, "=", [-1], 1, 0, mod=["+", 1]),
     change_of_a_row("UPDATE g.t SET a = " + ("1" if is_mysql() else "a + 1"), "a")),
    (find_words(0, "=", [-1], 1, 0, mod=["D"]), change_of_a_row("DELETE FROM g.t", "id")),
)


@pytest.fixture
def roles(make_server):
    server = start_with_roles(make_server(options=PORT_OPTIONS, start=False), [
        "CREATE ROLE other_role", "GRANT other_role TO writer@localhost"])
    sql = server.sql()
    sql.run("CREATE DATABASE g")
    sql.run("CREATE TABLE g.t (id INT PRIMARY KEY, a INT, b INT) ENGINE=InnoDB")
    return server


def change(rng, sql):
    """Changes who has what, at random."""
    roll = rng.random()
    if roll < 0.2:
        member, role = rng.choice((("writer@localhost", "outer_role"), ("outer_role", "inner_role"),
                                   ("outer_role", "other_role"), ("writer@localhost", "inner_role")))
        sql.run(f"GRANT {role} TO {member}")
        if is_mysql():  # A role that is given again is no default role there.
            sql.run("SET DEFAULT ROLE ALL TO writer@localhost")
    elif roll < 0.35:
        member, role = rng.choice((("writer@localhost", "outer_role"), ("outer_role", "inner_role"),
                                   ("outer_role", "other_role")))
        sql.run(f"GRANT {role} TO {member}")
        sql.run(f"REVOKE {role} FROM {member}")
    elif roll < 0.4:  # Now and then nobody has anything, so that requests are denied in every run.
        for level, holder in itertools.product(("g.t", "g.*"), HOLDERS):
            with contextlib.suppress(pymysql.MySQLError):  # there is nothing to take
                sql.run(f"REVOKE ALL PRIVILEGES ON {level} FROM {holder}")
    elif roll < 0.55:
        level = rng.choice(("g.t", "g.*"))
        with contextlib.suppress(pymysql.MySQLError):  # there is nothing to take
            sql.run(f"REVOKE ALL PRIVILEGES ON {level} FROM {rng.choice(HOLDERS)}")
    else:
        holder = rng.choice(HOLDERS)
        what = rng.choice(("SELECT", "UPDATE", "DELETE", "SELECT (id, a)", "SELECT (b)", "UPDATE (a)", "SELECT (id)"))
        levels = ["g.t"] if "(" in what else ["g.t", "g.*"]
        sql.run(f"GRANT {what} ON {rng.choice(levels)} TO {holder}")


def test_roles_allow_what_they_allow_in_sql(roles, request):
    rng = random.Random(f"{request.config.getoption('--seed')} roles")
    sql = roles.sql()
    client = roles.hs_wr()
    seen = {True: 0, False: 0}
    for _ in range(ROUNDS):
        change(rng, sql)
        for tokens, statements in REQUESTS:
            expected = may(roles, "writer", *statements)
            answer = client.open_index(0, "g", "t", "", "a", "b")
            if answer != DENIED:
                answer = client.request(*tokens)
            assert (answer == DENIED) == (not expected), (answer, statements, sql.rows("SHOW GRANTS FOR writer@localhost"))
            seen[expected] += 1
    assert min(seen.values()) > ROUNDS * len(REQUESTS) / 20, seen


def test_a_role_that_is_not_the_default_one_gives_nothing(roles):
    sql = roles.sql()
    sql.run("INSERT INTO g.t VALUES (1, 2, 3)")
    sql.run("GRANT SELECT ON g.t TO other_role")
    client = roles.hs_wr()
    assert client.open_index(0, "g", "t", "", "a") == DENIED
    sql.run("GRANT SELECT ON g.t TO outer_role")
    assert client.opened("g", "t", "", "a").find("=", [1]) == reply(0, 1, 2)


@pytest.mark.mariadb("in MySQL a change of the default role counts at once: test_mysql_rights")
def test_the_default_role_is_that_of_the_time_when_the_port_opens(roles):
    sql = roles.sql()
    sql.run("GRANT SELECT ON g.t TO other_role")
    sql.run("SET DEFAULT ROLE other_role FOR writer@localhost")
    assert roles.hs_wr().open_index(0, "g", "t", "", "a") == DENIED
    roles.close_clients()
    sql = roles.sql()
    sql.run("UNINSTALL SONAME 'rowsocket'")
    sql.run("INSTALL SONAME 'rowsocket'")
    assert roles.hs_wr().open_index(0, "g", "t", "", "a").code == 0
    sql.run("REVOKE other_role FROM writer@localhost")
    assert roles.hs_wr().open_index(0, "g", "t", "", "a") == DENIED


@pytest.mark.mariadb("max_statement_time, which binds the library's own statements there if nothing is done")
def test_a_limit_of_statements_concerns_no_statement_of_the_library(make_server):
    server = start_with_roles(make_server(options=PORT_OPTIONS, start=False), [
        "ALTER USER root@localhost WITH MAX_STATEMENT_TIME 1000", "SET GLOBAL max_statement_time = 0.000001"])
    sql = server.sql()
    sql.run("CREATE DATABASE g")
    sql.run("CREATE TABLE g.t (id INT PRIMARY KEY) ENGINE=InnoDB")
    sql.run("GRANT SELECT ON g.t TO outer_role")
    for client in (server.hs_rd(), server.hs_wr()):
        assert client.open_index(0, "g", "t", "", "id") == OK, "the port's account has its default role"


@pytest.mark.mariadb("the default role is looked up by SQL there")
def test_a_port_opens_with_its_role_as_soon_as_the_grant_tables_are_free(roles):
    """Until then the library may be uninstalled."""
    sql, locker = roles.sql(read_timeout=60), roles.sql()
    sql.run("GRANT SELECT ON g.t TO outer_role")
    sql.run("UNINSTALL SONAME 'rowsocket'")
    locker.run("LOCK TABLES mysql.global_priv WRITE")
    for number in (1, 2):
        sql.run("INSTALL SONAME 'rowsocket'")
        line = "handlersocket_user_wr: the server does not tell the account's rights now"
        wait_until(lambda seen=number, line=line: roles.log().count(line) == seen, 30, "a look without an answer")
        if number == 1:
            sql.run("UNINSTALL SONAME 'rowsocket'")
    locker.run("UNLOCK TABLES")
    for client in (roles.hs_rd(), roles.hs_wr()):
        assert client.open_index(0, "g", "t", "", "a") == OK


@pytest.mark.mariadb("the default role is looked up by SQL there")
def test_uninstall_waits_for_no_grant_that_a_port_waits_for(make_server):
    """A GRANT that waits for a replica goes on locking the grant tables."""
    server = start_with_roles(make_server(options=[*PORT_OPTIONS, *SEMISYNC_OPTIONS], start=False))
    sql = server.sql(read_timeout=20)
    sql.run("UNINSTALL SONAME 'rowsocket'")
    with held_grants(server, "GRANT SELECT ON *.* TO reader@localhost"):
        sql.run("INSTALL SONAME 'rowsocket'")
        time.sleep(1)  # A worker's look has begun by then; nothing shows it.
        sql.run("UNINSTALL SONAME 'rowsocket'")
