"""DDL and global locks (row 12 of docs/WRONGS.md): they wait at most for the batch in progress; index ids
live on; no acknowledged write is lost and no wrong row is answered."""

import collections
import time

import pymysql
import pytest

import hs
from load import (Crew, Reader, errors_of, make_tables, make_writers, payload, scaled,
                  violations)
from server import is_mysql, wait_until

pytestmark = pytest.mark.again_in("mariadb-11.8")

DDL_S = 8       # the deadline of each statement
IDLE = 25       # idle connections of each port

READ_ONLY = "SET GLOBAL read_only = 1; SET GLOBAL read_only = 0"

# Statements after which the tables live on: all acknowledged writes must survive them.
HARMLESS = (
    "ALTER TABLE {db}.led ADD COLUMN extra INT DEFAULT 3",
    "ALTER TABLE {db}.led DROP COLUMN extra",
    "ALTER TABLE {db}.led ADD INDEX by_payload (payload)",
    "ALTER TABLE {db}.led DROP INDEX by_payload",
    "ALTER TABLE {db}.cnt ADD COLUMN first INT DEFAULT 0 FIRST, ADD INDEX a (first)",
    "ALTER TABLE {db}.cnt DROP COLUMN first, DROP INDEX a",
    "ALTER TABLE {db}.led FORCE, ALGORITHM=COPY",
    "ALTER TABLE {db}.cnt ENGINE=InnoDB, ALGORITHM=INPLACE",
    "ALTER TABLE {db}.led MODIFY payload VARCHAR(300) NOT NULL",
    "ALTER TABLE {db}.led MODIFY payload VARCHAR(60) CHARACTER SET utf8mb4 NOT NULL",
    "RENAME TABLE {db}.led TO {db}.away, {db}.away TO {db}.led",
    "OPTIMIZE TABLE {db}.led", "ANALYZE TABLE {db}.led, {db}.cnt", "CHECK TABLE {db}.cnt",
    "FLUSH TABLES", "FLUSH TABLES {db}.led, {db}.cnt",
    "CREATE OR REPLACE TABLE {db}.other SELECT * FROM {db}.cnt",
    "CREATE TRIGGER {db}.tr BEFORE DELETE ON {db}.cnt FOR EACH ROW SET @x = 1",
    "DROP TRIGGER {db}.tr",
    "FLUSH STATUS", "FLUSH TABLES WITH READ LOCK; UNLOCK TABLES",
    READ_ONLY,
    "LOCK TABLES {db}.led WRITE, {db}.cnt WRITE; UNLOCK TABLES",
    "LOCK TABLES {db}.led READ; UNLOCK TABLES",
    "LOCK INSTANCE FOR BACKUP; UNLOCK INSTANCE" if is_mysql() else
    "BACKUP STAGE START; BACKUP STAGE FLUSH; BACKUP STAGE BLOCK_DDL; BACKUP STAGE BLOCK_COMMIT;"
    " BACKUP STAGE END",
)


class Slow(Exception):
    """A statement that was not done within its deadline."""


def run_ddl(sql, statements, db):
    """Runs each statement within the deadline; raises Slow if it takes longer."""
    for statement in statements.format(db=db).split("; "):
        started = time.monotonic()
        try:
            sql.rows(statement) if not statement.startswith("CREATE") else sql.run(statement)
        except pymysql.MySQLError as error:
            if error.args[0] != 1205:
                raise
            raise Slow(f"{statement}: lock wait timeout") from error
        if time.monotonic() - started > DDL_S:
            raise Slow(f"{statement}: {time.monotonic() - started:.1f} s")


def ddl_session(server):
    sql = server.sql()
    sql.run(f"SET lock_wait_timeout = {DDL_S}, innodb_lock_wait_timeout = {DDL_S}")
    return sql


def idle_clients(server, db, count):
    """Connections with opened ids that have read and written once, and then are silent."""
    clients = []
    for number in range(2 * count):
        client = server.hs_wr() if number % 2 else server.hs_rd()
        assert client.open_index(0, db, "led", "PRIMARY", "w,seq,payload") == hs.reply(0, 1)
        assert client.open_index(1, db, "cnt", "by_w", "n,m") == hs.reply(0, 1)
        assert client.find(0, "=", [1, 1]).code == 0
        if number % 2:
            assert client.insert(0, [0, number, payload(0, number)]) == hs.reply(0, 1)
        clients.append(client)
    return clients


