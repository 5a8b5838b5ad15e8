"""The protocol beyond single requests: order, pipelines, pieces of lines, ids, changes of tables."""

import pytest

import hs
from hs import OK, counted, line, refused, reply
from server import is_mysql


@pytest.fixture
def user(sql):
    sql.run("CREATE TABLE user (user_id INT UNSIGNED PRIMARY KEY, user_name VARCHAR(50),"
            " user_email VARCHAR(255), created DATETIME) ENGINE=InnoDB")
    sql.run("INSERT INTO user VALUES (101, 'Yukari Takeba', 'yukari.takeba@example.com', '2010-02-03 11:22:33')")
    sql.run("INSERT INTO user SELECT seq, CONCAT('name', seq), NULL, NULL FROM seq_1_to_100")


def test_session_everyone_starts_with(user, db, hs_rd):
    hs_rd.send_raw(f"P\t0\t{db}\tuser\tPRIMARY\tuser_name,user_email,created\n".encode())
    assert hs_rd.recv_line() == b"0\t1"
    hs_rd.send_raw(b"0\t=\t1\t101\n")
    assert hs_rd.recv_line() == b"0\t3\tYukari Takeba\tyukari.takeba@example.com\t2010-02-03 11:22:33"


# Pipelines.

def test_ten_thousand_requests_in_one_send_are_answered_in_order(user, rd):
    index = rd("user", "", "user_id")
    data = b"".join(line(index.id, "=", 1, number % 100 + 1) for number in range(10_000))
    answers = index.client.pipeline_deep(data, 10_000)
    assert answers == [b"0\t1\t%d" % (number % 100 + 1) for number in range(10_000)]


