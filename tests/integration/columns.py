"""Column types for the differential test: random definitions, values, and their SQL literals.

A value is V(data, tag). data: the bytes that travel on the wire, or None. The tag says how it may
be used and how the reference model is to compare it:

    ok     the column can hold it
    over   it cannot (too large, too long), but comparing with it is clear: = finds nothing
    frac   it lies between two values of the column: = finds nothing, storing it rounds
    junk   no value of the type: = finds nothing, storing it is refused, ranges are not asked
"""

import datetime
import typing


class V(typing.NamedTuple):
    data: bytes | None
    tag: str = "ok"


NULL = V(None)


def quote(data):
    """A string literal of these bytes, whatever they are."""
    out = data.replace(b"\\", b"\\\\").replace(b"'", b"''").replace(b"\0", b"\\0")
    return b"'" + out + b"'"


def hex_literal(data):
    return b"x'" + data.hex().encode() + b"'"


class Kind:
    """A type. Subclasses draw values; literals are those of text."""

    indexable = True      # without a prefix
    prefixable = False    # may be indexed by a prefix
    blob = False          # no filter but NULL
    arithmetic = False    # + and - are clear
    ranges = True         # as an index column, ranges are asked
    filter_ranges = True
    in_primary_key = True

    def __init__(self, ddl):
        self.ddl = ddl

    def sample(self, rng):
        raise NotImplementedError

    def edge(self, rng):
        """A value that the column may refuse or change."""
        return self.sample(rng)

    def operand(self, rng):
        return V(b"%d" % rng.choice((0, 1, 1, 2, 3, 5, -1, -4)))

    def literal(self, value):
        """For storing."""
        return quote(value)

    def comparand(self, name):
        """What is compared with compare(value) in place of the column."""
        return name

    def compare(self, value):
        """For comparing."""
        return self.literal(value)

    def ordinal(self, name):
        """What ranges and the index go by."""
        return self.comparand(name)

    def ordinal_literal(self, value):
        return self.compare(value)


class Number(Kind):
    def literal(self, value):
        return quote(value)

    def compare(self, value):
        text = value.strip()
        return text if text else b"0"


class Integer(Number):
    arithmetic = True
    BYTES = {"TINYINT": 1, "SMALLINT": 2, "MEDIUMINT": 3, "INT": 4, "BIGINT": 8}

    def __init__(self, rng, small=False):
        name = rng.choice(list(self.BYTES)) if not small else rng.choice(("INT", "BIGINT"))
        unsigned = rng.random() < 0.4
        bits = 8 * self.BYTES[name]
        self.low, self.high = (0, (1 << bits) - 1) if unsigned else (-1 << (bits - 1),
                                                                     (1 << (bits - 1)) - 1)
        zerofill = unsigned and rng.random() < 0.1
        super().__init__(name + ("(6)" if zerofill else "") + " UNSIGNED" * unsigned
                         + " ZEROFILL" * zerofill)
        self.small = small

    def sample(self, rng):
        if self.small or rng.random() < 0.75:
            return V(b"%d" % rng.randint(max(self.low, -4), 12))
        return V(b"%d" % rng.randint(self.low, self.high))

    def edge(self, rng):
        if self.small:
            return self.sample(rng)
        pick = rng.randrange(9)
        if pick < 2:
            return V(b"%d" % rng.choice((self.low, self.high)))
        if pick < 4:
            return V(b"%d" % rng.choice((self.low - 1, self.high + 1, 1 << 70, -1 << 70)), "over")
        if pick < 6:
            return V(rng.choice((b"05", b"+5", b"5.0", b"5 ", b" 5", b"50e-1", b"1e1")))
        if pick < 7:
            return V(rng.choice((b"1.5", b"2.25", b"0.5")), "frac")
        return V(rng.choice((b"5x", b"abc", b"", b"--5", b"1,000", b"\x01")), "junk")


