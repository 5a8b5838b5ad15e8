"""In MySQL: a group of three members that all write. What was acknowledged is on every member that lives, and
nothing else."""

import collections
import contextlib
import os
import signal
import threading
import time

import pytest

import hs
import mc
from server import wait_until

pytestmark = [pytest.mark.mysql("group replication is MySQL's"), pytest.mark.slow]

again = pytest.mark.again_in("mysql-9.7")

KIND = "group"
MEMBERS = 3
CLIENTS = 12
PLAY_S = 4.0
STOCK = 1_000_000
ROWS = 40
# The error of a write that other members' changes came before for five seconds, and of a deadlock.
LOST = hs.refused(1, 149)


def online(member):
    with contextlib.closing(member.sql()) as sql:
        return int(sql.value("SELECT COUNT(*) FROM performance_schema.replication_group_members"
                             " WHERE member_state = 'ONLINE'"))


def rows_of(member):
    with contextlib.closing(member.sql()) as sql:
        return tuple(sql.rows("SELECT * FROM shop.stock ORDER BY id"))


def equal_rows(group):
    """The rows of the table, when all living members have the same ones."""
    seen = {rows_of(member) for member in group.nodes if member.alive()}
    return seen.pop() if len(seen) == 1 else None


@pytest.fixture(scope="module")
def shop(shared_cluster):
    sql = shared_cluster[1].sql()
    sql.run("CREATE DATABASE shop")
    sql.run("CREATE TABLE shop.stock (id INT PRIMARY KEY, stock BIGINT NOT NULL)")
    sql.run(f"INSERT INTO shop.stock SELECT seq, {STOCK} FROM seq_1_to_{ROWS}")
    wait_until(lambda: all(node.sql().rows("SHOW DATABASES LIKE 'shop'") for node in shared_cluster.nodes), 30)
    wait_until(lambda: all(node.sql().rows("SHOW TABLES FROM shop") for node in shared_cluster.nodes), 30)


@pytest.fixture
def group(cluster, shop):
    wait_until(lambda: equal_rows(cluster), 30, "the rows of all members are equal")
    return cluster


class Play:
    """Clients that take from rows for a while. Counts answers; without_answer: requests of lost connections."""

    def __init__(self, members, row_of):
        self.answers, self.without_answer = collections.Counter(), 0
        self.row_of, self.until, self.rounds = row_of, time.monotonic() + PLAY_S, 0
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self._take, args=(members[number % len(members)], number))
                        for number in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def _take(self, member, number):
        answers, lost, at = collections.Counter(), 0, 0
        try:
            with member.hs_wr(timeout_s=90) as client:
                assert client.open_index(0, "shop", "stock", "PRIMARY", "stock") == hs.OK
                while time.monotonic() < self.until:
                    lost = 1
                    answers[client.request(0, "=", 1, self.row_of(number, at), 1, 0, "-", 1)] += 1
                    lost, at = 0, at + 1
                    self.rounds = max(self.rounds, at)
        except (hs.Closed, OSError):
            pass
        with self.lock:
            self.answers += answers
            self.without_answer += lost

    def end(self):
        for thread in self.threads:
            thread.join()
        assert set(self.answers) <= {hs.counted(1), LOST}, self.answers
        return self.answers[hs.counted(1)]


def taken(rows):
    return ROWS * STOCK - sum(int(stock) for _, stock in rows)


@again
@pytest.mark.parametrize("rows", (1, ROWS))
@pytest.mark.parametrize("writers", (1, MEMBERS))
def test_each_change_is_on_every_member_once(group, writers, rows):
    before = taken(wait_until(lambda: equal_rows(group), 30))
    play = Play(group.nodes[:writers], lambda number, at: 1 + (7 * number + at) % rows)
    acknowledged = play.end()
    assert acknowledged > 100
    after = taken(wait_until(lambda: equal_rows(group), 60, "the rows of all members are equal"))
    assert (after - before, play.without_answer) == (acknowledged, 0)


@again
def test_sql_of_another_member_comes_between(group):
    """Certification decides between their change and ours, whichever comes first."""
    before = taken(wait_until(lambda: equal_rows(group), 30))
    play = Play(group.nodes[:1], lambda number, at: 1)
    theirs, sql = 0, group[2].sql()
    # Beside so many changes of one row SQL may lose each time; behind them it gets through.
    while time.monotonic() < play.until or not theirs:
        try:
            theirs += sql.run("UPDATE shop.stock SET stock = stock - 1 WHERE id = 1")
        except sql.connection.Error as error:
            assert error.args[0] in (1180, 1213, 3101), error
    acknowledged = play.end()
    assert acknowledged > 100
    after = taken(wait_until(lambda: equal_rows(group), 60, "the rows of all members are equal"))
    assert after - before == acknowledged + theirs


