"""Plays the examples of a document against a server, whose answers must be those of the document.

An example is a fenced block; its first line names its kind:

    sql                       statements; a comment after a query shows its rows
    handlersocket 9998, 9999  lines to and from that port; two spaces stand for one HT
    memcached                 lines to and from memcached's port
    php, python               a program; the block `output` after it is its output

Ports are those of the documents (3306, 6379, 9998, 9999, 11211); each block has a connection of its own. For a server
of tests/package/examples.py, whose ports have secrets, opening_lines are what a client sends first.
"""

import pathlib
import re
import socket
import sys
import types

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]

PORTS = {"9998": "HS_PORT", "9999": "HS_PORT_WR", "11211": "MEMCACHED_PORT", "6379": "RESP_PORT", "3306": "SQL_PORT"}
TIMEOUT_S = 15


def sections(document):
    """{heading: [(language, text)]} of all sections of a Markdown file that hold blocks."""
    found, heading, block = {}, "", None
    for line in (REPOSITORY / document).read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            if block is None:
                block = types.SimpleNamespace(language=line[3:].strip(), lines=[])
                continue
            if block.language:
                found.setdefault(heading, []).append((block.language, "\n".join(block.lines)))
            block = None
        elif block is not None:
            block.lines.append(line)
        elif line.startswith("#"):
            heading = line.lstrip("# ")
    return found


def play(server, sql, examples):
    """Plays the examples of one section. sql: a session in the schema of the examples."""
    for number, (language, text) in enumerate(examples):
        kind, _, port = language.partition(" ")
        if kind == "sql":
            play_sql(sql, text)
        elif kind == "handlersocket":
            play_wire(server, port, text.replace("  ", "\t"), "\n")
        elif kind == "memcached":
            play_wire(server, "11211", text, "\r\n")
        elif kind in ("php", "python"):
            following = examples[number + 1:number + 2]
            assert following and following[0][0] == "output", f"what does this print?\n{text}"
            assert play_program(server, kind, text) == following[0][1], text
        else:
            assert kind in ("output", "sh", "ini", "text"), f"what is a block `{language}`?"


def play_sql(sql, text):
    for statement, shown in re.findall(r"(.*?);((?:[ \n]*-- .*)*)", text, re.S):
        rows = [tuple(cell.encode() for cell in row.split("  "))
                for row in re.findall(r"-- (.*)", shown)]
        if rows:
            assert sql.rows(statement) == rows, statement
        else:
            sql.run(statement)


def play_wire(server, port, text, line_end):
    exchanges = []  # [sent, received], alternating
    for line in text.split("\n"):
        direction, content = line[:3], line[3:] + line_end
        assert direction in ("-> ", "<- "), line
        if direction == "-> " and (not exchanges or exchanges[-1][1]):
            exchanges.append(["", ""])
        exchanges[-1][direction == "<- "] += content
    address = ("127.0.0.1", int(server.env[PORTS[port]]))
    opening = getattr(server, "opening_lines", {}).get(port)
    with socket.create_connection(address, timeout=TIMEOUT_S) as connection:
        for sent, shown in ([(opening, "0\t1\n")] if opening else []) + exchanges:
            connection.sendall(sent.encode())
            expected, received = shown.encode(), b""
            while received.count(b"\n") < expected.count(b"\n"):
                data = connection.recv(1 << 16)
                assert data, f"closed after {received!r}"
                received += data
            assert received == expected, sent


def with_ports(server, text):
    """A program with the ports of this server."""
    for shown, variable in PORTS.items():
        text = re.sub(rf"\b{shown}\b", server.env[variable], text)
    return text


def play_program(server, kind, text):
    text = with_ports(server, text)
    if hasattr(server, "run_program"):
        return server.run_program(kind, text)
    import third_party  # pylint: disable=import-outside-toplevel # a machine with the package has none of it
    if kind == "php":
        command, environment = third_party.php()
        return third_party.run(*command, "-r", text.removeprefix("<?php\n"), env=environment).strip()
    return third_party.run(sys.executable, "-c", text, env=third_party.python_path()).strip()
