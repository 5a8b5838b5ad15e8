"""The checks of deadlocks, durability and DDL, run on MariaDB's own HandlerSocket plugin: there they must
find the faults in docs/WRONGS.md, or they would find no fault in this plugin either."""

import pytest

import hs
import test_ddl
from load import worker_ids
from test_deadlock import pipelined_updates_and_a_deadlock
from test_durability import BINLOG, REDO, replies_before_their_flush
from test_kill import kill_all

pytestmark = pytest.mark.mariadb("the bundled plugin")


@pytest.fixture
def bundled(make_server, monkeypatch):
    monkeypatch.setattr(hs, "TLS", None)  # which the bundled plugin does not speak
    return lambda *options: make_server("bundled", options=list(options))


def test_deadlocks_lose_acknowledged_writes(bundled):
    wrong = pipelined_updates_and_a_deadlock(bundled(), "dead")
    assert any("acknowledged" in text for text in wrong), wrong


def test_acknowledged_writes_are_not_in_the_binlog(bundled, rng, tmp_path):
    server = bundled("--log-bin=durable-bin", "--sync-binlog=1", "--server-id=1")
    early = replies_before_their_flush(server, "du", rng, tmp_path / "trace", [REDO, BINLOG], 3)
    assert any("durable-bin" in text for text in early), early


def test_replies_leave_before_the_flush(bundled, rng, tmp_path):
    """With the redo log alone, replies are early only on a server that does not flush at each commit."""
    server = bundled("--innodb-flush-log-at-trx-commit=2")
    early = replies_before_their_flush(server, "du", rng, tmp_path / "trace", [REDO], 3)
    assert any("before" in text for text in early), early


def test_idle_connections_block_ddl(bundled, monkeypatch):
    monkeypatch.setattr(test_ddl, "DDL_S", 1)
    slow, _ = test_ddl.slow_statements_beside_idle_clients(bundled(), "idle", (
        "ALTER TABLE {db}.led ADD COLUMN extra INT", "FLUSH TABLES WITH READ LOCK; UNLOCK TABLES",
        "RENAME TABLE {db}.led TO {db}.away"), 1)
    assert slow


def test_one_kill_query_ends_all_writing(bundled):
    server = bundled()
    sql = server.sql()
    sql.run("CREATE DATABASE k")
    sql.run("CREATE TABLE k.t (id INT PRIMARY KEY, n INT NOT NULL)")
    sql.run("INSERT INTO k.t VALUES (1, 0)")
    client = server.hs_wr()
    assert client.open_index(0, "k", "t", "", "n") == hs.reply(0, 1)
    assert client.modify(0, "=", [1], ["+", 1]) == hs.reply(0, 1, 1)
    assert worker_ids(sql) and kill_all(sql, "QUERY")
    client.timeout_s = 2
    try:
        replies = [client.modify(0, "=", [1], ["+", 1]) for _ in range(3)]
        assert all(reply.code for reply in replies), replies
    except TimeoutError:
        pass  # there is no answer any more
    assert sql.value("SELECT n FROM k.t") == b"1"
