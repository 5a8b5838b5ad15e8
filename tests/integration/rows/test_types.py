"""Every column type: writes, reads and finds have the results of SQL's writes, reads and finds."""

import pymysql
import pytest

import oracle
import type_table
from hs import OK, counted, refused, reply
from server import is_mysql

pytestmark = [pytest.mark.again_in("mariadb-11.8", "mysql-9.7"), pytest.mark.sanitized("mysql")]

ENGINES = ["InnoDB"] if is_mysql() else ["InnoDB", "Aria", "MyISAM"]
IDS = [definition for definition, _ in type_table.ALL]


def write_both(sql, index, query, request, *values):
    """One write through SQL (theirs) and through the socket (ours): both accept it, or both refuse it with
    the same number. Returns whether both accepted it."""
    try:
        sql.run(query, *values)
    except pymysql.MySQLError as error:
        answer = request()
        number = 121 if error.args[0] == 1062 else error.args[0]
        assert answer == refused(1, number), (values, answer, error)
        return False
    answer = request()
    assert answer.code == 0, (values, answer)
    return True


def same_tables(sql, columns="*"):
    assert sql.rows(f"SELECT {columns} FROM ours ORDER BY id") == sql.rows(
        f"SELECT {columns} FROM theirs ORDER BY id")


def make_twins(sql, columns, options=""):
    for table in ("ours", "theirs"):
        sql.run(f"CREATE TABLE {table} (id INT PRIMARY KEY, {columns}) {options}")


def fill_twins(sql, index, values):
    """Inserts the values as rows 1, 2 ...; returns the ids of the accepted rows."""
    taken = {}
    for number, value in enumerate([*values, None], 1):
        if write_both(sql, index, "INSERT INTO theirs (id, x) VALUES (%s, %s)",
                      lambda: index.insert(number, value), number, value):  # noqa: B023
            taken[number] = value
    return taken


# Aria has no geometry.
OF_EACH_ENGINE = [pytest.param(definition, values, engine, id=f"{name}-{engine}")
                  for engine in ENGINES for (definition, values), name in zip(type_table.ALL, IDS)
                  if engine != "Aria" or not definition.startswith(type_table.UNKEYED)]


@pytest.mark.parametrize("definition,values,engine", OF_EACH_ENGINE)
@pytest.mark.bundled_wrong(8, some=True)
def test_values_in_and_out(sql, wr, rd, engine, definition, values):
    make_twins(sql, f"x {definition}{type_table.key_of(definition)}", f"ENGINE={engine}")
    index = wr("ours", "", "id,x")
    taken = fill_twins(sql, index, values)
    assert len(taken) > 1
    same_tables(sql, "id, x, HEX(x)")
    assert rd("ours", "", "id,x").rows(">=", [0], 1000) == sql.rows("SELECT id, x FROM theirs ORDER BY id")
    for number in taken:
        for value in (*values, None):
            write_both(sql, index, "UPDATE theirs SET x = %s WHERE id = %s",
                       lambda: index.update("=", [number], [number, value]), value, number)  # noqa: B023
        sql.run("DELETE FROM theirs WHERE id = %s", number)
        assert index.delete("=", [number]) == counted(1)
        same_tables(sql, "id, x, HEX(x)")
        break
    same_tables(sql, "id, x, HEX(x)")
    assert sql.rows("CHECK TABLE ours EXTENDED")[-1][-1] == b"OK"


def finds_as_sql(definition, value):
    """Whether WHERE x op 'value' gives the result that spec/handlersocket.md asks for."""
    if definition.startswith(("ENUM", "SET", "BIT", "FLOAT")):
        return ()
    if is_mysql() and definition == "TIME" and value in ("", "x"):  # SQL's answer is no order of the column.
        return ()
    if definition.startswith("TIME") and "." in str(value):  # SQL's own answer depends on its plan
        return ()
    return ("=", ">", ">=", "<", "<=")


@pytest.mark.parametrize("definition,values", [row for row in type_table.ALL if type_table.key_of(row[0])],
                         ids=[row[0] for row in type_table.ALL if type_table.key_of(row[0])])
