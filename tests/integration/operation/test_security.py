"""Secrets, addresses, and hostile input."""

import json
import select
import socket

import pytest

import hs
import logins
import resp
from hs import OK, refused, reply
from server import REPOSITORY, StartFailed, is_mysql

SECRET = "Sesame-Öffne-Dich-1234"


@pytest.fixture
def guarded(make_server):
    server = make_server(options=[f"--handlersocket-plain-secret={SECRET}",
                                  f"--handlersocket-plain-secret-wr={SECRET}-wr"])
    sql = server.sql()
    sql.run("CREATE DATABASE g")
    sql.run("CREATE TABLE g.t (id INT PRIMARY KEY)")
    sql.run("INSERT INTO g.t VALUES (1)")
    return server


def test_each_port_has_its_own_secret(guarded):
    for client, key, other in ((guarded.hs_rd(), SECRET, SECRET + "-wr"), (guarded.hs_wr(), SECRET + "-wr", SECRET)):
        assert client.open_index(0, "g", "t", "", "id") == refused(3, "unauth")
        assert client.auth(other) == refused(3, "unauth")
        assert client.auth(key) == OK
        assert client.open_index(0, "g", "t", "", "id") == OK
        assert client.find(0, "=", [1]) == reply(0, 1, 1)


def test_wrong_key_drops_the_authorization(guarded):
    client = guarded.hs_rd()
    assert client.auth(SECRET) == OK
    assert client.open_index(0, "g", "t", "", "id") == OK
    for key in (SECRET[:-1], SECRET + "x"):
        assert client.auth(key) == refused(3, "unauth")
        assert client.find(0, "=", [1]) == refused(3, "unauth")
    assert client.auth(SECRET) == OK
    assert client.find(0, "=", [1]) == reply(0, 1, 1)


@pytest.mark.parametrize("key", [SECRET.lower(), "", "\x00"])
def test_another_key_is_wrong(guarded, key):
    client = guarded.hs_rd()
    assert client.auth(key) == refused(3, "unauth")
    assert client.open_index(0, "g", "t", "", "id") == refused(3, "unauth")


@pytest.mark.ours
def test_a_wrong_secret_is_answered_after_a_delay(guarded):
    """The third wrong key ends its connection, four of a source are answered at a time, and the right key waits for
    none of them."""
    source = logins.fresh_source()
    client = logins.connect(guarded, source=source)
    client.send_raw(b"A\t1\twrong\n" * 100)
    assert client.recv_all(60) == b"3\t1\tunauth\n" * 3
    guessing = [logins.connect(guarded, source=source) for _ in range(50)]
    for client in guessing:
        client.send_raw(b"A\t1\twrong\n")
    right = logins.connect(guarded, source=source)
    assert right.auth(SECRET + "-wr") == OK
    answered = select.select([client.sock for client in guessing], [], [], 0)[0]
    assert len(answered) <= 8, "the right key has waited for the wrong ones"


def test_nothing_is_done_before_authentication(guarded):
    client = guarded.hs_wr()
    for request in (["P", 0, "g", "t", "", "id"], [0, "+", 1, 7], [0, "=", 1, 1], [0, "=", 1, 1, 1, 0, "D"]):
        assert client.request(*request) == refused(3, "unauth")
    assert client.request("x") == refused(2, "cmd")
    assert guarded.sql("g").rows("SELECT * FROM t") == [(b"1",)]


@pytest.mark.bundled_wrong(16)
def test_secret_is_shown_nowhere(guarded):
    sql, client = guarded.sql(), guarded.hs_rd()
    assert client.auth(SECRET) == OK and client.auth("wrong" + SECRET) == refused(3, "unauth")
    places = {query: repr(sql.rows(query)) for query in (
        "SHOW GLOBAL VARIABLES LIKE 'handlersocket%'", "SELECT @@global.handlersocket_plain_secret",
        *([] if is_mysql() else [
            "SELECT * FROM information_schema.system_variables WHERE variable_name LIKE 'handlersocket%'",
            "SELECT * FROM information_schema.global_variables WHERE variable_name LIKE 'handlersocket%'"]),
        "SHOW FULL PROCESSLIST", "SHOW GLOBAL STATUS LIKE 'handlersocket%'",
        "SELECT * FROM performance_schema.global_variables WHERE variable_name LIKE 'handlersocket%'"
        if sql.value("SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'global_variables'"
                     " AND table_schema = 'performance_schema'") == b"1" else "SELECT 1")}
    places["log"] = guarded.log()
    for place, text in places.items():
        assert "Sesame" not in text and "Dich-1234" not in text, place


@pytest.mark.ours
@pytest.mark.parametrize("address", ["0.0.0.0", "::", "*"])
def test_address_beyond_this_machine_needs_a_secret(make_server, address):
    server = make_server(options=[f"--handlersocket-address={address}"], start=False)
    with pytest.raises(StartFailed):
        server.start()
    log = server.log()
    assert "handlersocket_plain_secret" in log and "[ERROR]" in log


