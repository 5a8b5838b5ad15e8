"""The arithmetic of the benchmark: medians, ratios of pairs, targets, conservation, the output of other
programs."""

import json

import pytest

from rowsocket_bench import clients, conserve, judge, loader, machine, results, stats
from rowsocket_bench.model import Case, Entry, Load, Target

pytestmark = pytest.mark.once("starts no server")

LOAD = Load("hs-get", 30, 16, (("table", "user"), ("before-images", "")))


def test_a_drifting_machine_does_not_change_the_ratio_of_pairs():
    ours, other = [100, 150, 60, 90, 200], [50, 75, 30, 45, 100]
    assert stats.ratio(ours, other) == (2, 5)


def test_the_ratio_is_the_median_of_the_pairs_not_the_ratio_of_the_medians():
    assert stats.ratio([1, 10, 100], [10, 100, 1]) == (0.1, 3)
    assert stats.median([1, 10, 100]) / stats.median([10, 100, 1]) == 1


def test_rounds_that_one_side_lacks_are_no_pairs():
    assert stats.ratio([1, None, 3, 4], [1, 2, None, 0]) == (1, 1)
    assert stats.ratio([None], [1]) == (None, 0)


def test_the_allowance_of_a_target_is_subtracted_before_the_division():
    ratio, _ = stats.ratio([15], [10], minus=2)
    assert ratio == pytest.approx(1.3)


def test_spread_jain_and_steps():
    assert stats.spread([90, 100, 110]) == pytest.approx(0.2)
    assert stats.spread([90]) is None
    assert stats.jain([5, 5, 5, 5]) == pytest.approx(1)
    assert stats.jain([20, 0, 0, 0]) == pytest.approx(0.25)
    assert stats.largest_step([(100, 12), (1, 2), (10, 3)]) == pytest.approx(4)


def case(*targets):
    return Case("P1", "finds", (Entry("ours", "ours", (LOAD,)), Entry("SQL", "sql", (LOAD,))),
                targets, "P1")


def measured(tmp_path, targets, **rps):
    writer = results.Writer(tmp_path / "run.jsonl")
    writer.write("run", commit="c", time="2026-01-01")
    writer.case(case(*targets))
    for label, values in rps.items():
        for number, value in enumerate(values):
            if value is not None:
                writer.write("sample", case="P1", label=label, round=number, load="30 x 16",
                             values={"rps": value})
    return writer


def test_targets_are_judged_by_pairs(tmp_path):
    wanted = (Target("rps", "ours", ">=", 2, "SQL"), Target("rps", "ours", ">=", 2.5, "SQL"),
              Target("rps", "ours", ">=", 200), Target("rps", "ours", "<=", 100),
              Target("p99_us", "ours", "<=", 1, "SQL"))
    writer = measured(tmp_path, wanted, ours=[100, 220, 500], SQL=[50, 110, 200])
    _, found = results.read([writer.path])
    verdicts = judge.verdicts(found["P1"])
    assert [verdict.reached for verdict in verdicts] == [True, False, True, False, None]
    assert [verdict.value for verdict in verdicts[:3]] == [2, 2, 220]


def test_a_round_without_a_figure_keeps_the_other_pairs_together(tmp_path):
    writer = measured(tmp_path, (Target("rps", "ours", ">=", 2, "SQL"),), ours=[None, 200, 300],
                      SQL=[1, 100, 150])
    _, found = results.read([writer.path])
    verdict = judge.verdicts(found["P1"])[0]
    assert (verdict.value, verdict.pairs) == (2, 2)


def test_an_absent_system_says_why_and_reaches_nothing(tmp_path):
    writer = measured(tmp_path, (Target("rps", "ours", ">=", 2, "SQL"),), ours=[100])
    writer.write("absent", case="P1", label="SQL", why="not installed")
    _, found = results.read([writer.path])
    verdict = judge.verdicts(found["P1"])[0]
    assert verdict.reached is None and "not installed" in verdict.value_text()


def test_a_run_that_was_killed_is_taken_up(tmp_path):
    writer = measured(tmp_path, (), ours=[1])
    assert results.finished(writer.path) == set()
    writer.write("done", case="P1", seconds=1)
    writer.write("done", case="P2", left_out=True)
    with writer.path.open("a") as file:
        file.write('{"kind": "sample", "case": "P1", "lab')
    assert results.finished(writer.path) == {"P1"}
    assert results.read([writer.path])[1]["P1"].series("ours", "rps") == [1]


