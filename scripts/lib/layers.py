"""Which folders of src may include which, which files include the server's headers, and what one family of servers has
alone: the tables that scripts/check-tree compares the code with."""
import re

# The folders of src from which a folder may include, besides itself.
MAY_INCLUDE = {
    "base": set(), "model": set(), "net": {"base"}, "protocol": set(), "protocol/handlersocket": {"base", "model"},
    "protocol/memcached": {"base", "model"}, "protocol/resp": {"base", "model"},
    "engine": {"base", "model"}, "engine/fake": {"base", "model", "engine"},
    "engine/contract": {"base", "model", "engine"}, "engine/server": {"base", "model", "engine"},
    "exec": {"base", "model", "net", "engine"}, "keyspace": {"base", "model", "engine", "exec"},
    "frontend/handlersocket": {"base", "model", "engine", "exec", "protocol/handlersocket"},
    "frontend/memcached": {"base", "model", "engine", "exec", "keyspace", "protocol/memcached"},
    "frontend/resp": {"base", "model", "engine", "exec", "keyspace", "protocol/resp"},
    "plugin": {"base", "model", "net", "engine", "engine/server", "exec", "keyspace",
               "frontend/handlersocket", "frontend/memcached", "frontend/resp"},
    "plugin/contract": {"base", "model", "engine", "engine/contract", "engine/server", "exec"},
}
# The folders from which tests of a layer may include, too.
FOR_TESTS = {"engine/contract", "engine/fake", "net", "protocol"}
SEES_SERVER = {"engine/server", "plugin", "plugin/contract"}
# The files through which all others include the server's headers.
SERVER_API = re.compile(r"src/engine/server/\w+/(api|server_headers|compat)\.h$")
# Other files that include headers of the server, which few files need, and why these are not in server_headers.h, whose
# headers are compiled once, and visible in every file.
PAST_API = {
    "src/engine/server/mariadb/galera_api.h": "they define macros of common words",
    "src/engine/server/mariadb/login_api.h": "for logins",
    "src/engine/server/mysql/cluster.cc": "group replication's alone",
    "src/engine/server/mysql/find_account.h": "the server's own view of its accounts",
    "src/engine/server/mysql/information_schema.h": "for plugins' tables",
    "src/engine/server/mysql/login_calls.cc": "for logins",
    "src/engine/server/mysql/login_vio.cc": "for logins",
    "src/engine/server/mysql/replication.cc": "a replica's state",
    "src/engine/server/mysql/server_tls.cc": "they declare the server's TLS with HAVE_OPENSSL alone",
    "src/engine/server/mysql/session_thd.cc": "the protocol of a THD, which no other file has to see",
    "src/plugin/contract/mariadb/sql_client.h": "the library of SQL's clients",
    "src/plugin/contract/mysql/sql_client.h": "the library of SQL's clients",
    "src/plugin/loader/loader.cc": "it is for all servers, and sees the interface of plugins alone",
}
# Functions that not every family has, with the reason. The files that all families share call none of them.
OF_ONE_FAMILY = {
    "mariadb": {
        "CheckRole": "privileges.cc calls it: other arguments in 11.8",
        "ColumnPrivileges": "privileges.cc calls it: other arguments in 11.8",
        "EngineOf": "commit.cc calls it: another type in 11.8",
        "FindAccount": "login_calls.cc calls it: other arguments in 11.8",
        "FlushLogs": "commit.cc calls it: InnoDB's function does something else in 11.8",
        "FollowEncryptionMode": "accessors.h itself calls it: no such variable in 10.11",
        "IsAlwaysLogged": "slow_log.cc asks it: no such variable in 10.11",
        "IsCopiedByAlter": "statement.cc asks it: no ALTER of MySQL copies a table that is written to meanwhile",
        "LongQueryTime": "slow_log.cc asks it: another name in 11.8",
        "SetExaminedRows": "slow_log.cc calls it: another name in 11.8",
        "TypelibOf": "LabelsOf calls it: a function in 11.8",
    },
    "mysql": {
        "HasLabels": "accessors.h itself calls it: MySQL says of ENUM and SET that they compare as numbers",
        "IsSameName": "table_opener.cc asks it of the names of foreign keys, and HasName of a column's",
    },
}
