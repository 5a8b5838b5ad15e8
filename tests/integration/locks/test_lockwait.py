"""Rows that SQL has locked (row 13 of docs/WRONGS.md) delay only the clients that asked for them."""

import pytest

import hs
from load import Crew, Transaction, scaled, worker_ids
from server import wait_until

pytestmark = pytest.mark.again_in("mysql-9.7")

ANSWER_S = 10  # for requests that nothing should delay
OTHERS = 200
TRX_STEP_S = 0.2  # INNODB_TRX does not change while it is queried more often


@pytest.fixture
def table(sql):
    sql.run("CREATE TABLE lw (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0, u INT, UNIQUE (u),"
            " k INT, KEY (k)) ENGINE=InnoDB")
    rows = ",".join(f"({row * 10},0,{row * 10},{row * 10})" for row in range(1, 301))
    sql.run(f"INSERT INTO lw VALUES {rows}")


def opened(server, db, port="hs_wr"):
    client = getattr(server, port)()
    assert client.open_index(0, db, "lw", "PRIMARY", "n") == hs.reply(0, 1)
    assert client.open_index(1, db, "lw", "PRIMARY", "id,n,u,k") == hs.reply(0, 1)
    assert client.open_index(2, db, "lw", "k", "n") == hs.reply(0, 1)
    return client


def add_one(row):
    return hs.find_words(0, "=", [row], 1, 0, mod=["+", 1])


def read(row):
    return hs.find_words(0, "=", [row])


def lines(*requests):
    return b"".join(hs.line(*tokens) for tokens in requests)


def nothing_yet(client):
    assert not client.readable(0), "answered although the row is locked"


def serve(clients, first_row=1000):
    """Each client changes and reads a row of its own, all clients at once."""
    for at, client in enumerate(clients):
        row = first_row + 10 * at
        client.send_raw(lines(hs.find_words(0, "=", [row], 1, 0, mod=["U", 5]), read(row)))
    for client in clients:
        assert client.recv(ANSWER_S) == hs.reply(0, 1, 1)
        assert client.recv(ANSWER_S) == hs.reply(0, 1, 5)


def test_a_locked_row_delays_only_clients_that_asked_for_it(server, db, table):
    holder = Transaction(server, db)
    assert holder.run("UPDATE lw SET n = 100 WHERE id = 50")
    asking = [opened(server, db) for _ in range(3)]
    others = [opened(server, db) for _ in range(OTHERS)]
    for client in asking:
        client.send_raw(lines(add_one(50), read(60), add_one(60), read(50)))
    serve(others)
    serve(others)
    for client in asking:
        nothing_yet(client)
    holder.commit()
    seen = []
    for number, client in enumerate(asking):
        replies = [client.recv(ANSWER_S) for _ in range(4)]
        assert replies[0] == replies[2] == hs.reply(0, 1, 1)
        seen.append((int(replies[1][2]), int(replies[3][2])))
    assert all(number < 3 and 101 <= value <= 103 for number, value in seen), seen
    assert holder.sql.rows("SELECT n FROM lw WHERE id IN (50, 60) ORDER BY id") == \
        [(b"103",), (b"3",)]


def test_replies_before_the_locked_row_leave_at_once(server, db, table):
    """Replies before the waiting request are not held back."""
    holder = Transaction(server, db)
    assert holder.run("UPDATE lw SET n = 100 WHERE id = 50")
    client = opened(server, db)
    client.send_raw(lines(add_one(10), read(10), add_one(50), read(10), add_one(10)))
    assert client.recv(ANSWER_S) == hs.reply(0, 1, 1)
    assert client.recv(ANSWER_S) == hs.reply(0, 1, 1)
    other = opened(server, db)
    assert other.request(*add_one(10)) == hs.reply(0, 1, 1), "row 10 is still locked"
    nothing_yet(client)
    holder.rollback()
    assert client.recv(ANSWER_S) == hs.reply(0, 1, 1)
    assert client.recv(ANSWER_S) == hs.reply(0, 1, 2)
    assert client.recv(ANSWER_S) == hs.reply(0, 1, 1)


