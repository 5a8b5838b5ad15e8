"""Passwords of accounts that come by another address than loopback: the test's own network, which is this
machine alone, has one."""

import contextlib
import ctypes
import os
import subprocess
import time

import pytest

import hs
import logins
import mc
from hs import OK, refused
from logins import UNAUTH

pytestmark = pytest.mark.ours

FAR = "192.0.2.1"
CLONE_NEWNET = 0x40000000


@contextlib.contextmanager
def network_of_its_own():
    """This thread and the processes that it starts have a network without a way out."""
    libc = ctypes.CDLL(None, use_errno=True)
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        if libc.unshare(CLONE_NEWNET) != 0:
            pytest.skip(f"a network of its own needs root: {os.strerror(ctypes.get_errno())}")
        try:
            for words in (("link", "set", "lo", "up"), ("address", "add", f"{FAR}/32", "dev", "lo")):
                subprocess.run(["ip", *words], check=True, capture_output=True)
            yield
        finally:
            assert libc.setns(before, CLONE_NEWNET) == 0
    finally:
        os.close(before)


@pytest.fixture
def start(make_server):
    """start(options): a server that clients reach at FAR, and its account for them."""
    with network_of_its_own():
        def started(*options):
            server = make_server(options=[*logins.OPTIONS, "--handlersocket-address=0.0.0.0",
                                          "--daemon-memcached-address=0.0.0.0", *options])
            logins.prepare(server).run(f"CREATE USER far@'{FAR}' IDENTIFIED BY 'right'")
            return server
        yield started


def far(server):
    return server.connect((FAR, int(server.env["HS_PORT_WR"])), source=FAR)


def far_mc(server):
    client = mc.Client((FAR, int(server.env["MEMCACHED_PORT"])), source=FAR)
    server.clients.append(client)
    return client


def test_password_without_tls_is_not_looked_at(start):
    server = start()
    for password in ("right", "wrong"):
        client = far(server)
        client.send_raw(hs.line("A", 2, "far", password) + b"P\t0\tg\tt\t\tid\n")
        assert client.recv() == refused(3, "needtls") and client.at_end()
    client = far(server)
    assert client.auth("far:right") == refused(3, "needtls") and client.at_end()
    cached = far_mc(server)
    assert logins.log_in_mc(cached, "far", "right") == b"CLIENT_ERROR TLS required" and cached.is_closed()
    cached = far_mc(server)
    assert logins.sasl(cached, "far", "right").status == 0x20 and cached.is_closed()
    sql = server.sql()
    assert sql.status("Handlersocket_errors_needtls") == 3
    assert sql.status("Aborted_connects") == 0
    assert logins.log_in(server, "app", "right")[1] == OK


def test_password_without_tls_where_that_is_allowed(start):
    server = start("--handlersocket-accounts-insecure=ON", "--daemon-memcached-accounts-insecure=ON")
    assert far(server).request("A", 2, "far", "right") == OK
    assert far(server).request("A", 2, "far", "wrong") == UNAUTH
    assert logins.log_in_mc(far_mc(server), "far", "right") == b"STORED"


@pytest.mark.parametrize("accounts", ["OFF", "ON"])
def test_a_wrong_secret_without_tls_is_refused_after_a_delay(start, accounts):
    """A secret may come without TLS, so that `needtls` would be the wrong advice."""
    server = start(f"--handlersocket-accounts={accounts}", "--handlersocket-plain-secret=reading",
                   "--handlersocket-plain-secret-wr=writing")
    client = far(server)
    began = time.monotonic()
    for key in ("wrong", "", "reading"):
        assert client.auth(key) == UNAUTH
    assert client.at_end()
    assert time.monotonic() - began > 0.6, "delays of 100, 200 and 400 ms"
    sql = server.sql()
    assert sql.status("Handlersocket_errors_needtls") == 0
    assert sql.status("Handlersocket_auths_failed") == 3
    assert far(server).auth("writing") == OK
    if accounts == "ON":
        client = far(server)
        assert client.request("A", 2, "", "right") == refused(3, "needtls") and client.at_end()
