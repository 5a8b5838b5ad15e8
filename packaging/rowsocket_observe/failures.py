"""Requests that are answered with an error: how many, which error, at which table, and what to do about it."""
from rowsocket_observe import accounts, rates, upkeep

FAILING_SHARE = 0.5  # of the requests over a plugin
FAILING_PER_SECOND = 1  # requests over a plugin: fewer are no trouble, whatever their share
FAILING_MIN = 10  # requests for a table, between the readings
NEARLY_ALL = 0.9  # of the requests for a table
REFUSED_PER_SECOND = 1  # requests that get one and the same error

# What to do about errors of requests, by the name of the error's counter. Each cause of spec/errors.tsv that has a
# counter is here, in CLIENTS_ERRORS or in USUAL_ERRORS.
ERRORS = {
    "errors_denied": "an account may not do what its client asks: GRANT it, or give the client another account",
    "errors_unauth": "clients send a wrong secret or password: put the right one where they read it",
    "errors_account_rate": "an account sends more requests than its limit: raise *_account_requests_per_second, or send fewer",
    "errors_lock_tables": "tables are locked (FLUSH TABLES WITH READ LOCK, LOCK TABLES, DDL) or the server is read_only",
    "errors_readonly": "clients write to the port that only reads: give them the port of writes",
    "errors_open_table": "clients ask for tables that do not exist",
    "errors_fld": "clients ask for columns that do not exist: usually the table has been changed",
    "errors_idxnum": "clients ask for an index that does not exist: usually the table has been changed",
    "errors_offline": "the server's offline_mode is ON: SET GLOBAL offline_mode = OFF serves requests again",
    "errors_needtls": "clients speak without TLS where it is required: let them use TLS, or change *_ssl",
    "errors_galera": "the cluster does not replicate the table's engine, or wsrep_on is OFF: CLUSTERS.md",
    "errors_resultsize": "replies are larger than *_reply_max_bytes: ask for less at a time, or raise it",
    "errors_token_table": "the table rowsocket.tokens is not there, or not as it should be: mariadb (MySQL: mysql) <"
                          " /usr/share/rowsocket/rowsocket_tokens.sql makes it",
    "errors_trigger": "the table has a trigger for what clients do: DROP TRIGGER, or let them write the table through SQL",
    "errors_versioned": "the table is system-versioned: let clients write it through SQL, or ALTER TABLE ... DROP SYSTEM"
                        " VERSIONING",
    "errors_unserved": "the library does not do this in this server: let clients use SQL for it (MYSQL.md)",
    "errors_unavailable": "H says so where the server does not take the finds or writes that it asks about, as it should where the"
                          " server is read_only; otherwise a replica is behind, or has stopped: SHOW REPLICA STATUS",
    "errors_killed": "somebody, or a program that ends statements (pt-kill), uses KILL on the library's threads: let it leave out"
                     " the users handlersocket, memcached and resp of SHOW PROCESSLIST",
}
# Of the errors above, those that requests get for one table or one of its indexes.
OF_A_TABLE = ("errors_lock_tables", "errors_fld", "errors_idxnum", "errors_galera", "errors_resultsize", "errors_trigger",
              "errors_versioned", "errors_unserved", "errors_denied", "errors_open_table")
# Those that requests get for what their account may do.
OF_AN_ACCOUNT = ("errors_denied", "errors_account_rate")
# What a client's own request causes, whatever the server and its tables are.
CLIENTS_ERRORS = (
    "errors_cmd", "errors_line_length", "errors_authtype", "errors_view", "errors_sequence", "errors_system_table",
    "errors_table_engine", "errors_stmtnum", "errors_number", "errors_invalueslen", "errors_filtertype", "errors_filterfld",
    "errors_op", "errors_klen", "errors_values_count", "errors_modop", "errors_token", "errors_client_name", "errors_kpnum",
    "errors_filterblob", "errors_notimpl", "errors_indexop", "errors_charset", "errors_token_differs", "errors_group")
# Errors that every application meets in normal work: a key that exists already, a guard that does not hold.
USUAL_ERRORS = ("errors_engine",)
OTHER_ERROR = "clients send what this port, or the table, does not take: the list of errors says when (spec/handlersocket.md)"


def _is_on(look, name):
    return str(look.now.server.get(name, "OFF")).upper() not in ("OFF", "0", "")


def _takes_no_writes(look):
    """What to do if the server takes no writes; empty if it takes them."""
    on = [name for name in ("read_only", "super_read_only", "innodb_read_only") if _is_on(look, name)]
    return f"the server takes no writes: {', '.join(on)} is ON" if on else ""


def _refusals(look, plugin):
    """(counter, count) of each error that requests get so often that a sentence of its own tells it."""
    for name in [*ERRORS, *sorted(name for name in look.now.counters[plugin] if name.startswith("errors_") and name not in ERRORS)]:
        count = look.moved(plugin, name)
        # Why logins fail is told by a rule of its own, and may be another reason than a wrong password.
        is_told = name == "errors_unauth" and accounts.logins_often_fail(look, plugin)
        if count / look.seconds >= REFUSED_PER_SECOND and name not in USUAL_ERRORS and not is_told:
            yield name, count


def requests_fail(look):
    for plugin in look.now.counters:
        for name, count in _refusals(look, plugin):
            where = _most_errors_at(look, plugin, rates.index_of, count / 2) if name in OF_A_TABLE else ""
            if name in OF_AN_ACCOUNT:
                where += _most_errors_of(look, plugin, count / 2)
            yield (f"{count} requests over {plugin} were answered {name[len('errors_'):]} in the last {look.seconds:.0f} s{where}",
                   (_takes_no_writes(look) if name == "errors_lock_tables" else "") or ERRORS.get(name, OTHER_ERROR))


