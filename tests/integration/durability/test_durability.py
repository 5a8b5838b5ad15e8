"""No success is sent before the flush that covers its write: the order of the server's system calls."""

import pytest

import hs
from load import scaled
from server import is_mysql
from system_calls import Durability, Trace

pytestmark = pytest.mark.again_in("mariadb-11.8", "mysql-9.7")

REDO, BINLOG = b"/#ib_redo" if is_mysql() else b"/ib_logfile0", b"/durable-bin."


def marker(rng):
    """Text whose middle the test finds again in every file to which a row with it is written."""
    return bytes(rng.choices(b"abcdefghijklmnopqrstuvwxyz", k=48))


class Traffic:
    """Requests whose replies show which write they promise: every update asks for the before-images, which are
    the markers of the round before."""

    def __init__(self, server, db, rng, rows=8):
        self.rng, self.rows = rng, rows
        self.sql = server.sql()
        self.sql.run(f"CREATE DATABASE IF NOT EXISTS {db}")
        self.sql.run(f"CREATE TABLE {db}.du (id INT PRIMARY KEY, v VARCHAR(60) NOT NULL)")
        self.clients = [server.hs_wr() for _ in range(4)]
        self.last = {}
        for number, client in enumerate(self.clients):
            assert client.open_index(0, db, "du", "", "v").code == 0
            assert client.open_index(1, db, "du", "", "id,v").code == 0
            for row in range(rows):
                key = number * rows + row
                self.last[key] = marker(rng)
                assert client.insert(1, [key, self.last[key]]) == hs.reply(0, 1)
        self.promises = []

    def round(self):
        """Every client sends a pipeline; all are in flight at once."""
        expected = {}
        for number, client in enumerate(self.clients):
            data = []
            for key in self.rng.sample(range(number * self.rows, (number + 1) * self.rows),
                                       self.rng.randint(1, self.rows)):
                new = marker(self.rng)
                data.append(hs.line(*hs.find_words(0, "=", [key], 1, 0, mod=["U?", new])))
                expected.setdefault(client, []).append(self.last[key])
                # The middle of the text: the redo log leaves out bytes at both ends that stay the same.
                self.promises.append((new[8:40], self.last[key]))
                self.last[key] = new
            client.send_raw(b"".join(data))
        for client, markers in expected.items():
            for shown in markers:
                assert client.recv() == hs.reply(0, 1, shown)


def replies_before_their_flush(server, db, rng, path, files, rounds):
    """Traces the server under load. Returns replies that left before their flush."""
    traffic = Traffic(server, db, rng)
    with Trace(server, path) as trace:
        for _ in range(rounds):
            traffic.round()
        trace.note_replies(traffic.clients)
        trace.wait_for(hexed(traffic.promises[-1][1]))
    port = int(server.env["HS_PORT_WR"])
    return Durability(trace.calls, files, port).violations(traffic.promises)


def hexed(data):
    return b"".join(b"\\x%02x" % byte for byte in data)


@pytest.mark.parametrize("binlog", [False, True], ids=["redo log", "redo log and binlog"])
def test_replies_leave_after_the_flush(make_server, rng, tmp_path, binlog):
    options = ["--log-bin=durable-bin", "--sync-binlog=1", "--server-id=1"] if binlog else []
    server = make_server(options=["--innodb-flush-log-at-trx-commit=1", *options])
    files = [REDO, BINLOG] if binlog else [REDO]
    assert replies_before_their_flush(server, "du", rng, tmp_path / "trace", files,
                                      scaled(25)) == []


def test_the_trace_sees_replies_that_leave_too_early(make_server, rng, tmp_path):
    """The same check on a server that is told not to flush: it must not pass."""
    server = make_server(options=["--innodb-flush-log-at-trx-commit=2"])
    early = replies_before_their_flush(server, "du", rng, tmp_path / "trace", [REDO], 5)
    assert len(early) > 5, early
    assert all("before" in text or "never written" in text for text in early)


def test_binlog_without_sync_is_seen_too(make_server, rng, tmp_path):
    server = make_server(options=["--log-bin=durable-bin", "--sync-binlog=0", "--server-id=1"])
    early = replies_before_their_flush(server, "du", rng, tmp_path / "trace", [REDO, BINLOG], 5)
    assert any("durable-bin" in text for text in early), early
