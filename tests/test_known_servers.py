"""Where bootstrap finds the files of a server: Debian's lists, the pool, a folder, or ways out."""

import hashlib
import os
import subprocess

import pytest

from server import REPOSITORY, SERVERS

pytestmark = pytest.mark.once("starts no server")

TIMEOUT_S = 120
HEADERS = ("mysql-source", "libmysqlclient-dev")
# What bootstrap sources and sets, with a private apt of its own: $1/lists has lines of a package and its version,
# $1/pool the files of the pool.
TEXT = """
set -euo pipefail
. "{repo}/scripts/lib.sh"
for part in installed_server known_servers private_apt server_cache mysql_cache; do . "{repo}/scripts/lib/$part.sh"; done
test_dir={folder} update='' source='' wanted_version=''
known_servers=$test_dir/known.tsv
apt_dir=$test_dir/apt
mkdir -p "$apt_dir/debs" "$apt_dir/source"
installed_server_package() {{ cat "$test_dir/installed" 2>/dev/null || true; }}
installed_server_version() {{ installed_server_package | sed 's/-.*//; s/.*://'; }}
private_apt() {{
  case "$1 $2" in
    "apt-get indextargets") echo "copy:$test_dir/pool/" ;;
    "apt-cache madison") awk -v name="$3" '$1 == name {{ print $1 " | " $2 " | somewhere" }}' "$test_dir/lists" ;;
    "apt-get download")
      for file in "${{@:3}}"; do
        grep -qx "${{file%%[=/]*}} .*" "$test_dir/lists" && echo lists >"${{file%%[=/]*}}_listed.deb" || return 100
      done ;;
    *) return 100 ;;
  esac
}}
"""


