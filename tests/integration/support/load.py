"""Load: clients that write and read during a test, and their books.

Every request of a writer ends in its books as acknowledged, refused or unknown (no reply came); violations() compares
the books with the tables. The effect of an acknowledged request must be there, of a refused one not, of an unknown one
maybe, but never in part.
"""

import collections
import contextlib
import os
import resource
import threading
import time

import pymysql
import pytest

import hs

SCALE = float(os.environ.get("ROWSOCKET_TEST_SCALE", "1"))
GROUP_ROWS = 4  # rows that one counting request of a writer changes
BINLOG_OPTIONS = ["--log-bin=tests", "--sync-binlog=1", "--server-id=1"]  # server options for a binary log
# Tests of durability run with only the redo log, and also with the binary log.
both_logs = pytest.mark.parametrize("options", [[], BINLOG_OPTIONS], ids=["redo", "binlog"])

TABLES = (
    """CREATE TABLE led (w INT NOT NULL, seq INT NOT NULL, payload VARCHAR(60) NOT NULL,
       note INT DEFAULT 7, PRIMARY KEY (w, seq)) ENGINE=InnoDB""",
    """CREATE TABLE cnt (id INT PRIMARY KEY, w INT NOT NULL, n INT NOT NULL, m INT NOT NULL,
       KEY by_w (w)) ENGINE=InnoDB""",
)


def scaled(count):
    """The number of repetitions: as given in the default run, more (or fewer) by ROWSOCKET_TEST_SCALE."""
    return max(1, round(count * SCALE))


def payload(writer, seq):
    """The only correct content of a row of led."""
    return f"{writer}:{seq}:{(writer * 7919 + seq * 104729) % 1000003:x}"


class Crew:
    """Threads of a test, which it stops and joins at the end; then it raises the first failure of any thread.

        with Crew() as crew:
            crew.start(function, arguments)     # function polls crew.stopping
    """

    def __init__(self, join_timeout_s=40):
        self.stopping = threading.Event()
        self.failures = []
        self.threads = []
        self.join_timeout_s = join_timeout_s

    def start(self, function, *args):
        def guarded():
            try:
                function(*args)
            except BaseException as error:  # noqa: B902 - carried to the test's own thread
                self.failures.append(error)
        thread = threading.Thread(target=guarded, daemon=True)
        self.threads.append(thread)
        thread.start()
        return thread

    def check(self):
        """Raises the failure of a thread, if there is one; to be called in waiting conditions."""
        if self.failures:
            raise self.failures[0]
        return True

    def stop(self):
        self.stopping.set()
        deadline = time.monotonic() + self.join_timeout_s
        for thread in self.threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        self.check()
        stuck = sum(thread.is_alive() for thread in self.threads)
        assert not stuck, f"{stuck} of {len(self.threads)} threads did not come to an end"

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.stopping.set()
        if kind is None:
            self.stop()


class Writer:
    """One connection of the write port that inserts rows of its own and counts in its group."""

    def __init__(self, server, db, number, batch=8, reconnect=False):
        self.server, self.db, self.number = server, db, number
        self.batch, self.reconnect = batch, reconnect
        self.seq = 0
        self.rows = {}  # seq: True acknowledged, False refused, None unknown
        self.counts = {True: 0, False: 0, None: 0}
        self.errors = collections.Counter()
        self.acknowledged = 0
        self.breaks = 0  # connections that ended during the test
        self.client = None

    def prepare(self, sql):
        """Makes the rows that this writer counts in."""
        for row in range(GROUP_ROWS):
            sql.run(f"INSERT INTO {self.db}.cnt VALUES (%s, %s, 0, 0)",
                    self.number * GROUP_ROWS + row, self.number)

    def connect(self):
        self.client = self.server.hs_wr()
        assert self.client.open_index(0, self.db, "led", "PRIMARY", "w,seq,payload").code == 0
        assert self.client.open_index(1, self.db, "cnt", "by_w", "n,m").code == 0

    def next_batch(self):
        """The requests of a batch, each with the place in the books for its outcome."""
        requests = []
        for _ in range(self.batch):
            self.seq += 1
            if self.seq % 4 == 0:
                tokens = hs.find_words(1, "=", [self.number], GROUP_ROWS + 1, 0,
                                       mod=["+", 1, 1])
                requests.append((None, tokens))
            else:
                tokens = (0, "+", 3, self.number, self.seq, payload(self.number, self.seq))
                requests.append((self.seq, tokens))
        return requests

    def settle(self, seq, reply):
        """Writes one outcome into the books."""
        good = reply.code == 0
        if good:
            assert reply == (hs.reply(0, 1, GROUP_ROWS) if seq is None else hs.reply(0, 1)), reply
        self.acknowledged += good
        if not good:
            self.errors[f"{reply.code} {reply.error}"] += 1
        if seq is None:
            self.counts[None] -= 1
            self.counts[good] += 1
        else:
            self.rows[seq] = good

    def run_batch(self):
        requests = self.next_batch()
        for seq, _ in requests:  # unknown already before the first byte is sent
            if seq is None:
                self.counts[None] += 1
            else:
                self.rows[seq] = None
        self.client.send_raw(b"".join(hs.line(*tokens) for _, tokens in requests))
        for seq, _ in requests:
            self.settle(seq, self.client.recv())

    def run(self, stopping):
        """Runs until it is told to stop, or until the connection ends (unless reconnect is set)."""
        while not stopping.is_set():
            try:
                if self.client is None:
                    self.connect()
                self.run_batch()
            except (hs.Closed, ConnectionError, BrokenPipeError):
                self.breaks += 1
                if self.client is not None:
                    self.client.close()
                self.client = None
                if not self.reconnect:
                    return
                stopping.wait(0.02)

    def violations(self, sql):
        """The differences between the tables and the books."""
        wrong = []
        found = {}
        for seq, text, note in sql.rows(
                f"SELECT seq, payload, note FROM {self.db}.led WHERE w = %s", self.number):
            found[int(seq)] = text
            if text.decode() != payload(self.number, int(seq)) or note != b"7":
                wrong.append(f"writer {self.number}: row {seq} holds {text!r} {note!r}")
        for seq, state in self.rows.items():
            if state is True and seq not in found:
                wrong.append(f"writer {self.number}: acknowledged row {seq} is lost")
            if state is False and seq in found:
                wrong.append(f"writer {self.number}: refused row {seq} is there")
        wrong += [f"writer {self.number}: row {seq} was never sent"
                  for seq in found if seq not in self.rows]
        return wrong + self.count_violations(sql)

    def count_violations(self, sql):
        counters = set(sql.rows(f"SELECT n, m FROM {self.db}.cnt WHERE w = %s", self.number))
        if len(counters) != 1 or len(set(next(iter(counters)))) != 1:
            return [f"writer {self.number}: a counting request is half there: {counters}"]
        value = int(next(iter(counters))[0])
        low, high = self.counts[True], self.counts[True] + self.counts[None]
        if not low <= value <= high:
            return [f"writer {self.number}: counted {value}, acknowledged {low}, at most {high}"]
        return []


