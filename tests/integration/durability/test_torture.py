"""scripts/torture runs, and reports in JSON."""

import json
import os
import subprocess
import sys

import pytest

import torture as program
from server import SERVERS, is_mysql


def torture(*arguments):
    """Runs scripts/torture and returns its exit status and its last JSON object."""
    done = subprocess.run(
        [sys.executable, program.__file__, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "ROWSOCKET_TEST_SCALE": "1"}, stdin=subprocess.DEVNULL, timeout=300,
        capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1) and done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.slow
def test_rounds_of_torture_in_two_pieces(tmp_path):
    result = tmp_path / "result.json"
    arguments = ["--seed", "5", "--only", "crash,cut", "--result", str(result), "--resume"]
    status, _ = torture("--rounds", "1", *arguments)
    assert status == 0
    status, report = torture("--rounds", "4", "--jobs", "2", *arguments)
    assert status == 0 and report == json.loads(result.read_text())
    assert report["failures"] == [] and report["done"] == [[0, 3]]
    for kind in ("crash", "cut"):
        assert report["kinds"][kind]["rounds"] == 2 and report["kinds"][kind]["applied"] > 0


@pytest.mark.slow
def test_a_round_of_each_other_kind():
    kinds = ["deadlock", "history", "kill", "vanish", "token", "replica", "ddl", "purchase", "serial"]
    status, report = torture("--rounds", str(len(kinds)), "--seed", "6", "--only", ",".join(kinds))
    assert status == 0 and report["failures"] == []
    for kind in kinds:
        counted = report["kinds"][kind]
        assert counted["rounds"] == 1
        assert counted.get("applied", 0) + counted.get("operations", 0) > 0


@pytest.mark.slow
def test_rounds_in_clusters():
    kinds = ["group"] if is_mysql() else ["galera", "failover"]
    status, report = torture("--rounds", "4", "--seed", "7", "--only", ",".join(kinds))
    assert status == 0 and report["failures"] == []
    for kind in kinds:
        assert report["kinds"][kind]["rounds"] == 4 // len(kinds) and report["kinds"][kind]["applied"] > 0


def parsed(monkeypatch, server, *arguments):
    monkeypatch.setenv("ROWSOCKET_SERVER", server)
    monkeypatch.setattr(sys, "argv", ["torture", *arguments])
    return program.parse_arguments()


MARIADBS, MYSQLS = (" or ".join(name for name in SERVERS if name.startswith(family)) for family in ("mariadb", "mysql"))


@pytest.mark.parametrize(("server", "kind", "having"), [
    ("mysql-9.7", "galera", MARIADBS), ("mysql-9.7", "failover", MARIADBS), ("mariadb-11.8", "group", MYSQLS)])
def test_a_kind_that_the_server_does_not_have_is_refused(monkeypatch, capsys, server, kind, having):
    with pytest.raises(SystemExit):
        parsed(monkeypatch, server, "--only", f"sale,{kind}")
    assert f"--only {kind} takes --server {having}, not {server}" in capsys.readouterr().err
    assert parsed(monkeypatch, having.split()[0], "--only", f"sale,{kind}").kinds == ["sale", kind]


def test_a_run_is_not_continued_in_another_server(monkeypatch, tmp_path):
    file = tmp_path / "result.json"
    arguments = ["--result", str(file), "--resume"]
    file.write_text(program.Result(parsed(monkeypatch, "mariadb-11.8", *arguments)).text())
    assert program.Result(parsed(monkeypatch, "mariadb-11.8", *arguments)).data["server"] == "mariadb-11.8"
    with pytest.raises(SystemExit, match="is of another --server, --seed or --only"):
        program.Result(parsed(monkeypatch, "mysql-9.7", *arguments))


def test_a_broken_promise_is_reported(monkeypatch, capsys):
    def broken(rng, shop, db):
        return ["2 were sold twice"], {"applied": 7}, None

    def ends(rng, shop, db):
        raise TimeoutError("no answer")
    monkeypatch.setattr(program, "KINDS", {"broken": broken, "ends": ends})
    monkeypatch.setattr(sys, "argv", ["torture", "--rounds", "2", "--seed", "3", "--only",
                                      "broken,ends"])
    assert program.main() == 1
    first, second = json.loads(capsys.readouterr().out)["failures"]
    assert first["seed"] == 3 * 1_000_003 and first["wrong"][0] == "2 were sold twice"
    assert second["seed"] == first["seed"] + 1 and "no answer" in second["wrong"][0]
