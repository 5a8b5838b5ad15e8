"""Command-line options of every test below this folder."""

import collections
import os
import random

import pytest

from server import SERVERS, server_name


def pytest_addoption(parser):
    group = parser.getgroup("rowsocket")
    group.addoption("--plugin", default="rowsocket", choices=["rowsocket", "bundled"],
                    help="the library under test (default: rowsocket); with bundled, tests marked"
                         " bundled_wrong are expected to fail")
    group.addoption("--seed", type=int, default=None,
                    help="seed of all random choices (default: a random one, printed)")
    group.addoption("--tls", action="store_true",
                    help="HandlerSocket's and memcached's ports of every server require TLS over TCP, and the"
                         " clients of these protocols in Python speak it; for suites that use no other clients"
                         " of the two (RESP's port stays as it is)")
    group.addoption("--account", action="store_true",
                    help="HandlerSocket's and memcached's ports have the rights of an account that may do"
                         " everything, so that each request is judged; for suites whose servers take the defaults"
                         " of accounts and --init-file (RESP's port stays as it is)")
    group.addoption("--again", action="store_true",
                    help="only the tests that are to run in this server, too, after another one (mark again_in)")
    group.addoption("--not-in-ci", action="store_true",
                    help="only the tests that CI runs in no server, whichever server this one is")
    group.addoption("--sanitized", action="store_true",
                    help="only the tests that are to run with the library under ASan and UBSan (mark sanitized)")
    group.addoption("--keep", action="store_true",
                    help="leave the directories of the private servers in place")


def pytest_configure(config):
    os.environ.setdefault("ROWSOCKET_SPARSE_DATA", "1")  # for scripts/server
    if config.getoption("--seed") is None:
        config.option.seed = random.SystemRandom().randrange(1 << 32)


def pytest_report_header(config):
    return f"rowsocket: --plugin {config.getoption('--plugin')} --seed {config.getoption('--seed')}"


def has_what_it_is_about(item, name):
    """Whether a test is about something that the server of this name, or its family, has."""
    family = name.partition("-")[0]
    if any(item.get_closest_marker(other) for other in {"mariadb", "mysql"} - {family}):
        return False
    if item.get_closest_marker("once"):
        return name == SERVERS[0]
    return not any(family == "mariadb" and version(name) < version(mark.args[0])
                   for mark in item.iter_markers("since"))


def version(name):
    return tuple(map(int, name.partition("-")[2].split(".")))


def is_again_in(item, name):
    return any(name in mark.args for mark in item.iter_markers("again_in"))


def runs_in_ci(item, name):
    return has_what_it_is_about(item, name) and (name == SERVERS[0] or is_again_in(item, name))


def is_wanted(config, item):
    if config.getoption("--not-in-ci"):
        return not any(runs_in_ci(item, name) for name in SERVERS)
    if not has_what_it_is_about(item, server_name()):
        return False
    if config.getoption("--sanitized"):
        mark = item.get_closest_marker("sanitized")  # A test's own counts more than its file's.
        return mark is not None and server_name().partition("-")[0] in mark.args
    if config.getoption("--again"):
        return is_again_in(item, server_name())
    return config.getoption("--plugin") != "bundled" or not item.get_closest_marker("ours")


def put_slow_files_first(items):
    """The tests of one file run in one process: a long file that began last would keep one process busy while the
    others have nothing left to do."""
    tests = collections.Counter(item.path for item in items)
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path not in slow, -tests[item.path]))


def pytest_collection_modifyitems(config, items):
    config.hook.pytest_deselected(items=[item for item in items if not is_wanted(config, item)])
    items[:] = [item for item in items if is_wanted(config, item)]
    put_slow_files_first(items)
    if config.getoption("--plugin") != "bundled":
        return
    for item in items:
        wrong = item.get_closest_marker("bundled_wrong")
        if wrong:
            rarely = wrong.kwargs.get("rarely")
            item.add_marker(pytest.mark.xfail(reason=f"row {wrong.args[0]} of docs/WRONGS.md{RARELY if rarely else ''}",
                                              strict=not (wrong.kwargs.get("some") or rarely)))


RARELY = ", where two writes happen to meet"
_ends = collections.defaultdict(set)  # function: how those of its parameters ended that were expected to fail


def pytest_runtest_logreport(report):
    if report.when == "call" and not getattr(report, "wasxfail", RARELY).endswith(RARELY):
        _ends[report.nodeid.partition("[")[0]].add(report.outcome)


def pytest_sessionfinish(session):
    """A test that the bundled plugin fails for some of its parameters (bundled_wrong) fails for one at least. Where
    -k or an argument chooses among the parameters, this says nothing. With several processes, the first one judges."""
    config = session.config
    chosen = config.option.keyword or any("[" in argument for argument in config.args)
    if config.getoption("--plugin") != "bundled" or hasattr(config, "workerinput") or chosen:
        return
    passed = [name for name, ends in sorted(_ends.items()) if ends == {"passed"}]
    if passed:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        config.get_terminal_writer().line(f"\nthe bundled plugin passes with each parameter: {', '.join(passed)}")


@pytest.fixture
def seed(request):
    return request.config.getoption("--seed")


@pytest.fixture
def rng(request, seed):
    """Random choices of one test: the same for the same --seed, whichever other tests run."""
    return random.Random(f"{seed}/{request.node.nodeid}")
