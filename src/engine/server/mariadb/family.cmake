# What the build has to know of MariaDB. Included by src/CMakeLists.txt.

# Besides those of the contracts, which each family has (engine/server/CMakeLists.txt).
set(server_family_sources local_sql.cc services.cc)

# Another macro than the server was built with would change its class layouts silently.
set(server_family_standard 20)
set(server_family_definitions
  HAVE_CONFIG_H HAVE_OPENSSL MYSQL_DYNAMIC_PLUGIN MYSQL_SERVER DBUG_OFF NDEBUG _FILE_OFFSET_BITS=64)
set(server_family_includes
  ${ROWSOCKET_SERVER_BUILD}/include ${ROWSOCKET_SERVER_BUILD}/sql
  ${ROWSOCKET_SERVER_SOURCE}/include ${ROWSOCKET_SERVER_SOURCE}/sql
  ${ROWSOCKET_SERVER_SOURCE}/include/providers
  ${ROWSOCKET_SERVER_SOURCE}/wsrep-lib/include
  ${ROWSOCKET_SERVER_SOURCE}/wsrep-lib/wsrep-API/v26)
# What the compiler reads once for all files.
set(server_family_precompiled ${CMAKE_CURRENT_LIST_DIR}/server_headers.h)
# Its headers are to declare other things than those of all other files.
set(server_family_not_precompiled services.cc)
set(server_family_version_file ${ROWSOCKET_SERVER_SOURCE}/VERSION)

set(server_family_openssl_sources)
include(${CMAKE_CURRENT_LIST_DIR}/ed25519.cmake)
set(server_family_own_targets rowsocket_ed25519)
set(server_family_libraries)
set(server_family_link_options)
set(server_family_exports ${CMAKE_CURRENT_LIST_DIR}/exports.map)
set(server_family_plugin_dir /usr/lib/mysql/plugin)
set(server_family_config_dir /etc/mysql/mariadb.conf.d)
# The files of packaging have MariaDB's names.
set(server_family_renames)
set(server_family_has_loader ON)
