"""What a reading asks the server, and what becomes of one of which a part fails, by a connection that is made up. What is read
of a server is in test_monitoring.py."""

import contextlib
import sys

import pytest

from server import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "packaging"))
# pylint: disable=wrong-import-position
from rowsocket_observe import reading

pytestmark = pytest.mark.once("starts no server")


class Connection:
    """Answers a statement by the first of `answers` of which a word is in it, and without rows else; an answer that is an
    error is raised. It is its own cursor, and takes no statement while it has `unread` answers."""

    def __init__(self, answers):
        self.answers = {"SELECT VERSION()": (("10.11.18-MariaDB",),), **answers}
        self.asked = []
        self.connected = 0
        self.unread = False
        self.rows = ()
        self.description = ()

    @contextlib.contextmanager
    def cursor(self):
        yield self

    def execute(self, query, _=None):
        assert not self.unread, query
        self.asked.append(query)
        answer = next((rows for word, rows in self.answers.items() if word in query), ())
        if isinstance(answer, Exception):
            self.unread = isinstance(answer, ValueError)
            raise answer
        self.rows = answer

    def fetchone(self):
        return self.rows[0] if self.rows else None

    def fetchall(self):
        return self.rows

    def close(self):
        self.unread = None

    def connect(self):
        assert self.unread is None, "the old one is closed first"
        self.unread = False
        self.connected += 1


def not_utf_8():
    try:
        b"\xff\xfe".decode()
    except UnicodeDecodeError as error:
        return error
    raise AssertionError


def test_a_part_with_bytes_that_are_not_utf_8():
    """The driver leaves what comes behind these bytes on its connection."""
    connection = Connection({"ROWSOCKET_HOT_ROWS": not_utf_8(), "PROCESSLIST": (("resp", 0, "resp: mode=lock wait, 1 request"),)})
    now = reading.read(connection, in_parts=True)
    assert list(now.failed) == ["hot_rows"] and "can't decode byte 0xff" in now.failed["hot_rows"]
    assert connection.connected == 1
    assert now.lanes == {"resp": 1} and any("REPLICAS STATUS" in query for query in connection.asked), "the parts behind it"


def test_the_threads_of_the_library():
    rows = [("handlersocket", 3, "Waiting for table metadata lock"), ("memcached", 7, "waiting for handler commit"),
            ("memcached", 5, "Commit"), ("resp", 0, "resp: mode=lock wait, 2 requests"), ("resp", 9, "resp: mode=lock wait, idle"),
            ("resp", 9, None), ("RESP", 900, "Commit")]
    connection = Connection({"PROCESSLIST": rows})
    now = reading.read(connection, in_parts=True)
    assert now.failed == {} and connection.connected == 0
    assert now.waits == {"table metadata lock": 1} and now.lanes == {"resp": 1}
    assert now.stalled_s == {"daemon_memcached": 7} and len(now.stalls) == 2


def test_statements_of_other_sessions_are_not_read():
    """Their bytes need not be UTF-8."""
    connection = Connection({})
    reading.read(connection, server=True, in_parts=True)
    asked = [query for query in connection.asked if "PROCESSLIST" in query.upper()]
    assert len(asked) == 2 and not any("SHOW" in query or "*" in query or "info" in query.split("FROM")[0].lower() for query in asked), asked
