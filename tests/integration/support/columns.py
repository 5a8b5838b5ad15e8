"""Column types of all kinds, at random."""

from kinds import Decimal, Double, Float, Integer
from kinds_other import Bit, Date, Datetime, Enum, Inet, Set, Shape, Time, Timestamp, Uuid, Vector, Year
from kinds_text import Binary, Compressed, Json, NumericText, Text
from server import is_mysql


def random_kind(rng):
    """A random kind of column."""
    own = (Uuid, lambda: Inet(rng), lambda: Compressed(rng))
    if is_mysql():
        own = (Vector, lambda: Shape(rng), lambda: Shape(rng))
    return rng.choice((
        lambda: Integer(rng), lambda: Integer(rng), lambda: Integer(rng), lambda: Decimal(rng),
        lambda: Float(rng), lambda: Double("DOUBLE"),
        lambda: Text(rng, "CHAR"), lambda: Text(rng, "VARCHAR"), lambda: Text(rng, "VARCHAR"),
        lambda: Text(rng, rng.choice(("TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT"))),
        NumericText, lambda: Binary(rng, "BINARY"), lambda: Binary(rng, "VARBINARY"),
        lambda: Binary(rng, rng.choice(("TINYBLOB", "BLOB", "LONGBLOB"))),
        lambda: Date(rng), lambda: Datetime(rng), lambda: Timestamp(rng), lambda: Time(rng),
        Year, Enum, Set, lambda: Bit(rng), own[0], own[1], lambda: Json(rng),
        own[2]))()
