"""The faults of MySQL's plugin (docs/WRONGS.md): at least one test for each row that no other file tests. The
tests do not wait for time to pass: SQL changes when rows expire."""

import re

import pytest

import mc
from mc_tables import Container, definition
from server import is_mysql, wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.ours]


def expire(container, *keys):
    """Makes the rows expire a second ago."""
    for key in keys:
        assert container.sql.run(f"UPDATE {container.table} SET e = UNIX_TIMESTAMP() - 1 WHERE k = %s", key)


EXPIRED = [  # (the request, the answer, the value afterwards)
    (b"get K\r\n", b"END", None),
    (b"gets K\r\n", b"END", None),
    (b"gat 100 K\r\n", b"END", None),
    (b"add K 0 0 1\r\nn\r\n", b"STORED", b"n"),
    (b"set K 0 0 1\r\nn\r\n", b"STORED", b"n"),
    (b"replace K 0 0 1\r\nn\r\n", b"NOT_STORED", None),
    (b"append K 0 0 1\r\nn\r\n", b"NOT_STORED", None),
    (b"prepend K 0 0 1\r\nn\r\n", b"NOT_STORED", None),
    (b"cas K 0 0 1 TOKEN\r\nn\r\n", b"NOT_FOUND", None),
    (b"incr K 1\r\n", b"NOT_FOUND", None),
    (b"decr K 1\r\n", b"NOT_FOUND", None),
    (b"touch K 0\r\n", b"NOT_FOUND", None),
    (b"delete K\r\n", b"NOT_FOUND", None),
    (b"mg K v\r\n", b"EN", None),
    (b"mg K T0\r\n", b"EN", None),
    (b"ms K 1 ME\r\nn\r\n", b"HD", b"n"),
    (b"ms K 1 MR\r\nn\r\n", b"NS", None),
    (b"ms K 1 MA\r\nn\r\n", b"NS", None),
    (b"ms K 1 CTOKEN\r\nn\r\n", b"NF", None),
    (b"md K\r\n", b"NF", None),
    (b"ma K\r\n", b"NF", None),
    (b"ma K N0 J9\r\n", b"HD", b"9"),
]


@pytest.mark.parametrize("request_,answer,after", EXPIRED, ids=lambda value: str(value)[2:20])
def test_row_1_an_expired_row_is_absent(container, request_, answer, after):
    client, key = container.ready(), container.at("k")
    assert client.set(key, b"5", flags=3, expiry=1000) == b"STORED"
    token = client.token(key)
    expire(container, "k")
    client.send(request_.replace(b"K", key, 1).replace(b"TOKEN", b"%d" % token))
    assert client.line() == answer
    assert client.value(key) == after
    assert client.in_step("text")
    if after is not None:
        assert container.row("k", "v, f, e") == (after, b"0", b"0")


@pytest.mark.parametrize("opcode,extras,status", [
    (mc.GET, b"", 1), (mc.GETK, b"", 1), (mc.GAT, bytes(4), 1), (mc.TOUCH, bytes(4), 1), (mc.DELETE, b"", 1),
    (mc.REPLACE, mc.storing(), 1), (mc.APPEND, b"", 5), (mc.INCR, mc.counting(1), 1),
    (mc.ADD, mc.storing(), 0), (mc.INCR, mc.counting(1, 7, 0), 0)])
def test_row_1_in_binary(container, opcode, extras, status):
    client, key = container.ready(), container.at("k")
    assert client.set(key, b"5", expiry=1000) == b"STORED"
    expire(container, "k")
    with mc.connect(container.server) as binary:
        value = b"n" if opcode in (mc.REPLACE, mc.APPEND, mc.ADD) else b""
        assert binary.binary(opcode, key, value, extras).status == status
        assert (binary.binary(mc.GET, key).status == 0) == (status == 0)


def test_row_1_expired_rows_are_purged(container):
    """Expired rows go by themselves; rows that have not expired stay, even if they are changed meanwhile."""
    client = container.ready()
    for number in range(300):
        assert client.set(container.at(f"k{number}"), b"v", expiry=1000) == b"STORED"
    container.sql.run(f"UPDATE {container.table} SET e = UNIX_TIMESTAMP() - 1 WHERE k < 'k2'")
    there = f"SELECT COUNT(*) FROM {container.table}"
    stay = int(container.sql.value(there + " WHERE k >= 'k2'"))
    wait_until(lambda: int(container.sql.value(there)) == stay, 60, "the purge", 0.1)
    assert client.value(container.at("k299")) == b"v"


