"""What INFO and CLIENT LIST tell monitors of a port: who waits, and who is in a transaction."""

import pytest

import resp
from server import wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]


@pytest.fixture
def client(server):
    client = resp.Client(server.resp_port)
    yield client
    client.close()


def info(client, section):
    """{name: value} of a section."""
    text = client.ask("INFO", section).decode()
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)


def listed(client, number):
    """{name: value} of CLIENT LIST for a connection."""
    [line] = client.ask("CLIENT", "LIST", "ID", str(number)).decode().splitlines()
    return dict(word.split("=", 1) for word in line.split(" "))


def test_who_waits_for_a_lock_is_told(server, client):
    owner, other = server.sql("shop"), resp.Client(server.resp_port)
    number = other.ask("CLIENT", "ID")
    assert (listed(client, number)["flags"], info(client, "clients")["blocked_clients"]) == ("N", "0")
    owner.run("BEGIN")
    owner.run("UPDATE product SET stock = stock + 1 WHERE id = 7")
    other.send("HINCRBY", "product:7", "stock", "1")
    wait_until(lambda: listed(client, number)["flags"] == "b", 10, "the wait")
    assert info(client, "clients")["blocked_clients"] == "1" and listed(client, number)["cmd"] == "hincrby"
    owner.run("ROLLBACK")
    assert isinstance(other.receive(), int)
    wait_until(lambda: listed(client, number)["flags"] == "N", 10, "the end of the wait")
    assert info(client, "clients")["blocked_clients"] == "0"
    owner.run("UPDATE product SET stock = stock - 1 WHERE id = 7")


def test_a_client_that_goes_while_it_waits_is_not_counted(server, client):
    owner, other = server.sql("shop"), resp.Client(server.resp_port)
    owner.run("BEGIN")
    owner.run("UPDATE product SET stock = stock + 1 WHERE id = 7")
    other.send("HINCRBY", "product:7", "stock", "0")
    wait_until(lambda: info(client, "clients")["blocked_clients"] == "1", 10, "the wait")
    other.close()
    owner.run("ROLLBACK")
    wait_until(lambda: info(client, "clients")["blocked_clients"] == "0", 10, "its end")


def test_who_is_in_a_transaction_is_told(server, client):
    other = resp.Client(server.resp_port)
    number = other.ask("CLIENT", "ID")
    assert listed(client, number)["multi"] == "-1"
    assert other.ask("MULTI") == "OK" and other.ask("HGET", "product:7", "name") == "QUEUED"
    shown = listed(client, number)
    assert (shown["flags"], shown["multi"]) == ("x", "1")
    assert other.ask("EXEC") == [b"Teapot"]
    shown = listed(client, number)
    assert (shown["flags"], shown["multi"]) == ("N", "-1")
