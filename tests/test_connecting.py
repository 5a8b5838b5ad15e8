"""How the programs for operators reach the server, by their options and an option file."""

import argparse
import sys

import pymysql
import pytest

from server import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "packaging"))
# pylint: disable=wrong-import-position
from rowsocket_observe import connecting

pytestmark = pytest.mark.once("starts no server")
SOCKET = "/run/elsewhere.sock"


DEFAULT = "/run/mysqld/mysqld.sock"


def reached(monkeypatch, arguments):
    """The UNIX socket, or the host and the port, and the user with which the programs connect."""
    found = []
    monkeypatch.setattr(pymysql.connections.Connection, "connect", lambda self, sock=None: found.append(
        (self.unix_socket or (self.host, self.port), self.user)))
    parser = argparse.ArgumentParser()
    connecting.add_options(parser)
    connecting.connect(parser.parse_args(arguments))
    [one] = found
    return one


@pytest.mark.parametrize("lines, arguments, where", [
    (f"socket = {SOCKET}", ["--host", "db2"], ("db2", 3306)), (f"socket = {SOCKET}", [], SOCKET),
    (f"socket = {SOCKET}", ["--socket", "/s"], "/s"), (f"socket = {SOCKET}", ["--host", "db2", "--socket", "/s"], "/s"),
    ("", [], DEFAULT), ("host = localhost", [], DEFAULT), ("host = localhost\nport = 3306", [], DEFAULT),
    ("host = localhost\nport = 3307", [], ("localhost", 3307)), ("port = 3307", [], ("localhost", 3307)),
    (f"socket = {SOCKET}\nport = 3307", [], SOCKET), ("host = db1\nport = 3307", [], ("db1", 3307)),
    ("port = 3307", ["--host", "db2"], ("db2", 3307)), ("port = 3307", ["--host", "db2", "--port", "3308"], ("db2", 3308)),
    (f"socket = {SOCKET}", ["--port", "3308"], ("localhost", 3308)), ("host = db1", ["--port", "3308"], ("db1", 3308)),
    ("host = db1", ["--port", "3308", "--socket", "/s"], "/s")])
def test_the_command_line_counts_more_than_the_option_file(tmp_path, monkeypatch, lines, arguments, where):
    file = tmp_path / "client.cnf"
    file.write_text(f"[client]\nuser = metrics\n{lines}\n")
    assert reached(monkeypatch, ["--defaults-file", str(file), *arguments]) == (where, "metrics")


@pytest.mark.parametrize("arguments, where", [
    ([], DEFAULT), (["--port", "3308"], ("localhost", 3308)), (["--host", "db2"], ("db2", 3306)), (["--socket", "/s"], "/s")])
def test_the_command_line_alone(monkeypatch, arguments, where):
    assert reached(monkeypatch, arguments)[0] == where


def test_the_servers_sql_mode_does_not_change_what_statements_mean(monkeypatch):
    """With NO_BACKSLASH_ESCAPES MySQL would find no variables LIKE 'resp\\_%', and the library would seem not to be loaded. What a
    server answers is in test_monitoring.py."""
    sent = []
    monkeypatch.setattr(pymysql.connections.Connection, "connect", lambda self, sock=None: sent.append(self.init_command))
    parser = argparse.ArgumentParser()
    connecting.add_options(parser)
    connecting.connect(parser.parse_args([]), read_timeout=5)
    assert sent == ["SET SESSION lock_wait_timeout = 1, sql_mode = '' /*M!100100 , max_statement_time = 4 */"
                    " /*!50708 , max_execution_time = 4000 */"]
