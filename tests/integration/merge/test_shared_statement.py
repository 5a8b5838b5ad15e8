"""Requests of the same kind share a statement of the server; each of them fails alone all the same."""

import pytest

from hs import OK, counted, find_words
from load import worker_ids

TABLE = ("CREATE TABLE t (id INT PRIMARY KEY, x TINYINT NOT NULL, u INT UNIQUE, p INT DEFAULT 1,"
         " note TEXT, ts TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),"
         " CHECK (x <> 13), FOREIGN KEY (p) REFERENCES p (id))")


@pytest.fixture
def table(sql):
    sql.run("CREATE TABLE p (id INT PRIMARY KEY)")
    sql.run("INSERT INTO p VALUES (1), (2)")
    sql.run(TABLE)
    sql.run("INSERT INTO t (id, x, u) SELECT seq, 1, seq FROM seq_1_to_20")


def play(client, sql, requests):
    """Plays the requests in one batch; the answers must be those of SQL, one by one. requests: (tokens,
    statement)."""
    answers = client.pipeline([tokens for tokens, _ in requests])
    left = sql.rows("SELECT id, x, u, p, note FROM t ORDER BY id")
    sql.run("DELETE FROM t")
    sql.run("INSERT INTO t (id, x, u) SELECT seq, 1, seq FROM seq_1_to_20")
    for (_, statement), answer in zip(requests, answers):
        if answer.code == 0:
            sql.run(statement)
        else:
            number = sql.error(statement)
            assert answer.number == {1062: 121, 1452: 151}.get(number, number), (statement, answer)
    assert left == sql.rows("SELECT id, x, u, p, note FROM t ORDER BY id")
    return answers


@pytest.mark.bundled_wrong(6)
def test_updates_fail_alone(sql, table, hs_wr, db):
    index = hs_wr.opened(db, "t", "", "x,u,p,note").id
    values = {3: (200, 3, 1), 6: (13, 6, 1), 9: (2, 8, 1), 12: (2, 12, 7), 15: (None, 15, 1)}
    requests = []
    for row in range(1, 21):
        x, u, p = values.get(row, (2, 100 + row, 2))
        note = "n" * row * 400
        requests.append((find_words(index, "=", [row], 1, 0, mod=["U", x, u, p, note]),
                         f"UPDATE t SET x = {x or 'NULL'}, u = {u}, p = {p}, note = '{note}' WHERE id = {row}"))
    # Request 9 finds that 8 has moved its row away, but 109 is taken.
    requests.insert(9, (find_words(index, "=", [9], 1, 0, mod=["U", 2, 107, 1, ""]),
                        "UPDATE t SET x = 2, u = 107, p = 1, note = '' WHERE id = 9"))
    answers = play(hs_wr, sql, requests)
    assert [answer.code for answer in answers].count(1) == 5
    assert answers[0] == answers[-1] == counted(1)


@pytest.mark.bundled_wrong(6)
def test_inserts_fail_alone(sql, table, hs_wr, db):
    index = hs_wr.opened(db, "t", "", "id,x,u,p").id
    requests = []
    for row in range(15, 40):
        x, u, p = {22: (200, 22, 1), 25: (13, 25, 1), 28: (1, 27, 1), 31: (1, 31, 7)}.get(row, (1, row, 1))
        requests.append(([index, "+", 4, row, x, u, p],
                         f"INSERT INTO t (id, x, u, p) VALUES ({row}, {x}, {u}, {p})"))
    answers = play(hs_wr, sql, requests)
    assert [answer.code for answer in answers] == [
        int(row <= 20 or row in (22, 25, 28, 31)) for row in range(15, 40)]
    assert answers[-1] == OK


@pytest.mark.bundled_wrong(6)
def test_other_requests_between_requests_of_one_kind(sql, table, hs_wr, db):
    """Deletes, changes of several rows that fail at the last row, and finds."""
    index = hs_wr.opened(db, "t", "", "x,u").id
    add = hs_wr.opened(db, "t", "", "x").id
    requests = [
        (find_words(index, "=", [1], 1, 0, mod=["U", 120, 101]), "UPDATE t SET x = 120, u = 101 WHERE id = 1"),
        (find_words(index, "=", [2], 1, 0, mod=["D"]), "DELETE FROM t WHERE id = 2"),
        (find_words(index, "=", [3], 1, 0, mod=["D"]), "DELETE FROM t WHERE id = 3"),
        (find_words(add, "<=", [5], 9, 0, mod=["+", 10]), "UPDATE t SET x = x + 10 WHERE id <= 5"),
        (find_words(index, "=", [4], 1, 0, mod=["U", 7, 104]), "UPDATE t SET x = 7, u = 104 WHERE id = 4"),
        (find_words(index, "=", [5], 1, 0, mod=["U", 7, 104]), "UPDATE t SET x = 7, u = 104 WHERE id = 5"),
        (find_words(add, ">=", [18], 9, 0, mod=["+", 10]), "UPDATE t SET x = x + 10 WHERE id >= 18"),
        (find_words(index, "=", [6], 1, 0, mod=["U", 7, 106]), "UPDATE t SET x = 7, u = 106 WHERE id = 6"),
    ]
    answers = play(hs_wr, sql, requests)
    assert [answer.code for answer in answers] == [0, 0, 0, 1, 0, 1, 0, 0]


