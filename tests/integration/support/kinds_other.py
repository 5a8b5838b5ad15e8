"""Column types for the differential test: times, labels, bits and addresses."""

import datetime
import struct

from kinds import Kind, V, hex_literal, quote


class Date(Kind):
    def __init__(self, rng):
        super().__init__("DATE")

    def day(self, rng):
        if rng.random() < 0.6:
            return datetime.date(2010, 1, 1) + datetime.timedelta(days=rng.randint(0, 20))
        return datetime.date(1000, 1, 1) + datetime.timedelta(days=rng.randint(0, 350_000))

    def sample(self, rng):
        return V(self.day(rng).isoformat().encode())

    def edge(self, rng):
        return V(rng.choice((b"abc", b"2020-02-30", b"2020-13-01", b"", b"99999-01-01")), "junk")


class Datetime(Date):
    def __init__(self, rng):
        self.fraction = rng.choice((0, 0, 3, 6))
        Kind.__init__(self, f"DATETIME({self.fraction})" if self.fraction else "DATETIME")

    def clock(self, rng):
        text = f"{rng.choice((0, 10, 23)):02d}:{rng.randint(0, 5):02d}:{rng.randint(0, 2):02d}"
        if self.fraction:
            text += f".{rng.randrange(10 ** self.fraction):0{self.fraction}d}"
        return text

    def sample(self, rng):
        return V(f"{self.day(rng).isoformat()} {self.clock(rng)}".encode())

    def edge(self, rng):
        if rng.random() < 0.3 and self.fraction < 6:
            return V(b"2010-01-01 10:00:00.1234567"[:21 + self.fraction], "frac")
        return V(rng.choice((b"abc", b"2020-02-30 00:00:00", b"2020-01-01 25:00:00", b"")), "junk")


class Timestamp(Datetime):
    in_primary_key = False  # NOT NULL turns NULL into the present time

    def __init__(self, rng):
        super().__init__(rng)
        self.ddl = self.ddl.replace("DATETIME", "TIMESTAMP")

    def day(self, rng):
        return datetime.date(2001, 1, 1) + datetime.timedelta(days=rng.choice((1, 2, 3, 999)))


class Time(Datetime):
    def __init__(self, rng):
        super().__init__(rng)
        self.ddl = self.ddl.replace("DATETIME", "TIME")

    def sample(self, rng):
        sign = rng.choice(("", "", "-"))
        text = self.clock(rng)
        return V((sign + text if text.strip("0:.") else text).encode())

    def edge(self, rng):
        return V(rng.choice((b"abc", b"10:99:00", b"")), "junk")


class Year(Kind):
    def __init__(self):
        super().__init__("YEAR")

    def sample(self, rng):
        return V(b"%d" % rng.randint(2000, 2012))

    def edge(self, rng):
        return V(rng.choice((b"1800", b"3000")), "over")


class Enum(Kind):
    MEMBERS = (b"small", b"medium", b"large", b"x y", "Ö".encode(), b"a")
    filter_ranges = False

    def __init__(self):
        super().__init__("ENUM(" + ",".join(f"'{m.decode()}'" for m in self.MEMBERS) + ")")

    def sample(self, rng):
        return V(rng.choice(self.MEMBERS))

    def edge(self, rng):
        return V(b"none", "junk")

    def ordinal(self, name):
        return name + b"+0"

    def ordinal_literal(self, value):
        return b"%d" % (1 + self.MEMBERS.index(value))


class Set(Enum):
    MEMBERS = (b"x", b"y", b"z", b"last one")

    def __init__(self):
        super().__init__()
        self.ddl = self.ddl.replace("ENUM", "SET")

    def sample(self, rng):
        return V(b",".join(member for member in self.MEMBERS if rng.random() < 0.4))

    def edge(self, rng):
        return V(b"none", "junk")

    def ordinal_literal(self, value):
        members = value.split(b",") if value else ()
        return b"%d" % sum(1 << self.MEMBERS.index(member) for member in members)


class Bit(Kind):
    filter_ranges = False

    def __init__(self, rng):
        self.bits = rng.choice((1, 8, 12, 64))
        super().__init__(f"BIT({self.bits})")

    def sample(self, rng):
        value = rng.choice((0, 1, (1 << self.bits) - 1, rng.randrange(1 << self.bits)))
        return V(value.to_bytes((self.bits + 7) // 8, "big"))

    def edge(self, rng):
        return V(b"\x01" + b"\xff" * ((self.bits + 7) // 8), "over")

    def literal(self, value):
        return hex_literal(value)

    def comparand(self, name):
        return name + b"+0"  # a BIT of all ones is not equal to its own literal

    def compare(self, value):
        return b"%d" % int.from_bytes(value, "big")


class Uuid(Kind):
    def __init__(self):
        super().__init__("UUID")

    def sample(self, rng):
        number = rng.choice((rng.randrange(4), rng.getrandbits(128)))
        text = f"{number:032x}"
        if number > 3:  # the server takes only known versions and variants
            text = text[:12] + rng.choice("1457") + text[13:16] + rng.choice("89ab") + text[17:]
        dashed = "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
        return V(rng.choice((dashed, dashed, dashed.upper())).encode())

    def edge(self, rng):
        return V(rng.choice((b"123", b"", b"zz")), "junk")


class Inet(Uuid):
    def __init__(self, rng):
        self.six = rng.random() < 0.5
        Kind.__init__(self, "INET6" if self.six else "INET4")

    def sample(self, rng):
        if self.six:
            return V(rng.choice((b"::", b"::1", b"2001:db8::%x" % rng.randrange(9), b"::ffff:1.2.3.4")))
        return V(b"10.0.%d.%d" % (rng.randrange(2), rng.randrange(256)))


class Vector(Kind):
    """MySQL's VECTOR: packed floats."""
    blob, indexable, in_primary_key = True, False, False

    def __init__(self):
        super().__init__("VECTOR(3)")

    def sample(self, rng):
        size = rng.randint(1, 3)
        return V(struct.pack(f"<{size}f", *(rng.choice((0, 1.5, -2, 3e38, 1e-45)) for _ in range(size))))

    def edge(self, rng):
        return V(rng.choice((b"", b"[1,2]x", b"\0" * 16, struct.pack("<f", float("nan")))), "junk")

    def literal(self, value):
        return hex_literal(value)

    def comparand(self, name):
        return b"HEX(%s)" % name  # SQL compares no vectors.

    def compare(self, value):
        return quote(value.hex().upper().encode())


class Shape(Vector):
    """A geometry: four bytes of SRID and the well-known binary form."""

    def __init__(self, rng):
        self.point = rng.random() < 0.5
        Kind.__init__(self, "POINT" if self.point else "GEOMETRY")

    def sample(self, rng):
        def pair():
            return struct.pack("<2d", rng.randint(-3, 3), rng.random())
        if self.point or rng.random() < 0.5:
            return V(struct.pack("<IBI", 0, 1, 1) + pair())
        return V(struct.pack("<IBII", 0, 1, 2, 2) + pair() + pair())

    def edge(self, rng):
        return V(rng.choice((b"\0" * 3, struct.pack("<IBI", 0, 1, 9), self.sample(rng).data[:-1])), "junk")
