"""In MySQL: the row events and GTIDs of requests, whose replica ends with equal rows."""

import pytest

import hs
from load import Crew
from server import wait_until
from test_replica import Pair

pytestmark = [pytest.mark.again_in("mysql-9.7"), pytest.mark.mysql("MySQL's events and positions")]

TABLE = ("CREATE TABLE b.t (id INT AUTO_INCREMENT PRIMARY KEY, n BIGINT, s VARCHAR(40), bl BLOB, j JSON,"
         " d VARCHAR(40) DEFAULT (UUID()), at TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),"
         " g BIGINT AS (n * 2) STORED, v INT AS (n % 7) VIRTUAL, UNIQUE KEY (s), KEY (v), KEY (n))")


def events(sql, file, position):
    return [row[2].decode() for row in sql.rows(f"SHOW BINLOG EVENTS IN '{file}' FROM {position}")]


def place(sql):
    file, position, *_ = sql.row("SHOW BINARY LOG STATUS")
    return file.decode(), int(position)


@pytest.mark.parametrize("options", [
    ["--binlog-row-image=full"], ["--binlog-row-image=minimal"], ["--binlog-row-image=noblob"],
    ["--binlog-row-value-options=PARTIAL_JSON", "--binlog-transaction-compression=ON"],
    ["--binlog-format=STATEMENT", "--binlog-rows-query-log-events=ON"]], ids=lambda options: options[0][2:])
def test_a_replica_has_the_rows(make_server, options):
    pair = Pair(make_server, *options)
    pair.sql.run("CREATE DATABASE b")
    pair.sql.run(TABLE)
    client = pair.primary.hs_wr()
    index = client.opened("b", "t", "", "n,s,bl,j")
    number = client.opened("b", "t", "", "n")
    for row in range(1, 41):
        assert index.insert(row, f"s{row}", b"\0blob" * row, '{"a": [1, %d]}' % row).code == 0
    assert index.insert(1, "s1", None, None) == hs.refused(1, 121)
    for row in range(1, 41, 3):
        assert index.update("=", [row], [row + 100, f"new{row}", b"x", '{"a": null}']) == hs.counted(1)
    assert number.modify(">", [20], ["+", 5], 100) == hs.counted(20)
    hot = [hs.find_words(number.id, "=", [7], 1, 0, mod=["+", 1])] * 100  # one change of one row
    assert client.pipeline(hot) == [hs.counted(1)] * 100
    assert index.delete("=", [8]) == hs.counted(1)
    assert index.delete(">", [30], 5) == hs.counted(5)
    pair.assert_equal()
    assert pair.copy.value("SELECT COUNT(*) FROM b.t") == b"34"


def test_each_turn_is_a_transaction_with_a_gtid(make_server):
    server = make_server(options=["--log-bin=events", "--server-id=7", "--gtid-mode=ON",
                                  "--enforce-gtid-consistency=ON"])
    sql = server.sql()
    sql.run("CREATE DATABASE b")
    sql.run(TABLE)
    index = server.hs_wr().opened("b", "t", "", "n,s")

    def made(request):
        start = place(sql)
        assert request().code == 0
        return events(sql, *start)

    begin, commit = ["Gtid", "Query", "Table_map"], ["Xid"]
    assert made(lambda: index.insert(1, "one")) == begin + ["Write_rows"] + commit
    assert made(lambda: index.update("=", [1], [2, "two"])) == begin + ["Update_rows"] + commit
    assert made(lambda: index.update("=", [1], [2, "two"])) == []  # nothing changes
    assert made(lambda: index.find("=", [1])) == []
    start = place(sql)
    assert index.insert(5, "two") == hs.refused(1, 121)
    assert events(sql, *start) == []
    assert made(lambda: index.delete("=", [1])) == begin + ["Delete_rows"] + commit