@pytest.mark.parametrize("key", ("u", "n", "f"))
def test_requests_that_leave_room_for_more_rows(sql, hs_wr, db, key):
    """Requests by unique keys for which a row may be searched once more: they find the right rows each
    time."""
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, u INT UNIQUE, n INT NOT NULL UNIQUE, f FLOAT NOT NULL UNIQUE,"
            " x TINYINT)")
    sql.run("INSERT INTO t SELECT seq, 100 - seq, 100 - seq, 100 - seq, 0 FROM seq_1_to_99")
    index = hs_wr.opened(db, "t", key, "x").id
    keys = (3, "abc", 4, 5, 300, 6)
    answers = hs_wr.pipeline([find_words(index, "=", [value], 2, 0, mod=["U", 7]) for value in keys])
    assert answers == [counted(0 if value in ("abc", 300) else 1) for value in keys]
    answers = hs_wr.pipeline([find_words(index, "=", [value], 2, 0, mod=["D"]) for value in (7, "abc", 8)])
    assert answers == [counted(1), counted(0), counted(1)]
    assert sql.rows("SELECT u FROM t WHERE x = 7 ORDER BY u") == [(b"3",), (b"4",), (b"5",), (b"6",)]
    assert sql.rows("SELECT u FROM t RIGHT JOIN seq_1_to_99 ON u = seq WHERE id IS NULL") == [(None,)] * 2
    assert sql.value("SELECT COUNT(*) FROM t WHERE u IN (7, 8)") == b"0"


def test_several_floats_of_one_text_change_together(sql, hs_wr, db):
    """`=` names several rows; if one row cannot be changed, none is, even behind another request like it."""
    sql.run("CREATE TABLE t (f FLOAT PRIMARY KEY, x TINYINT UNSIGNED NOT NULL, CHECK (x < 100))")
    sql.run("INSERT INTO t VALUES (0.1234567, 5), (0.1234569, 99), (0.5, 1)")
    index = hs_wr.opened(db, "t", "", "x").id
    text = sql.value("SELECT f FROM t WHERE x = 5")
    assert text == sql.value("SELECT f FROM t WHERE x = 99")
    answers = hs_wr.pipeline([find_words(index, "=", [value], 9, 0, mod=["+", 1]) for value in ("0.5", text, "0.5")])
    assert answers[0] == answers[2] == counted(1)
    assert answers[1].code == 1
    assert sql.rows("SELECT x FROM t ORDER BY x") == [(b"3",), (b"5",), (b"99",)]


def test_each_row_has_its_own_time(sql, hs_wr, db):
    """TIMESTAMP and DATETIME columns, set by DEFAULT, ON UPDATE or an expression, have the same time within a
    row."""
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT, t TIMESTAMP(6) DEFAULT NOW(6) ON UPDATE NOW(6),"
            " d DATETIME(6) DEFAULT NOW(6) ON UPDATE NOW(6), e DATETIME(6) DEFAULT (NOW(6) + INTERVAL 1 DAY))")
    whole, x = hs_wr.opened(db, "t", "", "id,x").id, hs_wr.opened(db, "t", "", "x").id
    assert set(hs_wr.pipeline([[whole, "+", 2, row, 0] for row in range(100)])) == {OK}
    assert sql.value("SELECT COUNT(DISTINCT d) > 1 AND SUM(d <> t OR e <> t + INTERVAL 1 DAY) = 0 FROM t") == b"1"
    assert set(hs_wr.pipeline([find_words(x, "=", [row], 1, 0, mod=["U", 1]) for row in range(100)])) == {counted(1)}
    assert sql.value("SELECT COUNT(DISTINCT d) > 1 AND SUM(d <> t OR e > t + INTERVAL 1 DAY) = 0 FROM t") == b"1"


@pytest.mark.mariadb("MySQL refuses NULL there")
def test_null_for_a_timestamp_is_the_time_of_each_row(sql, hs_wr, db):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, t TIMESTAMP(6) NOT NULL)")
    index = hs_wr.opened(db, "t", "", "id,t").id
    assert set(hs_wr.pipeline([[index, "+", 2, row, None] for row in range(100)])) == {OK}
    assert int(sql.value("SELECT COUNT(DISTINCT t) FROM t")) > 50


@pytest.mark.ours
def test_inserts_into_an_empty_table_where_checks_are_off(make_server):
    """InnoDB would collect the inserts, and take all of them back when one fails."""
    server = make_server()
    sql = server.sql()
    sql.run("CREATE DATABASE d")
    sql.run("CREATE TABLE d.t (id INT PRIMARY KEY, u INT UNIQUE, x TINYINT)")
    sql.run("SET GLOBAL unique_checks = 0, GLOBAL foreign_key_checks = 0")
    for worker in worker_ids(sql):  # the workers that replace the killed ones begin with these settings
        sql.run(f"KILL {worker}")
    client = server.hs_wr()
    index = client.opened("d", "t", "", "id,u,x").id
    rows = [(1, 1, 1), (2, 2, 1), (2, 3, 1), (3, 2, 1), (4, 4, 300), (5, 5, 1), (1, 9, 1)]
    answers = client.pipeline([[index, "+", 3, *row] for row in rows])
    assert [answer.code for answer in answers] == [0, 0, 1, 1, 1, 0, 1]
    assert sql.rows("SELECT id, u FROM d.t ORDER BY id") == [(b"1", b"1"), (b"2", b"2"), (b"5", b"5")]
    assert sql.row("CHECK TABLE d.t")[3] == b"OK"
