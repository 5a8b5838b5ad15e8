"""A primary with two replicas, semi-synchronous with AFTER_SYNC: what was acknowledged survives it."""

import threading

import pytest

from cluster import Cluster
from sale import Sale, crash_violations, make_table

pytestmark = [pytest.mark.ours, pytest.mark.slow]

STOCK = 10_000_000


@pytest.fixture
def cluster(request):
    made = Cluster("replicas", keep=request.config.getoption("--keep"))
    try:
        yield made.start()
    finally:
        made.remove()


def received(node):
    """The number of the last transaction that the replica has received or executed."""
    sql = node.sql()
    with sql.connection.cursor() as cursor:
        cursor.execute("SHOW SLAVE STATUS")
        columns = [column[0] for column in cursor.description]
        position = dict(zip(columns, cursor.fetchone()))["Gtid_IO_Pos"]
    return int(position.rpartition("-")[2] or 0)


def test_the_promoted_replica_has_every_acknowledged_write(cluster):
    primary, replicas = cluster[1], [cluster[2], cluster[3]]
    make_table(primary.sql(), "shop", STOCK)
    sale = Sale(primary, "shop", 32)
    sale.play(until=lambda sale: sale.taken >= 1000)
    killer = threading.Timer(0.02, primary.strike)
    killer.start()
    sale.play()
    killer.join()
    sale.close()
    primary.kill()
    promoted = max(replicas, key=received)
    promoted.promote()
    left = int(promoted.sql().value("SELECT stock FROM shop.stock"))
    assert crash_violations(sale, STOCK, left) == []
    again = Sale(promoted, "shop", 8)
    again.play(until=lambda sale: sale.taken >= 100)
    again.close()
    primary.rejoin()
    cluster.wait_until_equal("shop.stock")
