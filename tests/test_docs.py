"""The documents: their statements hold, and their commands work."""

import os
import pathlib
import re
import subprocess
import time

import pytest

from server import REPOSITORY, build_dir, cache_dir, other_server_suffix, server_env, server_name

QUICKSTART_S = 60  # when all downloads and builds are done, on a machine with other work
# The place in which each command of a document is run.
RUN_BY = {
    "scripts/test": "CI, which runs these tests",
    "scripts/quickstart": "test_quickstart, with --once",
    "scripts/quickstart --once": "test_quickstart",
    "scripts/build": "scripts/test",
    "cmake --install build": "test_install_and_load",
    "scripts/build --server mysql-9.7 release": "scripts/test, for the tests in MySQL",
    "cmake --install build-mysql-9.7": "test_install_from_source",
    "systemctl restart mysql": "by hand: it restarts the machine's own server",
    "scripts/bootstrap --update": "by hand: it downloads",
}


def blocks(document, language):
    """The lines of all code blocks of that language, without indentation."""
    lines, inside = [], None
    for line in (REPOSITORY / document).read_text(encoding="utf-8").splitlines():
        line = line.strip()
        if line.startswith("```"):
            inside = line[3:] if inside is None else None
        elif inside == language and line:
            lines.append(line)
    return lines


