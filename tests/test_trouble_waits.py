"""The rules of rowsocket-doctor --live about who holds rows and tables, by readings and answers of a server that are made up.
Those of a server are in test_doctor_waits.py."""

import pytest

from test_trouble import blockers, held_by

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
    return {"thread": thread, "seconds": 90, "waits": 3, "state": state, "query": None, "user": "u@h", **more}


def holders_of_rows(version, transactions):
    """By their threads."""
    return [one["thread"] for one in blockers.of_rows(Server({"INNODB_TRX": transactions}), version)]


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
