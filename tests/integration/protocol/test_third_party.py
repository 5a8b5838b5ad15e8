"""Clients of other projects, run against the server; SQL checks their effects."""

import json

import pytest

import third_party


@pytest.mark.once("starts no server")
def test_what_cannot_be_fetched_fails_where_all_clients_are_wanted(monkeypatch):
    for value, ends in ("", pytest.skip.Exception), ("1", pytest.fail.Exception):
        monkeypatch.setenv("ROWSOCKET_ALL_CLIENTS", value)
        with pytest.raises(ends, match="cannot be fetched here"):
            third_party.fetch("false")


@pytest.fixture
def people(sql):
    sql.run("CREATE TABLE people (id INT PRIMARY KEY, name VARCHAR(50), grp INT, KEY by_grp (grp))")
    sql.run("INSERT INTO people VALUES (1, 'one', 1), (2, 'two', 1), (3, 'three', 2), (4, 'four', 3)")
    return sql


def test_node_handlersocket(people, server, db):
    package = third_party.node_client()
    printed = third_party.run("node", third_party.HERE / "play.js", package, server.env["HS_PORT"],
                              server.env["HS_PORT_WR"], db)
    steps = {step: (error, result) for step, error, result in map(json.loads, printed.splitlines())}
    odd = "Zoë \t\u0001\n🐬"
    assert steps == {
        "open read": (None, True), "open by group": (None, True), "open write": (None, True),
        "open missing": ("1 open_table", False), "insert": (None, None), "insert null": (None, None),
        "insert duplicate": ("1 121", None), "find": (None, [["10", odd, "1"]]), "find null": (None, [["11", None, "1"]]),
        "find none": (None, []),
        "find range": (None, [["2", "two", "1"], ["3", "three", "2"], ["4", "four", "3"]]),
        "find in": (None, [["2", "two", "1"], ["1", "one", "1"]]),
        "find group": (None, [["1", "one"], ["2", "two"], ["10", odd], ["11", None]]),
        "update": (None, 1), "increment": (None, 1), "decrement": (None, 1),
        "find changed": (None, [["11", "named", "6"]]), "remove": (None, 1), "remove none": (None, 0),
        "insert on the read port": ("2 readonly", None), "reader closed": (None, True), "writer closed": (None, True)}
    assert people.rows("SELECT * FROM people WHERE id > 4") == [(b"11", b"named", b"6")]


def test_hs4j(people, server, db):
    class_path = third_party.java_client()
    printed = third_party.run("java", "-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8", "-cp", class_path, "Play",
                              server.env["HS_PORT"], server.env["HS_PORT_WR"], db)
    # split("
    # ") and not splitlines(), which would also split at the odd bytes of the value.
    steps = dict(text.split("\t", 1) for text in printed.strip("\n").split("\n"))
    assert steps == {
        "open missing": "error Error message from server:open_table", "insert": "true",
        "insert duplicate": "error Error message from server:121", "insert statement": "true",
        "find": "[10|Zoë \t\u0001日]", "find none": "", "find range": "[2|two][3|three][4|four]",
        "find down": "[2|two][1|one]", "update": "1", "find changed": "[11|named]", "delete": "1", "delete none": "0",
        "insert on the read port": "error Error message from server:readonly"}
    assert people.rows("SELECT * FROM people WHERE id > 4") == [(b"11", b"named", b"3")]


PERL = r'''
use strict; use warnings; use Net::HandlerSocket;
my ($port, $port_wr, $db) = @ARGV;
my $rd = new Net::HandlerSocket({ host => '127.0.0.1', port => $port });
my $wr = new Net::HandlerSocket({ host => '127.0.0.1', port => $port_wr });
sub show { print join('|', map { defined $_ ? $_ : 'NULL' } @_), "\n" }
show('open', $rd->open_index(0, $db, 'people', '', 'id,name', 'grp'),
     $wr->open_index(0, $db, 'people', 'PRIMARY', 'id,name,grp'), $rd->open_index(1, $db, 'nobody', '', 'id'));
show('error', $rd->get_error);
show('insert', @{$wr->execute_single(0, '+', [10, "t\t\x01", 1], 0, 0)});
show('update', @{$wr->execute_single(0, '=', [10], 1, 0, 'U', [10, undef, 2])});
show('find', @{$rd->execute_single(0, '>=', [2], 2, 1)});
show('filter', @{$rd->execute_single(0, '>=', [0], 9, 0, undef, undef, [['F', '=', 0, 1]])});
show('in', @{$rd->execute_single(0, '=', [''], 9, 0, undef, undef, undef, 0, [3, 99, 1])});
show('multi', map { @$_ } @{$wr->execute_multi([
  [0, '=', [1], 1, 0, 'D'], [0, '+', [1, 'uno', 7], 0, 0], [0, '=', [1], 1, 0, '+?', [undef, undef, 3]],
  [0, '=', [1], 1, 0], [9, '=', [1], 1, 0]])});
'''


def test_libhsclient_through_perl(people, server, db):
    environment = third_party.perl_client()
    printed = third_party.run("perl", "-e", PERL, server.env["HS_PORT"], server.env["HS_PORT_WR"], db,
                              env=environment)
    assert printed.split("\n")[:-1] == [
        "open|0|0|1", "error|open_table", "insert|0", "update|0|1", "find|0|3|three|4|four", "filter|0|1|one|2|two",
        "in|0|3|three|1|one", "multi|0|1|0|0|1|uno|7|0|1|uno|10|2|stmtnum"]
    assert people.rows("SELECT * FROM people WHERE id IN (1, 10)") == [(b"1", b"uno", b"10"), (b"10", None, b"2")]