def slow_statements_beside_idle_clients(server, db, statements=HARMLESS, count=IDLE):
    """The statements that did not end in time while connections with opened ids were idle. The test that
    shows that the bundled plugin fails here shares it."""
    sql = ddl_session(server)
    make_tables(sql, db)
    clients = idle_clients(server, db, count)
    slow = []
    for statement in statements:
        try:
            run_ddl(sql, statement, db)
        except Slow as error:
            slow.append(str(error))
        except pymysql.MySQLError:
            if not slow:  # otherwise the table lacks the effect of a slow statement
                raise
    return slow, clients


def test_ddl_beside_idle_connections(server, db):
    slow, clients = slow_statements_beside_idle_clients(server, db)
    assert slow == []
    for number, client in enumerate(clients):
        if number % 2:
            assert client.find(0, "=", [0, number]) == hs.reply(0, 3, 0, number, payload(0, number))
            assert client.insert(0, [9, number, "again"]) == hs.reply(0, 1)
        assert client.find(1, "=", [77]) == hs.reply(0, 2)


def test_each_statement_leaves_ids_in_order(server, db, sql):
    """One reader and one writer: after each statement the next request is right."""
    ddl = ddl_session(server)
    make_tables(sql, db)
    writer, reader = (client for client in idle_clients(server, db, 1)[::-1])
    for number, statement in enumerate(HARMLESS):
        run_ddl(ddl, statement, db)
        assert writer.insert(0, [5, number, "x"]) == hs.reply(0, 1), statement
        assert reader.find(0, "=", [5, number]) == hs.reply(0, 3, 5, number, "x"), statement
        assert writer.find(1, "=", [5]) == hs.reply(0, 2), statement
    assert sql.value("SELECT COUNT(*) FROM led WHERE w = 5 AND note = 7") == b"%d" % len(HARMLESS)


def storm(server, db, rng, statements, rounds):
    """Load while the statements run in random order; returns (violations, errors, slow)."""
    sql = ddl_session(server)
    make_tables(sql, db)
    writers = make_writers(server, sql, db, 4)
    readers = [Reader(server, db, writers, rng.__class__(number)) for number in range(3)]
    idle_clients(server, db, 3)
    slow = []
    with Crew() as crew:
        for client in writers + readers:
            crew.start(client.run, crew.stopping)
        for _ in range(rounds):
            for statement in statements:
                goal = sum(writer.acknowledged for writer in writers) + rng.randint(1, 60)
                wait_until(lambda: crew.check() and sum(
                    writer.acknowledged for writer in writers) >= goal, 20, "traffic goes on")
                try:
                    run_ddl(sql, statement, db)
                except Slow as error:
                    slow.append(str(error))
    assert not any(writer.breaks for writer in writers), "a connection was closed"
    return violations(server.sql(), writers), errors_of(writers + readers), slow


def test_storm(server, db, rng):
    """A request that meets one of these statements waits, as in SQL: no request fails because of it."""
    statements = [one for one in HARMLESS if one != READ_ONLY]
    wrong, errors, slow = storm(server, db, rng, statements, scaled(2))
    assert wrong == []
    assert slow == []
    assert not errors


def test_storm_of_read_only(server, db, rng):
    wrong, errors, slow = storm(server, db, rng, [READ_ONLY] * 10, scaled(2))
    assert wrong == []
    assert slow == []
    assert set(errors) == {"1 lock_tables"}, errors


def test_a_lock_on_the_table_makes_clients_wait_or_says_so(server, db, sql):
    """LOCK TABLES and FLUSH TABLES WITH READ LOCK: no write gets through, reads behave as in SQL."""
    make_tables(sql, db)
    writer, reader = (client for client in idle_clients(server, db, 1)[::-1])
    for number, lock in enumerate(("LOCK TABLES led READ", "FLUSH TABLES WITH READ LOCK",
                                   "LOCK TABLES led WRITE", "SET GLOBAL read_only = 1")):
        sql.run(lock)
        writer.send(0, "+", 3, 6, number, "x")
        refused = writer.readable(0.3)
        if refused:
            reply = writer.recv()
            assert reply == hs.reply(1, 1, "lock_tables"), (lock, reply)
        if "WRITE" not in lock:
            assert reader.find(0, "=", [6, number]) == hs.reply(0, 3), lock
        sql.run("UNLOCK TABLES")
        sql.run("SET GLOBAL read_only = 0")
        if not refused:
            assert writer.recv() == hs.reply(0, 1), lock
        assert sql.value("SELECT COUNT(*) FROM led WHERE w = 6 AND seq = %s", number) == \
            b"%d" % (not refused)
    assert writer.insert(0, [6, 99, "x"]) == hs.reply(0, 1)


