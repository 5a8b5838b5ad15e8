"""The tests that frameworks and clients have of their own, unchanged, against the RESP port."""

import re

import pytest

import resp_suites
from server import run_packaged

pytestmark = [pytest.mark.ours, pytest.mark.slow]

# What a test of redis-py that asks for more than docs/RESP.md has ends with.
REFUSED = re.compile(r"NOTSERVED|NOTABLE|TRACKING is not served|unknown subcommand '(HISTORY|GETKEYSANDFLAGS)'"
                     r"|Transaction discarded because of previous errors")
# Its tests that fail without a refusal, and why.
REDIS_PY_CANNOT = {
    **dict.fromkeys(("test_config_get", "test_config_get_multi_params"), "CONFIG GET has seven settings, no others of Redis's"),
    **dict.fromkeys(("test_slowlog_get", "test_slowlog_get_limit", "test_slowlog_length"), "the limit is long_query_time"),
    "test_command_list": "it wants three hundred commands",
    "test_mset_on_cluster_multiple_slots": "it wants a cluster",
}


@pytest.fixture(scope="module")
def server(resp_server):
    run_packaged(resp_server.sql(), "rowsocket_store.sql")
    return resp_server


@pytest.mark.again_in("mysql-9.7")
def test_django(server):
    """Its cache, and its sessions in the cache; the three that are skipped are about a cache that evicts."""
    code, printed = resp_suites.django(server.resp_port)
    assert code == 0 and "Ran 272 tests" in printed and "OK (skipped=3)" in printed, printed[-6000:]


@pytest.mark.parametrize("protocol", [2, 3])
def test_redis_py(server, protocol):
    """Its commands, pipelines, locks and encodings: what fails is refused by name."""
    passed, failed, printed = resp_suites.redis_py(server.resp_port, protocol)
    wrong = {name: why for name, why in failed.items() if name not in REDIS_PY_CANNOT and not REFUSED.search(why)}
    assert wrong == {}
    assert len(passed) >= 250
    # What has begun to pass is to be taken off the list.
    assert passed & set(REDIS_PY_CANNOT) == set()
