"""Plays the documents' examples on a machine that has the package, behind `rowsocket-setup --example`: the table of
tests/integration/support/recipes.py, with the ports' secrets. Run by inside.sh; /srv/checkout has the documents.
"""

import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration/support"))
import recipes  # noqa: E402 # pylint: disable=wrong-import-position

SECRETS = dict(line.split() for line in pathlib.Path("/etc/rowsocket/secrets").read_text(encoding="ascii").splitlines()
               if not line.startswith("#"))


class PackagedServer:
    env = {"HS_PORT": "9998", "HS_PORT_WR": "9999", "MEMCACHED_PORT": "11211", "RESP_PORT": "6379",
           "SQL_PORT": "3306"}
    opening_lines = {"9998": f"A\t1\t{SECRETS['reading']}\n", "9999": f"A\t1\t{SECRETS['writing']}\n"}

    @staticmethod
    def run_program(kind, text):
        command = ["php", "-r", text.removeprefix("<?php\n")] if kind == "php" else ["python3", "-c", text]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


class Client:
    """The server's own client program, in the schema of the examples."""

    def __init__(self, program):
        self.command = [program, "--batch", "--skip-column-names", "--raw"]

    def run(self, statement, schema="shop"):
        return subprocess.run([*self.command, f"--database={schema}", "--execute", statement], capture_output=True,
                              check=True, timeout=60).stdout

    def rows(self, statement):
        return [tuple(line.split(b"\t")) for line in self.run(statement).splitlines()]


def is_for_memcached_or_the_wire(example):
    """Programs that speak to a HandlerSocket port are written for the quickstart's server, which has no secret."""
    language, text = example
    return language not in ("php", "python") or not re.search(r"\b(9998|9999)\b", text)


def main():
    client = Client(sys.argv[1])
    played = 0
    client.run("DROP DATABASE IF EXISTS shop; CREATE DATABASE shop CHARACTER SET utf8mb4", schema="mysql")
    client.run("GRANT ALL ON shop.* TO rowsocket@localhost", schema="mysql")
    for document in ("README.md", "docs/CLIENTS.md", "docs/COOKBOOK.md"):
        for heading, examples in recipes.sections(document).items():
            if not all(is_for_memcached_or_the_wire(example) for example in examples):
                continue
            if document == "docs/COOKBOOK.md":
                client.run("DROP DATABASE shop; CREATE DATABASE shop CHARACTER SET utf8mb4", schema="mysql")
            try:
                recipes.play(PackagedServer, client, examples)
            except Exception as error:
                sys.exit(f"{document}, {heading}: {error!r}")
            played += 1
            if document == "docs/COOKBOOK.md":
                client.run("DELETE FROM innodb_memcache.containers WHERE name NOT IN ('default', 'user')")
                client.run("DELETE FROM innodb_memcache.demo", schema="innodb_memcache")
    assert played > 10, played
    print(f"{played} sections of examples")


main()
