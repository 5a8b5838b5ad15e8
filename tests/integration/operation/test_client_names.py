"""The name that a client gives its connection, over each protocol, and where operators see it."""

import json
import subprocess
import sys

import pytest

import hs
import mc
import resp
from hs import OK, find_words, line, refused
from mc_tables import Container
from private_servers import create, remove
from server import REPOSITORY, wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8", "mysql-9.7"), pytest.mark.ours]


@pytest.fixture(scope="module")
def server(request):
    server = resp.start(lambda **kwargs: create(request.config, **kwargs))
    Container(server, "shop", "items")
    with mc.connect(server) as client:
        wait_until(lambda: client.command("mg @@items.?") == b"EN", 10, "the container")
    yield server
    remove(server)


@pytest.fixture
def sql(server):
    return server.sql()


def names(sql):
    """The names that connections have, by plugin."""
    rows = sql.rows("SELECT plugin, name FROM information_schema.ROWSOCKET_CONNECTIONS WHERE name IS NOT NULL AND name <> ''")
    found = {}
    for plugin, name in rows:
        found.setdefault(plugin.decode(), set()).add(name.decode())
    return found


def ask(server, program, *options):
    done = subprocess.run(
        [sys.executable, REPOSITORY / "packaging" / program, "--socket", server.env["SQL_SOCKET"], "--user", "root", *options],
        capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == "", done
    return done.stdout


def test_each_protocol_names_its_connection(server, sql):
    handlersocket, text, binary, redis = server.hs_rd(), mc.connect(server), mc.connect(server), resp.Client(server.resp_port)
    assert names(sql) == {}
    assert handlersocket.request("H", "name") == OK and handlersocket.request("N", "hs-1") == OK
    assert text.command("client_name text-1") == b"OK"
    assert binary.binary(0x1f, b"binary-1", b"\0\3").status == 0
    assert redis.ask("CLIENT", "SETNAME", "redis-1") == "OK"
    assert names(sql) == {"handlersocket": {"hs-1"}, "daemon_memcached": {"text-1", "binary-1"}, "resp": {"redis-1"}}
    # Another name, or none, takes its place; a wrong one leaves it.
    assert handlersocket.request("N", "hs 2") == refused(2, "name") and handlersocket.request("N", "hs-3") == OK
    text.send(b"client_name text-2 noreply\r\nmn\r\n")
    assert text.line() == b"MN" and binary.binary(0x1f).status == 0
    assert names(sql) == {"handlersocket": {"hs-3"}, "daemon_memcached": {"text-2"}, "resp": {"redis-1"}}
    for client in (handlersocket, text, binary, redis):
        client.close()
    wait_until(lambda: names(sql) == {}, 10, "the end of the connections")


def test_a_long_name_is_cut_where_all_connections_are_shown(server, sql):
    client = server.hs_rd()
    assert client.request("H", "name") == OK and client.request("N", "n" * 256) == OK
    assert names(sql) == {"handlersocket": {"n" * 64}}
    # Columns that a statement does not read are not those of another row.
    other = server.hs_rd()
    rows = sql.rows("SELECT * FROM information_schema.ROWSOCKET_CONNECTIONS WHERE plugin = 'handlersocket' ORDER BY id")
    assert [row[14] for row in rows] == [b"n" * 64, None]
    client.close()
    other.close()
    wait_until(lambda: names(sql) == {}, 10, "the end of the connections")


def test_a_slow_request_has_the_name_under_which_it_was_sent(server, sql):
    path = server.directory / "data" / "names.log"
    sql.run("SET GLOBAL slow_query_log_file = 'names.log'")
    sql.run("SET GLOBAL slow_query_log = 1")
    handlersocket, text = server.hs_rd(), mc.connect(server)
    handlersocket.opened("shop", "product", "PRIMARY", "name")
    sql.run("SET GLOBAL long_query_time = 0")
    try:
        # One pipeline, a name for each request in it: what a traced request is.
        handlersocket.send_raw(b"N\ttrace-7\n" + line(*find_words(0, "=", [7])) + b"N\ttrace-8\n" +
                               line(*find_words(0, "=", [8])) + b"N\n" + line(*find_words(0, "=", [9])))
        assert [handlersocket.recv().code for _ in range(6)] == [0] * 6
        text.send(b"client_name trace-1\r\nmg @@items.1 v\r\nclient_name trace-2\r\nmg @@items.2 v\r\n")
        assert [text.line() for _ in range(4)] == [b"OK", b"EN", b"OK", b"EN"]
        wait_until(lambda: path.exists() and b"('2') /* daemon_memcached get" in path.read_bytes(), 10, "the last request")
    finally:
        sql.run("SET GLOBAL long_query_time = 10")
    log = path.read_text(errors="replace")

    def end_of(key, plugin):
        [entry] = [one for one in log.splitlines() if f"('{key}') /* {plugin}" in one]
        return entry
    for key in (7, 8):
        assert end_of(key, "handlersocket find").endswith(f", trace-{key} */;")
    assert ", trace" not in end_of(9, "handlersocket find")
    for key in (1, 2):
        assert end_of(key, "daemon_memcached get").endswith(f", trace-{key} */;")


def test_top_shows_the_names_of_the_busiest_clients(server):
    client = server.hs_rd()
    client.opened("shop", "product", "PRIMARY", "name")
    assert client.request("N", "busy-1") == OK
    with subprocess.Popen([sys.executable, REPOSITORY / "packaging/rowsocket-top", "--json", "--interval", "0.3", "--socket",
                           server.env["SQL_SOCKET"], "--user", "root"], stdout=subprocess.PIPE, text=True) as process:
        try:
            for _ in range(20):
                for _ in range(50):
                    client.pipeline([(0, "=", 1, 7)])
                shown = json.loads(process.stdout.readline())["clients"]
                if shown and shown[0]["requests_per_second"] > 50:
                    break
        finally:
            process.kill()
    assert shown[0]["name"] == "busy-1" and shown[0]["requests_per_second"] > 50
    assert f"handlersocket {shown[0]['id']} busy-1 127.0.0.1:" in shown[0]["client"]


def test_the_doctor_names_a_client_that_does_not_read(server, sql):
    sql.run("CREATE TABLE shop.wide (id INT PRIMARY KEY, v LONGTEXT) ENGINE=InnoDB")
    sql.run("INSERT INTO shop.wide VALUES (1, REPEAT('x', 1000000))")
    client = hs.Client(("127.0.0.1", int(server.env["HS_PORT"])), receive_buffer_bytes=4096)
    client.opened("shop", "wide", "", "v")
    assert client.request("N", "deaf-1") == OK
    client.send_raw(line(*find_words(0, "=", [1], 1, 0)) * 50)
    said = []
    wait_until(lambda: said.append(ask(server, "rowsocket-doctor", "--live", "--interval", "0.3")) or " deaf-1 127.0.0.1:" in said[-1],
               30, "the client's name in what the doctor says")
    assert "that their clients do not read (such as handlersocket " in said[-1]
    client.close()
