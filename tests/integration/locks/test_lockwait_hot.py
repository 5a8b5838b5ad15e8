"""A hot row that SQL has locked, or writes as well: its requests wait together and merge again."""

import selectors

import pytest

import hs
from load import Crew, Transaction, scaled
from server import wait_until

pytestmark = pytest.mark.sanitized("mariadb", "mysql")

CLIENTS = 32
TAKE = hs.line(*hs.find_words(0, "=", [1], 1, 0, filters=[("F", ">", 0, 3)], mod=["-", 1]))
TAKEN = hs.counted(1)
STOCK = 1_000_000


@pytest.fixture
def buyers(server, db, sql):
    sql.run("CREATE TABLE hot (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB")
    sql.run(f"INSERT INTO hot VALUES (1, {STOCK})")
    clients = [server.hs_wr() for _ in range(CLIENTS)]
    for client in clients:
        assert client.open_index(0, db, "hot", "PRIMARY", "n", "n") == hs.OK
    yield clients
    for client in clients:
        client.close()


def counter(sql, name):
    return int(sql.status(f"Handlersocket_{name}"))


def buy(clients, requests):
    """Every client asks again as soon as it is answered, until there are so many answers, all of them
    'taken'."""
    with selectors.DefaultSelector() as ready:
        for client in clients:
            ready.register(client.sock, selectors.EVENT_READ, client)
            client.send_raw(TAKE)
        under_way, asked = len(clients), len(clients)
        while under_way:
            events = ready.select(hs.TIMEOUT_S)
            assert events, "no answer"
            for key, _ in events:
                assert key.data.recv() == TAKEN
                under_way -= 1
                if asked < requests:
                    key.data.send_raw(TAKE)
                    under_way, asked = under_way + 1, asked + 1
    return asked


def test_requests_that_waited_for_the_row_are_one_commit(server, db, sql, buyers):
    waits_before, commits_before = counter(sql, "lock_waits"), counter(sql, "commits")
    holder = Transaction(server, db)
    assert holder.run("UPDATE hot SET n = n WHERE id = 1")
    for client in buyers:
        client.send_raw(TAKE)
    wait_until(lambda: counter(sql, "lock_waits") - waits_before == CLIENTS)
    holder.commit()
    for client in buyers:
        assert client.recv() == TAKEN
    # The first request has one commit, perhaps with some others, and all other requests have one; a hand-over
    # may split each once.
    assert counter(sql, "commits") - commits_before <= 4
    bought = CLIENTS + buy(buyers, scaled(5000))
    # From then on only few requests meet the locked row.
    assert counter(sql, "lock_waits") - waits_before <= 3 * CLIENTS
    assert int(sql.value("SELECT n FROM hot")) == STOCK - bought


def test_sql_and_requests_share_a_hot_row(server, db, sql, buyers):
    """SQL transactions are always in the row's queue: both sides make progress, and no change is lost."""
    added = []
    waits_before, commits_before = counter(sql, "lock_waits"), counter(sql, "commits")

    def add(crew):
        other, count = server.sql(db), 0
        while not crew.stopping.is_set():
            # Some of the requests have to come while the row is locked, on a busy machine as well.
            for statement in ("BEGIN", "UPDATE hot SET n = n + 1 WHERE id = 1", "DO SLEEP(0.002)", "COMMIT"):
                other.run(statement)
            count += 1
        other.close()
        added.append(count)

    with Crew() as crew:
        for _ in range(4):
            crew.start(add, crew)
        bought = buy(buyers, scaled(3000))
    assert min(added) > 0
    assert int(sql.value("SELECT n FROM hot")) == STOCK - bought + sum(added)
    assert counter(sql, "lock_waits") > waits_before
    # Requests that wait for the same row are served together, not one transaction each.
    assert counter(sql, "commits") - commits_before < bought / 2
