"""Random commands on strings, and the comparison of two servers' replies to them.

The two may only differ in the moment at which each executes a command: relative times of expiry are compared with room
for a slow machine, and EXPIRE's GT and LT get moments that are far apart."""

import random
import time

from resp import Client

KEYS = ["a", "b", "A", "a ", "", "k:1", "k:2", ":1:name", "cache::k", "n:1", "n:2", "f:1", "f:2", "\u00fc\u6f22", b"\x00\xff\r\n",
        "with space", "*", "long" * 128]
SAFE_KEYS = ["k:1", "k:2", "a", "b"]
INTEGERS = ["0", "1", "-1", "7", "42", "-1000", str(2 ** 63 - 1), str(-2 ** 63), str(2 ** 31)]
NO_INTEGERS = ["x", "1.5", "", "-0", "007", "+5", " 1", "1 ", str(2 ** 63), "1e3", "0x10"]
FLOATS = ["0.1", "1.5", "-2.25", "3.0e3", "5e-3", "10", "1e17", "0.30000000000000004", "123456789.123456789"]
NO_FLOATS = ["nan", "inf", "-inf", "x", "", "1.5 ", " 1.5", "1e400", "0x10", "1,5"]
TEXTS = ["", "v", "Hello World", b"\x00\x01\xfe\xff", "\u00fc\u6f22", "x" * 5000, "a\r\nb"]
PATTERNS = ["*", "k:*", "?", "[ab]", "[^a]*", "[a-c]*", "\\*", "n:[12]", "*:*", "", "[", "[a", "a*e", "\\", "[]a]", "[b-a]"]
OFFSETS = ["0", "1", "-1", "3", "-3", "100", "-100", str(2 ** 31), str(-2 ** 63), "x", "1.5"]
RELATIVE_S = 7777
SLACK_MS = 120_000
DATABASES = 4


