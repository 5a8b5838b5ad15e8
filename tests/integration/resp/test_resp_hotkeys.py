"""HOTKEYS GET and RESET: the keys that were asked for most in the ten seconds that ended last."""

import pytest

import resp
from resp import Client, Error
from server import run_packaged, wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8", "mysql-9.7"), pytest.mark.ours, pytest.mark.slow]

TIMES = {"product:7": 400, "product@by_sku:T-7": 150, "line:1:x\\:y": 60, "other.t:5": 30, "greeting": 20}


def hot(client):
    """[(key, database, requests a second)] in the order of the answer."""
    return [(entry[1], entry[3], entry[5]) for entry in client.ask("HOTKEYS", "GET")]


def wait_for_keys(client, count):
    seen = []
    wait_until(lambda: seen.append(hot(client)) or len(seen[-1]) >= count, 30, f"{count} keys")
    return seen[-1]


def test_the_keys_that_were_asked_for_most_come_first(server):
    sql = server.sql()
    run_packaged(sql, "rowsocket_store.sql")
    sql.run("CREATE DATABASE other")
    sql.run("CREATE TABLE other.t (id INT PRIMARY KEY, x INT) ENGINE=InnoDB")
    client, newer = Client(server.resp_port), Client(server.resp_port, 3)
    assert client.ask("HOTKEYS", "RESET") == "OK" and client.ask("HOTKEYS", "GET") == []
    client.ask("SELECT", 3)
    for _ in range(10):
        for key, times in TIMES.items():
            command = ("GET", key) if key == "greeting" else ("HGETALL", key)
            for _ in range(times // 10):
                client.ask(*command)
    keys = {key: (database, qps) for key, database, qps in wait_for_keys(client, len(TIMES))}
    # The work may lie in two windows: each has all keys, in the same order.
    assert set(keys) == {b"product:7", b"product@by_sku:T-7", b"line:1:x\\:y", b"other.t:5", b"greeting"}
    assert [qps for _, _, qps in sorted(hot(client), key=lambda one: -one[2])] == [qps for _, _, qps in hot(client)]
    assert max(keys, key=lambda key: keys[key][1]) == b"product:7"
    assert keys[b"greeting"][0] == 3 and keys[b"product:7"][0] == 0
    # A chosen request counts for several where there are many; a tenth of the times is what is to be expected.
    assert all(0 < qps <= TIMES[key.decode()] / 5 + 3 for key, (_, qps) in keys.items()), keys
    entry = newer.ask("HOTKEYS", "GET")[0]
    assert isinstance(entry, dict) and set(entry) == {b"key", b"db", b"qps"}
    assert newer.ask("HOTKEYS", "RESET") == "OK" and client.ask("HOTKEYS", "GET") == []
    shown = sql.rows("SELECT COUNT(*) FROM information_schema.ROWSOCKET_HOT_ROWS WHERE plugin = 'resp'")
    assert int(shown[0][0]) == 0, "the table shows the same rows"


def test_redis_form_is_refused_by_name(server):
    client = Client(server.resp_port)
    for command in (("START", "METRICS", 1, "CPU"), ("STOP",)):
        answer = client.ask("HOTKEYS", *command)
        assert isinstance(answer, Error) and "NOTSERVED HOTKEYS START and STOP" in str(answer)
    for command in (("GET", "5"), ("RESET", "x"), ("SOON",)):
        assert "ERR unknown subcommand" in str(client.ask("HOTKEYS", *command))
    assert client.ask("COMMAND", "INFO", "HOTKEYS")[0][0] == b"hotkeys"


def test_an_account_sees_the_hashes_of_the_table(make_server):
    server = resp.start(make_server, "--loose-resp-accounts=ON")
    sql = server.sql()
    sql.run("CREATE USER app@'127.%' IDENTIFIED BY 'right'")
    sql.run("GRANT SELECT ON *.* TO app@'127.%'")
    sql.run("CREATE USER viewer@localhost IDENTIFIED BY 'seen'")
    sql.run("GRANT PROCESS ON *.* TO viewer@localhost")
    client = Client(server.resp_port)
    assert client.ask("AUTH", "app", "right") == "OK"
    for _ in range(50):
        client.ask("HGETALL", "product:7")
    [(key, database, qps)] = wait_for_keys(client, 1)
    assert key.startswith(b"#") and len(key) == 17 and database == 0 and qps > 0
    with_rights = sql.rows("SELECT DISTINCT key_text FROM information_schema.ROWSOCKET_HOT_ROWS WHERE plugin = 'resp'")
    assert with_rights == [(b"7",)]
    viewer = server.sql(user="viewer", password="seen")
    hidden = viewer.rows("SELECT DISTINCT key_text FROM information_schema.ROWSOCKET_HOT_ROWS WHERE plugin = 'resp'")
    assert hidden == [(key,)]
    assert str(client.ask("HOTKEYS", "RESET")).startswith("NOPERM HOTKEYS RESET")
    assert str(client.ask("SLOWLOG", "RESET")).startswith("NOPERM SLOWLOG RESET")
