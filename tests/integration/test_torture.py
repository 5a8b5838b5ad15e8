"""scripts/torture runs, and says so in JSON."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent


@pytest.mark.slow
def test_two_rounds_of_torture(tmp_path):
    result = tmp_path / "result.json"
    done = subprocess.run(
        [sys.executable, str(HERE / "torture.py"), "--rounds", "2", "--seed", "5", "--only",
         "crash", "--result", str(result)],
        env={**os.environ, "PYTHONPATH": str(HERE)}, stdin=subprocess.DEVNULL, timeout=300,
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(result.read_text())
    assert report["failures"] == [] and report["kinds"]["crash"]["rounds"] == 2
    assert report["kinds"]["crash"]["applied"] > 0
