"""The state that an answer has seen is durable as well. InnoDB releases a row before the commit that wrote it
is flushed; a request that changes nothing ("not applied", a key that exists already) has no commit of its own
that would flush that state. Here such requests wait for a row while SQL commits a change of it."""

import pytest

import hs
from load import scaled
from server import wait_until
from system_calls import Durability, Trace
from test_durability import BINLOG, REDO, hexed, marker

pytestmark = pytest.mark.again_in("mariadb-11.8", "mysql-9.7")

# Without the delay, the flush would often have ended when a request gets its answer.
SLOW_FLUSH = "inject=fsync,fdatasync:delay_enter=20000"
BINLOG_OPTIONS = ["--log-bin=durable-bin", "--sync-binlog=1", "--server-id=1"]


class Conditions:
    """SQL changes the row; the condition of the requests is on the value before."""

    clients_wanted = 4
    reply = hs.reply(0, 1, 0)
    sent = b"0\t1\t0\n"

    def __init__(self, server, rng):
        self.rng, self.sql, self.admin = rng, server.sql(), server.sql()
        self.sql.run("CREATE DATABASE du")
        self.sql.run("CREATE TABLE du.du (id INT PRIMARY KEY, v VARCHAR(60) NOT NULL, n INT UNIQUE)")
        self.now, self.key = marker(rng), 1
        self.sql.run("INSERT INTO du.du VALUES (1, %s, 1), (10000, '', 10), (10001, '', 11)",
                     self.now.decode())
        self.clients = [server.hs_wr() for _ in range(self.clients_wanted)]
        for client in self.clients:
            assert client.open_index(0, "du", "du", "", "id,v", "v").code == 0
            assert client.open_index(1, "du", "du", "", "n").code == 0

    def change(self, new):
        self.sql.run("UPDATE du.du SET v = %s WHERE id = 1", new.decode())

    def request(self):
        return hs.find_words(0, "=", [1], 1, 0, filters=[("F", "=", 0, self.now)],
                             mod=["U", 1, b"never"])

    def round(self):
        """Returns the marker whose effect every client has seen."""
        new = marker(self.rng)
        self.sql.run("BEGIN")
        self.change(new)
        for client in self.clients:
            client.send_raw(hs.line(*self.request()))
        wait_until(self.somebody_waits, 10, "a request that waits for the row")
        self.sql.run("COMMIT")
        for client in self.clients:
            assert client.recv() == self.reply
        self.now = new
        return new

    def somebody_waits(self):
        waits = self.admin.row("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'")
        return waits[1] != b"0"


class Duplicates(Conditions):
    """SQL inserts a row; the requests insert a row with the same key."""

    reply = hs.reply(1, 1, 121)
    sent = b"1\t1\t121\n"

    def change(self, new):
        self.key += 1
        self.sql.run("INSERT INTO du.du VALUES (%s, %s, NULL)", self.key, new.decode())

    def request(self):
        return [0, "+", 2, self.key, b"never"]


class TakenBack(Duplicates):
    """SQL changes the first of two rows; the requests give both rows the same unique value. Their change of
    the first row is taken back."""

    clients_wanted = 1  # a worker that serves other clients, too, would send the answer late enough

    def change(self, new):
        self.sql.run("UPDATE du.du SET v = %s WHERE id = 10000", new.decode())

    def request(self):
        return hs.find_words(1, ">=", [10000], 2, 0, mod=["U", 5])


KINDS = [Conditions, Duplicates, TakenBack]


def answers_before_their_flush(server, traffic, path, files, rounds):
    """Traces the server. The last round only lets the end of the trace be seen."""
    with Trace(server, path, ["-e", SLOW_FLUSH]) as trace:
        markers = [traffic.round() for _ in range(rounds)]
        end = marker(traffic.rng)
        traffic.sql.run("INSERT INTO du.du VALUES (0, %s, NULL)", end.decode())
        assert traffic.clients[0].find(0, "=", [0]) == hs.reply(0, 2, 0, end)
        trace.note_replies(traffic.clients)
        trace.wait_for(hexed(end))
    durability = Durability(trace.calls, files, int(server.env["HS_PORT_WR"]))
    wrong = []
    for client in traffic.clients:
        to = b"->127.0.0.1:%d" % client.sock.getsockname()[1]
        sends = [call for call, data in durability.sends
                 if to in call.file and data == traffic.sent]
        assert len(sends) == rounds
        for text, send in zip(markers, sends):
            for file in files:
                # The middle of the text: the redo log leaves out bytes at both ends that stay the same.
                written, = durability.writes_of([text[8:40]], file)
                wrong += durability.too_early(file, text, written, send)
    return wrong


@pytest.mark.parametrize("traffic", KINDS, ids=["condition", "duplicate key", "taken back"])
@pytest.mark.parametrize("binlog", [False, True], ids=["redo log", "redo log and binlog"])
def test_rows_that_a_refusal_has_seen_are_flushed(make_server, rng, tmp_path, binlog, traffic):
    server = make_server(options=["--innodb-flush-log-at-trx-commit=1",
                                  *(BINLOG_OPTIONS if binlog else [])])
    files = [REDO, BINLOG] if binlog else [REDO]
    assert answers_before_their_flush(server, traffic(server, rng), tmp_path / "trace", files,
                                      scaled(12)) == []


