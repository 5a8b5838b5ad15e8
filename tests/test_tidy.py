"""scripts/lib/tidy.py reads a file again when anything has changed that clang-tidy would read, and reads files that are
compiled as one by themselves, too."""

import json
import subprocess
import sys

import pytest

from server import REPOSITORY

pytestmark = pytest.mark.once("starts no server")

# Writes down which file it is asked about, and passes files whose header does not say BAD.
TOOL = """#!/bin/sh
[ "$1" != --version ] || { echo 1; exit; }
echo "$*" >>calls
! grep -q BAD header.h
"""

# Stands in for the compiler: a file that says LEANS cannot be read without its neighbor.
COMPILER = """#!/bin/sh
for file; do :; done
! grep -q LEANS "$file"
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "a.cc").write_text('#include "header.h"\n')
    (tmp_path / "header.h").write_text("int f();\n")
    for name, text in (("tool", TOOL), ("compiler", COMPILER)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "build").mkdir()
    (tmp_path / "build/standard_headers.h").write_text("")
    compiled_as(tmp_path, "a.cc")
    return tmp_path


def compiled_as(project, name):
    (project / "build/compile_commands.json").write_text(json.dumps([
        {"directory": str(project), "command": f"c++ -isystem /none -o a.o -c {project}/{name}", "file": f"{project}/{name}"}]))


def tidy(project, *files):
    """(exit code, how often the tool has been asked)"""
    done = subprocess.run([sys.executable, REPOSITORY / "scripts/lib/tidy.py", "--tool", project / "tool",
                           "--compiler", project / "compiler", "--commands", project / "build",
                           "--passed", project / "none yet" / "passed", *(files or ("a.cc",))],
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


@pytest.fixture
def two_as_one(project):
    """a.cc and b.cc, which are compiled as one."""
    (project / "b.cc").write_text("int g();\n")
    inside = [str(project / name).removeprefix("/") for name in ("a.cc", "b.cc")]
    # Paths begin at the checkout.
    up = "../" * (len(REPOSITORY.parts) - 1)
    (project / "build/both.cc").write_text("".join(f'#include "{up}{path}"\n' for path in inside))
    compiled_as(project, "build/both.cc")
    return project


def test_files_that_are_compiled_as_one_are_read_as_one(two_as_one):
    assert tidy(two_as_one, "a.cc", "b.cc") == (0, 1)
    assert (two_as_one / "calls").read_text().endswith("/both.cc -- -isystem /none\n")
    assert tidy(two_as_one, "a.cc", "b.cc") == (0, 1)


def test_a_file_that_leans_on_its_neighbor_does_not_pass(two_as_one):
    (two_as_one / "b.cc").write_text("int g();  // LEANS\n")
    assert tidy(two_as_one, "a.cc", "b.cc")[0] == 1


def test_what_is_compiled_together_with_a_test_is_read_without_it(two_as_one):
    assert tidy(two_as_one, "a.cc") == (0, 1)
    assert "/both.cc" not in (two_as_one / "calls").read_text()
    assert tidy(two_as_one, "a.cc", "b.cc") == (0, 2)
