"""cmake --install of the library for a server, on its machine and for another one."""

import os
import subprocess

import pytest

from server import REPOSITORY, build_dir, is_mysql, server_env

pytestmark = pytest.mark.again_in("mysql-9.7")

TIMEOUT_S = 300
FAMILY, PROGRAM, FOLDER = ("mysql", "mysqld", "mysql.conf.d") if is_mysql() else \
    ("mariadb", "mariadbd", "mariadb.conf.d")
OTHER_VERSION = {"mariadb": "1:10.11.99-1", "mysql": "9.7.99-1"}
DPKG_QUERY = """#!/bin/bash
case "$*" in
  *mariadb-server-core) echo "install ok installed {mariadb}" ;;
  *mysql-server-core) echo "install ok installed {mysql}" ;;
  *source:Package*) ;;
  *) exec /usr/bin/dpkg-query "$@" ;;
esac
"""


def run(*command, **env):
    done = subprocess.run([str(part) for part in command], cwd=REPOSITORY, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_S, check=False,
                          env={**os.environ, **env})
    return done.returncode, done.stdout


def install(folder):
    code, said = run("cmake", "--install", build_dir("release"), DESTDIR=str(folder))
    assert code == 0, said


@pytest.fixture
def staged(tmp_path):
    install(tmp_path)
    return tmp_path


@pytest.mark.ours
def test_what_is_installed_is_right_for_the_server(staged):
    """rowsocket-doctor finds nothing wrong on a machine with the server and what was installed."""
    program = staged / "usr/sbin" / PROGRAM
    program.parent.mkdir(parents=True)
    title = f"{server_env()['ROWSOCKET_SERVER_VERSION']}" + ("" if is_mysql() else "-MariaDB")
    program.write_text(f"#!/bin/sh\necho '{PROGRAM}  Ver {title} for Linux'\n")
    program.chmod(0o755)
    main = staged / "etc/mysql/my.cnf"
    main.write_text(f"!includedir /etc/mysql/{FOLDER}/\n")
    code, said = run(staged / "usr/share/rowsocket/rowsocket-enable",
                     ROWSOCKET_CONFIG_DIR=str(staged / "etc/mysql" / FOLDER))
    assert (code, said) == (0, "")
    load = staged / "etc/mysql" / FOLDER / "rowsocket-load.cnf"
    if os.geteuid() == 0:
        os.chown(load, 1, 0)
    assert f"[{PROGRAM}]" in load.read_text()
    assert run("packaging/rowsocket-doctor", "--root", staged) == (0, "Nothing was found to be wrong.\n")
    assert {path.name for path in (staged / "usr/share/rowsocket").iterdir()} == \
        {"innodb_memcache.sql", "rowsocket_store.sql", "rowsocket_tokens.sql", "rowsocket-enable"}


@pytest.mark.ours
def test_the_operators_settings_stay(staged):
    file = staged / "etc/mysql" / FOLDER / "rowsocket.cnf"
    shipped = file.read_text()
    assert f"\n[{PROGRAM}]\n" in shipped
    file.write_text("# the operator's own\n")
    install(staged)
    assert file.read_text() == "# the operator's own\n"
    assert file.with_name("rowsocket.cnf.new").read_text() == shipped


@pytest.mark.parametrize("family,version", [("mariadb", "10.11.18"), ("mysql", "9.7.4")])
def test_a_library_that_the_server_refuses_is_not_installed(tmp_path, family, version):
    """The installed server of the library's own family counts."""
    program = tmp_path / "bin/dpkg-query"
    program.parent.mkdir()
    program.write_text(DPKG_QUERY.format(**OTHER_VERSION))
    program.chmod(0o755)
    env = {"PATH": f"{program.parent}:{os.environ['PATH']}", "ROWSOCKET_ANOTHER_SERVER": "", "ROWSOCKET_SERVER": ""}
    title = {"mariadb": "MariaDB", "mysql": "MySQL"}[family]
    other = OTHER_VERSION[family].split(":")[-1].split("-")[0]
    code, said = run("scripts/lib/check_installed_server", family, version, **env)
    assert code == 1, said
    assert f"would be for {title} {version}, but this machine's server is {other}" in said
    assert f"apt install ./{family}-plugin-rowsocket_*.deb" in said
    assert run("scripts/lib/check_installed_server", family, other, **env) == (0, "")