@pytest.mark.parametrize("traffic", KINDS, ids=["condition", "duplicate key", "taken back"])
def test_the_trace_sees_refusals_that_leave_too_early(make_server, rng, tmp_path, traffic):
    """The same check on a server that is told not to flush: it must not pass."""
    server = make_server(options=["--innodb-flush-log-at-trx-commit=2"])
    assert len(answers_before_their_flush(server, traffic(server, rng), tmp_path / "trace", [REDO],
                                          4)) >= 4


class Effect:
    """HandlerSocket gives a column another value; another client asks all the time for the values that this
    changes."""

    def __init__(self, server, rng, tables, changes, key, shows, asks_for):
        self.rng, self.now, self.shown = rng, marker(rng), []
        sql = server.sql()
        sql.run("CREATE DATABASE du")
        for statement in tables:
            sql.run(statement.format(now=self.now.decode()))
        self.key, self.asks_for = key, asks_for
        self.writer, self.finder = server.hs_wr(), server.hs_rd()
        for client, (table, column) in ((self.writer, changes), (self.finder, shows)):
            assert client.open_index(0, "du", table, "", column).code == 0

    def round(self):
        new = marker(self.rng)
        key = self.now if self.key is None else self.key
        self.writer.send_raw(hs.line(*hs.find_words(0, "=", [key], 1, 0, mod=["U", new])))
        wait_until(lambda: self.finder.find(0, "=", [self.asks_for]).cells[0] == new, 60,
                   "what the change has changed", step_s=0)
        assert self.writer.recv() == hs.reply(0, 1, 1)
        self.shown.append(new)
        self.now = new


CHILD = ("CREATE TABLE du.c (id INT PRIMARY KEY, v VARCHAR(60),"
         " FOREIGN KEY (v) REFERENCES du.p ({key}) ON UPDATE CASCADE)")
EFFECTS = {
    # tables, (table, column) to change, key of its row (None: the column itself), the column that shows the
    # effect, the key to ask for it
    "foreign key": (
        ["CREATE TABLE du.p (id VARCHAR(60) PRIMARY KEY)", CHILD.format(key="id"),
         "INSERT INTO du.p VALUES ('{now}')", "INSERT INTO du.c VALUES (1, '{now}')"],
        ("p", "id"), None, ("c", "v"), 1),
    "generated key": (
        ["CREATE TABLE du.p (id INT PRIMARY KEY, n VARCHAR(60), g VARCHAR(60) AS (n) STORED UNIQUE)",
         CHILD.format(key="g"), "INSERT INTO du.p (id, n) VALUES (1, '{now}')",
         "INSERT INTO du.c VALUES (1, '{now}')"],
        ("p", "n"), 1, ("c", "v"), 1),
    "key of two texts": (
        ["CREATE TABLE du.y (id YEAR PRIMARY KEY, v VARCHAR(60))",
         "INSERT INTO du.y VALUES (2005, '{now}')"],
        ("y", "v"), 2005, ("y", "v"), 5),
}


def finds_before_their_flush(server, rng, path, effect):
    traffic = Effect(server, rng, *EFFECTS[effect])
    with Trace(server, path, ["-e", SLOW_FLUSH]) as trace:
        for _ in range(scaled(6)):
            traffic.round()
        trace.note_replies([traffic.finder])
    durability = Durability(trace.calls, [REDO], int(server.env["HS_PORT"]))
    port = traffic.finder.sock.getsockname()[1]
    # The middle of the text: the redo log leaves out bytes at both ends that stay the same.
    chain = [{REDO: text[8:40]} for text in traffic.shown]
    promises = [(port, text, place) for place, text in enumerate(traffic.shown)]
    return durability.chain_violations(chain, promises)[0]


# The binary log has nothing of a schema that it ignores, so that no prepare flushes the engine's log.
IGNORED = ["--log-bin=durable-bin", "--server-id=1", "--binlog-ignore-db=du"]


@pytest.mark.parametrize(("effect", "binlog"), [*((effect, []) for effect in EFFECTS), ("foreign key", IGNORED)])
def test_rows_that_a_find_shows_are_flushed(make_server, rng, tmp_path, effect, binlog):
    server = make_server(options=["--innodb-flush-log-at-trx-commit=1", *binlog])
    assert finds_before_their_flush(server, rng, tmp_path / "trace", effect) == []


def test_the_trace_sees_finds_that_are_answered_too_early(make_server, rng, tmp_path):
    """The same check on a server that is told not to flush: it must not pass."""
    server = make_server(options=["--innodb-flush-log-at-trx-commit=2"])
    assert finds_before_their_flush(server, rng, tmp_path / "trace", "foreign key") != []
