"""Keyspaces of kind row whose rows expire: a column holds when, as that of a container does."""

import re
import time

import pytest

import resp
from private_servers import create, remove
from resp import Client, Error
from server import run_packaged, wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]

SESSION = ("CREATE TABLE shop.session (id VARCHAR(40) PRIMARY KEY, user INT, hits INT NOT NULL DEFAULT 7,"
           " ends DECIMAL(20,3), KEY (ends)) ENGINE=InnoDB")
# Whole seconds, no NULL, no index that begins with the column, and a key of two columns.
TICKET = ("CREATE TABLE shop.ticket (a INT, b VARCHAR(10), user INT, ends BIGINT NOT NULL DEFAULT 0,"
          " PRIMARY KEY (a, b)) ENGINE=InnoDB")
KEYSPACES = ("INSERT INTO rowsocket.keyspaces (prefix, kind, db_schema, db_table, fields, if_absent, read_only, expires) VALUES"
             " ('s/', 'row', 'shop', 'session', NULL, 'insert', 0, 'ends'),"
             " ('f/', 'row', 'shop', 'session', 'user,ends', 'refuse', 0, 'ends'),"
             " ('r/', 'row', 'shop', 'session', NULL, 'insert', 1, 'ends'),"
             " ('t/', 'row', 'shop', 'ticket', NULL, 'insert', 0, 'ends'),"
             " ('wrong/', 'row', 'shop', 'session', NULL, 'insert', 0, 'id')")


def prepare(server):
    sql = server.sql()
    run_packaged(sql, "rowsocket_store.sql")
    sql.run(SESSION)
    sql.run(TICKET)
    sql.run(KEYSPACES)
    client = Client(server.resp_port)
    wait_until(lambda: not isinstance(client.ask("EXISTS", "t/1:x"), Error) and client.ask("EXISTS", "wrong/a") != 0, 10, "the keyspaces")
    client.close()
    return server


@pytest.fixture(scope="module")
def server(resp_server):
    return prepare(resp_server)


@pytest.fixture(params=[2, 3])
def client(server, request):
    server.sql().run("DELETE FROM shop.session")
    server.sql().run("DELETE FROM shop.ticket")
    client = Client(server.resp_port, request.param)
    yield client
    client.close()


def fields(reply):
    return reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2]))


def test_expiry_is_no_field(client, server):
    sql = server.sql("shop")
    assert client.ask("HSET", "s/a", "user", 1) == 1 and client.ask("TTL", "s/a") == -1
    assert client.ask("EXPIRE", "s/a", 100) == 1 and 98 <= client.ask("TTL", "s/a") <= 100
    assert 98 <= float(sql.value("SELECT ends FROM session")) - time.time() <= 101
    assert fields(client.ask("HGETALL", "s/a")) == {b"user": b"1", b"hits": b"7"} and client.ask("HLEN", "s/a") == 2
    assert client.ask("HKEYS", "s/a") == [b"user", b"hits"] and client.ask("HVALS", "s/a") == [b"1", b"7"]
    assert client.ask("HMGET", "s/a", "ends", "user", "none", "ENDS") == [None, b"1", None, None]
    assert client.ask("HGET", "s/a", "ends") is None and client.ask("HEXISTS", "s/a", "ends") == 0 and client.ask("HDEL", "s/a", "ends") == 0
    assert client.ask("HSET", "s/a", "ends", 1).startswith("NOFIELD") and client.ask("HINCRBY", "s/a", "Ends", 1).startswith("NOFIELD")
    assert client.ask("HINCRBY", "s/a", "hits", 1) == 8 and client.ask("HSET", "s/a", "user", 2) == 0
    assert client.ask("TTL", "s/a") > 90, "what changes fields keeps the expiry"
    assert client.ask("PERSIST", "s/a") == 1 and client.ask("PERSIST", "s/a") == 0 and sql.value("SELECT ends FROM session") is None
    assert fields(client.ask("HGETALL", "f/a")) == {b"user": b"2"} and client.ask("TYPE", "s/a") == "hash"
    assert client.ask("HSET", "t/1:x", "user", 1) == 1 and client.ask("PEXPIRE", "t/1:x", 9500) == 1 and 9 <= client.ask("TTL", "t/1:x") <= 11
    assert client.ask("PERSIST", "t/1:x") == 1 and sql.value("SELECT ends FROM ticket") == b"0"
    assert client.ask("DEL", "s/a", "s/b") == 1 and client.ask("EXISTS", "s/a") == 0


