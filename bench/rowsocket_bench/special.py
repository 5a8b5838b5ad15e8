"""Cases that need more than windows of load. Each function yields the values of one round after the other.
"""

import contextlib
import os
import pathlib
import re
import resource
import socket
import subprocess
import time

from . import replicas
from .loader import WindowFailed, command, metrics, run_window
from .systems import wait_until

IDLE_CYCLES = 5
FSYNCS = 300
FSYNC_BYTES = 512
# Descriptors besides those of the idle connections.
SPARE_FILES = 500


def anonymous_bytes(pid):
    """The private memory of a process: neither files nor the kernel's socket buffers."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"RssAnon:\s*(\d+)", text).group(1)) * 1024


def open_files(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def settled_files(pid):
    """The count of open files once it no longer changes: the connections of an ended run are closed a moment
    later."""
    last = [open_files(pid)]

    def unchanged():
        time.sleep(0.05)
        last.append(open_files(pid))
        return last[-1] == last[-2]

    wait_until(unchanged, "the server closes what was closed", 10)
    return last[-1]


def raise_file_limit(count):
    """Raises the limit of open files; returns how many of the connections this process may open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + SPARE_FILES
    if soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(hard, wanted)))
        except (ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            return min(count, hard - SPARE_FILES)
    return count


def connect(port, count, pid):
    """(sockets, seconds until the server had accepted all of them)"""
    before, sockets, started = settled_files(pid), [], time.monotonic()
    for _ in range(count):
        sockets.append(socket.create_connection(("127.0.0.1", port), 20))
    wait_until(lambda: open_files(pid) >= before + count, "all connections are accepted", 20)
    return sockets, time.monotonic() - started


def idle(runner, case, entry):
    """Idle connections: the memory of each, the rate of accepting them, and their cost for other connections: a window
    with them is compared with the windows before and after, because the machine drifts."""
    system, load = runner.fleet.get(entry.system), runner.plan.shaped(entry.loads[0])
    count = raise_file_limit(runner.plan.idle(dict(case.options)["connections"]))

    def window():
        return run_window(runner.plan, load, system, runner.plan.seconds(case), case.warmup_s)

    for cycle in range(runner.plan.rounds_or(IDLE_CYCLES)):
        alone = window()
        bytes_before = anonymous_bytes(system.pid)
        sockets, seconds = connect(system.port(load.workload), count, system.pid)
        try:
            taken = anonymous_bytes(system.pid) - bytes_before
            beside = window()
        finally:
            for connection in sockets:
                connection.close()
        settled_files(system.pid)
        rates = [each["replies_per_second"] for each in (alone, window())]
        values = {**metrics(beside), "accepts_s": round(count / seconds, 1),
                  "kept": round(2 * beside["replies_per_second"] / sum(rates), 4)}
        if cycle == 0:  # later cycles reuse the memory that the first has given back
            values["idle_bytes"] = round(max(0, taken) / count, 1)
        yield values


def fairness(runner, case, entry):
    """Many clients with one request each, alone and together with a client that keeps thousands of requests in
    flight."""
    system, plan = runner.fleet.get(entry.system), runner.plan
    many, greedy = (plan.shaped(load) for load in entry.loads)
    seconds = plan.seconds(case)

    def window():
        return run_window(plan, many, system, seconds, case.warmup_s)

    for _ in range(plan.rounds_or(case.rounds)):
        for statement in entry.before:
            system.run(statement)
        alone = window()
        arguments = command(plan, greedy, system, seconds + 2 * case.warmup_s + 30, 0)
        with subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as other:
            try:
                time.sleep(case.warmup_s)  # until the load has its full rate
                beside = window()
                if other.poll() is not None:
                    raise WindowFailed("the greedy client has ended by itself")
            finally:
                other.kill()
        yield {**metrics(beside),
               "kept": round(beside["replies_per_second"] / alone["replies_per_second"], 4)}


def fsync(runner, _case, _entry):
    """The latency of fdatasync after a small write, on the disk that has the servers' data."""
    path = runner.plan.base / "fsync-probe"
    times_us = []
    try:
        with path.open("wb", buffering=0) as file:
            for _ in range(FSYNCS):
                file.write(b"x" * FSYNC_BYTES)
                started = time.perf_counter()
                os.fdatasync(file.fileno())
                times_us.append((time.perf_counter() - started) * 1e6)
    finally:
        path.unlink(missing_ok=True)
    times_us.sort()
    yield {"p50_us": round(times_us[len(times_us) // 2], 1),
           "p99_us": round(times_us[int(len(times_us) * 0.99)], 1),
           "rps": round(1e6 * len(times_us) / sum(times_us), 1)}


@contextlib.contextmanager
def on_cores(pid, cores, every):
    """Runs all threads of the process, including new ones, only on these cores, and at the end on every core. The
    caller names every core, because it may avoid some of them itself."""
    def move(to):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(int(thread), to)

    move(cores)
    try:
        yield
    finally:
        move(every)


def cores(runner, case, entry):
    """The cost of a request on one core and on all, in turns, which shows how much the cores slow each other down. The
    load generator avoids the server's one core."""
    system, plan = runner.fleet.get(entry.system), runner.plan
    load, every = plan.shaped(entry.loads[0]), os.sched_getaffinity(0)
    one = {min(every)}

    def window():
        for statement in entry.before:
            system.run(statement)
        return metrics(run_window(plan, load, system, plan.seconds(case), case.warmup_s, entry.wait_s))

    for _ in range(plan.rounds_or(case.rounds)):
        os.sched_setaffinity(0, every - one or every)
        try:
            with on_cores(system.pid, one, every):
                alone = window()
        finally:
            os.sched_setaffinity(0, every)
        together = window()
        yield {**together, "one_core_rps": alone["rps"], "one_core_us": alone["total_us"]}


MEASURES = {"idle": idle, "fairness": fairness, "fsync": fsync, "fresh": replicas.fresh, "cores": cores}