class Debian:
    """Lists and a pool, of which bootstrap's functions are told."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "pool").mkdir()
        (folder / "lists").touch()
        (folder / "known.tsv").touch()

    def list(self, *packages):
        (self.folder / "lists").write_text("".join(f"{package}\n" for package in packages))

    def know(self, server, version, kind, name, content="pool\n", kept=True):
        """A file of the tested version; the pool has it, unless it was dropped."""
        file = f"{name}_{version.split(':')[-1]}_amd64.deb"
        digest = hashlib.sha256(content.encode()).hexdigest()
        with open(self.folder / "known.tsv", "a", encoding="ascii") as known:
            known.write("\t".join((server, version, kind, digest, f"main/{file}")) + "\n")
        if kept:
            path = self.folder / "pool/main" / file
            path.parent.mkdir(exist_ok=True)
            path.write_text("pool\n")

    def run(self, text, server="mysql-9.7"):
        done = subprocess.run(["bash", "-c", TEXT.format(repo=REPOSITORY, folder=self.folder) + text], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=TIMEOUT_S, check=False, cwd=self.folder,
                              env={**os.environ, "ROWSOCKET_SERVER": server, "ROWSOCKET_ANOTHER_SERVER": "",
                                   "ROWSOCKET_CACHE": str(self.folder / "cache")})
        return done.returncode, done.stdout

    def debs(self):
        """The files that were downloaded, and where each is from."""
        return {path.name.split("_")[0]: path.read_text().strip() for path in (self.folder / "apt/debs").glob("*.deb")}


@pytest.fixture
def debian(tmp_path):
    return Debian(tmp_path)


def package_file(folder, name, version):
    """A Debian package without files."""
    control = folder / name / "DEBIAN/control"
    control.parent.mkdir(parents=True)
    control.write_text(f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: nobody <nobody@localhost>\n"
                       "Description: a test\n")
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", folder / name, folder / f"{name}_{version}_all.deb"],
                   check=True, stdout=subprocess.DEVNULL, timeout=TIMEOUT_S)


# What known_servers.tsv has of a server, by its family.
KINDS = {"mariadb": {"source", "headers", "binary", "backup", "companion"},
         "mysql": {"source", "binary", "library", "machine"}}
PICK = 'pick_mysql_version; echo "picked $package_version"'


def test_each_server_has_the_files_of_its_tested_version():
    """A private server and a machine of scripts/test package can be made of them."""
    lines = (REPOSITORY / "scripts/lib/known_servers.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    assert {row[0] for row in rows} == set(SERVERS)
    for server in SERVERS:
        assert {row[2] for row in rows if row[0] == server} == KINDS[server.partition("-")[0]], server
        assert len({row[1] for row in rows if row[0] == server}) == 1, f"one version of {server} was tested"
    done = subprocess.run(["bash", "-c", f'. "{REPOSITORY}/scripts/lib/mysql_cache.sh"; '
                           'echo "${mysql_headers[@]}" "${mysql_binaries[@]}" "${mysql_libraries[@]}"'],
                          text=True, capture_output=True, check=True, timeout=TIMEOUT_S)
    for server in SERVERS:
        names = {row[4].split("/")[-1].split("_")[0] for row in rows if row[0] == server}
        if server.startswith("mysql"):
            assert set(done.stdout.split()) | {"mysql-server", "mysql-client"} == names, server


def test_the_lists_have_the_tested_version(debian):
    for name in HEADERS:
        debian.know("mysql-9.7", "9.7.4-2", "source", name, kept=False)
    debian.list(*(f"{name} 9.7.4-2" for name in HEADERS))
    code, said = debian.run(PICK)
    assert code == 0 and said.endswith("picked 9.7.4-2\n") and "tested" not in said, said
    assert debian.debs() == dict.fromkeys(HEADERS, "lists")


def test_the_pool_has_the_tested_version_when_the_lists_have_moved_on(debian):
    for name in HEADERS:
        debian.know("mysql-9.7", "9.7.4-2", "source", name)
    debian.list(*(f"{name} 9.7.5-1" for name in HEADERS))
    code, said = debian.run(PICK)
    assert code == 0 and said.endswith("picked 9.7.4-2\n"), said
    assert debian.debs() == dict.fromkeys(HEADERS, "pool")
    code, said = debian.run("update=1; " + PICK)
    assert code == 0 and said.endswith("picked 9.7.5-1\n"), said
    assert "the library was tested with MySQL 9.7.4-2; this one will be for 9.7.5-1" in said
    assert debian.debs() == dict.fromkeys(HEADERS, "lists")


def test_a_newer_version_when_the_pool_has_dropped_the_tested_one(debian):
    for name in HEADERS:
        debian.know("mysql-9.7", "9.7.4-2", "source", name, kept=False)
    debian.list(*(f"{name} 9.7.5-1" for name in HEADERS))
    code, said = debian.run(PICK)
    assert code == 0 and said.endswith("picked 9.7.5-1\n"), said
    assert "MySQL 9.7.4-2 cannot be downloaded" in said
    assert "the library was tested with MySQL 9.7.4-2; this one will be for 9.7.5-1" in said


def test_a_file_with_another_checksum_is_not_taken(debian):
    for name in HEADERS:
        debian.know("mysql-9.7", "9.7.4-2", "source", name, content="what was tested\n")
    code, said = debian.run(PICK)
    assert code == 1 and "cannot be downloaded" in said, said


def test_ways_out_when_no_version_can_be_had(debian):
    debian.know("mysql-9.7", "9.7.4-2", "source", HEADERS[0], kept=False)
    debian.list("mysql-source 10.1.0-1")
    code, said = debian.run(PICK)
    assert code == 1, said
    assert "offer MySQL 9.7 no more; the library was tested with MySQL 9.7.4-2" in said
    assert "scripts/bootstrap --server mysql-9.7 --source FOLDER" in said
    assert "scripts/bootstrap --server mysql-9.7 --update" in said
    assert f"ln -sfn {debian.folder}/cache/server-mysql-9.7.4-2.2 {debian.folder}/cache/mysql-9.7" in said


def test_a_cache_is_not_downloaded_again(debian):
    env = debian.folder / "cache/server-mysql-9.7.4-2.2/env"
    env.parent.mkdir(parents=True)
    env.touch()
    debian.know("mysql-9.7", "9.7.4-2", "source", HEADERS[0], kept=False)
    code, said = debian.run(PICK)
    assert (code, said) == (0, "picked 9.7.4-2\n")


def test_the_installed_server_comes_first(debian):
    for name in HEADERS:
        debian.know("mysql-9.7", "9.7.4-2", "source", name)
    (debian.folder / "installed").write_text("9.7.5-1\n")
    debian.list(*(f"{name} 9.7.5-1" for name in HEADERS))
    code, said = debian.run(PICK)
    assert code == 0 and said.endswith("picked 9.7.5-1\n"), said
    (debian.folder / "installed").write_text("9.7.6-1\n")
    code, said = debian.run(PICK)
    assert code == 1, said
    assert "would be for MySQL 9.7.4, but this machine's server is 9.7.6" in said
    assert "apt install ./mysql-plugin-rowsocket_*.deb" in said and "MariaDB" not in said
    assert "scripts/bootstrap --server mysql-9.7 --source FOLDER" in said
    assert not debian.debs(), "a download that no server can use"


@pytest.mark.parametrize("wanted,picked,origin", [
    ("9.7.4", "9.7.4-2", "pool"), ("9.7.4-2", "9.7.4-2", "pool"), ("9.7.5", "9.7.5-1", "lists"), ("9.7.6", "", "")])
def test_a_bare_version_of_mysql(debian, wanted, picked, origin):
    """As the last words of an installation without a library have it."""
    for name in HEADERS:
        debian.know("mysql-9.7", "9.7.4-2", "source", name)
    debian.list(*(f"{name} 9.7.5-1" for name in HEADERS))
    code, said = debian.run(f"wanted_version={wanted}; {PICK}")
    assert (code == 0 and said.endswith(f"picked {picked}\n")) == bool(picked), said
    assert debian.debs() == (dict.fromkeys(HEADERS, origin) if picked else {})


def test_a_bare_version_of_mysql_is_first_the_installed_servers(debian):
    (debian.folder / "installed").write_text("9.7.4-3\n")
    for name in HEADERS:
        debian.know("mysql-9.7", "9.7.4-2", "source", name)
    debian.list(*(f"{name} 9.7.4-3" for name in HEADERS))
    code, said = debian.run(f"wanted_version=9.7.4; {PICK}")
    assert code == 0 and said.endswith("picked 9.7.4-3\n"), said


def test_a_version_of_another_line_of_mysql_is_refused(debian):
    debian.list(*(f"{name} 8.4.7-1" for name in HEADERS))
    code, said = debian.run(f"wanted_version=8.4.7-1; {PICK}")
    assert code == 1 and "8.4.7-1 is no version of mysql-9.7" in said and not debian.debs(), said


def test_packages_in_a_folder(debian):
    given = debian.folder / "given"
    given.mkdir()
    package_file(given, "mysql-source", "9.7.6-1")
    package_file(given, "libmysqlclient-dev", "9.7.5-1")
    code, said = debian.run(f"source={given}; {PICK}")
    assert code == 1 and "is not of 9.7.6-1" in said, said
    (given / "libmysqlclient-dev_9.7.5-1_all.deb").unlink()
    (given / "libmysqlclient-dev/DEBIAN/control").unlink()
    (given / "libmysqlclient-dev/DEBIAN").rmdir()
    package_file(given, "libmysqlclient-dev", "9.7.6-1")
    code, said = debian.run(f"source={given}; {PICK}")
    assert code == 0 and said.endswith("picked 9.7.6-1\n"), said
    code, said = debian.run(f"mkdir empty; source=$PWD/empty; {PICK}")
    assert code == 1 and "has no mysql-source_*.deb" in said, said


def test_packages_of_another_line_in_a_folder_are_refused(debian):
    for name in HEADERS:
        package_file(debian.folder, name, "8.4.7-1")
    code, said = debian.run(f"source=$PWD; {PICK}")
    assert code == 1 and "8.4.7-1 is no version of mysql-9.7" in said, said


def test_libraries_whose_names_are_gone(debian):
    """A newer library of the same name does as well, one that sid has no more is the tested one."""
    debian.know("mysql-9.7", "78.3-2", "library", "libicu78")
    debian.know("mysql-9.7", "2.43-7", "library", "libc6", kept=False)
    debian.list("libc6 2.44-1")
    code, said = debian.run("mysql_libraries=(libc6 libicu78); download_mysql_libraries")
    assert code == 0, said
    assert debian.debs() == {"libc6": "lists", "libicu78": "pool"}
    code, said = debian.run("mysql_libraries=(libc6 libicu79); download_mysql_libraries")
    assert code != 0, said


def test_binaries_of_mariadb_that_the_lists_have_no_more(debian):
    debian.know("mariadb-10.11", "1:10.11.18-0+deb12u1", "binary", "mariadb-server-core")
    debian.know("mariadb-10.11", "1:10.11.18-0+deb12u1", "source", "mariadb-source")
    debian.list("mariadb-server 1:10.11.19-0+deb12u1")
    text = 'host_release() { echo bookworm; }; download_binaries '
    code, said = debian.run(text + "1:10.11.18-0+deb12u1", server="mariadb-10.11")
    assert code == 0, said
    assert debian.debs() == {"mariadb-server-core": "pool"}
    code, said = debian.run(text + "1:10.11.17-0+deb12u1", server="mariadb-10.11")
    assert code == 1 and "do not offer MariaDB 1:10.11.17-0+deb12u1 any more" in said


GENERATED = ("my_config.h", "mysql_version.h", "mysqld_error.h")


def test_the_generated_headers_are_those_of_debians_build(debian):
    """They are taken from Debian's package, and the rest of the package is not unpacked."""
    folder = debian.folder / "libmariadbd-dev/usr"
    (folder / "include/mariadb/server").mkdir(parents=True)
    for name in (*GENERATED, "my_sys.h"):
        (folder / "include/mariadb/server" / name).write_text(f"Debian's {name}")
    (folder / "lib").mkdir()
    (folder / "lib/libmariadbd.a").write_text("large")
    package_file(debian.folder, "libmariadbd-dev", "10.11.18-0")
    made = debian.folder / "libmariadbd-dev_10.11.18-0_all.deb"
    code, said = debian.run(f'cp {made} "$apt_dir/debs/"; mkdir -p source/include; '
                            'echo probes >source/include/probes_mysql_nodtrace.h.in; unpack_generated && '
                            'cd build && find . -type f | sort && cat include/my_config.h', server="mariadb-10.11")
    assert code == 0, said
    assert said.splitlines() == ["./.complete", "./include/my_config.h", "./include/mysql_version.h",
                                 "./include/mysqld_error.h", "./include/probes_mysql_nodtrace.h",
                                 "Debian's my_config.h"]