class Decimal(Number):
    arithmetic = True

    def __init__(self, rng):
        self.scale = rng.choice((0, 2, 2, 4, 10))
        self.digits = rng.randint(1, rng.choice((4, 8, 28)))
        super().__init__(f"DECIMAL({self.digits + self.scale},{self.scale})")

    def number(self, rng, digits, scale):
        whole = rng.randint(0, 10 ** digits - 1) if rng.random() < 0.3 else rng.randint(0, 9)
        text = f"{rng.choice(('', '', '-'))}{whole}"
        if scale:
            fraction = rng.choice((0, 0, 5 * 10 ** (scale - 1), rng.randint(0, 10 ** scale - 1)))
            text += f".{fraction:0{scale}d}"
        return text.encode()

    def sample(self, rng):
        return V(self.number(rng, self.digits, self.scale))

    def edge(self, rng):
        pick = rng.randrange(4)
        if pick == 0:
            return V(b"%d" % (10 ** self.digits * rng.choice((1, -1, 7))), "over")
        if pick == 1:
            return V(self.number(rng, self.digits, self.scale) + (b"" if self.scale else b".") + b"3",
                     "frac")
        if pick == 2:
            return V(rng.choice((b"1x", b"abc", b"", b"1.2.3")), "junk")
        return V(rng.choice((b"+1", b"01", b"1.", b" 1", b"10e-1")))

    def operand(self, rng):
        return V(rng.choice((b"0", b"1", b"-1", b"2")) if not self.scale
                 else rng.choice((b"1", b"-0.5", b"0.5", b"-2", b"1.5")))


class Float(Number):
    """Values of at most six digits, which is all of a FLOAT that its text shows. Arithmetic only
    where it is exact, or the text would not tell the value any more."""
    in_primary_key = False

    def __init__(self, rng):
        super().__init__("FLOAT")
        self.arithmetic = rng.random() < 0.5

    def sample(self, rng):
        if not self.arithmetic and rng.random() < 0.3:
            return V(rng.choice((b"0.1", b"0.3", b"1e10", b"-3.3", b"1.1e-5")))
        return V(b"%g" % (rng.randint(-40, 4000) / 4))

    def edge(self, rng):
        if rng.random() < 0.3:
            return V(b"1e300", "over")
        return V(rng.choice((b"1x", b"abc", b"")), "junk")

    def operand(self, rng):
        return V(rng.choice((b"0.25", b"-1", b"2.5", b"1")))

    def compare(self, value):
        return b"CAST(%s AS FLOAT)" % quote(value or b"0") if value != b"1e300" else b"1e300"


class Double(Number):
    arithmetic = True
    in_primary_key = False

    def sample(self, rng):
        if rng.random() < 0.5:
            return V(repr(rng.choice((0.1, 1e22, -2.5, 1e-7, 3.14159, 1 / 3))).encode())
        return V(b"%g" % (rng.randint(-40, 4000) / 4))

    def edge(self, rng):
        return V(rng.choice((b"1x", b"abc", b"", b"1e")), "junk")

    def operand(self, rng):
        return V(rng.choice((b"0.25", b"-1", b"2.5", b"1e3")))

    def compare(self, value):
        text = super().compare(value)
        return text if b"e" in text else text + b"e0"


class Text(Kind):
    """CHAR, VARCHAR and TEXT in many character sets. `letters` are those the set has."""
    prefixable = True
    controls = True  # not in an index: SQL sorts what stands below the space in more than one way
    LATIN = "aAbBcC zZ09_%é"
    COLLATIONS = {
        "utf8mb4": ("general_ci", "unicode_ci", "bin", "unicode_520_ci", "general_nopad_ci",
                    "nopad_bin", "uca1400_ai_ci", "uca1400_as_cs"),
        "utf8mb3": ("general_ci", "bin"), "latin1": ("swedish_ci", "bin", "general_cs"),
        "ucs2": ("general_ci",), "utf16": ("unicode_ci",), "latin2": ("general_ci",)}
    WIDE = {"utf8mb4": "Äß日本€😀", "utf8mb3": "Äß日本€", "latin1": "Äßñ", "ucs2": "Ä日",
            "utf16": "Ä日😀", "latin2": "Äß"}

    def __init__(self, rng, base):
        charset = rng.choices(list(self.COLLATIONS), (10, 2, 4, 1, 1, 1))[0]
        suffix = rng.choice(self.COLLATIONS[charset])
        self.charset = charset
        self.length = rng.randint(1, 20)
        self.large = base not in ("CHAR", "VARCHAR")
        if self.large:
            self.blob, self.indexable, self.in_primary_key = True, False, False
        self.letters = self.LATIN + self.WIDE[charset] * 2
        size = "" if self.large else f"({self.length})"
        super().__init__(f"{base}{size} CHARACTER SET {charset} COLLATE {charset}_{suffix}")

    def word(self, rng, length):
        letters = self.letters if rng.random() < 0.6 else "aAb"
        if self.controls and rng.random() < 0.1:
            letters += "\0\x01\t\n\r\x0f\x10'\\"
        return "".join(rng.choice(letters) for _ in range(length))

    def sample(self, rng):
        return V(self.word(rng, rng.randint(0, min(self.length, rng.choice((1, 3, 20))))).encode())

    def edge(self, rng):
        pick = rng.randrange(4)
        if pick == 0 and not self.large:
            return V(self.word(rng, self.length).encode() + rng.choice((b"x", b"xyz" * 9)), "over")
        if pick == 1:
            bad = rng.choice((b"\xff", b"a\xc3", b"\xf8\x88\x80\x80\x80", b"\xc3("))
            return V(bad, "junk")
        if pick == 2 and self.charset in ("latin1", "latin2"):
            return V("日".encode(), "junk")
        if pick == 2 and self.charset in ("utf8mb3", "ucs2"):
            return V("😀".encode(), "junk")
        return self.sample(rng)


