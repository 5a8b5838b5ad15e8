"""Random requests on random tables; most requests find something."""

from kinds import NULL, V
from sql_model import NOW, Find, Insert, Open

OPERATORS = ("=", "=", "=", ">", ">=", "<", "<=")


def writable(column):
    return not column.generated


def without_ties(opened):
    """Whether rows with equal keys, if there are any, have a defined order."""
    return opened.table.ties_by_primary_key or (
        opened.index.unique and not any(part.column.nullable for part in opened.index.parts))


def random_opens(rng, name, table, first_id):
    """Several ids on one table: for inserting, and for each index."""
    columns = [column for column in table.columns if writable(column)]
    opens = [Open(first_id, name, table, table.primary, columns, [], whole=True)]
    for index in table.indexes * 2:
        chosen = rng.sample(columns, rng.randint(0, len(columns)))
        if rng.random() < 0.3:
            chosen = rng.choices(table.columns, k=rng.randint(1, 5))
        filters = rng.sample(table.columns, rng.randint(0, len(table.columns)))
        opens.append(Open(first_id + len(opens), name, table, index, chosen, filters))
    arithmetic = [column for column in columns if column.kind.arithmetic and not column.auto]
    for index in table.indexes if arithmetic else ():
        # Two columns can fail in two ways; without transactions, the order in which the columns are handled then
        # decides which changes remain.
        most = len(arithmetic) if table.engine == "InnoDB" else 1
        opens.append(Open(first_id + len(opens), name, table, index,
                          rng.sample(arithmetic, rng.randint(1, most)), []))
    return opens


