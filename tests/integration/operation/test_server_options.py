"""Global defaults of SQL sessions must not change the effect of a request, nor its durability: a worker's
session belongs to no user, and the server checks some of the defaults in code that only SQL runs."""

import pymysql
import pytest

import hs
from load import Crew, scaled
from mc_tables import WHOLE, Container
from server import is_mysql, server_name, wait_until

pytestmark = pytest.mark.ours

OK = hs.reply(0, 1)
# Options that the server does not have mean nothing to it.
DEFAULTS = [
    "--autocommit=0",
    "--binlog-row-image=MINIMAL",
    "--completion-type=CHAIN",
    "--completion-type=RELEASE",
    "--enforce-storage-engine=MyISAM",
    "--foreign-key-checks=0",
    "--idle-write-transaction-timeout=1",
    "--idle-transaction-timeout=1",
    "--innodb-flush-log-at-trx-commit=3",
    "--innodb-rollback-on-timeout=1",
    "--innodb-snapshot-isolation=1",
    "--low-priority-updates=1",
    "--old-mode=",
    "--query-cache-type=1",
    "--sql-mode=",
    f"--sql-mode=ANSI,NO_AUTO_VALUE_ON_ZERO,TIME_{'TRUNCATE' if is_mysql() else 'ROUND'}_FRACTIONAL",
    "--plugin-load-add=thread_pool.so" if is_mysql() else "--thread-handling=pool-of-threads",
    "--transaction-isolation=READ-UNCOMMITTED",
    "--transaction-isolation=SERIALIZABLE",
    "--transaction-read-only=1",
    "--unique-checks=0",
    "--userstat=1",
]


@pytest.mark.parametrize("binlog", [(), ("--log-bin", "--server-id=1", "--binlog-format=STATEMENT")],
                         ids=["", "binlog"])
@pytest.mark.parametrize("option", DEFAULTS)
def test_requests_mean_the_same_whatever_sql_sessions_begin_with(make_server, option, binlog):
    server = make_server(options=["--loose" + option[1:], *binlog])
    sql = server.sql()
    sql.run("SET SESSION TRANSACTION READ WRITE")
    if not is_mysql():
        sql.run("SET enforce_storage_engine = NULL")
    sql.run("CREATE DATABASE so")
    sql.run("CREATE TABLE so.t (id INT PRIMARY KEY, v CHAR(5) NOT NULL, n INT NOT NULL)"
            " ENGINE=InnoDB")
    clients = [server.hs_wr() for _ in range(3)]
    for client in clients:
        assert client.open_index(0, "so", "t", "", "id,v,n", "n").code == 0
        assert client.open_index(1, "so", "t", "", "n", "n").code == 0
    first = clients[0]
    assert first.pipeline([[0, "+", 3, key, b"a", 10] for key in range(1, 6)]) == [OK] * 5
    assert first.insert(0, [1, b"b", 1]) == hs.reply(1, 1, 121)
    take = hs.find_words(1, "=", [1], 1, 0, filters=[("F", ">", 0, 3)], mod=["-?", 1])
    for client in clients:
        client.send_raw(hs.line(*take) * 4)
    shown = [client.recv() for client in clients for _ in range(4)]
    assert sorted(shown, key=str) == sorted(
        [hs.reply(0, 1, number) for number in range(4, 11)] + [hs.reply(0, 1)] * 5, key=str)
    assert first.pipeline([hs.find_words(0, "=", [2], 1, 0, mod=["U", 2, b"c", 7]),
                           hs.find_words(0, "=", [3], 1, 0, mod=["D"]),
                           hs.find_words(0, "=", [2], 1, 0)]) == [
        hs.reply(0, 1, 1), hs.reply(0, 1, 1), hs.reply(0, 3, 2, b"c", 7)]
    reader = server.hs_rd()
    assert reader.open_index(0, "so", "t", "", "id,v,n").code == 0
    assert reader.find(0, "=", [1]) == hs.reply(0, 3, 1, b"a", 3)
    assert sql.rows("SELECT id, n FROM so.t ORDER BY id") == [
        (b"1", b"3"), (b"2", b"7"), (b"4", b"10"), (b"5", b"10")]


