"""The golden vectors of memcached's protocol: their notation, playing and recording them.

spec/vectors/README.md describes the notation: marks between ⟨ and ⟩, characters that stand for no bytes.
"""

import json
import re
import time

import mc
from server import REPOSITORY

FOLDER = REPOSITORY / "spec" / "vectors" / "memcached"
MARK = re.compile("⟨([^⟩]*)⟩")
ANSWER_S = 5.0

# The places of a server's own tokens in its answers.
TEXT_TOKEN = re.compile(rb"(VALUE [^ \r\n]+ \d+ \d+ )(\d+)\r\n|( c)(\d+)(?=[ \r])")


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))["vectors"]


def dialect(vector):
    """The dialect, by which servers go from the first byte of the connection."""
    return "binary" if sent_bytes(vector["steps"][0]["send"], {})[:1] == b"\x80" else "text"


# --- Notation ---

def pieces(text):
    """Literal bytes, and marks as lists of words."""
    at = 0
    for found in MARK.finditer(text):
        if found.start() > at:
            yield text[at:found.start()].encode("latin-1")
        yield found[1].split(" ")
        at = found.end()
    if at < len(text):
        yield text[at:].encode("latin-1")


def fixed_bytes(mark):
    """The bytes of a mark that always stands for the same bytes; None for other marks."""
    if mark[0] == "hex":
        return bytes.fromhex("".join(mark[1:]))
    if mark[0] == "repeat":
        return " ".join(mark[2:]).encode("latin-1") * int(mark[1])
    return None


def sent_bytes(text, tokens):
    data = b""
    for piece in pieces(text):
        if isinstance(piece, bytes):
            data += piece
        elif piece[0] == "clock":
            data += b"%d" % (int(time.time()) + int(piece[1]))
        elif piece[0] == "token":
            data += b"%d" % (tokens[piece[1]] + sum(map(int, piece[2:])))
        elif piece[0] == "token8":
            data += (tokens[piece[1]] + sum(map(int, piece[2:]))).to_bytes(8, "big")
        else:
            data += fixed_bytes(piece)
    return data


class Expected:
    """One `recv`, to be compared with an answer."""

    def __init__(self, text):
        self.groups = []  # the meaning of each group of the pattern
        self.pattern = b""
        for piece in pieces(text):
            if isinstance(piece, bytes):
                self.pattern += re.escape(piece)
            elif fixed_bytes(piece) is not None:
                self.pattern += re.escape(fixed_bytes(piece))
            else:
                self.groups.append(piece)
                self.pattern += {"token": rb"([1-9]\d*)", "token8": rb"(.{8})",
                                 "text": rb"([^\r\n]*)",
                                 "bytes": rb"(.{%s})" % piece[1].encode()
                                 if len(piece) > 1 else b""}.get(piece[0], rb"(-?\d+)")
        self.pattern = re.compile(self.pattern, re.S)
        self.empty = not text

    def match(self, data, tokens):
        """Whether data is that answer; the tokens in it are remembered, and each must differ from the
        others."""
        found = self.pattern.fullmatch(data)
        if not found:
            return False
        for mark, value in zip(self.groups, found.groups()):
            if mark[0] in ("token", "token8"):
                number = int(value) if mark[0] == "token" else int.from_bytes(value, "big")
                others = {one for name, one in tokens.items() if name != mark[1]}
                if number == 0 or number in others or tokens.setdefault(mark[1], number) != number:
                    return False
            elif ".." in mark[0]:
                low, high = map(int, mark[0].split(".."))
                if not low <= int(value) <= high:
                    return False
        return True


# --- Playing ---

def empty(client):
    """Removes all items: every vector begins with an empty store."""
    assert client.command("flush_all") == b"OK"


def play(connect, vector, ours):
    """connect() gives a client. Returns the first step with a wrong answer, together with the answer; None if
    all answers are right."""
    with connect() as client:
        empty(client)
    tokens = {}
    with connect(timeout_s=ANSWER_S) as client:
        for number, step in enumerate(vector["steps"]):
            wanted = step["ours"] if ours and "ours" in step else step["recv"]
            data = answer(client, step, Expected(wanted), tokens)
            if data is not None:
                return f"step {number}: {step['send'][:300]!r} brings {data!r}, not {wanted!r}"
        end = vector.get("end", "in step")
        if end == "closed" and not client.is_closed():
            return "the connection is not closed"
        if end == "in step":
            try:
                if not client.in_step(dialect(vector)):
                    return "another request does not get its own answer"
            except (mc.Closed, TimeoutError) as error:
                return f"another request gets no answer: {error}"
    return None


