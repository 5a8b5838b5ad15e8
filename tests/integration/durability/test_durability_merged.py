"""H9 of a merged batch: many connections change one row at once, and the changes of several of them are
written as one change. No reply of these connections, nor of a find that saw the change, leaves before the
flush of that change has returned."""

import struct

import pytest

import hs
import mc
from load import scaled
from sale import make_counter
from system_calls import Durability, Trace
from test_durability import BINLOG, REDO, hexed, marker

CONNECTIONS = 48
FINDERS = 4
BINLOG_OPTIONS = ["--log-bin=durable-bin", "--sync-binlog=1", "--server-id=1"]


def port_of(sock):
    return sock.getsockname()[1]


class Texts:
    """HandlerSocket: each request sets the row to a marker and is shown the marker before. In every second
    connection a find follows the change, and some connections send only finds."""

    port = "HS_PORT_WR"

    def __init__(self, server, rng):
        self.rng = rng
        sql = server.sql()
        sql.run("CREATE DATABASE du")
        sql.run("CREATE TABLE du.du (id INT PRIMARY KEY, v VARCHAR(60) NOT NULL)")
        self.first = marker(rng)
        sql.run("INSERT INTO du.du VALUES (1, %s)", self.first.decode())
        self.clients = [server.hs_wr() for _ in range(CONNECTIONS + FINDERS)]
        for client in self.clients:
            assert client.open_index(0, "du", "du", "", "v").code == 0
        self.before = {}   # marker: the marker that was there before it
        self.changes = []  # (port, shown before, marker)
        self.finds = []    # (port, shown)

    def round(self):
        find, expected = hs.line(*hs.find_words(0, "=", [1], 1, 0)), []
        for number, client in enumerate(self.clients):
            new = marker(self.rng) if number < CONNECTIONS else None
            finds = new is None or number % 2 == 0
            change = hs.line(*hs.find_words(0, "=", [1], 1, 0, mod=["U?", new])) if new else b""
            client.send_raw(change + (find if finds else b""))
            expected.append((client, new, finds))
        for client, new, finds in expected:
            port = port_of(client.sock)
            if new:
                before = client.recv().cells[0]
                self.before[new] = before
                self.changes.append((port, before, new))
            if finds:
                self.finds.append((port, client.recv().cells[0]))
        return hexed(self.finds[-1][1])

    def chain_and_promises(self, files):
        after = {before: new for new, before in self.before.items()}
        order, last = [], self.first
        while last in after:
            last = after[last]
            order.append(last)
        assert len(order) == len(self.before), "the answers are not one chain"
        place = {text: at for at, text in enumerate(order)}
        promises = [(port, shown, place[new]) for port, shown, new in self.changes]
        promises += [(port, shown, place[shown]) for port, shown in self.finds if shown in place]
        # The middle of the text: the redo log leaves out bytes at both ends that stay the same.
        return [dict.fromkeys(files, text[8:40]) for text in order], promises


class Counts:
    """memcached: each request adds a random number of 64 bits, modulo 2^64, under a guard that is met. The
    test finds the sum, which the request is shown, in the files as the 8 bytes of the column."""

    port = "MEMCACHED_PORT"

    def __init__(self, server, rng):
        self.rng = rng
        sql = server.sql()
        sql.run("CREATE DATABASE du")
        sql.run("CREATE TABLE du.stock (id INT PRIMARY KEY, stock BIGINT UNSIGNED NOT NULL)")
        sql.run("INSERT INTO du.stock VALUES (1, 1)")
        make_counter(server, "du")
        self.clients = [mc.connect(server) for _ in range(CONNECTIONS)]
        self.changes = []  # (port, added, sum)

    def round(self):
        added = [self.rng.getrandbits(64) for _ in self.clients]
        for client, number in zip(self.clients, added):
            client.send(b"ma @@du.1 D%d G0 v\r\n" % number)
        for client, number in zip(self.clients, added):
            line, data = client.meta_reply()
            assert line.startswith(b"VA "), line
            self.changes.append((port_of(client.socket), number, int(data)))
        return hexed(b"%d" % self.changes[-1][2])

    def chain_and_promises(self, files):
        after = {(total - added) % 2**64: total for _, added, total in self.changes}
        order, last = [], 1
        while last in after:
            last = after[last]
            order.append(last)
        assert len(order) == len(self.changes), "the answers are not one chain"
        place = {total: at for at, total in enumerate(order)}
        # The middle of the sum, because the redo log leaves out equal bytes at both ends; the redo log has
        # the page's bytes, the binlog has them little endian.
        chain = [{REDO: struct.pack(">Q", total)[1:7], BINLOG: struct.pack("<Q", total)[1:7]}
                 for total in order]
        return chain, [(port, b"%d" % total, place[total]) for port, _, total in self.changes]


def batches_before_their_flush(server, traffic, path, files, rounds):
    """Traces the server. Returns the replies that left too early, and how many of how many requests were
    merged."""
    with Trace(server, path) as trace:
        for _ in range(rounds):
            shown = traffic.round()
        trace.note_replies(traffic.clients)
        trace.wait_for(shown)
    chain, promises = traffic.chain_and_promises(files)
    durability = Durability(trace.calls, files, int(server.env[traffic.port]))
    wrong, merged = durability.chain_violations(chain, promises)
    return wrong, merged / len(chain)


@pytest.fixture
def make(make_server):
    return lambda *options: make_server(options=["--daemon-memcached-threads=1", *options])


@pytest.mark.parametrize("traffic", [Texts, Counts], ids=["handlersocket", "memcached"])
@pytest.mark.parametrize("binlog", [False, True], ids=["redo log", "redo log and binlog"])
def test_replies_of_a_merged_batch_leave_after_its_flush(make, rng, tmp_path, binlog, traffic):
    server = make("--innodb-flush-log-at-trx-commit=1", *(BINLOG_OPTIONS if binlog else []))
    files = [REDO, BINLOG] if binlog else [REDO]
    wrong, merged = batches_before_their_flush(server, traffic(server, rng), tmp_path / "trace",
                                               files, scaled(12))
    assert wrong == []
    assert merged > 0.5  # more than half of the requests have no change of the row of their own


@pytest.mark.parametrize("traffic", [Texts, Counts], ids=["handlersocket", "memcached"])
@pytest.mark.parametrize("options, file", [
    (["--innodb-flush-log-at-trx-commit=0"], REDO), (["--innodb-flush-log-at-trx-commit=2"], REDO),
    ([*BINLOG_OPTIONS, "--sync-binlog=0"], BINLOG)], ids=["flush 0", "flush 2", "sync 0"])
def test_the_trace_sees_batches_that_are_answered_too_early(make, rng, tmp_path, options, file,
                                                            traffic):
    """The same check on servers that are told not to flush: it must not pass."""
    server = make(*options)
    wrong, _ = batches_before_their_flush(server, traffic(server, rng), tmp_path / "trace", [file],
                                          4)
    assert len(wrong) > CONNECTIONS, wrong
    assert all("before" in text or "never written" in text for text in wrong), wrong
