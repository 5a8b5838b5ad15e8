"""Redis and Valkey as measured systems: how they are started, what they are filled with, and their stock.

A name is PROGRAM or PROGRAM-VARIANT. Without a variant the server has an append-only file that is flushed before each
reply, as a commit here is: the peer of durable writes. `read` keeps nothing on disk and is filled with the rows of the
table `user`, as hashes and as texts: the peer of reads; `read-threads` is that with two io-threads.
"""

import shutil
import socket
import subprocess

from .machine import cache_dir, read_env
from .model import Load

TIMEOUT_S = 20
FILL_TIMEOUT_S = 180
# The keys of the rows of the table `user`, the same on each server: hash, text (the value of a container here),
# text that may be set, and the hash of a row of `stock`.
HASH_KEY, TEXT_KEY, SET_KEY, STOCK_KEY = "test.user:{n}", "u/{n}", "a/{n}", "test.stock:{n}"


def program_of(name):
    """(the name under which the program is to run, its file), or (name, None) if it is missing."""
    if name.startswith("valkey"):
        env = cache_dir() / "valkey/env"
        return "valkey-server", read_env(env)["ROWSOCKET_VALKEY"] if env.exists() else None
    # The program decides by its name whether it is redis-server or redis-check-rdb.
    return "redis-server", shutil.which("redis-server") or shutil.which("redis-check-rdb")


def command(name, port, directory):
    """(arguments, the file to execute)"""
    known_as, program = program_of(name)
    variant = name.partition("-")[2]
    arguments = [known_as, "--bind", "127.0.0.1", "--port", port, "--save", "", "--maxclients", 10000,
                 "--dir", directory]
    arguments += ["--appendonly", "no"] if variant else ["--appendonly", "yes", "--appendfsync", "always"]
    if variant == "read-threads":
        arguments += ["--io-threads", 2]
    return arguments, program


def how_to_get(name):
    return "scripts/bootstrap peers obtains it" if name.startswith("valkey") else "scripts/bootstrap bench obtains it"


def fill(process, plan):
    """Stores the rows of `user` as hashes and as texts. Returns what went wrong; empty if nothing did."""
    if "-read" not in process.name:
        return ""
    for workload, key in (("redis-fill-hashes", HASH_KEY), ("redis-fill-texts", TEXT_KEY)):
        load = Load(workload, 4, 64, (("rows", plan.rows), ("key", key)))
        done = subprocess.run(
            [plan.load_program, *load.arguments(), "--host=127.0.0.1", f"--port={process.number}"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=FILL_TIMEOUT_S, check=False)
        if done.returncode != 0:
            return f"{process.name} is not filled: {done.stderr.strip()[-200:]}"
    return ""


def is_redis(name):
    return name.startswith(("redis", "valkey"))


class Stock:
    """Keys TABLE:1 ... in Redis that hold numbers."""

    def __init__(self, system, table):
        self.table, self.port = table, system.port("redis-decr")

    def _ask(self, lines):
        with socket.create_connection(("127.0.0.1", self.port), TIMEOUT_S) as connection:
            connection.sendall("".join(line + "\r\n" for line in lines).encode())
            reader = connection.makefile("rb")
            return [self._answer(reader) for _ in lines]

    @staticmethod
    def _answer(reader):
        line = reader.readline().rstrip()
        if line[:1] == b"$" and int(line[1:]) >= 0:
            return reader.readline().rstrip()
        return line

    def fill(self, rows, stock):
        self._ask([f"SET {self.table}:{row} {stock}" for row in range(1, rows + 1)])

    def empty(self, orders):
        self._ask([f"DEL {orders}"])

    def count(self, orders):
        return int(self._ask([f"LLEN {orders}"])[0][1:])

    def _read(self, row):
        return f"GET {self.table}:{row}"

    def total(self, rows):
        found = [int(text) for text in self._ask([self._read(row) for row in range(1, rows + 1)])]
        return sum(found), min(found)


class HashStock(Stock):
    """The same numbers in the field `stock` of hashes, under the keys that rows have here."""

    def _key(self, row):
        return STOCK_KEY.replace("{n}", str(row))

    def fill(self, rows, stock):
        self._ask([f"HSET {self._key(row)} stock {stock}" for row in range(1, rows + 1)])

    def _read(self, row):
        return f"HGET {self._key(row)} stock"


def stock_of(workload):
    return HashStock if workload == "redis-hincrby" else Stock


def benchmark_command(load, port, requests):
    """The command of redis-benchmark, with one thread, as in rowsocket-load."""
    program = shutil.which("redis-benchmark")
    if not program:
        raise OSError("redis-benchmark is not installed: scripts/bootstrap bench obtains it")
    return [program, "-h", "127.0.0.1", "-p", port, "-c", load.connections, "-P", load.depth, "-n", requests,
            "-r", load.option("keys"), "-d", load.option("bytes"), "-t", load.option("command"), "--csv"]
