"""Clients of memcached that others wrote, fetched into the cache when a test first asks for them.

    python   python-memcached (text) and python-binary-memcached
    node     memjs (binary)
    go       gomemcache (text)
    java     spymemcached (binary)
Each plays a round of its own (thirdparty/) and prints what it was told.
"""

import json
import os
import shutil
import sys

import third_party
from third_party import HERE, fetch, making, need, run

PYTHON_PACKAGES = ["python-memcached==1.62", "python-binary-memcached==0.33.0", "six==1.17.0",
                   "uhashring==2.4"]
NODE_PACKAGE = "memjs@1.3.2"
GO_MODULE = "github.com/bradfitz/gomemcache@v0.0.0-20250403215159-8d39553ac7cf"
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
