"""The load generator's workloads on the tables of dataset.py, by name."""

from . import dataset, redis_servers
from .model import Load

CREATED = "2010-02-03 11:22:33"
USER = (("table", "user"),)  # the table whose columns and cells are the load generator's defaults
# An update that changes only columns that reads do not check.
ACCOUNT = (("table", "account"), ("update-columns", "user_name"), ("set", "changed {v}"))
SINK = (("table", "sink"), ("first-id", 1))
STOCK = (("table", "stock"), ("key-column", "id"))


# --- HandlerSocket ---

def find(connections, depth, keys="uniform", table="user", rows=None):
    fixed = (("rows", rows),) if rows else ()
    return Load("hs-get", connections, depth, (("table", table), ("keys", keys), *fixed))


def find_in(connections, depth, keys):
    return Load("hs-in", connections, depth, (*USER, ("batch", keys)))


def find_group(connections, finds):
    return Load("hs-find-group", connections, 1, (*USER, ("batch", finds)))


def find_range(connections, depth, limit):
    return Load("hs-range", connections, depth, (*USER, ("limit", limit)))


def find_secondary(connections, depth, covered):
    columns, values = ("user_name,user_id", "user {n},{n}") if covered else (
        "user_name,user_email,created", f"user {{n}},user{{n}}@example.com,{CREATED}")
    return Load("hs-secondary", connections, depth, (
        ("table", "member"), ("index", "by_name"), ("key", "user {n}"), ("columns", columns),
        ("values", values)))


def wide_columns(count, first=0):
    numbers = range(first, first + count)
    return (("columns", ",".join(f"c{number}" for number in numbers)),
            ("values", ",".join(f"c{number}-{{n}}" for number in numbers)))


def find_wide(connections, depth, count, table="wide", rows=dataset.WIDE_ROWS_MAX):
    return Load("hs-get", connections, depth, (("table", table), ("rows", rows),
                                               *wide_columns(count)))


def find_value(connections, depth, size):
    return Load("hs-get", connections, depth, (
        ("table", f"value_{size}"), ("rows", dataset.value_rows(size)), ("columns", "value"),
        ("values", f"{{x*{size}}}")))


def update(connections, depth=1):
    return Load("hs-update", connections, depth, ACCOUNT)


def insert(connections, depth=1):
    return Load("hs-insert", connections, depth, SINK)


def decrement(connections, depth=1, hot_rows=1, cold_percent=0, before=True):
    flags = (("before-images", ""),) if before else ()
    return Load("hs-decrement", connections, depth, (
        *STOCK, ("rows", dataset.STOCK_ROWS), ("hot-rows", hot_rows),
        ("cold-percent", cold_percent), *flags))


def sale(hot_rows=1, cold_percent=0):
    return (*STOCK, ("rows", dataset.STOCK_ROWS), ("hot-rows", hot_rows), ("cold-percent", cold_percent))


def purchase(connections, hot_rows=1, cold_percent=0, tokens=False, depth=1):
    """A group: a decrement of a row, and the order."""
    return Load("hs-purchase", connections, depth, (
        *sale(hot_rows, cold_percent), *((("with-tokens", ""),) if tokens else ())))


def insert_order(connections):
    """Only the insert of the order."""
    return Load("hs-insert", connections, 1, (
        ("table", "orders"), ("first-id", 1), ("key-column", "token"), ("key", "t{n}"), ("columns", "user,item"),
        ("values", "{n%100000},1")))


# --- memcached: the columns as one value ---

CHANGED = f"changed {{v}},user{{n}}@example.com,{CREATED}"


def mc_get(connections, depth, keys="uniform"):
    return Load("mc-get", connections, depth, (("keys", keys),))


def mc_binary_get(connections, depth):
    return Load("mc-binary-get", connections, depth)


def mc_multiget(connections, depth, keys):
    return Load("mc-multiget", connections, depth, (("batch", keys),))


def mc_set(connections, depth=1):
    return Load("mc-set", connections, depth, (("set", CHANGED),))