def test_a_change_that_the_log_has_no_room_for_is_refused(make_server):
    server = make_server(options=["--log-bin=events", "--server-id=7", "--max-binlog-cache-size=4096",
                                  "--binlog-cache-size=4096"])
    sql = server.sql()
    sql.run("CREATE DATABASE b")
    sql.run(TABLE)
    index = server.hs_wr().opened("b", "t", "", "n,bl")
    assert index.insert(1, b"small").code == 0
    start = place(sql)
    assert index.insert(2, b"x" * 60000).code == 1
    assert index.update("=", [1], [7, b"y" * 60000]).code == 1
    assert events(sql, *start) == []
    assert sql.rows("SELECT n, bl FROM b.t") == [(b"1", b"small")]
    assert index.insert(3, b"still").code == 0


def test_a_client_asks_a_replica_for_its_own_write(make_server):
    """H position behind a write names it, and H at tells when the replica shows it."""
    pair = Pair(make_server)
    pair.sql.run("CREATE DATABASE b")
    pair.sql.run("CREATE TABLE b.t (id INT PRIMARY KEY)")
    pair.catch_up()
    pair.copy.run("INSTALL PLUGIN handlersocket SONAME 'rowsocket.so'")
    primary = pair.primary.hs_wr()
    index = primary.opened("b", "t", "", "id")

    def position_of(client):
        code, count, position = client.request("H", "position")
        assert (code, count) == (b"0", b"1")
        return position

    pair.copy.run("STOP REPLICA SQL_THREAD")
    before = position_of(primary)
    assert index.insert(1) == hs.OK
    after = position_of(primary)
    assert after == pair.sql.value("SELECT @@GLOBAL.gtid_executed").replace(b"\n", b"")
    assert pair.sql.value("SELECT GTID_SUBTRACT(%s, %s)", after, before).count(b":") == 1
    replica = pair.replica.hs_rd()
    assert replica.request("H", "at", after) == hs.refused(1, "unavailable")
    assert primary.request("H", "at", after) == primary.request("H", "at", before) == hs.OK
    pair.copy.run("START REPLICA SQL_THREAD")
    wait_until(lambda: replica.request("H", "at", after) == hs.OK, 60, "the replica has executed the insert")
    assert replica.opened("b", "t", "", "id").rows("=", [1]) == [(b"1",)]
    # Tags, holes between numbers, and another source.
    source, last = after.decode().rsplit(":", 1)
    last = int(last.split("-")[-1])
    for number in (last + 2, last + 3):
        pair.sql.run(f"SET gtid_next = '{source}:{number}'")
        pair.sql.run("COMMIT")
    other = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
    pair.sql.run(f"SET gtid_next = '{other}:some_tag:5'")
    pair.sql.run("COMMIT")
    pair.sql.run("SET gtid_next = 'AUTOMATIC'")
    for asked, has in ((f"{source}:{last + 1}", False), (f"{source}:1-{last}:{last + 2}-{last + 3}", True),
                       (f"{source}:1-{last + 3}", False), (f"{other}:5", False), (f"{other}:some_tag:5", True),
                       (f"{other}:Some_Tag:5,{source}:1", True), (f"{other.upper()}:some_tag:5-6", False),
                       ("0-1-1", False)):
        assert primary.request("H", "at", asked) == (hs.OK if has else hs.refused(1, "unavailable")), asked
    everything = position_of(primary)
    assert everything == pair.sql.value("SELECT @@GLOBAL.gtid_executed").replace(b"\n", b"")
    assert primary.request("H", "at", everything) == hs.OK


