"""Accounts that REQUIRE TLS, or a certificate: by logins over TLS, and without it."""

import pytest

import logins
import tls
from hs import OK
from logins import UNAUTH
from private_servers import create, remove
from test_connections_table import connections

pytestmark = [pytest.mark.ours, pytest.mark.sanitized("mariadb")]


@pytest.fixture(scope="module")
def served(request):
    certificates = tls.Certificates.shared()
    server = create(request.config)
    server.start([*logins.OPTIONS, *tls.TLS_ON, *certificates.options()])
    logins.prepare(server)
    yield server
    remove(server)


def answer(server, user, password="p", client="none"):
    """The answer to a login: plain, over TLS, or over TLS with a client's certificate."""
    if client == "plain":
        return logins.log_in(server, user, password)[1]
    context = tls.Certificates.shared().context(client=None if client == "none" else client)
    connection = server.connect(tls.address(server, "HS_PORT_WR"), tls=context, source=logins.fresh_source())
    return connection.request("A", 2, user, password)


@pytest.mark.parametrize("requires,plain,none,app", [
    ("NONE", OK, OK, OK), ("SSL", UNAUTH, OK, OK), ("X509", UNAUTH, UNAUTH, OK),
    ("SUBJECT '/CN=app'", UNAUTH, UNAUTH, OK), ("SUBJECT '/CN=other'", UNAUTH, UNAUTH, UNAUTH),
    ("ISSUER '/CN=ours'", UNAUTH, UNAUTH, OK), ("ISSUER '/CN=theirs'", UNAUTH, UNAUTH, UNAUTH)])
def test_account_requires(served, requires, plain, none, app):
    served.sql().run(f"CREATE OR REPLACE USER req@'127.%' IDENTIFIED BY 'p' REQUIRE {requires}")
    got = [answer(served, "req", client=client) for client in ("plain", "none", "app")]
    assert got == [plain, none, app]


def test_certificate_takes_the_place_of_a_password(served):
    served.sql().run("CREATE OR REPLACE USER bare@'127.%' REQUIRE SUBJECT '/CN=app'")
    assert answer(served, "bare", "", client="app") == OK
    assert answer(served, "bare", "", client="none") == UNAUTH


def test_table_of_connections_shows_tls(served):
    served.close_clients()
    context = tls.Certificates.shared().context(client="app")
    client = served.connect(tls.address(served, "HS_PORT_WR"), tls=context, source=logins.fresh_source())
    assert client.request("A", 2, "app", "right") == OK
    [row] = [row for row in connections(served.sql()) if row["tls_version"]]
    assert row["tls_version"].decode() == client.sock.version()
    assert row["tls_cipher"].decode() == client.sock.cipher()[0]
    assert (row["tls_subject"], row["account"]) == (b"/CN=app", b"app@127.%")
