"""Command-line options of every test below this folder."""

import os
import random

import pytest


def pytest_addoption(parser):
    group = parser.getgroup("rowsocket")
    group.addoption("--plugin", default="rowsocket", choices=["rowsocket", "bundled"],
                    help="the library under test (default: rowsocket); with bundled, tests marked"
                         " bundled_wrong are expected to fail")
    group.addoption("--seed", type=int, default=None,
                    help="seed of all random choices (default: a random one, printed)")
    group.addoption("--tls", action="store_true",
                    help="every server requires TLS over TCP, and the clients of both protocols in Python"
                         " speak it; for suites that use no other clients")
    group.addoption("--account", action="store_true",
                    help="every port has the rights of an account that may do everything, so that each request"
                         " is judged; for suites whose servers take the defaults of accounts and --init-file")
    group.addoption("--keep", action="store_true",
                    help="leave the directories of the private servers in place")


def pytest_configure(config):
    if config.getoption("--seed") is None:
        config.option.seed = random.SystemRandom().randrange(1 << 32)


def pytest_report_header(config):
    return f"rowsocket: --plugin {config.getoption('--plugin')} --seed {config.getoption('--seed')}"


def pytest_collection_modifyitems(config, items):
    if os.environ.get("ROWSOCKET_SERVER", "").startswith("mysql-"):
        elsewhere = [item for item in items if item.get_closest_marker("mariadb")]
        config.hook.pytest_deselected(items=elsewhere)
        items[:] = [item for item in items if item not in elsewhere]
    if config.getoption("--plugin") != "bundled":
        return
    for item in items:
        wrong = item.get_closest_marker("bundled_wrong")
        if item.get_closest_marker("ours"):
            item.add_marker(pytest.mark.skip(reason="the bundled plugin does not have it"))
        elif wrong:
            item.add_marker(pytest.mark.xfail(reason=f"row {wrong.args[0]} of docs/WRONGS.md",
                                              strict=not wrong.kwargs.get("some")))


@pytest.fixture
def seed(request):
    return request.config.getoption("--seed")


@pytest.fixture
def rng(request, seed):
    """Random choices of one test: the same for the same --seed, whichever other tests run."""
    return random.Random(f"{seed}/{request.node.nodeid}")