class Mixture:
    """An endless mixture of commands for a seed; `moments` are times of expiry, in seconds, far apart."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        now_s = int(time.time())
        self.moments = [now_s + 20_000 * (step + 1) for step in range(5)] + [1, 0, now_s - 1000]
        self.makers = [getattr(self, name) for name in dir(Mixture) if name.startswith("make_")]

    def pick(self, *groups):
        """One of all the groups' words, each group as likely as the next."""
        return self.random.choice(self.random.choice(groups))

    def key(self):
        return self.random.choice(KEYS)

    def value(self):
        return self.pick(INTEGERS, NO_INTEGERS, FLOATS, TEXTS)

    def command(self):
        words = self.random.choice(self.makers)()
        if self.random.random() < 0.03:
            words = words[:-1] if self.random.random() < 0.5 else [*words, self.random.choice(["x", "1", "EX", ""])]
        words = words or ["PING"]
        words[0] = self.random.choice([str.upper, str.lower, str.title])(words[0])
        return words

    def moment(self, in_ms):
        moment = self.random.choice(self.moments)
        return str(moment * 1000 + 1 if in_ms and moment > 1 else moment)

    def expiry_words(self):
        """The words of SET and GETEX for an expiry."""
        unit = self.random.choice(["EX", "PX", "EXAT", "PXAT"])
        if self.random.random() < 0.15:
            return [unit, self.pick(NO_INTEGERS, ["0", "-1", str(2 ** 63 - 2)])]
        if unit.endswith("AT"):
            return [unit, self.moment(unit == "PXAT")]
        return [unit, str(RELATIVE_S * (1000 if unit == "PX" else 1))]

    def some_keys(self):
        return [self.key() for _ in range(self.random.randint(1, 4))]

    def make_get(self):
        return [self.random.choice(["GET", "GET", "STRLEN", "GETDEL", "TYPE", "TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME", "PERSIST",
                                    "EXISTS"]), self.key()]

    def make_set(self):
        words = ["SET", self.key(), self.value()]
        for option in (["NX"], ["XX"], ["GET"], ["KEEPTTL"], self.expiry_words(), ["FOO"]):
            if self.random.random() < (0.02 if option == ["FOO"] else 0.12):
                words += option
        return words

    def make_set_kin(self):
        name = self.random.choice(["SETNX", "GETSET", "APPEND", "SETEX", "PSETEX"])
        if name in ("SETNX", "GETSET", "APPEND"):
            return [name, self.key(), self.value()]
        ttl = str(RELATIVE_S * (1000 if name == "PSETEX" else 1))
        return [name, self.key(), self.random.choice([ttl, ttl, ttl, "0", "-1", "x", str(2 ** 63 - 1)]), self.value()]

    def make_getex(self):
        return ["GETEX", self.key(), *self.random.choice([[], ["PERSIST"], self.expiry_words(), ["NX"], ["PERSIST", "EX", "10"]])]

    def make_counter(self):
        name = self.random.choice(["INCR", "DECR", "INCRBY", "DECRBY", "INCRBY", "DECRBY"])
        return [name, self.key(), *([self.pick(INTEGERS, INTEGERS, NO_INTEGERS)] if name.endswith("BY") else [])]

    def make_known_counter(self):
        return self.random.choice([["INCR", "n:1"], ["INCRBY", "n:2", "5"], ["INCRBYFLOAT", "f:1", "0.5"], ["DECR", "n:2"]])

    def make_float(self):
        return ["INCRBYFLOAT", self.random.choice(["f:1", "f:2", self.key()]), self.pick(FLOATS, FLOATS, INTEGERS, NO_FLOATS)]

    def make_range(self):
        name = self.random.choice(["GETRANGE", "SUBSTR"])
        return [name, self.key(), self.random.choice(OFFSETS), self.random.choice(OFFSETS)]

    def make_setrange(self):
        offset = self.random.choice(["0", "1", "5", "100", "-1", "x", str(2 ** 31), str(2 ** 63 - 1)])
        return ["SETRANGE", self.key(), offset, self.random.choice(["", "ab", b"\x00\xff"])]

    def make_several(self):
        name = self.random.choice(["MGET", "DEL", "UNLINK", "EXISTS", "TOUCH", "MGET"])
        return [name, *self.some_keys()]

    def make_mset(self):
        name = self.random.choice(["MSET", "MSETNX"])
        return [name, *(word for key in self.some_keys() for word in (key, self.value()))]

    def make_expire(self):
        name = self.random.choice(["EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT"])
        if name.endswith("AT"):
            words = [name, self.key(), self.moment(name == "PEXPIREAT")]
            options = ["NX", "XX", "GT", "LT"]
        else:
            words = [name, self.key(), self.random.choice([str(RELATIVE_S * (1000 if name == "PEXPIRE" else 1)), "-1", "0"])]
            options = ["NX", "XX"]
        if self.random.random() < 0.1:
            words[2] = self.pick(NO_INTEGERS, [str(2 ** 63 - 2), str(-2 ** 63)])
        if self.random.random() < 0.4:
            words.append(self.random.choice(options))
        if self.random.random() < 0.05:
            words.append(self.random.choice(["NX", "GT", "FOO"]) if name.endswith("AT") else "NX")
        return words

    def make_rename(self):
        return [self.random.choice(["RENAME", "RENAMENX"]), self.key(), self.key()]

    def make_copy(self):
        words = ["COPY", self.key(), self.key()]
        if self.random.random() < 0.3:
            words += ["DB", self.random.choice(["0", "1", "2", "3", "16", "-1", "x"])]
        return words + (["REPLACE"] if self.random.random() < 0.4 else [])

    def make_keys(self):
        return self.random.choice([["KEYS", self.random.choice(PATTERNS)], ["KEYS", "*"]])

    def make_select(self):
        return ["SELECT", self.random.choice(["0", "0", "1", "2", "3", "3", "16", "-1", "x"])] if self.random.random() < 0.3 else ["PING"]

    def make_other(self):
        return self.random.choice([["PING", self.value()], ["ECHO", self.value()], ["FOO", "a", "b"], ["GETT"], ["TYPE"], ["PING"]])

    def make_flush(self):
        return [self.random.choice(["FLUSHDB", "FLUSHALL"])] if self.random.random() < 0.03 else ["PING"]

    def safe_command(self):
        """A command that cannot fail: an error in a transaction undoes the transaction here, but not in Redis."""
        key = self.random.choice(SAFE_KEYS)
        return self.random.choice([
            ["SET", key, self.value()], ["GET", key], ["DEL", key, self.random.choice(SAFE_KEYS)], ["APPEND", key, "x"],
            ["SET", key, self.value(), "NX"], ["GETSET", key, self.value()], ["STRLEN", key], ["MGET", *SAFE_KEYS],
            ["MSET", key, "1", self.random.choice(SAFE_KEYS), "2"], ["GETDEL", key], ["EXISTS", *SAFE_KEYS],
            ["EXPIREAT", key, self.moment(False)], ["PERSIST", key], ["TTL", key], ["SET", key, self.value(), "GET"],
            ["GETRANGE", key, "1", "-2"], ["SETNX", key, self.value()], ["TYPE", key], ["ECHO", "x"], ["PING"]])

    def transaction(self):
        commands = [self.safe_command() for _ in range(self.random.randint(0, 8))]
        spoils = [] if self.random.random() < 0.9 else [self.random.choice([["GET"], ["FOO"], ["SET", "a"]])]
        return [["MULTI"], *commands, *spoils, self.random.choice([["EXEC"]] * 5 + [["DISCARD"]])]


