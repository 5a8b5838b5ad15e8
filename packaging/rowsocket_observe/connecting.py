"""The options by which the programs reach the server, the connection, and what its errors say."""
import configparser
import os
import sys

try:
    import pymysql
except ImportError:
    pymysql = None

OPTION_FILE_GROUP = "client"
SOCKET = "/run/mysqld/mysqld.sock"
READ_TIMEOUT_S = 30
# A program that only looks must not wait for a locked table, and no statement may run on after its client has given up
# waiting. Each comment is a statement for one family of servers. The programs' statements use MySQL's usual syntax, so
# sql_mode is set: with NO_BACKSLASH_ESCAPES, for example, MySQL's LIKE has no escapes.
SESSION = ("SET SESSION lock_wait_timeout = 1, sql_mode = '' /*M!100100 , max_statement_time = {seconds} */"
           " /*!50708 , max_execution_time = {seconds}000 */")


def add_options(parser):
    parser.add_argument("--socket", help=f"UNIX socket of the server; default: that of the option file, otherwise {SOCKET}")
    parser.add_argument("--host", help="TCP instead of the UNIX socket")
    parser.add_argument("--port", type=int, help="TCP instead of the UNIX socket; default: that of the option file, otherwise 3306")
    parser.add_argument("--user", help="default: that of the option file, otherwise the user of this process")
    parser.add_argument("--defaults-file", metavar="FILE",
                        help="an option file with [client]: user, password, socket, host, port, ssl-ca; a password on the"
                        " command line could be read by everybody on this machine")


def connect(options, **kwargs):
    """A connection with autocommit. A fault of the option file, or of this machine's Python, is raised as an Error,
    too."""
    if pymysql is None:
        sys.exit("PyMySQL is missing: apt install python3-pymysql")
    over_tcp = bool(options.host or options.port) and not options.socket
    if over_tcp:
        where = {name: value for name, value in (("host", options.host), ("port", options.port)) if value}
    else:
        where = {"unix_socket": options.socket} if options.socket else {}
    if options.user:
        where["user"] = options.user
    if options.defaults_file:
        _check_option_file(options.defaults_file)
        where["read_default_file"] = options.defaults_file
        where["read_default_group"] = OPTION_FILE_GROUP
    settings = {"autocommit": True, "charset": "utf8mb4", "connect_timeout": 5, "read_timeout": READ_TIMEOUT_S, **where, **kwargs}
    settings["init_command"] = SESSION.format(seconds=settings["read_timeout"] - 1)
    try:
        connection = pymysql.connect(**settings, defer_connect=True)
        if over_tcp:  # Otherwise PyMySQL would take the option file's socket, and so another server.
            connection.unix_socket = None
        # Without a socket in options and file, PyMySQL would take TCP. A port in the option file does mean a server
        # over TCP.
        elif connection.host == "localhost" and connection.port == 3306:
            connection.unix_socket = connection.unix_socket or SOCKET
        connection.connect()
        return connection
    except configparser.Error as error:
        raise Error(f"{options.defaults_file} is no option file: {error}") from error
    except RuntimeError as error:  # PyMySQL's answer to caching_sha2_password, without TLS and the package
        raise Error(f"{error}: apt install python3-cryptography, or use the UNIX socket") from error


def _check_option_file(path):
    """Checks the file, because PyMySQL takes a missing file for an empty one."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise Error(f"--defaults-file {path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if f"[{OPTION_FILE_GROUP}]" not in text:
        raise Error(f"--defaults-file {path} has no group [{OPTION_FILE_GROUP}]")


def why(error):
    """The text of a driver's error, with what to do about it."""
    text = str(error.args[-1]) if error.args else str(error)
    if error.args and error.args[0] in (1044, 1045, 1227, 1698):
        text += "; give the account in --user or --defaults-file, and GRANT PROCESS ON *.* to it"
    elif error.args and error.args[0] in (2002, 2003):
        text += "; is the server running, and --socket or --host right?"
    elif error.args and error.args[0] == 1040:
        text += (": max_connections keeps SQL out, and says nothing of the ports; an account with CONNECTION ADMIN gets one"
                 " connection more, and extra_port (MySQL: admin_address) has places of its own")
    return text


def check_sees_all(sees_all):
    """Fails for an account that sees nothing, which would otherwise be told that nothing is wrong."""
    if not sees_all:
        raise Error(1227, "the account does not see the connections of the ports, for which it needs the privilege PROCESS")


def guarded(program, run):
    """Runs a program. An error of the server ends it with a sentence; if the reader of its output has gone, it ends
    silently."""
    try:
        done = run()
        sys.stdout.flush()
        return done
    except Error as error:
        return sys.exit(f"{program}: {why(error)}")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes it once more at its end
        return 1


Error = pymysql.MySQLError if pymysql is not None else OSError
