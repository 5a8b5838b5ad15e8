"""The server shuts down while logins wait to be checked, TLS handshakes are under way, and accounts in use send
requests and are watched: it ends cleanly."""

import contextlib
import itertools
import socket
import ssl
import threading

import pymysql
import pytest

import hs
import logins
import tls
from load import clients_kept, scaled
from test_shutdown import bad_log_lines

pytestmark = [pytest.mark.again_in("mariadb-11.8", "mysql-9.7"), pytest.mark.ours,
              pytest.mark.sanitized("mariadb", "mysql")]

QUEUED = 64


@pytest.fixture(scope="module")
def certificates():
    return tls.Certificates.shared()


@pytest.fixture
def server(make_server, certificates):
    server = make_server(options=[*logins.OPTIONS, *tls.TLS_ON, *certificates.options()])
    logins.prepare(server)
    return server


def keep_logging_in(server, ended):
    """Right and wrong logins from many sources, so that some are under way at every moment."""
    for number in itertools.count():
        if ended.is_set():
            return
        with contextlib.suppress(OSError, hs.Closed):
            client = logins.connect(server)
            client.send_raw(b"A\t2\tapp\t%s\n" % (b"right" if number % 2 else b"wrong"))
            if number % 3 == 0:
                client.recv()
            client.close()


def keep_shaking_hands(server, certificates, ended):
    """TLS handshakes: whole ones, and others that stop behind the ClientHello."""
    context = certificates.context()
    while not ended.is_set():
        with contextlib.suppress(OSError), socket.create_connection(tls.address(server), timeout=5) as raw:
            half = ssl.MemoryBIO()
            with contextlib.suppress(ssl.SSLWantReadError):
                context.wrap_bio(ssl.MemoryBIO(), half).do_handshake()
            raw.sendall(half.read())
            context.wrap_socket(socket.create_connection(tls.address(server), timeout=5)).close()


def keep_finding(client, ended):
    with contextlib.suppress(OSError, hs.Closed):
        client.open_index(0, "g", "t", "", "v")
        while not ended.is_set():
            client.pipeline([hs.find_words(0, "=", [1])] * 16)


def change_grants(server, ended):
    with contextlib.suppress(pymysql.MySQLError, OSError):
        sql = server.sql()
        for number in itertools.count():
            if ended.is_set():
                return
            sql.run(f"CREATE USER IF NOT EXISTS other{number % 5}@localhost IDENTIFIED BY 'x'")
            sql.run(f"DROP USER other{number % 5}@localhost")


def test_shutdowns_beside_logins(server, certificates):
    for _ in range(scaled(4)):
        ended = threading.Event()
        in_use = [logins.log_in(server, "app", "right")[0] for _ in range(3)]
        threads = [threading.Thread(target=keep_logging_in, args=(server, ended)) for _ in range(3)]
        threads.append(threading.Thread(target=change_grants, args=(server, ended)))
        threads.append(threading.Thread(target=keep_shaking_hands, args=(server, certificates, ended)))
        threads += [threading.Thread(target=keep_finding, args=(client, ended)) for client in in_use]
        for thread in threads:
            thread.start()
        source = logins.fresh_source()
        queued = [logins.connect(server, source=source) for _ in range(QUEUED)]
        for client in queued:
            client.send_raw(b"A\t2\tapp\twrong\n")
        begin = len(server.log())
        with clients_kept(server):
            server.stop()
        ended.set()
        for thread in threads:
            thread.join()
        said = server.log()[begin:]
        assert "hutdown complete" in said and bad_log_lines(said) == []
        server.close_clients()
        server.start()
        assert in_use and queued