def answer(client, step, expected, tokens):
    """Sends a step. Returns None if the answer is the expected one, otherwise the wrong answer."""
    try:
        client.send(sent_bytes(step["send"], tokens))
    except OSError as error:
        return f"(cannot send: {error})"
    if expected.empty:
        return None  # any answer shows in the next step, or at the end
    while not expected.match(client.buffer, tokens):
        try:
            client.receive_more()
        except (mc.Closed, TimeoutError) as error:
            return bytes(client.buffer[:600]) or str(error)
    client.buffer = b""
    return None


# --- Recording ---

def record(connect, vector):
    """Writes the server's answers into each step that has no `recv` yet."""
    if vector.get("only") == "ours":
        return
    with connect() as client:
        empty(client)
    tokens = {}
    with connect() as client:
        for step in vector["steps"]:
            client.send(sent_bytes(step["send"], tokens))
            data, closed = mc.quiet_bytes(client)
            if "recv" in step:
                assert Expected(step["recv"]).match(data, tokens), f"{step['recv']!r}: {data!r}"
            else:
                binary = dialect(vector) == "binary"
                step["recv"] = (written_packets if binary else written_text)(data, tokens)
            if closed:
                vector["end"] = "closed"
                assert step is vector["steps"][-1], f"closed after {step['send']!r}"
    wrong = play(connect, vector, False)
    assert wrong is None, wrong


def name_of(token, tokens):
    for name, value in tokens.items():
        if value == token:
            return name
    tokens[chr(ord("a") + len(tokens))] = token
    return name_of(token, tokens)


def shortened(data):
    """Bytes as characters; long runs of one byte as a mark."""
    return re.sub(rb"(.)\1{63,}".decode(), lambda run: f"⟨repeat {len(run[0])} {run[1]}⟩",
                  data.decode("latin-1"), flags=re.S)


def written_text(data, tokens):
    text, at = "", 0
    for found in TEXT_TOKEN.finditer(data):
        group = 2 if found[2] else 4
        text += shortened(data[at:found.start(group)])
        text += f"⟨token {name_of(int(found[group]), tokens)}⟩"
        at = found.end(group)
    return text + shortened(data[at:])


def written_packets(data, tokens):
    text = ""
    while data:
        magic, opcode, key, extras, kind, status, body, opaque, token = mc.HEADER.unpack(data[:24])
        text += (f"⟨hex {magic:02x} {opcode:02x} {key:04x} {extras:02x} {kind:02x} {status:04x}"
                 f" {body:08x} {opaque:08x}")
        text += f"⟩⟨token8 {name_of(token, tokens)}⟩" if token else f" {0:016x}⟩"
        text += written_extras(opcode, status, data[24:24 + extras])
        rest = data[24 + extras:24 + body]
        text += shortened(rest) if rest.isascii() and rest.decode().isprintable() or len(
            rest) > 64 else (f"⟨hex {rest.hex()}⟩" if rest else "")
        data = data[24 + body:]
    return text


def written_extras(opcode, status, data):
    return f"⟨hex {data.hex()}⟩" if data else ""


# --- Files ---

def dumps(about, vectors):
    """The text of a file in its layout: each step begins a line."""
    text = "{\n \"about\": %s,\n \"vectors\": [" % quoted(about)
    for number, vector in enumerate(vectors):
        head = {key: value for key, value in vector.items() if key != "steps"}
        text += ",\n  {" if number else "\n  {"
        text += ", ".join(f"{quoted(key)}: {quoted(value)}" for key, value in head.items())
        text += ",\n   \"steps\": [\n"
        text += ",\n".join(
            "    {" + ",\n     ".join(f"{quoted(key)}: {quoted(value)}" for key, value in step.items())
            + "}" for step in vector["steps"])
        text += "]}"
    return text + "\n ]\n}\n"


def quoted(value):
    return json.dumps(value, ensure_ascii=True).replace("\\u27e8", "⟨").replace("\\u27e9", "⟩")
