"""Each variable of a limit reaches what it limits, in the plugin whose variable it is: a small value is met with what is
beyond it. test_limits.py has most variables of HandlerSocket."""

import os
import socket

import pytest

import hs
import logins
import mc
import resp
from logins import log_in, log_in_mc
from mc_tables import Container
from private_servers import create, remove
from resp import Error
from server import run_packaged, wait_until

pytestmark = pytest.mark.ours

REDIS, MEMCACHED, HANDLERSOCKET = "resp", "daemon_memcached", "handlersocket"
both = pytest.mark.parametrize("plugin", [REDIS, MEMCACHED])
all_three = pytest.mark.parametrize("plugin", [REDIS, MEMCACHED, HANDLERSOCKET])

CONNECTIONS, ITEM_BYTES, REQUEST_BYTES, REPLY_BYTES, UNSENT_BYTES = 20, 5000, 8192, 100_000, 65_536
LARGE = 60_000  # bytes of a value, of which no two are in one reply
ROWS = 12       # that are locked together
WORKERS = {REDIS: (os.cpu_count() or 1) + 3, MEMCACHED: (os.cpu_count() or 1) + 4}
# Each number of threads is far from the next one: what else a plugin starts is fewer than 50.
LOGIN_THREADS = {REDIS: 50, MEMCACHED: 100, HANDLERSOCKET: 150}
PLACES, PLACES_LATER = 4096 * 2 // 100, 4096 * 1 // 100  # of 2 percent at the start, of 1 percent later


def option(plugin, name, value):
    return f"--loose-{plugin}-{name}={value}"


def start(config, *options):
    return resp.start(lambda **kwargs: create(config, **kwargs), *options)


@pytest.fixture(scope="module")
def limited_server(request):
    """One server with small limits of both plugins that do not disturb each other."""
    server = start(
        request.config, option(REDIS, "request-max-bytes", REQUEST_BYTES), option(REDIS, "token-ttl", 1),
        option(MEMCACHED, "item-size-max", ITEM_BYTES),
        *(option(plugin, name, value) for plugin in (REDIS, MEMCACHED) for name, value in (
            ("reply-max-bytes", REPLY_BYTES), ("buffer-max-bytes", UNSENT_BYTES), ("connections-max", CONNECTIONS),
            ("lock-wait-threads", 1), ("threads", WORKERS[plugin]))))
    sql = server.sql("shop")
    for script in ("rowsocket_store.sql", "rowsocket_tokens.sql"):
        run_packaged(sql, script)
    items = Container(server, "shop", "items")
    items.ready().close()
    for name in ("large", "larger"):
        sql.run(f"INSERT INTO rowsocket.store (db, k, v) VALUES (0, '{name}', REPEAT('x', {LARGE}))")
        sql.run(f"INSERT INTO items (k, v) VALUES ('{name}', REPEAT('x', {LARGE}))")
    yield server
    remove(server)


@pytest.fixture
def limited(limited_server):
    yield limited_server
    limited_server.close_clients()


def connect(server, plugin, **kwargs):
    if plugin == MEMCACHED:
        return mc.connect(server, **kwargs)
    client = resp.Client(server.resp_port, **kwargs)
    server.clients.append(client)
    return client


def is_served(client):
    """Whether the server answers; False: it has closed the connection."""
    try:
        return (client.ask("PING") == "PONG") if isinstance(client, resp.Client) else client.command("mn") == b"MN"
    except (ConnectionError, mc.Closed):
        return False


def status(sql, plugin, name):
    return sql.status(f"{plugin.capitalize()}_{name}")


# --- Sizes ---

def test_resp_request_max_bytes(limited):
    client = connect(limited, REDIS)
    assert client.ask("SET", "k", "x" * (REQUEST_BYTES - 100)) == "OK"
    assert client.transaction(("SET", "k", "x" * 5000)) == ["OK"]
    assert client.ask("MULTI") == "OK" and client.ask("SET", "k", "x" * 5000) == "QUEUED"
    assert client.ask("SET", "k", "y" * 5000).startswith("TOOLARGE a transaction has at most")
    assert client.ask("EXEC").startswith("EXECABORT")
    assert client.ask("SET", "k", "x" * (REQUEST_BYTES + 1)) == Error("ERR Protocol error: invalid bulk length")
    assert not is_served(client)


