"""The requests that an account may make in a second: on all ports, and for requests that wait."""

import contextlib
import time

import pytest

import mc
from account_server import PORT_OPTIONS, start_with_accounts
from hs import counted, find_words, refused, reply
from mc_tables import Container
from server import wait_until

RATE = 7
REFUSED = refused(1, "account_requests_per_second")
MC_REFUSED = (b"SERVER_ERROR the account has made more requests than"
              b" daemon_memcached_account_requests_per_second allows")
PLUGINS = ("handlersocket", "daemon_memcached")


@pytest.fixture
def limited(make_server):
    """A server of the test's own: what accounts have used up counts for a while."""
    server = start_with_accounts(make_server(options=PORT_OPTIONS, start=False))
    sql = server.sql()
    sql.run("CREATE DATABASE g")
    sql.run("GRANT SELECT, INSERT, UPDATE, DELETE ON g.* TO reader@localhost, writer@localhost, cache@localhost")
    container = Container(server, "g", "m", columns="k VARBINARY(250) PRIMARY KEY, v INT", flags="0", token="0",
                          expiry="0")
    sql.run("INSERT INTO g.m VALUES ('1', 7), ('2', 8)")
    container.ready()
    return server


def limit(server, per_second):
    with contextlib.closing(server.sql()) as sql:
        for plugin in PLUGINS:
            sql.run(f"SET GLOBAL {plugin}_account_requests_per_second = {per_second}")


def gets(client, count):
    """The answers of so many gets of one key that are sent at once: a value, or an error line."""
    client.send(b"get @@m.1\r\n" * count)
    answers = []
    for _ in range(count):
        first = client.line()
        if first.startswith(b"VALUE"):
            answers.append(client.line())
            assert client.line() == b"END"
        else:
            answers.append(first)
    return answers


def test_requests_beyond_the_rate_are_refused_on_all_ports(limited):
    reads = limited.hs_rd().opened("g", "m", "", "v")
    writes = limited.hs_wr().opened("g", "m", "", "v")
    client = mc.connect(limited)
    assert gets(client, 1) == [b"7"]
    find = find_words(0, "=", [1])
    update = find_words(0, "=", [2], 1, 0, mod=["+", 1])
    sql = limited.sql()
    before = [sql.status(f"{plugin}_errors_account_rate") for plugin in PLUGINS]
    limit(limited, RATE)
    seen = {}
    for name, right, wrong, ask in (
            ("reads", reply(0, 1, 7), REFUSED, lambda: reads.client.pipeline([find] * 500)),
            ("writes", counted(1), REFUSED, lambda: writes.client.pipeline([update] * 500)),
            ("gets", b"7", MC_REFUSED, lambda: gets(client, 500))):
        began = time.monotonic()
        answers = ask()
        executed = answers.count(right)
        assert executed + answers.count(wrong) == 500, set(answers)
        assert RATE <= executed <= RATE * (3 + time.monotonic() - began), name
        seen[name] = executed
    assert sql.value("SELECT v FROM g.m WHERE k = '2'") == str(8 + seen["writes"]).encode()
    after = [sql.status(f"{plugin}_errors_account_rate") for plugin in PLUGINS]
    assert after[0] - before[0] == 1000 - seen["reads"] - seen["writes"]
    assert after[1] - before[1] == 500 - seen["gets"]
    limit(limited, 0)
    assert reads.client.pipeline([find] * 500) == [reply(0, 1, 7)] * 500


def test_a_new_connection_of_the_account_gets_no_new_budget(limited):
    limit(limited, 1)
    index = limited.hs_rd()
    assert index.open_index(0, "g", "m", "", "v").code == 0
    began = time.monotonic()
    answers = []
    for _ in range(20):
        with limited.hs_rd() as client:
            answers.append(client.open_index(0, "g", "m", "", "v"))
    assert answers.count(REFUSED) >= 20 - 2 - (time.monotonic() - began)
    assert index.open_index(0, "g", "m", "", "v") in (REFUSED, reply(0))


def test_a_get_counts_as_many_requests_as_it_has_keys(limited):
    client = mc.connect(limited)
    limit(limited, RATE)
    client.send(b"get" + b" @@m.1" * 400 + b"\r\nget @@m.1\r\n")
    for _ in range(400):
        assert client.line().startswith(b"VALUE")
        assert client.line() == b"7"
    assert client.line() == b"END"
    assert client.line() == MC_REFUSED


@pytest.mark.parametrize("refused", ["a name", "a policy"])
def test_requests_that_are_refused_anyway_are_counted(limited, refused):
    client, sql = mc.connect(limited), limited.sql()
    key, why = b"@@nosuch.k", b"SERVER_ERROR there is no container nosuch"
    if refused == "a policy":
        key, why = b"@@m.1", b"SERVER_ERROR get_policy of innodb_memcache.cache_policies does not allow this command"
        sql.run("UPDATE innodb_memcache.cache_policies SET get_policy = 'disabled'")
        wait_until(lambda: mc.connect(limited).command("get @@m.1") == why, 10, "the policy")
    limit(limited, 10)
    began = time.monotonic()
    client.send(b"get %s\r\n" % key * 1000)
    answers = [client.line() for _ in range(1000)]
    assert set(answers) == {why, MC_REFUSED}
    assert 10 <= answers.count(why) <= 10 * (3 + time.monotonic() - began)
    client.send(b"stats\r\n" * 100)
    assert any(client.line() == MC_REFUSED for _ in range(10_000))


def test_a_request_that_waits_for_a_lock_is_counted_once(limited):
    """The requests behind it are parsed again when it has been answered."""
    index = limited.hs_wr().opened("g", "m", "", "v")
    locker = limited.sql("g")
    locker.run("BEGIN")
    locker.run("SELECT * FROM m WHERE k = '1' FOR UPDATE")
    limit(limited, RATE)
    waits = find_words(index.id, "=", [1], 1, 0, mod=["U", 7])
    find = find_words(index.id, "=", [1])
    for tokens in (waits, *[find] * (RATE - 1)):
        index.client.send(*tokens)
    lane = ("SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'handlersocket'"
            " AND state LIKE '%mode=lock wait, 1 request%'")
    watcher = limited.sql()
    wait_until(lambda: watcher.value(lane) == b"1", 30, "the lane to have the request")
    locker.run("ROLLBACK")
    assert index.client.recv() in (counted(0), counted(1))
    assert [index.client.recv() for _ in range(RATE - 1)] == [reply(0, 1, 7)] * (RATE - 1)
