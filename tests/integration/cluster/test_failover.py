"""A primary with two replicas, semi-synchronous with AFTER_SYNC: what was acknowledged survives it."""

import re
import shutil
import threading

import pytest

import hs
import mc
from cluster_trouble import promote_furthest, tokens_through_failovers
from doctor import says
from purchase_nodes import purchases_through_failover
from sale import Sale, crash_violations, make_table
from server import run_packaged, wait_until

pytestmark = [pytest.mark.mariadb("scripts/cluster --replicas"), pytest.mark.ours, pytest.mark.slow]

KIND = "replicas"
STOCK = 10_000_000


def test_the_promoted_replica_has_every_acknowledged_write(cluster):
    primary = cluster.primary
    make_table(primary.sql(), "shop", STOCK)
    sale = Sale(primary, "shop", 32)
    sale.play(until=lambda sale: sale.taken >= 1000)
    killer = threading.Timer(0.02, primary.strike)
    killer.start()
    sale.play()
    killer.join()
    sale.close()
    primary.kill()
    promoted = promote_furthest(cluster)
    left = int(promoted.sql().value("SELECT stock FROM shop.stock"))
    assert crash_violations(sale, STOCK, left) == []
    again = Sale(promoted, "shop", 8)
    again.play(until=lambda sale: sale.taken >= 100)
    again.close()
    primary.rejoin()
    cluster.wait_until_equal("shop.stock")


def test_each_token_counts_once_through_failovers(cluster, rng):
    run_packaged(cluster.primary.sql(), "rowsocket_tokens.sql")
    wrong, counts = tokens_through_failovers(cluster, rng, "tokens", kills=2)
    assert wrong == []
    assert counts["applied"] > 0


def test_purchases_are_whole_through_a_failover(cluster, rng):
    wrong, counted = purchases_through_failover(cluster, "trade", rng)
    assert wrong == []
    assert counted["applied"] > 0


def test_finds_on_a_replica_see_a_write_after_the_wait_for_it(cluster):
    primary, replica = cluster.primary, cluster.replicas[0]
    register = make_register(primary, "own")
    cluster.wait_until_equal("own.t")
    reader = replica.hs_rd().opened("own", "t", "PRIMARY", "v", None)
    position, wait = primary.sql(), replica.sql()
    for value in range(100, 300, 2):
        assert register.client.request(register.id, "=", 1, 1, 1, 0, "U", value) == hs.counted(1)
        written = position.value("SELECT @@gtid_binlog_pos").decode()
        assert wait.value("SELECT MASTER_GTID_WAIT(%s, 10)", written) == b"0"
        assert reader.find("=", [1]) == hs.reply(0, 1, value)
        # The same over HandlerSocket alone.
        assert register.client.request(register.id, "=", 1, 1, 1, 0, "U", value + 1) == hs.counted(1)
        written = register.client.request("H", "position").cells[0]
        wait_until(lambda written=written: reader.client.request("H", "at", written) == hs.OK, 10, "the write")
        assert reader.find("=", [1]) == hs.reply(0, 1, value + 1)


def health(node):
    """(role, state, reads, writes, version, lag), the same over both protocols."""
    with node.hs_rd() as client, mc.connect(node) as memcached:
        answer = client.request_raw(b"H")
        stats = memcached.stats("rowsocket")
    assert answer[:2] == hs.reply(0, 6)
    told = tuple(cell.decode() if cell is not None else None for cell in answer.cells)
    assert [*stats.values()] == [value if value is not None else "NULL" for value in told]
    return told


def checks(node, *requests):
    with node.hs_wr() as client:
        return [client.request("H", *request.split()) == hs.OK for request in requests]


def test_every_server_says_what_it_takes(cluster):
    primary, replica = cluster.primary, cluster.replicas[0]
    version = primary.sql().value("SELECT VERSION()").decode()
    assert health(primary) == ("primary", "running", "1", "1", version, "0")
    assert checks(primary, "write", "read", "read 0") == [True, True, True]
    wait_until(lambda: health(replica) == ("replica", "running", "1", "0", version, "0"), 10, "the replica runs")
    assert checks(replica, "write", "read", "read 60") == [False, True, True]
    replica.sql().run("STOP SLAVE SQL_THREAD")
    assert health(replica) == ("replica", "stopped", "1", "0", version, None)
    assert checks(replica, "read", "read 1000") == [True, False]
    replica.sql().run("START SLAVE SQL_THREAD")
    primary.sql().run("SET GLOBAL read_only = ON")
    assert checks(primary, "write") == [False]
    primary.sql().run("SET GLOBAL read_only = OFF")
    assert checks(primary, "write") == [True]
    wait_until(lambda: checks(replica, "read 60") == [True], 10, "the replica runs again")


def fall_behind(cluster, db):
    """A write that the first replica cannot apply until the session that is returned rolls back."""
    register = make_register(cluster.primary, db)
    cluster.wait_until_equal(f"{db}.t")
    holder = cluster.replicas[0].sql(db)
    holder.run("BEGIN")
    holder.run("SELECT * FROM t FOR UPDATE")  # the SQL thread waits for this row
    assert register.client.request(register.id, "=", 1, 1, 1, 0, "U", 77) == hs.counted(1)
    return holder


