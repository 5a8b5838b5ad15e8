"""Measures cases: the entries of a case in turns, round by round, so that a drift of the machine's speed
affects all entries alike; prints its progress, and stops in time.
"""

import contextlib
import subprocess
import time

import pymysql

from . import conserve, galera, replicas, special, stats
from .loader import WindowFailed, metrics, run_window
from .model import metric_text
from .systems import Unavailable

SWEEP_SECONDS = 0.5
START_S = 4  # seconds to start a system, with its copy of the tables
FAILURES_MAX = 2  # failed windows of an entry, after which the entry is given up in this case
QUICK_TRIES = 7  # of a window, in a quick run
TROUBLE = (Unavailable, WindowFailed, OSError, pymysql.MySQLError, subprocess.SubprocessError)


def estimates(cases):
    """Seconds that each case takes, by id, including the start of systems that no earlier case needs."""
    started, found = set(), {}
    for case in cases:
        found[case.id] = case.estimated_s() + START_S * len(case.systems() - started)
        started |= case.systems()
    return found


class Progress:
    """One line per case: its number, its duration, and the time that is left."""

    def __init__(self, cases, say, clock=time.monotonic):
        self.say, self.clock = say, clock
        self.started = clock()
        self.estimates = estimates(cases)
        self.total_s = sum(self.estimates.values())
        self.count, self.number, self.planned_s = len(cases), 0, 0

    def elapsed_s(self):
        return self.clock() - self.started

    def left_s(self):
        """The time that the rest of the plan takes, at the pace so far."""
        pace = self.elapsed_s() / self.planned_s if self.planned_s > 20 else 1
        return (self.total_s - self.planned_s) * max(pace, 0.5)

    def begin(self, case):
        self.number += 1
        self.say(f"[{self.number}/{self.count}, {minutes(self.elapsed_s())} gone, about"
                 f" {minutes(self.left_s())} left] {case.id}: {case.title}")
        self.planned_s += self.estimates[case.id]

    def pace(self):
        return self.elapsed_s() / self.planned_s if self.planned_s > 20 else 1


