"""Folders of tests that a server reads, possibly as another user."""

import pathlib
import tempfile


def let_servers_enter(folder):
    """Lets every user enter a folder of a test, and the folders above it that the run has made."""
    top = pathlib.Path(tempfile.gettempdir()).resolve()
    folder = pathlib.Path(folder).resolve()
    for each in (folder, *folder.parents):
        if each == top:
            return
        each.chmod(each.stat().st_mode | 0o011)
