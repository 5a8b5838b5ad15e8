"""One reading of everything that the library shows about itself, over SQL.

The account needs the privilege PROCESS; REPLICATION CLIENT (MariaDB: REPLICA MONITOR) for the lag of a replica, and
SELECT on *.* to see the keys of hot rows.
"""
import dataclasses
import json
import time

from rowsocket_observe import accounts, upkeep
from rowsocket_observe.blockers import OUR_USERS, OURS

PLUGINS = ("handlersocket", "daemon_memcached", "resp")
PLUGIN_OF_USER = dict(zip(OUR_USERS, PLUGINS))  # by the names of their threads in the process list
# Status variables of the server: numbers, or words.
SERVER_STATUS = ("Innodb_history_list_length", "wsrep_ready", "wsrep_cluster_status", "wsrep_provider_name",
                 "wsrep_flow_control_paused_ns", "wsrep_local_state_comment",
                 "Innodb_buffer_pool_reads", "Innodb_buffer_pool_read_requests",
                 "Innodb_checkpoint_age", "Innodb_checkpoint_max_age",  # MariaDB's
                 "Innodb_redo_log_current_lsn", "Innodb_redo_log_checkpoint_lsn", "Innodb_redo_log_capacity_resized",  # MySQL's
                 "Innodb_redo_log_enabled",
                 "Rpl_semi_sync_master_status", "Rpl_semi_sync_source_status",
                 "Table_open_cache_overflows", "Open_tables", "Opened_tables", "Access_denied_errors")
SERVER_VARIABLES = ("rpl_semi_sync_master_enabled", "rpl_semi_sync_source_enabled", "read_only", "super_read_only",
                    "innodb_read_only", "offline_mode", "daemon_memcached_user", "resp_user", "table_open_cache", "lc_messages",
                    "performance_schema", "innodb_deadlock_detect",
                    "handlersocket_accounts", "handlersocket_plain_secret", "handlersocket_plain_secret_wr", "log_bin",
                    "binlog_commit_wait_count", "binlog_commit_wait_usec",  # MariaDB's
                    "binlog_group_commit_sync_delay", "binlog_group_commit_sync_no_delay_count",  # MySQL's
                    "innodb_thread_concurrency",  # MySQL's
                    "long_query_time")
HOT_ROWS_NOW_S = 10  # the shortest window of ROWSOCKET_HOT_ROWS
HOT_ROWS_S = 60
MYSQL_HISTORY = "SELECT count FROM information_schema.INNODB_METRICS WHERE name = 'trx_rseg_history_len'"
OLDEST = """SELECT TIMESTAMPDIFF(SECOND, t.trx_started, NOW()) AS seconds, t.trx_mysql_thread_id AS thread,
 CONCAT(p.user, '@', p.host) AS user FROM information_schema.INNODB_TRX t LEFT JOIN information_schema.PROCESSLIST p
 ON p.id = t.trx_mysql_thread_id WHERE t.trx_mysql_thread_id <> 0 ORDER BY t.trx_started LIMIT 1"""
# Leaves the column INFO out, unlike SHOW PROCESSLIST: it has statements of any session, whose bytes need not be UTF-8.
# MySQL's performance_schema.processlist does not have the states that the library gives its threads.
THREADS = f"SELECT user, time, state FROM information_schema.PROCESSLIST WHERE user IN ({OURS})"
# States of a thread while a commit is written, or waits for the disk or a replica; for a moment they are no trouble.
COMMIT_STATES = ("commit", "waiting for someone to free space", "waiting for handler commit", "waiting for semi-sync",
                 "writing to binlog")
CLIENTS_MAX = 1000
CLIENTS_ALL = 1 << 20
# The error for tables that a server lacks because the library is not loaded, or is an older one.
NO_SUCH_TABLE = (1109, 1146)
# Errors (the driver's and the server's) of a lost connection, after which every statement fails.
NO_CONNECTION = (0, 1053, 1927, 2006, 2013, 2055, 4031)
# Errors of an account that may not see the state of replication: the lag is then left out.
NO_PRIVILEGE = (1045, 1142, 1227)


