"""The tests that frameworks and clients have of their own, unchanged, against the RESP port."""

import pytest

import resp_suites
from server import run_packaged

pytestmark = [pytest.mark.ours, pytest.mark.slow]


@pytest.fixture(scope="module")
def server(resp_server):
    run_packaged(resp_server.sql(), "rowsocket_store.sql")
    return resp_server


@pytest.mark.again_in("mariadb-11.8")
@pytest.mark.again_in("mysql-9.7")
def test_django(server):
    """Its cache, and its sessions in the cache; the three that are skipped are about a cache that evicts."""
    code, printed = resp_suites.django(server.resp_port)
    assert code == 0 and "Ran 272 tests" in printed and "OK (skipped=3)" in printed, printed[-6000:]
