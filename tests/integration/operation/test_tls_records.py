"""TLS as bytes: how records come and go, hostile clients, and ends."""

import contextlib
import re
import resource
import select
import socket
import ssl
import subprocess

import pytest

import semisync
from hs import reply
from load import open_files, scaled
from server import is_mysql, wait_until
from system_calls import Trace
from tls import TLS_ON, VERSIONS, RecordClient, address, connect, make_table, opened

pytestmark = [pytest.mark.ours, pytest.mark.sanitized("mariadb")]


OPTIONS = ["--log-bin=tls", "--server-id=1", *semisync.options(600_000)] if is_mysql() else []
TURNS = 20


# Records.

def test_bytes_one_at_a_time(both, certificates):
    for version in VERSIONS:
        client = RecordClient(address(both), certificates.context(version))

        def slowly(data):
            for at in range(len(data)):
                client.socket.sendall(data[at:at + 1])
        client.handshake(slowly)
        slowly(client.encrypt(b"P\t0\tg\tt\t\tid,v\n0\t=\t1\t1\n"))
        client.wait_for(b"0\t1\n0\t2\t1\tone\n")
        client.close()


def test_many_records_in_one_segment(both, certificates):
    client = RecordClient(address(both), certificates.context())
    client.handshake()
    lines = [b"P\t0\tg\tt\t\tid,v\n"] + [b"0\t=\t1\t1\n"] * 500
    client.socket.sendall(b"".join(map(client.encrypt, lines)))
    client.wait_for(b"0\t1\n" + b"0\t2\t1\tone\n" * 500)
    client.close()


def test_large_records_with_pipelining_do_not_stall(both, certificates):
    """More than a turn takes, in records of 16 KiB: no event tells of what is decrypted and waits."""
    client = connect(both, certificates)
    opened(client)
    count = 100_000
    lines = client.pipeline_deep(b"0\t=\t1\t1\n" * count, count)
    assert lines == [b"0\t2\t1\tone"] * count
    client.sock.sendall(b"0\t=\t1\t1\n" * 1800 + b"0\t=\t1\t")  # nearly one record, then silence
    for _ in range(1800):
        assert client.recv_line() == b"0\t2\t1\tone"
    client.send_raw(b"1\n")
    assert client.recv_line() == b"0\t2\t1\tone"


def test_a_turn_receives_once_and_sends_once(both, certificates, tmp_path):
    """However many records the requests and the replies of a turn are in."""
    client = RecordClient(address(both), certificates.context())
    client.handshake()
    client.socket.sendall(client.encrypt(b"P\t0\tg\tt\t\tid,v\n"))
    client.wait_for(b"0\t1\n")
    name = b"->127.0.0.1:%d]" % client.socket.getsockname()[1]
    with Trace(both, tmp_path / "trace", calls="%network,read,write,readv,writev") as trace:
        # The trace has all calls of a turn when the next one has been answered.
        for _ in range(TURNS + 1):
            client.plain = b""
            client.socket.sendall(b"".join(client.encrypt(b"0\t=\t1\t1\n") for _ in range(10)))
            client.wait_for(b"0\t2\t1\tone\n" * 10)
    calls = [call.name for call in trace.calls if name in call.file]
    assert calls[:2 * TURNS] == [b"recvfrom", b"sendto"] * TURNS, calls
    client.close()


@contextlib.contextmanager
def held_commits(server):
    """Commits come to no end until the block ends. Yields a function that says whether one waits."""
    admin, witness = server.sql(), server.sql()
    if is_mysql():
        admin.run(f"SET GLOBAL {semisync.SOURCE} = 1")
    else:
        for stage in ("START", "FLUSH", "BLOCK_DDL", "BLOCK_COMMIT"):
            admin.run(f"BACKUP STAGE {stage}")
    waits = semisync.WAITS if is_mysql() else "state LIKE '%backup%' OR state LIKE '%commit%'"

    def one_waits():
        return (b"committing" in repr(witness.rows("SHOW PROCESSLIST")).encode()
                or witness.value(f"SELECT COUNT(*) FROM information_schema.processlist WHERE {waits}") != b"0")
    try:
        yield one_waits
    finally:
        admin.run(f"SET GLOBAL {semisync.SOURCE} = 0" if is_mysql() else "BACKUP STAGE END")


