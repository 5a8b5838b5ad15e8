"""A Galera cluster of three nodes on loopback as a measured system. Loads go to one node or, split, to all.

If two nodes write the same row, one of them loses: an answer that says so is no failure of the window, but does not
count as a request either.
"""

import concurrent.futures
import dataclasses
import re
import shutil
import subprocess

import pymysql

from . import conserve, dataset
from .loader import WindowFailed, run_window, wrong_replies
from .machine import REPOSITORY, read_env
from .systems import MariaDb, Unavailable

NODES = 3
# The answers of a request that lost to another node whenever it was tried.
CONFLICT = re.compile(r"1213|1205|\b149$")
OPTIONS = ("--innodb-flush-log-at-trx-commit=1", "--innodb-buffer-pool-size=512M",
           "--innodb-log-file-size=512M", "--max-connections=2000", "--thread-cache-size=512",
           "--loose-handlersocket-backlog=4096")
TABLES = ("CREATE DATABASE IF NOT EXISTS test", "USE test",
          "CREATE TABLE stock (id INT UNSIGNED NOT NULL PRIMARY KEY, stock BIGINT NOT NULL)",
          f"INSERT INTO stock SELECT seq, 500000 FROM seq_1_to_{dataset.STOCK_ROWS}")


class ClusterStock(conserve.SqlStock):
    """The stock, which all nodes must have alike."""

    def total(self, rows):
        self.system.settle()
        totals = {conserve.SqlStock(node, self.table).total(rows) for node in self.system.nodes}
        if len(totals) != 1:
            raise conserve.Broken(f"the nodes differ: {sorted(totals)}")
        return totals.pop()


class Node(MariaDb):
    """One node: its ports, its process, a session. The cluster starts and stops it."""

    def __init__(self, directory):  # pylint: disable=super-init-not-called
        self.env = read_env(directory / "env")
        self.sql = self.connect(None)

    def connect(self, database):
        return pymysql.connect(unix_socket=self.env["SQL_SOCKET"], user="root", database=database,
                               autocommit=True, read_timeout=300)

    def use(self, database):
        self.sql.close()
        self.sql = self.connect(database)


class GaleraCluster:
    """Statements, counters and loads for one node go to node 1."""

    stock, kind, tables = ClusterStock, "galera", TABLES

    def __init__(self, name, base, plan):
        self.directory, self.plan, self.nodes = base / name, plan, []

    def start(self):
        self._call("start", f"--{self.kind}", "--nodes", str(NODES), "--", *OPTIONS, *self.plan.server_options)
        self.nodes = [Node(self.directory / str(number)) for number in range(1, NODES + 1)]
        for statement in self.tables:
            self.run(statement)
        self.settle()
        for node in self.nodes:
            node.use("test")

    def _call(self, command, *arguments, check=True):
        done = subprocess.run([REPOSITORY / "scripts/cluster", command, self.directory, *arguments],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600,
                              check=False)
        if check and done.returncode != 0:
            raise Unavailable((done.stderr or done.stdout).strip()[-300:])

    @property
    def pid(self):
        return self.nodes[0].pid

    def run(self, statement):
        return self.nodes[0].run(statement)

    def status(self, *patterns):
        return self.nodes[0].status(*patterns)

    def settle(self):
        """Waits until each node has applied what the others wrote."""
        for node in self.nodes:
            node.run("SET SESSION wsrep_sync_wait = 1")
            node.run("SELECT 1")
            node.run("SET SESSION wsrep_sync_wait = 0")

    def variables(self):
        return {**self.nodes[0].variables(), "nodes": str(len(self.nodes)),
                "wsrep_provider_version": self.status_text("wsrep_provider_version")}

    def status_text(self, name):
        return self.run(f"SHOW GLOBAL STATUS LIKE '{name}'")[0][1]

    def port(self, workload):
        return self.nodes[0].port(workload)

    def stop(self):
        for number in range(1, NODES + 1):
            self._call("kill", str(number), check=False)
        shutil.rmtree(self.directory, ignore_errors=True)


def run_on_nodes(plan, load, system, seconds, warmup_s, wait_s, nodes):
    """Runs a window on so many nodes, which share the load's connections."""
    counts = [load.connections // nodes + (number < load.connections % nodes) for number in range(nodes)]
    loads = [dataclasses.replace(load, connections=count) for count in counts]
    with concurrent.futures.ThreadPoolExecutor(nodes) as pool:
        raws = list(pool.map(lambda pair: run_window(plan, pair[1], pair[0], seconds, warmup_s, wait_s,
                                                     judge=wrong_but_for_conflicts),
                             zip(system.nodes, loads)))
    return together(raws)


def wrong_but_for_conflicts(raw):
    others = {text: count for text, count in (raw.get("error_texts") or {}).items()
              if not CONFLICT.search(text)}
    return wrong_replies({**raw, "errors": sum(others.values()), "error_texts": others, "right": None})


def together(raws):
    """Merges the windows of several nodes into one: sums, and the worst of the latencies."""
    whole = {name: sum(raw["whole_run"][name] for raw in raws) for name in raws[0]["whole_run"]}
    requests = sum(raw["requests"] for raw in raws)
    errors = sum(raw["errors"] for raw in raws)
    if not requests:
        raise WindowFailed("no reply in the window")
    done = 1 - errors / max(1, whole["requests"])
    return {**raws[0], "requests": requests, "errors": errors, "rows": sum(raw["rows"] for raw in raws),
            "replies_per_second": round(done * sum(raw["replies_per_second"] for raw in raws), 1),
            "rows_per_second": None, "fairness": None, "server_cpu": None,
            "latency_us": {name: max(raw["latency_us"][name] for raw in raws)
                           for name in raws[0]["latency_us"]},
            "conflicts": errors, "whole_run": whole}
