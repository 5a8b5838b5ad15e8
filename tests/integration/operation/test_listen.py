"""The places to listen on: addresses, IPv6, UNIX sockets; a place that is not free is an error at start."""

import contextlib
import os
import re
import socket
import stat

import pymysql
import pytest

import hs
import resp
from hs import refused
from server import StartFailed, free_port

CMD = refused(2, "cmd")


def answers(server, address):
    with hs.Client(address) as client:
        return client.request_raw(b"?") == CMD


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
        return True
    except OSError:
        return False


@pytest.fixture
def occupied():
    """A port on which another process listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


@pytest.mark.bundled_wrong(15)
@pytest.mark.parametrize("which", ["port", "port_wr"])
def test_port_in_use_is_a_loud_error(make_server, occupied, which):
    server = make_server(options=[f"--handlersocket_{which}={occupied}"], start=False)
    with pytest.raises(StartFailed):
        server.start()
    errors = [text for text in server.log().splitlines() if "[ERROR]" in text and "rowsocket" in text]
    assert errors and str(occupied) in errors[0] and "in use" in errors[0], server.log_tail()


@pytest.mark.ours
@pytest.mark.parametrize("option", ["--handlersocket-address=300.1.1.1", "--handlersocket-address=192.0.2.77",
                                    "--handlersocket-port=99999", "--handlersocket-port=abc",
                                    "--handlersocket-socket=/nowhere/at/all.sock",
                                    "--handlersocket-socket=/tmp/" + "x" * 200])
def test_place_that_cannot_be_had_is_a_loud_error(make_server, option):
    server = make_server(options=[option, "--handlersocket-plain-secret=a", "--handlersocket-plain-secret-wr=b"],
                         start=False)
    with pytest.raises(StartFailed):
        server.start()
    assert any("[ERROR]" in text and "rowsocket" in text for text in server.log().splitlines()), server.log_tail()


@pytest.mark.bundled_wrong(15)
def test_several_addresses(make_server):
    addresses = ["127.0.0.1", "127.0.0.2"] + (["::1"] if has_ipv6() else [])
    server = make_server(options=["--handlersocket-address=" + ",".join(addresses)])
    for address in addresses:
        for port in ("HS_PORT", "HS_PORT_WR"):
            assert answers(server, (address, int(server.env[port])))


@pytest.mark.skipif(not has_ipv6(), reason="no IPv6 loopback")
@pytest.mark.ours
@pytest.mark.parametrize("address", ["::1", "[::1]"])
def test_ipv6(make_server, address):
    server = make_server(options=[f"--handlersocket-address={address}"])
    assert answers(server, ("::1", int(server.env["HS_PORT"])))
    assert answers(server, ("::1", int(server.env["HS_PORT_WR"])))
    with pytest.raises(OSError):
        hs.Client(("127.0.0.1", int(server.env["HS_PORT"])))


def test_address_slash_takes_the_ports_as_paths(make_server):
    server = make_server(start=False)
    reader, writer = f"{server.base}/rd.sock", f"{server.base}/wr.sock"
    server.base.chmod(0o777)
    server.start(["--handlersocket-address=/", f"--handlersocket-port={reader}", f"--handlersocket-port-wr={writer}"])
    assert answers(server, reader) and answers(server, writer)


@pytest.mark.ours
def test_unix_sockets_beside_the_ports(make_server):
    server = make_server(start=False)
    reader, writer = f"{server.base}/rd.sock", f"{server.base}/wr.sock"
    server.base.chmod(0o777)
    server.start([f"--handlersocket-socket={reader}", f"--handlersocket-socket-wr={writer}"])
    sql = server.sql()
    sql.run("CREATE DATABASE u")
    sql.run("CREATE TABLE u.t (id INT PRIMARY KEY)")
    assert server.connect(writer).opened("u", "t", "", "id").insert(1) == hs.OK
    assert server.connect(reader).opened("u", "t", "", "id").rows("=", [1]) == [(b"1",)]
    assert server.connect(reader).opened("u", "t", "", "id").insert(2) == refused(2, "readonly")
    assert server.hs_rd().request_raw(b"?") == CMD
    assert stat.S_ISSOCK(os.stat(reader).st_mode)
    assert stat.S_IMODE(os.stat(writer).st_mode) == 0o770  # as the original plugin does
    server.stop()
    assert not os.path.exists(reader) and not os.path.exists(writer)


@pytest.mark.ours
def test_socket_file_left_by_a_kill_is_replaced(make_server):
    server = make_server(start=False)
    server.base.chmod(0o777)
    path = f"{server.base}/rd.sock"
    server.start([f"--handlersocket-socket={path}"])
    server.kill()
    assert os.path.exists(path)
    server.start()
    assert answers(server, path)


@pytest.mark.ours
@pytest.mark.parametrize("variable", ["handlersocket_socket", "handlersocket_socket_wr", "daemon_memcached_socket",
                                      "resp_socket"])
def test_file_that_is_no_socket_is_not_removed(make_server, variable):
    server = make_server(start=False)
    server.base.chmod(0o777)
    path = server.base / "precious"
    path.write_text("data")
    said = rf"not a socket \(check {variable}\)"
    if variable == "resp_socket":  # scripts/server starts without the RESP port.
        server.start([f"--{variable}={path}"])
        assert re.search(said, server.log())
    else:
        with pytest.raises(StartFailed, match=said):
            server.start([f"--{variable}={path}"])
    assert path.read_text() == "data"


@pytest.mark.ours
def test_socket_that_another_server_listens_on_is_not_taken(make_server):
    first = make_server(start=False)
    first.base.chmod(0o777)
    path = f"{first.base}/rd.sock"
    first.start([f"--handlersocket-socket={path}"])
    second = make_server(options=[f"--handlersocket-socket={path}"], start=False)
    with pytest.raises(StartFailed, match=r"already in use \(check handlersocket_socket\)"):
        second.start()
    assert answers(first, path)


@pytest.mark.ours
@pytest.mark.parametrize("port,other", [("port", "HS_PORT_WR"), ("port_wr", "HS_PORT")])
def test_one_port_can_be_off(make_server, port, other):
    server = make_server(options=[f"--handlersocket_{port}="])
    assert answers(server, ("127.0.0.1", int(server.env[other])))


@pytest.mark.ours
@pytest.mark.parametrize("accounts", ["OFF", "ON"])
def test_an_open_address_is_warned_of(make_server, accounts):
    """Without accounts, whoever reaches the port of memcached or of RESP is served."""
    port = free_port()
    server = make_server(options=[f"--resp-port={port}", *(
        f"--{plugin}-{option}" for plugin in ("daemon-memcached", "resp")
        for option in ("address=0.0.0.0", f"accounts={accounts}"))])
    places = {"daemon_memcached": server.env["MEMCACHED_PORT"], "resp": port}
    warned = [line for line in server.log().splitlines() if "every client that reaches" in line]
    for plugin, at in places.items():
        said = [line for line in warned if f"every client that reaches 0.0.0.0:{at} " in line and f"{plugin}_accounts is OFF" in line]
        assert len(said) == (accounts == "OFF"), (plugin, warned)
    assert len(warned) == 2 * (accounts == "OFF"), warned


@pytest.mark.ours
def test_start_and_stop_are_in_the_log(make_server):
    server = make_server(plugin="rowsocket")
    server.hs_rd().request_raw(b"?")
    server.stop()
    log = server.log()
    assert f"127.0.0.1:{server.env['HS_PORT']}" in log and f"127.0.0.1:{server.env['HS_PORT_WR']}" in log
    assert "handlersocket has stopped" in log


@pytest.mark.ours
def test_configuration_that_users_know_works_as_it_stands(make_server):
    port, port_wr = free_port(), free_port()
    server = make_server(options=[
        f"--handlersocket_port={port}", f"--handlersocket_port_wr={port_wr}", "--handlersocket_threads=16",
        "--handlersocket_threads_wr=1", "--open_files_limit=65535", "--innodb_adaptive_hash_index=1",
        "--handlersocket_timeout=300", "--handlersocket_backlog=1024", "--handlersocket_sndbuf=65536",
        "--handlersocket_rcvbuf=65536", "--handlersocket_readsize=4096", "--handlersocket_accept_balance=10",
        "--handlersocket_wrlock_timeout=12", "--handlersocket_verbose=10", "--handlersocket_epoll=1"])
    assert answers(server, ("127.0.0.1", port)) and answers(server, ("127.0.0.1", port_wr))


@pytest.mark.ours
@pytest.mark.parametrize("option, reason", [
    ("handlersocket-port={occupied}", "{occupied}"),
    ("handlersocket-port={occupied}", "something else listens there"),
    ("handlersocket-address=0.0.0.0", "set handlersocket_plain_secret"),
    ("handlersocket-plain-secret=" + "x" * 1025, "handlersocket_plain_secret is longer than"),
    ("daemon-memcached-option=-t x", "-t needs a value"),
    ("daemon-memcached-port=0", "daemon_memcached_socket is not set"),
    ("daemon-memcached-port={occupied}", "something else listens there")],
    ids=["port", "in_use", "no_secret", "long_secret", "option", "nowhere", "memcached_in_use"])
def test_install_that_fails_tells_the_client_why(make_server, occupied, option, reason):
    server = make_server("none", options=["--loose-" + option.format(occupied=occupied)])
    sql = server.sql()
    assert sql.error("INSTALL SONAME 'rowsocket'") == 1123
    reason = reason.format(occupied=occupied)
    warnings = [text.decode() for _, _, text in sql.rows("SHOW WARNINGS")]
    plugin = "daemon_memcached" if option.startswith("daemon") else "handlersocket"
    said = [text for text in warnings if reason in text]
    assert len(said) == 1 and said[0].startswith(f"Can't initialize function '{plugin}'; "), warnings
    assert any("[ERROR]" in line and reason in line for line in server.log().splitlines())


@pytest.mark.ours
def test_install_that_fails_answers_the_reason_itself(make_server, occupied):
    server = make_server("none", options=[f"--loose-handlersocket-port={occupied}"])
    with pytest.raises(pymysql.MySQLError, match="something else listens there"):
        server.sql().run("INSTALL PLUGIN handlersocket SONAME 'rowsocket.so'")


@pytest.mark.ours
def test_a_documented_port_that_is_taken_meanwhile_is_left(make_server):
    """scripts/server, which looks for free ports, does not see a socket that is bound and does not listen."""
    with socket.socket() as taken:
        with contextlib.suppress(OSError):  # Another program has it: there is nothing to take.
            taken.bind(("127.0.0.1", 6379))
        server = make_server(environment={"ROWSOCKET_DOCUMENTED_PORTS": "1"})
        assert resp.Client(int(server.env["RESP_PORT"])).ask("PING") == "PONG"


def test_a_server_that_was_killed_keeps_no_port(make_server):
    """Its threads have them until the last one has ended, which is after its memory is gone."""
    server = make_server(options=["--innodb-buffer-pool-size=512M"])
    for strike in (server.strike, lambda: None):
        strike()
        server.kill()
        for name in ("HS_PORT", "HS_PORT_WR", "SQL_PORT"):
            with socket.socket() as listener:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind(("127.0.0.1", int(server.env[name])))
                listener.listen()
        server.start()