def test_health_shows_how_far_a_replica_is_behind(make_server):
    pair = Pair(make_server)
    pair.sql.run("CREATE DATABASE b")
    pair.sql.run("CREATE TABLE b.t (id INT PRIMARY KEY, v INT)")
    pair.sql.run("INSERT INTO b.t VALUES (1, 10)")
    pair.catch_up()
    pair.copy.run("INSTALL PLUGIN handlersocket SONAME 'rowsocket.so'")
    replica = pair.replica.hs_rd()

    def holds(*check):
        return replica.request("H", "read", *check) == hs.OK

    wait_until(lambda: holds("0"), 60, "the replica has caught up")
    holder = pair.replica.sql("b")
    holder.run("SET SESSION innodb_lock_wait_timeout = 100")
    holder.run("BEGIN")
    holder.run("SELECT * FROM t FOR UPDATE")  # the SQL thread waits for this row
    index = pair.primary.hs_wr().opened("b", "t", "", "v")
    assert index.update("=", [1], [77]) == hs.counted(1)
    wait_until(lambda: not holds("1"), 60, "the replica is behind")
    assert holds() and holds("100000")
    lag = int(replica.request("H").cells[5])
    assert 2 <= lag <= int(pair.state()["seconds_behind_source"])
    holder.run("ROLLBACK")
    wait_until(lambda: holds("0"), 60, "the replica has caught up")
    pair.copy.run("STOP REPLICA SQL_THREAD")
    assert replica.request("H").cells[5] is None
    assert holds() and not holds("100000")
    assert pair.primary.hs_rd().request("H").cells[5] == b"0"


@pytest.mark.parametrize("in_order", ("ON", "OFF"))
def test_workers_beside_sql_on_few_rows(make_server, in_order):
    """No wait, no loss: what both have added is there, here and on a replica whose workers apply it in parallel."""
    pair = Pair(make_server, replica_options=("--read-only=1", "--replica-parallel-workers=4",
                                              f"--replica-preserve-commit-order={in_order}"))
    assert pair.copy.row("SELECT @@replica_parallel_workers, @@replica_preserve_commit_order") == (
        b"4", b"1" if in_order == "ON" else b"0")
    pair.sql.run("CREATE DATABASE b")
    pair.sql.run("CREATE TABLE b.c (id INT PRIMARY KEY, n BIGINT NOT NULL, u INT, UNIQUE KEY (u))")
    pair.sql.run("INSERT INTO b.c SELECT seq, 0, seq FROM seq_1_to_20")
    done = []

    def requests(seed):
        client = pair.primary.hs_wr()
        index = client.opened("b", "c", "", "n")
        rows = client.opened("b", "c", "", "id,n,u")
        good = 0
        for step in range(60):
            row = 1 + (seed * 7 + step * 3) % 20
            good += sum(reply.code == 0 for reply in client.pipeline(
                [hs.find_words(index.id, "=", [row], 1, 0, mod=["+", 1])] * 5))
            new = 1000 * seed + step
            if rows.insert(new, 0, new).code == 0:
                assert rows.delete("=", [new]) == hs.counted(1)
        done.append(good)

    def statements(seed):
        sql = pair.primary.sql("b")
        good = 0
        for step in range(60):
            row = 1 + (seed * 5 + step) % 20
            sql.run("BEGIN")
            good += sql.run("UPDATE c SET n = n + 1 WHERE id = %s", row)
            sql.run("COMMIT")
        done.append(good)

    with Crew() as crew:
        for seed in range(1, 5):
            crew.start(requests, seed)
            crew.start(statements, seed)
    assert len(done) == 8
    assert int(pair.sql.value("SELECT SUM(n) FROM b.c")) == sum(done)
    assert sum(done) == 4 * 60 * 5 + 4 * 60
    assert pair.sql.rows("CHECK TABLE b.c EXTENDED")[-1][-1] == b"OK"
    pair.assert_equal()


def test_a_new_server_id_is_followed(make_server):
    """A replica leaves out events that have its own number: SET GLOBAL on a cloned server is to hold at once."""
    server = make_server(options=["--log-bin=binlog", "--server-id=1"])
    sql = server.sql()
    sql.run("CREATE DATABASE b")
    sql.run("CREATE TABLE b.t (id INT PRIMARY KEY)")
    index = server.hs_wr().opened("b", "t", "", "id")
    numbers = []
    for number in (1, 78):
        sql.run(f"SET GLOBAL server_id = {number}")
        file, position = place(sql)
        assert index.insert(number) == hs.OK
        numbers.append({int(row[3]) for row in sql.rows(f"SHOW BINLOG EVENTS IN '{file}' FROM {position}")})
    assert numbers == [{1}, {78}]
