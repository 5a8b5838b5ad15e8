#!/usr/bin/env python3
"""Writes the golden vectors as seeds for the fuzz targets, one file a session.

usage: make_seeds.py VECTORS_DIR OUTPUT_DIR

A seed is the byte that chooses limits and pieces (see the fuzz targets), then all bytes that the session
sends. Each session is written twice: with the default limits, and with small ones.
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
            data = b"".join(sent(step["send"]) for step in vector["steps"])
            for choice in (b"\x00", b"\x07"):
                seed = choice + data
                (output / hashlib.sha1(seed).hexdigest()).write_bytes(seed)


main()
