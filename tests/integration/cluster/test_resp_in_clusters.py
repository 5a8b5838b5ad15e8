"""RESP on the nodes of a Galera cluster, and of MySQL's group replication: what one node has answered is on all of them."""

import pathlib

import pytest

from cluster import Cluster
from resp import Client
from server import is_mysql, run_packaged, wait_until

pytestmark = [pytest.mark.again_in("mysql-9.7"), pytest.mark.ours, pytest.mark.slow]

KIND = "group" if is_mysql() else "galera"


@pytest.fixture(scope="module")
def nodes(request):
    made = Cluster(KIND, options=["--loose-resp-socket=resp.sock"], keep=request.config.getoption("--keep"))
    try:
        made.start()
        run_packaged(made[1].sql(), "rowsocket_store.sql")
        made[1].sql().run("CREATE DATABASE shop")
        made[1].sql().run("CREATE TABLE shop.stock (id INT PRIMARY KEY, n INT NOT NULL)")
        made[1].sql().run("INSERT INTO shop.stock VALUES (1, 1000)")
        for node in made.nodes:
            wait_until(lambda node=node: rows_of(node) == [(b"1000",)], 20, "the table")
        yield made
    finally:
        made.remove()


def rows_of(node):
    try:
        return node.sql().rows("SELECT n FROM shop.stock")
    except Exception:  # pylint: disable=broad-except
        return None  # the table has not come yet


def open_client(node):
    folder = node.sql().value("SELECT @@datadir").decode()
    return Client(pathlib.Path(folder) / "resp.sock")


def test_strings_rows_and_transactions_are_on_all_nodes(nodes):
    first, second = (open_client(node) for node in nodes.nodes[:2])
    assert first.ask("SET", "page", "<html>", "EX", 100) == "OK" and first.ask("HINCRBY", "shop.stock:1", "n", -1) == 999
    wait_until(lambda: second.ask("GET", "page") == b"<html>" and second.ask("HGET", "shop.stock:1", "n") == b"999", 20, "both")
    assert first.transaction(["SET", "a", 1], ["HINCRBY", "shop.stock:1", "n", "x"]).startswith("EXECABORT")
    assert first.transaction(["SET", "a", 2], ["HINCRBY", "shop.stock:1", "n", -1]) == ["OK", 998]
    wait_until(lambda: second.ask("MGET", "a", "page") == [b"2", b"<html>"], 20, "the transaction")
    assert second.ask("HGET", "shop.stock:1", "n") == b"998"


def test_an_expired_string_goes_on_all_nodes(nodes):
    clients = [open_client(node) for node in nodes.nodes]
    for number in range(50):
        clients[0].ask("SET", f"gone:{number}", "x", "PX", 50)

    def all_gone():
        for client in clients:
            client.ask("PING")  # a port purges while it is used
            client.ask("GET", "gone:1")
        return all(node.sql().value("SELECT COUNT(*) FROM rowsocket.store WHERE k LIKE 'gone%'") == b"0" for node in nodes.nodes)

    wait_until(all_gone, 30, "the purge")


@pytest.mark.mariadb("of a replication group, one member takes writes")
def test_what_another_node_changes_is_seen_by_watch(nodes):
    first, second = (open_client(node) for node in nodes.nodes[:2])
    assert first.ask("SET", "seen", 1) == "OK"
    wait_until(lambda: second.ask("GET", "seen") == b"1", 20, "the string")
    assert first.ask("WATCH", "seen") == "OK" and second.ask("SET", "seen", 2) == "OK"
    wait_until(lambda: nodes[1].sql().value("SELECT v FROM rowsocket.store WHERE k = 'seen'") == b"2", 20, "the change")
    assert first.transaction(["SET", "seen", 3]) is None and first.ask("GET", "seen") == b"2"


@pytest.mark.mariadb("of a replication group, one member takes writes")
def test_counters_of_several_nodes_lose_nothing(nodes):
    clients = [open_client(node) for node in nodes.nodes]
    answered = 0
    for _ in range(60):
        for client in clients:
            client.send("INCR", "visits")
        for client in clients:
            answer = client.receive()
            assert isinstance(answer, int) or answer.startswith("TRYAGAIN"), answer
            answered += isinstance(answer, int)
    wait_until(lambda: all(client.ask("GET", "visits") == b"%d" % answered for client in clients), 20, "equal counters")
    assert answered > 0
