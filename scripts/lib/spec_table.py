"""The common part of gen-errors, gen-counters and gen-variables: reads and checks a table in spec/, and writes tables
between two marker comments of Markdown documents.
"""
import pathlib
import re
import sys

NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


def read_rows(path, columns, check):
    """The rows as dictionaries. `check(row, rows)` gives the reason why a row is wrong, or None."""
    rows = []
    for number, line in enumerate(pathlib.Path(path).read_text(encoding="ascii").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        fields = line.split("\t")
        row = dict(zip(columns, fields))
        if len(fields) != len(columns):
            wrong = f"expected {', '.join(columns)}; found {len(fields)} fields"
        elif not NAME.fullmatch(row["name"]):
            wrong = f"the name {row['name']!r} is not lower_snake_case"
        else:
            wrong = check(row, rows)
        if wrong:
            sys.exit(f"{path}:{number}: {wrong}")
        rows.append(row)
    return rows


def constant(name):
    """The C++ enumerator of a name: kTimedOut of timed_out."""
    return "k" + "".join(word.capitalize() for word in name.split("_"))


def markdown(heads, rows):
    lines = [heads, ["---"] * len(heads), *rows]
    text = "".join("| " + " | ".join(line) + " |\n" for line in lines)
    return text.replace("| --- ", "|---").replace("|--- |", "|---|")


def with_table(document, begin, end, table):
    """The document with another table between the two markers, each of which is a line."""
    before, found_begin, rest = document.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found_begin or not found_end:
        sys.exit(f"the document has no place for the table: {begin.strip()} ... {end.strip()}")
    return before + begin + "\n" + table + "\n" + end + after


def write_or_check(mode, path, rewrite):
    """`--document` rewrites the document; `--check` fails if that would change it."""
    path = pathlib.Path(path)
    document = path.read_text(encoding="utf-8")
    wanted = rewrite(document)
    if mode == "--document":
        path.write_text(wanted, encoding="utf-8")
    elif document != wanted:
        command = " ".join(["--document" if word == "--check" else word for word in sys.argv])
        sys.exit(f"{path} is out of date, because its table in spec/ has changed; run: {command}")
