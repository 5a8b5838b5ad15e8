"""A client of RESP that shows replies unchanged, and servers with a port of RESP."""

import socket

from server import free_port

TIMEOUT_S = 15


class Error(str):
    """An error reply, without its minus."""


class Status(str):
    """A simple string."""


class Client:
    """One connection. Replies: Status, Error, int, bytes, None, list, dict."""

    def __init__(self, port, version=2):
        """`port`: a number, or the path of a UNIX socket."""
        if isinstance(port, int):
            self.sock = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S)
        else:
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(TIMEOUT_S)
            self.sock.connect(str(port))
        self.file = self.sock.makefile("rb")
        if version == 3:
            assert self.ask("HELLO", 3)[b"proto"] == 3

    def send(self, *words):
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.sock.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))

    def ask(self, *words):
        self.send(*words)
        return self.receive()

    def receive(self):
        line = self.file.readline()
        if not line:
            raise ConnectionError("the end")
        kind, text = line[:1], line[1:-2]
        if kind == b"+":
            return Status(text.decode())
        if kind == b"-":
            return Error(text.decode(errors="replace"))
        if kind == b":":
            return int(text)
        if kind == b"_":
            return None
        size = int(text)
        if size < 0:
            return None
        if kind in (b"$", b"="):
            data = self.file.read(size + 2)[:-2]
            return data if kind == b"$" else data[4:]
        if kind == b"%":
            return {self.receive(): self.receive() for _ in range(size)}
        assert kind in (b"*", b"~"), line
        return [self.receive() for _ in range(size)]

    def transaction(self, *commands):
        """Sends these commands between MULTI and EXEC, and returns EXEC's answer."""
        assert self.ask("MULTI") == "OK"
        for command in commands:
            assert self.ask(*command) == "QUEUED", command
        return self.ask("EXEC")

    def close(self):
        self.file.close()
        self.sock.close()


def start(make_server, *options):
    """Starts a server with a port of RESP, server.resp_port, and a schema shop with a few rows."""
    port = free_port()
    server = make_server(options=[f"--loose-resp-port={port}", "--loose-resp-schema=shop", *options])
    server.resp_port = port
    if not server.running:
        server.start()
    sql = server.sql()
    sql.run("CREATE DATABASE shop CHARACTER SET utf8mb4")
    sql.run("CREATE TABLE shop.product (id INT PRIMARY KEY, name VARCHAR(50), price DECIMAL(10,2),"
            " stock INT NOT NULL DEFAULT 0, sku VARCHAR(20), UNIQUE KEY by_sku (sku)) ENGINE=InnoDB")
    sql.run("INSERT INTO shop.product VALUES (7, 'Teapot', 24.90, 5, 'T-7'), (8, 'Cup', NULL, 0, 'C:8')")
    sql.run("CREATE TABLE shop.line (a INT, b VARCHAR(10), n INT, PRIMARY KEY (a, b)) ENGINE=InnoDB")
    sql.run("INSERT INTO shop.line VALUES (1, 'x:y', 3)")
    return server
