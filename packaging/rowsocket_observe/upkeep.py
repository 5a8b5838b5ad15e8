"""Whether the library removes what it should remove by itself: expired rows, and old tokens.

The account needs SELECT on the mapping tables and on the tables that they name; what it may not see is left out. A
table is read by an index that begins with its column of expiry, and not at all without one, because a reading must not
scan.
"""
from rowsocket_observe import replicas

LATE_S = 60  # a row that expired this many seconds ago should have gone
LATE_ROWS = 100  # fewer may stay for a reason: a foreign key refers to them, or their key has a NULL
LOOKED_AT_MAX = 1000  # rows of a table
TABLES_MAX = 100
# Errors: access is refused; there is no such schema, column or table.
NOT_TO_BE_SEEN = (1044, 1045, 1049, 1054, 1109, 1142, 1143, 1146, 1227)
STORE = "strings of RESP"
# The plugins with rows that expire, each with the plugin that its clients use.
MAPPED = (("daemon_memcached", "SELECT CONCAT('container ', name), db_schema, db_table, expire_time_column"
           " FROM innodb_memcache.containers WHERE expire_time_column NOT IN ('', '0')"),
          ("resp", "SELECT CONCAT('prefix ', CONVERT(prefix USING utf8mb4)), db_schema, db_table, expires"
           " FROM rowsocket.keyspaces WHERE kind = 'row' AND expires IS NOT NULL"),
          ("resp", f"SELECT '{STORE}', 'rowsocket', 'store', 'expires'"))
PER_SECOND = {STORE: 1000}  # of the column's units
# Both tables get the names: MariaDB opens every table of the server for a table that gets them only from a join.
INDEXED = """SELECT COUNT(*) FROM information_schema.STATISTICS s JOIN information_schema.COLUMNS c
 WHERE s.table_schema = %s AND s.table_name = %s AND s.column_name = %s AND s.seq_in_index = 1
 AND c.table_schema = %s AND c.table_name = %s AND c.column_name = %s AND c.data_type IN ('int', 'bigint', 'decimal')"""
# An account without privileges has the row USAGE.
IS_SEEN = "SELECT COUNT(*) FROM information_schema.USER_PRIVILEGES WHERE grantee = %s"
MAY_DELETE = """SELECT COUNT(*) FROM (
 SELECT grantee FROM information_schema.USER_PRIVILEGES WHERE privilege_type = 'DELETE' UNION ALL
 SELECT grantee FROM information_schema.SCHEMA_PRIVILEGES WHERE privilege_type = 'DELETE' AND %s LIKE table_schema UNION ALL
 SELECT grantee FROM information_schema.TABLE_PRIVILEGES WHERE privilege_type = 'DELETE' AND table_schema = %s AND table_name = %s
) granted WHERE grantee = %s"""
# The numbers are unsigned: their difference would be an error if a token is newer than this server's clock.
TOKENS = """SELECT CAST(UNIX_TIMESTAMP() AS SIGNED) - CAST(MIN(created) AS SIGNED),
 CAST(UNIX_TIMESTAMP() AS SIGNED) - CAST(MAX(created) AS SIGNED) FROM rowsocket.tokens"""
TOKENS_COLUMN = ("rowsocket", "tokens", "created")
# Tables without which clients of a plugin are answered errors: the table, what it is for, and the script that makes it.
NEEDED = {"daemon_memcached": ("innodb_memcache.containers", "all keys", "innodb_memcache.sql"),
          "resp": ("rowsocket.store", "strings", "rowsocket_store.sql")}
NO_SUCH_TABLE = (1049, 1146)  # nor such a schema; an account without a privilege is told that it has none


def _rows(cursor, query, arguments=None):
    """Rows; None if the account may not see them, or the server does not have them. Without arguments a % stands for
    itself, as in a name."""
    try:
        cursor.execute(query, arguments)
        return cursor.fetchall()
    except Exception as error:  # pylint: disable=broad-except # the driver's own classes
        if error.args and error.args[0] in NOT_TO_BE_SEEN:
            return None
        raise


def _is_gone(cursor, table):
    try:
        cursor.execute(f"SELECT 1 FROM {table} LIMIT 0")
        cursor.fetchall()
    except Exception as error:  # pylint: disable=broad-except # the driver's own classes
        if error.args and error.args[0] in NOT_TO_BE_SEEN:
            return error.args[0] in NO_SUCH_TABLE
        raise
    return False


def _name(text):
    return "`" + text.replace("`", "``") + "`"


def _is_indexed(cursor, *column):
    """Whether there is an indexed column of numbers with this schema, table and name."""
    return bool((_rows(cursor, INDEXED, 2 * column) or ((0,),))[0][0])


def _late_rows(cursor, plugin, title, schema, table, column):
    if not _is_indexed(cursor, schema, table, column):
        return None
    expires = _name(column)
    late = _rows(cursor, f"SELECT COUNT(*), MIN(e) FROM (SELECT {expires} AS e FROM {_name(schema)}.{_name(table)} WHERE"
                 f" {expires} <> 0 AND {expires} <= (UNIX_TIMESTAMP() - {LATE_S}) * {PER_SECOND.get(title, 1)}"
                 f" ORDER BY {expires} LIMIT {LOOKED_AT_MAX}) late")
    if not late:
        return None
    return {"title": title, "plugin": plugin, "schema": schema, "table": table, "count": int(late[0][0]), "oldest": late[0][1]}


