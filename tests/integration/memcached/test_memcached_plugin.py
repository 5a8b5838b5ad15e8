"""The plugin daemon_memcached: alone and beside the other plugin, its variables, its status."""

import os
import pathlib
import socket
import tempfile

import pytest

import mc
from mc_tables import definition
from server import StartFailed, run_packaged, wait_until

pytestmark = pytest.mark.ours


@pytest.fixture
def open_folder():
    """A folder in which the server's own user may make a socket, too."""
    with tempfile.TemporaryDirectory(prefix="rs-") as name:
        pathlib.Path(name).chmod(0o777)
        yield pathlib.Path(name)


def test_daemon_memcached_can_be_installed_and_uninstalled_alone(make_server):
    server = make_server("none")
    sql = server.sql()
    sql.run("INSTALL PLUGIN daemon_memcached SONAME 'rowsocket.so'")
    assert sql.rows("SELECT PLUGIN_NAME FROM information_schema.PLUGINS WHERE PLUGIN_LIBRARY LIKE "
                    "'rowsocket%'") == [(b"daemon_memcached",)]
    client = mc.Client(("127.0.0.1", int(sql.value("SELECT @@daemon_memcached_port"))))
    assert client.command("get a").startswith(b"SERVER_ERROR innodb_memcache.containers cannot be read")
    run_packaged(sql, "innodb_memcache.sql")
    assert client.set(b"a", b"1") == b"STORED"
    sql.run("UNINSTALL PLUGIN daemon_memcached")
    assert client.is_closed()
    assert sql.rows("SHOW GLOBAL STATUS LIKE 'Daemon_memcached%'") == []


def test_the_documents_example_leaves_a_container_of_its_name(make_server):
    sql = make_server().sql()
    run_packaged(sql, "innodb_memcache.sql")
    sql.run("REPLACE INTO innodb_memcache.containers VALUES ('user', 'mine', 'people', 'id', 'name', '0', '0', '0', 'PRIMARY')")
    run_packaged(sql, "example.sql")
    assert definition(sql, "user")["db_schema"] == "mine"
    sql.run("DELETE FROM innodb_memcache.containers WHERE name = 'user'")
    run_packaged(sql, "example.sql")
    assert definition(sql, "user")["db_schema"] == "test"


def test_memcacheds_own_options_and_a_unix_socket(make_server, open_folder):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        free = probe.getsockname()[1]
    path = str(open_folder / "mc.sock")
    other = make_server(options=[f"--daemon-memcached-option=-p {free} -t2 -c 3 -m 64 -U 0",
                                 f"--daemon-memcached-socket={path}"])
    first, second = mc.Client(("127.0.0.1", free)), mc.Client(path)
    assert first.set(b"a", b"1") == b"STORED"
    assert second.get("a") == {b"a": (0, b"1")}
    assert os.stat(path).st_mode & 0o777 == 0o770
    settings = first.stats("settings")
    assert (settings["num_threads"], settings["maxconns"], settings["tcpport"]) == (
        "2", "3", str(free))
    sql = other.sql()
    assert [sql.value(f"SELECT @@daemon_memcached_{name}") for name in ("threads", "connections_max")] == [b"2", b"3"]
    log = other.log()
    assert "daemon_memcached_option: -m has no meaning here" in log
    assert "daemon_memcached_option: -U has no meaning here" in log


def test_an_option_without_meaning_is_printable_in_the_log(make_server):
    server = make_server(options=["--daemon-memcached-option=-m\x1b[31m"])
    warning = next(line for line in server.log().splitlines() if " has no meaning here" in line)
    assert "daemon_memcached_option: -m" in warning and "\x1b" not in warning


def test_memcacheds_own_socket_option_replaces_the_port(make_server, open_folder):
    path = str(open_folder / "mc.sock")
    make_server(options=[f"--daemon-memcached-option=-s {path} -a 0700 -p 1"])
    with mc.Client(path) as client:
        assert client.set(b"a", b"1") == b"STORED"
        assert client.stats("settings")["tcpport"] == "0"
    assert os.stat(path).st_mode & 0o777 == 0o700