def test_health_shows_how_far_a_replica_is_behind(cluster):
    replica = cluster.replicas[0]
    holder = fall_behind(cluster, "behind")
    wait_until(lambda: checks(replica, "read 1") == [False], 30, "the replica is behind")
    assert checks(replica, "read", "read 1000") == [True, True]
    holder.run("ROLLBACK")
    wait_until(lambda: checks(replica, "read 0") == [True], 30, "the replica has caught up")
    assert replica.sql().value("SELECT v FROM behind.t") == b"77"


def test_the_doctor_names_a_replica_that_is_behind_or_stands_still(cluster):
    replica = cluster.replicas[0]
    holder = fall_behind(cluster, "late")
    says(replica, "s behind its source", "clients that must see their own writes")
    holder.run("ROLLBACK")
    replica.sql().run("STOP SLAVE SQL_THREAD")
    says(replica, "no longer applies what its source writes", "START REPLICA")
    replica.sql().run("START SLAVE SQL_THREAD")
    cluster.wait_until_equal("late.t")


def test_the_doctor_does_not_end_the_replication_that_holds_a_row(cluster):
    """The SQL thread has changed a row, and waits for another one; a client of the replica waits for the first. The session
    for which all wait is named, and the SQL thread is not."""
    replica, primary = cluster.replicas[0], cluster.primary.sql()
    make_register(cluster.primary, "held")
    primary.run("INSERT INTO held.t VALUES (2, 10)")
    cluster.wait_until_equal("held.t")
    holder, sql = replica.sql("held"), replica.sql()
    holder.run("BEGIN")
    holder.run("SELECT * FROM t WHERE id = 2 FOR UPDATE")
    primary.run("UPDATE held.t SET v = 5 ORDER BY id")
    waits = "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'"
    wait_until(lambda: sql.value(waits) == b"1", 30, "the SQL thread waits", 0.2)  # InnoDB keeps the table for 0.1 s.
    sql.run("SET GLOBAL read_only = OFF")
    index = replica.hs_wr().opened("held", "t", "PRIMARY", "v", None)
    index.client.send(index.id, "=", 1, 1, 1, 0, "U", 5)  # What is there already by then, so that nothing is written here.
    number = int(holder.value("SELECT CONNECTION_ID()"))
    said = says(replica, "connections wait for rows", f"connection {number} of SQL", f"or KILL {number}")
    assert re.findall(r"KILL (\d+)", said) == [str(number)], said
    holder.run("ROLLBACK")
    index.client.recv()
    sql.run("SET GLOBAL read_only = ON")
    cluster.wait_until_equal("held.t")


def make_register(node, db):
    sql = node.sql()
    sql.run(f"CREATE DATABASE {db}")
    sql.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, v INT)")
    sql.run(f"INSERT INTO {db}.t VALUES (1, 10)")
    return node.hs_wr().opened(db, "t", "PRIMARY", "v", None)


def values(cluster, db):
    return {node.sql().value(f"SELECT v FROM {db}.t") for node in cluster.nodes}


def test_what_no_replica_has_received_is_rolled_back_when_the_old_primary_rejoins(cluster):
    old, new = cluster.primary, cluster.replicas[0]
    register = make_register(old, "unreceived")
    cluster.wait_until_equal("unreceived.t")
    for replica in cluster.replicas:
        replica.isolate()
    session = old.sql()
    position = session.value("SELECT @@gtid_binlog_pos")
    register.client.send(register.id, "=", 1, 1, 1, 0, "U", 77)
    wait_until(lambda: session.value("SELECT @@gtid_binlog_pos") != position, 10, "the change in the binary log")
    old.strike()
    with pytest.raises((hs.Closed, OSError)):  # an answer would be an acknowledgment
        register.client.recv()
    old.kill()
    new.promote()
    assert new.sql().value("SELECT v FROM unreceived.t") == b"10"
    old.rejoin()
    cluster.wait_until_equal("unreceived.t")
    assert values(cluster, "unreceived") == {b"10"}


def test_an_old_primary_with_transactions_of_its_own_is_refused(cluster):
    old, new = cluster.primary, cluster.replicas[0]
    register = make_register(old, "owned")
    cluster.wait_until_equal("owned.t")
    for replica in cluster.replicas:
        replica.isolate()
    old.sql().run("SET GLOBAL rpl_semi_sync_master_enabled = OFF")
    assert register.client.request(register.id, "=", 1, 1, 1, 0, "U", 77) == hs.counted(1)
    # Until the engine's log has the commit as well, the server still rolls it back at its start.
    old.sql().run("FLUSH ENGINE LOGS")
    old.kill()
    new.promote()
    with pytest.raises(AssertionError, match="has transactions that the primary does not have"):
        old.rejoin()
    assert not old.alive()
    shutil.rmtree(old.directory / "data")
    old.rejoin()
    cluster.wait_until_equal("owned.t")
    assert values(cluster, "owned") == {b"10"}


def test_a_replica_that_has_received_less_than_another_is_not_promoted(cluster):
    behind, ahead = cluster.replicas
    primary = cluster.primary
    register = make_register(primary, "less")
    cluster.wait_until_equal("less.t")
    behind.isolate()
    assert register.client.request(register.id, "=", 1, 1, 1, 0, "U", 77) == hs.counted(1)
    primary.kill()
    with pytest.raises(AssertionError, match=f"promote node {ahead.number}"):
        behind.promote()
    ahead.promote()
    primary.rejoin()
    cluster.wait_until_equal("less.t")
    assert values(cluster, "less") == {b"77"}
