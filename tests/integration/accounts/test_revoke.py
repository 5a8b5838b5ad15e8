"""A request that was received after GRANT or REVOKE was answered is judged by it, also under load; a statement
that holds the lock of the grants delays those alone who need it."""

import contextlib
import threading

import pytest

import mc
from account_server import (PORT_OPTIONS, SEMISYNC_OPTIONS, held_grants, memberships, start_with_accounts,
                            start_with_roles)
from hs import Closed, counted, find_words, refused, reply
from mc_tables import Container
from private_servers import create, remove
from server import is_mysql, wait_until

DENIED = refused(3, "denied")
MC_DENIED = b"SERVER_ERROR access denied"
TOGGLES = 200
TO = "reader@localhost, writer@localhost, cache@localhost"


@pytest.fixture(scope="module")
def shared_guarded(request):
    server = start_with_roles(create(request.config, options=PORT_OPTIONS))
    sql = server.sql()
    sql.run("CREATE DATABASE g")
    sql.run(f"GRANT SELECT ON g.* TO {TO}")
    container = Container(server, "g", "m", columns="k VARBINARY(250) PRIMARY KEY, v INT", flags="0", token="0",
                          expiry="0")
    sql.run("INSERT INTO g.m VALUES ('1', 7), ('2', 8)")
    container.ready()
    yield server
    remove(server)


@pytest.fixture
def guarded(shared_guarded):
    sql = shared_guarded.sql()
    for name in ("reader@localhost", "writer@localhost", "cache@localhost", "inner_role", "outer_role"):
        sql.run(f"REVOKE ALL, GRANT OPTION FROM {name}")
    for statement in memberships():
        sql.run(statement)
    sql.close()
    yield shared_guarded
    shared_guarded.close_clients()


LEVELS = {
    "column": ("GRANT SELECT (k, v), UPDATE (v) ON g.m TO {to}", "REVOKE SELECT (k, v), UPDATE (v) ON g.m FROM {to}"),
    "one column": ("GRANT SELECT (k) ON g.m TO {to}", "REVOKE SELECT (k) ON g.m FROM {to}"),
    "table": ("GRANT SELECT, UPDATE ON g.m TO {to}", "REVOKE SELECT, UPDATE ON g.m FROM {to}"),
    "database": ("GRANT SELECT, UPDATE ON g.* TO {to}", "REVOKE SELECT, UPDATE ON g.* FROM {to}"),
    "global": ("GRANT SELECT, UPDATE ON *.* TO {to}", "REVOKE SELECT, UPDATE ON *.* FROM {to}"),
    "role": ("GRANT SELECT, UPDATE ON g.m TO outer_role", "REVOKE SELECT, UPDATE ON g.m FROM outer_role"),
    "column of a role": ("GRANT SELECT (k, v), UPDATE (v) ON g.m TO outer_role",
                         "REVOKE SELECT (k, v), UPDATE (v) ON g.m FROM outer_role"),
    "role of a role": ("GRANT SELECT, UPDATE ON g.* TO inner_role", "REVOKE SELECT, UPDATE ON g.* FROM inner_role"),
    "all": ("GRANT SELECT, UPDATE ON g.m TO {to}", "REVOKE ALL, GRANT OPTION FROM {to}"),
}
if not is_mysql():
    LEVELS["public"] = "GRANT SELECT, UPDATE ON g.m TO PUBLIC", "REVOKE SELECT, UPDATE ON g.m FROM PUBLIC"


class Askers:
    """A client of each port; each asks for what the grant of a level allows."""

    def __init__(self, server, sql):
        sql.run(f"GRANT SELECT ON g.m TO {TO}")
        self.reads = server.hs_rd().opened("g", "m", "", "k,v")
        self.writes = server.hs_wr().opened("g", "m", "", "v")
        self.gets = mc.connect(server)
        assert self.gets.get("@@m.1")
        sql.run(f"REVOKE SELECT ON g.m FROM {TO}")

    def are_allowed(self):
        assert self.reads.find("=", [1]) == reply(0, 2, 1, 7)
        assert self.writes.update("=", [2], [8]) in (counted(0), counted(1))
        assert self.gets.get("@@m.1") == {b"@@m.1": (0, b"7")}

    def are_denied(self):
        assert self.reads.find("=", [1]) == DENIED
        assert self.writes.update("=", [2], [8]) == DENIED
        assert self.gets.get("@@m.1") == MC_DENIED


