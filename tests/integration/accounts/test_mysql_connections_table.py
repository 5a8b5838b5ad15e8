"""information_schema.ROWSOCKET_CONNECTIONS in MySQL, whose dictionary has the columns of the table."""

import threading

import pytest

import logins
from hs import OK
from server import wait_until
from test_connections_table import COLUMNS, connections

pytestmark = [pytest.mark.again_in("mysql-9.7"), pytest.mark.ours,
              pytest.mark.mysql("MariaDB has no dictionary of columns")]

TABLE = "information_schema.ROWSOCKET_CONNECTIONS"
INSTALL = "INSTALL PLUGIN ROWSOCKET_CONNECTIONS SONAME 'rowsocket.so'"
UNINSTALL = "UNINSTALL PLUGIN ROWSOCKET_CONNECTIONS"
UNKNOWN_TABLE = 1109
NOT_WHILE_IT_RUNS = 1720


def columns(sql):
    """The names and types that the dictionary has."""
    return sql.rows("SELECT COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE FROM information_schema.COLUMNS"
                    " WHERE TABLE_SCHEMA = 'information_schema' AND TABLE_NAME = 'ROWSOCKET_CONNECTIONS'"
                    " ORDER BY ORDINAL_POSITION")


def restarted(server):
    server.stop()
    return server.start().sql()


def test_the_dictionary_has_the_columns(make_server):
    found = columns(make_server().sql())
    assert [name.decode().lower() for name, _, _ in found] == COLUMNS.split(", ")
    types = {name: (kind, null) for name, kind, null in found}
    assert types[b"ACCOUNT"] == (b"varchar(193)", b"YES")
    assert types[b"PORT"] == types[b"REQUESTS"] == (b"bigint unsigned", b"NO")


def test_the_table_is_there_from_install_to_a_start_without_it(make_server):
    server = make_server("none")
    sql = server.sql()
    assert sql.error(f"SELECT * FROM {TABLE}") == UNKNOWN_TABLE
    sql.run(INSTALL)
    assert connections(sql) == []
    there = columns(sql)
    assert len(there) == len(COLUMNS.split(", "))
    sql = restarted(server)
    assert connections(sql) == [] and columns(sql) == there
    assert sql.error(UNINSTALL) == NOT_WHILE_IT_RUNS
    sql.run("DELETE FROM mysql.plugin WHERE name = 'ROWSOCKET_CONNECTIONS'")
    sql = restarted(server)
    assert sql.error(f"SELECT * FROM {TABLE}") == UNKNOWN_TABLE
    assert columns(sql) == []


def test_a_start_that_may_not_write_still_has_the_table(make_server):
    server = make_server("none")
    server.stop()
    server.plugin = "rowsocket"
    server.start(["--super-read-only=ON"])
    assert connections(server.sql()) == [] and columns(server.sql()) != []


def test_a_prepared_statement_outlives_the_refused_uninstall(make_server):
    """The server keeps a pointer to the table's description in the statement, and none of its locks."""
    server = make_server()
    sql, other = server.sql(), server.sql()
    sql.run(f"PREPARE p FROM 'SELECT COUNT(*) FROM {TABLE}'")
    assert other.error(UNINSTALL) == NOT_WHILE_IT_RUNS
    assert sql.rows("EXECUTE p") == [(b"0",)]
    assert other.error(INSTALL) != 0
    assert sql.rows("EXECUTE p") == [(b"0",)]


def test_the_other_plugins_come_and_go_while_the_table_is_read(make_server):
    server = make_server(options=logins.OPTIONS)
    sql = logins.prepare(server)
    ends, failures, reads = threading.Event(), [], []

    def read():
        own = server.sql()
        try:
            while not ends.is_set():
                reads.append(len(connections(own)))
        except Exception as error:  # pylint: disable=broad-except
            failures.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    try:
        for _ in range(5):
            clients = [logins.log_in(server, "app", "right") for _ in range(5)]
            assert all(answer == OK for _, answer in clients)
            seen = len(reads)
            wait_until(lambda: failures or 5 in reads[seen:], what="a read of the connections")
            sql.run("UNINSTALL SONAME 'rowsocket'")
            assert connections(sql) == []
            sql.run("INSTALL SONAME 'rowsocket'")
    finally:
        ends.set()
        for reader in readers:
            reader.join()
    assert failures == []
