"""A primary with two semi-synchronous replicas on loopback as a measured system: the gain of finds on replicas, and how
soon replicas see a write.
"""

import concurrent.futures
import contextlib
import dataclasses
import socket
import time

from . import dataset, loads
from .galera import GaleraCluster, TABLES
from .loader import WindowFailed, metrics, run_window

NODES = 3
USERS = 10_000
# The columns and values that the load generator's finds expect.
USER_TABLE = (
    "CREATE TABLE user (user_id INT UNSIGNED NOT NULL PRIMARY KEY, user_name VARCHAR(50) NOT NULL,"
    " user_email VARCHAR(255) NOT NULL, created DATETIME NOT NULL)",
    f"INSERT INTO user SELECT seq, CONCAT('user ', seq), CONCAT('user', seq, '@example.com'),"
    f" '{loads.CREATED}' FROM seq_1_to_{USERS}",
    "CREATE TABLE probe (id INT NOT NULL PRIMARY KEY, v BIGINT NOT NULL)",
    "INSERT INTO probe VALUES (1, 0)")
WAIT_S = 30
WRITES, FINDS = loads.decrement(16, hot_rows=dataset.STOCK_ROWS), loads.find(32, 1, rows=USERS)


class PrimaryWithReplicas(GaleraCluster):
    """Node 1 is the primary."""

    kind, tables = "replicas", (*TABLES, *USER_TABLE)

    @property
    def replicas(self):
        return self.nodes[1:]

    def settle(self):
        """Waits until each replica has applied what the primary wrote."""
        position = self.run("SELECT @@gtid_binlog_pos")[0][0]
        for node in self.replicas:
            node.run(f"SELECT MASTER_GTID_WAIT('{position}', {WAIT_S})")

    def variables(self):
        return {**self.nodes[0].variables(), "nodes": str(len(self.nodes)),
                "rpl_semi_sync_master_clients": self.status_text("Rpl_semi_sync_master_clients")}


def readers(system, count):
    """The nodes that take finds: none, the primary, or so many replicas."""
    return system.nodes[:count] if count < 2 else system.replicas[:count]


def run_beside(plan, load, system, seconds, warmup_s, wait_s, finders):
    """Runs a window of writes on the primary, with finds at the same time on the nodes that take them. Returns the
    window of the writes, and the finds per second."""
    nodes = readers(system, finders)
    with concurrent.futures.ThreadPoolExecutor(1 + len(nodes)) as pool:
        writes = pool.submit(run_window, plan, load, system.nodes[0], seconds, warmup_s, wait_s)
        finds = [pool.submit(run_window, plan, share(plan, len(nodes)), node, seconds, warmup_s, wait_s)
                 for node in nodes]
        raw = writes.result()
        return raw, sum(each.result()["replies_per_second"] for each in finds)


def share(plan, nodes):
    """The part of the finds that one of so many nodes takes."""
    load = plan.shaped(FINDS)
    return dataclasses.replace(load, connections=max(1, load.connections // nodes))


def window(plan, load, system, seconds, warmup_s, wait_s, finders):
    raw, finds_s = run_beside(plan, load, system, seconds, warmup_s, wait_s, finders)
    return raw, {"finds_s": round(finds_s, 1)} if finders else {}


# --- How soon a replica sees a write ---


class Line:
    """A connection that sends one line at a time, and reads one."""

    def __init__(self, node, name):
        self.socket = socket.create_connection(("127.0.0.1", int(node.env[name])), WAIT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")

    def ask(self, *tokens):
        self.socket.sendall("\t".join(map(str, tokens)).encode() + b"\n")
        answer = self.file.readline().decode().rstrip("\n").split("\t")
        if len(answer) < 2:
            raise WindowFailed("a connection of the probe was closed")
        return answer

    def must(self, *tokens):
        answer = self.ask(*tokens)
        if answer[0] != "0":
            raise WindowFailed(f"{tokens}: {answer}")
        return answer[2:]

    def close(self):
        self.file.close()
        self.socket.close()


class Probe:
    """Writes one row on the primary and finds it on a replica, one write after the other."""

    def __init__(self, system):
        self.system, self.value = system, int(system.run("SELECT v FROM probe")[0][0])
        self.writer = Line(system.nodes[0], "HS_PORT_WR")
        self.reader = Line(system.replicas[0], "HS_PORT")
        for line in (self.writer, self.reader):
            line.must("P", 0, "test", "probe", "PRIMARY", "v")

    def close(self):
        self.writer.close()
        self.reader.close()

    def write(self):
        self.value += 1
        self.writer.must(0, "=", 1, 1, 1, 0, "U", self.value)

    def is_seen(self):
        return self.reader.must(0, "=", 1, 1) == [str(self.value)]

    def until(self, condition):
        limit = time.monotonic() + WAIT_S
        while not condition():
            if time.monotonic() > limit:
                raise WindowFailed(f"no replica has the write after {WAIT_S} s")

    def answer(self):
        """The time from the request to the answer."""
        began = time.perf_counter()
        self.write()
        return time.perf_counter() - began

    def _after(self, wait):
        """The time from the answer to the write until a find on the replica, sent after the wait, sees the write."""
        self.write()
        began = time.perf_counter()
        wait()
        took = time.perf_counter() - began
        if not self.is_seen():
            raise WindowFailed("a find after the wait does not see the write")
        return took

    def seen(self):
        return self._after(lambda: self.until(self.is_seen))

    def sql_wait(self):
        def wait():
            position = self.system.run("SELECT @@gtid_binlog_pos")[0][0]
            self.system.replicas[0].run(f"SELECT MASTER_GTID_WAIT('{position}', {WAIT_S})")
            self.is_seen()
        return self._after(wait)

    def line_wait(self):
        def wait():
            position, = self.writer.must("H", "position")
            self.until(lambda: self.reader.ask("H", "at", position)[0] == "0")
            self.is_seen()
        return self._after(wait)


PROBES = {"a write until its answer": Probe.answer,
          "from that answer until a find on a replica sees it": Probe.seen,
          "the same, behind MASTER_GTID_WAIT": Probe.sql_wait,
          "the same, by H position and H at": Probe.line_wait}


def fresh(runner, case, entry):
    """Runs one probe during writes on the primary and finds on both replicas."""
    plan, system = runner.plan, runner.fleet.get(entry.system)
    seconds = plan.seconds(case)
    for _ in range(plan.rounds_or(case.rounds)):
        with concurrent.futures.ThreadPoolExecutor(1) as pool, contextlib.closing(Probe(system)) as probe:
            beside = pool.submit(run_beside, plan, plan.shaped(entry.loads[0]), system, seconds, case.warmup_s,
                                 entry.wait_s, len(system.replicas))
            time.sleep(case.warmup_s)
            until, times_us = time.monotonic() + seconds, []
            while not times_us or time.monotonic() < until:
                times_us.append(PROBES[entry.label](probe) * 1e6)
            raw, finds_s = beside.result()
        times_us.sort()
        yield {"rps": metrics(raw)["rps"], "finds_s": round(finds_s, 1),
               "p50_us": round(times_us[len(times_us) // 2], 1),
               "p99_us": round(times_us[int(len(times_us) * 0.99)], 1), "max_us": round(times_us[-1], 1)}

