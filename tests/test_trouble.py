"""The rules of rowsocket-doctor --live by readings that are made up: troubles that no single server has, or not within a
test's time. Those that can be made are in test_doctor_live.py and test_doctor_runbook.py."""

import sys
import time

import pytest

from server import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "packaging"))
# pylint: disable=wrong-import-position
from rowsocket_observe import blockers, rates, reading, trouble, upkeep

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


def test_parts_that_cannot_be_read():
    text = found(now={"failed": {"latencies": "No space left on device", "upkeep": "Lock wait timeout exceeded"}})
    assert "latencies of what the server shows cannot be read" in text and "df -h on tmpdir" in text
    assert "rowsocket.tokens, cannot be read" in text and "LOCK TABLES" in text
    # Of an account without PROCESS nothing else is known.
    assert not reading.sees_all(reading.Reading(at=0, counters={"resp": {"connections": 1}}))
    assert reading.sees_all(reading.Reading(at=0, counters={"resp": {"connections": 1}}, failed={"latencies": "No space"}))


def test_a_plugin_that_did_not_start():
    for installed, missing in (([], ["daemon_memcached", "resp"]), (["handlersocket", "resp"], ["resp"]), (["handlersocket"], []),
                               # An option file loads the library, and INSTALL PLUGIN has brought one plugin back, once.
                               (["resp"], ["daemon_memcached", "resp"])):
        text = found(now={"installed": installed})
        assert [plugin for plugin in reading.PLUGINS if f"{plugin} is not loaded" in text] == missing, installed
    assert found(now={"installed": None}) == "", "the account may not see it"
    text = found(now={"installed": ["handlersocket", "resp"], "server": {"wsrep_provider_name": "Galera"}})
    assert "; then SET SESSION wsrep_on = OFF; INSTALL PLUGIN resp SONAME" in text, "other nodes have it"


def test_a_certificate_that_ends():
    def ends_in(days):
        return found(counters={"tls_certificate_ends": int(time.time() + days * 86400)})
    assert "which clients of handlersocket get, ends in 2.5 days" in ends_in(2.501) and "ALTER INSTANCE RELOAD TLS" in ends_in(2)
    assert "has ended 1.0 days ago" in ends_in(-1)
    assert ends_in(20) == "" and found(counters={"tls_certificate_ends": 0}) == "", "no port speaks TLS"


def test_deadlocks_with_sql():
    text = found(counters={"batch_retries": 100})
    assert "100 batches over handlersocket ran again" in text and "in MySQL, where that one is old" in text
    duplicates = {"batch_retries": 100, "duplicates": 95}
    assert found(counters=duplicates) == "", "MySQL runs a batch again for each row that is there already"
    assert "100 batches" in found(now={"version": "10.11.18-MariaDB"}, counters=duplicates)


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


def test_a_node_that_is_not_synced():
    status = {"wsrep_cluster_status": "Primary", "wsrep_ready": "ON", "wsrep_provider_name": "Galera"}
    assert "this node is Donor/Desynced" in found(now={"server": {**status, "wsrep_local_state_comment": "Donor/Desynced"}})
    assert found(now={"server": {**status, "wsrep_local_state_comment": "Synced"}}) == ""


@pytest.mark.parametrize("role", ["master", "source"])
def test_semi_synchronous_replication_that_has_given_up(role):
    on = {f"rpl_semi_sync_{role}_enabled": "ON", f"rpl_semi_sync_{role}_status": "ON"}
    assert found(now={"server": on}) == ""
    text = found(now={"server": {**on, f"rpl_semi_sync_{role}_status": "OFF"}})
    assert "what is answered now is on this server alone" in text and f"rpl_semi_sync_{role}_timeout" in text
    assert found(now={"server": {f"rpl_semi_sync_{role}_enabled": "OFF", f"rpl_semi_sync_{role}_status": "OFF"}}) == ""


