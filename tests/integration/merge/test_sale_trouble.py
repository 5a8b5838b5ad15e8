"""A sale during a disturbance: acknowledged pieces are taken, refused pieces are not (H8, H10, H12, H13)."""

import pymysql
import pytest

import semisync
from load import Crew, scaled, worker_ids
from sale import Sale, applied, crash_violations, error_violations, make_table
from server import wait_until
from test_replica import Pair

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.sanitized("mariadb", "mysql")]

STOCK = 1_000_000_000


def stock_left(sql, db):
    return int(sql.value(f"SELECT stock FROM {db}.stock WHERE id = 1"))


def grows(sql, counter, stopping):
    """Waits until one of the plugin's counters is larger, or the sale is over."""
    before = sql.status(f"Handlersocket_{counter}")
    wait_until(lambda: stopping.is_set() or sql.status(f"Handlersocket_{counter}") > before, 30,
               counter)


def play_beside(server, db, trouble, taken, connections=64, depth=2):
    """Sells `taken` pieces while trouble(stopping, times) runs on a thread of its own and appends to `times`
    after each disturbance: there is more than one while pieces are sold."""
    make_table(server.sql(), db, STOCK)
    sale = Sale(server, db, connections, depth)
    times = []
    try:
        with Crew() as crew:
            crew.start(trouble, crew.stopping, times)
            sale.play(lambda sale: crew.check() and sale.taken >= taken and len(times) > 1)
    finally:
        sale.close()
    return sale


def vanishing_clients(server, db, rng):
    """30 % of the connections vanish with requests under way; each request is carried out or not at all, and
    the other connections notice nothing. Returns the violations, and the sale."""
    sql = server.sql()
    make_table(sql, db, STOCK)
    sale = Sale(server, db, 200, depth=rng.choice((1, 3)))
    leaving = rng.sample(list(sale.buyers.values()), 60)
    goal = rng.randint(100, 1000)

    def step(sale):
        while leaving and sale.taken > goal * (60 - len(leaving)) / 60:
            sale.leave(leaving.pop())
        return not leaving and sale.taken >= goal
    try:
        sale.play(step)
    finally:
        sale.close()
    # Requests of the last of these connections may still be on their way through the server.
    wait_until(lambda: sql.status("Handlersocket_connections") == 0, 10)
    return crash_violations(sale, STOCK, stock_left(sql, db)) + error_violations(sale), sale


def test_clients_vanish_between_request_and_reply(server, db, sql, rng):
    for _ in range(scaled(5)):
        wrong, sale = vanishing_clients(server, db, rng)
        assert wrong == []
        assert sale.unknown
        sql.run("DROP TABLE stock")


def storm_of_ddl(server, db):
    """DDL beside a sale. Returns the violations, and the sale."""
    def storm(stopping, times):
        other, number = server.sql(db), 0
        while not stopping.is_set():
            number += 1
            other.run(f"ALTER TABLE stock ADD COLUMN c{number} INT DEFAULT {number}")
            other.run(f"ALTER TABLE stock ADD INDEX i{number} (c{number})")
            other.run("OPTIMIZE TABLE stock")
            other.run(f"ALTER TABLE stock DROP COLUMN c{number}, FORCE")
            times.append(number)
    sale = play_beside(server, db, storm, scaled(3000))
    wrong = crash_violations(sale, STOCK, stock_left(server.sql(), db))
    return wrong + error_violations(sale), sale


def test_a_storm_of_ddl_beside_the_sale(server, db):
    wrong, _ = storm_of_ddl(server, db)
    assert wrong == []


def killed_workers(server, db, rng):
    """KILL QUERY and KILL of every thread of the plugin, and SQL transactions that hold the row: a worker
    takes no piece without an answer. Returns the violations, and the sale."""
    def trouble(stopping, times):
        other, holder = server.sql(db), server.sql(db)
        while not stopping.is_set():
            holder.run("BEGIN")
            holder.run("UPDATE stock SET stock = stock WHERE id = 1")
            for worker in worker_ids(other):
                try:
                    other.run(rng.choice(("KILL QUERY %s", "KILL %s")) % worker)
                    times.append(worker)
                except pymysql.MySQLError as error:
                    assert error.args[0] == 1094, error  # the thread has gone
            holder.run("ROLLBACK")
            grows(other, "rows_written", stopping)
    sale = play_beside(server, db, trouble, scaled(2000))
    wrong = [f"answered {line!r}" for line in sale.errors
             if b"kill" not in line and not line.startswith(b"1\t1\t14")]
    return wrong + crash_violations(sale, STOCK, stock_left(server.sql(), db)), sale


def test_killed_workers_take_nothing_that_they_did_not_answer(server, db, rng):
    wrong, _ = killed_workers(server, db, rng)
    assert wrong == []


def test_a_timeout_that_rolls_the_transaction_back(make_server):
    """innodb_rollback_on_timeout: a request that waits for the row and gives up has taken nothing."""
    server = make_server(options=["--innodb-rollback-on-timeout=1", "--innodb-lock-wait-timeout=1"])
    sql = server.sql()

    def trouble(stopping, times):
        holder, other = server.sql("sale"), server.sql()
        while not stopping.is_set():
            holder.run("BEGIN")
            holder.run("UPDATE stock SET stock = stock WHERE id = 1")
            # Every other time the lock is held until a request has given up; otherwise the requests get the
            # row after all.
            grows(other, ("lock_waits", "errors_engine")[len(times) % 2], stopping)
            holder.run("ROLLBACK")
            times.append(1)
            grows(other, "rows_written", stopping)
    sale = play_beside(server, "sale", trouble, scaled(3000))
    assert set(sale.errors) == {b"1\t1\t146"}, sale.errors
    assert crash_violations(sale, STOCK, stock_left(sql, "sale")) == []


def killed_primary(make_server, rng, db):
    """The acknowledged pieces are on the semi-synchronous replica. Returns the violations, the sale, and the
    pair, whose primary is dead."""
    pair = Pair(make_server, *semisync.options(60_000),
                replica_options=["--read-only=1", *semisync.REPLICA_OPTIONS])
    semisync.turn_on(pair.sql, pair.copy)
    make_table(pair.sql, db, STOCK)
    pair.catch_up()  # the replica has the table
    sale = Sale(pair.primary, db, 64)
    try:
        sale.play(lambda sale: sale.taken >= scaled(2000))
        assert semisync.is_on(pair.sql)
        sale.play_until_killed(pair.primary, scaled(2100), rng.uniform(0, 0.03))
    finally:
        sale.close()
    least = min(one.before for one in applied(sale.books))
    wait_until(lambda: stock_left(pair.copy, db) < least, 30, "the last sale on the replica")
    return crash_violations(sale, STOCK, stock_left(pair.copy, db)), sale, pair


@pytest.mark.slow
def test_acknowledged_pieces_are_on_the_semisynchronous_replica(make_server, rng):
    wrong, _, _ = killed_primary(make_server, rng, "sale")
    assert wrong == []
