"""What a scanner looks for: the ciphers that the ports take, one by one, as ssl_cipher of the server says."""

import ssl
import subprocess

import pytest

from hs import Closed
from tls import TLS_ON, address

pytestmark = pytest.mark.ours
OPTIONS = []
# Without encryption, without a certificate, for export, or broken.
WEAK = ("NULL", "ADH", "AECDH", "EXP", "RC4", "DES", "MD5", "IDEA", "SEED")


def ciphers(text):
    """The names of the ciphers of TLS 1.2 that this machine's OpenSSL knows."""
    done = subprocess.run(["openssl", "ciphers", "-tls1_2", text], capture_output=True, text=True, check=True,
                          timeout=60)
    return [name for name in done.stdout.strip().split(":") if not name.startswith("TLS_")]


def taken(server, certificates, port, names):
    """Those of the ciphers with which a client is let in."""
    found = []
    for name in names:
        context = certificates.context(ssl.TLSVersion.TLSv1_2)
        context.set_ciphers(f"{name}:@SECLEVEL=0")
        try:
            client = server.connect(address(server, port), tls=context)
            assert client.sock.cipher()[0] == name
            found.append(name)
            client.close()
        except (ssl.SSLError, ConnectionError, Closed):
            pass
    return found


def test_no_weak_cipher_is_taken(both, certificates):
    names = ciphers("ALL:COMPLEMENTOFALL:@SECLEVEL=0")
    weak = [name for name in names if any(word in name for word in WEAK)]
    assert len(weak) > 10
    assert taken(both, certificates, "HS_PORT", weak) == []
    strong = [name for name in names if name.startswith("ECDHE-ECDSA-AES") and "GCM" in name]
    assert strong
    assert taken(both, certificates, "HS_PORT", strong) == strong


def test_the_ciphers_are_those_of_the_server(make_server, certificates):
    name = "ECDHE-ECDSA-AES256-GCM-SHA384"
    server = make_server(options=[*certificates.options(), *TLS_ON, f"--ssl-cipher={name}"])
    others = [each for each in ciphers("ALL") if each.startswith("ECDHE-ECDSA") and each != name]
    for port in ("HS_PORT", "HS_PORT_WR"):
        assert taken(server, certificates, port, [name, *others]) == [name]
