"""Trouble in a cluster under a sale's load: what was acknowledged has to be on every node, once.

For the tests and for scripts/torture; each function returns the violations and the counts.
"""

import os
import signal
import threading
import time
import types

from cluster import Node
from load import clients_kept
from sale import Sale, applied, crash_violations, make_table
from server import is_mysql, wait_until
from test_tokens import kills_and_reconnects

STOCK = 100_000_000
# Answers to requests that took nothing: of a node that lost every time (149); of a Galera node without a cluster
# (1047); of a MySQL member that leaves its group (3100), or has left it.
ALLOWED = ({b"1\t1\t149", b"1\t1\t3100", b"1\t1\tlock_tables"} if is_mysql() else
           {b"1\t1\t149", b"1\t1\t1047"})


def promote_furthest(cluster):
    """Promotes the replica that has received most, after the primary has been killed."""
    promoted = max(cluster.replicas, key=Node.received)
    promoted.promote()
    return promoted


def fail_over(primary):
    """Kills the primary, promotes a replica, and makes the old primary a replica. Returns the new primary."""
    with clients_kept(primary):
        primary.kill()
    promoted = promote_furthest(primary.cluster)
    with clients_kept(primary):
        primary.rejoin()
    return promoted


def tokens_through_failovers(cluster, rng, db, kills=1):
    wrong, bought, repeated = kills_and_reconnects(cluster.primary, db, rng, kills, fail_over)
    cluster.wait_until_equal(f"{db}.stock", "rowsocket.tokens")
    cluster.primary.sql().run("DELETE FROM rowsocket.tokens")
    return wrong, {"applied": bought, "repeated": repeated}


def sale_through_failover(cluster, rng, db):
    """A sale with many connections without tokens; the old primary rejoins, after which all nodes must be equal."""
    primary = cluster.primary
    make_table(primary.sql(), db, STOCK)
    sale = Sale(primary, db, rng.choice((8, 32, 128)))
    try:
        sale.play_until_killed(primary, int(10 ** rng.uniform(0, 3.5)), rng.uniform(0, 0.03), seconds_max=3)
    finally:
        sale.close()
    promoted = promote_furthest(cluster)
    left = int(promoted.sql().value(f"SELECT stock FROM {db}.stock"))
    wrong = crash_violations(sale, STOCK, left) + [f"answered {line!r}" for line in sale.errors]
    primary.rejoin()
    cluster.wait_until_equal(f"{db}.stock")
    return wrong, {"applied": sale.taken, "unknown": len(sale.unknown)}


def sell_through(cluster, db, connections, trouble, goal=1):
    """A sale of one row through the nodes that `connections` has with their numbers of connections. trouble(go_on)
    begins after `goal` pieces; go_on(node) waits until nodes other than this one sell more. At the end all nodes must
    be equal. Returns the violations and the counts."""
    make_table(cluster[1].sql(), db, STOCK)
    cluster.wait_until_equal(f"{db}.stock")
    sales = [Sale(cluster[number], db, count) for number, count in connections.items()]
    stopping = threading.Event()
    threads = [threading.Thread(target=sale.play, args=(lambda _: stopping.is_set(), 300)) for sale in sales]

    def taken():
        return sum(sale.taken for sale in sales)

    def go_on(without=None):
        wanted = taken() + 50
        others = [sale for sale in sales if sale.server is not without]
        wait_until(lambda: taken() >= wanted or not any(sale.active for sale in others), 60, "the sale goes on")
    for thread in threads:
        thread.start()
    try:
        wait_until(lambda: taken() >= goal, 60, "the sale begins")
        trouble(go_on)
    finally:
        stopping.set()
        for thread in threads:
            thread.join()
        for sale in sales:
            sale.close()
    cluster.wait_until_equal(f"{db}.stock", timeout_s=60)
    left = int(cluster[1].sql().value(f"SELECT stock FROM {db}.stock"))
    together = types.SimpleNamespace(books=[one for sale in sales for one in sale.books],
                                     unknown=[one for sale in sales for one in sale.unknown])
    wrong = crash_violations(together, STOCK, left)
    wrong += [f"answered {line!r}" for sale in sales for line in sale.errors if line not in ALLOWED]
    return wrong, {"applied": len(applied(together.books)), "unknown": len(together.unknown)}


def kill_node(node, go_on):
    node.strike()
    with clients_kept(node):
        node.kill()
    go_on(node)
    node.rejoin()


def isolate_node(node, go_on):
    node.isolate()
    go_on(node)
    node.reconnect()


def pause_node(node, go_on, seconds=None):
    """Stops the process for so many seconds, during which the other nodes wait; without a number, until they go on
    without it."""
    other = next(each for each in node.cluster.nodes if each is not node)
    size = other.size()
    os.kill(node.pid, signal.SIGSTOP)
    try:
        if seconds is None:
            wait_until(lambda: other.size() < size, 60, "the cluster without the node")
            go_on(node)
        else:
            time.sleep(seconds)  # the length of the pause
    finally:
        os.kill(node.pid, signal.SIGCONT)
    # A member that its group has expelled learns of it now, and joins again by itself if it can.
    wait_until(lambda: other.size() == size or node.size() == 0, 60, "the end of the pause at the node")
    node.reconnect()
    wait_until(lambda: other.size() == size, 60, "the whole cluster")
    go_on()


def change_table(node, db, go_on):
    session = node.sql(db, read_timeout=120)
    for number in range(4):
        session.run(f"ALTER TABLE stock ADD c{number} INT")
        session.run(f"ALTER TABLE stock DROP c{number}")
    go_on()


def trouble_between_nodes(cluster, rng, db):
    """A sale of one row through one to three nodes that all write, with one trouble of one node in the middle."""
    node = rng.choice(cluster.nodes)
    troubles = {"kill": lambda go_on: kill_node(node, go_on),
                "isolate": lambda go_on: isolate_node(node, go_on),
                "pause": lambda go_on: pause_node(node, go_on, rng.choice((None, rng.uniform(0.5, 4)))),
                "ddl": lambda go_on: change_table(node, db, go_on)}
    kind = rng.choice([*troubles])
    sellers = rng.sample((1, 2, 3), rng.choice((1, 1, 2, 3)))
    if (cluster.kind, kind) == ("group", "ddl"):
        sellers = [node.number]  # MySQL takes no DDL of a table that another member writes to meanwhile
    connections = {number: rng.choice((4, 16, 64)) for number in sellers}
    wrong, counts = sell_through(cluster, db, connections, troubles[kind], rng.randint(1, 2000))
    return [f"{kind}: {text}" for text in wrong], counts | {kind: 1}
