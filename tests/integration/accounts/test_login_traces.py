"""What logins leave behind: events for audit plugins, lines in the log, counters; and no password anywhere."""

import os
import pathlib
import re

import pytest

import hs
import logins
import resp
from hs import OK
from logins import UNAUTH, connect, connect_mc, is_in, log_in, log_in_mc, sasl
from private_servers import create, remove
from server import is_mysql, wait_until

pytestmark = [pytest.mark.ours, pytest.mark.slow]

PASSWORD = "Sehr-Geheim-0815"
LOGS = ("general.log", "slow.log", *([] if is_mysql() else ["audit.log"]))


@pytest.fixture(scope="module")
def watched(request):
    """A server with a general log, and the audit plugin that MariaDB has."""
    server = create(request.config)
    audit = [] if is_mysql() else ["--plugin-load-add=server_audit", "--server-audit-logging=ON",
                                   f"--server-audit-file-path={server.directory}/audit.log"]
    server.start([*logins.OPTIONS, *logins.PLUGINS, *audit, "--general-log=ON", "--slow-query-log=ON",
                  "--long-query-time=0", f"--general-log-file={server.directory}/general.log",
                  f"--slow-query-log-file={server.directory}/slow.log"])
    sql = logins.prepare(server)
    # The statement that makes the account has the password, so that no log may have the statement.
    sql.run("SET SESSION sql_log_off = 1, SESSION long_query_time = 3600")
    if is_mysql():
        sql.run("CREATE USER secretive@'127.%%' IDENTIFIED BY %s", PASSWORD)
    else:
        sql.run("CREATE USER secretive@'127.%%' IDENTIFIED VIA ed25519 USING PASSWORD(%s) OR mysql_native_password"
                " USING PASSWORD(%s)", PASSWORD, PASSWORD)
    yield server
    remove(server)


def written(server, name):
    path = pathlib.Path(server.directory) / name
    return path.read_text(errors="replace") if path.exists() else ""


def events(server, user):
    """(kind, connection, error) of the audit plugin's lines about a user."""
    found = re.findall(rf"^[^,]*,[^,]*,{user},127[^,]*,(\d+),0,(\w+),,,(\d+)", written(server, "audit.log"), re.M)
    return [(kind, int(number), int(error)) for number, kind, error in found]


@pytest.mark.mariadb("server_audit")
def test_audit_plugins_see_connections(watched):
    watched.sql().run("CREATE OR REPLACE USER seen@'127.%' IDENTIFIED BY 'p'")
    client, answer = log_in(watched, "seen", "p")
    assert answer == OK
    [(kind, connection, error)] = events(watched, "seen")
    assert (kind, error) == ("CONNECT", 0)
    client.close()
    wait_until(lambda: len(events(watched, "seen")) == 2, what="the end of the connection")
    assert events(watched, "seen")[1] == ("DISCONNECT", connection, 0)
    assert log_in(watched, "seen", "wrong")[1] == UNAUTH
    assert [event[::2] for event in events(watched, "seen")[2:]] == [("FAILED_CONNECT", 1045)]
    watched.sql().run("ALTER USER seen@'127.%' ACCOUNT LOCK")
    assert log_in(watched, "seen", "p")[1] == UNAUTH
    assert [event[::2] for event in events(watched, "seen")[3:]] == [("FAILED_CONNECT", 4151)]


def test_library_asks_for_accounts_unseen(watched):
    """The accounts in use are looked at ten times a second, by SQL that no log shows."""
    _, answer = log_in(watched, "app", "right")
    assert answer == OK
    client, _ = log_in(watched, "secretive", PASSWORD)
    watched.sql().run("DROP USER IF EXISTS seen@'127.%'")
    for name in LOGS:
        assert "SHOW CREATE USER" not in written(watched, name)
    processes = watched.sql().rows("SHOW FULL PROCESSLIST")
    assert not [row for row in processes if b"SHOW CREATE USER" in (row[7] or b"")]


def test_reasons_are_in_the_log(watched):
    sql = watched.sql()
    for user, setup, reason in (
            ("locked", "ACCOUNT LOCK", "locked"), ("expired", "PASSWORD EXPIRE", "expired"),
            ("hourly", "WITH MAX_QUERIES_PER_HOUR 5", "an hour")):
        sql.run(f"CREATE OR REPLACE USER {user}@'127.%' IDENTIFIED BY 'p' {setup}")
        assert log_in(watched, user, "p")[1] == UNAUTH
        lines = [line for line in watched.log().splitlines() if f"'{user}'" in line
                 and "[Note] [MY-" not in line]  # MySQL itself tells of these, too
        assert len(lines) == 1 and reason in lines[0], lines
    assert log_in(watched, "unknown", "p")[1] == UNAUTH
    assert "unknown" in watched.log()


