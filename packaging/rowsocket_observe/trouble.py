"""What is wrong with the ports now, in sentences, by two readings and a look at who holds locks.

Each rule takes a Look and yields pairs of what is wrong and what to do. The order is that of how much it hurts.
"""
import dataclasses

from rowsocket_observe import rates

SLOW_COMMIT_US = 10_000
SLOW_QUEUE_US = 20_000
SLOW_EXECUTE_US = 20_000
SLOW_HELD_US = 10_000
HOT_SHARE = 0.5
HOT_REQUESTS_PER_SECOND = 100
NEAR = 0.9
UNREAD_BYTES = 64 << 10
WINDOW_S = 60  # of the hot rows that a Reading has
LOGINS_FAILED_PER_SECOND = 0.5
LAG_S = 10

# What to do about errors that requests get, by the name of their counter.
ERRORS = {
    "errors_denied": "an account may not do what its client asks: GRANT it, or give the client another account",
    "errors_unauth": "clients send a wrong secret or password: lay the right one where they read it",
    "errors_account_rate": "an account asks more than its limit: raise *_account_requests_per_second, or ask less",
    "errors_lock_wait": "rows are locked for longer than innodb_lock_wait_timeout: end the transactions that hold them",
    "errors_lock_tables": "tables are locked (FLUSH TABLES WITH READ LOCK, LOCK TABLES, DDL) or the server is read_only",
    "errors_deadlock": "transactions of SQL lock the same rows in another order: let them lock in the order of the keys",
    "errors_readonly": "clients write to the port that only reads: give them the port of writes",
    "errors_open_table": "clients ask for tables that there are not",
}


@dataclasses.dataclass
class Look:
    before: object  # readings
    now: object
    blockers: list  # of transactions: {"thread", "user", "seconds", "waits", "query"}

    @property
    def seconds(self):
        return max(self.now.at - self.before.at, 1e-3)

    def moved(self, plugin, name):
        """How far a counter has come between the readings."""
        return max(0, self.now.counters.get(plugin, {}).get(name, 0)
                   - self.before.counters.get(plugin, {}).get(name, 0))

    def phases(self):
        """(plugin, {phase: mean us}) of what was asked between the readings."""
        return rates.phases_between(self.before, self.now).items()


MARIADB_BLOCKERS = """
SELECT t.trx_mysql_thread_id AS thread, TIMESTAMPDIFF(SECOND, t.trx_started, NOW()) AS seconds, COUNT(*) AS waits,
       MAX(t.trx_query) AS query, MAX(CONCAT(p.user, '@', p.host)) AS user
FROM information_schema.INNODB_LOCK_WAITS w
JOIN information_schema.INNODB_TRX t ON t.trx_id = w.blocking_trx_id
LEFT JOIN information_schema.PROCESSLIST p ON p.id = t.trx_mysql_thread_id
WHERE t.trx_mysql_thread_id <> 0 GROUP BY thread, seconds ORDER BY waits DESC"""
MYSQL_BLOCKERS = """
SELECT b.processlist_id AS thread, TIMESTAMPDIFF(SECOND, t.trx_started, NOW()) AS seconds, COUNT(*) AS waits,
       MAX(t.trx_query) AS query, MAX(CONCAT(b.processlist_user, '@', b.processlist_host)) AS user
FROM performance_schema.data_lock_waits w
JOIN performance_schema.threads b ON b.thread_id = w.blocking_thread_id
JOIN information_schema.INNODB_TRX t ON t.trx_mysql_thread_id = b.processlist_id
GROUP BY thread, seconds ORDER BY waits DESC"""


def blockers(connection, version):
    """Transactions that hold rows for which others wait; none where the account may not see them."""
    with connection.cursor() as cursor:
        try:
            cursor.execute(MARIADB_BLOCKERS if "MariaDB" in version else MYSQL_BLOCKERS)
        except Exception as error:  # pylint: disable=broad-except
            if error.args and error.args[0] in (1044, 1045, 1142, 1227):
                return []
            raise
        names = [column[0].lower() for column in cursor.description]
        return [dict(zip(names, row)) for row in cursor.fetchall()]


