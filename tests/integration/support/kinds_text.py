"""Column types for the differential test: texts and bytes."""

from kinds import Kind, V, hex_literal
from server import is_mysql


class Text(Kind):
    """CHAR, VARCHAR and TEXT in many character sets. `letters` are characters that the set has."""
    prefixable = True
    controls = True  # not in an index: SQL sorts characters below the space in more than one way
    LATIN = "aAbBcC zZ09_%é"
    COLLATIONS = {
        "utf8mb4": ("general_ci", "unicode_ci", "bin", "unicode_520_ci", "general_nopad_ci",
                    "nopad_bin", "uca1400_ai_ci", "uca1400_as_cs"),
        "utf8mb3": ("general_ci", "bin"), "latin1": ("swedish_ci", "bin", "general_cs"),
        "ucs2": ("general_ci",), "utf16": ("unicode_ci",), "latin2": ("general_ci",)}
    if is_mysql():
        COLLATIONS["utf8mb4"] = ("general_ci", "unicode_ci", "bin", "unicode_520_ci", "0900_ai_ci", "0900_as_ci",
                                 "0900_as_cs", "0900_bin", "de_pb_0900_ai_ci", "ja_0900_as_cs_ks")
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
        """A well-formed text, because SQL would not refuse a malformed one."""
        return self.sample(rng)

    def sample(self, rng):
        return V((self.word(rng, 3) * rng.choice((0, 1, 20, 60)))[:200].encode())