@pytest.mark.bundled_wrong(9, some=True)
def test_lookups_by_key(sql, wr, definition, values):
    make_twins(sql, f"x {definition}{type_table.key_of(definition)}")
    index = wr("ours", "", "id,x")
    taken = fill_twins(sql, index, [value for value in values if len(value) < 20])
    found = wr("ours", "x", "id")
    for number, value in taken.items():
        stored = sql.value("SELECT x FROM theirs WHERE id = %s", number)
        equal = [int(row[0]) for row in found.rows("=", [stored], 100)]
        assert number in equal, (value, stored)
        same = sql.rows("SELECT id FROM theirs WHERE x <=> (SELECT x FROM theirs WHERE id = %s) ORDER BY id", number)
        assert [(str(one).encode(),) for one in sorted(equal)] == same, (value, stored)
        oracle.check(sql, found, "theirs", "x", value, ops=finds_as_sql(definition, value))
        assert found.find("=", [stored], 100, 0, within=(0, [stored])).rows == found.rows("=", [stored], 1)


@pytest.mark.parametrize("definition,values", [
    row for row in type_table.ALL if not row[0].startswith(type_table.UNKEYED + type_table.PREFIXED)],
    ids=lambda value: value if isinstance(value, str) else "")
@pytest.mark.bundled_wrong(9, some=True)
def test_filters_by_value(sql, wr, definition, values):
    make_twins(sql, f"x {definition}")
    taken = fill_twins(sql, wr("ours", "", "id,x"), [value for value in values if len(value) < 40])
    index = wr("ours", "", "id", "x")
    for number, value in taken.items():
        stored = sql.value("SELECT x FROM theirs WHERE id = %s", number)
        same = sql.rows("SELECT id FROM theirs WHERE x <=> (SELECT x FROM theirs WHERE id = %s) ORDER BY id", number)
        assert index.rows(">=", [0], 100, 0, filters=[("F", "=", 0, stored)]) == same, (value, stored)
        other = sql.rows("SELECT id FROM theirs WHERE NOT x <=> (SELECT x FROM theirs WHERE id = %s) ORDER BY id",
                         number)
        assert index.rows(">=", [0], 100, 0, filters=[("F", "!=", 0, stored)]) == other, (value, stored)


COUNTABLE = [row for row in type_table.ALL
             if not row[0].startswith((*type_table.UNKEYED, "JSON", "UUID", "INET", "LONG", "MEDIUMT", "MEDIUMB"))]
WHOLE_ONLY = ("DATE", "TIME", "YEAR", "ENUM", "SET")


@pytest.mark.parametrize("definition,values", COUNTABLE, ids=[row[0] for row in COUNTABLE])
@pytest.mark.bundled_wrong(21, some=True)
def test_increments_are_those_of_sql(sql, wr, definition, values):
    make_twins(sql, f"x {definition}")
    # SQL says that a TIME between 0 and 1 second cannot be assigned as a number.
    fill_twins(sql, wr("ours", "", "id,x"),
               [value for value in values if len(value) < 20 and value != "-00:00:00.000001"])
    index = wr("ours", "", "x")
    for operand in ("1", "0", "-3", "1000000", "0.5"):
        for (number,) in sql.rows("SELECT id FROM theirs ORDER BY id"):
            try:
                sql.run(f"UPDATE theirs SET x = x + {operand} WHERE id = %s", number)
                refusal = 0
            except pymysql.MySQLError as error:
                refusal = error.args[0]
            answer = index.modify("=", [number], ["+", operand])
            if answer.code and not refusal and operand == "0.5" and definition.startswith(WHOLE_ONLY):
                # the value is refused, not rounded
                sql.run("REPLACE INTO theirs SELECT * FROM ours WHERE id = %s", number)
                continue
            assert (answer.code != 0) == (refusal != 0), (number, operand, answer, refusal)
        same_tables(sql, "id, x, HEX(x)")


def test_blob_filter_is_refused_unless_null(sql, rd):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x TEXT, y BLOB, z JSON)")
    sql.run("INSERT INTO t VALUES (1, 'a', 'b', '[]'), (2, NULL, NULL, NULL)")
    index = rd("t", "", "id", "x,y,z")
    for column in (0, 1, 2):
        assert index.find(">=", [1], 9, 0, filters=[("F", "=", column, "a")]) == refused(2, "filterblob")
        assert index.rows(">=", [1], 9, 0, filters=[("F", "=", column, None)]) == [(b"2",)]
        assert index.rows(">=", [1], 9, 0, filters=[("F", "!=", column, None)]) == [(b"1",)]