@pytest.mark.again_in("mysql-9.7")
@pytest.mark.mysql("a plugin that takes connections over, and is told of their waits")
def test_a_thread_pool_that_is_loaded_later_makes_no_worker_wait(make_server):
    """InnoDB tells the pool of its waits, which calls no other library."""
    server = make_server(options=["--plugin-load-add=thread_pool.so"])
    sql, holder = server.sql(), server.sql()
    assert sql.value("SELECT @@thread_handling") != b"one-thread-per-connection"
    sql.run("CREATE DATABASE so")
    sql.run("CREATE TABLE so.t (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB")
    sql.run("INSERT INTO so.t VALUES (1, 0), (2, 0)")
    waits = "SELECT COUNT(*) FROM performance_schema.data_lock_waits"
    for times in (1, 2, 3):
        waiting, free = server.hs_wr(), server.hs_wr()
        for client in (waiting, free):
            assert client.open_index(0, "so", "t", "", "n") == OK
        holder.run("BEGIN")
        holder.run("UPDATE so.t SET n = 5 WHERE id = 1")
        waiting.send(*hs.find_words(0, "=", [1], 1, 0, mod=["+", 1]))
        wait_until(lambda: sql.value(waits) != b"0", 20, "a wait")
        assert free.modify(0, "=", [2], ["+", 1]) == hs.counted(1)
        assert not waiting.readable(0), "the row is still locked"
        holder.run("COMMIT")
        assert waiting.recv() == hs.counted(1)
        assert sql.rows("SELECT n FROM so.t ORDER BY id") == [(b"6",), (b"%d" % times,)]
        assert server.log().count("rowsocket.so has put itself in front of it") == 1
        sql.run("UNINSTALL SONAME 'rowsocket'")
        sql.run("INSTALL SONAME 'rowsocket'")


def test_a_private_server_writes_no_file_for_its_clients(make_server):
    """Its root has no password, and every local user reaches its port."""
    server = make_server(plugin="none")
    file = server.directory / "run/written"
    assert server.sql().error(f"SELECT 1 INTO OUTFILE '{file}'") == 1290  # ER_OPTION_PREVENTS_STATEMENT
    assert not file.exists()


@pytest.mark.mariadb("MySQL has this option only for a new data directory")
def test_names_of_tables_are_folded_as_sql_folds_them(make_server):
    """Two spellings are one table: their requests for one row are merged."""
    server = make_server(options=["--lower-case-table-names=1"])
    sql = server.sql()
    sql.run("CREATE DATABASE So")
    sql.run("CREATE TABLE So.StÖck (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB")
    sql.run("INSERT INTO so.stöck VALUES (1, 10)")
    client = server.hs_wr()
    assert client.open_index(0, "SO", "STÖCK", "", "n").code == 0
    assert client.open_index(1, "so", "stöck", "", "n").code == 0
    merged = int(sql.status("Handlersocket_merged_requests"))
    assert client.pipeline([hs.find_words(number % 2, "=", [1], 1, 0, mod=["-?", 1])
                            for number in range(4)]) == [hs.reply(0, 1, 10 - taken)
                                                         for taken in range(4)]
    assert int(sql.status("Handlersocket_merged_requests")) == merged + 4
    # An invalid name is not cut at its first invalid byte.
    for name in (b"so\xff", b"so\xc3", b"Sox", "so\u0130"):
        assert client.open_index(2, name, "stöck", "", "n") == hs.refused(1, "open_table")
    assert client.open_index(2, "MySQL", "user", "", "Host") == hs.refused(1, "systemtable")


def test_a_write_after_a_find_of_another_client_has_no_snapshot(make_server):
    """innodb_snapshot_isolation concerns transactions that have a view of their own."""
    server = make_server(options=["--loose-innodb-snapshot-isolation=ON"])
    sql = server.sql()
    sql.run("CREATE DATABASE so")
    sql.run("CREATE TABLE so.t (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB")
    sql.run("INSERT INTO so.t SELECT seq, 0 FROM seq_1_to_100".replace("seq_1", "so.seq_1"))
    client = server.hs_wr()
    assert client.open_index(0, "so", "t", "", "n").code == 0

    def add_to(row):
        return hs.find_words(0, "=", [row], 1, 0, mod=["+", 1])
    requests = [add_to(1), hs.find_words(0, "=", [1]), *(add_to(row) for row in range(3, 101)), add_to(2)]
    with Crew() as crew:
        def add():
            other = server.sql("so")
            while not crew.stopping.is_set():
                other.run("UPDATE t SET n = n + 1 WHERE id = 2")
        crew.start(add)
        codes = [reply.code for _ in range(scaled(200)) for reply in client.pipeline(requests)]
    assert codes == [0] * len(codes)


