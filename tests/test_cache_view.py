"""Views of the cache: a part of scripts/test sees only what its own bootstraps have asked for."""

import shutil

import pytest

from server import REPOSITORY
from test_scripts import bash

pytestmark = pytest.mark.once("starts no server")

# Prints what a view shows of a server, and what a library's build and a server's start read.
LOOK = ('. "$1/lib.sh"; ls "$cache_dir"; load_server_env; echo "source $ROWSOCKET_SERVER_SOURCE";'
        ' echo "data ${ROWSOCKET_SERVER_DATADIR-none}"')


@pytest.fixture
def machine(tmp_path):
    """The scripts, and a store in which an earlier run has left everything. The bootstrap of the store, which
    would install packages, has nothing to do there and only notes its options."""
    scripts = tmp_path / "checkout/scripts"
    shutil.copytree(REPOSITORY / "scripts", scripts)
    store = tmp_path / "store"
    for name in ("mariadb-10.11", "mariadb-11.8"):
        made = store / f"server-{name}.1"
        for folder in ("source", "build", "prefix", "datadir/test"):
            (made / folder).mkdir(parents=True)
        (made / "env").write_text(f"ROWSOCKET_SERVER_SOURCE={made}/source\nROWSOCKET_SERVER_PREFIX={made}/prefix\n"
                                  f"ROWSOCKET_SERVER_DATADIR={made}/datadir\n")
        (store / name).symlink_to(made)
    (store / "memcached-1.1").mkdir()
    (store / "memcached").symlink_to(store / "memcached-1.1")
    (store / "redis-7.1").mkdir()
    (store / "redis").symlink_to(store / "redis-7.1")
    (store / "prometheus-2.1").mkdir()
    (store / "prometheus").symlink_to(store / "prometheus-2.1")
    text = (scripts / "bootstrap").read_text()
    stop = '  install_missing_packages "${works[@]}"\n'
    assert stop in text
    (scripts / "bootstrap").write_text(text.replace(stop, '  echo "obtains ${works[*]} in $cache_dir"; return\n'))
    return scripts, store


def run(machine, text):
    scripts, store = machine
    return bash(f'. "$1/lib.sh"; . "$1/lib/cache_view.sh"; set -euo pipefail; use_view "$2"; {text}', scripts,
                store.parent / "view", ROWSOCKET_CACHE=str(store))


def test_a_view_shows_nothing_until_it_is_asked_for(machine):
    code, said = run(machine, f"bash -c '{LOOK}' script \"$1\"")
    assert code == 1 and "run scripts/bootstrap --server mariadb-10.11 first" in said


def test_a_step_that_is_missing_fails_though_the_store_has_its_work(machine):
    """As a test of one server that needs another one, which only a later part of the tests asks for."""
    look = f"bash -c '{LOOK}' script \"$1\""
    code, said = run(machine, f'"$1/bootstrap" server; export ROWSOCKET_SERVER=mariadb-11.8; {look}')
    assert code == 1 and "run scripts/bootstrap --server mariadb-11.8 first" in said
    code, said = run(machine, f'"$1/bootstrap" server; export ROWSOCKET_SERVER=mariadb-11.8; "$1/bootstrap" server;'
                              f" {look}")
    assert code == 0 and "server-mariadb-11.8.1/source" in said, said


def test_a_library_alone_comes_without_a_data_directory(machine):
    code, said = run(machine, f"\"$1/bootstrap\" library; bash -c '{LOOK}' script \"$1\"; \"$1/bootstrap\" server;"
                              f" bash -c '{LOOK}' script \"$1\"; \"$1/bootstrap\" library;"
                              f" bash -c '{LOOK}' script \"$1\"")
    lines = said.splitlines()
    assert code == 0, said
    assert f"obtains library in {machine[1]}" in lines
    assert [line for line in lines if line.startswith("data")] == [
        "data none", *[f"data {machine[1]}/server-mariadb-10.11.1/datadir"] * 2]


def test_what_the_live_tests_use_is_shown_to_them_alone(machine):
    _, said = run(machine, f"\"$1/bootstrap\" server; bash -c '{LOOK}' script \"$1\"")
    assert "memcached" not in said.replace("obtains", "")
    code, said = run(machine, f"mkdir \"$store_dir/$(basename \"$(venv_dir)\")\"; \"$1/bootstrap\" live;"
                              f" bash -c '{LOOK}' script \"$1\"")
    assert code == 0 and "\nmemcached\n" in said and "\nvenv-" in said, said
