"""TLS on the ports of both protocols: versions, certificates, what leaves in clear, hostile clients."""

import concurrent.futures
import contextlib
import importlib
import select
import shutil
import socket
import ssl
import struct
import time

import pytest

import hs
import mc
import mc_suites
import mc_vectors
import resp
import test_vectors
from doctor import finds_nothing, says
from folders import let_servers_enter
from hs import refused, reply
from load import scaled
from private_servers import create, remove
from server import StartFailed, is_mysql, is_server_before, wait_until
from tls import TLS_ON, TLS_REQUIRED, VERSIONS, address, connect, make_table, opened, renew

pytestmark = pytest.mark.ours

OPTIONS = ["--loose-daemon-memcached-flush-all=ON", "--innodb-flush-log-at-trx-commit=0"]


@pytest.fixture(scope="module")
def strict(request, certificates):
    """A server that requires TLS, with UNIX sockets beside."""
    server = create(request.config)
    server.folder = server.base / "sockets"
    server.folder.mkdir()
    server.folder.chmod(0o777)  # the server may run as another user
    server.start([*certificates.options(), *TLS_REQUIRED, f"--handlersocket-socket={server.folder}/rd",
                  f"--daemon-memcached-socket={server.folder}/mc"])
    make_table(server)
    yield server
    remove(server)


# Versions, and what goes beside TLS.

@pytest.mark.parametrize("version", VERSIONS)
def test_both_versions_serve_both_protocols(both, certificates, version):
    client = opened(connect(both, certificates, version=version))
    assert client.find(0, "=", [1]) == reply(0, 2, 1, "one")
    assert client.sock.version() == version.name.replace("_", ".")
    writer = opened(connect(both, certificates, "HS_PORT_WR", version=version))
    assert writer.update(0, "=", [2], [2, "three"]) == hs.counted(1)
    assert writer.find(0, "=", [2]) == reply(0, 2, 2, "three")
    with mc.Client(address(both, "MEMCACHED_PORT"), tls=certificates.context(version)) as client:
        assert client.command("version").startswith(b"VERSION")
        client.ask_for_nothing()
    with mc.Client(address(both, "MEMCACHED_PORT"), tls=certificates.context(version)) as client:
        assert client.binary(mc.NOOP).status == 0


def test_plain_clients_are_served_beside(both):
    client = opened(both.connect(address(both)))
    assert client.find(0, "=", [1]) == reply(0, 2, 1, "one")
    with mc.Client(address(both, "MEMCACHED_PORT")) as client:
        client.ask_for_nothing()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
def test_old_versions_are_refused(both, certificates, version):
    failed = both.sql().status("Handlersocket_tls_failed")
    with pytest.raises((ssl.SSLError, ConnectionResetError)):
        connect(both, certificates, version=version)
    wait_until(lambda: both.sql().status("Handlersocket_tls_failed") == failed + 1)


def test_sslv3_is_refused(both):
    hello = bytes.fromhex("0300") + bytes(32) + bytes.fromhex("00 0004 002f 000a 01 00")
    record = b"\x16\x03\x00" + struct.pack(">HBBH", len(hello) + 4, 1, 0, len(hello)) + hello
    with socket.create_connection(address(both), timeout=10) as client:
        client.sendall(record)
        answer = client.recv(1000)
        assert answer[:1] == b"\x15" and len(answer) == 7  # an alert
        assert client.recv(1000) == b""


def test_off_answers_as_before(server):
    client = server.hs_rd()
    assert client.request_raw(b"\x16\x03\x01") == refused(2, "cmd")
    client.ask_for_nothing()


@pytest.mark.again_in("mysql-9.7")
def test_required_leaves_nothing_in_clear(strict, certificates):
    for port in ("HS_PORT", "HS_PORT_WR"):
        client = strict.connect(address(strict, port))
        client.send_raw(b"P\t0\tg\tt\t\tid\n0\t=\t1\t1\n")
        assert client.recv_all() == b"3\t1\tneedtls\n"
    for asked, answer in ((b"mn\r\nget a\r\n", b"CLIENT_ERROR TLS required\r\n"),
                          (mc.packet(mc.GETK, b"a", opaque=77), None)):
        with mc.Client(address(strict, "MEMCACHED_PORT")) as client:
            client.send(asked)
            if answer is None:
                packet = client.packet()
                assert (packet.status, packet.opcode, packet.opaque) == (0x20, mc.GETK, 77)
            assert client.is_closed() and client.buffer == (answer or b"")
    client = opened(connect(strict, certificates))
    assert client.find(0, "=", [1]) == reply(0, 2, 1, "one")
    assert strict.sql().status("Handlersocket_plain_refused") == 2


