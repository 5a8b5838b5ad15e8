"""Purchases: a decrement of a hot row above a guard and an order with AUTO_INCREMENT and two more indexes, as one
group, compared with the same work as a procedure of SQL and as four statements, and with its parts."""

from . import loads
from .catalog import NULL, OURS, at_least, at_most
from .catalog_hot import STOCK
from .model import Case, Entry, Target

CONNECTIONS = (1, 8, 64, 256, 1024, 4096)
TOKENS, DECREMENT, INSERT = "ours, with tokens", "ours, decrement alone", "ours, order alone"
PIPELINED = "ours, pipelined"
CALL, STATEMENTS, REDIS = "SQL, CALL", "SQL, four statements", "Redis, Lua"
OUR_SYSTEM = "ours/tokens"
ROW = ("stock", 1, STOCK)
EMPTY = ("TRUNCATE TABLE orders",)


def sale(label, system, load, conserve=ROW, before=(), orders="orders"):
    return Entry(label, system, (load,), before, conserve, orders, wait_s=60)


def with_tokens(connections, conserve=ROW, system=OUR_SYSTEM, **shape):
    return sale(TOKENS, system, loads.purchase(connections, tokens=True, **shape), conserve,
                ("TRUNCATE TABLE rowsocket.tokens",))


def ours_and_sql(connections, conserve=ROW, **shape):
    return (sale(OURS, OUR_SYSTEM, loads.purchase(connections, **shape), conserve),
            with_tokens(connections, conserve, **shape),
            sale(CALL, "sql", loads.sql_purchase(connections, **shape), conserve),
            sale(STATEMENTS, "sql", loads.sql_purchase(connections, statements=4, **shape), conserve))


def all_systems(connections):
    return (*ours_and_sql(connections),
            sale(DECREMENT, OUR_SYSTEM, loads.decrement(connections, before=False), orders=""),
            Entry(INSERT, OUR_SYSTEM, (loads.insert_order(connections),), EMPTY),
            sale(REDIS, "redis", loads.redis_purchase(connections)),
            Entry(NULL, "null", (loads.null_purchase(connections),)))


TARGETS = {
    1: (at_least("rps", 1, CALL), at_most("p50_us", 1, DECREMENT, plus=60)),
    64: (at_least("applied_s", 8, CALL),),
    256: (at_least("applied_s", 10, CALL), at_least("rps", 0.5, INSERT), Target("applied_s", OURS, ">=", 50_000)),
    1024: (at_least("applied_s", 10, CALL),),
}


def groups():
    for connections in CONNECTIONS:
        crowd = connections >= 1024  # see catalog_hot.curve
        yield Case(f"U-{connections}", f"purchases from one row, {connections} connections x 1",
                   all_systems(connections), TARGETS.get(connections, ()), "U", "groups", connections,
                   rounds=3, seconds=1.5 if crowd else 1.0, warmup_s=1.5 if crowd else 0.4)
    yield Case("U-64-rows", "purchases from 64 rows, 256 connections x 1",
               ours_and_sql(256, ("stock", 64, STOCK), hot_rows=64), row="U", rounds=3)
    yield Case("U-mix", "purchases, 90 % from one row, 10 % from others, 256 connections x 1",
               ours_and_sql(256, ("stock", loads.dataset.STOCK_ROWS, STOCK), cold_percent=10), row="U", rounds=3)
    yield Case("U-sold-out", "sold out: every purchase is stopped, 256 connections x 1", (
        *ours_and_sql(256, ("stock", 1, 3)), Entry("ours, finds", OUR_SYSTEM, (loads.find(256, 1),))), (
        Target("fsyncs_s", OURS, "<=", 5),), "U", rounds=3)
    yield Case("U-finds", "groups of 3 finds, 30 connections x 1, and 3 finds in flight", (
        Entry(OURS, OUR_SYSTEM, (loads.find_group(30, 3),)), Entry(PIPELINED, OUR_SYSTEM, (loads.find(30, 3),))), (
        at_least("rows_s", 0.9, PIPELINED),), "U", rounds=5)
    yield Case("U-binlog", "purchases from one row, 256 x 1, ROW binary log with sync_binlog=1", (
        sale(OURS, "ours/tokens-binlog", loads.purchase(256)), with_tokens(256, system="ours/tokens-binlog"),
        sale(CALL, "sql/binlog", loads.sql_purchase(256)),
        sale(STATEMENTS, "sql/binlog", loads.sql_purchase(256, statements=4))), (
        at_least("applied_s", 10, CALL),), "U", rounds=3)
