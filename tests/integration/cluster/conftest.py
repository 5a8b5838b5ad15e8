"""Fixtures of clusters. A file with `KIND = "galera"` or `KIND = "replicas"` has one cluster for all of its tests,
and all nodes run when a test begins."""

import itertools

import pytest

from cluster import Cluster

_schema_numbers = itertools.count(1)


@pytest.fixture
def make_cluster(request):
    """make_cluster(kind, ...): a cluster for this test alone."""
    made = []

    def make(kind, **more):
        made.append(Cluster(kind, keep=request.config.getoption("--keep"), **more))
        return made[-1].start()

    yield make
    for cluster in made:
        cluster.remove()


@pytest.fixture(scope="module")
def shared_cluster(request):
    made = Cluster(request.module.KIND, options=["--loose-handlersocket-tokens=ON", "--loose-resp-socket=resp.sock",
                                                 "--loose-daemon-memcached-flush-all=ON"],
                   keep=request.config.getoption("--keep"))
    try:
        yield made.start()
    finally:
        made.remove()


@pytest.fixture
def cluster(shared_cluster):
    """All nodes, whatever the test before has done to them; replicas have the primary's state."""
    first = [shared_cluster.primary] if shared_cluster.kind == "replicas" else []
    for node in [*first, *shared_cluster.nodes]:
        if not node.alive():
            node.rejoin()
    yield shared_cluster
    for node in shared_cluster.nodes:
        node.close_clients()


@pytest.fixture
def db(cluster):
    """A schema of this test's own, on all nodes."""
    name = f"g{next(_schema_numbers)}"
    cluster[1].sql().run(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
    yield name
    for node in cluster.nodes:
        node.close_clients()
    cluster[1].sql().run(f"DROP DATABASE IF EXISTS {name}")
