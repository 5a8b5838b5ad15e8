"""Deadlocks with SQL transactions (row 1 of docs/WRONGS.md): the table has exactly the acknowledged changes.

Socket clients only ever add 1 to column hs, SQL transactions only to column q, so that after any
interleaving hs of a row is exactly the number of acknowledged requests that changed it.
"""

import collections
import threading

import pytest

import hs
from load import Crew, Transaction, lock_waits, scaled
from server import is_mysql, wait_until

pytestmark = pytest.mark.again_in("mariadb-11.8", "mysql-9.7")

ROWS = 6
ALLOWED = {"146", "149"}  # lock wait timeout; a deadlock that retries did not resolve


def make_table(sql, db):
    sql.run(f"CREATE DATABASE IF NOT EXISTS {db}")
    sql.run(f"DROP TABLE IF EXISTS {db}.dl, {db}.weight")
    sql.run(f"CREATE TABLE {db}.dl (id INT PRIMARY KEY, hs INT NOT NULL DEFAULT 0,"
            " q INT NOT NULL DEFAULT 0, grp INT NOT NULL, KEY (grp)) ENGINE=InnoDB")
    sql.run(f"CREATE TABLE {db}.weight (id INT AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB")
    for row in range(1, ROWS + 1):
        sql.run(f"INSERT INTO {db}.dl (id, grp) VALUES (%s, %s)", row, row % 2)


def weigh(transaction, rows=200):
    """InnoDB rolls back the transaction that has changed least: after this weight, not this transaction."""
    values = ",".join(["(NULL)"] * rows)
    assert transaction.run(f"INSERT INTO weight VALUES {values}")


def add_one(low, high):
    """One request that adds 1 to each row from low to high."""
    if low == high:
        return hs.find_words(0, "=", [low], 1, 0, mod=["+", 1])
    return hs.find_words(0, ">=", [low], high - low + 1, 0, mod=["+", 1])


def differences(sql, db, acknowledged):
    """Rows whose hs is not the number of acknowledged additions, as text."""
    found = {int(row): int(count) for row, count in sql.rows(f"SELECT id, hs FROM {db}.dl")}
    return [f"row {row}: {acknowledged[row]} additions acknowledged, {found[row]} in the table"
            for row in found if found[row] != acknowledged[row]]


def deadlocks(sql):
    """How many deadlocks InnoDB has met."""
    return int(sql.value("SELECT count FROM information_schema.innodb_metrics WHERE name = 'lock_deadlocks'")
               if is_mysql() else sql.status("Innodb_deadlocks"))


def opened(server, db):
    client = server.hs_wr()
    assert client.open_index(0, db, "dl", "PRIMARY", "hs") == hs.reply(0, 1)
    assert client.open_index(1, db, "dl", "grp", "hs") == hs.reply(0, 1)
    return client


def soon(sql, seconds):
    """Gives the socket's request the time to run into the lock, if it waits for a lock at all."""
    try:
        wait_until(lambda: lock_waits(sql), seconds)
    except TimeoutError:
        pass


def cross_locks(server, db, first, then, pipelines, until_lock_s=0.5):
    """A heavy SQL transaction locks row `first`; the pipelines of requests (for which rows) are sent; then
    the transaction locks row `then`. Returns (acknowledged additions by row, all error replies)."""
    sql = server.sql(db)
    acknowledged, errors = collections.Counter(), []
    transaction = Transaction(server, db)
    weigh(transaction)
    assert transaction.run("UPDATE dl SET q = q + 1 WHERE id = %s", first)
    clients = [opened(server, db) for _ in pipelines]
    for client, requests in zip(clients, pipelines):
        client.send_raw(b"".join(hs.line(*add_one(low, high)) for low, high in requests))
    soon(sql, until_lock_s)
    if transaction.run("UPDATE dl SET q = q + 1 WHERE id = %s", then):
        transaction.commit()
    for client, requests in zip(clients, pipelines):
        for low, high in requests:
            reply = client.recv(30)
            if reply == hs.reply(0, 1, high - low + 1):
                acknowledged.update(range(low, high + 1))
            else:
                errors.append(reply)
    return acknowledged, errors