def test_tables_that_are_opened_again_and_again():
    def opened(count):
        return {"server": {"table_open_cache_overflows": str(count), "table_open_cache": "400"}}
    assert "100 tables a second are opened because the cache of open ones is full (table_open_cache is 400)" in found(opened(5), opened(1005))
    assert found(opened(5), opened(55)) == ""


ACCOUNTS = {"handlersocket_accounts": "ON"}


def test_logins_that_fail_with_the_right_password():
    limited = {"limited": ["app@% (MAX_QUERIES_PER_HOUR 5)"]}
    counters = {"auths_failed": 100}

    def denied(count):
        return {"server": {"access_denied_errors": str(count), **ACCOUNTS}}

    def refused(*lines, **server):
        return {"refusals": list(lines), "server": {**ACCOUNTS, **server}}
    text = found(denied(7), {**denied(17), **limited}, counters)
    assert "has refused 100 logins in the last 10 s, and most not for a wrong password" in text
    assert "accounts with limits: app@% (MAX_QUERIES_PER_HOUR 5)" in text
    guessed = "has refused 100 logins in the last 10 s: the error log names accounts and addresses"
    assert guessed in found(denied(7), {**denied(107), **limited}, counters) and guessed in found(counters=counters)
    lines = ["a login of 'app' from '::1' was refused: Access denied for user", "a login of 'app' from '::1' was refused: the account has limits"]
    assert "most not for a wrong password" in found(now=refused(lines[1]), counters=counters)
    assert guessed in found(now=refused(lines[0], lines[0], lines[1]), counters=counters)
    for state in ("Account is locked.", "Account is blocked for 2 day(s) (2 day(s) remaining) due to 3 consecutive failed logins."):
        line = f"a login of 'app' from '::1' was refused: Access denied for user 'app'@'%'. {state}"
        assert "most not for a wrong password" in found(now=refused(line), counters=counters)
    german = "a login of 'app' from '::1' was refused: Benutzer 'app'@'%' hat keine Zugriffsberechtigung (verwendetes Passwort: JA)"
    assert guessed in found(now=refused(german, lc_messages="de_DE"), counters=counters)
    assert "most not" in found(now=refused(lines[1], lc_messages="en_US"), counters=counters)
    assert found(denied(7), {**denied(17), **limited}, {"auths_failed": 3}) == ""


def test_wrong_secrets_are_no_limits_of_accounts():
    """A port checks its secret itself, so that the server's count of refusals stands still."""
    limited, counters = {"limited": ["app@% (MAX_QUERIES_PER_HOUR 5)"]}, {"auths_failed": 100}
    for accounts in ({"handlersocket_accounts": "OFF"}, {}):
        server = {"server": {"access_denied_errors": "7", **accounts}}
        text = found(server, {**server, **limited}, counters)
        assert "has refused 100 logins in the last 10 s: the error log" in text and "ERRORS of ROWSOCKET_CONNECTIONS" in text
        assert "most not for a wrong password" not in text and "ALTER USER" not in text
    # Beside them, those of RESP's accounts are told by themselves.
    server = {"server": {"access_denied_errors": "7", "handlersocket_accounts": "OFF"}}
    all_denied = {"server": {**server["server"], "access_denied_errors": "37"}}
    for now, is_limited in ((server, True), (all_denied, False)):
        both = look(server, now, counters)
        both.before.counters["resp"], both.now.counters["resp"] = {}, {"auths_failed": 30}
        text = " ".join(wrong for wrong, _ in trouble.what_is_wrong(both))
        assert "handlersocket has refused 100 logins in the last 10 s" in text and "handlersocket has refused 100 logins in the last 10 s," not in text
        assert ("resp has refused 30 logins in the last 10 s, and most not for a wrong password" in text) == is_limited, text


def test_logins_of_which_the_servers_count_is_not_known():
    server = {"server": {"access_denied_errors": "7", **ACCOUNTS}}
    failed = {**server, "failed": {"server": "Lock wait timeout exceeded"}}
    for before, now in ((failed, server), (server, failed)):
        text = found(before, now, {"auths_failed": 100})
        assert "has refused 100 logins" in text and "most not for a wrong password" not in text
    assert "most not for a wrong password" in found(server, server, {"auths_failed": 100})


