"""What differs for an option file that was written for one of the originals."""
import pathlib
import re

from rowsocket_doctor.option_files import Options
from rowsocket_doctor.servers import SERVERS

# Variables that are accepted without effect, or have another meaning than in the original; all other
# variables have the original's meaning.
HANDLERSOCKET_DIFFERENCES = {
    "readsize": "has no effect: the size of a read follows what arrives",
    "accept_balance": "has no effect: connections are always balanced",
    "epoll": "has no effect: epoll is always used",
    "verbose": "has no effect",
    "threads": "is the most threads at work; 0, one for each core, is the better choice",
    "threads_wr": "writes of one thread share commits: leave it at 1",
}
MEMCACHED_DIFFERENCES = {
    "engine_lib_name": "has no effect: there is no engine library",
    "engine_lib_path": "has no effect: there is no engine library",
    "r_batch_size": "has no effect: requests that arrive together share a transaction",
    "w_batch_size": "has no effect: each reply waits for its commit, so that no answered write is lost",
    "enable_binlog": "has no effect: writes are in the binary log if the server has one",
}
MEMCACHED_OPTIONS = set("ptclsIa")
MEMCACHED_WORDS = ("-S", "-Z", "--enable-ssl")  # logins and TLS, without which everybody would be served


def check_memcached_option(text):
    """Checks the option word by word, as the plugin reads it."""
    words = text.split()
    while words:
        word = words.pop(0)
        if word in MEMCACHED_WORDS:
            continue
        is_known = len(word) > 1 and word[0] == "-" and word[1] in MEMCACHED_OPTIONS
        if len(word) == 2 and word[0] == "-" and words and not re.match("-.", words[0]):
            words.pop(0)  # The value of the option.
        if not is_known:
            yield f"daemon_memcached_option: {word} has no meaning here", "take the option out, or leave it"


def compare(path, servers):
    """The differences for an option file that was written for an original plugin."""
    options = Options(frozenset.union(*(server.groups for server in SERVERS))).read(pathlib.Path(path))
    findings = []
    for name, value in options.values.items():
        prefix, _, rest = name.partition("_")
        if name.startswith("daemon_memcached_"):
            rest = name.removeprefix("daemon_memcached_")
            if rest in MEMCACHED_DIFFERENCES:
                findings.append((f"{name} = {value} {MEMCACHED_DIFFERENCES[rest]}", "leave it, or take it out"))
            elif rest == "option":
                findings.extend(check_memcached_option(value))
        elif prefix == "handlersocket" and rest in HANDLERSOCKET_DIFFERENCES:
            findings.append((f"{name} = {value} {HANDLERSOCKET_DIFFERENCES[rest]}", "leave it, or take it out"))
        elif name in ("plugin_load", "plugin_load_add") and \
                re.search(r"handlersocket|libmemcached", value):
            findings.append((f"{name} = {value} loads the original plugin",
                             "take it out: only one plugin of a name can be loaded"))
        elif name.startswith("innodb_api_"):
            findings += [innodb_api(name, server) for server in servers]
    wide = options.get("handlersocket_address") not in ("", "127.0.0.1", "::1", "localhost", "/")
    for suffix in ("", "_wr"):
        if wide and options.get(f"handlersocket_port{suffix}") and \
                not options.get(f"handlersocket_plain_secret{suffix}"):
            findings.append((f"handlersocket_port{suffix} listens beyond loopback without a secret, which is refused",
                             f"set handlersocket_plain_secret{suffix}"))
    return findings


def innodb_api(name, server):
    if server.has_innodb_api:
        return (f"{name} has no effect in {server.title}: it is for the interface of InnoDB that the original used",
                "leave it, or take it out")
    return (f"{name} is no variable of {server.title}, which then does not start",
            f"take it out, or write loose_{name}")
