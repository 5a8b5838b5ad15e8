"""Expressions that keep what they have found of the session, in a table that stays open: each request has what a
statement of SQL would have."""

import pytest

import hs

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.ours,
              pytest.mark.mariadb("MariaDB keeps it with the open table")]


def test_a_seeded_default_begins_anew(sql, wr, rd):
    for table in ("ours", "theirs"):
        sql.run(f"CREATE TABLE {table} (id INT PRIMARY KEY, r DOUBLE DEFAULT (RAND(5)))")
    index = wr("ours", "", "id")
    for key in range(5):
        assert index.insert(key) == hs.OK
        sql.run(f"INSERT INTO theirs (id) VALUES ({key})")
    rows = sql.rows("SELECT id, r FROM ours ORDER BY id")
    assert rows == sql.rows("SELECT id, r FROM theirs ORDER BY id") and len({row[1] for row in rows}) == 1
    assert rd("ours", "", "id,r").rows("=", [4]) == [rows[4]]