# Dropped columns, indexes, tables.

GONE = (
    ("ALTER TABLE {db}.g DROP COLUMN b", "ALTER TABLE {db}.g ADD COLUMN b INT NOT NULL DEFAULT 8",
     "b", "fld"),
    ("ALTER TABLE {db}.g RENAME COLUMN b TO bb", "ALTER TABLE {db}.g RENAME COLUMN bb TO b", "b",
     "fld"),
    ("ALTER TABLE {db}.g DROP INDEX k", "ALTER TABLE {db}.g ADD INDEX k (a)", "k", "idxnum"),
    ("ALTER TABLE {db}.g RENAME INDEX k TO kk", "ALTER TABLE {db}.g RENAME INDEX kk TO k", "k",
     "idxnum"),
    ("RENAME TABLE {db}.g TO {db}.gone", "RENAME TABLE {db}.gone TO {db}.g", "table",
     "open_table"),
    ("DROP TABLE {db}.g", "CREATE TABLE {db}.g (id INT PRIMARY KEY, a INT NOT NULL DEFAULT 0,"
     " b INT NOT NULL DEFAULT 8, KEY k (a))", "table", "open_table"),
    ("DROP TABLE {db}.g", "CREATE TABLE {db}.g (b INT NOT NULL DEFAULT 8, x INT, id INT,"
     " a INT NOT NULL DEFAULT 0, KEY z (x), PRIMARY KEY (id), KEY k (a))", "table", "open_table"),
)


@pytest.mark.parametrize("idle", [False, True], ids=["asked while gone", "idle while gone"])
def test_a_dropped_column_index_or_table_is_an_error_until_it_is_back(server, db, sql, idle):
    sql.run("CREATE TABLE g (id INT PRIMARY KEY, a INT NOT NULL DEFAULT 0,"
            " b INT NOT NULL DEFAULT 8, KEY k (a))")
    client = server.hs_wr()
    names = {0: ("PRIMARY", "id,a"), 1: ("k", "id"), 2: ("PRIMARY", "id,b")}
    for number, (index, columns) in names.items():
        assert client.open_index(number, db, "g", index, columns) == hs.reply(0, 1)
    for number, (away, back, what, error) in enumerate(GONE, 1):
        assert client.insert(0, [number, number]).code == 0
        run_ddl(sql, away, db)
        for opened in () if idle else names:
            touched = what == "table" or what in names[opened][0] + names[opened][1].split(",")[-1]
            reply = client.find(opened, "=", [number])
            if touched:
                assert reply.code and reply.error == error, (away, opened, reply)
            else:
                assert reply.code == 0 and reply.cells[0] == b"%d" % number, (away, opened, reply)
        run_ddl(sql, back, db)
        if what == "table" and "DROP" in away:
            assert client.insert(0, [number, number]).code == 0
        assert client.find(0, "=", [number]) == hs.reply(0, 2, number, number), back
        assert client.find(1, "=", [number]) == hs.reply(0, 1, number), back
        assert client.find(2, "=", [number]) == hs.reply(0, 2, number, 8), back
    assert sql.value("SELECT COUNT(*) FROM g WHERE id <> a") == b"0"


def test_the_type_of_a_column_changes(server, db, sql):
    """Keys, values and results follow the new definition."""
    sql.run("CREATE TABLE ty (id INT PRIMARY KEY, a INT NOT NULL, KEY (a))")
    sql.run("INSERT INTO ty VALUES (1, 5), (2, 40)")
    client = server.hs_wr()
    assert client.open_index(0, db, "ty", "a", "id,a") == hs.reply(0, 1)
    assert client.find(0, ">=", ["5"], 9, 0) == hs.reply(0, 2, 1, 5, 2, 40)
    sql.run("ALTER TABLE ty MODIFY a VARCHAR(10) NOT NULL")
    assert client.find(0, ">=", ["40"], 9, 0) == hs.reply(0, 2, 2, 40, 1, 5)
    assert client.insert(0, [3, "text"]) == hs.reply(0, 1)
    assert client.find(0, "=", ["TEXT"]) == hs.reply(0, 2, 3, "text")
    sql.run("DELETE FROM ty WHERE id = 3")
    sql.run("ALTER TABLE ty MODIFY a DECIMAL(5,2) NOT NULL")
    assert client.find(0, "=", ["40"]) == hs.reply(0, 2, 2, "40.00")
    assert client.insert(0, [4, "text"]).code == 1


