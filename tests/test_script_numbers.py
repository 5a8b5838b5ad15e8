"""Each script of the vectors of RESP stands in the table of scripts that are served, by its number."""
import hashlib
import json
import re

import pytest

from server import REPOSITORY

pytestmark = pytest.mark.once("starts no server")


def normal(text):
    """The text without blanks that part no names, with one kind of quotes, in small letters (NormalScript)."""
    parts = re.split(r"([\"'])(.*?)(\1|\Z)", text, flags=re.DOTALL)
    code = [re.sub(r"\B[\s;]+|[\s;]+\B", "", re.sub(r"\b[\s;]+\b", " ", each)) for each in parts[::4]]
    quoted = [f'"{each}"' if end else f'"{each}' for each, end in zip(parts[2::4], parts[3::4])]
    return "".join(map("{}{}".format, code, quoted + [""])).lower()


def scripts_of_vectors():
    for file in sorted((REPOSITORY / "spec/vectors/resp").glob("scripts*.json")):
        for vector in json.loads(file.read_text(encoding="utf-8"))["vectors"]:
            for step in vector["steps"]:
                if step.get("do", [""])[0] == "EVAL" and not step.get("recv", "").startswith("-NOTSERVED"):
                    yield vector["name"], step["do"][1]


def test_each_script_of_the_vectors_is_served():
    table = (REPOSITORY / "src/frontend/resp/scripts.cc").read_text(encoding="utf-8")
    numbers = {}
    for name, text in scripts_of_vectors():
        numbers.setdefault(hashlib.sha1(normal(text).encode()).hexdigest(), name)
    missing = {number: name for number, name in numbers.items() if f'"{number}"' not in table}
    assert len(numbers) > 30 and not missing, f"src/frontend/resp/scripts.cc has no row with the number of: {missing}"
