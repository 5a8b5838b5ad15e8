"""What rowsocket-doctor --live says of AUTO_INCREMENT columns that are used up, by readings and a connection that are made up."""

import contextlib

import pytest

from test_trouble import look
# pylint: disable=wrong-import-order
from rowsocket_observe import trouble, used_up

pytestmark = pytest.mark.once("starts no server")


class Connection:
    """Answers for a table whose column has this type and highest number. It is its own cursor."""

    def __init__(self, column_type, highest):
        self.column_type, self.highest, self.rows, self.asked = column_type, highest, (), []

    @contextlib.contextmanager
    def cursor(self):
        yield self

    def execute(self, query, _=None):
        self.asked.append(query)
        self.rows = (("id", self.column_type),) if "COLUMNS" in query else ((self.highest,),)

    def fetchall(self):
        return self.rows


def said(connection, errors=100, **counters):
    rows = [{"plugin": "handlersocket", "table_schema": "d", "table_name": "t", "index_name": "PRIMARY", "requests": 100, "errors": errors}]
    one = look(now={"tables": rows}, counters=counters)
    one.used_up = used_up.of_failing_tables(connection, one)
    return " ".join(f"{wrong}: {mend}" for wrong, mend in trouble.what_is_wrong(one) if "AUTO_INCREMENT of" in wrong)


@pytest.mark.parametrize("column_type, last", [("tinyint unsigned", 255), ("tinyint(4)", 127), ("smallint", 32767), ("mediumint unsigned", 16777215),
                                               ("int(11)", 2147483647), ("int(10) unsigned", 4294967295), ("bigint", 2**63 - 1)])
def test_a_column_that_is_used_up(column_type, last):
    text = said(Connection(column_type, last))
    assert f"AUTO_INCREMENT of d.t is used up: id ({column_type}) has its highest number, and inserts over handlersocket fail" in text
    assert "ALTER TABLE d.t MODIFY id" in text
    assert said(Connection(column_type, last - 1)) == "" and said(Connection(column_type, None)) == ""
    assert said(Connection("float", last)) == ""


def test_nobody_is_asked_without_errors():
    for connection, more in ((Connection("int", 2147483647), {"errors": 5}), (Connection("int", 2147483647), {"engine_failures": 100})):
        assert said(connection, **more) == "" and not connection.asked
