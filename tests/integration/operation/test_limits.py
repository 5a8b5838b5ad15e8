"""Limits: requests that are too long, too many or too slow are refused with an error, or their connection is
closed, and no other client suffers."""

import contextlib
import resource
import socket
import time

import pytest

import hs
import resp
from hs import OK, line, refused, reply
from load import Crew, open_files
from server import StartFailed, run_packaged, wait_until

pytestmark = [pytest.mark.ours, pytest.mark.sanitized("mariadb")]

FEW_FILES = 500  # open files that a process may have


@pytest.fixture
def limited(make_server):
    """A server with small limits and a table t of 100 rows of 10,000 bytes."""
    server = make_server(options=[
        "--handlersocket-line-max-bytes=5000", "--handlersocket-index-ids-max=8", "--handlersocket-values-max=40",
        "--handlersocket-reply-max-bytes=200000", "--handlersocket-connections-max=5",
        "--handlersocket-buffer-max-bytes=65536"])
    sql = server.sql()
    sql.run("CREATE DATABASE l")
    sql.run("CREATE TABLE l.t (id INT PRIMARY KEY, x LONGTEXT)")
    sql.run("INSERT INTO l.t SELECT seq, REPEAT('x', 10000) FROM l.seq_1_to_100")
    return server


def test_line_that_is_too_long(limited):
    client = limited.hs_rd()
    assert client.open_index(0, "l", "t", "", "id") == OK
    longest = b"0\t=\t1\t" + b"y" * (5000 - 6)
    assert len(longest) == 5000
    assert client.request_raw(longest) == reply(0, 1)
    assert client.request_raw(longest + b"z" * 100_000) == refused(2, "linelen")
    assert client.request_raw(b"0\t=\t1\t2") == reply(0, 1, 2), "the connection is in step"
    assert limited.hs_rd().open_index(0, "l", "t", "", "id") == OK


def test_line_without_an_end_is_not_kept(limited):
    client = limited.hs_rd()
    memory = limited.memory_kib()
    for _ in range(400):
        client.send_raw(b"y" * 100_000)
    assert limited.memory_kib() < memory + 20_000
    assert client.request_raw(b"") == refused(2, "linelen")
    assert limited.hs_rd().request_raw(b"?") == refused(2, "cmd")


def test_number_of_ids(limited):
    client = limited.hs_rd()
    for index_id in range(8):
        assert client.open_index(index_id, "l", "t", "", "id") == OK
    for index_id in (8, 9, 1 << 31, 1 << 40):
        assert client.open_index(index_id, "l", "t", "", "id") == refused(2, "stmtnum")
        assert client.find(index_id, "=", [1]) == refused(2, "stmtnum")
    assert client.find(7, "=", [1]) == reply(0, 1, 1)


def test_number_of_values(limited):
    client = limited.hs_wr()
    assert client.open_index(0, "l", "t", "", "id") == OK
    assert len(client.find(0, "=", [""], 50, 0, within=(0, range(1, 41))).rows) == 40
    assert client.find(0, "=", [""], 50, 0, within=(0, range(1, 42))) == refused(2, "valueslen")
    assert client.insert(0, range(1000, 1041)) == refused(2, "valueslen")
    assert client.request_raw(b"0\t=\t41\t1") == refused(2, "kpnum")
    assert client.find(0, "=", [1], 1, 0, filters=[("F", "=", 0, 1)] * 41) == refused(2, "valueslen")
    assert client.find(0, "=", [1]) == reply(0, 1, 1)


def test_size_of_a_reply(limited):
    client = limited.hs_rd()
    assert client.open_index(0, "l", "t", "", "x") == OK
    assert len(client.find(0, ">=", [1], 19).rows) == 19
    assert client.find(0, ">=", [1], 50) == refused(1, "resultsize")
    assert client.find(0, ">=", [1], 2) == reply(0, 1, *["x" * 10_000] * 2)


def test_size_of_the_before_images_of_a_write(limited):
    client = limited.hs_wr()
    assert client.open_index(0, "l", "t", "", "x") == OK
    assert client.modify(0, ">=", [1], ["U?", "short"], 100) == refused(1, "resultsize")
    assert limited.sql("l").value("SELECT COUNT(*) FROM t WHERE x = 'short'") == b"0"


