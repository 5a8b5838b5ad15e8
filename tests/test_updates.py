"""rowsocket-updates: the server stays, for a day, at a version that has a library, and everybody is told."""

import hashlib
import json
import os
import re
import socket
import subprocess
import time

import pytest

from server import REPOSITORY

pytestmark = pytest.mark.once("starts no server")
PROGRAM = REPOSITORY / "packaging/apt/rowsocket-updates"
NEWER = "1:10.11.19-0+deb12u1"
PRIORITY = re.search(r"Pin-Priority: (\d+)", (REPOSITORY / "packaging/debian/rules").read_text())[1]
PIN_TEXT = f"Package: src:mariadb\nPin: version 1:10.11.18*\nPin-Priority: {PRIORITY}\n"


class Machine:
    """A root folder with the files of the package, and an apt-cache that offers one version of the server."""

    def __init__(self, folder):
        self.root = folder
        share = folder / "usr/share/rowsocket"
        share.mkdir(parents=True)
        (share / "apt-pin").write_text(PIN_TEXT)
        (share / "package.json").write_text(json.dumps({
            "source": "mariadb", "server": "mariadb-server-core", "plugin": "mariadb-plugin-rowsocket",
            "epoch": "1:", "versions": ["10.11.18"]}))
        self.offer(NEWER)

    def offer(self, version, installed="1:10.11.18-0+deb12u1", status="installed"):
        path = self.root / "bin/apt-cache"
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\nfolder=${2#Dir::Etc::PreferencesParts=}\n"
                        f"[ -d \"$folder\" ] && cat \"$folder\"/* >'{self.root}/pins' 2>/dev/null\n"
                        f"printf 'mariadb-server-core:\\n  Installed: {installed}\\n  Candidate: {version}\\n'\n")
        path.chmod(0o755)
        query = path.with_name("dpkg-query")
        query.write_text(f"#!/bin/sh\nprintf %s '{status} {installed}'\n")
        query.chmod(0o755)

    def run(self, action, **options):
        return subprocess.run([PROGRAM, action], capture_output=True, text=True, check=False, timeout=60,
                              env={**os.environ, "ROWSOCKET_UPDATES_ROOT": str(self.root),
                                   "PATH": f"{self.root}/bin:{os.environ['PATH']}"}, **options)

    @property
    def pin(self):
        return self.root / "etc/apt/preferences.d/rowsocket.pref"

    @property
    def seen(self):
        return self.root / "var/lib/rowsocket/newer-server"

    def set_hours(self, text):
        (self.root / "etc/default").mkdir(parents=True, exist_ok=True)
        (self.root / "etc/default/rowsocket").write_text(f"ROWSOCKET_HOLD_HOURS={text}\n")

    def age(self, hours):
        version = self.seen.read_text().split()[1]
        self.seen.write_text(f"{time.time() - hours * 3600:.0f} {version}\n")


@pytest.fixture
def machine(tmp_path):
    machine = Machine(tmp_path)
    assert machine.run("--pin").stderr == ""
    return machine


def test_the_pin_is_what_the_package_says(machine):
    assert machine.pin.read_text().endswith(PIN_TEXT)
    machine.run("--unpin")
    assert not machine.pin.exists()


def test_the_pin_ends_when_its_time_is_over(machine):
    assert "is kept back until" in machine.run("--check").stdout
    machine.age(23.4)
    assert "is kept back until" in machine.run("--check").stdout and machine.pin.exists()
    machine.age(24.1)
    said = machine.run("--check").stdout
    assert "no longer kept back" in said and "scripts/package --server mariadb-10.11 --for next" in said
    assert not machine.pin.exists()
    assert "the ports stay closed" in machine.run("--status").stdout


@pytest.mark.parametrize("action", ["--configured", "--check"])
@pytest.mark.parametrize("installed,newest,status,kept", [
    (NEWER, NEWER, "installed", False),
    (NEWER, NEWER, "unpacked", False),
    (NEWER, "1:10.11.20-0+deb12u1", "installed", False),
    (NEWER, NEWER, "config-files", True),
    ("1:10.11.18-0+deb12u1", NEWER, "installed", True),
    ("1:10.11.14-0+deb12u2", NEWER, "installed", True),
    ("1:11.8.7-0+deb13u1", "1:11.8.7-0+deb13u1", "installed", False)])
