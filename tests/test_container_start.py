"""What the image of packaging/Containerfile does with its volume before it starts the server."""

import concurrent.futures
import fcntl
import os
import re
import shlex
import subprocess

import pytest

from server import REPOSITORY

pytestmark = pytest.mark.once("starts no server")
# Makes a half where the test's folder has `cut`; the real one, too, would use an ibdata1 that is there.
INSTALL_DB = r"""#!/bin/sh
echo made >>"{folder}/made"
for option; do case $option in --datadir=*) folder=${{option#*=}} ;; esac; done
mkdir -p "${{folder:=.}}" && cd "$folder" || exit 1
[ ! -e ibdata1 ] || exit 1
touch ibdata1
[ ! -e "{folder}/cut" ] || exit 1
mkdir mysql sys && touch mysql/whole
"""


def start_container(folder):
    """What the image's start does with a volume below the folder; returns whether it comes to the server."""
    text = (REPOSITORY / "packaging/Containerfile").read_text()
    text = text.partition(" >/usr/local/bin/rowsocket-start")[0].rpartition("\nRUN ")[2]
    # Nothing of the file is executed here but the script, and that in the folder of the test.
    words = shlex.split(text.replace("\\\n", "").replace("/var/lib/mysql", f"{folder}/data"))
    assert words[:4] == ["printf", "%s\\n", "#!/bin/sh", f"cd {folder}/data || exit 1"], words
    script = "\n".join(words[2:])
    for name, program in (("mariadb-install-db", INSTALL_DB.format(folder=folder)),
                          ("mariadbd", f"#!/bin/sh\ntouch {folder}/served\n")):
        (folder / "bin").mkdir(exist_ok=True)
        (folder / "bin" / name).write_text(program)
        (folder / "bin" / name).chmod(0o755)
    (folder / "served").unlink(missing_ok=True)
    done = subprocess.run(["sh", "-c", script], check=False, timeout=60,
                          env={**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"})
    assert (done.returncode == 0) == (folder / "served").exists()
    return (folder / "served").exists()


def test_the_arguments_of_the_build_are_documented():
    """A package that was built on Debian 13 cannot be installed in the default's Debian 12."""
    names = re.findall(r"^ARG (\w+)", (REPOSITORY / "packaging/Containerfile").read_text(), re.MULTILINE)
    page = (REPOSITORY / "docs/INSTALL.md").read_text(encoding="utf-8")
    assert names and not [name for name in names if f"--build-arg {name}=" not in page]


def test_a_first_start_that_is_cut_short_begins_anew(tmp_path):
    data = tmp_path / "data"
    (data / "lost+found").mkdir(parents=True)
    (tmp_path / "cut").touch()
    assert not start_container(tmp_path)
    assert sorted(file.name for file in data.iterdir()) == [".making", "lost+found"]
    (tmp_path / "cut").unlink()
    assert start_container(tmp_path)
    assert sorted(file.name for file in data.iterdir()) == ["ibdata1", "lost+found", "mysql", "sys"]
    assert (data / "mysql/whole").exists()


@pytest.mark.parametrize("cut_at", ["ibdata1", "sys", "mysql"])
def test_a_first_start_that_is_cut_short_while_it_moves_the_data_goes_on(tmp_path, cut_at):
    data = tmp_path / "data"
    data.mkdir()
    (tmp_path / "bin").mkdir()
    mover = tmp_path / "bin/mv"
    mover.write_text(f"#!/bin/sh\n[ \"$1\" != .making/{cut_at} ] || exit 1\nexec /bin/mv \"$@\"\n")
    mover.chmod(0o755)
    assert not start_container(tmp_path) and not (data / "mysql").exists()
    mover.unlink()
    assert start_container(tmp_path)
    assert sorted(file.name for file in data.iterdir()) == ["ibdata1", "mysql", "sys"]
    assert (tmp_path / "made").read_text() == "made\n"


@pytest.mark.parametrize("making", ["", ".making/half", ".making/.whole"])
@pytest.mark.parametrize("there", [
    ["mysql/mine"], ["mine"], [".mine"], ["shop/stock.ibd"], ["mysql/mine", "ibdata1", "shop/stock.ibd"]])
def test_a_start_removes_nothing_of_a_volume_with_data(tmp_path, there, making):
    """A backup may have been laid beside what a start that was cut short had left."""
    for name in there:
        (tmp_path / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / name).write_text("data")
    if making:
        (tmp_path / "data" / making).parent.mkdir(exist_ok=True)
        (tmp_path / "data" / making).touch()
    if making == ".making/.whole":
        (tmp_path / "data/.making/mysql").mkdir()
    for _ in range(2):
        assert start_container(tmp_path)
        assert all((tmp_path / "data" / name).read_text() == "data" for name in there)
        assert not (tmp_path / "data/.making").exists()


def test_a_first_start_of_an_earlier_image_that_was_cut_short_is_not_served(tmp_path, capfd):
    """It left a file .making beside what may be half of the data."""
    data = tmp_path / "data"
    (data / "mysql").mkdir(parents=True)
    (data / "mysql/half").write_text("data")
    (data / ".making").touch()
    for _ in range(2):
        assert not start_container(tmp_path)
        assert "empty the volume" in capfd.readouterr().err
        assert (data / ".making").exists()
    (data / ".making").unlink()
    assert start_container(tmp_path)
    assert (data / "mysql/half").read_text() == "data"


@pytest.mark.parametrize("there", ["mine", ".mine"])
def test_a_file_of_an_earlier_image_alone_keeps_no_data_from_being_made(tmp_path, there):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / there).write_text("data")
    (tmp_path / "data/.making").touch()
    assert start_container(tmp_path)
    assert (tmp_path / "data" / there).read_text() == "data" and (tmp_path / "data/mysql/whole").exists()


def test_a_start_writes_over_nothing_of_a_volume_with_data(tmp_path):
    """A backup that lacks the folder mysql."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data/ibdata1").write_text("data")
    for _ in range(2):
        assert not start_container(tmp_path)
        assert (tmp_path / "data/ibdata1").read_text() == "data"


def test_a_second_container_waits_for_the_first_one_of_its_volume(tmp_path):
    data = tmp_path / "data"
    (data / ".making").mkdir(parents=True)
    (data / ".making/half").touch()
    first = os.open(data, os.O_RDONLY)
    try:
        fcntl.flock(first, fcntl.LOCK_EX)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            second = pool.submit(start_container, tmp_path)
            with pytest.raises(concurrent.futures.TimeoutError):
                second.result(timeout=1)
            assert (data / ".making/half").exists()
            fcntl.flock(first, fcntl.LOCK_UN)
            assert second.result(timeout=60)
    finally:
        os.close(first)
