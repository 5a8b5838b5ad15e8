"""Random commands on strings and rows, each sent to a real Redis as well, which has the rows as hashes: the replies are
the same, and so is what is left."""

import pytest

import real_redis
from resp_random_work import SAFE_KEYS, Mixture, Pair, RowMixture
from server import run_packaged

pytestmark = [pytest.mark.again_in("mariadb-11.8", "mysql-9.7"), pytest.mark.ours]

ROUNDS = 400          # of 50 commands on average: 10^5 in the five seeds
WATCHES = 150


@pytest.fixture(scope="module")
def server(resp_server):
    run_packaged(resp_server.sql(), "rowsocket_store.sql")
    resp_server.sql().run(RowMixture.TABLE)
    return resp_server


@pytest.fixture(scope="module")
def real():
    with real_redis.Real() as one:
        yield one


@pytest.fixture
def pair(server, real):
    """Makes pairs of connections to the two, whose stores are empty."""
    made = []

    def make(version=2):
        made.append(Pair(real.port, server.resp_port, version))
        return made[-1]

    make().run([["FLUSHALL"]])
    yield make
    for each in made:
        each.close()


@pytest.mark.parametrize("number", range(5))
def test_random_commands(pair, number, request):
    mixture = Mixture(f"{request.config.getoption('--seed')} {number}")
    both = pair(2 + number % 2)
    for done in range(ROUNDS):
        if mixture.random.random() < 0.2:
            both.run(mixture.transaction())
        both.run([mixture.command() for _ in range(mixture.random.randint(1, 100))])
        if done % 50 == 0:
            both.compare_all()
    both.compare_all()


@pytest.mark.parametrize("number", range(2))
def test_random_commands_on_rows(pair, server, number, request):
    mixture = RowMixture(f"{request.config.getoption('--seed')} rows {number}")
    server.sql().run("DELETE FROM shop.h")
    both = pair(2 + number % 2)
    both.run(mixture.begin())
    for _ in range(ROUNDS):
        if mixture.random.random() < 0.3:
            both.run(mixture.transaction())
        if mixture.random.random() < 0.1:
            both.run(mixture.anew())
        both.run([mixture.command() for _ in range(mixture.random.randint(1, 100))])
    both.run([["HGETALL", key] for key in mixture.KEYS])


def test_random_watches(pair, request):
    mixture = Mixture(f"{request.config.getoption('--seed')} watch")
    watcher, other = pair(), pair()
    for number in range(WATCHES):
        watched = mixture.random.sample(SAFE_KEYS, 2)
        watcher.run([["WATCH", *watched]])
        if mixture.random.random() < 0.5:  # A value that no key has had before.
            other.run([["SET", mixture.random.choice(SAFE_KEYS), f"unique {number}"]])
        watcher.run(mixture.random.choice([[], [["UNWATCH"]], [["GET", watched[0]]]]))
        watcher.run(mixture.transaction())
    watcher.compare_all()
