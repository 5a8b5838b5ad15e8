"""The loader that packages have: it opens the library of the running version, or says that there is none."""

import shutil
import subprocess

import pytest

from server import REPOSITORY, Server, server_env

pytestmark = pytest.mark.ours

LOADER = REPOSITORY / "build/loader/rowsocket.so"
INSTALL = "INSTALL SONAME 'rowsocket'"


@pytest.fixture
def loaded(request):
    """A server without plugin, whose plugin folder has the loader and our library as that of a version."""
    servers = []

    def with_library_for(version):
        server = Server("none", keep=request.config.getoption("--keep"),
                        environment={"ROWSOCKET_SO": str(LOADER)})
        servers.append(server)
        folder = server.directory / "plugin"
        folder.mkdir(parents=True)
        shutil.copy(REPOSITORY / "build/rowsocket.so", folder / f"rowsocket.so.{version}")
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
        assert sql.value("SELECT COUNT(*) FROM information_schema.PLUGINS WHERE "
                         "PLUGIN_LIBRARY = 'rowsocket.so' AND PLUGIN_STATUS = 'ACTIVE'") == b"2"
        client.close()
        sql.run("UNINSTALL SONAME 'rowsocket'")


def test_no_library_that_fits(loaded):
    server = loaded("10.11.1")
    sql = server.sql()
    assert sql.error(INSTALL) == 1123
    message = f"rowsocket: there is no library for MariaDB {server_env()['ROWSOCKET_SERVER_VERSION']}"
    shown, *_ = [row for row in sql.rows("SHOW WARNINGS") if message.encode() in row[2]]
    assert b"(there is: 10.11.1)" in shown[2]
    assert message in server.log()
    assert sql.value("SELECT 1") == b"1"


def test_a_library_that_cannot_be_opened(loaded):
    version = server_env()["ROWSOCKET_SERVER_VERSION"]
    server = loaded(version)
    (server.directory / f"plugin/rowsocket.so.{version}").write_text("no library")
    assert server.sql().error(INSTALL) == 1123
    assert f"rowsocket.so.{version}: " in server.log()


def services(library):
    done = subprocess.run(["nm", "--dynamic", "--defined-only", library], capture_output=True,
                          text=True, check=True)
    names = {line.split()[-1] for line in done.stdout.splitlines()}
    return {name for name in names if name.endswith("_service")}


def test_the_loader_has_each_service_that_the_library_has():
    """The server fills the loader's pointers, and the loader passes on those that it knows."""
    ours = services(REPOSITORY / "build/rowsocket.so")
    assert ours and ours <= services(LOADER)