def test_reads_do_not_wait_and_leave_no_locks(server, db, table):
    holder = Transaction(server, db)
    assert holder.run("UPDATE lw SET n = 100 WHERE id <= 100")
    for port in ("hs_rd", "hs_wr"):
        client = opened(server, db, port)
        assert client.request(*read(50)) == hs.reply(0, 1, 0)
        assert len(client.find(0, ">=", [0], 1000, 0).cells) == 300
    # The readers hold no lock: the whole table can be locked at once.
    locker = server.sql(db)
    locker.run("SET innodb_lock_wait_timeout = 1")
    holder.commit()
    locker.run("BEGIN")
    assert len(locker.rows("SELECT id FROM lw FOR UPDATE")) == 300


def test_many_waiting_connections_and_the_others(server, db, table):
    """A hundred and more connections wait, on one row and on many; the others are served."""
    holder = Transaction(server, db)
    assert holder.run("UPDATE lw SET u = u WHERE id <= 500")
    waiting = [opened(server, db) for _ in range(120)]
    for number, client in enumerate(waiting):
        row = 10 if number < 60 else 10 * (1 + number % 50)
        client.send_raw(lines(add_one(row), read(row)))
    others = [opened(server, db) for _ in range(40)]
    readers = [opened(server, db, "hs_rd") for _ in range(10)]
    for _ in range(scaled(5)):
        serve(others)
        for client in readers:
            assert client.request(*read(10)) == hs.reply(0, 1, 0)
    for client in waiting:
        nothing_yet(client)
    holder.commit()
    for client in waiting:
        assert client.recv(30) == hs.reply(0, 1, 1)
        assert client.recv(30).code == 0
    assert holder.sql.value("SELECT SUM(n) FROM lw WHERE id <= 500") == b"120"


def test_waiting_clients_that_go_away(server, db, table):
    """Connections that are closed while they wait leave no locks behind."""
    holder = Transaction(server, db)
    assert holder.run("UPDATE lw SET u = u WHERE id = 50")
    for _ in range(30):
        client = opened(server, db)
        client.send_raw(lines(add_one(50)))
        client.close()
    serve([opened(server, db)])
    holder.commit()
    last = opened(server, db)
    assert last.request(*add_one(50)) == hs.reply(0, 1, 1)
    locker = server.sql(db)
    locker.run("SET innodb_lock_wait_timeout = 10")
    locker.run("BEGIN")
    assert len(locker.rows("SELECT id FROM lw FOR UPDATE")) == 300
    assert worker_ids(locker)


def test_gap_locks(server, db, table):
    holder = Transaction(server, db)
    holder.sql.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    holder.sql.rows("SELECT id FROM lw WHERE k BETWEEN 100 AND 120 FOR UPDATE")
    client, other = opened(server, db), opened(server, db)
    client.send_raw(lines((1, "+", 4, 105, 1, 105, 105), read(105)))
    assert other.request(1, "+", 4, 205, 2, 205, 205) == hs.reply(0, 1)
    serve([opened(server, db)])
    nothing_yet(client)
    holder.commit()
    assert client.recv(ANSWER_S) == hs.reply(0, 1)
    assert client.recv(ANSWER_S) == hs.reply(0, 1, 1)


def test_a_unique_key_that_is_not_yet_committed(server, db, table):
    holder = Transaction(server, db)
    assert holder.run("INSERT INTO lw VALUES (7, 0, 7, 7)")
    client = opened(server, db)
    client.send_raw(lines((1, "+", 4, 8, 0, 7, 8), (1, "+", 4, 9, 0, 9, 9)))
    serve([opened(server, db)])
    nothing_yet(client)
    holder.commit()
    assert client.recv(ANSWER_S) == hs.reply(1, 1, 121)
    assert client.recv(ANSWER_S) == hs.reply(0, 1)