class NumericText(Kind):
    """A VARCHAR that holds numbers, so that + and - are clear."""
    arithmetic = True
    in_primary_key = False

    def __init__(self):
        super().__init__("VARCHAR(12)")

    def sample(self, rng):
        return V(b"%d" % rng.randint(-3, 30))


class Binary(Kind):
    prefixable = True

    def __init__(self, rng, base):
        self.length = rng.randint(2, 12)
        self.large = base not in ("BINARY", "VARBINARY")
        self.fixed = base == "BINARY"
        if self.large:
            self.blob, self.indexable, self.in_primary_key = True, False, False
        super().__init__(base + ("" if self.large else f"({self.length})"))

    def sample(self, rng):
        size = rng.randint(0, rng.choice((1, 2, self.length)))
        return V(bytes(rng.choice((0, 1, 9, 10, 15, 16, 32, 65, 97, 255)) for _ in range(size)))

    def edge(self, rng):
        return self.sample(rng) if self.large else V(b"\x05" * (self.length + 1), "over")

    def literal(self, value):
        return hex_literal(value)


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
    in_primary_key = False  # NOT NULL makes NULL the clock's time

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
        if number > 3:  # the server takes known versions and variants only
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


class Json(Text):
    def __init__(self, rng):
        super().__init__(rng, "TEXT")
        self.prefixable = False
        self.ddl = "JSON"

    def sample(self, rng):
        return V(rng.choice(('{}', '[1, 2]', '{"a": "日"}', '"x"', '1', 'null')).encode())

    def edge(self, rng):
        return V(rng.choice((b"{", b"", b"{'a'}")), "junk")


class Compressed(Text):
    def __init__(self, rng):
        super().__init__(rng, "VARCHAR")
        self.indexable = self.prefixable = self.in_primary_key = False
        self.length = 200
        self.letters = self.LATIN
        self.ddl = rng.choice(("VARCHAR(200) COMPRESSED", "TEXT COMPRESSED", "BLOB COMPRESSED"))
        self.large = self.blob = not self.ddl.startswith("VARCHAR")
        if self.ddl.startswith("BLOB"):
            self.literal = hex_literal

    def edge(self, rng):
        """SQL does not look at whether the text of such a column is well-formed."""
        return self.sample(rng)

    def sample(self, rng):
        return V((self.word(rng, 3) * rng.choice((0, 1, 20, 60)))[:200].encode())


def random_kind(rng):
    """Any type."""
    return rng.choice((
        lambda: Integer(rng), lambda: Integer(rng), lambda: Integer(rng), lambda: Decimal(rng),
        lambda: Float(rng), lambda: Double("DOUBLE"),
        lambda: Text(rng, "CHAR"), lambda: Text(rng, "VARCHAR"), lambda: Text(rng, "VARCHAR"),
        lambda: Text(rng, rng.choice(("TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT"))),
        NumericText, lambda: Binary(rng, "BINARY"), lambda: Binary(rng, "VARBINARY"),
        lambda: Binary(rng, rng.choice(("TINYBLOB", "BLOB", "LONGBLOB"))),
        lambda: Date(rng), lambda: Datetime(rng), lambda: Timestamp(rng), lambda: Time(rng),
        Year, Enum, Set, lambda: Bit(rng), Uuid, lambda: Inet(rng), lambda: Json(rng),
        lambda: Compressed(rng)))()
