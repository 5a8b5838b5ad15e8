"""The parts of a benchmark: a case has entries, which are measured in turns, and targets."""

import dataclasses


SETTLE_S = 2.0  # seconds that settling takes, only for the estimate


@dataclasses.dataclass(frozen=True)
class Load:
    """The instruction to the load generator: a workload and its options, as on its command line."""
    workload: str
    connections: int = 1
    depth: int = 1
    options: tuple = ()  # pairs of option name and value

    def arguments(self):
        pairs = (("workload", self.workload), ("connections", self.connections),
                 ("depth", self.depth), *self.options)
        # A flag has the empty text as its value.
        return [f"--{name}={value}" if value != "" else f"--{name}" for name, value in pairs]

    def option(self, name, default=None):
        return dict(self.options).get(name, default)

    def with_defaults(self, **options):
        """This load, with those of the given options that it lacks."""
        there = dict(self.options)
        more = tuple((name, value) for name, value in options.items() if name not in there)
        return dataclasses.replace(self, options=(*self.options, *more))

    def with_options(self, **options):
        """This load, with these values of the given options."""
        return dataclasses.replace(self, options=tuple({**dict(self.options), **options}.items()))

    def text(self):
        return f"{self.connections} x {self.depth}"


@dataclasses.dataclass(frozen=True)
class Entry:
    """One system in a case. Of several loads, the load with the most replies per second counts."""
    label: str
    system: str
    loads: tuple
    before: tuple = ()      # SQL to run on its server before each window
    conserve: tuple = ()    # (table, rows, stock) of the stock that may neither be lost nor gained
    orders: str = ""        # the table, or Redis's list, that gets one entry for each piece of stock taken
    wait_s: float = 0       # more time than usual to wait for the end of a window
    nodes: int = 1          # nodes of a cluster, which share the connections; with replicas, those that take finds


@dataclasses.dataclass(frozen=True)
class Target:
    """metric(label) relation factor x metric(other) + plus. Without other: an absolute bound."""
    metric: str
    label: str
    relation: str
    factor: float
    other: str = ""
    plus: float = 0

    def holds(self, value):
        return value <= self.factor if self.relation == "<=" else value >= self.factor

    def text(self):
        plus = f" + {self.plus:g} us" if self.plus else ""
        against = f" x {self.other}{plus}" if self.other else ""
        return f"{self.relation} {self.factor:,.12g}{against}"


@dataclasses.dataclass(frozen=True)
class Case:
    """One line of the table, or one point of a curve (then with the name of the curve and x)."""
    id: str
    title: str
    entries: tuple
    targets: tuple = ()
    row: str = ""           # the row of docs/BENCHMARKS-FIGURES.md that it belongs to: P0 ... P11, M1 ..., H ...
    curve: str = ""
    x: float = 0
    rounds: int = 5
    seconds: float = 1.0
    warmup_s: float = 0.2
    settle: bool = False    # before each window all servers write out their dirty pages
    special: str = ""       # measured by this function of special.py instead of by loads
    options: tuple = ()     # options for special

    def estimated_s(self):
        if self.special:
            return dict(self.options).get("estimated_s", 20)
        sweep = sum(len(entry.loads) for entry in self.entries if len(entry.loads) > 1)
        window_s = self.seconds + self.warmup_s + (SETTLE_S if self.settle else 0) + 0.3
        return self.rounds * len(self.entries) * window_s + sweep * (window_s + 0.5) / 2

    def systems(self):
        return {entry.system for entry in self.entries}


# Metrics: key in a sample, name for people, unit, digits after the decimal point.
METRICS = {
    "rps": ("requests/s", "", 0),
    "applied_s": ("committed/s", "", 0),
    "stopped_s": ("stopped/s", "", 0),
    "failed_s": ("failed/s", "", 0),
    "rows_s": ("rows/s", "", 0),
    "finds_s": ("finds/s beside it", "", 0),
    "user_us": ("user CPU", "us/request", 2),
    "total_us": ("CPU", "us/request", 2),
    "p50_us": ("latency p50", "us", 1),
    "p99_us": ("latency p99", "us", 1),
    "p999_us": ("latency p99.9", "us", 1),
    "max_us": ("longest", "us", 0),
    "jain": ("Jain index", "", 3),
    "batch": ("changes/fsync", "", 1),
    "per_batch": ("requests/batch", "", 1),
    "per_row": ("requests merged/row change", "", 1),
    "fsyncs_s": ("fsyncs/s", "", 0),
    "idle_bytes": ("memory of an idle connection", "bytes", 0),
    "kept": ("of the requests/s alone", "", 3),
    "accepts_s": ("connections accepted/s", "", 0),
    "one_core_rps": ("requests/s, server on one core", "", 0),
    "one_core_us": ("CPU, server on one core", "us/request", 2),
}


def metric_text(metric, value):
    _, unit, digits = METRICS[metric]
    return f"{value:,.{digits}f}" + (f" {unit}" if unit else "")