def test_ten_thousand_writes_in_one_send(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT)")
    index = wr("t", "", "id,x")
    data = b"".join(line(index.id, "+", 2, number // 2, number) for number in range(10_000))
    answers = index.client.pipeline_deep(data, 10_000)
    assert answers == [b"0\t1", b"1\t1\t121"] * 5_000
    assert sql.row("SELECT COUNT(*), SUM(x = id * 2) FROM t") == (b"5000", b"5000")


def test_errors_and_answers_of_a_pipeline_stay_in_order(user, db, hs_wr):
    requests, expected = [], []
    for number in range(300):
        kind = number % 6
        requests.append([
            ["P", 1, db, "user", "", "user_id"], ["P", 2, db, "none", "", ""], [1, "=", 1, 101], [7, "=", 1, 1], ["x"],
            [1, "?", 1, 1]][kind])
        expected.append([OK, refused(1, "open_table"), reply(0, 1, 101), refused(2, "stmtnum"), refused(2, "cmd"),
                         refused(2, "op")][kind])
    assert hs_wr.pipeline(requests) == expected


def test_reads_and_writes_of_a_pipeline_take_effect_in_order(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT)")
    index = wr("t", "", "id,x")
    requests, expected = [], []
    for number in range(500):
        requests += [[index.id, "+", 2, number, 0], [index.id, "=", 1, number],
                     [index.id, "=", 1, number, 1, 0, "+", 0, number], [index.id, "=", 1, number],
                     [index.id, "=", 1, number, 1, 0, "D"], [index.id, "=", 1, number]]
        expected += [OK, reply(0, 2, number, 0), counted(1), reply(0, 2, number, number), counted(1), reply(0, 2)]
    data = b"".join(line(*tokens) for tokens in requests)
    assert [hs.parse(raw) for raw in index.client.pipeline_deep(data, len(requests))] == expected


def test_requests_that_arrive_byte_by_byte(user, db, hs_rd):
    data = f"P\t0\t{db}\tuser\t\tuser_name\r\n".encode() + b"0\t=\t1\t101\n0\t=\t1\t1\t1\t0\r\n"
    for position in range(len(data)):
        hs_rd.send_raw(data[position:position + 1])
    assert [hs_rd.recv() for _ in range(3)] == [OK, reply(0, 1, "Yukari Takeba"), reply(0, 1, "name1")]


def test_requests_cut_at_random_places(user, db, hs_rd, rng):
    requests = [line(0, "=", 1, number % 101 + 1) for number in range(500)]
    data = f"P\t0\t{db}\tuser\t\tuser_id\n".encode() + b"".join(requests)
    while data:
        length = rng.randrange(1, 200)
        hs_rd.send_raw(data[:length])
        data = data[length:]
    assert hs_rd.recv() == OK
    assert [hs_rd.recv() for _ in requests] == [reply(0, 1, number % 101 + 1) for number in range(500)]


def test_huge_reply(sql, rd):
    sql.run("CREATE TABLE big (id INT PRIMARY KEY, x LONGBLOB)")
    sql.run("INSERT INTO big VALUES (1, REPEAT('a', 10000000)), (2, REPEAT(x'01', 3000000)), (3, 'c')")
    index = rd("big", "", "x")
    index.client.timeout_s = 30
    assert index.find("=", [1]) == reply(0, 1, b"a" * 10_000_000)
    assert index.find(">=", [1], 9) == reply(0, 1, b"a" * 10_000_000, b"\x01" * 3_000_000, "c")


def test_huge_value_is_written(sql, wr):
    sql.run("CREATE TABLE big (id INT PRIMARY KEY, x LONGBLOB)")
    value = bytes(range(256)) * 20_000
    assert wr("big", "", "id,x").insert(1, value) == OK
    assert sql.value("SELECT x FROM big") == value


def test_deep_pipeline_of_large_replies_is_read_slowly(sql, rd):
    sql.run("CREATE TABLE big (id INT PRIMARY KEY, x LONGBLOB)")
    sql.run("INSERT INTO big VALUES (1, REPEAT('a', 100000))")
    index = rd("big", "", "x")
    index.client.send_raw(line(index.id, "=", 1, 1) * 200)
    index.client.send_raw(b"end\n")
    for _ in range(200):
        assert index.client.recv_bytes(100_005) == b"0\t1\t" + b"a" * 100_000 + b"\n"
    assert index.client.recv() == refused(2, "cmd")


# Connections.

@pytest.mark.parametrize("port", ["HS_PORT", "HS_PORT_WR"])
@pytest.mark.bundled_wrong(15, some=True)
def test_half_close_after_a_deep_pipeline_gets_every_answer(user, server, db, port):
    client = server.connect(("127.0.0.1", int(server.env[port])))
    client.send_raw(f"P\t0\t{db}\tuser\t\tuser_id\n".encode() + line(0, "=", 1, 7) * 3000)
    client.half_close()
    assert client.recv_all(10) == b"0\t1\n" + b"0\t1\t7\n" * 3000


@pytest.mark.bundled_wrong(15, some=True)
def test_unfinished_line_at_the_end_of_a_connection_is_not_executed(sql, server, db):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY)")
    client = server.hs_wr()
    client.send_raw(f"P\t0\t{db}\tt\t\tid\n0\t+\t1\t1\n0\t+\t1\t2".encode())
    client.half_close()
    assert client.recv_all(10) == b"0\t1\n0\t1\n"
    assert sql.rows("SELECT * FROM t") == [(b"1",)]


def test_connection_reset_in_the_middle_of_a_pipeline_harms_nobody(user, server, db, rd):
    for _ in range(20):
        client = server.hs_wr()
        client.send_raw(f"P\t0\t{db}\tuser\t\tuser_id\n".encode() + line(0, ">=", 1, 1, 100) * 200)
        client.sock.setsockopt(hs.socket.SOL_SOCKET, hs.socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        client.close()
    assert rd("user", "", "user_id").rows("=", [5]) == [(b"5",)]


def test_hundreds_of_connections_each_with_its_own_ids(user, server, db):
    clients = [server.hs_rd() for _ in range(300)]
    for number, client in enumerate(clients):
        client.send("P", number % 7, db, "user", "", "user_id" if number % 2 else "user_name")
    assert [client.recv() for client in clients] == [OK] * 300
    for number, client in enumerate(clients):
        client.send(number % 7, "=", 1, number % 100 + 1)
    for number, client in enumerate(clients):
        assert client.recv() == reply(0, 1, f"{'' if number % 2 else 'name'}{number % 100 + 1}")
    assert clients[0].find(3, "=", [1]) == refused(2, "stmtnum")


# Ids.

def test_ids_may_have_gaps_and_are_replaced(user, db, hs_rd):
    assert hs_rd.open_index(500, db, "user", "", "user_id") == OK
    assert hs_rd.open_index(3, db, "user", "", "user_name") == OK
    assert hs_rd.find(4, "=", [1]) == refused(2, "stmtnum")
    assert hs_rd.find(500, "=", [1]) == reply(0, 1, 1)
    assert hs_rd.open_index(3, db, "user", "", "user_id,user_name") == OK
    assert hs_rd.find(3, "=", [1]) == reply(0, 2, 1, "name1")


def test_failed_open_leaves_the_id_as_it_was(user, db, hs_rd):
    assert hs_rd.open_index(0, db, "user", "", "user_id") == OK
    for args, answer in ((("no", "user", "", ""), refused(1, "open_table")), ((db, "no", "", ""), refused(1, "open_table")),
                         ((db, "user", "no", ""), refused(2, "idxnum")), ((db, "user", "9", ""), refused(2, "idxnum")),
                         ((db, "user", "", "no"), refused(2, "fld")), ((db, "user", "", "user_id", "no"), refused(2, "fld")),
                         ((db, "user", "", "user_id,"), refused(2, "fld")), ((db, "USER", "", ""), refused(1, "open_table")),
                         ((db, "user", "primary", ""), refused(2, "idxnum"))):
        assert hs_rd.open_index(0, *args) == answer, args
        assert hs_rd.find(0, "=", [1]) == reply(0, 1, 1)
        assert hs_rd.open_index(9, *args) == answer
        assert hs_rd.find(9, "=", [1]) == refused(2, "stmtnum")


def test_index_by_number_name_and_default(sql, rd):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT, y INT, UNIQUE KEY ux (x), KEY ky (y))")
    sql.run("INSERT INTO t VALUES (1, 20, 300)")
    for index, key in (("", 1), ("PRIMARY", 1), ("0", 1), ("1", 20), ("ux", 20), ("2", 300), ("ky", 300)):
        assert rd("t", index, "id").rows("=", [key]) == [(b"1",)], index


def test_table_without_a_primary_key(sql, hs_rd, hs_wr, db):
    sql.run("CREATE TABLE t (x INT, KEY kx (x))")
    for name in ("", "PRIMARY"):
        assert hs_rd.open_index(0, db, "t", name, "x") == refused(2, "idxnum")
    index = hs_wr.opened(db, "t", "kx", "x")
    assert index.insert(4) == OK and index.insert(4) == OK and index.insert(5) == OK
    assert index.rows("=", [4], 9) == [(b"4",), (b"4",)]
    assert index.modify("=", [4], ["D"], 1) == counted(1)
    assert sql.rows("SELECT x FROM t ORDER BY x") == [(b"4",), (b"5",)]


def test_columns_may_be_repeated_or_absent(user, rd, wr):
    assert rd("user", "", "user_id,user_name,user_id").rows("=", [1]) == [(b"1", b"name1", b"1")]
    index = wr("user", "", "")
    assert index.find("=", [1]) == reply(0, 0)
    assert index.delete("=", [1]) == counted(1)


# Changes of tables.

@pytest.fixture
def watched(user, rd, wr):
    return rd("user", "", "user_name"), wr("user", "", "user_name")


@pytest.mark.bundled_wrong(12)
@pytest.mark.parametrize("change,answer", [
    ("ALTER TABLE user ADD KEY k (user_name)", reply(0, 1, "name1")),
    ("ALTER TABLE user ADD COLUMN a INT FIRST", reply(0, 1, "name1")),
    ("ALTER TABLE user MODIFY user_name CHAR(60) CHARACTER SET latin1", reply(0, 1, "name1")),
    ("ALTER TABLE user DROP COLUMN user_email", reply(0, 1, "name1")),
    ("ALTER TABLE user CHANGE user_name who VARCHAR(50)", refused(2, "fld")),
    ("ALTER TABLE user DROP COLUMN user_name", refused(2, "fld")),
    ("ALTER TABLE user DROP PRIMARY KEY", refused(2, "idxnum")),
    ("RENAME TABLE user TO other", refused(1, "open_table")), ("DROP TABLE user", refused(1, "open_table")),
    ("TRUNCATE TABLE user", reply(0, 1)), ("ALTER TABLE user ENGINE=MyISAM", refused(1, "unserved") if is_mysql() else reply(0, 1, "name1"))])
def test_ids_after_a_change_of_their_table(watched, sql, change, answer):
    for index in watched:
        assert index.find("=", [1]) == reply(0, 1, "name1")
    sql.run("SET lock_wait_timeout = 4")
    sql.run(change)
    for index in watched:
        assert index.find("=", [1]) == answer


@pytest.mark.bundled_wrong(12)
def test_id_works_again_when_its_table_is_back(watched, sql):
    sql.run("SET lock_wait_timeout = 4")
    sql.run("CREATE TABLE copy LIKE user")
    sql.run("INSERT INTO copy SELECT user_id, CONCAT('new', user_id), NULL, NULL FROM user")
    sql.run("DROP TABLE user")
    for index in watched:
        assert index.find("=", [1]) == refused(1, "open_table")
    sql.run("RENAME TABLE copy TO user")
    for index in watched:
        assert index.find("=", [1]) == reply(0, 1, "new1")


@pytest.mark.bundled_wrong(12)
def test_index_number_means_what_it_meant_at_open(sql, rd):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x INT, y INT, KEY kx (x), KEY ky (y))")
    sql.run("INSERT INTO t VALUES (1, 20, 300)")
    index = rd("t", "2", "id")
    assert index.rows("=", [300]) == [(b"1",)]
    sql.run("SET lock_wait_timeout = 4")
    sql.run("ALTER TABLE t ADD KEY kz (x, y)")
    assert index.rows("=", [300]) == [(b"1",)]