def test_unix_sockets_stay_plain(strict):
    client = opened(strict.connect(f"{strict.folder}/rd"))
    assert client.find(0, "=", [1]) == reply(0, 2, 1, "one")
    with mc.Client(f"{strict.folder}/mc") as client:
        client.ask_for_nothing()


def test_memcached_option_requires_tls(make_server, certificates):
    server = make_server(options=[*certificates.options(), "--daemon-memcached-option=-Z"])
    with mc.Client(address(server, "MEMCACHED_PORT")) as client:
        assert client.command("mn") == b"CLIENT_ERROR TLS required"
    with mc.Client(address(server, "MEMCACHED_PORT"), tls=certificates.context()) as client:
        client.ask_for_nothing()
    server.hs_rd().ask_for_nothing()


# Whole vectors.

def test_every_handlersocket_vector_over_tls(both, certificates):
    loaded = {}
    for parameters in test_vectors.vectors():
        file, vector = parameters.values
        if vector.get("secret"):
            continue
        test_vectors.load_tables(both, loaded, file)
        for statement in vector.get("sql", ()):
            with contextlib.closing(both.sql("hsvec")) as sql:
                sql.run(statement)
        client = connect(both, certificates, "HS_PORT_WR" if vector["port"] == "wr" else "HS_PORT")
        test_vectors.play(client, vector["steps"])
        both.close_clients()


def test_every_memcached_vector_over_tls(both, certificates):
    context = certificates.context()

    def connect_mc(**kwargs):
        return mc.Client(address(both, "MEMCACHED_PORT"), tls=context, **kwargs)
    for path in sorted(mc_vectors.FOLDER.glob("*.json")):
        for vector in mc_vectors.load(path):
            if vector.get("only", "ours") == "ours":
                assert mc_vectors.play(connect_mc, vector, True) is None, vector["name"]


def test_client_of_another_project_speaks_tls(both, certificates, monkeypatch):
    monkeypatch.syspath_prepend(str(mc_suites.pymemcache_folder()))
    base = importlib.import_module("pymemcache.client.base")
    for version in VERSIONS:
        client = base.Client(address(both, "MEMCACHED_PORT"), tls_context=certificates.context(version), timeout=30,
                             default_noreply=False)
        assert client.set("tls", b"7")
        assert client.incr("tls", 5) == 12
        value, token = client.gets("tls")
        assert value == b"12" and client.cas("tls", b"x" * 100_000, token)
        assert client.get_many(["tls", "none"]) == {"tls": b"x" * 100_000}
        assert client.delete("tls") and client.get("tls") is None
        client.close()


# Certificates.

@pytest.fixture(scope="module")
def guarded(request, certificates):
    """A server whose HandlerSocket ports want a certificate of each client; memcached's takes any or none."""
    server = create(request.config, options=[
        *certificates.options(revocations=True), *TLS_REQUIRED,
        "--handlersocket-ssl-client-cert=REQUIRED", "--handlersocket-address=*"]).start()
    make_table(server)
    yield server
    remove(server)


def is_admitted(server, certificates, port, client, version):
    context = certificates.context(version, client)
    try:
        if port == "MEMCACHED_PORT":
            with mc.Client(address(server, port), tls=context) as one:
                one.ask_for_nothing()
            return True
        one = server.connect(address(server, port), tls=context)
        one.ask_for_nothing()  # in TLS 1.3 a client hears of the refusal behind its handshake
        return True
    except (ssl.SSLError, ConnectionError, hs.Closed, mc.Closed):
        return False


