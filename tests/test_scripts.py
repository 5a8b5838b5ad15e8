"""The scripts: what they do when they are ended, and where a machine is not as it should be."""

import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile

import pytest

from rowsocket_bench import cli
from server import REPOSITORY, interrupt_on_signals

LIB = f'. "{REPOSITORY}/scripts/lib.sh"; set -euo pipefail; '
PACKAGES = f'{LIB} . "{REPOSITORY}/scripts/lib/packages.sh"; '
TIMEOUT_S = 60


def bash(text, *arguments, **env):
    done = subprocess.run(["bash", "-c", text, "script", *map(str, arguments)], text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=TIMEOUT_S, check=False,
                          env={**os.environ, **env})
    return done.returncode, done.stdout


# --- Ends from outside ---

@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("prepare, end", [(cli.end_orderly_on_signals, SystemExit),
                                          (interrupt_on_signals, KeyboardInterrupt)])
def test_servers_are_stopped_at_an_end_from_outside(prepare, end, number):
    before = {each: signal.signal(each, signal.SIG_DFL) for each in (signal.SIGTERM, signal.SIGHUP)}
    try:
        prepare()
        with pytest.raises(end):
            signal.raise_signal(number)
        signal.signal(number, signal.SIG_IGN)  # as nohup does
        prepare()
        assert signal.getsignal(number) == signal.SIG_IGN
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
