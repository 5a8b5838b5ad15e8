"""Shutdown and UNINSTALL with thousands of connections and traffic: clean, quick, nothing lost."""

import re
import resource
import time

import pytest

import hs
from load import Crew, Reader, clients_kept, make_tables, make_writers, scaled, violations
from server import wait_until

END_S = 5          # docs/concurrency.md: after half a second statements are interrupted
CONNECTIONS = 3000


@pytest.fixture
def many_files():
    """As many open files as the machine allows, up to 3000 connections on both sides."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS + 500
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    yield limit - 500
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def bad_log_lines(text):
    """Lines that a clean end must not write into the log."""
    return [line for line in text.splitlines()
            if re.search(r"\[ERROR\]|got signal|[Ss]till \d+ thread|Assertion|corrupt", line)]


class Crowd:
    """Traffic, and many idle connections with opened ids."""

    def __init__(self, server, db, count, rng):
        sql = server.sql()
        make_tables(sql, db)
        self.idle = []
        for number in range(count):
            client = server.hs_wr() if number % 2 else server.hs_rd()
            client.send_raw(b"P\t0\t%s\tled\t\tw,seq,payload\n" % db.encode())
            self.idle.append(client)
        for client in self.idle:
            assert client.recv() == hs.reply(0, 1)
        self.writers = make_writers(server, sql, db, 4)
        self.readers = [Reader(server, db, self.writers, rng) for _ in range(2)]
        sql.close()

    def start(self, crew):
        for client in self.writers + self.readers:
            crew.start(client.run, crew.stopping)
        wait_until(lambda: crew.check() and all(one.acknowledged > 50 for one in self.writers)
                   and all(one.answers > 50 for one in self.readers), 30, "traffic")

    def all_closed(self):
        for client in self.idle:
            assert client.recv_all(10) == b""


def test_shutdown_under_traffic(make_server, many_files, rng):
    server = make_server(options=["--open-files-limit=8000"])
    for _ in range(2):
        db = f"down{_}"
        crowd = Crowd(server, db, many_files, rng)
        with Crew() as crew:
            crowd.start(crew)
            started, seen = time.monotonic(), len(server.log())
            with clients_kept(server):
                server.stop()
            took = time.monotonic() - started
            crowd.all_closed()
        assert took < END_S, f"{took:.1f} s"
        assert "Shutdown complete" in server.log()[seen:]
        assert bad_log_lines(server.log()[seen:]) == []
        server.close_clients()
        server.start()
        assert violations(server.sql(), crowd.writers) == []


def soname(server):
    return {"rowsocket": "rowsocket", "bundled": "handlersocket"}[server.plugin]


def plugin_is_there(sql):
    return sql.rows("SELECT 1 FROM information_schema.plugins WHERE plugin_name = 'handlersocket'")


def test_uninstall_and_install_under_traffic(make_server, many_files, rng):
    server = make_server(options=["--open-files-limit=8000"])
    sql = server.sql()
    for number in range(scaled(2)):
        db = f"un{number}"
        crowd = Crowd(server, db, many_files, rng)
        with Crew() as crew:
            crowd.start(crew)
            started, seen = time.monotonic(), len(server.log())
            sql.run(f"UNINSTALL SONAME '{soname(server)}'")
            wait_until(lambda: not plugin_is_there(sql), END_S, "the plugin to be gone")
            took = time.monotonic() - started
            crowd.all_closed()
        assert took < END_S, f"{took:.1f} s"
        assert bad_log_lines(server.log()[seen:]) == []
        assert violations(sql, crowd.writers) == []
        with pytest.raises(OSError):
            server.hs_rd()
        assert not [row for row in sql.rows("SHOW PROCESSLIST")
                    if b"handlersocket" in b" ".join(map(bytes, filter(None, row))).lower()]
        sql.run(f"DROP DATABASE {db}")
        sql.run(f"INSTALL SONAME '{soname(server)}'")
        for client in crowd.idle:
            client.close()
    assert server.hs_rd().open_index(0, "mysql", "no such table", "", "").code == 1


@pytest.mark.ours
def test_uninstall_takes_every_plugin_that_has_a_port(make_server):
    sql = make_server().sql()
    active = ("SELECT plugin_name FROM information_schema.plugins WHERE plugin_library = 'rowsocket.so'"
              " AND plugin_type = 'DAEMON' AND plugin_status = 'ACTIVE' ORDER BY plugin_name")
    for _ in range(2):
        assert sql.rows(active) == [(b"daemon_memcached",), (b"handlersocket",), (b"resp",)]
        sql.run("UNINSTALL SONAME 'rowsocket'")
        wait_until(lambda: not sql.rows(active), END_S, "the plugins to be gone")
        sql.run("INSTALL SONAME 'rowsocket'")


def test_install_and_uninstall_again_and_again(make_server):
    server = make_server()
    sql = server.sql()
    sql.run("CREATE DATABASE again")
    sql.run("CREATE TABLE again.t (id INT PRIMARY KEY, n INT NOT NULL)")
    sql.run("INSERT INTO again.t VALUES (1, 0)")
    seen = len(server.log())
    for count in range(scaled(12)):
        client, reader = server.hs_wr(), server.hs_rd()
        for one in (client, reader):
            assert one.open_index(0, "again", "t", "", "n") == hs.reply(0, 1)
            assert one.find(0, "=", [1]) == hs.reply(0, 1, count)
        assert client.modify(0, "=", [1], ["+", 1]) == hs.reply(0, 1, 1)
        sql.run(f"UNINSTALL SONAME '{soname(server)}'")
        wait_until(lambda: not plugin_is_there(sql), END_S, "the plugin to be gone")
        assert client.at_end() and reader.at_end()
        sql.run(f"INSTALL SONAME '{soname(server)}'")
    assert sql.value("SELECT n FROM again.t") == b"%d" % scaled(12)
    assert bad_log_lines(server.log()[seen:]) == []


def test_uninstall_while_a_client_waits_for_a_lock(make_server):
    """The waiting request is answered, or its connection is closed; it does not delay the end."""
    server = make_server()
    sql, holder = server.sql(), server.sql()
    sql.run("CREATE DATABASE waiting")
    sql.run("CREATE TABLE waiting.t (id INT PRIMARY KEY, n INT NOT NULL)")
    sql.run("INSERT INTO waiting.t VALUES (1, 0), (2, 0)")
    holder.run("BEGIN")
    holder.run("UPDATE waiting.t SET n = 5 WHERE id = 1")
    client = server.hs_wr()
    assert client.open_index(0, "waiting", "t", "", "n") == hs.reply(0, 1)
    client.send(*hs.find_words(0, "=", [1], 1, 0, mod=["+", 1]))
    other = server.hs_wr()
    assert other.open_index(0, "waiting", "t", "", "n") == hs.reply(0, 1)
    assert other.modify(0, "=", [2], ["+", 1]) == hs.reply(0, 1, 1)
    started = time.monotonic()
    sql.run(f"UNINSTALL SONAME '{soname(server)}'")
    wait_until(lambda: not plugin_is_there(sql), END_S, "the plugin to be gone")
    assert time.monotonic() - started < END_S
    answer = client.recv_all(10)
    assert answer == b"" or answer.startswith(b"1\t1\t"), answer
    holder.run("COMMIT")
    assert sql.value("SELECT n FROM waiting.t WHERE id = 1") == b"5"