def test_no_pin_beside_a_server_that_is_newer_than_its_libraries(machine, action, installed, newest, status, kept):
    """Packages of the server's source that come later would be older than it, and it would not start with them."""
    machine.offer(newest, installed, status)
    assert machine.run(action).stderr == ""
    assert machine.pin.exists() == kept
    assert kept or not machine.seen.exists()


@pytest.mark.parametrize("installed,kept", [
    ("1:10.11.19-0+deb12u1", False), ("1:10.11.18-0+deb12u1", True), ("1:11.8.5-1", True), ("1:11.8.7-1", False)])
def test_the_libraries_of_the_servers_own_line_decide_whether_it_is_pinned(machine, installed, kept):
    facts = machine.root / "usr/share/rowsocket/package.json"
    facts.write_text(json.dumps({**json.loads(facts.read_text()), "versions": ["10.11.18", "11.8.6"]}))
    machine.offer(installed, installed)
    assert machine.run("--configured").stderr == ""
    assert machine.pin.exists() == kept


def test_the_way_back_pins_beside_any_server(machine):
    machine.offer(NEWER, NEWER)
    machine.run("--configured")
    assert machine.run("--pin").stderr == "" and machine.pin.exists()


@pytest.mark.parametrize("action", ["--configured", "--check"])
def test_a_server_that_goes_back_by_hand_is_pinned_again(machine, action):
    machine.offer(NEWER, NEWER)
    machine.run(action)
    machine.run("--check")
    assert not machine.pin.exists()
    machine.offer(NEWER)
    assert "is kept back until" in machine.run("--check").stdout and machine.pin.exists()
    machine.age(24.1)
    machine.run("--check")
    assert machine.run("--check").stdout == "" and not machine.pin.exists()


@pytest.mark.parametrize("hours,actions", [
    ("24", ["--unpin"]),
    ("24", ["--configured", "--unpin"]),
    ("0", ["--configured"])])
def test_a_pin_that_somebody_took_away_does_not_come_back_with_the_server(machine, hours, actions):
    machine.offer(NEWER, NEWER)
    machine.set_hours(hours)
    for action in [*actions, "--check"]:
        machine.run(action)
    machine.offer(NEWER)
    assert machine.run("--check").stderr == "" and not machine.pin.exists()


def test_a_pin_whose_time_was_over_does_not_come_back_with_the_server(machine):
    machine.run("--check")
    machine.age(24.1)
    machine.run("--check")
    machine.offer(NEWER, NEWER)
    machine.run("--check")
    machine.offer(NEWER)
    machine.run("--check")
    assert not machine.pin.exists()