@contextlib.contextmanager
def load(server):
    """Connections that pipeline finds and updates on all ports, allowed or not."""
    stop = threading.Event()
    wrong = []

    def play(client, tokens, allowed):
        try:
            while not stop.is_set():
                wrong.extend(each for each in client.pipeline([tokens] * 20)
                             if each != DENIED and each.code != 0 and allowed)
        except Exception as error:  # noqa: BLE001 - told to the test
            wrong.append(error)

    clients = []
    for connect in (server.hs_rd, server.hs_wr):
        for _ in range(3):
            index = connect().opened("g", "m", "", "v")
            tokens = find_words(index.id, "=", [1]) if connect == server.hs_rd else find_words(
                index.id, "=", [2], 1, 0, mod=["U", 8])
            clients.append((index.client, tokens, True))
    threads = [threading.Thread(target=play, args=each) for each in clients]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert wrong == []


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
@pytest.mark.parametrize("level", [name for name in LEVELS if name != "one column"])
def test_a_grant_counts_at_once(guarded, level, busy):
    sql = guarded.sql()
    give, take = (statement.format(to=TO) for statement in LEVELS[level])
    askers = Askers(guarded, sql)
    sql.run(f"GRANT SELECT (k, v), UPDATE (v) ON g.m TO {TO}")
    with load(guarded) if busy else contextlib.nullcontext():
        sql.run(f"REVOKE SELECT (k, v), UPDATE (v) ON g.m FROM {TO}")
        for _ in range(TOGGLES if not busy else TOGGLES // 4):
            sql.run(give)
            askers.are_allowed()
            sql.run(take)
            askers.are_denied()


@pytest.mark.parametrize("give, take", [
    ("GRANT outer_role TO {to}", "REVOKE outer_role FROM {to}"),
    ("GRANT inner_role TO outer_role", "REVOKE inner_role FROM outer_role"),
    ("CREATE ROLE inner_role; GRANT inner_role TO outer_role; GRANT SELECT, UPDATE ON g.* TO inner_role",
     "DROP ROLE inner_role"),
    ("CREATE ROLE outer_role; GRANT outer_role TO {to}; GRANT SELECT, UPDATE ON g.* TO outer_role;"
     " GRANT inner_role TO outer_role", "DROP ROLE outer_role")], ids=lambda text: text[:24])
def test_a_role_that_is_given_or_taken_counts_at_once(guarded, give, take):
    sql = guarded.sql()
    askers = Askers(guarded, sql)

    def run(statements):
        for statement in statements.format(to=TO).split("; "):
            sql.run(statement)
        if is_mysql() and statements == give:  # A role that is given again is no default role there.
            sql.run(f"SET DEFAULT ROLE outer_role TO {TO}")
    sql.run("GRANT SELECT, UPDATE ON g.* TO inner_role")
    for _ in range(TOGGLES // 4):
        run(take)
        askers.are_denied()
        run(give)
        askers.are_allowed()


def test_the_columns_of_the_key_count_at_once(guarded):
    sql = guarded.sql()
    give, take = (statement.format(to=TO) for statement in LEVELS["one column"])
    askers = Askers(guarded, sql)
    sql.run(f"GRANT SELECT (v), UPDATE (v) ON g.m TO {TO}")
    for _ in range(TOGGLES // 4):
        sql.run(give)
        askers.are_allowed()
        sql.run(take)
        askers.are_denied()


def test_an_account_that_is_dropped_is_denied_at_once(guarded):
    sql = guarded.sql()
    askers = Askers(guarded, sql)
    for _ in range(TOGGLES // 4):
        sql.run(f"DROP USER {TO}")
        askers.are_denied()
        sql.run(f"CREATE USER {TO}")
        askers.are_denied()
        sql.run(f"GRANT SELECT, UPDATE ON g.m TO {TO}")
        askers.are_allowed()


def test_flush_privileges_counts_at_once(guarded):
    sql = guarded.sql()
    askers = Askers(guarded, sql)
    for _ in range(20):
        sql.run(f"GRANT SELECT, UPDATE ON g.m TO {TO}")
        askers.are_allowed()
        sql.run("DELETE FROM mysql.tables_priv WHERE db = 'g'")
        sql.run("FLUSH PRIVILEGES")
        askers.are_denied()


# --- The lock of the grants ---

GRANT = "GRANT INSERT ON single.t TO cache@localhost"


@pytest.fixture
def semisync(make_server):
    """A server whose GRANT waits for a replica that does not come, while it holds the lock of the grants."""
    server = start_with_accounts(make_server(options=[
        *PORT_OPTIONS, *SEMISYNC_OPTIONS, "--handlersocket-wrlock-timeout=3",
        "--daemon-memcached-wrlock-timeout=3"], start=False))
    sql = server.sql()
    for schema in ("whole", "single"):
        sql.run(f"CREATE DATABASE {schema}")
        sql.run(f"CREATE TABLE {schema}.t (id INT PRIMARY KEY, n INT) ENGINE=InnoDB")
        sql.run(f"INSERT INTO {schema}.t VALUES (1, 5)")
    sql.run(f"GRANT SELECT, UPDATE ON whole.* TO {TO}")
    sql.run(f"GRANT SELECT, UPDATE ON single.t TO {TO}")
    return server


@pytest.mark.mariadb("in MySQL every account needs the lock: test_mysql_rights")
@pytest.mark.parametrize("port", ["hs_rd", "hs_wr"])
def test_a_held_lock_of_the_grants_delays_those_alone_who_need_it(semisync, port):
    connect = getattr(semisync, port)
    needs, does_not = connect().opened("single", "t", "", "n"), connect().opened("whole", "t", "", "n")
    assert needs.find("=", [1]) == does_not.find("=", [1]) == reply(0, 1, 5)
    with held_grants(semisync, GRANT):
        needs.client.send(*find_words(needs.id, "=", [1]))
        for _ in range(200):
            assert does_not.find("=", [1]) == reply(0, 1, 5)
        assert not needs.client.readable(0)
    assert needs.client.recv() == reply(0, 1, 5)


def test_a_wait_for_the_lock_of_the_grants_ends_with_an_error(semisync):
    read = semisync.hs_rd().opened("single", "t", "", "n")
    write = semisync.hs_wr().opened("single", "t", "", "n")
    with held_grants(semisync, GRANT):
        read.client.send(*find_words(read.id, "=", [1]))
        write.client.send(*find_words(write.id, "=", [1], 1, 0, mod=["U", 6]))
        opening = semisync.hs_rd()
        opening.send_raw(b"P\t0\tsingle\tt\t\tn\n")
        for client in (read.client, write.client, opening):
            assert client.recv() == refused(1, "lock_tables")
    assert read.find("=", [1]) == reply(0, 1, 5)
    assert write.update("=", [1], [6]) == counted(1)


def test_a_request_that_waits_for_the_lock_of_the_grants_can_be_killed(semisync):
    index = semisync.hs_rd().opened("single", "t", "", "n")
    with held_grants(semisync, GRANT) as sql:
        index.client.send(*find_words(index.id, "=", [1]))
        lane = ("SELECT id FROM information_schema.processlist WHERE user = 'handlersocket'"
                " AND state LIKE '%mode=lock wait, 1 request%'")
        threads = wait_until(lambda: sql.rows(lane), 20, "a lane thread", 0.02)
        sql.run(f"KILL QUERY {int(threads[0][0])}")
        assert index.client.recv() == refused(1, "killed")


def test_a_server_shuts_down_while_requests_wait_for_the_lock_of_the_grants(semisync):
    index = semisync.hs_wr().opened("single", "t", "", "n")
    with held_grants(semisync, GRANT) as sql:
        index.client.send(*find_words(index.id, "=", [1]))
        sql.run("UNINSTALL SONAME 'rowsocket'")
        with pytest.raises(Closed):
            index.client.recv()
