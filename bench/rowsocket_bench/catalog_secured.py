"""The cost of an account's rights and of TLS: the same finds without them, and memcached with TLS."""

import dataclasses

from . import loads
from .catalog import LONG_S, OURS, at_least, at_most
from .model import Case, Entry

WITH_ACCOUNT, WITH_TLS, MEMCACHED_TLS = "ours, an account", "ours, TLS", "memcached, TLS"
SHAPES = ((30, 1), (30, 16))
ROUNDS = 9


def over_tls(load):
    return dataclasses.replace(load, options=(*load.options, ("tls", "")))


def secured():
    for connections, depth in SHAPES:
        find, get = loads.find(connections, depth), loads.mc_get(connections, depth)
        shape = f"{connections} x {depth}"
        yield Case(f"T-account-{depth}", f"finds with the rights of an account, {shape}", (
            Entry(OURS, "ours", (find,)), Entry(WITH_ACCOUNT, "ours/account", (find,))), (
            at_least("rps", 0.95, OURS, WITH_ACCOUNT),), "T", rounds=ROUNDS, seconds=LONG_S)
        targets = {1: (at_least("rps", 1.5, MEMCACHED_TLS, WITH_TLS),),
                   16: (at_most("total_us", 1, OURS, WITH_TLS, plus=1),)}
        yield Case(f"T-tls-{depth}", f"finds over TLS, {shape}", (
            Entry(OURS, "ours", (find,)), Entry(WITH_TLS, "ours/tls", (over_tls(find),)),
            Entry(MEMCACHED_TLS, "memcached-tls", (over_tls(get),))),
            targets[depth], "T", rounds=ROUNDS, seconds=LONG_S)
