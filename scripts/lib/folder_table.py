"""Finds where the table of folders in docs/ARCHITECTURE.md differs from the code, for scripts/check-tree."""
import re

# Words for what a folder may see besides other folders.
NOT_FOLDERS = {"nothing", "the standard library", "the server", "OpenSSL"}


def closed(folder, sees):
    """The folders that the folder sees, directly or through others."""
    found, rest = set(), set(sees[folder])
    while rest:
        found.add(one := rest.pop())
        rest |= set(sees.get(one, ())) - found
    return found - {folder}


def folders_meant(folder, word, may_include):
    """The folders that a word of the column "may see" stands for in the row of a folder."""
    if word == "all":
        for_tests = ("/contract", "/fake")
        return {each for each in may_include if not each.endswith(for_tests) and each not in ("protocol", folder)}
    return {f"protocol/{folder.rpartition('/')[2]}"} if word == "protocol" else {word}


def wrong(text, folders, may_include, sees_server):
    """Lines about folders without a row, and about rows that let a folder see other folders than may_include."""
    said = {}
    for folder, cell in re.findall(r"^\| `src/([\w/]+)` \|.*\| (.*) \|$", text, re.M):
        said[folder] = set(re.sub(r" \(.*?\)", "", cell).split(", "))
    yield from (f"the table of folders does not name {folder}" for folder in folders if f"`{folder}`" not in text)
    rows = {folder: words for folder, words in said.items() if folder in may_include}
    sees = {folder: set().union(*(folders_meant(folder, word, may_include) for word in words - NOT_FOLDERS))
            for folder, words in rows.items()}
    for folder, words in rows.items():
        other = closed(folder, sees) ^ closed(folder, may_include)
        if ("the server" in words) != (folder in sees_server):
            other.add("the server")
        if other:
            yield f"src/{folder} may see, by its row or by MAY_INCLUDE alone: {', '.join(sorted(other))}"
