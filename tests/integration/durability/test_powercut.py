"""H7: a power cut, unlike SIGKILL, loses all bytes that were written and not flushed."""

import pytest

from load import both_logs, scaled
from lostcache import OPTIONS
from sale import killed_sale


def power_cut(server, cache, rng, db, goal):
    """One sale that a power cut ends. Returns (violations, bytes lost)."""
    lost = []
    wrong, _ = killed_sale(server, rng, db, goal, connections=(32,),
                           then=lambda server: lost.append(cache.cut_power(server)))
    return wrong, sum(lost)


@pytest.mark.slow
@both_logs
def test_a_power_cut_loses_nothing_that_was_acknowledged(make_server, cache, rng, options):
    server = make_server(options=[*OPTIONS, *options], environment=cache.environment)
    lost_bytes = 0
    for number in range(scaled(4)):
        wrong, lost = power_cut(server, cache, rng, f"cut{number}", rng.randint(1, 1000))
        assert wrong == [], f"round {number}"
        lost_bytes += lost
    assert lost_bytes > 0  # the cuts have lost bytes


def test_the_power_cut_shows_what_was_not_flushed(make_server, cache, rng):
    """The log is written at each commit but flushed once a second: SIGKILL alone would lose nothing."""
    server = make_server(options=[*OPTIONS, "--innodb-flush-log-at-trx-commit=2"],
                         environment=cache.environment)
    rounds = (power_cut(server, cache, rng, f"cut{number}", 1500)[0] for number in range(5))
    assert any(" taken, " in text for wrong in rounds for text in wrong)
