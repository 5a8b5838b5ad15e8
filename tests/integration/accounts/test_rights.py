"""What the account of a port may do: the answers, the counters, and what is opened for it."""

import socket
import time

import pytest

import hs
import mc
from account_server import PORT_OPTIONS, start_with_accounts
from hs import OK, counted, refused, reply
from mc_tables import Container
from private_servers import create, remove
from server import StartFailed, is_mysql, run_packaged, wait_until

DENIED = refused(3, "denied")
MC_DENIED = b"SERVER_ERROR access denied"
LASTING = "k VARBINARY(250) PRIMARY KEY, v BLOB, f INT UNSIGNED NOT NULL, c BIGINT UNSIGNED"


@pytest.fixture(scope="module")
def shared_guarded(request):
    server = start_with_accounts(create(request.config, options=PORT_OPTIONS))
    yield server
    remove(server)


@pytest.fixture
def guarded(shared_guarded):
    """A server whose ports have accounts without any privilege; the schema g is the test's own."""
    admin = shared_guarded.sql()
    admin.run("CREATE DATABASE g")
    yield shared_guarded
    shared_guarded.close_clients()
    admin = shared_guarded.sql()
    admin.run("DROP DATABASE g")
    for name in ("reader", "writer", "cache"):
        admin.run(f"REVOKE ALL, GRANT OPTION FROM {name}@localhost")
    admin.close()


@pytest.fixture
def admin(guarded):
    sql = guarded.sql("g")
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, c INT, KEY (a, b)) ENGINE=InnoDB")
    sql.run("INSERT INTO t VALUES (1, 10, 100, 1000), (2, 20, 200, 2000)")
    return sql


def test_columns_that_are_granted_are_read_and_nothing_else(guarded, admin):
    admin.run("GRANT SELECT (id, a, b) ON g.t TO reader@localhost")
    client = guarded.hs_rd()
    seen = client.opened("g", "t", "", "a,b")
    assert seen.find("=", [1]) == reply(0, 2, 10, 100)
    assert client.opened("g", "t", "", "a,c").find("=", [1]) == DENIED
    assert client.opened("g", "t", "", "c").find("=", [1]) == DENIED
    assert seen.find("=", [2]) == reply(0, 2, 20, 200)


def test_a_denied_write_changes_nothing_and_is_counted(guarded, admin):
    admin.run("GRANT SELECT ON g.t TO writer@localhost")
    before = admin.status("Handlersocket_errors_denied")
    index = guarded.hs_wr().opened("g", "t", "", "id,a,b")
    assert index.find("=", [1]) == reply(0, 3, 1, 10, 100)
    for mod in (["U", 1, 1, 1], ["+", 1, 1, 1], ["-", 0, 1], ["D"], ["D?"], ["U?", 1]):
        assert index.modify("=", [1], mod) == DENIED, mod
    assert index.insert(3, 3, 3) == DENIED
    assert admin.rows("SELECT * FROM t") == [(b"1", b"10", b"100", b"1000"), (b"2", b"20", b"200", b"2000")]
    assert admin.status("Handlersocket_errors_denied") == before + 7


def test_key_parts_and_filters_and_values_of_in_need_select(guarded, admin):
    admin.run("GRANT SELECT (a, c) ON g.t TO reader@localhost")
    client = guarded.hs_rd()
    index = client.opened("g", "t", "a", "a", "b,c")
    assert index.find("=", [10]) == reply(0, 1, 10)
    assert index.find("=", [10, 100]) == DENIED
    assert index.find("=", [10], 1, 0, filters=[("F", "=", 1, 1000)]) == reply(0, 1, 10)
    assert index.find("=", [10], 1, 0, filters=[("F", "=", 0, 100)]) == DENIED
    assert index.find("=", [0], 9, 0, within=(0, [10, 20])) == reply(0, 1, 10, 20)
    assert client.opened("g", "t", "", "a").find("=", [1]) == DENIED


