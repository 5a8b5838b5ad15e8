"""What rowsocket-doctor --live says of a server that is a replica of a source which is not there."""

import pytest

from doctor import says
from server import is_mysql

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]


def test_each_thread_of_a_replica_has_its_own_error(make_server):
    server = make_server(options=["--server-id=7", "--skip-slave-start"])
    sql = server.sql()
    if is_mysql():
        sql.run("CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = 1, SOURCE_USER = 'nobody'")
    else:
        sql.run("CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = 1, MASTER_USER = 'nobody'")
    sql.run("START REPLICA")
    says(server, "no longer receives what its source writes (its thread is: Connecting): ", "127.0.0.1:1'")
    sql.run("STOP REPLICA SQL_THREAD")
    says(server, "no longer receives what its source writes (its thread is: Connecting): ", "127.0.0.1:1'",
         "no longer applies what its source writes (its thread is: No)\n")
    sql.run("STOP REPLICA")
