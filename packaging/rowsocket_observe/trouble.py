"""What is wrong with the ports now, in sentences, by two readings and a look at who holds locks.

Each rule takes a Look and yields pairs of what is wrong and what to do. The rules are in the order of how much the
trouble hurts.
"""
import dataclasses

from rowsocket_observe import (accounts, certificates, failures, handshakes, large, rates, redo, replicas, slow, unseen, upkeep,
                               used_up, waits)

# A rule reports what has reached its thresholds. Microseconds are means over the requests between the readings.
SLOW_COMMIT_US = 10_000
DELAY_SHARE = 0.5  # of a commit's time: at least this much is the server's own delay if it is the cause
SLOW_QUEUE_US = 20_000  # before a request is executed
SLOW_EXECUTE_US = 20_000  # in a turn
LONG_TURNS = 4  # of one verb, between the readings: fewer may be the machine's doing
LONG_TURNS_SHARE = 0.1  # of the time between the readings that those of one verb take together
LONG_TURNS_ROWS = 100  # read for each long turn: from these on they are the reason
# Verbs of which one request may read many rows. Those that write are left out: their rows do not count as read.
READ_MANY_ROWS = ("find", "get", "gat", "mget", "exists", "touch", "keys", "scan", "dbsize", "randomkey", "info", "exec",
                  "group")
SLOW_HELD_US = 10_000  # in which replies to finds wait for commits of others
HOT_SHARE = 0.5  # that one row has of what is asked of the hot rows, and of all requests
HOT_REQUESTS_PER_SECOND = 100  # over the plugin: where less is asked no row is hot
HOT_WINDOW_MAX_S = 20  # the counts of hot rows are of 10 to this many seconds
NEAR_LIMIT_SHARE = 0.9  # of a limit
UNREAD_BYTES = 64 << 10  # of replies, in both readings
BATCH_STANDS_STILL_MS = 1000
TLS_FAILED_PER_SECOND = 0.5  # handshakes
RUN_AGAIN_PER_SECOND = 5  # batches
TIMED_OUT_PER_SECOND = 1  # connections
CONFLICTS_PER_SECOND = 1  # batches that other nodes of the cluster have won
ONE_CLIENTS_SHARE = 0.5  # of all requests
ONE_CLIENTS_REQUESTS_PER_SECOND = 1000  # fewer harm nobody
FEW_CONNECTIONS = 10  # with fewer, one of them may well have most requests
READS_PER_SECOND = 1000  # of pages, from the disk
READS_SHARE = 0.01  # of the requested pages
NEW_CONNECTIONS_PER_SECOND = 200
REOPENED_PER_SECOND = 20  # tables, because the cache of open ones is full


# Counters of each plugin that should hardly move: how many a second are too many (0: any), what that means, and what to
# do.
COUNTED = {
    "commit_failures": (
        0, "{count} commits over {plugin} have failed",
        "the error log says why: usually the disk is full, or the binary log cannot be written"),
    "connections_refused": (
        0, "{plugin} has turned {count} connections away",
        "the error log says which limit it was: {plugin}_connections_max, open_files_limit, fs.file-max, "
        "fs.epoll.max_user_watches, or memory; ROWSOCKET_CONNECTIONS shows a client that has very many"),
    "connections_lost": (
        0, "{plugin} has closed {count} connections without an answer",
        "the error log says why; for memory, raise {plugin}_memory_max_bytes"),
    "tls_failed": (
        TLS_FAILED_PER_SECOND, "{count} TLS handshakes with {plugin} have failed",
        "the error log says why: usually a certificate that has expired, another authority's, or clients that go away before"
        " the end"),
    "plain_refused": (
        0, "{plugin} has refused {count} connections without TLS",
        "let the clients use TLS, or set {plugin}_ssl = ON, which takes both, in an option file, and start the server again"),
    "connections_timed_out": (
        TIMED_OUT_PER_SECOND, "{plugin} has closed {count} connections, because their clients sent nothing, or did not log in,",
        "let clients close what they do not use, or raise {plugin}_timeout and {plugin}_auth_timeout"),
    "batch_retries": (
        RUN_AGAIN_PER_SECOND,
        "{count} batches over {plugin} ran again, usually because transactions of SQL lock the same rows in another order,",
        "let transactions lock rows in the order of their keys; SHOW ENGINE INNODB STATUS has the last deadlock; in MySQL, "
        "where that one is old, writes that seldom change a row make batches run again, which costs little"),
    "conflicts": (
        CONFLICTS_PER_SECOND, "{count} batches over {plugin} were lost to other nodes",
        "let all writes of one table go to one node: CLUSTERS.md"),
}


