"""PAM checks a password: the server's plugin asks the library for it, and may let the client in as another
account. The server has folders of its own in the place of /etc/pam.d and /etc/security."""

import concurrent.futures
import ctypes
import os

import pytest

import logins
from hs import OK
from logins import UNAUTH, connect, connect_mc, is_in, log_in, log_in_mc, sasl
from private_servers import create, remove
from test_connections_table import connections

pytestmark = [pytest.mark.mariadb("PAM"), pytest.mark.ours]

CLONE_NEWNS = 0x20000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 1 << 18

# Gets the password as its input, from pam_exec. The user "slow" waits for a file.
CHECK = """#!/bin/sh
password=$(tr -d '\\0')
while [ "$PAM_USER" = slow ] && [ ! -e "${0%/*}/go" ]; do sleep 0.05; done
[ "$password" = right ]
"""


def start_with_folders(server, folders):
    """Starts the server so that it sees each folder, {path: folder}, at the path. The thread that starts the
    server, and is its parent, has mounts of its own; they end with the server."""
    libc = ctypes.CDLL(None, use_errno=True)

    def check(result):
        if result != 0:
            pytest.skip(f"mounts of its own need root: {os.strerror(ctypes.get_errno())}")

    def start():
        check(libc.unshare(CLONE_NEWNS))
        check(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None))
        for path, folder in folders.items():
            check(libc.mount(os.fsencode(folder), os.fsencode(path), None, MS_BIND, None))
        server.start()

    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        thread.submit(start).result()


@pytest.fixture(scope="module")
def served(request):
    server = create(request.config, options=[*logins.OPTIONS, "--plugin-load-add=auth_pam_v1"])
    services, maps = server.base / "pam.d", server.base / "security"
    services.mkdir()
    maps.mkdir()
    check = server.base / "check"
    check.write_text(CHECK)
    check.chmod(0o755)
    lines = f"auth required pam_exec.so quiet expose_authtok {check}\naccount required pam_permit.so\n"
    (services / "checked").write_text(lines)
    mapper = logins.pam_module("pam_user_map.so")
    (services / "mapped").write_text(lines.replace("account", f"auth required {mapper}\naccount", 1))
    (maps / "user_map.conf").write_text("guest: app\n")
    start_with_folders(server, {"/etc/pam.d": services, "/etc/security": maps})
    logins.prepare(server)
    yield server
    remove(server)


def test_pam_checks_the_password(served):
    served.sql().run("CREATE USER pamela@'127.%' IDENTIFIED VIA pam USING 'checked'")
    assert log_in(served, "pamela", "right")[1] == OK
    assert connect(served).auth("pamela:right") == OK
    assert log_in_mc(connect_mc(served), "pamela", "right") == b"STORED"
    assert sasl(connect_mc(served), "pamela", "right").status == 0
    for password in ("wrong", "", "right "):
        assert log_in(served, "pamela", password)[1] == UNAUTH


def test_slow_pam_delays_nobody_else(served):
    served.sql().run("CREATE USER slow@'127.%' IDENTIFIED VIA pam USING 'checked'")
    slow = connect(served)
    slow.send("A", 2, "slow", "right")
    for _ in range(3):
        other, answer = log_in(served, "app", "right")
        assert answer == OK and is_in(other)
    assert not slow.readable(0)
    (served.base / "go").touch()
    assert slow.recv() == OK


def test_pam_may_name_another_account(served):
    """A proxy user: the rights are those of the account that PAM names, and a change of either account counts."""
    sql = served.sql()
    sql.run("CREATE USER ''@'127.%' IDENTIFIED VIA pam USING 'mapped'")
    sql.run("GRANT PROXY ON app@'127.%' TO ''@'127.%'")
    try:
        client, answer = log_in(served, "guest", "right")
        assert answer == OK and is_in(client)
        port = client.sock.getsockname()[1]
        assert [row["account"] for row in connections(sql) if int(row["port"]) == port] == [b"app@127.%"]
        assert log_in(served, "guest", "wrong")[1] == UNAUTH
        # PAM leaves the name as it is, and the account without a name lets nobody in.
        assert log_in(served, "stranger", "right")[1] == UNAUTH
        sql.run("ALTER USER ''@'127.%' ACCOUNT LOCK")
        assert client.recv() == UNAUTH and client.at_end()
    finally:
        sql.run("DROP USER ''@'127.%'")
