"""SHOW PROCESSLIST while its lines are being sent: until then the server keeps pointers to the descriptions
of threads, and a thread may have ended by that time."""

import contextlib
import threading

import pymysql
import pytest
from pymysql.cursors import SSCursor

import hs
from load import Transaction
from server import wait_until
from test_shutdown import END_S, plugin_is_there, soname

pytestmark = pytest.mark.ours

QUERY_BYTES = 4 << 20  # more bytes than a socket takes without a reader
ID, USER, STATE = 0, 1, 6
THREADS = "SELECT id FROM information_schema.processlist WHERE user IN ('handlersocket', 'memcached')"
LANE_THREADS = THREADS + " AND state LIKE '%: mode=lock wait%'"


@pytest.fixture
def watched(make_server):
    """A server that overwrites memory that it frees, so that a stale pointer shows."""
    return make_server(environment={"MALLOC_PERTURB_": "165"})


@contextlib.contextmanager
def long_line(server):
    """A session whose line in the list is not sent before the test reads it."""
    session, admin = server.sql(), server.sql()
    number = int(session.value("SELECT CONNECTION_ID()"))

    def run():
        with contextlib.suppress(pymysql.MySQLError):
            session.run("SELECT SLEEP(600) /* " + "x" * QUERY_BYTES + " */")

    thread = threading.Thread(target=run)
    thread.start()
    try:
        wait_until(lambda: admin.rows("SELECT 1 FROM information_schema.processlist"
                                      f" WHERE id = {number} AND state = 'User sleep'"))
        yield
    finally:
        admin.run(f"KILL {number}")
        thread.join()


@contextlib.contextmanager
def list_made_now(server):
    """The lines of a list that is made now and read later."""
    sql = server.sql(use_unicode=False)
    with sql.connection.cursor(SSCursor) as cursor:
        cursor.execute("SHOW FULL PROCESSLIST")
        first = cursor.fetchone()  # the list is made before the first line is sent
        yield lambda: [first, *cursor.fetchall()]


def states(lines, ids):
    """The descriptions of these threads in the list; fails if one is missing."""
    found = {int(line[ID]): line[STATE] for line in lines if int(line[ID]) in ids}
    assert set(found) == set(ids)
    return sorted(found.values())


def ids_of(sql, query):
    return {int(number) for number, in sql.rows(query)}


def test_state_of_a_thread_that_ended_since(watched):
    sql = watched.sql()
    sql.run("CREATE DATABASE pl")
    sql.run("CREATE TABLE pl.t (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB")
    sql.run("INSERT INTO pl.t VALUES (1, 0)")
    client = watched.hs_wr()
    assert client.open_index(0, "pl", "t", "", "n") == hs.reply(0, 1)
    with long_line(watched):
        holder = Transaction(watched, "pl")
        holder.run("UPDATE t SET n = 5 WHERE id = 1")
        client.send(*hs.find_words(0, "=", [1], 1, 0, mod=["+", 1]))
        waiting = wait_until(lambda: ids_of(sql, LANE_THREADS), what="a wait in the lane")
        with list_made_now(watched) as read:
            holder.commit()
            assert client.recv() == hs.reply(0, 1, 1)
            wait_until(lambda: not ids_of(sql, LANE_THREADS), what="the end of that thread")
            assert states(read(), waiting) == [b"handlersocket: mode=lock wait, 1 request"]


def test_states_of_threads_whose_library_is_gone(watched):
    sql = watched.sql()
    sql.run(f"UNINSTALL SONAME '{soname(watched)}'")
    with long_line(watched):
        sql.run(f"INSTALL SONAME '{soname(watched)}'")
        said = THREADS + " AND state LIKE '%: mode=%'"
        threads = wait_until(lambda: (ids := ids_of(sql, said)) == ids_of(sql, THREADS) and ids)
        with list_made_now(watched) as read:
            sql.run(f"UNINSTALL SONAME '{soname(watched)}'")
            wait_until(lambda: not plugin_is_there(sql), END_S, "the plugin to be gone")
            shown = states(read(), threads)
    for state in shown:
        assert state.startswith((b"handlersocket: mode=", b"memcached: mode=")) and state.isascii()
        assert state.decode().isprintable()