def test_each_modification_needs_its_own_privileges(guarded, admin):
    client = guarded.hs_wr()
    index = client.opened  # opened below, once there is a privilege
    admin.run("GRANT SELECT (id), UPDATE (a) ON g.t TO writer@localhost")
    a, b, both = (index("g", "t", "", columns) for columns in ("a", "b", "a,b"))
    assert a.update("=", [1], [11]) == counted(1)
    assert both.update("=", [1], [12, 1]) == DENIED
    assert both.update("=", [1], [12]) == DENIED  # a value that is not given is the empty text
    assert b.update("=", [1], [12]) == DENIED
    assert a.modify("=", [1], ["+", 1]) == DENIED  # it reads a
    assert a.modify("=", [1], ["U?", 13]) == DENIED
    assert a.find("=", [1]) == DENIED
    admin.run("GRANT SELECT (a) ON g.t TO writer@localhost")
    assert a.modify("=", [1], ["+", 1]) == counted(1)
    assert a.modify("=", [1], ["U?", 20]) == reply(0, 1, 12)
    assert a.delete("=", [1]) == DENIED
    admin.run("GRANT DELETE ON g.t TO writer@localhost")
    assert a.delete("=", [1]) == counted(1)
    assert both.modify("=", [1], ["+", 1, 1]) == DENIED  # whether there is a row or not
    assert both.modify("=", [2], ["+", 1, 1]) == DENIED
    assert both.modify("=", [2], ["+", 1]) == counted(1)  # b is left alone
    assert index("g", "t", "", "b").modify("=", [2], ["D?"]) == DENIED
    assert a.modify("=", [2], ["D?"]) == reply(0, 1, 21)
    admin.run("GRANT INSERT (id, a) ON g.t TO writer@localhost")
    new = index("g", "t", "", "id,a,b")
    assert new.insert(7, 7, 7) == DENIED
    assert new.insert(7, 7) == OK


def test_open_tells_nothing_about_what_may_not_be_seen(guarded, admin):
    admin.run("CREATE VIEW v AS SELECT * FROM t")
    admin.run("CREATE TABLE s (id INT PRIMARY KEY)" if is_mysql() else "CREATE SEQUENCE s")
    client = guarded.hs_rd()
    for db, table in (("g", "t"), ("g", "nothing"), ("g", "v"), ("g", "s"), ("nowhere", "t"), ("", ""),
                      ("g", "x" * 200), ("x" * 200, "t")):
        for name, columns in (("", "id"), ("nokey", "id"), ("", "nocolumn"), ("7", "")):
            assert client.open_index(0, db, table, name, columns) == DENIED, (db, table)
    # Of the server's own schemas, which are no secret, every account is told that no privilege would help.
    for db, table in (("mysql", "user"), ("mysql", "global_priv"), ("mysql", "nothing"), ("information_schema", "tables"),
                      ("performance_schema", "threads"), ("SYS", "x")):
        assert client.open_index(0, db, table, "", "id") == refused(1, "systemtable"), (db, table)
    admin.run("GRANT SELECT (a) ON g.t TO reader@localhost")
    assert client.open_index(0, "g", "t", "", "nocolumn") == refused(2, "fld")
    assert client.open_index(0, "g", "t", "", "a") == OK
    assert client.open_index(1, "g", "nothing", "", "a") == DENIED
    admin.run("GRANT SELECT ON g.* TO reader@localhost")
    assert client.open_index(1, "g", "nothing", "", "a") == refused(1, "open_table")
    assert client.open_index(1, "g", "v", "", "a") == refused(1, "view")
    # An account that may see everything is told what does not exist, also by names that nothing can have.
    admin.run("GRANT SELECT ON *.* TO reader@localhost")
    for db, table in (("nowhere", "t"), ("", ""), ("", "t"), ("g", ""), ("g\0", "t"), ("x" * 200, "t")):
        assert client.open_index(1, db, table, "", "a") == refused(1, "open_table"), (db, table)


def test_nothing_is_opened_for_an_account_without_privileges(guarded, admin):
    client = guarded.hs_rd()
    admin.run("GRANT SELECT ON g.t TO reader@localhost")
    index = client.opened("g", "t", "", "id")
    assert index.find("=", [1]) == reply(0, 1, 1)
    admin.run("REVOKE SELECT ON g.t FROM reader@localhost")
    admin.run("FLUSH TABLES")

    def opened():
        """The tables that are opened meanwhile."""
        before = admin.status("Opened_tables")
        for _ in range(20):
            assert index.find("=", [1]) == DENIED
            assert client.open_index(9, "g", "t", "", "id") == DENIED
        return admin.status("Opened_tables") - before

    # The server and the housekeeping of memcached's port open tables of their own now and then.
    assert 0 in (opened() for _ in range(10))
    admin.run("GRANT SELECT ON g.t TO reader@localhost")
    assert index.find("=", [1]) == reply(0, 1, 1)