def test_random_commands_on_expiry_are_as_in_the_store(client, rng):
    """The same commands on a row and on a string have the same replies."""
    at = int(time.time())
    commands = [("EXISTS",), ("DEL",), ("TTL",), ("EXPIRETIME",), ("PERSIST",), ("EXPIRE", "-1"), ("EXPIREAT", "1"), ("PEXPIREAT", str(at * 1000 - 5)),
                ("EXPIRE", "x"), ("EXPIRE", "9", "XX", "NX"), ("EXPIRE", "9223372036854775807"), ("TOUCH",)]
    for option in ((), ("NX",), ("XX",), ("GT",), ("LT",), ("XX", "GT"), ("XX", "LT"), ("what",)):
        commands += [("EXPIREAT", str(at + 100), *option), ("PEXPIREAT", str(at * 1000 + 50500), *option), ("EXPIREAT", str(at + 200), *option)]
    for step in range(1200):
        if step == 0 or rng.random() < 0.2:
            client.ask("SET", "bare", 1)
            client.ask("DEL", "s/k")
            client.ask("HSET", "s/k", "user", 1)
        command, *options = rng.choice(commands)
        replies = [client.ask(command, key, *options) for key in ("bare", "s/k")]
        assert replies[0] == replies[1] or (command == "TTL" and abs(replies[0] - replies[1]) <= 1), (command, options)
        assert client.ask("PEXPIRETIME", "bare") == client.ask("PEXPIRETIME", "s/k"), (command, options)


def test_expire_counts_from_the_end_of_its_wait(client, server):
    """A row that was locked for longer than the time is not deleted by the command that gives it the time."""
    sql, locker = server.sql("shop"), server.sql("shop")
    assert client.ask("HSET", "s/a", "user", 1) == 1
    locker.run("BEGIN")
    assert locker.value("SELECT user FROM session WHERE id = 'a' FOR UPDATE") == b"1"
    before = sql.status("Resp_lock_waits")
    client.send("EXPIRE", "s/a", 2)
    wait_until(lambda: sql.status("Resp_lock_waits") > before, 20, "the wait")
    time.sleep(2.5)
    locker.run("ROLLBACK")
    assert client.receive() == 1 and client.ask("HGET", "s/a", "user") == b"1" and 0 < client.ask("PTTL", "s/a") <= 2000


def expire(server, key):
    server.sql().run(f"UPDATE shop.session SET ends = 1 WHERE id = '{key}'")


@pytest.fixture(scope="module")
def keeping(request):
    """A server whose ports may not delete rows of session, so that those that have expired stay."""
    server = resp.start(lambda **kwargs: create(request.config, **kwargs))
    sql = server.sql()
    sql.run("CREATE USER app@localhost")
    sql.run("GRANT SELECT, INSERT, UPDATE ON shop.* TO app@localhost")
    sql.run("CREATE DATABASE IF NOT EXISTS rowsocket")
    sql.run("GRANT SELECT, INSERT, UPDATE, DELETE ON rowsocket.* TO app@localhost")
    server.stop()
    server.start(options=[f"--loose-resp-port={server.resp_port}", "--loose-resp-schema=shop", "--loose-resp-user=app@localhost",
                          "--loose-daemon-memcached-user=app@localhost"])
    prepare(server)
    sql = server.sql()
    sql.run("GRANT DELETE ON shop.ticket TO app@localhost")
    yield server
    remove(server)


