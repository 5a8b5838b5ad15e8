"""What has happened between two readings: rates by verb, quantiles, batches, and hot rows."""

QUANTILES = (0.5, 0.99)
ROWS_SHOWN = 10
# The state of a connection whose worker is in a turn of more than 0.1 s: all its numbers are 0 then.
UNKNOWN_STATE = "worker busy"
HANDSHAKE_STATE = "handshake"


def _buckets_between(before, after):
    """[[end in us, requests], ...] of the requests that have come in between."""
    old = dict(map(tuple, before))
    new = [[end, count - old.get(end, 0)] for end, count in after]
    return [pair for pair in new if pair[1] > 0]


def quantile_us(buckets, share):
    """The end of the bucket that this share of the requests does not exceed; None: there were no requests."""
    left = share * sum(count for _, count in buckets)
    for end, count in buckets:
        left -= count
        if left <= 0 and count:
            return end
    return None


def _came_from(was, row):
    """Whether a row of ROWSOCKET_LATENCY continues an earlier one: not if FLUSH STATUS has come between them."""
    old = dict(map(tuple, was["buckets"]))
    return (int(row["count"]) >= int(was["count"]) and float(row["sum_us"]) >= float(was["sum_us"])
            and all(count >= old.pop(end, 0) for end, count in row["buckets"]) and not any(old.values()))


def _latencies_before(before, after):
    """Rows of the first reading that rows of the second continue. After a flush and many requests no sum need be
    smaller than before, so the time since which a plugin counts tells of the flush, if the plugin has one."""
    def since(reading, plugin):
        return reading.counters.get(plugin, {}).get("latency_since")
    now = {_latency_key(row): row for row in after.latencies}
    return [was for was in before.latencies if since(before, was["plugin"]) == since(after, was["plugin"])
            and _latency_key(was) in now and _came_from(was, now[_latency_key(was)])]


def _latency_key(row):
    return tuple(row[name] for name in ("plugin", "mode", "verb", "phase"))


def verbs_between(before, after, phase="whole"):
    """A row for each port and verb with requests: rate, p50_us, p99_us."""
    seconds = max(after.at - before.at, 1e-3)
    old = {_latency_key(row): row["buckets"] for row in _latencies_before(before, after)}
    rows = []
    for row in after.latencies:
        if row["phase"] != phase:
            continue
        key = _latency_key(row)
        buckets = _buckets_between(old.get(key, []), row["buckets"])
        count = sum(count for _, count in buckets)
        if count:
            p50, p99 = (quantile_us(buckets, share) for share in QUANTILES)
            rows.append({"plugin": key[0], "mode": key[1], "verb": key[2], "per_second": count / seconds, "p50_us": p50,
                         "p99_us": p99})
    return sorted(rows, key=lambda row: -row["per_second"])


def requests_between(before, after, plugin=None):
    """How many requests have come, to all plugins or to one."""
    def count(rows):
        return sum(sum(count for _, count in row["buckets"]) for row in rows
                   if row["phase"] == "whole" and plugin in (None, row["plugin"]))
    return count(after.latencies) - count(_latencies_before(before, after))


def _means_between(before, after, key_of):
    """{key: (requests, mean time in us)} of the requests that have come, by the key of a row of ROWSOCKET_LATENCY."""
    sums = {}
    for sign, rows in ((-1, _latencies_before(before, after)), (1, after.latencies)):
        for row in rows:
            entry = sums.setdefault(key_of(row), [0.0, 0])
            entry[0] += sign * float(row["sum_us"])
            entry[1] += sign * int(row["count"])
    return {key: (count, total / count) for key, (total, count) in sums.items() if count > 0}


def phases_between(before, after):
    """For each plugin the mean time of each phase, in us, over all verbs."""
    found = {}
    for (plugin, phase), (_, mean_us) in _means_between(before, after, lambda row: (row["plugin"], row["phase"])).items():
        found.setdefault(plugin, {})[phase] = mean_us
    return found


def verbs_of_phase_between(before, after, plugin, phase):
    """{(mode, verb): (requests, mean time in us)} of one phase."""
    means = _means_between(before, after, _latency_key)
    return {key[1:3]: mean for key, mean in means.items() if (key[0], key[3]) == (plugin, phase)}


