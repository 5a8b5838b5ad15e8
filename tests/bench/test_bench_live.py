"""scripts/bench itself, on tiny tables: every kind of system and of case gets a figure."""

import collections
import os
import subprocess

import pytest

from rowsocket_bench import publish, results
from rowsocket_bench.machine import REPOSITORY

CASES = ("P1,P5,P6-secondary,P6-wide,P7-64,P8-bulk,P9,M1,M4,H-fsync,H-fair,H-64,H-sold-out,U-64,U-sold-out,U-finds,"
         "X-handler,X-sql,T,RESP-hmget-4x50,RESP-hincrby-64x1,RESP-set-64x1,RESP-benchmark-get-30x16")
EXPECTED = {
    "P1": {"ours", "bundled", "memcached", "null server", "SQL prepared"},
    "M1": {"ours", "memcached", "ours, HandlerSocket"}, "M4": {"ours", "SQL REPLACE"},
    "M1-binary": {"ours", "memcached"},
    "P5": {"ours", "bundled", "memcached", "SQL text"},
    "P6-secondary": {"ours", "bundled"}, "P6-wide": {"ours", "bundled", "ours, 50 columns"},
    "P7-64": {"ours", "bundled", "SQL text"}, "P8-bulk": {"ours", "bundled", "SQL, 1,000 rows"},
    "P9": {"ours", "bundled"}, "H-fsync": {"disk"},
    "H-fair": {"ours", "bundled"},
    "H-64": {"ours", "bundled", "SQL", "SQL, no deadlock detection", "SQL, pool-of-threads",
             "Redis, Lua", "null server", "ours, memcached ma"},
    "H-sold-out": {"ours", "bundled", "SQL", "ours, finds"},
    "U-64": {"ours", "ours, with tokens", "SQL, CALL", "SQL, four statements", "ours, decrement alone",
             "ours, order alone", "Redis, Lua", "null server"},
    "U-sold-out": {"ours", "ours, with tokens", "SQL, CALL", "SQL, four statements", "ours, finds"},
    "U-finds": {"ours", "ours, pipelined"},
    **{f"T-account-{depth}": {"ours", "ours, an account"} for depth in (1, 16)},
    **{f"T-tls-{depth}": {"ours", "ours, TLS", "memcached, TLS"} for depth in (1, 16)},
    "RESP-hmget-4x50": {"ours", "ours, HandlerSocket", "Redis"},
    "RESP-hincrby-64x1": {"ours", "ours, HandlerSocket", "Redis"},
    "RESP-set-64x1": {"ours", "ours, store", "Redis"}, "RESP-benchmark-get-30x16": {"ours", "Redis"},
    "X-handler": {"ours", "HANDLER READ", "SQL prepared", "SQL text"},
    "X-sql": {"rowsocket-load, text", "mysqlslap", "sysbench"},
}
TIMEOUT_S = 1200  # includes building the load generator


@pytest.mark.mariadb("mysqlslap is not among the binaries of MySQL that bootstrap obtains")
@pytest.mark.ours
@pytest.mark.slow
def test_quick_run(tmp_path):
    out = tmp_path / "run.jsonl"
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([REPOSITORY / "scripts/bench", "--quick", "--only", CASES, "--out", out],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, env=env,
                          timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    runs, found = results.read([out])
    # Another system may have no reply within a window of a quick run, where the machine has other work.
    late = {name: {label for label, why in result.absent.items()
                   if why == "no reply in the window" and not label.startswith("ours")}
            for name, result in found.items()}
    missing = {label for name, result in found.items() for label in result.absent.keys() - late[name]}
    assert runs[0]["quick"] and not any(result.refused for result in found.values()), done.stdout
    # Valkey is obtained for --resp alone: Debian 12 has none.
    assert all(label.startswith("Valkey") for label in missing), done.stdout
    measured = {name: {label for label in result.samples if not label.startswith("Valkey")} | late[name]
                for name, result in found.items()}
    assert measured == EXPECTED
    for name, result in found.items():
        for label in result.samples:
            assert result.series(label, "rps")[0] > 0, (name, label)
    assert found["H-64"].series("ours", "batch")[0] >= 1
    assert found["P1"].series("ours", "p99_us")[0] >= found["P1"].series("ours", "p50_us")[0]
    assert out.with_suffix(".html").read_text().endswith("</html>\n")
    assert "targets reached" in publish.summary([out])
    # A second run of the same command measures nothing again.
    again = subprocess.run([REPOSITORY / "scripts/bench", "--quick", "--only", CASES, "--out", out],
                           stdin=subprocess.DEVNULL, capture_output=True, text=True, env=env,
                           timeout=TIMEOUT_S, check=False)
    assert again.returncode == 0 and f"{len(EXPECTED)} of them done already" in again.stdout
    cases = collections.Counter(line["case"] for line in results.read_lines(out)
                                if line["kind"] == "done")
    assert set(cases.values()) == {1}
