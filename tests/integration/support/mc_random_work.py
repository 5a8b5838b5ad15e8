"""Random work in memcached's three dialects, for two servers side by side.

A batch is a list of requests of one dialect, sent as one pipeline. A request is bytes with marks in the
places of tokens: each server gets the token that it gave for that key last. The answers of the servers are
compared without their tokens; each token of one server must always correspond to the same token of the other.
"""

import base64
import re

import mc
from mc_vectors import TEXT_TOKEN

KEYS = [b"a", b"b", b"K", b"k", b"key:1", b"key:2", b"\xff\xfe", b"x" * 250, b"n1", b"n2", b"n3"]
NUMBERS = [b"n1", b"n2", b"n3"]  # keys that mostly hold numbers, all of one length: memcached pads
TOKEN = re.compile(rb"<token (\w+)>")
WRONG = re.compile(rb"(?m)^(?:CLIENT_)?ERROR[^\r\n]*")
END_OPAQUE = 0xffeeddcc
NO_TOKEN = (1 << 63) + 7  # the token if none has been answered yet


class Source:
    """Draws requests."""

    def __init__(self, rng):
        self.rng = rng

    def key(self):
        return self.rng.choice(KEYS)

    def data(self, key):
        rng = self.rng
        if key in NUMBERS:
            return rng.choice((b"not a number", b"%d" % rng.randint(4_000_000_000, 6_000_000_000)))
        size = rng.choice((0, 1, 3, 10, 100, 100, 2000, 2049, 20000, 70000))
        kind = rng.random()
        if kind < 0.2:
            return (b"\0" + rng.randbytes(min(size, 100)).replace(b"MN", b".."))[:size]
        return (b"v%d\r\nVALUE " % rng.randrange(1000) * size)[:size]

    def expiry(self):
        """An expiry time that is not reached while the test runs, because the clocks of the servers differ."""
        return self.rng.choice((0, 0, 0, 0, 1000, 2592000, -1, 100_000))

    def flags(self):
        return self.rng.choice((0, 0, 1, 77, 65536, 4294967295))

    def batch(self):
        """(dialect, requests)."""
        dialect = self.rng.choice(("text", "meta", "binary"))
        count = self.rng.choice((1, 1, 2, 5, 12, 30))
        requests = [getattr(self, dialect)() for _ in range(count)]
        # A get of a too long key removes the replies before it in memcached 1.6.18.
        alone = [request for request in requests if request.startswith(b"get zzz")]
        return dialect, alone[:1] or requests

    # Text.

    def text(self):
        rng, key = self.rng, self.key()
        noreply = rng.choice((b"", b"", b" noreply"))
        pick = rng.random()
        if pick < 0.3:
            return self.text_store(key, noreply)
        if pick < 0.36:
            data = self.data(key)
            return b"cas %s %d %d %d <token %s>%s\r\n%s\r\n" % (
                key, self.flags(), self.expiry(), len(data), key.hex().encode(), noreply, data)
        if pick < 0.66:
            verb = rng.choice((b"get", b"get", b"gets"))
            return verb + b" " + b" ".join(self.key() for _ in range(rng.choice((1, 1, 3, 20)))) + b"\r\n"
        if pick < 0.72:
            return b"%s %d %s\r\n" % (rng.choice((b"gat", b"gats")), self.expiry(), b" ".join(
                rng.sample(KEYS, rng.choice((1, 2)))))
        if pick < 0.8:
            return b"%s %s %d%s\r\n" % (rng.choice((b"incr", b"decr")), rng.choice((key, *NUMBERS * 3)),
                                        rng.randrange(1000), noreply)
        if pick < 0.86:
            return b"delete %s%s\r\n" % (key, noreply)
        if pick < 0.9:
            return b"touch %s %d%s\r\n" % (key, self.expiry(), noreply)
        if pick < 0.91:
            return b"flush_all%s\r\n" % noreply
        return self.wrong(key)

    def text_store(self, key, noreply):
        verb = self.rng.choice((b"set", b"set", b"set", b"add", b"replace", b"append", b"prepend"))
        if key in NUMBERS and verb in (b"append", b"prepend"):
            verb = b"set"
        data = self.data(key)
        return b"%s %s %d %d %d%s\r\n%s\r\n" % (verb, key, self.flags(), self.expiry(), len(data),
                                               noreply, data)

    def wrong(self, key):
        return self.rng.choice((
            b"nonsense\r\n", b"\r\n", b"set %s 0 0 abc\r\n" % key, b"set %s 0 0 1\r\nabc\r\n" % key,
            b"get %s\r\n" % (b"z" * 251), b"incr %s x\r\n" % key, b"touch %s\r\n" % key,
            b"set %s 0 0 -1\r\n" % key, b"delete\r\n", b"SET %s 0 0 1\r\n" % key,
            b"set %s 0 0 1048577\r\n%s\r\n" % (b"nobody", b"x" * 1048577)))

    # Meta.

    def meta(self):
        rng, key = self.rng, self.key()
        pick = rng.random()
        if pick < 0.4:
            # Rowsocket keeps a win through incr. memcached loses it if the item is in use at that moment (by a reply of
            # this pipeline) or the number gets longer, so numbers cannot be won here. Of several T, memcached carries
            # out the last.
            marks = [b"T%d" % self.expiry()]
            if key not in NUMBERS and rng.random() < 0.5:
                marks = [b"N30000", b"R60"]
            return self.meta_line(b"mg", key, b"v v k f s c q u".split(), (
                b"O%d" % rng.randrange(100), *marks))
        if pick < 0.7:
            data = self.data(key)
            modes = (b"ME", b"MS", b"MR") + (() if key in NUMBERS else (b"MA", b"MP"))
            # Add and a token are not combined, because memcached's add does not compare with an absent item.
            mode = rng.choice((*modes, b"C<token %s>" % key.hex().encode()))
            return self.meta_line(b"ms", key, b"k c q".split(), (
                b"T%d" % self.expiry(), b"F%d" % self.flags(), mode, mode, b"O7"),
                b" %d" % len(data)) + data + b"\r\n"
        if pick < 0.8:
            return self.meta_line(b"md", key, b"k".split(), (
                b"O9", b"C<token %s>" % key.hex().encode()))
        if pick < 0.97:
            # q and N are not combined, because memcached answers a number that it creates.
            return self.meta_line(b"ma", rng.choice(NUMBERS), b"v v c k".split(), (
                b"D%d" % rng.randrange(1000), rng.choice((b"q", b"N0 J5000000000")), b"MI", b"O3"))
        return rng.choice((b"mg\r\n", b"ms %s abc\r\n" % key, b"mg %s s s\r\n" % key, b"mn\r\n",
                           b"ma %s\r\n" % (b"z" * 251)))

    def meta_line(self, verb, key, plain, valued, size=b""):
        rng = self.rng
        flags = {flag[:1]: flag for flag in rng.sample(plain, rng.randint(0, len(plain)))}
        for flag in valued:
            if rng.random() < 0.25:
                flags[flag[:1]] = flag
        words = list(flags.values())
        rng.shuffle(words)
        if verb in (b"mg", b"md") and b"k" not in words and rng.random() < 0.2:
            words.append(b"b")
            key = base64.b64encode(key)
        return b" ".join([verb, key + size, *words]) + b"\r\n"

    # Binary.

    def binary(self):
        rng, key = self.rng, self.key()
        pick = rng.random()
        mark = b"<token %s>" % key.hex().encode() if rng.random() < 0.15 else 0
        if pick < 0.3:
            opcode = rng.choice((mc.GET, mc.GETQ, mc.GETK, mc.GETKQ))
            return self.packet(opcode, key)
        if pick < 0.6:
            opcode = rng.choice((mc.SET, mc.SET, mc.SETQ, mc.ADD, mc.ADDQ, mc.REPLACE, mc.REPLACEQ))
            return self.packet(opcode, key, self.data(key),
                               mc.storing(self.flags(), self.expiry() & 0xffffffff), mark)
        if pick < 0.7 and key not in NUMBERS:
            opcode = rng.choice((mc.APPEND, mc.APPENDQ, mc.PREPEND, mc.PREPENDQ))
            return self.packet(opcode, key, self.data(key), b"", mark)
        if pick < 0.8:
            opcode = rng.choice((mc.DELETE, mc.DELETEQ))
            return self.packet(opcode, key, b"", b"", mark)
        if pick < 0.9:
            opcode = rng.choice((mc.INCR, mc.INCRQ, mc.DECR, mc.DECRQ))
            extras = mc.counting(rng.randrange(1000), 5_000_000_000, rng.choice((0, 0xffffffff)))
            return self.packet(opcode, rng.choice(NUMBERS), b"", extras)
        if pick < 0.97:
            opcode = rng.choice((mc.TOUCH, mc.GAT, mc.GATQ, mc.GATK, mc.GATKQ))
            return self.packet(opcode, key, b"", (self.expiry() & 0xffffffff).to_bytes(4, "big"))
        return self.packet(rng.choice((mc.NOOP, 0x50, mc.FLUSH)), b"")

    def packet(self, opcode, key, data=b"", extras=b"", mark=0):
        data = mc.packet(opcode, key, data, extras, 0, self.rng.randrange(1 << 24))
        return data if not mark else data[:16] + mark + data[24:]


