#!/usr/bin/env python3
"""Writes the golden vectors as seeds for the fuzz targets, one file a session.

usage: make_seeds.py VECTORS_DIR OUTPUT_DIR

A seed is the byte that chooses limits and pieces (see the fuzz targets), then all bytes that the session
sends. Each session is written twice: with the default limits, and with small ones. RESP has one more session.
"""
import hashlib
import json
import pathlib
import re
import sys

MARK = re.compile("⟨([^⟩]*)⟩")


def sent(text):
    """The bytes of a `send`; spec/vectors/README.md describes the marks."""
    def plain(found):
        words = found[1].split(" ")
        if words[0] == "hex":
            return bytes.fromhex("".join(words[1:])).decode("latin-1")
        if words[0] == "repeat":
            return " ".join(words[2:]) * min(int(words[1]), 3000)
        return {"token8": "\0\0\0\0\0\0\0\1", "token": "1"}.get(words[0], "1700000000")
    return MARK.sub(plain, text).encode("latin-1")


# No vector has as many arguments; beyond 256 the parser notes what has come of a request.
LONG_REQUEST = [b"MGET", *(b"k%d" % number for number in range(299))]


def array(words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def as_array(step):
    """The bytes of a step; a command of RESP as an array."""
    return sent(step["send"]) if "send" in step else array([sent(word) for word in step["do"]])


def as_line(step):
    """The bytes of a step; a command of RESP inline."""
    if "send" in step:
        return sent(step["send"])
    return sent(step.get("inline", " ".join(step["do"]))) + b"\r\n"


def write(folder, data):
    for choice in (b"\x00", b"\x07"):
        seed = choice + data
        (folder / hashlib.sha1(seed).hexdigest()).write_bytes(seed)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, output = map(pathlib.Path, sys.argv[1:])
    files = sorted(source.glob("*.json"))
    if not files:
        sys.exit(f"{source}: no vectors")
    output.mkdir(parents=True, exist_ok=True)
    for path in files:
        for vector in json.loads(path.read_text(encoding="utf-8"))["vectors"]:
            for data in {b"".join(form(step) for step in vector["steps"]) for form in (as_array, as_line)}:
                write(output, data)
    if source.name == "resp":
        write(output, array(LONG_REQUEST))


main()
