"""The golden vectors of RESP: their notation, playing and recording them.

spec/vectors/README.md describes the notation; it has the marks of memcached's vectors, and two more.
"""

import json
import re
import socket
import time

import mc_vectors
from server import REPOSITORY

FOLDER = REPOSITORY / "spec" / "vectors" / "resp"
DIALECTS = ("inline", "resp2", "resp3")
ANSWER_S = 5.0
PLAIN = re.compile(r"[!#-&(-\[\]-~]+")
# The rows with which each vector begins, as hashes for a real Redis.
HASHES = {"shop.product:7": {"name": "Teapot", "price": "24.90", "stock": "5", "sku": "T-7"},
          "shop.product:8": {"name": "Cup", "stock": "0", "sku": "C:8"},
          "shop.line:1:x\\:y": {"n": "3"}}


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))["vectors"]


# --- Notation ---

def is_text(piece):
    return isinstance(piece, bytes)


def sent(dialect, step):
    """The bytes of a step in a dialect."""
    if "send" in step:
        return mc_vectors.sent_bytes(step["send"], {})
    words = [mc_vectors.sent_bytes(word, {}) for word in step["do"]]
    if dialect == "inline":
        return (mc_vectors.sent_bytes(step["inline"], {}) if "inline" in step else b" ".join(words)) + b"\r\n"
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def can_play(vector, dialect):
    """Whether the vector can be played in the dialect. A vector of raw bytes belongs to RESP2; another one is played
    inline if all of its commands can be: a word with special characters needs quotes, which `inline` shows. A vector
    that changes the version itself (`hello`) begins in RESP2."""
    if any("send" in step for step in vector["steps"]):
        return dialect == "resp2"
    if vector.get("hello") and dialect == "resp3":
        return False
    return dialect != "inline" or all(
        "inline" in step or all(PLAIN.fullmatch(word) for word in step["do"]) for step in vector["steps"])


def wanted(step, dialect, ours):
    """The reply to a step, with marks."""
    names = ["ours", "recv"] if ours else ["recv"]
    if dialect == "resp3":
        names = [name for base in names for name in (base + "3", base)]
    return next(step[name] for name in names if name in step)


class Expected:
    """One reply, to be compared with what has come."""

    def __init__(self, text):
        self.bounds = []  # the bounds of each number of the pattern
        pattern = b""
        for piece in mc_vectors.pieces(text):
            if is_text(piece):
                pattern += re.escape(piece)
            elif piece[0] == "bulk":
                self.bounds.append("bulk")
                pattern += rb"(\$(\d+)\r\n.*?\r\n)"
                self.bounds.append(None)
            elif piece[0] == "verbatim":
                self.bounds.append("bulk")
                pattern += rb"(=(\d+)\r\ntxt:.*?\r\n)"
                self.bounds.append(None)
            elif piece[0] == "text":
                self.bounds.append(None)
                pattern += rb"([^\r\n]*)"
            elif mc_vectors.fixed_bytes(piece) is not None:
                pattern += re.escape(mc_vectors.fixed_bytes(piece))
            else:
                self.bounds.append(tuple(map(int, piece[0].split(".."))))
                pattern += rb"(-?\d+)"
        self.pattern = re.compile(pattern, re.S)
        self.empty = not text

    def match(self, data):
        found = self.pattern.fullmatch(data)
        if not found:
            return False
        for bound, value in zip(self.bounds, found.groups()):
            if bound == "bulk":
                size, _, rest = value[1:].partition(b"\r\n")
                if int(size) != len(rest) - 2:
                    return False
            elif bound and not bound[0] <= int(value) <= bound[1]:
                return False
        return True


# --- Playing ---