def test_mysqls_variables_are_accepted(make_server):
    given = {"engine_lib_name": b"innodb_engine.so", "engine_lib_path": b"/usr/lib", "r_batch_size": b"1000",
             "w_batch_size": b"32", "enable_binlog": b"0"}
    server = make_server(options=[f"--daemon-memcached-{name.replace('_', '-')}={value.decode()}"
                                  for name, value in given.items()])
    with mc.connect(server) as client:
        client.ask_for_nothing()
    sql = server.sql()
    assert {name: sql.value(f"SELECT @@daemon_memcached_{name}") for name in given} == given


def test_a_wrong_option_is_named(make_server):
    with pytest.raises(StartFailed, match="-t needs a value, not 'many'"):
        make_server(options=["--daemon-memcached-option=-t many"])


@pytest.mark.parametrize("option", ["-t 3001", "-c 0", "-c 1048577", "-c 3000000000", "-I 1023",
                                    "-I 1025m"])
def test_an_option_out_of_range_is_refused(make_server, option):
    with pytest.raises(StartFailed, match="daemon_memcached_option: "):
        make_server(options=[f"--daemon-memcached-option={option}"])


def test_options_at_the_ends_of_their_ranges(make_server):
    server = make_server(options=["--daemon-memcached-option=-I 1k -c 1048576"])
    client = mc.connect(server)
    assert client.stats("settings")["maxconns"] == "1048576"
    assert client.set(b"a", b"x" * 1024) == b"STORED"
    assert client.set(b"a", b"x" * 1025) == b"SERVER_ERROR object too large for cache"


def test_counters_in_stats_and_status(make_server):
    server = make_server()
    sql, client = server.sql(), mc.connect(server)
    assert client.set(b"a", b"12") == b"STORED"
    assert client.value("a") == b"12"
    assert client.get("b", "a").keys() == {b"a"}
    client.command("incr a 1")
    assert client.command("incr a x").startswith(b"CLIENT_ERROR")
    stats = client.stats()
    expected = {"cmd_get": 3, "cmd_set": 1, "get_hits": 2, "get_misses": 1, "incr_hits": 1,
                "container:default:hits": 2, "container:default:misses": 1,
                "container:default:writes": 2, "curr_connections": 1}
    assert {name: int(stats[name]) for name in expected} == expected
    for name, value in {"hits": 2, "misses": 1, "sets": 1, "gets": 3, "connections": 1}.items():
        assert sql.status(f"Daemon_memcached_{name}") == value, name
    assert sql.status("Daemon_memcached_errors") >= 1
    assert sql.status("Daemon_memcached_bytes_received") > 0
    assert client.command("stats reset") == b"RESET"
    assert client.stats()["cmd_get"] == "0"
    assert sql.status("Daemon_memcached_hits") == 2


def test_workers_are_in_the_process_list_as_memcached(make_server):
    server = make_server()
    client = mc.connect(server)
    client.command("version")
    states = "SELECT STATE FROM information_schema.PROCESSLIST WHERE USER = 'memcached'"
    wait_until(lambda: any(b"memcached: mode=rw, 1 conns" in state
                           for (state,) in server.sql().rows(states)),
               what="a worker with one connection")


def test_flush_all_needs_to_be_allowed(make_server):
    server = make_server()
    client = mc.connect(server)
    client.set(b"a", b"1")
    assert client.command("flush_all") == b"CLIENT_ERROR flush_all not allowed"
    assert client.stats("settings")["flush_enabled"] == "no"
    assert client.get("a") == {b"a": (0, b"1")}


def test_a_relaxed_container_is_one_by_choice(make_server):
    server = make_server()
    server.sql().run("INSERT INTO innodb_memcache.config_options VALUES ('durability.default', 'relaxed')")
    server.stop()
    server.start()
    sql, client = server.sql(), mc.connect(server)
    for number in range(50):
        assert client.set(b"k%d" % number, b"v") == b"STORED"
    assert int(sql.value("SELECT COUNT(*) FROM innodb_memcache.demo")) == 50
    # Writes that are not flushed yet do not keep the server from stopping, and are there after the restart.
    server.stop()
    server.start()
    assert int(server.sql().value("SELECT COUNT(*) FROM innodb_memcache.demo")) == 50
