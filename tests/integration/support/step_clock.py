"""A time of day that jumps while a server runs: builds step_clock.c, and tells it by how much."""

import pathlib
import struct
import subprocess

from folders import let_servers_enter

SOURCE = pathlib.Path(__file__).with_name("step_clock.c")


class StepClock:
    """clock = StepClock(tmp_path); server = Server(..., environment=clock.environment); clock.step(3600)"""

    def __init__(self, directory):
        let_servers_enter(directory)
        library = directory / "step_clock.so"
        subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o",
                        str(library), str(SOURCE), "-ldl", "-lpthread"], check=True)
        self.file = directory / "step"
        self.step(0)
        self.file.chmod(0o644)
        self.environment = {"LD_PRELOAD": str(library), "ROWSOCKET_STEPCLOCK": str(self.file)}

    def step(self, seconds):
        """Makes the server's time of day so many seconds later than the machine's."""
        with open(self.file, "r+b" if self.file.exists() else "wb") as file:
            file.write(struct.pack("<q", seconds))
