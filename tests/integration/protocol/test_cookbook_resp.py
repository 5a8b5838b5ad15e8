"""docs/COOKBOOK-RESP.md is executed: each language's program prints what the document says."""

import os

import pytest

import recipes
import resp_clients
from private_servers import create, remove
from server import free_port, run_packaged

pytestmark = [pytest.mark.ours, pytest.mark.again_in("mysql-9.7")]

SECTIONS = recipes.sections("docs/COOKBOOK-RESP.md")
TABLES = SECTIONS.pop("Tables")
# What takes a compiler and its libraries is left to scripts/test clients.
LARGE = set() if os.environ.get("ROWSOCKET_ALL_CLIENTS") else {"Go", "Java"}


@pytest.fixture(scope="module")
def server(request):
    port = free_port()
    made = create(request.config, options=[f"--loose-resp-port={port}", "--loose-resp-accounts=ON"]).start()
    made.env["RESP_PORT"] = str(port)
    for script in ("rowsocket_store.sql", "rowsocket_tokens.sql"):
        run_packaged(made.sql(), script)
    yield made
    remove(made)


@pytest.fixture
def shop(server):
    sql = server.sql()
    recipes.play(server, sql, TABLES)
    yield sql
    for statement in ("DROP DATABASE shop", "DROP USER web@'127.0.0.1'", "DELETE FROM rowsocket.tokens",
                      "DELETE FROM rowsocket.store"):
        sql.run(statement)


@pytest.mark.parametrize("language", sorted(set(SECTIONS) - LARGE))
def test_recipe(language, server, shop):
    (kind, program), (output, shown) = SECTIONS[language]
    assert output == "output"
    assert resp_clients.PROGRAMS[kind](recipes.with_ports(server, program)).strip() == shown
    assert shop.rows("SELECT stock, (SELECT GROUP_CONCAT(id ORDER BY id) FROM orders) FROM product") == [(b"0", b"a1,a2")]
    assert shop.rows("SELECT views FROM page") == [(b"42",)]
