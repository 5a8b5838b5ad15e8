"""A request that fails leaves no change (row 19 of docs/WRONGS.md); a commit that fails answers every request
of its batch with an error and closes no connection (row 14)."""

import pytest

import hs
from load import Crew, errors_of, make_tables, make_writers, scaled, violations
from server import is_mysql, wait_until
from system_calls import Trace

CHECK_FAILS = "3819" if is_mysql() else "4025"


@pytest.fixture
def table(sql):
    sql.run("CREATE TABLE at (id INT PRIMARY KEY, u INT UNIQUE, g INT NOT NULL, c INT NOT NULL"
            " DEFAULT 0 CHECK (c < 100), p INT, t VARCHAR(10), KEY (g)) ENGINE=InnoDB")
    sql.run("CREATE TABLE kid (p INT, FOREIGN KEY (p) REFERENCES at (id)) ENGINE=InnoDB")
    for row in range(1, 9):
        sql.run("INSERT INTO at VALUES (%s, %s, 1, %s, NULL, NULL)", row, row * 10, row * 10)
    sql.run("INSERT INTO kid VALUES (5)")


def opened(server, db, columns, index="PRIMARY", number=0, client=None):
    client = client or server.hs_wr()
    assert client.open_index(number, db, "at", index, columns) == hs.reply(0, 1)
    return client


def everything(sql):
    return sql.rows("SELECT * FROM at ORDER BY id")


HALF_WAY = {  # columns, index, request, and the error of a row in the middle (the fifth or so)
    "duplicate of a row behind": ("u", "PRIMARY", (">=", [1], 8, 0, ["+", 30]), "121"),
    "one value for a unique column": ("u", "g", ("=", [1], 8, 0, ["U", 5]), "121"),
    "check constraint": ("c", "g", ("=", [1], 8, 0, ["+", 45]), CHECK_FAILS),
    "check constraint of the last row": ("c", "PRIMARY", (">", [0], 8, 0, ["+", 20]), CHECK_FAILS),
    "foreign key": ("id", "PRIMARY", (">=", [3], 8, 0, ["D"]), "152"),
    "foreign key, before-images": ("id", "PRIMARY", (">=", [3], 8, 0, ["D?"]), "152"),
    "out of range": ("c", "PRIMARY", ("<=", [8], 8, 0, ["U", 99999999999]), "1264"),
    "too long": ("t", "g", ("=", [1], 8, 0, ["U", "longer than ten"]), "1406"),
    "not a number": ("c", "g", ("=", [1], 8, 0, ["U", "x"]), "1366"),
    "NULL": ("c", "g", ("=", [1], 8, 0, ["U", None]), "1048"),
    "backwards": ("u", "PRIMARY", ("<=", [8], 8, 0, ["-", 50]), "121"),
}


@pytest.mark.parametrize("case", HALF_WAY)
def test_a_request_that_fails_half_way_leaves_nothing(server, db, table, sql, case):
    columns, index, (op, keys, limit, offset, mod), error = HALF_WAY[case]
    client = opened(server, db, columns, index)
    opened(server, db, "id,u,g", "PRIMARY", 1, client)
    before = everything(sql)
    bad = hs.find_words(0, op, keys, limit, offset, mod=mod)
    assert client.request(*bad) == hs.reply(1, 1, error)
    assert everything(sql) == before
    # The failing request stands in the middle of a batch: the others stand, even their changes of the same
    # rows.
    replies = client.pipeline([
        (1, "+", 3, 100, 1000, 2), bad, hs.find_words(1, "=", [100]), bad,
        (1, "+", 3, 101, 1001, 2), bad, hs.find_words(1, "=", [101], 1, 0, mod=["D"])])
    assert replies == [hs.reply(0, 1), hs.reply(1, 1, error), hs.reply(0, 3, 100, 1000, 2),
                       hs.reply(1, 1, error), hs.reply(0, 1), hs.reply(1, 1, error),
                       hs.reply(0, 1, 1)]
    assert everything(sql) == before + [(b"100", b"1000", b"2", b"0", None, None)]


