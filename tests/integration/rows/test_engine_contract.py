"""The contract of engines (src/engine/session.h) on the engine in a server: a private server loads
rowsocket_contract.so, which runs the tests of src/engine/contract within it, once with the binary
log and once without. Each of them is a test case here."""

import json
import re
import shutil

import pytest

from server import REPOSITORY, Server, build_dir, is_mysql, wait_until

LIBRARY = build_dir("contract") / "rowsocket_contract.so"
SUITE = REPOSITORY / "src" / "engine" / "contract"
SERVER_TESTS = REPOSITORY / "src" / "plugin" / "contract"
FAMILY_TESTS = SERVER_TESTS / ("mysql" if is_mysql() else "mariadb")
pytestmark = [pytest.mark.again_in("mariadb-11.8", "mysql-9.7"), pytest.mark.ours]

TIMEOUT_S = 240.0
# A session that waits for a row where it must not is not helped by its timeout: no report comes then.
NO_TIMEOUT = "--innodb-lock-wait-timeout=86400"
# What a server has no case of; the suite itself skips these tests there, and no others.
ABSENT = {} if not is_mysql() else {
    "StatementThatCannotBeTakenBackIsPermanent":
        "in MySQL the library serves InnoDB's tables alone, which take every statement back"}
SERVERS = {"plain": [], "binlog": ["--log-bin=contract", "--server-id=1"]}


def names():
    """Every test of the suite, those of all servers, and those of the server's family."""
    files = [path for folder in (SUITE, SERVER_TESTS, FAMILY_TESTS) for path in sorted(folder.glob("*_test.cc"))]
    text = "".join(path.read_text() for path in files)
    return re.findall(r"^TEST_F\(\w+, (\w+)\)", text, re.M)


def run_suite(server, options):
    """The result of each test: its name, and the texts of its failures (none: it has passed)."""
    assert LIBRARY.exists(), "run scripts/build contract"
    plugins = server.directory / "plugin"
    plugins.mkdir(parents=True)
    shutil.copy(LIBRARY, plugins)
    report = server.directory / "tmp" / "contract.json"
    server.start([*options, NO_TIMEOUT, "--plugin-load-add=rowsocket_contract.so",
                  f"--rowsocket-contract-report={report}"])
    wait_until(lambda: report.exists() or not server.alive(), TIMEOUT_S, "the report")
    assert report.exists(), f"the server died\n{server.log_tail()}"
    suites = json.loads(report.read_text())["testsuites"]
    tests = [test for suite in suites for test in suite["testsuite"]]
    assert {test["name"] for test in tests if test["result"] == "SKIPPED"} == set(ABSENT)
    return {test["name"]: [failure["failure"] for failure in test.get("failures", [])]
            for test in tests if test["result"] == "COMPLETED"}


@pytest.fixture(scope="module", params=SERVERS)
def results(request):
    """The first test that needs the results runs the suite."""
    server = Server("none", keep=request.config.getoption("--keep"))
    try:
        yield run_suite(server, SERVERS[request.param])
    finally:
        server.remove()


@pytest.mark.parametrize("name", [name for name in names() if name not in ABSENT])
def test_contract(results, name):
    assert name in results, "it did not run"
    assert not results[name], "\n".join(results[name])


def test_every_property_has_tests():
    """The suite has tests of each property that session.h has."""
    properties = re.findall(r"^//   (S\d+) ", (REPOSITORY / "src/engine/session.h").read_text(), re.M)
    assert len(properties) >= 13
    for one in properties:
        assert any(re.match(rf"{one}[A-Z]", name) for name in names()), one