@dataclasses.dataclass
class Reading:  # pylint: disable=too-many-instance-attributes
    at: float  # seconds of a clock that does not step
    version: str = ""
    counters: dict = dataclasses.field(default_factory=dict)  # {plugin: {name: number}}
    limits: dict = dataclasses.field(default_factory=dict)  # {plugin: {variable: number}}
    latencies: list = dataclasses.field(default_factory=list)  # rows of ROWSOCKET_LATENCY
    connections: list = dataclasses.field(default_factory=list)  # plugin, mode, state, count, bytes
    clients: list = dataclasses.field(default_factory=list)  # connections that ask for something, with their names
    hot_rows: list = dataclasses.field(default_factory=list)  # of the window that was asked for
    tables: list = dataclasses.field(default_factory=list)  # rows of ROWSOCKET_TABLE_STATISTICS
    accounts: list = dataclasses.field(default_factory=list)  # rows of ROWSOCKET_USER_STATISTICS
    lanes: dict = dataclasses.field(default_factory=dict)  # {plugin: threads of its wait lane that wait for a row}
    waits: dict = dataclasses.field(default_factory=dict)  # {the lock for which the library's threads wait, but a row's: threads}
    server: dict = dataclasses.field(default_factory=dict)  # SERVER_STATUS and SERVER_VARIABLES in lower case
    oldest: dict = dataclasses.field(default_factory=dict)  # the transaction that is open longest: seconds, thread, user
    lag_s: float | None = None
    delay_s: float = 0  # of this lag, what a replica is asked to wait (SQL_Delay)
    replication: dict = dataclasses.field(default_factory=dict)  # of a replica: {"receives" or "applies": all such threads run}
    stalls: list = dataclasses.field(default_factory=list)  # states of the library's threads in which a commit waits
    stalled_s: dict = dataclasses.field(default_factory=dict)  # {plugin: since when the oldest of these threads' turns runs}
    stopped: list = dataclasses.field(default_factory=list)  # of a replica: (what it does not do, state, last error)
    gone: list = dataclasses.field(default_factory=list)  # tables of the library's own that are not there, see upkeep.NEEDED
    expired: dict = dataclasses.field(default_factory=dict)  # see upkeep: {what is mapped: rows that should have gone}
    tokens_age_s: tuple | None = None  # of the oldest token and of the newest one
    tokens_unindexed: bool = False  # there are tokens, but their index by age is missing
    limited: list = dataclasses.field(default_factory=list)  # accounts with limits of their own, with these limits
    refusals: list = dataclasses.field(default_factory=list)  # MySQL: lines of the error log about logins, of the last 30 s
    installed: list | None = None  # plugins of the library that INSTALL has noted; None: it cannot be seen
    failed: dict = dataclasses.field(default_factory=dict)  # {part: the error for which it could not be read}


def _number(text):
    try:
        return int(text)
    except (TypeError, ValueError):
        return None


def _named_rows(cursor, query):
    """Rows as dictionaries with names in lower case; none if the table does not exist."""
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


def _lag_of(row):
    """By how many seconds a source's changes come late, and how many of them an administrator has asked for."""
    return row.get("seconds_behind_source", row.get("seconds_behind_master")), float(row.get("sql_delay") or 0)


def _take_replication(cursor, reading):
    try:
        # MySQL's statement has all channels.
        rows = _named_rows(cursor, "SHOW ALL REPLICAS STATUS" if "MariaDB" in reading.version else "SHOW REPLICA STATUS")
    except Exception as error:  # pylint: disable=broad-except
        if error.args and error.args[0] in NO_PRIVILEGE:
            return
        raise
    # Of several sources, the one whose changes are latest beyond their delay.
    lags = [(float(lag) - min(float(lag), delay), float(lag), delay) for lag, delay in map(_lag_of, rows) if lag is not None]
    if lags:
        _, reading.lag_s, reading.delay_s = max(lags)
    for row in rows:
        # MariaDB has kept the old names of the columns; each has one of both.
        for thread, names, error in (("receives", ("replica_io_running", "slave_io_running"), "last_io_error"),
                                     ("applies", ("replica_sql_running", "slave_sql_running"), "last_sql_error")):
            states = [row[name] for name in names if name in row]
            if not states:
                continue
            reading.replication[thread] = reading.replication.get(thread, True) and states[0] == "Yes"
            if states[0] != "Yes":
                reading.stopped.append((thread, states[0], row.get(error) or ""))


def _take_threads(cursor, reading):
    cursor.execute(THREADS)
    for user, seconds, state in cursor.fetchall():
        plugin, state = PLUGIN_OF_USER.get(user), state or ""
        if plugin is None:  # an account of SQL: the server compares names without regard to case
            continue
        if "mode=lock wait, " in state and "idle" not in state:
            reading.lanes[plugin] = reading.lanes.get(plugin, 0) + 1
        elif state.lower().startswith(COMMIT_STATES):
            reading.stalls.append(state)
            reading.stalled_s[plugin] = max(reading.stalled_s.get(plugin, 0), int(seconds or 0))
        # MySQL also waits "for handler commit", at each commit.
        elif state.lower().startswith("waiting for ") and state.endswith("lock"):
            what = state[len("waiting for "):]
            reading.waits[what] = reading.waits.get(what, 0) + 1


def _take_server(cursor, reading):
    for what, names in (("STATUS", SERVER_STATUS), ("VARIABLES", SERVER_VARIABLES)):
        cursor.execute(f"SHOW GLOBAL {what} WHERE Variable_name IN ({', '.join(['%s'] * len(names))})", names)
        reading.server.update({name.lower(): value for name, value in cursor.fetchall()})
    # A reading itself opens tables, which says nothing about the server.
    cursor.execute("SHOW SESSION STATUS WHERE Variable_name IN ('Opened_tables', 'Table_open_cache_overflows')")
    for name, own in cursor.fetchall():
        reading.server[name.lower()] = int(reading.server[name.lower()]) - int(own)
    try:
        if "innodb_history_list_length" not in reading.server:
            cursor.execute(MYSQL_HISTORY)
            reading.server["innodb_history_list_length"] = (cursor.fetchone() or ("0",))[0]
        reading.oldest = (_named_rows(cursor, OLDEST) or [{}])[0]
    except Exception as error:  # pylint: disable=broad-except
        if error.args and error.args[0] in NO_PRIVILEGE:
            return
        raise