def test_a_run_asked_for_again_has_a_file_of_its_own(tmp_path):
    for expected in ("run.jsonl", "run-2.jsonl", "run-3.jsonl"):
        path = results.new_file(tmp_path, "run.jsonl", {"P1", "P2"})
        assert path == tmp_path / expected
        results.Writer(path).write("done", case="P1", seconds=1)
    assert results.new_file(tmp_path, "run.jsonl", {"H-64"}) == tmp_path / "run.jsonl"


def test_a_later_file_replaces_the_cases_that_it_has(tmp_path):
    first = measured(tmp_path, (), ours=[1, 2])
    second = results.Writer(tmp_path / "later.jsonl")
    second.write("run", commit="d", time="2026-01-02")
    second.case(case())
    second.write("sample", case="P1", label="ours", round=0, load="30 x 16", values={"rps": 7})
    second.write("done", case="P1", seconds=1)
    runs, found = results.read([first.path, second.path])
    assert len(runs) == 2 and found["P1"].series("ours", "rps") == [7]


def test_a_case_that_was_broken_off_replaces_no_finished_one(tmp_path):
    first = measured(tmp_path, (), ours=[1, 2])
    second = results.Writer(tmp_path / "later.jsonl")
    second.case(case())
    second.write("sample", case="P1", label="ours", round=0, load="30 x 16", values={"rps": 7})
    files = [first.path, second.path]
    assert results.read(files)[1]["P1"].series("ours", "rps") == [7]
    first.write("done", case="P1", seconds=1)
    assert results.read(files)[1]["P1"].series("ours", "rps") == [1, 2]
    second.write("done", case="P1", left_out=True)
    assert results.read(files)[1]["P1"].series("ours", "rps") == [1, 2]
    # The run is resumed: its first, incomplete measurement of the case does not count.
    second.case(case())
    second.write("sample", case="P1", label="ours", round=0, load="30 x 16", values={"rps": 8})
    second.write("done", case="P1", seconds=1)
    assert results.read(files)[1]["P1"].series("ours", "rps") == [8]


def test_the_version_of_memcached_is_that_of_the_one_that_is_measured(tmp_path, monkeypatch):
    monkeypatch.setenv("ROWSOCKET_CACHE", str(tmp_path))
    monkeypatch.setenv("ROWSOCKET_SERVER", "mariadb-10.11")
    for name, text in (("mariadb-10.11", "ROWSOCKET_SERVER_VERSION=10.11.0"),
                       ("memcached", "ROWSOCKET_MEMCACHED_VERSION=1.6.0")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "env").write_text(f"{text}\n")
    assert machine.versions()["memcached"] == "1.6.0"


def test_a_cache_folder_is_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROWSOCKET_CACHE", "there")
    assert machine.cache_dir() == tmp_path / "there"


@pytest.mark.parametrize("before, after, least, answered, kept", [
    (500, 400, 400, 100, True), (500, 500, 500, 0, True),
    (500, 401, 401, 100, False),  # answered, not taken: lost
    (500, 399, 399, 100, False),  # taken, not answered
    (50, -50, -50, 100, False)])  # oversold
def test_conservation(before, after, least, answered, kept):
    if kept:
        conserve.check(before, after, least, answered)
        return
    with pytest.raises(conserve.Broken):
        conserve.check(before, after, least, answered)


class Ledger:
    """A stock of which `left` is left, and its orders, behind a window."""

    def __init__(self, left, orders):
        self.left, self.orders = left, orders

    def total(self, _):
        return self.left, self.left

    def count(self, _):
        return self.orders


@pytest.mark.parametrize("left, orders, kept", [
    (400, 100, True), (400, 99, False), (400, 101, False), (399, 100, False)])
def test_each_purchase_that_was_answered_has_an_order(left, orders, kept):
    entry = Entry("ours", "ours", (LOAD,), conserve=("stock", 1, 500), orders="orders")
    raw = {"whole_run": {"applied": 100}}
    if kept:
        conserve.close_ledger((Ledger(left, orders), 500), None, entry, raw)
        return
    with pytest.raises(conserve.Broken):
        conserve.close_ledger((Ledger(left, orders), 500), None, entry, raw)


