"""The canonical table: the cases that docs/BENCHMARKS.md calls P0 to P10, each with its targets."""

from . import loads
from .model import Case, Entry, Target

OURS, BUNDLED, MEMCACHED, NULL = "ours", "bundled", "memcached", "null server"
PREPARED, TEXT = "SQL prepared", "SQL text"

# The kernel samples user time with its tick, so windows are longer in cases that judge user time.
LONG_S, SHORT_S = 1.5, 0.7


def at_most(metric, factor, other, label=OURS, plus=0.0):
    return Target(metric, label, "<=", factor, other, plus)


def at_least(metric, factor, other, label=OURS):
    return Target(metric, label, ">=", factor, other)


def four(connections, depth, keys="uniform"):
    """The same finds by primary key from each system that can address single rows."""
    return {
        OURS: Entry(OURS, "ours", (loads.find(connections, depth, keys),)),
        BUNDLED: Entry(BUNDLED, "bundled", (loads.find(connections, depth, keys),)),
        MEMCACHED: Entry(MEMCACHED, "memcached", (loads.mc_get(connections, depth, keys),)),
        NULL: Entry(NULL, "null", (loads.null_find(connections, depth),)),
    }


def sql(label, load, system="sql", **more):
    return Entry(label, system, load if isinstance(load, tuple) else (load,), **more)


def best_of_each():
    shapes = ((30, 16), (100, 16), (16, 64), (30, 64), (200, 8))
    return Case("P0", "finds by primary key, each system at its own best", (
        Entry(OURS, "ours", tuple(loads.find(*shape) for shape in shapes)),
        Entry(BUNDLED, "bundled", tuple(loads.find(*shape) for shape in shapes)),
        Entry(MEMCACHED, "memcached", tuple(loads.mc_get(*shape) for shape in shapes)),
        sql("SQL", tuple(load(connections) for load in (loads.sql_prepared, loads.sql_text)
                         for connections in (4, 16, 64)))), (
        at_least("rps", 7.5, "SQL"), at_least("rps", 1.78, MEMCACHED),
        at_least("rps", 1.2, BUNDLED)), "P0")


def reads():
    yield best_of_each()
    entries = four(30, 1)
    yield Case("P1", "finds, 30 connections x 1", (
        *entries.values(), sql(PREPARED, loads.sql_prepared(30))), (
        at_most("user_us", 0.65, BUNDLED), at_most("total_us", 1, BUNDLED),
        at_most("total_us", 1, MEMCACHED), at_most("total_us", 0.45, PREPARED),
        at_most("total_us", 1.45, NULL), at_least("rps", 1, BUNDLED),
        at_least("rps", 1.2, MEMCACHED), at_least("rps", 2, PREPARED),
        at_most("p99_us", 1, BUNDLED)), "P1", seconds=LONG_S)
    entries = four(200, 1)
    yield Case("P2", "finds, 200 connections x 1", (
        entries[OURS], entries[BUNDLED], entries[NULL], sql(TEXT, loads.sql_text(200))), (
        at_most("user_us", 0.65, BUNDLED), at_most("total_us", 0.25, TEXT),
        at_least("rps", 1, BUNDLED), at_least("rps", 2, TEXT)), "P2", seconds=LONG_S)
    entries = four(30, 16)
    yield Case("P3", "finds, 30 connections x 16 in flight", tuple(entries.values()), (
        at_most("user_us", 0.70, BUNDLED), at_least("rps", 1.2, BUNDLED),
        at_least("rps", 3, MEMCACHED)), "P3", seconds=LONG_S)
    for name, keys, title in (("P4", "hot:10000", "of 10,000 hot rows"),
                              ("P4-zipf", "zipf", "by Zipf's law, 0.99")):
        entries = four(30, 16, keys)
        targets = (at_most("user_us", 0.70, BUNDLED), at_least("rps", 1.1, BUNDLED))
        if name == "P4":
            targets += (Target("rps", OURS, ">=", 1_000_000),)
        yield Case(name, f"finds, 30 x 16, {title}", (entries[OURS], entries[BUNDLED]), targets,
                   "P4", seconds=LONG_S)