def test_row_1_the_purge_goes_through_the_binlog(make_server):
    server = make_server(options=["--log-bin=purge", "--server-id=1"])
    sql = server.sql()
    sql.run("CREATE DATABASE p")
    container = Container(server, "p", "box")
    client = container.ready()
    for number in range(20):
        assert client.set(container.at(f"k{number}"), b"v", expiry=1000) == b"STORED"
    sql.run("UPDATE p.box SET e = UNIX_TIMESTAMP() - 1 WHERE k <> 'k7'")
    wait_until(lambda: sql.value("SELECT COUNT(*) FROM p.box") == b"1", 60, "the purge", 0.1)
    kinds = [row[2] for row in sql.rows("SHOW BINLOG EVENTS IN 'purge.000001'")]
    assert any(kind.startswith(b"Delete_rows") for kind in kinds), set(kinds)


def test_row_2_tokens_survive_a_restart_and_grow(make_server):
    server = make_server()
    client = mc.connect(server)
    tokens = []
    for _ in range(3):
        assert client.set("k", b"v") == b"STORED"
        tokens.append(client.token("k"))
    server.stop()
    server.start()
    client = mc.connect(server)
    assert client.token("k") == tokens[-1]
    client.send(b"cas k 0 0 1 %d\r\nw\r\n" % tokens[-1])
    assert client.line() == b"STORED"
    tokens.append(client.token("k"))
    assert tokens == sorted(set(tokens)) and 0 not in tokens


def test_row_2_without_a_cas_column(server, db):
    """Equality only: cas with 0 never matches; commands that need an order are refused."""
    container = Container(server, db, f"h{db}", token="0")
    try:
        client, key = container.ready(), container.at("k")
        assert client.set(key, b"one") == b"STORED"
        token = client.token(key)
        assert token != 0
        for wrong in (0, token + 1):
            client.send(b"cas %s 0 0 1 %d\r\nx\r\n" % (key, wrong))
            assert client.line() == b"EXISTS"
        container.sql.run(f"UPDATE {container.table} SET v = 'two'")
        client.send(b"cas %s 0 0 1 %d\r\nx\r\n" % (key, token))
        assert client.line() == b"EXISTS"
        client.send(b"cas %s 0 0 1 %d\r\nx\r\n" % (key, client.token(key)))
        assert client.line() == b"STORED"
        for flags in (b"E77", b"I C5"):
            line = client.meta(b"ms %s 1 %s" % (key, flags), b"y")[0]
            assert line.startswith((b"CLIENT_ERROR", b"SERVER_ERROR")), line
        assert container.row("k") == (b"x",)
    finally:
        container.drop()


@pytest.mark.parametrize("columns,value,stored", [
    ("v INT", b"007", (b"7",)), ("v INT(5) ZEROFILL", b"42", (b"00042",)), ("v DECIMAL(6, 2)", b"1.5", (b"1.50",)),
    ("v DOUBLE", b"1e1", (b"10",)), ("v DATETIME", b"2024-05-06T07:08:09", (b"2024-05-06 07:08:09",)),
    ("v INT, w BLOB", b"+7|x\\|y", (b"7", b"x|y")), ("v BLOB", b"007", (b"007",)),
    ("v ENUM('a', 'b')", b"B", (b"b",))])
def test_row_2_a_reply_tells_the_token_of_what_is_stored(server, db, columns, value, stored):
    """The token is that of the next gets, whatever the columns make of the value; it is good for a cas."""
    names = [column.strip().split(" ")[0] for column in columns.replace("6, 2", "6.2").split(",")
             if column.strip()[0] in "vw"]
    container = Container(server, db, f"r{db}", f"k VARBINARY(20) PRIMARY KEY, {columns}", value=" ".join(names),
                          flags="0", token="0", expiry="0")
    try:
        client, key = container.ready(), container.at("k")
        line = b"ms %s %d F5 c\r\n%s\r\n" % (key, len(value), value)
        assert client.meta(line[:-2])[0] == b"HD c%d" % client.token(key)
        assert container.row("k", ", ".join(names)) == stored
        client.send(line * 9)  # the requests merge into one change
        assert {client.line() for _ in range(9)} == {b"HD c%d" % client.token(key)}
        with mc.connect(server) as binary:
            token = 0
            for opcode in (mc.SET, mc.SET, mc.REPLACE):
                told = binary.binary(opcode, key, value, mc.storing(flags=7), token=token)
                assert told.status == 0
                token = told.token
                assert token == client.token(key)
            if stored[0].isdigit() and len(names) == 1:
                told = binary.binary(mc.INCR, key, b"", mc.counting(1), token=token)
                assert (told.status, told.token) == (0, client.token(key))
    finally:
        container.drop()