def commits_fail(look):
    for plugin in look.now.counters:
        if count := look.moved(plugin, "commit_failures"):
            yield (f"{count} commits over {plugin} have failed in the last {look.seconds:.0f} s",
                   "the error log says why: as a rule the disk is full, or the binary log cannot be written")


def connections_are_refused(look):
    for plugin in look.now.counters:
        if count := look.moved(plugin, "connections_refused"):
            yield (f"{plugin} has turned {count} connections away in the last {look.seconds:.0f} s",
                   f"raise {plugin}_connections_max and open_files_limit, or look in ROWSOCKET_CONNECTIONS who has so"
                   " many")
        if count := look.moved(plugin, "connections_lost"):
            yield (f"{plugin} has closed {count} connections without an answer in the last {look.seconds:.0f} s",
                   f"the error log says why; for memory, raise {plugin}_memory_max_bytes")


def such_as(look, state, order, where=lambda row: True):
    """The first connection in this state by an order, for an end of a sentence; empty where none is known."""
    rows = [row for row in look.now.clients if row["state"] == state and where(row)]
    return f" (such as {rates.who(max(rows, key=order))})" if rows else ""


def rows_are_waited_for(look):
    waiting = sum(row["count"] for row in look.now.connections if row["state"] == "lock wait")
    if not waiting:
        return
    limit = min((limits["lock_wait_threads"] for limits in look.now.limits.values() if "lock_wait_threads" in limits),
                default=0)
    full = f"; {look.now.lanes} of {limit} lock wait threads are at work, others queue" if limit and \
        look.now.lanes >= NEAR * limit else ""
    example = such_as(look, "lock wait", lambda row: int(row["requests"]))
    if not look.blockers:
        yield (f"{waiting} connections wait for rows that are locked{example}{full}",
               "SELECT * FROM information_schema.INNODB_TRX ORDER BY trx_started: the oldest is as a rule the one; KILL"
               " its trx_mysql_thread_id")
        return
    for one in look.blockers[:3]:
        query = f"it executes: {one['query']}" if one["query"] else "it executes nothing now: its client has not ended it"
        yield (f"{waiting} connections wait for rows{example}{full}; connection {one['thread']} of SQL ({one['user'] or 'unknown'})"
               f" holds rows for which {one['waits']} wait, in a transaction of {one['seconds']} s; {query}",
               f"let the application commit sooner, or KILL {one['thread']}")


def clients_do_not_read(look):
    """Only those of both readings: a long reply is on its way for a moment."""
    def unread(reading):
        return {(row["plugin"], row["mode"]): row for row in reading.connections
                if row["state"] == "unread replies" and row["bytes"] >= UNREAD_BYTES}
    before = unread(look.before)
    for port, row in unread(look.now).items():
        if port in before:
            most = such_as(look, "unread replies", lambda one: int(one["buffered_bytes"]),
                           lambda one, port=port: (one["plugin"], one["mode"]) == port)
            yield (f"{row['count']} connections of {row['plugin']} {row['mode']} have {int(row['bytes'])} bytes of replies"
                   f" that their clients do not read{most}",
                   "SELECT id, address, port, buffered_bytes FROM information_schema.ROWSOCKET_CONNECTIONS ORDER BY"
                   f" buffered_bytes DESC names them; SET GLOBAL {row['plugin']}_kill_connection = ID ends one")


def connections_are_near_their_limit(look):
    for plugin, counters in look.now.counters.items():
        limit = look.now.limits.get(plugin, {}).get("connections_max", 0)
        if limit and counters.get("connections", 0) >= NEAR * limit:
            yield (f"{plugin} has {counters['connections']} connections of {limit}",
                   f"raise {plugin}_connections_max and open_files_limit, or let clients close what they do not use:"
                   " SELECT address, COUNT(*) FROM information_schema.ROWSOCKET_CONNECTIONS GROUP BY address")


def logins_fail(look):
    for plugin in look.now.counters:
        count = look.moved(plugin, "auths_failed")
        if count / look.seconds >= LOGINS_FAILED_PER_SECOND:
            yield (f"{plugin} has refused {count} logins in the last {look.seconds:.0f} s",
                   "the error log names accounts and addresses: an application with an old password, or somebody guesses")


