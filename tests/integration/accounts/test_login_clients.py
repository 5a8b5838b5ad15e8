"""Clients and tests of other projects log in."""

import json
import os
import subprocess
import sys

import pytest

import logins
import mc_clients
import mc_suites
import third_party
from private_servers import create, remove
from server import wait_until

pytestmark = pytest.mark.ours


@pytest.fixture(scope="module")
def served(request):
    """A server on which the users of memcached's own test may use the default container."""
    server = create(request.config)
    server.start([*logins.OPTIONS, "--daemon-memcached-flush-all=ON"])
    sql = logins.prepare(server)
    for user, password in (("foo", "bar"), ("baaaz", "quux"), ("testuser@memcached.realm", "testpass")):
        sql.run(f"CREATE USER '{user}'@'127.%' IDENTIFIED BY '{password}'")
        sql.run(f"GRANT ALL ON *.* TO '{user}'@'127.%'")
    client = logins.connect_mc(server)
    assert logins.log_in_mc(client, "foo", "bar") == b"STORED"
    wait_until(lambda: client.set("ready", b"x") == b"STORED", what="the default container")
    yield server
    remove(server)


def run_script(server, name, folder, edits=(), environment=()):
    """The result of one of memcached's own tests. edits: (old, new) texts of the script."""
    path = mc_suites.script_path(name)
    text = path.read_text(encoding="utf-8")
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    copy = folder / path.name
    copy.write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["perl", f"-I{third_party.HERE}", f"-I{path.parent}/lib", "-MOutsideServer", str(copy)],
        stdin=subprocess.DEVNULL, text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        timeout=60, check=False,
        env={**os.environ, "MEMCACHED": f"127.0.0.1:{server.env['MEMCACHED_PORT']}", **dict(environment)})
    return mc_suites.Script(name, done.returncode, done.stdout)


def test_ascii_authentication_of_memcached(served, tmp_path):
    """memcached's own t/ascii-auth.t."""
    script = run_script(served, "ascii-auth", tmp_path)
    assert script.complete and not script.failed and script.passed == 9, script.printed


def test_sasl_of_memcached(served, tmp_path):
    """memcached's own t/binary-sasl.t. Its users come from saslpasswd2 there, and from SQL here; CRAM-MD5 would
    need passwords that the server does not know."""
    program = tmp_path / "saslpasswd2"
    program.write_text("#!/bin/sh\ncat >/dev/null\n")
    program.chmod(0o755)
    tried = served.sql().status("Daemon_memcached_auths_tried")
    failed = served.sql().status("Daemon_memcached_auths_failed")
    script = run_script(
        served, "binary-sasl", tmp_path, edits=[
            ("'CRAM-MD5 PLAIN'", "'PLAIN'"),
            ("is ($stats{'auth_cmds'}, 6,", f"is ($stats{{'auth_cmds'}} - {tried}, 6,"),
            ("is ($stats{'auth_errors'}, 4,", f"is ($stats{{'auth_errors'}} - {failed}, 4,")],
        environment={"RUN_SASL_TESTS": "1", "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert script.complete and not script.failed and script.passed == 34, script.printed


def binary_client(module, server, password):
    if module == "bmemcached":
        with third_party.making("python-memcached") as (folder, empty):
            if empty:
                third_party.fetch(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", empty,
                                  *mc_clients.PYTHON_PACKAGES)
        program, environment = sys.executable, {"PYTHONPATH": str(folder)}
    else:
        root = third_party.debian_packages("pylibmc", mc_clients.PYLIBMC_PACKAGES)
        program = "/usr/bin/python3"
        environment = {"PYTHONPATH": str(root / "usr/lib/python3/dist-packages"),
                       "LD_LIBRARY_PATH": third_party.libraries_of(root)}
    printed = third_party.run(program, third_party.HERE / "log_in_memcached.py", module,
                              server.env["MEMCACHED_PORT"], "foo", password,
                              env={**os.environ, **environment, "PYTHONDONTWRITEBYTECODE": "1"})
    return json.loads(printed.splitlines()[-1])


@pytest.mark.parametrize("module", ["bmemcached", "pylibmc"])
def test_binary_client_logs_in_by_sasl(served, module):
    assert binary_client(module, served, "bar") == [True, "stored", True]
    refused = binary_client(module, served, "wrong")
    assert "stored" not in refused and refused[0] is not True


def test_perl_client_sends_name_and_password(served, tmp_path):
    """Net::HandlerSocket's auth has a type of its own: an HT in the key makes two tokens of it."""
    environment = third_party.perl_client()
    program = tmp_path / "login.pl"
    program.write_text("""
        use strict; use warnings; use Net::HandlerSocket;
        for my $login (["app:right", "1"], ["app\\tright", "2"], ["app:wrong", "1"]) {
            my $client = new Net::HandlerSocket({ host => "127.0.0.1", port => $ARGV[0] });
            print $client->auth($login->[0], $login->[1]), " ",
                $client->open_index(0, "g", "t", "PRIMARY", "id,v"), "\\n";
        }
    """)
    printed = third_party.run("perl", program, served.env["HS_PORT"], env=environment)
    first, second, third = (line.split() for line in printed.splitlines())
    assert first == second == ["0", "0"] and third[0] != "0" and third[1] != "0"
