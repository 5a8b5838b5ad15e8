"""Every golden vector of spec/vectors/handlersocket, replayed against the live server.

A vector is played on a connection of its own; before the first of each file the tables are made
anew. At its end the connection must still be in step: one more request gets its own answer.
"""

import json

import pytest

import hs
from private_servers import create, remove
from server import REPOSITORY, is_mysql

pytestmark = [pytest.mark.again_in("mariadb-11.8", "mysql-9.7"), pytest.mark.sanitized("mysql")]

FOLDER = REPOSITORY / "spec" / "vectors" / "handlersocket"
SECRET = "sesame"


def vectors():
    for path in sorted(FOLDER.glob("*.json")):
        for vector in json.loads(path.read_text())["vectors"]:
            if is_mysql() and not vector.get("mysql", True):
                continue
            yield pytest.param(path.stem, vector, id=f"{path.stem}: {vector['name']}")


@pytest.fixture(scope="module")
def with_secret(request):
    """A server whose secret is that of the vectors."""
    server = create(request.config, options=[
        f"--handlersocket-plain-secret={SECRET}", f"--handlersocket-plain-secret-wr={SECRET}"])
    yield server.start()
    remove(server)


@pytest.fixture(scope="module")
def loaded():
    """The files whose tables a server has, by server and process."""
    return {}


def load_tables(server, loaded, file):
    if loaded.get(server) == (file, server.pid):
        return
    sql = server.sql()
    fixture = (FOLDER / "fixture.sql").read_text()
    if is_mysql():
        fixture = fixture.split("-- What only MariaDB has")[0]
    for statement in fixture.split(";\n"):
        if statement.strip():
            sql.run(statement)
    loaded[server] = (file, server.pid)


def play(client, steps):
    """The replies must be those of the vector, byte for byte."""
    for step in steps:
        client.send_raw(step["send"].encode("latin-1"))
        expected = step["recv"].encode("latin-1")
        received = b""
        while len(received) < len(expected):
            received += client.recv_line() + b"\n"
            assert expected.startswith(received), step["send"]
        assert received == expected, step["send"]
    if not steps[-1]["send"].endswith("\n"):
        return
    client.send_raw(b"?\n")
    assert client.recv_line() == b"2\t1\tcmd"


@pytest.mark.parametrize("file,vector", vectors())
def test_vector(request, server, with_secret, loaded, file, vector):
    if request.config.getoption("--plugin") == "bundled" and vector.get("bundled", True) is not True:
        pytest.skip("the bundled plugin answers otherwise, or does not survive it")
    target = with_secret if vector.get("secret") else server
    load_tables(target, loaded, file)
    if vector.get("sql"):
        sql = target.sql("hsvec")
        for statement in vector["sql"]:
            sql.run(statement)
    try:
        play(target.hs_wr() if vector["port"] == "wr" else target.hs_rd(), vector["steps"])
    except (hs.Closed, TimeoutError) as error:
        pytest.fail(str(error))
    finally:
        target.close_clients()
