"""Expiry when both the primary and a writable replica serve memcached: the primary's housekeeper removes
rows, the replica's removes nothing before the replica is promoted."""

import pytest

import mc
from mc_tables import Container
from server import is_mysql, wait_until
from test_replica import Pair

pytestmark = pytest.mark.ours

LOGS = ("--log-bin=replica", f"--log-{'replica' if is_mysql() else 'slave'}-updates=1")
OPTIONS = ("--binlog-format=MIXED", "--daemon-memcached-flush-all=ON", "--daemon-memcached-purge-rows-per-second=10000")
SECONDS_AHEAD = 100  # how far the clock for expiry is set ahead


class Both:
    """A container on a primary and on its replica."""

    def __init__(self, make_server):
        self.pair = Pair(make_server, *OPTIONS, replica_plugin="rowsocket", replica_options=(
            *LOGS, *OPTIONS))
        self.sql, self.copy = self.pair.sql, self.pair.copy
        self.begun = self.of_the_replica()
        self.sql.run("CREATE DATABASE r")
        self.container = Container(self.pair.primary, "r", "box")
        self.client = self.container.ready(mc.connect(self.pair.primary))
        self.pair.catch_up()
        self.copied = self.container.ready(mc.connect(self.pair.replica))

    def at(self, key):
        return self.container.at(key)

    def set(self, key, exptime=10):
        assert self.client.set(self.at(key), b"value", expiry=exptime) == b"STORED"

    def set_clocks(self, seconds):
        for sql in (self.sql, self.copy):
            sql.run(f"SET GLOBAL daemon_memcached_clock_offset = {seconds}")

    def has(self, sql, key):
        return sql.value("SELECT COUNT(*) FROM r.box WHERE k = %s", key) == b"1"

    def await_gone(self, sql, key):
        wait_until(lambda: not self.has(sql, key), 30, f"{key} is removed")

    def pass_rounds(self):
        """Waits until the primary's housekeeper, which is as fast as the replica's, has removed rows in
        several rounds."""
        for number in range(5):
            key = b"round%d" % number
            self.sql.run("INSERT INTO r.box (k, v, e) VALUES (%s, 'v', 1)", key)
            self.await_gone(self.sql, key)

    def of_the_replica(self):
        """The last transaction that the replica has committed by itself."""
        if is_mysql():
            own = self.copy.value("SELECT @@server_uuid")
            executed = self.copy.value("SELECT @@GLOBAL.gtid_executed").split(b",")
            return [one.strip() for one in executed if one.strip().startswith(own)]
        return [one for one in self.copy.value("SELECT @@gtid_binlog_state").split(b",")
                if one.split(b"-")[1] == b"2"]

    def has_errant(self):
        return self.of_the_replica() != self.begun


@pytest.fixture
def both(make_server):
    return Both(make_server)


def test_a_replica_keeps_what_its_source_has_touched(both):
    """The row expires by the copy's clock while the change that keeps it alive has not arrived."""
    both.set("kept")
    both.set("gone")
    both.pair.catch_up()
    both.copy.run("STOP SLAVE SQL_THREAD")
    assert both.client.command(f"touch {both.at('kept').decode()} 3600") == b"TOUCHED"
    both.set_clocks(SECONDS_AHEAD)
    both.await_gone(both.sql, "gone")
    both.pass_rounds()
    assert both.has(both.copy, "kept") and both.has(both.copy, "gone")
    assert both.copied.value(both.at("gone")) is None
    both.copy.run("START SLAVE SQL_THREAD")
    both.pair.assert_equal()
    assert both.has(both.copy, "kept") and not both.has(both.copy, "gone")
    assert both.copied.value(both.at("kept")) == b"value"
    assert not both.has_errant()


def test_many_short_lives_leave_no_transaction_of_the_replica(both):
    for number in range(2000):
        both.client.send(b"set %s 0 1 1 noreply\r\nv\r\n" % both.at(f"k{number}"))
    both.set("last", 1)
    both.set_clocks(SECONDS_AHEAD)
    wait_until(lambda: both.sql.value("SELECT COUNT(*) FROM r.box") == b"0", 30, "all are removed")
    both.pair.assert_equal()
    assert not both.has_errant()


def test_a_promoted_replica_removes_what_has_expired(both):
    both.set("old")
    both.pair.catch_up()
    both.copy.run("STOP SLAVE")
    both.set_clocks(SECONDS_AHEAD)
    both.await_gone(both.sql, "old")
    both.pass_rounds()
    assert both.has(both.copy, "old") and not both.has_errant()
    both.copy.run("RESET SLAVE ALL")
    both.await_gone(both.copy, "old")


def test_a_primary_that_gets_a_source_stops_removing(both):
    """The other side of a failover: the former primary follows the new primary, and keeps its expired
    rows."""
    both.copy.run("STOP SLAVE")
    both.copy.run("RESET SLAVE ALL")
    both.sql.run("CHANGE MASTER TO master_host = '127.0.0.1', master_user = 'nobody',"
                 f" master_port = {both.pair.replica.env['SQL_PORT']}")
    position = "SELECT @@GLOBAL.gtid_executed" if is_mysql() else "SELECT @@gtid_binlog_pos"
    before = both.sql.value(position)
    both.sql.run("SET SESSION sql_log_bin = 0")
    for sql in (both.sql, both.copy):
        sql.run("INSERT INTO r.box (k, v, e) VALUES ('old', 'v', 1)")
    both.await_gone(both.copy, "old")
    for number in range(5):
        both.copy.run("INSERT INTO r.box (k, v, e) VALUES (%s, 'v', 1)", f"round{number}")
        both.await_gone(both.copy, f"round{number}")
    assert both.has(both.sql, "old")
    assert both.sql.value(position) == before


def test_a_replica_carries_out_no_delayed_flush(both):
    both.set("stays", 0)
    both.pair.catch_up()
    assert b"@@box" in both.copied.get("@@box")
    reply = both.copied.command("flush_all 5")
    assert reply.startswith(b"SERVER_ERROR") and b"daemon_memcached_housekeeping_on_replica" in reply
    both.set_clocks(SECONDS_AHEAD)
    both.pass_rounds()
    assert both.has(both.copy, "stays") and not both.has_errant()


def test_the_variable_lets_a_replica_remove(both):
    """A ring of primaries: each has a source, one of them removes expired rows."""
    both.set("old")
    both.pair.catch_up()
    both.copy.run("STOP SLAVE")
    both.copy.run("SET GLOBAL daemon_memcached_housekeeping_on_replica = ON")
    both.set_clocks(SECONDS_AHEAD)
    both.await_gone(both.copy, "old")
    assert both.has_errant()
