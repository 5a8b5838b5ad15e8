"""How cases are measured: in turns, on past a system that fails, within the time."""

import dataclasses
import json
import os
import re

import pytest

from rowsocket_bench import catalog, conserve, loader, plan as plans, results, runner, special, systems
from rowsocket_bench.model import Case, Entry, Load
from rowsocket_bench.systems import Unavailable

pytestmark = pytest.mark.once("starts no server")


class FakeSystem:
    pid = 1

    def __init__(self, name):
        self.name = name
        self.statements = []

    def run(self, statement):
        self.statements.append(statement)

    def variables(self):
        return {}

    def status(self, *_):
        return {}


class FakeFleet:
    def __init__(self, broken=()):
        self.running, self.broken, self.kept, self.lost_names = {}, set(broken), [], []

    def get(self, name):
        if name in self.broken:
            raise Unavailable(f"{name} is not installed")
        return self.running.setdefault(name, FakeSystem(name))

    def keep_only(self, names):
        self.kept.append(set(names))

    def lost(self, name):
        self.lost_names.append(name)

    def stop(self):
        pass


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """A runner whose windows are answered by .answer(load, system), with a record of its calls."""
    class Bench:
        def __init__(self):
            self.windows, self.said = [], []
            self.fleet = FakeFleet()
            self.writer = results.Writer(tmp_path / "run.jsonl")
            self.writer.write("run", commit="c")
            self.runner = runner.Runner(plans.Plan(), self.fleet, self.writer, self.said.append)
            self.answer = lambda load, system: {"replies_per_second": 100 * load.connections}

        def run(self, *cases, **more):
            self.runner.run(cases, more.pop("done", set()), **more)
            return results.read([self.writer.path])[1]

        def window(self, _plan, load, system, *_):
            self.windows.append(system.name)
            return self.answer(load, system)

    made = Bench()
    monkeypatch.setattr(runner, "run_window", made.window)
    return made


def entry(name, *loads, **more):
    return Entry(name, name, loads or (Load("hs-get", 3),), **more)


def case(*entries, **more):
    return Case(**{"id": "P1", "title": "finds", "entries": entries, "rounds": 3, **more})


def test_systems_are_measured_in_turns_and_take_turns_at_being_first(bench):
    found = bench.run(case(entry("a"), entry("b"), entry("c")))
    assert bench.windows == list("abcbcacab")
    assert found["P1"].series("b", "rps") == [300, 300, 300]


def test_a_missing_system_stops_no_other_system(bench):
    bench.fleet.broken = {"b"}
    found = bench.run(case(entry("a"), entry("b")), case(entry("a"), id="P2"))
    assert found["P1"].absent == {"b": "b is not installed"}
    assert len(found["P1"].series("a", "rps")) == 3 and "P2" in found


def test_a_system_that_fails_again_and_again_is_given_up_in_this_case(bench):
    def answer(_load, system):
        if system.name == "b":
            raise loader.WindowFailed("connection refused")
        return {"replies_per_second": 1}

    bench.answer = answer
    found = bench.run(case(entry("a"), entry("b"), rounds=5))
    assert bench.windows.count("b") == runner.FAILURES_MAX
    assert found["P1"].absent == {"b": "connection refused"}
    assert found["P1"].series("a", "rps") == [1] * 5


def test_of_several_loads_the_fastest_is_taken(bench):
    bench.run(case(entry("a", Load("hs-get", 2), Load("hs-get", 9), Load("hs-get", 4))))
    found = results.read([bench.writer.path])[1]["P1"]
    assert found.loads == {"a": "9 x 1"} and found.series("a", "rps") == [900] * 3


def test_a_window_that_conserves_nothing_has_no_figure(bench, monkeypatch):
    class Ledger:
        totals = iter([(500, 1), (400, 1), (500, 1), (399, 1), (500, 1), (400, 1)])

        def __init__(self, *_):
            pass

        def fill(self, *_):
            pass

        def total(self, _):
            return next(self.totals)

    monkeypatch.setattr(conserve, "SqlStock", Ledger)
    bench.answer = lambda *_: {"replies_per_second": 100, "whole_run": {"applied": 100}}
    found = bench.run(case(entry("a", conserve=("stock", 1, 500))))
    assert found["P1"].series("a", "rps") == [100, None, 100]
    assert found["P1"].refused == [("a", 1, "101 are missing, 100 were answered as taken")]


def test_statements_come_before_each_window(bench):
    bench.run(case(entry("a", before=("TRUNCATE TABLE sink",))))
    assert bench.fleet.running["a"].statements == ["TRUNCATE TABLE sink"] * 3


def test_finished_cases_are_not_measured_again(bench):
    bench.run(case(entry("a")), case(entry("b"), id="P2"), done={"P1"})
    assert set(bench.windows) == {"b"}


