"""Every column type of MariaDB with values at its edges; test_types plays them.

Each row: (definition, values). SQL accepts some of the values and refuses others; the test asks SQL which. Text is sent
as UTF-8, bytes unchanged.
"""

import struct

from server import is_mysql, is_server_before

# Collations that the other servers do not have.
OWN_COLLATIONS = ("utf8mb4_0900_ai_ci", "utf8mb4_0900_as_cs", "utf8mb4_ja_0900_as_cs_ks",
                  "utf8mb4_0900_bin") if is_mysql() else (
    "utf8mb4_nopad_bin", "utf8mb4_uca1400_as_cs", "utf8mb4_uca1400_ai_ci", "utf8mb4_uca1400_swedish_nopad_ai_ci",
    "ucs2_uca1400_ai_ci", "utf8mb4_general_nopad_ci")

UUIDS = ["123e4567-e89b-12d3-a456-426655440000", "00000000-0000-0000-0000-000000000000",
         "ffffffff-ffff-ffff-ffff-ffffffffffff", "123E4567E89B12D3A456426655440000", "123e4567", ""]


def integers(bits, signed):
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return [str(number) for number in (low, low + 1, -1, 0, 1, 7, high - 1, high, low - 1, high + 1)] + [
        "", "abc", "5x", "1.5", "1e2", " 12", "0x10"]


INTEGERS = [(f"{name}{suffix}", integers(bits, signed))
            for name, bits in (("TINYINT", 8), ("SMALLINT", 16), ("MEDIUMINT", 24), ("INT", 32), ("BIGINT", 64))
            for suffix, signed in (("", True), (" UNSIGNED", False))] + [
    ("INT(7) ZEROFILL", ["0", "42", "4294967295", "-1"]), ("TINYINT(3) UNSIGNED ZEROFILL", ["0", "7", "255", "256"]),
    ("BOOLEAN", ["0", "1", "127", "true"])]

NUMBERS = [
    ("DECIMAL(6,2)", ["0", "-0.01", "9999.99", "-9999.99", "10000", "12.345", "12.3", "1e3", "abc", "", "-0"]),
    ("DECIMAL(65,30)", ["1." + "0" * 29 + "1", "9" * 35, "9" * 36, "-" + "9" * 35 + "." + "9" * 30]),
    ("DECIMAL(5,0) UNSIGNED ZEROFILL", ["0", "7", "99999", "100000", "-1"]),
    ("DECIMAL(3,3)", ["0.001", "0.999", "1", "-.5"]),
    ("FLOAT", ["0", "1.5", "-2.25", "1e10", "3e38", "4e38", "1e-45", "abc", "16777216"]),
    ("FLOAT UNSIGNED", ["0", "1.5", "-1"]), ("FLOAT(7,3)", ["1.125", "9999.875", "10000"]),
    ("DOUBLE", ["0", "0.1", "-1.5e300", "1.7976931348623157e308", "1e309", "2.2250738585072014e-308", "", "x"]),
    ("DOUBLE(10,4)", ["1.5", "999999.9999", "1000000"]), ("DOUBLE UNSIGNED ZEROFILL", ["1.5", "-1"]),
    ("BIT(1)", [b"\x00", b"\x01", b"\x02"]), ("BIT(8)", [b"\x00", b"5", b"\xff", b"\x01\x00"]),
    ("BIT(20)", [b"\x00\x01", b"\x0f\xff\xff", b"\x10\x00\x00", b""]), ("BIT(64)", [b"\xff" * 8, b"\x01" * 9]),
]

TEXTS = ["", "a", "abc", "Zé", "Größe", "B", "a ", "x\ty\nz", "a\x00b", "nul\x01", "日本語", "🐬", "x" * 11]

STRINGS = [(f"{kind} CHARACTER SET {charset}", TEXTS)
           for charset in ("latin1", "utf8mb3", "utf8mb4", "ucs2", "utf16", "utf32", "ascii", "cp932")
           for kind in ("VARCHAR(10)", "CHAR(10)")] + [
    (f"VARCHAR(10) COLLATE {collation}", TEXTS)
    for collation in ("utf8mb4_bin", "utf8mb4_unicode_ci", "utf8mb4_swedish_ci", "latin1_german2_ci", "latin1_bin",
                      *OWN_COLLATIONS)] + [
    ("VARCHAR(300)", ["", "y" * 255, "é" * 256, "z" * 300, "z" * 301, "z" * 300 + "  "]),
    ("TINYTEXT", ["", "x" * 255, "x" * 256, "é" * 127]), ("TEXT", ["", "short", "x" * 65535, "x" * 65536]),
    ("TEXT CHARACTER SET latin1", ["", "Größe", "日"]), ("MEDIUMTEXT", ["", "m" * 70000]),
    ("LONGTEXT CHARACTER SET ucs2", ["", "日本語", "🐬"]), ("JSON", ['{"a": [1, 2]}', "[]", "{", "", "null", '"é"']),
]