def counter(name):
    """The rule about one of COUNTED."""
    least, what, mend = COUNTED[name]

    def rule(look):
        for plugin in look.now.counters:
            count = look.moved(plugin, name)
            # In MySQL a batch runs again for each row that is there already, whoever else locks rows.
            if name == "batch_retries" and "MariaDB" not in look.now.version:
                count = max(0, count - look.moved(plugin, "duplicates"))
            if count and count / look.seconds >= least:
                yield f"{what.format(count=count, plugin=plugin)} in the last {look.seconds:.0f} s", mend.format(plugin=plugin)
    return rule


@dataclasses.dataclass
class Look:
    before: object  # readings
    now: object
    blockers: list  # that hold rows, see blockers.of_rows
    table_holders: list = dataclasses.field(default_factory=list)  # see blockers.of_tables
    whole_table_holders: list = dataclasses.field(default_factory=list)  # see blockers.of_whole_tables
    used_up: list = dataclasses.field(default_factory=list)  # see used_up.of_failing_tables

    @property
    def seconds(self):
        return max(self.now.at - self.before.at, 1e-3)

    def moved(self, plugin, name):
        """How far a counter has moved between the readings."""
        return max(0, self.now.counters.get(plugin, {}).get(name, 0)
                   - self.before.counters.get(plugin, {}).get(name, 0))

    def server_moved(self, name):
        """How far a number that the server shows has moved between the readings."""
        if "server" in self.before.failed:
            return 0
        return max(0, int(self.now.server.get(name) or 0) - int(self.before.server.get(name) or 0))

    def phases(self):
        """(plugin, {phase: mean us}) of the requests between the readings."""
        return rates.phases_between(self.before, self.now).items()


def clients_do_not_read(look):
    """A rule about clients in both readings, because a long reply may be on its way for a moment."""
    def unread(reading):
        return {(row["plugin"], row["mode"]): row for row in reading.connections
                if row["state"] == "unread replies" and row["bytes"] >= UNREAD_BYTES}
    before = unread(look.before)
    for port, row in unread(look.now).items():
        if port in before:
            most = rates.such_as(look, "unread replies", lambda one: int(one["buffered_bytes"]),
                                   lambda one, port=port: (one["plugin"], one["mode"]) == port)
            yield (f"{row['count']} connections of {row['plugin']} {row['mode']} have {int(row['bytes'])} bytes of replies"
                   f" that their clients do not read{most}",
                   "SELECT id, address, port, buffered_bytes FROM information_schema.ROWSOCKET_CONNECTIONS ORDER BY"
                   f" buffered_bytes DESC names them; SET GLOBAL {row['plugin']}_kill_connection = ID ends one")


def connections_are_near_their_limit(look):
    """A rule. The limit is that of one port, and handlersocket has two."""
    ports = {}
    for row in look.now.connections:
        port = (row["plugin"], row["mode"])
        ports[port] = ports.get(port, 0) + int(row["count"])
    for (plugin, mode), count in ports.items():
        limit = look.now.limits.get(plugin, {}).get("connections_max", 0)
        if limit and count >= NEAR_LIMIT_SHARE * limit:
            yield (f"{plugin} {mode} has {count} connections of {limit}",
                   f"raise {plugin}_connections_max and open_files_limit, or let clients close what they do not use:"
                   " SELECT address, COUNT(*) FROM information_schema.ROWSOCKET_CONNECTIONS GROUP BY address")


