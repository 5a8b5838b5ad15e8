"""A library for another version than this machine's server: every program that would make one says so."""

import os
import pathlib
import subprocess

import pytest

from server import REPOSITORY, cache_dir, server_env, server_name

pytestmark = pytest.mark.once("these machines have Debian 12's packages; a machine of Debian 13 is in"
                             " scripts/test --server mariadb-11.8 package")

TIMEOUT_S = 300
FIRST_WAY_OUT = "apt install ./mariadb-plugin-rowsocket_*.deb"

DPKG_QUERY = """#!/bin/bash
case "$*" in
  *mariadb-server-core) [[ -z "{version}" ]] || echo "install ok installed {version}" ;;
  *source:Package*)
    printf 'mariadb {version} install ok installed %s\\n' mariadb-server mariadb-server-core
    echo "mariadb 1:1.2.3-4 install ok installed libmariadb-of-old"
    echo "bash 5.2 install ok installed bash"
    ;;
  *) exec /usr/bin/dpkg-query "$@" ;;
esac
"""
APT_GET = """#!/bin/bash
case "$*" in
  *" source "*mariadb=1:10.11.18*) touch mariadb_10.11.18.orig.tar.gz ;;
  *" source "*) echo "E: 404 Not Found"; exit 100 ;;
esac
"""
APT_CACHE = """#!/bin/bash
printf ' mariadb-server | %s | somewhere\\n' 1:10.11.19-0+deb12u1 1:10.11.18-0+deb12u1
"""


@pytest.fixture
def machine(tmp_path):
    """A PATH whose package tools report a machine with the given server; downloads fail."""
    def with_server(version):
        for name, text in (("dpkg-query", DPKG_QUERY.replace("{version}", version)),
                           ("apt-get", APT_GET), ("apt-cache", APT_CACHE)):
            program = tmp_path / "bin" / name
            program.parent.mkdir(exist_ok=True)
            program.write_text(text)
            program.chmod(0o755)
        return {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    return with_server


@pytest.fixture
def own_cache(tmp_path):
    """A cache folder with the server that bootstrap made."""
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / server_name()).symlink_to((cache_dir() / server_name()).resolve())
    return cache


def run(env, *command, **more):
    done = subprocess.run([str(part) for part in command], cwd=REPOSITORY, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=TIMEOUT_S, check=False,
                          env={**env, "ROWSOCKET_ANOTHER_SERVER": "", **more})
    return done.returncode, done.stdout


def other_version():
    version = server_env()["ROWSOCKET_SERVER_VERSION"]
    head, patch = version.rsplit(".", 1)
    return f"{head}.{int(patch) + 1}"


@pytest.mark.parametrize("version", ["", "this"])
def test_bootstrap_is_silent_where_the_library_fits(machine, version, own_cache):
    version = server_env()["ROWSOCKET_SERVER_PACKAGE"] if version else ""
    code, said = run(machine(version), "scripts/bootstrap", ROWSOCKET_CACHE=str(own_cache))
    assert (code, said) == (0, "")


def test_bootstrap_stops_where_the_source_of_the_server_cannot_be_had(machine, tmp_path):
    env = machine("1:10.11.19-0+deb12u1")
    cache = tmp_path / "empty"
    code, said = run(env, "scripts/bootstrap", ROWSOCKET_CACHE=str(cache))
    assert code == 1, said
    assert "would be for MariaDB 10.11.18, but this machine's server is 10.11.19" in said
    assert FIRST_WAY_OUT in said
    assert "scripts/bootstrap --source PATH" in said
    assert ("apt-get install --allow-downgrades mariadb-server=1:10.11.18-0+deb12u1 "
            "mariadb-server-core=1:10.11.18-0+deb12u1\n") in said
    assert "apt-mark hold mariadb-server mariadb-server-core\n" in said
    assert "--another-server" in said
    assert not (cache / server_name()).exists(), "minutes were spent on headers that nobody can use"


@pytest.mark.parametrize("has_cache", [False, True])
def test_a_server_of_another_line_is_named(machine, tmp_path, own_cache, has_cache):
    """Debian 13's server: it has a library of its own, and its data is of no use to an earlier line."""
    cache = own_cache if has_cache else tmp_path / "empty"
    code, said = run(machine("1:11.8.6-0+deb13u1"), "scripts/bootstrap", ROWSOCKET_CACHE=str(cache))
    assert code == 1, said
    assert "would be for MariaDB 10.11" in said and "but this machine's server is 11.8.6" in said
    assert FIRST_WAY_OUT in said and "scripts/build --server mariadb-11.8\n" in said
    assert "--allow-downgrades" not in said and "--source" not in said and "downloading" not in said


@pytest.mark.parametrize("command", [["scripts/bootstrap"], ["scripts/bootstrap", "--update"],
                                     ["scripts/build"]])