def engines_fail(look):
    for plugin in look.now.counters:
        count = look.moved(plugin, "engine_failures")
        if count:
            yield (f"{count} requests over {plugin} failed in the last {look.seconds:.0f} s whatever their row"
                   f" was{_most_errors_at(look, plugin, table_of)}: the table or the disk is full, AUTO_INCREMENT is used up, or"
                   " a table is damaged",
                   "the answer's number says which (`perror NUMBER`, 167: AUTO_INCREMENT); df -h; the error log; SHOW TABLE"
                   " STATUS has Auto_increment: ALTER TABLE ... MODIFY makes the column wider; CHECK TABLE")


def table_of(row):
    """A row of ROWSOCKET_TABLE_STATISTICS."""
    return f"{row['table_schema']}.{row['table_name']}"


def errors_by(look, plugin, name_of):
    """{name: (requests, errors)} between the readings, by the names that name_of gives to tables or indexes."""
    counts = {}
    for sign, rows in ((-1, look.before.tables), (1, look.now.tables)):
        for row in rows:
            if row["plugin"] == plugin:
                requests, errors = counts.get(name_of(row), (0, 0))
                counts[name_of(row)] = (requests + sign * int(row.get("requests", 0)), errors + sign * int(row["errors"]))
    return counts


def _most_errors_at(look, plugin, name_of, least=1):
    """For a sentence; empty where no table or index has so many errors, as where the requests name no table that is there."""
    counts = {name: errors for name, (_, errors) in errors_by(look, plugin, name_of).items()}
    most = max(counts, key=counts.get, default=None)
    return f", at {most}" if most is not None and counts[most] >= max(1, least) else ""


def _clients_errors(look, plugin):
    """(row, requests, errors) of each client between the readings, of which they are known."""
    old = {(row["plugin"], row["id"]): row for row in look.before.clients if row["state"] != rates.UNKNOWN_STATE}
    for row in look.now.clients:
        was = old.get((row["plugin"], row["id"]))
        if row["plugin"] != plugin or row["state"] == rates.UNKNOWN_STATE or (
                was is None and int(row["age_ms"]) > 1000 * look.seconds):  # Nobody knows what of it is new.
            continue
        was = was or {"requests": 0, "errors": 0}
        yield row, int(row["requests"]) - int(was["requests"]), int(row["errors"]) - int(was["errors"])


def _most_errors_of(look, plugin, least):
    """For a sentence: the account whose clients have got most errors; empty where no account has so many."""
    counts = {}
    for row, _, errors in _clients_errors(look, plugin):
        if row["account"]:
            counts[row["account"]] = counts.get(row["account"], 0) + errors
    most = max(counts, key=counts.get, default=None)
    return f", most of account {most}" if most is not None and counts[most] >= max(1, least) else ""


def _client_of_most_errors(look, plugin):
    """For a sentence; empty: none is known."""
    most = max(((errors, rates.who(row)) for row, _, errors in _clients_errors(look, plugin)), default=(0, ""))
    return f"; most by {most[1]}" if most[0] > 0 else ""


def most_requests_fail(look):
    """Over ports whose errors have no counters of their own."""
    for plugin in look.now.counters:
        if plugin == "handlersocket":
            continue
        told = sum(count for _, count in _refusals(look, plugin))
        asked = failed = 0
        for _, requests, errors in _clients_errors(look, plugin):
            asked += requests
            failed += errors
        # Requests in `told` have a sentence of their own. Clients' errors and counters are read one after the other.
        others = failed - told
        if others / look.seconds >= FAILING_PER_SECOND and others >= FAILING_SHARE * max(asked - told, asked / 2):
            yield (f"{others} of {asked} requests over {plugin} were answered with an error in the last {look.seconds:.0f} s"
                   f"{_most_errors_at(look, plugin, table_of)}{_client_of_most_errors(look, plugin)}",
                   _table_is_gone(look, plugin)
                   + ((ERRORS["errors_offline"] if _is_on(look, "offline_mode") else _takes_no_writes(look))
                      or "the answer itself says what is wrong: ask as this client does"))


def _table_is_gone(look, plugin):
    """For the beginning of what to do. RESP serves rows without its table, and no strings."""
    table, serves, script = upkeep.NEEDED[plugin]
    if table not in look.now.gone:
        return ""
    return (f"the table {table}, by which {serves} are served, is not there: mariadb (MySQL: mysql) < /usr/share/rowsocket/{script}"
            " makes it; otherwise ")


def requests_for_a_table_fail(look):
    """Over HandlerSocket, where an engine's error is a usual answer as well: nearly all requests for one table have one. Those
    of rows that are there already, as any application meets them, do not count, nor those that engines_fail tells."""
    plugin = "handlersocket"
    if "duplicates" not in look.now.counters.get(plugin, {}):  # It is not loaded, or is an older library.
        return
    failed = look.moved(plugin, "errors_engine") - look.moved(plugin, "duplicates") - look.moved(plugin, "engine_failures")
    least = max(FAILING_MIN, FAILING_PER_SECOND * look.seconds)
    # Rows that are there already are not counted by table: a table with many more errors than others can have is one of theirs.
    tables = [(errors, asked, name) for name, (asked, errors) in errors_by(look, plugin, table_of).items()
              if errors >= max(NEARLY_ALL * asked, least) and failed >= FAILING_SHARE * errors]
    for errors, asked, name in sorted(tables, reverse=True):
        yield (f"{errors} of {asked} requests over {plugin} for {name} were answered with an engine's error in the last"
               f" {look.seconds:.0f} s{_client_of_most_errors(look, plugin)}",
               "the answer's number says what is wrong (`perror NUMBER`), usually values that a column does not take: 1264 is out"
               " of its range, 1048 a NULL, 1366 bytes that are not of its character set")
