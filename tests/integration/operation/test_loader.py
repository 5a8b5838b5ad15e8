"""The loader that packages have: it opens the library of the running version, or says that there is none."""

import shutil
import subprocess

import pytest

from server import REPOSITORY, SERVERS, Server, server_env, server_name

pytestmark = [pytest.mark.ours, pytest.mark.mariadb("a package of MySQL has no loader")]


def release(server):
    """The folder in which scripts/build has made the library for the server."""
    return REPOSITORY / ("build" if server == SERVERS[0] else f"build-{server}")


LIBRARY = release(server_name()) / "rowsocket.so"
# A package has the loader that was built for its first server, and that one is for the other servers, too.
LOADERS = [release(server) / "loader/rowsocket.so" for server in SERVERS
           if server == server_name() or (release(server) / "loader/rowsocket.so").exists()]
INSTALL = "INSTALL SONAME 'rowsocket'"
PLUGINS = ["daemon_memcached", "handlersocket", "resp", "ROWSOCKET_CONNECTIONS", "ROWSOCKET_HOT_ROWS",
           "ROWSOCKET_LATENCY", "ROWSOCKET_TABLE_STATISTICS", "ROWSOCKET_USER_STATISTICS"]


def active_plugins(sql):
    return [row[0].decode() for row in sql.rows(
        "SELECT PLUGIN_NAME FROM information_schema.PLUGINS WHERE PLUGIN_LIBRARY = 'rowsocket.so'"
        " AND PLUGIN_STATUS = 'ACTIVE' ORDER BY LOWER(PLUGIN_NAME)")]


@pytest.fixture(params=LOADERS, ids=lambda loader: loader.parent.parent.name)
def loaded(request):
    """A server without plugin, whose plugin folder has the loader and our library as that of a version."""
    servers = []

    def with_library_for(version):
        server = Server("none", keep=request.config.getoption("--keep"),
                        environment={"ROWSOCKET_SO": str(request.param)})
        servers.append(server)
        folder = server.directory / "plugin"
        folder.mkdir(parents=True)
        shutil.copy(LIBRARY, folder / f"rowsocket.so.{version}")
        server.start()
        return server

    yield with_library_for
    for server in servers:
        server.remove()


def test_the_library_of_the_running_version_serves(loaded):
    server = loaded(server_env()["ROWSOCKET_SERVER_VERSION"])
    sql = server.sql()
    sql.run("CREATE TABLE test.t (a INT PRIMARY KEY, b INT) ENGINE=InnoDB")
    sql.run("INSERT INTO test.t VALUES (1, 2)")
    for _ in range(2):
        sql.run(INSTALL)
        client = server.hs_wr()
        assert client.request("P", "0", "test", "t", "PRIMARY", "b").code == 0
        assert client.request("0", "=", "1", "1").rows == [(b"2",)]
        assert active_plugins(sql) == PLUGINS
        assert sql.rows("SELECT * FROM information_schema.ROWSOCKET_LATENCY") != []
        client.close()
        sql.run("UNINSTALL SONAME 'rowsocket'")


def test_the_loader_shows_what_the_library_shows():
    """A server that has our library itself has the same plugins."""
    server = Server("rowsocket")
    try:
        server.start()
        assert active_plugins(server.sql()) == PLUGINS
    finally:
        server.remove()


@pytest.mark.parametrize("other", ["10.11.1", server_env()["ROWSOCKET_SERVER_VERSION"] + "0"],
                         ids=["older", "begins with the running version"])
def test_no_library_that_fits(loaded, other):
    server = loaded(other)
    sql = server.sql()
    assert sql.error(INSTALL) == 1123
    message = f"rowsocket: there is no library for MariaDB {server_env()['ROWSOCKET_SERVER_VERSION']}"
    shown, *_ = [row for row in sql.rows("SHOW WARNINGS") if message.encode() in row[2]]
    assert f"(there is: {other})".encode() in shown[2]
    assert message in server.log()
    assert sql.value("SELECT 1") == b"1"


def test_a_library_that_cannot_be_opened(loaded):
    version = server_env()["ROWSOCKET_SERVER_VERSION"]
    server = loaded(version)
    (server.directory / f"plugin/rowsocket.so.{version}").write_text("no library")
    assert server.sql().error(INSTALL) == 1123
    assert f"rowsocket.so.{version}: " in server.log()


@pytest.mark.parametrize("file", (*LOADERS, LIBRARY), ids=lambda file: str(file.relative_to(REPOSITORY)))
def test_the_server_finds_no_service_whose_version_it_would_compare(file):
    """One loader is for servers of several versions, and services have other versions in each of them."""
    done = subprocess.run(["nm", "--dynamic", "--defined-only", file], capture_output=True, text=True, check=True)
    names = {line.split()[-1] for line in done.stdout.splitlines()}
    assert "_maria_plugin_declarations_" in names
    assert not [name for name in names if name.endswith("_service")]
