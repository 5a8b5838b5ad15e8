"""A gat of several keys is one request: it waits for its own rows only."""

import mc
import pytest
from mc_tables import definition

pytestmark = pytest.mark.ours


def test_gats_of_different_rows_do_not_wait_for_each_other(server):
    first, second, sql = mc.connect(server), mc.connect(server), server.sql()
    row = definition(sql)
    table, key = f"{row['db_schema']}.{row['db_table']}", row["key_columns"]
    for name in ("gat-a", "gat-b", "gat-c", "gat-d"):
        assert first.set(name, b"v") == b"STORED"
    holders = {name: server.sql() for name in ("gat-a", "gat-c")}
    for name, holder in holders.items():
        holder.run("BEGIN")
        assert holder.rows(f"SELECT 1 FROM {table} WHERE {key} = %s FOR UPDATE", name)
    first.send(b"gat 1000 gat-a gat-b\r\n")
    assert mc.quiet_bytes(first, 0.3) == (b"", False)
    second.send(b"gat 1000 gat-c gat-d\r\n")
    assert mc.quiet_bytes(second, 0.3) == (b"", False)
    holders["gat-c"].run("ROLLBACK")
    assert [second.line() for _ in range(5)][-1] == b"END"
    assert mc.quiet_bytes(first, 0.1) == (b"", False)
    holders["gat-a"].run("ROLLBACK")
    assert [first.line() for _ in range(5)][-1] == b"END"