@pytest.mark.ours
def test_address_beyond_this_machine_with_secrets(make_server):
    server = make_server(options=["--handlersocket-address=0.0.0.0", "--handlersocket-plain-secret=a",
                                  "--handlersocket-plain-secret-wr=b"])
    assert server.hs_rd().auth("a") == OK and server.hs_wr().auth("b") == OK


@pytest.mark.ours
def test_one_secret_is_not_enough_for_two_ports(make_server):
    server = make_server(options=["--handlersocket-address=0.0.0.0", "--handlersocket-plain-secret=a"], start=False)
    with pytest.raises(StartFailed):
        server.start()
    assert "handlersocket_plain_secret_wr" in server.log()


@pytest.mark.ours
def test_default_address_is_this_machine(make_server):
    """Without an address, each port is this machine's alone: 127.0.0.2 stands for any other one."""
    server = resp.start(make_server, "--loose-handlersocket-address=", "--loose-daemon-memcached-address=")
    shown = server.sql().row("SELECT @@handlersocket_address, @@daemon_memcached_address, @@resp_address")
    assert {value or b"" for value in shown} == {b""}, shown
    ports = [int(server.env[name]) for name in ("HS_PORT", "HS_PORT_WR", "MEMCACHED_PORT")] + [server.resp_port]
    for port in ports:
        socket.create_connection(("127.0.0.1", port), timeout=10).close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", port), timeout=10)


@pytest.mark.ours
def test_sql_users_cannot_read_or_change_the_secret(guarded):
    sql = guarded.sql()
    assert sql.error("SET GLOBAL handlersocket_plain_secret = 'x'") in (1238, 1193)
    assert guarded.hs_rd().auth(SECRET) == OK


# Hostile input.

def seeds():
    """The lines of all golden vectors."""
    for path in sorted((REPOSITORY / "spec" / "vectors" / "handlersocket").glob("*.json")):
        for vector in json.loads(path.read_text())["vectors"]:
            for step in vector["steps"]:
                yield from step["send"].encode("latin-1").splitlines(keepends=True)


def mutate(rng, data, schema):
    """A line with a few bytes changed, and tokens moved, dropped, repeated or made huge."""
    tokens = data.rstrip(b"\n").replace(b"hsvec", schema.encode()).split(b"\t")
    for _ in range(rng.randrange(1, 4)):
        position = rng.randrange(len(tokens))
        kind = rng.randrange(8)
        if kind == 0:
            tokens[position] = rng.choice([b"", b"\x00", b"@", b"F", b"W", b"U?", b"+", b"D", b"S", b"=", b"\x01"])
        elif kind == 1:
            tokens[position] = str(rng.choice([0, 1, 2**31, 2**32 - 1, 2**32, 2**64 - 1, 2**64, 10**30, -1])).encode()
        elif kind == 2:
            tokens.insert(position, tokens[rng.randrange(len(tokens))])
        elif kind == 3 and len(tokens) > 1:
            del tokens[position]
        elif kind == 4:
            tokens[position] = bytes(rng.choices(range(256), k=rng.randrange(40))).replace(b"\n", b"")
        elif kind == 5:
            tokens[position] = tokens[position] * rng.randrange(2, 200)
        elif kind == 6:
            text = bytearray(tokens[position] or b"x")
            text[rng.randrange(len(text))] ^= 1 << rng.randrange(8)
            tokens[position] = bytes(text).replace(b"\n", b"")
        else:
            tokens = tokens[:position + 1]
    return b"\t".join(tokens) + b"\n"


@pytest.fixture
def witness(server, db, sql):
    """A connection that must not notice the hostile ones, and the check that it did not."""
    sql.run("CREATE TABLE user (user_id INT UNSIGNED PRIMARY KEY, user_name VARCHAR(50), user_email VARCHAR(255),"
            " created DATETIME, KEY (user_name))")
    sql.run("CREATE TABLE acct (id INT PRIMARY KEY, a INT, b BIGINT, s VARCHAR(20), g INT, KEY g (g))")
    sql.run("CREATE TABLE item (id INT PRIMARY KEY, grp INT NOT NULL, qty INT NOT NULL, name VARCHAR(40), note TEXT,"
            " UNIQUE KEY name_u (name), KEY grp_qty (grp, qty))")
    sql.run("CREATE TABLE untouched (id INT PRIMARY KEY, x VARCHAR(9))")
    sql.run("INSERT INTO untouched VALUES (1, 'x')")
    sql.run("INSERT INTO user SELECT seq, seq, seq, NULL FROM seq_1_to_50")
    sql.run("INSERT INTO acct SELECT seq, seq, seq, seq, seq % 5 FROM seq_1_to_50")
    indexes = [client.opened(db, "untouched", "", "x") for client in (server.hs_rd(), server.hs_wr())]

    def check():
        for index in indexes:
            assert index.find("=", [1]) == reply(0, 1, "x")
    check()
    return check


