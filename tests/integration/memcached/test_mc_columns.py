"""Columns of the user's own choice with special behavior: ZEROFILL, hashes, NULL."""

import time

import pytest

import mc
from mc_tables import WHOLE, Container
from server import wait_until

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.ours]


@pytest.fixture
def make(server, db):
    """make(columns, ...): a container with a table of its own."""
    made = []

    def one(columns, **kwargs):
        made.append(Container(server, db, f"{db}{len(made)}", columns, **kwargs))
        return made[-1]
    yield one
    for container in made:
        container.drop()


def test_a_zerofill_number_in_a_key_of_several_columns(make):
    """The number reads as 0012 and is 12."""
    container = make("a INT(4) ZEROFILL, k VARCHAR(50) COLLATE utf8mb4_bin, v BLOB, PRIMARY KEY (a, k)",
                     key="a,k", flags="0", token="0", expiry="0")
    client, key = container.ready(), container.at("12|x")
    assert client.set(key, b"1") == b"STORED"
    assert client.value(key) == b"1"
    assert client.set(key, b"2") == b"STORED"
    assert client.command(f"delete {key.decode()}") == b"DELETED"
    assert client.value(key) is None


@pytest.mark.mariadb("UNIQUE over a whole TEXT")
def test_a_key_that_cannot_be_walked_disables_its_container(make):
    """UNIQUE over TEXT is a hash, which has no order for flush_all and the purge to follow."""
    container = make(WHOLE.replace("VARBINARY(250) PRIMARY KEY", "TEXT COLLATE utf8mb4_bin NOT NULL, UNIQUE KEY u (k)"),
                     index="u")
    client = mc.connect(container.server)

    def refused():
        client.send(b"mg %s v\r\n" % container.at("k"))
        return client.meta_reply()[0].startswith((b"SERVER_ERROR", b"CLIENT_ERROR"))
    wait_until(refused, 10, "that the container is wrong")
    assert any(container.name in line and "is a hash" in line for line in container.server.log().splitlines())


@pytest.mark.parametrize("kind", ["TIMESTAMP(6) NULL", "DATETIME(6)", "BIGINT UNSIGNED"])
def test_touch_leaves_a_token_of_null_alone(make_server, kind):
    """East of Greenwich the first microsecond of 1970 is before the first value of TIMESTAMP."""
    server = make_server(options=["--default-time-zone=+02:00"])
    server.sql().run("CREATE DATABASE touch")
    follows = "" if kind.startswith("BIGINT") else " DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP(6)"
    container = Container(server, "touch", "t", f"k VARBINARY(250) PRIMARY KEY, v BLOB, c {kind}{follows},"
                          " e BIGINT NOT NULL DEFAULT 0", flags="0")
    client, key = container.ready(), container.at("k")
    container.sql.run("INSERT INTO touch.t (k, v, c) VALUES ('k', 'v', NULL)")
    assert client.command(f"touch {key.decode()} 100") == b"TOUCHED"
    assert client.get(key, verb="gat 200") == {key: (0, b"v")}
    assert client.meta(b"mg %s T300 v" % key) == (b"VA 1", b"v")
    expiry, token = container.row("k", "e, c")
    assert token is None and abs(int(expiry) - time.time() - 300) < 60
    assert client.set(key, b"w") == b"STORED"
    assert container.row("k", "c IS NULL") == (b"0",)
    token = container.row("k", "c")
    assert client.command(f"touch {key.decode()} 400") == b"TOUCHED"
    assert container.row("k", "c") == token


