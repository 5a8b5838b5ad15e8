"""The rules of rowsocket-doctor --live about who holds rows and tables, by readings and answers of a server that are made up.
Those of a server are in test_doctor_waits.py."""

import pytest

from test_trouble import blockers

pytestmark = pytest.mark.once("starts no server")


def test_no_thread_of_the_library_is_told_to_hold_rows():
    """In MySQL its account is NULL for performance_schema, as that of replication may be."""
    assert "NOT LIKE 'thread/rowsocket/%'" in blockers.MYSQL_ROWS and f"p.user NOT IN ({blockers.OURS})" in blockers.MARIADB_ROWS