def test_a_case_by_cores_has_the_server_on_one_core_and_then_on_all(bench, monkeypatch):
    """The load generator keeps off the server's one core, and has all when the server has all."""
    of_thread, seen = {}, []
    monkeypatch.setattr(FakeSystem, "pid", os.getpid())
    monkeypatch.setattr(os, "sched_getaffinity", lambda thread: of_thread.get(thread, {0, 1, 2}))
    monkeypatch.setattr(os, "sched_setaffinity", lambda thread, to: of_thread.update({thread: set(to)}))

    def window(_plan, _load, system, *_):
        seen.append((of_thread[system.pid], of_thread[0]))
        return {"replies_per_second": 1, "server_cpu": {"per_request_us_total": 2}}

    monkeypatch.setattr(special, "run_window", window)
    found = bench.run(case(entry("a"), special="cores", rounds=2))
    assert found["P1"].absent == {} and found["P1"].series("a", "one_core_us") == [2, 2]
    assert seen == [({0}, {1, 2}), ({0, 1, 2}, {0, 1, 2})] * 2


def test_a_case_that_exceeds_the_time_limit_is_left_out(bench):
    long = case(entry("a"), id="long", seconds=1000)
    found = bench.run(long, case(entry("b"), id="short"), limit_s=60)
    assert "short" in found and "long" not in found
    assert results.finished(bench.writer.path) == {"short"}


def test_servers_that_no_further_case_needs_are_stopped(bench):
    bench.run(case(entry("a")), case(entry("b"), id="P2"))
    assert bench.fleet.kept == [{"a", "b"}, {"b"}]


def test_progress_says_which_of_how_many_and_how_long():
    said, now_s = [], [0]
    cases = [case(entry("a"), id="one", seconds=9.5), case(entry("a"), id="two", seconds=9.5)]
    progress = runner.Progress(cases, said.append, lambda: now_s[0])
    assert runner.estimates(cases) == {"one": 30 + runner.START_S, "two": 30}
    for one in cases:
        progress.begin(one)
        now_s[0] += 34
    assert said[0].startswith("[1/2, 0:00 gone, about 1:04 left]")
    assert said[1].startswith("[2/2, 0:34 gone, about 0:30 left]")


def test_every_row_of_the_tables_is_measured():
    plan = plans.Plan()
    plan.want_sizes()
    cases = plans.cases_of(plan, "full")
    rows = {one.row for one in cases}
    assert {f"P{number}" for number in range(12)} <= rows
    assert {"H", "IO", "S", "X"} <= rows
    for one in cases:
        labels = {each.label for each in one.entries}
        assert len(labels) == len(one.entries), one.id
        for target in one.targets:
            assert target.label in labels and (not target.other or target.other in labels), one.id
        json.dumps([dataclasses.asdict(target) for target in one.targets])


def test_the_canonical_table_takes_less_than_ten_minutes():
    assert sum(runner.estimates(catalog.canonical()).values()) < 560


def test_only_selects_by_row_or_id_and_refuses_others():
    cases = catalog.canonical()
    assert [one.id for one in catalog.select(cases, "p4, P10")] == ["P4", "P4-zipf", "P10"]
    assert [one.id for one in catalog.select(cases, "P7-64")] == ["P7-64"]
    with pytest.raises(ValueError, match="there is no P77"):
        catalog.select(cases, "P3,P77")


def test_a_quick_run_is_small():
    plan = plans.Plan(rows=plans.QUICK_ROWS, quick=True)
    shaped = plan.shaped(Load("hs-get", 4096, 1, (("keys", "hot:10000"), ("table", "user"))))
    assert shaped.connections == plans.QUICK_CONNECTIONS
    assert shaped.option("keys") == f"hot:{plans.QUICK_ROWS // 2}"
    assert sum(plan.fit(one).estimated_s() for one in catalog.canonical()) < 60


def test_settling_waits_for_pages_and_history_and_puts_the_settings_back():
    class Server(systems.MariaDb):
        def __init__(self):  # pylint: disable=super-init-not-called
            self.values = {"innodb_io_capacity_max": 2000, "innodb_io_capacity": 200,
                           "innodb_max_dirty_pages_pct": 90.0}
            self.left = [(9000, 80), (3, 7000), (3, 20), None]
            self.while_settling = []

        def run(self, statement):
            found = re.fullmatch(r"SET GLOBAL (\w+) = (\S+)", statement)
            if found:
                self.values[found[1]] = float(found[2])
                assert self.values["innodb_io_capacity"] <= self.values["innodb_io_capacity_max"]
                return ()
            return ((self.values[statement.removeprefix("SELECT @@GLOBAL.")],),)

        def status(self, *names):
            self.while_settling.append(self.values["innodb_max_dirty_pages_pct"])
            return dict(zip(names, self.left.pop(0)))

    server = Server()
    before = dict(server.values)
    server.settle()
    assert server.values == before
    assert server.while_settling == [0, 0, 0] and server.left == [None]