def pipelined_updates_and_a_deadlock(server, db):
    """Row 1 of docs/WRONGS.md. Returns the violations."""
    sql = server.sql()
    make_table(sql, db)
    acknowledged, errors = cross_locks(server, db, 2, 1, [
        [(row, row) for row in rows] for rows in ((1, 2, 3), (4, 5), (6, 4))], until_lock_s=10)
    return differences(sql, db, acknowledged) + [f"answered {error}" for error in errors]


def test_a_deadlock_loses_nothing_that_was_acknowledged(server, db):
    assert pipelined_updates_and_a_deadlock(server, db) == []


def random_shape(server, db, rng):
    """One deadlock with a transaction, in pipelines of requests for one row each, or also for several rows.
    Returns the violations, and the number of acknowledged additions."""
    sql = server.sql()
    make_table(sql, db)
    first, then = rng.sample(range(1, ROWS + 1), 2)
    several = then < first and rng.random() < 0.8

    def request():
        rows = [rng.randint(1, ROWS) for _ in range(2 if several else 1)]
        return min(rows), max(rows)
    pipelines = [[request() for _ in range(rng.randint(1, 8))] for _ in range(rng.randint(1, 3))]
    # The cycle of the deadlock, within one request or over several.
    pipelines[0] = ([(then, first), *pipelines[0]] if several else
                    [(then, then), *pipelines[0], (first, first)])
    acknowledged, errors = cross_locks(server, db, first, then, pipelines)
    wrong = differences(sql, db, acknowledged) + [
        f"answered {error}" for error in errors if not (several and error == hs.reply(1, 1, 149))]
    shape = f"SQL locks {first} then {then}; pipelines {pipelines}"
    return [f"{text} ({shape})" for text in wrong], acknowledged.total()


def test_seeded_shapes_of_two_transactions(server, db, rng):
    sql = server.sql()
    before = deadlocks(sql)
    for _ in range(scaled(12)):
        wrong, _ = random_shape(server, db, rng)
        assert wrong == []
    assert deadlocks(sql) > before


class StormClient:
    """Pipelines of random additions to one row, or to several by one request."""

    def __init__(self, server, db, rng):
        self.client = opened(server, db)
        self.rng = rng
        self.acknowledged = collections.Counter()
        self.errors = collections.Counter()
        self.batches = 0

    def request(self):
        kind = self.rng.randrange(4)
        if kind == 0:
            low = self.rng.randint(1, ROWS)
            return list(range(low, ROWS + 1)), add_one(low, ROWS)
        if kind == 1:
            group = self.rng.randrange(2)
            rows = [row for row in range(1, ROWS + 1) if row % 2 == group]
            return rows, hs.find_words(1, "=", [group], ROWS, 0, mod=["+", 1])
        row = self.rng.randint(1, ROWS)
        return [row], add_one(row, row)

    def run(self, stopping):
        while not stopping.is_set():
            batch = [self.request() for _ in range(self.rng.randint(1, 12))]
            replies = self.client.pipeline([tokens for _, tokens in batch])
            for (rows, tokens), reply in zip(batch, replies):
                if reply.code == 0:
                    assert reply == hs.reply(0, 1, len(rows)), (tokens, reply)
                    self.acknowledged.update(rows)
                else:
                    self.errors[reply.error] += 1
            self.batches += 1


def sql_transactions(server, db, rng, stopping, ended):
    transaction = Transaction(server, db)
    while not stopping.is_set():
        if rng.random() < 0.5:
            weigh(transaction, rng.randint(1, 40))
        rows = rng.sample(range(1, ROWS + 1), rng.randint(2, 4))
        if all(transaction.run("UPDATE dl SET q = q + 1 WHERE id = %s", row) for row in rows):
            transaction.commit() if rng.random() < 0.8 else transaction.rollback()
            ended["whole"] += 1
        else:
            ended["victim"] += 1