def test_a_name_with_a_nul_is_not_the_name_before_the_nul(guarded, admin):
    admin.run("GRANT SELECT ON g.* TO reader@localhost")
    client = guarded.hs_rd()
    for db, table in ((b"g\x01@", b"t"), (b"g", b"t\x01@")):
        answer = client.request_raw(b"\t".join((b"P", b"0", db, table, b"", b"id")))
        assert answer.code != 0


def test_kept_answers_of_tokens_need_the_privileges_of_their_requests(make_server):
    server = start_with_accounts(make_server(options=[*PORT_OPTIONS, "--handlersocket-tokens=ON"], start=False))
    sql = server.sql()
    run_packaged(sql, "rowsocket_tokens.sql")
    sql.run("CREATE DATABASE g")
    sql.run("CREATE TABLE g.t (id INT PRIMARY KEY, n INT)")
    sql.run("INSERT INTO g.t VALUES (1, 5)")
    sql.run("GRANT SELECT, UPDATE ON g.t TO writer@localhost")
    index = server.hs_wr().opened("g", "t", "", "n")
    again = ["T", "one", *hs.find_words(index.id, "=", [1], 1, 0, mod=["U?", 6])]
    assert index.client.request(*again) == reply(0, 1, 5)
    assert index.client.request(*again) == reply(0, 1, 5)
    sql.run("REVOKE SELECT ON g.t FROM writer@localhost")
    assert index.client.request(*again) == DENIED
    sql.run("GRANT SELECT ON g.t TO writer@localhost")
    assert index.client.request(*again) == reply(0, 1, 5)
    # The table of tokens is the library's own.
    assert index.client.open_index(5, "rowsocket", "tokens", "", "token") == DENIED
    # A client needs no right on it to ask what became of a token, but needs some to fence one.
    assert index.client.request("T", "two", "?") == reply(0, 2, "unknown", 0)
    assert index.client.request("T", "two", "!") == DENIED
    sql.run("GRANT SELECT, INSERT, UPDATE ON rowsocket.tokens TO writer@localhost")
    assert index.client.request("T", "two", "!") == reply(0, 2, "never", 0)


def test_a_dropped_account_has_no_rights_and_one_of_its_name_has_its_own(guarded, admin):
    admin.run("GRANT SELECT ON g.t TO reader@localhost")
    index = guarded.hs_rd().opened("g", "t", "", "id")
    assert index.find("=", [1]) == reply(0, 1, 1)
    admin.run("CREATE USER reader@'%'")
    admin.run("GRANT SELECT ON g.* TO reader@'%'")
    admin.run("DROP USER reader@localhost")
    assert index.find("=", [1]) == DENIED
    admin.run("DROP USER reader@'%'")
    admin.run("CREATE USER reader@localhost")
    assert index.find("=", [1]) == DENIED
    admin.run("GRANT SELECT ON g.t TO reader@localhost")
    assert index.find("=", [1]) == reply(0, 1, 1)


# --- memcached ---

@pytest.fixture
def container(guarded):
    one = Container(guarded, "g", "m")
    guarded.sql().run("GRANT SELECT ON g.m TO cache@localhost")
    one.ready()
    guarded.sql().run("REVOKE SELECT ON g.m FROM cache@localhost")
    yield one
    one.drop()


def grant(container, what):
    container.sql.run("REVOKE ALL, GRANT OPTION FROM cache@localhost")
    container.sql.run(f"GRANT {what} ON g.m TO cache@localhost")


