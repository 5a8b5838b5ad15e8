"""Input that no client should send: the server lives, other connections notice nothing, no byte counts for
another command."""

import socket
import struct

import pytest

import mc
import mc_vectors
from load import scaled
from mc_tables import definition
from server import wait_until

pytestmark = [pytest.mark.ours, pytest.mark.sanitized("mariadb", "mysql")]


@pytest.fixture
def good(server):
    """A connection that must not notice the hostile ones."""
    client = mc.connect(server)
    assert client.set("good", b"value") == b"STORED"
    yield client
    assert client.value("good") == b"value"
    assert client.command("delete good") == b"DELETED"


@pytest.fixture
def address(server):
    return ("127.0.0.1", int(server.env["MEMCACHED_PORT"]))


CLOSED = {
    "no newline": b"z" * 2100, "no newline in set": b"set " + b"z" * 2100,
    "HTTP GET": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP POST": b"POST / HTTP/1.1\r\n\r\n",
    "binary key of 251 bytes": mc.packet(mc.GET, b"k" * 251),
    "binary without a key": mc.packet(mc.GET),
    "wrong magic": mc.packet(mc.NOOP) + b"\x00" * 24,
    "the magic of replies": mc.packet(mc.NOOP) + b"\x81" + bytes(23),
    "a key longer than the body": mc.HEADER.pack(0x80, mc.GET, 200, 0, 0, 0, 5, 0, 0) + b"x" * 5,
    "extras longer than the body": mc.HEADER.pack(0x80, mc.SET, 1, 255, 0, 0, 2, 0, 0) + b"xx",
}


@pytest.mark.parametrize("name", CLOSED)
def test_the_connection_is_closed(good, address, name):
    with mc.Client(address) as client:
        client.send(CLOSED[name])
        assert client.is_closed()


@pytest.mark.sanitized()  # ASan keeps memory that was freed, so that its amount says nothing.
def test_large_statistics_are_not_made_before_there_is_room(server, good, address):
    with mc.Client(address) as client:
        assert good.command("stats detail on") == b"OK"
        for first in range(0, 1000, 100):
            client.send(b"get " + b" ".join(b"%04d" % number + b"p" * 240 + b":k"
                                            for number in range(first, first + 100)) + b"\r\n")
            assert client.line() == b"END"
        before = server.memory_kib()
        client.send(b"stats detail dump\r\n" * 1000)
        client.receive_more()
        assert good.value("good") == b"value"
        after = server.memory_kib()
    assert good.command("stats detail off") == b"OK"
    assert after < before + 12_000


@pytest.mark.parametrize("body_bytes", [0xffffffff, 0x80000000, 0x7fffffff, 0x10000000])
def test_a_binary_length_sizes_nothing(server, good, address, body_bytes):
    """A packet that promises gigabytes gets an error or waits; no memory is taken for it."""
    before, space_before = server.memory_kib(), server.memory_kib("VmSize")
    clients = [mc.Client(address) for _ in range(20)]
    try:
        for client in clients:
            client.send(mc.HEADER.pack(0x80, mc.SET, 1, 8, 0, 0, body_bytes, 0, 0) + bytes(8) + b"k" * 1000)
        assert good.value("good") == b"value"
        assert server.memory_kib() - before < 200_000
        # Memory that is reserved and not touched yet is not resident.
        assert server.memory_kib("VmSize") - space_before < 2_000_000
    finally:
        for client in clients:
            client.close()


@pytest.mark.parametrize("line", [
    b"set k 0 0 4294967295", b"set k 0 0 18446744073709551615", b"set k 0 0 99999999999999999999999",
    b"set k 0 0 -1", b"set k 0 0 0x10", b"ms k 4294967295", b"ms k 99999999999999999999"])
def test_a_text_length_sizes_nothing(server, good, address, line):
    """The client gets an error line at once, or the data is swallowed; no line of the data runs as a
    command."""
    with mc.Client(address, timeout_s=3) as client:
        client.send(line + b"\r\n")
        assert client.line().startswith((b"CLIENT_ERROR", b"SERVER_ERROR", b"ERROR"))


def test_a_large_value_is_swallowed_as_it_comes(server, good, address):
    before = server.memory_kib()
    size = 50_000_000
    with mc.Client(address, timeout_s=60) as client:
        client.send(b"set k 0 0 %d\r\n" % size)
        piece = b"get good\r\n" * 100_000
        sent = 0
        while sent < size:
            client.send(piece[:size - sent])
            sent += min(len(piece), size - sent)
        client.send(b"\r\n")
        assert client.line() == b"SERVER_ERROR object too large for cache"
        assert client.in_step("text") and client.value("good") == b"value"
    assert server.memory_kib() - before < 30_000


