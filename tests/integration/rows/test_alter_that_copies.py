"""An ALTER copies a table while requests change it: what was taken back is not in the altered table. The server's list of
changes for the copy keeps what it has written out already of a statement that is taken back: rows that fill an event, and
rows before the first of another kind."""

import threading

import pytest

from groups import APPLIED, add, required, stopped
from hs import counted, find_words, line, refused
from load import scaled
from server import wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.mariadb("MySQL's ALTER keeps writers out while it copies"),
              pytest.mark.since("mariadb-11.2", "before 11.2 an ALTER keeps writers out while it copies")]

ROWS = 6_000
BATCHES = 300


@pytest.fixture
def client(sql, db, server):
    """A table of ROWS rows; `u` of each row is its number, so that 77 is taken, and `n` is 0."""
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, u INT NOT NULL, n INT NOT NULL, filler VARCHAR(3000), UNIQUE KEY u (u))"
            " ENGINE=InnoDB")
    sql.run(f"INSERT INTO t SELECT seq, seq, 0, REPEAT('x', 3000) FROM seq_1_to_{ROWS}")
    client = server.hs_wr()
    client.n, client.u, client.row = (client.opened(db, "t", "", columns) for columns in ("n", "u", "id,u,n"))
    return client


class Alters(threading.Thread):
    """Copies the table again and again."""

    def __init__(self, sql):
        super().__init__()
        self.sql, self.copies, self.stopped = sql, 0, False

    def run(self):
        while not self.stopped:
            self.sql.run("ALTER TABLE t FORCE, ALGORITHM=COPY, LOCK=NONE")
            self.copies += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stopped = True
        self.join()


def batch(client, number):
    """Requests of one batch, and the one row that they change."""
    first = 1 + number % (ROWS // 12) * 12
    taken_back = find_words(client.u.id, ">=", [first], 4, 0, mod=["U", 2 * ROWS + number])
    stays = find_words(client.n.id, "=", [first + 4], 1, 0, mod=["+", 1])
    none = required(client.n, "=", 1, 0, 1, 0, "+", 1)
    group = [["G", 3], *(required(client.n, "=", 1, first + row, 1, 0, "+", 1) for row in (5, 6)), none]
    kinds = [["G", 4], required(client.row, *add(3 * ROWS + number, 3 * ROWS + number, 1)),
             required(client.n, "=", 1, first + 8, 1, 0, "+", 1), required(client.u, "=", 1, first + 9, 1, 0, "D"), none]
    return [taken_back, stays, *group, *kinds], first + 4


def play(client, number, together):
    lines, changed = batch(client, number)
    answers = client.pipeline(lines) if together else \
        [answer for part in (lines[:1], lines[1:2], lines[2:6], lines[6:]) for answer in client.pipeline(part)]
    assert answers[:3] == [refused(1, 121), counted(1), stopped(3)]
    assert answers[6] == stopped(4)
    return changed


@pytest.mark.parametrize("together", [True, False], ids=["one-batch", "one-by-one"])
def test_what_is_taken_back_is_not_in_the_copy(client, server, db, sql, together):
    changed, number = set(), 0
    with Alters(server.sql(db)) as alters:
        while number < scaled(BATCHES) or alters.copies < 3:
            changed.add(play(client, number, together))
            number += 1
        copies = alters.copies
        wait_until(lambda: alters.copies > copies, timeout_s=60, what="a copy that ends behind the last batch")
    wrong = [row for row in sql.rows("SELECT id, u, n FROM t WHERE u <> id OR n <> 0") if int(row[0]) not in changed]
    assert not wrong
    assert len(sql.rows("SELECT id FROM t WHERE n > 0")) == len(changed)


def copies_slowly(sql):
    """Each row that is copied takes more than a millisecond."""
    sql.run("ALTER TABLE t ADD CONSTRAINT slow CHECK (SHA2(REPEAT(filler, 200), 512) <> ''), ALGORITHM=COPY, LOCK=NONE")


def test_a_group_that_has_waited_for_a_row_is_done_while_the_table_is_copied(client, server, db, sql):
    """The lane takes the group's lock first by a change of four rows that it takes back."""
    alter = threading.Thread(target=copies_slowly, args=[server.sql(db)])
    alter.start()
    copying = "SELECT COUNT(*) FROM information_schema.processlist WHERE STATE LIKE 'copy to tmp table%'"
    wait_until(lambda: int(sql.value(copying)) == 1, 20, "the copy")
    locker = server.sql(db)
    locker.run("BEGIN")
    locker.run("SELECT * FROM t WHERE id = 5 FOR UPDATE")
    before = sql.status("Handlersocket_lock_waits")
    lines = [["G", 1], required(client.n, ">=", 1, 3, 4, 0, "+", 1)]
    client.send_raw(b"".join(line(*tokens) for tokens in lines))
    wait_until(lambda: sql.status("Handlersocket_lock_waits") > before, 20, "the wait")
    locker.run("ROLLBACK")
    assert [client.recv() for _ in lines] == [APPLIED, counted(4)]
    assert alter.is_alive(), "the copy was over before the group"
    alter.join()
    assert b"slow" in sql.row("SHOW CREATE TABLE t")[1]
    assert sql.rows("SELECT id, u, n FROM t WHERE n <> 0 OR u <> id ORDER BY id") == [
        (b"%d" % row, b"%d" % row, b"1") for row in range(3, 7)]