@pytest.mark.parametrize("command, enough, too_little", [
    ("get K", "SELECT", ("INSERT, UPDATE, DELETE", "SELECT (k, v, f)")),
    ("gets K", "SELECT", ("SELECT (k, v, f, e)",)),
    ("mg K v", "SELECT", ("INSERT, UPDATE, DELETE",)),
    ("me K", "SELECT", ("INSERT, UPDATE, DELETE",)),
    ("set K 0 0 1", "INSERT, UPDATE, SELECT", ("INSERT, UPDATE", "INSERT, SELECT", "UPDATE, SELECT")),
    ("add K 0 0 1", "INSERT, UPDATE, SELECT", ("UPDATE, SELECT", "INSERT, UPDATE")),
    ("replace K 0 0 1", "INSERT, UPDATE, SELECT", ("INSERT, SELECT", "INSERT, UPDATE")),
    ("cas K 0 0 1 7", "INSERT, UPDATE, SELECT", ("INSERT, SELECT", "INSERT, UPDATE")),
    ("ms K 1", "INSERT, UPDATE, SELECT", ("INSERT, UPDATE", "INSERT, SELECT", "UPDATE, SELECT")),
    ("append K 0 0 1", "UPDATE, SELECT", ("INSERT, SELECT", "UPDATE", "UPDATE (f, e, k), SELECT")),
    ("prepend K 0 0 1", "UPDATE (v, c), SELECT", ("UPDATE (v), SELECT", "UPDATE (c), SELECT")),
    ("incr K 1", "UPDATE (v, c), SELECT", ("UPDATE (f, e, k), SELECT", "UPDATE", "INSERT, DELETE, SELECT")),
    ("decr K 1", "UPDATE, SELECT", ("SELECT", "UPDATE (v, c)")),
    ("ma K N0", "UPDATE, INSERT, SELECT", ("UPDATE, SELECT",)),
    ("ma K T9", "UPDATE (v, c, e), SELECT", ("UPDATE (v, c), SELECT",)),
    ("delete K", "DELETE, SELECT", ("DELETE", "INSERT, UPDATE, SELECT")),
    ("md K", "DELETE, SELECT", ("DELETE", "UPDATE, SELECT")),
    ("md K I", "UPDATE (c), SELECT", ("DELETE, SELECT", "UPDATE (v), SELECT")),
    ("md K x", "UPDATE (v, c, f), SELECT", ("DELETE, SELECT", "UPDATE (v, c), SELECT")),
    ("touch K 100", "UPDATE (e), SELECT", ("SELECT", "UPDATE (e)", "UPDATE (v, c, f), SELECT")),
    ("gat 100 K", "UPDATE (e), SELECT", ("SELECT", "UPDATE (e)")),
    ("mg K T100", "UPDATE (e), SELECT", ("SELECT",)),
    ("touch K -1", "UPDATE (e), DELETE, SELECT", ("UPDATE, SELECT", "DELETE, SELECT")),
    ("gat -1 K", "UPDATE (e), DELETE, SELECT", ("UPDATE, SELECT", "DELETE, SELECT")),
    ("mg K T-1", "UPDATE (e), DELETE, SELECT", ("UPDATE, SELECT",)),
    ("ma K T-1", "UPDATE (v, c, e), DELETE, SELECT", ("UPDATE, SELECT",)),
    ("set K 0 -1 1", "INSERT, UPDATE, DELETE, SELECT", ("INSERT, UPDATE, SELECT",)),
    ("ms K 1 T-1", "INSERT, UPDATE, DELETE, SELECT", ("INSERT, UPDATE, SELECT",)),
    ("md K I T-1", "UPDATE (c, e), SELECT", ("UPDATE (c), SELECT", "DELETE, SELECT")),
    ("mg K N100 v", "INSERT, SELECT", ("SELECT", "UPDATE, DELETE, SELECT")),
])
def test_each_verb_of_memcached_needs_its_privileges(guarded, container, command, enough, too_little):
    client = mc.connect(guarded)
    words = command.replace("K", container.at("key").decode())
    data = b"1" if command.split()[0] in ("set", "add", "replace", "cas", "ms", "append", "prepend") else None

    def answer():
        client.send(words.encode() + b"\r\n" + (b"" if data is None else data + b"\r\n"))
        first = client.line()
        client.send(b"mn\r\n")
        while client.line() != b"MN":
            pass
        return first

    for what in too_little:
        grant(container, what)
        assert answer() == MC_DENIED, what
    assert container.sql.rows("SELECT * FROM m") == []
    grant(container, enough)
    assert not answer().startswith((b"SERVER_ERROR", b"CLIENT_ERROR", b"ERROR"))


def test_a_set_that_is_too_large_ends_an_item_and_deletes_nothing(guarded, container):
    """What was stored is not read any more, as the binary dialect wants it; the account lacks DELETE."""
    grant(container, "SELECT, INSERT, UPDATE")
    container.sql.run("INSERT INTO m (k, v, e) VALUES ('k', '1', 9999999999), ('lasting', '1', 0)")
    client = mc.connect(guarded)
    for key in ("k", "lasting"):
        assert client.binary(mc.SET, container.at(key), b"x" * 2_000_000, mc.storing()).status == 3
    assert container.row("k", "v, e") == (b"1", b"1") and container.row("lasting", "v, e") == (b"1", b"0")
    assert mc.connect(guarded).get(container.at("k"), container.at("lasting")) == {container.at("lasting"): (0, b"1")}


