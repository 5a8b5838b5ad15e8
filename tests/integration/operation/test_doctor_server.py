"""Settings of the server that harm the ports, and what rowsocket-doctor --live says of them."""

import pytest

from doctor import finds_nothing, says

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]


@pytest.mark.mysql("MariaDB's redo log cannot be switched off")
def test_a_redo_log_that_is_off(make_server):
    server = make_server()
    server.sql().run("ALTER INSTANCE DISABLE INNODB REDO_LOG")
    says(server, "the redo log is switched off", "ALTER INSTANCE ENABLE INNODB REDO_LOG")
    server.sql().run("ALTER INSTANCE ENABLE INNODB REDO_LOG")
    finds_nothing(server)
