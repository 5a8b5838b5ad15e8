"""A stock that is sold out: request after request and group after group change nothing, and the engine's log stays as
it is, so that no answer waits for a flush."""

import re

import pytest

from groups import APPLIED, group, required, stopped, take
from hs import counted

pytestmark = [pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]

TURNS = 3000
IDS_OF_ONE_WRITE = 256


@pytest.fixture
def stock(sql, wr):
    sql.run("CREATE TABLE stock (id INT PRIMARY KEY, n INT UNSIGNED NOT NULL) ENGINE=InnoDB")
    sql.run("INSERT INTO stock VALUES (1, 0)")
    return wr("stock", "", "n", "n")


def buy(stock):
    """A purchase by a group and one by a single request; whether each was applied."""
    own, _ = group(stock.client, [required(stock, *take(stock, 1))])
    alone = stock.client.request(stock.id, *take(stock, 1))
    assert own in (APPLIED, stopped(1)), own
    assert alone in (counted(1), counted(0)), alone
    return own == APPLIED, alone == counted(1)


def transaction_ids(sql):
    """How many ids the engine has given to transactions."""
    status = sql.rows("SHOW ENGINE INNODB STATUS")[0][2]
    return int(re.search(rb"Trx id counter (\d+)", status).group(1))


@pytest.mark.mysql("MariaDB's ids are not written to its log")
def test_what_is_sold_out_gives_the_log_nothing_to_write(stock, sql):
    """After a change the transactions have ids, as those of SQL do; after many turns without one they have none."""
    assert stock.client.request(stock.id, "=", 1, 1, 1, 0, "+", 1) == counted(1) and buy(stock)[0]
    changed = transaction_ids(sql)
    for _ in range(5):
        assert buy(stock) == (False, False)
    assert transaction_ids(sql) - changed >= 5
    for _ in range(45):
        assert buy(stock) == (False, False)
    before = transaction_ids(sql)
    for _ in range(TURNS // 2):
        assert buy(stock) == (False, False)
    assert transaction_ids(sql) - before < IDS_OF_ONE_WRITE


def test_stock_that_comes_back_is_sold(stock, sql):
    for pieces in (1, 2, 5):
        for _ in range(40):
            assert buy(stock) == (False, False)
        sql.run("UPDATE stock SET n = %s WHERE id = 1", pieces)
        sold = [bought for _ in range(4) for bought in buy(stock)]
        assert sold == [True] * pieces + [False] * (8 - pieces)
        assert int(sql.value("SELECT n FROM stock WHERE id = 1")) == 0
