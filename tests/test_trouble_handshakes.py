"""The rule of rowsocket-doctor --live about TLS handshakes that do not end, by readings that are made up."""

import pytest

from test_trouble import client, found

pytestmark = pytest.mark.once("starts no server")


def shaking(numbers, address="10.0.0.66"):
    return [{**client(number, 0), "state": "handshake", "address": address} for number in numbers]


def test_handshakes_that_do_not_go_on():
    text = found({"clients": shaking(range(100))},
                 {"clients": shaking(range(30)) + shaking(range(30, 35), "10.0.0.7") + shaking(range(100, 200))})
    assert "35 connections of handlersocket have begun a TLS handshake that does not go on, 30 of them from 10.0.0.66: " in text
    assert "handlersocket_auth_timeout ends each" in text
    assert found({"clients": shaking(range(100))}, {"clients": shaking(range(100, 200))}) == "", "these are others"
    assert found({"clients": shaking(range(5))}, {"clients": shaking(range(5))}) == "", "they are few"
