"""Who holds the rows and tables for which the library's threads wait, as far as the server shows locks."""
import re

OUR_USERS = ("handlersocket", "memcached", "resp")
# Errors: the account may not see it; there is no such table; the statement is for another server; it takes too long.
NOT_TO_BE_SEEN = (1044, 1045, 1109, 1142, 1146, 1227, 1969, 3024)
SHOWN = 5
# How the process list names threads that apply the writes of a replication source, or of another node of a cluster.
REPLICATION = "system user"
OURS = ", ".join(f"'{user}'" for user in OUR_USERS)

# The library's own threads hold rows, too, for as long as a batch takes, and nobody is to KILL them. A transaction that XA
# has prepared may have no thread: 0. In MariaDB all transactions that have only read have the number 0, those that have locked
# rows by LOCK IN SHARE MODE, and those that have locked none.
MARIADB_ROWS = f"""
SELECT t.trx_id AS trx, t.trx_mysql_thread_id AS thread, TIMESTAMPDIFF(SECOND, t.trx_started, NOW()) AS seconds,
       COUNT(*) AS waits, t.trx_state AS state, MAX(t.trx_query) AS query, MAX(CONCAT(p.user, '@', p.host)) AS user
FROM information_schema.INNODB_LOCK_WAITS w
JOIN information_schema.INNODB_TRX t ON t.trx_id = w.blocking_trx_id AND (t.trx_id <> 0 OR t.trx_rows_locked > 0)
LEFT JOIN information_schema.PROCESSLIST p ON p.id = t.trx_mysql_thread_id
WHERE p.user IS NULL OR p.user NOT IN ({OURS}) GROUP BY trx, thread, seconds, state ORDER BY waits DESC"""
# performance_schema has no account for the library's threads, and may have none for a thread of replication: their names tell.
MYSQL_USER = (f"IF({{0}}.name LIKE 'thread/sql/replica%', '{REPLICATION}',"
              " CONCAT({0}.processlist_user, '@', {0}.processlist_host))")
MYSQL_ROWS = f"""
SELECT t.trx_id AS trx, t.trx_mysql_thread_id AS thread, TIMESTAMPDIFF(SECOND, t.trx_started, NOW()) AS seconds,
       COUNT(*) AS waits, t.trx_state AS state, MAX(t.trx_query) AS query, MAX({MYSQL_USER.format('b')}) AS user
FROM performance_schema.data_lock_waits w
JOIN information_schema.INNODB_TRX t ON t.trx_id = w.blocking_engine_transaction_id
LEFT JOIN performance_schema.threads b ON b.processlist_id = t.trx_mysql_thread_id
WHERE b.name IS NULL OR b.name NOT LIKE 'thread/rowsocket/%'
GROUP BY trx, thread, seconds, state ORDER BY waits DESC"""
# Which transaction waits for which: one that is queued before it for a row, too, and not only the row's holder.
MARIADB_WAITS = "SELECT DISTINCT requesting_trx_id AS waits, blocking_trx_id AS holds FROM information_schema.INNODB_LOCK_WAITS"
MYSQL_WAITS = """
SELECT DISTINCT requesting_engine_transaction_id AS waits, blocking_engine_transaction_id AS holds
FROM performance_schema.data_lock_waits"""

