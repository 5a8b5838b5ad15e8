"""rowsocket-doctor: each thing that keeps the ports from answering is found, with what mends it."""

import importlib.machinery
import importlib.util
import os
import subprocess
import sys

import pytest

from server import REPOSITORY, build_dir, is_mysql, server_env

DOCTOR = REPOSITORY / "packaging/rowsocket-doctor"
ENABLE = {"mariadb": [REPOSITORY / "packaging/rowsocket-enable"],
          "mysql": ["sh", "-c", '"$0" rowsocket-enable | sh -s -- "$@"', REPOSITORY / "packaging/for-mysql"]}
VERSION = {"mariadb": "mariadbd  Ver 10.11.18-MariaDB-0+deb12u1 for debian-linux-gnu",
           "mysql": "/usr/sbin/mysqld  Ver 9.7.4-2 for debian-linux-gnu on x86_64 ((Debian))"}
PROGRAM = {"mariadb": "mariadbd", "mysql": "mysqld"}
LIBRARY = {"mariadb": b"\0" b"0.1.0\0" b"10.11.18-MariaDB\0", "mysql": b"\0" b"1.6.45\0" b"9.7.4\0"}


def doctor(*arguments):
    done = subprocess.run([DOCTOR, *map(str, arguments)], text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=60, check=False)
    assert done.stderr == "", done.stderr
    return done.returncode, done.stdout


def find(root, *wanted):
    """The one finding on a machine, which has these words."""
    code, said = doctor("--root", root)
    assert code == 1 and said.count("\n- ") == 0, said
    for words in wanted:
        assert words in said, said


def right(root):
    assert doctor("--root", root) == (0, "Nothing was found to be wrong.\n")


def put_server(root, name):
    """A server, its library and its option files as they are installed."""
    program = root / "usr/sbin" / PROGRAM[name]
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\necho '{VERSION[name]}'\n")
    program.chmod(0o755)
    plugins = root / "usr/lib/mysql/plugin"
    plugins.mkdir(parents=True, exist_ok=True)
    (plugins / "rowsocket.so").write_bytes(LIBRARY[name] if name == "mysql" else b"a loader")
    if name == "mariadb":
        (plugins / "rowsocket.so.10.11.18").write_bytes(LIBRARY[name])
    folder = config(root, name)
    folder.mkdir(parents=True)
    text = (REPOSITORY / "packaging/rowsocket.cnf").read_text()
    if name == "mysql":
        text = subprocess.run([REPOSITORY / "packaging/for-mysql", "rowsocket.cnf"], check=True, text=True,
                              capture_output=True).stdout
    (folder / "rowsocket.cnf").write_text(text)
    main = root / f"etc/mysql/{name}.cnf"
    main.write_text(f"[client-server]\n!includedir /etc/mysql/conf.d/\n!includedir /{folder.relative_to(root)}/\n")
    link = root / "etc/alternatives/my.cnf"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(f"/etc/mysql/{name}.cnf")
    if not (root / "etc/mysql/my.cnf").is_symlink():
        (root / "etc/mysql/my.cnf").symlink_to("/etc/alternatives/my.cnf")
    enable(folder, name)
    if os.geteuid() == 0:
        subprocess.run(["chown", "1", load_file(root, name)], check=True)


def config(root, name):
    return root / f"etc/mysql/{name if name == 'mariadb' else 'mysql'}.conf.d"


def load_file(root, name):
    return config(root, name) / "rowsocket-load.cnf"


def enable(folder, name, *options):
    subprocess.run([*ENABLE[name], *options], check=True, timeout=60,
                   env={**os.environ, "ROWSOCKET_CONFIG_DIR": str(folder)})


@pytest.fixture(params=["mariadb", "mysql"])
def name(request):
    return request.param


@pytest.fixture
def root(tmp_path, name):
    """A machine with a server, MariaDB 10.11.18 or MySQL 9.7.4."""
    put_server(tmp_path, name)
    return tmp_path


# --- The option file that loads the library ---