def late(count, oldest=1000, **more):
    return {"expired": {"container c": {"title": "container c", "plugin": "daemon_memcached", "keeper": "handlersocket", "schema": "s",
                                        "table": "t", "count": count, "oldest": oldest, "may_not": "", **more}}}


def test_expired_rows_that_stay():
    text = found(late(500), late(500))
    assert "the purge of expired rows of s.t (container c) stands still: 500 have expired" in text and "is disabled" in text
    assert "1000 or more have expired" in found(late(1000), late(1000))
    for account, grantee in (("u@%", "'u'@'%'"), ("u", "'u'@'%'"), ("u@h", "'u'@'h'")):
        text = found(late(500), late(500, may_not=account))
        assert f"account {account} lacks DELETE on s.t itself: GRANT DELETE ON `s`.`t` TO {grantee}; if it has DELETE by its role" in text
    assert "handlersocket_purge_rows_per_second is 0" in found(
        late(500), {**late(500), "limits": {"handlersocket": {"purge_rows_per_second": 0}}})
    gone = late(500, keeper="daemon_memcached")
    assert "daemon_memcached is not loaded, and nobody else removes them: INSTALL PLUGIN daemon_memcached SONAME" in found(late(500), gone)
    assert ": SET SESSION wsrep_on = OFF; INSTALL PLUGIN daemon_memcached" in found(late(500), {**gone, "server": {"wsrep_provider_name": "Galera"}})
    assert found(late(500), late(400)) == "" and found(late(500), late(500, oldest=2000)) == "", "they go"
    assert found(late(99), late(99)) == "", "some cannot go"
    assert found(late(500), {**late(500), "replication": {"applies": True}}) == "", "the source removes them"


def test_strings_of_resp_that_stay():
    def stays(turns):
        both = {"expired": {upkeep.STORE: {"title": upkeep.STORE, "plugin": "resp", "keeper": "resp", "schema": "rowsocket",
                                           "table": "store", "count": 500, "oldest": 1, "may_not": ""}}}
        one = look(both, both)
        for reading_, count in ((one.before, 0), (one.now, turns)):
            reading_.counters["resp"] = {"turns": count}
        return trouble.what_is_wrong(one)
    [(wrong, mend)] = stays(5)
    assert "the purge of expired rows of rowsocket.store (strings of RESP) stands still: 500 have expired" in wrong
    assert "transactions of SQL hold them" in wrong and "INNODB_TRX" in mend
    assert not stays(0), "nobody uses the port"


def test_tokens_that_stay():
    def tokens(oldest, newest):
        return {"tokens_age_s": (oldest, newest), "limits": {"handlersocket": {"token_ttl": 100}}}
    assert "rowsocket.tokens grows: its oldest row is 1000 s old" in found(tokens(990, 1), tokens(1000, 1))
    assert found(tokens(990, 1), tokens(980, 1)) == "", "old ones go"
    assert found(tokens(990, 190), tokens(1000, 200)) == "", "none comes"
    assert found(tokens(140, 1), tokens(150, 1)) == ""
    assert "no index that begins with `created`" in found(now={"tokens_unindexed": True})


def test_pages_that_are_not_in_memory():
    def reads(count, asked):
        return {"server": {"innodb_buffer_pool_reads": str(count), "innodb_buffer_pool_read_requests": str(asked)}}
    assert "InnoDB reads 2000 pages a second from the disk, 20% of those asked for" in found(reads(10, 50), reads(20_010, 100_050))
    assert found(reads(10, 50), reads(20_010, 10_000_050)) == "", "each page is asked for often"
    assert found(reads(10, 50), reads(110, 150)) == "", "there is little to do"


