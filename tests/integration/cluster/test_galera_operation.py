"""What administrators do to nodes of a Galera cluster while a sale runs: nothing is lost, nothing hangs."""

import contextlib
import shutil
import threading

import pymysql
import pytest

import hs
import logins
import mc
from cluster_trouble import STOCK, pause_node, sell_through, trouble_between_nodes
from load import Crew, worker_ids
from resp import Client
from sale import Sale, crash_violations, make_table
from server import run_packaged, wait_until
from test_sale_trouble import killed_workers, stock_left

pytestmark = [pytest.mark.mariadb("Galera"), pytest.mark.ours, pytest.mark.slow]


KIND = "galera"
LOST_EACH_TIME = hs.refused(1, 149)
TRIES = 5


def sells_through(cluster, db, trouble, connections=None):
    wrong, counts = sell_through(cluster, db, connections or {1: 16, 2: 4}, trouble, goal=200)
    assert wrong == []
    assert counts["applied"] > 0


def test_ddl_of_one_node_alone(cluster, db):
    """wsrep_OSU_method=RSU: the node leaves the flow of the cluster for its ALTER. Its own clients write
    elsewhere meanwhile, as they must with SQL."""
    def upgrade(go_on):
        reader = cluster[3].hs_rd().opened(db, "stock", "PRIMARY", "stock", None)
        for number in range(3):
            session = cluster[3].sql(db, read_timeout=120)
            session.run("SET SESSION wsrep_OSU_method = 'RSU'")
            session.run(f"ALTER TABLE stock ADD extra{number} INT")
            assert reader.find("=", [1]).code == 0
            session.run(f"ALTER TABLE stock DROP extra{number}")
            go_on()
    sells_through(cluster, db, upgrade)


@contextlib.contextmanager
def busy_with_another_table(cluster, db, nodes):
    """Meanwhile these nodes change a table of their own, so that the others have writesets to apply."""
    make_table(cluster[1].sql(), f"{db}_other", STOCK)
    cluster.wait_until_equal(f"{db}_other.stock")
    sales = [Sale(node, f"{db}_other", 32) for node in nodes]
    stopping = threading.Event()
    threads = [threading.Thread(target=sale.play, args=(lambda _: stopping.is_set(), 300)) for sale in sales]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stopping.set()
        for thread in threads:
            thread.join()
        for sale in sales:
            sale.close()
        cluster[1].sql().run(f"DROP DATABASE {db}_other")


def test_ddl_comes_between_two_turns(cluster, db):
    """DDL that waits for a table that a worker keeps open between two turns finds no transaction that it could
    abort. If the next turn kept the table, its writeset would wait for the DDL: its place is behind writesets
    that cannot be applied before the DDL."""
    def change_often(go_on):
        session = cluster[1].sql(db, read_timeout=60)
        for number in range(200):
            session.run(f"ALTER TABLE stock COMMENT '{number}'")
        go_on()
    with busy_with_another_table(cluster, db, cluster.nodes[1:]):
        sells_through(cluster, db, change_often, {1: 2})


def test_ddl_comes_while_finds_wait_for_the_cluster(cluster, db):
    """With wsrep_sync_wait a find may wait for DDL, which must not wait for the table that the find keeps."""
    make_table(cluster[1].sql(), db, 7)
    cluster.wait_until_equal(f"{db}.stock")
    index = cluster[1].hs_rd().opened(db, "stock", "PRIMARY", "stock", None)
    admin, session = cluster[1].sql(), cluster[1].sql(db, read_timeout=120)

    def change_often():
        for number in range(50):
            session.run(f"ALTER TABLE stock COMMENT '{number}'")
    changing = threading.Thread(target=change_often)
    admin.run("SET GLOBAL wsrep_sync_wait = 1")
    try:
        changing.start()
        while changing.is_alive():
            assert index.find("=", [1]) == hs.reply(0, 1, 7)
    finally:
        changing.join()
        admin.run("SET GLOBAL wsrep_sync_wait = 0")


def test_a_node_is_read_locked(cluster, db):
    """FLUSH TABLES WITH READ LOCK: finds go on, writes wait, and go on afterwards."""
    def lock(go_on):
        admin = cluster[1].sql(read_timeout=120)
        admin.run("FLUSH TABLES WITH READ LOCK")
        reader = cluster[1].hs_rd().opened(db, "stock", "PRIMARY", "stock", None)
        assert reader.find("=", [1]).code == 0
        admin.run("UNLOCK TABLES")
        go_on()
    sells_through(cluster, db, lock)