def test_no_record_leaves_before_its_commit(both, certificates):
    """The record of a reply in front of the write comes; those of the write, and behind it, do not come
    before the commit."""
    client = RecordClient(address(both, "HS_PORT_WR"), certificates.context())
    client.handshake()
    client.socket.sendall(client.encrypt(b"P\t0\tg\tt\t\tid,v\n"))
    client.wait_for(b"0\t1\n")
    before = len(client.records())
    with held_commits(both) as one_waits:
        client.socket.sendall(client.encrypt(b"0\t=\t1\t1\n0\t=\t1\t2\t1\t0\tU\t2\tfour\n0\t=\t1\t1\n"))
        wait_until(one_waits, 30)
        client.socket.settimeout(0.3)
        with contextlib.suppress(TimeoutError):
            while True:
                client.receive()
        assert client.plain in (b"0\t1\n", b"0\t1\n0\t2\t1\tone\n")
        assert len(client.records()) - before == client.plain.count(b"\n") - 1
    client.socket.settimeout(10)
    client.wait_for(b"0\t2\t1\tone\n0\t1\t1\n0\t2\t1\tone\n")
    client.close()


# Hostile clients.

def s_client(server, *arguments, **kwargs):
    host, port = address(server)
    done = subprocess.run(["openssl", "s_client", "-connect", f"{host}:{port}", *arguments], check=False,
                          capture_output=True, timeout=60, **kwargs)
    return (done.stdout + done.stderr).decode(errors="replace")


def test_renegotiation_is_refused(both):
    shown = s_client(both, "-tls1_2", input=b"R\n")
    assert "Secure Renegotiation IS supported" in shown
    assert re.search("no renegotiation|RENEGOTIATING.*error", shown, re.S), shown


