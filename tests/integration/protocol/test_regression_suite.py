"""The original's own 24 regression scripts, as they stand in MariaDB's source.

They run unchanged except for the port, the name of the database driver (they get the driver that they were
written for) and, in MySQL, MyISAM's name, with third_party/OldPerl.pm in front. All outputs must be as expected, except the five that show
a fault of the original: there exactly the lines of DIFFERENCES differ.
"""

import difflib
import os
import re
import shutil

import pytest

import third_party
from server import is_mysql

SCRIPTS = [f"{number:02}" for number in range(1, 25)]

def zeros(shown, key):
    return {f"{place}{shown} s{key} {shown}"
            for place in ("", f"PK[{key}] ", f"I1[s{key}] ", f"I2[{key}, s{key}] ", f"I2p[{key}] ")}


# The lines of an expected output that must be missing, and the lines that must stand in their place.
DIFFERENCES = {
    # A SMALLINT of 32768 is not stored as 32767, nor found.
    "15": ({"32767 s32768 32767", "PK[32768] 32767 s32768 32767", "I1[s32768] 32767 s32768 32767",
            "I2[32768, s32768] 32767 s32768 32767", "I2p[32768] 32767 s32768 32767"},
           {"PK[32768]", "I1[s32768]", "I2[32768, s32768]", "I2p[32768]"}),
    # The text 0 is no DATETIME.
    "16": (zeros("0000-00-00 00:00:00", "0"), {"PK[0]", "I1[s0]", "I2[0, s0]", "I2p[0]"}),
    # A short key does not find a NUL-padded BINARY(10).
    "17": ({"B", "sB", "BG", "sBG", "BGIJH", "sBGIJH"}, {""}),
    # An omitted column that may be NULL is NULL.
    "18": ({f"{number} v1hs_{number - 1}" for number in range(1, 11)},
           {f"{number} v1hs_{number - 1} [null]" for number in range(1, 11)}),
}

if is_mysql():  # By default no column takes the zero date.
    key = "0000-00-00"
    DIFFERENCES["16"][0].update(zeros(key, key))
    DIFFERENCES["16"][1].update((f"PK[{key}]", f"I1[s{key}]", f"I2[{key}, s{key}]", f"I2p[{key}]"))


@pytest.fixture(scope="module")
def environment():
    return third_party.perl_client()


@pytest.fixture
def scripts(server, tmp_path, environment):
    """A copy of the scripts that connects to the server."""
    folder = tmp_path / "regtest"
    shutil.copytree(third_party.handlersocket_source() / "regtest", folder)
    for path in folder.rglob("*.p[lm]"):
        text = path.read_bytes()
        text = text.replace(b"get_hs_connection(undef, 9999)",
                            b"get_hs_connection(undef, %s)" % server.env["HS_PORT_WR"].encode())
        text = text.replace(b"DBI:MariaDB", b"DBI:mysql").replace(b"mariadb_", b"mysql_")
        if is_mysql():  # In MySQL the library serves InnoDB alone.
            text = text.replace(b"engine = myisam", b"engine = innodb")
        path.write_bytes(text)
    environment.update(MYHOST="127.0.0.1", MYPORT=server.env["SQL_PORT"], HSPORT=server.env["HS_PORT"],
                       MYDBNAME=f"hstest{os.getpid()}")
    sql = server.sql()
    if is_mysql():  # The scripts log in as root over TCP, without TLS.
        sql.run("CREATE USER root@'127.0.0.1'")
        sql.run("GRANT ALL ON *.* TO root@'127.0.0.1'")
    yield folder / "test_01_lib"
    server.close_clients()
    sql = server.sql()
    sql.run(f"DROP DATABASE IF EXISTS hstest{os.getpid()}")
    if is_mysql():
        sql.run("DROP USER root@'127.0.0.1'")


def output(scripts, environment, number):
    printed = third_party.subprocess.run(
        ["perl", "-MOldPerl", f"test{number}.pl"], cwd=scripts, env=environment, capture_output=True,
        stdin=third_party.subprocess.DEVNULL, timeout=60, check=False)
    expected = (scripts / f"test{number}.expected").read_bytes()
    assert printed.returncode == 0, printed.stderr.decode(errors="replace")[-2000:]
    # The suite's own comparison ignores amounts of white space, so this comparison does, too.
    return [[re.sub(r"[ \t\0]+", " ", text).strip() for text in data.decode("latin-1").split("\n")]
            for data in (printed.stdout, expected)]


def changes(found, expected):
    """The missing lines, and the lines in their place."""
    missing, instead = [], []
    for text in difflib.ndiff(expected, found) if len(expected) < 2000 else ():
        if text.startswith("- "):
            missing.append(text[2:])
        elif text.startswith("+ "):
            instead.append(text[2:])
    return missing, instead


@pytest.mark.bundled_wrong(11, some=True)  # 24: after any failed open
@pytest.mark.parametrize("number", [number for number in SCRIPTS if number != "19"])
def test_script(request, server, scripts, environment, number):
    found, expected = output(scripts, environment, number)
    if number not in DIFFERENCES or request.config.getoption("--plugin") == "bundled":
        assert found == expected
        return
    missing, instead = changes(found, expected)
    assert (set(missing), set(instead)) == DIFFERENCES[number]


def sections(lines):
    """The filter sections of script 19: title -> rows."""
    found, rows = {}, []
    for text in lines:
        if text.startswith("FILTER"):
            rows = found.setdefault(text, [])
        elif text and not text.startswith("code=0 rows="):
            rows.append(text)
    return found


def test_script_19_differs_only_in_what_columns_cannot_hold(request, server, scripts, environment):
    lines, expected_lines = output(scripts, environment, "19")
    found, expected = sections(lines), sections(expected_lines)
    assert found.keys() == expected.keys()
    if request.config.getoption("--plugin") == "bundled":
        assert lines == expected_lines
        return
    for title, rows in expected.items():
        if "NO FILTER" in title:
            assert found[title] == rows
            continue
        kind, op, value = re.fullmatch(r"FILTER\((.*)\) v2 (\S+) ?(.*)", title).groups()
        everything = expected[f"FILTER({kind}) NO FILTER"]
        equal = expected[f"FILTER({kind}) v2 = {value}"]
        width = re.fullmatch(r"(?:CHAR|BINARY)\((\d+)\)", kind)  # CHAR is BINARY in that schema
        too_short = width and value not in ("NULL", "") and len(value) < int(width[1])
        if (kind, value) == ("SMALLINT", "32768"):
            rows = everything if op in ("!=", "<", "<=") else []
        elif too_short:
            rows = {"=": [], "!=": everything, ">": [row for row in everything if row in rows or row in equal],
                    "<=": [row for row in rows if row not in equal]}.get(op, rows)
        assert found[title] == rows, title
