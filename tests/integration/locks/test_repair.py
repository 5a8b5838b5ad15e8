"""A table that a crash has damaged is repaired by a thread that keeps no other client waiting."""

import re

import pytest

pytestmark = [pytest.mark.mariadb("in MySQL the library serves InnoDB alone"), pytest.mark.ours]

# Workers keep their text; a thread of the lane may have ended by the time somebody looks.
WORKERS = "SELECT id FROM information_schema.processlist WHERE state LIKE '% conns, %'"
# Of a MyISAM table's index file: what has become of the table, and the bit that says that it is damaged.
CHANGED_AT, CRASHED = 26, 2


@pytest.fixture
def folder(server, db):
    """The folder of the schema, from which copies that the server makes of a damaged table are removed."""
    path = server.directory / "data" / db
    yield path
    for copy in path.glob("*.BAK"):
        copy.unlink()


@pytest.mark.parametrize("opens", [True, False], ids=["open", "find"])
def test_a_damaged_table_is_repaired_where_locks_are_waited_for(server, sql, db, folder, opens):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, v INT) ENGINE=MyISAM")
    sql.run("INSERT INTO t VALUES (1, 10), (2, 20)")
    client = server.hs_rd()
    index = client.opened(db, "t", "PRIMARY", "v")
    sql.run("FLUSH TABLES t")
    with open(folder / "t.MYI", "r+b") as file:
        file.seek(CHANGED_AT)
        changed = file.read(1)[0]
        file.seek(CHANGED_AT)
        file.write(bytes([changed | CRASHED]))
    if opens:
        index = client.opened(db, "t", "PRIMARY", "v")
    assert index.rows(">=", [0], 9) == [(b"10",), (b"20",)]
    threads = re.findall(rf"(\d+) \[Warning\] Checking table: +'\./{db}/t'", server.log())
    assert len(threads) == 1, server.log_tail()
    workers = sql.rows(WORKERS)
    assert workers and (threads[0].encode(),) not in workers
