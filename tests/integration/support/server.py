"""Private servers for the tests: started, watched and stopped through scripts/server."""

import atexit
import functools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import pymysql
from pymysql.constants import CLIENT

import hs

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
SCRIPT = REPOSITORY / "scripts" / "server"
START_TIMEOUT_S = 90
EXTRA_OPTIONS = []  # options of every server, before its own ones: pytest --tls


def interrupt_on_signals():
    """Makes SIGTERM and SIGHUP (timeout, CI, a closed terminal) interrupt the run, so that the servers are stopped."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup
            signal.signal(number, signal.default_int_handler)


def wait_until(condition, timeout_s=10.0, what="the condition", step_s=0.01):
    """Polls until condition() is true and returns its value; TimeoutError after the deadline."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {timeout_s} s: {what}; last value: {value!r}")
        time.sleep(step_s)


@functools.cache
def _owner_of_ports():
    """A folder to which ports belong as long as this process lives."""
    folder = tempfile.mkdtemp(prefix="rs-ports-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def free_port():
    """A free port of loopback for a server that this process starts: no outgoing connection can sit on it, and
    scripts/server and other test runs leave it alone."""
    command = 'set -euo pipefail; . "$1/scripts/lib.sh"; . "$1/scripts/lib/server_ports.sh"; free_ports 1 "$2"'
    done = subprocess.run(["bash", "-c", command, "bash", REPOSITORY, _owner_of_ports()], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def cache_dir():
    """The folder in which scripts/bootstrap keeps its results."""
    if os.environ.get("ROWSOCKET_CACHE"):
        return pathlib.Path(os.environ["ROWSOCKET_CACHE"]).absolute()
    if os.geteuid() == 0:
        return pathlib.Path("/var/cache/rowsocket")
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(home) / "rowsocket"


def store_dir():
    """The cache itself, even if cache_dir() is a view of it (scripts/lib/cache_view.sh), for what tests obtain by
    themselves."""
    view_of = cache_dir() / "view-of"
    return pathlib.Path(view_of.read_text().strip()) if view_of.exists() else cache_dir()


def read_env(path):
    """The NAME=VALUE lines of a file."""
    pairs = (text.split("=", 1) for text in path.read_text().splitlines() if "=" in text)
    return {name.strip(): value.strip().strip("'\"") for name, value in pairs}


def run_packaged(sql, name):
    """Runs the statements of a script in packaging/, which must not contain semicolons."""
    text = (REPOSITORY / "packaging" / name).read_text()
    lines = [line for line in text.splitlines() if not line.startswith("--")]
    for statement in "\n".join(lines).split(";"):
        if statement.strip():
            sql.run(statement)


SERVERS = tuple(re.search(r"^servers=\((.+)\)$", (REPOSITORY / "scripts/lib.sh").read_text(), re.MULTILINE)[1].split())
PLUGINS = ("handlersocket", "daemon_memcached", "resp")  # that have ports
# The type number of MySQL's VECTOR, whose cells are bytes.
pymysql.connections.TEXT_TYPES.add(242)
SONAME = re.compile(r"((?:UN)?INSTALL) SONAME 'rowsocket'")
# A table of MariaDB's sequence engine.
SEQUENCE = re.compile(r"(?:\b\w+\.)?\bseq_(\d+)_to_(\d+)\b")
# MariaDB's words for replication, with MySQL's.
REPLICATION = ((re.compile(r"\b(START|STOP|RESET) SLAVE\b"), r"\1 REPLICA"),
               (re.compile(r"\bCHANGE MASTER TO\b"), "CHANGE REPLICATION SOURCE TO"), (re.compile(r"\bmaster_"), "source_"))
# A statement of MariaDB that is two statements in MySQL.
REPLACED = re.compile(r"(?:\s|--.*)*CREATE OR REPLACE (DATABASE|TABLE|USER) (\S+)")


def server_name():
    """The server in which the library is tested, as in scripts/test --server."""
    return os.environ.get("ROWSOCKET_SERVER", SERVERS[0])


def is_mysql():
    """Whether the library is tested in MySQL."""
    return server_name().startswith("mysql-")


def is_server_before(version):
    """Whether the server is MySQL, or a MariaDB older than a version, for example (11, 8)."""
    return is_mysql() or tuple(map(int, server_name().split("-")[1].split("."))) < version


def build_dir(preset):
    """The folder in which scripts/build has made the library for the server."""
    kind = "" if preset == "release" else f"-{preset}"
    return REPOSITORY / f"build{kind}{other_server_suffix()}"


def other_server_suffix():
    """The end of folders' names for servers other than the scripts' default server; empty for that one."""
    return "" if server_name() == SERVERS[0] else f"-{server_name()}"


def server_env(name=None):
    """ROWSOCKET_SERVER_VERSION, _PREFIX, _SOURCE, _BUILD."""
    return read_env(cache_dir() / (name or server_name()) / "env")


class Sql:
    """One SQL session with SET NAMES utf8mb4; autocommit on. Values are the bytes of the text protocol,
    without conversion."""

    def __init__(self, path, database=None, **kwargs):
        self.connection = pymysql.connect(
            unix_socket=path, user=kwargs.pop("user", "root"), database=database,
            charset="utf8mb4", autocommit=True, connect_timeout=20,
            read_timeout=kwargs.pop("read_timeout", 60), write_timeout=60, conv={},
            client_flag=CLIENT.FOUND_ROWS, **kwargs)
        self.run("SET NAMES utf8mb4")
        if is_mysql():
            self.run("SET cte_max_recursion_depth = 10000000")

    def run(self, query, *args):
        """Executes and returns the number of rows affected (matched, for UPDATE). %s in the
        query stand for args, as literals."""
        text = self._with(query, args)
        if is_mysql() and isinstance(text, str):
            if soname := SONAME.fullmatch(text):
                return self._each_plugin(soname[1])
            if replaced := REPLACED.match(text):
                self.run(f"DROP {replaced[1]} IF EXISTS {replaced[2]}")
                text = text.replace(" OR REPLACE", "", 1)
            if re.search(r"\b(SLAVE|MASTER)\b", text):
                for word, own in REPLICATION:
                    text = word.sub(own, text)
        with self.connection.cursor() as cursor:
            return cursor.execute(text)

    def rows(self, query, *args):
        """All rows, as tuples of bytes and None."""
        with self.connection.cursor() as cursor:
            cursor.execute(self._with(query, args))
            return [tuple(map(self._bytes, row)) for row in cursor.fetchall()]

    def row(self, query, *args):
        """The only row of the result."""
        rows = self.rows(query, *args)
        assert len(rows) == 1, (query, rows)
        return rows[0]

    def value(self, query, *args):
        """The only cell of the result."""
        row = self.row(query, *args)
        assert len(row) == 1, (query, row)
        return row[0]

    def error(self, query, *args):
        """Runs a query that has to fail, and returns the number of its error."""
        try:
            self.run(query, *args)
        except pymysql.MySQLError as error:
            return error.args[0]
        raise AssertionError(f"not refused: {query}")

    def status(self, name):
        """One counter of SHOW GLOBAL STATUS."""
        return int(self.rows("SHOW GLOBAL STATUS LIKE %s", name)[0][1])

    def close(self):
        try:
            self.connection.close()
        except pymysql.MySQLError:
            pass

    def _with(self, query, args):
        if is_mysql() and isinstance(query, str):
            query = SEQUENCE.sub(self._sequence, query)
        return query % tuple(map(self.literal, args)) if args else query

    def _each_plugin(self, verb):
        """MySQL's statements for INSTALL SONAME and UNINSTALL SONAME, which it does not have."""
        for plugin in PLUGINS:
            self.run(f"{verb} PLUGIN {plugin}" + (" SONAME 'rowsocket.so'" if verb == "INSTALL" else ""))

    @staticmethod
    def _sequence(match):
        """MySQL's replacement for a table of the sequence engine."""
        first, last = match.groups()
        return (f"(WITH RECURSIVE numbers (seq) AS (SELECT {first} UNION ALL SELECT seq + 1 FROM"
                f" numbers WHERE seq < {last}) SELECT seq FROM numbers) AS seq_{first}_to_{last}")

    def literal(self, value):
        """A value as SQL text: bytes as x'..', text quoted."""
        if value is None:
            return "NULL"
        if isinstance(value, (bytes, bytearray)):
            # In MySQL x'38' together with a number is the number 56; with a character set it is a text.
            return f"{'_binary ' if is_mysql() else ''}x'{bytes(value).hex()}'"
        if isinstance(value, str):
            return "'" + self.connection.escape_string(value) + "'"
        return str(value)

    @staticmethod
    def _bytes(value):
        return value.encode("utf-8") if isinstance(value, str) else value


class StartFailed(Exception):
    """The server did not start; the text is the output of the script and the end of the log."""


class Server:
    """One private server. Its directory is removed when it stops, unless keep is set. environment: more variables for
    its process than those of this process. server: its name, by default server_name()."""

    def __init__(self, plugin, options=(), keep=False, directory=None, environment=None,
                 server=None):
        self.plugin = plugin
        self.server = server or server_name()
        self.options = list(options)
        self.environment = dict(environment or {})
        self.keep = keep
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="rs-", dir=os.environ.get("TMPDIR", "/tmp")))
        self.base.chmod(0o755)
        self.directory = pathlib.Path(directory) if directory else self.base / "s"
        self.env = {}
        self.running = False
        self.clients = []

    def start(self, options=None):
        """Starts the server, the first time or again on the same data directory."""
        if options is not None:
            self.options = list(options)
        command = [str(SCRIPT), "start", str(self.directory), "--server", self.server,
                   "--plugin", self.plugin]
        if EXTRA_OPTIONS or self.options:
            command += ["--", *EXTRA_OPTIONS, *self.options]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, timeout=START_TIMEOUT_S, check=False,
                              env={**os.environ, **self.environment})
        if done.returncode != 0:
            raise StartFailed(f"{done.stdout}{done.stderr}\n{self.log_tail()}")
        self.env = read_env(self.directory / "env")
        self.running = True
        return self

    def stop(self):
        """Shuts the server down in good order."""
        self.close_clients()
        if not self.running:
            return
        self.running = False
        subprocess.run([str(SCRIPT), "stop", str(self.directory)], capture_output=True,
                       stdin=subprocess.DEVNULL, timeout=START_TIMEOUT_S, check=True)

    def strike(self):
        """Sends SIGKILL at this very moment; kill() has to clean up afterwards."""
        os.kill(self.pid, signal.SIGKILL)

    def kill(self):
        """Sends SIGKILL, and cleans up after it."""
        self.running = False
        subprocess.run([str(SCRIPT), "kill", str(self.directory)], capture_output=True,
                       stdin=subprocess.DEVNULL, timeout=START_TIMEOUT_S, check=False)
        self.close_clients()

    def remove(self):
        """Stops the server, and removes its directory."""
        try:
            if self.running and self.alive():
                self.stop()
            else:
                self.kill()
        except (subprocess.SubprocessError, OSError):
            self.kill()
        finally:
            if not self.keep:
                shutil.rmtree(self.base, ignore_errors=True)

    @property
    def pid(self):
        return int(self.env["PID"])

    def alive(self):
        """Whether the process exists (and is no zombie)."""
        try:
            status = pathlib.Path(f"/proc/{self.pid}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return False
        return status.rsplit(")", 1)[1].split()[0] not in ("Z", "X")

    def memory_kib(self, which="VmRSS"):
        """The resident memory of the process, or another size that the kernel tells of it: VmHWM, the peak of that, or
        VmPeak, that of the address space."""
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return next(int(text.split()[1]) for text in status.splitlines() if text.startswith(f"{which}:"))

    def answers(self):
        """Whether both ports answer."""
        for port in ("HS_PORT", "HS_PORT_WR"):
            try:
                with hs.Client(("127.0.0.1", int(self.env[port])), timeout_s=3) as client:
                    client.request_raw(b"?")
            except (OSError, hs.Closed):
                return False
        return True

    # Connections are closed at the end of the test at the latest.

    def sql(self, database=None, **kwargs):
        return self._keep(Sql(self.env["SQL_SOCKET"], database, **kwargs))

    def hs_rd(self, **kwargs):
        """A client of the port that only reads."""
        return self._keep(hs.Client(("127.0.0.1", int(self.env["HS_PORT"])), **kwargs))

    def hs_wr(self, **kwargs):
        """A client of the port that also writes."""
        return self._keep(hs.Client(("127.0.0.1", int(self.env["HS_PORT_WR"])), **kwargs))

    def connect(self, address, **kwargs):
        return self._keep(hs.Client(address, **kwargs))

    def _keep(self, client):
        self.clients.append(client)
        return client

    def close_clients(self):
        while self.clients:
            self.clients.pop().close()

    # The error log.

    def log(self):
        path = self.directory / "error.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def log_tail(self, lines=60):
        return "\n".join(self.log().splitlines()[-lines:])