def test_clients_that_open_a_connection_for_each_request():
    assert "300 connections a second are opened over handlersocket" in found(counters={"connections_accepted": 3000})
    assert found(counters={"connections_accepted": 300}) == ""


def test_a_hot_row_that_is_not_merged():
    hot = {"plugin": "handlersocket", "table_schema": "shop", "table_name": "stock", "index_name": "PRIMARY", "key_text": "7",
           "requests": 5000, "merged": 0, "lock_waits": 0}
    asked = {"hot_rows": [hot], "latencies": whole(5000)}
    text = found(now=asked, counters={"unmerged_trigger": 4000, "unmerged_check": 10})
    assert "4000 writes were done alone, most often for handlersocket_unmerged_trigger" in text
    assert "these are reads: let the application keep the row" in found(now=asked, counters={"unmerged_trigger": 0})
    asked["latencies"] = whole(100_000)
    assert found(now=asked) == "", "others ask for ranges"
    assert found({"hot_rows": [{**hot, "requests": 4000}]}, {**asked, "latencies": whole(6000)}) == "", "it was hot before"


def test_a_replica():
    assert "no longer applies what its source writes (its thread is: No): Duplicate entry" in found(
        now={"stopped": [("applies", "No", "Duplicate entry")]})
    assert "60 s behind its source" in found(now={"lag_s": 60.0})
    assert found(now={"lag_s": 1.0}) == ""


def test_writes_of_several_nodes():
    assert "30 batches over handlersocket were lost to other nodes" in found(counters={"conflicts": 30})


def client(number, requests):
    return {"plugin": "handlersocket", "mode": "rd", "id": number, "name": "", "account": "", "address": "10.0.0.1", "port": 5,
            "state": "idle", "requests": requests, "errors": 0, "age_ms": 1000, "buffered_bytes": 0}


def whole(requests):
    return [{"plugin": "handlersocket", "mode": "rd", "verb": "find", "phase": "whole", "count": requests, "sum_us": requests,
             "buckets": [[1, requests]]}]


def test_one_client_among_many_that_ask():
    connections = [{"plugin": "handlersocket", "mode": "rd", "state": "idle", "count": 20, "bytes": 0}]
    alone = {"clients": [client(1, 90_000), client(2, 0)], "connections": connections, "latencies": whole(90_000)}
    beside = {"clients": [client(1, 90_000), client(2, 10_000)], "connections": connections, "latencies": whole(100_000)}
    assert "one of 20 connections asks for 90% of all requests: handlersocket 1 - 10.0.0.1:5" in found(now=beside)
    assert found(now=alone) == ""


def test_a_client_that_asks_for_less_than_all_others_together():
    connections = [{"plugin": "handlersocket", "mode": "rd", "state": "idle", "count": 5000, "bytes": 0}]
    clients = [client(1, 20_000), *(client(number, 20) for number in range(2, 1001))]
    # The reading names 1,000 of the connections; all 5,000 have asked for 120,000.
    assert found(now={"clients": clients, "connections": connections, "latencies": whole(120_000)}) == ""


def test_a_client_that_the_first_reading_did_not_name():
    connections = [{"plugin": "handlersocket", "mode": "rd", "state": "idle", "count": 20, "bytes": 0}]
    old = {**client(1, 1_000_000), "age_ms": 1_000_000_000}
    busy = {"connections": connections, "latencies": whole(20_000)}
    assert found(now={"clients": [old, client(2, 9000)], **busy}) == ""
    assert "handlersocket 1 -" in found(now={"clients": [{**old, "age_ms": 5_000}, client(2, 9000)], **busy})


def test_a_client_whose_worker_was_busy():
    """Of its connection neither requests nor errors are known then: 0 is no number from which it has come."""
    connections = [{"plugin": "handlersocket", "mode": "rd", "state": "idle", "count": 20, "bytes": 0}]
    busy = {**client(1, 0), "state": "worker busy", "age_ms": 0}
    old = {**client(1, 1_000_000), "age_ms": 1_000_000_000}
    asked = {"connections": connections, "latencies": whole(20_000)}
    others = client(2, 9000)
    assert found({"clients": [busy]}, {"clients": [old, others], **asked}) == ""
    assert found({"clients": [old]}, {"clients": [busy, others], **asked}) == ""


