"""scripts/torture runs, and says so in JSON."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent


def torture(*arguments):
    """Runs it and returns its exit status and what it said at the end."""
    done = subprocess.run(
        [sys.executable, str(HERE / "torture.py"), *arguments],
        env={**os.environ, "PYTHONPATH": str(HERE)}, stdin=subprocess.DEVNULL, timeout=300,
        capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.slow
def test_rounds_of_torture_in_two_pieces(tmp_path):
    result = tmp_path / "result.json"
    arguments = ["--seed", "5", "--only", "crash,cut", "--result", str(result), "--resume"]
    status, _ = torture("--rounds", "1", *arguments)
    assert status == 0
    status, report = torture("--rounds", "4", "--jobs", "2", *arguments)
    assert status == 0 and report == json.loads(result.read_text())
    assert report["failures"] == [] and report["done"] == [[0, 3]]
    for kind in ("crash", "cut"):
        assert report["kinds"][kind]["rounds"] == 2 and report["kinds"][kind]["applied"] > 0
