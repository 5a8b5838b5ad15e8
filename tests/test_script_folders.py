"""The folders of the scripts: whose they are, and where."""

import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from server import REPOSITORY, SERVERS
from test_scripts import TIMEOUT_S, bash

pytestmark = pytest.mark.once("starts no server")


@pytest.fixture
def read_only_copy():
    """The scripts in a folder without write permission, and a command prefix that runs as a user other than
    root."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rowsocket-", dir="/tmp"))
    shutil.copytree(REPOSITORY / "scripts", folder / "scripts")
    subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
    folder.chmod(0o555)
    yield folder, ["setpriv", "--reuid=nobody", "--clear-groups"] if os.geteuid() == 0 else []
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_checkout_that_cannot_be_written_to(read_only_copy):
    folder, as_somebody = read_only_copy
    done = subprocess.run([*as_somebody, "bash", folder / "scripts/build"], capture_output=True,
                          text=True, stdin=subprocess.DEVNULL, timeout=TIMEOUT_S, check=False,
                          env={**os.environ, "ROWSOCKET_CACHE": str(folder / "cache")})
    assert done.returncode == 1
    assert f"{folder} cannot be written to" in done.stderr


def test_a_blank_in_the_folder_of_temporary_files_is_refused(tmp_path):
    (tmp_path / "a b").mkdir()
    code, said = bash('exec "$@"', REPOSITORY / "scripts/test", "style", TMPDIR=str(tmp_path / "a b"))
    assert code == 1 and f"TMPDIR, '{tmp_path}/a b', has a blank in its path" in said, said


@pytest.mark.parametrize("entry, told", [
    ("me:x:7:7::/srv/me:/bin/sh", "/srv/me/.cache/rowsocket"), ("", "has no home folder: set ROWSOCKET_CACHE")])
def test_a_user_without_home_in_the_environment(read_only_copy, entry, told):
    folder, as_somebody = read_only_copy
    code, said = bash('exec "$@"', *as_somebody, "bash", "-c", f"""
        getent() {{ [[ -n "{entry}" ]] && echo "{entry}"; }}
        unset HOME XDG_CACHE_HOME ROWSOCKET_CACHE
        set -euo pipefail
        . "$0/scripts/lib.sh"
        echo "$cache_dir"
    """, folder)
    assert said.endswith(f"{told}\n" if entry else f"{told} to a folder for what the scripts obtain\n"), said
    assert code == (0 if entry else 1) and len(said.splitlines()) == 1, said


@pytest.mark.parametrize("cache", ["cache", "scripts"])
def test_a_cache_folder_that_cannot_be_written_to(read_only_copy, cache):
    """The first one cannot be made."""
    folder, as_somebody = read_only_copy
    with open(folder / "scripts/lib/cache_view.sh", "a", encoding="ascii") as last_part:
        last_part.write("install_missing_packages() { :; }\n")
    (folder / "scripts").chmod(0o555)
    code, said = bash('exec "$@"', *as_somebody, folder / "scripts/bootstrap", ROWSOCKET_CACHE=str(folder / cache))
    assert code == 1 and f"'{folder / cache}' cannot be written to: set ROWSOCKET_CACHE" in said, said


@pytest.mark.skipif(os.geteuid() != 0, reason="a folder of another user needs root")
@pytest.mark.parametrize("command, file", [("cluster start", "cluster"), ("cluster status", "cluster"), ("server sql", "env")])
def test_nothing_of_another_users_folder_is_executed(tmp_path, command, file):
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / file).write_text(f'touch "{tmp_path}/executed"\n')
    for path in (folder, folder / file):
        os.chown(path, 54321, 54321)
    (tmp_path / "cache" / SERVERS[0]).mkdir(parents=True)
    (tmp_path / "cache" / SERVERS[0] / "env").write_text("ROWSOCKET_SERVER_PREFIX=/nowhere\n")
    program, word = command.split()
    code, said = bash('exec "$@"', REPOSITORY / "scripts" / program, word, folder, ROWSOCKET_CACHE=str(tmp_path / "cache"))
    assert not (tmp_path / "executed").exists(), said
    assert code == 1 and f"{folder} is another user's" in said, said
