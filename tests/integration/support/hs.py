"""A HandlerSocket client that hides nothing.

Values are bytes or None (NULL); arguments may also be str and int, which are encoded as UTF-8 and decimal. A
reply is a Reply: the tuple of its words, unescaped. Nothing is sent or read ahead: send() sends one line,
recv() reads one, request() does both.

    with Client(("127.0.0.1", 9998)) as hs:
        assert hs.open_index(0, "test", "user", "PRIMARY", "user_name") == reply(0, 1)
        hs.find(0, "=", [101]) == reply(0, 1, "Yukari Takeba")
"""

import select
import socket
import time

TIMEOUT_S = 15.0
TLS = None  # with pytest --tls: the ssl.SSLContext of all clients over TCP


class Closed(Exception):
    """The server closed the connection although a reply was expected."""


def encode(word):
    """One word in the form that is sent: None is a single 0x00, and bytes below 0x10 are escaped."""
    if word is None:
        return b"\x00"
    data = plain(word)
    if data and min(data) >= 0x10:
        return data
    return b"".join(bytes((1, byte + 0x40)) if byte < 0x10 else bytes((byte,)) for byte in data)


def plain(word):
    """The bytes of a value, without escaping."""
    if isinstance(word, (bytes, bytearray)):
        return bytes(word)
    return str(word).encode("utf-8")


def decode(word):
    """The value of a word in a reply."""
    if word == b"\x00":
        return None
    if b"\x01" not in word:
        return word
    parts = word.split(b"\x01")
    return parts[0] + b"".join(bytes(((part[0] - 0x40) & 0xFF,)) + part[1:] for part in parts[1:])


def line(*words):
    """A request of these words, escaped."""
    return b"\t".join(encode(word) for word in words) + b"\n"


class Reply(tuple):
    """The unescaped words of one reply line."""

    __slots__ = ()

    @property
    def code(self):
        return int(self[0])

    @property
    def cells(self):
        return self[2:]

    @property
    def rows(self):
        """The cells, row by row."""
        assert self.code == 0, self
        width = int(self[1])
        assert width > 0 and len(self.cells) % width == 0, self
        return [self.cells[at:at + width] for at in range(0, len(self.cells), width)]

    @property
    def error(self):
        """The text of an error reply."""
        assert self.code != 0, self
        return self[2].decode()

    @property
    def number(self):
        """The storage engine's or server's number of an error reply."""
        assert self.code == 1 and self[2].isdigit(), self
        return int(self[2])


def reply(*words):
    """The reply that a test expects."""
    return Reply(None if word is None else plain(word) for word in words)


OK = reply(0, 1)  # the reply to open_index, to auth, and to insert if no id is generated


def counted(rows):
    """The reply of find_modify."""
    return reply(0, 1, rows)


def generated(number):
    """The reply of an insert into an AUTO_INCREMENT table."""
    return reply(0, 1, number)


def refused(code, text):
    """An error reply. Numbers of the storage engine or the server have code 1."""
    return reply(code, 1, text)


def parse(raw):
    """A line without its LF, as a Reply."""
    return Reply(decode(word) for word in raw.split(b"\t"))


def open_words(index_id, db, table, index="PRIMARY", columns="", filters=None):
    """The words of open_index; names are given as comma-separated text or as a list."""
    def names(value):
        return value if isinstance(value, (str, bytes)) else ",".join(value)
    words = ["P", index_id, db, table, index, names(columns)]
    return words if filters is None else words + [names(filters)]


def find_words(index_id, op, keys, limit=None, offset=None, *, within=None, filters=(), mod=None):
    """The words of find and find_modify.

    within: (key part, [values]); filters: [(F or W, operator, filter column, value)];
    mod: [U D + - or one of them with ?, values...].
    """
    words = [index_id, op, len(keys), *keys]
    if limit is None and (offset is not None or within or filters or mod):
        limit = 1
    if offset is None and within:
        offset = 0
    if limit is not None:
        words.append(limit)
    if offset is not None:
        words.append(offset)
    if within:
        words += ["@", within[0], len(within[1]), *within[1]]
    for one in filters:
        words += one
    return words + list(mod or ())


