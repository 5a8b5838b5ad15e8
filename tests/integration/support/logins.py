"""Servers whose clients log in with accounts, and such clients, each with its own source address."""

import contextlib
import itertools
import os
import pathlib
import pwd
import struct

import hs
import mc
from hs import refused
from server import is_mysql, server_env

UNAUTH = refused(3, "unauth")
OPTIONS = ["--handlersocket-accounts=ON", "--daemon-memcached-accounts=ON"]
# Options that load the server's other authentication plugins, besides the built-in ones.
PLUGINS = ["--plugin-load-add=auth_socket.so" if is_mysql() else "--plugin-load-add=auth_ed25519"]
# How to declare an account for logins by the user of the client's process.
BY_SOCKET = "WITH auth_socket" if is_mysql() else "VIA unix_socket"

_sources = itertools.count(256)


def fresh_source():
    """An address of this machine from which no login has failed yet."""
    number = next(_sources)
    return f"127.{1 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"


@contextlib.contextmanager
def as_user(name):
    """Runs a block of a root process as that user."""
    os.seteuid(pwd.getpwnam(name).pw_uid)
    try:
        yield
    finally:
        os.seteuid(0)


def prepare(server):
    """Makes a table for the tests, and an account that may read and write it."""
    sql = server.sql()
    sql.run("CREATE DATABASE g")
    sql.run("CREATE TABLE g.t (id INT PRIMARY KEY, v VARCHAR(20))")
    sql.run("INSERT INTO g.t VALUES (1, 'one')")
    sql.run("CREATE USER app@'127.%' IDENTIFIED BY 'right'")
    sql.run("GRANT ALL ON g.* TO app@'127.%'")
    return sql


def connect(server, port="HS_PORT_WR", source=None):
    """A HandlerSocket client with its own source address."""
    return server.connect(("127.0.0.1", int(server.env[port])), source=source or fresh_source())


def log_in(server, user, password, source=None):
    """(client, its answer) of A 2."""
    client = connect(server, source=source)
    return client, client.request("A", 2, user, password)


def is_in(client):
    """Whether the client may send requests."""
    answer = client.open_index(0, "g", "t", "", "id,v")
    assert answer in (hs.OK, UNAUTH), answer
    return answer == hs.OK


def connect_mc(server, source=None):
    client = mc.Client(("127.0.0.1", int(server.env["MEMCACHED_PORT"])), source=source or fresh_source())
    server.clients.append(client)
    return client


def log_in_mc(client, user, password):
    """The answer to memcached's ASCII authentication."""
    data = f"{user} {password}".encode()
    return client.command(f"set auth 0 0 {len(data)}", data)


def sasl(client, user, password, mechanism=b"PLAIN", opcode=0x21):
    message = b"\0" + user.encode() + b"\0" + password.encode()
    return client.binary(opcode, key=mechanism, value=message, opaque=struct.unpack(">I", b"sasl")[0])


def pam_module(name):
    """The path of a PAM module that comes with the server."""
    [path] = pathlib.Path(server_env()["ROWSOCKET_SERVER_PREFIX"]).rglob(f"security/{name}")
    return path
