"""The conservation check of decrements: exactly the amount that the clients were told they took has to be missing
afterwards. Also counts the server's requests per fsync.
"""

from . import redis_servers
from .systems import Unavailable

# Innodb_data_fsyncs counts the fsyncs of the redo log, and the few of data files.
COUNTERS = ("Innodb_data_fsyncs", "Binlog_commits", "Binlog_group_commits",
            "Handlersocket_commits", "Handlersocket_batch%", "Handlersocket_merge%")


class Broken(Exception):
    """A unit of stock was taken twice, or is gone although no client was told that it took it."""


class SqlStock:
    """A table (id, stock) of a MariaDB or MySQL server."""

    def __init__(self, system, table):
        self.system, self.table = system, table

    def fill(self, rows, stock):
        self.system.run(f"UPDATE {self.table} SET stock = {stock} WHERE id <= {rows}")

    def empty(self, orders):
        self.system.run(f"TRUNCATE TABLE {orders}")

    def count(self, orders):
        return self.system.run(f"SELECT COUNT(*) FROM {orders}")[0][0]

    def total(self, rows):
        found = self.system.run(f"SELECT SUM(stock), MIN(stock) FROM {self.table}"
                                f" WHERE id <= {rows}")
        return int(found[0][0]), int(found[0][1])


def open_ledger(system, entry):
    """Fills the stock and notes the total; None for an entry without stock."""
    if not entry.conserve:
        return None
    table, rows, stock = entry.conserve
    kind = redis_servers.stock_of(entry.loads[0].workload) if redis_servers.is_redis(entry.system) \
        else getattr(system, "stock", SqlStock)
    if entry.system == "null" or entry.system.startswith("memcached"):
        raise Unavailable("has no stock")
    ledger = kind(system, table)
    ledger.fill(rows, stock)
    if entry.orders:
        ledger.empty(entry.orders)
    return ledger, ledger.total(rows)[0]


def taken(raw):
    """All decrements that were answered as done, including those in the warm-up and after the end of the window."""
    return raw["whole_run"]["applied"]


def close_ledger(opened, _system, entry, raw):
    if opened is None:
        return
    ledger, before = opened
    after, least = ledger.total(entry.conserve[1])
    check(before, after, least, taken(raw))
    if entry.orders:
        check_orders(ledger.count(entry.orders), taken(raw))


def check(before, after, least, answered):
    """Raises Broken unless the stock lacks exactly what was answered, and no row fell below 0."""
    if before - after != answered:
        raise Broken(f"{before - after} are missing, {answered} were answered as taken")
    if least < 0:
        raise Broken(f"a stock of {least}")


def check_orders(orders, answered):
    """Raises Broken unless there is one order for each purchase that was answered as committed."""
    if orders != answered:
        raise Broken(f"{orders} orders, {answered} were answered as committed")


def changes(raw):
    """The number of changes in the whole run; None for a run that only reads."""
    kind = raw.get("workload", "").partition("-")[2]
    if kind.startswith(("decr", "purchase", "hincrby")) or kind == "ma":
        return taken(raw)
    if kind in ("update", "insert", "set", "replace"):
        # Rows are counted, because an INSERT may have many.
        return round(raw["whole_run"]["requests"] * raw.get("rows", 0) / raw["requests"])
    return None


def per_fsync(raw, before, after):
    """fsyncs per second, and changes per fsync. The server counts over the whole run, of which the window gets the
    share of its requests."""
    if "Innodb_data_fsyncs" not in after or changes(raw) is None:
        return {}
    fsyncs = after["Innodb_data_fsyncs"] - before["Innodb_data_fsyncs"]
    share = raw["requests"] / raw["whole_run"]["requests"]
    found = {"fsyncs_s": round(fsyncs * share / raw["seconds"], 1)}
    if fsyncs and changes(raw):
        found["batch"] = round(changes(raw) / fsyncs, 2)
    own = {name: count - before[name] for name, count in after.items()
           if name.startswith("Handlersocket_")}
    if own.get("Handlersocket_batches"):
        found["per_batch"] = round(own["Handlersocket_batch_requests"]
                                   / own["Handlersocket_batches"], 2)
    if own.get("Handlersocket_merged_rows"):
        found["per_row"] = round(own["Handlersocket_merged_requests"]
                                 / own["Handlersocket_merged_rows"], 2)
    return {**found, **own}
