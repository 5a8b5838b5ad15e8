"""A primary with two replicas, semi-synchronous with AFTER_SYNC: what was acknowledged survives it."""

import shutil
import threading

import pytest

import hs
from cluster import Cluster
from clustertrouble import promote_furthest
from sale import Sale, crash_violations, make_table
from server import wait_until

pytestmark = [pytest.mark.ours, pytest.mark.slow]

STOCK = 10_000_000


@pytest.fixture(scope="module")
def shared_cluster(request):
    made = Cluster("replicas", options=["--loose-handlersocket-tokens=ON"], keep=request.config.getoption("--keep"))
    try:
        yield made.start()
    finally:
        made.remove()


@pytest.fixture
def cluster(shared_cluster):
    """All nodes, the replicas on the primary's state, whatever the test before has done to them."""
    for node in [shared_cluster.primary, *shared_cluster.replicas]:
        if not node.alive():
            node.rejoin()
    yield shared_cluster
    for node in shared_cluster.nodes:
        node.close_clients()


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
    position = old.sql().value("SELECT @@gtid_binlog_pos")
    register.client.send(register.id, "=", 1, 1, 1, 0, "U", 77)
    wait_until(lambda: old.sql().value("SELECT @@gtid_binlog_pos") != position, 10, "the change in the binary log")
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
