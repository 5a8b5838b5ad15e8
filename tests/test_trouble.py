"""The rules of rowsocket-doctor --live by readings that are made up: troubles that no single server has, or not within a
test's time. Those that can be made are in test_doctor_live.py and test_doctor_runbook.py."""

import sys

import pytest

from server import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "packaging"))
# pylint: disable=wrong-import-position
from rowsocket_observe import reading, trouble

pytestmark = pytest.mark.once("starts no server")


def look(before=None, now=None, counters=None, **more):
    """Two readings, ten seconds between them; `counters`: how far those of handlersocket have come."""
    first = reading.Reading(at=100.0, counters={"handlersocket": {}}, **(before or {}))
    second = reading.Reading(at=110.0, counters={"handlersocket": counters or {}}, **(now or {}))
    return trouble.Look(first, second, [], **more)


def found(*args, **kwargs):
    return " ".join(f"{wrong}: {mend}" for wrong, mend in trouble.what_is_wrong(look(*args, **kwargs)))


def test_nothing_is_wrong():
    assert found() == ""
    assert found(counters={"batch_retries": 10, "errors_engine": 1000, "connections_timed_out": 2}) == ""


def test_deadlocks_with_sql():
    assert "100 batches over handlersocket ran again" in found(counters={"batch_retries": 100})


def test_a_transaction_that_is_open_for_long():
    old = {"seconds": 700, "thread": 12, "user": "report@localhost"}
    history = {"innodb_history_list_length": "250000"}
    text = found(now={"server": history, "oldest": old})
    assert "InnoDB keeps 250000 changes" in text and "connection 12 (report@localhost)" in text and "KILL 12" in text
    assert found(now={"server": history, "oldest": {**old, "seconds": 3}}) == ""
    assert found(now={"server": {"innodb_history_list_length": "900"}, "oldest": old}) == ""


def test_a_node_without_its_cluster():
    assert "not part of its Galera cluster (wsrep_cluster_status non-Primary)" in found(
        now={"server": {"wsrep_cluster_status": "non-Primary", "wsrep_ready": "OFF"}})
    assert found(now={"server": {"wsrep_cluster_status": "Primary", "wsrep_ready": "ON"}}) == ""
    assert found(now={"server": {"wsrep_cluster_status": "Disconnected", "wsrep_provider_name": "", "wsrep_ready": "OFF"}}) == ""
    assert "wsrep_cluster_status Disconnected" in found(
        now={"server": {"wsrep_cluster_status": "Disconnected", "wsrep_provider_name": "Galera", "wsrep_ready": "OFF"}})


def test_flow_control():
    status = {"wsrep_cluster_status": "Primary", "wsrep_ready": "ON"}
    text = found(before={"server": {**status, "wsrep_flow_control_paused_ns": "1000000000"}},
                 now={"server": {**status, "wsrep_flow_control_paused_ns": "6000000000"}})
    assert "held writes back for 50% of the last 10 s" in text


def test_a_replica():
    assert "no longer applies what its source writes (its thread is: No): Duplicate entry" in found(
        now={"stopped": [("applies", "No", "Duplicate entry")]})
    assert "60 s behind its source" in found(now={"lag_s": 60.0})
    assert found(now={"lag_s": 1.0}) == ""


def test_writes_of_several_nodes():
    assert "30 batches over handlersocket were lost to other nodes" in found(counters={"conflicts": 30})


def client(number, requests):
    return {"plugin": "handlersocket", "mode": "rd", "id": number, "name": "", "account": "", "address": "10.0.0.1", "port": 5,
            "state": "idle", "requests": requests, "buffered_bytes": 0}


def test_one_client_among_many_that_ask():
    connections = [{"plugin": "handlersocket", "mode": "rd", "state": "idle", "count": 20, "bytes": 0}]
    alone = {"clients": [client(1, 90_000), client(2, 0)], "connections": connections}
    beside = {"clients": [client(1, 90_000), client(2, 10_000)], "connections": connections}
    assert "one of 20 connections asks for 90% of all requests: handlersocket 1 - 10.0.0.1:5" in found(now=beside)
    assert found(now=alone) == ""


def test_requests_that_wait_for_a_thread():
    def latency(sums):
        return [{"plugin": "handlersocket", "mode": "rd", "verb": "find", "phase": phase, "count": count, "sum_us": total,
                 "buckets": []} for phase, count, total in sums]
    before, now = (latency([("queue", count, total), ("execute", count, count * 100)]) for count, total in ((0, 0), (50, 2e6)))
    assert "requests over handlersocket wait 40 ms before they are executed" in found({"latencies": before}, {"latencies": now})


def test_each_holder_of_a_table_is_named():
    holders = [{"thread": 9, "user": "root@localhost", "query": "ALTER TABLE t ADD c INT", "seconds": 8, "holds": "SHARED_UPGRADABLE",
                "what": "shop.t"},
               {"thread": 7, "user": None, "query": None, "seconds": 90, "holds": None, "what": None}]
    text = found(now={"waits": {"table metadata lock": 3}}, table_holders=holders)
    assert "connection 9 of SQL (root@localhost) holds SHARED_UPGRADABLE of shop.t for 8 s; it executes: ALTER TABLE t" in text
    assert "connection 7 of SQL (unknown) may be the cause: its transaction is open for 90 s; it executes nothing now" in text