@pytest.mark.parametrize("end", ["keeps the parent", "deletes the parent"])
def test_foreign_keys_wait_for_the_parent(server, db, table, sql, end):
    sql.run("CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES lw (id))")
    sql.run("INSERT INTO child VALUES (8, 40), (9, 60)")  # DELETE locks the gap between these keys
    holder = Transaction(server, db)
    assert holder.run("DELETE FROM lw WHERE id = 50" if end == "deletes the parent"
                      else "UPDATE lw SET n = 3 WHERE id = 50")
    client, other = opened(server, db), opened(server, db)
    for one in (client, other):
        assert one.open_index(5, db, "child", "", "id,p").code == 0
    client.send_raw(lines((5, "+", 2, 1, 50), (5, "+", 2, 2, 60)))
    assert other.request(5, "+", 2, 3, 70) == hs.reply(0, 1)
    nothing_yet(client)
    holder.commit()
    expected = hs.reply(1, 1, 151) if end == "deletes the parent" else hs.reply(0, 1)
    assert client.recv(ANSWER_S) == expected
    assert client.recv(ANSWER_S) == hs.reply(0, 1)


def test_lock_wait_timeout_answers_146(make_server):
    server = make_server(options=["--innodb-lock-wait-timeout=50"])
    sql = server.sql()
    sql.run("CREATE DATABASE lwt")
    sql.run("CREATE TABLE lwt.lw (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0, u INT, k INT,"
            " KEY (k))")
    sql.run("INSERT INTO lwt.lw VALUES (10, 0, 1, 1), (20, 0, 2, 2)")
    client = opened(server, "lwt")
    assert client.request(*read(10)) == hs.reply(0, 1, 0)
    sql.run("SET GLOBAL innodb_lock_wait_timeout = 1")  # also for workers that run already
    holder = Transaction(server, "lwt")
    assert holder.run("UPDATE lw SET u = 5 WHERE id = 10")
    many = [opened(server, "lwt") for _ in range(10)]
    for one in [client, *many]:
        one.send_raw(lines(add_one(20), add_one(10), read(20)))
    for one in [client, *many]:
        assert one.recv(20) == hs.reply(0, 1, 1)
        assert one.recv(30) == hs.reply(1, 1, 146)
        assert one.recv(20).code == 0
    holder.rollback()
    assert client.request(*add_one(10)) == hs.reply(0, 1, 1)
    assert sql.rows("SELECT n FROM lwt.lw") == [(b"1",), (b"11",)]


def test_a_request_over_many_rows_waits_for_one_of_them(server, db, table):
    """The request changes all of its rows or none, whatever happens while it waits."""
    holder = Transaction(server, db)
    assert holder.run("UPDATE lw SET u = u WHERE id = 150")
    client = opened(server, db)
    client.send_raw(lines(hs.find_words(0, ">=", [100], 20, 0, mod=["+", 1]), read(100)))
    serve([opened(server, db)])
    nothing_yet(client)
    holder.rollback()
    assert client.recv(ANSWER_S) == hs.reply(0, 1, 20)
    assert client.recv(ANSWER_S) == hs.reply(0, 1, 1)
    assert holder.sql.value("SELECT COUNT(*) FROM lw WHERE n = 1") == b"20"


def test_order_behind_a_locked_row_is_kept(server, db, table, rng):
    """The requests behind the waiting request take effect behind it, in order."""
    for _ in range(scaled(5)):
        holder = Transaction(server, db)
        assert holder.run("UPDATE lw SET u = u WHERE id = 50")
        client = opened(server, db)
        updates = [(rng.choice((50, 60, 70)), value) for value in range(1, 30)]
        client.send_raw(lines(*(request for row, value in updates for request in (
            hs.find_words(0, "=", [row], 1, 0, mod=["U", value]), read(row)))))
        serve([opened(server, db)])
        holder.commit()
        for _, value in updates:
            assert client.recv(ANSWER_S) == hs.reply(0, 1, 1)
            assert client.recv(ANSWER_S) == hs.reply(0, 1, value)
        last = dict(updates)
        found = dict(holder.sql.rows("SELECT id, n FROM lw WHERE id IN (50, 60, 70)"))
        holder.rollback()
        for row, value in last.items():
            assert found[b"%d" % row] == b"%d" % value


def test_locks_are_gone_after_each_answer(server, db, table):
    """An answered write holds no lock: an SQL session that does not wait can change the row."""
    client, sql = opened(server, db), server.sql(db)
    sql.run("SET innodb_lock_wait_timeout = 0")
    for row in range(10, 300, 10):
        assert client.request(*add_one(row)) == hs.reply(0, 1, 1)
        assert sql.run("UPDATE lw SET n = n + 1 WHERE id = %s", row) == 1