def several_rows():
    keys = 16
    yield Case("P5", f"{keys} keys in one request, 30 connections x 1", (
        Entry(OURS, "ours", (loads.find_in(30, 1, keys),)),
        Entry(BUNDLED, "bundled", (loads.find_in(30, 1, keys),)),
        Entry(MEMCACHED, "memcached", (loads.mc_multiget(30, 1, keys),)),
        sql(TEXT, loads.sql_in(30, keys))), (
        at_least("rows_s", 1.2, MEMCACHED), at_most("total_us", 0.75, BUNDLED)), "P5")
    yield Case("P6-range", "range >= with limit 100, 30 x 1", (
        Entry(OURS, "ours", (loads.find_range(30, 1, 100),)),
        Entry(BUNDLED, "bundled", (loads.find_range(30, 1, 100),)),
        sql(TEXT, loads.sql_range(30, 100))), (
        at_least("rows_s", 1.3, BUNDLED),), "P6", seconds=SHORT_S)
    for name, covered, title in (
            ("P6-secondary", False, "secondary index, the row is read, 30 x 16"),
            ("P6-covering", True, "secondary index that covers the columns, 30 x 16")):
        load = loads.find_secondary(30, 16, covered)
        yield Case(name, title, (Entry(OURS, "ours", (load,)), Entry(BUNDLED, "bundled", (load,))),
                   (at_least("rows_s", 1.3, BUNDLED),), "P6", seconds=SHORT_S)
    load = loads.find_wide(30, 16, 2)
    yield Case("P6-wide", "table of 50 columns, 2 asked for, 30 x 16", (
        Entry(OURS, "ours", (load,)), Entry(BUNDLED, "bundled", (load,)),
        Entry("ours, 50 columns", "ours", (loads.find_wide(30, 16, 50),))), (
        at_least("rows_s", 1.3, BUNDLED),), "P6", seconds=SHORT_S)


def writes():
    for connections, times_sql in ((64, 2.5), (256, 4)):
        yield Case(f"P7-{connections}", f"durable updates of random rows, {connections} x 1", (
            Entry(OURS, "ours", (loads.update(connections),)),
            Entry(BUNDLED, "bundled", (loads.update(connections),)),
            sql(TEXT, loads.sql_update(connections))), (
            at_most("total_us", 0.85, BUNDLED), at_least("rps", 1.15, BUNDLED),
            at_least("rps", times_sql, TEXT)), "P7", warmup_s=0.4)
    empty = ("TRUNCATE TABLE sink",)
    yield Case("P8-single", "durable inserts, 256 x 1", (
        Entry(OURS, "ours", (loads.insert(256),), empty),
        Entry(BUNDLED, "bundled", (loads.insert(256),), empty),
        sql(TEXT, loads.sql_insert(256), before=empty)), (at_least("rps", 4, TEXT),), "P8")
    yield Case("P8-bulk", "bulk load: 1,000 inserts in flight, INSERT of 1,000 rows", (
        Entry(OURS, "ours", (loads.insert(1, 1000),), empty),
        Entry(BUNDLED, "bundled", (loads.insert(1, 1000),), empty),
        sql("SQL, 1,000 rows", loads.sql_insert(1, 1000), before=empty)), (
        at_least("rows_s", 1.3, "SQL, 1,000 rows"),), "P8")
    yield Case("P7-binlog", "durable updates, ROW binary log, sync_binlog=1, 256 x 1", (
        Entry(OURS, "ours/binlog", (loads.update(256),)),
        sql(TEXT, loads.sql_update(256), "sql/binlog")), (at_least("rps", 4, TEXT),), "P7",
        warmup_s=0.4)


def connections():
    yield Case("P9", "10,000 idle connections", (
        Entry(OURS, "ours", (loads.find(100, 1),)),
        Entry(BUNDLED, "bundled", (loads.find(100, 1),))), (
        Target("idle_bytes", OURS, "<=", 2048), Target("kept", OURS, ">=", 0.95),
        Target("accepts_s", OURS, ">=", 10_000)), "P9", special="idle",
        options=(("connections", 10_000), ("estimated_s", 40)))
    entries = four(1, 1)
    yield Case("P10", "one request at a time", (
        *entries.values(), sql(PREPARED, loads.sql_prepared(1))), (
        at_most("p50_us", 1.3, NULL, plus=2),), "P10")


def canonical():
    """All cases in the order in which they are measured: systems that few cases need come last."""
    return [*reads(), *several_rows(), *connections(), *writes()]


def flat(cases):
    """Cases by id. Raises an error if two cases have the same id."""
    found = {}
    for case in cases:
        assert case.id not in found, case.id
        found[case.id] = case
    return found


def select(cases, names):
    """The cases that `--only P3,P4` names: by row or by id."""
    wanted = {name.strip().upper() for name in names.split(",") if name.strip()}
    known = {key.upper() for case in cases for key in (case.id, case.row)}
    if wanted - known:
        raise ValueError(f"there is no {', '.join(sorted(wanted - known))};"
                         f" there are {', '.join(case.id for case in cases)}")
    return [case for case in cases if {case.id.upper(), case.row.upper()} & wanted]
