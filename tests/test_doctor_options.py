"""rowsocket-doctor: what it finds in option files, those of a machine and those of the original plugins."""

import json
import os
import pwd

import pytest

# pylint: disable=unused-import # the fixtures
from test_doctor import PROGRAM, config, doctor, find, load_file, machine_of, module, name, put_server, right, root


# --- Option files of a machine ---

def test_option_files(root, name):
    load = load_file(root, name)
    load.chmod(0o644)
    find(root, "chmod 600")
    load.write_text(f"[{PROGRAM[name]}]\nplugin-load-add = rowsocket.so\n")
    load.chmod(0o600)
    said = doctor("--root", root)[1]
    assert "handlersocket_plain_secret is not set: every local user may use handlersocket_port" in said
    assert "handlersocket_plain_secret_wr is not set" in said
    for on in (" = ON", " = true", " = 1", "", "  # by accounts = by logins", " = OFF\nloose-handlersocket-accounts"):
        load.write_text(f"[{PROGRAM[name]}]\nplugin-load-add = rowsocket.so\nhandlersocket_accounts{on}\n")
        right(root)
    for off in (" =", " = OFF", "\nhandlersocket_accounts = 0"):
        load.write_text(f"[{PROGRAM[name]}]\nplugin-load-add = rowsocket.so\nhandlersocket_accounts{off}\n")
        assert "handlersocket_plain_secret is not set" in doctor("--root", root)[1], off
    later = load.with_name("zz.cnf")
    for lines, missing in (("port = 0\nhandlersocket_port_wr = 0", 0), ("port_wr = 0", 1), ("ssl = REQUIRED", 2),
                           ("ssl = REQUIRED\nhandlersocket_ssl_client_cert = required", 0)):
        later.write_text(f"[{PROGRAM[name]}]\nhandlersocket_{lines}\n")
        assert doctor("--root", root)[1].count("is not set: every local user may use") == missing, lines
    later.unlink()
    load.unlink()
    said = doctor("--root", root)[1]
    assert "no option file loads rowsocket.so" in said
    assert f"/usr/share/rowsocket/rowsocket-enable; systemctl restart {name}" in said


@pytest.mark.parametrize("line,value", [
    ("resp_user = a#b", "a"), ("resp_user = 'a #b' # c", "a #b"), ("resp-user = \"a'#b\"", "a'#b"), ("resp_user = 'a", "'a"),
    (r"resp_user = a\sb\\c", r"a b\c"), (r"resp_user = 'a\'b # c'", "a'b # c"), (r'resp_user = "a\"#b" # c', 'a"#b'),
    (r"resp_user = a\'b#c", "a'b#c"), (r"resp_user = 'a\xb\'", "a\\xb\\"), (r"resp_user = 'a\tb\\' # c", "a\tb\\"),
    ("[client] # not the server's\nresp_user = a", ""), ("[client]\n[mysqld ] # c\nresp_user = a", "a"),
    ("[ mysqld ]\nresp_user = a", "")])
def test_a_line_means_what_it_means_to_the_server(tmp_path, line, value):
    """As my_print_defaults of each server prints it."""
    (tmp_path / "a.cnf").write_text(f"[mysqld]\n{line}\n")
    read = module().Options(frozenset({"mysqld"})).read(tmp_path / "a.cnf")
    assert read.get("resp_user") == value


def test_a_folder_that_is_not_read(root, name):
    """The option files of the other server are in the place of this one's, as after a change of servers."""
    (root / "etc/mysql/other.cnf").write_text("[client]\n!includedir /etc/mysql/conf.d/\n")
    link = root / "etc/alternatives/my.cnf"
    link.unlink()
    link.symlink_to("/etc/mysql/other.cnf")
    find(root, f"/etc/mysql/my.cnf does not include /etc/mysql/{config(root, name).name}",
         f"update-alternatives --set my.cnf /etc/mysql/{name}.cnf")
    (root / "etc/my.cnf").write_text(f"!includedir /etc/mysql/{config(root, name).name}\n")
    right(root)


def test_groups(root, name):
    load = load_file(root, name)
    text = load.read_text()
    for group, is_read in (("mariadbd", name == "mariadb"), ("client-server", name == "mariadb"),
                           ("mysqld", True), ("server", True), ("client", False),
                           ("mysqld-9.7", name == "mysql"), ("mysqld-10.11", name == "mariadb"),
                           ("mysqld-8.0", False)):
        load.write_text(text.replace(f"[{PROGRAM[name]}]", f"[{group}]"))
        if is_read:
            right(root)
        else:
            assert "does not load rowsocket.so in a group that" in doctor("--root", root)[1], group


def test_other_plugins_are_loaded_as_well(root, name):
    """Each plugin_load_add adds a library; plugin_load takes back what files before it load."""
    later = config(root, name) / "zz.cnf"
    later.write_text(f"[{PROGRAM[name]}]\nplugin-load-add = group_replication.so\n")
    right(root)
    later.write_text(f"[{PROGRAM[name]}]\nplugin_load = semisync_source.so\n")
    find(root, "plugin_load in a file that is read after", "takes back what that file loads", "plugin_load_add in the place of plugin_load")
    later.write_text(f"[{PROGRAM[name]}]\nplugin_load = rowsocket.so;semisync_source.so\n")
    right(root)


