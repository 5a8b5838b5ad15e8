#!/usr/bin/env python3
"""Writes the golden vectors as seeds for the fuzz targets, one file a session.

usage: make_seeds.py VECTORS_DIR OUTPUT_DIR

A seed is the byte that chooses limits and pieces (see the fuzz targets), then all that the session
sends. Each session is written twice: with the default limits, and with small ones.
"""
import hashlib
import json
import pathlib
import sys


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
            sent = "".join(step["send"] for step in vector["steps"]).encode("latin-1")
            for choice in (b"\x00", b"\x07"):
                seed = choice + sent
                (output / hashlib.sha1(seed).hexdigest()).write_bytes(seed)


main()
