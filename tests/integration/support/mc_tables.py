"""Containers of the tests' own, and the content of the mapping tables."""

import contextlib

import mc
from server import wait_until

COLUMNS = ("name", "db_schema", "db_table", "key_columns", "value_columns", "flags", "cas_column",
           "expire_time_column", "unique_idx_name_on_key")

# The columns, which the demo container has, too.
WHOLE = ("k VARBINARY(250) PRIMARY KEY, v MEDIUMBLOB, f INT UNSIGNED NOT NULL DEFAULT 0,"
         " c DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),"
         " e BIGINT NOT NULL DEFAULT 0")


def definition(sql, name="default"):
    """A row of innodb_memcache.containers, as text by column."""
    row = sql.row(f"SELECT {', '.join(COLUMNS)} FROM innodb_memcache.containers WHERE name = %s", name)
    return {column: cell.decode() if cell else "" for column, cell in zip(COLUMNS, row)}


class Container:
    """One container with a table of its own. Values by `value` and so on go through SQL."""

    def __init__(self, server, db, name, columns=WHOLE, key="k", value="v", flags="f", token="c",
                 expiry="e", index="PRIMARY"):
        self.server, self.name, self.table = server, name, f"{db}.{name}"
        self.sql = server.sql(db)
        self.sql.run(f"CREATE TABLE {name} ({columns}) ENGINE=InnoDB")
        self.map(key_columns=key, value_columns=value, flags=flags, cas_column=token,
                 expire_time_column=expiry, unique_idx_name_on_key=index, db_schema=db, db_table=name)

    @classmethod
    def of(cls, server, table, key, value, index="PRIMARY"):
        """Makes a container of an existing table."""
        db, name = table.split(".")
        container = cls.__new__(cls)
        container.server, container.name, container.table = server, name, table
        container.sql = server.sql(db)
        container.map(key_columns=key, value_columns=value, flags="0", cas_column="0", expire_time_column="0",
                      unique_idx_name_on_key=index, db_schema=db, db_table=name)
        return container

    def map(self, **values):
        names = ", ".join(values)
        self.sql.run(f"REPLACE INTO innodb_memcache.containers (name, {names}) VALUES (%s"
                     + ", %s" * len(values) + ")", self.name, *values.values())

    def ready(self, client=None):
        """Waits until the library has seen the container. Returns the client."""
        client = client or mc.connect(self.server)
        wait_until(lambda: client.command(f"mg @@{self.name}.?") == b"EN", 10, f"container {self.name}")
        return client

    def at(self, key):
        """A key of this container."""
        return b"@@%s.%s" % (self.name.encode(), mc.as_bytes(key))

    def row(self, key, columns="v"):
        """The cells of the row of a key, or None."""
        rows = self.sql.rows(f"SELECT {columns} FROM {self.table} WHERE k = %s", mc.as_bytes(key))
        assert len(rows) < 2
        return rows[0] if rows else None

    def drop(self):
        with contextlib.suppress(Exception):
            self.sql.run("DELETE FROM innodb_memcache.containers WHERE name = %s", self.name)
