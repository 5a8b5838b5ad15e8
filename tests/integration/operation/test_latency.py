"""information_schema.ROWSOCKET_LATENCY: how long requests take, by port, verb and phase."""

import json
import time

import pytest

import hs
import mc
import resp
from hs import counted, find_words
from server import is_mysql, is_server_before, wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]

FLUSH = "FLUSH STATUS" if is_server_before((11, 5)) else "FLUSH GLOBAL STATUS"
BUCKET_WIDTH = 1 / 16


@pytest.fixture
def table(sql):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT) ENGINE=InnoDB")
    sql.run("INSERT INTO t VALUES (1, 0), (2, 0), (3, 0)")
    sql.run(FLUSH)


def latencies(sql, plugin="handlersocket"):
    """{(mode, verb, phase): row}"""
    rows = sql.rows("SELECT mode, verb, phase, count, sum_us, p50_us, p90_us, p99_us, p999_us, max_us, buckets"
                    " FROM information_schema.ROWSOCKET_LATENCY WHERE plugin = %s", plugin)
    names = "count sum p50 p90 p99 p999 max".split()
    found = {}
    for mode, verb, phase, *numbers, buckets in rows:
        row = dict(zip(names, map(float, numbers)), buckets=json.loads(buckets))
        found[mode.decode(), verb.decode(), phase.decode()] = row
    return found


def wait_for(sql, count, *key, plugin="handlersocket"):
    """The latencies once `key` has counted so many: a worker counts a moment after it has answered."""
    wait_until(lambda: latencies(sql, plugin).get(key, {"count": 0})["count"] == count, what=f"{count} of {key}")
    return latencies(sql, plugin)


def test_a_client_that_sends_slowly_is_no_slow_server(table, sql, rd, wr):
    for index, line, mode, verb in ((rd("t", "", "x"), find_words(0, "=", [1]), "mode=rd", "find"),
                                    (wr("t", "", "x"), find_words(0, "=", [2], 1, 0, mod=["U", 9]), "mode=wr", "update")):
        line = hs.line(index.id, *line[1:])
        for part in (line[:2], line[2:5], line[5:]):
            time.sleep(0.3)
            last_part_at = time.monotonic()
            index.client.sock.sendall(part)
        index.client.recv()
        found = wait_for(sql, 1, mode, verb, "whole")
        since_last_part_us = 1e6 * (time.monotonic() - last_part_at)
        for phase in "whole", "queue":
            assert found[mode, verb, phase]["max"] <= since_last_part_us


def test_each_request_is_counted_in_its_phases(table, sql, rd, wr):
    reads, writes = rd("t", "", "id,x"), wr("t", "", "x")
    for _ in range(20):
        assert len(reads.rows("=", [1])) == 1
    for number in range(5):
        assert writes.update("=", [2], [number + 1]) == counted(1)
    found = wait_for(sql, 20, "mode=rd", "find", "whole")
    found = wait_for(sql, 5, "mode=wr", "update", "whole")
    assert {phase for mode, verb, phase in found if verb == "find"} == {"queue", "execute", "whole"}
    assert {phase for mode, verb, phase in found if verb == "update"} == {"queue", "execute", "commit", "whole"}
    assert found["mode=rd", "open", "whole"]["count"] == found["mode=wr", "open", "whole"]["count"] == 1
    for (_, verb, _), row in found.items():
        assert row["count"] == sum(count for _, count in row["buckets"]), verb
        assert 0 < row["p50"] <= row["p90"] <= row["p99"] <= row["p999"] <= row["max"]
    for key in (("mode=rd", "find"), ("mode=wr", "update")):
        phases = sum(found[(*key, phase)]["sum"] for phase in ("queue", "execute", "commit") if (*key, phase) in found)
        assert phases <= found[(*key, "whole")]["sum"]


def test_a_request_takes_no_longer_than_its_client_waits(table, sql, wr):
    writes = wr("t", "", "x")
    sql.run(FLUSH)
    took_us = []
    for number in range(50):
        began = time.perf_counter()
        assert writes.update("=", [2], [number + 1]) == counted(1)
        took_us.append((time.perf_counter() - began) * 1e6)
    row = wait_for(sql, 50, "mode=wr", "update", "whole")["mode=wr", "update", "whole"]
    # The worker reads the clock when it has sent the reply, which the client may have by then.
    assert row["sum"] <= sum(took_us) + 50 * 2000
    assert row["p50"] <= sorted(took_us)[24] * (1 + BUCKET_WIDTH) + 2000


def test_a_lock_wait_is_counted_from_its_beginning_to_the_answer(table, server, sql, wr):
    writes, owner = wr("t", "", "x"), server.sql(sql.value("SELECT DATABASE()").decode())
    owner.run("BEGIN")
    owner.run("UPDATE t SET x = 7 WHERE id = 3")
    waits = sql.status("Handlersocket_lock_waits")
    writes.client.send(*find_words(writes.id, "=", [3], 1, 0, mod=["U", 9]))
    wait_until(lambda: sql.status("Handlersocket_lock_waits") == waits + 1, what="a lock wait")
    began = time.perf_counter()
    owner.run("COMMIT")
    held_us = (time.perf_counter() - began) * 1e6
    assert writes.client.recv() == counted(1)
    found = wait_for(sql, 1, "mode=wr", "update", "whole")
    waited = found["mode=wr", "update", "lock_wait"]
    assert waited["count"] == 1 and waited["sum"] >= held_us
    assert found["mode=wr", "update", "whole"]["sum"] >= waited["sum"]


