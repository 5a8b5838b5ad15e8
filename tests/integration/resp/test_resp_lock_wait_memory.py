"""The memory of requests that wait for locks counts as that of their connections' buffers does."""

import contextlib

import pytest

import resp
from server import run_packaged, wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]

MEMORY = 32 << 20
CLIENTS = 40
KEYS = 10_000  # In the lane each takes about 1 KB.


def outcome(client):
    """The reply; None: the server has closed the connection."""
    try:
        return client.receive()
    except ConnectionError:
        return None


@pytest.mark.parametrize("is_transaction", [False, True])
def test_requests_that_wait_for_a_lock_hold_what_connections_may(make_server, is_transaction):
    server = resp.start(make_server, f"--loose-resp-memory-max-bytes={MEMORY}")
    sql, locker = server.sql(), server.sql()
    run_packaged(sql, "rowsocket_store.sql")
    sql.run("INSERT INTO rowsocket.store (k, v) VALUES ('held', 'v')")
    locker.run("BEGIN")
    assert locker.value("SELECT v FROM rowsocket.store WHERE db = 0 AND k = 'held' FOR UPDATE") == b"v"
    deletes = ("DEL", "held", *(f"k{number}" for number in range(1, KEYS)))
    clients = [resp.Client(server.resp_port) for _ in range(CLIENTS)]
    small, other = resp.Client(server.resp_port), resp.Client(server.resp_port)
    status = lambda name: int(sql.status(f"Resp_{name}"))
    before = server.memory_kib()
    for client in clients:
        with contextlib.suppress(ConnectionError):
            if is_transaction:
                assert client.ask("MULTI") == "OK"
                assert client.ask(*deletes) == "QUEUED"
                client.send("EXEC")
            else:
                client.send(*deletes)
    wait_until(lambda: status("lock_waits") + status("connections_lost") == CLIENTS, 60, "each waits or is closed")
    waiting = status("lock_waits")
    assert 0 < waiting < CLIENTS
    small.send("SET", "held", "small")
    wait_until(lambda: status("lock_waits") == waiting + 1, 20, "what takes little memory may wait")
    assert server.memory_kib() < before + 300_000, "all of them would take 400 MB"
    assert "resp_memory_max_bytes" in server.log()
    held = int(sql.value("SELECT SUM(buffered_bytes) FROM information_schema.ROWSOCKET_CONNECTIONS"))
    assert waiting * KEYS * 500 < held <= MEMORY + (CLIENTS << 16)
    assert other.ask("SET", "free", "v") == "OK" and other.ask("GET", "free") == b"v"

    locker.run("ROLLBACK")
    replies = [reply for reply in map(outcome, clients) if reply is not None]
    deleted = [reply[0] if is_transaction else reply for reply in replies]
    assert len(deleted) == waiting and sum(deleted) in (1, 2)
    assert small.receive() == "OK"
    wait_until(lambda: status("connections") == waiting + 2, 20, "the others are closed")
    again = resp.Client(server.resp_port)
    again.ask("SET", "held", "again")
    assert again.ask(*deletes) == 1
    assert status("connections_lost") == CLIENTS - waiting
    for client in (*clients, small, other, again):
        client.close()
