"""AUTO_INCREMENT columns that have no number left. Most servers answer such an insert as one whose row is there already: MySQL
does for all types but BIGINT UNSIGNED. MariaDB has an error of its own, which failures.engines_fail tells."""
from rowsocket_observe import failures

ERRORS_PER_SECOND = 1  # at a table
LOOKED_AT_MAX = 5  # tables
BITS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
# The account may not see it; there is no such table; it is locked, or takes too long.
NOT_TO_BE_SEEN = (1044, 1045, 1049, 1142, 1143, 1146, 1205, 1969, 3024)
COLUMN = """SELECT column_name, column_type FROM information_schema.COLUMNS
 WHERE table_schema = %s AND table_name = %s AND extra LIKE '%%auto_increment%%'"""


def _rows(connection, query, arguments=None):
    with connection.cursor() as cursor:
        try:
            cursor.execute(query, arguments)
            return cursor.fetchall()
        except Exception as error:  # pylint: disable=broad-except # the driver's own classes
            if error.args and error.args[0] in NOT_TO_BE_SEEN:
                return ()
            raise


def _last(column_type):
    """The highest number of a column, by its type; None: it is not a whole number."""
    bits = BITS.get(column_type.split("(")[0].split()[0].lower())
    return bits and (1 << (bits if "unsigned" in column_type.lower() else bits - 1)) - 1


def _tables_with_errors(look):
    """(plugin, schema, table) of those with most errors, but where a rule tells the engine's failures."""
    found = []
    for plugin in look.now.counters:
        if look.moved(plugin, "engine_failures"):
            continue
        for (schema, table), (_, errors) in failures.errors_by(
                look, plugin, lambda row: (row["table_schema"], row["table_name"])).items():
            if table and errors / look.seconds >= ERRORS_PER_SECOND:
                found.append((errors, plugin, schema, table))
    return [one[1:] for one in sorted(found, reverse=True)[:LOOKED_AT_MAX]]


def of_failing_tables(connection, look):
    """(plugin, table, column, its type) of AUTO_INCREMENT columns that are used up, among tables at which requests fail. Each such
    column is the first of an index, so that its highest number is found at once."""
    found = []
    for plugin, schema, table in _tables_with_errors(look):
        for column, column_type in _rows(connection, COLUMN, (schema, table)):
            name, at, of = ("`" + each.replace("`", "``") + "`" for each in (column, schema, table))
            highest = _rows(connection, f"SELECT MAX({name}) FROM {at}.{of}")
            last = _last(column_type)
            if last and highest and highest[0][0] is not None and int(highest[0][0]) >= last:
                found.append((plugin, f"{schema}.{table}", column, column_type))
    return found


def numbers_are_used_up(look):
    """A rule of trouble.py."""
    for plugin, table, column, column_type in look.used_up:
        yield (f"AUTO_INCREMENT of {table} is used up: {column} ({column_type}) has its highest number, and inserts over {plugin}"
               " fail as if their row were there already",
               f"ALTER TABLE {table} MODIFY {column} ... AUTO_INCREMENT makes the column wider")
