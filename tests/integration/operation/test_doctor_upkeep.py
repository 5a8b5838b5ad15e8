"""What the library is to remove by itself, and does not: the doctor says so, and why."""

import pytest

import mc
import resp
from account_server import PORT_OPTIONS, start_with_accounts
from doctor import NOTHING, busy, doctor, finds_nothing, says
from mc_tables import WHOLE, Container
from server import run_packaged, wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]

INDEX = ", INDEX e (e)"
ROWS = 300


def expire(container):
    """Rows that expired an hour ago."""
    container.sql.run(f"INSERT INTO {container.table} (k, v, e) VALUES " + ", ".join(
        f"('k{number}', 'v', UNIX_TIMESTAMP() - 3600)" for number in range(ROWS)))


def stands_still(server, container, *words):
    says(server, f"the purge of expired rows of {container.table} (container {container.name}) stands still: {ROWS} have expired",
         *words)


@pytest.fixture
def make(make_server):
    def make(*options):
        server = make_server(options=options)
        server.sql().run("CREATE DATABASE more")
        container = Container(server, "more", "kept", WHOLE + INDEX)
        container.ready()
        return server, container
    return make


def test_a_purge_that_is_switched_off(make):
    server, container = make("--loose-daemon-memcached-purge-rows-per-second=0")
    expire(container)
    stands_still(server, container, "daemon_memcached_purge_rows_per_second is 0",
                 "set daemon_memcached_purge_rows_per_second = 1000 in an option file, and start the server again")
    server.stop()
    server.start(["--loose-daemon-memcached-purge-rows-per-second=1000"])
    wait_until(lambda: int(server.sql().value("SELECT COUNT(*) FROM more.kept")) == 0, 30, "the purge")


def test_a_purge_without_the_right_to_delete(make_server):
    server = start_with_accounts(make_server(options=PORT_OPTIONS, start=False))
    server.sql().run("CREATE DATABASE more")
    container = Container(server, "more", "kept", WHOLE + INDEX)
    container.sql.run("GRANT SELECT, INSERT, UPDATE ON more.kept TO cache@localhost")
    expire(container)
    stands_still(server, container, "the port's account cache@localhost lacks DELETE on more.kept itself",
                 "GRANT DELETE ON `more`.`kept` TO 'cache'@'localhost'")
    container.sql.run("GRANT DELETE ON more.kept TO cache@localhost")
    wait_until(lambda: int(container.sql.value("SELECT COUNT(*) FROM kept")) == 0, 30, "the purge")
    finds_nothing(server)


def test_a_container_that_is_disabled(make):
    server, container = make()
    container.sql.run("ALTER TABLE kept MODIFY f VARCHAR(5)")
    container.map(key_columns="k", value_columns="v,gone", flags="0", cas_column="0", expire_time_column="e",
                  unique_idx_name_on_key="PRIMARY", db_schema="more", db_table="kept")
    wait_until(lambda: "container kept is disabled" in server.log(), 10, "the log")
    expire(container)
    stands_still(server, container, "the container kept is disabled")
    client = mc.connect(server)
    with busy(lambda: client.command("mg @@kept.k v")):
        says(server, "requests over daemon_memcached were answered with an error", "most by daemon_memcached ")


def test_a_purge_that_works(make):
    server, container = make()
    expire(container)
    wait_until(lambda: int(container.sql.value("SELECT COUNT(*) FROM kept")) == 0, 30, "the purge")
    finds_nothing(server)


def test_names_with_a_percent_sign(make):
    server, container = make()
    container.sql.run("CREATE TABLE `half%s off` (`k%` VARBINARY(250) PRIMARY KEY, v BLOB, `e%d` BIGINT NOT NULL, INDEX e (`e%d`)) ENGINE=InnoDB")
    container.map(key_columns="k%", value_columns="v", flags="0", cas_column="0", expire_time_column="e%d",
                  unique_idx_name_on_key="PRIMARY", db_schema="more", db_table="half%s off")
    finds_nothing(server)


