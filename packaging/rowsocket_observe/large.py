"""Replies that are large: a worker copies each while other clients of its wait."""
from rowsocket_observe import rates

BYTES_PER_SECOND = 50 << 20  # sent over a plugin
ROW_BYTES = 64 << 10  # sent for each row that is read, on average


def replies_are_large(look):
    for plugin in look.now.counters:
        sent = look.moved(plugin, "bytes_sent")
        if sent / look.seconds < BYTES_PER_SECOND:
            continue
        before, now = ([row for row in reading.tables if row["plugin"] == plugin] for reading in (look.before, look.now))
        busy = rates.usage_between(before, now, look.seconds, rates.index_of, "time_us")
        rows = sum(row["rows_read_per_second"] for row in busy) * look.seconds
        if not rows or sent / rows < ROW_BYTES:
            continue
        slowest = max((row for row in busy if row["rows_read_per_second"]), key=lambda row: row["mean_us"])
        yield (f"{plugin} sends {sent / look.seconds / 1e6:.0f} MB/s, {sent / rows / 1e3:.0f} kB for each row on average; requests"
               f" take longest by index {slowest['name']} ({slowest['mean_us'] / 1000:.1f} ms each)",
               "let clients ask for the columns that they need, less often, or keep large values elsewhere: while a worker sends"
               f" one, its other clients wait ({plugin}_threads says how many workers there are)")