def test_counters(watched):
    sql = watched.sql()
    before = {name: sql.status(name) for name in (
        "Handlersocket_auths", "Handlersocket_auths_tried", "Handlersocket_auths_failed",
        "Daemon_memcached_auths_tried", "Daemon_memcached_auths_failed", "Aborted_connects")}
    assert log_in(watched, "app", "right")[1] == OK
    assert log_in(watched, "app", "wrong")[1] == UNAUTH
    client = connect_mc(watched)
    assert log_in_mc(client, "app", "wrong").startswith(b"CLIENT_ERROR")
    assert log_in_mc(client, "app", "right") == b"STORED"
    assert {name: sql.status(name) - old for name, old in before.items()} == {
        "Handlersocket_auths": 1, "Handlersocket_auths_tried": 2, "Handlersocket_auths_failed": 1,
        "Daemon_memcached_auths_tried": 2, "Daemon_memcached_auths_failed": 1, "Aborted_connects": 2}
    stats = client.stats()
    assert int(stats["auth_cmds"]) >= 2 and int(stats["auth_errors"]) >= 1


def test_no_log_and_no_variable_has_a_password(watched):
    client, answer = log_in(watched, "secretive", PASSWORD)
    assert answer == OK
    assert log_in(watched, "secretive", PASSWORD + "x")[1] == UNAUTH
    assert log_in_mc(connect_mc(watched), "secretive", PASSWORD) == b"STORED"
    sql = watched.sql()
    places = {query: repr(sql.rows(query)) for query in (
        "SHOW GLOBAL VARIABLES LIKE 'handlersocket%'", "SHOW GLOBAL STATUS LIKE '%socket%'",
        "SHOW FULL PROCESSLIST")}
    places["error log"] = watched.log()
    for name in LOGS:
        places[name] = written(watched, name)
        assert "secretive" in places[name] or name == "slow.log"
    for place, text in places.items():
        assert PASSWORD not in text, place


def places_in_memory(pid, needle):
    """The writable memory of the process that holds the bytes, as lines of its map."""
    found = []
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            begin, end, mode = re.match(r"(\w+)-(\w+) (\S+)", line).groups()
            if not mode.startswith("rw"):
                continue
            at, end = int(begin, 16), int(end, 16)
            while at < end:
                size = min(end - at, 1 << 24)
                memory.seek(at)
                try:
                    piece = memory.read(size + len(needle))
                except OSError:
                    break
                found += [line.strip()] * (needle in piece)
                at += size
    return found


RESP_IN = b"AUTH app right\r\n"
# What a client of RESP sends, in packets, where PW is the password, which has LEN bytes; and how the last reply begins.
OVER_RESP = {
    "resp array": ([b"*3\r\n$4\r\nAUTH\r\n$6\r\nneedle\r\n$LEN\r\nPW\r\n"], b"+OK"),
    "resp wrong": ([b"AUTH needle PWx\r\n"], b"-WRONGPASS"),
    "resp inline": ([b"AUTH needle PW\r\n"], b"+OK"),
    "resp quoted": ([b'HELLO 2 AUTH needle "PW"\r\n'], b"*14"),
    "resp two passwords": ([b"HELLO 2 AUTH x PWx AUTH needle PW\r\n"], b"*14"),
    "resp inline behind a request": ([RESP_IN, b"HGET t:1 v\r\nAUTH needle PW\r\n"], b"+OK"),
    "resp too many words": ([b"AUTH needle PW x\r\n"], b"-ERR syntax error"),
    "resp HELLO 4": ([b"*5\r\n$5\r\nHELLO\r\n$1\r\n4\r\n$4\r\nAUTH\r\n$6\r\nneedle\r\n$LEN\r\nPW\r\n"], b"-NOPROTO"),
    "resp wrong option": ([b"HELLO 3 AUTH needle PW NO\r\n"], b"-ERR Syntax error in HELLO option 'NO'"),
    "resp wrong name": ([b'HELLO 3 AUTH needle PW SETNAME "a b"\r\n'], b"-ERR Client names"),
    "resp in MULTI": ([RESP_IN, b"MULTI\r\nAUTH needle PW\r\n"], b"-ERR Command not allowed inside"),
    "resp in MULTI behind a request": ([RESP_IN, b"HGET t:1 v\r\nMULTI\r\nAUTH needle PW\r\n"], b"-ERR Command not"),
    "resp misspelt": ([b"AUHT needle PW\r\n"], b"-ERR unknown command 'AUHT'"),
    "resp another command": ([b"GET needle PW\r\n"], b"-ERR wrong number"),
    "resp open quote": ([b"AUTH needle PW '\r\n"], b"-ERR Protocol error: unbalanced quotes"),
    "resp open quote behind a request": ([RESP_IN, b"HGET t:1 v\r\nAUTH needle PW '\r\n"], b"-ERR Protocol error: unbalanced quotes"),
    # What has come of the AUTH is moved to the front of its buffer before the rest comes.
    "resp moved": ([b"PING\r\n" * 600 + b"AUTH needle PW", b" x\r\n"], b"-ERR syntax error"),
}


