"""Every golden vector of spec/vectors/resp in each dialect, replayed against a real Redis (whose replies are the
vectors' own) and against Rowsocket (which answers the same, or as the vector says)."""

import re

import pytest

import real_redis
import resp_vectors
from resp import Client
from server import run_packaged

pytestmark = pytest.mark.again_in("mariadb-11.8", "mysql-9.7")


def vectors(target):
    for path in sorted(resp_vectors.FOLDER.glob("*.json")):
        for vector in resp_vectors.load(path):
            for dialect in resp_vectors.DIALECTS:
                if vector.get("only", target) == target and resp_vectors.can_play(vector, dialect):
                    yield pytest.param(vector, dialect, id=f"{path.stem}: {vector['name']}, {dialect}")


@pytest.fixture(scope="module")
def real():
    with real_redis.Real() as one:
        yield one


@pytest.fixture(scope="module")
def server(resp_server):
    sql = resp_server.sql("shop")
    for script in ("rowsocket_store.sql", "rowsocket_tokens.sql"):
        run_packaged(sql, script)
    sql.run("USE shop")
    tables, _, rows = (resp_vectors.FOLDER / "fixture.sql").read_text().partition("-- Before each vector\n")
    for statement in re.findall(r"(?m)^(?!--)(.*);$", tables):
        sql.run(statement)

    def fill():
        for statement in ["BEGIN", *re.findall(r"(?m)^(.*);$", rows), "COMMIT"]:
            sql.run(statement)

    resp_server.fill = fill
    return resp_server


@pytest.mark.ours
def test_each_command_that_is_served_is_in_a_vector(server):
    used = {step["do"][0].lower() for path in resp_vectors.FOLDER.glob("*.json") for vector in resp_vectors.load(path)
            for step in vector["steps"] if step.get("do")}
    served = {name.decode() for name in Client(server.resp_port).ask("COMMAND", "LIST")}
    assert served - used == set()


@pytest.mark.once("about a real Redis alone")
@pytest.mark.parametrize("vector,dialect", vectors("real"))
def test_real_redis(real, vector, dialect):
    resp_vectors.fill_redis(real.port)
    assert resp_vectors.play(real.port, vector, dialect, False) is None


@pytest.mark.ours
@pytest.mark.parametrize("vector,dialect", vectors("ours"))
def test_rowsocket(server, vector, dialect):
    server.fill()
    assert resp_vectors.play(server.resp_port, vector, dialect, True) is None
