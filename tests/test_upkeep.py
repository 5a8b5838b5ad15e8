"""What rowsocket-doctor --live asks the server about expired rows and tokens, by a cursor that is made up. What it says of
a server that runs is in test_doctor_upkeep.py."""

import sys

import pytest

from server import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "packaging"))
# pylint: disable=wrong-import-position
from rowsocket_observe import reading, upkeep

pytestmark = pytest.mark.once("starts no server")


class Cursor:
    """Answers a statement by the first of `answers` of which a word is in it; otherwise with a row of 1."""

    def __init__(self, answers):
        self.answers = answers
        self.asked = []
        self.rows = ()

    def execute(self, query, arguments=None):
        # As PyMySQL does: also an empty tuple is a list of arguments.
        query = query if arguments is None else query % tuple(f"'{each}'" for each in arguments)
        self.asked.append(query)
        self.rows = next((rows for word, rows in self.answers.items() if word in query), ((1,),))

    def fetchall(self):
        return self.rows


def test_a_percent_sign_in_a_name():
    cursor = Cursor({"innodb_memcache.containers": (("container c", "shop%s", "half%", "e%d"),), "MIN(e)": ((200, 1000),), "MIN(created)": ((1, 1),),
                     "rowsocket.keyspaces": (), upkeep.STORE: ()})
    now = reading.Reading(at=0.0, server={"daemon_memcached_user": ""})
    upkeep.take(cursor, now)
    assert now.expired["container c"]["count"] == 200
    assert any("`e%d` AS e FROM `shop%s`.`half%`" in query for query in cursor.asked), cursor.asked


def test_a_token_that_is_newer_than_the_servers_second():
    """The difference of unsigned numbers may not be negative; of a server, test_doctor_upkeep.py tries it."""
    cursor = Cursor({"innodb_memcache.containers": (), "rowsocket.keyspaces": (), upkeep.STORE: (), "MIN(created)": ((1, -5),)})
    now = reading.Reading(at=0.0)
    upkeep.take(cursor, now)
    assert now.tokens_age_s == (1, -5)
    [query] = [query for query in cursor.asked if "MIN(created)" in query]
    assert query.count("AS SIGNED)") == 2 * query.count(" - "), query


def may_not(user, seen=1, may=0):
    """The account that is said to lack DELETE, and the statements that asked for its privileges."""
    cursor = Cursor({"innodb_memcache.containers": (("container c", "s", "t", "e"),), "rowsocket.keyspaces": (), upkeep.STORE: (),
                     "MIN(e)": ((200, 1000),), "MIN(created)": ((1, 1),), "SCHEMA_PRIVILEGES": ((may,),), "USER_PRIVILEGES": ((seen,),)})
    now = reading.Reading(at=0.0, server={"daemon_memcached_user": user})
    upkeep.take(cursor, now)
    return now.expired["container c"]["may_not"], [query for query in cursor.asked if "PRIVILEGES" in query]


@pytest.mark.parametrize("user, grantee", [("cache@localhost", "'cache'@'localhost'"), ("cache", "'cache'@'%'"), ("c@d@h", "'c@d'@'h'")])
def test_the_account_of_a_port_that_may_not_delete(user, grantee):
    lacks, asked = may_not(user)
    assert lacks == user and len(asked) == 2 and all(f"grantee = '{grantee}'" in query for query in asked), asked
    assert may_not(user, may=1)[0] == ""
    assert may_not(user, seen=0)[0] == "", "the doctor's account does not see the privileges of others"


def test_tables_that_are_not_there():
    """What an account may not see is there, as far as is known."""
    class Refusing(Cursor):
        def execute(self, query, arguments=None):
            for table, number in (("innodb_memcache.containers", 1142), ("rowsocket.store", 1146)):
                if f"FROM {table} LIMIT 0" in query:
                    raise OSError(number, table)
            super().execute(query, arguments)
    now = reading.Reading(at=0.0)
    upkeep.take(Refusing({"innodb_memcache.containers": (), "rowsocket.keyspaces": (), upkeep.STORE: ()}), now)
    assert now.gone == ["rowsocket.store"]
