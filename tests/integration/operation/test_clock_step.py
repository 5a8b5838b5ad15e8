"""The time of day is set an hour on, or back, while clients are connected: nobody is cut off, and nothing that is shown
of durations is an hour long."""

import pytest

import mc
import resp
from doctor import finds_nothing
from hs import OK, counted, find_words
from mc_tables import Container
from server import run_packaged, wait_until
from step_clock import StepClock

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]

HOUR_S = 3600
# Far less than the step, and far more than any request or connection of this test takes.
LONG_S = HOUR_S / 2


def longest_s(sql):
    return float(sql.value("SELECT MAX(max_us) FROM information_schema.ROWSOCKET_LATENCY")) / 1e6


@pytest.mark.parametrize("step_s", [HOUR_S, -HOUR_S])
def test_a_step_of_the_calendar_is_no_time_that_passes(make_server, tmp_path, step_s):
    clock = StepClock(tmp_path)
    timeouts = [f"--loose-{plugin}-timeout=600" for plugin in ("handlersocket", "daemon-memcached", "resp")]
    server = resp.start(lambda **kwargs: make_server(environment=clock.environment, **kwargs), *timeouts)
    sql, redis, memcached = server.sql(), resp.Client(server.resp_port), mc.connect(server)
    Container(server, "shop", "items")
    wait_until(lambda: memcached.command("mg @@items.?") == b"EN", what="the container")
    stock = server.hs_wr().opened("shop", "product", "PRIMARY", "stock")
    assert redis.ask("HGET", "product:7", "name") == b"Teapot"
    began = int(sql.value("SELECT UNIX_TIMESTAMP()"))
    clock.step(step_s)
    wait_until(lambda: abs(int(sql.value("SELECT UNIX_TIMESTAMP()")) - began - step_s) < LONG_S, what="the server's new time")
    for number in range(20):
        assert stock.update("=", [7], [number]) == counted(1)
        assert redis.ask("HGET", "product:7", "stock") == b"%d" % number
        assert memcached.command("ms @@items.k 1", b"x") == b"HD"
    assert longest_s(sql) < LONG_S
    fields = dict(part.split("=", 1) for part in redis.ask("CLIENT", "INFO").decode().split(" "))
    assert 0 <= int(fields["age"]) < LONG_S and 0 <= int(fields["idle"]) < LONG_S
    assert redis.ask("SLOWLOG", "LEN") == 0
    uptime = [line for line in redis.ask("INFO", "server").decode().splitlines() if line.startswith("uptime_in_seconds:")]
    assert 0 <= int(uptime[0].split(":")[1]) < LONG_S
    hot = ("SELECT requests FROM information_schema.ROWSOCKET_HOT_ROWS WHERE seconds = 60 AND plugin = 'handlersocket'"
           " AND table_name = 'product' AND key_text = '7'")
    wait_until(lambda: sql.rows(hot) == [(b"20",)], what="the hot row of the last minute")
    # A time to live counts from the time of day that the server has now.
    assert memcached.command("ms @@items.t 1 T1000", b"x") == b"HD"
    kept = memcached.command("mg @@items.t t")
    # It is rounded up to a second where it is stored, and again where it is told.
    assert kept.startswith(b"HD t") and 0 < int(kept[4:]) <= 1001
    finds_nothing(server)


def test_a_step_forward_makes_no_token_expire(make_server, tmp_path):
    """Neither while the time of day is wrong, nor when it has been put right."""
    clock = StepClock(tmp_path)
    server = make_server(options=["--handlersocket-tokens=ON", "--handlersocket-token-ttl=1800"], environment=clock.environment)
    sql = server.sql()
    run_packaged(sql, "rowsocket_tokens.sql")
    sql.run("CREATE DATABASE shop")
    sql.run("CREATE TABLE shop.stock (id INT PRIMARY KEY, stock INT NOT NULL) ENGINE=InnoDB")
    sql.run("INSERT INTO shop.stock VALUES (1, 100)")
    client = server.hs_wr()
    assert client.open_index(0, "shop", "stock", "PRIMARY", "stock") == OK

    def take(token):
        assert client.request("T", token, *find_words(0, "=", [1], 1, 0, mod=["-", 1])) == counted(1)
        return int(sql.value("SELECT stock FROM shop.stock"))
    assert take("a") == 99
    for step_s in (HOUR_S, 0):
        before = int(sql.value("SELECT UNIX_TIMESTAMP()"))
        clock.step(step_s)
        wait_until(lambda now=before: abs(int(sql.value("SELECT UNIX_TIMESTAMP()")) - now) > LONG_S, what="the new time")
        assert [take("a"), take(f"b{step_s}"), take("a")] == [99, 98, 98] if step_s else [98, 97, 97]