def test_the_limit_of_connections_is_that_of_a_port():
    def ports(reads, writes):
        return {"limits": {"handlersocket": {"connections_max": 100}},
                "connections": [{"plugin": "handlersocket", "mode": mode, "state": state, "count": count, "bytes": 0}
                                for mode, state, count in (("mode=rd", "idle", reads), ("mode=wr", "idle", writes),
                                                           ("mode=rd", "ready", 2))]}
    assert found(now=ports(60, 60)) == ""
    assert "handlersocket mode=rd has 92 connections of 100" in found(now=ports(90, 60))


def test_the_limit_of_lock_wait_threads_is_that_of_a_plugin():
    waiting = {"connections": [{"plugin": "resp", "mode": "mode=rw", "state": "lock wait", "count": 70, "bytes": 0}],
               "limits": {"resp": {"lock_wait_threads": 64}, "handlersocket": {"lock_wait_threads": 8}}}
    assert "others queue" not in found(now={**waiting, "lanes": {"resp": 20, "handlersocket": 1}})
    assert "64 of 64 lock wait threads of resp are at work" in found(now={**waiting, "lanes": {"resp": 64, "handlersocket": 1}})


def times(count, sum_us, end_us=100):
    return [{"plugin": "handlersocket", "mode": "rd", "verb": "find", "phase": phase, "count": count, "sum_us": sum_us,
             "buckets": [[end_us, count]]} for phase in ("execute", "whole")]


@pytest.mark.parametrize("before, now, more", [
    (times(1000, 1e5), times(1001, 1e6, 1000), {}),  # as many have come since, and they took longer
    (times(1000, 1e6, 1000), times(1001, 1e5), {}),
    (times(1000, 1e5), times(1001, 1.05e5), {"since": (5, 6)}),  # all alike
    (times(1000, 1e5), times(3, 300), {}), (times(1000, 1e5), [], {})])
def test_latencies_begin_anew_at_flush_status(before, now, more):
    since = more.get("since", (5, 5))
    first, second = (reading.Reading(at=at, counters={"handlersocket": {"latency_since": began}}, latencies=rows)
                     for at, began, rows in ((100.0, since[0], before), (110.0, since[1], now)))
    [whole_now] = [row for row in now if row["phase"] == "whole"] or [{"count": 0, "sum_us": 0}]
    assert rates.requests_between(first, second) == whole_now["count"]
    assert [row["per_second"] for row in rates.verbs_between(first, second)] == [whole_now["count"] / 10][:len(now)]
    assert trouble.what_is_wrong(trouble.Look(first, second, [])) == []
    for phases in rates.phases_between(first, second).values():
        assert phases["execute"] == whole_now["sum_us"] / whole_now["count"]


def test_latencies_go_on_between_readings():
    first, second = (reading.Reading(at=at, counters={"handlersocket": {"latency_since": 5}}, latencies=times(count, sum_us))
                     for at, count, sum_us in ((100.0, 1000, 1e5), (110.0, 1010, 1e5 + 500)))
    assert rates.requests_between(first, second) == 10 and rates.verbs_between(first, second)[0]["per_second"] == 1
    assert rates.phases_between(first, second)["handlersocket"]["execute"] == 50


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


