"""H7: a power cut, which SIGKILL is not: all that was written and not flushed is gone."""

import pytest

from load import scaled
from lostcache import OPTIONS, LostCache
from sale import Sale, crash_violations, make_table

STOCK = 1_000_000


def power_cut(server, cache, db, goal, connections=32):
    """One sale, cut short. Returns (what is wrong, bytes lost)."""
    sql = server.sql()
    flush = sql.value("SELECT @@global.innodb_flush_log_at_trx_commit").decode()
    sql.run("SET GLOBAL innodb_flush_log_at_trx_commit = 1")
    make_table(sql, db, STOCK)
    sql.run("FLUSH ENGINE LOGS")
    sql.run(f"SET GLOBAL innodb_flush_log_at_trx_commit = {flush}")
    sale = Sale(server, db, connections)
    try:
        sale.play(lambda sale: sale.taken >= goal)
        server.kill()
        sale.play()
    finally:
        sale.close()
    lost = cache.cut_power(server)
    server.start()
    rows = server.sql().rows(f"SELECT stock FROM {db}.stock WHERE id = 1")
    assert rows, "the row itself is lost"
    return crash_violations(sale, STOCK, int(rows[0][0])), lost


@pytest.fixture
def cache(tmp_path, monkeypatch):
    return LostCache(tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("options", [
    [], ["--log-bin=cut", "--sync-binlog=1", "--server-id=1"]], ids=["redo", "binlog"])
def test_a_power_cut_loses_nothing_that_was_acknowledged(make_server, cache, rng, options):
    server = make_server(options=[*OPTIONS, *options])
    lost_bytes = 0
    for number in range(scaled(4)):
        wrong, lost = power_cut(server, cache, f"cut{number}", rng.randint(1, 1000))
        assert wrong == [], f"round {number}"
        lost_bytes += lost
    assert lost_bytes > 0  # the cuts were cuts


def test_the_power_cut_shows_what_was_not_flushed(make_server, cache):
    """Written at each commit but flushed once a second: SIGKILL alone would lose nothing."""
    server = make_server(options=[*OPTIONS, "--innodb-flush-log-at-trx-commit=2"])
    rounds = (power_cut(server, cache, f"cut{number}", 1500)[0] for number in range(5))
    assert any(" taken, " in text for wrong in rounds for text in wrong)