def test_a_backup_of_a_node(cluster, db):
    def backup(go_on):
        admin = cluster[1].sql(read_timeout=120)
        for stage in ("START", "FLUSH", "BLOCK_DDL", "BLOCK_COMMIT", "END"):
            admin.run(f"BACKUP STAGE {stage}")
        go_on()
    sells_through(cluster, db, backup)


def test_a_desynced_node(cluster, db):
    def desync(go_on):
        admin = cluster[1].sql()
        admin.run("SET GLOBAL wsrep_desync = ON")
        go_on()
        client = cluster[1].hs_wr()
        assert client.request("H", "write") == hs.OK and client.request("H").cells[1] == b"donor"
        admin.run("SET GLOBAL wsrep_desync = OFF")
        go_on()
        wait_until(lambda: client.request("H").cells[1] == b"synced", 30, "the node is synced")
    sells_through(cluster, db, desync)


def test_a_write_over_the_limit_of_bytes_is_refused_alone(cluster, db):
    """Each of the sessions that were refused a write goes on, whatever comes next."""
    node, large = cluster[1], "x" * 5000
    admin = node.sql(db)
    run_packaged(admin, "rowsocket_store.sql")
    admin.run("CREATE TABLE t (id INT PRIMARY KEY, v TEXT)")
    admin.run("INSERT INTO t VALUES (1, 'a')")
    rows = node.hs_wr().opened(db, "t", "PRIMARY", "id,v", None)
    items, strings = mc.connect(node), Client(node.directory / "data" / "resp.sock")
    wait_until(lambda: items.set("small", b"1") == b"STORED", 10, "the container")
    assert strings.ask("SET", "small", 1) == "OK"
    admin.run("SET GLOBAL wsrep_max_ws_size = 3000")
    try:
        assert rows.client.request(rows.id, "+", 2, 2, large) == hs.refused(1, 1197)
        assert items.set("large", large.encode()).endswith(b"wsrep_max_ws_size or wsrep_max_ws_rows (1197)")
        assert strings.ask("SET", "large", large).startswith("TOOLARGE a transaction cannot hold the change:")
        for key, value in (("small", "b"), ("large", large), ("small", "c")):
            strings.send("SET", key, value)
        assert [strings.receive()[:8] for _ in range(3)] == ["OK", "TOOLARGE", "OK"]
    finally:
        admin.run("SET GLOBAL wsrep_max_ws_size = DEFAULT")
    for _ in range(8):
        reader = node.hs_wr().opened(db, "t", "PRIMARY", "id,v", None)
        assert reader.find("=", [1]) == hs.reply(0, 2, 1, "a")
        assert mc.connect(node).value("small") == b"1"
        assert Client(node.directory / "data" / "resp.sock").ask("GET", "small") == b"c"
    assert strings.ask("SETNX", "small", "d") == 0 and strings.ask("GET", "large") is None


def test_a_new_node_copies_the_data_of_a_donor(cluster, db):
    """A full state transfer with rsync: the donor's commits wait for it, finds do not."""
    def replace(go_on):
        cluster[3].kill()
        go_on(cluster[3])
        shutil.rmtree(cluster[3].directory / "data")
        cluster[3].rejoin()
        go_on()
    sells_through(cluster, db, replace)


def test_a_new_node_copies_the_data_with_mariabackup(make_cluster):
    try:
        cluster = make_cluster("galera", nodes=2, sst="mariabackup")
    except AssertionError as error:
        if "mariadb-backup" in str(error) and "cannot be downloaded" in str(error):
            pytest.skip("Debian does not offer mariadb-backup of this server's version")
        raise

    def replace(go_on):
        cluster[2].stop()
        shutil.rmtree(cluster[2].directory / "data")
        before = len(cluster[2].log())
        cluster[2].rejoin()
        assert "wsrep_sst_mariabackup" in cluster[2].log()[before:]
        go_on()
    sells_through(cluster, "s", replace, {1: 16})


def test_a_killed_node_comes_back_with_what_it_missed_alone(cluster, db):
    """An incremental state transfer."""
    def kill(go_on):
        cluster[3].kill()
        go_on(cluster[3])
        before = len(cluster[3].log())
        cluster[3].rejoin()
        assert "Receiving IST" in cluster[3].log()[before:]
    sells_through(cluster, db, kill)


def test_a_pause_that_is_shorter_than_the_timeout(cluster, db):
    sells_through(cluster, db, lambda go_on: pause_node(cluster[3], go_on, 2), {1: 16})