def test_each_user_of_a_table_that_is_locked_whole_is_named():
    waits = {"waits": {blockers.TABLE_LEVEL: 3}}
    one = {"thread": 104, "user": "report@localhost", "query": "SELECT SLEEP(60) FROM m", "seconds": 8, "holds": "MDL_SHARED_READ",
           "what": "shop.m"}
    text = found(now=waits, whole_table_holders=[one])
    assert "3 threads of the library wait for table level lock" in text and "or KILL 104" in text
    assert "connection 104 of SQL (report@localhost) uses shop.m for 8 s; it executes: SELECT SLEEP(60) FROM m" in text
    assert "(report@localhost) may use shop.m for 8 s" in found(now=waits, whole_table_holders=[{**one, "holds": None}])
    assert "may hold shop.m by LOCK TABLES; it executes nothing" in found(now=waits, whole_table_holders=[{**one, "query": None}])
    text = found(now=waits, table_holders=[{**one, "holds": None}])
    assert "a statement of SQL has it, LOCK TABLES, or a scan" in text and "104" not in text, "its transaction is open, and no more"
    text = found(now={"waits": {**waits["waits"], "backup lock": 1}})
    assert "1 threads of the library wait for backup lock: somebody has FLUSH TABLES" in text


def waiting(state="batch", idle_ms=5000):
    return {"plugin": "handlersocket", "mode": "wr", "state": state, "count": 3, "bytes": 0, "idle_ms": idle_ms}


@pytest.mark.parametrize("states, why", [
    (["Waiting for someone to free space"], "a disk is full"),
    (["Commit"], "commits have begun and do not end"),
    (["waiting for handler commit", "Commit"], "commits have begun and do not end"),
    (["Waiting for semi-sync ACK from slave"], "commits wait for a replica's acknowledgement"),
    ([], "the batch that is executed does not end"),
])
def test_writes_that_stand_still(states, why):
    busy = {**waiting("worker busy"), "count": 1}
    text = found(now={"connections": [waiting(), busy], "stalls": states})
    assert f"writes over handlersocket stand still: 3 connections wait for a batch, the longest for 5 s; {why}" in text
    assert "somebody scans" not in text, "the cause is another one"


def test_a_tls_handshake_is_no_busy_worker():
    assert "somebody scans" in found(now={"connections": [{**waiting("worker busy", idle_ms=0), "count": 3}]})
    assert found(now={"connections": [{**waiting("handshake", idle_ms=0), "count": 3}]}) == ""


def test_a_worker_that_commits_itself_and_stands_still():
    busy = {"connections": [{**waiting("worker busy", idle_ms=0), "count": 3}], "stalls": ["Waiting for semi-sync ACK from slave"]}
    text = found(now={**busy, "stalled_s": {"handlersocket": 7}})
    assert "writes over handlersocket stand still: 3 connections wait for a batch, the longest for 7 s; commits wait for a replica" in text
    assert "somebody scans" not in text
    assert "somebody scans" in found(now={**busy, "stalled_s": {"handlersocket": 0}}), "a moment of each commit"


def test_writes_that_go_on():
    assert found(now={"connections": [waiting(idle_ms=5)], "stalls": ["Commit"]}) == ""
    assert found(now={"connections": [waiting()]}, counters={"commits": 10}) == "", "a client has sent much at once"


def test_a_server_that_is_read_only():
    assert "tables are locked" in found(counters={"errors_lock_tables": 100})
    text = found(now={"server": {"read_only": "ON"}}, counters={"errors_lock_tables": 100})
    assert "were answered lock_tables" in text and "the server takes no writes: read_only is ON" in text


def of_resp(requests, errors):
    return [{**client(1, requests), "plugin": "resp", "mode": "rw", "errors": errors}]


def test_requests_over_resp_that_fail():
    def both(errors, **server):
        before = reading.Reading(at=100.0, counters={"resp": {}}, clients=of_resp(1000, 10),
                                 tables=[{"plugin": "resp", "table_schema": "shop", "table_name": "t", "errors": 10}])
        now = reading.Reading(at=110.0, counters={"resp": {}}, clients=of_resp(1100, 10 + errors), server=server,
                              tables=[{"plugin": "resp", "table_schema": "shop", "table_name": "t", "errors": 10 + errors}])
        return " ".join(f"{wrong}: {mend}" for wrong, mend in trouble.what_is_wrong(trouble.Look(before, now, [])))
    text = both(90)
    assert "90 of 100 requests over resp were answered with an error in the last 10 s, at shop.t; most by resp 1" in text
    assert "SET GLOBAL offline_mode = OFF serves requests again" in both(90, offline_mode="ON", read_only="ON")
    assert "offline_mode" not in both(90, offline_mode="OFF")
    assert "read_only is ON" in both(90, read_only="ON") and "read_only" not in both(90, read_only="OFF")
    assert both(40) == "" and both(0) == ""