class Reader:
    """One connection that reads the writers' rows and checks each row that it sees."""

    def __init__(self, server, db, writers, rng, reconnect=False):
        self.server, self.db, self.writers, self.rng = server, db, writers, rng
        self.reconnect = reconnect
        self.client = None
        self.answers = 0
        self.errors = collections.Counter()

    def connect(self):
        self.client = self.server.hs_rd()
        assert self.client.open_index(0, self.db, "led", "PRIMARY", "w,seq,payload").code == 0
        assert self.client.open_index(1, self.db, "cnt", "by_w", "w,n,m").code == 0

    def run_batch(self):
        writer = self.rng.choice(self.writers)
        replies = self.client.pipeline([
            hs.find_words(0, "<=", [writer.number, 1 << 30], 5, 0),
            hs.find_words(0, "=", [writer.number, max(1, self.rng.randrange(writer.seq + 1))]),
            hs.find_words(1, "=", [writer.number], 100, 0)])
        for reply in replies:
            self.answers += 1
            if reply.code:
                self.errors[f"{reply.code} {reply.error}"] += 1
        for reply in replies[:2]:
            for number, seq, text in reply.rows if reply.code == 0 else ():
                assert text.decode() == payload(int(number), int(seq)), reply
        if replies[2].code == 0:
            assert len(replies[2].rows) == GROUP_ROWS, replies[2]
            assert len(set(replies[2].rows)) == 1, f"half of a request seen: {replies[2]}"

    def run(self, stopping):
        while not stopping.is_set():
            try:
                if self.client is None:
                    self.connect()
                self.run_batch()
            except (hs.Closed, ConnectionError, BrokenPipeError):
                self.client = None
                if not self.reconnect:
                    return
                stopping.wait(0.02)


@contextlib.contextmanager
def open_files(count):
    """This process, and those that it starts from here on, may have so many open files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.contextmanager
def clients_kept(server):
    """While this context lasts, only the server's end closes connections, because threads of this process may still use
    them."""
    kept, server.clients = server.clients, []
    try:
        yield
    finally:
        server.clients += kept


def make_tables(sql, db):
    sql.run(f"CREATE DATABASE IF NOT EXISTS {db} CHARACTER SET utf8mb4")
    for statement in TABLES:
        sql.run(statement.replace("TABLE ", f"TABLE {db}.", 1))


def make_writers(server, sql, db, count, first=1, **kwargs):
    writers = [Writer(server, db, first + number, **kwargs) for number in range(count)]
    for writer in writers:
        writer.prepare(sql)
    return writers


def violations(sql, writers):
    return [text for writer in writers for text in writer.violations(sql)]


def errors_of(clients):
    return sum((client.errors for client in clients), collections.Counter())


def processes(sql):
    """SHOW FULL PROCESSLIST as dictionaries of text."""
    names = ("id", "user", "host", "db", "command", "time", "state", "info")
    return [dict(zip(names, (cell.decode(errors="replace") if cell else "" for cell in row)))
            for row in sql.rows("SHOW FULL PROCESSLIST")]


def worker_ids(sql):
    """The ids of the plugin's own threads in SHOW PROCESSLIST; a session that asks for one of the plugin's counters is none."""
    return [int(row["id"]) for row in processes(sql)
            if any(row[name].lower().startswith("handlersocket") for name in ("user", "state", "info"))]


def lock_waits(sql):
    """The number of transactions that wait for a row lock now. (InnoDB refreshes this ten times a second.)"""
    return int(sql.value("SELECT COUNT(*) FROM information_schema.innodb_trx"
                         " WHERE trx_state = 'LOCK WAIT'"))


class Transaction:
    """A SQL session with a transaction; expected errors that end it are told apart from real failures."""

    VICTIM = (1205, 1213)  # lock wait timeout, deadlock

    def __init__(self, server, db):
        self.sql = server.sql(db)
        self.sql.run("SET autocommit = 0")

    def run(self, statement, *args):
        """False if the transaction ended as the victim of a deadlock or of a timeout (all rolled back)."""
        try:
            self.sql.run(statement, *args)
            return True
        except pymysql.MySQLError as error:
            if error.args[0] not in self.VICTIM:
                raise
            self.sql.run("ROLLBACK")
            return False

    def commit(self):
        self.sql.run("COMMIT")

    def rollback(self):
        self.sql.run("ROLLBACK")

    def close(self):
        self.sql.close()
