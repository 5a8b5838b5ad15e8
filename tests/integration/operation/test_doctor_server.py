"""Settings of the server that harm the ports, and what rowsocket-doctor --live says of them."""

import pytest

from doctor import finds_nothing, says
from server import is_mysql

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