def _take_installed(cursor, reading):
    try:
        cursor.execute("SELECT name FROM mysql.plugin WHERE dl LIKE 'rowsocket%'")
    except Exception as error:  # pylint: disable=broad-except
        if error.args and error.args[0] in NO_PRIVILEGE:
            return
        raise
    reading.installed = [str(name).lower() for name, in cursor.fetchall()]


def _take_latencies(cursor, reading):
    reading.latencies = _named_rows(
        cursor, "SELECT plugin, mode, verb, phase, count, sum_us, p50_us, p99_us, max_us, buckets"
        " FROM information_schema.ROWSOCKET_LATENCY")
    for row in reading.latencies:
        row["buckets"] = json.loads(row["buckets"])


def _take_connections(cursor, reading, clients):
    reading.connections = _named_rows(
        cursor, "SELECT plugin, mode, state, COUNT(*) AS count, SUM(buffered_bytes) AS bytes, MAX(idle_ms) AS idle_ms"
        " FROM information_schema.ROWSOCKET_CONNECTIONS GROUP BY plugin, mode, state")
    if clients:
        reading.clients = _named_rows(
            cursor, "SELECT plugin, mode, id, name, account, address, port, state, requests, errors, age_ms, buffered_bytes"
            " FROM information_schema.ROWSOCKET_CONNECTIONS ORDER BY (state IN ('lock wait', 'unread replies')) DESC,"
            f" idle_ms, requests DESC LIMIT {int(clients)}")


def _take_hot_rows(cursor, reading, seconds):
    reading.hot_rows = _named_rows(
        cursor, f"SELECT * FROM information_schema.ROWSOCKET_HOT_ROWS WHERE seconds = {int(seconds)}")


def _take_usage(cursor, reading):
    reading.tables = _named_rows(cursor, "SELECT * FROM information_schema.ROWSOCKET_TABLE_STATISTICS")
    reading.accounts = _named_rows(cursor, "SELECT * FROM information_schema.ROWSOCKET_USER_STATISTICS")


def parts(hot_rows_s=HOT_ROWS_S, clients=0, server=False):
    """The parts of a reading after the counters, by name: functions that take a cursor and the reading."""
    takers = {"latencies": _take_latencies,
              "connections": lambda cursor, reading: _take_connections(cursor, reading, clients),
              "hot_rows": lambda cursor, reading: _take_hot_rows(cursor, reading, hot_rows_s),
              "usage": _take_usage, "threads": _take_threads}
    if server:
        takers.update(server=_take_server, upkeep=upkeep.take, limits=accounts.take, installed=_take_installed)
    return {**takers, "replication": _take_replication}


def sees_all(reading):
    """Whether the account sees the ports' connections. Without PROCESS the library's tables are empty for it."""
    connections = sum(counters.get("connections", 0) for counters in reading.counters.values())
    # The last client may have left between the two statements.
    return (connections == 0 or bool(reading.connections) or bool(reading.latencies)
            or not reading.failed.keys().isdisjoint(("connections", "latencies")))


def read(connection, hot_rows_s=HOT_ROWS_S, clients=CLIENTS_MAX, server=False, in_parts=False):
    """A Reading by a connection of PyMySQL. `clients`: how many connections it names at most, first those that wait,
    then those with the latest requests; `hot_rows_s`: a window of ROWSOCKET_HOT_ROWS; `server`: with the server's own
    numbers and its transactions; `in_parts`: a part that cannot be read, for instance because a temporary table finds
    no room, is named in `failed`, and the others are read."""
    reading = Reading(at=time.monotonic())
    with connection.cursor() as cursor:
        cursor.execute("SELECT VERSION()")
        reading.version = cursor.fetchone()[0]
        reading.counters = _by_plugin(cursor, "STATUS")
        reading.limits = _by_plugin(cursor, "VARIABLES")
        for name, take in parts(hot_rows_s, clients, server).items():
            try:
                take(cursor, reading)
            except ValueError as error:  # for instance because of bytes that are not UTF-8
                if not in_parts:
                    raise
                # The driver has left the rest of the answer unread, and would take it for the next answer.
                connection.close()
                connection.connect()
                reading.failed[name] = str(error)
            except Exception as error:  # pylint: disable=broad-except # the driver's own classes
                number = error.args[0] if error.args else 0
                if not in_parts or not isinstance(number, int) or number in NO_CONNECTION:
                    raise
                reading.failed[name] = str(error.args[-1])
    return reading
