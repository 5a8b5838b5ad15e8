"""The servers that Rowsocket is for, and how they differ."""
import dataclasses
import os
import pwd
import re
import subprocess


@dataclasses.dataclass(frozen=True)
class Server:
    """How one server differs from the others."""
    name: str
    title: str
    program: str
    config: str  # the folder of option files that the package writes to
    groups: frozenset  # of option files
    service: str
    client: str
    plugins: tuple  # loads the library into a running server
    main_file: str  # what /etc/mysql/my.cnf is a link to
    has_innodb_api: bool  # whether variables named innodb_api_* exist

    @property
    def core(self):
        return f"{self.name}-server-core"

    @property
    def load_file(self):
        return f"{self.config}/rowsocket-load.cnf"

    @property
    def restart(self):
        return f"systemctl restart {self.service}"


SERVERS = (
    Server("mariadb", "MariaDB", "usr/sbin/mariadbd", "etc/mysql/mariadb.conf.d",
           frozenset({"mariadbd", "mysqld", "server", "mariadb", "client-server", "galera"}), "mariadb", "mariadb",
           ("INSTALL SONAME 'rowsocket'",), "/etc/mysql/mariadb.cnf", False),
    Server("mysql", "MySQL", "usr/sbin/mysqld", "etc/mysql/mysql.conf.d", frozenset({"mysqld", "server"}),
           "mysql", "mysql", ("INSTALL PLUGIN handlersocket SONAME 'rowsocket.so'",
                              "INSTALL PLUGIN daemon_memcached SONAME 'rowsocket.so'",
                              "INSTALL PLUGIN resp SONAME 'rowsocket.so'"),
           "/etc/mysql/mysql.cnf", True),
)


def run(*command):
    """The output of a command; empty if it fails or is missing."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20,
                              env={**os.environ, "LC_ALL": "C"})
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def user_of_the_server(options):
    """The user of a server, whom its option `user` names, or whose number it is; None if this machine has no such user."""
    name = options.get("user", "mysql")
    for find in (pwd.getpwnam, lambda number: pwd.getpwuid(int(number))):
        try:
            return find(name)
        except (KeyError, ValueError, OverflowError):
            pass
    return None


def server_version(root, server):
    """The version of a server's program; empty if it is missing, or is a link to another server's program."""
    said = run(str(root / server.program), "--no-defaults", "--version")
    match = re.search(r" Ver (\d+\.\d+\.\d+)", said)
    return match.group(1) if match and ("MariaDB" in said) == (server.name == "mariadb") else ""


def servers_of(root, name):
    """The servers to look at: those for which Rowsocket was installed; if there are none, all that are installed."""
    wanted = [server for server in SERVERS if name in ("", server.name)]
    there = [server for server in wanted if server_version(root, server)]
    installed = [server for server in there
                 if any((root / server.config).glob("rowsocket*.cnf*"))]
    return installed or there or (wanted if name else [])
