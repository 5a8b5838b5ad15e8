"""Test suites of other projects for Redis, run against the server of any port.

    Django      the tests of its cache of Redis, and of sessions in that cache
    redis-py    the tests of its commands, pipelines, locks and encodings
None of the suites is part of this repository: the downloads are pinned and stay in the cache.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import third_party

DJANGO = "django==5.2.19"
DJANGO_SHA256 = "ad03d8abc51dbff95ebf34b27123cf0c26a3b62db7ba0cd520783686362533d1"
DJANGO_NEEDS = ["asgiref==3.13.0", "sqlparse==0.6.1"]
DJANGO_TESTS = ["cache.tests.RedisCacheTests", *(f"sessions_tests.tests.{name}" for name in (
    "CacheSessionTests", "CacheDBSessionTests", "CacheDBSessionWithTimeZoneTests"))]
DJANGO_SETTINGS = """
DATABASES = {name: {"ENGINE": "django.db.backends.sqlite3"} for name in ("default", "other")}
CACHES = {"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": "redis://127.0.0.1:%d"}}
SECRET_KEY = "x"
USE_TZ = False
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
"""
# The version that the tests themselves use (scripts/requirements.txt).
REDIS_PY = "redis==8.1.0"
REDIS_PY_SHA256 = "6e1a19beef9225c83efd689c7e6b7da2d5215b1f42cd13b7fc3714d0a09c7b25"
REDIS_PY_TESTS = ["commands", "pipeline", "lock", "encoding"]
# Tests that use fixed ports, and one that interrupts a BRPOP, which has already been refused when its thread is slow.
REDIS_PY_ELSEWHERE = ["test_client_setinfo", "test_module", "test_psync", "test_interrupted_command"]
TIMEOUT_S = 240


def source(package, sha256, needs=()):
    """The folder of a Python package's source, with its tests; the folder `needs` next to it has the packages that it
    imports."""
    name = package.partition("=")[0]
    with third_party.making(f"{name}-source") as (folder, empty):
        if empty:
            wanted = empty / "wanted"
            wanted.write_text(f"{package} --hash=sha256:{sha256}\n", encoding="ascii")
            pip = (sys.executable, "-m", "pip")
            third_party.fetch(*pip, "download", "-q", "--no-deps", "--no-binary", name, "--require-hashes", "-r", wanted,
                              "-d", empty)
            if needs:
                third_party.fetch(*pip, "install", "-q", "--no-deps", "--target", empty / "needs", *needs)
            third_party.run("tar", "xzf", *empty.glob("*.tar.gz"), "-C", empty)
    return next(path.parent for path in folder.glob("*/PKG-INFO"))


def run(command, folder, *python_path):
    """(exit code, output)"""
    done = subprocess.run(
        [sys.executable, *map(str, command)], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", timeout=TIMEOUT_S, check=False,
        env={**os.environ, "PYTHONPATH": ":".join(map(str, python_path)), "PYTHONDONTWRITEBYTECODE": "1"})
    return done.returncode, done.stdout


def django(port):
    """(exit code, output) of Django's tests."""
    folder = source(DJANGO, DJANGO_SHA256, DJANGO_NEEDS)
    with tempfile.TemporaryDirectory(prefix="rs-django-") as made:
        (pathlib.Path(made) / "rs_settings.py").write_text(DJANGO_SETTINGS % port, encoding="ascii")
        return run(["runtests.py", "--settings=rs_settings", "--parallel=1", *DJANGO_TESTS], folder / "tests",
                   made, folder, folder.parent / "needs")


def redis_py(port, protocol):
    """({tests that passed}, {test: why it failed}, output) of redis-py's tests, without their module's name."""
    folder = source(REDIS_PY, REDIS_PY_SHA256)
    with tempfile.TemporaryDirectory(prefix="rs-redis-py-") as made:
        report = pathlib.Path(made) / "report.xml"
        _, printed = run(
            ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", folder, "--tb=native",
             f"--redis-url=redis://127.0.0.1:{port}/0", f"--protocol={protocol}", f"--junit-xml={report}",
             "-k", " and ".join(f"not {name}" for name in REDIS_PY_ELSEWHERE),
             *(f"tests/test_{name}.py" for name in REDIS_PY_TESTS)], folder, folder)
        assert report.exists(), printed[-3000:]
        cases = list(xml.etree.ElementTree.parse(report).iter("testcase"))
    failed = {}
    for case in cases:
        for outcome in (*case.iter("failure"), *case.iter("error")):
            failed[case.get("name")] = outcome.text[-2000:]
    passed = {case.get("name") for case in cases if len(case) == 0} - set(failed)
    return passed, failed, printed