def buffers_are_near_their_limit(look):
    for plugin in look.now.counters:
        limit = look.now.limits.get(plugin, {}).get("memory_max_bytes", 0)
        held = sum(int(row["bytes"]) for row in look.now.connections if row["plugin"] == plugin)
        if limit and held >= NEAR_LIMIT_SHARE * limit:
            yield (f"connections of {plugin} hold {held} bytes of unfinished requests, of commands after MULTI, of requests that wait for locks and of unsent replies, of {limit}",
                   f"raise {plugin}_memory_max_bytes, set {plugin}_timeout, or end the largest: SELECT id, address,"
                   " buffered_bytes FROM information_schema.ROWSOCKET_CONNECTIONS ORDER BY buffered_bytes DESC")


def _commits_are_delayed(look, mean_us):
    """What to do, if the server's own variables make it wait for other commits for about as long as commits take;
    otherwise empty. MariaDB waits only if a number of commits is set, MySQL even without one."""
    server = look.now.server
    if server.get("log_bin") != "ON":  # Without a binary log the delays have no effect.
        return ""
    mariadb_us = int(server.get("binlog_commit_wait_usec") or 0) if int(server.get("binlog_commit_wait_count") or 0) > 1 else 0
    for delay_us, name, number in ((mariadb_us, "binlog_commit_wait_usec", "binlog_commit_wait_count"),
                                   (int(server.get("binlog_group_commit_sync_delay") or 0), "binlog_group_commit_sync_delay",
                                    "binlog_group_commit_sync_no_delay_count")):
        if delay_us >= DELAY_SHARE * mean_us:
            return (f"{name} is {delay_us}: the server itself lets each commit wait up to {delay_us / 1000:.0f} ms for others"
                    f" ({number} is {server.get(number, 0)}): SET GLOBAL {name} = 0")
    return ""


def commits_are_slow(look):
    for plugin, means in look.phases():
        if means.get("commit", 0) >= SLOW_COMMIT_US:
            yield (f"a commit over {plugin} takes {means['commit'] / 1000:.0f} ms on average",
                   _commits_are_delayed(look, means["commit"])
                   or "the disk (iostat -x 1), a replica that acknowledges late (rpl_semi_sync_*), or a backup that holds"
                   " commits")
        if means.get("held", 0) >= SLOW_HELD_US:
            yield (f"replies to finds over {plugin} wait {means['held'] / 1000:.0f} ms for commits of others",
                   _commits_are_delayed(look, means["held"])
                   or "what makes commits slow makes these slow: the disk, a replica, a backup")


def _why_still(look):
    states = sorted({state.lower() for state in look.now.stalls})
    if any(state.startswith("waiting for someone to free space") for state in states):
        return ("a disk is full, and the server waits until there is room",
                "make room: df -h on the folders of the data, of the binary log and of tmpdir; PURGE BINARY LOGS removes old"
                " binary logs. Writes go on by themselves then")
    if any("semi-sync" in state for state in states):
        return ("commits wait for a replica's acknowledgement",
                "look at the replicas; rpl_semi_sync_master_timeout (MySQL: rpl_semi_sync_source_timeout) says for how long")
    if states:
        return ("commits have begun and do not end",
                "the disk (iostat -x 1, dmesg), a replica that acknowledges late (rpl_semi_sync_*), or a backup that holds"
                " commits")
    return ("the batch that is executed does not end",
            "SHOW FULL PROCESSLIST has the library's threads and what each waits for")


