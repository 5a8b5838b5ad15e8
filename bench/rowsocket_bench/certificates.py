"""A certificate for the servers of one run, made with openssl."""

import dataclasses
import pathlib
import subprocess


@dataclasses.dataclass(frozen=True)
class Certificate:
    certificate: pathlib.Path
    key: pathlib.Path


def make(folder):
    """Makes a certificate in this folder, with an elliptic key, valid about as long as the run. Servers that run as
    other users read both files, so the key must not sign anything else."""
    made = Certificate(folder / "certificate.pem", folder / "key.pem")
    if not made.key.exists():
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
             "-days", "2", "-subj", "/CN=localhost", "-keyout", made.key, "-out", made.certificate],
            stdin=subprocess.DEVNULL, capture_output=True, check=True)
        made.key.chmod(0o644)
    return made
