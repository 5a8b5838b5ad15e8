"""A commit on a Galera node that is held up in a phase of its own, and what meets it there: KILL, or a change of
another node. A request is acknowledged and on all nodes, or it is refused or closed and on none or all of them."""

import contextlib
import threading

import pytest

import hs
from load import processes, worker_ids
from no_threads import NoThreads
from server import wait_until

pytestmark = [pytest.mark.mariadb("Galera"), pytest.mark.again_in("mariadb-11.8"), pytest.mark.ours, pytest.mark.slow]

KIND = "galera"


@pytest.fixture
def tables(cluster, db):
    sql = cluster[1].sql(db)
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    sql.run("CREATE TABLE other (id INT PRIMARY KEY AUTO_INCREMENT)")
    sql.run("INSERT INTO t VALUES (1, 100)")
    cluster.wait_until_equal(f"{db}.t")
    return db


@contextlib.contextmanager
def stuck_appliers(node, db):
    """While this holds a lock, the node does not apply what others write to the table `other`."""
    holder = node.sql(db)
    holder.run("LOCK TABLES other READ")
    try:
        yield
    finally:
        holder.run("UNLOCK TABLES")


def is_applier_stuck(session):
    return any("metadata lock" in row["state"] for row in processes(session) if row["user"] == "system user")


@contextlib.contextmanager
def held_before_its_place(cluster, db, also=()):
    """Commits of node 1 are certified, and wait for their place behind a transaction of node 2. `also`: what
    that transaction does behind the change for which it is stuck."""
    with stuck_appliers(cluster[1], db):
        other, session = cluster[2].sql(db), cluster[1].sql()
        for statement in ("BEGIN", "INSERT INTO other VALUES ()", *also, "COMMIT"):
            other.run(statement)
        wait_until(lambda: is_applier_stuck(session), 30, "the applier waits")
        yield


@contextlib.contextmanager
def held_before_it_is_sent(cluster, db):
    """Commits of node 1 wait for flow control, which node 3 has asked for."""
    admin = cluster[3].sql()
    stop = threading.Event()

    def write():
        session = cluster[2].sql(db, read_timeout=120)
        while not stop.is_set():
            session.run("INSERT INTO other VALUES ()")
    writer = threading.Thread(target=write)
    admin.run("SET GLOBAL wsrep_provider_options = 'gcs.fc_limit=1'")
    try:
        with stuck_appliers(cluster[3], db):
            writer.start()
            session = cluster[1].sql()
            wait_until(lambda: session.row("SHOW STATUS LIKE 'wsrep_flow_control_active'")[1] == b"true",
                       30, "flow control")
            stop.set()
            yield
    finally:
        stop.set()
        writer.join()
        admin.run("SET GLOBAL wsrep_provider_options = 'gcs.fc_limit=256'")


def committing(session):
    """The id of the library's thread whose commit is under way."""
    ids = set(worker_ids(session))
    return next((int(row["id"]) for row in processes(session)
                 if row["state"] == "Waiting for certification" and int(row["id"]) in ids), None)


@pytest.mark.parametrize("kill", ["KILL QUERY", "KILL"])
@pytest.mark.parametrize("held", [held_before_it_is_sent, held_before_its_place])
def test_a_commit_is_killed_in_its_phase(cluster, tables, held, kill):
    """The client is told the truth, and the node goes on."""
    node = cluster[1]
    index = node.hs_wr().opened(tables, "t", "PRIMARY", "v", None)
    with held(cluster, tables):
        index.client.send(index.id, "=", 1, 1, 1, 0, "-", 1)
        session = node.sql()
        worker = wait_until(lambda: committing(session), 30, "a commit under way")
        session.run(f"{kill} {worker}")
    try:
        answer = index.client.recv()
    except hs.Closed:
        answer = None
    cluster.wait_until_equal(f"{tables}.t", f"{tables}.other")
    left = int(node.sql().value(f"SELECT v FROM {tables}.t"))
    assert (answer, left) in [(hs.counted(1), 99), (hs.refused(1, "killed"), 100), (None, 99), (None, 100)]
    again = node.hs_wr().opened(tables, "t", "PRIMARY", "v", None)
    assert again.client.request(again.id, "=", 1, 1, 1, 0, "-", 1) == hs.counted(1)
    cluster.wait_until_equal(f"{tables}.t")
    assert int(cluster[3].sql().value(f"SELECT v FROM {tables}.t")) == left - 1


