"""The view from outside: status variables, the process list, and the server's own counters."""

import os

import pytest

import mc
from hs import OK, counted, refused
from server import PLUGINS, REPOSITORY, wait_until


@pytest.fixture
def table(sql):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT, KEY kx (x))")
    sql.run("INSERT INTO t SELECT seq, seq FROM seq_1_to_100")


class Counters:
    """How far the counters of SHOW GLOBAL STATUS have moved since this object was made."""

    def __init__(self, sql, like):
        self.sql, self.like = sql, like
        self.start = self.read()

    def read(self):
        return {name.decode().lower(): int(value) for name, value in
                self.sql.rows("SHOW GLOBAL STATUS LIKE %s", self.like) if value.isdigit()}

    def moved(self, name):
        return self.read()[name] - self.start[name]

    def wait(self, **expected):
        """Waits, because counters of idle workers may come a moment later."""
        wait_until(lambda: all(self.moved(name) == by for name, by in expected.items()),
                   what=f"{expected}, moved: { {name: self.moved(name) for name in expected} }")


def work(rd, wr):
    """10 finds of 1 row, 2 inserts, 3 updates, 1 increment, 4 deletes, 5 errors."""
    reader, writer = rd("t", "", "id,x"), wr("t", "", "id,x")
    for number in range(1, 11):
        assert len(reader.rows("=", [number])) == 1
    for number in (1001, 1002):
        assert writer.insert(number, number) == OK
    for number in (1, 2, 3):
        assert writer.update("=", [number], [number, 500]) == counted(1)
    assert wr("t", "", "x").modify("=", [4], ["+", 1]) == counted(1)
    for number in (5, 6, 7, 8):
        assert writer.delete("=", [number]) == counted(1)
    for _ in range(3):
        assert reader.find("?", [1]) == refused(2, "op")
    for _ in range(2):
        assert writer.insert(1, 1) == refused(1, 121)


@pytest.mark.ours
def test_requests_rows_and_errors_are_counted(table, sql, rd, wr):
    counters = Counters(sql, "handlersocket_%")
    work(rd, wr)
    # A request that was not executed counts only as an error.
    counters.wait(handlersocket_opens=3, handlersocket_finds=10, handlersocket_inserts=4, handlersocket_updates=3,
                  handlersocket_increments=1, handlersocket_deletes=4, handlersocket_errors_op=3,
                  handlersocket_errors_engine=2, handlersocket_errors_cmd=0)
    assert counters.moved("handlersocket_rows_read") >= 10
    assert counters.moved("handlersocket_rows_written") == 10
    assert counters.moved("handlersocket_bytes_received") > 300
    assert counters.moved("handlersocket_bytes_sent") > 100
    assert 8 <= counters.moved("handlersocket_commits") <= 14
    assert 8 <= counters.moved("handlersocket_batches") <= 40
    assert counters.moved("handlersocket_batch_requests") >= counters.moved("handlersocket_batches")


@pytest.mark.ours
def test_connections_are_counted(server, db, sql):
    wait_until(lambda: sql.status("Handlersocket_connections") == 0, what="the connections before are gone")
    counters = Counters(sql, "handlersocket_connections%")
    clients = [server.hs_rd(), server.hs_rd(), server.hs_wr()]
    for client in clients:
        client.request_raw(b"?")
    counters.wait(handlersocket_connections=3, handlersocket_connections_accepted=3)
    clients[0].close()
    counters.wait(handlersocket_connections=2)
    for client in clients:
        client.close()
    counters.wait(handlersocket_connections=0, handlersocket_connections_accepted=3)


@pytest.mark.ours
def test_wrong_keys_are_counted(make_server):
    server = make_server(options=["--handlersocket-plain-secret=s", "--handlersocket-plain-secret-wr=s"])
    counters = Counters(server.sql(), "handlersocket_%")
    client = server.hs_rd()
    assert client.auth("no") == refused(3, "unauth") and client.auth("s") == OK
    counters.wait(handlersocket_auths=1, handlersocket_errors_unauth=1)


def worker_states(sql):
    return [row[0].decode() for row in sql.rows(
        "SELECT state FROM information_schema.processlist WHERE state LIKE 'handlersocket%'")]


