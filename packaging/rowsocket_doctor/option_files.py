"""Option files of a server, read as the server reads them."""
import json
import os
import pathlib
import re

INCLUDES_MAX = 10
# The part of a line before its comment; a # within quotes begins none. A backslash within quotes keeps the next
# character from ending them.
BEFORE_COMMENT = re.compile(r"""(?:[^#'"]|'(?:\\.|[^'\\])*(?:'|\\?$)|"(?:\\.|[^"\\])*(?:"|\\?$))*""")
# Characters that a value writes with a backslash.
ESCAPED = {"s": " ", "t": "\t", "n": "\n", "r": "\r", "b": "\b", "\\": "\\", "'": "'", '"': '"'}
# Options of memcached's command line that say where the plugin listens, with the variables that they set.
MEMCACHED_VALUES = {"p": "port", "l": "address", "s": "socket"}


def meant(value):
    """What a value means, without its quotes and backslashes."""
    if len(value) > 1 and value[0] in "'\"" and value[0] == value[-1]:
        value = value[1:-1]
    return re.sub(r"\\(.)", lambda match: ESCAPED.get(match.group(1), match.group(0)), value)


class Options:
    """Option files below a root, as the server reads them: the last value of a name counts."""

    def __init__(self, groups, version="", root="/"):
        self.root = pathlib.Path(root)
        self.groups = groups
        # The groups of one version, such as [mysqld-9.7], are only for that version.
        self.line = re.match(r"\d+\.\d+|", version).group(0)
        self.values = {}  # name -> value
        self.without_value = set()  # names without a value, which mean ON
        self.loads = []  # plugin_load, and plugin_load_add, which adds to it
        self.read_files = []
        self.unreadable = []
        self.socket_leaves_no_port = False  # -s in daemon_memcached_option

    def resolve(self, path):
        """The path below the root; links in it are resolved below the root, too."""
        path = self.root / str(path).lstrip("/")
        for _ in range(INCLUDES_MAX):
            if not os.path.islink(path):
                break
            target = pathlib.Path(os.readlink(path))
            path = self.root / str(target).lstrip("/") if target.is_absolute() else path.parent / target
        return path

    def read(self, path, depth=0):
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except PermissionError:
            self.unreadable.append(path)
            return self
        except OSError:
            return self
        self.read_files.append(path)
        ours = False
        for line in text.splitlines():
            line = line.strip()
            if line.startswith("["):
                match = re.match(r"\[([^]\s]+?)(?:-([\d.]+))?\s*\]", line)
                ours = match is not None and match.group(1) in self.groups and \
                    match.group(2) in (None, self.line or match.group(2))
            elif match := re.fullmatch(r"!(include|includedir)\s+(.+)", line):
                if depth < INCLUDES_MAX:
                    self.include(match.group(1), match.group(2).strip(), depth)
            elif line and line[0] not in "#;!" and ours:
                name, equals, value = BEFORE_COMMENT.match(line).group(0).partition("=")
                name = re.sub(r"^loose_", "", name.strip().replace("-", "_"))
                self.set(name, meant(value.strip()))
                if not equals:
                    self.without_value.add(name)
        return self

    def include(self, what, name, depth):
        path = self.resolve(name)
        for file in sorted(path.glob("*.cnf")) if what == "includedir" else [path]:
            self.read(self.resolve("/" + str(file.relative_to(self.root))), depth + 1)

    def set(self, name, value):
        if name == "plugin_load":
            self.loads = [value]
        elif name == "plugin_load_add":
            self.loads.append(value)
        self.values[name] = value
        self.without_value.discard(name)

    def read_persisted(self, path):
        """Reads the values of SET PERSIST, which take precedence over those of option files."""
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return
        for group in stored.values():
            for name, entry in group.items() if isinstance(group, dict) else ():
                if isinstance(entry, dict) and "Value" in entry:
                    self.set(name, str(entry["Value"]))

    def take_memcached_option(self):
        """daemon_memcached_option takes precedence over the variables, wherever it stands: call this when everything is
        read."""
        words = self.get("daemon_memcached_option").split()
        found = {}
        while words:
            word = words.pop(0)
            letter, value = word[1:2] if word[0] == "-" else "", word[2:]
            if word in ("-Z", "--enable-ssl"):
                found["ssl"] = "REQUIRED"
            elif word == "-S":
                found["accounts"] = "ON"
            elif letter:
                if not value and words and not re.match("-.", words[0]):
                    value = words.pop(0)
                if letter in MEMCACHED_VALUES:
                    found[MEMCACHED_VALUES[letter]] = value
        if "socket" in found:  # As in memcached, a socket replaces the port.
            found["port"] = "0"
            self.socket_leaves_no_port = True
        self.values.update({f"daemon_memcached_{name}": value for name, value in found.items()})

    def get(self, name, default=""):
        return self.values.get(name, default)

    def is_on(self, name):
        return name in self.without_value or self.get(name).upper() in ("ON", "TRUE", "1")

    def loads_the_library(self):
        return any("rowsocket" in value for value in self.loads)