@pytest.mark.bundled_wrong(3, some=True)
@pytest.mark.parametrize("port", ["HS_PORT", "HS_PORT_WR"])
def test_mutated_requests_are_each_answered(server, db, witness, rng, port):
    lines = list(seeds())
    for _ in range(40):
        client = server.connect(("127.0.0.1", int(server.env[port])))
        data = b"".join(
            mutate(rng, data, db) if rng.random() < 0.6 else data.rstrip(b"\n").replace(b"hsvec", db.encode()) + b"\n"
            for data in rng.choices(lines, k=100))
        count = data.count(b"\n")
        answers = client.pipeline_deep(data, count)
        assert all(answer.split(b"\t")[0] in (b"0", b"1", b"2", b"3") for answer in answers)
        assert client.request_raw(b"\x02end") == refused(2, "cmd")
        client.close()
    witness()


@pytest.mark.bundled_wrong(3, some=True)
def test_random_bytes(server, witness, rng):
    for _ in range(60):
        client = server.hs_wr() if rng.random() < 0.5 else server.hs_rd()
        data = rng.randbytes(rng.randrange(1, 20_000)) + b"\n"
        answers = client.pipeline_deep(data, data.count(b"\n"))
        assert all(hs.parse(answer).code > 0 for answer in answers), answers
        client.close()
    witness()


@pytest.mark.parametrize("data", [
    b"P\t0\t" + b"d" * 500 + b"\tt\t\tx", b"P\t0\td\t" + b"t" * 5000 + b"\t\tx", b"P\t0\t../../etc\tpasswd\t\t",
    b"P\t0\td\t" + b"\x00" * 10 + b"\t\t", b"P\t0\t\t\t\t", b"P\t0", b"P", b"P\t0\t#mysql50#x\tt\t\t",
    b"P\t0\td\tt#P#p0\t\t", b"P\t0\tmysql\t../mysql/user\t\t", b"P\t0\t\xff\xfe\t\xff\t\t", b"P\t0\td \tt \t\t"],
    ids=lambda data: repr(data[:20]))
def test_hostile_names_are_answered(server, witness, data):
    for client in (server.hs_rd(), server.hs_wr()):
        answer = client.request_raw(data)
        assert answer in (refused(1, "open_table"), refused(2, "number"), refused(1, "systemtable")), answer
    witness()


@pytest.mark.ours
@pytest.mark.parametrize("name", [b"a\xff", b"a\xc3", b"a\xf0\x9f\x8e\x81"], ids=["byte", "cut", "four bytes"])
def test_a_name_that_is_no_utf8_opens_no_other_table(server, db, sql, name):
    """The server would search for a file whose name has a ? in the place of each such byte."""
    sql.run(f"CREATE TABLE {db}.`a?` (id INT PRIMARY KEY)")
    for client in (server.hs_rd(), server.hs_wr()):
        assert client.open_index(0, db, "a?", "", "id") == OK
        assert client.open_index(1, db, name, "", "id") == refused(1, "open_table")


def test_many_columns_and_long_lists(server, db, witness):
    client = server.hs_rd()
    names = b",".join([b"id"] * 100_000)
    answer = client.request_raw(b"P\t0\t%s\tuntouched\t\t%s" % (db.encode(), names))
    assert answer.code in (0, 2)
    witness()


def test_connections_that_send_nothing_or_leave_at_once(server, witness):
    for _ in range(200):
        server.hs_rd().close()
    silent = [server.hs_wr() for _ in range(50)]
    witness()
    for client in silent:
        client.send_raw(b"P")
    witness()


def test_slow_line_does_not_delay_others(server, db, witness):
    slow = server.hs_rd()
    data = f"P\t0\t{db}\tuntouched\t\tx\n".encode()
    for position in range(len(data)):
        slow.send_raw(data[position:position + 1])
        witness()
    assert slow.recv() == OK


def test_every_beginning_of_the_key_is_wrong(guarded):
    for length in range(len(SECRET)):
        client = logins.connect(guarded, "HS_PORT")
        assert client.auth(SECRET[:length]) == refused(3, "unauth")
        assert client.find(0, "=", [1]) == refused(3, "unauth")


@pytest.mark.ours
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_body_of_a_post_is_not_executed(server, db, sql, end):
    """Any page can have a browser send this."""
    sql.run("CREATE TABLE t (id INT PRIMARY KEY)")
    client = server.hs_wr()
    client.send_raw(f"POST / HTTP/1.1{end}Content-Type: text/plain{end}{end}P\t0\t{db}\tt\t\tid\n0\t+\t1\t7\n".encode())
    assert client.recv_all(10) == b"2\t1\tcmd\n"
    assert sql.rows("SELECT * FROM t") == []
