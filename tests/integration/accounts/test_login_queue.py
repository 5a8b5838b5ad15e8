"""Logins that wait: a client that is gone leaves, waiting has an end, and wrong passwords of one account delay no
other one of the same address."""

import os
import select

import pytest

import hs
import logins
from server import wait_until

pytestmark = [pytest.mark.again_in("mysql-9.7"), pytest.mark.ours]

ABANDONED = 400
TIMEOUT_S = 3


@pytest.fixture
def server(make_server):
    server = make_server(options=[*logins.OPTIONS, f"--handlersocket-auth-timeout={TIMEOUT_S}"])
    sql = logins.prepare(server)
    sql.run("CREATE USER other@'127.%' IDENTIFIED BY 'right'")
    sql.run("GRANT ALL ON g.* TO other@'127.%'")
    return server


def descriptors(server):
    return len(os.listdir(f"/proc/{server.pid}/fd"))


def test_abandoned_logins_give_their_descriptors_back(server):
    """Four logins of a source are answered in 3 s at most when they fail again and again; without an end of their own
    these would keep their descriptors for five minutes."""
    before = descriptors(server)
    source = logins.fresh_source()
    for _ in range(ABANDONED):
        client = logins.connect(server, source=source)
        client.send_raw(b"A\t2\tx\ty\n")
        client.close()
    wait_until(lambda: descriptors(server) < before + 20, 10 * TIMEOUT_S, "descriptors that are given back")
    client, answer = logins.log_in(server, "app", "right", source=source)
    assert answer == hs.reply(0, 1)


def test_a_login_that_waits_has_an_end(server):
    source = logins.fresh_source()
    clients = [logins.connect(server, source=source) for _ in range(60)]
    for client in clients:
        client.send_raw(b"A\t2\tapp\twrong\n")
    ends = [client.recv_all(10 * TIMEOUT_S) for client in clients]
    assert b"" in ends, "the last ones are closed without an answer"
    assert any(b"unauth" in end for end in ends)


def test_wrong_passwords_of_one_account_delay_no_other(server):
    source = logins.fresh_source()
    wrong = [logins.connect(server, source=source) for _ in range(16)]
    for client in wrong:
        client.send_raw(b"A\t2\tapp\twrong\n")
    _, answer = logins.log_in(server, "other", "right", source=source)
    assert answer == hs.reply(0, 1)
    answered = select.select([client.sock for client in wrong], [], [], 0)[0]
    assert len(answered) <= 4, "the right one has waited for the wrong ones"
