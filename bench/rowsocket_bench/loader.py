"""Runs one window of the load generator against a system and turns its output into metrics."""

import json
import subprocess

from . import clients
from .systems import Unavailable


class WindowFailed(Exception):
    """The generator failed, or replies were wrong: this window has no figure."""


def command(plan, load, system, seconds, warmup_s):
    return [str(plan.load_program), *load.arguments(), "--seconds", f"{seconds:g}",
            "--warmup", f"{warmup_s:g}", *system.address(load.workload), "--pid", str(system.pid)]


def run_window(plan, load, system, seconds, warmup_s, wait_s=0, judge=None):
    """The generator's own JSON object. judge(object), by default wrong_replies, says what is wrong with it. A generator
    that does not end by itself is stopped."""
    if load.workload in clients.PROGRAMS:
        return clients.run_window(plan, load, system, seconds)
    arguments = command(plan, load, system, seconds, warmup_s)
    try:
        done = subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=seconds + warmup_s + 30 + wait_s, check=False)
    except subprocess.TimeoutExpired as error:
        raise WindowFailed("the load generator does not come to an end") from error
    except OSError as error:
        raise Unavailable(f"{arguments[0]}: {error.strerror}") from error
    try:
        raw = json.loads(done.stdout)
    except ValueError as error:
        text = (done.stderr or done.stdout).strip()[-300:]
        raise WindowFailed(text or f"exit code {done.returncode}") from error
    wrong = (judge or wrong_replies)(raw)
    if wrong:
        raise WindowFailed(wrong)
    return raw


def is_purchase(raw):
    """Whether the load is of purchases, whose failures are a figure of their own."""
    return "-purchase" in raw.get("workload", "")


def wrong_replies(raw):
    """The faults in the replies of a window; empty if there are none."""
    whole = raw.get("whole_run", {})
    if raw.get("mismatches"):
        return f"{raw['mismatches']} replies were wrong: {raw.get('mismatch_examples')}"
    if raw.get("errors") and not is_purchase(raw):
        return f"{raw['errors']} errors: {raw.get('error_texts')}"
    if whole.get("disconnects") or whole.get("unanswered"):
        return (f"{whole.get('disconnects', 0)} connections were lost,"
                f" {whole.get('unanswered', 0)} requests not answered")
    if raw.get("right") is False:
        return "the load generator found the run wrong"
    return "" if raw.get("replies_per_second") else "no reply in the window"


def metrics(raw):
    """The values of a sample, by the names of model.METRICS; only values that the run has."""
    latency, cpu = raw.get("latency_us") or {}, raw.get("server_cpu") or {}
    client = raw.get("client_cpu") or {}
    found = {"rps": raw.get("replies_per_second"), "rows_s": raw.get("rows_per_second"),
             "user_us": cpu.get("per_request_us_user"), "total_us": cpu.get("per_request_us_total"),
             "p50_us": latency.get("p50"), "p99_us": latency.get("p99"),
             "p999_us": latency.get("p999"), "jain": (raw.get("fairness") or {}).get("jain"),
             "client_cpu_s": sum(client.values()) if client else None}
    outcomes = {"applied_s": raw["applied"], "stopped_s": raw["not_applied"], "failed_s": raw["errors"]} \
        if is_purchase(raw) else {}
    if any(outcomes.values()):  # a server that answers everything with one fixed line has none
        found |= {name: count / raw["seconds"] for name, count in outcomes.items()}
        found["rps"] = (raw["requests"] - raw["errors"]) / raw["seconds"]
    return {name: round(value, 4) for name, value in found.items() if value is not None}