def test_defaults_follow_the_language_and_the_week(make_server):
    server = make_server()
    sql = server.sql()
    sql.run("CREATE DATABASE so")
    sql.run("CREATE TABLE so.t (id INT PRIMARY KEY, day VARCHAR(20) DEFAULT (DATE_FORMAT('2024-01-01', '%W')),"
            " week INT DEFAULT (WEEK('2024-01-01')))")
    client = server.hs_wr()
    assert client.open_index(0, "so", "t", "", "id").code == 0
    assert client.insert(0, [1]) == OK
    sql.run("SET GLOBAL lc_time_names = 'de_DE'")
    assert client.insert(0, [2]) == OK
    sql.run("SET GLOBAL default_week_format = 3")
    assert client.insert(0, [3]) == OK
    server.sql().run("INSERT INTO so.t (id) VALUES (4)")
    last = (b"Montag", b"0" if is_mysql() else b"1")  # in MySQL, CREATE TABLE decides of the week
    assert sql.rows("SELECT day, week FROM so.t ORDER BY id") == [
        (b"Monday", b"0"), (b"Montag", b"0"), last, last]


@pytest.mark.again_in("mariadb-11.8", "mysql-9.7")
@pytest.mark.parametrize("variable, value, column", [
    ("div_precision_increment", 20, "DECIMAL(40,30) DEFAULT (a / 3)"),
    pytest.param("block_encryption_mode", "'aes-256-ecb'", "VARCHAR(99) DEFAULT (HEX(AES_ENCRYPT(a, 'key')))",
                 marks=pytest.mark.skipif(server_name() == "mariadb-10.11", reason="the variable is there since 11.2")),
])
def test_expressions_follow_the_variables_that_they_ask(make_server, variable, value, column):
    """As an SQL session that connects now, also where the worker has written to the table before."""
    server = make_server()
    sql = server.sql()
    sql.run("CREATE DATABASE so")
    sql.run(f"CREATE TABLE so.t (id INT PRIMARY KEY, a INT DEFAULT 1, x {column})")
    client = server.hs_wr()
    assert client.open_index(0, "so", "t", "", "id").code == 0
    assert client.insert(0, [9]) == OK
    sql.run(f"SET GLOBAL {variable} = {value}")
    sql.run("FLUSH TABLES so.t")
    assert client.insert(0, [1]) == OK
    server.sql().run("INSERT INTO so.t (id) VALUES (2)")
    ours, sqls, before = (sql.value(f"SELECT x FROM so.t WHERE id = {row}") for row in (1, 2, 9))
    assert ours == sqls != before


def test_texts_of_expressions_follow_max_allowed_packet(make_server):
    server = make_server()
    sql = server.sql()
    sql.run("CREATE DATABASE so")
    sql.run("CREATE TABLE so.t (id INT PRIMARY KEY, a INT DEFAULT 1, x INT DEFAULT (LENGTH(REPEAT(a, 20000))))")
    client = server.hs_wr()
    assert client.open_index(0, "so", "t", "", "id").code == 0
    assert client.insert(0, [1]) == OK
    sql.run("SET GLOBAL max_allowed_packet = 16384")
    with pytest.raises(pymysql.err.MySQLError) as refusal:
        server.sql().run("INSERT INTO so.t (id) VALUES (2)")
    answer = client.insert(0, [2])
    assert (answer.code, refusal.value.args[0]) == (1, 1301) and answer[2] == b"1301"


@pytest.mark.mysql("explicit_defaults_for_timestamp")
@pytest.mark.again_in("mysql-9.7")
def test_null_in_a_timestamp_follows_the_variable(make_server):
    server = make_server()
    sql = server.sql()
    sql.run("CREATE DATABASE so")
    sql.run("CREATE TABLE so.t (id INT PRIMARY KEY, at TIMESTAMP NOT NULL)")
    client = server.hs_wr()
    assert client.open_index(0, "so", "t", "", "id,at").code == 0
    assert client.insert(0, [1, None]).code == 1
    sql.run("SET GLOBAL explicit_defaults_for_timestamp = OFF")
    assert client.insert(0, [1, None]) == OK
    server.sql("so").run("INSERT INTO t VALUES (2, NULL)")
    assert sql.value("SELECT COUNT(*) FROM so.t WHERE at > NOW() - INTERVAL 1 HOUR") == b"2"
    sql.run("SET GLOBAL explicit_defaults_for_timestamp = ON")
    assert client.insert(0, [3, None]).code == 1