def test_the_secrets_are_random_and_for_the_server_alone(root, name):
    load = load_file(root, name)
    text = load.read_text()
    assert f"[{PROGRAM[name]}]\nplugin-load-add = rowsocket.so\n" in text
    secrets = [line.split(" = ")[1] for line in text.splitlines() if "secret" in line and "=" in line]
    assert len(set(secrets)) == 2 and all(len(secret) == 48 for secret in secrets)
    assert load.stat().st_mode & 0o777 == 0o600
    enable(load.parent, name)
    assert load.read_text() == text, "a second installation changes nothing"


def test_set_aside_and_put_back(root, name):
    load = load_file(root, name)
    text = load.read_text()
    enable(load.parent, name, "--off")
    assert not load.exists()
    assert "rowsocket-load.cnf is set aside" in doctor("--root", root)[1]
    enable(load.parent, name)
    assert load.read_text() == text


# --- A machine ---

def test_a_right_machine(root):
    right(root)


def test_no_library_for_the_version_in_mariadb(tmp_path):
    put_server(tmp_path, "mariadb")
    plugins = tmp_path / "usr/lib/mysql/plugin"
    os.rename(plugins / "rowsocket.so.10.11.18", plugins / "rowsocket.so.10.11.17")
    find(tmp_path, "the server is MariaDB 10.11.18, and the libraries are for 10.11.17",
         "${Package}=1:10.11.17*\\n' | sed ")


def test_the_way_back_is_to_the_servers_own_line(tmp_path):
    put_server(tmp_path, "mariadb")
    plugins = tmp_path / "usr/lib/mysql/plugin"
    os.rename(plugins / "rowsocket.so.10.11.18", plugins / "rowsocket.so.11.8.6")
    found = "the server is MariaDB 10.11.18, and the libraries are for 11.8.6"
    find(tmp_path, found)
    assert "--allow-downgrades" not in doctor("--root", tmp_path)[1], "MariaDB 11.8 is no version to go back to"
    for version in ("10.11.9", "10.11.17"):
        (plugins / f"rowsocket.so.{version}").write_bytes(LIBRARY["mariadb"])
    find(tmp_path, "the libraries are for 10.11.9, 10.11.17, 11.8.6", "${Package}=1:10.11.17*\\n'")


@pytest.mark.parametrize("server, version, sources", [
    ("mariadb", "1:10.11.17", ("mariadb", "mariadb-10.11")), ("mysql", "9.7.3", ("mysql-9.7",))])
