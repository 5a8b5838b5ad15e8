"""A Galera cluster of three nodes: durable decrements of one row, and updates of random rows, through one node and
through all three. A primary with two replicas: finds while it writes, and how soon replicas see its writes."""

from . import dataset, galera, loads, replicas
from .catalog import OURS, at_least
from .model import Case, Entry

CONNECTIONS = (64, 256)
SQL = "SQL"
STOCK = 500_000
WAIT_S = 60


def hot_row(connections, nodes):
    row = ("stock", 1, STOCK)
    return (Entry(OURS, "galera", (loads.decrement(connections),), conserve=row, wait_s=WAIT_S, nodes=nodes),
            Entry(SQL, "galera", (loads.sql_decrement(connections),), conserve=row, wait_s=WAIT_S, nodes=nodes))


def random_rows(connections, nodes):
    rows = ("stock", dataset.STOCK_ROWS, STOCK)
    return (Entry(OURS, "galera", (loads.decrement(connections, hot_rows=dataset.STOCK_ROWS),), conserve=rows,
                  wait_s=WAIT_S, nodes=nodes),
            Entry(SQL, "galera", (loads.sql_decrement(connections, hot_rows=dataset.STOCK_ROWS),), conserve=rows,
                  wait_s=WAIT_S, nodes=nodes))


def cases():
    for nodes in (1, galera.NODES):
        where = "one writing node" if nodes == 1 else f"{nodes} writing nodes"
        for connections in CONNECTIONS:
            targets = (at_least("rps", 10, SQL),) if nodes == 1 else ()
            yield Case(f"G-{nodes}-{connections}", f"Galera, one hot row, {where}, {connections} connections",
                       hot_row(connections, nodes), targets, "G",
                       rounds=5, seconds=3.0, warmup_s=1.0)
            yield Case(f"G-{nodes}-{connections}-random",
                       f"Galera, {dataset.STOCK_ROWS:,} rows, {where}, {connections} connections",
                       random_rows(connections, nodes), (), "G",
                       rounds=3, seconds=3.0, warmup_s=1.0)


def replica_cases():
    rows = ("stock", dataset.STOCK_ROWS, STOCK)
    yield Case("R-finds", f"writes of {dataset.STOCK_ROWS:,} rows, {replicas.WRITES.connections} connections, beside"
               f" finds, {replicas.FINDS.connections} connections", tuple(
                   Entry(label, "replicas", (replicas.WRITES,), conserve=rows, wait_s=WAIT_S, nodes=finders)
                   for label, finders in (("no finds", 0), ("finds on the primary", 1), ("finds on two replicas", 2))),
               (), "R", rounds=5, seconds=4.0, warmup_s=1.0)
    yield Case("R-fresh", "the same writes, finds on two replicas", tuple(
        Entry(label, "replicas", (replicas.WRITES,), wait_s=WAIT_S) for label in replicas.PROBES),
        (), "R", rounds=5, seconds=4.0, warmup_s=1.0, special="fresh", options=(("estimated_s", 110),))
