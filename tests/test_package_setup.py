"""What rowsocket-setup does, with the programs of a server and of the system in a folder of the test."""

import re

import pytest

# pylint: disable=unused-import # the fixture
from test_package_scripts import GROUP, HERE, PACKAGING, machine

pytestmark = pytest.mark.once("starts no server")


@pytest.mark.parametrize("script", sorted(file.name for file in PACKAGING.glob("*.sql")))
def test_a_script_of_setup_leaves_what_is_there(script):
    """rowsocket-setup may run again, on a server whose administrator has changed what it made."""
    lines = [line for line in (PACKAGING / script).read_text().splitlines() if not line.startswith("--")]
    statements = [" ".join(statement.split()) for statement in "\n".join(lines).split(";") if statement.strip()]
    for statement in statements:
        assert not re.match(r"(REPLACE|DROP|DELETE|UPDATE|TRUNCATE|INSERT(?! IGNORE)|CREATE (?!\w+ IF NOT EXISTS))\b", statement), statement


def setup(machine, listens="", umask=0o022, arguments=(), system_programs="bin"):
    """Runs rowsocket-setup as root of a machine on which `listens` is what ss says of every port."""
    for name in ("groupadd", "usermod"):
        machine.put(f"{system_programs}/{name}", f"#!/bin/sh\necho \"{name} $*\" >>'{machine.folder}/{name}'\n")
    for name in ("chown", "getent"):
        machine.put(f"bin/{name}", "#!/bin/sh\n")
    machine.put("bin/id", "#!/bin/sh\necho 0\n")
    machine.put("bin/ss", f"#!/bin/sh\nprintf '%s\\n' '{listens}'\n")
    for name in ("innodb_memcache", "rowsocket_tokens", "rowsocket_store", "example"):
        machine.put(f"usr/share/rowsocket/{name}.sql", "")
    text = machine.text_of("rowsocket-setup")
    assert f"config={machine.config}\n" in text
    return machine.run(text.replace("/usr/sbin", f"{machine.folder}/usr/sbin"), *arguments, umask=umask)


