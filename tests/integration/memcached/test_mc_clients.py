"""Clients of other projects get the same answers from a real memcached and from Rowsocket."""

import functools

import pytest

import mc
import mc_clients

pytestmark = pytest.mark.ours

# client: its round, and the number of steps in it
CLIENTS = {
    "python-memcached": (functools.partial(mc_clients.python, "memcache"), 15),
    "python-binary-memcached": (functools.partial(mc_clients.python, "bmemcached"), 12),
    "memjs": (mc_clients.memjs, 11),
    "gomemcache": (mc_clients.gomemcache, 16),
    "spymemcached": (mc_clients.spymemcached, 14),
    "php": (functools.partial(mc_clients.php, "text"), 13),
    "php, binary": (functools.partial(mc_clients.php, "binary"), 13),
    "pylibmc": (functools.partial(mc_clients.pylibmc, "pylibmc"), 12),
    "pylibmc, binary": (functools.partial(mc_clients.pylibmc, "pylibmc-binary"), 12),
    "dalli": (mc_clients.dalli, 12),
}


@pytest.fixture(scope="module")
def real():
    with mc.Real() as one:
        yield one


@pytest.mark.parametrize("name", CLIENTS)
def test_client(memcached, real, name):
    play, steps = CLIENTS[name]
    for target in (real.connect(), mc.connect(memcached)):
        assert target.command("flush_all") == b"OK"
    told = play(str(real.address[1]))
    assert play(memcached.env["MEMCACHED_PORT"]) == told
    assert len(told) == steps, told
    assert mc.connect(memcached).in_step("text")
