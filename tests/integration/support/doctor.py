"""Asks rowsocket-doctor --live until it says what a test waits for."""

import contextlib
import subprocess
import sys
import threading

from server import REPOSITORY, wait_until

NOTHING = "Nothing is wrong now.\n"
# Words of the doctor about slow commits.
OF_THE_DISK = ("the disk (iostat", "what makes commits slow")


def doctor(server, interval_s=0.3):
    done = subprocess.run(
        [sys.executable, REPOSITORY / "packaging/rowsocket-doctor", "--live", "--interval", str(interval_s), "--socket",
         server.env["SQL_SOCKET"], "--user", "root"], capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == "" and (done.returncode == 0) == (done.stdout == NOTHING), done
    return done.stdout


def finds_nothing(server):
    """Asserts that the doctor finds nothing. Asks again while the disk of the test's machine is slow for a moment."""
    said = doctor(server)
    for _ in range(20):
        if not any(word in said for word in OF_THE_DISK):
            break
        said = doctor(server)
    assert said == NOTHING, said


def says(server, *words, interval_s=0.3):
    """Waits until the doctor says all the words. Returns what it says."""
    said = [""]

    def says_all():
        said[0] = doctor(server, interval_s)
        return all(word in said[0] for word in words)
    try:
        wait_until(says_all, timeout_s=30)
    except TimeoutError:
        raise AssertionError(f"{words} are not among what it says: {said[0]}") from None
    return said[0]


@contextlib.contextmanager
def busy(work):
    """Calls work() again and again, in a thread of its own, until the end."""
    ends = threading.Event()

    def run():
        while not ends.is_set():
            work()
    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ends.set()
        thread.join()
