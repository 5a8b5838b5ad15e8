"""Finds the lines of a document that are too long to be read in a diff, for scripts/check-tree."""
import re

CHARACTERS_MAX = 120


def too_long(text):
    """The numbers of the lines of prose that are too long; a table, an image and code may have any width."""
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        is_fence = line.lstrip().startswith("```")
        is_code ^= is_fence
        if len(line) > CHARACTERS_MAX and not is_code and not is_fence and not re.match(r" *(\||!\[)", line):
            yield number