@pytest.mark.parametrize("tables_kept", [0, 60])
def test_a_cache_of_open_tables_that_is_too_small(make_server, tables_kept):
    """SQL reads 60 tables in turn, with a cache of 20: where the library's threads keep none of them open, and where they keep all."""
    server = make_server(options=["--table-open-cache=20", "--table-open-cache-instances=1"])
    sql = server.sql()
    sql.run("CREATE DATABASE d")
    for number in range(60):
        sql.run(f"CREATE TABLE d.t{number} (id INT PRIMARY KEY, x INT) ENGINE=InnoDB")
    client = server.hs_rd()
    for number in range(tables_kept):
        client.opened("d", f"t{number}", "", "x").find("=", [1])
    wait_until(lambda: doctor(server) == NOTHING, 30, "what the library opens when it begins")

    def ask():
        for number in range(60):
            sql.run(f"SELECT x FROM d.t{number}")
    with busy(ask):
        says(server, "tables a second are opened because the cache of open ones is full (table_open_cache is 20)",
             "raise table_open_cache")


def test_tables_of_the_library_that_are_gone(make_server):
    server = resp.start(make_server)
    sql, client, cache = server.sql(), resp.Client(server.resp_port), mc.connect(server)
    with busy(lambda: client.ask("GET", "k")):
        says(server, "requests over resp were answered with an error", "the table rowsocket.store, by which strings are served, is not there",
             "rowsocket_store.sql makes it")
        run_packaged(sql, "rowsocket_store.sql")
        wait_until(lambda: "the table rowsocket.store" not in doctor(server), 30, "the end of the trouble")
    run_packaged(sql, "innodb_memcache.sql")
    sql.run("DROP TABLE innodb_memcache.containers")
    with busy(lambda: cache.command("mg k v")):
        says(server, "requests over daemon_memcached were answered with an error", "the table innodb_memcache.containers, by which",
             "innodb_memcache.sql makes it")
    client.close()


def test_strings_of_resp_that_stay(make_server):
    server = resp.start(make_server)
    sql, client = server.sql(), resp.Client(server.resp_port)
    run_packaged(sql, "rowsocket_store.sql")
    sql.run("SET GLOBAL read_only = 1")
    sql.run("INSERT INTO rowsocket.store (k, v, expires) VALUES " + ", ".join(
        f"('k{number}', 'v', (UNIX_TIMESTAMP() - 3600) * 1000 + {number})" for number in range(ROWS)))
    with busy(lambda: client.ask("PING")):
        says(server, f"the purge of expired rows of rowsocket.store (strings of RESP) stands still: {ROWS} have expired",
             "the server is read only")
        sql.run("SET GLOBAL read_only = 0")
        wait_until(lambda: int(sql.value("SELECT COUNT(*) FROM rowsocket.store")) == 0, 30, "the purge")
        wait_until(lambda: doctor(server) == NOTHING, 30, "the end of the trouble")
    client.close()


def test_a_token_that_is_newer_than_the_servers_second(make_server):
    """As after a restore, or where the clock went back."""
    server = make_server()
    sql = server.sql()
    run_packaged(sql, "rowsocket_tokens.sql")
    sql.run("INSERT INTO rowsocket.tokens VALUES ('t', 'r', 'a', UNIX_TIMESTAMP() + 3600)")
    finds_nothing(server)


def test_tokens_without_their_index(make_server):
    """The doctor's look would be a scan of all of them, with what they answered."""
    server = make_server()
    sql = server.sql()
    run_packaged(sql, "rowsocket_tokens.sql")
    finds_nothing(server)
    sql.run("ALTER TABLE rowsocket.tokens DROP KEY created")
    finds_nothing(server)  # it is empty
    sql.run("INSERT INTO rowsocket.tokens VALUES ('t', 'r', 'a', 1)")
    says(server, "rowsocket.tokens has rows, and no index that begins with `created`", "ALTER TABLE rowsocket.tokens ADD KEY created")
    sql.run("ALTER TABLE rowsocket.tokens ADD KEY created (created)")
    finds_nothing(server)