def mc_mixed(connections, depth, read_percent):
    return Load("mc-mixed", connections, depth, (("read-percent", read_percent),
                                                 ("set", CHANGED)))


def mc_decrement(connections):
    """Meta arithmetic with Rowsocket's guard: a decrement takes nothing at 3 or below."""
    return Load("mc-ma", connections, 1, (
        ("key", "@@s.{n}"), ("ma-flags", "MD D1 G3"), ("rows", dataset.STOCK_ROWS),
        ("hot-rows", 1)))


# --- SQL: one request in flight per connection ---

def sql_text(connections, keys="uniform"):
    return Load("sql-get", connections, 1, (*USER, ("keys", keys)))


def sql_prepared(connections, keys="uniform"):
    return Load("sql-get-prepared", connections, 1, (*USER, ("keys", keys)))


def handler_read(connections):
    return Load("handler-read", connections, 1, USER)


def sql_in(connections, keys):
    return Load("sql-in", connections, 1, (*USER, ("batch", keys)))


def sql_range(connections, limit):
    return Load("sql-range", connections, 1, (*USER, ("limit", limit)))


def sql_update(connections):
    return Load("sql-update", connections, 1, ACCOUNT)


def sql_insert(connections, rows=1):
    return Load("sql-insert", connections, 1, (*SINK, ("batch", rows)))


def sql_replace(connections):
    return Load("sql-replace", connections, 1, (("table", "account"),))


def sql_decrement(connections, hot_rows=1, cold_percent=0):
    return Load("sql-decrement", connections, 1, (
        *STOCK, ("rows", dataset.STOCK_ROWS), ("hot-rows", hot_rows),
        ("cold-percent", cold_percent)))


def sql_purchase(connections, hot_rows=1, cold_percent=0, statements=1):
    """A purchase by the procedure, or by four statements."""
    return Load("sql-purchase" if statements == 1 else "sql-purchase-4", connections, 1, sale(hot_rows, cold_percent))


# --- Others ---

def redis_purchase(connections):
    return Load("redis-purchase", connections, 1, (("key", "stock:{n}"), ("rows", dataset.STOCK_ROWS)))


def redis_decrement(connections):
    return Load("redis-decr", connections, 1, (("key", "stock:{n}"),
                                               ("rows", dataset.STOCK_ROWS)))


def redis_hmget(connections, depth):
    return Load("redis-hmget", connections, depth, (("key", redis_servers.HASH_KEY),))


def redis_get(connections, depth):
    return Load("redis-get", connections, depth, (("key", redis_servers.TEXT_KEY),))


def redis_mget(connections, depth, keys):
    return Load("redis-mget", connections, depth, (("key", redis_servers.TEXT_KEY), ("batch", keys)))


def redis_set(connections, depth, key=redis_servers.SET_KEY):
    return Load("redis-set", connections, depth, (("key", key), ("set", CHANGED)))


def redis_hincrby(connections, depth):
    return Load("redis-hincrby", connections, depth, (
        ("key", redis_servers.STOCK_KEY), ("rows", dataset.STOCK_ROWS)))


def redis_benchmark(command, connections, depth):
    """A load of redis-benchmark: so many keys of the store, with values of so many bytes."""
    return Load("redis-benchmark", connections, depth, (("command", command), ("keys", 100_000), ("bytes", 50)))


# The requests that Rowsocket gets, for a server that answers each of them with one fixed line.
FOUND = f"0\\t3\\tuser 500000\\tuser500000@example.com\\t{CREATED}"


def null_find(connections, depth):
    return Load("hs-get", connections, depth, (*USER, ("expect-reply", FOUND)))


def null_purchase(connections):
    return Load("hs-purchase", connections, 1, (*sale(), ("expect-reply", FOUND)))


def null_decrement(connections, depth=1):
    return Load("hs-decrement", connections, depth, (
        *STOCK, ("rows", dataset.STOCK_ROWS), ("expect-reply", FOUND)))