# Sessions of SQL that hold a lock of a table, or of all tables, for which another session waits. The table of locks has
# no index by the locked object, so the awaited locks are gathered first: all others are then read once, and not once
# for each wait.
MYSQL_TABLES = f"""
SELECT h.processlist_id AS thread, {MYSQL_USER.format('h')} AS user, h.processlist_info AS query,
       h.processlist_time AS seconds, l.holds, l.what
FROM (SELECT g.owner_thread_id AS owner, MAX(g.lock_type) AS holds,
             MAX(CONCAT_WS('.', g.object_schema, g.object_name)) AS what
      FROM (SELECT object_type AS kind, COALESCE(object_schema, '') AS in_schema, COALESCE(object_name, '') AS name,
                   MIN(owner_thread_id) AS one, MAX(owner_thread_id) AS other
            FROM performance_schema.metadata_locks WHERE lock_status = 'PENDING' GROUP BY kind, in_schema, name) p
      JOIN performance_schema.metadata_locks g ON g.lock_status = 'GRANTED' AND g.object_type = p.kind
       AND COALESCE(g.object_schema, '') = p.in_schema AND COALESCE(g.object_name, '') = p.name
       AND (g.owner_thread_id <> p.one OR g.owner_thread_id <> p.other)
      WHERE g.lock_type <> 'INTENTION_EXCLUSIVE' GROUP BY owner) l
JOIN performance_schema.threads h ON h.thread_id = l.owner
WHERE h.processlist_id IS NOT NULL AND (h.processlist_user NOT IN ({OURS}) OR h.name LIKE 'thread/sql/replica%')
ORDER BY seconds DESC"""
SESSIONS = f"p.user NOT IN ({OURS}) AND p.id <> CONNECTION_ID() AND COALESCE(p.state, '') NOT LIKE 'Waiting for %lock'"
# The plugin metadata_lock_info knows the holders; it is not loaded as installed. It does not know who waits for what, so
# that all holders of the kind of lock that is waited for are named; but not those of locks that harm only DDL, where none waits.
MARIADB_TABLES = f"""
SELECT m.thread_id AS thread, CONCAT(p.user, '@', p.host) AS user, p.info AS query, p.time AS seconds, m.holds, m.what
FROM (SELECT thread_id, MAX(lock_mode) AS holds,
             MAX(CONCAT_WS('.', NULLIF(table_schema, ''), NULLIF(table_name, ''))) AS what
      FROM information_schema.METADATA_LOCK_INFO
      WHERE lock_mode NOT IN ({{harmless}}) AND LOWER(lock_type) IN ({{waits}}) GROUP BY thread_id) m
JOIN information_schema.PROCESSLIST p ON p.id = m.thread_id
WHERE {SESSIONS} ORDER BY seconds DESC"""
HARMLESS = ("MDL_INTENTION_EXCLUSIVE",)
HARMFUL_TO_DDL = ("MDL_SHARED", "MDL_SHARED_HIGH_PRIO", "MDL_SHARED_READ", "MDL_SHARED_WRITE", "MDL_SHARED_UPGRADABLE")
# Where nobody says who holds a lock of a table: statements that lock one for as long as they run, and transactions, which keep
# the locks of their statements. These harm nobody but such a statement, and sessions that queue after it.
TABLE_METADATA = "table metadata lock"
DDL = re.compile(r"\s*(?:/\*.*?\*/\s*)*(?:SET\s+STATEMENT\b.*?\bFOR\s+)?"
                 r"(?:ALTER|CREATE|DROP|FLUSH|LOCK|OPTIMIZE|RENAME|REPAIR|TRUNCATE)\b", re.IGNORECASE | re.DOTALL)
WAITING = f"""
SELECT p.info AS query FROM information_schema.PROCESSLIST p
WHERE p.user NOT IN ({OURS}) AND p.state = 'Waiting for {TABLE_METADATA}' AND p.info IS NOT NULL"""
OPEN_TRANSACTIONS = f"""
SELECT t.trx_mysql_thread_id AS thread, TIMESTAMPDIFF(SECOND, t.trx_started, NOW()) AS seconds, t.trx_query AS query,
       CONCAT(p.user, '@', p.host) AS user, NULL AS holds, NULL AS what
FROM information_schema.INNODB_TRX t JOIN information_schema.PROCESSLIST p ON p.id = t.trx_mysql_thread_id
WHERE {SESSIONS} ORDER BY t.trx_started"""

# How MariaDB's process list names the lock of engines that lock whole tables, such as MyISAM; MySQL's ports serve no
# such engine. A statement holds this lock until its end, but a transaction does not: an idle session holds it only by
# LOCK TABLES.
TABLE_LEVEL = "table level lock"
# Sessions that use a table for which a thread of the library waits.
USERS_OF_TABLES = f"""
SELECT p.id AS thread, CONCAT(p.user, '@', p.host) AS user, p.info AS query, p.time AS seconds, m.lock_mode AS holds,
       m.table_schema AS in_schema, m.table_name AS name
FROM information_schema.METADATA_LOCK_INFO m JOIN information_schema.PROCESSLIST p ON p.id = m.thread_id
WHERE {SESSIONS} AND m.lock_type = 'Table metadata lock' AND (m.table_schema, m.table_name) IN
 (SELECT w.table_schema, w.table_name FROM information_schema.METADATA_LOCK_INFO w
  JOIN information_schema.PROCESSLIST q ON q.id = w.thread_id
  WHERE w.lock_type = 'Table metadata lock' AND q.user IN ({OURS}) AND q.state = 'Waiting for {TABLE_LEVEL}')
ORDER BY p.info IS NULL, p.time DESC"""
# Statements, and tables that the ports have served, whose names may be in these statements, if the server does not say
# who uses which table.
STATEMENTS = f"""
SELECT p.id AS thread, CONCAT(p.user, '@', p.host) AS user, p.info AS query, p.time AS seconds
FROM information_schema.PROCESSLIST p WHERE {SESSIONS} AND p.info IS NOT NULL ORDER BY p.time DESC"""
SERVED_TABLES = """
SELECT DISTINCT table_schema AS in_schema, table_name AS name FROM information_schema.ROWSOCKET_TABLE_STATISTICS
WHERE table_name <> ''"""
# MariaDB opens every table of the server for a query that does not name the table.
ENGINE = "SELECT engine FROM information_schema.TABLES WHERE table_schema = {in_schema} AND table_name = {name}"


