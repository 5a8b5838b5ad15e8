"""Requests that take long: rules of trouble.py."""

SHORT_S = 0.001  # a long_query_time that most requests take


def requests_are_slow(look):
    limit = look.now.server.get("long_query_time")
    is_short = limit is not None and float(limit) < SHORT_S
    named = "" if limit is None else f", which is {float(limit):g} s"
    for plugin in look.now.counters:
        count = look.moved(plugin, "slow_requests")
        if count:
            yield (f"{count} requests over {plugin} took longer than long_query_time{named} in the last {look.seconds:.0f} s",
                   ("so short a long_query_time makes nearly each request a slow one, in the slow query log and in SLOWLOG: SET"
                    " GLOBAL long_query_time = 1, for example; " if is_short else "")
                   + "the slow query log has each, with its waits and rows, where slow_query_log is ON")