BINARIES = [
    ("BINARY(4)", [b"", b"ab", b"abcd", b"\x00\x00\x00\x00", b"\xff\xfe\x00\x01", b"abcde"]),
    ("VARBINARY(6)", [b"", b"a", b"\x00", b"\x00\x01\x0f\x10", b"\xff" * 6, b"\xff" * 7]),
    ("TINYBLOB", [b"", b"\x00\x01\x09\x0a\x0d", b"b" * 255, b"b" * 256]), ("BLOB", [b"", bytes(range(256)) * 2]),
    ("MEDIUMBLOB", [b"", b"\x0a" * 70000]), ("LONGBLOB", [b"", b"\x00"]),
]

ADDRESSES = [] if is_mysql() else [
    ("UUID", UUIDS), ("INET6", ["::1", "::", "2001:db8::1", "ffff::1.2.3.4", "1.2.3.4", "x", ""]),
    ("INET4", ["0.0.0.0", "255.255.255.255", "192.0.2.33", "1.2.3.256", ""]),
]

TIMES = [
    ("DATE", ["2024-02-29", "2023-02-29", "1000-01-01", "9999-12-31", "0000-00-00", "2024-01-00", "20240102",
              "24-1-2", "2024-02-28 10:00:00", "0", "", "x"]),
    ("TIME", ["00:00:00", "838:59:59", "-838:59:59", "839:00:00", "10:11", "101112", "1 02:03:04", "10:11:12.9",
              "25:61:00", "", "x"]),
    ("TIME(1)", ["10:11:12.35", "-10:11:12.3", "00:00:00.1"]), ("TIME(6)", ["10:11:12.123456", "-00:00:00.000001"]),
    ("DATETIME", ["2024-02-29 23:59:59", "1000-01-01", "9999-12-31 23:59:59", "2024-02-29 23:59:59.9",
                  "0000-00-00 00:00:00", "2024-13-01", "2024-01-01T10:00:00", "20240101101112", "", "x"]),
    ("DATETIME(3)", ["2024-02-29 23:59:59.1239", "2024-02-29", "2024-02-29 00:00:00.5"]),
    ("DATETIME(6)", ["2024-02-29 23:59:59.000001", "0001-01-01 00:00:00.999999"]),
    ("TIMESTAMP NULL", ["2024-02-29 23:59:59", "1970-01-02", "2038-01-18", "2039-01-01", "1969-01-01", "0", "x"]),
    ("TIMESTAMP(6) NULL", ["2024-02-29 23:59:59.000001", "2001-02-03"]),
    ("YEAR", ["2024", "1901", "2155", "0", "1900", "2156", "99", "1", "", "x"]),
]

CHOICES = [
    ("ENUM('z','m','a','')", ["z", "a", "", "2", "9", "Z", "m ", "q"]),
    ("ENUM('grün','日') CHARACTER SET utf8mb3", ["grün", "日", "rot"]),
    ("ENUM('grün','blau') CHARACTER SET latin1", ["grün", "blau", "x"]),
    ("SET('q','p','o')", ["", "q", "p,q", "o,o", "q,z", "7", "9", "Q"]),
]

SHAPES = [
    (kind, [bytes.fromhex(text) for text in values])
    for kind, values in (
        ("POINT", ["000000000101000000000000000000f03f0000000000000040", "0000", ""]),
        ("GEOMETRY", ["000000000101000000000000000000f03f0000000000000040",
                      "0000000001020000000200000000000000000000000000000000000000000000000000f03f000000000000f03f"]),
        ("LINESTRING", ["0000000001020000000200000000000000000000000000000000000000000000000000f03f000000000000f03f",
                        "000000000101000000000000000000f03f0000000000000040"]))]

VECTORS = [] if is_server_before((11, 7)) and not is_mysql() else [
    ("VECTOR(2)", [struct.pack("<2f", *pair) for pair in ((0, 0), (1.5, -2), (3e38, -1e-45))] +
     [b"", b"\x00", b"\x00" * 9, struct.pack("<2f", float("inf"), 0)])]

ALL = INTEGERS + NUMBERS + STRINGS + BINARIES + ADDRESSES + TIMES + CHOICES + SHAPES + VECTORS
UNKEYED = ("GEOMETRY", "POINT", "LINESTRING") + (("JSON", "VECTOR") if is_mysql() else ())
PREFIXED = ("TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT", "JSON", "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB")


def key_of(definition):
    """The key definition of a column x of this type, or None."""
    word = definition.split()[0].split("(")[0]
    if word in UNKEYED + ("VECTOR",):
        return ""
    return ", KEY x (x(20))" if word in PREFIXED else ", KEY x (x)"