class Connection:
    """A connection to a port that sends and receives plain bytes."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def receive_more(self):
        """Receives more bytes; False: the server has closed the connection."""
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionResetError:
            data = b""
        self.buffer += data
        return bool(data)

    def gets(self, text):
        """None if this reply comes, otherwise what has come."""
        expected = Expected(text)
        if expected.empty:
            return None  # a reply shows in the next step, or at the end
        while not expected.match(self.buffer):
            try:
                if not self.receive_more():
                    return self.buffer[:600] + b" (closed)"
            except TimeoutError:
                return self.buffer[:600]
        self.buffer = b""
        return None

    def quiet_bytes(self, quiet_s=0.2):
        """What arrives until the connection has been quiet for so long, and whether the server closed it. For
        recording: a test knows which replies it waits for."""
        self.socket.settimeout(quiet_s)
        try:
            while self.receive_more():
                pass
            closed = True
        except TimeoutError:
            closed = False
        self.socket.settimeout(ANSWER_S)
        data, self.buffer = self.buffer, b""
        return data, closed

    def is_closed(self):
        try:
            while self.receive_more():
                pass
        except TimeoutError:
            return False
        return not self.buffer


def fill_redis(port):
    """Gives a real Redis its state before each vector: only the rows, as hashes."""
    with Connection(port) as connection:
        commands = [["FLUSHALL"], ["SCRIPT", "FLUSH"],
                    *(["HSET", key, *(text for pair in row.items() for text in pair)] for key, row in HASHES.items())]
        for command in commands:
            connection.socket.sendall(sent("resp2", {"do": command}))
            assert connection.gets("+OK\r\n" if "FLUSH" in command[0] + command[-1] else ":⟨1..9⟩\r\n") is None, command


def play(port, vector, dialect, ours):
    """Returns the first step with a wrong reply, together with this reply; None if all replies are right."""
    with Connection(port) as connection:
        if dialect == "resp3":
            connection.socket.sendall(b"*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n")
            while not re.search(rb"modules\r\n\*0\r\n$", connection.buffer):
                assert connection.receive_more()
            connection.buffer = b""
        for number, step in enumerate(vector["steps"]):
            time.sleep(step.get("wait_ms", 0) / 1000)
            try:
                connection.socket.sendall(sent(dialect, step))
            except ConnectionError as error:
                return f"step {number} cannot be sent: {error}"
            text = wanted(step, dialect, ours)
            other = connection.gets(text)
            if other is not None:
                return f"step {number}: {step.get('do', step.get('send'))!r} brings {other!r}, not {text!r}"
        end = vector.get("end", "in step")
        if end == "closed" and not connection.is_closed():
            return "the connection is not closed"
        if end == "in step":
            connection.socket.sendall(b"*2\r\n$4\r\nECHO\r\n$7\r\nin step\r\n")
            other = connection.gets("$7\r\nin step\r\n")
            if other is not None:
                return f"another request does not get its own reply, but {other!r}"
    return None


# --- Recording ---

def record(port, vector):
    """Writes a real Redis's replies into each step that has none yet, and checks the others."""
    if vector.get("only") == "ours":
        return
    for dialect in ("resp2", "resp3"):
        if not can_play(vector, dialect):
            continue
        fill_redis(port)
        with Connection(port) as connection:
            if dialect == "resp3":
                connection.socket.sendall(b"HELLO 3\r\n")
                connection.quiet_bytes()
            for step in vector["steps"]:
                time.sleep(step.get("wait_ms", 0) / 1000)
                connection.socket.sendall(sent(dialect, step))
                data, closed = connection.quiet_bytes()
                assert data or not wanted({"recv": "", **step}, dialect, False), f"{step!r}: no reply in time"
                if "recv" not in step:
                    step["recv"] = mc_vectors.shortened(data)
                elif not Expected(wanted(step, dialect, False)).match(data):
                    assert dialect == "resp3" and "recv3" not in step, f"{wanted(step, dialect, False)!r}: {data!r}"
                    step["recv3"] = mc_vectors.shortened(data)
                if closed:
                    vector["end"] = "closed"
                    assert step is vector["steps"][-1], f"closed after {step!r}"
    for dialect in DIALECTS:
        if can_play(vector, dialect):
            fill_redis(port)
            wrong = play(port, vector, dialect, False)
            assert wrong is None, wrong


# --- Files ---

ORDER = ["do", "send", "inline", "parse", "wait_ms", "recv", "recv3", "ours", "ours3", "why"]


def dumps(about, vectors):
    """The text of a file in its layout: each step begins a line."""
    vectors = [{**vector, "steps": [{name: step[name] for name in ORDER if name in step} for step in vector["steps"]]}
               for vector in vectors]
    return mc_vectors.dumps(about, vectors)