def run(*command, timeout_s=120, **env):
    done = subprocess.run([str(part) for part in command], cwd=REPOSITORY, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s,
                          env={**os.environ, **env}, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def quickstart_folder(cache):
    return cache / f"quickstart{other_server_suffix()}"


def test_documents_say_what_the_code_says():
    run("scripts/check-tree")


def test_protocols_share_no_name():
    """The protocols' folders in src/frontend, and in src/plugin, share a namespace: CONTRIBUTING.md, "Style"."""
    types = re.compile(r"^(?:class|struct|enum class) (\w+)\b(?! *;)", re.M)
    functions = re.compile(r"^(?!return|using|static_assert)[A-Za-z\[][^(={;\n/]*?(\w+)\(", re.M)
    for layer in ("frontend", "plugin"):
        protocol_of = {}
        for header in sorted((REPOSITORY / "src" / layer).glob("*/*.h")):
            protocol, text = header.parent.name, header.read_text(encoding="utf-8")
            if protocol == "contract":
                continue
            for name in types.findall(text):
                assert name.lower().startswith(protocol), f"{header}: {name} does not begin with its protocol"
            for name in functions.findall(text):
                assert protocol_of.setdefault(name, protocol) == protocol, f"{header}: two protocols have {name}"
        assert protocol_of, layer


def test_compat_has_no_side_for_lines_that_it_does_not_name():
    """Each block names its lines of the server, and refuses other lines: docs/adr/0004-supported-versions.md."""
    for compat in sorted((REPOSITORY / "src/engine/server").glob("*/compat.h")):
        code = re.sub(r"^ *//.*", "", compat.read_text(encoding="utf-8"), flags=re.M)
        known, *blocks_of_lines = re.findall(r"^#if\b.*?^#endif$", code, re.M | re.S)
        assert re.fullmatch(r"#if ROWSOCKET_LINE != \d+(?: && ROWSOCKET_LINE != \d+)*\n#error.*\n#endif", known, re.S)
        for block in blocks_of_lines:
            asked = [line for line in block.splitlines() if re.match(r"#(el)?if", line)]
            assert all("ROWSOCKET_LINE" in line and not re.search("[<>]", line) for line in asked), block
            assert re.search(r"^#(else|elif ROWSOCKET_LINE != .*)\n#error .*\n#endif$", block, re.M), block


def test_each_row_of_wrongs_has_a_mark():
    """A test that must fail in the bundled plugin shows each row. (Row 18 is the same here.)"""
    ours = (REPOSITORY / "docs/WRONGS.md").read_text(encoding="utf-8").split("\n## ")[1]
    rows = set(re.findall(r"^\| (\d+) \|", ours, re.M))
    tests = "".join(path.read_text(encoding="utf-8") for path in (REPOSITORY / "tests/integration").rglob("test_*.py"))
    marked = set(re.findall(r"(?:\b|_)wrong\((\d+)", tests))
    assert rows - marked == {"18"} and marked <= rows


@pytest.mark.parametrize("document",
                         ["README.md", "docs/INSTALL.md", "docs/MYSQL.md", "docs/OPERATIONS.md"])
def test_each_command_is_run_somewhere(document):
    commands = blocks(document, "sh")
    assert commands and set(commands) <= set(RUN_BY)


@pytest.fixture
def own_cache(tmp_path):
    """A cache folder that shares what bootstrap made, but not the running quickstart of a user."""
    cache = tmp_path / "cache"
    cache.mkdir()
    for name in (server_name(), "memcached"):
        (cache / name).symlink_to((cache_dir() / name).resolve())
    for venv in cache_dir().glob("venv-*"):
        (cache / venv.name).symlink_to(venv)
    yield cache
    subprocess.run([REPOSITORY / "scripts/server", "kill", quickstart_folder(cache)],
                   capture_output=True, stdin=subprocess.DEVNULL, timeout=120, check=False)


@pytest.mark.again_in("mysql-9.7")
@pytest.mark.ours
def test_quickstart(own_cache):
    session = [line for line in blocks("README.md", "text") if line.startswith(("->", "<-"))]
    assert len(session) == 8
    # The first run fills the table, the second finds everything ready.
    for _ in range(2):
        started = time.monotonic()
        lines = run("scripts/quickstart", "--once", ROWSOCKET_CACHE=str(own_cache)).splitlines()
        took_s = time.monotonic() - started
        assert [line for line in lines if line.startswith(("->", "<-"))] == session
        assert any("101" in line and "Yukari Takeba" in line for line in lines), "not through SQL"
        assert not (quickstart_folder(own_cache) / "env").exists(), "left running"
    assert took_s < QUICKSTART_S


def is_running(cache):
    return subprocess.run([REPOSITORY / "scripts/server", "status", quickstart_folder(cache)],
                          capture_output=True, check=False).returncode == 0


@pytest.mark.ours
def test_the_documents_ports_are_taken_where_they_are_free(tmp_path):
    """A port that is taken has another one in its place. The ports of this machine do not matter: servers of other tests
    begin and end on them meanwhile."""
    text = (f'. "{REPOSITORY}/scripts/lib/server_ports.sh"; . "{REPOSITORY}/scripts/lib/server_options.sh";'
            ' port_is_free() { [[ $1 != 9999 ]]; }; choose_ports; echo "$hs_port $hs_port_wr $memcached_port"')
    reading, writing, memcached = run("bash", "-c", text, ROWSOCKET_DOCUMENTED_PORTS="1").split()
    assert (reading, memcached) == ("9998", "11211")
    assert int(writing) >= 10000, "9999 is taken"
    assert all(int(port) >= 10000 for port in run("bash", "-c", text).split())


@pytest.mark.ours
@pytest.mark.parametrize("option", ["--resp=OFF", "--loose-resp=0"])
def test_resp_that_is_kept_out_is_not_waited_for(option):
    text = (f'. "{REPOSITORY}/scripts/lib/server_ports.sh"; . "{REPOSITORY}/scripts/lib/server_options.sh";'
            f' choose_ports {option}; echo "$resp_port $waits_for_resp"')
    assert run("bash", "-c", text, ROWSOCKET_DOCUMENTED_PORTS="1").split() == ["0", "0"]


@pytest.mark.ours
def test_quickstart_once_that_is_ended_leaves_no_server(own_cache):
    with subprocess.Popen([REPOSITORY / "scripts/quickstart", "--once"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, "ROWSOCKET_CACHE": str(own_cache)}) as quickstart:
        printed = ""
        for line in quickstart.stdout:
            printed += line
            if line.startswith("writing"):
                quickstart.terminate()
    assert quickstart.returncode == 130, printed
    assert not is_running(own_cache)


@pytest.mark.ours
def test_quickstart_once_that_fails_leaves_no_server(own_cache):
    """The failing step here has a folder in the place of its log file."""
    (quickstart_folder(own_cache) / "table.log").mkdir(parents=True)
    with pytest.raises(AssertionError, match="the table could not be made"):
        run("scripts/quickstart", "--once", ROWSOCKET_CACHE=str(own_cache))
    assert not is_running(own_cache)


@pytest.mark.ours
def test_quickstart_after_a_start_that_was_killed(own_cache):
    """Such a server has no env file."""
    run("scripts/server", "start", quickstart_folder(own_cache))
    (quickstart_folder(own_cache) / "env").unlink()
    run("scripts/quickstart", "--once", ROWSOCKET_CACHE=str(own_cache))


@pytest.mark.mariadb("test_install_from_source has MySQL's")
@pytest.mark.ours
def test_an_upgrade_keeps_the_settings(tmp_path):
    folder = tmp_path / "etc/mysql/mariadb.conf.d"
    shipped = (REPOSITORY / "packaging/rowsocket.cnf").read_text()
    run("cmake", "--install", build_dir("release"), DESTDIR=str(tmp_path))
    assert [path.name for path in folder.iterdir()] == ["rowsocket.cnf"]  # Secrets are no machine's yet.
    settings = folder / "rowsocket.cnf"
    assert settings.read_text() == shipped
    settings.write_text("[mariadbd]\nhandlersocket_plain_secret = own\n")
    settings.chmod(0o600)
    run("cmake", "--install", build_dir("release"), DESTDIR=str(tmp_path))
    assert settings.read_text() == "[mariadbd]\nhandlersocket_plain_secret = own\n"
    assert settings.stat().st_mode & 0o777 == 0o600
    assert (folder / "rowsocket.cnf.new").read_text() == shipped


def configuration(path, prefix):
    """The options of the file as the server reads them, with those that are commented out."""
    text = re.sub(r"^#(\w+ =)", r"\1", path.read_text(), flags=re.M)
    whole = path.with_suffix(".whole.cnf")
    whole.write_text(text)
    tool = prefix / "usr/bin/my_print_defaults"
    options = run(tool, f"--defaults-file={whole}", "mariadbd").splitlines()
    # scripts/server chooses the ports, and the folder of the sockets does not exist here.
    return [re.sub("^--loose[_-]", "--", option) for option in options
            if not re.match(r"--(loose_(handlersocket|daemon_memcached)_(port|socket))", option)]


@pytest.mark.mariadb("test_install_from_source has MySQL's")
@pytest.mark.ours
def test_install_and_load(tmp_path):
    """cmake --install, a server with every line of rowsocket.cnf, and INSTALL's statements."""
    run("cmake", "--install", build_dir("release"), DESTDIR=str(tmp_path))
    library = tmp_path / "usr/lib/mysql/plugin/rowsocket.so"
    options = configuration(tmp_path / "etc/mysql/mariadb.conf.d/rowsocket.cnf",
                            pathlib.Path(server_env()["ROWSOCKET_SERVER_PREFIX"]))
    assert sum(option.startswith("--handlersocket") for option in options) > 20
    directory = tmp_path / "server"
    env = {"ROWSOCKET_SO": str(library)}
    try:
        run("scripts/server", "start", directory, "--", *options, **env)
        run("scripts/server", "stop", directory)
        run("scripts/server", "start", directory, "--plugin", "none", **env)
        for statement in blocks("docs/INSTALL.md", "sql"):
            run("scripts/server", "sql", directory, "--execute", statement)
        assert "handlersocket listens on" in (directory / "error.log").read_text()
    finally:
        run("scripts/server", "stop", directory)