@pytest.mark.parametrize("default_release", ["", "bookworm", "/^bookworm(|-security|-updates)$/"])
def test_apt_keeps_the_server_by_the_pin_whatever_release_it_prefers(tmp_path, default_release):
    """apt gives 990 to each version of a release that the administrator prefers; it takes the newest of equal ones."""
    versions = ("1:10.11.18-0+deb12u1", NEWER)
    packages = "".join(f"Package: mariadb-server-core\nSource: mariadb\nVersion: {version}\nArchitecture: all\nFilename: x\nSize: 1\n\n"
                       for version in versions).encode()
    lists = tmp_path / "dists/bookworm"
    (lists / "main/binary-all").mkdir(parents=True)
    (lists / "main/binary-all/Packages").write_bytes(packages)
    digest = hashlib.sha256(packages).hexdigest()
    (lists / "Release").write_text("Suite: oldstable\nCodename: bookworm\nComponents: main\nArchitectures: all\n"
                                   f"SHA256:\n {digest} {len(packages)} main/binary-all/Packages\n")
    (tmp_path / "sources.list").write_text(f"deb [trusted=yes] file:{tmp_path} bookworm main\n")
    (tmp_path / "preferences").write_text(PIN_TEXT)
    (tmp_path / "status").write_text("")
    (tmp_path / "cache/archives/partial").mkdir(parents=True)
    (tmp_path / "state/lists/partial").mkdir(parents=True)
    options = {"Dir::Etc::SourceList": "sources.list", "Dir::Etc::SourceParts": "none", "Dir::Etc::Preferences": "preferences",
               "Dir::Etc::PreferencesParts": "none", "Dir::State": "state", "Dir::State::Status": "status", "Dir::Cache": "cache"}
    arguments = [word for name, value in options.items() for word in ("-o", f"{name}={tmp_path / value}")]
    arguments += ["-o", "APT::Sandbox::User=", "-o", f"APT::Default-Release={default_release}"]
    subprocess.run(["apt-get", *arguments, "update"], check=True, capture_output=True)
    said = subprocess.run(["apt-cache", *arguments, "policy", "mariadb-server-core"], check=True, capture_output=True, text=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout
    assert all(version in said for version in versions) and f"Candidate: {versions[0]}\n" in said, said


def test_the_pins_of_the_administrator_count(machine):
    (machine.pin.parent / "mine.pref").write_text("Package: mine\n")
    machine.run("--status")
    assert (machine.root / "pins").read_text() == "Package: mine\n"


def test_a_second_upload_within_the_day_starts_no_day_of_its_own(machine):
    machine.run("--check")
    machine.age(23)
    machine.offer("1:10.11.20-0+deb12u1")
    machine.run("--check")
    since, version = machine.seen.read_text().split()
    assert time.time() - float(since) > 22 * 3600 and version == "1:10.11.20-0+deb12u1"
    assert "10.11.20-0+deb12u1 is kept back until" in machine.run("--status").stdout
    machine.age(24.1)
    assert "no longer kept back" in machine.run("--check").stdout and not machine.pin.exists()


def test_what_waits_after_an_end_has_its_own_day(machine):
    machine.run("--check")
    machine.age(23)
    machine.offer("1:10.11.18-0+deb12u1")
    machine.run("--check")
    machine.offer("1:10.11.20-0+deb12u1")
    machine.run("--check")
    assert time.time() - float(machine.seen.read_text().split()[0]) < 3600


def test_a_check_once_a_day_ends_the_pin_after_one_day(machine):
    """cron calls it some seconds earlier or later than the day before."""
    machine.run("--check")
    machine.age(23.99)
    machine.run("--check")
    assert not machine.pin.exists()


@pytest.mark.parametrize("hours,pinned", [(24.1, False), (5, True)])
def test_an_installation_gives_what_waits_no_other_day(machine, hours, pinned):
    machine.run("--check")
    machine.age(hours)
    for action in ("--check", "--check", "--configured", "--check"):
        assert machine.run(action).stderr == ""
    assert machine.pin.exists() == pinned
    assert float(machine.seen.read_text().split()[0]) == pytest.approx(time.time() - hours * 3600, abs=60)


@pytest.mark.parametrize("versions,installed", [
    (["10.11.18", "10.11.19"], "1:10.11.18-0+deb12u1"), (["10.11.20"], "1:10.11.20-0+deb12u1")])
def test_a_package_with_the_library_that_was_missing_pins_again(machine, versions, installed):
    """The server may have been upgraded since the last check, to a still newer version."""
    machine.run("--check")
    machine.age(24.1)
    machine.run("--check")
    facts = machine.root / "usr/share/rowsocket/package.json"
    facts.write_text(json.dumps({**json.loads(facts.read_text()), "versions": versions}))
    machine.offer(installed, installed)
    machine.run("--configured")
    assert machine.pin.exists() and not machine.seen.exists()


@pytest.mark.parametrize("hours,kept", [("1", False), ("3", True),  ("none", True), ("99999", True)])
def test_the_time_is_a_setting(machine, hours, kept):
    machine.set_hours(hours)
    machine.run("--check")
    machine.age(2)
    machine.run("--check")
    assert machine.pin.exists() == kept


def test_zero_hours_keep_nothing_back(machine):
    machine.set_hours("0")
    machine.run("--unpin")
    machine.run("--pin")
    assert not machine.pin.exists()


@pytest.mark.parametrize("action", ["--pin", "--check"])
@pytest.mark.parametrize("version", [NEWER, "1:10.11.18-0+deb12u1"])
def test_zero_hours_end_a_pin_that_is_there(machine, action, version):
    """Also where nothing waits yet: the next security update would."""
    machine.offer(version)
    machine.set_hours("0")
    machine.run(action)
    assert not machine.pin.exists()


@pytest.mark.parametrize("version", ["1:10.11.18-0+deb12u1", "1:10.11.18-0+deb12u2", "(none)"])
def test_nothing_is_said_where_nothing_waits(machine, version):
    machine.offer(version)
    assert machine.run("--status").stdout == "" and machine.run("--check").stdout == ""
    assert machine.pin.exists() and not machine.seen.exists()


def test_a_metric_for_node_exporter(machine):
    folder = machine.root / "var/lib/prometheus/node-exporter"
    folder.mkdir(parents=True)
    machine.run("--check")
    assert "\nrowsocket_server_update_waits 1\n" in (folder / "rowsocket.prom").read_text()
    machine.offer("1:10.11.18-0+deb12u1")
    machine.run("--check")
    assert "\nrowsocket_server_update_waits 0\n" in (folder / "rowsocket.prom").read_text()


def test_the_pin_ends_at_once_before_a_server_of_another_line(machine):
    """An upgrade of the release is watched by somebody, the end of the day by nobody."""
    machine.offer("1:11.8.6-0+deb13u1")
    assert "kept back" not in machine.run("--status").stdout, "it is not until the next check"
    said = machine.run("--check").stdout
    assert "the ports stay closed" in said and "scripts/package --server mariadb-11.8 --for next" in said
    machine.run("--configured")
    machine.run("--check")
    assert not machine.pin.exists()
    machine.run("--pin")
    assert machine.pin.exists()


def test_the_pin_takes_the_server_to_a_line_that_has_a_library(machine):
    facts = machine.root / "usr/share/rowsocket/package.json"
    facts.write_text(json.dumps({**json.loads(facts.read_text()), "versions": ["10.11.18", "11.8.6"]}))
    machine.offer("1:11.8.7-0+deb13u1")
    assert "is kept back until" in machine.run("--check").stdout and machine.pin.exists()


@pytest.mark.parametrize("packages,said", [
    ([], "is kept back until"),
    ([{"name": "mariadb-plugin-rowsocket", "mode": "deinstall"}], "its ports close")])
def test_apt_is_told(machine, packages, said):
    printed = hook(machine, packages)
    assert printed.startswith("\nRowsocket: ") and said in printed


def test_apt_ends_the_pin_before_a_server_of_another_line(machine):
    machine.offer("1:11.8.6-0+deb13u1")
    assert "the ports stay closed until" in (printed := hook(machine, [])) and "run apt again" in printed
    assert not machine.pin.exists() and "run apt again" not in hook(machine, [])


def hook(machine, packages):
    """What is printed when apt is going to change these packages."""
    ours, apts = socket.socketpair()
    env = {**os.environ, "APT_HOOK_SOCKET": str(apts.fileno()), "ROWSOCKET_UPDATES_ROOT": str(machine.root),
           "PATH": f"{machine.root}/bin:{os.environ['PATH']}"}

    def send(method, params):
        ours.sendall(json.dumps({"jsonrpc": "2.0", "id": 0, "method": f"org.debian.apt.hooks.{method}",
                                 "params": params}).encode() + b"\n\n")

    with ours, apts, subprocess.Popen([PROGRAM, "--apt-hook"], stdout=subprocess.PIPE, text=True, env=env,
                                      pass_fds=[apts.fileno()]) as program:
        send("hello", {"versions": ["0.1", "0.2"]})
        assert json.loads(ours.recv(4096))["result"] == {"version": "0.1"}
        send("install.statistics", {"packages": packages})
        send("bye", {})
        return program.communicate(timeout=60)[0]


def test_nothing_stops_apt(machine):
    (machine.root / "bin/apt-cache").write_text("#!/bin/sh\nexit 3\n")
    for action in ("--check", "--status", "--apt-hook", "--pin", "--configured"):
        assert machine.run(action).returncode == 0
