"""Plays a round through python-memcached (text), python-binary-memcached or pylibmc (either); prints
JSON lines.

usage: play_memcached.py memcache|bmemcached|pylibmc|pylibmc-binary PORT
"""
import json
import sys

ODD = "Zoë \t\u0001\r\n🐬"


def say(step, *results):
    shown = [result.decode("latin-1") if isinstance(result, bytes) else result for result in results]
    print(json.dumps([step, *shown]))


def text(port):
    import memcache
    client = memcache.Client([f"127.0.0.1:{port}"], cache_cas=True, socket_timeout=10)
    say("set", client.set("k", ODD), client.get("k"))
    say("miss", client.get("nothing"))
    say("number", client.set("n", 41), client.get("n"), client.incr("n"), client.decr("n", 40))
    say("add", client.add("a", "one"), client.add("a", "two"), client.get("a"))
    say("replace", client.replace("a", "three"), client.replace("nothing", "x"), client.get("a"))
    say("append", client.append("a", "!"), client.prepend("a", ">"), client.get("a"))
    say("object", client.set("o", {"list": [1, 2.5, None]}), client.get("o"))
    say("multi", client.set_multi({f"m{i}": f"value {i}" for i in range(100)}),
        client.get_multi([f"m{i}" for i in range(0, 130, 10)]))
    say("gets", client.gets("a"), client.cas("a", "four"), client.get("a"))
    client.gets("a")
    client.set("a", "five")
    say("cas of what changed", client.cas("a", "six"), client.get("a"))
    say("touch", client.touch("a", 100), client.touch("nothing", 100))
    say("large", client.set("big", "x" * 500000), len(client.get("big") or ""))
    say("compressed", client.set("zip", "y" * 50000, min_compress_len=1000), len(client.get("zip")))
    say("delete", client.delete("k"), client.get("k"), client.delete_multi(["m1", "m2"]),
        client.get_multi(["m1", "m2", "m3"]))
    say("expired", client.set("gone", "x", time=-1), client.get("gone"))
    client.disconnect_all()


def binary(port):
    import bmemcached
    client = bmemcached.Client((f"127.0.0.1:{port}",), socket_timeout=10)
    say("set", client.set("k", ODD), client.get("k"))
    say("miss", client.get("nothing"))
    say("number", client.set("n", 41), client.get("n"), client.incr("n", 1), client.decr("n", 40))
    say("counter", client.incr("c", 5, default=100, time=0), client.incr("c", 5, default=100, time=0))
    say("add", client.add("a", "one"), client.add("a", "two"), client.get("a"))
    say("replace", client.replace("a", "three"), client.replace("nothing", "x"), client.get("a"))
    say("object", client.set("o", {"list": [1, 2.5, None]}), client.get("o"))
    say("multi", client.set_multi({f"m{i}": f"value {i}" for i in range(100)}),
        client.get_multi([f"m{i}" for i in range(0, 130, 10)]))
    value, token = client.gets("a")
    say("cas", value, client.cas("a", "four", token), client.cas("a", "five", token), client.get("a"))
    say("large", client.set("big", "".join(chr(33 + i * 7 % 90) for i in range(500000))),
        len(client.get("big") or ""))
    say("delete", client.delete("k"), client.get("k"), client.delete("k"))
    say("delete multi", client.delete_multi(["m1", "m2"]), client.get_multi(["m1", "m2", "m3"]))
    client.disconnect_all()


def outcome(call, *arguments):
    """The outcome of a call: pylibmc answers in one dialect what it raises as an error in the other."""
    try:
        return call(*arguments)
    except Exception as error:  # pylint: disable=broad-except
        return type(error).__name__


def libmemcached(port, is_binary=False):
    import pylibmc
    client = pylibmc.Client([f"127.0.0.1:{port}"], binary=is_binary, behaviors={"cas": True})
    say("set", client.set("k", ODD), client.get("k"))
    say("miss", client.get("nothing"))
    say("number", client.set("n", 41), client.get("n"), client.incr("n", 1), client.decr("n", 40))
    say("add", client.add("a", "one"), client.add("a", "two"), client.get("a"))
    say("replace", client.replace("a", "three"), outcome(client.replace, "nothing", "x"), client.get("a"))
    say("append", client.append("a", "!"), client.prepend("a", ">"), client.get("a"))
    say("object", client.set("o", {"list": [1, 2.5, None]}), client.get("o"))
    say("multi", client.set_multi({f"m{i}": f"value {i}" for i in range(100)}),
        client.get_multi([f"m{i}" for i in range(0, 130, 10)]))
    value, token = client.gets("a")
    say("cas", value, client.cas("a", "four", token), client.get("a"))
    say("touch", client.touch("a", 100), outcome(client.touch, "nothing", 100))
    say("large", client.set("big", "x" * 500000), len(client.get("big") or ""))
    say("delete", client.delete("k"), client.get("k"), outcome(client.delete, "k"), client.delete_multi(["m1", "m2"]))


{"memcache": text, "bmemcached": binary, "pylibmc": libmemcached,
 "pylibmc-binary": lambda port: libmemcached(port, True)}[sys.argv[1]](sys.argv[2])
