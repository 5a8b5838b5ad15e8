"""The rules of rowsocket-doctor --live about requests that take long, by readings that are made up."""

import pytest

from test_trouble import found

pytestmark = pytest.mark.once("starts no server")


def test_slow_requests_are_told_with_the_limit():
    def said(limit):
        return found(now={"server": {"long_query_time": limit}}, counters={"slow_requests": 5})
    short = "makes nearly each request a slow one"
    assert "5 requests over handlersocket took longer than long_query_time, which is 10 s in the last 10 s: the slow" in said("10.000000")
    assert "which is 0 s" in said("0.000000") and short in said("0.000000") and short in said("0.000900")
    assert short not in said("0.001000") and short not in said("10.000000")
    assert "longer than long_query_time in the last" in found(counters={"slow_requests": 5}), "it could not be read"
