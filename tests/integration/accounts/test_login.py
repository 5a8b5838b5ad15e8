"""Clients log in with accounts of the server, which checks their passwords itself."""

import pytest

import logins
import mc
from account_server import start_with_accounts
from hs import OK, refused, reply
from logins import UNAUTH, connect, connect_mc, is_in, log_in, log_in_mc, sasl
from private_servers import create, remove
from server import is_mysql, wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.ours, pytest.mark.sanitized("mariadb")]


@pytest.fixture(scope="module")
def accounts(request):
    """One server with accounts for this file."""
    server = create(request.config)
    server.start([*logins.OPTIONS, *logins.PLUGINS, f"--handlersocket-socket-wr={server.directory}/wr.sock"])
    logins.prepare(server)
    yield server
    remove(server)


@pytest.fixture
def sql(accounts):
    return accounts.sql()


# --- Accounts and passwords ---

def test_right_password_lets_in_and_a_wrong_one_does_not(accounts):
    client = connect(accounts)
    assert not is_in(client)
    assert client.request("A", 2, "app", "right") == OK
    assert is_in(client)
    assert client.find(0, "=", [1]) == reply(0, 2, 1, "one")
    client, answer = log_in(accounts, "app", "wrong")
    assert answer == UNAUTH and not is_in(client)


def test_old_clients_send_name_and_password_as_one_key(accounts):
    client = connect(accounts)
    assert client.auth("app:right") == OK and is_in(client)
    assert connect(accounts).auth("app:wrong") == UNAUTH


@pytest.mark.parametrize("password", ["a:b", "a\tb", "a b", " ", "ö€🎁", "\x01\x0f", "x" * 200], ids=repr)
def test_any_byte_may_stand_in_a_password(accounts, sql, password):
    sql.run("CREATE OR REPLACE USER odd@'127.%%' IDENTIFIED BY %s", password)
    assert log_in(accounts, "odd", password)[1] == OK
    assert connect(accounts).auth(f"odd:{password}") == OK
    assert log_in(accounts, "odd", password[:-1])[1] == UNAUTH
    client = connect_mc(accounts)
    assert sasl(client, "odd", password).status == 0


@pytest.mark.mariadb("test_mysql_login has the plugins of MySQL")
@pytest.mark.parametrize("identified", [
    "VIA mysql_native_password USING PASSWORD('p')", "VIA ed25519 USING PASSWORD('p')",
    "VIA ed25519 USING PASSWORD('q') OR mysql_native_password USING PASSWORD('p')",
    "VIA unix_socket OR mysql_native_password USING PASSWORD('p')"])
def test_plugins_of_the_server_check_passwords(accounts, sql, identified):
    sql.run(f"CREATE OR REPLACE USER via@'127.%' IDENTIFIED {identified}")
    assert log_in(accounts, "via", "p")[1] == OK
    assert log_in(accounts, "via", "")[1] == UNAUTH
    assert log_in(accounts, "via", "x")[1] == UNAUTH


@pytest.mark.again_in("mysql-9.7")
def test_unix_socket_knows_the_user_of_the_client(accounts, sql):
    for name in ("daemon", "nobody"):
        sql.run(f"CREATE OR REPLACE USER {name}@localhost IDENTIFIED {logins.BY_SOCKET}")
        sql.run(f"GRANT SELECT ON g.* TO {name}@localhost")
    sql.run(f"CREATE OR REPLACE USER root@'127.%' IDENTIFIED {logins.BY_SOCKET}")
    with logins.as_user("daemon"):
        client = accounts.connect(f"{accounts.directory}/wr.sock")
    assert client.request("A", 2, "daemon", "") == OK and is_in(client)
    assert client.request("A", 2, "nobody", "") == UNAUTH
    assert log_in(accounts, "root", "")[1] == UNAUTH  # over TCP nobody is known
    sql.run("DROP USER root@'127.%'")


def test_empty_password(accounts, sql):
    sql.run("CREATE OR REPLACE USER bare@'127.%'")
    assert log_in(accounts, "bare", "")[1] == OK
    assert log_in(accounts, "bare", "x")[1] == UNAUTH


def test_patterns_of_hosts(accounts, sql):
    sql.run("CREATE OR REPLACE USER far@'127.77.0.0/255.255.0.0' IDENTIFIED BY 'p'")
    assert log_in(accounts, "far", "p", source="127.77.1.2")[1] == OK
    assert log_in(accounts, "far", "p", source="127.78.1.2")[1] == UNAUTH


