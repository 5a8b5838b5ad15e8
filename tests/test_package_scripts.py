"""What the packages do when dpkg installs, upgrades and removes them, with the programs of a server and of the system in a
folder of the test."""

import os
import socket
import subprocess

import pytest

from server import PLUGINS, REPOSITORY

pytestmark = pytest.mark.once("starts no server")
PACKAGING = REPOSITORY / "packaging"
GROUP = {"mariadb": "mariadbd", "mysql": "mysqld"}
# Whatever server the option files of root name, that of this machine is asked.
HERE = "--host=localhost --protocol=socket"


class Machine:
    """A folder that the scripts take for the system; `said` has the statements that the server was told."""

    def __init__(self, folder, name):
        self.folder = folder
        self.name = name
        self.config = folder / f"etc/mysql/{name}.conf.d"
        self.load = self.config / "rowsocket-load.cnf"
        for each in (self.config, folder / "usr/share/rowsocket", folder / "run/mysqld", folder / "bin"):
            each.mkdir(parents=True)
        self.put("usr/share/rowsocket/rowsocket-enable", self.text_of("rowsocket-enable"))
        self.put("usr/libexec/rowsocket/rowsocket-updates", "#!/bin/sh\n")
        (folder / "usr/share/rowsocket/package.json").write_text('{"versions": ["1.2.3"]}')
        self.put(f"bin/{name}", f"#!/bin/sh\nprintf '%s\\n' \"$*\" >>'{folder}/said'\n")
        self.put("bin/systemctl", "#!/bin/sh\n")
        self.put("bin/dpkg-query", "#!/bin/sh\nprintf 1:1.2.3-1\n")

    def put(self, path, text):
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)

    def text_of(self, name):
        if self.name == "mysql":
            text = subprocess.run([PACKAGING / "for-mysql", name], check=True, text=True, capture_output=True).stdout
        else:
            text = (PACKAGING / name).read_text()
        return self.here(text)

    def here(self, text):
        for folder in ("/proc", "/etc/apt", "/etc/mysql", "/etc/rowsocket", "/usr/share/rowsocket", "/usr/libexec", "/run/mysqld",
                       "/var/lib/rowsocket"):
            text = text.replace(folder, f"{self.folder}{folder}")
        return text

    def run(self, text, *arguments, umask=0o022):
        return subprocess.run(["sh", "-s", "--", *arguments], input=text, text=True, capture_output=True, check=False,
                              timeout=60, umask=umask, env={**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}"})

    def script(self, name, *arguments):
        text = subprocess.run([PACKAGING / "debian/fill-in", self.name, PACKAGING / f"debian/plugin-rowsocket.{name}.in"],
                              check=True, text=True, capture_output=True).stdout
        done = self.run(self.here(text).replace("#DEBHELPER#", "echo the commands of debhelper"), *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(params=["mariadb", "mysql"])
def machine(request, tmp_path):
    return Machine(tmp_path, request.param)


def removal(machine, client="echo 0"):
    """What a removal prints beside a server that runs, and the calls of a client that then does `client`: a line for each,
    with what the client reads. A client ends at the first error of what it is given by -e, with --force, too."""
    machine.put(f"bin/{machine.name}", f"#!/bin/sh\nsaid=$(echo $* $(cat))\n"
                f"printf '%s\\n' \"$said\" >>'{machine.folder}/said'\n{client}\n")
    machine.put("proc/7/comm", f"{GROUP[machine.name]}\n")
    printed = machine.script("prerm", "remove")
    return printed, (machine.folder / "said").read_text()


def test_the_removal_takes_every_plugin_out_of_the_server(machine):
    printed, said = removal(machine)
    assert "keeps the library" not in printed and said.count("\n") == 1 and " -e " not in said
    statements = ["UNINSTALL SONAME IF EXISTS 'rowsocket'"] if machine.name == "mariadb" else [
        f"UNINSTALL PLUGIN {plugin}" for plugin in PLUGINS]
    assert all(statement in said for statement in statements), said
    # A replicated UNINSTALL would close the ports of every node of a Galera cluster; --force goes on behind the error of a
    # server without the variable.
    assert machine.name == "mysql" or ("SET SESSION wsrep_on = OFF; " in said and "--force " in said), said


def test_the_removal_counts_only_plugins_with_ports(machine):
    """The tables in information_schema are plugins, too; MySQL refuses to uninstall them, and they close no port."""
    printed, said = removal(machine, "case $said in *\"plugin_type = 'DAEMON'\"*) echo 0 ;; *) echo 5 ;; esac")
    assert "keeps the library" not in printed and "plugin_status = 'ACTIVE'" in said, said


def test_the_removal_asks_no_server_that_does_not_run(machine):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(machine.folder / "run/mysqld/mysqld.sock"))
    printed = machine.script("prerm", "remove")
    assert not (machine.folder / "said").exists() and "keeps the library" not in printed


def test_the_removal_does_not_wait_for_a_lock_for_ever(machine):
    """lock_wait_timeout is a day as installed; and a server may answer nothing at all."""
    machine.put("bin/timeout", "#!/bin/sh\nshift\n\"$@\"\nexit 124\n")
    printed, said = removal(machine, "")
    assert "SET lock_wait_timeout = 10; UNINSTALL " in said and said.count("\n") == 1, said
    assert "the running server keeps the library" in printed


def test_the_removal_logs_in_as_root_logs_in(machine):
    """Where root has a password, root's option file has it."""
    printed, said = removal(machine, "case $* in --no-defaults*) exit 1 ;; esac; echo 0")
    usual, own = said.splitlines()
    assert usual.startswith(f"--no-defaults --socket={machine.folder}/run/mysqld/mysqld.sock --user=root ")
    assert own == usual.partition("--user=root ")[2] and "keeps the library" not in printed
    assert own.startswith(f"{HERE} "), own


@pytest.mark.parametrize("client", ["exit 1", "echo 3"])
def test_the_removal_says_that_the_server_keeps_the_library(machine, client):
    """The login is refused, or a plugin stays, because somebody holds a lock."""
    printed, _ = removal(machine, client)
    assert f"until it stops: systemctl restart {machine.name}\n" in printed
    assert not machine.load.exists()


@pytest.mark.parametrize("namespaces,runs", [
    ({}, True), ({"self": "pid:[1]", "7": "pid:[1]"}, True), ({"self": "pid:[1]", "7": "pid:[2]"}, False),
    ({"self": "pid:[1]"}, True), ({"self": "pid:[1]", "7": "pid:[2]", "8": "pid:[1]"}, True)])
def test_the_removal_asks_no_server_of_a_container(machine, namespaces, runs):
    """A container's processes are seen in /proc as well. Wherever the socket of this machine's server is, it is asked."""
    for process in {"7", *namespaces} - {"self"}:
        machine.put(f"proc/{process}/comm", f"{GROUP[machine.name]}\n")
    for process, namespace in namespaces.items():
        (machine.folder / f"proc/{process}/ns").mkdir(parents=True)
        (machine.folder / f"proc/{process}/ns/pid").symlink_to(namespace)
    printed = machine.script("prerm", "remove")
    assert (machine.folder / "said").exists() == runs and ("keeps the library" in printed) == runs


@pytest.mark.parametrize("processes,several", [("7", False), ("78", True)])
@pytest.mark.parametrize("left", [0, 3])
def test_the_removal_says_that_it_asked_one_of_several_servers(machine, processes, several, left):
    """Instances of the server's unit, as mariadb@second, have sockets of their own."""
    for process in processes:
        machine.put(f"proc/{process}/comm", f"{GROUP[machine.name]}\n")
    printed, said = removal(machine, f"echo {left}")
    assert said.count("\n") == 1, said
    assert ("Rowsocket: 2 servers run, of which one was asked" in printed) == several, printed
    assert ("the running server keeps the library" in printed) == (left > 0), printed
    assert several == (f"restart '{machine.name}@*'" in printed), printed


@pytest.mark.parametrize("program", ["mariadbd", "mysqld"])
@pytest.mark.parametrize("suffix", ["", " (deleted)"])
def test_the_removal_asks_a_server_that_was_started_by_a_link(machine, program, suffix):
    """Debian's mysqld may be a link to MariaDB's program, which a package may have replaced since."""
    machine.put("proc/7/comm", "mysqld\n")
    (machine.folder / "proc/7/exe").symlink_to(f"/usr/sbin/{program}{suffix}")
    machine.script("prerm", "remove")
    assert (machine.folder / "said").exists() == (program == GROUP[machine.name])


@pytest.mark.parametrize("name", ["mariadb", "mysql"])
def test_an_administrators_drop_in_counts_more_than_the_packages(name):
    """systemd reads drop-ins by their names, wherever they are: `systemctl edit` writes override.conf."""
    lines = (PACKAGING / f"debian/{name}-plugin-rowsocket.install").read_text().splitlines()
    [drop_in] = [REPOSITORY / line.split()[0] for line in lines if line.endswith(f"system/{name}.service.d")]
    assert drop_in.name < "override.conf" and "LimitNOFILE=131072" in drop_in.read_text()


@pytest.mark.parametrize("name,other", [("mariadb", "mysql"), ("mysql", "mariadb")])
def test_the_package_takes_the_place_of_that_for_the_other_server(name, other):
    """Both have most files; dpkg would refuse to overwrite those of the other one while servers are exchanged."""
    control = (PACKAGING / f"debian/control-{name}.in").read_text().partition(f"\nPackage: {name}-plugin-rowsocket\n")[2]
    fields = control.partition("\n\n")[0].splitlines()
    assert {f"Conflicts: {other}-plugin-rowsocket", f"Replaces: {other}-plugin-rowsocket"} <= set(fields)


# --- The file that loads the library ---

def test_the_first_installation_enables_the_library(machine):
    machine.script("postinst", "configure", "")
    assert "plugin-load-add = rowsocket.so" in machine.load.read_text()


def test_the_installation_pins_only_a_server_that_has_a_library(machine):
    machine.put("usr/libexec/rowsocket/rowsocket-updates", f"#!/bin/sh\necho \"$@\" >>'{machine.folder}/updates'\n")
    machine.script("postinst", "configure", "0.1.0")
    assert (machine.folder / "updates").read_text() == "--configured\n"


@pytest.mark.parametrize("bytes_had", ["", " 0a 1b 2c"])
def test_no_file_is_written_without_random_secrets(machine, bytes_had):
    """With an empty secret the ports would serve everybody."""
    machine.put("bin/od", f"#!/bin/sh\necho '{bytes_had}'\n")
    done = machine.run(machine.text_of("rowsocket-enable"))
    assert done.returncode == 1 and "no random bytes" in done.stderr, done.stderr
    assert not list(machine.config.iterdir())


@pytest.mark.parametrize("end", ["exit 1", "kill -TERM $PPID"])
def test_an_attempt_that_does_not_end_leaves_no_secrets(machine, end):
    machine.put("bin/mv", f"#!/bin/sh\n{end}\n")
    assert machine.run(machine.text_of("rowsocket-enable")).returncode == 1
    assert not list(machine.config.iterdir())


def test_an_unknown_option_writes_no_file(machine):
    done = machine.run(machine.text_of("rowsocket-enable"), "--of")
    assert done.returncode == 2 and "usage: rowsocket-enable" in done.stderr
    assert not list(machine.config.iterdir())


def test_an_installation_without_a_library_says_how_to_build_one(machine):
    machine.put("bin/dpkg-query", "#!/bin/sh\nprintf 1:1.3.4-1\n")
    assert f"(scripts/package --server {machine.name}-1.3 --for 1.3.4)" in machine.script("postinst", "configure", "")


def test_a_removal_and_an_installation_keep_the_secrets(machine):
    """After a removal without purge dpkg names the version that was there."""
    machine.script("postinst", "configure", "")
    text = machine.load.read_text()
    machine.script("prerm", "remove")
    assert not machine.load.exists()
    machine.script("postinst", "configure", "0.1.0")
    assert machine.load.read_text() == text
    machine.script("prerm", "remove")
    machine.script("postrm", "purge")
    assert not list(machine.config.iterdir())


@pytest.mark.parametrize("other", [False, True])
def test_a_purge_leaves_what_the_package_for_the_other_server_uses(machine, other):
    """After a change of servers the package for the first one may be left, removed and not purged."""
    kept = [machine.folder / path for path in ("etc/rowsocket/secrets", "var/lib/rowsocket/newer-server")]
    own = [machine.config / name for name in ("rowsocket_setup.cnf", "rowsocket-load.cnf.removed",
                                             "rowsocket-load.cnf.partial")]
    for file in kept + own:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    if not other:  # dpkg has removed the files of the package itself.
        (machine.folder / "usr/share/rowsocket/package.json").unlink()
    said = machine.script("postrm", "purge")
    assert [file.exists() for file in kept] == [other, other] and not any(file.exists() for file in own)
    assert ("the commands of debhelper" in said) != other, "they disable the timer, which is the other package's"


@pytest.mark.parametrize("removed", [False, True])
def test_what_the_administrator_set_aside_stays_aside(machine, removed):
    machine.script("postinst", "configure", "")
    machine.run(machine.text_of("rowsocket-enable"), "--off")
    if removed:
        machine.script("prerm", "remove")
    machine.script("postinst", "configure", "0.1.0")
    assert [file.name for file in machine.config.iterdir()] == ["rowsocket-load.cnf.off"]
    machine.run(machine.text_of("rowsocket-enable"))
    assert machine.load.exists()


@pytest.mark.parametrize("aside", ["", "off"])
def test_a_removal_that_is_taken_back_leaves_the_library_as_it_was(machine, aside):
    """dpkg takes a removal back if another package of the same change cannot be installed."""
    machine.put("usr/libexec/rowsocket/rowsocket-updates", f"#!/bin/sh\necho \"$@\" >>'{machine.folder}/updates'\n")
    machine.script("postinst", "configure", "")
    if aside:
        machine.run(machine.text_of("rowsocket-enable"), "--off")
    machine.script("prerm", "remove")
    machine.script("postinst", "abort-remove", "in-favour", "other", "1.0")
    assert machine.load.exists() != bool(aside)
    assert (machine.folder / "updates").read_text() == "--configured\n--unpin\n--configured\n"


def test_a_removal_without_python_ends_the_pin(machine):
    """The pin would outlive the package, and keep the server for ever."""
    machine.put("usr/libexec/rowsocket/rowsocket-updates", "#!/bin/sh\nexit 1\n")
    machine.put("etc/apt/preferences.d/rowsocket.pref", "")
    machine.script("prerm", "remove")
    assert not (machine.folder / "etc/apt/preferences.d/rowsocket.pref").exists()


def test_a_file_that_the_administrator_deleted_stays_away(machine):
    machine.script("postinst", "configure", "0.1.0")
    assert not machine.load.exists()


def test_what_a_removal_set_aside_comes_back_once(machine):
    machine.script("postinst", "configure", "")
    machine.script("prerm", "remove")
    machine.load.write_text("[mysqld]\n")
    machine.script("postinst", "configure", "0.1.0")
    assert machine.load.read_text() == "[mysqld]\n"
    machine.load.unlink()
    machine.script("postinst", "configure", "0.1.0")
    assert not machine.load.exists()
