"""Which commits the documents name that the history does not have. scripts/check-docs asks it."""
import re
import subprocess

# Words that look like the name of a commit.
NOT_COMMITS = {"ed25519"}
# Code, and what scripts/bench writes: commits of runs keep the names that they had then.
NOT_PROSE = re.compile(r"```.*?```|<!-- [^>]* written by .*?: end -->", re.S)
NAME = re.compile(r"(?<![\w./-])(?=\w*[a-f])(?=\w*\d)[0-9a-f]{7,40}(?![\w-])")


def history(root):
    """The ids of all commits; empty without a repository, or with a part of its history alone."""
    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False).stdout.split()

    is_whole = (root / ".git").exists() and git("rev-parse", "--is-shallow-repository") == ["false"]
    return git("rev-list", "HEAD") if is_whole else []


def unknown(root, documents):
    """(document, name) for each; documents: the text of each by its name."""
    commits = history(root)
    for document, text in documents.items() if commits else ():
        for name in NAME.findall(NOT_PROSE.sub("", text)):
            if name not in NOT_COMMITS and not any(commit.startswith(name) for commit in commits):
                yield document, name
