"""Locks for which the library's threads wait: of rows, of tables, and of whole tables of engines that lock no rows."""
from rowsocket_observe import blockers, rates

LANE_NEAR_LIMIT_SHARE = 0.9  # of the lock wait threads are at work
STATEMENT_LENGTH_MAX = 200  # letters of another session's statement that are shown
LONG_TRANSACTION_S = 2  # of SQL that others wait for: KILL is named as a way out

SHORT_TRANSACTIONS = (
    "short transactions of SQL take turns at these rows, and another one would hold them next: LOCK_WAITS of ROWSOCKET_HOT_ROWS"
    " names the rows; let the application change them in fewer statements, as its last ones before COMMIT, or over the port")
# A query for the sessions that may hold rows, for servers that show no locks: it leaves out the library's threads, and
# sessions that wait.
HOLDERS = (
    "SELECT t.trx_mysql_thread_id, t.trx_started, p.user, p.info FROM information_schema.INNODB_TRX t LEFT JOIN"
    " information_schema.PROCESSLIST p ON p.id = t.trx_mysql_thread_id WHERE t.trx_state <> 'LOCK WAIT' AND t.trx_rows_locked > 0"
    f" AND COALESCE(p.user, '') NOT IN ({blockers.OURS}) ORDER BY t.trx_started")
WHO_HOLDS = ("in MariaDB, after INSTALL SONAME 'metadata_lock_info', information_schema.METADATA_LOCK_INFO shows who holds"
             " the lock")
WHO_HAS_THE_BACKUP_LOCK = (
    "a backup's connection has it, or an idle connection after FLUSH TABLES WITH READ LOCK: KILL that connection. MariaDB tells"
    " which one it is, if INSTALL SONAME 'metadata_lock_info' was done before: INSTALL waits for this lock, too")
WHO_HOLDS_IN_MYSQL = "performance_schema.metadata_locks tells who holds the lock"
SHOWS_NO_LOCKS = "performance_schema is OFF, so that the server does not show who holds what"
SHOW_LOCKS = "performance_schema = ON in an option file lets the doctor name the holder, from the server's next start on"


def _shows_locks(look):
    return "MariaDB" in look.now.version or look.now.server.get("performance_schema") != "OFF"


def _who_holds(look):
    """How to find who holds a lock of a table."""
    if not _shows_locks(look):
        return SHOW_LOCKS
    if "MariaDB" not in look.now.version:
        return WHO_HOLDS_IN_MYSQL
    return WHO_HAS_THE_BACKUP_LOCK if "backup lock" in look.now.waits else WHO_HOLDS


def _executes(one):
    """What a session executes, in one line: a client may send megabytes, with line breaks."""
    return f"it executes: {' '.join(one['query'].split())[:STATEMENT_LENGTH_MAX]}"


def _end_of_deadlock(look, one):
    """MariaDB looks for deadlocks only where somebody begins to wait."""
    return (f"KILL {one['thread']} ends it; SET GLOBAL innodb_deadlock_detect = ON lets InnoDB end the next ones"
            if "MariaDB" in look.now.version else
            f"SET GLOBAL innodb_deadlock_detect = ON ends it, as it will the next ones; otherwise KILL {one['thread']}")


def _of_a_holder(look, one):
    """(what it does, what to do) of a transaction that holds rows."""
    if not int(one["thread"] or 0):
        return (f"a transaction of {one['seconds']} s that XA has prepared holds rows for which {one['waits']} wait, and its session"
                " has gone", "XA RECOVER lists it; XA COMMIT or XA ROLLBACK ends it, as its coordinator says")
    query = _executes(one) if one["query"] else "it executes nothing now: its client has not ended it"
    who = f"connection {one['thread']} of SQL ({one['user'] or 'unknown'})"
    if one.get("deadlock"):
        return (f"{who} has been in a deadlock for {one['seconds']} s at most: it holds rows for which {one['waits']} wait, and waits"
                f" for these; innodb_deadlock_detect is OFF, so that only innodb_lock_wait_timeout ends it; {query}",
                blockers.end_of(one, _end_of_deadlock(look, one)))
    return (f"{who} holds rows for which {one['waits']} wait, in a transaction of {one['seconds']} s; {query}",
            blockers.end_of(one, f"let the application commit sooner, or KILL {one['thread']}"
                            if int(one["seconds"] or 0) >= LONG_TRANSACTION_S else SHORT_TRANSACTIONS))