def test_the_way_back_takes_the_packages_of_the_server_alone(tmp_path, server, version, sources):
    """Of other sources, as mysql-defaults, there is no such version, with which apt would take none back."""
    others = ("mysql-defaults", "mariadb-connector-odbc", "mariadb-connector-java", "mysql-connector-python", "other")
    lines = "".join(f"printf '%s\\n' \"$3\" | sed 's/[$]{{source:Package}}/{source}/; s/[$]{{db:Status-Status}}/installed/;"
                    f" s/[$]{{Package}}/of-{source}/; s/.n$//'\n" for source in (*sources, *others))
    (tmp_path / "dpkg-query").write_text(f"#!/bin/sh\n{lines}")
    (tmp_path / "dpkg-query").chmod(0o755)
    [server] = [each for each in module().SERVERS if each.name == server]
    commands = module().commands_to_downgrade(server, version.split(":")[-1] + "9", [version.split(":")[-1]])
    done = subprocess.run(["sh", "-c", f"echo {commands[commands.index('$('):]}"], cwd=tmp_path, text=True, capture_output=True,
                          check=True, env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert done.stdout.split() == [f"of-{source}={version}*" for source in sources]


def test_a_library_of_another_version_in_mysql(tmp_path):
    put_server(tmp_path, "mysql")
    library_file = tmp_path / "usr/lib/mysql/plugin/rowsocket.so"
    library_file.write_bytes(LIBRARY["mysql"].replace(b"9.7.4", b"9.7.3"))
    find(tmp_path, "the server is MySQL 9.7.4, and the libraries are for 9.7.3",
         "${Package}=9.7.3*\\n' | sed ")
    library_file.write_bytes(LIBRARY["mariadb"])
    find(tmp_path, "rowsocket.so is for MariaDB 10.11.18, and the server is MySQL 9.7.4",
         "apt install ./mysql-plugin-rowsocket_*.deb")


@pytest.mark.again_in("mysql-9.7")
@pytest.mark.ours
def test_the_version_is_that_in_the_library():
    """The library says for which version it is, although it has no file name with the version."""
    title = "MySQL" if is_mysql() else "MariaDB"
    assert module().built_for(build_dir("release") / "rowsocket.so") == (title, server_env()["ROWSOCKET_SERVER_VERSION"])


def test_no_library_and_no_server(root, name):
    (root / "usr/lib/mysql/plugin/rowsocket.so").unlink()
    find(root, f"apt install ./{name}-plugin-rowsocket_*.deb")
    (root / "usr/sbin" / PROGRAM[name]).unlink()
    find(root, "there is no MariaDB server and no MySQL server", "apt install")
    assert f"apt install {name}-server\n" in doctor("--root", root, "--server", name)[1]


def test_a_link_to_mariadb_is_no_mysql(tmp_path):
    put_server(tmp_path, "mariadb")
    (tmp_path / "usr/sbin/mysqld").symlink_to("mariadbd")
    right(tmp_path)
    assert "there is no MySQL server" in doctor("--root", tmp_path, "--server", "mysql")[1]


def test_two_servers(tmp_path):
    """Of two servers those are looked at that Rowsocket was installed for; a finding names its server."""
    put_server(tmp_path, "mysql")
    put_server(tmp_path, "mariadb")
    (tmp_path / "etc/my.cnf").write_text("!includedir /etc/mysql/mysql.conf.d\n")
    said = doctor("--root", tmp_path)[1]
    assert "- MySQL: " in said and "- MariaDB: " not in said, said
    load_file(tmp_path, "mariadb").chmod(0o644)
    assert "- MariaDB: " in doctor("--root", tmp_path)[1]
    assert "MySQL" not in doctor("--root", tmp_path, "--server", "mariadb")[1]
    for file in config(tmp_path, "mysql").iterdir():
        file.unlink()
    find(tmp_path, "chmod 600")


# --- AppArmor ---

def profile_of(root, name, text):
    profile = root / "etc/apparmor.d" / f"usr.sbin.{PROGRAM[name]}"
    (profile.parent / "local").mkdir(parents=True, exist_ok=True)
    profile.write_text(text)
    return profile


def test_an_apparmor_profile(root, name):
    program = f"/usr/sbin/{PROGRAM[name]}"
    profile_of(root, name, "# empty, as Debian ships MariaDB's\n")
    right(root)
    profile_of(root, name, program + " {\n  /var/lib/mysql/** rwk,\n}\n")
    said = doctor("--root", root)[1]
    assert "does not allow /usr/lib/mysql/plugin/*.so*" in said and "apparmor_parser -r" in said
    profile_of(root, name, program + " flags=(complain) {\n}\n")
    right(root)
    profile_of(root, name, program + " {\n}\n")
    enabled = root / "sys/module/apparmor/parameters/enabled"
    enabled.parent.mkdir(parents=True)
    enabled.write_text("N\n")
    right(root)


def test_a_socket_that_the_profile_of_mysqld_does_not_allow(tmp_path):
    put_server(tmp_path, "mysql")
    profile_of(tmp_path, "mysql", """/usr/sbin/mysqld {
  #include <abstractions/base>
  /run/mysqld/mysqld.sock rw,
  /usr/lib/mysql/plugin/*.so* mr,
  # /run/mysqld/handlersocket.sock rw,
  #include <local/usr.sbin.mysqld>
}
""")
    right(tmp_path)
    load = load_file(tmp_path, "mysql")
    load.write_text(load.read_text() + "loose_handlersocket_socket = /run/mysqld/handlersocket.sock\n")
    find(tmp_path, "does not allow /run/mysqld/handlersocket.sock",
         "'/run/mysqld/handlersocket.sock rw,' to /etc/apparmor.d/local/usr.sbin.mysqld")
    local = tmp_path / "etc/apparmor.d/local/usr.sbin.mysqld"
    for rule in ("/run/mysqld/handlersocket*.sock rw,", "owner /{,var/}run/mysqld/** rwk,",
                 "@{run}/mysqld/handlersocket{,-wr}.sock w,"):
        local.write_text(rule + "\n")
        right(tmp_path)
    local.write_text("/run/mysqld/handlersocket.sock r,\n/run/*.sock rw,\n")
    find(tmp_path, "does not allow /run/mysqld/handlersocket.sock")


def test_the_profile_allows_the_library_that_the_loader_maps(tmp_path):
    put_server(tmp_path, "mariadb")
    profile = "/usr/sbin/mariadbd {\n  /run/mysqld/*.sock rw,\n  /usr/lib/mysql/plugin/rowsocket.so mr,\n%s}\n"
    profile_of(tmp_path, "mariadb", profile % "")
    find(tmp_path, "does not allow /usr/lib/mysql/plugin/*.so*", "'/usr/lib/mysql/plugin/*.so* mr,'")
    profile_of(tmp_path, "mariadb", profile % "  /usr/lib/mysql/plugin/rowsocket.so.* mr,\n")
    right(tmp_path)
    profile_of(tmp_path, "mariadb", profile % "")
    (tmp_path / "usr/lib/mysql/plugin/rowsocket.so.10.11.18").rename(tmp_path / "usr/lib/mysql/plugin/rowsocket.so")
    right(tmp_path)


@pytest.mark.parametrize("variable", ["handlersocket_socket_wr", "daemon_memcached_socket", "resp_socket"])
def test_the_profile_allows_every_socket(root, name, variable):
    profile_of(root, name, f"/usr/sbin/{PROGRAM[name]} {{\n  /run/mysqld/*.sock rw,\n  /usr/lib/mysql/plugin/*.so* mr,\n}}\n")
    (config(root, name) / "zz.cnf").write_text(f"[{PROGRAM[name]}]\nloose_{variable} = /srv/here.sock\n")
    find(root, "does not allow /srv/here.sock", "'/srv/here.sock rw,'")


# --- The error log ---

def module():
    """The program as a module."""
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("rowsocket_doctor_program", str(DOCTOR))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    made = importlib.util.module_from_spec(spec)
    loader.exec_module(made)
    return made


def machine_of(root, name):
    program = module()
    (server,) = [server for server in program.SERVERS if server.name == name]
    return program, program.Machine(root, server)


@pytest.mark.parametrize("name,start", [
    ("mysql", "2026-01-01T00:00:00Z 0 [System] [MY-010116] [Server] /usr/sbin/mysqld starting as process 7\n"),
    ("mariadb", "2026-01-01  0:00:00 0 [Note] Starting MariaDB 10.11.18-MariaDB source revision 1f server_uid A= as process 7\n")])
def test_the_error_log_says_why(root, name, start):
    (config(root, name) / "zz.cnf").write_text("[mysqld]\nlog_error = /var/log/mysql/error.log\n")
    log = root / "var/log/mysql/error.log"
    log.parent.mkdir(parents=True)
    error = "2026-01-01T00:00:01Z 0 [ERROR] [MY-011071] [Server] rowsocket: 9998 is in use\n"
    _, machine = machine_of(root, name)
    log.write_text(start + error + start)
    assert machine.reason_in_the_error_log() == "", "that was an earlier start"
    log.write_text(start + error + "2026-01-01T00:00:02Z 0 [ERROR] [MY-1] [Server] of another plugin\n")
    assert "rowsocket: 9998 is in use" in machine.reason_in_the_error_log()
    assert str(log) in machine.how_to_read_the_error_log()