def test_setup_works_with_the_path_of_a_plain_su(machine, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    done = setup(machine, arguments=["--member", "www-data"], system_programs="usr/sbin")
    assert done.returncode == 0, done.stderr
    assert (machine.folder / "usermod").read_text() == "usermod --append --groups rowsocket www-data\n"


def test_the_server_may_read_what_setup_writes(machine):
    done = setup(machine, umask=0o077)
    assert done.returncode == 0, done.stderr
    assert (machine.config / "rowsocket_setup.cnf").stat().st_mode & 0o777 == 0o644
    assert machine.load.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("lines,secret", [
    ("handlersocket_plain_secret = abc\nhandlersocket_plain_secret_wr = abc", "abc"),
    ("loose-handlersocket-plain-secret=abc # mine\n loose_handlersocket-plain_secret_wr =abc", "abc"),
    ("handlersocket_plain_secret = 'ab#cd' # mine\nhandlersocket_plain_secret_wr = \"ab#cd\"", "ab#cd"),
    ("handlersocket_plain_secret = ab#cd\nhandlersocket_plain_secret_wr = 'ab'", "ab"),
    *[(f"handlersocket_plain_secret = {line}\nhandlersocket_plain_secret_wr = {line}", secret) for line, secret in (
        (r"a\sb\\c", r"a b\c"), (r"'a\'b # c'", "a'b # c"), (r'"a\"#b" # c', 'a"#b'), (r"a\'b#c", "a'b#c"), (r"'a\xb\'", "a\\xb\\"))]])
def test_setup_lays_the_secrets_that_the_server_reads(machine, lines, secret):
    """The administrator may have written them anew, in any spelling that the server knows."""
    machine.load.write_text(f"[{GROUP[machine.name]}]\n{lines}\n")
    done = setup(machine)
    assert done.returncode == 0 and "plain_secret" not in done.stderr, done.stderr
    laid = (machine.folder / "etc/rowsocket/secrets").read_text()
    assert laid.splitlines()[1:] == [f"reading {secret}", f"writing {secret}"]


@pytest.mark.parametrize("line,warns", [
    ("accounts = OFF", True), ("accounts = ON", False), ("port_wr = 0", False), ("ssl = REQUIRED", True),
    ("ssl_client_cert = REQUIRED", True), ("ssl = required\nhandlersocket_ssl_client_cert = REQUIRED", False)])
def test_setup_says_which_port_has_no_secret(machine, line, warns):
    """Where clients log in with accounts, or show certificates, no port needs one; nor does a port that is off."""
    machine.load.write_text("\nhandlersocket_".join(["[mysqld]", "plain_secret = abc", "port = 9998", "port_wr = 9999", line]))
    done = setup(machine)
    assert [done.returncode, *re.findall(r"has no (\w+): ", done.stderr)] == [0, *["handlersocket_plain_secret_wr"] * warns], done.stderr


@pytest.mark.parametrize("address,owner,said", [
    ("127.0.0.1:11211", 'users:(("memcached",pid=7,fd=4))', "memcached (process 7) listens on port 11211"),
    ("0.0.0.0%lo:6379", 'users:(("redis-server",pid=7,fd=4))', "redis-server (process 7) listens on port 6379"),
    ("*:6379", "", "another program listens on port 6379"),
    ("10.0.0.5:6379", 'users:(("redis-server",pid=7,fd=4))', ""),
    ("127.0.0.1:6379", 'users:(("{server}",pid=7,fd=4))', "")])
def test_setup_takes_no_port_of_another_program(machine, address, owner, said):
    done = setup(machine, f"LISTEN 0 128 {address} 0.0.0.0:* {owner.format(server=GROUP[machine.name])}")
    if said:
        assert done.returncode == 1 and said in done.stderr, done.stderr
        assert not list(machine.config.iterdir()), "nothing was written"
    else:
        assert done.returncode == 0, done.stderr


MEMCACHED = ["loose_daemon_memcached_address = 127.0.0.1", "loose_daemon_memcached_port = 11211"]
USER = "loose_resp_user = rowsocket@localhost"


@pytest.mark.parametrize("text,gained,ports", [
    ("[mysqld]\nloose_daemon_memcached_port = 11212\nloose_resp_port = 6380\n", [USER], (11212, 6380)),
    ("[mysqld]\ndaemon-memcached-port=11212\n loose-resp_port = 6380 # mine\n[client]", [USER], (11212, 6380)),
    ("[mysqld]\nresp_port = 6380\nresp-accounts = ON\n", MEMCACHED, (11211, 6380)),
    ("[mysqld]\nresp_port = 6380\nresp-accounts = OFF\n", [*MEMCACHED, USER], (11211, 6380)),
    ("[mysqld]\nresp_port = 6380\n#resp_user = nobody\nloose_resp_user = app@localhost\n", MEMCACHED, (11211, 6380)),
    ("\n".join(["[mysqld]", *MEMCACHED, ""]), ["loose_resp_port = 6379", USER], (11211, 6379))])
def test_setup_leaves_the_ports_of_an_existing_file(machine, text, gained, ports):
    """And adds what the file does not have: without resp_user every client of RESP would have all rights."""
    file = machine.config / "rowsocket_setup.cnf"
    file.write_text(text)
    taken = 6379 if ports[1] != 6379 else 6380
    done = setup(machine, f"LISTEN 0 128 127.0.0.1:{taken} 0.0.0.0:*")
    assert done.returncode == 0 and file.read_text().startswith(text), done.stderr
    groups = [f"[{GROUP[machine.name]}]"] * (1 + (len(gained) > 2))
    added = [line for line in file.read_text()[len(text):].splitlines() if line and not line.startswith("#")]
    assert [line for line in added if line[0] == "["] == groups
    assert [line for line in added if line[0] != "["] == gained
    assert [f"127.0.0.1 port {port}; " in done.stdout for port in ports] == [True, True], done.stdout
    written = file.read_text()
    assert setup(machine).returncode == 0 and file.read_text() == written, "it may run again"


# What a server with one source answers: MySQL's usual channel has an empty name.
SOURCE = "case \"$*\" in *CONCAT\\(*) echo 'channel ' ;; *replication_connection*) echo ;; *REPLICAS*) echo source ;; esac"


@pytest.mark.parametrize("is_replica,answer", [
    (True, SOURCE), (True, "case $* in *@@global.read_only) echo 1 ;; esac"),
    (False, "case $* in *@@global.read_only) echo 0 ;; esac")])
def test_setup_writes_nothing_into_the_tables_of_a_replica(machine, is_replica, answer):
    """A transaction of its own stops replication; in MySQL super_read_only would end rowsocket-setup half way."""
    machine.put(f"bin/{machine.name}", f"#!/bin/sh\n[ -n \"$*\" ] || cat >/dev/null\necho \"told: $*\" >>'{machine.folder}/said'\n"
                f"{answer}\n")
    done = setup(machine, arguments=["--example"])
    assert done.returncode == 0, done.stderr
    told = (machine.folder / "said").read_text()
    assert all(each.startswith(HERE) for each in told.split("told: ")[1:]), told
    assert (f"told: {HERE}\n" not in told and "CREATE USER" not in told and "GRANT" not in told) == is_replica, told
    said = "it gets no tables and no account of its own, and no example. Run rowsocket-setup on the source first"
    by_hand = f"by hand on one: {machine.name} <{machine.folder}/usr/share/rowsocket/innodb_memcache.sql, and so on"
    assert (said in done.stdout) == is_replica and (by_hand in done.stdout) == is_replica, done.stdout
    assert "and no example" not in setup(machine).stdout
    assert (machine.config / "rowsocket_setup.cnf").exists() and (machine.folder / "etc/rowsocket/secrets").exists()


def test_setup_opens_no_port_without_its_tables_and_its_account(machine):
    """A server may refuse the account; from its next start on memcached would be open, and RESP closed."""
    machine.put(f"bin/{machine.name}", "#!/bin/sh\ncase $* in *CREATE\\ USER*) exit 1 ;; esac\n")
    assert setup(machine).returncode != 0
    assert not list(machine.config.iterdir())


@pytest.mark.parametrize("answer,made", [
    ("", ["ACCOUNT LOCK"]),
    ("case $* in *rowsocket@localhost\\ ACCOUNT*) echo ERROR 1819 >&2; exit 1 ;; esac", ["ACCOUNT LOCK", "IDENTIFIED {} ACCOUNT LOCK"]),
    ("case $* in *mysql.user*) echo rowsocket ;; esac", [])])
def test_setup_makes_the_account_on_a_server_that_checks_passwords(machine, answer, made):
    """MySQL generates no password for an account that is there, and would check an empty one."""
    machine.put(f"bin/{machine.name}", f"#!/bin/sh\nprintf '%s\\n' \"$*\" >>'{machine.folder}/said'\n{answer}\n"
                "case $* in *RANDOM*) echo generated ;; esac\n")
    done = setup(machine)
    assert done.returncode == 0 and done.stderr == "" and "generated" not in done.stdout, done
    unchecked = "VIA unix_socket" if machine.name == "mariadb" else "BY RANDOM PASSWORD"
    said = re.findall(r"CREATE USER rowsocket@localhost (.*)", (machine.folder / "said").read_text())
    assert said == [each.format(unchecked) for each in made]


def test_setup_knows_the_channels_of_group_replication_in_any_sql_mode(machine):
    """With NO_BACKSLASH_ESCAPES a backslash escapes nothing, and a member that writes would be taken for a replica."""
    machine.put(f"bin/{machine.name}", f"#!/bin/sh\n[ -n \"$*\" ] || cat >/dev/null\nprintf '%s\\n' \"$*\" >>'{machine.folder}/said'\n")
    assert setup(machine).returncode == 0
    asked = [line for line in (machine.folder / "said").read_text().splitlines() if "channel_name NOT" in line]
    assert [line.partition("NOT ")[2] for line in asked] == ["LIKE 'group|_replication|_%' ESCAPE '|'"] * (machine.name == "mysql")


@pytest.mark.parametrize("line,stays", [
    ("resp-user = app@localhost", True), ("loose_resp_accounts = on", True), ("resp_accounts=1", True),
    ("resp_accounts", True), ("resp_accounts # by logins", True), ("resp_accounts =", False), ("resp_accounts = 'ON'", True),
    ("resp_accounts = OFF", False), ("#resp_user = app@localhost", False)])
def test_setup_leaves_the_account_of_another_option_file(machine, line, stays):
    """The server would take that of setup in its place, whose file may be the later one."""
    (machine.config / "a.cnf").write_text(f"[mysqld]\n{line}")
    (machine.config / "b.cnf").write_text("[mysqld]\n")
    assert setup(machine).returncode == 0
    assert (USER in (machine.config / "rowsocket_setup.cnf").read_text()) != stays


@pytest.mark.parametrize("lines,ports", [
    ("loose_resp_port = 6380", (11211, 6380)), ("resp-port=6380\ndaemon_memcached_port = 11212", (11212, 6380)),
    ("loose-daemon-memcached-port = 11212", (11212, 6379)), ("#resp_port = 6380", (11211, 6379)),
    ("loose_resp_port = 0\nloose_daemon_memcached_port = 0", (11211, 6379))])
@pytest.mark.parametrize("other", ["rowsocket.cnf", "zz.cnf"])
def test_setup_leaves_the_ports_of_another_option_file(machine, lines, ports, other):
    """Which of two lines the server takes is a matter of the files' names; another program may have the usual port."""
    (machine.config / other).write_text(f"[mysqld]\n{lines}\n")
    own = [port for port in (11211, 6379) if port in ports]
    for _ in range(2):
        taken = [port for port in (11211, 6379) if port not in ports]
        done = setup(machine, "\n".join(f"LISTEN 0 128 127.0.0.1:{port} 0.0.0.0:*" for port in taken))
        assert done.returncode == 0, done.stderr
        written = (machine.config / "rowsocket_setup.cnf").read_text()
        assert [int(port) for port in re.findall(r"_port = (\d+)", written)] == own, written
    if other == "rowsocket.cnf" or " = 0" not in lines:
        assert [f"127.0.0.1 port {port}; " in done.stdout for port in ports] == [True, True], done.stdout


@pytest.mark.parametrize("groups,is_read", [
    ("mysqld", True), ("server", True), ("client", False), ("mysqld-8.0", False), ("mysqld-1.2", True),
    ("mysqld] # [client", True), ("mysqld]\n[client", False)])
def test_setup_reads_the_groups_that_the_server_reads(machine, groups, is_read):
    """A line of a group for programs, or for another version of the server, opens no port."""
    machine.put(f"bin/{machine.name}", "#!/bin/sh\n[ -n \"$*\" ] || cat >/dev/null\n"
                "case $* in *VERSION*) echo 1.2.3-Debian ;; esac\n")
    (machine.config / "a.cnf").write_text("[mysqld]\n")
    (machine.config / "b.cnf").write_text(f"[{groups}]\nresp_port = 6380")
    (machine.config / "c.cnf").write_text("resp_port = 6381\n")
    done = setup(machine)
    assert f"127.0.0.1 port {6380 if is_read else 6379}; " in done.stdout, done.stdout + done.stderr
    assert ("loose_resp_port" in (machine.config / "rowsocket_setup.cnf").read_text()) != is_read


@pytest.mark.parametrize("group", ["mariadb", "mariadbd-1.2", "client-server", "galera"])
def test_setup_reads_the_groups_of_mariadb_in_mariadb_alone(machine, group):
    machine.put(f"bin/{machine.name}", "#!/bin/sh\n[ -n \"$*\" ] || cat >/dev/null\n"
                "case $* in *VERSION*) echo 1.2.3-Debian ;; esac\n")
    (machine.config / "a.cnf").write_text(f"[{group}]\nresp_port = 6380\n")
    done = setup(machine)
    assert f"127.0.0.1 port {6380 if machine.name == 'mariadb' else 6379}; " in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("quote", ["'", '"'])
def test_setup_takes_the_quotes_of_a_value_for_none_of_its_own(machine, quote):
    (machine.config / "a.cnf").write_text(f"[mysqld]\nresp_port = {quote}6380{quote} # mine\nresp-user = {quote}app@localhost{quote}")
    done = setup(machine)
    assert "127.0.0.1 port 6380; " in done.stdout and "TO app@localhost\n" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("left", [
    "#loose_daemon_memcached_port = 11211\n", "\n# memcached's protocol on loopback.\n[mysqld]\n",
    "loose_daemon_memcached_address = 127.0.0.1\n"])
def test_setup_does_not_open_memcached_again(machine, left):
    """An administrator closed it by taking its lines out; the port may be another program's by now."""
    file = machine.config / "rowsocket_setup.cnf"
    file.write_text(text := f"[mysqld]\nloose_resp_port = 6379\n{USER}\n{left}")
    done = setup(machine, 'LISTEN 0 128 127.0.0.1:11211 0.0.0.0:* users:(("memcached",pid=7,fd=4))')
    assert done.returncode == 0 and file.read_text() == text, done.stderr
    assert "memcached      off: its port is 0" in done.stdout, done.stdout


@pytest.mark.parametrize("lines,said", [
    ("", "on which rowsocket@localhost has privileges:\n               GRANT SELECT ON shop.product TO rowsocket@localhost\n"),
    ("resp_user = app@localhost", "GRANT SELECT ON shop.product TO app@localhost\n"),
    ("resp_accounts = ON\nresp_user = app@localhost", "on which the account of each login has privileges:"),
    ("resp_user =", "every table, with all rights: resp_user is empty")])
def test_setup_names_the_account_whose_rights_count(machine, lines, said):
    (machine.config / "a.cnf").write_text(f"[mysqld]\n{lines}\n")
    done = setup(machine)
    assert done.returncode == 0 and said in done.stdout, done.stdout


def test_setup_says_that_a_port_of_an_existing_file_is_off(machine):
    (machine.config / "rowsocket_setup.cnf").write_text("[mysqld]\nloose_daemon_memcached_port = 0\n")
    done = setup(machine)
    assert "memcached      off: its port is 0" in done.stdout and "127.0.0.1 port 6379; " in done.stdout, done.stdout


@pytest.mark.parametrize("lines,reads,writes", [
    ("handlersocket_port = 9998\nhandlersocket_port_wr = 9999", "127.0.0.1 port 9998", "127.0.0.1 port 9999"),
    ("handlersocket_port = 9997\nhandlersocket_address = 10.0.0.5", "10.0.0.5 port 9997", "off: its port is 0; a"),
    ("handlersocket_port = /run/a.sock\nhandlersocket_port_wr = 0\nhandlersocket_address = /", "the socket /run/a.sock",
     "off: its port is 0; a loose_handlersocket_port_wr in ")])
def test_setup_names_the_ports_of_handlersocket_as_they_are(machine, lines, reads, writes):
    (machine.config / "a.cnf").write_text(f"[mysqld]\n{lines}\n")
    done = setup(machine)
    assert f"HandlerSocket  reads: {reads}\n" in done.stdout, done.stdout + done.stderr
    assert f"               reads and writes: {writes}" in done.stdout, done.stdout
