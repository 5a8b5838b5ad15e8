"""Purchases of several rows in a cluster: through nodes that all write, with one trouble of a node, and through a
failover of replicas. What was acknowledged has to be on every node, once and complete."""

import threading
import time

from cluster_trouble import change_table, isolate_node, kill_node, pause_node, promote_furthest
from load import clients_kept
from purchase_trouble import PLAY_S, Round, outcome_of
from server import wait_until

# A time for a failed node to be given up, join again and get what it has missed.
TROUBLE_S = 240
GO_ON = 50  # purchases that other nodes make while a node is in trouble


class ClusterRound(Round):
    """A round whose tables have to be equal on all nodes at the end."""

    stocks = (1_000_000,)

    def __init__(self, cluster, trouble, db, rng, sellers):
        self.cluster = cluster
        super().__init__(trouble, sellers[0], None, db, rng, sellers)

    @property
    def tables(self):
        return [f"{self.db}.{name}" for name in ("stock", "users", "orders")] + ["rowsocket.tokens"]

    def made(self, sql):
        self.cluster.wait_until_equal(*self.tables)

    def judge(self):
        sessions = [node.sql() for node in self.cluster.nodes]
        for session in sessions:
            self.quiet(session)
        self.cluster.wait_until_equal(*self.tables, timeout_s=60)
        if self.cluster.kind == "group":  # a member that comes back is read only for a moment longer
            wait_until(lambda: not any(int(session.value("SELECT @@super_read_only")) for session in sessions), 60,
                       "members that take writes")
        wrong = super().judge()
        self.cluster.wait_until_equal(*self.tables, timeout_s=60)
        return wrong


class NodesRound(ClusterRound):
    """A round through one to three nodes that all write. A node that lost to another every time answers 149; one
    without its cluster 1047; a MySQL member that leaves its group 3100, or that it is read only."""

    allowed = r".*1047.*|3100|.*lock_tables.*|.*READONLY.*|.*TRYAGAIN.*"

    def __init__(self, cluster, db, rng):
        self.node = rng.choice(cluster.nodes)
        trouble = rng.choice(("kill", "isolate", "pause", "ddl"))
        sellers = rng.sample(cluster.nodes, rng.choice((1, 2, 3)))
        if (cluster.kind, trouble) == ("group", "ddl"):
            sellers = [self.node]  # MySQL takes no DDL of a table that another member writes to meanwhile
        super().__init__(cluster, trouble, db, rng, sellers)

    def go_on(self, without=None):
        """Waits until buyers at other nodes than this one have bought more, or have all gone."""
        wanted = len(self.books.applied) + GO_ON
        others = [buyer for buyer in self.trade.buyers if buyer.shop.server is not without]
        wait_until(lambda: len(self.books.applied) >= wanted or all(buyer.sock.fileno() < 0 for buyer in others), 60,
                   "the nodes go on")

    def go_on_and_stop(self, without):
        """Also stops the buyers: on few cores, a returning member of group replication cannot catch up with buyers who
        never pause."""
        self.go_on(without)
        if self.cluster.kind == "group":
            for buyer in self.trade.buyers:
                buyer.buys = False

    def trouble_of_the_node(self, _, times):
        end = time.monotonic() + PLAY_S
        wait_until(lambda: len(self.books.applied) >= self.goal or time.monotonic() > end, 60, "the sale begins")
        {"kill": lambda: kill_node(self.node, self.go_on_and_stop),
         "isolate": lambda: isolate_node(self.node, self.go_on_and_stop),
         "pause": lambda: pause_node(self.node, self.go_on, self.rng.choice((None, self.rng.uniform(0.5, 4)))),
         "ddl": lambda: change_table(self.node, self.db, self.go_on)}[self.trouble]()
        times.append(1)

    def play(self):
        self.beside(self.trouble_of_the_node, often=1, timeout_s=TROUBLE_S)
        self.trade.finish()


class FailoverRound(ClusterRound):
    """A round in which the primary is killed, the replica that has received most is promoted, and the primary comes
    back as its replica."""

    def __init__(self, cluster, db, rng):
        super().__init__(cluster, "failover", db, rng, [cluster.primary])

    def play(self):
        primary = self.server
        self.trade.play(self.reached())
        killer = threading.Timer(self.rng.choice((0, self.rng.uniform(0, 0.03))), primary.strike)
        killer.start()
        try:
            self.trade.play(lambda: False)
        finally:
            killer.join()
        with clients_kept(primary):
            primary.kill()
        self.server = self.shop.server = promote_furthest(self.cluster)
        primary.rejoin()


def purchases_between_nodes(cluster, db, rng):
    """One round in a cluster of Galera or of group replication. Returns the violations, and its counts."""
    return outcome_of(NodesRound(cluster, db, rng))


def purchases_through_failover(cluster, db, rng):
    """One round with replicas. Returns the violations, and its counts."""
    return outcome_of(FailoverRound(cluster, db, rng))