def test_number_of_connections(limited):
    clients = [limited.hs_rd() for _ in range(5)]
    assert [client.request_raw(b"?") for client in clients] == [refused(2, "cmd")] * 5
    surplus = limited.hs_rd()
    surplus.send_raw(b"?\n")
    assert surplus.recv_all(5) == b""
    assert limited.hs_wr().request_raw(b"?") == refused(2, "cmd")
    clients.pop().close()

    def served():
        with hs.Client(("127.0.0.1", int(limited.env["HS_PORT"]))) as client:
            try:
                return client.request_raw(b"?") == refused(2, "cmd")
            except (hs.Closed, OSError):
                return False
    wait_until(served, what="a place is free after a connection closed")
    assert [client.request_raw(b"?") for client in clients] == [refused(2, "cmd")] * 4


def test_client_that_never_reads_is_paused_and_does_not_take_memory(limited):
    memory = limited.memory_kib()
    greedy = limited.hs_rd(receive_buffer_bytes=4096)
    assert greedy.open_index(0, "l", "t", "", "x") == OK
    greedy.sock.settimeout(1)
    requests = line(0, ">=", 1, 1, 15) * 2000
    with pytest.raises((TimeoutError, OSError)):
        for _ in range(200):
            greedy.send_raw(requests)
    assert limited.memory_kib() < memory + 30_000
    other = limited.hs_rd()
    assert other.open_index(0, "l", "t", "", "id") == OK
    assert other.find(0, "=", [5]) == reply(0, 1, 5)


@pytest.mark.sanitized()  # ASan keeps memory that was freed, so that its amount says nothing.
def test_times_in_in_lists_take_no_memory_of_their_own(make_server):
    server = make_server()
    sql = server.sql()
    sql.run("CREATE DATABASE l")
    sql.run("CREATE TABLE l.d (id DATETIME PRIMARY KEY)")
    clients = [server.hs_rd() for _ in range(20)]
    for client in clients:
        assert client.open_index(0, "l", "d", "", "id") == OK
    days = [b"2024-01-01 %02d:00:00" % (number % 24) for number in range(10_000)]
    request = line(*hs.find_words(0, "=", [days[0]], 1, 0, within=(0, days)))

    before = server.memory_kib()
    for client in clients:
        client.send_raw(request * 5)
    for client in clients:
        assert [client.recv() for _ in range(5)] == [reply(0, 1)] * 5
    assert server.memory_kib("VmHWM") < before + 25_000


def test_rows_that_one_request_changes(make_server):
    """64 MiB are enough for 21,156 rows of an IN list whose primary key has 3,000 bytes."""
    server = make_server(options=["--handlersocket-values-max=30000"])
    sql = server.sql()
    sql.run("CREATE DATABASE l")
    sql.run("CREATE TABLE l.w (k VARBINARY(3000) PRIMARY KEY, v INT)")
    sql.run("INSERT INTO l.w SELECT seq, 0 FROM l.seq_1_to_30000")
    client = server.hs_wr()
    assert client.open_index(0, "l", "w", "", "v") == OK

    def changed(keys):
        return client.request(*hs.find_words(0, "=", [""], len(keys), within=(0, keys), mod=["U", 1]))

    assert changed([7] * 30_000) == reply(0, 1, 1)
    assert changed(range(1, 21_001)) == reply(0, 1, 21_000)
    assert changed(range(1, 22_001)) == refused(1, "resultsize")
    assert sql.value("SELECT SUM(v) FROM l.w") == b"21000"


@pytest.mark.sanitized()  # ASan keeps memory that was freed, so that its amount says nothing.
def test_large_filters_are_forgotten(make_server):
    """Each request has a large value in another filter than the requests before it."""
    server = make_server()
    sql = server.sql()
    sql.run("CREATE DATABASE l")
    sql.run("CREATE TABLE l.t (id INT PRIMARY KEY, v VARCHAR(20) CHARACTER SET utf8mb4)")
    client = server.hs_rd()
    assert client.open_index(0, "l", "t", "", "id", "v") == OK
    before = server.memory_kib()
    for position in range(60):
        filters = [("F", "=", 0, "a")] * position + [("F", "=", 0, b"a" * 1_000_000)]
        assert client.find(0, "=", [1], 1, 0, filters=filters) == reply(0, 1)
    assert server.memory_kib() < before + 25_000