def test_marks_of_other_clients_ask_no_account_for_more(guarded, container):
    """A stale item is told by its token, which the account of the port need not be able to read."""
    one = mc.connect(guarded)
    grant(container, "ALL")
    assert one.command(f"ms {container.at('k').decode()} 1", b"1") == b"HD"
    assert one.command(f"md {container.at('k').decode()} I") == b"HD"
    grant(container, "SELECT (k, v, f, e)")
    one.send(b"mg %s v\r\n" % container.at("k"))
    status, value = one.meta_reply()
    assert status.startswith(b"VA 1") and b"X" in status and value == b"1"
    one.send(b"mg %s v c\r\n" % container.at("k"))
    assert one.line() == MC_DENIED


def test_stats_tell_an_account_no_tables(guarded, container):
    container.sql.run("UPDATE innodb_memcache.containers SET key_columns = 'nosuchcolumn' WHERE name = 'm'")
    client = mc.connect(guarded)
    wait_until(lambda: b"disabled" in client.command("mg @@m.k"), 10, "the container disabled")
    told = client.stats()
    assert told["container:m:error"] == "disabled"
    assert not any(name.endswith(":table") or "nosuchcolumn" in value for name, value in told.items())
    for mode in ("on", "dump", "off"):
        assert client.command(f"stats detail {mode}") == MC_DENIED
    assert client.command("stats reset") == MC_DENIED


def test_expired_rows_stay_where_the_account_may_not_delete(guarded, container):
    """Who may write to innodb_memcache.containers has no right to other tables by that."""
    grant(container, "SELECT, INSERT, UPDATE")
    container.sql.run("INSERT INTO m (k, v, e) VALUES ('old', '1', 1000)")
    told = "lacks DELETE on g.m"
    wait_until(lambda: told in guarded.log(), 30, "that the log says so")
    assert container.sql.rows("SELECT k FROM m") == [(b"old",)]
    grant(container, "SELECT, DELETE")
    wait_until(lambda: container.sql.rows("SELECT k FROM m") == [], 30, "the purge")


@pytest.mark.parametrize("command", ["touch K T", "gat T K"])
def test_an_item_whose_time_passes_while_its_row_is_locked_stays_without_delete(guarded, command):
    """The account is judged before the row is locked, when the time has not come yet."""
    one = Container(guarded, "g", "lasting", columns=LASTING, expiry="0")
    try:
        one.sql.run("GRANT SELECT ON g.lasting TO cache@localhost")
        one.ready()
        one.sql.run("INSERT INTO lasting VALUES ('k', 'v', 0, 1)")
        locker = guarded.sql("g")
        locker.run("BEGIN")
        locker.run("SELECT * FROM lasting WHERE k = 'k' FOR UPDATE")
        client = mc.connect(guarded)
        comes_s = int(time.time()) + 2
        words = command.replace("K", one.at("k").decode()).replace("T", str(comes_s))
        client.send(words.encode() + b"\r\n")
        wait_until(lambda: time.time() > comes_s + 0.1, 10, "the item's time")
        locker.run("ROLLBACK")
        assert client.line().startswith((b"TOUCHED", b"VALUE"))
        assert one.sql.value("SELECT v FROM lasting WHERE k = 'k'") == b"v"
    finally:
        one.drop()


def test_a_denied_binary_request_has_status_0x20(guarded, container):
    client = mc.connect(guarded)
    for sent in ((mc.GET, container.at("k")), (mc.DELETE, container.at("k")),
                 (mc.SET, container.at("k"), b"v", mc.storing()), (mc.INCR, container.at("k"), b"", mc.counting(1))):
        answer = client.binary(*sent)
        assert (answer.status, answer.opcode) == (0x20, sent[0])
    assert client.in_step("binary")


def test_an_account_switches_to_containers_that_it_may_see_only(guarded, container):
    client = mc.connect(guarded)
    before = container.sql.status("Daemon_memcached_errors_denied")
    client.send(b"get @@m\r\n")
    assert client.line() == MC_DENIED
    assert container.sql.status("Daemon_memcached_errors_denied") == before + 1
    assert client.command("set k 0 0 1", b"1") != b"STORED"  # it is still in the container before
    container.sql.run("GRANT SELECT (v) ON g.m TO cache@localhost")
    assert client.get("@@m") == {b"@@m": (0, b"g/m")}
    assert client.get("k") == MC_DENIED
    container.sql.run("GRANT SELECT ON g.m TO cache@localhost")
    assert client.get("k") == {}