def batches_stand_still(look):
    """A rule: nothing was committed between the readings. Locks of tables have a rule of their own."""
    if look.now.waits:
        return
    for plugin in look.now.counters:
        if look.moved(plugin, "commits"):
            continue
        rows = [row for row in look.now.connections if row["plugin"] == plugin
                and row["state"] in ("batch", "held") and int(row["idle_ms"] or 0) >= BATCH_STANDS_STILL_MS]
        # A worker whose clients do not read runs its batches itself, and does not report its connections meanwhile.
        stalled_ms = 1000 * look.now.stalled_s.get(plugin, 0)
        if stalled_ms >= BATCH_STANDS_STILL_MS:
            rows += [row for row in look.now.connections if row["plugin"] == plugin and row["state"] == rates.UNKNOWN_STATE]
        if rows:
            why, mend = _why_still(look)
            yield (f"writes over {plugin} stand still: {sum(int(row['count']) for row in rows)} connections wait for a batch, the"
                   f" longest for {max(stalled_ms, *(int(row['idle_ms'] or 0) for row in rows)) / 1000:.0f} s; {why}", mend)


def _most_goes_to(look, plugin, turns):
    """For the end of a sentence: the plugin's index and account for which most rows are read, where these are many for each of
    its long turns; otherwise those that took most of the time, in which requests also wait for a turn; empty: none is known."""
    def most(column):
        for before, now, name_of in ((look.before.tables, look.now.tables, rates.index_of),
                                     (look.before.accounts, look.now.accounts, rates.account_of)):
            rows = ([row for row in reading if row["plugin"] == plugin] for reading in (before, now))
            yield from rates.usage_between(*rows, look.seconds, name_of, column)[:1]
    for column in ("rows_read", "time_us"):
        found = list(most(column))
        if len(found) < 2:
            return ""
        index, account = found
        if column == "rows_read" and turns and index["rows_read_per_second"] * look.seconds >= LONG_TURNS_ROWS * turns:
            return (f"; most rows are read by index {index['name']} ({index['rows_read_per_second']:.0f} a second), and for account"
                    f" {account['name']}")
    return (f"; most time goes to index {index['name']} ({index['mean_us'] / 1000:.1f} ms a request), and to account"
            f" {account['name']}")


def _long_verb(look, plugin):
    """The verb whose turns are long, however seldom they are beside those of other verbs: a text for a sentence, and how many of
    its turns may have read many rows; empty, and 0: none is. Turns that a busy machine makes long are few, and take a small
    share of the time."""
    verbs = [(mean_us, count, verb) for (_, verb), (count, mean_us) in
             rates.verbs_of_phase_between(look.before, look.now, plugin, "execute").items()
             if mean_us >= SLOW_EXECUTE_US and count >= LONG_TURNS and count * mean_us >= LONG_TURNS_SHARE * look.seconds * 1e6]
    if not verbs:
        return "", 0
    mean_us, count, verb = max(verbs)
    return (f"a turn over {plugin} with {verb} executes for {mean_us / 1000:.0f} ms on average, {count} of them in the last"
            f" {look.seconds:.0f} s, while other clients of its worker wait", count if verb in READ_MANY_ROWS else 0)


def _few_threads_in_innodb(look):
    """For the beginning of what to do. MariaDB no longer has such a variable."""
    limit = int(look.now.server.get("innodb_thread_concurrency") or 0)
    return (f"innodb_thread_concurrency is {limit}: where more threads are busy, those of SQL among them, requests wait to enter"
            " InnoDB, until SET GLOBAL innodb_thread_concurrency = 0; otherwise " if limit else "")