def rows_are_waited_for(look):
    waiting = sum(row["count"] for row in look.now.connections if row["state"] == "lock wait")
    if not waiting or (look.now.waits and not any(look.now.lanes.values())):
        return
    full = ""
    for plugin, threads in look.now.lanes.items():
        limit = look.now.limits.get(plugin, {}).get("lock_wait_threads", 0)
        if limit and threads >= LANE_NEAR_LIMIT_SHARE * limit:
            full += f"; {threads} of {limit} lock wait threads of {plugin} are at work, others queue"
    example = rates.such_as(look, "lock wait", lambda row: int(row["requests"]))
    if not look.blockers:
        shown = _shows_locks(look)
        yield (f"{waiting} connections wait for rows that are locked{example}{full}" + ("" if shown else f"; {SHOWS_NO_LOCKS}"),
               f"{HOLDERS}: the oldest is usually the holder; KILL its trx_mysql_thread_id, unless that is replication (system user);"
               " where it is 0, XA RECOVER lists it" + ("" if shown else f"; {SHOW_LOCKS}"))
    deadlocks = [one for one in look.blockers if one.get("deadlock")]
    for one in [one for one in look.blockers if one not in deadlocks][:3] + deadlocks[:2]:
        does, mend = _of_a_holder(look, one)
        yield f"{waiting} connections wait for rows{example}{full}; {does}", mend


def tables_are_waited_for(look):
    waits = {what: threads for what, threads in look.now.waits.items() if what != blockers.TABLE_LEVEL}
    if not waits:
        return
    count = sum(waits.values())
    what = ", ".join(sorted(waits))
    waiting = f"{count} threads of the library wait for {what}"
    if not look.table_holders:
        yield (f"{waiting}: somebody has FLUSH TABLES WITH READ LOCK, LOCK TABLES, a backup or DDL under way"
               + ("" if _shows_locks(look) else f"; {SHOWS_NO_LOCKS}"), f"SHOW FULL PROCESSLIST; {_who_holds(look)}")
        return
    for one in look.table_holders:
        maybe = "its statement runs" if one.get("runs") else "its transaction is open"
        holds = f"holds {one['holds']} of {one['what'] or 'all tables'}" if one["holds"] else f"may be the cause: {maybe}"
        query = _executes(one) if one["query"] else "it executes nothing now"
        yield (f"{waiting}; connection {one['thread']} of SQL ({one['user'] or 'unknown'}) {holds} for {one['seconds']} s;"
               f" {query}",
               ("" if one["holds"] else f"to be sure: {_who_holds(look)}; ")
               + blockers.end_of(one, f"let it end (COMMIT, UNLOCK TABLES, the end of its ALTER), or KILL {one['thread']}"))


def whole_tables_are_waited_for(look):
    """Transactions that are open hold no such lock."""
    count = look.now.waits.get(blockers.TABLE_LEVEL, 0)
    if not count:
        return
    waiting = (f"{count} threads of the library wait for {blockers.TABLE_LEVEL}, which engines such as MyISAM, Aria and MEMORY"
               " take of a whole table for as long as a statement runs")
    innodb = "ALTER TABLE ... ENGINE = InnoDB locks rows in place of tables"
    if not look.whole_table_holders:
        yield (f"{waiting}: a statement of SQL has it, LOCK TABLES, or a scan over a port", f"SHOW FULL PROCESSLIST; {WHO_HOLDS};"
               f" {innodb}")
    for one in look.whole_table_holders:
        if one["query"]:
            does = f"{'uses' if one['holds'] else 'may use'} {one['what']} for {one['seconds']} s; {_executes(one)}"
        else:
            does = f"may hold {one['what']} by LOCK TABLES; it executes nothing for {one['seconds']} s"
        yield (f"{waiting}; connection {one['thread']} of SQL ({one['user'] or 'unknown'}) {does}",
               blockers.end_of(one, f"let it end, or KILL {one['thread']}") + f"; {innodb}")