@pytest.mark.mariadb("by default a bulk insert does not keep this lock in MySQL")
def test_a_bulk_insert_has_the_auto_increment_lock(server, db, sql):
    """An insert beside INSERT ... SELECT waits for it, as in SQL, and delays no other client."""
    sql.run("CREATE TABLE ai (id INT AUTO_INCREMENT PRIMARY KEY, v DOUBLE) ENGINE=InnoDB")
    sql.run("INSERT INTO ai VALUES (1, 1)")
    client, other = server.hs_wr(), server.hs_wr()
    for each in (client, other):
        assert each.open_index(0, db, "ai", "", "v") == hs.OK
    waits = int(sql.status("Handlersocket_lock_waits"))
    with Crew() as crew:
        bulk = server.sql(db)
        crew.start(bulk.run, "INSERT INTO ai (v) SELECT SLEEP(0.2) + seq FROM seq_1_to_20")
        wait_until(lambda: sql.value("SELECT COUNT(*) FROM information_schema.innodb_trx"
                                     " WHERE trx_rows_modified > 1") == b"1", step_s=TRX_STEP_S)
        client.send(0, "+", 1, 7)
        wait_until(lambda: int(sql.status("Handlersocket_lock_waits")) > waits)
        assert other.find(0, "=", [10**6]) == hs.reply(0, 1)
        assert client.recv(20).code == 0
    assert sql.value("SELECT COUNT(*) FROM ai") == b"22"


def test_a_counter_that_is_used_up_is_no_lock(server, db, sql):
    sql.run("CREATE TABLE ai (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, v INT) ENGINE=InnoDB")
    sql.run("INSERT INTO ai VALUES (18446744073709551614, 1)")
    client = server.hs_wr()
    assert client.open_index(0, db, "ai", "", "v") == hs.OK
    waits = sql.status("Handlersocket_lock_waits")
    assert client.insert(0, [7]) == hs.refused(1, "167")
    assert sql.error("INSERT INTO ai (v) VALUES (7)") == 1467
    assert sql.status("Handlersocket_lock_waits") == waits


def test_a_waiting_request_keeps_no_table_of_an_earlier_request(make_server):
    """The lane has served table b; now its thread waits for a row of a. If the thread kept b, DDL of b, and
    the SQL session that has the row of a and waits for that DDL, would wait in a circle that no detector
    sees."""
    server = make_server(options=["--handlersocket-lock-wait-threads=1"])
    sql = server.sql()
    sql.run("CREATE DATABASE lw")
    clients, holders = {}, {}
    for name in "ab":
        sql.run(f"CREATE TABLE lw.{name} (id INT PRIMARY KEY, v INT) ENGINE=InnoDB")
        sql.run(f"INSERT INTO lw.{name} VALUES (1, 1)")
        clients[name], holders[name] = server.hs_wr(), server.sql("lw")
        assert clients[name].open_index(0, "lw", name, "", "v") == hs.OK
        holders[name].run("BEGIN")
        holders[name].run(f"UPDATE {name} SET v = 2")
    for number, name in enumerate("ba"):
        clients[name].send(*hs.find_words(0, "=", [1], 1, 0, mod=["+", 1]))
        wait_until(lambda: int(sql.status("Handlersocket_lock_waits")) == number + 1)
    holders["b"].run("COMMIT")
    assert clients["b"].recv() == hs.reply(0, 1, 1)
    wait_until(lambda: sql.value("SELECT COUNT(*) FROM information_schema.innodb_trx"
                                 " WHERE trx_state = 'LOCK WAIT'") == b"1", step_s=TRX_STEP_S)
    ddl = server.sql("lw")
    ddl.run("SET lock_wait_timeout = 5")
    ddl.run("ALTER TABLE b ADD COLUMN x INT")
    holders["a"].run("SELECT * FROM b")
    holders["a"].run("COMMIT")
    assert clients["a"].recv() == hs.reply(0, 1, 1)
