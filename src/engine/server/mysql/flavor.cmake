# What the build has to know of MySQL. Included by src/CMakeLists.txt.

set(server_flavor_sources
  account_text.cc cluster.cc commit.cc foreign_keys.cc hash_key.cc login_calls.cc login_vio.cc new_row_rules.cc partition_merge.cc
  plugin_handle.cc
  privileges.cc replication.cc
  server_log.cc server_tls.cc session_thd.cc slow_log.cc statement.cc table_audit.cc table_locks.cc table_opener.cc times.cc wait_hook.cc)

set(server_flavor_openssl_sources server_tls.cc)
set(server_flavor_own_targets)

# The headers use C++23, and their class layouts depend on these macros.
set(server_flavor_standard 23)
set(server_flavor_definitions
  MYSQL_DYNAMIC_PLUGIN MYSQL_SERVER NDEBUG HAVE_TLSv13 RAPIDJSON_HAS_STDSTRING=1
  RAPIDJSON_NO_SIZETYPEDEFINE RAPIDJSON_SCHEMA_USE_INTERNALREGEX=0 RAPIDJSON_SCHEMA_USE_STDREGEX=1
  _FILE_OFFSET_BITS=64 _GNU_SOURCE _USE_MATH_DEFINES __STDC_FORMAT_MACROS __STDC_LIMIT_MACROS)
file(GLOB unordered_dense_dirs ${ROWSOCKET_SERVER_SOURCE}/extra/unordered_dense/*/include)
set(server_flavor_includes
  ${ROWSOCKET_SERVER_BUILD} ${ROWSOCKET_SERVER_BUILD}/include
  ${ROWSOCKET_SERVER_SOURCE} ${ROWSOCKET_SERVER_SOURCE}/include ${ROWSOCKET_SERVER_SOURCE}/libs
  ${ROWSOCKET_SERVER_SOURCE}/extra/rapidjson/include
  ${unordered_dense_dirs})
# What the compiler reads once for all files.
set(server_flavor_precompiled ${CMAKE_CURRENT_LIST_DIR}/server_headers.h)
set(server_flavor_not_precompiled)
set(server_flavor_version_file ${ROWSOCKET_SERVER_SOURCE}/MYSQL_VERSION)

# The pointers to the server's services.
set(server_flavor_libraries ${ROWSOCKET_SERVER_BUILD}/libmysqlservices.a)
# A server thread may be inside a function of the library while the library is uninstalled
# (wait_hook.h), so that the code stays in memory.
set(server_flavor_link_options -Wl,-z,now -Wl,-z,nodelete)
set(server_flavor_exports ${CMAKE_CURRENT_LIST_DIR}/exports.map)
set(server_flavor_plugin_dir /usr/lib/mysql/plugin)
set(server_flavor_config_dir /etc/mysql/mysql.conf.d)
# Prints a file of packaging with MySQL's names.
set(server_flavor_renames ${PROJECT_SOURCE_DIR}/packaging/for-mysql)
set(server_flavor_has_loader OFF)