def test_a_commit_that_is_replayed_is_acknowledged_and_done_once(cluster, tables):
    """A change of another node takes the parent's row from a certified insert of a child, which the provider
    carries out all the same."""
    node, sql = cluster[1], cluster[2].sql(tables)
    sql.run("CREATE TABLE parent (id INT PRIMARY KEY, v INT)")
    sql.run("CREATE TABLE child (id INT PRIMARY KEY AUTO_INCREMENT, p INT, FOREIGN KEY (p) REFERENCES parent (id))")
    sql.run("INSERT INTO parent VALUES (1, 1)")
    cluster.wait_until_equal(f"{tables}.parent", f"{tables}.child")
    index = node.hs_wr().opened(tables, "child", "PRIMARY", "p", None)
    session = node.sql()
    before = session.status("wsrep_local_replays")
    with held_before_its_place(cluster, tables, also=["UPDATE parent SET v = v + 1 WHERE id = 1"]):
        index.client.send(index.id, "+", 1, 1)
        wait_until(lambda: committing(session), 30, "a commit under way")
    assert index.client.recv().code == 0
    assert session.status("wsrep_local_replays") == before + 1
    cluster.wait_until_equal(f"{tables}.parent", f"{tables}.child")
    assert cluster[3].sql(tables).rows("SELECT COUNT(*), SUM(p) FROM child") == [(b"1", b"1")]


def test_a_commit_under_way_in_a_node_that_is_cut_off_is_not_answered(cluster, tables):
    """Whether it survives is not known: the nodes agree about it when they meet again."""
    node = cluster[1]
    index = node.hs_wr().opened(tables, "t", "PRIMARY", "v", None)
    session = node.sql()
    try:
        with held_before_it_is_sent(cluster, tables):
            index.client.send(index.id, "=", 1, 1, 1, 0, "-", 1)
            wait_until(lambda: committing(session), 30, "a commit under way")
            node.isolate()
            with pytest.raises((hs.Closed, ConnectionError)):
                index.client.recv()
    finally:
        node.reconnect()
    cluster.wait_until_equal(f"{tables}.t", f"{tables}.other")
    assert session.value(f"SELECT v FROM {tables}.t") in (b"99", b"100")


def test_uninstall_waits_for_no_worker_where_no_thread_can_be_had(make_cluster, tmp_path, monkeypatch):
    """A worker's commit is ordered behind UNINSTALL, and ends after it."""
    no_threads = NoThreads(tmp_path)
    for name, value in no_threads.environment.items():
        monkeypatch.setenv(name, value)
    cluster = make_cluster("galera", nodes=2)
    node, session = cluster[1], cluster[1].sql()
    for statement in ("CREATE DATABASE s", "CREATE TABLE s.t (id INT PRIMARY KEY, v INT)",
                      "CREATE TABLE s.other (id INT PRIMARY KEY AUTO_INCREMENT)", "INSERT INTO s.t VALUES (1, 100)"):
        session.run(statement)
    cluster.wait_until_equal("s.t")
    index = node.hs_wr().opened("s", "t", "PRIMARY", "v", None)
    admin = node.sql(read_timeout=60)
    leaving = threading.Thread(target=admin.run, args=["UNINSTALL SONAME 'rowsocket'"])
    with contextlib.ExitStack() as threads_run_out:
        with held_before_its_place(cluster, "s"):
            leaving.start()
            wait_until(lambda: any(row["state"] == "Waiting to execute in isolation" for row in processes(session)), 30,
                       "UNINSTALL has its place in the order")
            index.client.send(index.id, "=", 1, 1, 1, 0, "-", 1)
            wait_until(lambda: committing(session), 30, "a commit under way")
            threads_run_out.enter_context(no_threads.refused())
        leaving.join(30)
    assert not leaving.is_alive()
    assert "no thread can be had to stop handlersocket: some of its threads are left" in node.log()
    admin.run("INSTALL SONAME 'rowsocket'")
    cluster.wait_until_equal("s.t")
    wait_until(lambda: node.hs_wr().request("H", "write") == hs.OK, 20, "the node serves again")
    node.stop()
