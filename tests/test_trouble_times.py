"""The rules of rowsocket-doctor --live about phases of requests that take long, by readings that are made up."""

import pytest

from test_trouble import found, look
# pylint: disable=wrong-import-order
from rowsocket_observe import trouble

pytestmark = pytest.mark.once("starts no server")


def latency(requests, verb="find", plugin="handlersocket", mode="mode=wr", **mean_us):
    """Rows of ROWSOCKET_LATENCY of so many requests of a verb, by the mean of each phase."""
    return [{"plugin": plugin, "mode": mode, "verb": verb, "phase": phase, "count": requests, "sum_us": requests * mean,
             "buckets": [[mean, requests]]} for phase, mean in mean_us.items()]


MARIADB_WAITS = {"log_bin": "ON", "binlog_commit_wait_count": "100", "binlog_commit_wait_usec": "100000"}
MYSQL_WAITS = {"log_bin": "ON", "binlog_group_commit_sync_delay": "100000", "binlog_group_commit_sync_no_delay_count": "0"}


@pytest.mark.parametrize("server, name, count", [
    (MARIADB_WAITS, "binlog_commit_wait_usec", "binlog_commit_wait_count is 100"),
    (MYSQL_WAITS, "binlog_group_commit_sync_delay", "binlog_group_commit_sync_no_delay_count is 0")])
def test_commits_that_the_server_delays(server, name, count):
    def said(server, commit=104_000):
        return found(now={"latencies": latency(50, "update", commit=commit, held=commit), "server": server})
    text = said(server)
    assert "a commit over handlersocket takes 104 ms" in text and "replies to finds over handlersocket wait 104 ms" in text
    assert text.count(f"{name} is 100000: the server itself lets each commit wait up to 100 ms for others ({count})") == 2
    assert f"SET GLOBAL {name} = 0" in text and "iostat" not in text
    disk = "the disk (iostat -x 1)"
    assert disk in said(server, 500_000), "the delay is not the most of it"
    assert disk in said({**server, "log_bin": "OFF"}) and disk in said({**server, name: "0"}) and disk in said({})
    assert disk in said({**MARIADB_WAITS, "binlog_commit_wait_count": "0"}), "as MariaDB is installed"


def test_requests_that_wait_for_the_end_of_a_batch():
    def said(commit):
        return found(now={"latencies": latency(50, "set", queue=50_000, execute=100, commit=commit)})
    assert "a commit over handlersocket takes 80 ms" in said(80_000) and "too few threads" not in said(80_000)
    assert "wait 50 ms before they are executed" in said(100) and "too few threads" in said(100)


def test_long_turns_of_a_verb_that_is_seldom():
    """As deletes that a foreign key's cascade makes long, among many finds."""
    def said(deletes, execute):
        return found(now={"latencies": [*latency(6000, execute=50), *latency(900, "update", execute=1000),
                                        *latency(deletes, "delete", execute=execute)]})
    text = said(20, 70_000)
    assert "a turn over handlersocket with delete executes for 70 ms on average, 20 of them in the last 10 s" in text
    assert "a foreign key's cascade" in text
    assert said(3, 400_000) == "" and said(20, 15_000) == "" and said(20, 25_000) == "", "few, short, or of little time"


def test_a_limit_of_threads_in_innodb():
    def said(limit):
        return found(now={"latencies": latency(50, execute=400_000), "server": {"innodb_thread_concurrency": limit}})
    text = said("1")
    assert "innodb_thread_concurrency is 1: where more threads are busy" in text and "= 0; otherwise scans and long ranges" in text
    assert "innodb_thread_concurrency" not in said("0")


def used(index, rows_read, mean_us, requests):
    return {"plugin": "resp", "table_schema": "d", "table_name": index, "index_name": "PRIMARY", "user": "", "host": "", "requests": requests,
            "writes": 0, "rows_read": rows_read, "rows_changed": 0, "errors": 0, "lock_waits": 0, "time_us": mean_us * requests}


def test_the_index_of_long_turns_is_not_that_of_requests_that_wait():
    """Requests for many keys each are quick by the key; those that wait for their turns take most of the time."""
    def said(verb, rows):
        tables = [used("store", rows, 4, max(1, rows)), used("waits", 2000, 8100, 2000)]
        one = look(now={"latencies": [*latency(40, verb, "resp", execute=30_000), *latency(2000, "hget", "resp", execute=80)],
                        "tables": tables, "accounts": tables})
        for reading in (one.before, one.now):
            reading.counters["resp"] = {}
        return " ".join(f"{wrong}: {mend}" for wrong, mend in trouble.what_is_wrong(one))
    text = said("mget", 400_000)
    assert "with mget executes for 30 ms on average, 40 of them" in text and "requests of very many keys" in text
    rows = "; most rows are read by index d.store PRIMARY (40000 a second), and for account -: "
    assert rows in text
    for verb in ("gat", "dbsize", "randomkey", "info"):
        assert rows in said(verb, 400_000), verb
    waits = "; most time goes to index d.waits PRIMARY (8.1 ms a request), and to account -: "
    assert waits in said("mget", 500), "their rows are few, and their pages not in memory"
    assert waits in said("del", 400_000), "others read the rows"
