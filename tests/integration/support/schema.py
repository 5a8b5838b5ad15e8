"""Random tables for the differential test."""

import dataclasses

from columns import random_kind
from kinds import Integer, hex_literal
from kinds_other import Bit, Date, Datetime, Enum, Timestamp
from kinds_text import Binary, Json, Text
from server import is_mysql


@dataclasses.dataclass
class Column:
    name: str
    kind: object
    nullable: bool = True
    auto: bool = False
    default: bytes | None = None   # the SQL text after DEFAULT
    now: bool = False              # the value may be the server's time
    on_update: str = ""
    generated: str = ""            # the expression
    stored: str = ""               # STORED or VIRTUAL
    invisible: bool = False
    check: str = ""

    def ddl(self):
        text = f"{self.name} {self.kind.ddl}".encode()
        if self.generated:
            return text + f" GENERATED ALWAYS AS ({self.generated}) {self.stored}".encode()
        if self.nullable and self.kind.ddl.startswith("TIMESTAMP"):
            text += b" NULL"
        text += b"" if self.nullable else b" NOT NULL"
        if self.auto:
            return text + b" AUTO_INCREMENT"
        if self.default is not None:
            text += b" DEFAULT " + self.default
        return text + f"{self.on_update}{' INVISIBLE' * self.invisible}{self.check}".encode()

    @property
    def name_b(self):
        return self.name.encode()


@dataclasses.dataclass
class Part:
    column: Column
    prefix: int = 0
    descending: bool = False

    def ddl(self):
        prefix = f"({self.prefix})" if self.prefix else ""
        return f"{self.column.name}{prefix}{' DESC' if self.descending else ''}"

    def order(self, backwards=False):
        """A term of ORDER BY with the order of the index."""
        term = f"LEFT({self.column.name},{self.prefix})" if self.prefix else self.column.name
        if self.prefix and self.column.kind.ddl.endswith("latin1_bin"):
            # MariaDB sorts LEFT('', 2) before LEFT(' ', 2), which are equal in this collation and in its indexes.
            term = f"RTRIM({term})"
        return term + (" DESC" if self.descending != backwards else "")


@dataclasses.dataclass
class Index:
    name: str
    parts: list
    unique: bool = False
    hashed: bool = False

    def ddl(self):
        columns = ", ".join(part.ddl() for part in self.parts)
        if self.name == "PRIMARY":
            return f"PRIMARY KEY ({columns})"
        return f"{'UNIQUE ' * self.unique}KEY {self.name} ({columns})"


@dataclasses.dataclass
class Table:
    columns: list
    indexes: list  # the first index is the primary key
    engine: str
    partition: str = ""
    own_indexes: list = dataclasses.field(default_factory=list)  # SQL's own: definitions

    @property
    def ties_by_primary_key(self):
        return self.engine == "InnoDB" and not self.partition

    @property
    def primary(self):
        return self.indexes[0]

    def ddl(self, name):
        lines = [column.ddl() for column in self.columns]
        lines += [index.ddl().encode() for index in self.indexes]
        lines += [definition.encode() for definition in self.own_indexes]
        body = b",\n  ".join(lines)
        return (b"CREATE TABLE %s (\n  %s)\n  ENGINE=%s DEFAULT CHARSET=utf8mb4 %s"
                % (name.encode(), body, self.engine.encode(), self.partition.encode()))


def primary_columns(rng):
    """The columns of a random primary key, and its parts."""
    pick = rng.random()
    if pick < 0.5:
        columns = [Column("id", Integer(rng, small=True), False, auto=True)]
    elif pick < 0.7:
        columns = [Column("id", Integer(rng, small=True), False),
                   Column("id2", rng.choice((lambda: Text(rng, "VARCHAR"), Enum,
                                             lambda: Integer(rng, small=True)))(), False)]
    else:
        kind = random_kind(rng)
        while not (kind.in_primary_key and kind.indexable):
            kind = random_kind(rng)
        columns = [Column("id", kind, False)]
    parts = [Part(column, descending=rng.random() < 0.1 and not column.auto) for column in columns]
    return columns, parts


def give_default(rng, column):
    """Sometimes gives a column a DEFAULT: a literal, an expression, or the clock."""
    kind = column.kind
    clock = type(kind) in (Datetime, Timestamp)
    pick = rng.random()
    if clock and pick < 0.4:
        precision = f"({kind.fraction})" if kind.fraction else "()"
        if pick < 0.3:
            column.default = f"CURRENT_TIMESTAMP{precision}".encode()
        if pick > 0.2:
            column.on_update = f" ON UPDATE CURRENT_TIMESTAMP{precision}"
        column.now = True
    elif pick < 0.5:
        data = kind.sample(rng).data
        literal = hex_literal(data) if isinstance(kind, (Binary, Bit)) else kind.literal(data)
        column.default = literal if not kind.blob else b"(" + literal + b")"
    elif pick < 0.6 and isinstance(kind, Integer):
        column.default = b"(1 + 2)"
    elif pick < 0.6 and type(kind) is Text and kind.length > 2:
        column.default = b"(CONCAT('a', 'B'))"


