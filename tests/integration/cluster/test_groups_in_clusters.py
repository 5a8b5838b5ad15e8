"""Groups in a Galera cluster, and in MySQL's group replication: a group reaches the other nodes as a whole, or not at
all."""

import hs
import pytest

from groups import APPLIED, add, group, required, stopped, take
from purchase_nodes import purchases_between_nodes
from server import is_mysql, wait_until

pytestmark = [pytest.mark.again_in("mysql-9.7"), pytest.mark.ours, pytest.mark.slow]

KIND = "group" if is_mysql() else "galera"
STOCK = 400


def prepare(cluster, db):
    sql = cluster[1].sql()
    sql.run(f"CREATE TABLE {db}.stock (id INT PRIMARY KEY, stock INT NOT NULL)")
    sql.run(f"INSERT INTO {db}.stock VALUES (1, {STOCK})")
    sql.run(f"CREATE TABLE {db}.orders (id BIGINT AUTO_INCREMENT PRIMARY KEY, note VARCHAR(20), UNIQUE KEY (note))")
    for node in cluster.nodes[1:]:
        session = node.sql()
        wait_until(lambda session=session: session.rows(
            f"SELECT 1 FROM information_schema.tables WHERE table_schema = '{db}' AND table_name = 'orders'"), 20, "tables")


def shop(node, db):
    client = node.hs_wr()
    return client, client.opened(db, "stock", "", "stock", "stock"), client.opened(db, "orders", "", "note")


def test_groups_that_fail_and_stop_leave_nothing_on_any_node(cluster, db):
    prepare(cluster, db)
    client, stock, orders = shop(cluster[1], db)
    assert group(client, [required(stock, *take(stock, 1)), required(orders, *add("a"))])[0] == APPLIED
    answer, _ = group(client, [required(stock, *take(stock, 1)), required(orders, *add("a"))])
    assert (answer.code, answer[-1]) == (1, b"2")
    assert group(client, [required(orders, *add("b")), required(stock, *take(stock, 1, 1000))])[0] == stopped(2)
    lines = []
    for number in range(100):
        lines += [["G", 2], required(stock, *take(stock, 1)), required(orders, *add(f"n{number // 2}"))]
    answers = client.pipeline(lines)[::3]
    assert [answer == APPLIED for answer in answers] == [True, False] * 50
    cluster.wait_until_equal(f"{db}.stock", f"{db}.orders")
    sql = cluster[2].sql()
    assert sql.rows(f"SELECT stock FROM {db}.stock") == [(b"%d" % (STOCK - 51),)]
    assert sql.value(f"SELECT COUNT(*) FROM {db}.orders") == b"51"


def test_nodes_that_take_from_one_row_conserve_it(cluster, db):
    """Groups that lose to another node are run again, or answered as not done."""
    prepare(cluster, db)
    shops = [shop(node, db) for node in cluster.nodes for _ in range(2)]
    for number, (client, stock, orders) in enumerate(shops):
        for turn in range(40):
            client.send_raw(b"".join(hs.line(*tokens) for tokens in (
                ["G", 2], required(stock, *take(stock, 1)), required(orders, *add(f"{number}-{turn}")))))
    applied = 0
    for client, _, _ in shops:
        for _ in range(40):
            first, *_ = [client.recv(60) for _ in range(3)]
            applied += first == APPLIED
            assert first == APPLIED or first.code == 1, first
    assert applied > 0
    cluster.wait_until_equal(f"{db}.stock", f"{db}.orders")
    for node in cluster.nodes:
        sql = node.sql()
        assert sql.rows(f"SELECT stock FROM {db}.stock") == [(b"%d" % (STOCK - applied),)]
        assert sql.value(f"SELECT COUNT(*) FROM {db}.orders") == b"%d" % applied


def test_purchases_are_whole_beside_a_node_in_trouble(cluster, rng):
    """One round; scripts/torture --only purchase-galera (purchase-group) plays any number."""
    wrong, counted = purchases_between_nodes(cluster, "trade", rng)
    assert wrong == []
    assert counted["applied"] > 0


def test_a_request_that_fails_after_many_rows_leaves_nothing(cluster, db):
    """Its row events fill more than one event: the rows before the one that is refused are in none of them."""
    cluster[1].sql(db).run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, n TINYINT, pad VARCHAR(4000))")
    cluster[1].sql(db).run(f"INSERT INTO {db}.t SELECT seq, IF(seq = 12, 127, 0), REPEAT('x', 4000) FROM seq_1_to_12")
    cluster.wait_until_equal(f"{db}.t")
    client = cluster[1].hs_wr()
    index = client.opened(db, "t", "", "n")
    lines = [hs.find_words(index.id, ">=", [1], 12, 0, mod=["+", 1]),
             hs.find_words(index.id, "=", [12], 1, 0, mod=["-", 1])]
    assert client.pipeline(lines) == [hs.refused(1, "1264"), hs.counted(1)]
    cluster.wait_until_equal(f"{db}.t")
    assert cluster[2].sql().rows(f"SELECT n, COUNT(*) FROM {db}.t GROUP BY n") == [(b"0", b"11"), (b"126", b"1")]
