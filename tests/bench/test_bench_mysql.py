"""The benchmark's cases on MySQL: MariaDB's, with X Protocol beside SQL."""

import pytest

from rowsocket_bench import catalog, loads, mysql, plan as plans, publish, results
from rowsocket_bench.model import Case, Entry, Target


@pytest.fixture(autouse=True)
def measured_is_mysql(monkeypatch):
    monkeypatch.setenv("ROWSOCKET_SERVER", "mysql-9.7")


def cases(which):
    return catalog.flat(plans.cases_of(plans.Plan(), which))


def test_cases_leave_out_what_mysql_does_not_have():
    for which in ("canonical", "hot", "groups"):
        for case in cases(which).values():
            labels = {entry.label for entry in case.entries}
            assert not case.systems() & {"bundled", "sql/pool"}, case.id
            assert all({target.label, target.other or target.label} <= labels for target in case.targets), case.id


def test_x_protocol_has_the_same_work_as_sql():
    found = cases("canonical")
    beside = {entry.label: entry for entry in found["P7-256"].entries}
    assert beside[mysql.X_PROTOCOL].loads[0].workload == "x-update"
    assert beside[mysql.X_PROTOCOL].loads[0].connections == 256
    hot = {entry.label: entry for entry in cases("hot")["H-64"].entries}
    assert hot[mysql.X_PROTOCOL].loads[0].workload == "x-decrement"
    assert hot[mysql.X_PROTOCOL].conserve == hot["SQL"].conserve
    pipelined = next(entry for entry in found["P3"].entries if entry.label == mysql.X_PROTOCOL)
    assert (pipelined.loads[0].connections, pipelined.loads[0].depth) == (30, 16)


def test_work_of_many_rows_has_no_counterpart():
    assert mysql.over_x(loads.sql_in(30, 16)) is None
    assert mysql.over_x(loads.sql_insert(1, 1000)) is None
    assert all(entry.label != mysql.X_PROTOCOL for entry in cases("canonical")["P8-bulk"].entries)


def test_a_target_against_a_missing_system_is_none():
    case = Case("P", "", (Entry("ours", "ours", (loads.find(1, 1),)), Entry("bundled", "bundled", (loads.find(1, 1),))),
                (Target("rps", "ours", ">=", 1.2, "bundled"), Target("rps", "ours", ">=", 5)))
    assert mysql.fitted(case).targets == (Target("rps", "ours", ">=", 5),)


def test_results_of_mariadb_are_not_published_as_mysqls(tmp_path, monkeypatch):
    monkeypatch.setattr(publish, "RESULTS", tmp_path / "results")
    (tmp_path / "results").mkdir()
    out = tmp_path / "run.jsonl"
    results.Writer(out).write("run", versions={"mariadb": "10.11.18"}, quick=False)
    with pytest.raises(ValueError, match="--server mysql-9.7"):
        publish.publish_mysql([out], print)
    assert not list((tmp_path / "results").iterdir())
