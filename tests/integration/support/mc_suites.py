"""Test suites of other projects for memcached, run against any server at host:port.

    memccapable          of libmemcached-tools, a Debian package that scripts/bootstrap installs
    pymemcache           its integration tests, from its package
    memcached            its own t/*.t, as far as they suit an outside server; from its source
None of the suites is part of this repository: the downloads are pinned and stay in the cache.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import mc
import third_party

PYMEMCACHE = "pymemcache==4.0.0"
PYMEMCACHE_SHA256 = "f507bc20e0dc8d562f8df9d872107a278df049fa496805c1431b926f3ddd0eab"

# memcached's tests that need no server of their own; tests that take long come first.
SCRIPTS = (
    "getset", "expirations", "issue_41", "binary", "flush-all", "issue_14", "metaget",
    "getandtouch", "touch", "issue_192", "noreply", "binary-get", "bogus-commands", "cas", "flags",
    "incrdecr", "issue_104", "issue_108", "issue_152", "issue_3", "issue_68", "issue_70",
    "malicious-commands", "multiversioning", "quit", "stats-detail", "strtol-testing")
SCRIPT_TIMEOUT_S = 180
# Results in which later versions of memcached differ from what memcached 1.6.18's tests expect: (old, new) texts.
SINCE_1_6_18 = {
    # The data block of a cas without a token is swallowed.
    "cas": [('is(scalar <$sock>, "ERROR\\r\\n", "cas empty, throw error");',
             'is(scalar <$sock>, "CLIENT_ERROR bad command line format\\r\\n", "cas empty");'),
            ('is(scalar <$sock>, "ERROR\\r\\n", "error out on barval2 parsing");', "pass();")],
    "metaget": [('is(scalar <$sock>, "ERROR\\r\\n", "error from blank command");',
                 'is(scalar <$sock>, "CLIENT_ERROR bad command line format\\r\\n", "blank");')],
}


def run(command, **kwargs):
    """(exit code, output)"""
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, text=True,
                          errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=180, check=False, **kwargs)
    return done.returncode, done.stdout


def memccapable(address):
    return run(["memccapable", "-h", address[0], "-p", address[1]])


def pymemcache_folder():
    """The unpacked package."""
    with third_party.making("pymemcache") as (folder, empty):
        if empty:
            wanted = empty / "wanted"
            wanted.write_text(f"{PYMEMCACHE} --hash=sha256:{PYMEMCACHE_SHA256}\n")
            third_party.run(sys.executable, "-m", "pip", "download", "-q", "--no-deps",
                            "--only-binary", ":all:", "--require-hashes", "-r", wanted, "-d", empty)
            third_party.run(sys.executable, "-m", "zipfile", "-e", *empty.glob("*.whl"), empty)
    return folder


def pymemcache(address):
    folder = pymemcache_folder()
    return run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rfE",
                "-c", "/dev/null", "--rootdir", folder, folder / "pymemcache/test/test_integration.py",
                "--server", address[0], "--port", address[1], "-k", "not tls"],
               env={**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"})


def script_path(name):
    return pathlib.Path(mc.memcached_env()["ROWSOCKET_MEMCACHED_SOURCE"]) / "t" / f"{name}.t"


class Script:
    """The output of one of memcached's own tests. failed: the assertions that did not hold, by name, or by line of the
    source if they have no name."""

    def __init__(self, name, code, printed):
        self.code, self.printed = code, printed
        plan = re.search(r"^1\.\.(\d+)", printed, re.M)
        self.passed = len(re.findall(r"^ok ", printed, re.M))
        failures = len(re.findall(r"^not ok ", printed, re.M))
        self.complete = bool(plan) and int(plan[1]) == self.passed + failures > 0
        source = script_path(name).read_text(encoding="utf-8").splitlines()
        self.failed = [title or source[int(line) - 1].strip() for title, line in re.findall(
            r"^#\s+Failed test (?:'(.*)'\n#\s+)?at \S+ line (\d+)\.$", printed, re.M)]
        if failures != len(self.failed):
            self.failed.append(f"{failures} assertions")


def run_script(name, address, no_flush_address, sql_socket=None, later=True):
    """Runs one of memcached's tests, on a server that has nothing stored and has counted nothing. sql_socket:
    a socket on which SQL moves the server's clock; without it the test waits. later: the server answers as
    memcached 1.6.45 does."""
    with mc.Client(address) as client:
        for command, wanted in (("flush_all", b"OK"), ("stats reset", b"RESET"), ("stats detail off", b"OK")):
            answer = client.command(command)
            assert answer == wanted, f"{command}: {answer}"
    path, started = script_path(name), time.monotonic()
    text = path.read_text(encoding="utf-8")
    for old, new in SINCE_1_6_18.get(name, ()) if later else ():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    with tempfile.TemporaryDirectory(prefix="rs-mc-") as folder:
        copy = pathlib.Path(folder) / path.name
        copy.write_text(text, encoding="utf-8")
        done = subprocess.run(
            ["perl", f"-I{third_party.HERE}", f"-I{path.parent}/lib", "-MOutsideServer",
             str(copy)], cwd=folder, stdin=subprocess.DEVNULL, text=True,
            errors="replace", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            timeout=SCRIPT_TIMEOUT_S, check=False,
            env={**os.environ, "MEMCACHED": "%s:%s" % address,
                 "MEMCACHED_NO_FLUSH": "%s:%s" % no_flush_address,
                 **({"MEMCACHED_SQL": sql_socket} if sql_socket else {})})
    script = Script(name, done.returncode, done.stdout + done.stderr)
    script.took_s = time.monotonic() - started
    return script


def run_scripts(names, targets, no_flush_address):
    """{name: Script}. targets: (address[, sql_socket]); each serves one script at a time."""
    free = list(targets)

    def one(name):
        target = free.pop()
        try:
            return run_script(name, target[0], no_flush_address, *target[1:])
        except (OSError, subprocess.SubprocessError, AssertionError, mc.Closed) as error:
            return Script(name, -1, str(error))
        finally:
            free.append(target)
    with concurrent.futures.ThreadPoolExecutor(len(targets)) as pool:
        return dict(zip(names, pool.map(one, names)))
