"""A client of the memcached port for the tests, and a real memcached to compare with.

The client knows only the framing of the three dialects: it takes one reply after the other off the connection, and
judges none.
"""

import contextlib
import pathlib
import re
import socket
import struct
import subprocess
import tempfile
import time

from server import cache_dir, read_env, wait_until

TIMEOUT_S = 10.0
TLS = None  # with pytest --tls: the ssl.SSLContext of all clients of Rowsocket over TCP

# Binary opcodes.
GET, SET, ADD, REPLACE, DELETE, INCR, DECR, QUIT, FLUSH, GETQ, NOOP, VERSION, GETK, GETKQ = range(14)
APPEND, PREPEND, STAT, SETQ, ADDQ, REPLACEQ, DELETEQ, INCRQ, DECRQ, QUITQ = range(0x0e, 0x18)
FLUSHQ, APPENDQ, PREPENDQ, VERBOSITY, TOUCH, GAT, GATQ = range(0x18, 0x1f)
GATK, GATKQ = 0x23, 0x24

HEADER = struct.Struct(">BBHBBHIIQ")
MAGIC_SENT, MAGIC_GOT = 0x80, 0x81

# The last lines of replies of the text and meta dialects that may have several lines.
LAST_OF_VALUES = re.compile(rb"(END|ERROR|CLIENT_ERROR|SERVER_ERROR)\b")


class Closed(Exception):
    """The server closed the connection."""


def packet(opcode, key=b"", value=b"", extras=b"", token=0, opaque=0):
    """A binary request."""
    body = len(extras) + len(key) + len(value)
    return HEADER.pack(MAGIC_SENT, opcode, len(key), len(extras), 0, 0, body, opaque,
                       token) + extras + key + value


def storing(flags=0, expiry=0):
    return struct.pack(">II", flags, expiry)


def counting(delta, initial=0, expiry=0xffffffff):
    return struct.pack(">QQI", delta, initial, expiry)


class Packet:
    """A binary reply."""

    def __init__(self, header, body):
        (self.magic, self.opcode, key_bytes, extras_bytes, self.type, self.status, _, self.opaque,
         self.token) = HEADER.unpack(header)
        self.extras = body[:extras_bytes]
        self.key = body[extras_bytes:extras_bytes + key_bytes]
        self.value = body[extras_bytes + key_bytes:]

    def __repr__(self):
        return (f"<{self.opcode:#x} status {self.status} key {self.key!r} extras {self.extras.hex()}"
                f" value {self.value[:60]!r} token {self.token} opaque {self.opaque}>")