class Client:
    """One connection. address: (host, port), or the path of a UNIX socket. tls: an ssl.SSLContext; over TCP the default
    is TLS (above). source: the address of this machine from which it comes."""

    def __init__(self, address, timeout_s=None, receive_buffer_bytes=None, tls=None, source=None):
        timeout_s = timeout_s or TIMEOUT_S
        if isinstance(address, str):
            self.sock = socket.socket(socket.AF_UNIX)
        else:
            family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
            self.sock = socket.socket(family)
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if receive_buffer_bytes:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        if source:
            self.sock.bind((source, 0))
        self.timeout_s = timeout_s
        self.sock.settimeout(timeout_s)
        self.buffer = bytearray()
        self.next_id = 0
        try:
            self.sock.connect(address)
            tls = tls or (None if isinstance(address, str) else TLS)
            if tls:
                self.sock = tls.wrap_socket(self.sock)
        except BaseException:
            self.sock.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.sock.close()

    # Bytes and lines.

    def send_raw(self, data):
        self.sock.sendall(data)

    def send(self, *words):
        self.sock.sendall(line(*words))

    def recv_line(self, timeout_s=None):
        """The next line without its LF. Raises Closed at the end, TimeoutError when no line comes."""
        deadline = time.monotonic() + (self.timeout_s if timeout_s is None else timeout_s)
        searched = 0
        while (end := self.buffer.find(b"\n", searched)) < 0:
            searched = len(self.buffer)
            self._fill(deadline)
        raw = bytes(self.buffer[:end])
        del self.buffer[:end + 1]
        return raw

    def recv_bytes(self, count, timeout_s=None):
        """Waits for exactly that many bytes."""
        deadline = time.monotonic() + (self.timeout_s if timeout_s is None else timeout_s)
        while len(self.buffer) < count:
            self._fill(deadline)
        raw = bytes(self.buffer[:count])
        del self.buffer[:count]
        return raw

    def recv_all(self, timeout_s=None):
        """All bytes until the server closes."""
        deadline = time.monotonic() + (self.timeout_s if timeout_s is None else timeout_s)
        try:
            while True:
                self._fill(deadline)
        except Closed:
            raw = bytes(self.buffer)
            self.buffer.clear()
            return raw

    def _fill(self, deadline):
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"no reply in time; received so far: {bytes(self.buffer[:200])!r}")
        try:
            self.sock.settimeout(left)
            data = self.sock.recv(1 << 18)
        except TimeoutError:
            raise TimeoutError(
                f"no reply in time; received so far: {bytes(self.buffer[:200])!r}") from None
        except OSError as error:  # The other side has closed the connection, or another thread of the test has.
            raise Closed(str(error)) from None
        finally:
            if self.sock.fileno() >= 0:
                self.sock.settimeout(self.timeout_s)
        if not data:
            raise Closed(f"closed by the server; unfinished line: {bytes(self.buffer[:200])!r}")
        self.buffer += data

    def recv(self, timeout_s=None):
        return parse(self.recv_line(timeout_s))

    def readable(self, within_s):
        """Whether something (a reply or the end) arrives within that many seconds."""
        return bool(self.buffer) or self._pending() or bool(
            select.select([self.sock], [], [], within_s)[0])

    def _pending(self):
        """Whether TLS has decrypted bytes that are no longer in the socket."""
        return hasattr(self.sock, "pending") and self.sock.pending() > 0

    def at_end(self, timeout_s=None):
        """Waits for the server to close the connection: True, or TimeoutError."""
        assert self.recv_all(timeout_s) == b""
        return True

    def half_close(self):
        """Ends the sending side; replies can still come."""
        # SSLSocket's own shutdown would end the decryption of what still arrives.
        socket.socket.shutdown(self.sock, socket.SHUT_WR)

    # Requests.

    def request(self, *words):
        self.send(*words)
        return self.recv()

    def request_raw(self, data):
        """Sends data, a line without its LF, unchanged."""
        self.sock.sendall(data + b"\n")
        return self.recv()

    def ask_for_nothing(self):
        assert self.request_raw(b"?") == refused(2, "cmd")

    def pipeline(self, requests):
        """Sends all requests at once; returns the replies, in order. For small pipelines only: nothing is
        read before all requests are sent (see pipeline_deep)."""
        self.sock.sendall(b"".join(line(*words) for words in requests))
        return [self.recv() for _ in requests]

    def pipeline_deep(self, data, count):
        """Sends data (bytes of count lines) while reading the replies, so that neither side's
        buffers can fill up for good. Returns the raw lines."""
        sent, lines = 0, []
        deadline = time.monotonic() + self.timeout_s
        while len(lines) < count:
            left = deadline - time.monotonic()
            readable, writable, _ = select.select(
                [self.sock], [self.sock] if sent < len(data) else [], [],
                0 if self._pending() else max(left, 0))
            readable = readable or self._pending()
            if not readable and not writable:
                raise TimeoutError(f"{len(lines)} of {count} replies in time")
            if writable:
                sent += self.sock.send(data[sent:sent + (1 << 16)])
            if readable:
                self._fill(deadline)
                *whole, rest = self.buffer.split(b"\n")
                lines += map(bytes, whole)
                self.buffer = bytearray(rest)
        return lines

    def open_index(self, *args, **kwargs):
        """open_index(id, db, table, index, columns, filters)"""
        # The arguments of P are not escaped.
        words = open_words(*args, **kwargs)
        return self.request_raw(b"\t".join(plain(word) for word in words))

    def find(self, index_id, op, keys, *args, **kwargs):
        """find(id, op, [keys], limit, offset, within=, filters=, mod=)"""
        return self.request(*find_words(index_id, op, keys, *args, **kwargs))

    def modify(self, index_id, op, keys, mod, limit=1, offset=0, **kwargs):
        """find_modify; mod: ["U", values...] and the like."""
        return self.request(*find_words(index_id, op, keys, limit, offset, mod=mod, **kwargs))

    def update(self, index_id, op, keys, values, limit=1, offset=0, **kwargs):
        return self.modify(index_id, op, keys, ["U", *values], limit, offset, **kwargs)

    def delete(self, index_id, op, keys, limit=1, offset=0, **kwargs):
        return self.modify(index_id, op, keys, ["D"], limit, offset, **kwargs)

    def insert(self, index_id, values):
        return self.request(index_id, "+", len(values), *values)

    def auth(self, key, kind=1):
        return self.request("A", kind, key)

    def opened(self, *args, **kwargs):
        """An Index of this connection under the next free id: opened(db, table, index, columns,
        filters)."""
        index = Index(self, self.next_id, *args, **kwargs)
        self.next_id += 1
        return index


class Index:
    """An index that was opened on a connection; its methods are the client's without the id."""

    def __init__(self, client, index_id, db, table, index="PRIMARY", columns="", filters=None):
        self.client, self.id = client, index_id
        opened = client.open_index(index_id, db, table, index, columns, filters)
        assert opened == OK, opened

    def find(self, *args, **kwargs):
        return self.client.find(self.id, *args, **kwargs)

    def rows(self, *args, **kwargs):
        """The rows of find's reply."""
        return self.find(*args, **kwargs).rows

    def modify(self, *args, **kwargs):
        return self.client.modify(self.id, *args, **kwargs)

    def update(self, *args, **kwargs):
        return self.client.update(self.id, *args, **kwargs)

    def delete(self, *args, **kwargs):
        return self.client.delete(self.id, *args, **kwargs)

    def insert(self, *values):
        return self.client.insert(self.id, values)