def test_a_get_of_a_denied_container_and_another_is_denied_as_a_whole(guarded, container):
    admin = guarded.sql("g")
    admin.run("GRANT SELECT ON g.* TO cache@localhost")
    other = Container(guarded, "g", "other")
    try:
        other.ready()
        admin.run("REVOKE SELECT ON g.* FROM cache@localhost")
        admin.run("GRANT SELECT ON g.other TO cache@localhost")
        client = mc.connect(guarded)
        assert client.get(other.at("k")) == {}
        assert client.get(other.at("k"), container.at("k")) == MC_DENIED
        assert client.get(other.at("k")) == {}
    finally:
        other.drop()


def test_why_a_container_is_disabled_is_told_to_no_account(guarded, container):
    container.sql.run("DROP TABLE m")
    client = mc.connect(guarded)
    wait_until(lambda: b"disabled" in client.command("mg @@m.k"), 10, "the container disabled")
    assert b"table" not in client.command("mg @@m.k")
    container.sql.run("CREATE TABLE m (k VARBINARY(250) PRIMARY KEY, v BLOB)")


def test_flush_all_needs_delete(make_server):
    server = start_with_accounts(make_server(options=[*PORT_OPTIONS, "--daemon-memcached-flush-all=ON"],
                                             start=False))
    sql = server.sql()
    sql.run("CREATE DATABASE g")
    sql.run("GRANT SELECT, INSERT, UPDATE ON g.* TO cache@localhost")
    one = Container(server, "g", "m")
    client = one.ready()
    assert client.set(one.at("k"), b"1") == b"STORED"
    assert client.get("@@m") == {b"@@m": (0, b"g/m")}
    assert client.command("flush_all") == MC_DENIED
    assert client.command("flush_all 100") == MC_DENIED
    assert sql.value("SELECT COUNT(*) FROM g.m") == b"1"
    sql.run("REVOKE ALL, GRANT OPTION FROM cache@localhost")
    sql.run("GRANT DELETE ON g.m TO cache@localhost")
    assert client.command("flush_all") == b"OK"
    assert sql.value("SELECT COUNT(*) FROM g.m") == b"0"


# --- The variables ---

PORTS = {"handlersocket_user": "HS_PORT", "handlersocket_user_wr": "HS_PORT_WR", "daemon_memcached_user": "MEMCACHED_PORT"}


def start_with_a_closed_port(server, variable):
    """The log of a server that keeps the port of the account in variable closed. The port listens until a worker has
    looked for the account, so that scripts/server may take the server for started before."""
    try:
        server.start()
    except StartFailed:
        return server.log()
    wait_until(lambda: refuses_connections(int(server.env[PORTS[variable]])), what=f"the port of {variable} to close")
    return server.log()


def refuses_connections(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except ConnectionRefusedError:
        return True
    return False


@pytest.mark.parametrize("variable", ["handlersocket_user", "handlersocket_user_wr", "daemon_memcached_user"])
def test_a_port_does_not_open_for_an_unknown_account(make_server, variable):
    server = make_server(options=[f"--{variable.replace('_', '-')}=nobody@nowhere"], start=False)
    log = start_with_a_closed_port(server, variable)
    assert f"rowsocket: {variable}: the server has no account 'nobody'@'nowhere'" in log


@pytest.mark.parametrize("value, why", [
    ("reader@localhost", None), ("reader@LOCALHOST", None), ("at@sign@localhost", None), ("open", None),
    ("reader@127.0.0.1", "the server has no account 'reader'@'127.0.0.1'"),
    ("Reader@localhost", "the server has no account 'Reader'@'localhost'"),
    ("", None), ("@localhost", "is to be name@host"), ("reader@", "is to be name@host"),
])
def test_install_says_that_an_account_is_unknown(make_server, value, why):
    server = start_with_accounts(
        make_server(plugin="none", options=[f"--loose-handlersocket-user={value}"], start=False),
        ("CREATE USER 'at@sign'@localhost", "CREATE USER open"))
    sql = server.sql()
    if why is None:
        sql.run("INSTALL SONAME 'rowsocket'")
        sql.run("UNINSTALL SONAME 'rowsocket'")
        return
    assert sql.error("INSTALL PLUGIN handlersocket SONAME 'rowsocket.so'") != 0
    assert "handlersocket_user" in server.log() and why in server.log()


def test_skip_grant_tables_opens_no_port_of_an_account(make_server):
    server = make_server(options=["--skip-grant-tables", "--handlersocket-user=reader@localhost"], start=False)
    assert "skip-grant-tables" in start_with_a_closed_port(server, "handlersocket_user")