def test_workers_are_in_the_process_list_with_mode_and_connections(server, db, sql):
    clients = [server.hs_rd() for _ in range(4)] + [server.hs_wr() for _ in range(2)]
    for client in clients:
        client.request_raw(b"?")

    def connections(mode):
        states = [state for state in worker_states(sql) if f"mode={mode}" in state]
        return sum(int(state.split(f"mode={mode}, ")[1].split(" conns")[0]) for state in states)

    def workers(mode):
        return sum(f"mode={mode}" in state for state in worker_states(sql))
    wait_until(lambda: connections("rd") == 4 and connections("wr") == 2,
               what=f"4 readers and 2 writers: {worker_states(sql)}")
    readers = max(16, len(os.sched_getaffinity(0)))
    wait_until(lambda: (workers("rd"), workers("wr"), workers("batch")) == (readers, 1, 1),
               what=f"{readers} workers, 1 with its batch executor: {worker_states(sql)}")
    assert sql.rows("SELECT @@handlersocket_threads")[0][0] in (readers, str(readers).encode())


def test_show_processlist_beside_the_workers(server, sql):
    assert len(sql.rows("SHOW FULL PROCESSLIST")) >= 3


# The server's own counters, while the connections are open.

@pytest.mark.bundled_wrong(23, some=True)
@pytest.mark.parametrize("name,at_least", [
    ("handler_read_key", 18), ("handler_write", 2), ("handler_update", 4), ("handler_delete", 4),
    ("handler_commit", 1), ("innodb_buffer_pool_read_requests", 20), ("innodb_os_log_written", 100)])
def test_counters_of_the_server_move(table, sql, rd, wr, name, at_least):
    counters = Counters(sql, name)
    work(rd, wr)
    wait_until(lambda: counters.moved(name) >= at_least, what=f"{name} moves by {at_least}")


@pytest.mark.bundled_wrong(23, some=True)
def test_handler_counters_are_those_of_sql(table, sql, rd, wr, server, db):
    names = ["handler_read_key", "handler_read_next", "handler_read_prev", "handler_update", "handler_delete",
             "handler_write"]

    def movement(action):
        counters = Counters(sql, "handler_%")
        own = {name: counters.moved(name) for name in names}  # the counts that the query itself causes
        counters = Counters(sql, "handler_%")
        action()
        if name_of(action) == "ours":
            wait_until(lambda: counters.moved("handler_update") >= 5, what="the counters of idle workers")
        return {name: counters.moved(name) - own[name] for name in names}

    def name_of(action):
        return action.__name__

    reader, writer = rd("t", "", "x"), wr("t", "", "x")
    other = server.sql(db)

    def ours():
        for number in range(30, 50):
            reader.rows("=", [number])
        for number in range(50, 55):
            writer.update("=", [number], [attempt])

    def theirs():
        for number in range(30, 50):
            other.rows("SELECT x FROM t WHERE id = %s", number)
        for number in range(60, 65):
            other.run("UPDATE t SET x = %s WHERE id = %s", attempt, number)

    # memcached's housekeeper searches for expired rows now and then, which counts as well.
    for attempt in range(1000, 1010):
        expected, found = movement(theirs), movement(ours)
        if all(found[name] == expected[name] for name in ("handler_read_key", "handler_update", "handler_delete")):
            return
    assert found == expected


@pytest.mark.bundled_wrong(23, some=True)
@pytest.mark.mariadb("userstat")
def test_table_and_index_statistics_with_userstat(server, db, sql, rd, wr, table):
    sql.run("SET GLOBAL userstat = 1")
    try:
        sql.run("FLUSH TABLE_STATISTICS")
        sql.run("FLUSH INDEX_STATISTICS")
        reader, writer = rd("t", "kx", "id"), wr("t", "", "id,x")
        for number in range(1, 21):
            assert len(reader.rows("=", [number])) == 1
        assert writer.insert(500, 500) == OK and writer.update("=", [500], [500, 1]) == counted(1)

        def statistics():
            tables = sql.rows("SELECT rows_read, rows_changed FROM information_schema.table_statistics"
                              " WHERE table_schema = %s AND table_name = 't'", db)
            indexes = sql.rows("SELECT rows_read FROM information_schema.index_statistics"
                               " WHERE table_schema = %s AND table_name = 't' AND index_name = 'kx'", db)
            return bool(tables and indexes and int(tables[0][0]) >= 20 and int(tables[0][1]) == 2
                        and int(indexes[0][0]) == 20)
        wait_until(statistics, what="table and index statistics while the connections are open")
    finally:
        sql.run("SET GLOBAL userstat = 0")


