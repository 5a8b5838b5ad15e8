"""rowsocket-doctor: each thing that keeps the ports from answering is found, with what mends it."""

import os
import subprocess

import pytest

from server import REPOSITORY

DOCTOR = REPOSITORY / "packaging/rowsocket-doctor"
ENABLE = REPOSITORY / "packaging/rowsocket-enable"


def doctor(*arguments):
    done = subprocess.run([DOCTOR, *map(str, arguments)], text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=60, check=False)
    assert done.stderr == "", done.stderr
    return done.returncode, done.stdout


@pytest.fixture
def root(tmp_path):
    """A machine with a server of version 10.11.18, its library, and option files as they are installed."""
    program = tmp_path / "usr/sbin/mariadbd"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho 'mariadbd  Ver 10.11.18-MariaDB-0+deb12u1 for debian-linux-gnu'\n")
    program.chmod(0o755)
    plugins = tmp_path / "usr/lib/mysql/plugin"
    plugins.mkdir(parents=True)
    (plugins / "rowsocket.so").touch()
    (plugins / "rowsocket.so.10.11.18").touch()
    folder = tmp_path / "etc/mysql/mariadb.conf.d"
    folder.mkdir(parents=True)
    (folder / "rowsocket.cnf").write_text((REPOSITORY / "packaging/rowsocket.cnf").read_text())
    enable(folder)
    return tmp_path


def enable(folder, *options):
    subprocess.run([ENABLE, *options], check=True, timeout=60,
                   env={**os.environ, "ROWSOCKET_CONFIG_DIR": str(folder)})


def load_file(root):
    return root / "etc/mysql/mariadb.conf.d/rowsocket-load.cnf"


# --- The option file that loads the library ---

def test_the_secrets_are_random_and_for_the_server_alone(root):
    text = load_file(root).read_text()
    secrets = [line.split(" = ")[1] for line in text.splitlines() if "secret" in line and "=" in line]
    assert len(set(secrets)) == 2 and all(len(secret) == 48 for secret in secrets)
    assert load_file(root).stat().st_mode & 0o777 == 0o600
    enable(load_file(root).parent)
    assert load_file(root).read_text() == text, "a second installation changes nothing"


def test_set_aside_and_put_back(root):
    text = load_file(root).read_text()
    enable(load_file(root).parent, "--off")
    assert not load_file(root).exists()
    assert "rowsocket-load.cnf is set aside" in doctor("--root", root)[1]
    enable(load_file(root).parent)
    assert load_file(root).read_text() == text


# --- A machine ---

def test_no_library_for_the_version(root):
    os.rename(root / "usr/lib/mysql/plugin/rowsocket.so.10.11.18",
              root / "usr/lib/mysql/plugin/rowsocket.so.10.11.17")
    code, said = doctor("--root", root)
    assert code == 1
    assert "the server is MariaDB 10.11.18, and the libraries are for 10.11.17" in said
    assert "apt-get install --allow-downgrades 'mariadb-server=1:10.11.17*'" in said


def test_no_library_and_no_server(root):
    (root / "usr/lib/mysql/plugin/rowsocket.so").unlink()
    assert "apt install ./mariadb-plugin-rowsocket_*.deb" in doctor("--root", root)[1]
    (root / "usr/sbin/mariadbd").unlink()
    assert "there is no MariaDB server" in doctor("--root", root)[1]


def test_what_fits_is_not_told(root):
    said = doctor("--root", root)[1]
    for word in ("libraries are for", "set aside", "secret", "AppArmor", "no option file"):
        assert word not in said.replace("refuses the secret", "").replace("plain_secret", ""), said


def test_option_files(root):
    load_file(root).chmod(0o644)
    assert "chmod 600" in doctor("--root", root)[1]
    load_file(root).write_text("[mariadbd]\nplugin-load-add = rowsocket.so\n")
    said = doctor("--root", root)[1]
    assert "handlersocket_plain_secret is not set: every local user may use handlersocket_port" in said
    assert "handlersocket_plain_secret_wr is not set" in said
    load_file(root).unlink()
    assert "no option file loads rowsocket.so" in doctor("--root", root)[1]


def test_an_apparmor_profile(root):
    profile = root / "etc/apparmor.d/usr.sbin.mariadbd"
    profile.parent.mkdir()
    profile.write_text("# empty, as Debian ships it\n")
    assert "AppArmor" not in doctor("--root", root)[1]
    profile.write_text("/usr/sbin/mariadbd {\n  /var/lib/mysql/** rwk,\n}\n")
    said = doctor("--root", root)[1]
    assert "does not allow /usr/lib/mysql/plugin/*.so*" in said and "apparmor_parser -r" in said


# --- Option files of the originals ---

def test_a_file_of_the_originals(tmp_path):
    file = tmp_path / "old.cnf"
    file.write_text("""[mysqld]
plugin-load = handlersocket.so
loose_handlersocket_address = 0.0.0.0
loose_handlersocket_port = 9998
loose_handlersocket_epoll = 1
daemon_memcached_w_batch_size = 100
daemon_memcached_option = "-p11222 -vv"
innodb_api_enable_binlog = 1
[client]
handlersocket_verbose = 1
""")
    code, said = doctor("--check", file)
    assert code == 1
    for wanted in ("loads the original plugin", "listens beyond loopback without a secret",
                   "handlersocket_epoll = 1 has no effect", "each reply waits for its commit",
                   "-v has no meaning here", "innodb_api_enable_binlog is no variable of MariaDB"):
        assert wanted in said
    assert "verbose" not in said


def test_a_file_that_means_the_same(tmp_path):
    file = tmp_path / "same.cnf"
    file.write_text("[mysqld]\nloose_handlersocket_port = 9998\nloose_handlersocket_port_wr = 9999\n")
    assert doctor("--check", file) == (0, "Nothing will differ.\n")