def test_early_data_is_not_taken(both, tmp_path):
    session, early = tmp_path / "session", tmp_path / "early"
    early.write_bytes(b"?\n")
    with subprocess.Popen(
            ["openssl", "s_client", "-connect", "%s:%d" % address(both), "-tls1_3", "-sess_out", session,
             "-quiet"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdin.write(b"?\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"2\t1\tcmd\n"
        process.kill()
    assert session.exists()
    shown = s_client(both, "-tls1_3", "-sess_in", str(session), "-early_data", str(early), input=b"")
    assert "Reused, TLSv1.3" in shown and "Early data was not sent" in shown, shown


@pytest.mark.parametrize("data", [
    b"\x16", b"\x16\x03\x01", b"\x16\x03\x01\x02\x00" + b"\x01" * 100, b"\x16GET / HTTP/1.0\r\n\r\n",
    b"\x16\x03\x01\xff\xff" + bytes(70_000), b"\x16\x03\x03\x00\x00", b"\x16" * 100_000], ids=lambda d: repr(d[:8]))
def test_garbage_after_the_first_byte(both, certificates, data):
    failed = both.sql().status("Handlersocket_tls_failed")
    with socket.create_connection(address(both), timeout=20) as client:
        with contextlib.suppress(ConnectionError):
            client.sendall(data)
        with contextlib.suppress(ConnectionError):
            while client.recv(1000):  # an alert, or nothing until the time is over
                pass
    opened(connect(both, certificates))
    wait_until(lambda: both.sql().status("Handlersocket_tls_failed") == failed + 1)


def test_the_alert_of_a_failed_handshake_is_not_lost_to_a_reset(both):
    """The server closes a socket in which bytes are that it has not read."""
    wrong = b"\x16\x03\x01\x00\x40\x01\x00\x00\x3c" + b"\xff" * 60
    with socket.create_connection(address(both), timeout=30) as client:
        client.sendall(wrong + bytes(30_000))
        answer = b""
        while part := client.recv(1000):
            answer += part
    assert answer[:1] == b"\x15", answer


def test_handshake_cut_off_at_every_place(both, certificates):
    client = RecordClient(address(both), certificates.context())
    sent = []

    def note(data):
        sent.append(data)
        client.socket.sendall(data)
    client.handshake(note)
    client.close()
    first = sent[0]
    for length in range(0, len(first), max(1, len(first) // 60)):
        with socket.create_connection(address(both), timeout=10) as cut:
            cut.sendall(first[:length])
    opened(connect(both, certificates))
    sql = both.sql()
    wait_until(lambda: sql.status("Handlersocket_connections") == 1)


@contextlib.contextmanager
def files_beside_the_others(count):
    """Lets this process open so many more files, or as many as it may. Yields how many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = min(count + 1000, hard)
    with open_files(max(soft, allowed)):
        yield allowed - 1000


def test_silent_handshakes_cost_little_and_time_out(both, certificates):
    """While they are open, other clients are let in and served."""
    sql = both.sql()
    before_kib = both.memory_kib()
    timed_out = sql.status("Handlersocket_connections_timed_out")
    served = opened(connect(both, certificates))
    silent = []
    with files_beside_the_others(scaled(10_000)) as count, contextlib.ExitStack() as stack:
        for number in range(count):
            one = stack.enter_context(socket.create_connection(address(both), timeout=60))
            one.sendall(b"\x16")
            silent.append(one)
            if number % 1000 == 0:
                assert served.find(0, "=", [1]) == reply(0, 2, 1, "one")
                late = opened(connect(both, certificates))
                assert late.find(0, "=", [1]) == reply(0, 2, 1, "one")
        assert both.memory_kib() - before_kib < 16 * count
        for one in silent:
            with contextlib.suppress(ConnectionError):
                assert one.recv(100) == b""
        assert sql.status("Handlersocket_connections_timed_out") - timed_out == count
        assert served.find(0, "=", [1]) == reply(0, 2, 1, "one")


def test_stalled_handshakes_hold_up_their_own_address_alone(make_server, certificates):
    """More clients of one address stop behind their ClientHello than handshakes are done at a time."""
    # None of them ends by its time, however long it takes to open all.
    server = make_server(options=[*certificates.options(), *TLS_ON, "--handlersocket-auth-timeout=600"])
    make_table(server)
    hello = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        certificates.context().wrap_bio(ssl.MemoryBIO(), hello, server_hostname="localhost").do_handshake()
    hello = hello.read()
    sql = server.sql()
    timed_out = sql.status("Handlersocket_connections_timed_out")
    answered, stalled = [], select.poll()

    def no_more_are_answered():
        answered.append(len(stalled.poll(0)))
        return answered[-1] and len(answered) > 20 and len(set(answered[-20:])) == 1
    with files_beside_the_others(2200), contextlib.ExitStack() as stack:
        for _ in range(2200):
            one = stack.enter_context(socket.create_connection(address(server), timeout=60,
                                                               source_address=("127.3.3.3", 0)))
            one.sendall(hello)
            stalled.register(one, select.POLLIN)
        wait_until(no_more_are_answered, step_s=0.02)
        client = server.connect(address(server), tls=certificates.context(), source="127.3.3.4")
        assert opened(client).find(0, "=", [1]) == reply(0, 2, 1, "one")
        assert sql.status("Handlersocket_connections_timed_out") == timed_out


def test_slow_reader_holds_little(both, certificates):
    sql = both.sql("g")
    sql.run("REPLACE INTO t VALUES (3, REPEAT('x', 4000000))")
    client = both.connect(address(both), tls=certificates.context(), receive_buffer_bytes=4096)
    opened(client)
    before_kib = both.memory_kib()
    sent = []

    def stands_still():
        """Whether what the server has sent has been the same for 20 looks."""
        sent.append(sql.status("Handlersocket_bytes_sent"))
        return len(sent) > 20 and len(set(sent[-20:])) == 1
    client.send_raw(b"0\t=\t1\t3\n" * 40)
    wait_until(stands_still, step_s=0.02)
    assert both.memory_kib() - before_kib < 32 * 1024
    for _ in range(40):
        assert len(client.recv_line()) == 4000006
    client.ask_for_nothing()


# Ends.

def test_end_is_told_in_both_directions(both, certificates):
    client = opened(connect(both, certificates))
    client.send_raw(b"0\t=\t1\t1\n")
    assert client.recv_line() == b"0\t2\t1\tone"
    plain = client.sock.unwrap()  # fails without the server's close_notify
    assert plain.recv(10) == b""
    plain.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_half_closed_client_gets_its_answers(both, certificates, version):
    client = RecordClient(address(both), certificates.context(version))
    client.handshake()
    client.socket.sendall(client.encrypt(b"P\t0\tg\tt\t\tid,v\n" + b"0\t=\t1\t1\n" * 3))
    client.socket.shutdown(socket.SHUT_WR)
    while client.receive():
        pass
    assert client.plain == b"0\t1\n" + b"0\t2\t1\tone\n" * 3
    client.close()


def test_shutdown_says_the_end(make_server, certificates):
    server = make_server(options=[*certificates.options(), *TLS_ON])
    client = connect(server, certificates)
    client.ask_for_nothing()
    context = certificates.context()
    context.verify_flags |= 0
    strict = ssl.SSLContext.wrap_socket(
        context, socket.create_connection(address(server), timeout=20), suppress_ragged_eofs=False)
    server.clients.clear()
    server.stop()
    assert strict.recv(10) == b""  # not an end without close_notify, which would raise
    strict.close()
    client.close()
