"""Settings of the server that harm the ports, and what rowsocket-doctor --live says of them."""

import time

import pytest

from doctor import NOTHING, busy, doctor, finds_nothing, says
from hs import find_words, line
from server import is_mysql, wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]

# Variables that remedies of trouble.py and the modules beside it say to SET GLOBAL; test_remedies.py looks at the library's own.
OF_MARIADB = ("innodb_log_file_size", "binlog_commit_wait_usec")
OF_MYSQL = ("innodb_redo_log_capacity", "binlog_group_commit_sync_delay", "innodb_thread_concurrency", "offline_mode")
OF_BOTH = ("table_open_cache", "innodb_buffer_pool_size", "innodb_io_capacity", "long_query_time")


def test_variables_of_remedies_can_be_set(make_server):
    sql = make_server().sql()
    for name in (*OF_BOTH, *(OF_MYSQL if is_mysql() else OF_MARIADB)):
        sql.run(f"SET GLOBAL {name} = {sql.value(f'SELECT @@GLOBAL.{name}').decode()}")


@pytest.mark.mysql("MariaDB's redo log cannot be switched off")
def test_a_redo_log_that_is_off(make_server):
    server = make_server()
    server.sql().run("ALTER INSTANCE DISABLE INNODB REDO_LOG")
    says(server, "the redo log is switched off", "ALTER INSTANCE ENABLE INNODB REDO_LOG")
    server.sql().run("ALTER INSTANCE ENABLE INNODB REDO_LOG")
    finds_nothing(server)


def test_finds_that_step_over_what_a_transaction_keeps(make_server):
    server = make_server()
    sql, owner = server.sql(), server.sql()
    sql.run("CREATE DATABASE d")
    sql.run("USE d")
    sql.run("CREATE TABLE d.t (id INT PRIMARY KEY, x INT NOT NULL DEFAULT 0) ENGINE=InnoDB")
    sql.run("INSERT INTO d.t SELECT seq, 0 FROM seq_1_to_200000")
    index = server.hs_rd().opened("d", "t", "", "x")
    for _ in range(50):  # what is usual
        index.client.pipeline_deep(line(*find_words(index.id, ">=", [1], 1, 0)) * 200, 200)
    owner.run("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    owner.value("SELECT COUNT(*) FROM d.t")
    began = time.monotonic()
    sql.run("DELETE FROM d.t WHERE id < 200000")
    with busy(lambda: index.find(">=", [1])):
        wait_until(lambda: time.monotonic() - began > 11, 30, "the transaction is old enough", step_s=0.2)
        says(server, "find over handlersocket executes for", f"connection {int(owner.value('SELECT CONNECTION_ID()'))} (root@localhost)",
             "its transaction is open for")
        owner.run("COMMIT")
        wait_until(lambda: doctor(server) == NOTHING, 30, "the end of the trouble")
