"""Clients of memcached by other projects, fetched into the cache when a test first asks for them.

    python   python-memcached (text) and python-binary-memcached
    node     memjs (binary)
    go       gomemcache (text)
    java     spymemcached (binary)
    debian   PHP's extension memcached and pylibmc (text and binary each), Ruby's dalli (binary)
Each plays a round of its own (third_party/) and prints the answers.
"""

import json
import os
import shutil
import sys

import third_party
from third_party import HERE, debian_packages, fetch, libraries_of, making, need, run

PYTHON_PACKAGES = ["python-memcached==1.62", "python-binary-memcached==0.33.0", "six==1.17.0",
                   "uhashring==2.4"]
NODE_PACKAGE = "memjs@1.3.2"
GO_MODULE = "github.com/bradfitz/gomemcache@v0.0.0-20250403215159-8d39553ac7cf"
PYLIBMC_PACKAGES = ["python3-pylibmc", "libmemcached11", "libhashkit2", "libsasl2-2"]
RUBY_PACKAGES = ["ruby3.1", "libruby3.1", "ruby-dalli", "libyaml-0-2"]
JAR = "net.spy:spymemcached:2.12.3"


def lines(printed):
    """{step: results} of JSON lines."""
    return {step: results for step, *results in map(
        json.loads, (text for text in printed.splitlines() if text.startswith("[")))}


def python(module, port):
    with making("python-memcached") as (folder, empty):
        if empty:
            fetch(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", empty,
                  *PYTHON_PACKAGES)
    return lines(run(sys.executable, HERE / "play_memcached.py", module, port,
                     env={**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}))


def memjs(port):
    need("node", "npm")
    with making("memjs") as (folder, empty):
        if empty:
            fetch("npm", "pack", "--silent", NODE_PACKAGE, cwd=empty)
            run("tar", "xzf", next(empty.glob("*.tgz")), cwd=empty)
    return lines(run("node", HERE / "play_memjs.js", folder / "package", port))


def gomemcache(port):
    need("go")
    environment = {**os.environ, "GOFLAGS": "-mod=mod"}
    with making("gomemcache") as (folder, empty):
        if empty:
            fetch("go", "mod", "init", "play", cwd=empty, env=environment)
            fetch("go", "get", GO_MODULE, cwd=empty, env=environment)
    shutil.copy(HERE / "play_gomemcache.go", folder / "main.go")
    run("go", "build", "-o", "play", ".", cwd=folder, env=environment)
    printed = run(folder / "play", f"127.0.0.1:{port}")
    return dict(line.split(" ", 1) if " [" not in line else line.split(" [", 1)
                for line in printed.splitlines())


def spymemcached(port):
    need("java", "javac", "mvn")
    with making("spymemcached") as (folder, empty):
        if empty:
            fetch("mvn", "-q", "-B", "dependency:copy", f"-Dartifact={JAR}",
                  f"-DoutputDirectory={empty}")
    jars = ":".join(map(str, sorted(folder.glob("*.jar"))))
    run("javac", "-nowarn", "-encoding", "UTF-8", "-cp", jars, "-d", folder, HERE / "PlaySpy.java")
    printed = run("java", "-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8",
                  "-Djava.util.logging.config.file=/dev/null", "-cp", f"{jars}:{folder}", "PlaySpy", port)
    return dict(line.split("\t", 1) for line in printed.splitlines() if "\t" in line)


def php(dialect, port):
    command, environment = third_party.php()
    return lines(run(*command, HERE / "play_memcached.php", dialect, port, env=environment))


def pylibmc(dialect, port):
    root = debian_packages("pylibmc", PYLIBMC_PACKAGES)
    environment = {**os.environ, "PYTHONPATH": str(root / "usr/lib/python3/dist-packages"),
                   "LD_LIBRARY_PATH": libraries_of(root), "PYTHONDONTWRITEBYTECODE": "1"}
    return lines(run("/usr/bin/python3", HERE / "play_memcached.py", dialect, port, env=environment))


def dalli(port):
    root = debian_packages("ruby", RUBY_PACKAGES)
    folders = [root / "usr/lib/ruby/3.1.0", next(root.glob("usr/lib/*-linux-gnu/ruby/3.1.0")),
               *root.glob("usr/share/rubygems-integration/all/gems/dalli*/lib"), root / "usr/lib/ruby/vendor_ruby"]
    environment = {**os.environ, "LD_LIBRARY_PATH": libraries_of(root), "RUBYLIB": ":".join(map(str, folders)),
                   "LANG": "C.UTF-8"}
    return lines(run(root / "usr/bin/ruby3.1", "--disable-gems", HERE / "play_dalli.rb", port, env=environment))