@pytest.mark.bundled_wrong(23)
def test_performance_schema_counts_table_io(make_server):
    server = make_server(options=["--performance-schema=ON"])
    sql = server.sql()
    sql.run("CREATE DATABASE p")
    sql.run("CREATE TABLE p.t (id INT PRIMARY KEY, x INT)")
    sql.run("INSERT INTO p.t SELECT seq, seq FROM p.seq_1_to_50")
    sql.run("TRUNCATE performance_schema.table_io_waits_summary_by_table")
    reader, writer = server.hs_rd().opened("p", "t", "", "x"), server.hs_wr().opened("p", "t", "", "id,x")
    for number in range(1, 21):
        assert len(reader.rows("=", [number])) == 1
    assert writer.insert(99, 99) == OK and writer.update("=", [99], [99, 1]) == counted(1)
    assert writer.delete("=", [99]) == counted(1)

    def io():
        return sql.rows("SELECT count_fetch, count_insert, count_update, count_delete FROM"
                        " performance_schema.table_io_waits_summary_by_table WHERE object_schema = 'p'")
    wait_until(lambda: io() and int(io()[0][0]) >= 22 and io()[0][1:] == (b"1", b"1", b"1"), what=f"table I/O: {io()}")


@pytest.mark.ours
@pytest.mark.again_in("mysql-9.7")
def test_an_index_that_only_requests_use_is_not_called_unused(make_server):
    """sys.schema_unused_indexes, by which operators drop indexes, asks the same table of performance_schema."""
    server = make_server(options=["--performance-schema=ON"])
    sql = server.sql()
    sql.run("CREATE DATABASE p")
    sql.run("CREATE TABLE p.t (id INT PRIMARY KEY, x INT, y INT, KEY kx (x), KEY ky (y)) ENGINE=InnoDB")
    sql.run("INSERT INTO p.t VALUES (1, 1, 1)")

    def unused():
        return {index for (index,) in sql.rows(
            "SELECT index_name FROM performance_schema.table_io_waits_summary_by_index_usage WHERE object_schema = 'p'"
            " AND index_name NOT IN ('PRIMARY') AND count_star = 0")}
    assert unused() == {b"kx", b"ky"}
    assert len(server.hs_rd().opened("p", "t", "kx", "id").rows("=", [1])) == 1
    wait_until(lambda: unused() == {b"ky"}, what=f"the use of one index; unused: {unused()}")


def test_status_can_be_read_while_work_is_done(table, sql, server, db):
    clients = [server.hs_wr().opened(db, "t", "", "id,x") for _ in range(3)]
    for number in range(50):
        for index in clients:
            index.client.send(index.id, "=", 1, number % 20 + 30, 1, 0, "+", 0, 1)
        sql.rows("SHOW GLOBAL STATUS")
        sql.rows("SHOW FULL PROCESSLIST")
        assert [index.client.recv() for index in clients] == [counted(1)] * 3


def spec_rows(table):
    lines = (REPOSITORY / f"spec/{table}.tsv").read_text().splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


@pytest.mark.ours
@pytest.mark.parametrize("plugin", PLUGINS)
def test_status_shows_the_counters_of_the_table(sql, plugin):
    expected = [f"{plugin}_{name}" for name, _, _, _, plugins, _, _ in spec_rows("counters")
                if plugin in plugins.split(",")]
    expected += [f"{plugin}_errors_{name}" for name, _, _, plugins, _ in spec_rows("errors")
                 if plugin in plugins.split(",")]
    shown = [name.decode().lower() for name, _ in sql.rows("SHOW GLOBAL STATUS LIKE %s", f"{plugin}\\_%")]
    assert sorted(shown) == sorted(expected)


@pytest.mark.ours
def test_memcacheds_stats_answer_the_counters_of_the_table(sql):
    with mc.Client(("127.0.0.1", int(sql.value("SELECT @@daemon_memcached_port")))) as client:
        answered = client.stats()
    assert {row[5] for row in spec_rows("counters")} - {"-"} <= set(answered)
