"""A full-text index finds what requests have written, whatever others of their batch come to. When a statement is taken
back, InnoDB's index forgets what earlier statements of the transaction have made of the same rows."""

import pytest

from groups import APPLIED, required, stopped
from hs import counted, find_words, refused

pytestmark = [pytest.mark.again_in("mariadb-11.8", "mysql-9.7"), pytest.mark.ours]

WORDS = {1: "first", 2: "second", 3: "third", 4: "fourth"}


@pytest.fixture
def client(sql, db, server):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, u INT, w VARCHAR(40), UNIQUE KEY u (u), FULLTEXT KEY (w)) ENGINE=InnoDB")
    for row, word in WORDS.items():
        sql.run(f"INSERT INTO t VALUES ({row}, {row}, '{word}')")
    client = server.hs_wr()
    client.by_id, client.by_u = client.opened(db, "t", "", "w"), client.opened(db, "t", "u", "w")
    client.whole = client.opened(db, "t", "", "w,u")
    return client


def assert_found(sql, **words):
    """The table has these words, by the number of their row, and the index finds them."""
    rows = {**WORDS, **{int(name[1:]): word for name, word in words.items()}}
    assert sql.rows("SELECT id, w FROM t ORDER BY id") == [(b"%d" % row, word.encode()) for row, word in rows.items()]
    for row, word in rows.items():
        assert sql.rows(f"SELECT id FROM t WHERE MATCH (w) AGAINST ('{word}')") == [(b"%d" % row,)], word


def test_beside_a_change_of_several_rows_that_fails(client, sql):
    lost = find_words(client.whole.id, ">=", [2], 9, 0, mod=["U", "lost", 77])
    answers = client.pipeline([find_words(client.by_id.id, "=", [2], 1, 0, mod=["U", "kept"]), lost,
                               find_words(client.by_id.id, "=", [3], 1, 0, mod=["U", "later"])])
    assert answers == [counted(1), refused(1, 121), counted(1)]
    assert_found(sql, r2="kept", r3="later")


def test_beside_a_group_that_is_taken_back(client, sql):
    group = [["G", 2], required(client.by_id, "=", 1, 2, 1, 0, "U", "lost"), required(client.by_id, "=", 1, 99, 1, 0, "U", "lost")]
    answers = client.pipeline([find_words(client.by_u.id, "=", [2], 1, 0, mod=["U", "kept"]), *group,
                               ["G", 1], required(client.by_u, "=", 1, 3, 1, 0, "U", "later")])
    assert answers[:2] == [counted(1), stopped(2)]
    assert answers[4:] == [APPLIED, counted(1)]
    assert_found(sql, r2="kept", r3="later")
