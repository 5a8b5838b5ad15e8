"""What rowsocket-doctor --live says to do can be done: each variable that it says to SET GLOBAL takes a value in a server that
runs. Of the server's own variables test_doctor_server.py tries it."""

import ast
import csv
import re

import pytest

from server import PLUGINS, REPOSITORY

pytestmark = pytest.mark.once("starts no server")

MODULES = sorted((REPOSITORY / "packaging/rowsocket_observe").glob("*.py"))
A_PLUGIN = "{}"  # in place of an expression
SET_GLOBAL = re.compile(r"SET GLOBAL ([\w{}*]+)")


def texts(module):
    """All texts of a module; each has A_PLUGIN in place of an expression."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else A_PLUGIN for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.sub(r"{\w+}", A_PLUGIN, node.value)


def set_globally():
    """The library's variables that remedies say to SET GLOBAL, each without its plugin."""
    names = {name for module in MODULES for text in texts(module) for name in SET_GLOBAL.findall(text)}
    for name in names:
        plugin = next((plugin for plugin in (A_PLUGIN, "*", *PLUGINS) if name.startswith(f"{plugin}_")), None)
        if plugin:
            yield name[len(plugin) + 1:]


def test_remedies_set_no_variable_that_is_read_only():
    with open(REPOSITORY / "spec/variables.tsv", encoding="utf-8") as file:
        rows = list(csv.reader((line for line in file if not line.startswith("#")), delimiter="\t", quoting=csv.QUOTE_NONE))
    read_only = {row[0] for row in rows if row[6] == "start"}
    names = set(set_globally())
    assert "kill_connection" in names and names <= {row[0] for row in rows}, names
    assert not names & read_only, "these can be set at the server's start alone"


def test_remedies_load_the_library_by_statements_of_both_families():
    """MySQL has no INSTALL SONAME, for which the clients of tests have a translation."""
    said = [text for module in MODULES for text in texts(module) if "INSTALL" in text]
    assert any("INSTALL PLUGIN {} SONAME 'rowsocket.so'" in text for text in said)
    assert not [text for text in said if "SONAME 'rowsocket'" in text]