def test_errors_over_resp_of_a_connection_that_was_not_known():
    """Its worker was busy, or it was not among those that the first reading names: its errors may be old ones."""
    def of(before, now):
        first, second = (reading.Reading(at=at, counters={"resp": {}}, clients=clients) for at, clients in ((100.0, before), (110.0, now)))
        return " ".join(wrong for wrong, _ in trouble.what_is_wrong(trouble.Look(first, second, [])))
    [old] = [{**row, "age_ms": 1_000_000} for row in of_resp(1000, 900)]
    busy = {**old, "requests": 0, "errors": 0, "state": "worker busy", "age_ms": 0}
    assert of([busy], [old]) == "" and of([], [old]) == "" and of([old], [busy]) == ""
    assert "900 of 1000 requests over resp" in of([], [{**old, "age_ms": 5000}]), "it is new"


def held_by(**holder):
    before = reading.Reading(at=100.0, counters={"handlersocket": {}})
    now = reading.Reading(at=110.0, counters={"handlersocket": {}}, connections=[{**waiting("lock wait"), "count": 1}])
    holder = {"thread": 7, "seconds": 90, "waits": 1, "query": None, "user": None, **holder}
    return " ".join(f"{wrong}: {mend}" for wrong, mend in trouble.what_is_wrong(trouble.Look(before, now, [holder])))


def test_transactions_that_hold_a_row():
    assert "or KILL 7" in held_by(seconds=2)
    text = held_by(seconds=0)
    assert "KILL" not in text and "short transactions of SQL take turns at these rows" in text


def test_nobody_is_told_to_kill_replication():
    """By the threads that apply what the source has written: `system user`, with or without a host."""
    waits = "it is replication, which KILL would stop: wait for it, or look at the source"
    applier = {"seconds": 700, "thread": 12, "user": "system user@"}
    history = {"innodb_history_list_length": "250000"}
    holder = {**applier, "query": None, "holds": "SHARED_WRITE", "what": "shop.t"}
    for text in (held_by(**applier), held_by(**{**applier, "user": "system user"}), found(now={"server": history, "oldest": applier}),
                 found(now={"waits": {"table metadata lock": 3}}, table_holders=[holder])):
        assert waits in text and "KILL 12" not in text, text
    for query in (blockers.MYSQL_ROWS, blockers.MYSQL_TABLES):
        assert query.count("thread/sql/replica%', 'system user', CONCAT(") == 1, "whose account is NULL, or that of who has started it"
    assert "OR h.name LIKE 'thread/sql/replica%'" in blockers.MYSQL_TABLES


def test_a_prepared_transaction_without_a_session():
    text = held_by(thread=0)
    assert "a transaction of 90 s that XA has prepared holds rows for which 1 wait" in text and "XA RECOVER" in text and "KILL" not in text


def test_large_replies():
    def sends(sent, rows):
        return found(counters={"bytes_sent": sent}, now={"tables": [
            {"plugin": "handlersocket", "table_schema": "d", "table_name": "t", "index_name": "PRIMARY", "requests": rows, "writes": 0,
             "rows_read": rows, "rows_changed": 0, "errors": 0, "lock_waits": 0, "time_us": 1000 * rows}]})
    assert "sends 80 MB/s, 8000 kB for each row on average; requests take longest by index d.t PRIMARY" in sends(800_000_000, 100)
    assert sends(800_000_000, 100_000) == "" and sends(80_000_000, 10) == ""
