"""Defaults that only newer servers have: what the socket leaves out is filled in as SQL would."""

import uuid

import pytest

import hs
from server import is_mysql

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.since("mariadb-11.7", "there is no UUID_v7() before 11.7")]


@pytest.mark.mariadb("the type UUID")
def test_generated_uuids(sql, wr, rd):
    sql.run("CREATE TABLE u (id INT PRIMARY KEY, v4 UUID DEFAULT UUID_v4(), v7 UUID DEFAULT UUID_v7(),"
            " a INET4 DEFAULT '192.0.2.1', j JSON DEFAULT '{}', UNIQUE (v7))")
    index = wr("u", "", "id")
    for key in range(30):
        assert index.insert(key) == hs.OK
    rows = rd("u", "", "id,v4,v7,a,j").rows(">=", [0], 100)
    assert rows == sql.rows("SELECT id, v4, v7, a, j FROM u ORDER BY id") and len(rows) == 30
    assert {uuid.UUID(row[1].decode()).version for row in rows} == {4}
    made = [uuid.UUID(row[2].decode()) for row in rows]
    assert {one.version for one in made} == {7} and made == sorted(made) and len(set(made)) == 30
    assert {row[3:] for row in rows} == {(b"192.0.2.1", b"{}")}
    # The index over the generated values finds them.
    assert rd("u", "v7", "id").rows("=", [str(made[7])]) == [(b"7",)]


def test_the_default_collation_of_new_tables(server, sql, wr, rd):
    """The server's own choice where none is named."""
    collation = "utf8mb4_0900_ai_ci" if is_mysql() else "utf8mb4_uca1400_ai_ci"
    sql.run(f"CREATE TABLE c (id INT PRIMARY KEY, x VARCHAR(20), KEY (x)) CHARACTER SET utf8mb4 COLLATE {collation}")
    index = wr("c", "", "id,x")
    for key, text in enumerate(["Äpfel", "apfel", "APFEL", "Zebra", "straße", "strasse", "", "日本"]):
        assert index.insert(key, text) == hs.OK
    by_text = rd("c", "x", "id")
    for text in ("apfel", "STRASSE", "zébra", "", "日本", "none"):
        for op in ("=", ">", ">=", "<", "<="):
            order = "DESC" if "<" in op else "ASC"
            assert sorted(by_text.rows(op, [text], 100)) == sorted(
                sql.rows(f"SELECT id FROM c WHERE x {op} %s ORDER BY x {order}", text)), (op, text)
