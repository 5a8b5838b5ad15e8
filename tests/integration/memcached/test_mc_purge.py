"""The rows that the purge and flush_all remove when other rows stay."""

import pytest

import mc
from mc_tables import WHOLE, Container
from server import is_mysql, wait_until

pytestmark = pytest.mark.ours

INDEXED = {"indexed": ", INDEX e (e)", "scanned": ""}


@pytest.fixture
def server(make_server):
    server = make_server(options=["--loose-daemon-memcached-purge-rows-per-second=1000",
                                  "--loose-daemon-memcached-flush-all=ON",
                                  "--innodb-flush-log-at-trx-commit=0"])
    server.sql().run("CREATE DATABASE more")
    return server


def fill(sql, table, columns, values, count):
    """Rows with these values, in which `n` counts from 1."""
    if not is_mysql():
        sql.run("SET max_recursive_iterations = 1000000")
    sql.run(f"INSERT INTO {table} ({columns}) WITH RECURSIVE numbers (n) AS"
            f" (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count})"
            f" SELECT {values} FROM numbers")


def await_rows(container, count):
    there = f"SELECT COUNT(*) FROM {container.table}"
    wait_until(lambda: int(container.sql.value(there)) == count, 30, f"{count} rows", 0.1)


@pytest.mark.parametrize("index", INDEXED.values(), ids=INDEXED)
def test_rows_that_a_foreign_key_keeps_keep_no_others_back(server, index):
    container = Container(server, "more", "kept", WHOLE + index)
    sql = container.sql
    sql.run("CREATE TABLE child (k VARBINARY(250), FOREIGN KEY (k) REFERENCES kept (k)) ENGINE=InnoDB")
    sql.run("START TRANSACTION")
    fill(sql, "kept", "k, v, e", "CONCAT('a', n), 'kept', 1000", 350)
    sql.run("INSERT INTO child SELECT k FROM kept")
    fill(sql, "kept", "k, v, e", "CONCAT('b', n), 'same', 1000", 50)
    fill(sql, "kept", "k, v, e", "CONCAT('c', n), 'later', 2000", 250)
    fill(sql, "kept", "k, v, e", "CONCAT('d', n), 'lives', 0", 20)
    sql.run("COMMIT")
    await_rows(container, 370)
    assert sql.value("SELECT COUNT(*) FROM kept WHERE v = 'kept'") == b"350"
    sql.run("DELETE FROM child")
    await_rows(container, 20)


@pytest.mark.parametrize("index", INDEXED.values(), ids=INDEXED)
def test_a_locked_row_that_costs_the_transaction_keeps_no_others_back(make_server, index):
    """innodb_rollback_on_timeout: a wait for a row that ends takes the whole transaction back."""
    server = make_server(options=["--loose-daemon-memcached-purge-rows-per-second=1000",
                                  "--innodb-rollback-on-timeout=ON"])
    server.sql().run("CREATE DATABASE more")
    server.sql("more").run(f"CREATE TABLE locked ({WHOLE + index}) ENGINE=InnoDB")
    locker = server.sql("more")
    fill(locker, "locked", "k, v, e", "CONCAT('k', n), 'old', 1000", 50)
    locker.run("BEGIN")
    locker.run("SELECT * FROM locked WHERE k = 'k17' FOR UPDATE")
    container = Container.of(server, "more.locked", "k", "v")
    container.map(key_columns="k", value_columns="v", flags="f", cas_column="c", expire_time_column="e",
                  unique_idx_name_on_key="PRIMARY", db_schema="more", db_table="locked")
    await_rows(container, 1)
    assert container.sql.rows("SELECT k FROM locked") == [(b"k17",)]
    locker.run("ROLLBACK")
    await_rows(container, 0)


@pytest.mark.parametrize("index", INDEXED.values(), ids=INDEXED)
def test_rows_with_a_null_in_their_key_keep_no_others_back(server, index):
    columns = ("id INT AUTO_INCREMENT PRIMARY KEY, a INT, b INT, v INT, e BIGINT, UNIQUE KEY k (a, b)")
    container = Container(server, "more", "nulls", columns + index, key="a,b", flags="0", token="0",
                          index="k")
    sql = container.sql
    sql.run("START TRANSACTION")
    for a, b in (("NULL", "NULL"), ("1", "NULL"), ("NULL", "n")):
        fill(sql, "nulls", "a, b, e", f"{a}, {b}, 1000", 150)
    fill(sql, "nulls", "a, b, e", "1, n, 1000", 150)
    fill(sql, "nulls", "a, b, e", "2, n, 2000", 150)
    fill(sql, "nulls", "a, b, e", "3, n, NULL", 20)
    sql.run("COMMIT")
    await_rows(container, 470)


@pytest.mark.parametrize("kind", ["BIGINT NOT NULL", "BIGINT", "DECIMAL(20, 3)"])
def test_rows_that_expired_before_1970_are_purged(server, kind):
    """The index has these rows in front of the rows that never expire."""
    container = Container(server, "more", "early",
                          f"k INT PRIMARY KEY, v INT, e {kind} DEFAULT 0, INDEX e (e)", flags="0", token="0")
    sql = container.sql
    sql.run("START TRANSACTION")
    fill(sql, "early", "k, e", "n, -1 - n MOD 7", 150)
    fill(sql, "early", "k, e", "1000 + n, 0", 150)
    fill(sql, "early", "k, e", "2000 + n, 1", 150)
    fill(sql, "early", "k, e", "3000 + n, UNIX_TIMESTAMP() + 1000", 20)
    if "NOT NULL" not in kind:
        fill(sql, "early", "k, e", "4000 + n, NULL", 150)
    sql.run("COMMIT")
    await_rows(container, 170 if "NOT NULL" in kind else 320)
    assert sql.value("SELECT COUNT(*) FROM early WHERE e < 0 OR e = 1") == b"0"


@pytest.mark.parametrize("column", ["INT", "VARBINARY(20)"])
def test_a_flush_deletes_rows_with_a_null_in_their_key(server, column):
    """There are more rows with a NULL in their key than are deleted at a time."""
    one = Container(server, "more", "one", f"id INT AUTO_INCREMENT PRIMARY KEY, k {column}, v INT,"
                    " UNIQUE KEY k (k)", flags="0", token="0", expiry="0", index="k")
    two = Container(server, "more", "two", f"id INT AUTO_INCREMENT PRIMARY KEY, a {column}, b {column},"
                    " v INT, UNIQUE KEY k (a, b)", key="a,b", flags="0", token="0", expiry="0", index="k")
    sql = one.sql
    fill(sql, "one", "k", "NULL", 25000)
    fill(sql, "one", "k", "n", 50)
    fill(sql, "two", "a, b", "NULL, NULL", 12000)
    fill(sql, "two", "a, b", "NULL, n", 12000)
    fill(sql, "two", "a, b", "1, NULL", 25000)
    fill(sql, "two", "a, b", "1 + n MOD 2, n", 50)
    fill(sql, "two", "a, b", "2, NULL", 12000)
    fill(sql, "two", "a, b", "3, n", 50)
    client = mc.connect(server)
    for container in (one, two):
        wait_until(lambda: isinstance(client.get(f"@@{container.name}"), dict), 10, "the container")
        assert client.command("flush_all") == b"OK"
        assert sql.value(f"SELECT COUNT(*) FROM {container.name}") == b"0"