@pytest.mark.parametrize("host", ["127.88.0.0/255.255.0.0", "127.88.%", "127.88.1.2"])
@pytest.mark.parametrize("level", ["*.*", "g.*", "g.t"])
def test_rights_of_an_account_are_those_of_its_host(accounts, sql, host, level):
    sql.run(f"CREATE OR REPLACE USER near@'{host}' IDENTIFIED BY 'p'")
    sql.run(f"GRANT SELECT ON {level} TO near@'{host}'")
    try:
        client, answer = log_in(accounts, "near", "p", source="127.88.1.2")
        assert answer == OK and is_in(client)
        assert client.find(0, "=", [1]) == reply(0, 2, 1, "one")
        assert client.request(0, "+", 2, 2, "x") == refused(3, "denied")
    finally:
        sql.run(f"DROP USER near@'{host}'")


def refuse(accounts, sql, setup, user, password):
    """The answers of both protocols to a login that is refused."""
    for statement in setup:
        sql.run(statement)
    answers = [log_in(accounts, user, password)[1], log_in_mc(connect_mc(accounts), user, password)]
    packet = sasl(connect_mc(accounts), user, password)
    return [*answers, (packet.status, packet.value)]


@pytest.mark.parametrize("user,setup", [
    ("app", []),
    ("unknown", []),
    ("elsewhere", ["CREATE OR REPLACE USER elsewhere@'10.%' IDENTIFIED BY 'p'"]),
    ("locked", ["CREATE OR REPLACE USER locked@'127.%' IDENTIFIED BY 'p' ACCOUNT LOCK"]),
    ("expired", ["CREATE OR REPLACE USER expired@'127.%' IDENTIFIED BY 'p' PASSWORD EXPIRE"]),
    ("tls", ["CREATE OR REPLACE USER tls@'127.%' IDENTIFIED BY 'p' REQUIRE SSL"]),
    ("x509", ["CREATE OR REPLACE USER x509@'127.%' IDENTIFIED BY 'p' REQUIRE X509"]),
    ("hourly", ["CREATE OR REPLACE USER hourly@'127.%' IDENTIFIED BY 'p' WITH MAX_QUERIES_PER_HOUR 9"]),
    *([] if is_mysql() else [
        ("slow", ["CREATE OR REPLACE USER slow@'127.%' IDENTIFIED BY 'p' WITH MAX_STATEMENT_TIME 9"])]),
    ("x" * 500, []), ("x" * 3000, []), ("a\nb", [])], ids=lambda value: str(value)[:10])
def test_every_refusal_has_one_answer(accounts, sql, user, setup):
    if "\n" in user or len(user) > 1000:  # not for memcached's lines
        assert log_in(accounts, user, "p")[1] == UNAUTH
        return
    assert refuse(accounts, sql, setup, user, "p") == [
        UNAUTH, b"CLIENT_ERROR authentication failure", (0x20, b"Auth failure.")]


@pytest.mark.mariadb("MySQL takes disconnect_on_expired_password at its start: test_mysql_login")
def test_expired_password_is_refused_where_sql_lets_it_in(accounts, sql):
    sql.run("CREATE OR REPLACE USER expired@'127.%' IDENTIFIED BY 'p' PASSWORD EXPIRE")
    sql.run("SET GLOBAL disconnect_on_expired_password = OFF")
    try:
        assert log_in(accounts, "expired", "p")[1] == UNAUTH
    finally:
        sql.run("SET GLOBAL disconnect_on_expired_password = DEFAULT")


def test_anonymous_account_lets_nobody_in(accounts, sql):
    sql.run("CREATE USER ''@'127.%'")
    try:
        assert log_in(accounts, "whoever", "")[1] == UNAUTH
    finally:
        sql.run("DROP USER ''@'127.%'")


def test_require_secure_transport_binds_accounts(accounts, sql):
    sql.run("SET GLOBAL require_secure_transport = ON")
    try:
        assert log_in(accounts, "app", "right")[1] == UNAUTH
    finally:
        sql.run("SET GLOBAL require_secure_transport = OFF")
    assert log_in(accounts, "app", "right")[1] == OK


# --- Guessing ---

def test_third_failure_ends_the_connection(accounts):
    client = connect(accounts)
    for _ in range(3):
        assert client.request("A", 2, "app", "wrong") == UNAUTH
    assert client.at_end()