def turns_are_long(look):
    for plugin, means in look.phases():
        is_long = means.get("execute", 0) >= SLOW_EXECUTE_US
        long_verb, turns = _long_verb(look, plugin)
        if is_long or long_verb:
            yield ((f"a turn over {plugin} executes for {means['execute'] / 1000:.0f} ms on average" if is_long else long_verb)
                   + _most_goes_to(look, plugin, turns),
                   _few_threads_in_innodb(look)
                   + "scans and long ranges, requests of very many keys, changes of which a foreign key's cascade makes many, or"
                   " pages that are not in the buffer pool: look at innodb_buffer_pool_size and Innodb_buffer_pool_reads, and give"
                   " scans a connection, or a time, of their own; with SET GLOBAL long_query_time = 0.02 and slow_query_log ON the"
                   " log names the clients")
        # While commits are slow, requests wait for the end of a batch, not for a thread.
        elif means.get("queue", 0) >= SLOW_QUEUE_US and means.get("commit", 0) < SLOW_COMMIT_US:
            yield (f"requests over {plugin} wait {means['queue'] / 1000:.0f} ms before they are executed",
                   f"the processor is busy, or there are too few threads: top, {plugin}_threads")
    busy = sum(row["count"] for row in look.now.connections if row["state"] == rates.UNKNOWN_STATE)
    if busy and not any(batches_stand_still(look)) and not look.now.waits:
        yield (f"{busy} connections have a worker that is in a turn of more than 0.1 s",
               "SHOW PROCESSLIST names the worker's table; usually somebody scans it")


def one_client_asks_for_most(look):
    busy = rates.clients_between(look.before, look.now, look.seconds)
    everybody = rates.requests_between(look.before, look.now) / look.seconds
    count = sum(int(row["count"]) for row in look.now.connections)
    # If nobody else has requests, nobody is harmed.
    if len(busy) < 2 or count < FEW_CONNECTIONS or busy[0]["requests_per_second"] < ONE_CLIENTS_REQUESTS_PER_SECOND:
        return
    # A connection's own count is read a moment later than the count of all.
    share = busy[0]["requests_per_second"] / max(everybody, sum(row["requests_per_second"] for row in busy))
    if share >= ONE_CLIENTS_SHARE:
        yield (f"one of {count} connections asks for {share:.0%} of all requests: {busy[0]['client']}",
               f"if it harms others: SET GLOBAL {busy[0]['client'].split()[0]}_kill_connection = {busy[0]['id']}, or an account"
               " of its own with *_account_requests_per_second")


def clients_come_and_go(look):
    for plugin in look.now.counters:
        count = look.moved(plugin, "connections_accepted")
        if count / look.seconds >= NEW_CONNECTIONS_PER_SECOND:
            yield (f"{count / look.seconds:.0f} connections a second are opened over {plugin}: each costs more than many"
                   " requests do",
                   "let clients keep their connections (a pool, or persistent ones): CLIENTS.md; SELECT address, COUNT(*) FROM"
                   " information_schema.ROWSOCKET_CONNECTIONS GROUP BY address says whose they are")


def pages_are_read_from_the_disk(look):
    reads, asked = (look.server_moved(f"innodb_buffer_pool_{name}") for name in ("reads", "read_requests"))
    if reads / look.seconds >= READS_PER_SECOND and reads >= READS_SHARE * asked:
        yield (f"InnoDB reads {reads / look.seconds:.0f} pages a second from the disk, {reads / max(1, asked):.0%} of those asked"
               " for: the rows that are asked for do not fit the buffer pool, or the server has just started",
               "raise innodb_buffer_pool_size (SET GLOBAL), where the machine has the memory")


def tables_are_opened_again(look):
    """A rule. If the tables in use fill the cache, each statement opens others anew, which MariaDB does not count as an
    overflow."""
    server = look.now.server
    limit = int(server.get("table_open_cache") or 0)
    is_full = limit > 0 and int(server.get("open_tables") or 0) >= limit
    opened = max(look.server_moved("table_open_cache_overflows"), look.server_moved("opened_tables") if is_full else 0)
    if opened / look.seconds >= REOPENED_PER_SECOND:
        yield (f"{opened / look.seconds:.0f} tables a second are opened because the cache of open ones is full (table_open_cache"
               f" is {limit}): each thread of the library keeps those open that it uses",
               "raise table_open_cache (SET GLOBAL) beyond the tables in use times the threads, and open_files_limit with it")


