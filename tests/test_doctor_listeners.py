"""rowsocket-doctor: what the ports and sockets of a server answer."""

import os
import pwd
import re
import socket
import sys
import threading

import pytest

from server import REPOSITORY

# pylint: disable=unused-import # the fixtures
from test_doctor import PROGRAM, config, load_file, machine_of, name, put_server, root

sys.path.insert(0, str(REPOSITORY / "packaging"))
# pylint: disable=wrong-import-position
from rowsocket_doctor import listeners
from rowsocket_doctor.servers import user_of_the_server


def test_a_listener(tmp_path, root, name):
    """No process, another program, an older secret, and what is right."""
    machine = machine_of(root, name)[1]
    answers = {b"right": b"0\t1\n", b"older": b"1\t1\tunauth\n", b"other": b"SSH-2.0\r\n"}
    with socket.socket(socket.AF_UNIX) as listener:
        path = str(tmp_path / "s")
        listener.bind(path)
        check(machine, path, b"right", "nobody listens on", f"systemctl restart {name}")
        statement = "INSTALL PLUGIN handlersocket SONAME 'rowsocket.so'" if name == "mysql" \
            else "INSTALL SONAME 'rowsocket'"
        assert statement in machine.findings[-1][1]
        listener.listen()
        thread = threading.Thread(target=serve, args=(listener, answers))
        thread.start()
        count = len(machine.findings)
        listeners.check_listener(machine, f"handlersocket_socket {path}", path, b"right", b"0\t")
        assert len(machine.findings) == count
        check(machine, path, b"older", "refuses the secret", f"systemctl restart {name}")
        check(machine, path, b"other", "answered by something else", "rowsocket.cnf")
        thread.join(60)
        assert not thread.is_alive()


def test_a_library_that_is_to_be_loaded_on_one_node_of_a_cluster(tmp_path):
    put_server(tmp_path, "mariadb")
    (config(tmp_path, "mariadb") / "zz.cnf").write_text("[galera]\nwsrep-on = ON\n")
    machine = machine_of(tmp_path, "mariadb")[1]
    listeners.find_nobody(machine, "handlersocket_port 9998")
    assert "SET SESSION wsrep_on = OFF; INSTALL SONAME 'rowsocket'" in machine.findings[-1][1]


@pytest.mark.parametrize("answers,sees", [
    ({b"P": b"1\t1\tunauth\n", b"A": b"0\t1\n"}, "served to clients whose first line is: A <HT> 1 <HT> the secret"),
    ({b"P": b"1\t1\tunauth\n", b"A": b"1\t1\tunauth\n"}, "refuses the secret of the option file: restart"),
    ({b"P": b"2\t1\topen_table\n"}, "served to every client that reaches it: no secret is set"),
    ({b"g": b"END\r\n"}, "served to every client that reaches it"),
    ({b"g": b"SERVER_ERROR there is no container nobody\r\n"}, "served to every client that reaches it"),
    ({b"g": b"CLIENT_ERROR unauthenticated\r\n"}, "served to clients that log in with an account"),
    ({b"G": b"$-1\r\n"}, "served to every client that reaches it, rows and strings"),
    ({b"G": b"-ERR no table\r\n"}, "rows alone; a GET answers: -ERR no table"),
    ({b"g": b"END\r\n", b"s": b"ERROR\r\n"}, "none of this server's clients is served: something else answers"),
    ({b"G": b"$-1\r\n", b"I": b"$31\r\n# Server\r\nredis_version:7.0.15\r\n\r\n"}, "something else answers")])
