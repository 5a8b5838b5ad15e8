"""Threads that cannot be had: builds no_threads.c, and tells it when."""

import contextlib
import pathlib
import subprocess

from folders import let_servers_enter

SOURCE = pathlib.Path(__file__).with_name("no_threads.c")


class NoThreads:
    """no_threads = NoThreads(tmp_path); a server that has no_threads.environment; with no_threads.refused(): ..."""

    def __init__(self, directory):
        let_servers_enter(directory)
        library = directory / "no_threads.so"
        subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o",
                        str(library), str(SOURCE), "-ldl", "-lpthread"], check=True)
        self.file = directory / "refuse"
        self.environment = {"ROWSOCKET_PRELOAD": str(library), "ROWSOCKET_NOTHREADS": str(self.file)}

    @contextlib.contextmanager
    def refused(self):
        """The server gets no new thread."""
        self.file.touch()
        try:
            yield
        finally:
            self.file.unlink()
