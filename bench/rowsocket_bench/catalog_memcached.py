"""The memcached protocol onto tables, compared with memcached itself."""

import dataclasses

from . import loads
from .catalog import MEMCACHED, OURS, at_least, at_most, sql
from .model import Case, Entry

HANDLERSOCKET = "ours, HandlerSocket"
MIXED_CONNECTIONS = (8, 16, 32, 64, 128, 256, 512)
READ_PERCENT = 83.33  # 5 reads : 1 write


def ours(load, system="ours"):
    """The same load with the names by which dataset.CONTAINERS maps the tables."""
    if load.workload in ("mc-set", "mc-mixed"):
        load = dataclasses.replace(load, options=(*load.options, ("key", "@@a.{n}")))
    return Entry(OURS, system, (load,))


def theirs(load):
    """Sets go to another server than gets, so that gets find the rows that they expect."""
    writes = load.workload in ("mc-set", "mc-mixed")
    return Entry(MEMCACHED, "memcached-written" if writes else "memcached", (load,))


def pair(load, *more):
    return (ours(load), theirs(load), *more)


def memcached():
    same_find = Entry(HANDLERSOCKET, "ours", (loads.find(30, 1),))
    yield Case("M1", "get, 30 connections x 1", pair(loads.mc_get(30, 1), same_find), (
        at_most("total_us", 1, MEMCACHED), at_least("rps", 1.2, MEMCACHED),
        at_most("user_us", 1.15, HANDLERSOCKET)), "M1")
    yield Case("M1-binary", "binary get, 30 connections x 1", pair(loads.mc_binary_get(30, 1)),
               row="M1")
    yield Case("M2", "get of 16 keys, 30 x 1", pair(loads.mc_multiget(30, 1, 16)), (
        at_least("rows_s", 1.1, MEMCACHED),), "M2")
    same_find = Entry(HANDLERSOCKET, "ours", (loads.find(30, 16),))
    yield Case("M3", "get, 30 x 16", pair(loads.mc_get(30, 16), same_find), (
        at_least("rps", 2, MEMCACHED), at_most("user_us", 1.15, HANDLERSOCKET)), "M3")
    yield Case("M4", "durable set against REPLACE, binary log, 256 x 1", (
        ours(loads.mc_set(256), "ours/binlog"),
        sql("SQL REPLACE", loads.sql_replace(256), "sql/binlog")), (
        at_least("rps", 4, "SQL REPLACE"),), "M4", warmup_s=0.4)
    yield Case("M5", "set without durability, 256 x 1", (
        ours(loads.mc_set(256), "ours/relaxed"), theirs(loads.mc_set(256))), row="M5",
        warmup_s=0.4)
    for connections in MIXED_CONNECTIONS:
        yield Case(f"M6-{connections}", f"5 get : 1 set, {connections} x 1",
                   pair(loads.mc_mixed(connections, 1, READ_PERCENT)), row="M6",
                   curve="memcached-mixed", x=connections, rounds=3)