def test_half_commands_do_nothing(server, good, address):
    """A command that ends before it is complete has no effect, wherever it ends."""
    requests = [b"set half 0 0 5\r\nvalue\r\n", b"ms half 5 T0\r\nvalue\r\n",
                mc.packet(mc.SET, b"half", b"value", mc.storing())]
    for request in requests:
        for end in range(1, len(request)):
            with mc.Client(address) as client:
                client.send(request[:end])
        assert good.value("half") is None
        with mc.Client(address) as client:
            for at in range(len(request)):
                client.send(request[at:at + 1])
            wait_until(lambda: good.value("half") == b"value", 20, "the whole request")
        assert good.command("delete half") == b"DELETED"


def test_clients_that_leave(server, good, address):
    """Clients that take no replies, and connections that are reset."""
    assert good.set("much", b"x" * 500_000) == b"STORED"
    for number in range(10):
        client = mc.Client(address)
        client.send(b"get much\r\n" * 100)
        if number % 2:
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
    assert good.value("good") == b"value"
    assert good.command("delete much") == b"DELETED"


def test_a_client_that_does_not_read(server, good, address):
    """The client is held back, or closed; the server keeps only a limited number of bytes for it."""
    assert good.set("much", b"x" * 1_000_000) == b"STORED"
    before = server.memory_kib()
    with mc.Client(address) as client:
        client.socket.settimeout(1)
        try:
            for _ in range(300):
                client.send(b"get much much much much\r\n")
        except (TimeoutError, OSError):
            pass
        assert good.value("good") == b"value"
        assert server.memory_kib() - before < 250_000
    assert good.command("delete much") == b"DELETED"


def mutated(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(data) + 1)
        pick = rng.random()
        if pick < 0.4 and at < len(data):
            data[at] = rng.choice((0, 10, 13, 32, 48, 0x80, 0x81, 255, rng.randrange(256)))
        elif pick < 0.6:
            del data[at:at + rng.choice((1, 2, 10))]
        elif pick < 0.8:
            data[at:at] = rng.randbytes(rng.choice((1, 2, 24)))
        else:
            other = rng.randrange(len(data) + 1)
            data[at:at] = data[other:other + 30]
    return bytes(data)


def test_mutated_vectors(server, good, address, rng):
    """The server survives damaged input of the golden vectors and serves others. (The fuzz targets and the
    vectors check the replies.)"""
    seeds = []
    for path in sorted(mc_vectors.FOLDER.glob("*.json")):
        for vector in mc_vectors.load(path):
            data = b"".join(mc_vectors.sent_bytes(step["send"], dict.fromkeys("abcd", 5))
                            for step in vector["steps"])
            if b"flush" not in data and len(data) < 5000:
                seeds.append(data.replace(b"good", b"g00d"))
    for _ in range(scaled(800)):
        with mc.Client(address) as client:
            try:
                client.send(mutated(rng, rng.choice(seeds)))
                client.socket.shutdown(socket.SHUT_WR)
                client.is_closed()
            except OSError:
                pass
    assert good.value("good") == b"value"


def test_many_connections_at_once(server, good, address):
    """All connections are served, or refused with a line that says so."""
    clients = []
    try:
        for _ in range(300):
            clients.append(mc.Client(address))
            clients[-1].send(b"get good\r\n")
        served = 0
        for client in clients:
            line = client.line()
            assert line.startswith((b"VALUE good", b"ERROR Too many open connections", b"SERVER_ERROR")), line
            served += line.startswith(b"VALUE")
        assert served >= 200
    finally:
        for client in clients:
            client.close()


TOO_LARGE_BYTES = 2_000_000


def too_large(dialect, data):
    """A set over the limit whose data, taken for requests, would delete `good`."""
    if dialect == "text":
        return b"set big 0 0 %d\r\n%s\r\n" % (len(data), data)
    return mc.packet(mc.ADD, b"big", data, mc.storing())


