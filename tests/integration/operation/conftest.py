"""What all tests of TLS use: certificates, and a server that offers TLS on all ports. And a server that only one
module's tests have asked something of."""

import pytest

from private_servers import create, remove
from tls import TLS_ON, Certificates, make_table


@pytest.fixture(scope="session")
def certificates():
    return Certificates.shared()


@pytest.fixture(scope="module")
def module_server(request, certificates):
    """A server that offers TLS, with the further OPTIONS of the test's module."""
    server = create(request.config, options=[
        *certificates.options(), *TLS_ON, "--handlersocket-auth-timeout=2", *request.module.OPTIONS]).start()
    make_table(server)
    yield server
    remove(server)


@pytest.fixture
def both(module_server):
    yield module_server
    module_server.close_clients()


@pytest.fixture(scope="module")
def quiet_server(request):
    """A server for the tests of one module: what is shown of the last minutes is not of the tests before."""
    server = create(request.config).start()
    yield server
    remove(server)
