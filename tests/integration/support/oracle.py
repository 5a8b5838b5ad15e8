"""The answer that SQL gives to a find."""

ORDER = {"=": "", "!=": "", ">": "", ">=": "", "<": "DESC", "<=": "DESC"}


def find(sql, table, column, op, value, columns="id", tie="id"):
    """The rows that the index on `column` (ascending, ties in the order of `tie`) must answer for
    `op value`: as WHERE column op 'value', and NULL equals NULL and sorts lowest."""
    literal = sql.literal(value)
    if value is None:
        where = {"=": "IS NULL", "<=": "IS NULL", ">=": "IS NULL OR TRUE", ">": "IS NOT NULL",
                 "<": "IS NULL AND FALSE"}[op]
        where = f"{column} {where}"
    elif op in ("<", "<="):
        where = f"{column} {op} {literal} OR {column} IS NULL"
    else:
        where = f"{column} {op} {literal}"
    down = ORDER[op]
    return sql.rows(f"SELECT {columns} FROM {table} WHERE {where} "
                    f"ORDER BY {column} {down}, {tie} {down}")


def check(sql, index, table, column, value, nothing_equal=False, ops=(">", ">=", "<", "<=", "="),
          **kwargs):
    """Every operator on an opened index answers what SQL does. nothing_equal: the column cannot hold the value, so that
    = finds nothing even if SQL converts it."""
    for op in ops:
        expected = find(sql, table, column, op, value, **kwargs)
        if op == "=" and nothing_equal:
            expected = []
        assert index.rows(op, [value], 1000) == expected, (column, op, value)
