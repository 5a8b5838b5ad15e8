"""VECTOR columns and the indexes over them, which the server keeps in a table beside the table: SQL's search
by distance finds the rows that the socket has written."""

import random
import struct
import threading

import pytest

import hs
from load import Crew, scaled
from server import wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.mariadb("indexes over VECTOR columns"),
              pytest.mark.since("mariadb-11.7", "there is no VECTOR before 11.7")]

TABLE = ("CREATE TABLE v (id INT PRIMARY KEY, e VECTOR(3) NOT NULL, n INT NOT NULL DEFAULT 0,"
         " CHECK (n < 100), VECTOR INDEX (e)) ENGINE=InnoDB")
CK_FAILED = 4025
WRONG_VALUE = 1292


def vector(*numbers):
    return struct.pack("<3f", *numbers)


def random_vector(rng):
    return vector(*(rng.uniform(-1, 1) for _ in range(3)))


def distance(one, other):
    return sum((a - b) ** 2 for a, b in zip(struct.unpack("<3f", one), struct.unpack("<3f", other)))


def nearest(sql, point, count):
    """The ids of the rows that the index gives, nearest first."""
    return [int(row[0]) for row in sql.rows(
        f"SELECT id FROM v FORCE INDEX (e) ORDER BY VEC_DISTANCE_EUCLIDEAN(e, %s) LIMIT {count}", point)]