def test_the_pool_has_the_generated_headers_when_the_lists_have_moved_on(debian):
    version = "1:10.11.18-0+deb12u1"
    debian.know("mariadb-10.11", version, "headers", "libmariadbd-dev")
    debian.list("libmariadbd-dev 1:10.11.19-0+deb12u1")
    code, said = debian.run(f'download_generated {version}; ls "$apt_dir/debs"', server="mariadb-10.11")
    assert code == 0 and "libmariadbd-dev_10.11.18-0+deb12u1_amd64.deb" in said, said
    code, said = debian.run('download_generated 1:10.11.17-0+deb12u1', server="mariadb-10.11")
    assert code == 1, said


MAKE = """
server_is_there() { false; }
prepare_private_apt() { :; }
pick_version() { package_version=1:10.11.18-0+deb12u1; }
install_missing_packages() { :; }
a_source() {
  mkdir -p "$1"/{include,sql,wsrep-lib,storage,plugin/{auth_ed25519,handler_socket}} && touch "$1/sql/handler.h"
  printf 'MYSQL_VERSION_%s\\n' MAJOR=10 MINOR=11 PATCH=18 >"$1/VERSION"
}
download_generated() { false; }
configure_source() { mkdir build; }
generate_headers() { :; }
"""
UNPACK = "unpack_source() { a_source source; };"


