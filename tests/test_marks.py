"""The marks of tests: each test runs in CI."""

import subprocess
import sys

import pytest

from server import REPOSITORY

pytestmark = pytest.mark.once("starts no server")

# CONTRIBUTING.md, "Write a live test", says who runs these.
LEFT_TO_SERVER = {"integration/cluster/test_group_replication.py::test_a_group_that_was_stopped_begins_again"}


def test_each_test_runs_in_some_server_of_ci():
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "tests", "--collect-only", "--not-in-ci", "-q", "-p", "no:cacheprovider"],
        cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert {line for line in done.stdout.splitlines() if "::" in line} == LEFT_TO_SERVER, done.stdout + done.stderr
