"""The measured systems, each a private server on loopback that is started when it is first needed. All
MariaDB servers begin with the same data directory (dataset.py) and the same options.
"""

import contextlib
import os
import random
import shutil
import socket
import subprocess
import time

import pymysql

from . import dataset, redis_servers
from .machine import REPOSITORY, cache_dir, read_env

START_TIMEOUT_S = 60
SETTLE_TIMEOUT_S = 60
SETTLED_BELOW = 500  # dirty pages, and transactions in the history
# The variables are set in this order, and reset in the reverse order: the largest capacity is never below the
# capacity.
SETTLE = (("innodb_io_capacity_max", 20000), ("innodb_io_capacity", 10000), ("innodb_max_dirty_pages_pct", 0))
# The options of all MariaDB servers; options of a system come after these.
COMMON_OPTIONS = (
    "--innodb-log-file-size=1G",
    "--innodb-flush-log-at-trx-commit=1", "--innodb-adaptive-hash-index=ON",
    "--innodb-adaptive-hash-index-parts=1",
    "--max-connections=6000", "--back-log=4096", "--thread-cache-size=512",
    "--table-open-cache=6000", "--open-files-limit=60000", "--loose-handlersocket-backlog=4096")
# A system is named PLUGIN or PLUGIN/VARIANT.
PLUGINS = {"ours": "rowsocket", "bundled": "bundled", "sql": "none"}
VARIANTS = {
    "": (),
    "as-recommended": (),  # a server of its own, as new as the servers that it is compared with
    "binlog": ("--log-bin=bench", "--server-id=1", "--binlog-format=ROW", "--sync-binlog=1"),
    "account": tuple(f"--{variable}={dataset.ACCOUNT}" for variable in (
        "handlersocket-user", "handlersocket-user-wr", "daemon-memcached-user")),
    "tls": ("--ssl-cert={certificate}", "--ssl-key={key}", "--handlersocket-ssl=ON"),
    "pool": ("--thread-handling=pool-of-threads",),
    "io": ("--innodb-buffer-pool-size={io_pool_mib}M",),
    "no-redo": (),  # MySQL: ALTER INSTANCE DISABLE INNODB REDO_LOG
    "tokens": ("--handlersocket-tokens=ON",),
    "tokens-binlog": ("--handlersocket-tokens=ON", "--log-bin=bench", "--server-id=1", "--binlog-format=ROW",
                      "--sync-binlog=1"),
    "resp": ("--resp-port={resp_port}",),
    "relaxed": ("--innodb-flush-log-at-trx-commit=0",),
    "flush-2": ("--innodb-flush-log-at-trx-commit=2",),
    "no-ahi": ("--innodb-adaptive-hash-index=OFF",),
    "ahi-8-parts": ("--innodb-adaptive-hash-index-parts=8",),
    "small-redo": ("--innodb-log-file-size=8M",),
    "threads-cores": (f"--handlersocket-threads={max(2, len(os.sched_getaffinity(0)))}",),
    "threads-64": ("--handlersocket-threads=64",),
    "threads-wr-2": ("--handlersocket-threads-wr=2",),
    "threads-wr-4": ("--handlersocket-threads-wr=4",),
}
WITH_TOKENS = ("tokens", "tokens-binlog")


def options_of_all(plan):
    """The options of every MariaDB server of a run; the user's own come last."""
    return [f"--innodb-buffer-pool-size={plan.buffer_pool()}", *COMMON_OPTIONS,
            *plan.server_options]


class Unavailable(Exception):
    """Raised if the system cannot be measured here; the text says why."""


