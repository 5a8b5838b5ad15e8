"""Column types for the differential test: the base of all, and the numbers.

A type draws random definitions and values and knows the SQL literals of these.

A value is V(data, tag). data: the bytes that travel on the wire, or None. The tag says how the value may be
used and how the reference model compares it:

    ok     the column can hold it
    over   it cannot (too large, too long), but comparisons with it are clear: = finds nothing
    frac   it lies between two values of the column: = finds nothing, storing it rounds
    junk   no value of the type: = finds nothing, storing it is refused, ranges are not asked
"""

import typing


class V(typing.NamedTuple):
    data: bytes | None
    tag: str = "ok"


NULL = V(None)


def quote(data):
    """A string literal of these bytes, which may have any values."""
    out = data.replace(b"\\", b"\\\\").replace(b"'", b"''").replace(b"\0", b"\\0")
    return b"'" + out + b"'"


def hex_literal(data):
    return b"x'" + data.hex().encode() + b"'"


class Kind:
    """A type of column. Subclasses draw values; the literals are texts here."""

    indexable = True      # may be indexed without a prefix
    prefixable = False    # may be indexed by a prefix
    blob = False          # filters only compare it with NULL
    arithmetic = False    # + and - are clear
    ranges = True         # ranges over an index of the column are tested
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
        """The SQL literal to store the value."""
        return quote(value)

    def comparand(self, name):
        """The expression that stands for the column in comparisons with compare(value)."""
        return name

    def compare(self, value):
        """The SQL literal to compare with the value."""
        return self.literal(value)

    def ordinal(self, name):
        """The expression that orders ranges and the index."""
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
    """Values of at most six digits, because the text of a FLOAT shows no more. Arithmetic is used only if it is exact:
    otherwise the text would not show the value."""
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
