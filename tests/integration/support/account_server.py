"""Servers whose ports have the rights of accounts, and what an account may do by SQL."""

import contextlib
import threading

import pymysql

import semisync
from server import Sql, is_mysql, wait_until

# The accounts of the ports: that of the reading port, that of the writing port, and memcached's.
READER, WRITER, CACHE = "reader", "writer", "cache"
PORT_OPTIONS = ("--handlersocket-user=reader@localhost", "--handlersocket-user-wr=writer@localhost",
                "--daemon-memcached-user=cache@localhost")
# Numbers of the errors by which SQL says that a privilege is missing.
DENIED = (1044, 1142, 1143)
DUPLICATE = 1062  # SQL checks privileges before it finds a duplicate

SEMISYNC_OPTIONS = ["--log-bin=grants", "--server-id=1", *semisync.options(600_000)]


def default_role(role, name):
    """The statement that makes the role a default role of the account."""
    return f"SET DEFAULT ROLE {role} {'TO' if is_mysql() else 'FOR'} {name}@localhost"


def memberships():
    """Statements that give each account outer_role as its default role, and inner_role to outer_role."""
    return ["GRANT inner_role TO outer_role",
            *(f"GRANT outer_role TO {name}@localhost" for name in (READER, WRITER, CACHE)),
            *(default_role("outer_role", name) for name in (READER, WRITER, CACHE))]


def start_with_accounts(server, statements=()):
    """Starts a server that has made these accounts, and executed the statements, before its ports look for
    their accounts. Returns the server."""
    lines = [f"CREATE USER IF NOT EXISTS {name}@localhost" for name in (READER, WRITER, CACHE)]
    path = server.base / "accounts.sql"
    path.write_text("".join(line + ";\n" for line in (*lines, *statements)))
    path.chmod(0o644)
    return server.start([*server.options, f"--init-file={path}"])


def start_with_roles(server, statements=()):
    """As start_with_accounts; each account also has the default role outer_role, which its port gets when it is opened
    again, after the statements."""
    start_with_accounts(server)
    sql = server.sql()
    for statement in ("CREATE ROLE inner_role", "CREATE ROLE outer_role", *memberships(),
                      *statements, "UNINSTALL SONAME 'rowsocket'", "INSTALL SONAME 'rowsocket'"):
        sql.run(statement)
    return server


def may(server, user, *queries):
    """Whether the account may execute all of the statements, according to SQL in a session of the account. The
    statements match no row, or are rolled back."""
    session = Sql(server.env["SQL_SOCKET"], user=user)
    try:
        for query in queries:
            session.run("START TRANSACTION")
            try:
                session.run(query)
            except pymysql.MySQLError as error:
                if error.args[0] in DENIED:
                    return False
                if error.args[0] != DUPLICATE:
                    raise
            session.run("ROLLBACK")
        return True
    finally:
        session.close()


@contextlib.contextmanager
def held_grants(server, grant):
    """Runs a GRANT that holds the lock of the grants until the block ends."""
    sql, other = server.sql(), server.sql()
    sql.run(f"SET GLOBAL {semisync.SOURCE} = 1")
    thread = threading.Thread(target=lambda: other.run(grant))
    thread.start()
    waiting = (f"SELECT COUNT(*) FROM information_schema.processlist WHERE {semisync.WAITS}"
               " AND info LIKE 'GRANT%'")
    wait_until(lambda: sql.value(waiting) == b"1", 20, "a GRANT that waits for the replica", 0.05)
    try:
        yield sql
    finally:
        sql.run(f"SET GLOBAL {semisync.SOURCE} = 0")
        thread.join()
