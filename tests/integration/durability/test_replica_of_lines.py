"""A replica of another version of MariaDB applies the changes of the socket: an older server's rows in a
newer server, and the other way round as far as MariaDB allows it. Each run has the server under test as the
primary."""

import random

import pytest

import hs
from load import scaled
from server import SERVERS, server_name
from test_replica import Pair, random_work

pytestmark = [pytest.mark.mariadb("lines of MariaDB"), pytest.mark.again_in("mariadb-11.8")]

OTHERS = [name for name in SERVERS if name.startswith("mariadb") and name != server_name()]


@pytest.fixture(params=OTHERS)
def pair(request, make_server):
    pair = Pair(make_server, replica_server=request.param)
    # Each CREATE carries the session's collation, and 10.11 does not know the default of 11.8.
    pair.sql.run("SET NAMES utf8mb4 COLLATE utf8mb4_general_ci")
    return pair


def test_random_work_in_a_replica_of_another_version(pair, seed):
    good = 0
    for number in range(scaled(12)):
        rng = random.Random(f"{seed}/lines/{number}")
        good += random_work(pair, f"w{number}", rng, 8)
    assert good > 200
    pair.assert_equal()


def test_values_of_the_server_are_equal_in_a_replica_of_another_version(pair):
    pair.sql.run("CREATE DATABASE c")
    pair.sql.run("CREATE TABLE c.t (id BIGINT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20), n INT DEFAULT 7,"
                 " changed DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),"
                 " r DOUBLE DEFAULT (RAND()), u VARCHAR(36) DEFAULT (UUID()), a INET4, j JSON,"
                 " s INT AS (n * 2) STORED, w INT AS (n * 3) VIRTUAL, KEY (n), KEY (w))")
    client = pair.primary.hs_wr()
    assert client.open_index(0, "c", "t", "", "v,n,a,j") == hs.reply(0, 1)
    for number in range(50):
        assert client.insert(0, [f"row {number}", number, "192.0.2.1", '{"a": 1}']).code == 0
    assert client.modify(0, ">", [10], ["U", "new", 8, "192.0.2.2", "[]"], 20) == hs.counted(20)
    assert client.modify(0, "=", [7], ["D"]) == hs.counted(1)
    pair.assert_equal()
