"""The private servers of a run of pytest: conftest.py watches them and stops those that are left."""

from server import Server

servers = []  # the servers to watch and to stop


def create(config, plugin=None, options=(), **kwargs):
    """A server, not started yet, with the plugin and the --keep of the run."""
    server = Server(plugin or config.getoption("--plugin"), options,
                    keep=config.getoption("--keep"), **kwargs)
    servers.append(server)
    return server


def remove(server):
    """Stops the server and deletes its directory, once."""
    if server in servers:
        servers.remove(server)
        server.remove()