@again
def test_a_table_without_a_primary_key_is_refused_alone(group):
    """The group's check looks at all tables that a session has open."""
    member = group[1]
    sql = member.sql()
    sql.run("CREATE TABLE shop.log (a INT NOT NULL, KEY (a))")
    with member.hs_wr() as client:
        assert client.open_index(0, "shop", "log", "a", "a") == hs.OK
        assert client.open_index(1, "shop", "stock", "PRIMARY", "stock") == hs.OK
        for _ in range(3):
            refusal = client.request(0, "+", 1, 7)
            assert (refusal.code, refusal.number) == (1, 3098), refusal
            assert client.find(0, ">=", [0]) == hs.reply(0, 1)
            assert client.request(1, "=", 1, 2, 1, 0, "-", 1) == hs.counted(1)
    assert sql.value("SELECT COUNT(*) FROM shop.log") == b"0"


@again
def test_a_killed_member_loses_nothing_acknowledged(group):
    before = taken(wait_until(lambda: equal_rows(group), 30))
    play = Play(group.nodes, lambda number, at: 1)
    wait_until(lambda: play.rounds > 20, 30, "clients take from the row")
    victim = group[MEMBERS]
    victim.kill()
    acknowledged = play.end()
    wait_until(lambda: online(group[1]) == MEMBERS - 1, 60, "the group goes on without it")
    after = taken(wait_until(lambda: equal_rows(group), 60, "the rows of the others are equal"))
    assert acknowledged <= after - before <= acknowledged + play.without_answer
    victim.rejoin()
    wait_until(lambda: equal_rows(group), 60, "the member has caught up")
    assert online(group[1]) == MEMBERS


@again
def test_a_member_that_has_left_takes_no_writes(group):
    member = group[2]
    with member.hs_wr() as client:
        assert client.open_index(0, "shop", "stock", "PRIMARY", "stock") == hs.OK
        member.isolate()
        assert client.request(0, "=", 1, 3, 1, 0, "-", 1) == hs.refused(1, "lock_tables")
        assert client.find(0, "=", [3]).code == 0
        member.reconnect()
        assert client.request(0, "=", 1, 3, 1, 0, "-", 1) == hs.counted(1)
    wait_until(lambda: equal_rows(group), 60, "the rows of all members are equal")


def items_of(member):
    with contextlib.closing(member.sql()) as sql:
        return int(sql.value("SELECT COUNT(*) FROM innodb_memcache.demo"))


def make_items(members, count, expires):
    """Items of the container `default`, on all of these members."""
    values = ", ".join(f"('i{number}', 'v', {expires})" for number in range(count))
    with contextlib.closing(members[0].sql()) as sql:
        sql.run(f"INSERT INTO innodb_memcache.demo (id, value, expires) VALUES {values}")


@again
def test_a_member_removes_nothing_while_it_is_not_in_its_group(group):
    """The group takes no member that has a transaction of its own."""
    member, hour_s = group[3], 3600
    make_items(group.nodes, 20, int(time.time()) + hour_s)
    wait_until(lambda: items_of(member) == 20, 30, "the items")
    member.isolate()
    sql = member.sql()
    try:
        # As a server is that has started, and has not joined yet.
        for assignment in ("super_read_only = OFF", "read_only = OFF", f"daemon_memcached_clock_offset = {2 * hour_s}"):
            sql.run(f"SET GLOBAL {assignment}")
        time.sleep(3)
        assert items_of(member) == 20
        assert mc.connect(member).command("flush_all 1").endswith(b"not online in its group (group_replication_group_name)")
    finally:
        sql.run("SET GLOBAL daemon_memcached_clock_offset = 0")
    member.reconnect()
    with contextlib.closing(group[1].sql()) as first:
        first.run("UPDATE innodb_memcache.demo SET expires = 1")
    wait_until(lambda: not any(map(items_of, group.nodes)), 30, "the members have removed the items")


@again
def test_one_member_removes_what_has_expired_and_flushes(group):
    def uuid(member):
        return member.sql().value("SELECT @@server_uuid")

    def purged(member):
        with contextlib.closing(member.sql()) as sql:
            return sql.status("Daemon_memcached_purged")
    in_order = sorted(group.nodes, key=uuid)
    try:
        for left in (in_order, in_order[1:]):
            before = [purged(member) for member in left]
            make_items(left, 600, 1)
            wait_until(lambda left=left: not any(map(items_of, left)), 60, "the members have removed the items")
            wait_until(lambda left=left, before=before: purged(left[0]) == before[0] + 600, 10, "the count")
            assert [purged(member) for member in left[1:]] == before[1:]
            flushed = [mc.connect(member).command("flush_all 1") for member in left]
            assert flushed[0] == b"OK" and all(b"another member of the group does it" in answer for answer in flushed[1:])
            if left is in_order:
                in_order[0].isolate()
    finally:
        in_order[0].reconnect()


