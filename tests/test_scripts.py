"""The scripts: their behavior when they are ended, and on a machine that lacks something."""

import errno
import fcntl
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess

import pytest

from rowsocket_bench import cli
from server import REPOSITORY, cache_dir, free_port, interrupt_on_signals, wait_until

pytestmark = pytest.mark.once("starts no server")

LIB = f'. "{REPOSITORY}/scripts/lib.sh"; set -euo pipefail; '
PACKAGES = f'{LIB} . "{REPOSITORY}/scripts/lib/packages.sh"; '
TIMEOUT_S = 60


def bash(text, *arguments, **env):
    done = subprocess.run(["bash", "-c", text, "script", *map(str, arguments)], text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=TIMEOUT_S, check=False,
                          env={**os.environ, **env})
    return done.returncode, done.stdout


# --- Steps ---

def opened_by_a_reader(pipe):
    """The end of the pipe to write to; None while no process reads from it."""
    try:
        return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        assert error.errno == errno.ENXIO
        return None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_step_ends_with_its_script(tmp_path, number):
    """All processes of the step end: its own child reads from a pipe without a writer."""
    os.mkfifo(tmp_path / "pipe")
    text = LIB + """
        step() { cat "$1"; echo "cat has ended"; }
        run_step "a long step" "$2" step "$1"
    """
    command = ["bash", "-c", text, "script", tmp_path / "pipe", tmp_path / "log"]
    with subprocess.Popen(["env", "--default-signal=INT,TERM,HUP", *command],
                          stdin=subprocess.DEVNULL) as script:
        write_end = wait_until(lambda: opened_by_a_reader(tmp_path / "pipe"), TIMEOUT_S,
                               "the child that reads")
        try:
            script.send_signal(number)
            assert script.wait(TIMEOUT_S) == 130
            poll = select.poll()
            poll.register(write_end, 0)
            assert poll.poll(TIMEOUT_S * 1000) == [(write_end, select.POLLERR)], "still being read"
        finally:
            os.close(write_end)


def test_a_step_says_how_it_went_and_leaves_traps_as_they_were(tmp_path):
    code, said = bash(LIB + """
        trap 'echo ended; exit 7' TERM
        before=$(trap -p)
        run_step "a good one" "$1" true
        ! run_step "a bad one" "$1" bash -c 'echo why; exit 3'
        run_step "one with a pipeline" "$1" bash -c 'echo a | cat | grep -q a; [[ ! -t 0 ]]'
        [[ $(trap -p) == "$before" && $- != *m* ]] || echo "left behind: $(trap -p) $-"
        kill -TERM $$
    """, tmp_path / "log")
    assert code == 7, said
    assert "failed: a bad one" in said and "why" in said
    assert said.endswith("ended\n") and "left behind" not in said


# --- The cache folder ---

def test_the_cache_folder_is_absolute_also_for_what_is_called(tmp_path):
    code, said = bash(f'cd "$1"; {LIB} echo "$cache_dir"; cd /; bash -c \'{LIB} echo "$cache_dir"\'',
                      tmp_path, ROWSOCKET_CACHE="there/../here")
    assert (code, said) == (0, f"{tmp_path}/here\n" * 2)


def test_the_search_path_of_cd_does_not_lead_astray(tmp_path):
    text = LIB.replace(str(REPOSITORY / "scripts"), "scripts") + 'echo "$repo_dir"'
    assert bash(f'cd "{REPOSITORY}"; {text}', CDPATH=f"{REPOSITORY}:{tmp_path}") == (0, f"{REPOSITORY}\n")


def test_each_python_has_a_virtual_environment_of_its_own(tmp_path):
    for version in ("3 11", "3 13"):
        (tmp_path / version).write_text(f"#!/bin/sh\necho {version}\n")
        (tmp_path / version).chmod(0o755)
    code, said = bash(LIB + 'for python; do system_python() { echo "$python"; }; venv_dir; done',
                      *(tmp_path / version for version in ("3 11", "3 11", "3 13", "none")))
    first, again, other, without = said.split()
    assert code == 0 and first == again and len({first, other, without}) == 3, said


def test_a_blank_in_the_cache_folder_is_refused(tmp_path):
    code, said = bash(LIB, ROWSOCKET_CACHE=str(tmp_path / "a b"))
    assert code == 1 and "has a blank in its path: set ROWSOCKET_CACHE" in said


# --- Packages ---

