"""Requests that take long: rules of trouble.py."""
from rowsocket_observe import blockers, rates

SHORT_S = 0.001  # a long_query_time that most requests take
OLD_LOGS = 100_000  # of changes, which InnoDB keeps for open transactions
OLD_TRANSACTION_S = 60  # of the oldest one, where so many logs are kept
SLOWED_TRANSACTION_S = 10  # of the oldest one, where a verb is much slower than usual
SLOWED = 10  # times as long as usual, in the median
SLOWED_US = 1000  # in the median
SLOWED_REQUESTS = 20  # of the verb between the readings
USUAL_REQUESTS = 100  # of the verb before them


def requests_are_slow(look):
    limit = look.now.server.get("long_query_time")
    is_short = limit is not None and float(limit) < SHORT_S
    named = "" if limit is None else f", which is {float(limit):g} s"
    for plugin in look.now.counters:
        count = look.moved(plugin, "slow_requests")
        if count:
            yield (f"{count} requests over {plugin} took longer than long_query_time{named} in the last {look.seconds:.0f} s",
                   ("so short a long_query_time makes nearly every request a slow one, in the slow query log and in SLOWLOG: SET"
                    " GLOBAL long_query_time = 1, for example; " if is_short else "")
                   + "the slow query log has each, with its waits and rows, where slow_query_log is ON")


def _slowed(look):
    """(plugin, verb, usual us, us now) of the verb whose requests now execute longest beside what was usual; None: none is slow.
    By medians, which a busy machine changes less than means."""
    usual = {(row["plugin"], row["mode"], row["verb"]): float(row["p50_us"]) for row in look.before.latencies
             if row["phase"] == "execute" and int(row["count"]) >= USUAL_REQUESTS and row.get("p50_us")}
    found = []
    for row in rates.verbs_between(look.before, look.now, "execute"):
        was = usual.get((row["plugin"], row["mode"], row["verb"]))
        if (was and row["p50_us"] >= max(SLOWED * was, SLOWED_US)
                and row["per_second"] * look.seconds >= SLOWED_REQUESTS):
            found.append((row["p50_us"] / was, (row["plugin"], row["verb"], was, row["p50_us"])))
    return max(found)[1] if found else None


def old_versions_are_kept(look):
    """InnoDB counts the logs of changes, one or two for a transaction. One log may be of many rows: a find that steps over them
    is slow however few logs there are."""
    logs, oldest = int(look.now.server.get("innodb_history_list_length") or 0), look.now.oldest
    if not oldest:
        return
    seconds = int(oldest["seconds"])
    who = f"connection {oldest['thread']} ({oldest['user'] or 'unknown'})"
    if logs >= OLD_LOGS and seconds >= OLD_TRANSACTION_S:
        yield (f"InnoDB keeps the changes of {logs} logs for transactions that are open, of which {who} has the oldest, of"
               f" {seconds} s: finds of changed rows become slow",
               blockers.end_of(oldest, f"let it end, or KILL {oldest['thread']}"))
    elif seconds >= SLOWED_TRANSACTION_S and (slowed := _slowed(look)):
        plugin, verb, usual_us, now_us = slowed
        yield (f"{verb} over {plugin} executes for {now_us / 1000:.1f} ms in the median, and usually for {usual_us / 1000:.2f} ms;"
               f" {who} may be the cause: its transaction is open for {seconds} s, for which InnoDB keeps each row as it was, and"
               " finds step over the rows that others have deleted or changed since",
               blockers.end_of(oldest, f"let it end, or KILL {oldest['thread']}"))
