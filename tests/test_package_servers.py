"""scripts/package: the server that a package is for, and what is obtained for it."""

import os
import shutil
import subprocess

import pytest

from server import REPOSITORY
from test_scripts import LIB, TIMEOUT_S, bash

pytestmark = pytest.mark.once("starts no server")


@pytest.mark.parametrize("installed,offered,name", [
    ("", "1:10.11.18-0+deb12u1", "mariadb-10.11"), ("", "1:11.8.6-0+deb13u1", "mariadb-11.8"), ("", "(none)", "mariadb-10.11"),
    ("mariadb 1:11.8.6-0+deb13u1", "1:10.11.18-0+deb12u1", "mariadb-11.8"), ("mysql 9.7.4-2", "1:11.8.6-1", "mysql-9.7"),
    ("mariadb 1:10.5.29-0+deb11u1", "1:10.11.18-0+deb12u1", "mariadb-10.11")])
def test_a_package_is_for_the_server_of_the_machine(tmp_path, installed, offered, name):
    """Of two pins only the administrator's is shown to apt."""
    for file in ("rowsocket.pref", "mine.pref"):
        (tmp_path / file).touch()
    code, said = bash(LIB + f"""
        . "{REPOSITORY}/scripts/lib/package_versions.sh"
        dpkg-query() {{ [[ -n "$1" && "$INSTALLED" == "${{4%%-*}} "* ]] && echo "installed ${{INSTALLED#* }}"; }}
        apt-cache() {{ [[ $(ls "${{2#*=}}") == mine.pref ]] && echo "  Candidate: $OFFERED"; }}
        use_server "$(server_here)"
        echo "$server_name"
        version_for now
    """, INSTALLED=installed, OFFERED=offered, ROWSOCKET_APT_PREFERENCES=str(tmp_path))
    assert code == 0 and said == f"{name}\n{installed.partition(' ')[2] or offered}\n", said


@pytest.mark.parametrize("installed,offered,options,asked", [
    ("1:10.11.18-1", "1:10.11.19-1", ["--server", "mariadb-11.8", "--for", "next"], "--server mariadb-11.8 --update library"),
    ("1:10.11.18-1", "1:10.11.19-1", ["--server", "mariadb-11.8", "--for", "now"], "--server mariadb-11.8 library"),
    ("", "(none)", ["--server", "mariadb-11.8", "--for", "next"], "--server mariadb-11.8 --update library"),
    ("1:10.11.18-1", "1:10.11.19-1", ["--server", "mariadb-11.8", "--for", "11.8.7"],
     "--server mariadb-11.8 --version 11.8.7 library"),
    ("1:10.11.18-1", "1:10.11.19-1", ["--server", "mariadb-10.11", "--for", "next"],
     "--server mariadb-10.11 --version 1:10.11.19-1 library"),
    ("1:11.8.6-1", "1:11.8.7-1", ["--for", "next"], "--server mariadb-11.8 --version 1:11.8.7-1 library"),
    ("1:10.11.18-1", "1:10.11.19-1", [], "--server mariadb-10.11 --version 1:10.11.18-1 library"),
    ("", "(none)", ["--for", "next"], None)])
def test_a_package_asks_for_a_version_of_its_own_server(tmp_path, installed, offered, options, asked):
    """This machine's apt may have another line of it. Ends where the server would be obtained."""
    shutil.copytree(REPOSITORY / "scripts", tmp_path / "scripts")
    programs = {"scripts/bootstrap": 'echo "bootstrap $*"',
                "bin/dpkg-query": f'[ "$4" != mariadb-server-core ] || [ -z "{installed}" ] || echo "installed {installed}"',
                "bin/apt-cache": f'[ "$1" = madison ] || echo "  Candidate: {offered}"'}
    for path, text in programs.items():
        file = tmp_path / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
    code, said = bash('exec "$@"', tmp_path / "scripts/package", *options, ROWSOCKET_CACHE=str(tmp_path / "cache"),
                      ROWSOCKET_SERVER="", PATH=f"{tmp_path}/bin:{os.environ['PATH']}")
    calls = [line.removeprefix("bootstrap ") for line in said.splitlines() if line.startswith("bootstrap ")]
    assert code == 1 and calls == ["load package", asked][:2 if asked else 1], said
    assert asked or "apt offers no mariadb-server-core here" in said, said


