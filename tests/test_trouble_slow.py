"""The rules of rowsocket-doctor --live about requests that take long, by readings that are made up."""

import pytest

from test_trouble import found

pytestmark = pytest.mark.once("starts no server")


def test_slow_requests_are_told_with_the_limit():
    def said(limit):
        return found(now={"server": {"long_query_time": limit}}, counters={"slow_requests": 5})
    short = "makes nearly every request a slow one"
    assert "5 requests over handlersocket took longer than long_query_time, which is 10 s in the last 10 s: the slow" in said("10.000000")
    assert "which is 0 s" in said("0.000000") and short in said("0.000000") and short in said("0.000900")
    assert short not in said("0.001000") and short not in said("10.000000")
    assert "longer than long_query_time in the last" in found(counters={"slow_requests": 5}), "it could not be read"


OLD = {"seconds": 700, "thread": 12, "user": "report@localhost"}


def test_a_transaction_that_is_open_for_long():
    history = {"innodb_history_list_length": "250000"}
    text = found(now={"server": history, "oldest": OLD})
    assert "InnoDB keeps the changes of 250000 logs" in text and "connection 12 (report@localhost)" in text and "KILL 12" in text
    assert found(now={"server": history, "oldest": {**OLD, "seconds": 3}}) == ""
    assert found(now={"server": {"innodb_history_list_length": "900"}, "oldest": OLD}) == ""


def executed(*buckets, p50_us=100):
    """Finds by the ends of buckets, in us, and how many each has."""
    return [{"plugin": "handlersocket", "mode": "rd", "verb": "find", "phase": "execute", "count": sum(count for _, count in buckets),
             "sum_us": sum(end * count for end, count in buckets), "buckets": [list(bucket) for bucket in buckets], "p50_us": p50_us}]


def test_finds_that_step_over_what_a_transaction_keeps():
    """One DELETE of many rows is one log."""
    def said(slow_us, count=100, seconds=12, before=1000):
        return found({"latencies": executed((100, before))},
                     {"latencies": executed((100, before), (slow_us, count)), "oldest": {**OLD, "seconds": seconds}})
    text = said(5500)
    assert "find over handlersocket executes for 5.5 ms in the median, and usually for 0.10 ms; connection 12" in text
    assert "its transaction is open for 12 s" in text and "KILL 12" in text
    assert said(900) == "" and said(5500, count=10) == "" and said(5500, seconds=5) == "" and said(5500, before=50) == ""
    usually_slow = executed((5000, 1000), p50_us=5000)
    assert found({"latencies": usually_slow}, {"latencies": executed((5000, 2000)), "oldest": OLD}) == ""