def ask_over_resp(port, packets, beginning, password):
    """Sends the packets, each when the one before has its replies, and reads up to the expected reply."""
    client = resp.Client(port)
    for packet in packets:
        client.sock.sendall(packet.replace(b"PW", password.encode()).replace(b"LEN", b"%d" % len(password)))
        if packet == RESP_IN:
            assert client.receive() == "OK"
        for _ in range(packet.count(b"PING\r\n")):
            client.file.readline()
    lines = []
    while not lines or not lines[-1].startswith(beginning):
        lines.append(client.file.readline())
        assert lines[-1], lines
    return client


OVER_MEMCACHED = ("text", "binary", "another mechanism", "no end of data", "too few tokens")


@pytest.mark.parametrize("way", ["type 1", "type 2", "escaped", "byte by byte", "text", "binary", "wrong", "pipelined",
                                 "another mechanism", "no end of data", "too few tokens", *OVER_RESP])
def test_memory_keeps_no_password(make_server, server, way):
    """The account's password reaches the server by the sockets of this library alone: it is made from a hash."""
    # A block that has been freed loses its first bytes, so that a short password may be gone by chance.
    password = ("x" * 30 if way in OVER_RESP else "") + "Nadel-im-Heu-4711" + ("\t\x01" if way == "escaped" else "")
    identified = f"WITH caching_sha2_password AS 0x{sha2_hash(server, password)}" if is_mysql() else (
        f"BY PASSWORD '*{native_hash(password)}'")
    port = resp.free_port()
    server = make_server(options=[*logins.OPTIONS, *logins.PLUGINS, f"--loose-resp-port={port}",
                                  "--loose-resp-accounts=ON", "--loose-resp-schema=g"])
    logins.prepare(server).run(f"CREATE USER needle@'127.%' IDENTIFIED {identified}")
    client = connect_mc(server) if way in OVER_MEMCACHED else connect(server)
    if way in OVER_RESP:
        resp_client = ask_over_resp(port, *OVER_RESP[way], password)
    elif way == "type 1":
        assert client.auth(f"needle:{password}") == OK
    elif way in ("type 2", "escaped"):
        assert client.request("A", 2, "needle", password) == OK
    elif way == "byte by byte":
        for byte in hs.line("A", 2, "needle", password):
            client.send_raw(bytes((byte,)))
        assert client.recv() == OK
    elif way == "pipelined":
        client.send_raw(b"x" * 3000 + b"\n" + hs.line("A", 2, "needle", password) + b"y" * 3000 + b"\n")
        client.recv()
        assert client.recv() == OK
    elif way == "text":
        assert log_in_mc(client, "needle", password) == b"STORED"
    elif way == "binary":
        assert sasl(client, "needle", password).status == 0
    elif way == "another mechanism":
        assert sasl(client, "needle", password, mechanism=b"LOGIN").status != 0
    elif way == "no end of data":
        data = f"needle {password}".encode()
        client.send(b"set k 0 0 %d\r\n%sxx" % (len(data), data))
        assert client.line().startswith(b"CLIENT_ERROR")
    elif way == "too few tokens":
        client.send(f"set needle {password}\r\n".encode())
        assert client.line() == b"CLIENT_ERROR unauthenticated"
    else:
        assert client.request("A", 2, "needle", password + "-wrong") == UNAUTH
    assert places_in_memory(server.pid, b"needle")
    assert places_in_memory(server.pid, b"im-Heu-4711") == []
    if way in OVER_RESP:
        resp_client.close()


def sha2_hash(server, password):
    """What a server keeps of a password, as hexadecimal digits."""
    sql = server.sql()
    sql.run("CREATE USER hashed@localhost IDENTIFIED WITH caching_sha2_password BY %s", password)
    digits = sql.value("SELECT HEX(authentication_string) FROM mysql.user WHERE user = 'hashed'").decode()
    sql.run("DROP USER hashed@localhost")
    return digits


def native_hash(password):
    import hashlib
    return hashlib.sha1(hashlib.sha1(password.encode()).digest()).hexdigest().upper()


def log_in_once(server):
    """A hundred logins of all kinds, 40 of them refused, each on a connection of its own."""
    guessing = [connect(server) for _ in range(40)]
    for number, client in enumerate(guessing):
        client.send("A", 2, ("app", "unknown")[number % 2], "wrong")
    for _ in range(20):
        assert log_in(server, "app", "right")[1] == OK
        assert log_in_mc(connect_mc(server), "app", "right") == b"STORED"
        assert sasl(connect_mc(server), "app", "right").status == 0
    assert [client.recv() for client in guessing] == [UNAUTH] * 40
    server.close_clients()


def test_logins_leave_no_memory_behind(make_server):
    """With ROWSOCKET_LOGINS=100000 the test is as long as docs/SECURITY.md says."""
    server = make_server(options=logins.OPTIONS)
    logins.prepare(server)
    for _ in range(10):
        log_in_once(server)
    before = server.memory_kib()
    for _ in range(int(os.environ.get("ROWSOCKET_LOGINS", "2000")) // 100):
        log_in_once(server)
    sql = server.sql()
    wait_until(lambda: sql.status("Handlersocket_connections") == 0, 30, "the ends of connections")
    assert server.memory_kib() < before + 2000