def minutes(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


class Runner:
    def __init__(self, plan, fleet, writer, say):
        self.plan, self.fleet, self.writer, self.say = plan, fleet, writer, say
        self.last_trouble = {}  # the last trouble of each entry of the present case

    def run(self, cases, done, limit_s=None):
        """Measures all cases except finished ones. Past the time limit, the rest is left out."""
        cases = [case for case in cases if case.id not in done]
        progress = Progress(cases, self.say)
        for number, case in enumerate(cases):
            needed_s = progress.estimates[case.id] * max(progress.pace(), 0.5)
            if limit_s is not None and progress.elapsed_s() + needed_s > limit_s:
                self.say(f"left out, it would take too long: {case.id}: {case.title}")
                self.writer.write("done", case=case.id, left_out=True)
                continue
            wanted = set().union(*(later.systems() for later in cases[number:]))
            self.fleet.keep_only(wanted)
            progress.begin(case)
            self.measure(case)
        self.fleet.stop()

    def measure(self, case):
        started = time.monotonic()
        self.writer.case(case)
        if case.special:
            self._measure_special(case)
        else:
            self._measure_loads(case)
        self.writer.write("done", case=case.id, seconds=round(time.monotonic() - started, 1))

    def _absent(self, case, label, why):
        self.say(f"    {label}: {why}")
        self.writer.write("absent", case=case.id, label=label, why=str(why))

    # --- Loads ---

    def _measure_loads(self, case):
        chosen, self.last_trouble = {}, {}
        for entry in case.entries:
            try:
                self._announce(entry)
                chosen[entry.label] = self._best_load(case, entry)
            except TROUBLE as error:
                self._absent(case, entry.label, error)
        failures = dict.fromkeys(chosen, 0)
        values = {label: [] for label in chosen}
        for number in range(self.plan.rounds(case)):
            # Each round begins with another entry, so that no entry has the advantage of being first.
            shift = number % len(case.entries)
            for entry in (*case.entries[shift:], *case.entries[:shift]):
                if entry.label in chosen and failures[entry.label] < FAILURES_MAX:
                    self._one_window(case, entry, chosen[entry.label], number, failures, values)
        for label, found in values.items():
            if found:
                self.say(f"    {label}: {summary(found)}")
            else:
                self._absent(case, label, self.last_trouble.get(label, "no round"))

    def _announce(self, entry):
        if entry.system != "none" and entry.system not in self.fleet.running:
            self.say(f"    starting {entry.system}")
            system = self.fleet.get(entry.system)
            self.writer.write("system", system=entry.system, settings=system.variables())

    def _best_load(self, case, entry):
        if len(entry.loads) == 1:
            return entry.loads[0]
        speeds = []
        for load in entry.loads:
            raw = run_window(self.plan, self.plan.shaped(load), self.fleet.get(entry.system),
                             min(SWEEP_SECONDS, self.plan.seconds(case)), case.warmup_s)
            speeds.append((raw["replies_per_second"], load))
        best = max(speeds, key=lambda speed: speed[0])[1]
        self.say(f"    {entry.label} is fastest with {best.text()}")
        return best

    def _one_window(self, case, entry, load, number, failures, values):
        try:
            sample = self._window_that_answers(case, entry, load)
        except conserve.Broken as error:
            self.say(f"    {entry.label}: not conserved: {error}")
            self.writer.write("refused", case=case.id, label=entry.label, round=number,
                              why=str(error))
            failures[entry.label] += 1
            self.last_trouble[entry.label] = error
            return
        except TROUBLE as error:
            failures[entry.label] += 1
            self.last_trouble[entry.label] = error
            self.say(f"    {entry.label}: {error}")
            if not isinstance(error, WindowFailed):
                self.fleet.lost(entry.system)
            return
        values[entry.label].append(sample)
        self.writer.write("sample", case=case.id, label=entry.label, round=number,
                          load=load.text(), values=sample)

    def _window_that_answers(self, case, entry, load):
        """Tries several windows, each twice as long as the one before: in a quick run a window is so short that the
        host may take away all of its time."""
        seconds = self.plan.seconds(case)
        for _ in range(QUICK_TRIES if self.plan.quick else 0):
            with contextlib.suppress(WindowFailed):
                return self._window(case, entry, load, seconds)
            seconds *= 2
        return self._window(case, entry, load, seconds)

    def _window(self, case, entry, load, seconds):
        system = self.fleet.get(entry.system)
        if case.settle:
            self.fleet.settle()
        for statement in entry.before:
            system.run(statement)
        ledger = conserve.open_ledger(system, entry)
        before = system.status(*conserve.COUNTERS)
        window = (self.plan, self.plan.shaped(load), system, seconds, case.warmup_s,
                  entry.wait_s)
        more = {}
        if entry.system == "galera":
            raw = galera.run_on_nodes(*window, entry.nodes)
        elif entry.system == "replicas":
            raw, more = replicas.window(*window, entry.nodes)
        else:
            raw = run_window(*window)
        after = system.status(*conserve.COUNTERS)
        conserve.close_ledger(ledger, system, entry, raw)
        return {**metrics(raw), **conserve.per_fsync(raw, before, after), **more}

    # --- Cases without load ---

    def _measure_special(self, case):
        for entry in case.entries:
            try:
                self._announce(entry)
                measure = special.MEASURES[case.special]
                for number, values in enumerate(measure(self, case, entry)):
                    self.say(f"    {entry.label}: {summary([values])}")
                    self.writer.write("sample", case=case.id, label=entry.label, round=number,
                                      load=" + ".join(load.text() for load in entry.loads),
                                      values=values)
            except TROUBLE as error:
                self._absent(case, entry.label, error)


SHOWN = {"rps": "{} requests/s", "applied_s": "{} committed/s", "stopped_s": "{} stopped/s",
         "failed_s": "{} failed/s", "rows_s": "{} rows/s", "finds_s": "{} finds/s",
         "user_us": "user {}", "total_us": "CPU {}",
         "p99_us": "p99 {}", "max_us": "longest {}", "batch": "{} changes per fsync", "idle_bytes": "{} each",
         "kept": "{} of the requests/s alone", "accepts_s": "{} accepted/s"}


def summary(samples):
    """The most important medians, in a line."""
    found = {metric: stats.median([sample.get(metric) for sample in samples]) for metric in SHOWN}
    if found["rows_s"] and found["rows_s"] < 1.5 * found["rps"]:
        found["rows_s"] = None
    return ", ".join(words.format(metric_text(metric, found[metric]))
                     for metric, words in SHOWN.items() if found[metric] is not None)