class RowMixture(Mixture):
    """Commands on the rows of shop.h, which a Redis has as hashes. A row always has its field z: a hash without fields
    does not exist in Redis, while a row whose fields are all NULL does exist."""

    KEYS = ["shop.h:1", "shop.h:2", "h:3"]
    FIELDS = ["f1", "f2", "f3", "n1", "n2"]
    TABLE = ("CREATE TABLE shop.h (id INT PRIMARY KEY, z INT NOT NULL DEFAULT 0, f1 VARBINARY(9000), f2 VARBINARY(9000),"
             " f3 VARBINARY(9000), n1 VARBINARY(9000), n2 VARBINARY(9000)) ENGINE=InnoDB ROW_FORMAT=DYNAMIC")

    def __init__(self, seed):
        super().__init__(seed)
        self.makers = [getattr(self, name) for name in dir(RowMixture) if name.startswith("row_")]

    @classmethod
    def begin(cls):
        return [["HSET", key, "z", "1"] for key in cls.KEYS]

    def row(self):
        return self.random.choice(self.KEYS)

    def field(self):
        return self.random.choice(self.FIELDS)

    def read_field(self):
        return self.random.choice([*self.FIELDS, "z", "nope"])

    def row_read(self):
        return [self.random.choice(["HGET", "HEXISTS", "HSTRLEN"]), self.random.choice([self.row(), "shop.h:99"]), self.read_field()]

    def row_read_all(self):
        return [self.random.choice(["HGETALL", "HLEN", "HKEYS", "HVALS", "EXISTS", "TYPE", "TTL", "PTTL", "PERSIST", "TOUCH", "EXPIRETIME"]),
                self.random.choice([self.row(), self.row(), "shop.h:99"])]

    def row_hmget(self):
        return ["HMGET", self.row(), *(self.read_field() for _ in range(self.random.randint(1, 5)))]

    def row_hset(self):
        pairs = [word for _ in range(self.random.randint(1, 4)) for word in (self.field(), self.value())]
        return [self.random.choice(["HSET", "HSET", "HMSET"]), self.row(), *pairs]

    def value(self):
        """A value, but none of the texts that are numbers only in SQL, and not in Redis."""
        return self.pick(INTEGERS, FLOATS, TEXTS, ["x", "1.5", "1e3", "0x10"])

    def row_hsetnx(self):
        return ["HSETNX", self.row(), self.field(), self.value()]

    def row_hdel(self):
        return ["HDEL", self.row(), *(self.random.choice([*self.FIELDS, "nope"]) for _ in range(self.random.randint(1, 3)))]

    def row_hincrby(self):
        return ["HINCRBY", self.row(), self.random.choice(["n1", "n1", "n2", "f1"]), self.pick(INTEGERS, INTEGERS, NO_INTEGERS)]

    def row_set_number(self):
        return ["HSET", self.row(), self.random.choice(["n1", "n2"]), self.pick(INTEGERS, ["5", "12"], FLOATS)]

    def row_hincrbyfloat(self):
        return ["HINCRBYFLOAT", self.row(), self.random.choice(["n1", "n2", "n2", "f1"]), self.pick(FLOATS, FLOATS, INTEGERS, NO_FLOATS)]

    def row_wrong_type(self):
        return self.random.choice([["GET", self.row()], ["INCR", self.row()], ["APPEND", self.row(), "x"], ["STRLEN", self.row()],
                                   ["GETRANGE", self.row(), "0", "1"], ["SETRANGE", self.row(), "0", "x"]])

    def safe_command(self):
        key, field = self.row(), self.field()
        return self.random.choice([
            ["HSET", key, field, self.value()], ["HGET", key, field], ["HDEL", key, field], ["HMGET", key, *self.FIELDS], ["HLEN", key],
            ["HGETALL", key], ["HSETNX", key, field, self.value()], ["EXISTS", key], ["HSTRLEN", key, field], ["HEXISTS", key, field]])

    def anew(self):
        """Commands that delete a row, look for it, and make it again."""
        key = self.row()
        return [["DEL", key], ["EXISTS", key], ["HGETALL", key], ["HLEN", key], ["HSET", key, "z", "2"]]


