"""What the ports and UNIX sockets of a server answer, and what their clients see."""
import dataclasses
import ipaddress
import os
import pathlib
import re
import socket
import struct

from rowsocket_doctor.servers import run, user_of_the_server

ANSWER_TIMEOUT_S = 3
ANSWER_MAX_BYTES = 4096
PORT_MAX = 65535
REFUSED = "nobody listens"
DENIED = "may not be opened by this user"
CLOSED = "turns clients away: it closes the connection without a byte"
SILENT = f"listens but does not answer for {ANSWER_TIMEOUT_S} s"
NO_PORT = f"is out of range: the highest port is {PORT_MAX}"
# By plugin: a question to its listener, and the pattern of an answer that a real memcached or Redis would not give.
QUESTIONS = {
    "handlersocket": (b"A\t1\tSECRET\n", b"0\t"),
    "daemon_memcached": (b"stats rowsocket\r\n", b"STAT role "),
    "resp": (b"INFO server\r\n", rb"\$\d+\r\n.*\nrowsocket_version:"),
}
SECRET_START = b"A\t1\t"
# Asked in the place of a question with a secret, because HandlerSocket answers it before the secret is sent.
WITHOUT_SECRET = (b"H\tread\n", rb"[01]\t1(\n|\tunavailable)")
# States of a socket in /proc/net/tcp.
LISTENS = "0A"
CONNECTED = ("01", "03")  # Until the last packet of the handshake is taken, the end of the one who listens has 03.
NOT_ACCEPTED = "0"  # The inode there of a connection that waits to be accepted, whose user means nothing.
IPV4_MAPPED = bytes(10) + b"\xff\xff"


@dataclasses.dataclass(frozen=True)
class Heard:
    """The first bytes of an answer, or why there are none."""
    answer: bytes = b""
    trouble: str = ""
    is_secret_withheld: bool = False  # WITHOUT_SECRET was asked.


def other_owner(machine, address):
    """Which program other than the server listens on a TCP port, according to ss; empty if ss does not say."""
    lines = run("ss", "-Hltnp", f"sport = :{address[1]}") if isinstance(address, tuple) else ""
    owners = re.findall(r'\("([^"]+)",pid=(\d+)', lines)
    server = (pathlib.Path(machine.server.program).name, str(machine.running_server()))
    if not owners or any(server[0] == name or server[1] == pid for name, pid in owners):
        return ""
    return f"{owners[0][0]} (process {owners[0][1]})"


def trusted_users(options):
    """The users whose listeners may hear a secret: root, the one who asks, and the server's."""
    user = user_of_the_server(options)
    return {0, os.geteuid()} | ({user.pw_uid} if user else set())


def users_of_the_other_end(connection):
    """The users whose processes have accepted a connection, or listen at its other end; none if that is on another machine.
    A process may have accepted a connection, and left its port to another listener."""
    if connection.family == socket.AF_UNIX:
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return {struct.unpack("3i", credentials)[1]}
    here, there = written_in_proc(connection.getsockname()), written_in_proc(connection.getpeername())
    # Each table names listeners before connections, so that a listener which may yet accept this one is among them.
    lines = [line.split() for table in ("tcp", "tcp6") for line in read_lines(f"/proc/net/{table}")]
    ends = [line for line in lines if line[1] in there and line[2] in here and line[3] in CONNECTED]
    if not ends:
        return set()
    accepted = {int(line[7]) for line in ends if line[9] != NOT_ACCEPTED}
    port = connection.getpeername()[1]
    may_accept = there | written_in_proc(("0.0.0.0", port)) | written_in_proc(("::", port))
    return accepted | {int(line[7]) for line in lines if line[1] in may_accept and line[3] == LISTENS}


def written_in_proc(address):
    """The texts by which /proc/net/tcp and tcp6 name an address; an IPv4 address may be an end of an IPv6 socket."""
    ip = ipaddress.ip_address(address[0].partition("%")[0])
    ip = getattr(ip, "ipv4_mapped", None) or ip
    forms = [ip.packed] if ip.version == 6 else [ip.packed, IPV4_MAPPED + ip.packed]
    return {"".join(f"{word:08X}" for word, in struct.iter_unpack("=I", form)) + f":{address[1]:04X}" for form in forms}


def read_lines(path):
    try:
        return pathlib.Path(path).read_text(encoding="ascii").splitlines()
    except OSError:
        return []