def assert_index_is_right(sql, rng, rows, missed_max=None):
    """`rows`: the vector of each id. The index finds these rows and no others, in a small table in their
    order. In a table of more than 20 rows, counting deleted and changed rows, the search is an
    approximation: it misses some rows, even of rows that SQL has inserted."""
    assert dict(sql.rows("SELECT id, e FROM v")) == {str(key).encode(): e for key, e in rows.items()}
    sql.run("SET mhnsw_ef_search = 10000")
    plan = sql.rows("EXPLAIN SELECT id FROM v FORCE INDEX (e) ORDER BY VEC_DISTANCE_EUCLIDEAN(e, %s)"
                    " LIMIT 3", vector(0, 0, 0))
    assert b"e" in plan[0], plan
    for point in [random_vector(rng) for _ in range(5)] + list(rows.values())[:5]:
        found = nearest(sql, point, 100_000)
        assert set(found) <= set(rows) and len(found) == len(set(found))
        assert len(found) >= len(rows) - (len(rows) // 20 if missed_max is None else missed_max)
        if len(rows) > 20 or missed_max is not None:
            continue
        away = [distance(rows[key], point) for key in found]
        assert all(near <= far + 1e-5 for near, far in zip(away, away[1:]))
    assert sql.rows("CHECK TABLE v")[-1][-1] == b"OK"


@pytest.fixture
def table(sql):
    sql.run(TABLE)


def test_rows_written_through_the_socket_are_found_by_distance(sql, wr, rng, table):
    index, rows = wr("v", "", "id,e"), {}
    for key in range(scaled(150)):
        rows[key] = random_vector(rng)
        assert index.insert(key, rows[key]).code == 0
    assert_index_is_right(sql, rng, rows)
    vectors = wr("v", "", "e")
    for key in rng.sample(sorted(rows), 40):
        rows[key] = random_vector(rng)
        assert vectors.update("=", [key], [rows[key]]) == hs.counted(1)
    for key in rng.sample(sorted(rows), 40):
        del rows[key]
        assert index.delete("=", [key]) == hs.counted(1)
    assert_index_is_right(sql, rng, rows)
    assert rows[min(rows)] == index.rows("=", [min(rows)])[0][1]


def test_a_value_that_is_no_vector_is_refused_as_in_sql(sql, wr, table):
    index = wr("v", "", "id,e")
    for wrong in (b"", b"abc", vector(1, 2, 3) + b"\x00", struct.pack("<3f", 1, float("nan"), 2)):
        assert sql.error("INSERT INTO v (id, e) VALUES (1, %s)", wrong) == WRONG_VALUE
        assert index.insert(1, wrong) == hs.refused(1, WRONG_VALUE)
    assert sql.value("SELECT COUNT(*) FROM v") == b"0"


def test_an_index_of_vectors_cannot_be_opened(sql, hs_rd, db, table):
    assert hs_rd.open_index(0, db, "v", "e", "id") == hs.reply(2, 1, "idxnum")


def test_a_statement_that_fails_leaves_the_index_as_it_was(sql, hs_wr, db, rng, table):
    """In one turn: a statement that has changed a vector before it is taken back, between statements that
    stand."""
    sql.run("INSERT INTO v VALUES (1, %s, 0), (2, %s, 99)", vector(1, 0, 0), vector(0, 1, 0))
    assert hs_wr.open_index(0, db, "v", "", "id,e").code == 0
    assert hs_wr.open_index(1, db, "v", "", "e,n").code == 0
    rows = {1: vector(1, 0, 0), 2: vector(0, 1, 0)}
    for number in range(8):
        key, new = 10 + 2 * number, random_vector(rng)
        rows[key] = random_vector(rng)
        # Beside the vector that is taken back, which its cached node would be the nearest to.
        rows[key + 1] = vector(*(part + 0.001 for part in struct.unpack("<3f", new)))
        sql.run("UPDATE v SET n = 0 WHERE id = 1")
        replies = hs_wr.pipeline([
            [0, "+", 2, key, rows[key]],
            # Row 1 takes the new vector; row 2 fails the CHECK.
            hs.find_words(1, ">=", [1], 2, 0, mod=["U", new, 100]),
            hs.find_words(1, "=", [2], 1, 0, mod=["U", new, 100]),
            [0, "+", 2, key + 1, rows[key + 1]],
        ])
        assert_index_is_right(sql, rng, rows)
        assert [reply.code for reply in replies] == [0, 1, 1, 0]
        assert replies[1] == hs.refused(1, CK_FAILED)
    assert_index_is_right(sql, rng, rows)


def test_a_duplicate_key_leaves_the_index_as_it_was(sql, wr, rng, table):
    index = wr("v", "", "id,e")
    rows = {1: vector(1, 0, 0)}
    assert index.insert(1, rows[1]).code == 0
    for _ in range(10):
        assert index.insert(1, random_vector(rng)) == hs.refused(1, 121)
    assert_index_is_right(sql, rng, rows)


def test_a_turn_that_a_deadlock_has_rolled_back_runs_again(server, sql, hs_wr, db, rng, table):
    rows = {key: random_vector(rng) for key in range(1, 9)}
    for key, e in rows.items():
        sql.run("INSERT INTO v (id, e) VALUES (%s, %s)", key, e)
    assert hs_wr.open_index(0, db, "v", "", "e").code == 0
    waits = server.sql()
    for number in range(scaled(6)):
        other = server.sql(db)
        other.run("SET innodb_lock_wait_timeout = 20")
        other.run("BEGIN")
        # This transaction is heavier, so that the deadlock's victim is the turn.
        for key in (5, 6, 7, 8):
            other.run("UPDATE v SET n = n + 1 WHERE id = %s", key)
        other.run("UPDATE v SET n = n + 1 WHERE id = 2")
        new = [random_vector(rng), random_vector(rng)]
        for key, e in zip((1, 2), new):
            hs_wr.send_raw(hs.line(*hs.find_words(0, "=", [key], 1, 0, mod=["U", e])))
        wait_until(lambda: waits.status("Innodb_row_lock_current_waits") != 0, 20,
                   "a request that waits for the row")
        thread = threading.Thread(target=lambda: take(other, number))
        thread.start()
        assert hs_wr.recv() == hs.reply(0, 1, 1)
        thread.join(60)
        assert hs_wr.recv() == hs.reply(0, 1, 1)
        rows[1], rows[2] = new
    assert_index_is_right(sql, rng, rows)


def take(session, number):
    """The other half of the deadlock: this session may be the victim as well."""
    try:
        session.run("UPDATE v SET n = n + 1 WHERE id = 1")
        session.run("COMMIT" if number % 2 else "ROLLBACK")
    except Exception:  # noqa: BLE001
        session.run("ROLLBACK")


def test_a_storm_of_writers_leaves_the_index_right(server, sql, db, rng, table):
    """Few rows, many clients: locks of the index, deadlocks in it, and requests that run again."""
    keys = range(1, 7)
    for key in keys:
        sql.run("INSERT INTO v (id, e) VALUES (%s, %s)", key, random_vector(rng))
    seeds = [rng.randrange(1 << 30) for _ in range(6)]
    failures = []

    def work(seed):
        mine = random.Random(seed)
        with server.hs_wr() as client:
            assert client.open_index(0, db, "v", "", "e").code == 0
            assert client.open_index(1, db, "v", "", "n").code == 0
            for _ in range(scaled(30)):
                key = mine.choice(list(keys))
                replies = client.pipeline([
                    hs.find_words(0, "=", [key], 1, 0, mod=["U", random_vector(mine)]),
                    hs.find_words(1, "=", [1], 1, 0, mod=["+", 0])])
                failures.extend(reply for reply in replies if reply.code != 0)

    with Crew() as crew:
        for seed in seeds:
            crew.start(work, seed)
    assert failures == []
    assert_index_is_right(sql, rng, {int(key): e for key, e in sql.rows("SELECT id, e FROM v")},
                          missed_max=2)


def test_requests_for_a_hot_row_are_not_merged(server, sql, db, rng):
    """The index follows each change of the row, so no change is merged with another."""
    sql.run(TABLE.replace(" CHECK (n < 100),", ""))
    e = random_vector(rng)
    sql.run("INSERT INTO v (id, e) VALUES (1, %s)", e)
    before = sql.status("Handlersocket_merged_requests")
    unmerged = sql.status("Handlersocket_unmerged_table")
    clients = [server.hs_wr() for _ in range(4)]
    for client in clients:
        assert client.open_index(0, db, "v", "", "n").code == 0
        client.send_raw(hs.line(*hs.find_words(0, "=", [1], 1, 0, mod=["+", 1])) * 20)
    for client in clients:
        for _ in range(20):
            assert client.recv() == hs.reply(0, 1, 1)
    assert sql.value("SELECT n FROM v") == b"80"
    assert sql.status("Handlersocket_merged_requests") == before
    assert sql.status("Handlersocket_unmerged_table") > unmerged
    assert_index_is_right(sql, rng, {1: e})
