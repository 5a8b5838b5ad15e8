"""The options by which the programs reach the server, and the connection."""
import sys

try:
    import pymysql
except ImportError:
    pymysql = None

OPTION_FILE_GROUP = "client"


def add_options(parser):
    parser.add_argument("--socket", help="UNIX socket of the server; default /run/mysqld/mysqld.sock")
    parser.add_argument("--host", help="TCP instead of the UNIX socket")
    parser.add_argument("--port", type=int, default=3306)
    parser.add_argument("--user", help="default: that of the option file, else the user of this process")
    parser.add_argument("--defaults-file", metavar="FILE",
                        help="an option file with [client]: user, password, socket, host, ssl-ca; a password on the"
                        " command line could be read by everybody on this machine")


def connect(options, **kwargs):
    """A connection with autocommit. Errors end the program, with what to do."""
    if pymysql is None:
        sys.exit("PyMySQL is missing: apt install python3-pymysql")
    where = {"host": options.host, "port": options.port} if options.host else {}
    if options.socket or not (options.host or options.defaults_file):
        where = {"unix_socket": options.socket or "/run/mysqld/mysqld.sock"}
    if options.user:
        where["user"] = options.user
    if options.defaults_file:
        where["read_default_file"] = options.defaults_file
        where["read_default_group"] = OPTION_FILE_GROUP
    return pymysql.connect(autocommit=True, charset="utf8mb4", connect_timeout=5, read_timeout=30, **where, **kwargs)


def why(error):
    """The text of an error of the driver, with what to do about it."""
    text = str(error.args[-1]) if error.args else str(error)
    if error.args and error.args[0] in (1044, 1045, 1698):
        text += "; give the account in --user or --defaults-file, and GRANT PROCESS ON *.* to it"
    elif error.args and error.args[0] in (2002, 2003):
        text += "; is the server running, and --socket or --host right?"
    return text


Error = pymysql.MySQLError if pymysql is not None else OSError
