"""The RESP port compared with Redis and Valkey: the same commands on the same keys, which are rows here, and hashes and
texts there; and with HandlerSocket's requests for the same rows."""

from . import loads, redis_servers as redis
from .catalog import OURS, at_least
from .catalog_hot import LARGE_STOCK
from .model import Case, Entry

SYSTEM = "ours/resp"
HANDLERSOCKET, MEMCACHED_PORT, STORE = "ours, HandlerSocket", "ours, memcached", "ours, store"
REDIS, VALKEY, VALKEY_THREADS = "Redis", "Valkey", "Valkey, 2 io-threads"
PEERS = (REDIS, VALKEY, VALKEY_THREADS)
# Connections x requests in flight; a web server's client that shares its connections among callers is 4 x 50.
READ_SHAPES = ((30, 1), (200, 1), (4, 50), (30, 16))
WRITE_SHAPES = ((64, 1), (4, 50), (30, 16))
# In requests/s of HandlerSocket's find of the same row.
SHARE = {(30, 1): 0.95, (4, 50): 0.85, (30, 16): 0.85}
HOT = ("stock", 1, LARGE_STOCK)
EMPTY_STORE = ("TRUNCATE TABLE rowsocket.store",)


def readers(load):
    """The same load on each server that keeps nothing on disk."""
    return (Entry(REDIS, "redis-read", (load,)), Entry(VALKEY, "valkey-read", (load,)),
            Entry(VALKEY_THREADS, "valkey-read-threads", (load,)))


def writers(load, **more):
    """The same load on each server that flushes its append-only file before it answers."""
    return (Entry(REDIS, "redis", (load,), **more), Entry(VALKEY, "valkey", (load,), **more))


def beside_peers(factor, peers=PEERS):
    return tuple(at_least("rps", factor, peer) for peer in peers)


def id_of(command, shape):
    return f"RESP-{command}-{shape[0]}x{shape[1]}"


def reads():
    for shape in READ_SHAPES:
        load = loads.redis_hmget(*shape)
        targets = beside_peers(1)
        if shape in SHARE:
            targets += (at_least("rps", SHARE[shape], HANDLERSOCKET),)
        yield Case(id_of("hmget", shape), f"HMGET of 3 columns, {shape[0]} x {shape[1]}", (
            Entry(OURS, SYSTEM, (load,)), Entry(HANDLERSOCKET, SYSTEM, (loads.find(*shape),)), *readers(load)),
            targets, "RESP")
    for shape in ((30, 1), (30, 16)):
        load = loads.redis_get(*shape)
        yield Case(id_of("get", shape), f"GET of a container's item, {shape[0]} x {shape[1]}", (
            Entry(OURS, SYSTEM, (load,)), Entry(MEMCACHED_PORT, SYSTEM, (loads.mc_get(*shape),)), *readers(load)),
            (), "RESP")
    load = loads.redis_mget(30, 1, 16)
    yield Case("RESP-mget-30x1", "MGET of 16 keys, 30 x 1", (
        Entry(OURS, SYSTEM, (load,)), Entry(MEMCACHED_PORT, SYSTEM, (loads.mc_multiget(30, 1, 16),)),
        *readers(load)), beside_peers(1), "RESP")


def writes():
    for shape in WRITE_SHAPES:
        load = loads.redis_hincrby(*shape)
        factor = 1.3 if shape == (64, 1) else 1
        yield Case(id_of("hincrby", shape), f"HINCRBY of one row, durable, {shape[0]} x {shape[1]}", (
            Entry(OURS, SYSTEM, (load,), conserve=HOT),
            Entry(HANDLERSOCKET, SYSTEM, (loads.decrement(*shape),), conserve=HOT),
            *writers(load, conserve=HOT)),
            (*beside_peers(factor, PEERS[:2]), at_least("rps", 0.85, HANDLERSOCKET)), "RESP", warmup_s=0.4)
    for shape in WRITE_SHAPES:
        load, store = loads.redis_set(*shape), loads.redis_set(*shape, key="s:{n}")
        yield Case(id_of("set", shape), f"SET, durable, {shape[0]} x {shape[1]}", (
            Entry(OURS, SYSTEM, (load,)), Entry(STORE, SYSTEM, (store,), EMPTY_STORE), *writers(load)),
            beside_peers(1, PEERS[:2]), "RESP", warmup_s=0.4)


def by_redis_benchmark():
    """Redis's own load generator on the store, as a check of rowsocket-load."""
    for command, system, shape in (("get", "redis-read", (30, 16)), ("set", "redis", (64, 1))):
        load = loads.redis_benchmark(command, *shape)
        yield Case(id_of(f"benchmark-{command}", shape),
                   f"redis-benchmark -t {command} on the store, {shape[0]} x {shape[1]}", (
                       Entry(OURS, SYSTEM, (load,)), Entry(REDIS, system, (load,))), (), "RESP")


def resp():
    return [*reads(), *writes(), *by_redis_benchmark()]