def test_row_2_a_bigint_column_holds_the_number(server, db):
    container = Container(server, db, f"b{db}", "k VARBINARY(20) PRIMARY KEY, v BLOB, c BIGINT UNSIGNED",
                          flags="0", expiry="0")
    try:
        client, key = container.ready(), container.at("k")
        assert client.set(key, b"one") == b"STORED"
        assert container.row("k", "c") == (b"%d" % client.token(key),)
        assert client.meta(b"ms %s 1 E12345" % key, b"x")[0] == b"HD"
        assert container.row("k", "c") == (b"12345",) and client.token(key) == 12345
        container.sql.run(f"UPDATE {container.table} SET c = 99")
        client.send(b"cas %s 0 0 1 99\r\ny\r\n" % key)
        assert client.line() == b"STORED"
        assert client.token(key) > 99
    finally:
        container.drop()


@pytest.mark.parametrize("column,largest", [
    ("DATETIME(6) NOT NULL DEFAULT NOW(6) ON UPDATE NOW(6)", "9999-12-31 23:59:59.999999"),
    ("TIMESTAMP(6) NOT NULL DEFAULT NOW(6) ON UPDATE NOW(6)", "2038-01-19 05:14:07.999999"),
    ("BIGINT NOT NULL DEFAULT 0", str(2**63 - 1)), ("BIGINT UNSIGNED NOT NULL DEFAULT 0", str(2**64 - 1))])
def test_row_2_there_is_a_token_after_the_largest(make_server, column, largest):
    """SQL or a client has stored the largest token; a larger token is refused and changes nothing."""
    server = make_server(options=["--default-time-zone=+02:00"])
    server.sql().run("CREATE DATABASE large")
    container = Container(server, "large", "box", f"k VARBINARY(20) PRIMARY KEY, v BLOB, c {column}",
                          flags="0", expiry="0")
    client, key = container.ready(), container.at("k")
    refusal = b"SERVER_ERROR the cas_column cannot hold this cas"
    container.sql.run("INSERT INTO box VALUES ('k', '1', %s)", largest)
    token = client.token(key)
    for change in (lambda: client.set(key, b"2"), lambda: client.command(f"incr {key.decode()} 1"),
                   lambda: client.meta(b"ma %s" % key)[0], lambda: client.set(key, b"0", verb="append")):
        assert client.meta(b"ms %s 1 E%d" % (key, token), b"1")[0] == b"HD"
        assert client.token(key) == token and container.row("k", "c") == (largest.encode(),)
        assert change() in (b"STORED", b"2", b"HD")
        assert 1_700_000_000_000_000 < client.token(key) < token
    if token < 2**64 - 1:
        assert client.meta(b"ms %s 1 E%d" % (key, token + 1), b"x")[0] == refusal
    assert container.row("k") == (b"10",)


def test_row_3_counting_has_64_bits(container):
    client, key = container.ready(), container.at("k").decode()
    for start, verb, delta, end in (
            (b"5", "incr", 2**32, b"4294967301"), (b"5", "incr", 2**63, b"9223372036854775813"),
            (b"18446744073709551615", "incr", 2, b"1"), (b"4294967301", "decr", 2**32, b"5"),
            (b"5", "decr", 2**63, b"0")):
        assert client.set(key, start) == b"STORED"
        assert client.command(f"{verb} {key} {delta}") == end
        assert container.row("k") == (end,)
    for bad in (b"abc", b"", b"-1", b"18446744073709551616"):
        assert client.set(key, bad) == b"STORED"
        assert client.command(f"incr {key} 1") == (
            b"CLIENT_ERROR cannot increment or decrement non-numeric value")
        assert container.row("k") == (bad,)


def last_gtid(sql):
    """The number of the last transaction in the binary log."""
    position = "SELECT @@GLOBAL.gtid_executed" if is_mysql() else "SELECT @@gtid_binlog_pos"
    return int(re.split(rb"[-:]", sql.value(position))[-1])


