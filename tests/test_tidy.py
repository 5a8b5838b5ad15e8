"""scripts/lib/tidy.py asks clang-tidy about a file again when anything has changed that clang-tidy would read."""

import json
import subprocess
import sys

import pytest

from server import REPOSITORY

pytestmark = pytest.mark.once("starts no server")

# Writes down which file it is asked about, and passes files whose header does not say BAD.
TOOL = """#!/bin/sh
[ "$1" != --version ] || { echo 1; exit; }
for file; do :; done
echo "$file" >>calls
! grep -q BAD header.h
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "a.cc").write_text('#include "header.h"\n')
    (tmp_path / "header.h").write_text("int f();\n")
    tool = tmp_path / "tool"
    tool.write_text(TOOL)
    tool.chmod(0o755)
    (tmp_path / "compile_commands.json").write_text(json.dumps([
        {"directory": str(tmp_path), "command": f"c++ -o a.o -c {tmp_path}/a.cc", "file": f"{tmp_path}/a.cc"}]))
    return tmp_path


def tidy(project):
    """(exit code, how often the tool has been asked)"""
    done = subprocess.run([sys.executable, REPOSITORY / "scripts/lib/tidy.py", "--tool", project / "tool",
                           "--commands", project, "--passed", project / "none yet" / "passed", "a.cc"],
                          cwd=project, capture_output=True, text=True, check=False)
    assert "clang-tidy:" in done.stdout, done.stderr
    return done.returncode, len((project / "calls").read_text().splitlines())


def test_what_has_passed_is_not_read_again(project):
    assert tidy(project) == (0, 1)
    assert tidy(project) == (0, 1)


@pytest.mark.parametrize("name, text", [
    ("header.h", "int g();\n"), ("a.cc", '#include "header.h"\nint h;\n'), ("tool", TOOL.replace("echo 1", "echo 2"))])
def test_a_change_is_read(project, name, text):
    assert tidy(project) == (0, 1)
    (project / name).write_text(text)
    assert tidy(project) == (0, 2)


def test_what_has_failed_is_read_again(project):
    (project / "header.h").write_text("BAD\n")
    assert tidy(project) == (1, 1)
    assert tidy(project) == (1, 2)
