"""The cost of Rowsocket's own code in a find, in instructions and allocations: no clock, no noise.

The ceilings are in instruction_ceilings.tsv. A commit that makes the path longer on purpose raises them and
says why.
"""

import pathlib
import re
import subprocess

import pytest

from server import REPOSITORY

PROBE = REPOSITORY / "build-bench" / "bench" / "read_path_probe"
FINDS = 128 * 40  # Whole turns.
# Whole turns of watch1 and watch16, about those of watchhot, and twelve times what a worker hands over of its hot rows.
WATCHED_FINDS = 480 * 250


def finds(part):
    return WATCHED_FINDS if part.startswith("watch") else FINDS


def ceilings():
    lines = pathlib.Path(__file__).with_name("instruction_ceilings.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return {part: int(instructions) for part, instructions in rows}


def instructions(part, count):
    """The instructions that callgrind counts in a run, its start included."""
    run = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", PROBE, part, str(count)],
        capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", run.stderr)[1])


@pytest.mark.parametrize("part", ceilings())
def test_a_find_takes_no_more_instructions_than_before(part):
    # Both runs have the same cost of the start.
    count = finds(part)
    taken = (instructions(part, 2 * count) - instructions(part, count)) / count
    print(f"{part}: {taken:.0f} instructions a find")
    ceiling = ceilings()[part]
    assert taken <= ceiling
    assert taken >= 0.6 * ceiling, "much is gained: lower the ceiling, so that it stays"


@pytest.mark.parametrize("part", ceilings())
def test_a_find_allocates_nothing(part):
    """Over RESP, whose requests are larger than those of HandlerSocket, a turn of 128 takes further blocks. Of
    finds that are watched, rows that are new among the hot ones are written down."""
    count = finds(part)
    run = subprocess.run([PROBE, part, str(count)], capture_output=True, text=True, check=False)
    assert run.returncode == 0 and run.stdout.endswith(" allocations\n")
    allowed = {"resp": count / 128 * 6, "watch1": 200, "watch16": 600, "watchhot": 200}
    assert int(run.stdout.split()[0]) <= allowed.get(part, 0)
