"""What INFO and CLIENT LIST tell monitors of a port: who waits, which calls fail, and with what."""

import re

import pytest

import resp
from server import is_server_before, wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]

FLUSH = "FLUSH STATUS" if is_server_before((11, 5)) else "FLUSH GLOBAL STATUS"


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


def test_calls_that_fail_are_counted_by_command_and_by_error(server, client):
    client.ask("HGET", "product:7", "name")
    server.sql().run(FLUSH)
    for _ in range(3):
        assert client.ask("HGET", "product:7", "name") == b"Teapot"
    assert client.ask("HSET", "product:7", "nothing", "1").startswith("NOFIELD")
    assert client.ask("HGET", "no.table:7", "name").startswith("NOTABLE")
    assert client.ask("HGET", "product:7").startswith("ERR wrong number")
    assert client.ask("LPUSH", "list", "1").startswith("NOTSERVED")
    assert client.transaction(("HSET", "product:7", "stock", "x")).startswith("EXECABORT")

    def stats():
        return {name: dict(one.split("=") for one in value.split(","))
                for name, value in info(client, "commandstats").items()}
    wait_until(lambda: stats().get("cmdstat_hget", {}).get("calls") == "4", 10, "the calls")
    found = stats()
    assert {name: found[f"cmdstat_{name}"][f"{kind}_calls"] for name, kind in
            (("hget", "rejected"), ("lpush", "rejected"), ("exec", "failed"))} == {"hget": "1", "lpush": "1", "exec": "1"}
    assert found["cmdstat_hget"]["failed_calls"] == found["cmdstat_hset"]["failed_calls"] == "1" and found["cmdstat_lpush"]["calls"] == "0"
    errors = info(client, "errorstats")
    assert errors == {f"errorstat_{name}": "count=1" for name in ("ERR", "EXECABORT", "NOFIELD", "NOTABLE", "NOTSERVED")}
    assert info(client, "stats")["total_error_replies"] == "5"
    server.sql().run(FLUSH)
    assert info(client, "errorstats") == {} and info(client, "stats")["total_error_replies"] == "0"


def test_the_time_on_processors_is_told(client):
    before = info(client, "cpu")
    for _ in range(2000):
        client.ask("PING")
    after = info(client, "cpu")
    assert all(re.fullmatch(r"\d+\.\d{6}", after[name]) for name in ("used_cpu_sys", "used_cpu_user"))
    assert sum(float(after[name]) - float(before[name]) for name in ("used_cpu_sys", "used_cpu_user")) > 0
