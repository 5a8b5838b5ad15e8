"""The reference model: the meaning of each request of the protocol, in SQL.

Model.check(request, reply) carries the request out on the twin table and returns how the reply differs from SQL's
answer (None if it does not). The rules are those of spec/handlersocket.md, "What 'as SQL does' means": rows in index
order, backwards for < and <=; composite keys compare as tuples in index order; NULL equals NULL and sorts lowest; =
with a value that the column cannot hold finds nothing.
"""

import dataclasses

import pymysql

import hs
from kinds import V
from server import is_mysql


HANDLER_ERRORS = {1062: "121", 1586: "121", 1452: "151", 1216: "151", 1451: "152", 1217: "152",
                  1205: "146", 1213: "149"}
OUT_OF_RANGE = {"1264", "1690"}  # SQL answers one of these, depending on the type of the expression
if is_mysql():
    OUT_OF_RANGE.add("1406")  # too many bits, which are a number in a literal of SQL
NOW = b"<now>"


@dataclasses.dataclass
class Open:
    id: int
    name: str        # the name on the socket's side
    table: object    # schema.Table
    index: object    # schema.Index
    columns: list
    filters: list
    whole: bool = False  # the id names every column that can be written

    def tokens(self, db):
        return hs.open_words(self.id, db, self.name, self.index.name,
                             [column.name for column in self.columns],
                             [column.name for column in self.filters])


@dataclasses.dataclass
class Insert:
    open: Open
    values: list

    writes = True

    def tokens(self):
        return [self.open.id, "+", len(self.values), *(value.data for value in self.values)]


@dataclasses.dataclass
class Find:
    open: Open
    op: str
    keys: list
    limit: int | None = None
    offset: int | None = None
    within: tuple | None = None   # (key part, [V])
    filters: tuple = ()           # (F or W, operator, filter column, V)
    mod: tuple = ()               # ("U?", V, V)

    @property
    def writes(self):
        return bool(self.mod)

    def tokens(self):
        within = self.within and (self.within[0], [value.data for value in self.within[1]])
        filters = [(kind, op, column, value.data) for kind, op, column, value in self.filters]
        mod = [self.mod[0], *(value.data for value in self.mod[1:])] if self.mod else None
        return hs.find_words(self.open.id, self.op, [key.data for key in self.keys], self.limit,
                             self.offset, within=within, filters=filters, mod=mod)


class Row:
    """A row that the scan reaches."""

    def __init__(self, cells, keys, columns, filters):
        self.key = cells[:keys]
        self.cells = cells[keys:keys + columns]
        self.met = [cell == b"1" for cell in cells[keys + columns:keys + columns + filters]]
        self.blocked, self.group = cells[-2] == b"1", cells[-1]


def compare(column, value, relation):
    """SQL for: column is less than (lt), equal to (eq), greater than (gt) the value."""
    name, kind = column.name_b, column.kind
    if value.data is None:
        return {"lt": b"0", "eq": name + b" IS NULL", "gt": name + b" IS NOT NULL"}[relation]
    if relation == "eq":
        if value.tag in ("junk", "frac"):
            return b"0"
        return kind.comparand(name) + b" = " + kind.compare(value.data)
    sign = b" < " if relation == "lt" else b" > "
    term = kind.ordinal(name) + sign + kind.ordinal_literal(value.data)
    if relation == "lt":
        return b"(" + name + b" IS NULL OR " + term + b")"
    return term


def condition(index, op, keys):
    """SQL for the rows that `op keys` selects: tuples in the order of the index."""
    parts = index.parts[:len(keys)]
    equal = [compare(part.column, key, "eq") for part, key in zip(parts, keys)]
    everything = b" AND ".join(equal)
    if op == "=":
        return everything
    beyond = []
    for at, (part, key) in enumerate(zip(parts, keys)):
        ahead = (op[0] == ">") != part.descending
        beyond.append(b" AND ".join(equal[:at] + [compare(part.column, key,
                                                          "gt" if ahead else "lt")]))
    if op.endswith("="):
        beyond.append(everything)
    return b"(" + b" OR ".join(b"(" + term + b")" for term in beyond) + b")"


def filter_condition(column, op, value):
    """SQL for a filter: 1 if the filter holds."""
    if op in ("=", "!="):
        literal = b"NULL" if value.data is None else column.kind.compare(value.data)
        term = column.kind.comparand(column.name_b) + b" <=> " + literal
        return b"(" + term + b")" if op == "=" else b"(NOT (" + term + b"))"
    less, greater = (compare_in_filter(column, value, relation) for relation in ("lt", "gt"))
    terms = {"<": less, ">": greater, "<=": b"NOT " + greater, ">=": b"NOT " + less}
    return b"(" + terms[op] + b")"