def may_hear_secret(connection, trusted):
    users = users_of_the_other_end(connection)
    return bool(users) and users <= trusted


def ask(address, question, trusted=frozenset()):
    """Asks a listener a question, and returns what it answers. A secret is sent to listeners of `trusted` users alone."""
    if isinstance(address, tuple) and address[1] > PORT_MAX:
        return Heard(trouble=NO_PORT)
    family = socket.AF_UNIX if isinstance(address, str) else \
        socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    try:
        with socket.socket(family) as connection:
            connection.settimeout(ANSWER_TIMEOUT_S)
            connection.connect(address)
            withheld = question.startswith(SECRET_START) and not may_hear_secret(connection, trusted)
            connection.sendall(WITHOUT_SECRET[0] if withheld else question)
            answer = connection.recv(ANSWER_MAX_BYTES)
            return Heard(answer, "" if answer else CLOSED, withheld)
    except OSError as error:
        return Heard(trouble=trouble_of(error))


def ask_owned(machine, address, question, owner):
    """As ask; what ss knows to be another program, the `owner`, hears no secret, whoever its user is."""
    return ask(address, question, frozenset() if owner else trusted_users(machine.options))


def fits(heard, wanted):
    if heard.is_secret_withheld and wanted:
        wanted = WITHOUT_SECRET[1]
    return re.match(wanted, heard.answer, re.S) is not None


def trouble_of(error):
    for trouble, kinds in ((REFUSED, (ConnectionRefusedError, FileNotFoundError)),
                           (DENIED, PermissionError),
                           (CLOSED, (ConnectionResetError, BrokenPipeError)),
                           # EAGAIN: the connections that wait at a UNIX socket are not accepted.
                           (SILENT, (TimeoutError, BlockingIOError))):
        if isinstance(error, kinds):
            return trouble
    return f"cannot be reached: {error.strerror or error}"


def first_host(text):
    """The first of a list of addresses; loopback stands for all addresses of the machine."""
    host = next(iter(re.findall(r"[^,\s]+", text)), "").strip("[]")
    return {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "*": "127.0.0.1", "::": "::1"}.get(host, host)


def listeners(options):
    """Name, address, question, and pattern of the answer for each port and UNIX socket."""
    for plugin, suffixes in (("handlersocket", ("", "_wr")), ("daemon_memcached", ("",)), ("resp", ("",))):
        host = first_host(options.get(f"{plugin}_address"))
        for suffix in suffixes:
            question, wanted = QUESTIONS[plugin]
            question = question.replace(b"SECRET", options.get(f"{plugin}_plain_secret{suffix}").encode())
            # The answer to a client without an account or without TLS shows only that the port is served.
            if options.is_on(f"{plugin}_accounts"):
                wanted = b""
            port = options.get(f"{plugin}_port{suffix}")
            if port.isdigit() and int(port) and not host.startswith("/"):
                over_tls = options.get(f"{plugin}_ssl").upper() == "REQUIRED"
                yield f"{plugin}_port{suffix} {port}", (host, int(port)), question, b"" if over_tls else wanted
            path = options.get(f"{plugin}_socket{suffix}")
            if path:
                yield f"{plugin}_socket{suffix} {path}", path, question, wanted


def check_listeners(machine):
    service = machine.server.service
    if machine.running_server() is None:
        log = machine.error_log()
        machine.find(f"{machine.server.title} does not run",
                     f"systemctl start {service}; " + (f"tail {log}" if log else f"journalctl -u {service}"))
        return
    for name, address, question, wanted in listeners(machine.options):
        check_listener(machine, name, address, question, wanted)


def check_listener(machine, name, address, question, wanted):
    owner = other_owner(machine, address)
    heard = ask_owned(machine, address, question, owner)
    if heard.trouble == REFUSED:
        find_nobody(machine, name)
        return
    # A client without TLS or an account may well get no answer.
    if heard.trouble and not owner:
        if wanted or heard.trouble not in (CLOSED, SILENT):
            machine.find(f"{name} {heard.trouble}", mend_of(machine, heard.trouble))
    elif wanted and b"\tunauth" in heard.answer and not owner:
        if not machine.options.unreadable:
            machine.find(f"{name} refuses the secret of {machine.server.load_file}",
                         f"the server runs with an older one: {machine.server.restart}")
    elif owner or not fits(heard, wanted):
        machine.find(f"{name} is answered by something else: {owner or 'another program'}",
                     f"end it, or set another port in /{machine.server.config}/rowsocket.cnf; {machine.server.restart}")


