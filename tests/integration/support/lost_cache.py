"""Power cuts: builds lost_cache.c, runs a server on it, and takes back writes that were not flushed."""

import os
import pathlib
import shutil
import struct
import subprocess

from folders import let_servers_enter

SOURCE = pathlib.Path(__file__).with_name("lost_cache.c")
# The preloaded library only sees writes by write(), with fsync() and fdatasync().
OPTIONS = ["--innodb-flush-method=fsync", "--innodb-use-native-aio=0"]
RECORD = struct.Struct("<QQQ")


class LostCache:
    """Remembers one server's writes that are not flushed yet.

        lossy_disk = LostCache(tmp_path); server = Server(..., environment=lossy_disk.environment)
        server.start(); ...; server.kill(); lossy_disk.cut_power(server)
    """

    def __init__(self, directory):
        self.notes = directory / "notes"
        self.notes.mkdir()
        self.notes.chmod(0o777)  # the server may run as another user
        let_servers_enter(directory)
        library = directory / "lost_cache.so"
        subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o",
                        str(library), str(SOURCE), "-ldl", "-lpthread"], check=True)
        self.environment = {"LD_PRELOAD": str(library), "ROWSOCKET_LOSTCACHE": str(self.notes)}

    def be_slow(self, ms):
        """From now on, each flush takes so many milliseconds more."""
        self._tell("slow", str(ms))

    def refuse(self, part, number):
        """From now on, writes to files whose path contains `part`, and their growth, fail with this errno."""
        self._tell("refuse", f"{part} {number}")

    def _tell(self, name, text):
        temporary = self.notes.parent / f"{name}.new"
        temporary.write_text(text + "\n")
        temporary.chmod(0o644)
        temporary.rename(self.notes.parent / name)

    def accept(self):
        (self.notes.parent / "refuse").unlink()

    def cut_power(self, server):
        """Takes back all writes that were not flushed; returns the number of bytes. REQUIRES: the server was
        killed."""
        files = {}
        for base, _, names in os.walk(server.directory):
            for name in names:
                path = pathlib.Path(base) / name
                files[path.lstat().st_ino] = path
        lost = 0
        for notes in self.notes.iterdir():
            path = files.get(int(notes.name))
            if path is not None and path.is_file():
                lost += take_back(path, notes.read_bytes())
        self.forget()
        return lost

    def forget(self):
        shutil.rmtree(self.notes)
        self.notes.mkdir()
        self.notes.chmod(0o777)


def records(data):
    """(offset, old size, old bytes) of every write that no flush has made safe, oldest first."""
    at = struct.unpack_from("<Q", data)[0]
    while at + RECORD.size <= len(data):
        offset, length, old_size = RECORD.unpack_from(data, at)
        old = data[at + RECORD.size:at + RECORD.size + length]
        if len(old) < length:  # The kill came in the middle of the note, before the write itself.
            return
        yield offset, old_size, old
        at += RECORD.size + length


def take_back(path, data):
    lost = 0
    with open(path, "r+b") as file:
        for offset, old_size, old in reversed(list(records(data))):
            file.seek(offset)
            file.write(old)
            if old_size < offset + len(old):
                file.truncate(old_size)
            lost += len(old)
    return lost