def free_port():
    """A free port below the range that the kernel gives to outgoing connections."""
    while True:
        port = random.randrange(10000, 32000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def wait_until(condition, what, timeout_s=START_TIMEOUT_S):
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise Unavailable(f"not within {timeout_s} s: {what}")
        time.sleep(0.02)


def accepts(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class MariaDb:
    """A MariaDB server, run by scripts/server."""

    def __init__(self, name, base, plan):
        plugin, _, self.variant = name.partition("/")
        self.plugin, self.plan = PLUGINS[plugin], plan
        self.directory = base / name.replace("/", "-")
        self.resp_port = free_port()
        placeholders = {**plan.placeholders(self.variant), "resp_port": self.resp_port}
        self.options = [*options_of_all(plan), *(text.format(**placeholders) for text in VARIANTS[self.variant])]
        self.env, self.sql = {}, None

    def start(self):
        dataset.copy_into(self.directory, self.plan)
        done = subprocess.run(
            [REPOSITORY / "scripts/server", "start", self.directory, "--plugin", self.plugin, "--",
             *self.options], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=180, check=False)
        if done.returncode != 0:
            lines = (done.stderr or done.stdout).strip().splitlines()
            raise Unavailable(lines[0] if lines else "the server does not start")
        self.env = read_env(self.directory / "env")
        self.sql = pymysql.connect(unix_socket=self.env["SQL_SOCKET"], user="root",
                                   database="test", autocommit=True, read_timeout=300)
        if self.plugin == "rowsocket":
            self.run(dataset.CONTAINERS)
        for statement in (*dataset.SHOP, *self._statements_of_variant()):
            self.run(statement)
        if self.variant != "io":
            dataset.warm(self, self.plan)

    def _statements_of_variant(self):
        if self.variant in WITH_TOKENS:
            return dataset.script(dataset.TOKENS)
        return (*dataset.script(dataset.STORE), dataset.KEYSPACES) if self.variant == "resp" else ()

    @property
    def pid(self):
        return int(self.env["PID"])

    def run(self, statement):
        """Executes one statement on a new connection; returns the rows."""
        with self.sql.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall()

    def status(self, *patterns):
        """Counters of SHOW GLOBAL STATUS as numbers."""
        found = {}
        for pattern in patterns:
            found.update({name: int(value) for name, value in
                          self.run(f"SHOW GLOBAL STATUS LIKE '{pattern}'") if value.isdigit()})
        return found

    def settle(self):
        """Writes out all dirty pages and purges the history of updates, so that the next window does not pay for an
        earlier one. Goes on after a time, even if some pages are left."""
        before = [self.run(f"SELECT @@GLOBAL.{name}")[0][0] for name, _ in SETTLE]
        for name, value in SETTLE:
            self.run(f"SET GLOBAL {name} = {value}")
        with contextlib.suppress(Unavailable):
            wait_until(self._is_settled, "pages written, history purged", SETTLE_TIMEOUT_S)
        for (name, _), value in reversed(list(zip(SETTLE, before))):
            self.run(f"SET GLOBAL {name} = {value}")

    def _is_settled(self):
        left = self.status("Innodb_buffer_pool_pages_dirty", "Innodb_history_list_length")
        return self.is_few(max(left.values(), default=0))

    @staticmethod
    def is_few(count):
        return count < SETTLED_BELOW

    def variables(self):
        names = ("innodb_(buffer_pool_size|log_file_size|redo_log_capacity|flush_|adaptive_hash_index(_parts)?$)"
                 "|handlersocket_(threads|threads_wr)|sync_binlog|log_bin$|thread_handling"
                 "|innodb_deadlock_detect")
        return dict(self.run(f"SHOW GLOBAL VARIABLES WHERE Variable_name RLIKE '^({names})'"))

    def port(self, workload):
        """The port that a workload needs."""
        kind = workload.split("-")[0]
        if kind == "hs":
            writes = workload in dataset.HS_WRITES
            return int(self.env["HS_PORT_WR" if writes else "HS_PORT"])
        if kind == "mc":
            if "MEMCACHED_PORT" not in self.env:
                raise Unavailable("this build has no memcached protocol")
            return int(self.env["MEMCACHED_PORT"])
        if kind == "redis":
            return self.resp_port
        return int(self.env["SQL_PORT"])

    def address(self, workload):
        """The options of the load generator that say where to connect."""
        return ("--host", "127.0.0.1", "--port", str(self.port(workload)))

    def stop(self):
        if self.sql:
            try:
                self.sql.close()
            except pymysql.MySQLError:
                pass
        # The data is no longer needed, so the server need not shut down in good order.
        subprocess.run([REPOSITORY / "scripts/server", "kill", self.directory],
                       stdin=subprocess.DEVNULL, capture_output=True, timeout=180, check=False)
        shutil.rmtree(self.directory, ignore_errors=True)


class Process:
    """A server that consists of one program with a port."""

    def __init__(self, name, base, plan):
        self.name, self.directory, self.plan = name, base / name, plan
        self.process, self.number = None, 0

    def command(self):
        """(arguments, the file to execute)"""
        if self.name.startswith("memcached"):
            program = self.plan.memcached_program
            user = ("-u", "nobody") if os.geteuid() == 0 else ()
            return (["memcached", *user, "-l", "127.0.0.1", "-p", self.number, "-U", 0, "-t", 2,
                     "-m", 4096, "-c", 16384, *self._tls_arguments()], program)
        if redis_servers.is_redis(self.name):
            return redis_servers.command(self.name, self.number, self.directory)
        return (["rowsocket-null", *self.plan.null_arguments(self.number)], self.plan.null_program)

    @property
    def has_tls(self):
        return self.name == "memcached-tls"

    def _tls_arguments(self):
        if not self.has_tls:
            return ()
        files = self.plan.certificate()
        return ("-Z", "-o", f"ssl_chain_cert={files.certificate}", "-o", f"ssl_key={files.key}")

    def start(self):
        self.directory.mkdir(parents=True, exist_ok=True)
        self.number = free_port()
        arguments, program = self.command()
        if not program or not os.path.exists(program):
            how = f"; {redis_servers.how_to_get(self.name)}" if redis_servers.is_redis(self.name) else ""
            raise Unavailable(f"{arguments[0]} is not installed or not built{how}")
        with (self.directory / "log").open("ab") as log:
            # The kernel shares the cores between sessions (autogroup), and scripts/server gives every MariaDB
            # server a session of its own.
            self.process = subprocess.Popen([str(part) for part in arguments], executable=program,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            cwd=self.directory, start_new_session=True)
        wait_until(lambda: self.process.poll() is not None or accepts(self.number),
                   f"{self.name} listens")
        if self.process.poll() is not None:
            raise Unavailable(f"{self.name} ended: {(self.directory / 'log').read_text()[-200:]}")
        if self.name.startswith("memcached"):
            self.plan.fill_memcached(self)
        if redis_servers.is_redis(self.name) and (wrong := redis_servers.fill(self, self.plan)):
            raise Unavailable(wrong)

    @property
    def pid(self):
        return self.process.pid

    def run(self, statement):
        raise Unavailable(f"{self.name} has no SQL")

    def status(self, *_):
        return {}

    def settle(self):
        pass

    def variables(self):
        # Results must not contain paths of this machine.
        return {"command": " ".join(str(part).replace(str(self.plan.base), "DIR")
                                    for part in self.command()[0])}

    def address(self, _):
        return ("--host", "127.0.0.1", "--port", str(self.number))

    def port(self, _):
        return self.number

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


def default_base():
    return cache_dir() / "bench"