@pytest.mark.again_in("mysql-9.7")
@pytest.mark.parametrize("version", VERSIONS)
def test_client_certificates(guarded, certificates, version):
    admitted = {client: is_admitted(guarded, certificates, "HS_PORT", client, version)
                for client in (None, "app", "expired", "revoked", "stranger")}
    assert admitted == {None: False, "app": True, "expired": False, "revoked": False, "stranger": False}
    assert is_admitted(guarded, certificates, "MEMCACHED_PORT", None, version)
    assert is_admitted(guarded, certificates, "MEMCACHED_PORT", "app", version)
    assert not is_admitted(guarded, certificates, "MEMCACHED_PORT", "stranger", version)
    assert "a TLS handshake has failed: " in guarded.log()


def test_session_of_a_port_without_certificates_opens_no_other(guarded, certificates):
    context = certificates.context(ssl.TLSVersion.TLSv1_2)
    with mc.Client(address(guarded, "MEMCACHED_PORT"), tls=context) as client:
        session = client.socket.session
    raw = socket.create_connection(address(guarded), timeout=10)
    with pytest.raises((ssl.SSLError, ConnectionError)):
        context.wrap_socket(raw, session=session).do_handshake()
    raw.close()


def test_a_silent_handshake_ends_with_the_time_for_a_login(make_server, certificates):
    server = resp.start(make_server, *certificates.options(), *TLS_ON, "--loose-resp-ssl=ON",
                        "--loose-daemon-memcached-auth-timeout=1", "--loose-resp-auth-timeout=1")
    for port in (int(server.env["MEMCACHED_PORT"]), server.resp_port):
        with socket.create_connection(("127.0.0.1", port), timeout=7) as silent:  # 10 s without the variable
            silent.sendall(b"\x16")
            with contextlib.suppress(ConnectionError):
                assert silent.recv(100) == b""


def test_the_time_for_a_login_begins_with_the_connection(make_server, certificates):
    server = make_server(options=[*certificates.options(), *TLS_ON, "--handlersocket-plain-secret=sesame",
                                  "--handlersocket-auth-timeout=4"])
    with socket.create_connection(address(server)) as first:
        time.sleep(1)
        with socket.create_connection(address(server)) as second:
            time.sleep(2)
            first.sendall(b"\x16")  # A handshake has what is left of the time.
            assert first in select.select([first, second], [], [], 20)[0]


def test_a_handshake_is_shown_as_one(both):
    with socket.create_connection(address(both), timeout=10) as silent:
        silent.sendall(b"\x16")
        state = ("SELECT state FROM information_schema.ROWSOCKET_CONNECTIONS"
                 f" WHERE port = {silent.getsockname()[1]}")
        sql = both.sql()
        wait_until(lambda: sql.rows(state) == [(b"handshake",)], what="the handshake")


@pytest.mark.again_in("mysql-9.7")
def test_renewed_certificate(make_server, certificates, tmp_path):
    folder = tmp_path / "server"
    folder.mkdir()
    paths = folder / "cert", folder / "key"

    def install(pair):
        for source, target in zip(pair, paths):
            shutil.copy(source, target)
            target.chmod(0o644)
    let_servers_enter(folder)
    install(certificates.server)
    server = make_server(options=[f"--ssl-cert={paths[0]}", f"--ssl-key={paths[1]}",
                                  f"--ssl-ca={certificates.authority.certificate}", *TLS_ON])
    make_table(server)
    old = opened(connect(server, certificates))
    before = old.sock.getpeercert()
    context = certificates.context(ssl.TLSVersion.TLSv1_2)
    with hs.Client(address(server), tls=context) as client:
        session = client.sock.session

    def resumes():
        with socket.create_connection(address(server), timeout=10) as raw:
            with context.wrap_socket(raw, session=session) as client:
                return client.session_reused
    assert resumes()
    install(certificates.authority.issue("renewed"))
    renew(server.sql())
    new = opened(connect(server, certificates))
    assert new.sock.getpeercert()["subject"] != before["subject"]
    assert old.find(0, "=", [1]) == reply(0, 2, 1, "one")
    assert not resumes()
    sql = server.sql()
    ends = ssl.cert_time_to_seconds(new.sock.getpeercert()["notAfter"])
    assert [sql.status(f"{plugin}_tls_certificate_ends") for plugin in ("Handlersocket", "Daemon_memcached", "Resp")] == [ends, ends, 0]
    finds_nothing(server)
    dates = [time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + days * 86400)) for days in (-1, 2.5)]
    install(certificates.authority.issue("ending", dates))
    assert sql.status("Handlersocket_tls_certificate_ends") == ends, "it is not loaded yet"
    renew(sql)
    says(server, "the server's certificate, which clients of handlersocket, daemon_memcached get, ends in 2.", "ssl_cert")