@pytest.mark.mariadb("COMPRESSED columns")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.bundled_wrong(8, some=True)
def test_compressed_and_invisible_columns(sql, wr, engine):
    make_twins(sql, "c TEXT COMPRESSED, d VARBINARY(5000) COMPRESSED, e INT INVISIBLE,"
                    " f INT INVISIBLE DEFAULT 6, x INT", f"ENGINE={engine}")
    index = wr("ours", "", "id,c,d,e")
    row = (1, "é" * 2000, b"\x00\x01" * 1000, 5)
    assert index.insert(*row) == OK
    sql.run("INSERT INTO theirs (id, c, d, e) VALUES (%s, %s, %s, %s)", *row)
    columns = "id, c, d, e, f, x"
    same_tables(sql, columns)
    assert index.rows("=", [1]) == sql.rows("SELECT id, c, d, e FROM theirs")
    assert index.update("=", [1], [1, "short", None, 7]) == counted(1)
    sql.run("UPDATE theirs SET c = 'short', d = NULL, e = 7")
    same_tables(sql, columns)
    assert wr("ours", "", "e,f").rows("=", [1]) == [(b"7", b"6")]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("partitions", ["", "PARTITION BY HASH(id) PARTITIONS 3"], ids=["plain", "partitioned"])
@pytest.mark.bundled_wrong(4, some=True)
def test_row_of_many_types_at_once(sql, wr, engine, partitions):
    columns = [f"c{number} {definition.replace(' NULL', '')}" + (" NULL" if "TIMESTAMP" in definition else "")
               for number, (definition, _) in enumerate(type_table.ALL) if not definition.startswith(("JSON", *type_table.UNKEYED))]
    columns = columns[::2] + ["g INT AS (id * 2) STORED", "v INT AS (id + 1) VIRTUAL", "n INT NOT NULL DEFAULT 3"]
    make_twins(sql, ", ".join(columns), f"ENGINE={engine} {partitions}")
    names = [column.split()[0] for column in columns[:-3]]
    shown = sql.rows("SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE()"
                     " AND table_name = 'ours' ORDER BY ordinal_position")
    assert len(shown) == len(names) + 4
    index = wr("ours", "", ",".join(["id", *names]))
    assert index.insert(1) == OK
    sql.run("INSERT INTO theirs (id) VALUES (1)")
    same_tables(sql)
    everything = wr("ours", "", ",".join(name.decode() for (name,) in shown))
    assert everything.rows("=", [1]) == sql.rows("SELECT * FROM theirs")


# Foreign keys.

@pytest.mark.parametrize("action,delete_rows,update_rows", [
    ("CASCADE", [(b"2", b"2")], [(b"1", b"9"), (b"2", b"2")]),
    ("SET NULL", [(b"1", None), (b"2", b"2")], [(b"1", None), (b"2", b"2")])])
def test_foreign_key_actions(sql, wr, action, delete_rows, update_rows):
    def fill():
        for table in ("c", "p"):
            sql.run(f"DELETE FROM {table}")
        sql.run("INSERT INTO p VALUES (1), (2)")
        sql.run("INSERT INTO c VALUES (1, 1), (2, 2)")
    sql.run("CREATE TABLE p (id INT PRIMARY KEY)")
    sql.run("CREATE TABLE c (id INT PRIMARY KEY, p INT, KEY(p), FOREIGN KEY (p) REFERENCES p (id)"
            f" ON DELETE {action} ON UPDATE {action})")
    fill()
    index = wr("p", "", "id")
    assert index.delete("=", [1]) == counted(1)
    assert sql.rows("SELECT * FROM c ORDER BY id") == delete_rows
    fill()
    assert index.update("=", [1], [9]) == counted(1)
    assert sql.rows("SELECT * FROM c ORDER BY id") == update_rows


def test_foreign_key_restricts(sql, wr):
    sql.run("CREATE TABLE p (id INT PRIMARY KEY)")
    sql.run("CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id))")
    sql.run("INSERT INTO p VALUES (1), (2)")
    child, parent = wr("c", "", "id,p"), wr("p", "", "id")
    assert child.insert(1, 1) == OK and child.insert(2, None) == OK
    assert child.insert(3, 7) == refused(1, 151)
    assert child.update("=", [1], [1, 7]) == refused(1, 151)
    assert parent.delete("=", [1]) == refused(1, 152)
    assert parent.update("=", [1], [5]) == refused(1, 152)
    assert parent.delete("=", [2]) == counted(1)
    assert sql.rows("SELECT * FROM c ORDER BY id") == [(b"1", b"1"), (b"2", None)] and sql.value("SELECT * FROM p") == b"1"