def _rows(connection, query):
    """Rows as dictionaries; None if the account may not see them, or the server does not have them."""
    with connection.cursor() as cursor:
        try:
            cursor.execute(query)
        except Exception as error:  # pylint: disable=broad-except # the driver's own classes
            if error.args and error.args[0] in NOT_TO_BE_SEEN:
                return None
            raise
        names = [column[0].lower() for column in cursor.description]
        return [dict(zip(names, row)) for row in cursor.fetchall()]


def _in_a_deadlock(waits):
    """The transactions that wait for one another: what is left without those for which nobody waits, or that wait for nobody."""
    edges = {(one["waits"], one["holds"]) for one in waits if one["waits"] != one["holds"]}
    while True:
        waiting, holding = ({edge[end] for edge in edges} for end in (0, 1))
        left = {(first, other) for first, other in edges if first in holding and other in waiting}
        if left == edges:
            return waiting
        edges = left


def of_rows(connection, version, ends_deadlocks=True):
    """Transactions that hold rows for which others wait: thread, seconds, waits, query, user; deadlock, where they wait for
    one another and the server does not end that. Sessions that queue after them are left out, although
    others wait for these, too."""
    is_mariadb = "MariaDB" in version
    found = _rows(connection, MARIADB_ROWS if is_mariadb else MYSQL_ROWS) or []
    holders = [one for one in found if one["state"] != "LOCK WAIT"]
    if ends_deadlocks:
        return holders
    locked = _in_a_deadlock(_rows(connection, MARIADB_WAITS if is_mariadb else MYSQL_WAITS) or [])
    return holders + [{**one, "deadlock": True} for one in found if one["state"] == "LOCK WAIT" and one["trx"] in locked]


def _ddl_waits(connection):
    return any(DDL.match(one["query"]) for one in _rows(connection, WAITING) or [])


def _may_hold_tables(connection):
    running = [one for one in _rows(connection, STATEMENTS) or [] if DDL.match(one["query"])]
    transactions = _rows(connection, OPEN_TRANSACTIONS) or [] if _ddl_waits(connection) else []
    numbers = {one["thread"] for one in running}
    return ([{**one, "holds": None, "what": None, "runs": True} for one in running]
            + [one for one in transactions if one["thread"] not in numbers])


def of_tables(connection, version, waits, shows_locks=True):
    """Sessions that hold, or may hold, the locks of tables for which others wait: thread, user, query, seconds, holds
    (None: it is not known whether it holds one; runs is there, too, where it would be by its statement), what. `waits`: the
    kinds of locks, as the process list names them; at least one. `shows_locks`: performance_schema is ON, of MySQL."""
    if "MariaDB" in version:
        harmless = HARMLESS if _ddl_waits(connection) else HARMLESS + HARMFUL_TO_DDL
        kinds, modes = (", ".join(map(connection.escape, names)) for names in ([kind.lower() for kind in waits], harmless))
        found = _rows(connection, MARIADB_TABLES.format(waits=kinds, harmless=modes))
    else:
        found = _rows(connection, MYSQL_TABLES) if shows_locks else None
    if found is None:
        found = _may_hold_tables(connection) if TABLE_METADATA in waits else []
    return found[:SHOWN]


def _named_by_statements(connection):
    tables = _rows(connection, SERVED_TABLES) or []
    return [{**one, "holds": None, **table} for one in _rows(connection, STATEMENTS) or [] for table in tables
            if re.search(rf"(?<![\w$]){re.escape(table['name'])}(?![\w$])", one["query"])]


def of_whole_tables(connection):
    """Sessions that hold, or may hold, a table of an engine that locks whole tables, for which threads of the library
    wait, in the form of of_tables, each once. Idle sessions, without a query, are among them only if no running
    statement may be the cause."""
    users = _rows(connection, USERS_OF_TABLES)
    found, engines = {}, {}
    for one in users if users is not None else _named_by_statements(connection):
        table = (one["in_schema"], one["name"])
        if table not in engines:
            asked = _rows(connection, ENGINE.format(in_schema=connection.escape(table[0]), name=connection.escape(table[1])))
            engines[table] = asked[0]["engine"] if asked else None
        if engines[table] not in (None, "InnoDB"):
            found.setdefault(one["thread"], {**one, "what": ".".join(table)})
    executing = [one for one in found.values() if one["query"]]
    return (executing or list(found.values()))[:SHOWN]


def end_of(one, otherwise):
    """What to do about a session that holds something."""
    return ("it is replication, which KILL would stop: wait for it, or look at the source"
            if str(one["user"] or "").startswith(REPLICATION) else otherwise)