class Comings:
    """A client of a table that is dropped and created again: every answer must be right."""

    ERRORS = {"1 open_table", "2 idxnum", "2 fld", "1 lock_tables"}

    def __init__(self, server, db, rng, port):
        self.rng, self.writes = rng, port == "hs_wr"
        self.client = getattr(server, port)()
        for number in range(2):
            reply = self.client.open_index(number, db, "g", ("PRIMARY", "k")[number], "id,a,b")
            assert reply == hs.reply(0, 1)
        self.errors, self.good = collections.Counter(), 0

    def run(self, stopping):
        while not stopping.is_set():
            numbers = [self.rng.randrange(1000) for _ in range(8)]
            requests = [hs.find_words(at % 2, "=", [number]) for at, number in enumerate(numbers)]
            if self.writes:
                requests[::2] = [(0, "+", 2, number, number) for number in numbers[::2]]
            for number, reply in zip(numbers, self.client.pipeline(requests)):
                if reply.code == 0:
                    assert reply in (hs.reply(0, 1), hs.reply(0, 3), hs.reply(0, 3, number, number, 8))
                    self.good += 1
                elif reply != hs.reply(1, 1, 121):
                    assert f"{reply.code} {reply.error}" in self.ERRORS, reply
                    self.errors[reply.error] += 1


def test_storm_on_a_table_that_comes_and_goes(server, db, rng, sql):
    ddl = ddl_session(server)
    sql.run("CREATE TABLE g (id INT PRIMARY KEY, a INT NOT NULL DEFAULT 0,"
            " b INT NOT NULL DEFAULT 8, KEY k (a))")
    clients = [Comings(server, db, rng.__class__(number), ("hs_rd", "hs_wr")[number % 2])
               for number in range(6)]
    statements = [one for pair in GONE for one in ("; ".join(pair[:2]), "TRUNCATE TABLE {db}.g")]
    with Crew() as crew:
        for client in clients:
            crew.start(client.run, crew.stopping)
        for statement in statements * scaled(3):
            goal = sum(client.good for client in clients) + rng.randint(1, 100)
            wait_until(lambda: crew.check() and sum(client.good for client in clients) >= goal, 20,
                       "good answers")
            run_ddl(ddl, statement, db)
    for client in clients:
        assert client.client.find(0, "=", [5000]) == hs.reply(0, 3)
    assert sql.value("SELECT COUNT(*) FROM g WHERE id <> a OR b <> 8") == b"0"
    assert sql.rows("CHECK TABLE g EXTENDED")[-1][3] == b"OK"


CHILD = ("CREATE TABLE {db}.{name} (id INT PRIMARY KEY, pid INT, v INT AS (pid + 1) VIRTUAL, KEY (v),"
         " FOREIGN KEY (pid) REFERENCES {db}.{parent} (id) ON DELETE {action} ON UPDATE CASCADE)")


@pytest.mark.ours
def test_children_that_come_while_their_parent_stays_open(server, db, sql):
    """No lock on the parent tells of new children; changes of the parent reach them all the same."""
    sql.run(f"CREATE TABLE {db}.p (id INT PRIMARY KEY, x INT)")
    sql.run(f"INSERT INTO {db}.p SELECT seq, 0 FROM seq_1_to_50")
    client = server.hs_wr()
    id_of, x_of = client.opened(db, "p", "", "id").id, client.opened(db, "p", "", "x").id

    def modified(index, keys, *mod):
        replies = client.pipeline([hs.find_words(index, "=", [key], 1, 0, mod=mod) for key in keys])
        assert replies == [hs.counted(1)] * len(keys)

    def keep_open(crew):
        with server.hs_wr() as other:
            index = other.opened(db, "p", "", "x").id
            while not crew.stopping.is_set():
                other.pipeline([hs.find_words(index, "=", [50], 1, 0, mod=["+", 1])] * 50)
    with Crew() as crew:
        crew.start(keep_open, crew)
        modified(x_of, [1, 2], "U", 7)
        sql.run(CHILD.format(db=db, name="c", parent="p", action="CASCADE"))
        sql.run(f"INSERT INTO {db}.c (id, pid) SELECT seq, seq FROM seq_1_to_40")
        modified(x_of, [1, 2, 3], "D")
        modified(id_of, [4], "U", 104)
        sql.run(f"ALTER TABLE {db}.c ADD UNIQUE (pid)")
        sql.run(CHILD.format(db=db, name="g", parent="c", action="SET NULL").replace("(id) ON", "(pid) ON"))
        sql.run(f"INSERT INTO {db}.g (id, pid) SELECT seq, seq FROM seq_5_to_40")
        modified(x_of, [5], "D")
        modified(id_of, [6], "U", 106)
    assert sql.rows(f"SELECT id, pid, v FROM {db}.c WHERE id < 8 ORDER BY id") == [
        (b"4", b"104", b"105"), (b"6", b"106", b"107"), (b"7", b"7", b"8")]
    assert sql.rows(f"SELECT id, pid, v FROM {db}.g WHERE id < 8 ORDER BY id") == [
        (b"5", None, None), (b"6", b"106", b"107"), (b"7", b"7", b"8")]
    assert {row[3] for row in sql.rows(f"CHECK TABLE {db}.p, {db}.c, {db}.g")} == {b"OK"}