def test_the_phases_of_many_that_wait_for_one_row_are_not_longer_than_the_whole(table, server, sql):
    schema = sql.value("SELECT DATABASE()").decode()
    owner, writers = server.sql(schema), [server.hs_wr().opened(schema, "t", "PRIMARY", "x") for _ in range(8)]
    owner.run("BEGIN")
    owner.run("UPDATE t SET x = 7 WHERE id = 3")
    waits = sql.status("Handlersocket_lock_waits")
    for index in writers:
        index.client.send(*find_words(index.id, "=", [3], 1, 0, mod=["+", 1]))
    wait_until(lambda: sql.status("Handlersocket_lock_waits") == waits + 8, what="the lock waits")
    began = time.perf_counter()
    sql.row("SELECT SLEEP(0.2)")
    held_us = (time.perf_counter() - began) * 1e6
    owner.run("COMMIT")
    assert [index.client.recv() for index in writers] == [counted(1)] * 8
    found = wait_for(sql, 8, "mode=wr", "increment", "whole")
    sums = {phase: row["sum"] for (_, verb, phase), row in found.items() if verb == "increment"}
    assert sums["lock_wait"] >= 8 * held_us
    # Most of them are handed back to a turn once the row is free: the turn's phases do not hold the wait again.
    assert sum(sums.values()) - sums["whole"] <= sums["whole"]


def test_sums_of_long_times_fit_into_their_columns(sql):
    [kind] = sql.rows("SELECT COLUMN_TYPE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'information_schema'"
                      " AND TABLE_NAME = 'ROWSOCKET_LATENCY' AND COLUMN_NAME = 'SUM_US'")
    assert kind == ((b"double(23,0)" if is_mysql() else b"decimal(21,3)"),)


def test_flush_status_begins_anew(table, sql, rd):
    reads = rd("t", "", "id,x")
    assert len(reads.rows("=", [1])) == 1
    wait_for(sql, 1, "mode=rd", "find", "whole")
    since = sql.status("Handlersocket_latency_since")
    assert abs(since - time.time()) < 3600
    sql.run(FLUSH)
    assert len(reads.rows("=", [1])) == 1
    assert len(reads.rows("=", [2])) == 1
    found = wait_for(sql, 2, "mode=rd", "find", "whole")
    assert ("mode=rd", "open", "whole") not in found
    assert sql.status("Handlersocket_latency_since") >= since


def test_status_shows_quantiles_of_all_requests(table, sql, rd):
    reads = rd("t", "", "id,x")
    sql.run(FLUSH)
    for _ in range(100):
        assert len(reads.rows("=", [1])) == 1
    row = wait_for(sql, 100, "mode=rd", "find", "whole")["mode=rd", "find", "whole"]
    assert abs(sql.status("Handlersocket_latency_p50_us") - row["p50"]) <= 0.5
    assert abs(sql.status("Handlersocket_latency_p99_us") - row["p99"]) <= 0.5


def test_memcached_verbs(server, sql, container):
    client = container.ready(mc.connect(server))
    sql.run(FLUSH)
    assert client.set(container.at("a"), b"1") == b"STORED"
    assert client.value(container.at("a")) == b"1"
    found = wait_for(sql, 1, "mode=rw", "get", "whole", plugin="daemon_memcached")
    assert ("mode=rw", "set", "commit") in found


def test_only_users_with_process_see_latencies(table, server, sql, rd):
    assert len(rd("t", "", "id,x").rows("=", [1])) == 1
    wait_for(sql, 1, "mode=rd", "find", "whole")
    sql.run("CREATE USER plain@localhost")
    assert latencies(server.sql(user="plain")) == {}
    sql.run("DROP USER plain@localhost")


def test_resp_shows_latencies_by_command(make_server):
    server = resp.start(make_server)
    for version in (2, 3):
        client = resp.Client(server.resp_port, version)
        for _ in range(3):
            assert client.ask("HGET", "shop.product:7", "name") == b"Teapot"
        assert client.ask("HSET", "shop.product:7", "stock", version) == 0
        sql = server.sql()
        wait_for(sql, 3 * (version - 1), "mode=rw", "hget", "whole", plugin="resp")
        found = client.ask("LATENCY", "HISTOGRAM", "hget", "nonsense")
        if version == 2:
            assert found[0] == b"hget" and found[1][0] == b"calls" and found[1][2] == b"histogram_usec"
            found = {b"hget": {b"calls": found[1][1], b"histogram_usec": dict(zip(*[iter(found[1][3])] * 2))}}
        histogram = found[b"hget"]
        assert histogram[b"calls"] == max(histogram[b"histogram_usec"].values()) == 3 * (version - 1)
        assert list(found) == [b"hget"]
        client.close()
    client = resp.Client(server.resp_port)
    shown = client.ask("INFO", "latencystats", "commandstats").decode()
    assert "latency_percentiles_usec_hget:p50=" in shown and "cmdstat_hset:calls=2," in shown
    assert "latency_percentiles_usec" not in client.ask("INFO").decode()
    assert "latency_percentiles_usec_hget" in client.ask("INFO", "everything").decode()
