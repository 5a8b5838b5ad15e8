"""Laravel's cache, locks, rate limiter and sessions, by phpredis and Predis: the same program, whose URL alone differs,
prints the same with Redis. Run by `scripts/test clients`: Laravel has to be fetched."""

import concurrent.futures

import pytest

import real_redis
import resp_clients
from private_servers import create, remove
from server import free_port, run_packaged
from third_party import HERE

CLIENTS = ["phpredis", "predis"]
PASSWORD = "Open-Sesame-7"
PROCESSES, STEPS = 4, 25
# Commands that docs/RESP.md does not have: the answer of Redis, and how the answer of Rowsocket begins.
MORE = {
    "tags": ("true", "NOTSERVED only rows"),
    "throttle": ('"ran"', "NOTSERVED Lua"),
    "funnel": ('"ran"', "NOTSERVED Lua"),
    "queue": ("1", "NOTSERVED Lua"),
    "publish": ("0", "0"),
    "flush of tags": ("true", "NOTSERVED only rows"),
}


def play(client, port, *scenario):
    """The lines that the program prints."""
    text = (HERE / "laravel.php").read_text(encoding="utf-8")
    return resp_clients.laravel(text, client, f"redis://default:{PASSWORD}@127.0.0.1:{port}", *scenario).splitlines()


@pytest.fixture(scope="module")
def server(request):
    """An account with the rights that an application needs."""
    port = free_port()
    made = create(request.config, options=[f"--loose-resp-port={port}", "--loose-resp-accounts=ON"]).start()
    made.resp_port = port
    sql = made.sql()
    run_packaged(sql, "rowsocket_store.sql")
    for statement in ("CREATE DATABASE shop",
                      "CREATE TABLE shop.page (id INT PRIMARY KEY, title VARCHAR(50), views INT)",
                      f"CREATE USER 'default'@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'",
                      "GRANT SELECT, INSERT, UPDATE, DELETE ON rowsocket.store TO 'default'@'127.0.0.1'",
                      "GRANT SELECT, INSERT, UPDATE, DELETE ON shop.page TO 'default'@'127.0.0.1'"):
        sql.run(statement)
    yield made
    remove(made)


@pytest.fixture(scope="module")
def real():
    with real_redis.Real("--requirepass", PASSWORD) as one:
        yield one


@pytest.fixture(autouse=True)
def empty(server):
    server.sql().run("DELETE FROM rowsocket.store")


@pytest.mark.parametrize("client", CLIENTS)
def test_an_application(server, real, client):
    told = play(client, server.resp_port, "play")
    assert told == play(client, real.port, "play")
    assert told[-1] == "row deleted 1 []"
    kept = server.sql().rows("SELECT db, v FROM rowsocket.store WHERE k = 'shop_database_elsewhere'")
    assert kept == [(b"0", b"kept")]


@pytest.mark.parametrize("client", CLIENTS)
def test_processes_that_take_turns_by_a_lock(server, client):
    """What is read and written under the lock counts every step, as what is counted without it does."""
    with concurrent.futures.ThreadPoolExecutor(PROCESSES) as pool:
        list(pool.map(lambda _: play(client, server.resp_port, "contended", str(STEPS)), range(PROCESSES)))
    assert play(client, server.resp_port, "counted") == ["counted " + " ".join([f'"{PROCESSES * STEPS}"'] * 3)]


@pytest.mark.parametrize("client", CLIENTS)
def test_what_is_not_served(server, real, client):
    assert play(client, real.port, "more") == [f"{what} {answer}" for what, (answer, _) in MORE.items()]
    expected = [f"{what} {refusal}" for what, (_, refusal) in MORE.items()]
    if client == "phpredis":
        # phpredis 5 does not read an error of SSCAN to its end, Redis's neither: docs/CLIENTS.md.
        expected[-1] = "flush of tags protocol error, got 'N' as reply type byte"
    told = play(client, server.resp_port, "more")
    assert [line[:len(beginning)] for line, beginning in zip(told, expected, strict=True)] == expected