def test_a_cache_whose_making_was_interrupted_is_made_by_the_next_run(debian):
    """The interruption comes while the source's files are chosen."""
    folder = debian.folder / "cache/server-10.11.18-0+deb12u1.2"
    interrupted = 'mv() { [[ $2 != *auth_ed25519 ]] || exit 130; command mv "$@"; }'
    code, said = debian.run(f"{MAKE} {UNPACK} {interrupted}; make_server_cache", server="mariadb-10.11")
    assert code == 130 and not (folder / "env").exists(), said
    code, said = debian.run(f"{MAKE} {UNPACK} make_server_cache", server="mariadb-10.11")
    assert code == 0 and (folder / "env").exists(), said
    for kept in ("VERSION", "include", "sql/handler.h", "plugin/auth_ed25519", "plugin/handler_socket"):
        assert (folder / "source" / kept).exists(), f"{kept}: {said}"
    assert not [path.name for path in folder.iterdir() if path.suffix in (".kept", ".partial")]


def test_a_cache_is_made_of_a_source_that_the_caller_gives(debian):
    code, said = debian.run(f"{MAKE} a_source given; source=$PWD/given; make_server_cache", server="mariadb-10.11")
    assert code == 0, said
    made = debian.folder / "cache/mariadb-10.11"
    assert (made / "source/sql/handler.h").exists() and not (made / "source/storage").exists()
    assert "ROWSOCKET_SERVER_VERSION=10.11.18\n" in (made / "env").read_text()


@pytest.mark.parametrize("setting, picked", [
    ("wanted_version=10.11.18", True), ("wanted_version=1:10.11.18-0+deb12u1", True),
    ("ROWSOCKET_ANOTHER_SERVER=1", True), (":", False), ("wanted_version=10.11.17", False)])
