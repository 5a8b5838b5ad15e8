"""Every golden vector of spec/vectors/resp in each dialect, replayed against a real Redis (whose replies are the
vectors' own) and against Rowsocket (which answers the same, or as the vector says)."""

import re

import pytest

import realredis
import respvectors
from resp import Client
from server import run_packaged

pytestmark = pytest.mark.again_in("mariadb-11.8", "mysql-9.7")


def vectors(target):
    for path in sorted(respvectors.FOLDER.glob("*.json")):
        for vector in respvectors.load(path):
            for dialect in respvectors.DIALECTS:
                if vector.get("only", target) == target and respvectors.can_play(vector, dialect):
                    yield pytest.param(vector, dialect, id=f"{path.stem}: {vector['name']}, {dialect}")


@pytest.fixture(scope="module")
def real():
    with realredis.Real() as one:
        yield one


@pytest.fixture(scope="module")
def server(resp_server):
    sql = resp_server.sql("shop")
    for script in ("rowsocket_store.sql", "rowsocket_tokens.sql"):
        run_packaged(sql, script)
    sql.run("USE shop")
    tables, _, rows = (respvectors.FOLDER / "fixture.sql").read_text().partition("-- Before each vector\n")
    for statement in re.findall(r"(?m)^(?!--)(.*);$", tables):
        sql.run(statement)

    def fill():
        for statement in ["BEGIN", *re.findall(r"(?m)^(.*);$", rows), "COMMIT"]:
            sql.run(statement)

    resp_server.fill = fill
    return resp_server


@pytest.mark.ours
def test_each_command_that_is_served_is_in_a_vector(server):
    used = {step["do"][0].lower() for path in respvectors.FOLDER.glob("*.json") for vector in respvectors.load(path)
            for step in vector["steps"] if step.get("do")}
    served = {name.decode() for name in Client(server.resp_port).ask("COMMAND", "LIST")}
    assert served - used == set()


@pytest.mark.once("about a real Redis alone")
@pytest.mark.parametrize("vector,dialect", vectors("real"))
def test_real_redis(real, vector, dialect):
    respvectors.fill_redis(real.port)
    assert respvectors.play(real.port, vector, dialect, False) is None


@pytest.mark.ours
@pytest.mark.parametrize("vector,dialect", vectors("ours"))
def test_rowsocket(server, vector, dialect):
    server.fill()
    assert respvectors.play(server.resp_port, vector, dialect, True) is None
