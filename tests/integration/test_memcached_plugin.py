"""The plugin daemon_memcached: alone and beside the other, its variables, what it shows of itself."""

import pathlib
import socket
import tempfile

import pytest

from server import REPOSITORY, Server, StartFailed, wait_until

pytestmark = pytest.mark.ours


class Client:
    """One connection that talks memcached's text protocol, request by request."""

    def __init__(self, port_or_path):
        if isinstance(port_or_path, str):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(20)
            self.socket.connect(port_or_path)
        else:
            self.socket = socket.create_connection(("127.0.0.1", port_or_path), timeout=20)
        self.replies = self.socket.makefile("rb")

    def line(self, request):
        """The line that answers a request."""
        self.socket.sendall(request + b"\r\n")
        return self.replies.readline().removesuffix(b"\r\n")

    def lines(self, request):
        """All lines up to END."""
        self.socket.sendall(request + b"\r\n")
        lines = []
        while not lines or lines[-1] not in (b"END", b""):
            lines.append(self.replies.readline().removesuffix(b"\r\n"))
        return lines

    def set(self, key, value):
        return self.line(b"set %s 0 0 %d\r\n%s" % (key, len(value), value))

    def stats(self, argument=b""):
        lines = self.lines((b"stats " + argument).strip())[:-1]
        return dict(line.decode().split(" ", 2)[1:] for line in lines)

    def close(self):
        self.replies.close()
        self.socket.close()


@pytest.fixture
def start(request):
    servers = []

    def started(*options, plugin="rowsocket"):
        server = Server(plugin, options, keep=request.config.getoption("--keep"))
        servers.append(server)
        return server.start()
    yield started
    for server in servers:
        server.stop()


@pytest.fixture
def open_folder():
    """Where the server's own user may make a socket, too."""
    with tempfile.TemporaryDirectory(prefix="rs-") as name:
        pathlib.Path(name).chmod(0o777)
        yield pathlib.Path(name)


def port_of(server):
    return int(server.env["MEMCACHED_PORT"])


def test_it_can_be_installed_alone_and_leaves_cleanly(start):
    server = start(plugin="none")
    sql = server.sql()
    sql.run("INSTALL PLUGIN daemon_memcached SONAME 'rowsocket.so'")
    assert sql.rows("SELECT PLUGIN_NAME FROM information_schema.PLUGINS WHERE PLUGIN_LIBRARY LIKE "
                    "'rowsocket%'") == [(b"daemon_memcached",)]
    client = Client(int(sql.value("SELECT @@daemon_memcached_port")))
    assert client.line(b"get a").startswith(b"SERVER_ERROR innodb_memcache.containers cannot be read")
    with open(server_script(), encoding="utf-8") as script:
        run_script(sql, script.read())
    assert client.set(b"a", b"1") == b"STORED"
    sql.run("UNINSTALL PLUGIN daemon_memcached")
    assert client.replies.read() == b""
    assert sql.rows("SHOW GLOBAL STATUS LIKE 'Daemon_memcached%'") == []


def server_script():
    return REPOSITORY / "packaging" / "innodb_memcache.sql"


def run_script(sql, text):
    lines = [line for line in text.splitlines() if not line.startswith("--")]
    for statement in "\n".join(lines).split(";"):
        if statement.strip():
            sql.run(statement)


def test_memcacheds_own_options_and_a_unix_socket(start, open_folder):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        free = probe.getsockname()[1]
    path = str(open_folder / "mc.sock")
    other = start(f"--daemon-memcached-option=-p {free} -t2 -c 3 -s {path} -m 64 -U 0")
    first, second = Client(free), Client(path)
    assert first.set(b"a", b"1") == b"STORED"
    assert second.lines(b"get a") == [b"VALUE a 0 1", b"1", b"END"]
    settings = first.stats(b"settings")
    assert (settings["num_threads"], settings["maxconns"], settings["tcpport"]) == (
        "2", "3", str(free))
    log = other.log()
    assert "daemon_memcached_option: -m has no meaning here" in log
    assert "daemon_memcached_option: -U has no meaning here" in log


def test_a_wrong_option_is_named(start):
    with pytest.raises(StartFailed, match="-t needs a value, not 'many'"):
        start("--daemon-memcached-option=-t many")


def test_counters_in_stats_and_status(start):
    server = start()
    sql, client = server.sql(), Client(port_of(server))
    assert client.set(b"a", b"12") == b"STORED"
    client.lines(b"get a")
    client.lines(b"get b a")
    client.line(b"incr a 1")
    assert client.line(b"incr a x").startswith(b"CLIENT_ERROR")
    stats = client.stats()
    expected = {"cmd_get": 3, "cmd_set": 1, "get_hits": 2, "get_misses": 1, "incr_hits": 1,
                "container:default:hits": 2, "container:default:misses": 1,
                "container:default:writes": 2, "curr_connections": 1}
    assert {name: int(stats[name]) for name in expected} == expected
    for name, value in {"hits": 2, "misses": 1, "sets": 1, "gets": 3, "connections": 1}.items():
        assert sql.status(f"Daemon_memcached_{name}") == value, name
    assert sql.status("Daemon_memcached_errors") >= 1
    assert sql.status("Daemon_memcached_bytes_received") > 0
    assert client.line(b"stats reset") == b"RESET"
    assert client.stats()["cmd_get"] == "0"
    assert sql.status("Daemon_memcached_hits") == 2


def test_workers_are_in_the_process_list_as_memcached(start):
    server = start()
    client = Client(port_of(server))
    client.line(b"version")
    states = "SELECT STATE FROM information_schema.PROCESSLIST WHERE USER = 'memcached'"
    wait_until(lambda: any(b"memcached: mode=rw, 1 conns" in state
                           for (state,) in server.sql().rows(states)),
               what="a worker with one connection")


def test_flush_all_needs_to_be_allowed(start):
    server = start()
    client = Client(port_of(server))
    client.set(b"a", b"1")
    assert client.line(b"flush_all") == b"CLIENT_ERROR flush_all not allowed"
    assert client.stats(b"settings")["flush_enabled"] == "no"
    assert client.lines(b"get a") == [b"VALUE a 0 1", b"1", b"END"]


def test_a_relaxed_container_is_one_by_choice(start):
    server = start()
    sql, client = server.sql(), Client(port_of(server))
    sql.run("INSERT INTO innodb_memcache.config_options VALUES ('durability.default', 'relaxed')")
    for number in range(50):
        assert client.set(b"k%d" % number, b"v") == b"STORED"
    assert int(sql.value("SELECT COUNT(*) FROM innodb_memcache.demo")) == 50
    # What is still owed does not keep the server from stopping, and is there afterwards.
    server.stop()
    server.start()
    assert int(server.sql().value("SELECT COUNT(*) FROM innodb_memcache.demo")) == 50