def test_failures_delay_their_source_and_nobody_else(accounts):
    """Four logins of a source are under way at a time; each waits for its delay."""
    source = logins.fresh_source()
    guessing = [connect(accounts, source=source) for _ in range(8)]
    for client in guessing:
        client.send("A", 2, "app", "wrong")
    other, answer = log_in(accounts, "app", "right")
    assert answer == OK and is_in(other)
    waiting = [client for client in guessing if not client.readable(0)]
    assert waiting
    assert [client.recv() for client in guessing] == [UNAUTH] * 8


@pytest.mark.mariadb("max_password_errors; test_mysql_login has MySQL's FAILED_LOGIN_ATTEMPTS")
def test_too_many_wrong_passwords_block_the_account(accounts, sql):
    sql.run("CREATE OR REPLACE USER blocked@'127.%' IDENTIFIED BY 'p'")
    sql.run("SET GLOBAL max_password_errors = 2")
    try:
        for _ in range(2):
            assert log_in(accounts, "blocked", "x")[1] == UNAUTH
        assert log_in(accounts, "blocked", "p")[1] == UNAUTH
        sql.run("FLUSH PRIVILEGES")
        assert log_in(accounts, "blocked", "p")[1] == OK
    finally:
        sql.run("SET GLOBAL max_password_errors = DEFAULT")


def test_connections_count_for_their_account_until_they_end(accounts, sql):
    sql.run("CREATE OR REPLACE USER few@'127.%' IDENTIFIED BY 'p' WITH MAX_USER_CONNECTIONS 2")
    clients = [log_in(accounts, "few", "p") for _ in range(2)]
    assert [answer for _, answer in clients] == [OK, OK]
    assert log_in(accounts, "few", "p")[1] == UNAUTH
    # The same connection may log in again: its first place is given back before.
    clients[0][0].close()
    wait_until(lambda: log_in(accounts, "few", "p")[1] == OK, what="a place")


# --- Changes of the account ---

OTHER = "'other'" if is_mysql() else "PASSWORD('other')"


@pytest.mark.parametrize("statement", [
    "DROP USER changing@'127.%'", "ALTER USER changing@'127.%' ACCOUNT LOCK",
    "ALTER USER changing@'127.%' IDENTIFIED BY 'other'", f"SET PASSWORD FOR changing@'127.%' = {OTHER}",
    "ALTER USER changing@'127.%' REQUIRE SSL", "ALTER USER changing@'127.%' PASSWORD EXPIRE",
    "RENAME USER changing@'127.%' TO renamed@'127.%'"])
def test_change_of_an_account_ends_its_connections(accounts, sql, statement):
    sql.run("DROP USER IF EXISTS renamed@'127.%'")
    sql.run("CREATE OR REPLACE USER changing@'127.%' IDENTIFIED BY 'p'")
    sql.run("GRANT SELECT ON g.* TO changing@'127.%'")
    client, answer = log_in(accounts, "changing", "p")
    other, _ = log_in(accounts, "app", "right")
    assert answer == OK and is_in(client)
    cached = connect_mc(accounts)
    assert log_in_mc(cached, "changing", "p") == b"STORED"
    sql.run(statement)
    assert client.recv() == UNAUTH and client.at_end()
    assert cached.line() == b"CLIENT_ERROR unauthenticated" and cached.is_closed()
    assert is_in(other)
    assert log_in(accounts, "changing", "p")[1] == UNAUTH


# memcached.

def test_ascii_authentication(accounts):
    client = connect_mc(accounts)
    for line in ("get a", "mn", "mg a v", "version", "stats", "quit", "set a 0 0"):
        assert client.command(line) == b"CLIENT_ERROR unauthenticated"
    assert client.command("set a 0 0 3", b"app") == b"CLIENT_ERROR bad authentication token format"
    assert log_in_mc(client, "app", "wrong") == b"CLIENT_ERROR authentication failure"
    assert client.command("mn") == b"CLIENT_ERROR unauthenticated"
    assert log_in_mc(client, "app", "right") == b"STORED"
    assert client.command("mn") == b"MN"
    assert client.command("version").startswith(b"VERSION")