def test_row_10_one_set_is_one_transaction(make_server):
    """In the binlog: one transaction with the whole row, and complete integers of 64 bits."""
    server = make_server(options=["--log-bin=one", "--server-id=1", "--binlog-format=STATEMENT",
                                  *(["--gtid-mode=ON", "--enforce-gtid-consistency=ON"] if is_mysql() else [])])
    sql = server.sql()
    sql.run("CREATE DATABASE o")
    container = Container(server, "o", "box", "k VARBINARY(20) PRIMARY KEY, v BIGINT UNSIGNED, x BIGINT"
                          " DEFAULT 9007199254740993", flags="0", token="0", expiry="0")
    client = container.ready()
    before = last_gtid(sql)
    assert client.set(container.at("k"), b"18446744073709551615") == b"STORED"
    assert client.command(f"delete {container.at('none').decode()}") == b"NOT_FOUND"
    assert client.set(container.at("k"), b"18446744073709551614") == b"STORED"
    assert last_gtid(sql) == before + 2
    kinds = [row[2] for row in sql.rows("SHOW BINLOG EVENTS IN 'one.000001'")]
    assert sum(kind.startswith(b"Write_rows") for kind in kinds) == 1
    assert sum(kind.startswith(b"Update_rows") for kind in kinds) == 1
    assert container.row("k", "v, x") == (b"18446744073709551614", b"9007199254740993")


def test_row_11_flush_all_is_refused(server):
    client = mc.connect(server)
    assert client.set("demo", b"v") == b"STORED"
    for line in ("flush_all", "flush_all 0", "flush_all 10"):
        assert client.command(line) == b"CLIENT_ERROR flush_all not allowed"
    with mc.connect(server) as binary:
        assert binary.binary(mc.FLUSH).status != 0
        assert binary.in_step("binary")
    assert client.value("demo") == b"v"
    assert client.command("delete demo") == b"DELETED"


def test_row_11_flush_all_empties_the_container_addressed(memcached):
    sql = memcached.sql()
    sql.run("CREATE OR REPLACE DATABASE fl")
    container = Container(memcached, "fl", "flushed")
    try:
        client = container.ready()
        assert client.set("k", b"default") == b"STORED"
        assert client.set(container.at("k"), b"named") == b"STORED"
        assert client.command("flush_all") == b"OK"
        assert client.value("k") is None and client.value(container.at("k")) == b"named"
        row = definition(sql)
        assert sql.value(f"SELECT COUNT(*) FROM {row['db_schema']}.{row['db_table']}") == b"0"
        assert client.set("k", b"default") == b"STORED"
        client.send(b"get @@flushed\r\n")
        client.reply_to_get()
        assert client.command("flush_all") == b"OK"
        assert container.row("k") is None
        with mc.connect(memcached) as other:
            assert other.value("k") == b"default"
    finally:
        container.drop()
        sql.run("DROP DATABASE fl")


def test_row_11_a_delay_is_honored_and_replaced(memcached):
    client = mc.connect(memcached)
    assert client.command("flush_all") == b"OK"
    assert client.set("k", b"v") == b"STORED"
    assert client.command("flush_all 1") == b"OK"
    assert client.command("flush_all 1000") == b"OK"  # the first flush is not pending any more
    assert client.set("gone", b"v", expiry=2) == b"STORED"
    wait_until(lambda: client.value("gone") is None, 15, "two seconds")
    assert client.value("k") == b"v"
    assert client.command("flush_all 1") == b"OK"
    wait_until(lambda: client.value("k") is None, 15, "the flush")
    assert client.set("k", b"w") == b"STORED"
    assert client.value("k") == b"w"


def test_row_12_stats_and_status(server, db):
    container = Container(server, db, f"s{db}")
    try:
        client, sql = container.ready(), server.sql()
        before = status(sql)
        stats = {name: int(value) for name, value in client.stats().items() if value.isdigit()}
        key = container.at("k")
        assert client.set(key, b"v") == b"STORED"
        assert client.get(key, container.at("none")).keys() == {key}
        assert client.command(f"touch {key.decode()} 0") == b"TOUCHED"
        after, now = status(sql), client.stats()
        for name, more in (("cmd_set", 1), ("get_hits", 1), ("get_misses", 1), ("cmd_get", 2),
                           ("cmd_touch", 1)):
            assert int(now[name]) == stats[name] + more, name
        for name in ("curr_connections", "total_connections", "bytes_read", "bytes_written", "cmd_flush"):
            assert name in now
        assert after["hits"] == before["hits"] + 1 and after["misses"] == before["misses"] + 1
        assert any(container.name in name or container.name in value for name, value in now.items())
        settings = client.stats("settings")
        assert (settings["cas_enabled"], settings["flush_enabled"]) == ("yes", "no")
        client.send(b"stats reset\r\n")
        assert client.line() == b"RESET"
        assert client.stats()["get_hits"] == "0"
    finally:
        container.drop()


def status(sql):
    """A status variable Daemon_memcached_*, named without the prefix."""
    return {name.decode().lower().removeprefix("daemon_memcached_"): int(value) if value.isdigit() else value
            for name, value in sql.rows("SHOW GLOBAL STATUS LIKE 'daemon_memcached_%%'".replace("%%", "%"))}
