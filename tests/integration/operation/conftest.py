"""What all tests of TLS use: certificates, and a server that offers TLS on all ports."""

import pytest

from server import Server
from tls import TLS_ON, Certificates, make_table


@pytest.fixture(scope="session")
def certificates():
    return Certificates.shared()


@pytest.fixture(scope="module")
def module_server(request, certificates):
    """A server that offers TLS, with the further OPTIONS of the test's module."""
    server = Server(request.config.getoption("--plugin"), [
        *certificates.options(), *TLS_ON, "--handlersocket-auth-timeout=2", *request.module.OPTIONS]).start()
    make_table(server)
    yield server
    server.remove()


@pytest.fixture
def both(module_server):
    yield module_server
    module_server.close_clients()