def _grantee(account):
    """The account in a variable, as information_schema and GRANT write it: a name alone is the account for all
    hosts."""
    user, at, host = account.rpartition("@")
    return f"'{user}'@'{host}'" if at else f"'{account}'@'%'"


def _may_delete(cursor, account, schema, table):
    """Whether the account of a port itself has the privilege; roles are not considered. If not even one of its
    privileges can be seen, they are hidden, and do not count as missing."""
    grantee = _grantee(account)
    if not (_rows(cursor, IS_SEEN, (grantee,)) or ((0,),))[0][0]:
        return True
    granted = _rows(cursor, MAY_DELETE, (schema, schema, table, grantee))
    return granted is None or bool(granted[0][0])


def take(cursor, reading):
    """Fills `gone`, `expired` and `tokens_age_s` of a reading."""
    reading.gone = [table for table, _, _ in NEEDED.values() if _is_gone(cursor, table)]
    for plugin, query in MAPPED:
        for title, *mapped in (_rows(cursor, query) or ())[:TABLES_MAX]:
            late = _late_rows(cursor, plugin, title, *mapped)
            if late is None:
                continue
            # daemon_memcached's housekeeper purges RESP's keyspaces, too, but not its strings.
            is_own = title == STORE or "daemon_memcached" not in reading.counters
            late["keeper"] = plugin if is_own else "daemon_memcached"
            account = reading.server.get(f"{plugin}_user", "")
            late["may_not"] = account if title != STORE and account and late["count"] >= LATE_ROWS and not _may_delete(
                cursor, account, late["schema"], late["table"]) else ""
            reading.expired[late["title"]] = late
    if not _is_indexed(cursor, *TOKENS_COLUMN):
        reading.tokens_unindexed = bool(_rows(cursor, "SELECT 1 FROM rowsocket.tokens LIMIT 1"))
        return
    ages = _rows(cursor, TOKENS)
    if ages and ages[0][0] is not None:
        reading.tokens_age_s = tuple(int(age) for age in ages[0])


def _why_they_stay(look, late):
    keeper, table = late["keeper"], f"{late['schema']}.{late['table']}"
    if late["title"] == STORE:
        return ("transactions of SQL hold them, or the server is read only",
                "SELECT * FROM information_schema.INNODB_TRX ORDER BY trx_started: end the oldest, if it has to do with the"
                " table; SELECT @@read_only")
    if keeper not in look.now.counters:
        return f"{keeper} is not loaded, and nobody else removes them", \
            replicas.on_this_node(look, f"INSTALL PLUGIN {keeper} SONAME 'rowsocket.so'") + ": INSTALL.md"
    if look.now.limits.get(keeper, {}).get("purge_rows_per_second") == 0:
        return (f"{keeper}_purge_rows_per_second is 0",
                f"set {keeper}_purge_rows_per_second = 1000 in an option file, and start the server again, or remove them by an event"
                " of SQL")
    if late["may_not"]:
        return (f"the port's account {late['may_not']} lacks DELETE on {table} itself",
                f"GRANT DELETE ON {_name(late['schema'])}.{_name(late['table'])} TO {_grantee(late['may_not'])}; if it has DELETE"
                f" by its role, the {late['title']} is disabled, foreign keys refer to the rows, or they are locked")
    return (f"the {late['title']} is disabled, foreign keys refer to the rows, or they are locked",
            "the error log says why a container is disabled, and `stats` of memcached, too: correct its row or its table")


def expired_rows_stay(look):
    """A rule of trouble.py."""
    if look.now.replication:  # A replica gets the deletions from its source.
        return
    for title, late in look.now.expired.items():
        # A port that nobody uses may be off, in which case nothing removes its strings.
        if title == STORE and not look.moved("resp", "turns"):
            continue
        before = look.before.expired.get(title)
        if before is None or late["count"] < LATE_ROWS or late["count"] < before["count"] or late["oldest"] != before["oldest"]:
            continue
        why, mend = _why_they_stay(look, late)
        more = " or more" if late["count"] == LOOKED_AT_MAX else ""
        yield (f"the purge of expired rows of {late['schema']}.{late['table']} ({title}) stands still: {late['count']}{more} have"
               f" expired more than {LATE_S} s ago; {why}", mend)


def tokens_stay(look):
    """A rule of trouble.py. A token is removed when another one comes, so a table that gets no new tokens keeps its
    rows."""
    limits = [one["token_ttl"] for one in look.now.limits.values() if "token_ttl" in one]
    if look.now.tokens_unindexed:
        yield ("rowsocket.tokens has rows, and no index that begins with `created`, by which old ones are found and removed:"
               " it grows",
               "ALTER TABLE rowsocket.tokens ADD KEY created (created)")
    if not limits or look.now.tokens_age_s is None or look.before.tokens_age_s is None:
        return
    oldest, newest = look.now.tokens_age_s
    ttl = max(limits)
    still = oldest > look.before.tokens_age_s[0]  # The oldest token is still the same one.
    if still and oldest > 2 * ttl + LATE_S and newest <= LATE_S:
        yield (f"rowsocket.tokens grows: its oldest row is {oldest} s old, and tokens are kept for {ttl} s; new ones come, and"
               " old ones do not go",
               "is the index `created` there (rowsocket_tokens.sql), and does nothing lock the rows? DELETE FROM"
               f" rowsocket.tokens WHERE created < UNIX_TIMESTAMP() - {ttl} LIMIT 10000 removes old ones meanwhile")
