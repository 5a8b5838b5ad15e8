"""The cases that only --full measures: cost against size, open loop, other clients, a small buffer pool."""

import dataclasses

from . import loads
from .catalog import BUNDLED, OURS, PREPARED, TEXT, at_most, four, sql
from .model import Case, Entry, Load

ROWS = (10_000, 100_000, 1_000_000, 10_000_000)
CONNECTIONS = (1, 3, 10, 30, 100, 300, 1000, 4000)
COLUMNS = (1, 2, 4, 8, 16, 32, 64)
SIZE_WARMUP_S = 20.0  # until the hash index has the rows of the largest table
VALUES = (10, 100, 1_000, 10_000, 100_000, 1_000_000)


def point(name, x, title, *entries, **more):
    return Case(f"P11-{name}-{x}", title, entries, row="P11", curve=name, x=x, rounds=3, **more)


def size(plan):
    for rows in plan.size_rows:
        yield point("rows", rows, f"finds in {rows:,} rows, 30 x 16", *(
            Entry(label, label, (loads.find(30, 16, table=f"user_{rows}", rows=rows),),
                  (f"SELECT COUNT(user_email) FROM user_{rows}",))
            for label in (OURS, BUNDLED)), warmup_s=SIZE_WARMUP_S if rows > 1_000_000 else 0.5)
    for connections in CONNECTIONS:
        entries = four(connections, 1)
        yield point("connections", connections, f"finds, {connections:,} connections x 1",
                    *entries.values(), sql(TEXT, loads.sql_text(connections)))
    for columns in COLUMNS:
        load = loads.find_wide(30, 16, columns, "wide64", 20_000)
        yield point("columns", columns, f"{columns} columns of 64 asked for, 30 x 16",
                    Entry(OURS, "ours", (load,)), Entry(BUNDLED, "bundled", (load,)))
    for value in plan.size_values:
        load = loads.find_value(8, 1, value)
        yield point("values", value, f"values of {value:,} bytes, 8 x 1",
                    Entry(OURS, "ours", (load,)), Entry(BUNDLED, "bundled", (load,)))


def open_loop():
    """The same rate for all systems, below what the slowest can do, so that latencies are comparable. The latency of a
    request counts from the moment at which it was due. There are many short rounds, because a host that takes a core
    away for a hundredth of a window sets the window's p99."""
    def fixed(entry, rate):
        load = entry.loads[0]
        return dataclasses.replace(entry, loads=(dataclasses.replace(
            load, options=(*load.options, ("rate", rate))),))

    for rate in (5_000, 10_000, 20_000):
        entries = (*four(30, 1).values(), sql(PREPARED, loads.sql_prepared(30)))
        yield Case(f"P10-rate-{rate}", f"{rate:,} requests/s by schedule, 30 x 1",
                   tuple(fixed(entry, rate) for entry in entries),
                   (at_most("p99_us", 1, BUNDLED),), "P10", "rate", rate, rounds=15,
                   seconds=0.6)


def other_clients():
    yield Case("X-handler", "HANDLER ... READ beside SELECT and finds, 30 x 1", (
        Entry(OURS, "ours", (loads.find(30, 1),)),
        sql("HANDLER READ", loads.handler_read(30)), sql(PREPARED, loads.sql_prepared(30)),
        sql(TEXT, loads.sql_text(30))), row="X")
    yield Case("X-sql", "SELECT by other load generators, 30 x 1", (
        sql("rowsocket-load, text", loads.sql_text(30)),
        sql("mysqlslap", Load("mysqlslap", 30)), sql("sysbench", Load("sysbench", 30))), row="X",
        seconds=2.0)


def small_buffer_pool():
    for name, title, load, sql_load in (
            ("IO-find", "finds, data three times the buffer pool, 30 x 1", loads.find(30, 1),
             loads.sql_prepared(30)),
            ("IO-update", "updates, data three times the buffer pool, 64 x 1", loads.update(64),
             loads.sql_update(64))):
        yield Case(name, title, (
            Entry(OURS, "ours/io", (load,)), Entry(BUNDLED, "bundled/io", (load,)),
            sql("SQL", sql_load, "sql/io")), row="IO", seconds=2.0, warmup_s=1.0)


def settings():
    """The gain of each setting of the server: the same work with and without it."""
    def both(name, title, load, *variants, **more):
        updates = "update" in title
        entries = [Entry("as recommended", "ours/as-recommended" if updates else "ours", (load,))]
        entries += [Entry(label, f"ours/{variant}", (load,)) for label, variant in variants]
        return Case(f"S-{name}", title, tuple(entries), row="S", settle=updates, **more)

    ahi = (("innodb_adaptive_hash_index=OFF", "no-ahi"),
           ("innodb_adaptive_hash_index_parts=8", "ahi-8-parts"))
    yield both("ahi", "adaptive hash index: finds, 30 x 16", loads.find(30, 16), *ahi)
    yield both("ahi-in", "adaptive hash index: 16 keys in one request, 30 x 1",
               loads.find_in(30, 1, 16), *ahi)
    # Changes of the rows lock a part of the hash index, for which finds of the other table wait.
    yield Case("S-ahi-insert", "adaptive hash index: finds, 30 x 16, beside 64 inserts", tuple(
        Entry(label, system, (loads.find(30, 16), loads.insert(64)), ("TRUNCATE TABLE sink",))
        for label, system in (("as recommended", "ours"), *((name, f"ours/{of}") for name, of in ahi))),
               row="S", warmup_s=0.4)
    yield both("ahi-update", "adaptive hash index: updates, 64 x 1", loads.update(64), *ahi,
               warmup_s=0.4)
    yield both("pool", "buffer pool: finds, 30 x 16", loads.find(30, 16),
               ("a third of the data", "io"), warmup_s=1.0)
    yield both("redo", "redo log: updates, 64 x 1", loads.update(64),
               ("innodb_log_file_size=8M", "small-redo"), warmup_s=1.0, seconds=2.0)
    yield both("flush", "durability: updates, 64 x 1", loads.update(64),
               ("innodb_flush_log_at_trx_commit=2", "flush-2"),
               ("innodb_flush_log_at_trx_commit=0", "relaxed"),
               ("binary log, sync_binlog=1", "binlog"), warmup_s=0.4)
    threads = (("handlersocket_threads as cores", "threads-cores"),
               ("handlersocket_threads=64", "threads-64"))
    yield both("threads", "threads of the read port: finds, 200 x 1", loads.find(200, 1), *threads)
    yield both("threads-deep", "threads of the read port: finds, 30 x 16", loads.find(30, 16), *threads)
    yield both("threads-wr", "threads of the write port: updates, 64 x 1", loads.update(64),
               ("handlersocket_threads_wr=2", "threads-wr-2"),
               ("handlersocket_threads_wr=4", "threads-wr-4"), warmup_s=0.4)

