#!/usr/bin/env python3
"""Runs clang-tidy over the named files, except those that have passed unchanged before.

Files that are compiled as one (docs/adr/0029) are read as one, which takes a fifth of the time. The compiler then reads
each of them separately: a file that lacks an include, or uses a name of its neighbor, does not pass.

Files that pass leave an empty file in the folder `--passed`, whose name is a hash of all that was read: the text of the
files and of each header that they include, the compiler's command, the checks, and the version of clang-tidy.
"""
import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

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
    """The hash, which does not depend on the checkout's folder, so that results of another checkout count."""
    whole = hashlib.sha256(tool_hash)
    whole.update(entry["command"].replace(str(REPO), "").encode())
    for name in files_read(entry):
        path = os.path.realpath(os.path.join(entry["directory"], name))
        whole.update(path.removeprefix(str(REPO)).encode() + b"\0" + hash_of_file(path))
    return whole.hexdigest()


def sources_of(entry, commands):
    """The files that are compiled by this command: the file, or those that a generated file includes."""
    file = pathlib.Path(entry["file"])
    if commands.resolve() not in file.parents:
        return [file]
    return [(REPO / name).resolve() for name in re.findall(r'^#include "(.+)"$', file.read_text(), re.MULTILINE)]


def run(command):
    """Whether the command succeeds. If it fails, its output is printed."""
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        print(done.stdout, end="", flush=True)
    return done.returncode == 0


def include_options(entry):
    """The part of the compiler's command that says how to read the file; the rest are options of g++."""
    words = shlex.split(entry["command"])
    return [word for before, word in zip(["", *words], words)
            if word.startswith(("-I", "-D", "-std", "-isystem")) or before == "-isystem"]


class Reader:
    """Reads what is compiled as one. Any thread may call it."""

    def __init__(self, options, wanted, folder):
        self.options = options
        self.wanted = wanted
        self.precompiled = pathlib.Path(folder, "standard_headers.pch")
        version = subprocess.run([options.tool, "--version"], check=True, stdout=subprocess.PIPE).stdout
        self.tool_hash = hashlib.sha256(
            version + (REPO / ".clang-tidy").read_bytes() + pathlib.Path(__file__).read_bytes() +
            (options.commands / "standard_headers.h").read_bytes()).digest()

    def precompile(self):
        subprocess.run([self.options.compiler, "-std=gnu++20", "-x", "c++-header",
                        self.options.commands / "standard_headers.h", "-o", self.precompiled], check=True)

    def passes(self, entry):
        sources = sources_of(entry, self.options.commands)
        wanted = [source for source in sources if source in self.wanted]
        names = "\0".join(str(source).removeprefix(str(REPO)) for source in wanted)
        mark = self.options.passed / key(entry, self.tool_hash + names.encode())
        if mark.exists():
            mark.touch()
            return True
        # A file that is compiled together with a test is read without the test.
        together = [entry["file"]] if wanted == sources else wanted
        if not run([self.options.tool, "--quiet", *together, "--", *include_options(entry)]):
            return False
        if len(sources) > 1 and not all([self.stands_alone(source, entry) for source in wanted]):
            return False
        mark.touch()
        return True

    def stands_alone(self, source, entry):
        return run([self.options.compiler, "-fsyntax-only", "-w", *include_options(entry),
                    "-include-pch", self.precompiled, source])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True, help="the program clang-tidy")
    parser.add_argument("--compiler", required=True, help="the program clang++")
    parser.add_argument("--commands", required=True, type=pathlib.Path, help="the folder of compile_commands.json")
    parser.add_argument("--passed", required=True, type=pathlib.Path, help="the folder of what has passed before")
    parser.add_argument("file", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    wanted = {file.resolve() for file in options.file}
    found = {source: number for number, entry in enumerate(entries_of(options.commands))
             for source in sources_of(entry, options.commands) if source in wanted}
    unknown = wanted - set(found)
    if unknown:
        sys.exit(f"clang-tidy: no command compiles {', '.join(map(str, sorted(unknown)))}")
    entries = [entries_of(options.commands)[number] for number in sorted(set(found.values()))]
    options.passed.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        reader = Reader(options, wanted, folder)
        reader.precompile()
        results = list(pool.map(reader.passes, entries))
    print(f"clang-tidy: {len(wanted)} files, read as {len(entries)}: {results.count(False)} failed")
    sys.exit(0 if all(results) else 1)


@functools.lru_cache(maxsize=None)
def entries_of(commands):
    return json.loads((commands / "compile_commands.json").read_text())


if __name__ == "__main__":
    main()