@pytest.mark.sanitized()  # ASan keeps memory that was freed, so that its amount says nothing.
def test_names_that_nothing_can_have_are_not_kept(make_server):
    """An index may be named by its number, with as many leading zeros as fit into the line."""
    server = make_server()
    sql = server.sql()
    sql.run("CREATE DATABASE l")
    sql.run("CREATE TABLE l.t (id INT PRIMARY KEY)")
    client = server.hs_rd()
    assert client.open_index(0, "l", "t", "000", "id") == OK
    before = server.memory_kib()
    for index_id in range(1, 61):
        assert client.open_index(index_id, "l", "t", "0" * 1_000_000, "id") == refused(2, "idxnum")
    assert client.open_index(1, "l" * 300, "t", "", "id") == refused(1, "open_table")
    assert client.open_index(1, "l", "t" * 300, "", "id") == refused(1, "open_table")
    assert client.open_index(1, "l", "t", "", "i" * 300) == refused(2, "fld")
    assert client.open_index(1, "l", "t", "", "id", "i" * 300) == refused(2, "fld")
    assert server.memory_kib() < before + 25_000


def test_paused_client_that_reads_again_gets_everything(limited):
    client = limited.hs_rd(receive_buffer_bytes=4096)
    assert client.open_index(0, "l", "t", "", "id,x") == OK
    client.send_raw(line(0, ">=", 1, 1, 10) * 300)
    other = limited.hs_rd()
    assert other.open_index(0, "l", "t", "", "id") == OK
    for number in range(1, 50):
        assert other.find(0, "=", [number]) == reply(0, 1, number)
    expected = reply(0, 2, *[cell for number in range(1, 11) for cell in (number, "x" * 10_000)])
    for _ in range(300):
        assert client.recv() == expected


def test_idle_connection_is_closed_after_the_timeout(make_server):
    server = make_server(options=["--handlersocket-timeout=5"])
    idle, busy = server.hs_rd(), server.hs_rd()
    assert idle.request_raw(b"?") == refused(2, "cmd")
    started = time.monotonic()
    while not idle.readable(0.2):
        assert busy.request_raw(b"?") == refused(2, "cmd")
        assert time.monotonic() < started + 30
    assert idle.at_end()
    assert busy.request_raw(b"?") == refused(2, "cmd")


def test_client_that_never_reads_is_closed_after_the_timeout(make_server):
    server = make_server(options=["--handlersocket-timeout=1", "--handlersocket-buffer-max-bytes=65536"])
    sql = server.sql()
    sql.run("CREATE DATABASE l")
    sql.run("CREATE TABLE l.t (id INT PRIMARY KEY, x LONGTEXT)")
    sql.run("INSERT INTO l.t VALUES (1, REPEAT('x', 1000000))")
    client = server.hs_rd(receive_buffer_bytes=4096)
    assert client.open_index(0, "l", "t", "", "x") == OK
    client.send_raw(line(0, "=", 1, 1) * 50)

    def gone():
        try:
            client.sock.setblocking(False)
            client.sock.send(b"\n")
        except BlockingIOError:
            return False
        except OSError:
            return True
        return False
    wait_until(gone, timeout_s=20, step_s=0.2, what="the server closes a client that does not read")


@pytest.mark.parametrize("protocol, unfinished", [
    ("handlersocket", b"1\t=\t1\t"), ("daemon_memcached", b"set k 0 0 100000\r\n")])
def test_all_connections_together_hold_what_they_may(make_server, protocol, unfinished):
    variable = f"{protocol}_memory_max_bytes"
    server = make_server(options=[f"--{variable}={1 << 20}"])
    sql = server.sql()
    port = int(server.env["MEMCACHED_PORT" if protocol == "daemon_memcached" else "HS_PORT"])
    lost = lambda: int(sql.status(f"{protocol.capitalize()}_connections_lost"))
    small = socket.create_connection(("127.0.0.1", port))
    small.sendall(unfinished)
    large = []
    for _ in range(40):  # each sends a part, well below the limit of one connection
        large.append(socket.create_connection(("127.0.0.1", port)))
        with contextlib.suppress(OSError):
            large[-1].sendall(unfinished + b"x" * 90_000)
    wait_until(lambda: lost() > 0, what="connections are closed")
    wait_until(lambda: variable in server.log(), what="the log says which variable it was")
    for each in large:
        each.close()
    wait_until(lambda: int(sql.status(f"{protocol.capitalize()}_connections")) == 1, what="they are gone")
    after = lost()
    again = socket.create_connection(("127.0.0.1", port))
    again.sendall(unfinished + b"x" * 90_000)
    small.sendall(b"x\n" if protocol == "handlersocket" else b"x" * 100_000 + b"\r\n")
    assert small.recv(1000) != b""
    assert lost() == after


