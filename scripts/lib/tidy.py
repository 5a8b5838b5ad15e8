#!/usr/bin/env python3
"""clang-tidy over the files that are named, except for those that it has passed as they are.

A file that passes leaves an empty file in the folder `--passed`, whose name is a hash of all that clang-tidy reads: the
text of the file and of each header that it includes, the compiler's command, the checks, and the version of clang-tidy.
"""
import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

REPO = pathlib.Path(__file__).resolve().parents[2]


@functools.lru_cache(maxsize=None)
def hash_of_file(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).digest()


def files_read(entry):
    """The file and all headers that it includes, as the compiler names them in a rule for make."""
    words = shlex.split(entry["command"])
    output = words.index("-o")
    command = [word for word in words[:output] + words[output + 2:] if word != "-c"]
    rule = subprocess.run(command + ["-M", "-MT", "all"], cwd=entry["directory"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    return shlex.split(rule.replace("\\\n", " "))[1:]


def key(entry, tool_hash):
    """Independent of where the checkout is, so that another one's results count."""
    whole = hashlib.sha256(tool_hash)
    whole.update(entry["command"].replace(str(REPO), "").encode())
    for name in files_read(entry):
        path = os.path.realpath(os.path.join(entry["directory"], name))
        whole.update(path.removeprefix(str(REPO)).encode() + b"\0" + hash_of_file(path))
    return whole.hexdigest()


def passes(entry, options, tool_hash):
    mark = options.passed / key(entry, tool_hash)
    if mark.exists():
        mark.touch()
        return True
    done = subprocess.run([options.tool, "-p", options.commands, "--quiet", entry["file"]], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        print(done.stdout, end="", flush=True)
        return False
    mark.touch()
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True, help="the program clang-tidy")
    parser.add_argument("--commands", required=True, type=pathlib.Path, help="the folder of compile_commands.json")
    parser.add_argument("--passed", required=True, type=pathlib.Path, help="the folder of what has passed before")
    parser.add_argument("file", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    entries = {pathlib.Path(entry["file"]): entry
               for entry in json.loads((options.commands / "compile_commands.json").read_text())}
    options.passed.mkdir(parents=True, exist_ok=True)
    version = subprocess.run([options.tool, "--version"], check=True, stdout=subprocess.PIPE).stdout
    tool_hash = hashlib.sha256(version + (REPO / ".clang-tidy").read_bytes()).digest()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda file: passes(entries[file.resolve()], options, tool_hash), options.file))
    print(f"clang-tidy: {results.count(True)} files passed, {results.count(False)} failed")
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
