"""Logins that MySQL checks by means of its own: caching_sha2_password, second passwords, failed attempts, expiry,
roles."""

import time

import pytest

import logins
from account_server import PORT_OPTIONS, start_with_accounts
from hs import OK, refused, reply
from logins import UNAUTH, connect_mc, is_in, log_in, log_in_mc, sasl
from private_servers import create, remove
from server import wait_until

pytestmark = [pytest.mark.again_in("mysql-9.7"), pytest.mark.mysql("MySQL's own ways to log in"),
              pytest.mark.sanitized("mysql")]

DENIED = refused(3, "denied")


@pytest.fixture(scope="module")
def accounts(request):
    """One server with accounts for this file. It lets in whose password has expired."""
    server = create(request.config)
    server.start([*logins.OPTIONS, *logins.PLUGINS, "--disconnect-on-expired-password=OFF",
                  f"--handlersocket-socket-wr={server.directory}/wr.sock"])
    logins.prepare(server)
    yield server
    remove(server)


@pytest.fixture
def sql(accounts):
    yield accounts.sql()
    accounts.close_clients()


def everywhere(server, user, password):
    """The answers of all protocols to a login."""
    return [log_in(server, user, password)[1], log_in_mc(connect_mc(server), user, password),
            sasl(connect_mc(server), user, password).status]


IN = [OK, b"STORED", 0]
OUT = [UNAUTH, b"CLIENT_ERROR authentication failure", 0x20]


def test_passwords_of_caching_sha2_password(accounts, sql):
    """The first login asks for the whole password, the second one finds the server's memory of it."""
    sql.run("CREATE OR REPLACE USER via@'127.%' IDENTIFIED BY 'p'")
    for _ in range(2):
        assert everywhere(accounts, "via", "p") == IN
        assert everywhere(accounts, "via", "x") == OUT
    sql.run("FLUSH PRIVILEGES")
    assert everywhere(accounts, "via", "p") == IN
    sql.run("ALTER USER via@'127.%' IDENTIFIED BY 'other'")
    assert everywhere(accounts, "via", "p") == OUT
    assert everywhere(accounts, "via", "other") == IN


def test_sha256_password_lets_nobody_in_without_tls(accounts, sql):
    sql.run("CREATE OR REPLACE USER old@'127.%' IDENTIFIED WITH sha256_password BY 'p'")
    assert everywhere(accounts, "old", "p") == OUT


def test_both_passwords_of_an_account_let_in(accounts, sql):
    sql.run("CREATE OR REPLACE USER two@'127.%' IDENTIFIED BY 'old'")
    sql.run("ALTER USER two@'127.%' IDENTIFIED BY 'new' RETAIN CURRENT PASSWORD")
    assert [log_in(accounts, "two", password)[1] for password in ("old", "new", "x")] == [OK, OK, UNAUTH]
    sql.run("ALTER USER two@'127.%' DISCARD OLD PASSWORD")
    assert [log_in(accounts, "two", password)[1] for password in ("old", "new")] == [UNAUTH, OK]


def test_failed_attempts_lock_the_account(accounts, sql):
    sql.run("CREATE OR REPLACE USER tried@'127.%' IDENTIFIED BY 'p' FAILED_LOGIN_ATTEMPTS 3 PASSWORD_LOCK_TIME 1")
    assert log_in(accounts, "tried", "p")[1] == OK
    for _ in range(3):
        assert log_in(accounts, "tried", "x")[1] == UNAUTH
    assert log_in(accounts, "tried", "p")[1] == UNAUTH
    sql.run("ALTER USER tried@'127.%' ACCOUNT UNLOCK")
    assert log_in(accounts, "tried", "p")[1] == OK


def test_an_expired_password_lets_nobody_in_also_where_sql_does(accounts, sql):
    sql.run("CREATE OR REPLACE USER late@'127.%' IDENTIFIED BY 'p' PASSWORD EXPIRE")
    assert everywhere(accounts, "late", "p") == OUT
    sql.run("ALTER USER late@'127.%' IDENTIFIED BY 'q'")
    assert everywhere(accounts, "late", "q") == IN


def test_a_second_factor_lets_nobody_in(accounts, sql):
    sql.run("CREATE OR REPLACE USER twice@'127.%' IDENTIFIED BY 'p'")
    assert log_in(accounts, "twice", "p")[1] == OK
    sql.run("SET GLOBAL authentication_policy = '*,,'")
    sql.run("ALTER USER twice@'127.%' ADD 2 FACTOR IDENTIFIED WITH auth_socket AS 'daemon'")
    assert log_in(accounts, "twice", "p")[1] == UNAUTH


def test_a_login_has_the_roles_that_a_login_by_sql_has(accounts, sql):
    sql.run("CREATE ROLE seller")
    sql.run("GRANT SELECT ON g.t TO seller")
    sql.run("CREATE OR REPLACE USER clerk@'127.%' IDENTIFIED BY 'p'")
    sql.run("GRANT seller TO clerk@'127.%'")
    client, answer = log_in(accounts, "clerk", "p")
    assert answer == OK and client.open_index(0, "g", "t", "", "id,v") == DENIED
    sql.run("SET DEFAULT ROLE ALL TO clerk@'127.%'")
    assert client.open_index(0, "g", "t", "", "id,v") == OK
    assert client.find(0, "=", [1]) == reply(0, 2, 1, "one")
    sql.run("REVOKE seller FROM clerk@'127.%'")
    assert client.find(0, "=", [1]) == DENIED
    sql.run("DROP ROLE seller")