def test_package_lists_that_another_apt_get_holds_are_waited_for(tmp_path):
    code, said = bash(PACKAGES + """
        tries=$1
        as_root() {
          echo again >>"$tries"
          [[ $(wc -l <"$tries") -ge 3 ]] || { echo "E: Could not get lock /l/lock" >&2; return 100; }
        }
        sleep() { :; }
        refresh_package_lists
    """, tmp_path / "tries")
    assert code == 0, said
    assert (tmp_path / "tries").read_text().count("again") == 3


def test_package_lists_that_cannot_be_had_are_asked_for_once(tmp_path):
    code, said = bash(PACKAGES + """
        as_root() { echo again; return 100; }
        refresh_package_lists || echo failed
    """)
    assert (code, said) == (0, "again\nfailed\n")


NO_NETWORK = """
    apt() {
      echo "W: Failed to fetch http://mirror/InRelease  Could not resolve 'mirror'"
      for each in {1..20}; do printf 'W: Failed to fetch http://mirror/%s %900s\\n' "$each" reason; done
      "$@"
    }
    apt_dir=$PWD
"""


def test_a_network_that_is_down_is_told(tmp_path):
    """apt-get update warns of the files that it could not fetch, and succeeds."""
    told = "is the network up? http://mirror/InRelease  Could not resolve 'mirror'"
    code, said = bash(PACKAGES + NO_NETWORK + """
        missing_packages() { echo a-package; }
        sudo() { :; }
        apt_install() { if [[ $1 == update ]]; then apt true; else false; fi; }
        install_missing_packages library
    """)
    assert code == 1 and f"apt-get install failed; a package list could not be fetched, {told}" in said, said
    reading = f"""
        cd {tmp_path}
        . "{REPOSITORY}/scripts/lib/private_apt.sh"
        {NO_NETWORK}
        write_private_sources() {{ :; }}
    """
    code, said = bash(PACKAGES + reading + "private_apt() { apt true; }; read_private_lists bookworm")
    assert code == 1 and f"package lists cannot be read; {told}" in said, said
    code, said = bash(PACKAGES + reading + """
        private_apt() { apt touch "$apt_dir/lists/other_Packages.lz4"; }
        read_private_lists bookworm
    """)
    assert code == 0 and "a package list could not be fetched, and is done without: http://mirror" in said, said


