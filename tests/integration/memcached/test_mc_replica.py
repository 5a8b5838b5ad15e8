"""A second server applies the changes that came over memcached, and ends with equal rows."""

import pytest

import mc
from load import scaled
from mc_random_work import Side, Source
from mc_tables import Container
from server import is_mysql
from test_replica import Pair

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.ours]


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


def rows_written(sql):
    """How many changes of rows the server has made. In MySQL the status itself is written to handlers."""
    names = [f"Innodb_rows_{what}" for what in ("inserted", "updated", "deleted")] if is_mysql() else [
        f"Handler_{what}" for what in ("write", "update", "delete")]
    return sum(map(sql.status, names))


@pytest.mark.parametrize("image", ["FULL", "MINIMAL", "NOBLOB"])
def test_rows_that_come_and_go_within_a_batch(make_server, rng, image):
    """Many requests for few keys: the log has one change of each row, however many requests made it."""
    pair = Pair(make_server, f"--binlog-row-image={image}", "--daemon-memcached-threads=1")
    pair.sql.run("CREATE DATABASE r")
    container = Container(pair.primary, "r", "box", "k VARBINARY(20) PRIMARY KEY, v BLOB,"
                          " c BIGINT UNSIGNED, made TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(6),"
                          " u VARCHAR(36) DEFAULT (UUID()), more BLOB DEFAULT (REPEAT('x', 9000)),"
                          " last DATETIME(6) NULL ON UPDATE NOW(6)", flags="0", expiry="0")
    container.ready(mc.connect(pair.primary))
    clients = [mc.connect(pair.primary) for _ in range(8)]

    def request():
        key = container.at(f"k{rng.randrange(2)}")
        value = b"%d" % rng.randrange(10) * rng.choice((1, 1, 1, 5000))
        return rng.choice((
            b"set %s 0 0 %d\r\n%s\r\n" % (key, len(value), value),
            b"append %s 0 0 %d\r\n%s\r\n" % (key, len(value), value),
            b"add %s 0 0 %d\r\n%s\r\n" % (key, len(value), value),
            b"incr %s 3\r\n" % key, b"delete %s\r\n" % key, b"delete %s\r\n" % key))
    asked, before = 0, rows_written(pair.sql)
    for _ in range(scaled(40)):
        for client in clients:
            requests = [request() for _ in range(rng.randrange(10, 20))]
            asked += len(requests)
            client.send(b"".join(requests) + b"mn\r\n")
        for client in clients:
            while client.line() != b"MN":
                pass
    written = rows_written(pair.sql) - before
    assert written < asked / 3, (written, asked)
    pair.assert_equal()
