"""The tables of the benchmark. They are made once, by SQL, in a data directory that stays in the cache folder
and is copied for each server.

Every cell follows from its row's number, so that the load generator can check every reply:
  user(user_id, user_name 'user <id>', user_email 'user<id>@example.com',
            created '2010-02-03 11:22:33')
  member    the same rows, with an index on user_name
  account   the same rows, for updates      sink   without rows, for inserts
  stock     a number to take from           wide   50 columns c0 ... c49, 'c<number>-<id>'
"""

import fcntl
import hashlib
import pathlib
import random
import shutil
import subprocess

from .machine import REPOSITORY, cache_dir, is_mysql, server_link

WIDE_COLUMNS = 50
WIDE_ROWS_MAX = 100_000
STOCK_ROWS = 10_000
WARM_KEYS = 1_000
MARK_LENGTH = 12
WARM_STATEMENTS = 300
HS_WRITES = ("hs-update", "hs-insert", "hs-decrement", "hs-purchase", "hs-mixed")

# The account whose rights the ports have in the variant "account" of systems.py.
ACCOUNT = "bench@localhost"

USER_COLUMNS = ("user_id INT UNSIGNED NOT NULL PRIMARY KEY, user_name VARCHAR(50),"
                " user_email VARCHAR(255), created DATETIME")
USER_CELLS = ("seq, CONCAT('user ', seq), CONCAT('user', seq, '@example.com'),"
              " '2010-02-03 11:22:33'")
# The tables as the memcached protocol sees them: keys of the table `user` need no prefix; keys of `account`
# begin with @@a. and may be set; keys of `stock` begin with @@s.
MAPPED = (("default", "user", "user_id", "user_name,user_email,created"),
          ("a", "account", "user_id", "user_name,user_email,created"),
          ("s", "stock", "id", "stock"))
CONTAINERS = "REPLACE INTO innodb_memcache.containers (name, db_schema, db_table, key_columns," \
    " value_columns, flags, cas_column, expire_time_column, unique_idx_name_on_key) VALUES" \
    + ", ".join(f"('{name}', 'test', '{table}', '{key}', '{values}', '0', '0', '0', 'PRIMARY')"
                for name, table, key, values in MAPPED)


# The table of a purchase's orders, and the purchase as a procedure; each server makes them at its start. CALL reports a
# number of rows other than 0 if the purchase is committed: MySQL reports that of the last statement only.
SHOP = ("CREATE TABLE orders (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, user INT, item INT, token VARBINARY(64),"
        " at TIMESTAMP(3) DEFAULT CURRENT_TIMESTAMP(3), UNIQUE KEY (token), KEY (user, id)) ENGINE=InnoDB",
        "CREATE PROCEDURE purchase(who INT, what INT, name VARBINARY(64)) BEGIN DECLARE taken INT; START TRANSACTION;"
        " UPDATE stock SET stock = stock - 1 WHERE id = what AND stock > 3; IF ROW_COUNT() = 1 THEN"
        " INSERT INTO orders (user, item, token) VALUES (who, what, name); COMMIT; SELECT 1 INTO taken;"
        " ELSE ROLLBACK; END IF; END")
TOKENS, STORE = REPOSITORY / "packaging/rowsocket_tokens.sql", REPOSITORY / "packaging/rowsocket_store.sql"
# Keys of RESP that begin with a prefix are the items of a container: those of redis_servers.TEXT_KEY and SET_KEY.
KEYSPACES = "REPLACE INTO rowsocket.keyspaces (prefix, kind, container) VALUES" \
    " ('u/', 'value', 'default'), ('a/', 'value', 'a')"