def test_the_proxy_of_the_environment_is_that_of_sudo(tmp_path):
    (tmp_path / "apt-get").write_text('#!/bin/sh\necho "$http_proxy $no_proxy ${https_proxy-none} $*"\n')
    (tmp_path / "apt-get").chmod(0o755)
    code, said = bash(PACKAGES + """
        unset https_proxy
        as_root() { env -i PATH="$PATH" "$@"; }
        apt_install update
    """, http_proxy="http://proxy:3128", no_proxy="a, b", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert code == 0 and said.startswith("http://proxy:3128 a, b none -q -y") and said.endswith("update\n"), said


def test_the_proxy_of_the_environment_is_that_of_a_machine_of_the_tests():
    code, said = bash(LIB + f"""
        . "{REPOSITORY}/scripts/lib/package_test.sh"
        unset https_proxy
        unshare() {{ while [[ $1 != chroot ]]; do shift; done; "${{@:3}}"; }}
        on_machine / env
    """, http_proxy="http://proxy:3128", no_proxy="a, b")
    assert code == 0 and {"http_proxy=http://proxy:3128", "no_proxy=a, b", "HOME=/"} <= set(said.splitlines()), said
    assert "https_proxy" not in said, said


def test_dpkg_finds_its_programs_after_a_plain_su(tmp_path):
    (tmp_path / "apt-get").write_text("#!/bin/sh\ncommand -v ldconfig && command -v start-stop-daemon\n")
    (tmp_path / "apt-get").chmod(0o755)
    code, said = bash(PACKAGES + "is_root() { true; }; apt_install update", PATH=f"{tmp_path}:/usr/bin:/bin")
    assert code == 0 and "sbin/ldconfig\n" in said and "sbin/start-stop-daemon\n" in said, said


def test_what_is_searched_is_said_in_english():
    code, said = bash(PACKAGES + f"""
        . "{REPOSITORY}/scripts/lib/private_apt.sh"
        program() {{ env | grep ^LC_ALL=; }}
        private_apt program
    """, LC_ALL="C.UTF-8")
    assert (code, said) == (0, "LC_ALL=C\n")


def test_packages_on_hold_are_there():
    code, said = bash(PACKAGES + """
        dpkg-query() {
          printf '%s\\n' "held hold ok installed" "kept install ok installed" \\
            "removed deinstall ok config-files"
        }
        missing_packages held kept removed
    """)
    assert (code, said) == (0, "removed\n")


def test_the_library_needs_no_package_of_tests_and_benchmarks():
    code, said = bash(PACKAGES + "packages_for library")
    assert code == 0
    assert not {"clang-14", "valgrind", "sysbench", "redis-tools", "python3-venv", "libgtest-dev",
                "strace", "libmariadb-dev"} & set(said.split())


# --- A build ---

@pytest.fixture
def copy(tmp_path):
    """A checkout whose bootstrap, and a cmake whose every call, only notes in order that it ran."""
    shutil.copytree(REPOSITORY / "scripts", tmp_path / "scripts")
    for program in (tmp_path / "scripts/bootstrap", tmp_path / "bin/cmake"):
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\necho "${{0##*/}}" >>"{tmp_path}/order"\n')
        program.chmod(0o755)
    return tmp_path


def waits_for(copy, lock, *command):
    """What the command says, which another process keeps waiting until it says that it waits."""
    lock.parent.mkdir(exist_ok=True)
    with open(lock, "w", encoding="ascii") as held, open(copy / "said", "w", encoding="utf-8") as said:
        fcntl.flock(held, fcntl.LOCK_EX)
        with subprocess.Popen([copy / "scripts" / command[0], *command[1:]], stdin=subprocess.DEVNULL, stdout=said,
                              stderr=said, env={**os.environ, "ROWSOCKET_CACHE": str(copy / "cache"),
                                                "PATH": f"{copy}/bin:{os.environ['PATH']}"}) as script:
            wait_until(lambda: "waiting for another" in (copy / "said").read_text(), TIMEOUT_S, "the wait")
            with open(copy / "order", "a", encoding="ascii") as order:
                order.write("the other one ends\n")
            fcntl.flock(held, fcntl.LOCK_UN)
            script.wait(TIMEOUT_S)
    return (copy / "order").read_text().splitlines()


def test_a_quickstart_waits_for_another_one(copy):
    assert waits_for(copy, copy / "cache/quickstart.lock", "quickstart") == ["the other one ends", "bootstrap"]


def test_a_build_waits_for_another_one_of_its_folder(copy):
    assert waits_for(copy, copy / "build-sanitize/.lock", "build", "sanitize") == [
        "bootstrap", "the other one ends", "cmake", "cmake"]


@pytest.mark.parametrize("available_mb, limits, jobs", [
    (50_000, ["max", "9223372036854771712", None], ""), (1500, ["max"], "2"), (50_000, [None, str(800 << 20)], "1"),
    (300, [], "1"), (None, [], "")])
def test_compilers_find_room_in_memory(tmp_path, available_mb, limits, jobs):
    """A machine of sixteen processors; None: there is no such file."""
    files = [("" if available_mb is None else f"MemAvailable: {available_mb << 10} kB\n"), *limits]
    for number, content in enumerate(files):
        if content is not None:
            (tmp_path / str(number)).write_text(content)
    text = LIB + f"""
        . "{REPOSITORY}/scripts/lib/build_jobs.sh"
        nproc() {{ echo 16; }}
        limit_jobs "$@" >&2
        echo "jobs:$CMAKE_BUILD_PARALLEL_LEVEL"
    """
    code, said = bash("export CMAKE_BUILD_PARALLEL_LEVEL=; " + text,
                      *(tmp_path / str(number) for number in range(len(files))))
    assert code == 0 and said.endswith(f"jobs:{jobs}\n"), said


@pytest.mark.parametrize("option", ["--report", "--publish", "--publish-beside", "--publish-servers"])
def test_showing_results_builds_nothing(tmp_path, option):
    code, said = bash('exec "$1" "$2" "$3"', REPOSITORY / "scripts/bench", option,
                      tmp_path / "none.jsonl")
    assert code == 1 and "none.jsonl" in said
    assert "building" not in said


@pytest.mark.parametrize("options", ["--server none start DIR", "--server=none start DIR",
                                     "start DIR --server none", "start DIR --server=none"])
def test_the_server_may_be_named_in_front_of_the_command(tmp_path, options):
    code, said = bash('exec "$@"', REPOSITORY / "scripts/server",
                      *options.replace("DIR", str(tmp_path / "data")).split())
    assert code == 1 and "there is no server 'none'" in said


@pytest.mark.parametrize("command", ["bootstrap --version", "server start DIR --plugin", "cluster start DIR --nodes",
                                     "cluster start DIR --sst", "test bare --release"])
def test_an_option_without_its_value_is_told(tmp_path, command):
    program, *words = command.replace("DIR", str(tmp_path / "data")).split()
    code, said = bash('exec "$@"', REPOSITORY / "scripts" / program, *words, ROWSOCKET_CACHE=str(tmp_path / "cache"))
    assert code != 0 and f"scripts/{program} " in said, said


def test_a_folder_keeps_the_server_of_its_data(tmp_path):
    for server in ("mysql-9.7", "mariadb-10.11"):
        (tmp_path / "cache" / server).mkdir(parents=True)
        (tmp_path / "cache" / server / "env").write_text("ROWSOCKET_SERVER_PREFIX=/nowhere\n")
    folder = tmp_path / "folder"
    (folder / "data").mkdir(parents=True)
    (folder / "server").write_text("mysql-9.7\n")
    code, said = bash('exec "$@"', REPOSITORY / "scripts/server", "start", folder, "--server", "mariadb-10.11",
                      ROWSOCKET_CACHE=str(tmp_path / "cache"))
    assert code == 1 and f"{folder} has data of mysql-9.7: name that server" in said
    assert (folder / "server").read_text() == "mysql-9.7\n"


def test_a_thread_of_the_kernel_is_no_server_that_is_ending(tmp_path):
    """The stat files are those of Linux for its thread kthreadd, and of a shell with a blank in its name."""
    (tmp_path / "kernel").write_text("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 1 0 0\n")
    (tmp_path / "shell").write_text("77 (a) sh) S 1 77 77 0 -1 4194560 99 0 0 0 0 0 0 0 20 0 1 0 1 0 0\n")
    code, said = bash(LIB + f"""
        . "{REPOSITORY}/scripts/lib/server_process.sh"
        for file; do is_kernel_thread "$file" && echo kernel || echo no; done
        for stat in /proc/[0-9]*/stat; do
          is_kernel_thread "$stat" || continue
          ! is_ending "$(basename "${{stat%/stat}}")" || echo "ending: $stat"
          break
        done
    """, tmp_path / "kernel", tmp_path / "shell", tmp_path / "missing")
    assert (code, said) == (0, "kernel\nno\nno\n")


@pytest.mark.parametrize("sparse, at_most, at_least", [("1", 1 << 16, 0), ("", 1 << 30, 1 << 22)])
def test_data_directories_of_tests_have_no_zeros_on_the_disk(tmp_path, sparse, at_most, at_least):
    template = tmp_path / "template"
    template.mkdir()
    (template / "log").write_bytes(b"begin" + bytes(1 << 22) + b"end")
    code, said = bash(LIB + f'. "{REPOSITORY}/scripts/lib/server_process.sh"; dir=$1; make_data_directory', tmp_path,
                      ROWSOCKET_SERVER_DATADIR=str(template), ROWSOCKET_SPARSE_DATA=sparse)
    assert code == 0, said
    made = tmp_path / "data" / "log"
    assert made.read_bytes() == (template / "log").read_bytes()
    assert at_least <= 512 * made.stat().st_blocks <= at_most


# --- Ends from outside ---

@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("prepare, end", [(cli.end_orderly_on_signals, SystemExit),
                                          (interrupt_on_signals, KeyboardInterrupt)])
def test_servers_are_stopped_at_an_end_from_outside(prepare, end, number):
    before = {each: signal.signal(each, signal.SIG_DFL) for each in (signal.SIGTERM, signal.SIGHUP)}
    try:
        prepare()
        with pytest.raises(end):
            signal.raise_signal(number)
        signal.signal(number, signal.SIG_IGN)  # as nohup does
        prepare()
        assert signal.getsignal(number) == signal.SIG_IGN
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


# --- The torture ---

@pytest.fixture
def called(tmp_path):
    """called(arguments): what scripts/torture says, and what it calls, each with its server. What it calls are
    programs that only note their names."""
    def said(*arguments, **env):
        scripts = tmp_path / "checkout/scripts"
        shutil.copytree(REPOSITORY / "scripts", scripts)
        python = subprocess.run(["bash", "-c", '. "$0/lib.sh" && venv_dir', scripts], capture_output=True, text=True,
                                check=True, env={**os.environ, "ROWSOCKET_CACHE": str(tmp_path)}).stdout.strip()
        for program in (scripts / "bootstrap", scripts / "build", pathlib.Path(python, "bin/python")):
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text('#!/bin/bash\necho "${0##*/} ${*##*/} in $ROWSOCKET_SERVER"\n')
            program.chmod(0o755)
        return bash('exec "$@"', scripts / "torture", *arguments, ROWSOCKET_CACHE=str(tmp_path), **env)
    return said


@pytest.mark.parametrize("arguments", [
    ("--server", "mysql-9.7", "--only", "sale"), ("--only", "sale", "--server=mysql-9.7")])
def test_the_torture_builds_and_plays_in_the_server_that_it_is_told(called, arguments):
    assert called(*arguments, ROWSOCKET_SERVER="mariadb-11.8") == (
        0, "bootstrap live in mysql-9.7\nbuild release in mysql-9.7\npython torture.py --only sale in mysql-9.7\n")


@pytest.mark.parametrize("arguments", [("--server", "oracle-23"), ("--server",)])
def test_the_torture_refuses_a_server_that_there_is_not(called, arguments):
    code, said = called("--rounds", "1", *arguments)
    assert code == 1 and "--server and ROWSOCKET_SERVER name one of" in said and "in m" not in said


# --- Ports ---

def test_a_port_belongs_to_its_folder_while_that_exists(tmp_path):
    """RANDOM begins anew, so that the same ports are tried."""
    text = LIB + """
        . "$1/scripts/lib/server_ports.sh"
        port_is_free() { :; }
        mkdir "$2/node" "$2/other"
        RANDOM=1; free_ports 5 "$2/node" >"$2/first"
        RANDOM=1; free_ports 5 >"$2/second"
        RANDOM=1; free_ports 5 "$2/other" >"$2/third"
        rmdir "$2/node"
        RANDOM=1; free_ports 5 >"$2/fourth"
    """
    status, output = bash(text, REPOSITORY, tmp_path, ROWSOCKET_CACHE=str(tmp_path / "cache"))
    assert (status, output) == (0, "")
    first, second, third, fourth = ((tmp_path / name).read_text().split() for name in ("first", "second", "third", "fourth"))
    assert len({*first, *second}) == 10 and second == third and fourth == first


def test_ports_that_cannot_be_noted_end_the_script(tmp_path):
    """Not an endless search: here a file is where the folder would be."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache/ports").write_text("")
    text = LIB + '. "$1/scripts/lib/server_ports.sh"; free_ports 3 "$2"'
    status, output = bash(text, REPOSITORY, tmp_path, ROWSOCKET_CACHE=str(tmp_path / "cache"))
    assert status != 0 and f"cannot make the folder {tmp_path}/cache/ports" in output


def test_a_port_for_a_test_is_below_those_of_outgoing_connections():
    """It is left alone by other runs as long as this process lives."""
    ports = [free_port() for _ in range(20)]
    first = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert len(set(ports)) == 20 and max(ports) < max(first, 32_000)
    assert all(os.path.isdir((cache_dir() / "ports" / str(port)).read_text().strip()) for port in ports)


@pytest.fixture
def listener_of_nobody():
    """(process, port): a process that listens on the port of loopback; of the user nobody where root tests."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        as_nobody = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []
        command = [*as_nobody, "sleep", str(TIMEOUT_S)]
        with subprocess.Popen(command, pass_fds=[listening.fileno()]) as process:
            comm = pathlib.Path(f"/proc/{process.pid}/comm")
            wait_until(lambda: comm.read_text() == "sleep\n", TIMEOUT_S, "the process of nobody")
            port = listening.getsockname()[1]
            listening.close()
            yield process.pid, port
            process.kill()


@pytest.mark.parametrize("sees_sockets", (True, False))
def test_root_of_a_container_sees_that_a_server_of_another_user_listens(listener_of_nobody, sees_sockets):
    """Docker's and Podman's root has no CAP_SYS_PTRACE, without which the other user's sockets have no owner. Who is
    not root has no such privilege to give up: there `find` finds none."""
    pid, port = listener_of_nobody
    free = bash(LIB + f'. "{REPOSITORY}/scripts/lib/server_ports.sh"; free_ports 1')[1].strip()
    is_root = os.geteuid() == 0
    text = LIB + f"""
        . "{REPOSITORY}/scripts/lib/server_ports.sh"
        {"" if is_root or sees_sockets else "find() { false; }"}
        process_listens {pid} {port} && echo listens
        process_listens {pid} {free} || echo "does not listen"
    """
    gives_up = ["setpriv", "--bounding-set=-sys_ptrace"] if is_root and not sees_sockets else []
    assert bash('exec "$@"', *gives_up, "bash", "-c", text) == (0, "listens\ndoes not listen\n")
