"""Redis's own tests, unchanged, against the RESP port: the units of strings, counters, expiry, keys, transactions, SCAN
and the protocol. redis_suite.tsv has each test that cannot pass here, with its reason; every other one must."""

import pathlib
import random
import re
import shutil
import subprocess

import pytest

import resp
from server import cache_dir, read_env, run_packaged

pytestmark = [pytest.mark.again_in("mysql-9.7"), pytest.mark.ours, pytest.mark.slow]

UNITS = ("type/string", "type/incr", "expire", "keyspace", "multi", "scan", "protocol", "quit")
# What Redis's tests ask for and say of themselves: a server that is controlled by DEBUG or CONFIG SET.
TAGS = "-needs:debug -needs:repl -needs:config-maxmemory -needs:config-resetstat -needs:reset -slow"
TIMEOUT_S = 240
# The suite takes a port below its base, to talk to itself, and wants the one that is 10,000 above to be free, too.
BASE_PORTS = range(12_000, 22_000)
TRIES = 8
NO_PORT = re.compile("address already in use|Can't find a non busy port")


def skips(unit):
    """{test: reason} of redis_suite.tsv."""
    lines = pathlib.Path(__file__).with_name("redis_suite.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return {name: reason for of, name, reason in rows if of == unit}


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    """A folder with Redis's tests, which write beside themselves."""
    folder = tmp_path_factory.mktemp("redis")
    shutil.copytree(pathlib.Path(read_env(cache_dir() / "redis/env")["ROWSOCKET_REDIS_SOURCE"]) / "tests", folder / "tests")
    return folder


def run(suite, unit, port):
    """({names of tests that passed}, {name: what the suite says of those that failed}, everything)"""
    for _ in range(TRIES):
        base = str(random.choice(BASE_PORTS))
        done = subprocess.run(
            ["tclsh", "tests/test_helper.tcl", "--host", "127.0.0.1", "--port", str(port), "--baseport", base, "--singledb",
             "--ignore-encoding", "--ignore-digest", "--durable", "--tags", TAGS, "--single", f"unit/{unit}"],
            cwd=suite, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S, check=False)
        text = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
        if not NO_PORT.search(text):
            break
    passed = set(re.findall(r"^\[ok\]: (.*) \(\d+ ms\)$", text, re.M))
    failed = dict(re.findall(r"^\[err\]: (.*) in tests/\S+\.tcl\n(.*)$", text, re.M))
    assert "[exception]" not in text and re.search(rf"done\]: unit/{unit} ", text), text[-3000:]
    return passed, failed, text


@pytest.mark.parametrize("unit", UNITS)
def test_unit(make_server, suite, unit):
    server = resp.start(make_server)
    run_packaged(server.sql(), "rowsocket_store.sql")
    passed, failed, text = run(suite, unit, server.resp_port)
    expected = skips(unit)
    assert passed, text
    assert {name: why for name, why in failed.items() if name not in expected} == {}
    # What has begun to pass is to be taken off the list.
    assert passed & set(expected) == set()
    # What the suite does not have, or does not run, is to be taken off, too.
    assert set(expected) - set(failed) == set(), text[-3000:]
