"""Finds commits that the documents name but the history does not have, for scripts/check-tree."""
import re
import subprocess

# Words that look like the name of a commit.
NOT_COMMITS = {"ed25519"}
# Documents that are not checked: code, and the files of scripts/bench, in which the commit of a run keeps its old name.
NOT_PROSE = re.compile(r"```.*?```|<!-- [^>]* written by .*?: end -->", re.S)
NAME = re.compile(r"(?<![\w./-])(?=\w*[a-f])(?=\w*\d)[0-9a-f]{7,40}(?![\w-])")


def history(root):
    """The ids of all commits; empty without a repository, or if only a part of its history is here."""
    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False).stdout.split()

    is_whole = (root / ".git").exists() and git("rev-parse", "--is-shallow-repository") == ["false"]
    return git("rev-list", "HEAD") if is_whole else []


def unknown(root, documents):
    """Yields (document, name) of each unknown commit; `documents` has texts by their names."""
    commits = history(root)
    for document, text in documents.items() if commits else ():
        for name in NAME.findall(NOT_PROSE.sub("", text)):
            if name not in NOT_COMMITS and not any(commit.startswith(name) for commit in commits):
                yield document, name