def test_commands_after_multi_count_as_memory_of_connections(make_server):
    server = resp.start(make_server, f"--loose-resp-memory-max-bytes={1 << 20}")
    sql = server.sql()
    run_packaged(sql, "rowsocket_store.sql")
    lost = lambda: int(sql.status("Resp_connections_lost"))
    clients = []
    for _ in range(40):  # each reply is read: no buffer holds the value any more
        clients.append(resp.Client(server.resp_port))
        with contextlib.suppress(OSError):  # the server may close it at once
            clients[-1].ask("MULTI")
            clients[-1].ask("SET", "k", "x" * 90_000)
    wait_until(lambda: lost() > 0, what="connections are closed")
    wait_until(lambda: "resp_memory_max_bytes" in server.log(), what="the log says which variable it was")
    held = lambda: int(sql.value("SELECT SUM(buffered_bytes) FROM information_schema.ROWSOCKET_CONNECTIONS"))
    wait_until(lambda: held() <= 1 << 20, what="the others hold no more than they may")
    for each in clients:
        each.close()
    wait_until(lambda: int(sql.status("Resp_connections")) == 0, what="they are gone")
    again = resp.Client(server.resp_port)
    assert again.transaction(("SET", "k", "x" * 90_000)) == ["OK"]
    again.close()


def test_time_to_authenticate(make_server):
    server = make_server(options=["--handlersocket-plain-secret=s", "--handlersocket-plain-secret-wr=s",
                                  "--handlersocket-auth-timeout=1"])
    silent, wrong, right = server.hs_rd(), server.hs_rd(), server.hs_rd()
    assert wrong.auth("no") == refused(3, "unauth")
    assert right.auth("s") == OK
    assert silent.at_end(15)
    assert wrong.at_end(15)
    assert right.request_raw(b"?") == refused(2, "cmd")


def test_unauthenticated_line_is_short(make_server):
    server = make_server(options=["--handlersocket-plain-secret=s", "--handlersocket-plain-secret-wr=s"])
    client = server.hs_rd()
    assert client.request_raw(b"A\t1\t" + b"x" * 5000) == refused(2, "linelen")
    assert server.hs_rd().auth("s") == OK


def test_limits_are_variables_with_documented_names(server):
    shown = {name.decode() for name, _ in server.sql().rows("SHOW GLOBAL VARIABLES LIKE 'handlersocket%'")}
    names = ("address port port_wr threads threads_wr timeout backlog sndbuf rcvbuf readsize accept_balance"
             " wrlock_timeout plain_secret plain_secret_wr verbose epoll socket socket_wr line_max_bytes index_ids_max"
             " values_max reply_max_bytes connections_max buffer_max_bytes memory_max_bytes auth_timeout"
             " lock_wait_threads").split()
    assert {f"handlersocket_{name}" for name in names} <= shown


def test_a_start_that_fails_gives_the_open_files_back():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with pytest.raises(StartFailed), open_files(FEW_FILES):
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == FEW_FILES
        raise StartFailed
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == before


def test_limit_of_open_files_is_said_at_start(make_server):
    server = make_server(options=["--open-files-limit=300", "--handlersocket-threads=16",
                                  "--table-open-cache=100"], start=False)
    with open_files(1000):  # MySQL takes a limit that is higher than its own.
        server.start()
    assert "raise open_files_limit" in server.log()


@pytest.fixture
def few_files():
    with open_files(FEW_FILES):
        yield


@pytest.mark.parametrize("variable", ["handlersocket_threads", "handlersocket_threads_wr",
                                      "daemon_memcached_threads"])
def test_thread_that_cannot_be_had_is_a_loud_error(make_server, few_files, variable):
    """The threads that were created wait for the server's start, so the error must not wait for them. It comes
    while half of the files are left: InnoDB ends the server when it finds none."""
    # With more tables or connections the server would raise the limit by itself.
    server = make_server(options=[f"--open-files-limit={FEW_FILES}", f"--{variable}={FEW_FILES}",
                                  "--table-open-cache=100", "--table-open-cache-instances=1",
                                  "--max-connections=10"], start=False)
    with pytest.raises(StartFailed, match="one of its plugins refused to start"):
        server.start()
    errors = [text for text in server.log().splitlines() if "[ERROR]" in text and "rowsocket: " in text]
    assert len(errors) == 1 and "cannot start a worker thread" in errors[0], server.log_tail()
    assert f"raise open_files_limit, or lower {variable}" in errors[0]


