"""InnoDB's adaptive hash index beside rows that change in place: finds and gets see committed rows, whole.

MySQL's own SELECT may copy a row without its page's latch there (bug 101667 of MySQL)."""

import threading

import pytest

from load import scaled
from mc_tables import Container
from server import wait_until

pytestmark = [pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]

LEFT, RIGHT = "a" * 200, "b" * 200
PIPELINE = 16
STATEMENTS = ("UPDATE h.t SET l = REPEAT('x', 200), r = REPEAT('x', 200) WHERE id = 'bar'",
              "DELETE FROM h.t WHERE id = 'bar'")


class Writers:
    """SQL sessions that change the row and roll that back, until the end."""

    def __init__(self, server):
        self.ended = threading.Event()
        self.rounds = [0] * len(STATEMENTS)
        self.threads = [threading.Thread(target=self.run, args=(server, number)) for number in range(len(STATEMENTS))]

    def run(self, server, number):
        sql = server.sql()
        sql.run("SET autocommit = 0")
        while not self.ended.is_set():
            sql.run(STATEMENTS[number])
            sql.run("ROLLBACK")
            self.rounds[number] += 1

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        wait_until(lambda: all(self.rounds), 10, "rows that change")

    def __exit__(self, *_):
        self.ended.set()
        for thread in self.threads:
            thread.join()


@pytest.fixture
def table(make_server):
    server = make_server(options=["--innodb-adaptive-hash-index=ON", "--innodb-flush-log-at-trx-commit=0"])
    sql = server.sql()
    sql.run("CREATE DATABASE h")
    sql.run("CREATE TABLE h.t (id VARBINARY(10) PRIMARY KEY, l VARCHAR(200), r VARCHAR(200)) CHARACTER SET latin1")
    sql.run(f"INSERT INTO h.t VALUES ('bar', '{LEFT}', '{RIGHT}')")
    for number in range(200):
        sql.run(f"INSERT INTO h.t VALUES ('k{number}', 'l', 'r')")
    return server


def is_answered(received, expected):
    """Whether as many replies are there as were asked for: a reply of HandlerSocket is a line, one of memcached's ends
    with END."""
    end = b"END\r\n" if expected.endswith(b"END\r\n") else b"\n"
    return received.count(end) >= PIPELINE * 16


def count_wrong(server, connection, request, expected):
    """How many replies to a request, which is sent again and again beside the writers, are not the expected one."""
    wrong = 0
    with Writers(server):
        for _ in range(scaled(600)):
            connection.sendall(request * PIPELINE * 16)
            received = b""
            while not is_answered(received, expected):
                received += connection.recv(1 << 20)
            wrong += PIPELINE * 16 - received.count(expected)
    return wrong


FINDS = {"find": (b"0\t=\t1\tbar\n", f"0\t3\tbar\t{LEFT}\t{RIGHT}\n".encode()),
         "filter": (f"0\t=\t1\tbar\t1\t0\tF\t=\t0\t{LEFT}\n".encode(), f"0\t3\tbar\t{LEFT}\t{RIGHT}\n".encode()),
         "list": (b"0\t=\t1\t\t3\t0\t@\t0\t3\tbar\tbar\tbar\n", b"0\t3" + f"\tbar\t{LEFT}\t{RIGHT}".encode() * 3 + b"\n")}


@pytest.mark.parametrize("find", FINDS)
def test_finds_see_committed_rows(table, find):
    client = table.hs_rd()
    client.open_index(0, "h", "t", "PRIMARY", "id,l,r", "l")
    assert count_wrong(table, client.sock, *FINDS[find]) == 0


def test_gets_see_committed_rows(table):
    container = Container.of(table, "h.t", "id", "l")
    client = container.ready()
    expected = f"VALUE @@t.bar 0 200\r\n{LEFT}\r\n".encode()
    assert count_wrong(table, client.socket, b"get @@t.bar @@t.bar @@t.bar\r\n", expected * 3 + b"END\r\n") == 0