def plain_column(rng, name):
    column = Column(name, random_kind(rng), nullable=rng.random() < 0.65)
    give_default(rng, column)
    kind = column.kind
    if type(kind) is Timestamp and not column.nullable:
        column.now = True  # NULL means the present time
    if rng.random() < 0.12:
        if isinstance(kind, Integer):
            column.check = f" CHECK ({name} <> 7)"
        elif type(kind) is Text:
            column.check = f" CHECK ({name} <> 'a')"
    if rng.random() < 0.06 and (column.nullable or column.default is not None):
        column.invisible = True
    return column


def generated_column(rng, name, columns):
    """A column computed from another column, or None."""
    base = rng.choice(columns)
    kind = base.kind
    if base.auto or base.now or base.generated:
        return None
    if isinstance(kind, Integer):
        expression, target = f"{base.name} MOD 5", Integer(rng, small=True)
        target.ddl = "BIGINT"
    elif isinstance(kind, Text) and "CHARACTER SET utf8mb4" in kind.ddl:
        expression, target = f"CONCAT('<', LEFT({base.name}, 3))", Text(rng, "VARCHAR")
        target.length, target.letters = 8, "<aAb"
        target.ddl = "VARCHAR(8) CHARACTER SET utf8mb4"
    elif type(kind) in (Date, Datetime):
        expression, target = f"YEAR({base.name})", Integer(rng, small=True)
        target.ddl = "INT"
    else:
        return None
    return Column(name, target, generated=expression, stored=rng.choice(("STORED", "VIRTUAL")))


def random_part(rng, column, engine):
    """A random way to put this column into an index; None if there is none."""
    kind = column.kind
    prefix = 0
    if not kind.indexable or (kind.prefixable and not column.generated and rng.random() < 0.25):
        if not kind.prefixable:
            return None
        longest = 8 if kind.blob else min(kind.length - 1, 4)
        if longest < 1:
            return None
        prefix = rng.randint(1, longest)
    return Part(column, prefix, rng.random() < 0.2 and engine == "InnoDB")


def random_index(rng, name, columns, engine):
    chosen = rng.sample(columns, min(len(columns), rng.choice((1, 1, 2, 2, 3))))
    parts = [part for part in (random_part(rng, column, engine) for column in chosen) if part]
    # A part with a prefix may only be the last: rows with equal prefixes have the order of the next part.
    for at, part in enumerate(parts[:-1]):
        if part.prefix:
            parts = parts[:at + 1]
            break
    return Index(name, parts, unique=rng.random() < 0.25) if parts else None


def hashed_index(rng, columns):
    """UNIQUE over a whole TEXT or BLOB, or None."""
    fitting = [column for column in columns if column.kind.blob and column.kind.prefixable]
    if not fitting or rng.random() > 0.25:
        return None
    return Index("h", [Part(rng.choice(fitting))], unique=True, hashed=True)


def functional_indexes(rng, columns):
    """Definitions of indexes over expressions, which requests cannot name."""
    found = []
    for column in columns:
        name, kind = column.name, column.kind
        if column.auto or column.now or rng.random() > 0.25:
            continue
        if isinstance(kind, Integer):
            found.append(f"{rng.choice(('', 'UNIQUE '))}KEY f_{name} (({name} * 2))")
        elif type(kind) is Text and not kind.large:
            found.append(f"KEY f_{name} ((CONCAT({name}, '-')), id)")
        elif isinstance(kind, Json):
            found.append(f"KEY f_{name} ((CAST({name}->'$' AS CHAR(8) ARRAY)))")
    return found


def random_table(rng):
    engine = rng.choices(("InnoDB", "Aria", "MyISAM"), (86, 7, 7))[0]
    columns, parts = primary_columns(rng)
    if engine != "InnoDB":
        parts = [Part(part.column) for part in parts]
    indexes = [Index("PRIMARY", parts, unique=True)]
    columns += [plain_column(rng, f"c{number}") for number in range(rng.randint(2, 7))]
    for name in ("g1", "g2"):
        extra = generated_column(rng, name, columns) if rng.random() < 0.45 else None
        if extra:
            columns.append(extra)
    partitioned = (engine == "InnoDB" and rng.random() < 0.08 and len(parts) == 1
                   and isinstance(parts[0].column.kind, Integer))
    for number in range(rng.randint(1, 3)):
        fit = [column for column in columns if not column.now]
        index = random_index(rng, f"i{number}", fit, engine)
        if index:
            index.unique = index.unique and not partitioned
            indexes.append(index)
    hashed = None if partitioned else hashed_index(rng, columns)
    if hashed:
        indexes.append(hashed)
    for part in (part for index in indexes for part in index.parts):
        part.column.kind.controls = False
    own_indexes = functional_indexes(rng, columns) if is_mysql() and not partitioned else []
    rng.shuffle(columns)
    columns.sort(key=lambda column: bool(column.generated))
    return Table(columns, indexes, engine,
                 f"PARTITION BY HASH ({parts[0].column.name}) PARTITIONS 3" if partitioned else "", own_indexes)