def plugins_between(before, after):
    """For each plugin that is loaded: connections, batches, merges, refusals."""
    seconds = max(after.at - before.at, 1e-3)
    rows = []
    for plugin, counters in after.counters.items():
        def rate(name, plugin=plugin, counters=counters):
            return max(0, counters.get(name, 0) - before.counters.get(plugin, {}).get(name, 0)) / seconds

        batches = rate("batches")
        rows.append({
            "plugin": plugin, "connections": counters.get("connections", 0), "commits_per_second": rate("commits"),
            "requests_per_batch": rate("batch_requests") / batches if batches else 0.0,
            "merged_per_second": rate("merged_requests"), "lock_waits_per_second": rate("lock_waits"),
            "conflicts_per_second": rate("conflicts"), "refused_per_second": rate("connections_refused"),
            "received_bytes_per_second": rate("bytes_received"), "sent_bytes_per_second": rate("bytes_sent")})
    return rows


def who(row):
    """A connection, by its number, the name that its client has given it, and its address."""
    name = row["name"].decode() if isinstance(row["name"], bytes) else row["name"]
    return f"{row['plugin']} {row['id']} {name or '-'} {row['address']}:{row['port']}"


def clients_between(before, after, seconds):
    """The connections with the most requests, among those of which the numbers are known."""
    old = {(row["plugin"], row["id"]): int(row["requests"]) for row in before.clients if row["state"] != UNKNOWN_STATE}

    def rate(row):
        key = (row["plugin"], row["id"])
        if key in old:
            return (int(row["requests"]) - old[key]) / seconds
        # The connection is new, or the first reading did not name it, because a reading names a limited number.
        return int(row["requests"]) / max(seconds, int(row["age_ms"]) / 1000)

    rows = [{"client": who(row), "name": row["name"], "id": int(row["id"]), "state": row["state"],
             "requests_per_second": rate(row), "bytes": int(row["buffered_bytes"])}
            for row in after.clients if row["state"] != UNKNOWN_STATE]
    busy = sorted((row for row in rows if row["requests_per_second"] > 0 or row["bytes"] > 0),
                  key=lambda row: -row["requests_per_second"])
    return busy[:ROWS_SHOWN]


def index_of(row):
    """A row of ROWSOCKET_TABLE_STATISTICS."""
    return f"{row['table_schema']}.{row['table_name']} {row['index_name']}"


def account_of(row):
    """A row of ROWSOCKET_USER_STATISTICS; "-": clients without a login."""
    return f"{row['user']}@{row['host']}" if row["user"] or row["host"] else "-"


def usage_between(before, after, seconds, name_of, most="requests"):
    """The usage of each name (of tables or accounts) in between, with the largest in the column `most` first."""
    sums = {}
    for sign, rows in ((-1, before), (1, after)):
        for row in rows:
            entry = sums.setdefault(name_of(row), {})
            for column in ("requests", "writes", "rows_read", "rows_changed", "errors", "lock_waits", "time_us"):
                entry[column] = entry.get(column, 0) + sign * float(row[column])
    busy = sorted(((name, entry) for name, entry in sums.items() if entry["requests"] > 0), key=lambda one: -one[1][most])
    return [{"name": name, **{f"{column}_per_second": entry[column] / seconds for column in entry if column != "time_us"},
             "mean_us": entry["time_us"] / entry["requests"]} for name, entry in busy[:ROWS_SHOWN]]


def summary(before, after):
    """Everything that rowsocket-top shows, ready for JSON."""
    seconds = max(after.at - before.at, 1e-3)
    hot = sorted(after.hot_rows, key=lambda row: -int(row["requests"]))
    return {
        "version": after.version,
        "failed": {**before.failed, **after.failed},  # {what cannot be read: the error}
        "seconds": after.at - before.at,
        "plugins": plugins_between(before, after),
        "verbs": verbs_between(before, after),
        "phases_us": phases_between(before, after),
        "connections": [{**row, "bytes": int(row["bytes"])} for row in after.connections],
        "clients": clients_between(before, after, seconds),
        "lock_wait_threads": sum(after.lanes.values()),
        "replication_lag_s": after.lag_s,
        "tables": usage_between(before.tables, after.tables, seconds, index_of),
        "accounts": usage_between(before.accounts, after.accounts, seconds, account_of),
        "hot_rows": [{"row": f"{row['table_schema']}.{row['table_name']} {row['index_name']} {row['key_text']}",
                      "requests": int(row["requests"]), "merged": int(row["merged"]),
                      "lock_waits": int(row["lock_waits"]), "lock_time_us": float(row["lock_time_us"]),
                      "overcount": int(row["overcount"])}
                     for row in hot[:ROWS_SHOWN]],
    }


def such_as(look, state, order, where=lambda row: True):
    """The first connection in this state by an order, for an end of a sentence; empty where none is known."""
    rows = [row for row in look.now.clients if row["state"] == state and where(row)]
    return f" (such as {who(max(rows, key=order))})" if rows else ""