def test_daemon_memcached_item_size_max(limited):
    client = connect(limited, MEMCACHED)
    assert client.set(b"@@items.k", b"x" * ITEM_BYTES) == b"STORED"
    assert client.set(b"@@items.k", b"y" * (ITEM_BYTES + 1)) == b"SERVER_ERROR object too large for cache"
    assert client.value("@@items.k") == b"x" * ITEM_BYTES


@both
def test_reply_max_bytes(limited, plugin):
    client = connect(limited, plugin)
    if plugin == REDIS:
        assert client.ask("GET", "large") == b"x" * LARGE
        assert client.ask("MGET", "large", "larger") == Error("TOOLARGE the reply is larger than resp_reply_max_bytes")
    else:
        assert client.value("@@items.large") == b"x" * LARGE
        assert client.get("@@items.large", "@@items.larger") == (
            b"SERVER_ERROR the reply is larger than daemon_memcached_reply_max_bytes")
    assert is_served(client)


@both
def test_buffer_max_bytes(limited, plugin):
    """A client that does not read is paused when it is owed this much; the default is ten times as much."""
    sql, one = limited.sql(), connect(limited, plugin)
    with socket.socket() as greedy:
        greedy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        greedy.connect((one.sock if plugin == REDIS else one.socket).getpeername())
        one.close()
        # Far more than the kernel buffers.
        greedy.sendall(300 * (b"*2\r\n$3\r\nGET\r\n$5\r\nlarge\r\n" if plugin == REDIS else b"get @@items.large\r\n"))
        shown = ("SELECT buffered_bytes FROM information_schema.ROWSOCKET_CONNECTIONS"
                 f" WHERE plugin = '{plugin}' AND state = 'unread replies'")
        [[held]] = wait_until(lambda: sql.rows(shown), what="the client is paused")
        assert UNSENT_BYTES / 2 <= int(held) < UNSENT_BYTES + 5 * LARGE


# --- Numbers ---

@both
def test_connections_max(limited, plugin):
    sql = limited.sql()
    wait_until(lambda: status(sql, plugin, "connections") == 0, what="no connection of another test")
    refused = status(sql, plugin, "connections_refused")
    clients = [connect(limited, plugin) for _ in range(CONNECTIONS)]
    assert all(map(is_served, clients))
    assert not is_served(connect(limited, plugin))
    wait_until(lambda: status(sql, plugin, "connections_refused") == refused + 1, what="it is counted")
    assert all(map(is_served, clients))


@both
def test_threads(limited, plugin):
    workers = (r"SELECT COUNT(*) FROM information_schema.processlist"
               f" WHERE state LIKE '{plugin.removeprefix('daemon_')}: mode=rw%'")
    assert limited.sql().value(workers) == str(WORKERS[plugin]).encode()


@both
def test_lock_wait_threads(limited, plugin):
    """Requests for so many rows wait, and one thread waits for all of them."""
    sql, locker = limited.sql("shop"), limited.sql("shop")
    table = "rowsocket.store" if plugin == REDIS else "items"
    keys = [f"k{number}" for number in range(ROWS)]
    for name in keys:
        sql.run(f"REPLACE INTO {table} (k, v) VALUES ('{name}', 'old')")
    locker.run("BEGIN")
    locker.run(f"SELECT * FROM {table} WHERE k IN ({', '.join(map(repr, keys))}) FOR UPDATE")
    clients = [connect(limited, plugin) for _ in keys]
    assert all(map(is_served, clients))
    waits, threads = status(sql, plugin, "lock_waits"), threads_of(limited)
    for client, name in zip(clients, keys):
        if plugin == REDIS:
            client.send("SET", name, "new")
        else:
            client.send(b"set @@items.%s 0 0 3\r\nnew\r\n" % name.encode())
    wait_until(lambda: status(sql, plugin, "lock_waits") == waits + ROWS, what="all requests wait")
    assert threads_of(limited) < threads + ROWS / 2
    locker.run("ROLLBACK")
    assert [client.receive() if plugin == REDIS else client.line() for client in clients] == (
        ["OK"] if plugin == REDIS else [b"STORED"]) * ROWS


