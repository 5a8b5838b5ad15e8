"""The flash sale: thousands of connections that decrement one row, above a guard."""

from . import loads
from .catalog import BUNDLED, NULL, OURS, at_least, at_most
from .model import Case, Entry, Target

CONNECTIONS = (1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
STOCK = 500_000
LARGE_STOCK = 50_000_000  # for systems that take more in a window than the stock of the sale
# the numbers of connections at which the memcached protocol is measured, too
BY_MEMCACHED = (64, 256, 1024, 4096)
SQL, NO_DETECTION, POOL, REDIS = ("SQL", "SQL, no deadlock detection", "SQL, pool-of-threads",
                                  "Redis, Lua")
ROW = ("stock", 1, STOCK)


def sale(label, system, load, conserve=ROW, before=()):
    return Entry(label, system, (load,), before, conserve, wait_s=60)


def detection(value):
    return (f"SET GLOBAL innodb_deadlock_detect = {value}",)


def all_systems(connections):
    return (
        sale(OURS, "ours", loads.decrement(connections)),
        sale(BUNDLED, "bundled", loads.decrement(connections)),
        sale(SQL, "sql", loads.sql_decrement(connections), before=detection("ON")),
        sale(NO_DETECTION, "sql", loads.sql_decrement(connections), before=detection("OFF")),
        sale(POOL, "sql/pool", loads.sql_decrement(connections)),
        sale(REDIS, "redis", loads.redis_decrement(connections)),
        Entry(NULL, "null", (loads.null_decrement(connections),)),
        *((sale("ours, memcached ma", "ours", loads.mc_decrement(connections)),)
          if connections in BY_MEMCACHED else ()))


TARGETS = {
    64: (at_least("rps", 1.2, BUNDLED), at_least("rps", 8, SQL)),
    256: (at_least("rps", 1.1, BUNDLED), at_least("rps", 0.75, NULL)),
    1024: (at_least("rps", 0.85, NULL), at_most("user_us", 0.7, BUNDLED), at_least("rps", 15, SQL),
           at_least("rps", 15, NO_DETECTION), at_least("rps", 15, POOL)),
}


def curve():
    for connections in CONNECTIONS:
        # It takes a while until thousands of SQL connections all send requests.
        crowd = connections >= 1024
        yield Case(f"H-{connections}", f"one hot row, {connections} connections x 1",
                   all_systems(connections), TARGETS.get(connections, ()), "H", "hot", connections,
                   rounds=5 if connections in TARGETS else 3, seconds=1.5 if crowd else 1.0,
                   warmup_s=1.5 if crowd else 0.4)


def shapes():
    yield Case("H-fsync", "an fsync of this disk alone", (Entry("disk", "none", ()),), row="H",
               special="fsync", options=(("estimated_s", 3),))
    yield Case("H-single", "one connection: one hot row against different rows", (
        sale(OURS, "ours", loads.decrement(1)),
        sale("ours, different rows", "ours", loads.decrement(1, hot_rows=loads.dataset.STOCK_ROWS),
             ("stock", loads.dataset.STOCK_ROWS, STOCK))), (
        at_least("rps", 1, "ours, different rows"),), "H")
    fill = (f"UPDATE stock SET stock = {LARGE_STOCK} WHERE id = 1",)
    yield Case("H-fair", "63 x 1 on one hot row, beside one client with 10,000 in flight", tuple(
        Entry(label, label, (loads.decrement(63), loads.decrement(1, 10_000)), fill)
        for label in (OURS, BUNDLED)), (Target("kept", OURS, ">=", 0.5),), "H", special="fairness",
        options=(("estimated_s", 30),))
    yield Case("H-beside-SQL", "256 x 1 on one hot row, beside 8 SQL connections that take from it",
               tuple(Entry(label, label, (loads.decrement(256), loads.sql_decrement(8)), fill)
                     for label in (OURS, BUNDLED)), row="H", special="fairness",
               options=(("estimated_s", 30),))
    pipelined = ("stock", 1, LARGE_STOCK)
    yield Case("H-pipelined", "one hot row, 1,000 connections x 8", (
        sale(OURS, "ours", loads.decrement(1000, 8), pipelined),
        sale(BUNDLED, "bundled", loads.decrement(1000, 8), pipelined)), (
        at_least("rps", 1, BUNDLED),), "H")
    rows = ("stock", 64, STOCK)
    yield Case("H-64-rows", "64 hot rows, 256 connections x 1", (
        sale(OURS, "ours", loads.decrement(256, hot_rows=64), rows),
        sale(BUNDLED, "bundled", loads.decrement(256, hot_rows=64), rows),
        sale(SQL, "sql", loads.sql_decrement(256, hot_rows=64), rows, detection("ON"))), row="H")
    rows = ("stock", loads.dataset.STOCK_ROWS, STOCK)
    yield Case("H-mix", "90 % one hot row, 10 % other rows, 256 connections x 1", (
        sale(OURS, "ours", loads.decrement(256, cold_percent=10), rows),
        sale(BUNDLED, "bundled", loads.decrement(256, cold_percent=10), rows),
        sale(SQL, "sql", loads.sql_decrement(256, cold_percent=10), rows, detection("ON"))),
        row="H")
    gone = ("stock", 1, 3)
    yield Case("H-sold-out", "sold out: every condition fails, 256 connections x 1", (
        sale(OURS, "ours", loads.decrement(256), gone),
        sale(BUNDLED, "bundled", loads.decrement(256), gone),
        sale(SQL, "sql", loads.sql_decrement(256), gone, detection("ON")),
        Entry("ours, finds", "ours", (loads.find(256, 1),))), (
        Target("fsyncs_s", OURS, "<=", 5),), "H")
    yield Case("H-binlog", "one hot row, 256 x 1, ROW binary log with sync_binlog=1", (
        sale("ours, binary log", "ours/binlog", loads.decrement(256)),
        sale(OURS, "ours", loads.decrement(256)),
        sale("SQL, binary log", "sql/binlog", loads.sql_decrement(256))), (
        at_least("rps", 0.8, OURS, label="ours, binary log"),), "H")


def hot():
    return [*shapes(), *curve()]