def test_an_expired_row_is_absent_until_it_is_purged(keeping):
    client, sql = Client(keeping.resp_port, 3), keeping.sql("shop")
    ask = client.ask
    assert ask("HSET", "s/a", "user", 1, "hits", 2) == 2
    expire(keeping, "a")
    assert ask("HGETALL", "s/a") == {} and ask("HGET", "s/a", "user") is None and ask("HMGET", "s/a", "user", "x") == [None, None]
    assert [ask(name, "s/a") for name in ("HLEN", "EXISTS", "TTL", "PTTL", "EXPIRETIME", "PERSIST", "TYPE")] == [0, 0, -2, -2, -2, 0, "none"]
    assert ask("HKEYS", "s/a") == [] and ask("HEXISTS", "s/a", "user") == 0 and ask("HSTRLEN", "s/a", "user") == 0
    assert ask("HSCAN", "s/a", 0) == [b"0", []] and ask("SCAN", 0, "MATCH", "s/*") == [b"0", []] and ask("KEYS", "s/*") == []
    assert ask("HDEL", "s/a", "user") == 0 and ask("HINCRBY", "s/a", "hits", 1).startswith("NOROW") and ask("EXPIRE", "s/a", 9).startswith("NOPERM")
    assert ask("HSET", "f/a", "user", 9).startswith("NOROW"), "if_absent = refuse"
    assert client.transaction(("ROW.REQUIRE", "s/a", "user", "=", 1), ("HSET", "s/b", "user", 1)) is None
    assert sql.row("SELECT id, user, hits, ends FROM session") == (b"a", b"1", b"2", b"1.000"), "nothing was changed"
    assert ask("HSETNX", "s/a", "user", 5) == 1
    assert sql.row("SELECT user, hits, ends FROM session WHERE id = 'a'") == (b"5", b"7", None), "the new row has nothing of the old one"
    expire(keeping, "a")
    assert ask("HSET", "s/a", "hits", 3) == 1 and ask("HGETALL", "s/a") == {b"hits": b"3"} and ask("TTL", "s/a") == -1
    expire(keeping, "a")
    assert client.transaction(("HSET", "s/a", "user", 1), ("HINCRBY", "s/a", "user", 1), ("HGETALL", "s/a")) == \
        [1, 2, {b"user": b"2", b"hits": b"7"}]
    # The port's account lacks DELETE on this table, and has it on the other one.
    assert ask("DEL", "s/a").startswith("NOPERM")
    expire(keeping, "a")
    assert ask("HSET", "t/1:x", "user", 1) == 1 and ask("EXPIRE", "t/1:x", 1) == 1
    wait_until(lambda: sql.value("SELECT COUNT(*) FROM ticket") in (0, b"0"), 30, "the purge")
    assert sql.value("SELECT COUNT(*) FROM session") in (1, b"1")
    # Whichever plugin's variables the housekeeper goes by.
    wait_until(lambda: re.search(r"expired rows of keyspace 's/' stay: the account of \w+_user lacks DELETE on shop\.session", keeping.log()), 10, "the log")


@pytest.mark.parametrize("rule", ["", "ON UPDATE CASCADE", "ON UPDATE SET NULL"])
def test_an_expired_row_that_a_foreign_key_keeps_is_changed(client, server, rule):
    sql = server.sql("shop")
    sql.run(f"CREATE TABLE child (id VARCHAR(40), FOREIGN KEY (id) REFERENCES session (id) {rule}) ENGINE=InnoDB")
    try:
        assert client.ask("HSET", "s/a", "user", 1, "hits", 2) == 2
        sql.run("INSERT INTO child VALUES ('a')")
        expire(server, "a")
        assert client.ask("EXISTS", "s/a") == 0
        assert client.ask("HSET", "s/a", "user", 5) == 1
        assert sql.row("SELECT id, user, hits, ends FROM session") == (b"a", b"5", b"2", None)
        assert sql.rows("SELECT id FROM child") == [(b"a",)]
    finally:
        sql.run("DROP TABLE child")


def test_deleting_an_expired_row_that_a_foreign_key_keeps_fails_for_nobody(client, server):
    """The purge cannot remove the row, either."""
    sql = server.sql("shop")
    sql.run("CREATE TABLE child (id VARCHAR(40), FOREIGN KEY (id) REFERENCES session (id)) ENGINE=InnoDB")
    try:
        assert client.ask("HSET", "s/a", "user", 1) == 1
        sql.run("INSERT INTO child VALUES ('a')")
        assert client.ask("DEL", "s/a").startswith("CONSTRAINT"), "a row that lives"
        expire(server, "a")
        assert client.ask("DEL", "s/a") == 0 and client.ask("UNLINK", "s/a") == 0
        assert client.ask("HSET", "s/b", "user", 1) == 1 and client.ask("DEL", "s/a", "s/b", "s/none") == 1
        assert client.ask("HSET", "s/b", "user", 1) == 1 and client.transaction(("DEL", "s/a"), ("DEL", "s/b")) == [0, 1]
        assert sql.rows("SELECT id FROM session") == sql.rows("SELECT id FROM child") == [(b"a",)]
    finally:
        sql.run("DROP TABLE child")


def test_watch_sees_expiry(keeping):
    client = Client(keeping.resp_port)
    ask = client.ask
    ask("HSET", "s/w", "user", 1)
    assert ask("WATCH", "s/w") == "OK"
    expire(keeping, "w")
    assert client.transaction(("HSET", "s/x", "user", 1)) is None, "it has expired meanwhile"
    assert ask("WATCH", "s/w") == "OK"
    assert client.transaction(("HSET", "s/w", "user", 2)) == [1], "it was absent and is so still"
    expire(keeping, "w")
    assert ask("WATCH", "s/w") == "OK"
    keeping.sql().run("UPDATE shop.session SET ends = NULL WHERE id = 'w'")
    assert client.transaction(("HSET", "s/w", "user", 3)) is None, "it is there now"
    keeping.sql().run("UPDATE shop.session SET ends = UNIX_TIMESTAMP(NOW(3)) + 2 WHERE id = 'w'")
    assert ask("WATCH", "s/w") == "OK"
    other = Client(keeping.resp_port)
    wait_until(lambda: other.ask("EXISTS", "s/w") == 0, 10, "its end")
    assert client.transaction(("HSET", "s/w", "user", 4)) is None, "its time has passed"