class Client:
    """One connection. address: (host, port) or the path of a UNIX socket. tls: an ssl.SSLContext."""

    def __init__(self, address, timeout_s=TIMEOUT_S, tls=None, source=None):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.settimeout(timeout_s)
        if source:
            self.socket.bind((source, 0))
        self.socket.connect(address)
        if family == socket.AF_INET:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            self.socket = tls.wrap_socket(self.socket)
        self.buffer = b""

    def close(self):
        with contextlib.suppress(OSError):
            self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, data):
        self.socket.sendall(data)

    def receive_more(self):
        try:
            data = self.socket.recv(1 << 18)
        except ConnectionResetError as error:
            raise Closed(f"reset; before that: {self.buffer[-300:]!r}") from error
        if not data:
            raise Closed(f"closed; before that: {self.buffer[-300:]!r}")
        self.buffer += data

    def take(self, count):
        while len(self.buffer) < count:
            self.receive_more()
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def line(self):
        """One line, without its CR LF."""
        while b"\r\n" not in self.buffer:
            self.receive_more()
        text, _, self.buffer = self.buffer.partition(b"\r\n")
        return text

    def is_closed(self):
        """Waits until the server has closed the connection."""
        try:
            while True:
                self.receive_more()
        except Closed:
            return True
        except TimeoutError:
            return False

    # Text.

    def command(self, text, data=None):
        """Sends a command line, with a data block if it is given; returns the first line of the answer."""
        self.send(text.encode("latin-1") + b"\r\n" + (b"" if data is None else data + b"\r\n"))
        return self.line()

    def ask_for_nothing(self):
        assert self.command("mn") == b"MN"

    def reply_to_get(self):
        """{key: (flags, data[, token])}, or the line of an error."""
        found = {}
        while True:
            text = self.line()
            if LAST_OF_VALUES.match(text):
                return found if text == b"END" else text
            words = text.split(b" ")
            assert words[0] == b"VALUE" and len(words) in (4, 5), text
            data = self.take(int(words[3]) + 2)
            assert data.endswith(b"\r\n"), data[-20:]
            found[words[1]] = (int(words[2]), data[:-2], *map(int, words[4:]))

    def get(self, *keys, verb="get"):
        self.send(b" ".join([verb.encode(), *map(as_bytes, keys)]) + b"\r\n")
        return self.reply_to_get()

    def value(self, key):
        """The data of one key, or None."""
        found = self.get(key)
        assert isinstance(found, dict), found
        return found[as_bytes(key)][1] if found else None

    def token(self, key):
        return self.get(key, verb="gets")[as_bytes(key)][2]

    def set(self, key, data, flags=0, expiry=0, verb="set"):
        self.send(b"%s %s %d %d %d\r\n%s\r\n" % (verb.encode(), as_bytes(key), flags, expiry,
                                                 len(data), data))
        return self.line()

    def stats(self, what=""):
        self.send(f"stats {what}".rstrip().encode() + b"\r\n")
        found = {}
        while True:
            text = self.line()
            if not text.startswith(b"STAT "):
                assert text in (b"END", b"RESET"), text
                return found
            _, name, *value = text.decode("latin-1").split(" ", 2)
            found[name] = value[0] if value else ""

    # Meta.

    def meta(self, text, data=None):
        """(first line, data block or None)."""
        self.send(as_bytes(text) + b"\r\n" + (b"" if data is None else data + b"\r\n"))
        return self.meta_reply()

    def meta_reply(self):
        text = self.line()
        if text.startswith(b"VA "):
            return text, self.take(int(text.split(b" ")[1]) + 2)[:-2]
        return text, None

    # Binary.

    def packet(self):
        header = self.take(HEADER.size)
        assert header[0] == MAGIC_GOT, header
        return Packet(header, self.take(HEADER.unpack(header)[6]))

    def binary(self, *args, **kwargs):
        self.send(packet(*args, **kwargs))
        return self.packet()

    # In any dialect.

    def in_step(self, dialect):
        """Whether no byte is left over, and one more request gets its own answer."""
        if dialect == "binary":
            self.send(packet(NOOP, opaque=0x5afe))
            answer = self.packet()
            return (answer.opcode, answer.opaque, answer.status) == (NOOP, 0x5afe, 0)
        self.send(b"mn\r\n")
        return self.line() == b"MN" and not self.buffer


def as_bytes(text):
    return text if isinstance(text, bytes) else str(text).encode("latin-1")


def memcached_env():
    """ROWSOCKET_MEMCACHED, _VERSION, _SOURCE of the memcached that scripts/bootstrap obtained."""
    return read_env(cache_dir() / "memcached" / "env")


def connect(server, **kwargs):
    """A client of a private server's memcached port; closed at the end of the test."""
    client = Client(("127.0.0.1", int(server.env["MEMCACHED_PORT"])), **{"tls": TLS, **kwargs})
    server.clients.append(client)
    return client


class Real:
    """A private memcached, as Debian packages it."""

    def __init__(self, *options):
        self.options = options
        self.process = None
        self.address = None
        self.clients = []

    def start(self):
        """Starts memcached on a free port of loopback, which memcached itself picks and writes into a
        file."""
        with tempfile.TemporaryDirectory(prefix="rs-mc-") as folder:
            ports = pathlib.Path(folder) / "ports"
            pathlib.Path(folder).chmod(0o777)  # memcached gives up root first
            self.process = subprocess.Popen(
                [memcached_env()["ROWSOCKET_MEMCACHED"], "-p", "-1", "-U", "0", "-l", "127.0.0.1",
                 "-u", "nobody", "-t", "2", *self.options], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env={"MEMCACHED_PORT_FILENAME": str(ports)})
            wait_until(lambda: ports.exists() and b"INET" in ports.read_bytes(), 20,
                       "memcached's port")
            port = int(re.search(r"TCP INET: (\d+)", ports.read_text())[1])
        self.address = ("127.0.0.1", port)
        return self

    def connect(self, **kwargs):
        client = Client(self.address, **kwargs)
        self.clients.append(client)
        return client

    def close_clients(self):
        while self.clients:
            self.clients.pop().close()

    def stop(self):
        self.close_clients()
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()


def quiet_bytes(client, quiet_s=0.06):
    """All bytes that arrive until the connection has been quiet for so long, and whether the server closed.
    For recording: a test knows which replies it waits for."""
    client.socket.settimeout(quiet_s)
    try:
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            client.receive_more()
    except TimeoutError:
        return client.take(len(client.buffer)), False
    except Closed:
        return client.take(len(client.buffer)), True
    finally:
        client.socket.settimeout(TIMEOUT_S)
    raise AssertionError("an answer without an end")
