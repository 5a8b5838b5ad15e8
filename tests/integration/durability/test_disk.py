"""A disk that is full or broken, under redo log, binary log and data files (R5, R6): an error answer or a
server that stops, no acknowledged write is lost, and service goes on when it can."""

import errno

import pytest

import hs
from load import BINLOG_OPTIONS
from lost_cache import OPTIONS
from sale import Sale, crash_violations, make_table
from server import is_mysql, wait_until

STOCK = 1_000_000_000
FULL = hs.reply(1, 1, 135)  # no more room in the table's file
ROW_BYTES = 7000  # two rows fill a page
full_and_broken = pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO],
                                          ids=["full", "broken"])


def violations(server, sale):
    return crash_violations(sale, STOCK, int(server.sql().value("SELECT stock FROM sale.stock")))


@pytest.fixture
def disk_server(make_server, lossy_disk):
    """A server on the disk `lossy_disk`, with a row for a sale."""
    server = make_server(options=[*OPTIONS, *BINLOG_OPTIONS], environment=lossy_disk.environment)
    make_table(server.sql(), "sale", STOCK)
    server.sql().run("FLUSH ENGINE LOGS")
    return server


def end_with_a_power_cut(server, lossy_disk, sale):
    """Plays the sale's last requests, and returns the violations after the power cut."""
    server.kill()
    sale.play()
    sale.close()
    lossy_disk.cut_power(server)
    server.start()
    return violations(server, sale)


@pytest.mark.slow
@full_and_broken
@pytest.mark.parametrize("part", ["tests.0", "#ib_redo" if is_mysql() else "ib_logfile"], ids=["binlog", "redo"])
def test_a_log_that_cannot_be_written(disk_server, lossy_disk, part, number):
    """Error answers, or a server that stops: acknowledged writes are there either way, even after a power
    cut."""
    sale = Sale(disk_server, "sale", 32)
    sale.play(lambda sale: sale.taken >= 300)
    lossy_disk.refuse(part, number)
    sold = sale.taken
    try:
        sale.play(lambda sale: sale.error_replies >= 32, timeout_s=8)
    except AssertionError:
        # The server waits for space, as it does for SQL; it answers only the requests that were under way.
        assert sale.taken - sold <= 2 * 32, "the log is written all the same"
    lossy_disk.accept()
    if disk_server.alive():
        sold = sale.taken  # service goes on
        sale.play(lambda sale: sale.taken >= sold + 200, timeout_s=90)
    assert end_with_a_power_cut(disk_server, lossy_disk, sale) == []


@full_and_broken
def test_pages_that_cannot_be_written(disk_server, lossy_disk, number):
    """The server goes on with the redo log and tries again, or it stops. The test provokes the writes: the
    server is to write out all dirty pages of the table."""
    sale = Sale(disk_server, "sale", 32)
    sale.play(lambda sale: sale.taken >= 300)
    lossy_disk.refuse("/sale/stock.ibd", number)
    disk_server.sql().run("SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0")
    disk_server.sql().run("SET GLOBAL innodb_max_dirty_pages_pct = 0")
    wait_until(lambda: not disk_server.alive() or "stock.ibd" in disk_server.log(), 60,
               "a page that could not be written")
    if disk_server.alive():
        for accepts in (False, True):
            if accepts:
                lossy_disk.accept()
            sold = sale.taken
            sale.play(lambda sale, sold=sold: sale.taken >= sold + 200)
        assert not sale.errors
    else:
        lossy_disk.accept()
    assert end_with_a_power_cut(disk_server, lossy_disk, sale) == []


def test_a_table_that_cannot_grow(disk_server, lossy_disk):
    """Inserts that need room are answered 135; requests that need no room, in the same pipeline, are done."""
    sql = disk_server.sql("sale")
    sql.run(f"CREATE TABLE orders (id INT PRIMARY KEY, note VARCHAR({ROW_BYTES})) CHARSET latin1"
            " ENGINE=InnoDB")
    client = disk_server.hs_wr()
    assert client.open_index(0, "sale", "orders", "PRIMARY", "id,note") == hs.OK
    assert client.open_index(1, "sale", "stock", "PRIMARY", "stock", "stock") == hs.OK

    def insert(ids):
        """The replies to inserts of these ids, each followed by a purchase, in one pipeline."""
        replies = client.pipeline([tokens for number in ids for tokens in (
            (0, "+", 2, number, "x" * ROW_BYTES), hs.find_words(1, "=", [1], 1, 0, mod=["-", 1]))])
        assert set(replies[1::2]) == {hs.counted(1)}
        return replies[::2]
    assert insert(range(20)) == [hs.OK] * 20
    lossy_disk.refuse("/sale/orders.ibd", errno.ENOSPC)
    replies = insert(range(20, 40))
    assert set(replies) <= {hs.OK, FULL} and replies[-1] == FULL
    lossy_disk.accept()
    refused = [20 + at for at, reply in enumerate(replies) if reply == FULL]
    assert set(insert([*refused, *range(40, 60)])) == {hs.OK}
    disk_server.kill()
    lossy_disk.cut_power(disk_server)
    disk_server.start()
    rows = disk_server.sql("sale").rows("SELECT id, LENGTH(note) FROM orders ORDER BY id")
    assert rows == [(b"%d" % number, b"%d" % ROW_BYTES) for number in range(60)]