def test_a_grant_to_an_account_does_not_end_its_connections(accounts, sql):
    sql.run("CREATE OR REPLACE USER stays@'127.%' IDENTIFIED BY 'p'")
    sql.run("GRANT SELECT ON *.* TO stays@'127.%'")
    client, answer = log_in(accounts, "stays", "p")
    assert answer == OK and is_in(client)
    sql.run("GRANT INSERT ON *.* TO stays@'127.%'")
    other, answer = log_in(accounts, "stays", "p")
    sql.run("ALTER USER app@'127.%' COMMENT 'the watch has looked at all accounts when this connection ends'")
    watched, answer = log_in(accounts, "app", "right")
    assert answer == OK
    sql.run("ALTER USER app@'127.%' COMMENT ''")
    assert watched.recv() == UNAUTH
    assert client.find(0, "=", [1]) == reply(0, 2, 1, "one")
    assert is_in(other)


def test_a_partial_revoke_does_not_end_the_connections_of_an_account(accounts, sql):
    """MySQL keeps partial revokes beside the account's second password, whose change ends connections."""
    sql.run("SET GLOBAL partial_revokes = ON")
    try:
        sql.run("CREATE OR REPLACE USER parted@'127.%' IDENTIFIED BY 'p'")
        sql.run("GRANT SELECT, INSERT ON *.* TO parted@'127.%'")
        client, answer = log_in(accounts, "parted", "p")
        assert answer == OK and is_in(client)
        for statement, found in (
                ("REVOKE INSERT ON g.* FROM parted@'127.%'", reply(0, 2, 1, "one")),
                ("REVOKE SELECT ON g.* FROM parted@'127.%'", DENIED),
                ("GRANT SELECT, INSERT ON g.* TO parted@'127.%'", reply(0, 2, 1, "one"))):
            sql.run(statement)
            sql.run("ALTER USER app@'127.%' COMMENT ''")
            watched, answer = log_in(accounts, "app", "right")
            assert answer == OK
            sql.run("ALTER USER app@'127.%' COMMENT 'the watch has looked at all accounts'")
            assert watched.recv() == UNAUTH
            assert client.find(0, "=", [1]) == found, statement
        sql.run("ALTER USER parted@'127.%' IDENTIFIED BY 'q' RETAIN CURRENT PASSWORD")
        assert client.recv() == UNAUTH and client.at_end()
    finally:
        sql.run("DROP USER parted@'127.%'")  # Where an account has partial revokes, the variable stays ON.
        sql.run("SET GLOBAL partial_revokes = DEFAULT")


def test_require_secure_transport_binds_accounts_of_all_plugins(accounts, sql):
    sql.run("CREATE OR REPLACE USER safe@'127.%' IDENTIFIED BY 'p'")
    assert everywhere(accounts, "safe", "p") == IN
    sql.run("SET GLOBAL require_secure_transport = ON")
    try:
        assert everywhere(accounts, "safe", "p") == OUT
    finally:
        sql.run("SET GLOBAL require_secure_transport = OFF")


def test_ten_connections_of_an_account_are_counted_until_they_end(accounts, sql):
    sql.run("CREATE OR REPLACE USER few@'127.%' IDENTIFIED BY 'p' WITH MAX_USER_CONNECTIONS 10")
    clients = [log_in(accounts, "few", "p") for _ in range(10)]
    assert [answer for _, answer in clients] == [OK] * 10
    assert log_in(accounts, "few", "p")[1] == UNAUTH
    clients[0][0].close()
    wait_until(lambda: log_in(accounts, "few", "p")[1] == OK, 30, "a place")


def test_the_port_s_account_and_logins_stand_beside_each_other(make_server):
    server = start_with_accounts(make_server(start=False, options=[
        *logins.OPTIONS, *PORT_OPTIONS, "--handlersocket-plain-secret-wr=secret"]))
    logins.prepare(server).run("GRANT SELECT (id) ON g.t TO writer@localhost")
    client = logins.connect(server)
    for _ in range(2):
        assert client.auth("secret") == OK and is_in(client)
        assert client.find(0, "=", [1]) == DENIED
        assert client.auth("app:right") == OK
        assert client.find(0, "=", [1]) == reply(0, 2, 1, "one")


def test_an_account_stays_while_its_row_cannot_be_read(make_server):
    """Who has locked the accounts ends no connection, and does not keep the plugin from its end."""
    server = make_server(options=logins.OPTIONS)
    sql, holder = logins.prepare(server), server.sql()
    client, answer = log_in(server, "app", "right")
    assert answer == OK and is_in(client)
    holder.run("LOCK TABLES mysql.user WRITE")
    time.sleep(5)  # A look waits for two seconds, gives up, and the next one begins.
    assert client.find(0, "=", [1]) == reply(0, 2, 1, "one")
    sql.run("UNINSTALL PLUGIN handlersocket")
    assert client.at_end()
    holder.run("UNLOCK TABLES")


def test_looks_at_accounts_are_no_connections(make_server):
    server = make_server(options=logins.OPTIONS)
    sql = logins.prepare(server)
    client, answer = log_in(server, "app", "right")
    assert answer == OK and is_in(client)
    before = sql.status("Connections")
    time.sleep(2)  # Of looks there are ten a second at least.
    assert sql.status("Connections") <= before + 1, "the thread that looks is one"
    assert is_in(client)
