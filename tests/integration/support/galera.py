"""Options of a server that is a Galera cluster of its own."""

import subprocess

from server import REPOSITORY

LIBRARIES = ("lib.sh", "lib/packages.sh", "lib/private_apt.sh", "lib/galera_cache.sh")


def provider():
    """The path of Galera's library, which is downloaded if it is missing."""
    lines = [f'. "{REPOSITORY / "scripts" / name}"' for name in LIBRARIES]
    done = subprocess.run(["bash", "-c", "\n".join(["set -euo pipefail", *lines, "make_galera_cache >&2",
                                                    "galera_provider"])],
                          stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def options(port):
    """port: the first of two free ports for the traffic of the nodes."""
    return ["--wsrep-on=ON", f"--wsrep-provider={provider()}", "--wsrep-cluster-address=gcomm://",
            "--wsrep-node-address=127.0.0.1:%d" % port, "--binlog-format=ROW", "--innodb-autoinc-lock-mode=2",
            f"--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:{port};ist.recv_addr=127.0.0.1:{port + 1};"
            "gcache.size=8M"]
