"""A Galera cluster of three nodes on loopback: what is written through a node is on all of them."""

import contextlib
import threading

import pymysql
import pytest

import hs
import mc
from cluster import Node
from doctor import busy, says
from sale import KEEP, Sale, applied, book_violations, crash_violations, make_table
from server import run_packaged, wait_until

pytestmark = [pytest.mark.mariadb("Galera"), pytest.mark.ours, pytest.mark.slow]

KIND = "galera"


def on_all_nodes(cluster, query, expected, nodes=(1, 2, 3), timeout_s=10):
    """Waits until the query answers this on each node; its table may not be there at first."""
    def answers(session):
        try:
            return session.rows(query) == expected
        except pymysql.err.ProgrammingError:
            return False
    for number in nodes:
        session = cluster[number].sql()
        wait_until(lambda session=session: answers(session), timeout_s, f"{query} on node {number}")
        session.close()


def writesets(node):
    return node.sql().status("wsrep_replicated")


def test_every_verb_reaches_every_node_as_one_writeset_of_its_turn(cluster, db):
    cluster[1].sql().run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, v INT, w VARCHAR(20) DEFAULT 'x')")
    writer = cluster[1].hs_wr().opened(db, "t", "PRIMARY", "id,v", None)
    for request, answer, rows in [
            (("+", 2, 1, 10), hs.OK, [(b"1", b"10", b"x")]),
            (("=", 1, 1, 1, 0, "U", 1, 20), hs.counted(1), [(b"1", b"20", b"x")]),
            (("=", 1, 1, 1, 0, "+", 0, 5), hs.counted(1), [(b"1", b"25", b"x")]),
            (("=", 1, 1, 1, 0, "-", 0, 3), hs.counted(1), [(b"1", b"22", b"x")]),
            (("=", 1, 1, 1, 0, "D"), hs.counted(1), [])]:
        before = writesets(cluster[1])
        assert writer.client.request(writer.id, *request) == answer
        assert writesets(cluster[1]) == before + 1
        on_all_nodes(cluster, f"SELECT * FROM {db}.t", rows)
    before = writesets(cluster[1])
    assert writer.client.request(writer.id, "=", 1, 99, 1, 0, "U", 99, 1) == hs.counted(0)
    assert writesets(cluster[1]) == before


def test_a_pipeline_is_few_writesets(cluster, db):
    cluster[1].sql().run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, v INT)")
    cluster[1].sql().run(f"INSERT INTO {db}.t VALUES (1, 1000)")
    wr = cluster[1].hs_wr()
    index = wr.opened(db, "t", "PRIMARY", "v", None)
    before = writesets(cluster[1])
    line = hs.line(index.id, "=", 1, 1, 1, 0, "-", 1)
    wr.send_raw(line * 200)
    assert [wr.recv() for _ in range(200)] == [hs.counted(1)] * 200
    assert writesets(cluster[1]) - before <= 10
    on_all_nodes(cluster, f"SELECT v FROM {db}.t", [(b"800",)])


TABLES = {
    "no_key": "id INT, v INT, KEY (id)",
    "partitioned": "id INT PRIMARY KEY, v INT) PARTITION BY HASH (id) PARTITIONS (3",
    "generated": "id INT PRIMARY KEY, v INT, s INT AS (v + 1) STORED, w INT AS (v * 2) VIRTUAL, KEY k (w)",
    "counter": "id INT PRIMARY KEY AUTO_INCREMENT, v INT",
    "unique_null": "id INT PRIMARY KEY, v INT, u INT, UNIQUE (u)",
    "blob": "id INT PRIMARY KEY, v INT, b LONGBLOB DEFAULT 'x'",
}


@pytest.mark.parametrize("kind", TABLES)
def test_kinds_of_tables_are_equal_on_all_nodes(cluster, db, kind):
    columns = TABLES[kind].replace("PARTITIONS (3", "PARTITIONS 3")
    sql = cluster[1].sql(db)
    sql.run(f"CREATE TABLE t ({columns}" + ("" if kind == "partitioned" else ")") + "")
    key = "id" if kind == "no_key" else "PRIMARY"
    wr = cluster[1].hs_wr()
    index = wr.opened(db, "t", key, "id,v", None)
    for number in range(1, 41):
        assert wr.request(index.id, "+", 2, number, number).code == 0
    assert wr.request(index.id, "=", 1, 7, 1, 0, "U", 7, 70) == hs.counted(1)
    assert wr.request(index.id, "=", 1, 8, 1, 0, "D") == hs.counted(1)
    assert wr.request(index.id, ">=", 1, 30, 100, 0, "+", 0, 1) == hs.counted(11)
    rows = cluster[1].sql(db).rows("SELECT * FROM t ORDER BY id")
    on_all_nodes(cluster, f"SELECT * FROM {db}.t ORDER BY id", rows)


