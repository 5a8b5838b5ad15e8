"""H7: a power cut, unlike SIGKILL, loses all bytes that were written and not flushed."""

import os
import subprocess
import sys
import types

import pytest

from load import both_logs, scaled
from lost_cache import OPTIONS
from sale import killed_sale


def power_cut(server, lossy_disk, rng, db, goal):
    """One sale that a power cut ends. Returns (violations, bytes lost)."""
    lost = []
    wrong, _ = killed_sale(server, rng, db, goal, connections=(32,),
                           then=lambda server: lost.append(lossy_disk.cut_power(server)))
    return wrong, sum(lost)


@pytest.mark.slow
@both_logs
def test_a_power_cut_loses_nothing_that_was_acknowledged(make_server, lossy_disk, rng, options):
    server = make_server(options=[*OPTIONS, *options], environment=lossy_disk.environment)
    lost_bytes = 0
    for number in range(scaled(4)):
        wrong, lost = power_cut(server, lossy_disk, rng, f"cut{number}", rng.randint(1, 1000))
        assert wrong == [], f"round {number}"
        lost_bytes += lost
    assert lost_bytes > 0  # the cuts have lost bytes


def test_the_power_cut_shows_what_was_not_flushed(make_server, lossy_disk, rng):
    """The log is written at each commit but flushed once a second: SIGKILL alone would lose nothing."""
    server = make_server(options=[*OPTIONS, "--innodb-flush-log-at-trx-commit=2"],
                         environment=lossy_disk.environment)
    rounds = (power_cut(server, lossy_disk, rng, f"cut{number}", 1500)[0] for number in range(5))
    assert any(" taken, " in text for wrong in rounds for text in wrong)


def test_a_new_file_in_the_place_of_a_deleted_one_has_nothing_of_it(lossy_disk, tmp_path):
    """The disk notes writes by inode, and a new file may get the inode of a file that was deleted."""
    server = tmp_path / "mysqld"  # the disk looks at servers alone, by their name
    server.symlink_to(sys.executable)
    program = """import os, sys
old, new = (os.path.join(sys.argv[1], name) for name in ("old", "new"))
file = os.open(old, os.O_CREAT | os.O_RDWR)
os.write(file, b"old")
os.fsync(file)
os.pwrite(file, b"OLD", 0)
number = os.fstat(file).st_ino
os.close(file)
os.unlink(old)
for attempt in range(1000):
    with open(f"{new}{attempt}", "x") as file:
        if os.fstat(file.fileno()).st_ino == number:
            print(attempt)
            break
"""
    folder = tmp_path / "data"
    folder.mkdir()
    done = subprocess.run([server, "-c", program, folder], env={**os.environ, **lossy_disk.environment}, capture_output=True,
                          text=True, check=True)
    if not done.stdout:
        pytest.skip("this file system gives new files other inodes")
    lossy_disk.cut_power(types.SimpleNamespace(directory=folder))
    assert (folder / f"new{int(done.stdout)}").read_bytes() == b""