@pytest.mark.parametrize("dialect", ["text", "binary"])
def test_swallowed_data_is_no_request_however_full_the_turn_is(server, good, address, dialect):
    """Replies over the buffer's limit end a turn early, and the commands parsed behind them are parsed again:
    the data of a too large value neither swallows other commands nor becomes requests."""
    assert good.set("much", b"x" * 1_000_000) == b"STORED"
    text = dialect == "text"
    get, delete, noop = ((b"get much\r\n", b"delete good\r\n", b"mn\r\n") if text else
                         (mc.packet(mc.GET, b"much"), mc.packet(mc.DELETE, b"good"), mc.packet(mc.NOOP)))
    data = (delete * (TOO_LARGE_BYTES // len(delete) + 1))[:TOO_LARGE_BYTES]
    request = too_large(dialect, data)
    for cut in (0, 100, len(request) - 10, len(request)):
        with mc.Client(address) as client:
            client.send(get * 5 + request[:cut])
            client.send(request[cut:] + get * 5 + noop)
            for number in range(11):
                if number == 5:
                    if text:
                        assert client.line() == b"SERVER_ERROR object too large for cache"
                    else:
                        assert client.packet().status == 3
                elif text:
                    assert len(client.reply_to_get()[b"much"][1]) == 1_000_000
                else:
                    assert len(client.packet().value) == 1_000_000
            assert client.line() == b"MN" if text else client.packet().opcode == mc.NOOP
            assert client.in_step(dialect)
    assert good.command("delete much") == b"DELETED"


@pytest.mark.parametrize("dialect", ["text", "binary"])
def test_swallowed_data_is_no_request_when_others_wait(server, good, address, dialect):
    """A too large value behind a row that another session holds, and in front of it."""
    text = dialect == "text"
    assert good.set("held", b"old") == b"STORED"
    delete = b"delete good\r\n" if text else mc.packet(mc.DELETE, b"good")
    data = (delete * (TOO_LARGE_BYTES // len(delete) + 1))[:TOO_LARGE_BYTES]
    request = too_large(dialect, data)
    sets = [b"set held 0 0 1\r\n%d\r\n" % number if text else
            mc.packet(mc.SET, b"held", b"%d" % number, mc.storing()) for number in range(4)]
    table = definition(server.sql())
    table = f"{table['db_schema']}.{table['db_table']}"
    for cut in (0, 100, len(request) // 2, len(request)):
        holder = server.sql()
        holder.run("BEGIN")
        holder.run(f"SELECT 1 FROM {table} WHERE id = 'held' FOR UPDATE")
        with mc.Client(address) as client:
            client.send(sets[0] + sets[1] + request[:cut])
            assert good.value("good") == b"value"
            holder.run("COMMIT")
            holder.run("BEGIN")
            client.send(request[cut:])
            client.send(sets[2] + sets[3])
            holder.run("COMMIT")
            answers = [client.line() if text else client.packet().status for _ in range(5)]
            stored, large = (b"STORED", b"SERVER_ERROR object too large for cache") if text else (0, 3)
            assert answers == [stored, stored, large, stored, stored]
            assert client.in_step(dialect)
        assert good.value("held") == b"3"
    assert good.command("delete held") == b"DELETED"


@pytest.mark.parametrize("cut_bytes", [400, 1_000_000])
def test_a_binary_set_over_the_limit_does_not_wait_for_its_row(server, good, address, cut_bytes):
    """Another session holds the row that the refused set would delete: the set is answered, and its data
    swallowed."""
    assert good.set("held", b"old", expiry=1000) == b"STORED"
    delete = mc.packet(mc.DELETE, b"good")
    data = (delete * (TOO_LARGE_BYTES // len(delete) + 1))[:TOO_LARGE_BYTES]
    request = mc.packet(mc.SET, b"held", data, mc.storing())
    table = definition(server.sql())
    holder = server.sql()
    holder.run("BEGIN")
    holder.run(f"SELECT 1 FROM {table['db_schema']}.{table['db_table']} WHERE id = 'held' FOR UPDATE")
    with mc.Client(address) as client:
        client.send(request[:cut_bytes])
        answer = client.packet()
        assert answer.status != 0
        client.send(request[cut_bytes:])
        assert client.in_step("binary")
        holder.run("COMMIT")
        assert client.binary(mc.DELETE, b"held").status == 0


@pytest.mark.parametrize("first, rest, answer", [
    (b"incr split 1            ", b"\r\n", b"8\r\n"),
    (b"set split 0 0 10\r\n01234", b"56789\r\n", b"STORED\r\n"),
    (b"set split 0 0 1000\r\n" + b"a" * 500, b"a" * 500 + b"\r\n", b"STORED\r\n")])
def test_a_command_in_parts_that_waits_leaves_nothing_behind(server, good, first, rest, answer):
    sql, holder = server.sql(), server.sql()
    assert good.set("split", b"7") == b"STORED"
    with mc.connect(server) as client:
        holder.run("BEGIN")
        holder.run("SELECT * FROM innodb_memcache.demo WHERE id = 'split' FOR UPDATE")
        for part, counter in ((first, "bytes_received"), (rest, "lock_waits")):
            name = f"Daemon_memcached_{counter}"
            before = int(sql.status(name))
            client.send(part)
            wait_until(lambda name=name, before=before: int(sql.status(name)) > before, 20, name)
        holder.run("COMMIT")
        assert client.line() + b"\r\n" == answer
        client.send(b"mn\r\n")
        assert client.line() == b"MN"
        client.send(b"mn\r\n" * 4 + b"get split\r\nversion\r\n")
        assert [client.line() for _ in range(4)] == [b"MN"] * 4
        assert client.line().startswith(b"VALUE split 0 ")
    assert good.command("delete split") == b"DELETED"