def test_auto_increment_follows_the_cluster(cluster, db):
    cluster[1].sql(db).run("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)")
    on_all_nodes(cluster, f"SELECT COUNT(*) FROM {db}.t", [(b"0",)])
    given = set()
    for node in cluster.nodes:
        index = node.hs_wr().opened(db, "t", "PRIMARY", "v", None)
        for _ in range(10):
            reply = index.client.request(index.id, "+", 1, node.number)
            assert reply.code == 0, reply
            given.add(int(reply.cells[0]))
    assert len(given) == 30
    on_all_nodes(cluster, f"SELECT COUNT(*), COUNT(DISTINCT id) FROM {db}.t", [(b"30", b"30")])


def test_foreign_keys_cascade_on_every_node(cluster, db):
    sql = cluster[1].sql(db)
    sql.run("CREATE TABLE parent (id INT PRIMARY KEY)")
    sql.run("CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id)"
            " ON DELETE CASCADE ON UPDATE CASCADE)")
    sql.run("CREATE TABLE pinned (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id))")
    sql.run("INSERT INTO parent VALUES (1), (2), (3)")
    sql.run("INSERT INTO child VALUES (1, 1), (2, 2)")
    sql.run("INSERT INTO pinned VALUES (1, 3)")
    wr = cluster[1].hs_wr()
    parent = wr.opened(db, "parent", "PRIMARY", "id", None)
    child = wr.opened(db, "child", "PRIMARY", "id,p", None)
    assert wr.request(child.id, "+", 2, 5, 99) == hs.refused(1, 151)
    assert wr.request(parent.id, "=", 1, 3, 1, 0, "D") == hs.refused(1, 152)
    assert wr.request(parent.id, "=", 1, 1, 1, 0, "D") == hs.counted(1)
    assert wr.request(parent.id, "=", 1, 2, 1, 0, "U", 20) == hs.counted(1)
    on_all_nodes(cluster, f"SELECT id, p FROM {db}.child", [(b"2", b"20")])
    on_all_nodes(cluster, f"SELECT id FROM {db}.parent ORDER BY id", [(b"3",), (b"20",)])


@pytest.mark.parametrize("engine", ["MyISAM", "Aria"])
def test_a_table_that_the_cluster_does_not_replicate_is_not_written_to(cluster, db, engine):
    sql = cluster[1].sql(db)
    sql.run(f"CREATE TABLE t (id INT PRIMARY KEY, v INT) ENGINE={engine}")
    sql.run("INSERT INTO t VALUES (1, 1)")
    index = cluster[1].hs_wr().opened(db, "t", "PRIMARY", "id,v", None)
    assert index.client.request(index.id, "+", 2, 2, 2).error == "galera"
    assert index.client.request(index.id, "=", 1, 1, 1, 0, "U", 1, 5).error == "galera"
    assert index.client.request(index.id, "=", 1, 1) == hs.reply(0, 2, 1, 1)


