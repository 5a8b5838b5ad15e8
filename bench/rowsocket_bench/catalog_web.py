"""One web server's client: few connections, each shared by many callers, compared with as many connections with one
request each; and the cost of a request on one core and on all."""

from . import loads
from .catalog import BUNDLED, OURS, at_least
from .catalog_hot import LARGE_STOCK
from .catalog_resp import HOT, REDIS
from .model import Case, Entry, Target

SHAPES = ((1, 200), (4, 50), (200, 1))


def shape_of(shape):
    return f"{shape[0]} x {shape[1]}"


def web():
    for shape in SHAPES:
        targets = (at_least("rps", 1, REDIS),)
        if shape == (4, 50):
            targets += (Target("rps", OURS, ">=", 1_000_000),)
        yield Case(f"W-find-{shape[0]}x{shape[1]}", f"finds, {shape_of(shape)}", (
            Entry(OURS, "ours", (loads.find(*shape),)), Entry(BUNDLED, "bundled", (loads.find(*shape),)),
            Entry(REDIS, "redis-read", (loads.redis_hmget(*shape),))), targets, "W")
    for shape in SHAPES:
        take = loads.decrement(*shape)
        yield Case(f"W-hot-{shape[0]}x{shape[1]}", f"one hot row, durable, {shape_of(shape)}", (
            Entry(OURS, "ours", (take,), conserve=HOT), Entry(BUNDLED, "bundled", (take,), conserve=HOT),
            Entry(REDIS, "redis", (loads.redis_hincrby(*shape),), conserve=HOT)), (at_least("rps", 1, REDIS),), "W",
            warmup_s=0.4)
    for shape in SHAPES:
        change = loads.update(*shape)
        yield Case(f"W-update-{shape[0]}x{shape[1]}", f"durable updates of random rows, {shape_of(shape)}", (
            Entry(OURS, "ours", (change,)), Entry(BUNDLED, "bundled", (change,)),
            Entry(REDIS, "redis", (loads.redis_set(*shape),))), (), "W", warmup_s=0.4)
    fill = (f"UPDATE stock SET stock = {LARGE_STOCK} WHERE id = 1",)
    for name, title, many, one in (
            ("find", "finds", loads.find(200, 1), loads.find(4, 50)),
            ("hot", "one hot row", loads.decrement(200), loads.decrement(4, 50))):
        yield Case(f"W-fair-{name}", f"{title}: 200 x 1 beside 4 x 50", tuple(
            Entry(label, label, (many, one), fill) for label in (OURS, BUNDLED)), (Target("kept", OURS, ">=", 0.4),),
            "W", special="fairness", options=(("estimated_s", 30),))


def by_cores():
    """How much the server's cores slow each other down."""
    fill = (f"UPDATE stock SET stock = {LARGE_STOCK} WHERE id = 1",)
    for name, title, load, more in (
            ("find-30x1", "finds, 30 x 1", loads.find(30, 1), ()),
            ("find-30x16", "finds, 30 x 16", loads.find(30, 16), ()),
            ("hot-256", "one hot row, durable, 256 x 1", loads.decrement(256), fill),
            ("update-256", "durable updates of random rows, 256 x 1", loads.update(256), ())):
        yield Case(f"C-{name}", f"{title}, by cores", tuple(
            Entry(label, label, (load,), more) for label in (OURS, BUNDLED)), row="C", special="cores",
            warmup_s=0.4, options=(("estimated_s", 30),))
