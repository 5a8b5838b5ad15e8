"""Whether the AppArmor profile of a server allows what the library needs."""
import re

INCLUDES_MAX = 10


def path_pattern(path):
    """The regular expression of a path in a profile."""
    pieces = {"**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")", ",": "|"}
    tokens = re.findall(r"\*\*|@\{\w+\}|\[[^]]*\]|.", path)
    return "".join(".*" if token[0] == "@" else token if token[0] == "[" and len(token) > 1
                   else pieces.get(token, re.escape(token)) for token in tokens)


def profile_rules(machine, text, depth=0):
    """The rules for paths in a profile and the files that it includes: pairs of pattern and permissions."""
    for line in text.splitlines():
        include = re.match(r'\s*#?include\s+(?:if\s+exists\s+)?[<"]([^>"]+)[>"]', line)
        if include and depth < INCLUDES_MAX:
            path = machine.root / "etc/apparmor.d" / include.group(1)
            for file in sorted(path.iterdir()) if path.is_dir() else [path] if path.exists() else []:
                yield from profile_rules(machine, file.read_text(encoding="utf-8", errors="replace"), depth + 1)
        rule = re.match(r'(?:owner\s+|allow\s+)*"?([/@][^\s"]*)"?\s+(\w+)\s*,', re.sub(r"#.*", "", line).strip())
        if rule:
            yield path_pattern(rule.group(1)), rule.group(2)


def check_apparmor(machine):
    enabled = machine.root / "sys/module/apparmor/parameters/enabled"
    if enabled.exists() and not enabled.read_text(encoding="ascii").startswith("Y"):
        return
    # The loader of a package maps the library for the server's version, which is in the same folder.
    libraries = [f"{machine.plugin_directory()}/{name}" for name in ("rowsocket.so", f"rowsocket.so.{machine.version}")]
    needs = [(path, "m", f"{machine.plugin_directory()}/*.so* mr,") for path in libraries
             if path == libraries[0] or machine.options.resolve(path).exists()]
    needs += [(path, "w", f"{path} rw,") for name, path in machine.options.values.items()
              if re.fullmatch(r"(handlersocket|daemon_memcached|resp)_socket(_wr)?", name) and path]
    for name in ("usr.sbin.mariadbd", "usr.sbin.mysqld", "mariadbd", "mysqld"):
        profile = machine.root / "etc/apparmor.d" / name
        if not profile.exists() or (machine.root / "etc/apparmor.d/disable" / name).is_symlink():
            continue
        text = profile.read_text(encoding="utf-8", errors="replace")
        head = re.search(rf"^[^#\n]*/{machine.server.program}\b.*\{{\s*$", text, re.M)
        if not head or "complain" in head.group(0):
            continue
        rules = list(profile_rules(machine, text))
        lacking = dict.fromkeys(rule for path, permission, rule in needs
                                if not any(permission in given and re.fullmatch(pattern, path) for pattern, given in rules))
        for rule in lacking:
            file = f"local/{name}" if f"local/{name}" in text else name
            machine.find(f"the AppArmor profile {profile} does not allow {rule.split()[0]}",
                         f"add the line '{rule}' to /etc/apparmor.d/{file}; "
                         f"apparmor_parser -r /etc/apparmor.d/{name}; {machine.server.restart}")