@contextlib.contextmanager
def paused(members):
    """The processes of these members stand still."""
    try:
        for each in members:
            os.kill(each.pid, signal.SIGSTOP)
        yield
    finally:
        for each in members:
            os.kill(each.pid, signal.SIGCONT)


@again
def test_a_delayed_flush_waits_while_the_member_does_not_hear_its_group(group):
    """The others stand still beyond the time of the flush, and the group still has the same members afterwards."""
    first, *others = sorted(group.nodes, key=lambda member: member.sql().value("SELECT @@server_uuid"))
    make_items(group.nodes, 5, 0)
    client = mc.connect(first)
    wait_until(lambda: client.command("flush_all 10") == b"OK", 30, "the member takes delayed flushes")
    due = time.monotonic() + 10
    with paused(others):
        wait_until(lambda: online(first) == 1, 9, "the member sees that it does not hear the others")
        time.sleep(max(0, due + 2 - time.monotonic()))
        assert items_of(first) == 5
    wait_until(lambda: not any(map(items_of, group.nodes)), 30, "the members have removed the items")
    assert online(first) == MEMBERS and "is dropped" not in first.log()


@contextlib.contextmanager
def consistency(member, value):
    with contextlib.closing(member.sql()) as sql:
        sql.run(f"SET GLOBAL group_replication_consistency = '{value}'")
        yield
        sql.run("SET GLOBAL group_replication_consistency = DEFAULT")


@contextlib.contextmanager
def applying_nothing(member):
    """No commit on this member gets past its lock, those of the group's applier included."""
    with contextlib.closing(member.sql()) as sql:
        sql.run("FLUSH TABLES WITH READ LOCK")
        yield
        sql.run("UNLOCK TABLES")


@again
@pytest.mark.parametrize("level", ("BEFORE", "BEFORE_AND_AFTER"))
def test_a_find_waits_for_what_the_group_has_committed_before(group, level):
    """Under BEFORE a find of one member waits for the write that another member has acknowledged."""
    writer, reader = group[1], group[2]
    with writer.hs_wr() as client, reader.hs_rd(timeout_s=60) as finds:
        assert client.open_index(0, "shop", "stock", "PRIMARY", "stock") == hs.OK
        assert finds.open_index(0, "shop", "stock", "PRIMARY", "stock") == hs.OK
        before = int(finds.find(0, "=", [6]).rows[0][0])
        with applying_nothing(reader):
            assert client.request(0, "=", 1, 6, 1, 0, "-", 1) == hs.counted(1)
            assert finds.find(0, "=", [6]) == hs.reply(0, 1, before)
            with consistency(reader, level):
                finds.send(0, "=", 1, 6)
                assert not finds.readable(1.5)
        assert finds.recv() == hs.reply(0, 1, before - 1)


@again
def test_with_after_a_write_is_answered_when_all_members_have_it(group):
    writer, slow = group[1], group[2]
    with consistency(writer, "AFTER"), writer.hs_wr(timeout_s=60) as client:
        assert client.open_index(0, "shop", "stock", "PRIMARY", "stock") == hs.OK
        with applying_nothing(slow):
            client.send(0, "=", 1, 7, 1, 0, "-", 1)
            assert not client.readable(1.5)
        assert client.recv() == hs.counted(1)


@again
def test_a_write_that_the_group_may_have_is_answered_to_nobody(group):
    """The group has been told of the write, and the member leaves the group before the group's decision. The other
    members may carry the write out: neither success nor an error would be true of it."""
    before = taken(wait_until(lambda: equal_rows(group), 30))
    member, others = group[1], group.nodes[1:]
    member.sql().run("SET GLOBAL group_replication_unreachable_majority_timeout = 1")
    try:
        with member.hs_wr(timeout_s=120) as client:
            assert client.open_index(0, "shop", "stock", "PRIMARY", "stock") == hs.OK
            assert client.request(0, "=", 1, 5, 1, 0, "-", 1) == hs.counted(1)
            with paused(others):
                client.send(0, "=", 1, 5, 1, 0, "-", 1)
                with pytest.raises(hs.Closed):
                    client.recv()
        wait_until(lambda: online(others[0]) == MEMBERS - 1, 60, "the others go on")
        member.reconnect()
    finally:
        member.sql().run("SET GLOBAL group_replication_unreachable_majority_timeout = DEFAULT")
    after = taken(wait_until(lambda: equal_rows(group), 60, "the rows of all members are equal"))
    assert after - before in (1, 2)


def test_a_group_that_was_stopped_begins_again(group):
    before = equal_rows(group)
    for node in group.nodes:
        node.close_clients()
    group.run("stop")
    group.start()
    assert online(group[1]) == MEMBERS
    assert equal_rows(group) == before