def test_a_failed_request_leaves_nothing_and_the_others_of_its_batch_stand(cluster, db):
    cluster[1].sql(db).run("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    wr = cluster[1].hs_wr()
    index = wr.opened(db, "t", "PRIMARY", "id,v", None)
    wr.send_raw(b"".join(hs.line(index.id, "+", 2, number, 1) for number in (1, 2, 1, 3)))
    assert [wr.recv() for _ in range(4)] == [hs.OK, hs.OK, hs.refused(1, 121), hs.OK]
    on_all_nodes(cluster, f"SELECT id FROM {db}.t ORDER BY id", [(b"1",), (b"2",), (b"3",)])


def test_items_of_memcached_are_replicated(cluster, db):
    cluster[1].sql(db).run(
        "CREATE TABLE stock (id VARBINARY(250) PRIMARY KEY, stock BLOB NOT NULL,"
        " f INT UNSIGNED NOT NULL DEFAULT 0, e DECIMAL(20, 3),"
        " c DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6))")
    cluster[1].sql().run(
        "REPLACE INTO innodb_memcache.containers (name, db_schema, db_table, key_columns,"
        " value_columns, flags, cas_column, expire_time_column, unique_idx_name_on_key)"
        " VALUES (%s, %s, 'stock', 'id', 'stock', 'f', 'c', 'e', 'PRIMARY')", db, db)
    clients = [mc.connect(node) for node in cluster.nodes]
    for client in clients:
        wait_until(lambda client=client: client.command(f"mg @@{db}.none") == b"EN", 10, "container")
    assert clients[0].set(f"@@{db}.a", b"one", expiry=1000) == b"STORED"
    for client in clients:
        wait_until(lambda client=client: client.value(f"@@{db}.a") == b"one", 10, "the item")
    token = clients[1].token(f"@@{db}.a")
    assert clients[1].command(f"cas @@{db}.a 0 0 3 {token}", b"two") == b"STORED"
    for client in clients:
        wait_until(lambda client=client: client.value(f"@@{db}.a") == b"two", 10, "the item")
    assert clients[2].command(f"cas @@{db}.a 0 0 3 {token}", b"bad") == b"EXISTS"
    assert clients[2].command(f"delete @@{db}.a") == b"DELETED"
    on_all_nodes(cluster, f"SELECT COUNT(*) FROM {db}.stock", [(b"0",)])


def test_a_token_counts_on_every_node(cluster, db):
    sql = cluster[1].sql(db)
    run_packaged(sql, "rowsocket_tokens.sql")
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    sql.run("INSERT INTO t VALUES (1, 10)")
    on_all_nodes(cluster, f"SELECT v FROM {db}.t", [(b"10",)])
    for round_, node in enumerate(cluster.nodes):
        index = node.hs_wr().opened(db, "t", "PRIMARY", "v", None)
        answer = index.client.request("T", f"{db}-buy", index.id, "=", 1, 1, 1, 0, "-", 1)
        assert answer == hs.counted(1), round_
        on_all_nodes(cluster, f"SELECT v FROM {db}.t", [(b"9",)])
    on_all_nodes(cluster, "SELECT COUNT(*) FROM rowsocket.tokens WHERE token LIKE '%-buy'", [(b"1",)])


def expire_rows(nodes, count=20):
    """Makes rows that have expired; does not wait for anything."""
    values = ", ".join(f"('expired{number}', 'v', 1)" for number in range(count))
    nodes[0].sql().run(f"INSERT INTO innodb_memcache.demo (id, value, expires) VALUES {values}")


def remover_of_rows(nodes):
    """The one node of these that removes what has expired. Each node, whether it removes the rows or applies that,
    has tried to delete each of them once."""
    sessions = [node.sql() for node in nodes]
    before, deleted = ([count(session) for session in sessions] for count in (purged, deletes))
    expire_rows(nodes)

    def removed():
        return [purged(session) - old for session, old in zip(sessions, before)]
    wait_until(lambda: sum(removed()) >= 20, 30, "the rows are counted")
    wait_until_removed(nodes)
    assert [deletes(session) - old for session, old in zip(sessions, deleted)] == [20] * len(nodes)
    remover, = [node for node, count in zip(nodes, removed()) if count]
    return remover


def purged(session):
    return session.status("Daemon_memcached_purged")


def has_no_rows_left(node):
    """Behind all that the cluster has ordered by now: a node that has not yet applied an INSERT has no rows either."""
    with contextlib.closing(node.sql()) as session:
        session.run("SET SESSION wsrep_sync_wait = 1")
        try:
            return session.value("SELECT COUNT(*) FROM innodb_memcache.demo") == b"0"
        except pymysql.MySQLError:
            return False


def wait_until_removed(nodes):
    for node in nodes:
        wait_until(lambda node=node: has_no_rows_left(node), 60, f"node {node.number} has applied and removed all")


def deletes(session):
    return session.status("Handler_delete")


def test_one_node_removes_expired_items_whichever_nodes_die(cluster):
    client = mc.connect(cluster[2])
    wait_until(lambda: client.set("a", b"1", expiry=1) == b"STORED", 10, "the container")
    wait_until_removed(cluster.nodes)
    left = [*cluster.nodes]
    for leave in (Node.kill, Node.stop):  # with two nodes left, only the one that says goodbye leaves a cluster
        first = remover_of_rows(left)
        left.remove(first)
        expire_rows([first])
        leave(first)
        wait_until_removed(left)
    assert remover_of_rows(left) is left[0]


def test_one_node_carries_out_delayed_flushes_whichever_nodes_die(cluster):
    left = [*cluster.nodes]
    for leave in (Node.kill, None):
        clients = [mc.connect(node) for node in left]
        wait_until(lambda clients=clients: clients[0].set("kept", b"1") == b"STORED", 30, "the container")

        def flush(clients=clients):
            return [client.command("flush_all 1") for client in clients]
        wait_until(lambda flush=flush: b"OK" in flush(), 30, "one node takes the flush")
        answers = flush()
        assert answers.count(b"OK") == 1
        assert all(b"no delayed flush is carried out" in answer for answer in answers if answer != b"OK")
        wait_until_removed(left)
        if leave:
            leave(left.pop(answers.index(b"OK")))


def play(cluster, db, nodes, stock, connections=16):
    """Sells out one row on several nodes at once. Returns the sales."""
    make_table(cluster[1].sql(), db, stock)
    on_all_nodes(cluster, f"SELECT COUNT(*) FROM {db}.stock", [(b"1",)])
    sales = [Sale(cluster[number], db, connections) for number in nodes]
    threads = [threading.Thread(target=sale.play) for sale in sales]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for sale in sales:
        sale.close()
    return sales


@pytest.mark.parametrize("nodes", [(1,), (1, 2), (1, 2, 3)], ids=str)
def test_nothing_is_sold_twice(cluster, db, nodes):
    stock = 3000 if len(nodes) == 1 else 1500
    sales = play(cluster, db, nodes, stock)
    on_all_nodes(cluster, f"SELECT stock FROM {db}.stock", [(str(KEEP).encode(),)])
    books = [one for sale in sales for one in sale.books]
    assert book_violations(books, stock, KEEP) == []
    refused = [line for sale in sales for line in sale.errors if line != b"1\t1\t149"]
    assert refused == []


def test_sql_and_we_write_one_row_on_different_nodes(cluster, db):
    make_table(cluster[1].sql(), db, 1_000_000)
    on_all_nodes(cluster, f"SELECT COUNT(*) FROM {db}.stock", [(b"1",)])
    taken = []

    def sql_writer():
        session = cluster[2].sql(db)
        while not sale_ended.is_set():
            try:
                session.run("UPDATE stock SET stock = stock - 1 WHERE id = 1")
                taken.append(1)
            except Exception as error:  # a deadlock is SQL's answer to a conflict
                assert error.args[0] in (1213, 1205), error
    sale_ended = threading.Event()
    thread = threading.Thread(target=sql_writer)
    thread.start()
    sale = Sale(cluster[1], db, 16)
    try:
        sale.play(until=lambda sale: sale.taken >= 3000)
        sale.play(until=lambda sale: not any(buyer.under_way for buyer in sale.buyers.values())
                  or sale.taken >= 6000)
    finally:
        sale_ended.set()
        thread.join()
        under_way = sum(len(buyer.under_way) for buyer in sale.buyers.values())
        sale.close()
    assert taken
    final = 1_000_000 - len(applied(sale.books)) - len(taken)

    sessions = [cluster[number].sql() for number in (1, 2, 3)]

    def conserved():
        """What was under way when the sale ended may be taken a moment later."""
        left = {int(session.value(f"SELECT stock FROM {db}.stock")) for session in sessions}
        return len(left) == 1 and final - under_way <= left.pop() <= final
    wait_until(conserved, 10, "what is taken is what was acknowledged, on all nodes")


def test_the_doctor_names_writes_of_one_row_on_several_nodes(cluster, db):
    make_table(cluster[1].sql(), db, 100_000_000)
    on_all_nodes(cluster, f"SELECT COUNT(*) FROM {db}.stock", [(b"1",)])
    indexes = [node.hs_wr().opened(db, "stock", "PRIMARY", "stock") for node in (cluster[1], cluster[2])]
    takes = [lambda index=index: index.modify("=", [1], ["-", 1]) for index in indexes]
    with busy(takes[0]), busy(takes[1]):
        says(cluster[1], "were lost to other nodes", "CLUSTERS.md")


def test_ddl_of_any_node_goes_through_under_load(cluster, db):
    make_table(cluster[1].sql(), db, 10_000_000)
    on_all_nodes(cluster, f"SELECT COUNT(*) FROM {db}.stock", [(b"1",)])
    sale = Sale(cluster[1], db, 16)
    stop = threading.Event()
    thread = threading.Thread(target=sale.play, kwargs={"until": lambda sale: stop.is_set()})
    thread.start()
    try:
        for round_ in range(6):
            for number in (1, 2, 3):
                column = f"c{round_}_{number}"
                session = cluster[number].sql(db, read_timeout=60)
                session.run(f"ALTER TABLE stock ADD {column} INT")
                session.run(f"ALTER TABLE stock DROP {column}")
                session.close()
                wanted = sale.taken + 50
                wait_until(lambda wanted=wanted: sale.taken >= wanted, 60, "the sale goes on")
    finally:
        stop.set()
        thread.join()
    taken = len(applied(sale.books))
    under_way = sum(len(buyer.under_way) for buyer in sale.buyers.values())
    sale.close()
    assert set(sale.errors) <= {b"1\t1\t149"}
    sessions = [node.sql(db) for node in cluster.nodes]

    def stocks():
        return [int(session.value("SELECT stock FROM stock")) for session in sessions]
    # What was under way when the buyers left may still be executed.
    wait_until(lambda: len(set(stocks())) == 1, 30, "one stock on all nodes")
    assert all(taken <= 10_000_000 - stock <= taken + under_way for stock in stocks())


def test_a_node_without_its_cluster_answers_1047(cluster, db):
    cluster[1].sql(db).run("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    cluster[1].sql(db).run("INSERT INTO t VALUES (1, 1)")
    on_all_nodes(cluster, f"SELECT COUNT(*) FROM {db}.t", [(b"1",)])
    node = cluster[3]
    index = node.hs_wr().opened(db, "t", "PRIMARY", "v", None)
    memcached = mc.connect(node)
    node.isolate()
    try:
        wait_until(lambda: index.client.request(index.id, "=", 1, 1) == hs.refused(1, 1047), 30,
                   "the node refuses finds")
        assert index.client.request(index.id, "=", 1, 1, 1, 0, "U", 2) == hs.refused(1, 1047)
        assert index.client.request("H", "read") == hs.refused(1, "unavailable")
        assert index.client.request("H", "write") == hs.refused(1, "unavailable")
        assert memcached.stats("rowsocket")["reads"] == "0"
        assert b"(1047)" in memcached.command("get AA")
        admin = node.sql()
        admin.run("SET GLOBAL wsrep_dirty_reads = ON")
        try:
            assert index.client.request(index.id, "=", 1, 1) == hs.reply(0, 1, 1)
            assert index.client.request(index.id, "=", 1, 1, 1, 0, "U", 2) == hs.refused(1, 1047)
        finally:
            admin.run("SET GLOBAL wsrep_dirty_reads = OFF")
    finally:
        node.reconnect()
    wait_until(lambda: index.client.request(index.id, "=", 1, 1) == hs.reply(0, 1, 1), 30, "finds")


def test_finds_are_causal_where_they_are_told_to(cluster, db):
    cluster[1].sql(db).run("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    cluster[1].sql(db).run("INSERT INTO t VALUES (1, 0)")
    on_all_nodes(cluster, f"SELECT COUNT(*) FROM {db}.t", [(b"1",)])
    writer = cluster[1].hs_wr().opened(db, "t", "PRIMARY", "v", None)
    reader = cluster[2].hs_rd().opened(db, "t", "PRIMARY", "v", None)
    cluster[2].sql().run("SET GLOBAL wsrep_sync_wait = 1")
    try:
        for value in range(1, 200):
            assert writer.client.request(writer.id, "=", 1, 1, 1, 0, "U", value) == hs.counted(1)
            assert reader.client.request(reader.id, "=", 1, 1) == hs.reply(0, 1, value)
    finally:
        cluster[2].sql().run("SET GLOBAL wsrep_sync_wait = 0")


def test_a_turn_over_the_limit_of_rows_stays_on_no_node_alone(cluster, db):
    cluster[1].sql(db).run("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    admin = cluster[1].sql()
    admin.run("SET GLOBAL wsrep_max_ws_rows = 10")
    try:
        wr = cluster[1].hs_wr()
        index = wr.opened(db, "t", "PRIMARY", "id,v", None)
        wr.send_raw(b"".join(hs.line(index.id, "+", 2, number, 1) for number in range(40)))
        answers = [wr.recv() for _ in range(40)]
        assert answers == [hs.OK] * 40
        assert wr.request(index.id, ">=", 1, 0, 100, 0, "U", 0, 5).code == 1
    finally:
        admin.run("SET GLOBAL wsrep_max_ws_rows = 0")
    on_all_nodes(cluster, f"SELECT COUNT(*), SUM(v) FROM {db}.t", [(b"40", b"40")])


def test_a_provider_that_is_switched_off_takes_no_writes(cluster, db):
    cluster[1].sql(db).run("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    cluster[1].sql(db).run("INSERT INTO t VALUES (1, 1)")
    index = cluster[1].hs_wr().opened(db, "t", "PRIMARY", "id,v", None)
    admin = cluster[1].sql()
    admin.run("SET GLOBAL wsrep_on = OFF")
    try:
        assert index.client.request(index.id, "=", 1, 1, 1, 0, "U", 1, 2).error == "galera"
        assert index.client.request(index.id, "=", 1, 1) == hs.reply(0, 2, 1, 1)
    finally:
        admin.run("SET GLOBAL wsrep_on = ON")
    wait_until(lambda: index.client.request(index.id, "=", 1, 1, 1, 0, "U", 1, 3) == hs.counted(1),
               10, "writes are taken again")
    on_all_nodes(cluster, f"SELECT v FROM {db}.t", [(b"3",)])


def test_a_server_that_has_not_loaded_its_provider_is_a_server_like_any(cluster, make_server):
    options = (cluster.directory / "1.options").read_text().splitlines()
    provider = next(option for option in options if option.startswith("--wsrep-provider="))
    server = make_server(options=[provider, "--wsrep-on=OFF", "--binlog-format=ROW"])
    server.sql().run("CREATE DATABASE s")
    server.sql().run("CREATE TABLE s.t (id INT PRIMARY KEY, v INT)")
    index = server.hs_wr().opened("s", "t", "PRIMARY", "id,v", None)
    assert index.client.request(index.id, "+", 2, 1, 1) == hs.OK


def test_a_killed_writer_loses_nothing_acknowledged(cluster, db):
    stock = 10_000_000
    make_table(cluster[1].sql(), db, stock)
    on_all_nodes(cluster, f"SELECT COUNT(*) FROM {db}.stock", [(b"1",)])
    node = cluster[3]
    sale = Sale(node, db, 32)
    sale.play(until=lambda sale: sale.taken >= 2000)
    killer = threading.Timer(0.01, node.strike)
    killer.start()
    sale.play()
    killer.join()
    sale.close()
    node.kill()
    cluster.wait_until_equal(f"{db}.stock", nodes=[1, 2], timeout_s=60)
    assert crash_violations(sale, stock, int(cluster[1].sql().value(f"SELECT stock FROM {db}.stock"))) == []
    node.rejoin()
    left = cluster[1].sql().value(f"SELECT stock FROM {db}.stock")
    on_all_nodes(cluster, f"SELECT stock FROM {db}.stock", [(left,)])


def test_the_plugin_goes_and_comes_on_a_node_of_its_own(cluster, db):
    cluster[1].sql(db).run("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    admin = cluster[2].sql()
    admin.run("SET SESSION wsrep_on = OFF")
    admin.run("UNINSTALL SONAME 'rowsocket'")
    admin.run("INSTALL SONAME 'rowsocket'")
    index = cluster[2].hs_wr().opened(db, "t", "PRIMARY", "id,v", None)
    assert index.client.request(index.id, "+", 2, 1, 1) == hs.OK
    on_all_nodes(cluster, f"SELECT id, v FROM {db}.t", [(b"1", b"1")])