@pytest.mark.parametrize("servers", [["mysql-9.7"], ["mariadb-10.11", "mariadb-11.8"]])
def test_a_package_obtains_the_servers_that_it_is_for_alone(tmp_path, servers):
    """Where bootstrap installs nothing, and obtains a server in name only. The checkout is no git checkout, which ends the rest."""
    shutil.copytree(REPOSITORY / "scripts", tmp_path / "scripts")
    with open(tmp_path / "scripts/lib/cache_view.sh", "a", encoding="ascii") as last_part:
        last_part.write("""
            install_missing_packages() { for work; do packages_for "$work"; done | tr ' ' '\\n' | sed 's/^/package /'; }
            make_server_cache() {
              echo "server $server_name"
              mkdir -p "$cache_dir/server-$server_name-1"
              echo 'ROWSOCKET_SERVER_VERSION=1 ROWSOCKET_SERVER_PACKAGE=1 ROWSOCKET_SERVER_PREFIX=/' >"$cache_dir/server-$server_name-1/env"
              ln -s "server-$server_name-1" "$cache_dir/$server_name"
            }
            require_installed_server() { :; }
        """)
    options = [word for each in servers for word in ("--server", each)]
    code, said = bash('exec "$@"', tmp_path / "scripts/package", *options, ROWSOCKET_CACHE=str(tmp_path / "cache"),
                      ROWSOCKET_SERVER="")
    assert code == 1 and "built from a git checkout" in said, said
    assert [line for line in said.splitlines() if line.startswith("server ")] == [f"server {each}" for each in servers]
    # The compiler's come before any server, which --server-cache may name by its folder.
    first = said.partition("server ")[0]
    wanted = ("build-essential", "debhelper", "g++", "libssl-dev", "nlohmann-json3-dev")
    assert {f"package {each}" for each in wanted} <= set(first.splitlines()), said


@pytest.fixture
def checkout(tmp_path):
    """A commit of its own with a machine of sixteen processors and 1500 MB, where bootstrap has obtained every server and
    dpkg-buildpackage only notes its folder and the number of its compilers."""
    folder = tmp_path / "checkout"
    for name in ("scripts", "packaging/debian"):
        shutil.copytree(REPOSITORY / name, folder / name)
    (folder / "src/model").mkdir(parents=True)
    shutil.copy(REPOSITORY / "src/model/version.h", folder / "src/model")
    (folder / ".gitignore").write_text("dist/\n")
    with open(folder / "scripts/lib/build_jobs.sh", "a", encoding="ascii") as last_part:
        last_part.write("nproc() { echo 16; }\nmemory_mb() { echo 1500; }\n")
    (folder / "scripts/bootstrap").write_text("#!/bin/sh\n")
    for name, cache, version in (("mariadb-10.11", "server-10.11.18-1", "10.11.18"), ("mysql-9.7", "server-mysql-9.7.4-1", "9.7.4")):
        (tmp_path / "cache" / cache).mkdir(parents=True)
        (tmp_path / "cache" / cache / "env").write_text(f"ROWSOCKET_SERVER_VERSION={version}\n")
        (tmp_path / "cache" / name).symlink_to(cache)
    program = tmp_path / "bin/dpkg-buildpackage"
    program.parent.mkdir()
    program.write_text(f"""#!/bin/bash
        echo "$PWD $CMAKE_BUILD_PARALLEL_LEVEL" >"{tmp_path}/built"
        touch "../$ROWSOCKET_SERVER_FAMILY-plugin-rowsocket_$$.deb"
        [[ $ROWSOCKET_SERVER_FAMILY == mysql ]] || touch "../rowsocket-load_$$.deb"
    """)
    program.chmod(0o755)
    for words in (["init", "-q"], ["add", "."],
                  ["-c", "user.name=nobody", "-c", "user.email=nobody@localhost", "commit", "-qm", "one"]):
        subprocess.run(["git", *words], cwd=folder, check=True, timeout=TIMEOUT_S)
    return folder


def build_package(checkout, server):
    code, said = bash('unset TMPDIR CMAKE_BUILD_PARALLEL_LEVEL; exec "$@"', checkout / "scripts/package", "--server", server,
                      ROWSOCKET_CACHE=str(checkout.parent / "cache"), ROWSOCKET_SERVER="",
                      PATH=f"{checkout.parent}/bin:{os.environ['PATH']}")
    assert code == 0, said
    return said


def test_a_package_is_built_where_there_is_room_for_it(checkout):
    build_package(checkout, "mysql-9.7")
    folder, jobs = (checkout.parent / "built").read_text().split()
    assert folder.startswith("/var/tmp/rowsocket-package-") and jobs == "2"


@pytest.mark.parametrize("jobs, ninja", [("2", "ninja -j 2 -C build-"), ("", "ninja -C build-")])
def test_as_many_compilers_as_there_is_memory_for(tmp_path, jobs, ninja):
    (tmp_path / "env").write_text("ROWSOCKET_SERVER_VERSION=10.11.18\n")
    code, said = bash('exec "$@"', "make", "-n", "-f", REPOSITORY / "packaging/debian/rules", "override_dh_auto_build",
                      ROWSOCKET_SERVER_FAMILY="mariadb", ROWSOCKET_SERVER_ENVS=str(tmp_path / "env"),
                      CMAKE_BUILD_PARALLEL_LEVEL=jobs)
    assert code == 0 and " ".join(said.split()).count(ninja) == 2, said


def test_a_package_takes_the_place_of_those_of_its_family_alone(checkout):
    def made():
        return sorted(file.name for file in (checkout / "dist").glob("*.deb"))
    build_package(checkout, "mariadb-10.11")
    first = made()
    said = build_package(checkout, "mysql-9.7")
    both = made()
    assert len(first) == 2 and len(both) == 3 and set(first) < set(both), f"{first} {both}"
    assert [name for name in both if name in said] == sorted(set(both) - set(first)), said
    build_package(checkout, "mariadb-10.11")
    last = made()
    assert len(last) == 3 and set(last) & set(both) == set(both) - set(first), last
