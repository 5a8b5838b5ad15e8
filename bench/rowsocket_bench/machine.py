"""The facts on which a figure depends: commit, CPU, kernel, versions."""

import datetime
import os
import pathlib
import platform
import re
import subprocess

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def cache_dir():
    """The folder where scripts/bootstrap keeps its results; as in scripts/lib.sh."""
    if os.environ.get("ROWSOCKET_CACHE"):
        return pathlib.Path(os.environ["ROWSOCKET_CACHE"]).absolute()
    if os.geteuid() == 0:
        return pathlib.Path("/var/cache/rowsocket")
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(home) / "rowsocket"


def server_link():
    """The link to the measured server; scripts/bench --server names another server."""
    return cache_dir() / os.environ.get("ROWSOCKET_SERVER", "mariadb-10.11")


def is_mysql():
    """Whether the measured server is MySQL, and not MariaDB."""
    return server_link().name.startswith("mysql")


def read_env(path):
    """The NAME=VALUE lines of a file."""
    pairs = (text.split("=", 1) for text in pathlib.Path(path).read_text().splitlines()
             if "=" in text)
    return {name.strip(): value.strip().strip("'\"") for name, value in pairs}


def output_of(*command):
    """The output of a command, in one line; empty if the command cannot be run."""
    try:
        done = subprocess.run([str(part) for part in command], cwd=REPOSITORY, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=20,
                              check=False)
    except OSError:
        return ""
    return " ".join((done.stdout or done.stderr).split()) if done.returncode == 0 else ""


def commit():
    """The short commit id, with a + if tracked files differ from the commit."""
    text = output_of("git", "rev-parse", "--short=10", "HEAD") or "unknown"
    return text + ("+" if output_of("git", "status", "--porcelain", "--untracked-files=no") else "")


def cpu_model():
    found = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return found.group(1).strip() if found else platform.machine()


def memory_gib():
    kib = re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text()).group(1)
    return round(int(kib) / (1 << 20), 1)


def memcached_version():
    """The version of the measured memcached: bootstrap's, otherwise that of the one in PATH."""
    env = cache_dir() / "memcached" / "env"
    if env.exists():
        return read_env(env)["ROWSOCKET_MEMCACHED_VERSION"]
    return output_of("memcached", "--version")


def versions():
    env = read_env(server_link() / "env")
    tools = {"redis": ("redis-cli", "--version"), "sysbench": ("sysbench", "--version"),
             "compiler": ("c++", "-dumpfullversion")}
    valkey = cache_dir() / "valkey/env"
    found = {"memcached": memcached_version(),
             "valkey": read_env(valkey)["ROWSOCKET_VALKEY_VERSION"] if valkey.exists() else "",
             **{name: output_of(*command) for name, command in tools.items()}}
    return {"mysql" if is_mysql() else "mariadb": env["ROWSOCKET_SERVER_VERSION"],
            **{name: text for name, text in found.items() if text}}


def description():
    return {"time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "commit": commit(), "cpu": cpu_model(), "cores": len(os.sched_getaffinity(0)),
            "memory_gib": memory_gib(), "kernel": platform.release(), "versions": versions()}


def short_cpu(about):
    """The name of the CPU without the words that all names of its maker have."""
    return " ".join(re.sub(r"\((R|TM)\)|\b(CPU|Processor|\d+-Core)\b|@.*", " ", about["cpu"]).split())


def file_name(about):
    """DATE-CPU-COMMIT.jsonl"""
    cpu = re.sub(r"[^A-Za-z0-9]+", "-", short_cpu(about)).strip("-").lower()
    date = about["time"][:10].replace("-", "")
    return f"{date}-{cpu}-{about['commit'].rstrip('+')}.jsonl"
