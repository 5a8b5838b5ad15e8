"""rowsocket-exporter by readings that are made up. What it serves of a server is in test_monitoring.py."""

import argparse
import importlib.machinery
import importlib.util
import sys

import pytest

from server import REPOSITORY

pytestmark = pytest.mark.once("starts no server")


@pytest.fixture(name="exporter")
def program():
    """The program as a module."""
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("rowsocket_exporter_program", str(REPOSITORY / "packaging/rowsocket-exporter"))
    made = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(made)
    return made


def served(exporter, monkeypatch, now):
    """{(name, label values): value} of one scrape."""
    collector = exporter.Collector(argparse.Namespace())
    monkeypatch.setattr(collector, "_read", lambda: now)
    return {(sample.name, *sample.labels.values()): sample.value for family in collector.collect() for sample in family.samples}


def test_an_account_without_process_is_told_by_a_metric(exporter, monkeypatch, capsys):
    """Without PROCESS the library's tables are empty, and most alerts cannot fire."""
    blind = exporter.reading.Reading(at=0.0, counters={"resp": {"connections": 3}})
    found = served(exporter, monkeypatch, blind)
    assert found["rowsocket_up",] == 1 and found["rowsocket_collector_success", "connections"] == 0
    assert "connections cannot be read" in (said := capsys.readouterr().err) and "PROCESS" in said
    idle = {"plugin": "resp", "mode": "mode=rw", "state": "idle", "count": 3, "bytes": 0, "idle_ms": 0}
    for now in (exporter.reading.Reading(at=0.0, counters={"resp": {"connections": 3}}, connections=[idle]),
                exporter.reading.Reading(at=0.0, counters={"resp": {"connections": 0}})):
        assert served(exporter, monkeypatch, now)["rowsocket_collector_success", "connections"] == 1
    assert capsys.readouterr().err == ""
