"""CLIENT LIST, INFO and KILL: the connections of a port as its clients may see and end them."""

import pytest
import redis

import resp
from resp import Client, Error
from server import wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]


SIZES = ("qbuf", "qbuf-free", "argv-mem", "multi-mem", "obl", "oll", "omem", "tot-mem")


def listed(client, *options):
    """{id: {field: text}} of CLIENT LIST."""
    found = {}
    for line in client.ask("CLIENT", "LIST", *options).decode().splitlines():
        fields = dict(part.split("=", 1) for part in line.split(" "))
        found[int(fields["id"])] = fields
    return found


def is_ended(client):
    try:
        return client.sock.recv(1) == b""
    except ConnectionError:
        return True


def test_clients_are_listed_with_what_they_say_of_themselves(server):
    first, second = Client(server.resp_port), Client(server.resp_port, 3)
    mine, other = first.ask("CLIENT", "ID"), second.ask("CLIENT", "ID")
    assert mine != other
    assert second.ask("CLIENT", "SETNAME", "cart") == "OK" and second.ask("SELECT", 4) == "OK"
    assert second.ask("CLIENT", "SETINFO", "lib-name", "mine") == "OK"
    assert second.ask("HGET", "shop.product:7", "name") == b"Teapot"
    found = listed(first)
    assert found[other]["cmd"] == "hget" and found[mine]["cmd"] == "client" and found[mine]["idle"] == "0"
    assert int(found[other]["idle"]) <= int(found[other]["age"]) < 60
    assert found[other]["name"] == "cart" and found[other]["db"] == "4" and found[other]["lib-name"] == "mine"
    assert found[other]["resp"] == "3" and found[other]["addr"] == "127.0.0.1:%d" % second.sock.getsockname()[1]
    assert found[other]["laddr"] == "127.0.0.1:%d" % server.resp_port
    assert found[mine]["name"] == "" and found[mine]["user"] == "default"
    assert {field for field in SIZES if int(found[mine][field]) != 0} == set(), "redis-py 5 and 6 take them for numbers"
    assert list(listed(first, "ID", other)) == [other] and listed(first, "TYPE", "pubsub") == {}
    assert first.ask("CLIENT", "LIST", "ID", "x") == Error("ERR Invalid client ID")
    assert f"id={mine} " in first.ask("CLIENT", "INFO").decode()
    rows = server.sql().rows("SELECT id, name, mode FROM information_schema.ROWSOCKET_CONNECTIONS WHERE plugin = 'resp'"
                             " ORDER BY id")
    assert (b"%d" % other, b"cart", b"mode=rw") in rows
    second.close()
    wait_until(lambda: list(listed(first)) == [mine], what="the end of a connection")
    first.close()


def test_kill_ends_those_that_it_names(server):
    clients = [Client(server.resp_port) for _ in range(4)]
    ids = [client.ask("CLIENT", "ID") for client in clients]
    assert clients[0].ask("CLIENT", "KILL", "ID", ids[1]) == 1
    assert is_ended(clients[1])
    address = "127.0.0.1:%d" % clients[2].sock.getsockname()[1]
    assert clients[0].ask("CLIENT", "KILL", address) == "OK"
    assert is_ended(clients[2])
    assert clients[0].ask("CLIENT", "KILL", "ID", ids[0]) == 0
    assert clients[0].ask("CLIENT", "KILL", "127.0.0.1:1") == Error("ERR No such client")
    assert clients[0].ask("CLIENT", "KILL", "ID", "0") == Error("ERR client-id should be greater than 0")
    assert clients[0].ask("CLIENT", "KILL", "TYPE", "pubsub") == 0
    assert clients[0].ask("CLIENT", "KILL", "MAXAGE", "1000") == 0
    assert clients[0].ask("CLIENT", "KILL", "LADDR", "127.0.0.1:1") == 0
    assert clients[0].ask("CLIENT", "KILL", "TYPE", "normal", "LADDR", "127.0.0.1:%d" % server.resp_port) == 1
    assert is_ended(clients[3])
    assert clients[0].ask("CLIENT", "KILL", "ID", ids[0], "SKIPME", "no") == 1
    assert is_ended(clients[0])


def test_a_list_after_kill_in_one_packet_lacks_the_ended(server):
    first, second = Client(server.resp_port), Client(server.resp_port)
    mine, other = first.ask("CLIENT", "ID"), second.ask("CLIENT", "ID")
    first.sock.sendall(b"CLIENT KILL ID %d\r\nCLIENT KILL ID %d\r\nCLIENT LIST ID %d %d\r\n"
                       % (other, other, mine, other))
    assert first.receive() == 1 and first.receive() == 0
    lines = first.receive().decode().splitlines()
    assert len(lines) == 1 and lines[0].startswith(f"id={mine} ")
    assert is_ended(second)


def test_an_account_sees_and_ends_its_own_connections_alone(make_server):
    server = resp.start(make_server, "--loose-resp-accounts=ON")
    sql = server.sql()
    for name in ("anna", "bert"):
        sql.run(f"CREATE USER {name}@'127.0.0.1' IDENTIFIED BY 'pw'")
    annas, berts = [Client(server.resp_port) for _ in range(2)], Client(server.resp_port)
    for client, name in ((annas[0], "anna"), (annas[1], "anna"), (berts, "bert")):
        assert client.ask("AUTH", name, "pw") == "OK"
    ids = [client.ask("CLIENT", "ID") for client in annas]
    assert list(listed(annas[0])) == sorted(ids) and listed(annas[0])[ids[0]]["user"] == "anna"
    assert berts.ask("CLIENT", "KILL", "ID", ids[0]) == 0 and list(listed(berts)) == [berts.ask("CLIENT", "ID")]
    assert annas[0].ask("PING") == "PONG"
    assert annas[0].ask("CLIENT", "KILL", "USER", "anna") == 1
    assert is_ended(annas[1]) and berts.ask("PING") == "PONG"


def test_redis_py_reads_the_list(server):
    with redis.Redis(port=server.resp_port, client_name="shop") as client:
        found = client.client_list()
        assert client.client_info()["name"] == "shop" and [one["name"] for one in found].count("shop") == 1
        assert client.client_kill_filter(_id=client.client_id(), skipme=True) == 0