@pytest.mark.bundled_wrong(5)
def test_foreign_key_cascade_reaches_an_indexed_virtual_column(sql, wr):
    sql.run("CREATE TABLE p (id INT PRIMARY KEY)")
    sql.run("CREATE TABLE c (id INT PRIMARY KEY, p INT, v INT AS (id + 100) VIRTUAL, KEY(p), KEY(v),"
            " FOREIGN KEY (p) REFERENCES p (id) ON UPDATE CASCADE ON DELETE CASCADE)")
    assert wr("p", "", "id").insert(1) == OK
    assert wr("c", "", "id,p").insert(1, 1) == OK
    assert wr("p", "", "id").update("=", [1], [9]) == counted(1)
    assert sql.rows("SELECT p, v FROM c FORCE INDEX (v) WHERE v = 101") == [(b"9", b"101")]
    assert wr("p", "", "id").delete("=", [9]) == counted(1)
    assert sql.rows("CHECK TABLE c EXTENDED")[-1][-1] == b"OK"


@pytest.mark.bundled_wrong(11, some=True)
@pytest.mark.parametrize("engine", ENGINES)
def test_auto_increment_at_the_end_of_its_range(sql, wr, engine):
    sql.run(f"CREATE TABLE t (id TINYINT UNSIGNED PRIMARY KEY AUTO_INCREMENT, x INT) ENGINE={engine}")
    index = wr("t", "", "x")
    assert wr("t", "", "id,x").insert(254, 1) == reply(0, 1, 0)
    assert index.insert(2) == reply(0, 1, 255)
    assert index.insert(3).number == (121 if is_mysql() else 167)  # As SQL: ER_DUP_ENTRY in MySQL.
    assert sql.value("SELECT COUNT(*) FROM t") == b"2"


@pytest.mark.mariadb("SQL compares a YEAR with a fraction in another way in MySQL")
@pytest.mark.parametrize("desc", ["", "DESC"])
def test_years_beside_numbers_that_no_year_is(sql, hs_rd, db, desc):
    """These numbers have a place in the order, even where the column would store 0000."""
    sql.run(f"CREATE TABLE t (id INT PRIMARY KEY, y YEAR NOT NULL, KEY ky (y {desc}))")
    sql.run("INSERT INTO t VALUES (1, 0), (2, 1901), (3, 1970), (4, 2000), (5, 2001), (6, 2155)")
    index = hs_rd.opened(db, "t", "ky", "id")
    for value in ("2200.5", "16777216.0", "1e5", "2000.5", "2000.4", "-5.5", "1850.5", "1900.7", "2155.4", "9" * 80):
        for op, turned in (("<", ">"), ("<=", ">="), (">", "<"), (">=", "<="), ("=", "=")):
            expected = sql.rows(f"SELECT id FROM t WHERE y {turned if desc else op} {value}")
            assert sorted(index.rows(op, [value], 9)) == sorted(expected), (op, value)


@pytest.mark.bundled_wrong(9)
def test_a_text_that_only_begins_with_a_time_is_equal_to_none(sql, wr):
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x TIME, KEY kx (x))")
    sql.run("INSERT INTO t VALUES (1, '00:00:05'), (2, '00:00:00'), (3, '10:11:12')")
    for text in ("5x", "0x10", "10:11:12x", "2024-02-29 10:11:12x"):
        assert wr("t", "kx", "id").rows("=", [text], 9) == [], text
        assert wr("t", "", "id", "x").rows(">=", [0], 9, 0, filters=[("F", "=", 0, text)]) == []
        assert wr("t", "kx", "id").delete("=", [text], 9) == counted(0)
    assert wr("t", "kx", "id").rows("=", ["10:11:12"], 9) == [(b"3",)]


@pytest.mark.bundled_wrong(9)
def test_a_date_with_a_time_is_equal_to_the_times_that_sql_calls_equal(sql, wr):
    """To no time in MariaDB, where it has the place of its time in the order, and to its time in MySQL."""
    sql.run("CREATE TABLE t (id INT PRIMARY KEY, x TIME, KEY kx (x))")
    sql.run("INSERT INTO t VALUES (1, '09:00:00'), (2, '10:00:00'), (3, '11:00:00')")
    found, filtered = wr("t", "kx", "id"), wr("t", "", "id", "x")
    for text in ("2024-01-01 10:00:00", *([] if is_mysql() else ["2024-01-01T10:00:00"])):  # MySQL compares the second as a text.
        oracle.check(sql, found, "t", "x", text, ops=("=", ">", ">=", "<", "<="))
        for op in ("=", "!=", ">", ">=", "<", "<="):
            expected = sql.rows(f"SELECT id FROM t WHERE x {op} '{text}' ORDER BY id")
            assert filtered.rows(">=", [0], 9, 0, filters=[("F", op, 0, text)]) == expected, (op, text)
        equal = sql.rows("SELECT id FROM t WHERE x = %s", text)
        assert found.delete("=", [text], 9) == counted(len(equal)), text
        sql.run("INSERT IGNORE INTO t VALUES (2, '10:00:00')")
