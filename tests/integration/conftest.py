"""Fixtures: a private server, sessions and clients.

Every server that a test started is stopped at the end, whatever happened. After each test all servers must
still be running: if a server is not, that test fails and the end of the server's error log is shown.
"""

import atexit
import contextlib
import functools
import itertools
import pathlib
import tempfile

import pymysql
import pytest

import hs
import mc
import server as server_module
import tls
from lost_cache import LostCache
from mc_tables import Container
from private_servers import create, remove, servers
from server import interrupt_on_signals

_schema_numbers = itertools.count(1)


def pytest_configure(config):
    interrupt_on_signals()
    if config.getoption("--tls"):
        require_tls()
    if config.getoption("--account"):
        judge_all()
    if config.getoption("--plugin") == "bundled":  # the bundled plugin leaves many requests without an answer
        hs.TIMEOUT_S = 3.0


def require_tls():
    """Makes HandlerSocket's and memcached's ports and clients of this run speak TLS."""
    certificates = tls.Certificates.shared()
    server_module.EXTRA_OPTIONS += [*certificates.options(), "--loose-handlersocket-ssl=REQUIRED",
                                    "--loose-daemon-memcached-ssl=REQUIRED"]
    hs.TLS = mc.TLS = certificates.context()


def judge_all():
    """Gives HandlerSocket's and memcached's ports of this run an account that may do everything."""
    folder = tempfile.TemporaryDirectory(prefix="rs-account-")
    atexit.register(folder.cleanup)
    path = pathlib.Path(folder.name)
    path.chmod(0o755)
    statements = path / "account.sql"
    # The binary log does not get these statements, which each server executes at each start.
    statements.write_text("SET sql_log_bin = 0;\nCREATE USER IF NOT EXISTS everything@localhost;\n"
                          "GRANT ALL ON *.* TO everything@localhost;\n")
    statements.chmod(0o644)
    server_module.EXTRA_OPTIONS += [
        f"--init-file={statements}", *(f"--loose-{variable}=everything@localhost" for variable in (
            "handlersocket-user", "handlersocket-user-wr", "daemon-memcached-user"))]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    """A test during which a server dies fails, even if the test itself did not notice."""
    outcome = yield
    dead = [server for server in servers if server.running and not server.alive()]
    for server in dead:
        server.running = False
        tail = server.log_tail()
        outcome.force_exception(pytest.fail.Exception(f"server died during {item.nodeid}\n{tail}"))


def pytest_sessionfinish():
    while servers:
        remove(servers[-1])


@pytest.fixture(scope="session")
def shared_server(request):
    """One server with default options for the whole run; tests use `server`."""
    server = create(request.config).start()
    yield server
    remove(server)


@pytest.fixture
def server(shared_server):
    """The shared server, started again if the test before made it die or stop answering."""
    if shared_server.running and not shared_server.answers():
        shared_server.kill()
    if not shared_server.running:
        shared_server.start()
    yield shared_server
    shared_server.close_clients()


@pytest.fixture(scope="session")
def shared_memcached(request):
    """One server that allows flush_all, and writes its log once a second, for the whole run; tests use
    `memcached`."""
    server = create(request.config, options=[
        "--loose-daemon-memcached-flush-all=ON", "--innodb-flush-log-at-trx-commit=0"]).start()
    yield server
    remove(server)


@pytest.fixture
def memcached(shared_memcached):
    """The shared memcached server, started again if the test before made it die."""
    if not shared_memcached.running or not shared_memcached.alive():
        shared_memcached.start()
    yield shared_memcached
    shared_memcached.close_clients()


@pytest.fixture
def make_server(request):
    """make_server(plugin=None, options=[...], start=True): a server for this test alone."""
    made = []

    def make(plugin=None, options=(), start=True, **kwargs):
        made.append(create(request.config, plugin, options, **kwargs))
        return made[-1].start() if start else made[-1]

    yield make
    while made:
        server = made.pop()
        if server.running:
            server.kill()  # faster than a shutdown, which the shared server and test_shutdown test
        remove(server)


@pytest.fixture
def lossy_disk(tmp_path):
    """A disk for a server of the test's own; the disk loses or refuses writes."""
    return LostCache(tmp_path)


@pytest.fixture
def db(server):
    """The name of a fresh schema (utf8mb4), dropped after the test. Clients are closed first: with the
    bundled plugin an open client would block the drop."""
    name = f"rs{next(_schema_numbers)}"
    admin = server.sql()
    admin.run(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
    yield name
    server.close_clients()
    if server.running and server.alive():
        try:
            with contextlib.closing(server.sql()) as admin:
                admin.run("SET lock_wait_timeout = 5")
                admin.run(f"DROP DATABASE IF EXISTS {name}")
        except pymysql.MySQLError:
            server.kill()
            if server.plugin != "bundled":
                raise


@pytest.fixture
def sql(server, db):
    """A SQL session in the test's schema."""
    return server.sql(db)


@pytest.fixture
def container(server, db):
    """A container of memcached's with a table of its own."""
    one = Container(server, db, f"c{db}")
    yield one
    one.drop()


@pytest.fixture
def hs_rd(server):
    """A client of the read-only port."""
    return server.hs_rd()


@pytest.fixture
def hs_wr(server):
    """A client of the read/write port."""
    return server.hs_wr()


@pytest.fixture
def rd(hs_rd, db):
    """rd(table, index, columns, filters): an index opened on the read-only port."""
    return functools.partial(hs_rd.opened, db)


@pytest.fixture
def wr(hs_wr, db):
    """wr(table, index, columns, filters): an index opened on the read/write port."""
    return functools.partial(hs_wr.opened, db)
