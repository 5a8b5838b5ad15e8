"""Keys and filters with characters that the column's character set does not have: SQL refuses to order by
them, and nothing is equal to them."""

import itertools

import pymysql
import pytest

import mc
from hs import counted, refused
from mc_tables import Container
from server import is_mysql

pytestmark = pytest.mark.ours

# For each character set: characters that it lacks.
FOREIGN = {"latin1": "日本", "ascii": "é", "cp1251": "日", "ucs2": "😀", "utf8mb3": "😀", "latin2": "日",
           "koi8r": "é", "utf16": None, "utf8mb4": None, "sjis": "ä", "greek": "ж", "euckr": "😀"}
RANGES = (">", ">=", "<", "<=")
TEXTS = ("", "!", "?", "??", "@", "A", "a", "b", "z")


def fill(sql, charset, kind):
    sql.run("SET NAMES utf8mb4")
    sql.run(f"CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, c {kind} CHARACTER SET {charset}, n INT DEFAULT 1,"
            f" KEY k (c{'(4)' if kind == 'TEXT' else ''}), KEY kn (n, c{'(4)' if kind == 'TEXT' else ''}))")
    for text in TEXTS:
        sql.run("INSERT INTO t (c) VALUES (%s)", text)
    sql.run("INSERT INTO t (c) VALUES (NULL)")


def of_sql(sql, condition, value):
    """The ids that SQL finds; no ids where SQL refuses."""
    try:
        return {one for one, in sql.rows(f"SELECT id FROM t WHERE {condition}", value)}
    except pymysql.MySQLError as error:
        assert error.args[0] == (3854 if is_mysql() else 1267), error
        return set()


@pytest.mark.parametrize("kind", ["VARCHAR(20)", "CHAR(20)", "TEXT"])
@pytest.mark.parametrize("charset", [name for name, foreign in FOREIGN.items() if foreign])
def test_keys(sql, rd, wr, charset, kind):
    fill(sql, charset, kind)
    foreign = FOREIGN[charset]
    for text in (foreign, "a" + foreign, foreign + "a", "?" + foreign):
        for index, key in (("k", [text]), ("kn", ["1", text])):
            find, change = rd("t", index, "id"), wr("t", index, "n")
            same = of_sql(sql, "c = %s", text)
            assert {row[0] for row in find.rows("=", key, 99)} == same == set()
            for op in RANGES:
                assert find.find(op, key, 99) == refused(2, "charset"), (text, op)
                assert change.delete(op, key, 99) == refused(2, "charset")
                assert change.update(op, key, [5], 99) == refused(2, "charset")
                assert change.modify(op, key, ["+", 5], 99) == refused(2, "charset")
            assert change.delete("=", key, 99) == counted(0)
            assert change.update("=", key, [5], 99) == counted(0)
    assert sql.value("SELECT COUNT(*) FROM t WHERE n = 1") == b"10"


@pytest.mark.parametrize("charset", [name for name, foreign in FOREIGN.items() if foreign])
def test_filters(sql, rd, wr, charset):
    fill(sql, charset, "VARCHAR(20)")
    foreign = FOREIGN[charset]
    find, change = rd("t", "", "id", "c"), wr("t", "", "n", "c")
    for kind, text in itertools.product("FW", (foreign, "a" + foreign)):
        for op in RANGES:
            one = [(kind, op, 0, text)]
            assert find.find(">=", [0], 99, 0, filters=one) == refused(2, "charset")
            assert find.find("=", [1], 1, 0, filters=one) == refused(2, "charset")
            assert change.delete(">=", [0], 99, filters=one) == refused(2, "charset")
            assert change.update("=", [1], [5], filters=one) == refused(2, "charset")
        assert find.rows(">=", [0], 99, 0, filters=[(kind, "=", 0, text)]) == []
        assert change.delete(">=", [0], 99, filters=[(kind, "=", 0, text)]) == counted(0)
        # No row has this text.
        assert len(find.rows(">=", [0], 99, 0, filters=[(kind, "!=", 0, text)])) == 10
    assert sql.value("SELECT COUNT(*) FROM t WHERE n = 1") == b"10"


@pytest.mark.parametrize("charset", [name for name, foreign in FOREIGN.items() if not foreign])
def test_a_character_set_with_all_characters_refuses_none(sql, rd, charset):
    fill(sql, charset, "VARCHAR(20)")
    for op in RANGES:
        assert {row[0] for row in rd("t", "k", "id").rows(op, ["日😀"], 99)} >= of_sql(
            sql, f"c {op} %s", "日😀")


def test_a_list_of_keys_is_looked_at_before_any_row_is_changed(sql, rd, wr):
    fill(sql, "latin1", "VARCHAR(20)")
    for values in (["a", "日"], ["日", "a"]):
        for op in RANGES:
            assert rd("t", "k", "id").find(op, ["-"], 9, 0, within=(0, values)) == refused(2, "charset")
            assert wr("t", "k", "n").delete(op, ["-"], 9, within=(0, values)) == refused(2, "charset")
    assert sql.value("SELECT COUNT(*) FROM t") == b"10"
    assert len(rd("t", "k", "id").rows("=", ["日"], 9, 0, within=(0, ["a", "日", "b"]))) == 2


def test_requests_for_one_row_in_a_batch(sql, wr):
    """The filter applies to the row on which other requests of the batch are executed, too."""
    fill(sql, "latin1", "VARCHAR(20)")
    index = wr("t", "", "n", "c")
    client = index.client
    tokens = lambda op, text: [index.id, "=", 1, 1, 1, 0, "F", op, 0, text, "+", 1]
    replies = client.pipeline([tokens("!=", "x"), tokens("<", "日"), tokens("!=", "日"), tokens("=", "日")])
    assert replies == [counted(1), refused(2, "charset"), counted(1), counted(0)]


@pytest.mark.parametrize("charset", ["latin1", "ascii", "cp1251", "ucs2", "utf8mb3"])
def test_memcached_keys(server, db, charset):
    binary = f"{charset}_bin"
    container = Container(server, db, f"x{charset}", f"k VARCHAR(50) COLLATE {binary} PRIMARY KEY, v VARCHAR(50)"
                          f" CHARACTER SET {charset}, f INT UNSIGNED NOT NULL DEFAULT 0, c BIGINT UNSIGNED NOT NULL"
                          " DEFAULT 0, e BIGINT NOT NULL DEFAULT 0")
    client = container.ready(mc.connect(server))
    foreign = FOREIGN[charset].encode()
    asked = container.at(foreign)
    for kept in (b"?", b"??", b"???", b"????"):
        assert client.set(container.at(kept), b"kept") == b"STORED"
    assert client.value(asked) is None
    for verb in ("set", "add", "replace", "append"):
        reply = client.set(asked, b"new", verb=verb)
        assert reply == b"NOT_STORED" or reply.startswith((b"SERVER_ERROR", b"CLIENT_ERROR")), (verb, reply)
    for line in (b"delete %s", b"incr %s 1", b"touch %s 100", b"md %s", b"ma %s"):
        reply = client.command((line % asked).decode("latin-1"))
        assert reply in (b"NOT_FOUND", b"NF") or reply.startswith((b"SERVER_ERROR", b"CLIENT_ERROR")), (line, reply)
    assert client.set(container.at(b"?"), foreign).startswith(b"SERVER_ERROR")
    assert container.sql.rows(f"SELECT DISTINCT v FROM x{charset}") == [(b"kept",)]
    assert container.sql.value(f"SELECT COUNT(*) FROM x{charset}") == b"4"
    container.drop()
