"""HAProxy, as packaging/haproxy.cfg has it, in front of a primary with two replicas: the primary is
killed, a replica is promoted, and the clients go on by themselves, with tokens."""

import pytest

import hs
import mc
from cluster_trouble import promote_furthest
from haproxy import Proxy
from load import Crew
from server import run_packaged, wait_until

pytestmark = [pytest.mark.mariadb("scripts/cluster --replicas"), pytest.mark.ours, pytest.mark.slow]

STOCK = 1_000_000
BUYERS, FINDERS = 16, 4


@pytest.fixture
def cluster(make_cluster):
    return make_cluster("replicas", options=["--loose-handlersocket-tokens=ON"])


@pytest.fixture
def proxy(cluster):
    made = Proxy(cluster, cluster.base)
    try:
        yield made.start()
    finally:
        made.stop()


class Client:
    """Connects through the proxy, and connects again whenever the connection has ended or was refused."""

    def __init__(self, address, number):
        self.address, self.number = address, number
        self.connection = None
        self.connections = 0
        self.done = 0

    def connected(self):
        if self.connection is None:
            self.connection = hs.Client(self.address, timeout_s=10)
            self.connections += 1
            opened = self.connection.open_index(0, "shop", "stock", "PRIMARY", "stock")
            if opened != hs.OK:
                raise hs.Closed(f"P is answered {opened}")
        return self.connection

    def ask(self, *tokens):
        """The answer of success to this request, which is sent until there is one."""
        def answer():
            try:
                got = self.connected().request(*tokens)
            except (OSError, hs.Closed):
                self.close()
                return None
            if got.code == 0:
                return got
            # A server that is not the primary yet, or not any more, refuses to write.
            assert got.error == "lock_tables", got
            self.close()
            return None

        return wait_until(answer, 120, f"an answer to client {self.number}: {tokens}", step_s=0.05)

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None


class Buyer(Client):
    def buy(self):
        token = f"buyer{self.number}-{self.done + 1}"
        answer = self.ask("T", token, 0, "=", 1, 1, 1, 0, "-", 1)
        assert answer == hs.counted(1), answer
        self.done += 1


class Finder(Client):
    def find(self):
        answer = self.ask(0, "=", 1, 1)
        assert 0 < int(answer.cells[0]) <= STOCK
        self.done += 1


def test_clients_move_to_the_promoted_server_by_themselves(cluster, proxy):
    primary, replica = cluster.primary, cluster.replicas[0]
    sql = primary.sql()
    run_packaged(sql, "rowsocket_tokens.sql")
    sql.run("CREATE DATABASE shop")
    sql.run("CREATE TABLE shop.stock (id INT PRIMARY KEY, stock INT NOT NULL)")
    sql.run("INSERT INTO shop.stock VALUES (1, %s)", STOCK)
    cluster.wait_until_equal("shop.stock", "rowsocket.tokens")
    buyers = [Buyer(proxy.address("handlersocket_wr"), number) for number in range(BUYERS)]
    finders = [Finder(proxy.address("handlersocket"), number) for number in range(FINDERS)]
    def run(step, crew):
        while not crew.stopping.is_set():
            step()

    def all_go_on(crew, count=20):
        goals = {client: client.done + count for client in buyers + finders}
        wait_until(lambda: crew.check() and all(client.done >= goal for client, goal in goals.items()), 60,
                   "all clients go on")
    with Crew() as crew:
        for step in [*(buyer.buy for buyer in buyers), *(finder.find for finder in finders)]:
            crew.start(run, step, crew)
        all_go_on(crew)
        primary.strike()
        primary.kill()
        promote_furthest(cluster)
        all_go_on(crew)
        primary.rejoin()
        all_go_on(crew)
    for client in buyers + finders:
        client.close()
    cluster.wait_until_equal("shop.stock", "rowsocket.tokens")
    bought = sum(buyer.done for buyer in buyers)
    sql = replica.sql()
    assert int(sql.value("SELECT stock FROM shop.stock")) == STOCK - bought
    assert int(sql.value("SELECT COUNT(*) FROM rowsocket.tokens")) == bought
    assert all(buyer.connections >= 2 for buyer in buyers)


def test_memcached_goes_to_the_server_that_takes_writes(cluster, proxy):
    address = proxy.address("memcached")

    def stored(value):
        try:
            with mc.Client(address) as client:
                return client.set("key", value) == b"STORED"
        except (OSError, mc.Closed):
            return False
    wait_until(lambda: stored(b"1"), 20, "an item is stored")
    primary, promoted = cluster.primary, cluster.replicas[0]
    cluster.wait_until_equal("innodb_memcache.demo")
    primary.kill()
    promoted.promote()
    wait_until(lambda: stored(b"2"), 20, "an item is stored on the promoted server")
    assert mc.connect(promoted).value("key") == b"2"
