"""Clients of other projects, fetched into the cache when a test first asks for them.

    perl   libhsclient and Net::HandlerSocket of the original, from the server's source
    node   node-handlersocket from npm
    java   hs4j from Maven Central
    php    PHP and its memcached extension, from Debian
    python pymemcache from PyPI
None of the clients is part of this repository. If the tool to fetch or run one is missing, the test is skipped and says
so.
"""

import contextlib
import fcntl
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from server import SERVERS, store_dir, is_mysql, server_env, server_name

HERE = pathlib.Path(__file__).resolve().parent / "third_party"
NODE_PACKAGE = "node-handlersocket@0.1.0"
JARS = ["com.googlecode.hs4j:hs4j:0.1", "org.slf4j:slf4j-api:1.5.6", "org.slf4j:slf4j-nop:1.5.6"]
PERL_PACKAGES = ["libdbi-perl", "libdbd-mysql-perl", "libmariadb3"]
PHP_PACKAGES = ["php8.2-cli", "php8.2-common", "php8.2-memcached", "php8.2-igbinary", "php8.2-msgpack",
                "libmemcached11", "libhashkit2", "libsodium23", "libargon2-1", "libedit2", "libxml2", "libicu72"]
PYTHON_CLIENT = "pymemcache==4.0.0"


def need(*programs):
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


def run(*command, timeout=300, **kwargs):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, timeout=timeout, check=False, **kwargs)
    assert done.returncode == 0, f"{command}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
    return done.stdout


@contextlib.contextmanager
def making(name):
    """Yields a folder to fill for one client, or None if the folder was made before."""
    root = store_dir() / "clients"
    root.mkdir(parents=True, exist_ok=True)
    with open(root / f"{name}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = root / name
        if (folder / ".complete").exists():
            yield folder, None
            return
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        yield folder, folder
        (folder / ".complete").touch()


def fetch(*command, **kwargs):
    """Downloads a file. If that fails, the test is skipped: there may be no network. In scripts/test clients, which has
    no other purpose than to run these clients, the test fails."""
    try:
        run(*command, **kwargs)
    except (AssertionError, subprocess.TimeoutExpired) as error:
        give_up = pytest.fail if os.environ.get("ROWSOCKET_ALL_CLIENTS") else pytest.skip
        give_up(f"cannot be fetched here: {error}")


def node_client():
    """The folder of the npm package."""
    need("node", "npm")
    with making("node") as (folder, empty):
        if empty:
            fetch("npm", "pack", "--silent", NODE_PACKAGE, cwd=empty)
            run("tar", "xzf", next(empty.glob("*.tgz")), cwd=empty)
    return folder / "package"


def java_client():
    """The class path, with Play compiled."""
    need("java", "javac", "mvn")
    with making("java") as (folder, empty):
        if empty:
            for artifact in JARS:
                fetch("mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={empty}")
    jars = ":".join(map(str, sorted(folder.glob("*.jar"))))
    run("javac", "-nowarn", "-cp", jars, "-d", folder, HERE / "Play.java")
    return f"{jars}:{folder}"


def handlersocket_source():
    """The original's source in MariaDB's source tree."""
    mariadb = SERVERS[0] if is_mysql() else server_name()
    return pathlib.Path(server_env(mariadb)["ROWSOCKET_SERVER_SOURCE"]) / "plugin" / "handler_socket"


def has_perl_modules():
    """Whether Debian's packages are installed."""
    return subprocess.run(["perl", "-MDBI", "-MDBD::mysql", "-e", "1"], capture_output=True, check=False).returncode == 0


def perl_client():
    """The environment in which Perl finds DBI, DBD::mysql and Net::HandlerSocket."""
    need("perl", "g++")
    with making("perl") as (folder, empty):
        if empty:
            if not has_perl_modules():
                need("apt-get", "dpkg")
                fetch("apt-get", "download", "-q", *PERL_PACKAGES, cwd=empty)
                for package in empty.glob("*.deb"):
                    run("dpkg", "-x", package, empty / "root")
            build_perl_library(empty)
    libraries = [path for path in folder.glob("root/usr/lib/*/perl5/*") if path.is_dir()]
    return {**os.environ, "PERL5LIB": ":".join(map(str, [folder / "lib", HERE, *libraries])),
            "LD_LIBRARY_PATH": libraries_of(folder / "root")}


def build_perl_library(folder):
    """Net::HandlerSocket and libhsclient as one extension, without the server's build system."""
    source = handlersocket_source()
    perl, client = source / "perl-Net-HandlerSocket", source / "libhsclient"
    shutil.copytree(perl / "lib", folder / "lib")
    private = run("perl", "-MConfig", "-e", "print $Config{privlibexp}")
    flags = run("perl", "-MExtUtils::Embed", "-e", "ccopts").split()
    code = run("perl", f"{private}/ExtUtils/xsubpp", "-typemap", f"{private}/ExtUtils/typemap",
               perl / "HandlerSocket.xs")
    (folder / "HandlerSocket.cpp").write_text(code)
    library = folder / "lib" / "auto" / "Net" / "HandlerSocket"
    library.mkdir(parents=True)
    run("g++", "-shared", "-fPIC", "-O1", "-w", *flags, '-DXS_VERSION="0.01"', f"-I{HERE}", f"-I{perl}",
        f"-I{client}", folder / "HandlerSocket.cpp", *sorted(client.glob("*.cpp")),
        "-o", library / "HandlerSocket.so")


def debian_packages(name, packages):
    """The folder into which these packages are unpacked; nothing is installed."""
    need("apt-get", "dpkg")
    with making(name) as (folder, empty):
        if empty:
            fetch("apt-get", "download", "-q", *packages, cwd=empty)
            for package in empty.glob("*.deb"):
                run("dpkg", "-x", package, empty / "root")
    return folder / "root"


def php():
    """The command that runs PHP with its memcached extension, and its environment."""
    root = debian_packages("php", PHP_PACKAGES)
    extensions = next(root.glob("usr/lib/php/2*"))
    command = [root / "usr/bin/php8.2", "-n", "-d", f"extension_dir={extensions}"]
    for name in ("igbinary", "msgpack", "memcached"):
        command += ["-d", f"extension={name}.so"]
    return command, {**os.environ, "LD_LIBRARY_PATH": libraries_of(root)}


def libraries_of(root):
    return ":".join(map(str, root.glob("usr/lib/*-linux-gnu")))


def python_path():
    """The environment in which Python finds pymemcache."""
    with making("pymemcache") as (folder, empty):
        if empty:
            fetch(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", empty, PYTHON_CLIENT)
    return {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