def _why_unmerged(look, plugin):
    counts = {name: look.moved(plugin, name) for name in look.now.counters[plugin] if name.startswith("unmerged_")}
    most = max(counts, key=counts.get, default=None)
    if most is None or not counts[most]:
        return "these are reads: let the application keep the row for a moment"
    return (f"{counts[most]} writes were done alone, most often for {plugin}_{most}: FLASH-SALE.md says what merges; if these are"
            " reads, let the application keep the row for a moment")


def _asked_lately(look, row):
    """The least number of requests for a row between the readings; its counts are those of the last 10 to 20 s."""
    names = ("plugin", "table_schema", "table_name", "index_name", "key_text")
    before = [int(one["requests"]) for one in look.before.hot_rows if all(one[name] == row[name] for name in names)]
    return max(int(row["requests"]) - sum(before), int(row["requests"]) * look.seconds / HOT_WINDOW_MAX_S)


def a_row_is_hot(look):
    for plugin in look.now.counters:
        asked = rates.requests_between(look.before, look.now, plugin)
        rows = [row for row in look.now.hot_rows if row["plugin"] == plugin]
        if not rows or asked / look.seconds < HOT_REQUESTS_PER_SECOND:
            continue
        hottest = max(rows, key=lambda row: int(row["requests"]))
        share = int(hottest["requests"]) / max(1, sum(int(row["requests"]) for row in rows))
        # Scans do not name a row.
        if share >= HOT_SHARE and _asked_lately(look, hottest) >= HOT_SHARE * asked:
            merged = int(hottest["merged"]) / max(1, int(hottest["requests"]))
            yield (f"{share:.0%} of what is asked of the hot rows over {plugin} is for one: {hottest['table_schema']}."
                   f"{hottest['table_name']} {hottest['index_name']} {hottest['key_text']}; {merged:.0%} of it is merged",
                   "in a flash sale that is as it should be; otherwise find the clients that ask, and let them keep the row for a"
                   " moment"
                   if merged > 0.5 else _why_unmerged(look, plugin))


RULES = (unseen.a_plugin_is_missing, counter("commit_failures"), failures.engines_fail, used_up.numbers_are_used_up,
         redo.the_redo_log_is_off, batches_stand_still,
         replicas.no_replica_acknowledges, replicas.the_node_is_alone, counter("connections_refused"),
         counter("connections_lost"), waits.tables_are_waited_for, waits.whole_tables_are_waited_for, waits.rows_are_waited_for,
         clients_do_not_read, connections_are_near_their_limit, buffers_are_near_their_limit, accounts.logins_fail,
         certificates.the_certificate_ends, handshakes.handshakes_stand_still, counter("tls_failed"), counter("plain_refused"),
         counter("connections_timed_out"),
         redo.the_redo_log_is_nearly_full, commits_are_slow, pages_are_read_from_the_disk, turns_are_long, large.replies_are_large,
         slow.requests_are_slow,
         counter("batch_retries"), tables_are_opened_again, upkeep.expired_rows_stay, upkeep.tokens_stay,
         slow.old_versions_are_kept, clients_come_and_go, one_client_asks_for_most, a_row_is_hot, counter("conflicts"),
         replicas.the_replica_has_stopped, replicas.the_replica_is_behind, failures.requests_fail,
         failures.most_requests_fail, failures.requests_for_a_table_fail, unseen.not_all_can_be_read)


def _printable(text):
    """Statements and names of other accounts may have control characters, which root's terminal would obey."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def what_is_wrong(look):
    """[(what is wrong, what to do), ...], the worst first."""
    return [(_printable(wrong), _printable(mend)) for rule in RULES for wrong, mend in rule(look)]

