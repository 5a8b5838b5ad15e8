"""HAProxy with the configuration of packaging/haproxy.cfg, in front of the nodes of a cluster."""

import re
import socket
import subprocess

from server import REPOSITORY, free_port, wait_until

RECIPE = REPOSITORY / "packaging" / "haproxy.cfg"
PROGRAM = "/usr/sbin/haproxy"
# The port of each section in a node's env file.
PORTS = {"handlersocket_wr": "HS_PORT_WR", "handlersocket": "HS_PORT", "memcached": "MEMCACHED_PORT"}


class Proxy:
    """proxy.address("handlersocket_wr") is where clients connect."""

    def __init__(self, cluster, folder):
        self.ports = {section: free_port() for section in PORTS}
        self.config = folder / "haproxy.cfg"
        self.log = folder / "haproxy.log"
        self.config.write_text(self._configured(cluster))
        self.process = None

    def _configured(self, cluster):
        """packaging/haproxy.cfg with these nodes and free ports."""
        section, lines = None, []
        for line in RECIPE.read_text().splitlines():
            found = re.match(r"listen (\w+)", line)
            section = found[1] if found else section
            line = re.sub(r"(bind 127\.0\.0\.1):\d+", lambda hit: f"{hit[1]}:{self.ports[section]}", line)
            line = re.sub(r"server db(\d) \S+", lambda hit: f"server db{hit[1]} 127.0.0.1:"
                          + cluster[int(hit[1])].env[PORTS[section]], line)
            lines.append(line)
        return "\n".join(lines) + "\n"

    def start(self):
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(  # pylint: disable=consider-using-with
                [PROGRAM, "-db", "-f", str(self.config)], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(lambda: all(map(self._accepts, self.ports)), 20, f"HAProxy; see {self.log}")
        return self

    def _accepts(self, section):
        assert self.process.poll() is None, self.log.read_text()
        try:
            socket.create_connection(self.address(section), timeout=5).close()
        except OSError:
            return False
        return True

    def address(self, section):
        return "127.0.0.1", self.ports[section]

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