@pytest.mark.parametrize("line", [b"POST / HTTP/1.1", b"GET /?a=b HTTP/1.0", b"set / HTTP/1.1"])
def test_a_request_over_http_does_not_log_in(accounts, sql, line):
    tried = sql.status("Daemon_memcached_auths_tried")
    client = connect_mc(accounts)
    client.send(line + b"\r\n\r\nset a 0 0 9\r\napp right\r\nmn\r\n")
    assert client.is_closed()
    assert sql.status("Daemon_memcached_auths_tried") == tried


def test_sasl(accounts):
    client = connect_mc(accounts)
    assert client.binary(0x20).value == b"PLAIN"
    assert client.binary(mc.VERSION).status == 0
    assert sasl(client, "app", "right", mechanism=b"CRAM-MD5").status == 0x20
    assert sasl(client, "app", "right", opcode=0x22).status == 0x20
    assert sasl(client, "app", "wrong").status == 0x20
    answer = sasl(client, "app", "right")
    assert (answer.status, answer.value, answer.opaque) == (0, b"Authenticated", 0x7361736c)
    assert client.binary(mc.NOOP).status == 0
    assert client.binary(0x20).value == b"PLAIN"
    assert sasl(client, "app", "wrong").status == 0x20
    assert client.binary(mc.NOOP).status == 0x20 and client.is_closed()


def test_binary_request_before_the_login_ends_the_connection(accounts):
    client = connect_mc(accounts)
    answer = client.binary(mc.GET, key=b"a")
    assert (answer.status, answer.value) == (0x20, b"Auth failure.") and client.is_closed()


# --- Beside secrets, and without accounts ---

def test_host_may_be_a_name(make_server):
    """127.0.0.1 has its name without a name server."""
    server = make_server(options=[*logins.OPTIONS, "--skip-name-resolve=OFF"])
    logins.prepare(server).run("CREATE USER named@localhost IDENTIFIED BY 'p'")
    assert log_in(server, "named", "p", source="127.0.0.1")[1] == OK

def test_secret_beside_accounts(make_server):
    server = make_server(options=[*logins.OPTIONS, "--handlersocket-plain-secret-wr=se:cret"])
    logins.prepare(server)
    client = connect(server)
    assert client.auth("se:cret") == OK and is_in(client)
    assert client.auth("app:right") == OK and is_in(client)
    assert client.auth("se:crets") == UNAUTH and not is_in(client)
    assert client.request("A", 2, "se", "cret") == UNAUTH


def test_rights_are_those_of_the_last_login(make_server):
    """The secret gives the rights of the port's account, also behind a login."""
    server = start_with_accounts(make_server(start=False, options=[
        *logins.OPTIONS, "--handlersocket-plain-secret-wr=secret", "--handlersocket-user-wr=writer@localhost"]))
    logins.prepare(server).run("GRANT SELECT (id) ON g.t TO writer@localhost")
    client = connect(server)
    for _ in range(2):
        assert client.auth("secret") == OK and is_in(client)
        assert client.find(0, "=", [1]) == refused(3, "denied")
        assert client.auth("app:right") == OK
        assert client.find(0, "=", [1]) == reply(0, 2, 1, "one")


def test_without_accounts_a_password_is_no_key(server):
    client = server.hs_wr()
    assert client.request("A", 2, "root", "") == refused(3, "authtype")
    assert client.auth("root:") == UNAUTH
    client.ask_for_nothing()


def test_skip_grant_tables_lets_nobody_in(make_server):
    server = make_server(options=[*logins.OPTIONS, "--skip-grant-tables"])
    client = connect(server)
    assert client.request("A", 2, "root", "") == UNAUTH
    assert log_in_mc(connect_mc(server), "root", "x") == b"CLIENT_ERROR authentication failure"


@pytest.mark.mariadb("MySQL's accounts are read by other means")
def test_names_of_accounts_are_utf8_whatever_the_server_has_as_its_default(make_server):
    latin1 = ["--character-set-server=latin1", "--collation-server=latin1_swedish_ci"]
    server = make_server(options=[*logins.OPTIONS, *latin1])
    sql = logins.prepare(server)
    sql.run("CREATE USER 'jürgen'@'127.%%' IDENTIFIED BY %s", "right")
    sql.run("GRANT SELECT ON g.* TO 'jürgen'@'127.%'")
    client, answer = log_in(server, "jürgen", "right")
    assert answer == OK and client.open_index(0, "g", "t", "PRIMARY", "id,v") == OK
    assert client.find(0, "=", [1]) == reply(0, 2, 1, "one")
    assert log_in(server, "jürgen", "wrong")[1] == UNAUTH
