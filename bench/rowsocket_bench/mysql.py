"""What differs if the measured server is MySQL: scripts/bench --server mysql-9.7. The cases are MariaDB's, without the
systems that MySQL does not have, and with X Protocol's CRUD messages in addition to SQL.
"""

import dataclasses

from . import loads
from .catalog import MEMCACHED, OURS, TEXT, at_least, sql
from .model import Case, Entry
from .systems import MariaDb, free_port

X_PROTOCOL = "X Protocol"
# MySQL has neither the bundled plugin nor, in the packages of its community, a pool of threads.
MISSING_SYSTEMS = ("bundled", "sql/pool")
# For a work of SQL, the same work of X Protocol.
X_WORKLOADS = {"sql-get": "x-get", "sql-get-prepared": "x-get", "sql-update": "x-update",
               "sql-insert": "x-insert", "sql-decrement": "x-decrement"}
# X Protocol allows several requests in flight on a connection; SQL's protocol does not.
PIPELINED = {"P3": (30, 16)}
# MariaDB's options that have another name, or none, in MySQL.
OPTIONS = {"--innodb-log-file-size=1G": "--innodb-redo-log-capacity=1G", "--binlog-format=ROW": None}


class MySql(MariaDb):
    """A MySQL server, run by scripts/server. X Protocol takes logins without TLS only on its UNIX socket."""

    def __init__(self, name, base, plan):
        super().__init__(name, base, plan)
        self.options = [OPTIONS.get(option, option) for option in self.options
                        if OPTIONS.get(option, option) is not None]
        if self.plugin == "none":
            self.options += ["--mysqlx=ON", f"--mysqlx-port={free_port()}", "--mysqlx-bind-address=127.0.0.1",
                             f"--mysqlx-socket={self.x_socket}", "--mysqlx-max-connections=6000"]

    def start(self):
        super().start()
        if self.variant == "no-redo":
            self.run("ALTER INSTANCE DISABLE INNODB REDO_LOG")

    @property
    def x_socket(self):
        return self.directory / "x.sock"

    def address(self, workload):
        if workload.startswith("x-"):
            return ("--socket", str(self.x_socket))
        return super().address(workload)

    def _is_settled(self):
        history = self.run("SELECT count FROM information_schema.innodb_metrics"
                           " WHERE name = 'trx_rseg_history_len'")[0][0]
        return super()._is_settled() and self.is_few(history)


def over_x(load):
    """The same work by X Protocol; None for work that is not measured with it."""
    workload = X_WORKLOADS.get(load.workload)
    if workload is None or load.option("batch", 1) != 1:
        return None
    return dataclasses.replace(load, workload=workload)


def x_entry(entries):
    """An entry of X Protocol, for the first entry of SQL that has the same work."""
    for entry in entries:
        found = dict.fromkeys(over_x(load) for load in entry.loads)
        if entry.system == "sql" and None not in found:
            return dataclasses.replace(entry, label=X_PROTOCOL, loads=tuple(found))
    return None


def fitted(case):
    """The form in which a case of MariaDB is measured on MySQL."""
    entries = tuple(entry for entry in case.entries if entry.system not in MISSING_SYSTEMS)
    more = x_entry(entries)
    if case.id in PIPELINED:
        load = dataclasses.replace(loads.sql_prepared(PIPELINED[case.id][0]), workload="x-get",
                                   depth=PIPELINED[case.id][1])
        more = Entry(X_PROTOCOL, "sql", (load,))
    labels = {entry.label for entry in entries}
    targets = tuple(target for target in case.targets
                    if target.label in labels and (not target.other or target.other in labels))
    return dataclasses.replace(case, entries=entries + ((more,) if more else ()), targets=targets)


def without_redo():
    """A case that shows the redo log's cost: its server has none, so a crash would ruin the data."""
    yield Case("P7-no-redo", "updates of random rows, redo log switched off, 256 x 1", (
        Entry(OURS, "ours/no-redo", (loads.update(256),)),
        sql(TEXT, loads.sql_update(256), "sql/no-redo"),
        Entry(MEMCACHED, "memcached", (loads.mc_set(256),))), (
        at_least("rps", 4, TEXT),), "P7", warmup_s=0.4)


def cases(made, which):
    """The cases of a set as they are measured on MySQL."""
    return [*map(fitted, made), *(without_redo() if which in ("canonical", "full") else ())]
