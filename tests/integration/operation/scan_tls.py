"""What sslyze, a scanner of TLS servers, says of each port, with each kind of certificate.

These tests are no part of the live tests, because sslyze comes from elsewhere and takes long: scripts/test tls-scan.
"""

import json
import os
import ssl
import subprocess

import pytest

from folders import let_servers_enter
from server import Server
from tls import TLS_ON, address, make_table, opened, openssl

VERSIONS = {"ssl_2_0": False, "ssl_3_0": False, "tls_1_0": False, "tls_1_1": False, "tls_1_2": True, "tls_1_3": True}
# Options of sslyze, and the names of their results.
CHECKS = {
    "sslv2": "ssl_2_0_cipher_suites", "sslv3": "ssl_3_0_cipher_suites", "tlsv1": "tls_1_0_cipher_suites",
    "tlsv1_1": "tls_1_1_cipher_suites", "tlsv1_2": "tls_1_2_cipher_suites", "tlsv1_3": "tls_1_3_cipher_suites",
    "compression": "tls_compression", "early_data": "tls_1_3_early_data", "fallback": "tls_fallback_scsv",
    "heartbleed": "heartbleed", "openssl_ccs": "openssl_ccs_injection", "reneg": "session_renegotiation",
    "resum": "session_resumption", "robot": "robot", "ems": "tls_extended_master_secret"}
ATTEMPTS = 5
# Without encryption, without a certificate, for export, or broken.
WEAK = ("_NULL_", "_anon_", "EXPORT", "_RC4_", "_DES_", "_DES40_", "_3DES_", "_RC2_", "_IDEA_", "_SEED_", "_MD5")


def certificate_options(request, kind, certificates):
    """The options of a server with a certificate of this kind."""
    if kind == "ecdsa":
        return certificates.options()
    folder = request.getfixturevalue("tmp_path_factory").mktemp("rsa")
    let_servers_enter(folder)
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", 30, "-subj", "/CN=server", "-keyout",
            folder / "key.pem", "-out", folder / "certificate.pem")
    (folder / "key.pem").chmod(0o644)
    return [f"--ssl-cert={folder}/certificate.pem", f"--ssl-key={folder}/key.pem"]


@pytest.fixture(scope="module", params=["ecdsa", "rsa"])
def scanned(request, certificates):
    options = certificate_options(request, request.param, certificates)
    server = Server(request.config.getoption("--plugin"), [*options, *TLS_ON]).start()
    make_table(server)
    yield server
    server.remove()


def completed(target, checks, report):
    """The results of the checks that came to an end."""
    subprocess.run([os.environ["ROWSOCKET_SSLYZE"], f"--json_out={report}", "--quiet", "--mozilla_config=disable",
                    *(f"--{check}" for check in checks), target], check=True, timeout=600)
    result, = json.loads(report.read_text())["server_scan_results"]
    assert result["connectivity_status"] == "COMPLETED", result
    results = {check: result["scan_result"][name] for check, name in CHECKS.items()}
    return {CHECKS[check]: each["result"] for check, each in results.items() if each["status"] == "COMPLETED"}


@pytest.fixture(scope="module", params=["HS_PORT", "HS_PORT_WR", "MEMCACHED_PORT"])
def found(request, scanned, tmp_path_factory):
    """The results of the checks, by their names. sslyze gives a check up when the server closes a connection at
    a moment that it does not expect, so that such a check is made again. Its check of early data sends HTTP, and
    may come to no end on memcached's port."""
    host, port = address(scanned, request.param)
    report = tmp_path_factory.mktemp("scan") / "report.json"
    results = {}
    for _ in range(ATTEMPTS):
        missing = [check for check, name in CHECKS.items() if name not in results]
        if missing:
            results |= completed(f"{host}:{port}", missing, report)
    open_ends = {"tls_1_3_early_data"} if request.param == "MEMCACHED_PORT" else set()
    assert set(CHECKS.values()) - set(results) <= open_ends
    return results


def accepted(found, version):
    return [each["cipher_suite"]["name"] for each in found[f"{version}_cipher_suites"]["accepted_cipher_suites"]]


def test_versions_and_ciphers(found):
    assert {version: bool(accepted(found, version)) for version in VERSIONS} == VERSIONS
    weak = [name for version in VERSIONS for name in accepted(found, version) if any(word in name for word in WEAK)]
    assert weak == []


def test_no_known_hole(found):
    renegotiation = found["session_renegotiation"]
    assert renegotiation["client_renegotiations_success_count"] == 0
    assert not renegotiation["is_vulnerable_to_client_renegotiation_dos"]
    assert renegotiation["supports_secure_renegotiation"]
    assert not found["tls_compression"]["supports_compression"]
    assert not found.get("tls_1_3_early_data", {}).get("supports_early_data")
    assert not found["heartbleed"]["is_vulnerable_to_heartbleed"]
    assert not found["openssl_ccs_injection"]["is_vulnerable_to_ccs_injection"]
    assert found["robot"]["robot_result"].startswith("NOT_VULNERABLE")


def test_what_protects_is_there(found):
    assert found["tls_fallback_scsv"]["supports_fallback_scsv"]
    assert found["tls_extended_master_secret"]["supports_ems_extension"]
    resumption = found["session_resumption"]
    assert resumption["session_id_successful_resumptions_count"] == resumption["session_id_attempted_resumptions_count"]


def test_the_port_serves_after_the_scan(found, scanned):
    assert found
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    for tls in (None, context):
        client = opened(scanned.connect(address(scanned), tls=tls))
        assert client.find(0, "=", [1]).code == 0
        client.close()
