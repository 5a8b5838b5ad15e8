"""Triggers and sequences: a command is refused only where SQL would run a trigger for it, or take a number."""

import pytest

from resp import Client, Error

pytestmark = [pytest.mark.again_in("mariadb-11.8"), pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]

SCRATCH = "tg"
REFUSED = "CONSTRAINT the table has triggers, which are not run: write it by SQL"
# The commands, the statement that each of them is in SQL, and its answer where it is done.
COMMANDS = (
    (("HSET", "tg:1", "a", 6), "UPDATE", 0),
    (("HSET", "tg:2", "a", 6), "INSERT", 1),
    (("HSETNX", "tg:1", "b", 6), "UPDATE", 1),
    (("HSETNX", "tg:1", "a", 6), None, 0),
    (("HSETNX", "tg:2", "a", 6), "INSERT", 1),
    (("HINCRBY", "tg:1", "a", 2), "UPDATE", 7),
    (("HINCRBYFLOAT", "tg:1", "a", 2), "UPDATE", b"7"),
    (("HDEL", "tg:1", "a"), "UPDATE", 1),
    (("HDEL", "tg:1", "b"), None, 0),
    (("HDEL", "tg:2", "a"), None, 0),
    (("DEL", "tg:1"), "DELETE", 1),
)


@pytest.mark.parametrize("time", ["BEFORE", "AFTER"])
@pytest.mark.parametrize("event", ["INSERT", "UPDATE", "DELETE"])
def test_a_trigger_of_another_statement_does_not_count(client, shop, event, time):
    shop.run("CREATE TABLE IF NOT EXISTS tglog (x INT)")
    for command, statement, answer in COMMANDS:
        for asks in (client.ask, lambda *words: client.transaction(words)):
            shop.run("DROP TABLE IF EXISTS tg")
            shop.run("CREATE TABLE tg (id INT PRIMARY KEY, a INT, b INT)")
            shop.run("INSERT INTO tg VALUES (1, 5, NULL)")
            shop.run(f"CREATE TRIGGER tgt {time} {event} ON tg FOR EACH ROW INSERT INTO tglog VALUES (1)")
            before = shop.rows("SELECT * FROM tg")
            given = asks(*command)
            given = given[0] if isinstance(given, list) else given
            assert given == (answer if statement != event else given), (command, given)
            assert (isinstance(given, Error) and given.endswith(REFUSED)) == (statement == event), (command, given)
            assert (shop.rows("SELECT * FROM tg") != before) == (statement not in (event, None)), command
    assert shop.rows("SELECT * FROM tglog") == []


@pytest.mark.mysql("triggers of cascades")
def test_a_parent_is_changed_although_a_delete_would_reach_a_trigger(client, shop):
    shop.run("CREATE TABLE tg (id INT PRIMARY KEY, a INT)")
    shop.run("CREATE TABLE tgchild (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES tg (id) ON DELETE CASCADE)")
    shop.run("INSERT INTO tg VALUES (1, 5)")
    shop.run("INSERT INTO tgchild VALUES (1, 1)")
    shop.run("CREATE TRIGGER tgt BEFORE DELETE ON tgchild FOR EACH ROW SET @x = 1")
    assert client.ask("HINCRBY", "tg:1", "a", 2) == 7 and client.ask("HSET", "tg:1", "a", 8) == 0
    assert client.ask("DEL", "tg:1") == Error(REFUSED)
    assert client.ask("HSET", "tg:2", "a", 8) == 1
    shop.run("DROP TABLE tgchild")
    assert shop.rows("SELECT * FROM tg") == [(b"1", b"8"), (b"2", b"8")]


@pytest.mark.mariadb("sequences")
def test_a_default_of_a_sequence_keeps_only_rows_from_being_made(client, shop):
    shop.run("CREATE OR REPLACE SEQUENCE tgnumbers")
    shop.run("CREATE TABLE tg (id INT PRIMARY KEY, a INT, n INT DEFAULT NEXTVAL(tgnumbers))")
    shop.run("INSERT INTO tg VALUES (1, 1, 5)")
    assert client.ask("HINCRBY", "tg:1", "a", 1) == 2 and client.ask("HSET", "tg:1", "a", 3, "n", 6) == 0
    assert client.transaction(("HINCRBY", "tg:1", "a", 1), ("HDEL", "tg:1", "n")) == [4, 1]
    for fields in (("a", 1), ("a", 1, "n", 2)):
        assert client.ask("HSET", "tg:2", *fields).startswith("CONSTRAINT a column's DEFAULT is NEXTVAL(...)")
    assert client.ask("HGETALL", "tgnumbers:1").startswith("NOTABLE this is a sequence")
    assert shop.rows("SELECT * FROM tg") == [(b"1", b"4", None)]
    shop.run("DROP TABLE tg")
    shop.run("DROP SEQUENCE tgnumbers")


def test_a_trigger_that_is_made_while_the_table_is_known_counts(server, shop):
    client = Client(server.resp_port)
    shop.run("CREATE TABLE tg (id INT PRIMARY KEY, a INT)")
    shop.run("INSERT INTO tg VALUES (1, 5)")
    assert client.ask("HINCRBY", "tg:1", "a", 1) == 6
    shop.run("CREATE TRIGGER tgt AFTER UPDATE ON tg FOR EACH ROW SET @x = 1")
    assert client.ask("HINCRBY", "tg:1", "a", 1) == Error(REFUSED)
    shop.run("DROP TRIGGER tgt")
    assert client.ask("HINCRBY", "tg:1", "a", 1) == 7
    client.close()