def test_expired_rows_are_purged_and_read_only_keys_are_not_changed(client, server):
    sql = server.sql("shop")
    for number in range(20):
        client.ask("HSET", f"s/{number}", "user", 1)
        client.ask("HSET", f"t/{number}:x", "user", 1)
    assert len(client.ask("KEYS", "s/*")) == 20
    for command in (("EXPIRE", "r/1", 1), ("PERSIST", "r/1"), ("DEL", "r/1"), ("HSET", "r/1", "user", 1)):
        assert client.ask(*command).startswith("NOPERM rowsocket.keyspaces"), command
    assert client.ask("EXISTS", "r/1") == 1 and client.ask("TTL", "r/1") == -1
    assert client.transaction(*[(("EXPIRE", f"s/{number}", 1)) for number in range(15)]) == [1] * 15
    sql.run("UPDATE ticket SET ends = 1 WHERE a < 12")
    assert len(client.ask("KEYS", "t/*")) <= 8
    wait_until(lambda: sql.row("SELECT (SELECT COUNT(*) FROM session), (SELECT COUNT(*) FROM ticket)") in ((5, 8), (b"5", b"8")), 30, "the purge")
    assert client.ask("EXPIRE", "s/17", 0) == 1 and client.ask("EXPIRE", "s/17", 0) == 0


def test_a_column_that_cannot_hold_a_time_is_told(client, server):
    assert client.ask("HGET", "wrong/a", "user") == Error("NOSTORE the column of expiry of this prefix cannot be used: column id is part of the key")
    assert client.ask("SCAN", 0, "MATCH", "wrong/*").startswith("NOSTORE")
    assert "keyspace 'wrong/' is disabled: column id is part of the key" in server.log()


def test_a_table_of_keyspaces_of_an_older_version(client, server):
    sql = server.sql()
    assert client.ask("EXISTS", "r/none") == 0
    kept = sql.rows("SELECT prefix, expires FROM rowsocket.keyspaces")
    sql.run("ALTER TABLE rowsocket.keyspaces DROP COLUMN expires")
    wait_until(lambda: str(client.ask("EXPIRE", "s/a", 9)).startswith("NOTSERVED"), 10, "keyspaces without expiry")
    assert client.ask("HSET", "s/a", "user", 1) == 1 and fields(client.ask("HGETALL", "s/a")) == {b"user": b"1", b"hits": b"7"}
    run_packaged(sql, "rowsocket_store.sql")
    run_packaged(sql, "rowsocket_store.sql")
    for prefix, expires in kept:
        if expires is not None:
            sql.run(f"UPDATE rowsocket.keyspaces SET expires = '{expires.decode()}' WHERE prefix = '{prefix.decode()}'")
    wait_until(lambda: client.ask("EXPIRE", "s/a", 9) == 1, 10, "the column again")


@pytest.mark.parametrize("of_memcached", [0, 1000])
def test_each_plugin_rules_what_has_expired_of_its_own(request, of_memcached):
    """daemon_memcached's variable is for items of containers, whichever plugin the server starts first."""
    server = resp.start(lambda **kwargs: create(request.config, **kwargs),
                        f"--loose-daemon-memcached-purge-rows-per-second={of_memcached}")
    try:
        prepare(server)
        sql = server.sql()

        sql.run("INSERT INTO innodb_memcache.demo (id, value, expires) VALUES ('one', '1', 1), ('two', '2', 1)")
        for removed in range(3):  # in as many rounds, the last of which begins behind the items
            sql.run(f"INSERT INTO shop.ticket VALUES ({removed}, 'x', 1, 1)")
            wait_until(lambda: sql.value("SELECT COUNT(*) FROM shop.ticket") == b"0", 10, "RESP's row is removed")
        if of_memcached:
            wait_until(lambda: sql.status("Daemon_memcached_purged") == 2, 10, "the items are counted")
        assert sql.value("SELECT COUNT(*) FROM innodb_memcache.demo WHERE expires = 1") == (b"0" if of_memcached else b"2")
    finally:
        remove(server)
