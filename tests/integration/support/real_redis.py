"""A private Redis 7.0 from Debian, for comparisons, which bootstrap obtains."""

import os
import pathlib
import subprocess
import tempfile

import resp
from server import cache_dir, free_port, read_env, wait_until
from third_party import libraries_of


class Real:
    """A Redis on a free port of loopback that keeps nothing: real.port."""

    def __init__(self, *options):
        self.options = options
        self.process = self.folder = self.port = None

    def __enter__(self):
        root = pathlib.Path(read_env(cache_dir() / "redis/env")["ROWSOCKET_REDIS"])
        self.folder = tempfile.TemporaryDirectory(prefix="rs-redis-")
        self.port = free_port()
        self.process = subprocess.Popen(
            [root / "usr/bin/redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly",
             "no", "--dir", self.folder.name, *self.options],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "LD_LIBRARY_PATH": libraries_of(root)})
        wait_until(self.answers, 20, "a Redis")
        return self

    def answers(self):
        try:
            client = resp.Client(self.port)
        except OSError:
            assert self.process.poll() is None, "Redis has ended"
            return False
        client.close()
        return True

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()
