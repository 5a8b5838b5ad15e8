# What the build has to know of MySQL. Included by src/CMakeLists.txt.

# Besides those of the contracts, which each family has (engine/server/CMakeLists.txt).
set(server_family_sources cascades.cc plugin_handle.cc wait_hook.cc)

set(server_family_openssl_sources server_tls.cc)
set(server_family_own_targets)

# The headers use C++23, and their class layouts depend on these macros.
set(server_family_standard 23)
set(server_family_definitions
  MYSQL_DYNAMIC_PLUGIN MYSQL_SERVER NDEBUG HAVE_TLSv13 RAPIDJSON_HAS_STDSTRING=1
  RAPIDJSON_NO_SIZETYPEDEFINE RAPIDJSON_SCHEMA_USE_INTERNALREGEX=0 RAPIDJSON_SCHEMA_USE_STDREGEX=1
  _FILE_OFFSET_BITS=64 _GNU_SOURCE _USE_MATH_DEFINES __STDC_FORMAT_MACROS __STDC_LIMIT_MACROS)
file(GLOB unordered_dense_dirs ${ROWSOCKET_SERVER_SOURCE}/extra/unordered_dense/*/include)
set(server_family_includes
  ${ROWSOCKET_SERVER_BUILD} ${ROWSOCKET_SERVER_BUILD}/include
  ${ROWSOCKET_SERVER_SOURCE} ${ROWSOCKET_SERVER_SOURCE}/include ${ROWSOCKET_SERVER_SOURCE}/libs
  ${ROWSOCKET_SERVER_SOURCE}/extra/rapidjson/include
  ${unordered_dense_dirs})
# What the compiler reads once for all files.
set(server_family_precompiled ${CMAKE_CURRENT_LIST_DIR}/server_headers.h)
set(server_family_not_precompiled)
set(server_family_version_file ${ROWSOCKET_SERVER_SOURCE}/MYSQL_VERSION)

# The pointers to the server's services.
set(server_family_libraries ${ROWSOCKET_SERVER_BUILD}/libmysqlservices.a)
# A server thread may be inside a function of the library while the library is uninstalled
# (wait_hook.h), so that the code stays in memory.
set(server_family_link_options -Wl,-z,now -Wl,-z,nodelete)
set(server_family_exports ${CMAKE_CURRENT_LIST_DIR}/exports.map)
set(server_family_plugin_dir /usr/lib/mysql/plugin)
set(server_family_config_dir /etc/mysql/mysql.conf.d)
# Prints a file of packaging with MySQL's names.
set(server_family_renames ${PROJECT_SOURCE_DIR}/packaging/for-mysql)
set(server_family_has_loader OFF)
