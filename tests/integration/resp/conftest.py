"""The server of a module of these tests; a module whose tests need more in it makes its `server` of it."""

import pytest

import resp
from private_servers import create, remove


@pytest.fixture(scope="module")
def resp_server(request):
    """A server with a port of RESP and a few rows, for the tests of one module (resp.start). The module's
    RESP_OPTIONS, where it has some, are options of the server."""
    options = getattr(request.module, "RESP_OPTIONS", ())
    server = resp.start(lambda **kwargs: create(request.config, **kwargs), *options)
    yield server
    remove(server)


@pytest.fixture(scope="module")
def server(resp_server):
    return resp_server


@pytest.fixture
def shop(server, request):
    """A SQL session in the schema shop. If the module names a table as SCRATCH, that one is dropped at the end."""
    sql = server.sql("shop")
    yield sql
    if scratch := getattr(request.module, "SCRATCH", None):
        sql.run(f"DROP TABLE IF EXISTS {scratch}")
    sql.close()


@pytest.fixture
def client(server, shop):  # pylint: disable=unused-argument # shop's end drops a table, behind the client's
    client = resp.Client(server.resp_port)
    yield client
    client.close()