def test_what_a_client_sees(tmp_path, answers, sees):
    put_server(tmp_path, "mariadb")
    machine = machine_of(tmp_path, "mariadb")[1]
    name = "daemon_memcached_socket" if b"g" in answers else "resp_port" if b"G" in answers else "handlersocket_port"
    question, wanted = listeners.QUESTIONS[name.rpartition("_")[0]]
    answers = {b"s": b"STAT role source\r\n", b"I": b"$35\r\n# Server\r\nrowsocket_version:0.1.0\r\n\r\n", **answers}
    path = str(tmp_path / "s")
    is_served, nobody = listeners.client_sees(machine, name, path, question, wanted)
    assert not is_served and nobody.startswith("nobody listens: restart the server, where it was started before") and "opens it" not in nobody

    def answer(listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.sendall(answers.get(connection.recv(64)[:1], b"ERROR\r\n"))

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        thread = threading.Thread(target=answer, args=(listener,), daemon=True)
        thread.start()
        is_served, seen = listeners.client_sees(machine, name, path, question, wanted)
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(60)
        assert sees in seen
        assert is_served == (not any(words in seen for words in ("refuses", "something else answers")))


def serve(listener, answers):
    for _ in answers:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(answers[connection.recv(64)])


def check(machine, path, question, wrong, mend):
    listeners.check_listener(machine, f"handlersocket_socket {path}", path, question, b"0\t")
    assert wrong in machine.findings[-1][0] and mend in machine.findings[-1][1], machine.findings


def test_what_is_asked_of_listeners(root, name):
    load = load_file(root, name)
    program = PROGRAM[name]
    load.write_text(f"[{program}]\nplugin-load-add = rowsocket.so\nhandlersocket_plain_secret = x\n"
                    "handlersocket_address = ::1,127.0.0.1\nhandlersocket_port = 9998\nhandlersocket_ssl = REQUIRED\n"
                    "handlersocket_socket_wr = /s\nhandlersocket_port_wr = 0\nhandlersocket_plain_secret_wr = y\n"
                    "daemon_memcached_address = 0.0.0.0\ndaemon_memcached_port = 11211\n")
    config_file = config(root, name) / "rowsocket.cnf"
    config_file.unlink()
    machine = machine_of(root, name)[1]
    assert list(listeners.listeners(machine.options)) == [
        # The answer of a port that speaks TLS alone says only that it is served.
        ("handlersocket_port 9998", ("::1", 9998), b"A\t1\tx\n", b""),
        ("handlersocket_socket_wr /s", "/s", b"A\t1\ty\n", b"0\t"),
        ("daemon_memcached_port 11211", ("127.0.0.1", 11211), b"stats rowsocket\r\n", b"STAT role ")]


@pytest.mark.parametrize("value,wanted", [("TRUE", b""), ("on", b""), ("1", b""), ("FALSE", b"0\t"), ("0", b"0\t")])
def test_accounts_that_are_turned_on_in_another_word(root, name, value, wanted):
    """A client that has not logged in hears only that the port is served."""
    load = load_file(root, name)
    load.write_text(f"{load.read_text()}handlersocket_accounts = {value}\n")
    assert next(listeners.listeners(machine_of(root, name)[1].options))[3] == wanted


@pytest.mark.parametrize("option,wanted", [
    ("", [("daemon_memcached_port 11211", ("127.0.0.1", 11211), True), ("daemon_memcached_socket /m", "/m", True)]),
    ("-p 11222 -l ::1", [("daemon_memcached_port 11222", ("::1", 11222), True), ("daemon_memcached_socket /m", "/m", True)]),
    ("-v -m 64 -p11222 -c 100", [("daemon_memcached_port 11222", ("127.0.0.1", 11222), True), ("daemon_memcached_socket /m", "/m", True)]),
    ("-s /own -p 1", [("daemon_memcached_socket /own", "/own", True)]),
    ("-S", [("daemon_memcached_port 11211", ("127.0.0.1", 11211), False), ("daemon_memcached_socket /m", "/m", False)]),
    ("-Z -t 4", [("daemon_memcached_port 11211", ("127.0.0.1", 11211), False), ("daemon_memcached_socket /m", "/m", True)])])
def test_the_options_of_memcacheds_command_line(root, name, option, wanted):
    """Each listener, and whether its answer says more than that it is served."""
    (config(root, name) / "rowsocket.cnf").unlink()
    load_file(root, name).write_text(f'[{PROGRAM[name]}]\nplugin-load-add = rowsocket.so\ndaemon_memcached_option = "{option}"\n'
                                     "daemon_memcached_port = 11211\ndaemon_memcached_socket = /m\n")
    found = listeners.listeners(machine_of(root, name)[1].options)
    assert [(title, address, answer != b"") for title, address, _, answer in found] == wanted


@pytest.mark.parametrize("option,mend", [
    ("-s /own", "-s in daemon_memcached_option leaves no port: write daemon_memcached_socket in its place"), ("", "rowsocket-setup, or ")])
def test_what_sets_a_port_that_is_off(root, name, capsys, option, mend):
    """Behind -s no port is of use, whoever sets it."""
    (config(root, name) / "zz.cnf").write_text(f'[{PROGRAM[name]}]\nhandlersocket_port = 0\nhandlersocket_port_wr = 0\n'
                                               f'daemon_memcached_option = "{option}"\n')
    machine_of(root, name)[0].tell_clients(root, name)
    assert f"daemon_memcached_port 0: off; {mend}" in capsys.readouterr().out


@pytest.mark.parametrize("seen,status", [
    ((True, "nobody but members of a group is served"), 0), ((False, "served by a process of another user"), 1)])
def test_the_status_says_whether_clients_are_served(root, name, monkeypatch, seen, status):
    """It does not depend on the words of the sentence."""
    program = machine_of(root, name)[0]
    (config(root, name) / "zz.cnf").write_text(f"[{PROGRAM[name]}]\nhandlersocket_port_wr = 0\n")
    monkeypatch.setattr(program, "client_sees", lambda *_: seen)
    monkeypatch.setattr(program.sys, "argv", ["rowsocket-doctor", "--root", str(root), "--client"])
    assert program.main() == status


def test_a_process_with_a_name_in_another_alphabet(tmp_path, root, name, monkeypatch):
    program, machine = machine_of(root, name)
    for number, comm in (("7", "Café".encode("latin-1")), ("8", PROGRAM[name].encode())):
        (tmp_path / number).mkdir()
        (tmp_path / number / "comm").write_bytes(comm + b"\n")
    monkeypatch.setattr(program.glob, "glob", lambda _: [f"{tmp_path}/7/comm", f"{tmp_path}/8/comm"])
    assert machine.running_server() == 8


@pytest.mark.parametrize("namespaces,running", [
    ({"self": "pid:[1]", "7": "pid:[2]"}, None), ({"self": "pid:[1]", "7": "pid:[2]", "8": "pid:[1]"}, 8),
    ({"self": "pid:[1]", "7": "pid:[1]"}, 7), ({"self": "pid:[1]", "7": ""}, 7), ({"7": "pid:[2]"}, 7)])
def test_the_server_of_a_container_is_not_this_machines(tmp_path, root, name, monkeypatch, namespaces, running):
    """A link that may not be read says nothing."""
    program, machine = machine_of(root, name)
    comms = []
    for process, namespace in namespaces.items():
        (tmp_path / process / "ns").mkdir(parents=True)
        if namespace:
            (tmp_path / process / "ns/pid").symlink_to(namespace)
        if process != "self":
            comms.append(tmp_path / process / "comm")
            comms[-1].write_text(f"{PROGRAM[name]}\n")
    monkeypatch.setattr(program.glob, "glob", lambda _: map(str, comms))
    assert machine.running_server() == running


@pytest.mark.parametrize("text,host", [
    ("", "127.0.0.1"), ("127.0.0.1 10.0.0.5", "127.0.0.1"), ("10.0.0.5,::1", "10.0.0.5"), (" , 10.0.0.5", "10.0.0.5"),
    ("[::1]", "::1"), ("[::] 0.0.0.0", "::1"), ("*", "127.0.0.1")])
def test_the_address_that_is_asked(root, name, text, host):
    load = load_file(root, name)
    load.write_text(f"{load.read_text()}handlersocket_address = {text}\n")
    found = list(listeners.listeners(machine_of(root, name)[1].options))
    assert found[0][1] == (host, 9998)


# --- Listeners that do not answer ---

def heard(machine, path):
    """The finding on a UNIX socket, and what a client sees there."""
    before = len(machine.findings)
    listeners.check_listener(machine, f"handlersocket_socket {path}", path, b"A\t1\tx\n", b"0\t")
    assert len(machine.findings) == before + 1
    is_served, sees = listeners.client_sees(machine, "handlersocket_socket", path, b"A\t1\tx\n", b"0\t")
    assert not is_served
    return machine.findings[-1], sees


def accept_and_close(listener):
    for _ in range(2):
        listener.accept()[0].close()


def test_clients_are_turned_away_or_not_heard(tmp_path, root, name, monkeypatch):
    monkeypatch.setattr(listeners, "ANSWER_TIMEOUT_S", 0.2)
    machine = machine_of(root, name)[1]
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        (wrong, mend), sees = heard(machine, path)
        assert "does not answer for 3 s" in wrong and "--live" in mend and sees.startswith("nobody is served"), wrong
        for _ in range(2):
            listener.accept()[0].close()
        thread = threading.Thread(target=accept_and_close, args=(listener,), daemon=True)
        thread.start()
        (wrong, mend), sees = heard(machine, path)
        assert "turns clients away" in wrong and "connections_max" in mend, wrong
        assert sees.startswith("nobody is served")
        thread.join(60)


def test_a_socket_that_this_user_may_not_open(tmp_path, root, name, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket.socket, "connect", refuse, raising=False)
    (wrong, mend), sees = heard(machine_of(root, name)[1], str(tmp_path / "s"))
    assert "may not be opened by this user" in wrong and mend == "run rowsocket-doctor as root"
    assert sees == "may not be opened by this user"


def test_the_owner_of_a_port_counts(root, name, monkeypatch):
    """Also of a port whose answer says nothing, because clients have to speak TLS."""
    machine = machine_of(root, name)[1]
    monkeypatch.setattr(listeners, "ask", lambda *_: listeners.Heard(b"0\t1\n"))
    for owner, found in ((PROGRAM[name], 0), ("memcached", 1), ("", 1)):
        users = f'users:(("{owner}",pid=1,fd=4))' if owner else ""
        monkeypatch.setattr(listeners, "run", lambda *_, users=users: f"LISTEN 0 9 127.0.0.1:9998 0.0.0.0:* {users}\n")
        listeners.check_listener(machine, "handlersocket_port 9998", ("127.0.0.1", 9998), b"", b"")
        assert len(machine.findings) == found
    assert "answered by something else: memcached (process 1)" in machine.findings[0][0]


@pytest.fixture
def another_user(monkeypatch):
    """Makes what it calls the deed of a user whom the doctor does not trust."""
    nobody = pwd.getpwnam("nobody").pw_uid
    if os.geteuid() != 0:
        monkeypatch.setattr(listeners.os, "geteuid", lambda: nobody)
        return lambda deed: deed()

    def deed_of_nobody(deed):
        os.seteuid(nobody)
        try:
            return deed()
        finally:
            os.seteuid(0)
    return deed_of_nobody


def listen(address):
    listener = socket.socket()
    listener.bind(address)
    listener.listen()
    return listener


def answer_by_what_is_heard(listener, heard, answers):
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            heard.append(connection.recv(64))
            connection.sendall(answers.get(heard[-1][:1], b""))


@pytest.mark.parametrize("kind", ["port", "socket"])
@pytest.mark.parametrize("answer,found,sees", [
    (b"0\t1\n", 0, "served by a process of another user"), (b"1\t1\tunavailable\n", 0, "served by a process of another user"),
    (b"2\t1\tcmd\n", 1, "something else answers")], ids=["takes finds", "takes none", "something else"])
def test_another_users_listener_does_not_hear_the_secret(tmp_path, root, name, monkeypatch, another_user, kind,
                                                              answer, found, sees):
    """The listener may have taken the port, or the path, before the server did."""
    monkeypatch.setattr(listeners, "run", lambda *_: "")
    machine = machine_of(root, name)[1]
    if kind == "port":
        listener = another_user(lambda: listen(("127.0.0.1", 0)))
        address = listener.getsockname()
    else:
        address = str(tmp_path / "s")
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(address)
        another_user(listener.listen)
    heard_, title = [], f"handlersocket_{kind} x"
    question, wanted = b"A\t1\tsecret\n", b"0\t"
    answers = {b"H": answer, b"A": b"0\t1\n", b"P": b"1\t1\tunauth\n"}
    with listener:
        thread = threading.Thread(target=answer_by_what_is_heard, args=(listener, heard_, answers), daemon=True)
        thread.start()
        listeners.check_listener(machine, title, address, question, wanted)
        assert heard_ == [b"H\tread\n"] and len(machine.findings) == found
        is_served, seen = listeners.client_sees(machine, title, address, question, wanted)
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(60)
    assert sees in seen and not is_served and all(b"secret" not in each for each in heard_)


def test_who_has_accepted_hears_the_secret_or_not(monkeypatch, another_user):
    """The listener of another user is gone once it has accepted, and the server has taken its port."""
    proc_lines = listeners.read_lines

    def lines_of_the_server(path):
        return [re.sub(r"( 0A (?:\S+ +){3})\d+", r"\g<1>0", line) for line in proc_lines(path)]

    with another_user(lambda: listen(("127.0.0.1", 0))) as listener, socket.socket() as connection:
        connection.connect(listener.getsockname())
        assert not listeners.may_hear_secret(connection, {0}), "it waits to be accepted"
        with another_user(listener.accept)[0]:
            monkeypatch.setattr(listeners, "read_lines", lines_of_the_server)
            assert not listeners.may_hear_secret(connection, {0})


def test_a_connection_that_waits_is_of_those_who_listen(monkeypatch):
    """Some kernels say that root has a connection that nobody has accepted yet."""
    proc_lines = listeners.read_lines
    monkeypatch.setattr(listeners, "read_lines", lambda path: [
        re.sub(r"( 0A (?:\S+ +){3})\d+", r"\g<1>4242", re.sub(r"( 01 (?:\S+ +){3})\d+( +\d+ 0 )", r"\g<1>0\2", line))
        for line in proc_lines(path)])
    with listen(("127.0.0.1", 0)) as listener, socket.socket() as connection:
        connection.connect(listener.getsockname())
        assert listeners.users_of_the_other_end(connection) == {4242}
        with listener.accept()[0]:
            assert listeners.users_of_the_other_end(connection) == {4242, os.geteuid()}


@pytest.mark.parametrize("address,users", [
    ("0500000A", set()), ("00000000", {4242}), ("0" * 32, {4242}), ("0" * 16 + "FFFF0000" + "0" * 8, {4242})])
def test_only_a_listener_that_could_accept_the_connection_counts(monkeypatch, address, users):
    """0500000A is 10.0.0.5, the others are all addresses."""
    proc_lines = listeners.read_lines
    with listen(("127.0.0.1", 0)) as listener, socket.socket() as connection:
        port = listener.getsockname()[1]
        other = f"0: {address}:{port:04X} 00000000:0000 0A 00000000:00000000 00:00000000 00000000 4242 0 1"
        monkeypatch.setattr(listeners, "read_lines", lambda path: proc_lines(path) + [other] * path.endswith("tcp"))
        connection.connect(("127.0.0.1", port))
        with listener.accept()[0]:
            assert listeners.users_of_the_other_end(connection) == users | {os.geteuid()}


@pytest.mark.parametrize("family,bound,asked", [
    (socket.AF_INET, "127.0.0.1", "127.0.0.1"), (socket.AF_INET6, "::1", "::1"), (socket.AF_INET6, "::", "127.0.0.1")])
def test_the_other_end_is_found_in_either_table(family, bound, asked):
    with socket.socket(family) as listener, socket.socket(socket.AF_INET6 if ":" in asked else socket.AF_INET) as connection:
        try:
            listener.bind((bound, 0))
        except OSError as error:
            pytest.skip(f"no IPv6 here: {error}")
        listener.listen()
        connection.connect((asked, listener.getsockname()[1]))
        with listener.accept()[0]:
            listener.close()
            assert listeners.users_of_the_other_end(connection) == {os.geteuid()}


def test_another_program_does_not_hear_the_secret(root, name, monkeypatch):
    """A program that ss knows, although its user is trusted."""
    machine = machine_of(root, name)[1]
    heard_, users = [], 'users:(("memcached",pid=1,fd=4))'
    monkeypatch.setattr(listeners, "run", lambda *_: f"LISTEN 0 9 127.0.0.1:9998 0.0.0.0:* {users}\n")
    with listen(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer_by_what_is_heard, args=(listener, heard_, {}), daemon=True)
        thread.start()
        asked = ("handlersocket_port 1", listener.getsockname(), b"A\t1\tsecret\n", b"0\t")
        listeners.check_listener(machine, *asked)
        is_served, seen = listeners.client_sees(machine, *asked)
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(60)
    assert heard_ == [b"H\tread\n"] * 2
    assert "answered by something else: memcached (process 1)" in machine.findings[0][0]
    assert not is_served and seen == "none of this server's clients is served: memcached (process 1) listens there"


def test_the_user_of_a_server_may_be_a_number():
    nobody = pwd.getpwnam("nobody")
    assert [user_of_the_server({"user": user}) for user in ("nobody", str(nobody.pw_uid), "", "9" * 30)] == [nobody, nobody, None, None]


def test_a_port_of_the_server_hears_the_secret(root, name, monkeypatch):
    """Its user is the one of the server's option `user`."""
    user = pwd.getpwuid(os.geteuid()).pw_name
    (config(root, name) / "zz.cnf").write_text(f"[{PROGRAM[name]}]\nuser = {user}\n")
    monkeypatch.setattr(listeners, "run", lambda *_: "")
    machine = machine_of(root, name)[1]
    heard_ = []
    with listen(("127.0.0.1", 0)) as listener:
        monkeypatch.setattr(listeners.os, "geteuid", lambda: -1)
        thread = threading.Thread(target=answer_by_what_is_heard, args=(listener, heard_, {b"A": b"0\t1\n"}), daemon=True)
        thread.start()
        listeners.check_listener(machine, "handlersocket_port 1", listener.getsockname(), b"A\t1\tsecret\n", b"0\t")
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(60)
    assert heard_ == [b"A\t1\tsecret\n"] and not machine.findings


def test_a_port_that_is_out_of_range(root, name):
    (config(root, name) / "zz.cnf").write_text(f"[{PROGRAM[name]}]\nhandlersocket_port = 99980\n")
    machine = machine_of(root, name)[1]
    listener = next(iter(listeners.listeners(machine.options)))
    listeners.check_listener(machine, *listener)
    assert "handlersocket_port 99980 is out of range" in machine.findings[0][0]
    is_served, seen = listeners.client_sees(machine, *listener)
    assert not is_served and "out of range" in seen


@pytest.mark.parametrize("kind,ours,others", [
    ("daemon_memcached", b"STAT role source\r\nSTAT state ok\r\n", b"ERROR\r\n"),
    ("resp", b"$9\r\n# Server\r\nredis_version:7\r\nrowsocket_version:0.1.0\r\n", b"$9\r\n# Server\r\n")])
def test_a_memcached_or_a_redis_is_not_ours(root, name, monkeypatch, kind, ours, others):
    machine = machine_of(root, name)[1]
    for answer, found in ((ours, 0), (others, 1)):
        monkeypatch.setattr(listeners, "ask", lambda *_, answer=answer: listeners.Heard(answer))
        listeners.check_listener(machine, f"{kind}_socket /s", "/s", *listeners.QUESTIONS[kind])
        assert len(machine.findings) == found
    assert "answered by something else" in machine.findings[0][0]