def test_purchases_that_stop_or_fail_are_figures_of_their_own():
    raw = {"workload": "sql-purchase-4", "replies_per_second": 60, "seconds": 2, "requests": 120, "applied": 80,
           "not_applied": 30, "errors": 10, "error_texts": {"1213 deadlock": 10}}
    assert loader.wrong_replies(raw) == ""
    found = loader.metrics(raw)
    assert found | {"rps": 55, "applied_s": 40, "stopped_s": 15, "failed_s": 5} == found
    assert "errors" in loader.wrong_replies({**raw, "workload": "sql-update"})


def test_decrements_outside_the_window_are_taken_too():
    assert conserve.taken({"applied": 5, "whole_run": {"applied": 7}}) == 7


def window(workload, applied):
    """A window of 2 s, with half as many requests before and after it."""
    return {"workload": workload, "seconds": 2, "requests": 200, "rows": 400,
            "whole_run": {"requests": 300, "applied": applied}}


def test_changes_per_fsync():
    fsyncs = {"Innodb_data_fsyncs": 10}, {"Innodb_data_fsyncs": 40}
    assert conserve.per_fsync(window("hs-decrement", 150), *fsyncs) == {"fsyncs_s": 10, "batch": 5}
    assert conserve.per_fsync(window("sql-insert", 0), *fsyncs) == {"fsyncs_s": 10, "batch": 20}
    assert conserve.per_fsync(window("hs-get", 0), *fsyncs) == {}
    assert conserve.per_fsync(window("hs-decrement", 0), fsyncs[0], fsyncs[0]) == {"fsyncs_s": 0}
    assert conserve.per_fsync(window("redis-decr", 150), {}, {}) == {}


@pytest.mark.parametrize("raw, wrong", [
    ({"replies_per_second": 5}, ""), ({"replies_per_second": 5, "mismatches": 1}, "wrong"),
    ({"replies_per_second": 5, "errors": 2}, "errors"),
    ({"replies_per_second": 5, "right": False}, "found the run wrong"),
    ({"replies_per_second": 5, "whole_run": {"disconnects": 1}}, "lost"),
    ({"replies_per_second": 0}, "no reply")])
def test_a_window_with_wrong_replies_has_no_figure(raw, wrong):
    text = loader.wrong_replies(raw)
    assert (wrong in text) if wrong else text == ""


def test_metrics_of_a_window():
    raw = {"replies_per_second": 10.0, "latency_us": {"p50": 1, "p99": 2},
           "fairness": {"jain": 0.5},
           "server_cpu": {"per_request_us_user": 3, "per_request_us_total": 4}}
    found = loader.metrics(raw)
    assert {**found, "rps": 10.0, "p50_us": 1, "p99_us": 2, "user_us": 3, "total_us": 4,
            "jain": 0.5} == found
    assert "p999_us" not in found


def test_arguments_of_the_load_generator():
    assert LOAD.arguments() == ["--workload=hs-get", "--connections=30", "--depth=16",
                                "--table=user", "--before-images"]
    assert LOAD.with_defaults(rows=5, table="other").option("table") == "user"
    assert LOAD.with_defaults(rows=5).option("rows") == 5


def test_output_of_mysqlslap_and_sysbench():
    slap = "Benchmark\n\tAverage number of seconds to run all queries: 2.500 seconds\n"
    assert clients.parse_slap(slap, 50_000) == (20_000, 50_000)
    text = "    transactions:  41  (0.0 per sec.)\n    queries:      41230  (20612.55 per sec.)\n"
    assert clients.parse_sysbench(text) == (20612.55, 41230)


def test_the_name_of_a_results_file():
    about = {"time": "2026-11-21T20:00:00+00:00", "commit": "0123456789+",
             "cpu": "AMD EPYC 7B13 64-Core Processor @ 2.45GHz"}
    assert machine.file_name(about) == "20261121-amd-epyc-7b13-0123456789.jsonl"


def test_each_line_of_a_results_file_is_complete(tmp_path):
    writer = measured(tmp_path, (Target("rps", "ours", ">=", 2, "SQL"),), ours=[1])
    for line in writer.path.read_text().splitlines():
        assert json.loads(line)["kind"]
