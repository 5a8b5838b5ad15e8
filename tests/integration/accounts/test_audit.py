"""Audit plugins of the server are told which tables requests reach, for which account, where a variable asks for it."""

import pathlib
import re

import pymysql
import pytest

import hs
import logins
import mc
import resp
from hs import OK
from logins import log_in
from mc_tables import Container
from private_servers import create, remove
from server import is_mysql, wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8", "mysql-9.7"), pytest.mark.ours]

VARIABLES = ("handlersocket_audit", "daemon_memcached_audit", "resp_audit")
server_audit = pytest.mark.mariadb("server_audit")


@pytest.fixture(scope="module")
def server(request):
    options = [] if is_mysql() else ["--plugin-load-add=server_audit"]
    server = resp.start(lambda **kwargs: create(request.config, **kwargs), "--loose-handlersocket-accounts=ON",
                        "--loose-daemon-memcached-accounts=ON", "--loose-resp-accounts=ON", *options)
    sql = server.sql()
    Container(server, "shop", "items")
    for user in ("reader", "writer"):
        sql.run(f"CREATE USER {user}@'127.%' IDENTIFIED BY 'right'")
        sql.run(f"GRANT SELECT ON shop.* TO {user}@'127.%'")
    sql.run("GRANT INSERT, UPDATE, DELETE ON shop.* TO writer@'127.%'")
    yield server
    remove(server)


class Trail:
    """The audit plugin's file, from now on."""

    def __init__(self, server):
        self.path = pathlib.Path(server.directory) / "data" / "trail.log"
        self.sql = server.sql()
        self.sql.run("SET GLOBAL server_audit_logging = OFF")
        self.path.unlink(missing_ok=True)
        self.sql.run("SET GLOBAL server_audit_incl_users = ''")
        self.sql.run("SET GLOBAL server_audit_events = 'CONNECT,TABLE'")
        self.sql.run("SET GLOBAL server_audit_file_path = 'trail.log'")
        self.sql.run("SET GLOBAL server_audit_logging = ON")

    def events(self, user="(?:reader|writer)"):
        """(user, host, connection, what, schema, table) of each line about these users."""
        text = self.path.read_text(errors="replace") if self.path.exists() else ""
        return re.findall(rf"^[^,]*,[^,]*,({user}),([^,]*),(\d+),\d+,(\w+),(\w*),(\w*)", text, re.M)

    def tables(self, user="(?:reader|writer)"):
        return [event for event in self.events(user) if event[3] in ("READ", "WRITE")]


def make_accounts(sql, count):
    users = [f"one{number}" for number in range(count)]
    for user in users:
        sql.run(f"CREATE USER {user}@'127.%' IDENTIFIED BY 'right'")
        sql.run(f"GRANT SELECT ON shop.* TO {user}@'127.%'")
    return users


@pytest.fixture
def trail(server):
    trail = Trail(server)
    for variable in VARIABLES:
        trail.sql.run(f"SET GLOBAL {variable} = ON")
    yield trail
    for variable in VARIABLES:
        trail.sql.run(f"SET GLOBAL {variable} = OFF")
    trail.sql.run("SET GLOBAL server_audit_logging = OFF")
    server.close_clients()


@server_audit
def test_each_request_names_its_account_and_client(server, trail):
    reader, answer = log_in(server, "reader", "right", source="127.0.0.9")
    assert answer == OK
    writer, answer = log_in(server, "writer", "right")
    assert answer == OK
    for client in (reader, writer):
        assert client.open_index(0, "shop", "product", "", "id,stock").code == 0
    assert trail.tables() == [], "to open an index is to look at its names"
    assert reader.find(0, "=", [7]).code == 0
    assert [event[:2] + event[3:] for event in trail.tables()] == [("reader", "127.0.0.9", "READ", "shop", "product")]
    assert writer.update(0, "=", [7], [7, 5]).code == 0
    assert [event[0] + " " + event[3] for event in trail.tables()] == ["reader READ", "writer WRITE"]
    # The connection's number is the one of its CONNECT.
    by_kind = {(event[0], event[3]): event[2] for event in trail.events()}
    assert by_kind["reader", "READ"] == by_kind["reader", "CONNECT"] != by_kind["writer", "CONNECT"]
    assert by_kind["writer", "WRITE"] == by_kind["writer", "CONNECT"]
    # What the account may not do reaches no table.
    assert reader.update(0, "=", [7], [7, 9]) == hs.refused(3, "denied")
    assert len(trail.tables()) == 2
    # Twenty requests of one turn are twenty events, as twenty statements are.
    reader.pipeline([(0, "=", 1, key) for key in range(20)])
    assert len(trail.tables("reader")) == 21


@server_audit
def test_as_sql_is_told(server, trail):
    """An account of the same name reads the same row by SQL: the lines differ by host and numbers alone."""
    server.sql().run("CREATE OR REPLACE USER reader@localhost IDENTIFIED BY 'right'")
    server.sql().run("GRANT SELECT ON shop.* TO reader@localhost")
    sql = server.sql("shop", user="reader", password="right")
    sql.rows("SELECT id FROM product WHERE id = 7")
    [by_sql] = [event for event in trail.tables() if event[1] == "localhost"]
    client, _ = log_in(server, "reader", "right", source="127.0.0.9")
    client.open_index(0, "shop", "product", "", "id,stock")
    client.find(0, "=", [7])
    [by_socket] = [event for event in trail.tables() if event[1] == "127.0.0.9"]
    assert by_sql[0] == by_socket[0] and by_sql[3:] == by_socket[3:] == ("READ", "shop", "product")


