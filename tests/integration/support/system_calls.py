"""The server's system calls, in order, as strace sees them: did a write reach the disk before the reply that promises
it was sent?

Every request carries a marker. A reply may be sent only after a flush of the redo log (and of the
binlog, if there is one) that began after the marker was written to that file and ended before the
send began.
"""

import dataclasses
import re
import shutil
import signal
import subprocess

from server import wait_until

CALLS = "fsync,fdatasync,pwrite64,pwritev,pwritev2,write,writev,sendto,sendmsg,sendmmsg"
LINE = re.compile(rb"^(\d+) +[\d:.]+ (.*)$")
FILE = re.compile(rb"^\d+<(.*?)>(?:[,)]| <unf)")
PLACE = re.compile(rb", \d+, (\d+)(?:\)| <unf)")  # of pwrite64
STRING = re.compile(rb'"((?:\\x[0-9a-f]{2})*)"')
FLUSHES = (b"fsync", b"fdatasync")
WRITES = (b"pwrite64", b"pwritev", b"pwritev2", b"write", b"writev")
SENDS = (b"sendto", b"sendmsg", b"sendmmsg", b"write", b"writev")


@dataclasses.dataclass
class Call:
    name: bytes
    file: bytes     # what the first descriptor names: a path or a socket
    text: bytes     # arguments as strace prints them, all bytes as \\xhh
    start: int      # positions in the trace: order of events
    end: int


class Trace:
    """strace, attached to a server for as long as the context lasts, after which it has the calls."""

    def __init__(self, server, path, extra=(), calls=CALLS):
        self.path = path
        self.calls = []
        assert shutil.which("strace"), "strace is not installed (Debian package strace)"
        self.command = ["strace", "-f", "-tt", "-yy", "-xx", "-s", "4000000", "-e",
                        f"trace={calls}", *extra, "-o", str(path), "-p", str(server.pid)]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        attached = self.process.stderr.readline()
        assert b"attached" in attached, f"strace: {attached.decode(errors='replace')}"
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.stderr.read()
        self.process.wait(30)
        self.calls = parse(self.path.read_bytes())

    @staticmethod
    def note_replies(clients):
        """Makes sure that the trace has the bytes that these clients have received: a thread sends the next reply only
        after strace has noted its last send."""
        for client in clients:
            client.ask_for_nothing()

    def wait_for(self, text, timeout_s=10):
        wait_until(lambda: text in self.path.read_bytes(), timeout_s, f"{text!r} in the trace")


def parse(data):
    """The calls of a trace, unfinished and resumed halves joined."""
    calls, open_calls = [], {}
    for at, line in enumerate(data.split(b"\n")):
        match = LINE.match(line)
        if not match:
            continue
        thread, rest = match.groups()
        if rest.startswith(b"<... "):
            call = open_calls.pop(thread, None)
            if call:
                call.end = at
                call.text += rest
                calls.append(call)
            continue
        name, parenthesis, arguments = rest.partition(b"(")
        if not parenthesis:
            continue
        file = FILE.match(arguments)
        call = Call(name, unhex(file.group(1)) if file else b"", arguments, at, at)
        if rest.endswith(b"<unfinished ...>"):
            open_calls[thread] = call
        else:
            calls.append(call)
    return sorted(calls, key=lambda call: call.start)


def unhex(text):
    """\\xhh as the byte that it stands for."""
    return re.sub(rb"\\x([0-9a-f]{2})", lambda match: bytes((int(match[1], 16),)), text)


def strings(text):
    """The bytes of all strings in a call's arguments, joined."""
    return b"".join(bytes.fromhex(part.replace(b"\\x", b"").decode())
                    for part in STRING.findall(text))


def contents(calls, file):
    """The writes to a log, each with its bytes. MySQL's redo log has blocks of 512 bytes, each with a header of
    12 bytes and a trailer of 4, and the last block is written by a call of its own: a marker may lie across two
    blocks and two calls."""
    if b"#ib_redo" not in file:
        return [(call, strings(call.text)) for call in calls]
    found, end, carried = [], None, b""
    for call in calls:
        data, place = strings(call.text), PLACE.search(call.text)
        texts = b"".join(data[at + 12:at + 508] for at in range(0, len(data), 512))
        start = int(place[1]) if place else None
        found.append((call, carried + texts if place and start == end else texts))
        end, carried = (start + len(data), texts[-64:]) if place else (None, b"")
    return found


class Durability:
    """Compares the sends of replies with the flushes of the files that must come before."""

    def __init__(self, calls, files, port):
        self.files = files  # parts of the names of redo log and binlog
        local = b"127.0.0.1:%d->" % port
        self.sends = [(call, strings(call.text)) for call in calls
                      if call.name in SENDS and local in call.file]
        self.writes = {file: contents([call for call in calls if call.name in WRITES and file in call.file],
                                      file) for file in files}
        self.flushes = {file: [call for call in calls
                               if call.name in FLUSHES and file in call.file] for file in files}

    def violations(self, promises):
        """promises: (marker that the write puts into the files, text that its reply shows). Returns the
        violations."""
        wrong = []
        for marker, shown in promises:
            send = self.send_of(shown)
            if send is None:
                wrong.append(f"no reply with {shown!r} was seen")
                continue
            for file in self.files:
                written = [call for call, data in self.writes[file] if marker in data]
                wrong += self.too_early(file, marker, written[0] if written else None, send)
        return wrong

    def send_of(self, shown, to=b""):
        """The first reply that shows this text, to one client (the end of its socket's name)."""
        return next((call for call, data in self.sends if shown in data and to in call.file), None)

    def too_early(self, file, marker, written, send):
        if written is None:
            return [f"{marker!r} was answered and never written to {file.decode()}"]
        for flush in self.flushes[file]:
            if written.end < flush.start and flush.end < send.start:
                return []
        return [f"{marker!r} was answered before {file.decode()} was flushed"]

    def chain_violations(self, chain, promises):
        """For requests that followed each other on one row. chain: for each request, in that order, the marker that it
        puts into each file. For merged requests only the marker of the last was written, which covers all of them.

        promises: (port of the client, text that its reply shows, place in the chain). Returns the violations,
        and the number of places that have no write of their own in any file."""
        wrong, unwritten = [], len(chain)
        covers = {}
        for file in self.files:
            writes = self.writes_of([markers[file] for markers in chain], file)
            unwritten = min(unwritten, writes.count(None))
            covers[file] = following(writes)
        for port, shown, place in promises:
            send = self.send_of(shown, b"->127.0.0.1:%d" % port)
            if send is None:
                wrong.append(f"no reply with {shown!r} was seen")
                continue
            for file in self.files:
                wrong += self.too_early(file, chain[place][file], covers[file][place], send)
        return wrong, unwritten

    def writes_of(self, markers, file):
        """The first write that has each marker, or None."""
        found = [None] * len(markers)
        for call, data in self.writes[file]:
            for place, marker in enumerate(markers):
                if found[place] is None and marker in data:
                    found[place] = call
        return found


def following(writes):
    """For each place its write or, if it has none, the write of the next place that has one."""
    covers = list(writes)
    for place in reversed(range(len(covers) - 1)):
        covers[place] = covers[place] or covers[place + 1]
    return covers