def test_a_killed_worker_takes_nothing_that_it_did_not_answer(cluster, db, rng):
    wrong, _ = killed_workers(cluster[1], db, rng)
    assert wrong == []
    cluster.wait_until_equal(f"{db}.stock")


def test_a_turn_whose_commit_kill_query_meets_runs_again(cluster, db):
    """The server's commit says no more than that it has failed, which would be error 1180. A request is answered
    as killed where KILL QUERY has met the request itself."""
    make_table(cluster[1].sql(), db, STOCK)
    sale = Sale(cluster[1], db, connections=64, depth=2)
    kills = []
    status = cluster[1].sql().status
    run_again = status("Handlersocket_conflicts")

    def kill_often(crew):
        other = cluster[1].sql(db)
        while not crew.stopping.wait(0.002):
            for worker in worker_ids(other):
                with contextlib.suppress(pymysql.MySQLError):  # a thread that has gone
                    other.run(f"KILL QUERY {worker}")
                    kills.append(worker)
    try:
        with Crew() as crew:
            crew.start(kill_often, crew)
            sale.play(lambda sale: crew.check() and len(kills) > 3000 and sale.taken > 1000
                      and status("Handlersocket_conflicts") > run_again)
    finally:
        sale.close()
    assert set(sale.errors) <= {b"1\t1\tkilled"}
    assert crash_violations(sale, STOCK, stock_left(cluster[1].sql(), db)) == []
    cluster.wait_until_equal(f"{db}.stock")


def test_a_pause_that_is_longer_than_the_timeout(cluster, db):
    sells_through(cluster, db, lambda go_on: pause_node(cluster[3], go_on), {1: 16})


def test_rounds_of_trouble(cluster, db, rng):
    wrong, _ = trouble_between_nodes(cluster, rng, db)
    assert wrong == []


def ask_until_it_is_done(client, line):
    """The answer to a line with a token. Until the others have given a dead node up, what it wrote may come first for
    longer than a request is tried: that is 149, upon which a client sends the line again."""
    answers = (client.request(*line) for _ in range(TRIES))
    return next((answer for answer in answers if answer != LOST_EACH_TIME), LOST_EACH_TIME)


def test_each_token_counts_once_when_its_node_dies(cluster, db):
    """A token that was sent to a node that dies takes effect once, when it is sent to another one."""
    sql = cluster[1].sql()
    run_packaged(sql, "rowsocket_tokens.sql")
    sql.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, v INT)")
    sql.run(f"INSERT INTO {db}.t VALUES (1, 1000)")
    cluster.wait_until_equal(f"{db}.t", "rowsocket.tokens")
    lines = [("T", f"{db}-{number}", 0, "=", 1, 1, 1, 0, "-", 1) for number in range(300)]
    dying = cluster[3].hs_wr()
    assert dying.open_index(0, db, "t", "PRIMARY", "v") == hs.OK
    dying.send_raw(b"".join(hs.line(*line) for line in lines))
    assert dying.recv() == hs.counted(1)
    cluster[3].strike()
    cluster[3].kill()
    other = cluster[1].hs_wr()
    assert other.open_index(0, db, "t", "PRIMARY", "v") == hs.OK
    for line in lines:
        assert ask_until_it_is_done(other, line) == hs.counted(1)
    assert cluster[1].sql().value(f"SELECT v FROM {db}.t") == b"700"
    cluster[3].rejoin()
    cluster.wait_until_equal(f"{db}.t", "rowsocket.tokens")


def test_a_node_whose_binlog_cannot_be_rotated_leaves_the_end_open(make_cluster):
    """The cluster has ordered the commit, and the node has done it, before the rotation fails."""
    node = make_cluster("galera", nodes=1, options=["--log-bin=rot", "--server-id=1", "--max-binlog-size=4096"])[1]
    sql = node.sql()
    sql.run("CREATE DATABASE rot")
    sql.run("CREATE TABLE rot.t (id INT PRIMARY KEY, n INT)")
    sql.run("INSERT INTO rot.t VALUES (1, 0)")
    newest = max(node.directory.glob("data/rot." + 6 * "[0-9]"))  # 11.8 has an index beside each
    newest.with_suffix(f".{int(newest.suffix[1:]) + 1:06}").mkdir()
    index = node.hs_wr().opened("rot", "t", "PRIMARY", "n")
    done, outcome = 0, None
    while outcome is None and done < 200:
        try:
            reply = index.modify("=", [1], ["+", 1])
        except hs.Closed:
            outcome = "unknown"
        else:
            done, outcome = done + (reply.code == 0), None if reply.code == 0 else "refused"
    assert outcome == "unknown"
    assert int(node.sql().value("SELECT n FROM rot.t")) == done + 1