@server_audit
def test_memcached_and_resp(server, trail):
    client = logins.connect_mc(server)
    assert logins.log_in_mc(client, "writer", "right") == b"STORED"
    wait_until(lambda: client.command("mg @@items.?") == b"EN", 10, "the container")
    before = len(trail.tables())
    assert client.command("ms @@items.a 1", b"x") == b"HD"
    assert [event[3:] for event in trail.tables()[before:]] == [("WRITE", "shop", "items")]
    client.get("@@items.a", "@@items.b")
    assert [event[3:] for event in trail.tables()[before + 1:]] == [("READ", "shop", "items")]
    redis = resp.Client(server.resp_port)
    assert redis.ask("AUTH", "writer", "right") == "OK"
    before = len(trail.tables())
    assert redis.ask("HGET", "product:7", "name") == b"Teapot"
    assert redis.transaction(("HINCRBY", "product:7", "stock", 1), ("HGET", "line:1:x\\:y", "n")) is not None
    assert [event[3:] for event in trail.tables()[before:]] == [
        ("READ", "shop", "product"), ("WRITE", "shop", "product"), ("READ", "shop", "line")]
    client.close()


@server_audit
def test_the_plugin_s_list_of_users_holds(server, trail):
    clients = {user: log_in(server, user, "right")[0] for user in ("reader", "writer")}
    for client in clients.values():
        client.open_index(0, "shop", "product", "", "id,stock")
    for user, client in clients.items():
        client.find(0, "=", [7])
    assert [event[0] for event in trail.tables()] == ["reader", "writer"]
    trail.sql.run("SET GLOBAL server_audit_incl_users = 'writer'")
    for client in clients.values():
        client.find(0, "=", [7])
    assert [event[0] for event in trail.tables()] == ["reader", "writer", "writer"]


@server_audit
def test_without_the_variable_the_library_s_own_user_is_told_now_and_then(server):
    """What the server itself tells of a worker: that its thread has locked the table, which finds keep locked for a while."""
    trail = Trail(server)
    client, _ = log_in(server, "reader", "right")
    client.open_index(0, "shop", "product", "", "id,stock")
    trail.sql.run("FLUSH TABLES shop.product")
    for _ in range(2):
        client.pipeline([(0, "=", 1, key) for key in range(20)])
    wait_until(lambda: trail.tables("handlersocket"), 10, "the line of the worker")
    assert trail.tables() == []
    own = trail.tables("handlersocket")
    assert 1 <= len(own) < 40 and {event[3:] for event in own} == {("READ", "shop", "product")}
    trail.sql.run("SET GLOBAL server_audit_logging = OFF")


@server_audit
def test_a_request_that_waits_for_a_lock_is_told_once(server, trail):
    client, _ = log_in(server, "writer", "right")
    client.open_index(0, "shop", "product", "", "id,stock")
    owner = server.sql("shop")
    owner.run("BEGIN")
    owner.run("UPDATE product SET stock = stock + 1 WHERE id = 7")
    client.send(*hs.find_words(0, "=", [7], 1, 0, mod=["U", 7, 1]))
    wait_until(lambda: owner.rows("SELECT 1 FROM information_schema.ROWSOCKET_CONNECTIONS WHERE state = 'lock wait'"), 10,
               "the wait")
    assert trail.tables("writer") == []
    owner.run("ROLLBACK")
    assert client.recv().code == 0
    assert [event[3:] for event in trail.tables("writer")] == [("WRITE", "shop", "product")]


@server_audit
def test_more_accounts_than_a_session_remembers(server, trail):
    users = make_accounts(server.sql(), 20)
    clients = [log_in(server, user, "right")[0] for user in users]
    for client in clients:
        client.open_index(0, "shop", "product", "", "id,stock")
    for _ in range(3):
        for client in clients:
            assert client.find(0, "=", [7]).code == 0
    told = [event[0] for event in trail.tables(r"one\d+")]
    assert sorted(told) == sorted(users * 3)


@server_audit
def test_the_plugin_can_be_uninstalled(make_server):
    """A session of SQL that began while the plugin was there would keep it: this one began before."""
    server = resp.start(make_server, "--loose-handlersocket-accounts=ON", "--loose-handlersocket-audit=ON")
    sql = server.sql()
    users = make_accounts(sql, 3)
    for _ in range(2):
        sql.run("INSTALL SONAME 'server_audit'")
        sql.run("SET GLOBAL server_audit_file_path = 'uninstalled.log'")
        sql.run("SET GLOBAL server_audit_logging = ON")
        for user in users:
            with log_in(server, user, "right")[0] as client:
                client.open_index(0, "shop", "product", "", "id,stock")
                assert client.find(0, "=", [7]).code == 0
        sql.run("UNINSTALL SONAME 'server_audit'")
        wait_until(lambda: sql.value("SELECT COUNT(*) FROM information_schema.all_plugins WHERE"
                                     " plugin_name = 'SERVER_AUDIT' AND plugin_status = 'DELETED'") == b"0", 20,
                   "the end of the audit plugin")
    text = (server.directory / "data" / "uninstalled.log").read_text()
    assert text.count(",READ,shop,product,") >= 2 * len(users)


@pytest.mark.mysql("MySQL's community server has no plugin that is told of tables")
def test_mysql_says_that_it_has_no_such_events(server, make_server):
    for variable in VARIABLES:
        with pytest.raises(pymysql.err.MySQLError) as refused_with:
            server.sql().run(f"SET GLOBAL {variable} = ON")
        assert refused_with.value.args[0] == 1235 and "this server has none" in refused_with.value.args[1]
        server.sql().run(f"SET GLOBAL {variable} = OFF")
    own = make_server(options=["--loose-handlersocket-audit=ON"])
    assert "handlersocket_audit has no effect" in own.log()