@pytest.mark.mariadb("default_regex_flags")
def test_regular_expressions_follow_their_flags(make_server):
    server = make_server()
    sql = server.sql()
    sql.run("CREATE DATABASE so")
    sql.run("CREATE TABLE so.t (id INT PRIMARY KEY, x VARCHAR(9), CHECK (x REGEXP '^a.b$'))")
    client = server.hs_wr()
    assert client.open_index(0, "so", "t", "", "id,x").code == 0
    assert client.insert(0, [1, "a\nb"]).code == 1
    sql.run("SET GLOBAL default_regex_flags = 'DOTALL'")
    sql.run("FLUSH TABLES so.t")  # as in SQL, an open table keeps its compiled pattern
    assert client.insert(0, [2, "a\nb"]) == OK
    assert sql.rows("SELECT id FROM so.t") == [(b"2",)]


def test_current_user_of_a_default(make_server):
    server = make_server()
    sql = server.sql()
    sql.run("CREATE DATABASE so")
    sql.run("CREATE TABLE so.t (id INT PRIMARY KEY, u VARCHAR(99) DEFAULT (CURRENT_USER()))")
    client = server.hs_wr()
    assert client.open_index(0, "so", "t", "", "id").code == 0
    assert client.insert(0, [1]) == OK
    assert sql.value("SELECT u FROM so.t") == b"handlersocket@localhost"


def test_padding_of_char_is_not_part_of_a_memcached_key(make_server):
    """PAD_CHAR_TO_FULL_LENGTH: finds show CHAR columns as SQL does; a memcached key stays as it was."""
    server = make_server(options=["--sql-mode=PAD_CHAR_TO_FULL_LENGTH"])
    server.sql().run("CREATE DATABASE more")
    container = Container(server, "more", "pads", WHOLE.replace(
        "VARBINARY(250)", "CHAR(9) CHARACTER SET ascii COLLATE ascii_bin"))
    client = container.ready()
    assert client.set(container.at("a"), b"1") == b"STORED"
    container.sql.run("INSERT INTO pads (k, v) VALUES ('b', '2')")
    assert [client.value(container.at(key)) for key in "ab"] == [b"1", b"2"]
    assert client.set(container.at("b"), b"3") == b"STORED"
    finds = server.hs_rd()
    assert finds.open_index(0, "more", "pads", "", "k").code == 0
    assert finds.find(0, "=", ["b"]) == hs.reply(0, 1, b"b        ")


@pytest.mark.parametrize("option", ["--innodb-read-only=1", "--innodb-force-recovery=5", "--innodb-force-recovery=6",
                                    "--read-only=1"])
def test_a_server_that_does_not_write_says_so_and_lives(make_server, option):
    """Each find of a session sees the rows, and not the first one alone."""
    server = make_server()
    sql = server.sql()
    sql.run("CREATE DATABASE so")
    sql.run("CREATE TABLE so.t (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB")
    sql.run("INSERT INTO so.t VALUES (1, 10)")
    server.stop()
    server.start(options=[option])
    client = server.hs_wr()
    assert client.open_index(0, "so", "t", "", "id,n").code == 0
    for request in ([0, "+", 2, 2, 1], hs.find_words(0, "=", [1], 1, 0, mod=["U", 1, 7]),
                    hs.find_words(0, "=", [1], 1, 0, mod=["D"])):
        assert client.request(*request).code != 0
    reader = server.hs_rd()
    assert reader.open_index(0, "so", "t", "", "id,n").code == 0
    for _ in range(5):
        assert client.find(0, "=", [1]) == hs.reply(0, 2, 1, 10)
        assert reader.find(0, "=", [1]) == hs.reply(0, 2, 1, 10)
    assert client.request("H", "read").code == 0 and client.request("H", "write").code != 0
    assert server.sql().rows("SELECT * FROM so.t") == [(b"1", b"10")]


