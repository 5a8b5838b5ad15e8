"""Every golden vector of spec/vectors/memcached, replayed against a real memcached (whose answers are the
vectors' own) and against Rowsocket (which answers the same, or as the vector says)."""

import functools

import pytest

import mc
import mc_vectors

pytestmark = pytest.mark.again_in("mariadb-11.8", "mysql-9.7")


def vectors(target):
    for path in sorted(mc_vectors.FOLDER.glob("*.json")):
        for vector in mc_vectors.load(path):
            if vector.get("only", target) == target:
                yield pytest.param(vector, id=f"{path.stem}: {vector['name']}")


@pytest.fixture(scope="module")
def real():
    with mc.Real() as one:
        yield one


@pytest.mark.parametrize("vector", vectors("real"))
def test_real_memcached(real, vector):
    assert mc_vectors.play(real.connect, vector, False) is None
    real.close_clients()


@pytest.mark.ours
@pytest.mark.parametrize("vector", vectors("ours"))
def test_rowsocket(memcached, vector):
    assert mc_vectors.play(functools.partial(mc.connect, memcached), vector, True) is None


def test_a_wrong_answer_is_seen(real):
    """The check rejects another answer, a surplus answer, and another token."""
    def play(*steps, **kwargs):
        steps = [{"send": send, "recv": recv} for send, recv in steps]
        return mc_vectors.play(real.connect, {"steps": steps, **kwargs}, False)
    mc_vectors.ANSWER_S, kept = 1, mc_vectors.ANSWER_S
    try:
        stored, value = ("set k 0 0 1\r\nv\r\n", "STORED\r\n"), "VALUE k 0 1 ⟨token a⟩\r\nv\r\nEND\r\n"
        assert play(stored, ("gets k\r\n", value), ("gets k\r\n", value)) is None
        assert "step 0" in play(("get k\r\n", "ENDS\r\n"))
        assert "its own answer" in play(("get k\r\n", ""))
        assert play(("get k\r\nget k\r\n", "END\r\n")) is not None  # with the first answer, or behind it
        assert "step 3" in play(stored, ("gets k\r\n", value), stored, ("gets k\r\n", value))
        assert "step 2" in play(stored, ("gets k\r\n", value),
                                ("gets k\r\n", value.replace("token a", "token b")))
        assert "not closed" in play(("get k\r\n", "END\r\n"), end="closed")
        assert play(("quit\r\n", ""), end="closed") is None
        assert "step 1" in play(stored, ("mg k t\r\n", "HD t⟨0..5⟩\r\n"))
    finally:
        mc_vectors.ANSWER_S = kept
