"""One reading of everything that the library tells of itself, over SQL.

The account needs the privilege PROCESS; REPLICATION CLIENT (MariaDB: REPLICA MONITOR) for the lag of a replica, and
SELECT on *.* to see the keys of hot rows.
"""
import dataclasses
import json
import time

PLUGINS = ("handlersocket", "daemon_memcached", "resp")
CLIENTS_MAX = 1000
# The tables of a server on which the library is not loaded, or an older one.
NO_SUCH_TABLE = (1109, 1146)
# An account that may not ask for the state of replication gets these errors: the lag is left out then.
NO_PRIVILEGE = (1045, 1142, 1227)


@dataclasses.dataclass
class Reading:  # pylint: disable=too-many-instance-attributes
    at: float
    version: str = ""
    counters: dict = dataclasses.field(default_factory=dict)  # {plugin: {name: number}}
    limits: dict = dataclasses.field(default_factory=dict)  # {plugin: {variable: number}}
    latencies: list = dataclasses.field(default_factory=list)  # rows of ROWSOCKET_LATENCY
    connections: list = dataclasses.field(default_factory=list)  # plugin, mode, state, count, bytes
    clients: list = dataclasses.field(default_factory=list)  # connections that have asked for most, with their names
    hot_rows: list = dataclasses.field(default_factory=list)  # of the last 60 s
    tables: list = dataclasses.field(default_factory=list)  # rows of ROWSOCKET_TABLE_STATISTICS
    accounts: list = dataclasses.field(default_factory=list)  # rows of ROWSOCKET_USER_STATISTICS
    lanes: int = 0  # threads of the wait lane that wait for a row
    lag_s: float | None = None


def _number(text):
    try:
        return int(text)
    except (TypeError, ValueError):
        return None


def _named_rows(cursor, query):
    """Rows as dictionaries with names in lower case; none where the table is not there."""
    try:
        cursor.execute(query)
    except Exception as error:  # pylint: disable=broad-except # the driver's own classes
        if error.args and error.args[0] in NO_SUCH_TABLE:
            return []
        raise
    names = [column[0].lower() for column in cursor.description]
    return [dict(zip(names, row)) for row in cursor.fetchall()]


def _by_plugin(cursor, what):
    """SHOW GLOBAL STATUS or VARIABLES: the numbers of each plugin that is loaded."""
    found = {}
    for plugin in PLUGINS:
        cursor.execute(f"SHOW GLOBAL {what} LIKE %s", (plugin.replace("_", r"\_") + r"\_%",))
        numbers = {name.lower()[len(plugin) + 1:]: _number(value) for name, value in cursor.fetchall()}
        if numbers:
            found[plugin] = {name: number for name, number in numbers.items() if number is not None}
    return found


def _lag_s(cursor):
    try:
        rows = _named_rows(cursor, "SHOW REPLICA STATUS")
    except Exception as error:  # pylint: disable=broad-except
        if error.args and error.args[0] in NO_PRIVILEGE:
            return None
        raise
    lags = [row.get("seconds_behind_source", row.get("seconds_behind_master")) for row in rows]
    lags = [float(lag) for lag in lags if lag is not None]
    return max(lags) if lags else None


def read(connection, hot_rows=True, clients=True):
    """A Reading by a connection of PyMySQL."""
    reading = Reading(at=time.time())
    with connection.cursor() as cursor:
        cursor.execute("SELECT VERSION()")
        reading.version = cursor.fetchone()[0]
        reading.counters = _by_plugin(cursor, "STATUS")
        reading.limits = _by_plugin(cursor, "VARIABLES")
        reading.latencies = _named_rows(
            cursor, "SELECT plugin, mode, verb, phase, count, sum_us, p50_us, p99_us, max_us, buckets"
            " FROM information_schema.ROWSOCKET_LATENCY")
        for row in reading.latencies:
            row["buckets"] = json.loads(row["buckets"])
        reading.connections = _named_rows(
            cursor, "SELECT plugin, mode, state, COUNT(*) AS count, SUM(buffered_bytes) AS bytes"
            " FROM information_schema.ROWSOCKET_CONNECTIONS GROUP BY plugin, mode, state")
        if clients:
            reading.clients = _named_rows(
                cursor, "SELECT plugin, mode, id, name, account, address, port, state, requests, buffered_bytes"
                f" FROM information_schema.ROWSOCKET_CONNECTIONS ORDER BY requests DESC LIMIT {CLIENTS_MAX}")
        if hot_rows:
            reading.hot_rows = _named_rows(
                cursor, "SELECT * FROM information_schema.ROWSOCKET_HOT_ROWS WHERE seconds = 60")
        reading.tables = _named_rows(cursor, "SELECT * FROM information_schema.ROWSOCKET_TABLE_STATISTICS")
        reading.accounts = _named_rows(cursor, "SELECT * FROM information_schema.ROWSOCKET_USER_STATISTICS")
        cursor.execute("SHOW FULL PROCESSLIST")
        reading.lanes = sum(1 for row in cursor.fetchall()
                            if (row[6] or "").startswith("mode=lock wait, ") and "idle" not in row[6])
        reading.lag_s = _lag_s(cursor)
    return reading