@pytest.mark.ours
@pytest.mark.parametrize("statement", ["DROP TABLE {db}.c", "RENAME TABLE {db}.c TO {db}.d"])
def test_children_that_go_while_their_parent_waits_for_them(server, db, sql, statement):
    sql.run(f"CREATE TABLE {db}.p (id INT PRIMARY KEY, x INT)")
    sql.run(f"INSERT INTO {db}.p VALUES (1, 0), (2, 0)")
    sql.run(CHILD.format(db=db, name="c", parent="p", action="CASCADE"))
    sql.run(f"INSERT INTO {db}.c (id, pid) VALUES (1, 1)")
    client = server.hs_wr()
    index = client.opened(db, "p", "", "x").id
    owner, ddl = server.sql(db), server.sql(db)
    owner.run("BEGIN")
    owner.rows("SELECT * FROM c")
    waits = int(sql.status("Handlersocket_lock_waits"))
    with Crew() as crew:
        crew.start(ddl.run, statement.format(db=db))
        wait_until(lambda: sql.rows("SELECT 1 FROM information_schema.processlist"
                                    " WHERE state = 'Waiting for table metadata lock'"), what="the DDL waits")
        client.send(*hs.find_words(index, "=", [1], 1, 0, mod=["D"]))
        wait_until(lambda: int(sql.status("Handlersocket_lock_waits")) > waits, what="the delete waits, too")
        owner.run("COMMIT")
        assert client.recv() == hs.counted(1)
    assert sql.rows(f"SELECT id FROM {db}.p") == [(b"2",)]
    if statement.startswith("RENAME"):
        assert sql.value(f"SELECT COUNT(*) FROM {db}.d") == b"0"


@pytest.mark.ours
def test_a_table_that_was_rebuilt_during_the_turn(server, db, sql):
    """The turn's read view is older than the table; a request in a turn of its own would find the rows."""
    sql.run(f"CREATE TABLE {db}.long (id INT PRIMARY KEY, x INT)")
    sql.run(f"INSERT INTO {db}.long SELECT seq, 0 FROM seq_1_to_100000")
    sql.run(f"CREATE TABLE {db}.b (id INT PRIMARY KEY, x INT, KEY (x))")
    sql.run(f"INSERT INTO {db}.b VALUES (1, 2)")
    scan = hs.line(*hs.find_words(1, ">", [0], 1, 0, filters=[("F", "=", 0, 1)]))
    for make in server.hs_rd, server.hs_wr:
        client = make(timeout_s=60)
        client.open_index(1, db, "long", "", "id", "x")
        client.open_index(2, db, "b", "x", "id,x")
        wait_until(lambda: sql.rows(f"SHOW OPEN TABLES FROM {db} LIKE 'b'")[0][2] == b"0")
        requests = [scan] * 60 + [hs.line(*hs.find_words(2, "=", [2]))]
        if make == server.hs_wr:
            requests.append(hs.line(*hs.find_words(2, "=", [2], 1, 0, mod=["U", 1, 3])))
        before = sql.status("Handler_read_next")
        client.send_raw(b"".join(requests))
        wait_until(lambda: sql.status("Handler_read_next") > before + 100000)
        sql.run(f"ALTER TABLE {db}.b FORCE")
        replies = [client.recv() for _ in requests]
        assert replies[60:] == [hs.reply(0, 2, 1, 2), hs.counted(1)][:len(requests) - 60]
