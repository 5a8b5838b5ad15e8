"""Private clusters for the tests, started and stopped through scripts/cluster."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile

import pymysql

from server import REPOSITORY, Server, Sql, read_env, wait_until

SCRIPT = REPOSITORY / "scripts" / "cluster"
START_TIMEOUT_S = 300


class Node(Server):
    """One node, with clients and log as any private server. The cluster starts and stops its process."""

    def __init__(self, cluster, number):  # pylint: disable=super-init-not-called
        self.cluster, self.number = cluster, number
        self.plugin = "rowsocket"
        self.directory = cluster.directory / str(number)
        self.clients = []
        self.running = True

    @property
    def env(self):
        return read_env(self.directory / "env")

    def alive(self):
        return (self.directory / "env").exists() and super().alive()

    def kill(self):
        self.cluster.run("kill", self.number, may_fail=True)  # it may have been struck already
        self.close_clients()

    def slave_status(self):
        """SHOW SLAVE STATUS, by the names of its columns."""
        with self.sql().connection.cursor() as cursor:
            cursor.execute("SHOW SLAVE STATUS")
            names = [column[0] for column in cursor.description]
            return dict(zip(names, cursor.fetchone()))

    def received(self):
        """Stops a replica from receiving, and returns the number of the last transaction that it has received."""
        self.sql().run("STOP SLAVE IO_THREAD")
        return int(self.slave_status()["Gtid_IO_Pos"].rpartition("-")[2] or 0)

    def size(self):
        """How many nodes of its cluster this node sees."""
        with contextlib.closing(Sql(self.env["SQL_SOCKET"])) as sql:
            if self.cluster.kind == "galera":
                return sql.status("wsrep_cluster_size")
            return int(sql.value("SELECT COUNT(*) FROM performance_schema.replication_group_members"
                                 " WHERE member_state = 'ONLINE'"))

    def rejoin(self):
        self.cluster.run("rejoin", self.number)
        self.running = True

    def isolate(self):
        self.cluster.run("isolate", self.number)

    def reconnect(self):
        self.cluster.run("reconnect", self.number)

    def promote(self):
        self.cluster.run("promote", self.number)


class Cluster:
    """A cluster with nodes numbered from 1: cluster[1]. remove() deletes its directory."""

    def __init__(self, kind="galera", nodes=3, options=(), keep=False, sst="rsync"):
        self.kind, self.keep = kind, keep
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="rs-", dir=os.environ.get("TMPDIR", "/tmp")))
        self.base.chmod(0o755)
        self.directory = self.base / "c"
        self._options = [f"--{kind}", "--nodes", str(nodes), "--sst", sst]
        if options:
            self._options += ["--", *options]
        self.nodes = [Node(self, number) for number in range(1, nodes + 1)]

    def start(self):
        """Starts the cluster; again with other ports if another program has meanwhile taken a port that was free."""
        for is_last in (False, False, True):
            try:
                self.run("start", *self._options)
                break
            except AssertionError as error:
                if is_last or "Address already in use" not in str(error):
                    raise
                self._kill()
                shutil.rmtree(self.directory)
        return self

    def run(self, command, *arguments, may_fail=False):
        done = subprocess.run([str(SCRIPT), command, str(self.directory), *map(str, arguments)],
                              capture_output=True, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, timeout=START_TIMEOUT_S, check=False)
        assert may_fail or done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def __getitem__(self, number):
        return self.nodes[number - 1]

    @property
    def primary(self):
        """The node to which the others are replicas."""
        return self[int((self.directory / "primary").read_text())]

    @property
    def replicas(self):
        return [node for node in self.nodes if node is not self.primary]

    def _kill(self):
        for node in self.nodes:
            node.close_clients()
            if (node.directory / "data").exists():
                self.run("kill", node.number, may_fail=True)

    def remove(self):
        try:
            self._kill()
        finally:
            if not self.keep:
                shutil.rmtree(self.base, ignore_errors=True)

    def wait_until_equal(self, *tables, nodes=None, timeout_s=30):
        """Waits until all nodes have applied what the others wrote, then compares checksums."""
        numbers = nodes or range(1, len(self.nodes) + 1)

        def sums():
            found = set()
            for number in numbers:
                with_sql = self[number].sql()
                found.add(tuple(with_sql.row(f"CHECKSUM TABLE {table}")[1] for table in tables))
                with_sql.close()
            return found

        def equal():
            try:
                return len(sums()) == 1
            except pymysql.MySQLError:
                return False
        wait_until(equal, timeout_s, f"{tables} equal on nodes {list(numbers)}", step_s=0.2)