def storm(server, db, rng, batches):
    """Clients and transactions at once; returns (violations, errors by text, how transactions ended)."""
    sql = server.sql()
    make_table(sql, db)
    clients = [StormClient(server, db, rng.__class__(rng.random())) for _ in range(4)]
    ended = collections.Counter()
    with Crew(join_timeout_s=90) as crew:
        for client in clients:
            crew.start(client.run, crew.stopping)
        for _ in range(3):
            crew.start(sql_transactions, server, db, rng.__class__(rng.random()), crew.stopping,
                       ended)
        wait_until(lambda: crew.check() and sum(client.batches for client in clients) >= batches
                   and ended["whole"] >= batches // 4, 90, "enough batches and transactions")
    acknowledged = sum((client.acknowledged for client in clients), collections.Counter())
    errors = sum((client.errors for client in clients), collections.Counter())
    return differences(sql, db, acknowledged), errors, ended


@pytest.mark.parametrize("options", [
    [], ["--innodb-rollback-on-timeout=ON", "--innodb-lock-wait-timeout=1"],
    ["--innodb-deadlock-detect=OFF", "--innodb-lock-wait-timeout=1"]],
    ids=["default", "rollback_on_timeout", "no_deadlock_detection"])
def test_storm(make_server, rng, options):
    server = make_server(options=options + ["--innodb-flush-log-at-trx-commit=2"])
    wrong, errors, ended = storm(server, "storm", rng, scaled(200 if not options else 40))
    assert wrong == []
    assert set(errors) <= ALLOWED, errors
    if "--innodb-deadlock-detect=OFF" in options:
        assert ended["victim"] > 0, "InnoDB counts no deadlock that it does not look for"
    else:
        assert deadlocks(server.sql()) > 0


def test_a_timeout_inside_a_batch_keeps_the_others(make_server):
    """The request that times out answers 146; the requests before and after it in the same batch are
    acknowledged only if their changes are there, even when a timeout rolls the whole transaction back."""
    for option in ("OFF", "ON"):
        server = make_server(options=[f"--innodb-rollback-on-timeout={option}",
                                      "--innodb-lock-wait-timeout=1"])
        sql = server.sql()
        make_table(sql, "late")
        holder = Transaction(server, "late")
        assert holder.run("UPDATE dl SET q = q + 1 WHERE id = 2")
        client, other = opened(server, "late"), opened(server, "late")
        rows = (1, 2, 3, 1)
        client.send_raw(b"".join(hs.line(*add_one(row, row)) for row in rows))
        assert other.request(*add_one(5, 5)) == hs.reply(0, 1, 1)
        replies = [client.recv(30) for _ in rows]
        holder.commit()
        assert replies == [hs.reply(0, 1, 1), hs.reply(1, 1, 146), hs.reply(0, 1, 1),
                           hs.reply(0, 1, 1)]
        assert differences(sql, "late", collections.Counter({1: 2, 3: 1, 5: 1})) == []


def test_inserts_that_collide_with_transactions(server, db, rng):
    """Duplicate keys of rows that SQL has inserted and not yet committed: the answer follows from the
    transaction's end."""
    sql = server.sql(db)
    sql.run("CREATE TABLE ins (id INT PRIMARY KEY, who CHAR(1), u INT UNIQUE) ENGINE=InnoDB")
    client = server.hs_wr()
    assert client.open_index(0, db, "ins", "", "id,who,u").code == 0
    for base in range(0, scaled(10) * 10, 10):
        transaction = Transaction(server, db)
        taken = rng.sample(range(1, 9), 3)
        for number in taken:
            assert transaction.run("INSERT INTO ins VALUES (%s, 's', %s)", base + number,
                                   base + number)
        order = rng.sample(range(1, 9), 8)
        sender = threading.Thread(target=client.send_raw, args=(b"".join(
            hs.line(0, "+", 3, base + number, "h", base + number) for number in order),))
        sender.start()
        sender.join()
        soon(sql, 0.2)
        commits = rng.random() < 0.5
        transaction.commit() if commits else transaction.rollback()
        replies = [client.recv(30) for _ in order]
        refused = set(taken) if commits else set()
        assert replies == [hs.reply(1, 1, 121) if number in refused else hs.reply(0, 1)
                           for number in order]
        rows = dict(sql.rows("SELECT id, who FROM ins WHERE id >= %s", base))
        assert rows == {b"%d" % (base + number): b"s" if number in refused else b"h"
                        for number in order}