def test_random_batches_are_as_one_statement_each(server, db, table, sql, rng):
    """Two connections send requests that fail and requests that do not, in random order."""
    clients = [opened(server, db, "u") for _ in range(2)]
    total = {}
    for _ in range(scaled(30)):
        for client in clients:
            requests = []
            for _ in range(12):
                mod = rng.choice((["+", 10], ["-", 10], ["U", 10 * rng.randint(1, 9)]))
                requests.append(hs.find_words(0, rng.choice((">=", "<=")), [rng.randint(1, 8)],
                                              rng.randint(1, 4), 0, mod=mod))
            for reply in client.pipeline(requests):
                assert reply.code == 0 or reply == hs.reply(1, 1, 121), reply
                total[reply.code] = total.get(reply.code, 0) + 1
        values = [row[0] for row in sql.rows("SELECT u FROM at")]
        assert len(set(values)) == len(values) == 8
    assert total[0] > 10 and total[1] > 10


@pytest.fixture
def small_cache(make_server):
    """(sql, client) of a server whose binary log takes 4 KiB of a transaction; id 0 is (id, v) of big.t."""
    server = make_server(options=["--log-bin=small", "--server-id=1", "--binlog-cache-size=4096",
                                  "--max-binlog-cache-size=4096"])
    sql = server.sql()
    sql.run("CREATE DATABASE big")
    sql.run("CREATE TABLE big.t (id INT PRIMARY KEY, v LONGBLOB)")
    client = server.hs_wr()
    assert client.open_index(0, "big", "t", "", "id,v") == hs.reply(0, 1)
    return sql, client


def test_a_transaction_that_outgrows_the_binlog_cache(small_cache):
    """A request that does not fit is refused; the requests before and after it in the batch stand."""
    sql, client = small_cache
    assert client.insert(0, [1, b"x" * 20000]) == hs.reply(1, 1, 1197)
    replies = client.pipeline([(0, "+", 2, row, b"x" * (20000 if row == 5 else 100))
                               for row in range(2, 10)])
    there = {int(row) for row, in sql.rows("SELECT id FROM big.t")}
    assert there == {row for row, reply in zip(range(2, 10), replies) if reply.code == 0}
    assert 5 not in there
    assert all(reply == hs.reply(1, 1, 1197) for reply in replies if reply.code), replies
    # Each of these small requests fits alone.
    for row in range(20, 30):
        assert client.insert(0, [row, b"y" * 100]) == hs.reply(0, 1)
    assert sql.value("SELECT COUNT(*) FROM big.t WHERE id >= 20") == b"10"


def test_many_small_writes_in_one_batch_that_outgrow_the_cache_together(small_cache):
    """No request is at fault: all must succeed, or at least each must get a true answer."""
    sql, client = small_cache
    replies = client.pipeline([(0, "+", 2, row, b"x" * 300) for row in range(60)])
    there = {int(row) for row, in sql.rows("SELECT id FROM big.t")}
    assert there == {row for row, reply in enumerate(replies) if reply.code == 0}
    assert all(reply.code in (0, 1) for reply in replies)
    assert there == set(range(60))


def test_a_batch_whose_last_rows_outgrow_the_cache(small_cache):
    """The log gets the rows when the batch is committed: even then the batch runs again, request by
    request."""
    sql, client = small_cache
    inserted = 0
    for rows in range(4, 60):
        replies = client.pipeline([(0, "+", 2, inserted + row, b"x" * 300) for row in range(rows)])
        assert replies == [hs.reply(0, 1)] * rows, rows
        inserted += rows
    assert sql.value("SELECT COUNT(*) FROM big.t") == b"%d" % inserted