def find_nobody(machine, name):
    server = machine.server
    reason = machine.reason_in_the_error_log()
    statement = next((text for text in server.plugins if name.split("_")[0] in text), server.plugins[0])
    if machine.options.is_on("wsrep_on"):  # Otherwise the statement would run on every node of the cluster.
        statement = f"SET SESSION wsrep_on = OFF; {statement}"
    machine.find(f"nobody listens on {name}" + (f"; the error log says: {reason}" if reason else ""),
                 f"{server.restart}, where the server was started before Rowsocket was installed; otherwise\n"
                 f"    {server.client} -e \"{statement}; SHOW WARNINGS\" says why, and the error log: "
                 f"{machine.how_to_read_the_error_log()}")


def mend_of(machine, trouble):
    if trouble == NO_PORT:
        return f"set another port in an option file below /{machine.server.config}; {machine.server.restart}"
    if trouble == DENIED:
        return "run rowsocket-doctor as root"
    if trouble == CLOSED:
        return ("connections_max of the plugin is reached, or no file descriptor is left: raise the one that is "
                "(docs/OPERATIONS.md), or end clients; rowsocket-doctor --live")
    if trouble == SILENT:
        return f"rowsocket-doctor --live says what the server waits for; {machine.how_to_read_the_error_log()}"
    return f"see the address in /{machine.server.config}/rowsocket.cnf, and the machine's network"


def resp_client_sees(address, accounts):
    if accounts:
        return "served to clients that log in with an account: AUTH name password"
    answer = ask(address, b"GET nobody:nothing\r\n").answer
    if answer.startswith(b"$"):
        return "served to every client that reaches it, rows and strings"
    return "served to every client that reaches it, rows alone; a GET answers: " + answer.decode("utf-8", "replace").strip()


def client_sees(machine, name, address, question, wanted):
    """Whether a client of one listener is served, as far as can be told, and what it sees, in a sentence."""
    options = machine.options
    is_memcached, is_resp = name.startswith("daemon_memcached"), name.startswith("resp")
    plugin = "daemon_memcached" if is_memcached else "resp" if is_resp else "handlersocket"
    accounts = options.is_on(f"{plugin}_accounts")
    owner = other_owner(machine, address)
    heard = ask_owned(machine, address, question, owner)
    if heard.trouble == REFUSED:
        return False, ("nobody listens: restart the server, where it was started before the port was set; otherwise"
                       " rowsocket-doctor says why")
    if owner:
        return False, f"none of this server's clients is served: {owner} listens there"
    if heard.trouble in (CLOSED, SILENT) and wanted:
        return False, f"nobody is served: it {heard.trouble}"
    if heard.trouble not in ("", CLOSED, SILENT):
        return False, heard.trouble
    if not wanted and not accounts:
        return True, "served to clients that speak TLS"
    if (is_resp or is_memcached or heard.is_secret_withheld) and not fits(heard, wanted):
        return False, "none of this server's clients is served: something else answers"
    if is_resp:
        return True, resp_client_sees(address, accounts)
    if is_memcached:
        answer = ask(address, b"get @@nobody.nothing\r\n").answer
        if answer.startswith(b"END") or b"there is no container" in answer:
            return True, "served to every client that reaches it"
        if b"authenticat" in answer:
            return True, "served to clients that log in with an account (set auth 0 0 LENGTH, then the name and the password)"
        return True, f"answers a get with: {answer.decode('utf-8', 'replace').strip()}"
    without = ask(address, b"P\t0\tmysql\tnothing\tPRIMARY\tnothing\n").answer
    if accounts:
        return True, "served to clients that log in with an account: A <HT> 2 <HT> name <HT> password"
    if b"unauth" not in without:
        return True, "served to every client that reaches it: no secret is set"
    if heard.is_secret_withheld:
        return False, "served by a process of another user than the server's, to which this program does not send the secret"
    if heard.answer.startswith(b"0\t"):
        return True, "served to clients whose first line is: A <HT> 1 <HT> the secret of the port"
    if options.unreadable:
        return True, "served to clients that know the secret, which this user may not read: run this as root"
    return False, "refuses the secret of the option file: restart the server, which runs with an older one"
