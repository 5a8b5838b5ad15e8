"""memcached's own test files, memccapable and pymemcache's integration tests, against Rowsocket.

ON_PURPOSE names the assertions that do not hold on purpose; all others must hold.
"""

import pytest

import mc_suites
from server import Server

pytestmark = pytest.mark.ours

# Assertions (lines of memcached's tests) that do not hold on purpose.
ON_PURPOSE = {
    # A durable row is not lost because a longer value is refused.
    "getset": {"foo_1049600 == <undef>", "foo_1051648 == <undef>"},
    # Statistics and settings of an engine with slabs and evictions.
    "binary": {"is(1024, $stats{'maxconns'});", "is('NULL', $stats{'domain_socket'});",
               "is('on', $stats{'evictions'});"},
    # With tokens or without them, no row that is stored in the second of a flush is lost.
    "flush-all": {"failed to set value after flush with no CAS at least once"},
}


@pytest.fixture(scope="module")
def scripts(request, shared_memcached, shared_server):
    """The output of each of the requested tests of memcached. Each test wants a server of its own: two run at
    a time."""
    wanted = [name for name in mc_suites.SCRIPTS if any(
        item.name == f"test_one_of_memcacheds_own_tests[{name}]" for item in request.session.items)]
    other = Server(request.config.getoption("--plugin"), ["--daemon-memcached-flush-all=ON"])
    servers = [shared_memcached] + ([other.start()] if len(wanted) > 1 else [])
    try:
        targets = [(address(server), server.env["SQL_SOCKET"]) for server in servers]
        return mc_suites.run_scripts(wanted, targets, address(shared_server))
    finally:
        other.kill()
        other.remove()


def address(server):
    return ("127.0.0.1", int(server.env["MEMCACHED_PORT"]))


@pytest.mark.slow
@pytest.mark.parametrize("name", mc_suites.SCRIPTS)
def test_one_of_memcacheds_own_tests(scripts, name):
    script = scripts[name]
    unexpected = [line for line in script.failed if line not in ON_PURPOSE.get(name, ())]
    assert unexpected == [] and script.complete, script.printed[-3000:]
    assert script.code == len(script.failed), script.printed[-3000:]


def test_memccapable(memcached):
    code, printed = mc_suites.memccapable(address(memcached))
    assert (code, printed.count("[pass]"), printed.count("[FAIL]")) == (0, 54, 0), printed


def test_pymemcache(memcached):
    code, printed = mc_suites.pymemcache(address(memcached))
    assert code == 0 and "100 passed" in printed, printed[-6000:]