class Source:
    """Draws requests. pool: rows that are, or were, in the tables (column: value), by table."""

    def __init__(self, rng, opens, pool):
        self.rng, self.opens, self.pool = rng, opens, pool

    def value(self, opened, column, edges):
        """A value to store."""
        rng = self.rng
        if rng.random() < (0.1 if column.nullable else 0.01 if edges else 0):
            return NULL
        if column.auto:
            return rng.choice((NULL, V(b"0"), V(b"%d" % rng.randint(1, 60))))
        if edges and rng.random() < 0.05:
            return column.kind.edge(rng)
        known = self.known(opened, column) if rng.random() < 0.2 else None
        return known or column.kind.sample(rng)

    def known(self, opened, column, row=None):
        """A value that is or was in the table, if there is one that can be compared."""
        rows = self.pool.get(opened.name)
        data = (row or self.rng.choice(rows)).get(column.name) if rows else None
        return V(data) if data not in (None, NOW) else None

    def keys(self, opened, parts, op):
        """Draws keys: mostly the values of one row, so that composite keys find something."""
        rows = self.pool.get(opened.name)
        row = self.rng.choice(rows) if rows and self.rng.random() < 0.7 else None
        values = []
        for part in parts:
            value = self.known(opened, part.column, row) if row else None
            if value is None or self.rng.random() < 0.1:
                value = self.key(opened, part.column, op)
            values.append(value)
        return values

    def key(self, opened, column, op):
        """A value to compare with."""
        rng = self.rng
        if column.nullable and rng.random() < 0.1:
            return NULL
        known = self.known(opened, column) if rng.random() < 0.6 else None
        if known:
            return known
        value = column.kind.edge(rng) if rng.random() < 0.3 else column.kind.sample(rng)
        if value.tag == "junk" and op != "=":
            return column.kind.sample(rng)
        return value

    def insert(self):
        rng = self.rng
        opened = rng.choice([one for one in self.opens if one.columns
                             and all(map(writable, one.columns))
                             and len(set(map(id, one.columns))) == len(one.columns)])
        if rng.random() < 0.85:
            opened = rng.choice([one for one in self.opens if one.whole])
        columns = opened.columns
        if rng.random() < 0.1:
            columns = columns[:rng.randint(1, len(columns))]
        return Insert(opened, [self.value(opened, column, True) for column in columns])

    def find(self, write):
        rng = self.rng
        fitting = [one for one in self.opens if not write or (
            self.modifications(one) and without_ties(one))]
        opened = rng.choice(fitting)
        index = opened.index
        op = rng.choice(OPERATORS)
        if index.hashed and rng.random() < 0.9:
            op = "="
        parts = index.parts[:rng.randint(1, len(index.parts))]
        if index.hashed:
            parts = index.parts
        request = Find(opened, op, self.keys(opened, parts, op))
        if without_ties(opened):
            self.options(request)
        else:
            request.limit, request.offset = 10_000, 0
        self.filters(request)
        if write:
            request.mod = self.modification(opened)
        if request.filters or request.mod:  # filters and modifications come after limit and offset
            request.limit = request.limit or 1
            request.offset = request.offset or 0
        return request

    def options(self, request):
        """Draws limit, offset and @."""
        rng = self.rng
        pick = rng.random()
        if pick < 0.25:
            return
        request.limit = rng.choice((0, 1, 2, 3, 5, 100))
        if pick < 0.4:
            return
        request.offset = rng.choice((0, 0, 0, 1, 3))
        if pick > 0.8:
            at = rng.randrange(len(request.keys))
            column = request.open.index.parts[at].column
            values = [self.key(request.open, column, request.op) for _ in range(rng.randint(1, 5))]
            request.within = (at, values)
            request.keys[at] = rng.choice((NULL, V(b""), request.keys[at]))
            request.limit = rng.choice((1, 3, 100))

    def filters(self, request):
        rng, opened = self.rng, request.open
        if not opened.filters or rng.random() < 0.5:
            return
        ordered = without_ties(opened)
        chosen = []
        for _ in range(rng.choice((1, 1, 2, 3))):
            at = rng.randrange(len(opened.filters))
            column = opened.filters[at]
            op = rng.choice(("=", "!=", "<", "<=", ">", ">="))
            if not column.kind.filter_ranges or column.now:
                op = rng.choice(("=", "!="))
            value = NULL if column.kind.blob or column.now else self.key(opened, column, "range")
            if value.tag in ("junk", "frac"):
                value = column.kind.sample(rng)
            chosen.append((rng.choice("FFW" if ordered else "F"), op, at, value))
        request.filters = tuple(chosen)

    def modifications(self, opened):
        """The modifications U, D, + and - that fit the columns of this id."""
        columns = opened.columns
        distinct = len(set(map(id, columns))) == len(columns)
        allowed = ["D"] if self.rng.random() < 0.15 else []
        if columns and distinct and all(map(writable, columns)):
            allowed.append("U")
            if all(column.kind.arithmetic and not column.auto for column in columns) and (
                    opened.table.engine == "InnoDB" or len(columns) == 1):
                allowed += ["+", "-", "+", "-"]
        return allowed

    def modification(self, opened):
        rng = self.rng
        op = rng.choice(self.modifications(opened) or ["D"])
        mark = "?" if rng.random() < 0.3 else ""
        if op == "D":
            return ("D" + mark,)
        if op == "U":
            columns = opened.columns
            if rng.random() < 0.03:
                columns = columns[:rng.randint(1, len(columns))]
            return ("U" + mark, *(self.value(opened, column, True) for column in columns))
        return (op + mark, *(NULL if rng.random() < 0.05 else column.kind.operand(rng)
                             for column in opened.columns))

    def request(self):
        pick = self.rng.random()
        if pick < 0.3:
            return self.insert()
        if pick < 0.62:
            return self.find(write=True)
        return self.find(write=False)

    def batch(self):
        """The requests of one pipeline; every third pipeline has only finds (for the other port)."""
        size = self.rng.choice((1, 3, 10, 20, 40))
        if self.rng.random() < 0.25:
            return [self.find(write=False) for _ in range(size)]
        return [self.request() for _ in range(size)]
