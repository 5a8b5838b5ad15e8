"""A certificate of its own for the servers of a run, made with openssl."""

import dataclasses
import pathlib
import subprocess


@dataclasses.dataclass(frozen=True)
class Certificate:
    certificate: pathlib.Path
    key: pathlib.Path


def make(folder):
    """A new one in this folder, by an elliptic key, as short-lived as the run. Servers of other users read
    both files, so that nothing else may be signed with the key."""
    made = Certificate(folder / "certificate.pem", folder / "key.pem")
    if not made.key.exists():
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
             "-days", "2", "-subj", "/CN=localhost", "-keyout", made.key, "-out", made.certificate],
            stdin=subprocess.DEVNULL, capture_output=True, check=True)
        made.key.chmod(0o644)
    return made