def test_a_cache_for_another_server_is_not_used(machine, own_cache, command):
    """The cache is that of a machine after an upgrade of its server, whose source is not available."""
    package = f"1:{other_version()}-0+deb12u1"
    code, said = run(machine(package), *command, ROWSOCKET_CACHE=str(own_cache))
    assert code == 1, said
    assert f"but this machine's server is {other_version()}" in said and FIRST_WAY_OUT in said


def test_bootstrap_goes_on_when_told_to(machine, own_cache):
    env = machine(f"1:{other_version()}-0+deb12u1")
    for command, more in ((["scripts/bootstrap", "--another-server"], {}),
                          (["scripts/bootstrap"], {"ROWSOCKET_ANOTHER_SERVER": "1"})):
        code, said = run(env, *command, ROWSOCKET_CACHE=str(own_cache), **more)
        assert code == 0, said
        assert "which will refuse it" in said


def test_another_library_is_not_installed(machine, tmp_path):
    code, said = run(machine(f"1:{other_version()}-0+deb12u1"), "cmake", "--install", "build")
    assert code != 0, said
    assert FIRST_WAY_OUT in said and "rowsocket.so was not installed" in said


@pytest.fixture
def staged(tmp_path):
    folder = tmp_path / "staged"
    code, said = run(os.environ, "cmake", "--install", "build", DESTDIR=str(folder))
    assert code == 0, said
    return folder


@pytest.mark.ours
def test_the_installed_library_has_no_debug_symbols(staged):
    (library,) = staged.rglob("rowsocket.so")
    sections = subprocess.run(["readelf", "-SW", library], text=True, capture_output=True,
                              check=True).stdout
    assert ".text" in sections and ".debug_info" not in sections and ".symtab" not in sections
    assert library.stat().st_size < 4 << 20


# --- Source that the caller provides ---

def test_a_folder_without_a_server_source_is_refused(machine, tmp_path):
    folder = tmp_path / "source"
    folder.mkdir()
    env = machine("")
    code, said = run(env, "scripts/bootstrap", "--source", folder,
                     ROWSOCKET_CACHE=str(tmp_path / "empty"))
    assert code == 1 and "is not the source of a MariaDB server" in said
    code, said = run(env, "scripts/bootstrap", "--source", tmp_path / "missing",
                     ROWSOCKET_CACHE=str(tmp_path / "empty"))
    assert code == 1 and "--source: there is no" in said


def a_source(folder: pathlib.Path, version):
    (folder / "sql").mkdir(parents=True)
    (folder / "sql/handler.h").touch()
    numbers = zip(("MAJOR", "MINOR", "PATCH"), version.split("."))
    lines = [f"MYSQL_VERSION_{name}={number}\n" for name, number in numbers]
    (folder / "VERSION").write_text("".join(lines) + "SERVER_MATURITY=stable\n")
    return folder


@pytest.mark.parametrize("archive", [False, True])
def test_a_given_source_is_held_against_the_server(machine, tmp_path, archive):
    source = a_source(tmp_path / "mariadb", "10.11.17")
    if archive:
        subprocess.run(["tar", "-C", tmp_path, "-czf", tmp_path / "source.tar.gz", "mariadb"],
                       check=True)
        source = tmp_path / "source.tar.gz"
    code, said = run(machine("1:10.11.19-0+deb12u1"), "scripts/bootstrap", "--source", source,
                     ROWSOCKET_CACHE=str(tmp_path / "empty"))
    assert code == 1, said
    assert "would be for MariaDB 10.11.17, but this machine's server is 10.11.19" in said


def test_a_given_source_of_another_line_is_refused(machine, tmp_path):
    """Its cache would be used under the name of the wrong server."""
    code, said = run(machine("1:11.8.6-0+deb13u1"), "scripts/bootstrap", "--source", a_source(tmp_path / "mariadb", "11.8.6"),
                     ROWSOCKET_CACHE=str(tmp_path / "empty"), ROWSOCKET_ANOTHER_SERVER="1")
    assert code == 1 and "11.8.6 is no version of mariadb-10.11: --server names one of" in said, said


def test_a_given_source_of_the_installed_version_has_its_package_version(machine, tmp_path):
    source = a_source(tmp_path / "mariadb", "10.11.19")
    text = f"""
        . "{REPOSITORY}/scripts/lib.sh"
        . "{REPOSITORY}/scripts/lib/installed_server.sh"
        . "{REPOSITORY}/scripts/lib/server_cache.sh"
        apt_dir={tmp_path}/apt source={source}
        take_given_source && echo "$package_version"
    """
    code, said = run(machine("1:10.11.19-0+deb12u1"), "bash", "-c", text)
    assert (code, said) == (0, "1:10.11.19-0+deb12u1\n")