@pytest.mark.again_in("mysql-9.7")
def test_handshakes_beside_flush_ssl(both, certificates):
    before = both.sql().status("Handlersocket_tls_handshakes")
    context = certificates.context()

    def find(_):
        with hs.Client(address(both), tls=context) as client:
            opened(client)
            return client.find(0, "=", [1])
    sql = both.sql()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(find, number) for number in range(scaled(200))]
        while not all(answer.done() for answer in answers):
            renew(sql)
        assert all(answer.result() == reply(0, 2, 1, "one") for answer in answers)
    assert sql.status("Handlersocket_tls_handshakes") - before == len(answers)


# Starting.

def start_fails(make_server, *options):
    server = make_server(options=list(options), start=False)
    with pytest.raises(StartFailed):
        server.start()
    return server.log()


@pytest.mark.mariadb("MySQL loads its plugins before it looks for its certificate")
def test_tls_without_a_certificate_does_not_start(make_server, certificates):
    options = ["--handlersocket-ssl=ON", "--skip-ssl"]
    assert "ssl_cert and ssl_key" in start_fails(make_server, *options)
    if not is_server_before((11, 8)):  # it makes a certificate for itself
        server = make_server(options=["--handlersocket-ssl=ON"])
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        server.connect(address(server), tls=context).ask_for_nothing()


@pytest.mark.again_in("mysql-9.7")
@pytest.mark.mysql("MariaDB's server does not start")
def test_nobody_gets_tls_from_a_server_without_a_certificate(make_server):
    server = make_server(options=["--handlersocket-ssl=ON", "--auto-generate-certs=OFF"])
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with pytest.raises((ssl.SSLError, ConnectionError)):
        server.connect(address(server), tls=context)
    assert "a client has asked for TLS, but the server has no TLS: set ssl_cert and ssl_key" in server.log()
    server.hs_rd().ask_for_nothing()


@pytest.mark.again_in("mysql-9.7")
def test_client_certificates_need_an_authority(make_server, certificates):
    log = start_fails(make_server, *certificates.options(authority=False), *TLS_ON,
                      "--handlersocket-ssl-client-cert=REQUIRED")
    assert "handlersocket_ssl_client_cert=REQUIRED needs ssl_ca" in log


@pytest.mark.again_in("mysql-9.7")
@pytest.mark.mysql("MariaDB's ssl_ca cannot be changed at run time")
def test_nobody_is_admitted_once_the_authority_is_gone(make_server, certificates):
    """Without an authority of its own the server would admit whom the operating system trusts, from ALTER INSTANCE
    RELOAD TLS on. The port looks at the variable."""
    server = make_server(options=[*certificates.options(), *TLS_ON, "--handlersocket-ssl-client-cert=REQUIRED"])
    assert is_admitted(server, certificates, "HS_PORT", "app", ssl.TLSVersion.TLSv1_2)
    sql = server.sql()
    sql.run("SET GLOBAL ssl_ca = ''")
    assert not is_admitted(server, certificates, "HS_PORT", "app", ssl.TLSVersion.TLSv1_2)
    assert "ssl_ca and ssl_capath are empty" in server.log()
    sql.run("SET GLOBAL ssl_ca = %s", str(certificates.authority.certificate))
    assert is_admitted(server, certificates, "HS_PORT", "app", ssl.TLSVersion.TLSv1_2)


@pytest.mark.parametrize("options", [[], ["--handlersocket-ssl=REQUIRED"], [
    "--handlersocket-ssl=ON", "--handlersocket-ssl-client-cert=REQUIRED"]], ids=str)
def test_address_beyond_this_machine_needs_both(make_server, certificates, options):
    log = start_fails(make_server, *certificates.options(), *options, "--handlersocket-address=0.0.0.0")
    assert "handlersocket_ssl_client_cert" in log