def threads_of(server):
    return len(os.listdir(f"/proc/{server.pid}/task"))


# --- Times ---

def test_resp_token_ttl(limited):
    """A token that has expired counts as new: its transaction takes effect again."""
    client = connect(limited, REDIS)
    take = ("ROW.ONCE", "t"), ("HINCRBY", "product:7", "stock", -1)
    first = client.transaction(*take)
    wait_until(lambda: client.transaction(*take) == ["OK", first[1] - 1], what="the token expires")


@pytest.fixture(scope="module")
def impatient(request):
    server = start(request.config, option(REDIS, "timeout", 1), option(MEMCACHED, "timeout", 1))
    yield server
    remove(server)


@both
def test_timeout(impatient, plugin):
    sql, client = impatient.sql(), connect(impatient, plugin)
    wait_until(lambda: status(sql, plugin, "connections_timed_out") == 1, 20, "the idle connection is closed")
    assert not is_served(client)


# --- Accounts ---

@pytest.fixture(scope="module")
def with_logins(request):
    """A server whose clients log in; an account has 2 percent of the places."""
    server = start(request.config, *logins.OPTIONS, option(REDIS, "accounts", "ON"),
                   *(option(plugin, "auth-threads", count) for plugin, count in LOGIN_THREADS.items()),
                   *(option(plugin, "account-share-percent", 2) for plugin in LOGIN_THREADS))
    sql = logins.prepare(server)
    sql.run("GRANT SELECT ON shop.* TO app@'127.%'")
    Container(server, "shop", "items")
    sql.run("INSERT INTO shop.items (k, v) VALUES ('k', 'v')")
    yield server
    remove(server)


@all_three
def test_auth_threads(with_logins, plugin):
    """They end with their plugin."""
    sql = with_logins.sql()
    before = threads_of(with_logins)
    sql.run(f"UNINSTALL PLUGIN {plugin}")
    ended = before - threads_of(with_logins)
    sql.run(f"INSTALL PLUGIN {plugin} SONAME 'rowsocket.so'")
    assert LOGIN_THREADS[plugin] <= ended < LOGIN_THREADS[plugin] + 50


def log_in_and_read(server, plugin):
    """A client of the account, and how it makes so many small requests, all sent at once."""
    if plugin == HANDLERSOCKET:
        client, answer = log_in(server, "app", "right")
        assert answer.code == 0
        index = client.opened("g", "t", "", "v")
        return lambda count: client.pipeline([hs.find_words(index.id, "=", [1])] * count)
    client = connect(server, plugin)
    if plugin == REDIS:
        assert client.ask("AUTH", "app", "right") == "OK"
        request, receive = b"*3\r\n$4\r\nHGET\r\n$9\r\nproduct:7\r\n$4\r\nname\r\n", client.receive
    else:
        assert log_in_mc(client, "app", "right") == b"STORED"
        wait_until(lambda: client.value("@@items.k") == b"v", what="the container")
        request, receive = b"get @@items.k\r\n", client.reply_to_get

    def read(count):
        (client.sock.sendall if plugin == REDIS else client.send)(request * count)
        return [receive() for _ in range(count)]
    return read


@all_three
def test_account_share_percent(with_logins, plugin):
    """Without a limit a turn takes 128 requests of a connection."""
    sql, read, count = with_logins.sql(), log_in_and_read(with_logins, plugin), 3840

    def turns_taken():
        before = status(sql, plugin, "turns")
        assert len(set(map(repr, read(count)))) == 1
        return status(sql, plugin, "turns") - before
    assert turns_taken() >= count / PLACES
    sql.run(f"SET GLOBAL {plugin}_account_share_percent = 1")
    try:
        assert turns_taken() >= count / PLACES_LATER
    finally:
        sql.run(f"SET GLOBAL {plugin}_account_share_percent = 2")