def commits_are_slow(look):
    for plugin, means in look.phases():
        if means.get("commit", 0) >= SLOW_COMMIT_US:
            yield (f"a commit over {plugin} takes {means['commit'] / 1000:.0f} ms in the mean",
                   "the disk (iostat -x 1), a replica that acknowledges late (rpl_semi_sync_*), or a backup that holds"
                   " commits")
        if means.get("held", 0) >= SLOW_HELD_US:
            yield (f"replies to finds over {plugin} wait {means['held'] / 1000:.0f} ms for commits of others",
                   "what makes commits slow makes these slow: the disk, a replica, a backup")


def turns_are_long(look):
    for plugin, means in look.phases():
        if means.get("execute", 0) >= SLOW_EXECUTE_US:
            yield (f"a turn over {plugin} executes for {means['execute'] / 1000:.0f} ms in the mean",
                   "scans and long ranges, or pages that are not in the buffer pool: look at innodb_buffer_pool_size and"
                   " Innodb_buffer_pool_reads, and give scans a connection, or a time, of their own")
        elif means.get("queue", 0) >= SLOW_QUEUE_US:
            yield (f"requests over {plugin} wait {means['queue'] / 1000:.0f} ms before they are executed",
                   f"the processor is busy, or there are too few threads: top, {plugin}_threads")
    busy = sum(row["count"] for row in look.now.connections if row["state"] == "worker busy")
    if busy:
        yield (f"{busy} connections have a worker that is in a turn of more than 0.1 s",
               "SHOW PROCESSLIST names the worker's table; as a rule somebody scans")


def a_row_is_hot(look):
    for plugin in look.now.counters:
        asked = sum(sum(count for _, count in row["buckets"]) for row in look.now.latencies
                    if row["plugin"] == plugin and row["phase"] == "whole")
        asked -= sum(sum(count for _, count in row["buckets"]) for row in look.before.latencies
                     if row["plugin"] == plugin and row["phase"] == "whole")
        rows = [row for row in look.now.hot_rows if row["plugin"] == plugin]
        if not rows or asked / look.seconds < HOT_REQUESTS_PER_SECOND:
            continue
        hottest = max(rows, key=lambda row: int(row["requests"]))
        share = int(hottest["requests"]) / max(1, sum(int(row["requests"]) for row in rows))
        if share >= HOT_SHARE:
            merged = int(hottest["merged"]) / max(1, int(hottest["requests"]))
            yield (f"{share:.0%} of what is asked of the hot rows over {plugin} is for one: {hottest['table_schema']}."
                   f"{hottest['table_name']} {hottest['index_name']} {hottest['key_text']}; {merged:.0%} of it is merged",
                   "in a flash sale that is as it should be; else find who asks, and let them keep the row for a moment"
                   if merged > 0.5 else "if these are writes, SHOW STATUS LIKE '%unmerged%' says why they are not merged;"
                   " if they are reads, let the application keep the row for a moment")


def the_cluster_conflicts(look):
    for plugin in look.now.counters:
        if (count := look.moved(plugin, "conflicts")) / look.seconds >= 1:
            yield (f"{count} batches over {plugin} were lost to other nodes in the last {look.seconds:.0f} s",
                   "let all writes of one table go to one node: CLUSTERS.md")


def the_replica_is_behind(look):
    if look.now.lag_s is not None and look.now.lag_s >= LAG_S:
        yield (f"this replica is {look.now.lag_s:.0f} s behind its source",
               "clients that must see their own writes use H at, or the source: CLUSTERS.md")


def requests_fail(look):
    for plugin in look.now.counters:
        for name, advice in ERRORS.items():
            count = look.moved(plugin, name)
            if count / look.seconds >= 1:
                yield f"{count} requests over {plugin} were answered {name[len('errors_'):]} in the last {look.seconds:.0f} s", advice


RULES = (commits_fail, connections_are_refused, rows_are_waited_for, clients_do_not_read,
         connections_are_near_their_limit, logins_fail, commits_are_slow, turns_are_long, a_row_is_hot,
         the_cluster_conflicts, the_replica_is_behind, requests_fail)


def what_is_wrong(look):
    """[(what is wrong, what to do), ...], the worst first."""
    return [finding for rule in RULES for finding in rule(look)]
