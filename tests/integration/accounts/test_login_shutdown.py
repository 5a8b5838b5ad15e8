"""The server shuts down while logins wait to be checked, and while accounts in use are watched: it ends cleanly."""

import contextlib
import itertools
import threading

import pymysql
import pytest

import hs
import logins
from load import clients_kept, scaled
from test_shutdown import bad_log_lines

pytestmark = [pytest.mark.again_in("mariadb-11.8", "mysql-9.7"), pytest.mark.ours]

QUEUED = 64


@pytest.fixture
def server(make_server):
    server = make_server(options=logins.OPTIONS)
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


def change_grants(server, ended):
    with contextlib.suppress(pymysql.MySQLError, OSError):
        sql = server.sql()
        for number in itertools.count():
            if ended.is_set():
                return
            sql.run(f"CREATE USER IF NOT EXISTS other{number % 5}@localhost IDENTIFIED BY 'x'")
            sql.run(f"DROP USER other{number % 5}@localhost")


def test_shutdowns_beside_logins(server):
    for _ in range(scaled(4)):
        ended = threading.Event()
        in_use = [logins.log_in(server, "app", "right")[0] for _ in range(3)]
        threads = [threading.Thread(target=keep_logging_in, args=(server, ended)) for _ in range(3)]
        threads.append(threading.Thread(target=change_grants, args=(server, ended)))
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