def test_a_binlog_that_cannot_be_rotated(make_server):
    """The commit has been decided before the rotation fails: no client is told that its request did
    nothing."""
    server = make_server(options=["--log-bin=rot", "--server-id=1", "--max-binlog-size=4096"])
    sql = server.sql()
    sql.run("CREATE DATABASE rot")
    sql.run("CREATE TABLE rot.t (id INT PRIMARY KEY, n INT) ENGINE=InnoDB")
    sql.run("INSERT INTO rot.t VALUES (1, 0)")
    # MySQL would take another name than one that is taken; its index of logs has one name at a time.
    taken = server.directory / "data" / ("rot.index_crash_safe" if is_mysql() else "rot.000002")
    taken.mkdir()
    client = server.hs_wr()
    assert client.open_index(0, "rot", "t", "", "n") == hs.reply(0, 1)
    done, outcome = 0, None
    while outcome is None and done < 200:
        try:
            reply = client.modify(0, "=", [1], ["+", 1])
        except hs.Closed:
            outcome = "unknown"
        else:
            done, outcome = done + (reply.code == 0), None if reply.code == 0 else "refused"
    assert outcome is not None, "the log was to be rotated"
    if is_mysql():  # By its default the server stops there, as SQL's commit makes it stop.
        wait_until(lambda: not server.alive(), 60, "the end of the server")
        server.kill()
        taken.rmdir()
        server.start()
    value = int(server.sql().value("SELECT n FROM rot.t"))
    assert value == done or (outcome == "unknown" and value == done + 1), (value, done, outcome)


@pytest.mark.mariadb("MySQL's server stops, which test_disk plays")
def test_the_binlog_cannot_be_written(make_server, tmp_path):
    """Every write to the binlog's file fails: each request of each batch gets an error."""
    server = make_server(options=["--log-bin=broken", "--server-id=1", "--sync-binlog=1"])
    sql = server.sql()
    make_tables(sql, "bw")
    clients = [server.hs_wr() for _ in range(5)]
    for client in clients:
        assert client.open_index(0, "bw", "led", "", "w,seq,payload") == hs.reply(0, 1)
    assert clients[0].insert(0, [0, 0, "before"]) == hs.reply(0, 1)
    path = server.directory / "data" / "broken.000001"
    broken = ["-P", str(path), "-e", "inject=write,pwrite64:error=EIO"]
    with Trace(server, tmp_path / "trace", broken, "write,pwrite64"):
        for number, client in enumerate(clients):
            client.send_raw(b"".join(hs.line(0, "+", 3, number, seq, "x") for seq in range(1, 9)))
        for client in clients:
            for _ in range(8):
                reply = client.recv(20)
                assert reply.code == 1 and reply.error.isdigit(), reply
        assert clients[0].find(0, "=", [0, 0]) == hs.reply(0, 3, 0, 0, "before")
    assert sql.rows("SELECT w, seq FROM bw.led") == [(b"0", b"0")]


def test_read_only_comes_and_goes_under_load(server, db):
    """The rows of requests answered with success are there, those of refused requests are not."""
    sql = server.sql()
    make_tables(sql, db)
    writers = make_writers(server, sql, db, 4)
    with Crew() as crew:
        for writer in writers:
            crew.start(writer.run, crew.stopping)
        for _ in range(scaled(20)):
            sql.run("SET GLOBAL read_only = 1")
            refused = sum(errors_of(writers).values())
            wait_until(lambda: crew.check() and sum(errors_of(writers).values()) > refused, 10,
                       "a refusal")
            sql.run("SET GLOBAL read_only = 0")
            goal = sum(writer.acknowledged for writer in writers) + 10
            wait_until(lambda: crew.check() and sum(
                writer.acknowledged for writer in writers) >= goal, 10, "acknowledgements")
    assert violations(sql, writers) == []
    assert set(errors_of(writers)) <= {"1 lock_tables", "1 1290"}
    assert not any(writer.breaks for writer in writers)