def test_the_tested_version_is_to_be_had_beside_a_newer_server(debian, setting, picked):
    """The installed server and Debian's lists have moved on, without the source of the newer version."""
    debian.know("mariadb-10.11", "1:10.11.18-0+deb12u1", "source", "mariadb-source")
    debian.list("mariadb-server 1:10.11.19-0+deb12u1")
    (debian.folder / "installed").write_text("1:10.11.19-0+deb12u1\n")
    code, said = debian.run(f'{setting}; pick_version; echo "picked $package_version"', server="mariadb-10.11")
    assert (code == 0 and said.endswith("picked 1:10.11.18-0+deb12u1\n")) == picked, said
    assert picked or code == 1 and ("--for 10.11.18, then apt-get" in said) == ("10.11.17" in setting), said


@pytest.mark.parametrize("wanted,picked", [
    ("11.8.7", "1:11.8.7-0+deb13u1"), ("1:11.8.7-0+deb13u1", "1:11.8.7-0+deb13u1"), ("11.8.6", "1:11.8.6-0+deb13u1")])
def test_a_bare_version_is_that_of_the_lists(debian, wanted, picked):
    """The machine's own apt may have another line of the server; these are the lists of the server's release."""
    debian.know("mariadb-11.8", "1:11.8.6-0+deb13u1", "source", "mariadb-source")
    debian.list("mariadb-server 1:11.8.7-0+deb13u1", "mariadb-server 1:11.8.6-0+deb13u1")
    code, said = debian.run('download_source() { grep -q " $1\\$" "$test_dir/lists"; }\n'
                            f'wanted_version={wanted}; pick_version; echo "picked $package_version"', server="mariadb-11.8")
    assert code == 0 and said.endswith(f"picked {picked}\n"), said


@pytest.mark.parametrize("entry", [
    "deb [trusted=yes] copy:/pool bookworm main contrib", "deb\t[trusted=yes]\tcopy:/pool\tbookworm\tmain\t contrib",
    "  deb  [trusted=yes]  copy:/pool  bookworm  main  contrib"])
def test_an_entry_of_the_machine_has_one_blank_between_its_words(debian, entry):
    """The words are then those of another release, whose name is put in."""
    (debian.folder / "sources.list").write_text(f"{entry}\n")
    code, said = debian.run("private_sources_from_lists '^bookworm$' sources.list")
    assert code == 0, said
    assert said.splitlines() == [f"{kind} [trusted=yes] copy:/pool bookworm main contrib" for kind in ("deb", "deb-src")]


SLOW_LISTS = """
eval "quick_$(declare -f private_apt)"
private_apt() { echo begins >>"$test_dir/reads"; sleep 0.2; quick_private_apt "$@"; echo ends >>"$test_dir/reads"; }
download_source() { :; }
touch "$test_dir/reads"
"""


@pytest.mark.parametrize("server,wanted,reads", [
    ("mariadb-11.8", "", 1), ("mariadb-11.8", "11.8.6", 1), ("mariadb-11.8", "1:11.8.6-0+deb13u1", 0),
    ("mysql-9.7", "9.7.0", 1), ("mysql-9.7", "9.7.0-1", 0)])
def test_the_lists_have_been_read_when_the_download_begins(debian, server, wanted, reads):
    """An apt that was still at work would run beside that of the download."""
    pick, package, version = {"mariadb-11.8": ("pick_version", "mariadb-server", "1:11.8.6-0+deb13u1"),
                              "mysql-9.7": ("mysql_versions", "mysql-source", "9.7.0-1")}[server]
    debian.know(server, version, "source", package)
    debian.list(f"{package} {version}")
    code, said = debian.run(f'{SLOW_LISTS} wanted_version={wanted}; {pick}; cp "$test_dir/reads" "$test_dir/then"',
                            server=server)
    assert code == 0, said
    assert (debian.folder / "then").read_text() == "begins\nends\n" * reads


@pytest.mark.parametrize("server,wanted", [
    ("mariadb-11.8", "1:10.11.19-0+deb12u1"), ("mariadb-10.11", "11.8.6"), ("mariadb-10.11", "10.1.11-1")])
def test_a_version_of_another_line_is_refused(debian, server, wanted):
    """Also where it is in the cache, which would then be under the name of the wrong server."""
    env = debian.folder / f"cache/server-{wanted.partition(':')[2] or wanted}.2/env"
    env.parent.mkdir(parents=True)
    env.touch()
    code, said = debian.run(f'wanted_version={wanted}; pick_version; echo "picked $package_version"', server=server)
    assert code == 1 and f"{wanted} is no version of {server}" in said and "picked" not in said, said