def compare_in_filter(column, value, relation):
    return b"IFNULL((" + compare(column, value, relation) + b"), 0)"


class Model:
    """The twin tables, on which it carries out the requests."""

    def __init__(self, sql, db, twins, recent_from):
        self.sql, self.db, self.twins = sql, db, twins  # twins: name on the socket's side: twin
        self.recent_from = recent_from                  # times since then count as "now"
        self.refused = 0

    def twin(self, opened):
        return f"{self.db}.{self.twins[opened.name]}".encode()

    def check(self, request, reply):
        if isinstance(request, Insert):
            return self.check_insert(request, reply)
        if self.may_refuse(request) and reply == hs.reply(2, 1, "indexop"):
            self.refused += 1
            return None
        rows = self.scan(request)
        if not request.mod:
            return self.compare_rows(request, rows, reply)
        return self.check_modification(request, rows, reply)

    @staticmethod
    def may_refuse(request):
        opened = request.open
        return request.op != "=" and (opened.index.hashed or opened.table.engine != "InnoDB")

    # Inserts.

    def check_insert(self, request, reply):
        opened = request.open
        pairs = list(zip(opened.columns, request.values))
        generated = self.generates_id(opened, pairs)
        answered = reply.code == 0 and len(reply) == 3 and (reply[2] or b"").isdigit()
        if generated and answered:
            self.sql.run(b"SET insert_id = " + reply[2])
        names = b", ".join(column.name_b for column, _ in pairs)
        values = b", ".join(self.stored(column, value) for column, value in pairs)
        errno = self.attempt([b"INSERT INTO %s (%s) VALUES (%s)" % (self.twin(opened), names,
                                                                    values)])
        if errno:
            return self.compare_error(errno, reply)
        expected = hs.reply(0, 1)
        if any(column.auto for column in opened.table.columns):
            expected = hs.reply(0, 1, "a new id" if generated else 0)
            if generated and answered and int(reply[2]) > 0:
                expected = reply
        return None if reply == expected else f"expected {expected}"

    @staticmethod
    def generates_id(opened, pairs):
        for column, value in pairs:
            if column.auto:
                return value.data is None or value.data.strip(b" +-0.") == b""
        return any(column.auto for column in opened.table.columns)

    @staticmethod
    def stored(column, value):
        return b"NULL" if value.data is None else column.kind.literal(value.data)

    # Finds.

    def scan(self, request):
        """The rows that the request answers or changes, in order."""
        if request.within is None:
            met = self.select(request, request.keys, None)
        else:
            at, values = request.within
            met = [row for value in values
                   for row in self.select(request, [*request.keys[:at], value,
                                                    *request.keys[at + 1:]], 1)]
        chosen, left_out = [], request.offset or 0
        for row in met:
            unmet = [kind for (kind, *_), good in zip(request.filters, row.met) if not good]
            if unmet and unmet[0] == "W":
                break
            if unmet:
                continue
            if left_out:
                left_out -= 1
                continue
            chosen.append(row)
            if len(chosen) == max(1, request.limit or 0):
                break
        # A row that @ finds twice is answered twice, but changed only once.
        return list({row.key: row for row in chosen}.values()) if request.mod else chosen

    def select(self, request, keys, limit):
        opened = request.open
        order = self.order(opened, request.op.startswith("<"))
        primary = [part.column.name_b for part in opened.table.primary.parts]
        filters = [filter_condition(opened.filters[column], op, value)
                   for _, op, column, value in request.filters]
        index_order = ", ".join(part.order() for part in opened.index.parts).encode()
        expressions = primary + [column.name_b for column in opened.columns] + filters
        expressions += [self.sign_change(request), b"DENSE_RANK() OVER (ORDER BY %s)" % index_order
                        if not opened.table.ties_by_primary_key else b"0"]
        # USE INDEX () because the server's own ORDER BY loses rows with an index over a virtual column.
        query = b"SELECT %s FROM %s USE INDEX () WHERE %s ORDER BY %s" % (
            b", ".join(expressions), self.twin(opened), condition(opened.index, request.op, keys),
            order.encode())
        query += b" LIMIT %d" % limit if limit else b""
        return [Row(cells, len(primary), len(opened.columns), len(filters))
                for cells in self.sql.rows(query)]

    @staticmethod
    def order(opened, backwards):
        terms = [part.order(backwards) for part in opened.index.parts]
        terms += [part.order(backwards) for part in opened.table.primary.parts]
        return ", ".join(terms)

    @staticmethod
    def sign_change(request):
        """SQL for whether a decrement would change the sign of a column."""
        if not request.mod or request.mod[0][0] != "-":
            return b"0"
        terms = []
        for column, value in zip(request.open.columns, request.mod[1:]):
            if value.data is None:
                continue
            name, literal = Model.number(column), value.data
            terms.append(b"(%s > 0 AND %s < %s) OR (%s < 0 AND %s > %s)"
                         % (name, name, literal, name, name, literal))
        return b"IFNULL((" + b" OR ".join(terms) + b"), 0)" if terms else b"0"

    @staticmethod
    def number(column):
        text = column.kind.ddl.startswith("VARCHAR") and not is_mysql()  # MySQL adds to an empty text.
        return b"CAST(%s AS SIGNED)" % column.name_b if text else column.name_b

    def compare_rows(self, request, rows, reply):
        """Compares rows in order; rows whose order is not defined are compared as sets."""
        columns = request.open.columns
        cells = [cell for row in rows for cell in row.cells]
        expected = hs.Reply([b"0", b"%d" % len(columns), *cells])
        if reply == expected or self.timeless(columns, reply) == self.timeless(columns, expected):
            return None
        if not request.open.table.ties_by_primary_key and len(reply) == len(expected) and columns:
            found, at = self.timeless(columns, reply), 0
            while at < len(rows):
                end = at
                while end < len(rows) and rows[end].group == rows[at].group:
                    end += 1
                wanted = self.timeless(columns, expected)[at:end]
                if sorted(map(repr, found[at:end])) != sorted(map(repr, wanted)):
                    return f"expected {expected}"
                at = end
            return None
        return f"expected {expected}"

    def timeless(self, columns, reply):
        """The rows of a reply, with times from the clock replaced."""
        if reply.code or not columns or len(reply.cells) % len(columns):
            return list(reply)
        return [tuple(self.shown(column, cell) for column, cell in zip(columns, row)) for row in reply.rows]

    def shown(self, column, cell):
        return NOW if cell and column.now and cell >= self.recent_from else cell

    # Modifications.

    def check_modification(self, request, rows, reply):
        statements, changed = [], 0
        for row in rows:
            if row.blocked:
                continue
            changed += 1
            statement = self.modification(request, row)
            if statement:
                statements.append(statement)
        takes_back = len(statements) > 1 and request.open.table.engine == "InnoDB"
        if any(row.blocked for row in rows) and len(request.mod) > 2 and \
                self.compare_error(1264, reply) is None:
            return None  # a sign change in one column, out of range in another: the answer may be either
        errno = self.attempt(statements, takes_back)
        if errno:
            return self.compare_error(errno, reply)
        if request.mod[0].endswith("?"):
            return self.compare_rows(request, rows, reply)
        expected = hs.reply(0, 1, changed)
        return None if reply == expected else f"expected {expected}"

    def modification(self, request, row):
        opened, mod = request.open, request.mod[0][0]
        where = b" AND ".join(compare(part.column, V(cell), "eq")
                              for part, cell in zip(opened.table.primary.parts, row.key))
        if mod == "D":
            return b"DELETE FROM %s WHERE %s" % (self.twin(opened), where)
        terms = []
        values = request.mod[1:]
        if mod == "U":  # missing values at the end of a line are empty strings
            values += (V(b""),) * (len(opened.columns) - len(values))
        for column, cell, value in zip(opened.columns, row.cells, values):
            if mod == "U":
                terms.append(column.name_b + b" = " + self.stored(column, value))
            elif cell is None and value.data is not None and not column.generated:
                terms.append(column.name_b + b" = NULL")  # ON UPDATE may move: SQL's NULL has other bytes.
            elif cell is not None and value.data is not None:
                terms.append(b"%s = %s %s %s" % (column.name_b, self.number(column), mod.encode(),
                                                 value.data))
        if not terms:
            return None
        return b"UPDATE %s SET %s WHERE %s" % (self.twin(opened), b", ".join(terms), where)

    def attempt(self, statements, takes_back=False):
        """Runs the statements as one. Returns the number of the error that refused them, or None. Engines without
        transactions keep the changes up to the error."""
        if takes_back:
            self.sql.run("SAVEPOINT request")
        try:
            for statement in statements:
                self.sql.run(statement)
        except pymysql.MySQLError as error:
            if takes_back:
                self.sql.run("ROLLBACK TO request")
            return error.args[0]
        return None

    @staticmethod
    def compare_error(errno, reply):
        number = HANDLER_ERRORS.get(errno, str(errno))
        accepted = OUT_OF_RANGE if number in OUT_OF_RANGE else {number}
        if reply.code == 1 and len(reply) == 3 and reply.error in accepted:
            return None
        return f"expected {hs.reply(1, 1, number)}: SQL refuses it with {errno}"