def test_a_file_that_everybody_may_write(root, name):
    file = config(root, name) / "rowsocket.cnf"
    file.chmod(0o666)
    find(root, "may be written by everybody", f"chmod o-w {file}")


def test_a_file_that_the_server_cannot_read(root, name, monkeypatch):
    """As rowsocket_setup.cnf was, written by root under a umask of its own."""
    program = machine_of(root, name)[0]
    file = config(root, name) / "zz.cnf"
    file.write_text(f"[{PROGRAM[name]}]\n")
    user = pwd.struct_passwd(("no-such-user", "x", 4242, 4243, "", "/", "/bin/sh"))
    monkeypatch.setattr(program, "user_of_the_server", lambda _: user)
    for mode, found in ((0o644, 0), (0o640, 1), (0o604, 0)):
        file.chmod(mode)
        machine = machine_of(root, name)[1]
        program.check_that_the_server_may_read(machine, load_file(root, name))
        assert len(machine.findings) == found, machine.findings
    assert program.may_read(user, os.stat_result((0o640, 0, 0, 0, 0, 4243, 0, 0, 0, 0)))
    assert not program.may_read(user, os.stat_result((0o044, 0, 0, 0, 4242, 4243, 0, 0, 0, 0)))


def test_the_option_names_the_servers_user(root, name):
    """Not the one whom the server's package makes, whom this machine may not have."""
    load, file = load_file(root, name), config(root, name) / "zz.cnf"
    file.write_text(f"[{PROGRAM[name]}]\nuser = nobody\n")
    if os.geteuid() == 0:
        os.chown(load, 0, 0)
        find(root, f"{load} belongs to root, and the server's user cannot read it", f"chown nobody:root {load}")
        file.write_text(f"[{PROGRAM[name]}]\nuser = root\n")
        right(root)
        os.chown(load, 1, 0)
        file.write_text(f"[{PROGRAM[name]}]\nuser = nobody\n")
    file.chmod(0o640)
    find(root, f"{file} cannot be read by nobody, the server's user", f"chown nobody {file}")


def test_persisted_values_count_in_mysql(tmp_path):
    put_server(tmp_path, "mysql")
    load_file(tmp_path, "mysql").write_text("[mysqld]\nplugin-load-add = rowsocket.so\n")
    stored = tmp_path / "var/lib/mysql/mysqld-auto.cnf"
    stored.parent.mkdir(parents=True)
    entry = {"Value": "secret", "Metadata": {"Host": "localhost"}}
    stored.write_text(json.dumps({"Version": 2, "mysql_static_variables": {
        "handlersocket_plain_secret": entry, "handlersocket_plain_secret_wr": entry}}))
    right(tmp_path)


# --- Option files of the originals ---

OLD_FILE = """[mysqld]
plugin-load = handlersocket.so
loose_handlersocket_address = 0.0.0.0
loose_handlersocket_port = 9998
loose_handlersocket_epoll = 1
daemon_memcached_w_batch_size = 100
daemon_memcached_option = "-p11222 -vv"
innodb_api_enable_binlog = 1
[client]
handlersocket_verbose = 1
"""


@pytest.mark.parametrize("name", ["mariadb", "mysql", ""])
def test_a_file_of_the_originals(tmp_path, name):
    file = tmp_path / "old.cnf"
    file.write_text(OLD_FILE)
    code, said = doctor("--root", tmp_path, "--check", file, *(["--server", name] if name else []))
    assert code == 1
    for wanted in ("loads the original plugin", "listens beyond loopback without a secret",
                   "handlersocket_epoll = 1 has no effect", "each reply waits for its commit",
                   "daemon_memcached_option: -vv has no meaning here"):
        assert wanted in said
    assert "verbose" not in said
    assert ("innodb_api_enable_binlog is no variable of MariaDB, which then does not start" in said) == \
        (name != "mysql")
    assert ("innodb_api_enable_binlog has no effect in MySQL" in said) == (name != "mariadb")


def test_a_file_is_compared_for_the_server_of_the_machine(root, name):
    file = root / "old.cnf"
    file.write_text(OLD_FILE)
    said = doctor("--root", root, "--check", file)[1]
    assert ("no variable of MariaDB" in said) == (name == "mariadb")
    assert ("no effect in MySQL" in said) == (name == "mysql")


@pytest.mark.parametrize("line", ["loose_handlersocket_port = 9998\nloose_handlersocket_port_wr = 9999",
                                  "daemon_memcached_option = '-S -Z --enable-ssl -l db-host -s /run/my-x.sock'"])
def test_a_file_that_means_the_same(tmp_path, line):
    file = tmp_path / "same.cnf"
    file.write_text(f"[mysqld]\n{line}\n")
    assert doctor("--check", file) == (0, "Nothing will differ.\n")


@pytest.mark.parametrize("option,words", [("-p11222 -vv", ["-vv"]), ("-m 64 -r -M x -p 1 --lock-memory", ["-m", "-r", "-M", "--lock-memory"]),
                                          ("nonsense -t 4", ["nonsense"])])
def test_words_of_memcacheds_command_line_that_have_no_meaning(tmp_path, option, words):
    file = tmp_path / "old.cnf"
    file.write_text(f"[mysqld]\ndaemon_memcached_option = {option}\n")
    said = doctor("--check", file)[1]
    assert [line.split()[2] for line in said.splitlines() if line.endswith(" has no meaning here")] == words, said
