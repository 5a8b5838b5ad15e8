"""Logins that are refused: because of a wrong password, or although the password is right."""

LOGINS_FAILED_PER_SECOND = 0.5
SHOWN = 3
# Errors of an account that may not see a column, or of a column that only the other family of servers has.
NOT_TO_BE_SEEN = (1044, 1045, 1054, 1142, 1143, 1146, 1227)
# By the columns of mysql.user. The ports refuse accounts with one of the first three limits, which count SQL
# statements: the ports execute none.
LIMITS = {"max_questions": "MAX_QUERIES_PER_HOUR", "max_updates": "MAX_UPDATES_PER_HOUR",
          "max_statement_time": "MAX_STATEMENT_TIME", "max_user_connections": "MAX_USER_CONNECTIONS",
          "max_connections": "MAX_CONNECTIONS_PER_HOUR"}
# MySQL's messages in English. Those about an account that is locked, or blocked for a time, begin like that about a
# wrong password.
DENIED = "Access denied"
NOT_THE_PASSWORD = ("Account is locked", "Account is blocked")
WRONG_SECRET = ("ERRORS of ROWSOCKET_CONNECTIONS names those that send a wrong secret: an application with an old password or"
                " secret, or somebody guesses")
OF_AN_ACCOUNT = ("the error log says which for each: with MAX_QUERIES_PER_HOUR, MAX_UPDATES_PER_HOUR or MAX_STATEMENT_TIME nobody"
                 " gets in (ALTER USER ... WITH MAX_QUERIES_PER_HOUR 0; {plugin}_account_requests_per_second limits requests);"
                 " with MAX_USER_CONNECTIONS and MAX_CONNECTIONS_PER_HOUR clients have to keep their connections; otherwise the"
                 " account is locked, or its password has expired")
# MySQL counts no refusals by their reason; its error log can be asked.
MYSQL_REFUSALS = """SELECT data FROM performance_schema.error_log WHERE logged > NOW(6) - INTERVAL 30 SECOND
 AND data LIKE '%rowsocket: a login of %' ORDER BY logged DESC LIMIT 1000"""


def _rows(cursor, query):
    try:
        cursor.execute(query)
        return cursor.fetchall()
    except Exception as error:  # pylint: disable=broad-except # the driver's own classes
        if error.args and error.args[0] in NOT_TO_BE_SEEN:
            return ()
        raise


def take(cursor, reading):
    """Fills `limited` and `refusals` of a reading."""
    is_mariadb = "MariaDB" in reading.version
    columns = [name for name in LIMITS if is_mariadb or name != "max_statement_time"]
    for user, host, *limits in _rows(cursor, f"SELECT user, host, {', '.join(columns)} FROM mysql.user"
                                     f" WHERE {' + '.join(columns)} > 0"):
        has = [f"{LIMITS[name]} {float(limit):g}" for name, limit in zip(columns, limits) if float(limit) > 0]
        reading.limited.append(f"{user}@{host} ({', '.join(has)})")
    if not is_mariadb:
        reading.refusals = [str(row[0]) for row in _rows(cursor, MYSQL_REFUSALS)]


def _is_wrong_password(line):
    return DENIED in line and not any(words in line for words in NOT_THE_PASSWORD)


def _checks_secrets(look, plugin):
    """Whether the plugin checks secrets itself, without the server: only HandlerSocket does."""
    server = look.now.server
    return plugin == "handlersocket" and (server.get("handlersocket_accounts") != "ON" or bool(
        server.get("handlersocket_plain_secret") or server.get("handlersocket_plain_secret_wr")))


def _checks_accounts(look, plugin):
    return plugin != "handlersocket" or look.now.server.get("handlersocket_accounts") == "ON"


def _share_of_right_passwords(look, count):
    """How many of `count` refused logins had the right password; None: unknown, for instance because the server's
    messages are in another language."""
    if "server" in look.before.failed or "server" in look.now.failed:
        return None
    if "access_denied_errors" in look.now.server:
        return 1 - min(count, look.server_moved("access_denied_errors")) / count
    if look.now.refusals:
        is_english = look.now.server.get("lc_messages", "en").startswith("en")
        if not is_english and not any(DENIED in line for line in look.now.refusals):
            return None
        return sum(not _is_wrong_password(line) for line in look.now.refusals) / len(look.now.refusals)
    return None


def logins_often_fail(look, plugin):
    count = look.moved(plugin, "auths_failed")
    return count > 0 and count / look.seconds >= LOGINS_FAILED_PER_SECOND


def logins_fail(look):
    """A rule of trouble.py."""
    counts = {plugin: look.moved(plugin, "auths_failed") for plugin in look.now.counters}
    of_accounts = sum(count for plugin, count in counts.items() if not _checks_secrets(look, plugin))
    for plugin, count in counts.items():
        if not logins_often_fail(look, plugin):
            continue
        refused = f"{plugin} has refused {count} logins in the last {look.seconds:.0f} s"
        right = None
        if _checks_accounts(look, plugin):
            # With secrets, not every refusal is one of a password: there are at most as many wrong passwords as the
            # server has counted.
            right = _share_of_right_passwords(look, count if _checks_secrets(look, plugin) else of_accounts)
        limited = f"; accounts with limits: {', '.join(look.now.limited[:SHOWN])}" if look.now.limited else ""
        if right is None or right < 0.5:
            yield refused, f"the error log names accounts and addresses; {WRONG_SECRET}"
        elif _checks_secrets(look, plugin):
            yield (f"{refused}, and most not for an account's wrong password, but for a wrong secret, or for a limit or the state"
                   f" of their account{limited}",
                   f"{WRONG_SECRET}; of logins of accounts {OF_AN_ACCOUNT.format(plugin=plugin)}")
        else:
            yield (f"{refused}, and most not for a wrong password, but for a limit or the state of their account{limited}",
                   OF_AN_ACCOUNT.format(plugin=plugin))