def test_connections_leave_sql_its_files(make_server):
    """Connections of unknown clients leave file descriptors: SQL clients, tables and logs are served all the
    same."""
    # The server takes the given limit, and raises it where tables and connections want more.
    server = make_server(options=["--open-files-limit=900", "--table-open-cache=100", "--max-connections=50",
                                  "--table-open-cache-instances=1", "--log-bin=files-bin", "--server-id=1"],
                         start=False)
    with open_files(900):
        server.start()
    sql = server.sql()
    sql.run("CREATE DATABASE f")
    sql.run("CREATE TABLE f.unopened (id INT PRIMARY KEY)")
    sql.run("FLUSH TABLES")
    limit = int(sql.value("SELECT @@open_files_limit"))
    assert limit == 900
    clients = []
    while int(sql.status("Handlersocket_connections_refused")) == 0:
        assert len(clients) < limit
        clients.append(server.hs_rd())
    assert len(clients) > limit // 3
    assert server.sql().value("SELECT COUNT(*) FROM f.unopened") == b"0"
    sql.run("FLUSH BINARY LOGS")
    assert "raise open_files_limit" in server.log() and "Too many open files" not in server.log()
    assert clients[0].request_raw(b"?") == refused(2, "cmd")


@pytest.mark.sanitized()  # ASan itself ends a process that has no memory.
def test_a_server_without_memory_closes_connections_and_lives(make_server):
    """The bytes that arrive decide how much memory a request takes; where there is no memory, its client's
    connection is closed."""
    server = make_server(options=["--innodb-buffer-pool-size=64M",
                                  "--loose-innodb-buffer-pool-size-max=64M"])
    restart_with_memory(server, 128 << 20)
    sql = server.sql()
    sql.run("CREATE DATABASE mem")
    sql.run("CREATE TABLE mem.t (id INT PRIMARY KEY, v LONGBLOB) ENGINE=InnoDB")
    sql.run("INSERT INTO mem.t VALUES (1, 'one'), (2, REPEAT('x', 12000000))")
    clients = [server.hs_rd() for _ in range(24)]
    for client in clients:
        assert client.open_index(0, "mem", "t", "", "v") == OK
    lost = [client for client in clients if not takes(client, b"P\t1\tmem\tt\t" + b"x" * 15_000_000)]
    assert 0 < len(lost) < len(clients)
    for client in clients:
        client.close()
    client = server.hs_rd()
    assert client.open_index(0, "mem", "t", "", "v") == OK
    assert client.find(0, "=", [1]) == reply(0, 1, b"one")
    assert len(client.find(0, "=", [2]).cells[0]) == 12_000_000
    assert "out of memory: connections are closed" in server.log()


@pytest.mark.sanitized()  # ASan keeps memory that was freed, so that its amount says nothing.
@pytest.mark.parametrize("port, mod", [("hs_rd", None), ("hs_wr", ["D"])])
def test_the_memory_of_large_keys_is_given_back_while_their_table_stays_open(make_server, port, mod):
    """A thread keeps its tables open as long as it has requests. Each column has a buffer for its value."""
    server = make_server(options=["--handlersocket-threads=1", "--handlersocket-threads-wr=1"])
    sql = server.sql()
    sql.run("CREATE DATABASE l")
    sql.run("CREATE TABLE l.t (id INT PRIMARY KEY, "
            + ", ".join(f"c{number} LONGTEXT, KEY k{number} (c{number}(10))" for number in range(8)) + ")")
    client, pinger = (getattr(server, port)() for _ in range(2))
    for number in range(8):
        for one in (client, pinger):
            assert one.open_index(number, "l", "t", f"k{number}", "id") == OK

    def asked(number, key):
        return line(*hs.find_words(number, "=", [key], 1, 0, mod=mod))
    nothing = reply(0, 1, 0) if mod else reply(0, 1)
    large = b"x" * 15_000_000
    pings = asked(0, "short") * 5000
    before = server.memory_kib()
    with Crew() as crew:
        def ping():
            while not crew.stopping.is_set():
                pinger.pipeline_deep(pings, 5000)
        crew.start(ping)
        for number in range(8):
            front, end = asked(number, "KEY").split(b"KEY")
            for part in (front, large, end):
                client.send_raw(part)
            assert client.recv() == nothing
        wait_until(lambda: crew.check() and server.memory_kib() < before + 80_000, 3, "the memory is given back")


def restart_with_memory(server, bytes_more):
    """From now on the server's address space may grow by so many bytes."""
    peak_kib = server.memory_kib("VmPeak")
    server.stop()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, ((peak_kib << 10) + bytes_more, before[1]))
    try:
        server.start()
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def takes(client, line):
    """Whether the server takes all bytes of an unfinished line and keeps the connection."""
    try:
        client.send_raw(line)
        return not client.readable(0.3)
    except OSError:
        return False