INTERRUPTED = "answered " + repr(b"1\t1\tkilled")


def test_the_plugin_goes_and_comes_on_all_nodes_under_load(cluster, db):
    """UNINSTALL and INSTALL as statements in the cluster's order, behind which commits are ordered."""
    def reload(go_on):
        admin = cluster[2].sql(read_timeout=60)
        admin.run("UNINSTALL SONAME 'rowsocket'")
        admin.run("INSTALL SONAME 'rowsocket'")
        for node in cluster.nodes:
            wait_until(lambda node=node: takes_writes(node), 20, f"node {node.number} serves again")
        go_on(None)
    for _ in range(3):
        wrong, _ = sell_through(cluster, db, {1: 32, 2: 8, 3: 8}, reload, goal=200)
        # UNINSTALL interrupts statements that take longer than half a second; nothing of them is done.
        assert [each for each in wrong if each != INTERRUPTED] == []
        cluster[1].sql().run(f"DROP DATABASE {db}")


def test_uninstall_ends_where_an_account_has_logged_in(make_cluster):
    """The thread that ends the plugin is not that of the statement, and ends the SQL session that looks at accounts."""
    node = make_cluster("galera", nodes=1, options=logins.OPTIONS)[1]
    logins.prepare(node)
    client, answer = logins.log_in(node, "app", "right")
    assert answer == hs.OK and logins.is_in(client)
    node.sql().run("UNINSTALL SONAME 'rowsocket'")
    wait_until(lambda: "handlersocket has stopped" in node.log(), 30, "the end of the plugin")
    assert node.sql().value("SELECT 1") == b"1"


def takes_writes(node):
    try:
        with node.hs_wr() as client:
            return client.request("H", "write") == hs.OK
    except (OSError, hs.Closed):
        return False


def test_a_node_is_shut_down_under_load(cluster, db):
    def stop(go_on):
        cluster[3].stop()
        go_on(cluster[3])
        cluster[3].rejoin()
    sells_through(cluster, db, stop, {1: 8, 3: 16})


def test_clients_of_a_node_that_rejects_queries_are_told(cluster, db):
    def reject(go_on):
        admin = cluster[2].sql()
        client = cluster[2].hs_wr()
        admin.run("SET GLOBAL wsrep_reject_queries = ALL")
        try:
            assert client.request("H", "read") == hs.refused(1, "unavailable")
            go_on(cluster[2])
        finally:
            admin.run("SET GLOBAL wsrep_reject_queries = NONE")
        wait_until(lambda: client.request("H", "write") == hs.OK, 10, "the node takes writes again")
        go_on()
    sells_through(cluster, db, reject)


def test_a_table_without_a_primary_key_keeps_no_other_from_being_written_to(cluster, db):
    """With wsrep_certify_nonPK=OFF the server refuses a row, when it is changed already, beside any open table of the
    session that has no primary key."""
    sql = cluster[1].sql(db)
    sql.run("CREATE TABLE a (id INT PRIMARY KEY, v INT)")
    sql.run("CREATE TABLE b (id INT NOT NULL, KEY (id))")
    sql.run("INSERT INTO a VALUES (1, 100), (2, 100)")
    sql.run("INSERT INTO b VALUES (1)")
    cluster.wait_until_equal(f"{db}.a")
    sql.run("SET GLOBAL wsrep_certify_nonPK = OFF")
    try:
        client = cluster[1].hs_wr()
        index, other = client.opened(db, "a", "PRIMARY", "v", None), client.opened(db, "b", "id", "id", None)
        taken = 0
        for _ in range(5):
            answers = client.pipeline([
                [index.id, "=", 1, 1, 1, 0, "-", 1], [other.id, "=", 1, 1], [index.id, "=", 1, 2, 1, 0, "-", 1]])
            assert answers[1].code == 0 and set(answers[::2]) <= {hs.counted(1), hs.refused(1, 149)}, answers
            taken += sum(answer == hs.counted(1) for answer in answers[::2])
            assert client.request(index.id, "=", 1, 1, 1, 0, "-", 1) == hs.counted(1)
            taken += 1
        assert client.request(other.id, "+", 1, 7).code == 1
        assert client.request(index.id, "=", 1, 2, 1, 0, "-", 1) == hs.counted(1)
        cluster.wait_until_equal(f"{db}.a")
        assert int(cluster[3].sql(db).value("SELECT SUM(v) FROM a")) == 200 - taken - 1
    finally:
        sql.run("SET GLOBAL wsrep_certify_nonPK = ON")
