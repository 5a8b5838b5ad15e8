"""In MySQL: a group of three members that all write. What was acknowledged is on every member that lives, and
nothing else."""

import collections
import contextlib
import os
import signal
import threading
import time
import uuid

import pytest

import hs
from haproxy import free_port
from server import Server, is_mysql, wait_until

pytestmark = pytest.mark.skipif(not is_mysql(), reason="group replication is MySQL's")

MEMBERS = 3
CLIENTS = 12
PLAY_S = 4.0
STOCK = 1_000_000
ROWS = 40
# The error of a write that other members' changes came before for five seconds, and of a deadlock.
LOST = hs.refused(1, 149)


class Group:
    """Servers on loopback that are one group. Its traffic is plain, as nothing leaves this machine."""

    def __init__(self):
        name, ports = str(uuid.uuid4()), [free_port() for _ in range(MEMBERS)]
        seeds = ",".join(f"127.0.0.1:{port}" for port in ports)
        self.members = [Server("rowsocket", [
            f"--server-id={number}", "--log-bin=bin", "--gtid-mode=ON", "--enforce-gtid-consistency=ON",
            "--report-host=127.0.0.1", "--plugin-load-add=group_replication.so",
            f"--loose-group-replication-group-name={name}", "--loose-group-replication-start-on-boot=OFF",
            f"--loose-group-replication-local-address=127.0.0.1:{port}",
            f"--loose-group-replication-group-seeds={seeds}",
            "--loose-group-replication-single-primary-mode=OFF", "--loose-group-replication-ssl-mode=DISABLED",
            "--loose-group-replication-recovery-get-public-key=ON"]) for number, port in enumerate(ports, 1)]

    def start(self):
        for number, member in enumerate(self.members):
            member.start()
            sql = member.sql()
            for statement in (
                    "SET SQL_LOG_BIN = 0", "CREATE USER recovery@'%' IDENTIFIED BY 'recovery'",
                    "GRANT REPLICATION SLAVE, CONNECTION_ADMIN, BACKUP_ADMIN, GROUP_REPLICATION_STREAM ON *.*"
                    " TO recovery@'%'", "SET SQL_LOG_BIN = 1", "RESET BINARY LOGS AND GTIDS",
                    "CHANGE REPLICATION SOURCE TO SOURCE_USER = 'recovery', SOURCE_PASSWORD = 'recovery'"
                    " FOR CHANNEL 'group_replication_recovery'",
                    f"SET GLOBAL group_replication_bootstrap_group = {'OFF' if number else 'ON'}",
                    "START GROUP_REPLICATION", "SET GLOBAL group_replication_bootstrap_group = OFF"):
                sql.run(statement)
            wait_until(lambda: self.online(member) == number + 1, 60, f"member {number + 1} is online")

    @staticmethod
    def online(member):
        with contextlib.closing(member.sql()) as sql:
            return int(sql.value("SELECT COUNT(*) FROM performance_schema.replication_group_members"
                                 " WHERE member_state = 'ONLINE'"))

    @staticmethod
    def rows(member):
        with contextlib.closing(member.sql()) as sql:
            return tuple(sql.rows("SELECT * FROM shop.stock ORDER BY id"))

    def stop(self):
        for member in self.members:
            member.kill()

    def equal_rows(self):
        """The rows of the table, when all living members have the same ones."""
        seen = {self.rows(member) for member in self.members if member.running}
        return seen.pop() if len(seen) == 1 else None


@pytest.fixture(scope="module")
def group():
    made = Group()
    try:
        made.start()
        sql = made.members[0].sql()
        sql.run("CREATE DATABASE shop")
        sql.run("CREATE TABLE shop.stock (id INT PRIMARY KEY, stock BIGINT NOT NULL)")
        sql.run(f"INSERT INTO shop.stock SELECT seq, {STOCK} FROM seq_1_to_{ROWS}")
        wait_until(lambda: all(member.sql().rows("SHOW DATABASES LIKE 'shop'") for member in made.members), 30)
        wait_until(made.equal_rows, 30, "the rows of all members are equal")
        yield made
    finally:
        made.stop()


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


@pytest.mark.parametrize("rows", (1, ROWS))
@pytest.mark.parametrize("writers", (1, MEMBERS))
def test_each_change_is_on_every_member_once(group, writers, rows):
    before = taken(wait_until(group.equal_rows, 30))
    play = Play(group.members[:writers], lambda number, at: 1 + (7 * number + at) % rows)
    acknowledged = play.end()
    assert acknowledged > 100
    after = taken(wait_until(group.equal_rows, 60, "the rows of all members are equal"))
    assert (after - before, play.without_answer) == (acknowledged, 0)


def test_sql_of_another_member_comes_between(group):
    """Certification decides between their change and ours, whichever comes first."""
    before = taken(wait_until(group.equal_rows, 30))
    play = Play(group.members[:1], lambda number, at: 1)
    theirs, sql = 0, group.members[1].sql()
    # Beside so many changes of one row SQL may lose each time; behind them it gets through.
    while time.monotonic() < play.until or not theirs:
        try:
            theirs += sql.run("UPDATE shop.stock SET stock = stock - 1 WHERE id = 1")
        except sql.connection.Error as error:
            assert error.args[0] in (1180, 1213, 3101), error
    acknowledged = play.end()
    assert acknowledged > 100
    after = taken(wait_until(group.equal_rows, 60, "the rows of all members are equal"))
    assert after - before == acknowledged + theirs


def test_a_table_without_a_primary_key_is_refused_alone(group):
    """The group's check looks at all tables that a session has open."""
    member = group.members[0]
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


def test_a_killed_member_loses_nothing_acknowledged(group):
    before = taken(wait_until(group.equal_rows, 30))
    play = Play(group.members, lambda number, at: 1)
    wait_until(lambda: play.rounds > 20, 30, "clients take from the row")
    victim = group.members[-1]
    os.kill(victim.pid, signal.SIGKILL)
    victim.kill()
    acknowledged = play.end()
    wait_until(lambda: Group.online(group.members[0]) == MEMBERS - 1, 60, "the group goes on without it")
    after = taken(wait_until(group.equal_rows, 60, "the rows of the others are equal"))
    assert acknowledged <= after - before <= acknowledged + play.without_answer