def as_pairs(reply):
    """HGETALL's reply as pairs, because its fields have no order."""
    return reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2], strict=True))


def alike(words, first, second):
    """Whether two replies to a command mean the same, apart from the moment at which it was executed."""
    name = words[0].upper()
    if name in ("TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME") and isinstance(first, int) and isinstance(second, int):
        room = SLACK_MS if name.startswith("P") else SLACK_MS // 1000
        return first == second or (min(first, second) > 0 and abs(first - second) <= room)
    if name == "HGETALL" and isinstance(first, (list, dict)) and type(first) is type(second):
        return as_pairs(first) == as_pairs(second)
    if name in ("KEYS", "HKEYS", "HVALS") and isinstance(first, list) and isinstance(second, list):
        return sorted(first) == sorted(second)
    return type(first) is type(second) and first == second


class Pair:
    """Connections to two servers, which both get the same commands."""

    def __init__(self, one_port, other_port, version):
        self.clients = [Client(one_port, version), Client(other_port, version)]
        self.last = []

    def run(self, batch):
        """Sends the batch at once and compares all replies."""
        for client in self.clients:
            client.sock.sendall(b"".join(encode(words) for words in batch))
        replies = [self.receive(client, batch) for client in self.clients]
        queued = []
        for words, first, second in zip(batch, *replies, strict=True):
            self.last = [*self.last[-30:], words]
            name = words[0].upper()
            if first == "QUEUED":
                queued.append(words)
            elif name == "EXEC" and isinstance(first, list) and isinstance(second, list):
                assert len(first) == len(second) == len(queued), self.story(words, first, second)
                for inner, one, other in zip(queued, first, second, strict=True):
                    assert alike(inner, one, other), self.story(inner, one, other)
            else:
                assert alike(words, first, second), self.story(words, first, second)
            if name in ("EXEC", "DISCARD", "MULTI"):
                queued = []

    @staticmethod
    def receive(client, batch):
        replies = []
        try:
            for _ in batch:
                replies.append(client.receive())
        except (OSError, ValueError) as error:
            answered = "\n".join(f"{shown(words)}\n  {shown([reply])}" for words, reply in zip(batch, replies))
            raise AssertionError(f"{len(replies)} replies to {len(batch)} commands:\n{answered}\n{shown(batch[len(replies)])}\nof port {client.sock.getpeername()}") from error
        return replies

    def story(self, words, first, second):
        before = "\n".join(shown(each) for each in self.last[:-1])
        if isinstance(first, list) and isinstance(second, list):
            first, second = ([each for each in one if each not in other] or one for one, other in ((first, second), (second, first)))
        return f"{before}\n{shown(words)}\n  {shown([first])}\n  {shown([second])}"

    def compare_all(self):
        """Compares all keys of all databases, their values and their times of expiry."""
        for number in range(DATABASES):
            self.run([["SELECT", str(number)], ["KEYS", "*"]])
            self.run([words for key in KEYS for words in (["GET", key], ["PEXPIRETIME", key])])
            self.run([["DBSIZE"]])  # Redis counts an expired key until somebody reads it.
        self.run([["SELECT", "0"]])

    def close(self):
        for client in self.clients:
            client.close()


def encode(words):
    words = [word if isinstance(word, bytes) else word.encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def shown(words):
    return " ".join(text if len(text := repr(word)) <= 60 else f"{text[:57]}..." for word in words)
