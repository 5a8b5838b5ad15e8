"""Other projects' load generators, mysqlslap, sysbench and redis-benchmark, as a check of rowsocket-load. Their output
becomes an object like that of rowsocket-load, as far as they print its values.
"""

import csv
import io
import os
import pathlib
import random
import re
import subprocess

from . import redis_servers
from .machine import read_env, server_link

SLAP_QUERIES_S = 20_000  # about as many as a server of 2 cores answers in a second
SLAP_DIFFERENT = 20_000
LUA = pathlib.Path(__file__).with_name("point_select.lua")


def cpu_times(pid):
    """(user, system) seconds that a process has used, with its ended threads."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    tick = os.sysconf("SC_CLK_TCK")
    return int(fields[11]) / tick, int(fields[12]) / tick


def _run(command, timeout_s):
    done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=timeout_s, check=False)
    if done.returncode != 0:
        raise OSError(f"{command[0]}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


def parse_slap(text, queries):
    """(requests/s, requests)"""
    seconds = float(re.search(r"Average number of seconds to run all queries: ([\d.]+)",
                              text).group(1))
    return queries / max(seconds, 0.001), queries


def slap(plan, load, system, seconds):
    choose = random.Random(1)
    queries = int(SLAP_QUERIES_S * seconds) // load.connections * load.connections
    file = system.directory / "tmp" / "slap.sql"
    file.write_text("".join(
        "SELECT user_name,user_email,created FROM user WHERE user_id="
        f"{choose.randint(1, plan.rows)};\n" for _ in range(min(queries, SLAP_DIFFERENT))))
    program = pathlib.Path(read_env(server_link() / "env")["ROWSOCKET_SERVER_PREFIX"])
    text = _run([program / "usr/bin/mariadb-slap", "--no-defaults", "--host=127.0.0.1",
                 f"--port={system.env['SQL_PORT']}", "--user=root", "--create-schema=test",
                 "--no-drop", f"--concurrency={load.connections}", f"--number-of-queries={queries}",
                 f"--query={file}", "--delimiter=;"], 60)
    return parse_slap(text, queries)


def parse_sysbench(text):
    """(requests/s, requests)"""
    found = re.search(r"queries:\s+(\d+)\s+\(([\d.]+) per sec\.\)", text)
    return float(found.group(2)), int(found.group(1))


def sysbench(plan, load, system, seconds):
    text = _run(["sysbench", LUA, f"--threads={load.connections}", f"--time={max(1, int(seconds))}",
                 "--db-driver=mysql", "--mysql-host=127.0.0.1", "--mysql-db=test",
                 f"--mysql-port={system.env['SQL_PORT']}", "--mysql-user=root",
                 "--db-ps-mode=disable", f"--rows={plan.rows}", "run"], 60)
    return parse_sysbench(text)


REDIS_REQUESTS_S = 200_000  # for each second that a window should last


def parse_redis_benchmark(text):
    """requests/s"""
    return float(next(csv.DictReader(io.StringIO(text)))["rps"])


def fill_for_redis_benchmark(load, system):
    """Sets the keys that redis-benchmark will get: with so many random requests that hardly any key is left out."""
    if load.option("command") == "get" and not getattr(system, "has_benchmark_keys", False):
        fill = load.with_options(command="set")
        _run(redis_servers.benchmark_command(fill, system.port("redis-set"), 5 * load.option("keys")), 60)
        system.has_benchmark_keys = True


def redis_benchmark(_plan, load, system, seconds):
    requests = int(REDIS_REQUESTS_S * seconds)
    text = _run(redis_servers.benchmark_command(load, system.port(load.workload), requests), 60)
    return parse_redis_benchmark(text), requests


PROGRAMS = {"mysqlslap": slap, "sysbench": sysbench, "redis-benchmark": redis_benchmark}


def run_window(plan, load, system, seconds):
    if load.workload == "redis-benchmark":
        fill_for_redis_benchmark(load, system)
    before = cpu_times(system.pid)
    rate, requests = PROGRAMS[load.workload](plan, load, system, seconds)
    user_s, sys_s = (after - before for after, before in zip(cpu_times(system.pid), before))
    return {"replies_per_second": rate, "seconds": seconds,
            "server_cpu": {"user_s": user_s, "sys_s": sys_s,
                           "per_request_us_user": user_s / requests * 1e6,
                           "per_request_us_total": (user_s + sys_s) / requests * 1e6}}
