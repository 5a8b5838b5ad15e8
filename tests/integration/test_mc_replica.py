"""A second server that applies what came in over memcached: it ends equal."""

import pytest

import mc
from load import scaled
from mc_randomwork import Side, Source
from mc_tables import Container
from test_replica import Pair

pytestmark = pytest.mark.ours


@pytest.mark.parametrize("binlog_format", ["ROW", "STATEMENT"])
def test_random_work(make_server, rng, binlog_format):
    pair = Pair(make_server, f"--binlog-format={binlog_format}", "--daemon-memcached-flush-all=ON")
    pair.sql.run("CREATE DATABASE r")
    container = Container(pair.primary, "r", "box", "k VARBINARY(20) PRIMARY KEY, v BLOB,"
                          " c BIGINT UNSIGNED, made TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(6),"
                          " u VARCHAR(36) DEFAULT (UUID()), n INT AS (LENGTH(v)) STORED", flags="0",
                          expiry="0")
    client = container.ready(mc.connect(pair.primary))
    side, source = Side(lambda: mc.connect(pair.primary)), Source(rng)
    for number in range(scaled(60)):
        dialect, requests = source.batch()
        if not any(len(request) > 1 << 20 for request in requests):
            side.play(dialect, requests)
            side.learn()
        client.set(container.at(f"k{number % 7}"), b"%d" % number)
        client.command(f"incr {container.at('k1').decode()} 3")
        if number % 5 == 0:
            client.command(f"delete {container.at('k3').decode()}")
    assert int(pair.sql.value("SELECT COUNT(*) FROM r.box")) >= 6
    pair.assert_equal()