class Side:
    """One of the two servers."""

    def __init__(self, connect):
        self.clients = {dialect: connect() for dialect in ("text", "meta", "binary")}
        self.known = {}  # key in hex digits: the token that was answered last

    def send(self, dialect, request, fallback):
        def written(found):
            token = self.known.get(found[1], fallback)
            return token.to_bytes(8, "big") if dialect == "binary" else b"%d" % token
        return TOKEN.sub(written, request)

    def play(self, dialect, requests):
        """The answers to a batch: (bytes, tokens in them)."""
        client = self.clients[dialect]
        data = b"".join(self.send(dialect, request, NO_TOKEN) for request in requests)
        if dialect == "binary":
            return self.packets(client, data)
        client.send(data + b"mn\r\n")
        while not client.buffer.endswith(b"MN\r\n") or client.buffer.count(b"MN\r\n") <= requests.count(b"mn\r\n"):
            client.receive_more()
        answer, client.buffer = client.buffer, b""
        tokens = []

        def taken(found):
            tokens.append(int(found[2] or found[4]))
            return (found[1] or found[3]) + b"<token>" + (b"\r\n" if found[1] else b"")
        # Which error it is exactly, the vectors test.
        return WRONG.sub(b"ERROR", TEXT_TOKEN.sub(taken, answer)), tokens

    def packets(self, client, data):
        client.send(data + mc.packet(mc.NOOP, opaque=END_OPAQUE))
        answer, tokens = [], []
        while not answer or answer[-1][1] != END_OPAQUE:
            packet = client.packet()
            if packet.token:
                tokens.append(packet.token)
            answer.append((packet.opcode, packet.opaque, packet.status, packet.key, packet.extras,
                           packet.value, packet.token != 0))
        return answer, tokens

    def learn(self):
        """Notes the tokens of all keys, from the answers to `gets`."""
        found = self.clients["text"].get(*KEYS, verb="gets")
        self.known = {key.hex(): values[2] for key, values in found.items()}
        return {key: values[:2] for key, values in found.items()}