@pytest.mark.bundled_wrong(12)
def test_table_made_after_a_failed_open(sql, hs_rd, db):
    assert hs_rd.open_index(0, db, "later", "", "id") == refused(1, "open_table")
    sql.run("SET lock_wait_timeout = 4")
    sql.run("CREATE TABLE later (id INT PRIMARY KEY)")
    sql.run("INSERT INTO later VALUES (1)")
    assert hs_rd.open_index(0, db, "later", "", "id") == OK
    assert hs_rd.find(0, "=", [1]) == reply(0, 1, 1)


def test_temporary_tables_of_others_are_not_seen(sql, hs_rd, db):
    sql.run("CREATE TEMPORARY TABLE tt (id INT PRIMARY KEY)")
    assert hs_rd.open_index(0, db, "tt", "", "id") == refused(1, "open_table")


def test_the_next_request_sees_a_commit_of_sql(user, sql, rd):
    index = rd("user", "", "user_name")
    for number in range(50):
        sql.run("UPDATE user SET user_name = %s WHERE user_id = 1", f"v{number}")
        assert index.rows("=", [1]) == [(f"v{number}".encode(),)]
    sql.run("BEGIN")
    sql.run("UPDATE user SET user_name = 'uncommitted' WHERE user_id = 1")
    assert index.rows("=", [1]) == [(b"v49",)]
    sql.run("ROLLBACK")


def test_each_port_sees_the_writes_of_the_other(user, rd, wr):
    reader, writer = rd("user", "", "user_name"), wr("user", "", "user_name")
    for number in range(100):
        assert writer.update("=", [2], [f"v{number}"]) == counted(1)
        assert reader.rows("=", [2]) == [(f"v{number}".encode(),)]


def test_open_with_nothing_after_the_table_name(user, db, hs_rd):
    assert hs_rd.request_raw(f"P\t1\t{db}\tuser".encode()) == OK
    assert hs_rd.find(1, "=", [1]) == reply(0, 0)
