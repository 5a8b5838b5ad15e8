"""Accounts of one name at several hosts that share a default role: who logs in has what a SQL session of the same
login has, the server's own mixture of the accounts' global privileges included (docs/SECURITY.md)."""

import pymysql
import pytest

import logins
from hs import find_words
from server import is_mysql

REQUESTS = (
    (find_words(0, "=", [1]), "SELECT v FROM g.t WHERE id = 1"),
    (find_words(0, "=", [1], 1, 0, mod=["U", "two"]), "UPDATE g.t SET v = 'two' WHERE id = 1"),
    (find_words(0, "=", [1], 1, 0, mod=["D"]), "DELETE FROM g.t WHERE id = 1"),
)


@pytest.fixture
def sharing(make_server):
    """app of any host may do everything, app of 127.9.% only what the role may: SELECT."""
    server = make_server(options=[*logins.OPTIONS, *logins.PLUGINS])
    sql = logins.prepare(server)
    sql.run("DROP USER app@'127.%'")
    sql.run("CREATE ROLE reader")
    sql.run("GRANT SELECT ON g.* TO reader")
    return server, sql


def may(session, statement):
    try:
        with session.cursor() as cursor:
            cursor.execute("START TRANSACTION")
            cursor.execute(statement)
            cursor.execute("ROLLBACK")
    except pymysql.MySQLError as error:
        assert error.args[0] == 1142, error
        return False
    return True


@pytest.mark.parametrize("hosts", [("%", "127.9.%"), ("127.9.%", "%")])
def test_the_login_has_what_a_sql_session_has(sharing, hosts):
    server, sql = sharing
    for host in hosts:
        sql.run(f"CREATE USER app@'{host}' IDENTIFIED BY 'right'")
        sql.run(f"GRANT reader TO app@'{host}'")
        sql.run(f"SET DEFAULT ROLE reader {'TO' if is_mysql() else 'FOR'} app@'{host}'")
    sql.run("GRANT ALL ON *.* TO app@'%'")
    for source in ("127.9.0.1", "127.8.0.1"):
        client = logins.connect(server, source=source)
        assert client.request("A", 2, "app", "right").code == 0
        assert client.open_index(0, "g", "t", "", "v").code == 0
        with pymysql.connect(host="127.0.0.1", port=int(server.env["SQL_PORT"]), user="app", password="right",
                             bind_address=source, autocommit=True) as session:
            for request, statement in REQUESTS:
                found = client.request(*request)
                assert (found.cells[:1] != (b"denied",)) == may(session, statement), (source, statement, found)
