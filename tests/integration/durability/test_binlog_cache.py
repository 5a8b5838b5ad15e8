"""The part of the binary log that a turn writes beside its transaction, in a file in tmpdir."""

import os

import pytest

from hs import counted

pytestmark = [pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]

CACHE_BYTES_MAX = 256 * 1024


def bytes_in_tmpdir(server):
    """The size of the server's files without a name, as those of transactions are."""
    folder = f"/proc/{server.pid}/fd"
    sizes = []
    for number in os.listdir(folder):
        path = f"{folder}/{number}"
        try:
            if os.readlink(path).endswith("(deleted)"):
                sizes.append(os.stat(path).st_size)
        except OSError:
            continue
    return sum(sizes)


def test_a_turn_that_does_not_fit_gives_its_file_back(make_server):
    """The file would keep the size at which the write failed, and tmpdir would stay full for everybody."""
    server = make_server(options=["--log-bin=cache", "--server-id=1", "--binlog-format=ROW", "--binlog-cache-size=4096",
                                  f"--max-binlog-cache-size={CACHE_BYTES_MAX}"])
    sql = server.sql()
    sql.run("CREATE DATABASE big")
    sql.run("CREATE TABLE big.t (id INT PRIMARY KEY, v VARCHAR(3000) NOT NULL)")
    rows = CACHE_BYTES_MAX // 2000
    for number in range(rows):
        sql.run(f"INSERT INTO big.t VALUES ({number}, REPEAT('x', 2900))")
    index = server.hs_wr().opened("big", "t", "", "v")
    before = bytes_in_tmpdir(server)
    for value in "abc":
        assert index.update(">=", [0], [value * 2900], rows).code != 0
        assert bytes_in_tmpdir(server) == before
    assert index.update("=", [0], ["small"]) == counted(1)
    assert sql.rows("SELECT v, COUNT(*) FROM big.t GROUP BY v") == [
        (b"small", b"1"), (b"x" * 2900, str(rows - 1).encode())]
