"""Certificates, and TLS clients that show their records.

    certificates = Certificates.shared()
    server = make_server(options=[*certificates.options(), "--handlersocket-ssl=ON"])
    client = hs.Client(address, tls=certificates.context(client="app"))
"""

import atexit
import functools
import pathlib
import shutil
import socket
import ssl
import subprocess
import tempfile
import time

import hs
from server import is_mysql

CONFIGURATION = """
[ca]
default_ca = it
[it]
database = {folder}/index
new_certs_dir = {folder}
certificate = {folder}/ca.pem
private_key = {folder}/ca.key
serial = {folder}/serial
crlnumber = {folder}/crlnumber
default_md = sha256
default_days = 30
default_crl_days = 30
policy = any
unique_subject = no
x509_extensions = leaf
[leaf]
basicConstraints = CA:FALSE
[any]
commonName = supplied
[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical,CA:TRUE
keyUsage = keyCertSign,cRLSign
"""

TLS_ON = ["--handlersocket-ssl=ON", "--daemon-memcached-ssl=ON"]
TLS_REQUIRED = ["--handlersocket-ssl=REQUIRED", "--daemon-memcached-ssl=REQUIRED"]
VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]

EXPIRED = ("20200101000000Z", "20200102000000Z")


def openssl(*arguments, **kwargs):
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, timeout=60, **kwargs)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout


class Authority:
    """A certificate authority in a folder of its own."""

    def __init__(self, folder, name):
        self.folder = folder
        folder.mkdir()
        self.configuration = folder / "cnf"
        self.configuration.write_text(CONFIGURATION.format(folder=folder))
        (folder / "index").touch()
        for name_of_file in ("serial", "crlnumber"):
            (folder / name_of_file).write_text("1000\n")
        self.certificate = folder / "ca.pem"
        openssl("req", "-x509", "-config", self.configuration, "-extensions", "authority", "-newkey", "ec",
                "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", 30, "-subj", f"/CN={name}",
                "-keyout", folder / "ca.key", "-out", self.certificate)

    def issue(self, name, dates=()):
        """The paths of a certificate and its key."""
        certificate, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        openssl("req", "-config", self.configuration, "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}", "-keyout", key, "-out",
                self.folder / f"{name}.csr")
        openssl("ca", "-batch", "-notext", "-config", self.configuration, "-in", self.folder / f"{name}.csr",
                "-out", certificate, *(("-startdate", dates[0], "-enddate", dates[1]) if dates else ()))
        key.chmod(0o644)  # so that the server's user can read it
        return certificate, key

    def revoke(self, certificate):
        openssl("ca", "-config", self.configuration, "-revoke", certificate)

    def revocations(self):
        """The path of a list of revoked certificates."""
        path = self.folder / "crl.pem"
        openssl("ca", "-config", self.configuration, "-gencrl", "-out", path)
        return path


class Certificates:
    """A server's certificate, and clients' certificates: app, expired, revoked, stranger (of another authority)."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rs-tls-"))
        self.folder.chmod(0o755)
        self.authority = Authority(self.folder / "ours", "ours")
        self.server = self.authority.issue("server")
        self.client = {"app": self.authority.issue("app"),
                       "expired": self.authority.issue("expired", EXPIRED),
                       "revoked": self.authority.issue("revoked"),
                       "stranger": Authority(self.folder / "theirs", "theirs").issue("stranger")}
        self.authority.revoke(self.client["revoked"][0])
        self.revocations = self.authority.revocations()

    @classmethod
    @functools.cache
    def shared(cls):
        """The certificates of the whole run."""
        made = cls()
        atexit.register(made.remove)
        return made

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def options(self, authority=True, revocations=False):
        """A server's options."""
        certificate, key = self.server
        options = [f"--ssl-cert={certificate}", f"--ssl-key={key}"]
        if authority:
            options.append(f"--ssl-ca={self.authority.certificate}")
        if revocations:
            options.append(f"--ssl-crl={self.revocations}")
        return options

    def context(self, version=None, client=None):
        """A client's context, which checks the server's certificate, but not its name."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_verify_locations(self.authority.certificate)
        if version is not None:
            context.set_ciphers("ALL:@SECLEVEL=0")  # so that only the version can be a reason to refuse
            context.minimum_version = context.maximum_version = version
        if client is not None:
            context.load_cert_chain(*self.client[client])
        return context


class RecordClient:
    """A client whose records the test sees, and transports by itself."""

    def __init__(self, address, context, timeout_s=10.0):
        self.socket = socket.create_connection(address, timeout=timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received, self.to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.received, self.to_send)
        self.wire = b""  # the bytes that have come since the handshake
        self.plain = b""

    def close(self):
        self.socket.close()

    def handshake(self, transmit=None):
        """transmit(bytes) sends the records; by default at once."""
        transmit = transmit or self.socket.sendall
        while True:
            try:
                self.tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                transmit(self.to_send.read())
                data = self.socket.recv(1 << 16)
                assert data, "closed during the handshake"
                self.received.write(data)
        transmit(self.to_send.read())

    def encrypt(self, data):
        """The records with the encrypted data."""
        assert self.tls.write(data) == len(data)
        return self.to_send.read()

    def receive(self):
        """Waits for bytes; False at the end."""
        data = self.socket.recv(1 << 18)
        self.wire += data
        self.received.write(data)
        while True:
            try:
                plain = self.tls.read(1 << 18)
            except ssl.SSLWantReadError:
                return bool(data)
            if not plain:
                return False
            self.plain += plain

    def wait_for(self, data):
        """Receives until the plain bytes end with data."""
        deadline = time.monotonic() + 15
        while not self.plain.endswith(data):
            assert time.monotonic() < deadline and self.receive(), self.plain[-200:]

    def records(self):
        """The lengths of the complete records of application data that have come."""
        lengths, at = [], 0
        while at + 5 <= len(self.wire):
            length = int.from_bytes(self.wire[at + 3:at + 5], "big")
            if self.wire[at] == 0x17:
                lengths.append(length)
            at += 5 + length
        return lengths


# The table that the tests of TLS use.

def make_table(server):
    sql = server.sql()
    sql.run("CREATE DATABASE IF NOT EXISTS g")
    sql.run("DROP TABLE IF EXISTS g.t")
    sql.run("CREATE TABLE g.t (id INT PRIMARY KEY, v LONGTEXT)")
    sql.run("INSERT INTO g.t VALUES (1, 'one'), (2, 'two')")


def renew(sql):
    """Makes the server read its certificates again."""
    sql.run("ALTER INSTANCE RELOAD TLS" if is_mysql() else "FLUSH SSL")


def address(server, port="HS_PORT"):
    return ("127.0.0.1", int(server.env[port]))


def opened(client):
    assert client.open_index(0, "g", "t", "", "id,v") == hs.OK
    return client


def connect(server, certificates, port="HS_PORT", **kwargs):
    """A HandlerSocket client over TLS."""
    return server.connect(address(server, port), tls=certificates.context(**kwargs))