def test_a_delayed_flush_waits_for_a_locked_row(memcached_with_flush):
    """The flush does not delete all other rows again and again while the row is locked."""
    server, container, client = memcached_with_flush
    for number in range(10):
        assert client.set(container.at(f"k{number}"), b"v") == b"STORED"
    locker = server.sql()
    locker.run("BEGIN")
    locker.row(f"SELECT 1 FROM {container.table} WHERE k = 'k9' FOR UPDATE")
    client.send(b"get @@%s\r\n" % container.name.encode())
    client.reply_to_get()
    assert client.command("flush_all 1") == b"OK"
    wait_until(lambda: server.sql().status("Innodb_row_lock_current_waits") == 1, 20, "the flush waits")
    locker.run("ROLLBACK")
    wait_until(lambda: container.sql.value(f"SELECT COUNT(*) FROM {container.table}") == b"0", 20, "the flush")


@pytest.fixture
def memcached_with_flush(make_server):
    server = make_server(options=["--loose-daemon-memcached-flush-all=ON", "--innodb-lock-wait-timeout=50"])
    server.sql().run("CREATE DATABASE flush")
    container = Container(server, "flush", "f")
    return server, container, container.ready()


def test_names_with_control_characters_end_no_line(make_server):
    """A user who may write to the mapping tables cannot write lines of their own into the log, or into
    `stats`."""
    server = make_server()
    sql, client = server.sql(), mc.connect(server)
    sql.run("INSERT INTO innodb_memcache.containers (name, db_schema, db_table, key_columns, value_columns,"
            " unique_idx_name_on_key) VALUES (%s, 'd', %s, 'k', 'v', 'PRIMARY')",
            "n\r\nEND\r\n", "x\n2026-11-22 12:00:00 0 [ERROR] InnoDB: forged")
    wait_until(lambda: "forged" in server.log(), 10, "why the container cannot be used")
    assert not any(line.startswith("2026-11-22 12:00:00 0 [ERROR]") for line in server.log().splitlines())
    client.send(b"stats\r\nversion\r\n")
    lines = [client.line()]
    while not lines[-1].startswith(b"VERSION"):
        lines.append(client.line())
    assert all(line.startswith(b"STAT ") for line in lines[:-2]) and lines[-2] == b"END"


def test_the_log_is_not_filled_by_changes_of_the_mapping(make_server):
    server = make_server()
    sql = server.sql("innodb_memcache")
    sql.run("INSERT INTO innodb_memcache.containers (name, db_schema, db_table, key_columns, value_columns,"
            " unique_idx_name_on_key) SELECT CONCAT('many', seq), 'd', 'nobody', 'k', 'v', 'PRIMARY'"
            " FROM seq_1_to_500")
    wait_until(lambda: "no more changes are logged for a minute" in server.log(), 10, "that there are too many")
    assert sum("container many" in line for line in server.log().splitlines()) < 110


@pytest.mark.mariadb("tcmalloc, which MySQL is linked with, keeps what is freed")
def test_a_large_value_leaves_no_memory_taken(make_server):
    """gat and gets of joined columns copy the value; the memory of the copy is given back."""
    server = make_server(options=["--max-allowed-packet=128M"])
    server.sql().run("CREATE DATABASE large")
    container = Container(server, "large", "t", "k VARBINARY(250) PRIMARY KEY, v LONGBLOB, w LONGBLOB, e BIGINT"
                          " NOT NULL DEFAULT 0", value="v,w", flags="0", token="0")
    client = container.ready()
    container.sql.run("INSERT INTO large.t VALUES ('small', 'v', 'w', 0), ('big', REPEAT('x', 50000000), '', 0),"
                      " ('huge', REPEAT('x', 70000000), '', 0)")
    before = server.memory_kib()
    assert len(client.get(container.at("big"), verb="gat 100")[container.at("big")][1]) == 50_000_001
    assert len(client.value(container.at("big"))) == 50_000_001
    client.send(b"gat 1000 %s\r\n" % container.at("huge"))
    assert client.line().startswith(b"SERVER_ERROR ")
    assert container.row("huge", "e") == (b"0",), "one that is refused is not touched"
    for _ in range(50):
        assert client.value(container.at("small")) == b"v|w"
        assert client.get(container.at("small"), verb="gat 100") != {}
    client.close()
    wait_until(lambda: server.memory_kib() < before + 40_000, 20, "the memory is given back")