def script(path):
    """The statements of a script of packaging."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("--")]
    return [text for text in "\n".join(lines).split(";") if text.strip()]


# MySQL's data directory has only root@localhost, but the load generator connects by TCP.
MYSQL_FIRST = ("SET cte_max_recursion_depth = 100000000", "CREATE USER root@'127.0.0.1'",
               "GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION")


def numbers(last):
    """A table with the column `seq`, 1 to `last`."""
    if is_mysql():
        return f"(WITH RECURSIVE n (seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n WHERE seq < {last})" \
            " SELECT seq FROM n) AS numbers"
    return f"seq_1_to_{last}"


def user_like(name, rows, index=""):
    made = [f"CREATE TABLE {name} ({USER_COLUMNS}{index}) ENGINE=InnoDB"]
    if rows:
        made.append(f"INSERT INTO {name} SELECT {USER_CELLS} FROM {numbers(rows)}")
    return made


def wide(name, columns, rows):
    names = ", ".join(f"c{number} VARCHAR(40)" for number in range(columns))
    cells = ", ".join(f"CONCAT('c{number}-', seq)" for number in range(columns))
    return [f"CREATE TABLE {name} (id INT UNSIGNED NOT NULL PRIMARY KEY, {names}) ENGINE=InnoDB",
            f"INSERT INTO {name} SELECT seq, {cells} FROM {numbers(rows)}"]


def values(size, rows):
    kind = f"VARCHAR({size})" if size <= 10_000 else "LONGTEXT"
    return [f"CREATE TABLE value_{size} (id INT UNSIGNED NOT NULL PRIMARY KEY, value {kind})"
            " ENGINE=InnoDB CHARACTER SET latin1",
            f"INSERT INTO value_{size} SELECT seq, REPEAT('x', {size}) FROM {numbers(rows)}"]


def statements(plan):
    """The SQL statements that make the tables of a plan."""
    rows = plan.rows
    made = [*MYSQL_FIRST] if is_mysql() else []
    made += ["CREATE DATABASE IF NOT EXISTS test", "USE test",
            *user_like("user", rows), *user_like("member", rows, ", KEY by_name (user_name)"),
            *wide("wide", WIDE_COLUMNS, min(rows, WIDE_ROWS_MAX)),
            *user_like("account", rows), *user_like("sink", 0),
            "CREATE TABLE stock (id INT UNSIGNED NOT NULL PRIMARY KEY, stock BIGINT NOT NULL)"
            " ENGINE=InnoDB",
            f"INSERT INTO stock SELECT seq, 500000 FROM {numbers(STOCK_ROWS)}",
            f"CREATE USER {ACCOUNT} ACCOUNT LOCK",
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON test.* TO {ACCOUNT}"]
    for count in plan.size_rows:
        made += user_like(f"user_{count}", count)
    if plan.size_rows:
        made += wide("wide64", 64, min(rows, 20_000))
        for size in plan.size_values:
            made += values(size, value_rows(size))
    return made


def value_rows(size):
    """The number of rows with which a table of large values still fits into the buffer pool."""
    return max(32, min(100_000, 64_000_000 // size))


def cached_directory(plan):
    recipe = "\n".join(statements(plan)) + (server_link() / "env").read_text()
    mark = hashlib.sha256(recipe.encode()).hexdigest()[:MARK_LENGTH]
    return cache_dir() / "bench-data" / f"{data_kind(plan)}-{mark}"


def data_kind(plan):
    """The kind of the tables, which replace older tables of the same kind: each line of MariaDB has a kind of its
    own."""
    return f"{server_link().name}-{plan.rows}" + ("-sizes" if plan.size_rows else "")


def _make(directory, plan):
    work = directory.with_name(directory.name + ".partial")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    server = [REPOSITORY / "scripts/server"]

    def call(*command, **more):
        done = subprocess.run([*server, *command], capture_output=True, text=True, check=False,
                              timeout=1800, **more)
        if done.returncode != 0:
            raise OSError(f"the tables cannot be made: {(done.stderr or done.stdout)[-500:]}")

    try:
        call("start", work, "--plugin", "none", "--",
             f"--innodb-buffer-pool-size={plan.buffer_pool()}",
             "--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0",
             stdin=subprocess.DEVNULL)
        call("sql", work, input=";\n".join(
            [*statements(plan), "ANALYZE TABLE user, member, account, wide",
             "SET GLOBAL innodb_fast_shutdown = 0"]))
        call("stop", work, stdin=subprocess.DEVNULL)
    except BaseException:
        subprocess.run([*server, "kill", work], capture_output=True, check=False)
        raise
    (work / "data").rename(directory)
    shutil.rmtree(work)


def prepare(plan, say):
    """The data directory of the plan's tables, made if it does not exist; one run at a time."""
    directory = cached_directory(plan)
    directory.parent.mkdir(parents=True, exist_ok=True)
    with (directory.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not directory.exists():
            say(f"making the tables, {plan.rows:,} rows each (once; kept in {directory}) ...")
            # Removes directories of older versions of the benchmark, which would never be used again.
            for old in directory.parent.glob(f"{data_kind(plan)}-" + "?" * MARK_LENGTH):
                shutil.rmtree(old)
            _make(directory, plan)
    return directory


def copy_into(directory, plan):
    """Gives a new server its copy. At start the server makes a new redo log, of the size in its options."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    directory.chmod(0o755)
    subprocess.run(["cp", "-R", "--reflink=auto", "--no-preserve=ownership",
                    plan.data_directory, directory / "data"], check=True)


def table_bytes(plan, table):
    return (pathlib.Path(plan.data_directory) / "test" / f"{table}.ibd").stat().st_size


def warm(server, plan):
    """Reads all pages once, then enough single rows to bring them into the adaptive hash index."""
    for table in ("user", "member", "wide", "account"):
        server.run(f"SELECT COUNT({'c0' if table == 'wide' else 'user_email'}) FROM {table}")
    choose = random.Random(1)
    for table in ("user", "account"):
        for _ in range(max(1, min(WARM_STATEMENTS, plan.rows // 100))):
            keys = ",".join(str(choose.randint(1, plan.rows)) for _ in range(WARM_KEYS))
            server.run(f"SELECT COUNT(user_email) FROM {table} WHERE user_id IN ({keys})")