def test_checks_that_are_switched_off_and_on_again(make_server):
    """The checks follow those of new SQL sessions, in workers and where a request waits for a lock."""
    server = make_server()
    sql, holder = server.sql(), server.sql()
    sql.run("CREATE DATABASE so")
    sql.run("CREATE TABLE so.p (id INT PRIMARY KEY)")
    sql.run("CREATE TABLE so.c (id INT PRIMARY KEY CHECK (id < 100), p INT,"
            " FOREIGN KEY (p) REFERENCES so.p (id))")
    sql.run("INSERT INTO so.p VALUES (1)")
    client = server.hs_wr()
    assert client.open_index(0, "so", "c", "", "id,p").code == 0

    def answers(key):
        """Inserts an orphan and a row that its CHECK refuses: at once, and behind a lock. Returns the
        answers."""
        rows = [[key, 9], [key + 100, 1], [key + 1, 9], [key + 101, 1]]
        found = [client.insert(0, row) for row in rows[:2]]
        waits = int(sql.status("Handlersocket_lock_waits"))
        holder.run("LOCK TABLES so.c WRITE")
        client.send_raw(b"".join(hs.line(0, "+", 2, *row) for row in rows[2:]))
        wait_until(lambda: int(sql.status("Handlersocket_lock_waits")) > waits, 20, "a wait")
        holder.run("UNLOCK TABLES")
        return found + [client.recv() for _ in rows[2:]]

    check = hs.reply(1, 1, 3819 if is_mysql() else 4025)  # MySQL cannot switch it off
    refused = [hs.reply(1, 1, 151), check] * 2
    assert answers(10) == refused
    sql.run("SET GLOBAL foreign_key_checks = 0")
    if not is_mysql():
        sql.run("SET GLOBAL check_constraint_checks = 0")
    assert answers(20) == ([OK, check] * 2 if is_mysql() else [OK] * 4)
    sql.run("SET GLOBAL foreign_key_checks = 1")
    if not is_mysql():
        sql.run("SET GLOBAL check_constraint_checks = 1")
    assert answers(30) == refused


@pytest.mark.mariadb("server_audit")
def test_an_audit_plugin_can_be_uninstalled(make_server):
    server = make_server()
    sql = server.sql()
    sql.run("CREATE DATABASE so")
    sql.run("CREATE TABLE so.t (id INT PRIMARY KEY, n INT NOT NULL)")
    clients = [server.hs_wr(), server.hs_rd()]
    for client in clients:
        assert client.open_index(0, "so", "t", "", "id,n").code == 0
    for _ in range(2):
        sql.run("INSTALL SONAME 'server_audit'")
        sql.run("SET GLOBAL server_audit_logging = ON")
        assert clients[0].insert(0, [int(sql.value("SELECT COUNT(*) FROM so.t")), 1]) == OK
        assert clients[1].find(0, "=", [0]) == hs.reply(0, 2, 0, 1)
        sql.run("UNINSTALL SONAME 'server_audit'")
        wait_until(lambda: sql.value("SELECT COUNT(*) FROM information_schema.all_plugins WHERE"
                                     " plugin_name = 'SERVER_AUDIT' AND plugin_status = 'DELETED'")
                   == b"0", 20, "the end of the audit plugin")


@pytest.mark.mariadb("mysql.transaction_registry")
def test_the_registry_of_transactions_knows_when_they_began(make_server):
    """The table's history is kept by transaction, and a foreign key changes the table."""
    sql = (server := make_server()).sql()
    sql.run("CREATE DATABASE so")
    sql.run("CREATE TABLE so.p (id INT PRIMARY KEY)")
    sql.run("CREATE TABLE so.c (id INT PRIMARY KEY, p INT,"
            " b BIGINT UNSIGNED GENERATED ALWAYS AS ROW START,"
            " e BIGINT UNSIGNED GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (b, e),"
            " FOREIGN KEY (p) REFERENCES so.p (id) ON DELETE CASCADE) WITH SYSTEM VERSIONING")
    sql.run("INSERT INTO so.p VALUES (1)")
    sql.run("INSERT INTO so.c (id, p) VALUES (1, 1)")
    began = sql.value("SELECT NOW(6)")
    client = server.hs_wr()
    assert client.open_index(0, "so", "p", "", "id").code == 0
    assert client.modify(0, "=", [1], ["D"]) == hs.reply(0, 1, 1)
    times = sql.row("SELECT begin_timestamp, commit_timestamp FROM mysql.transaction_registry"
                    " ORDER BY transaction_id DESC LIMIT 1")
    assert began <= times[0] <= times[1]
