# The client library of the suite's SQL connections.
find_library(MARIADB_LIBRARY mariadb REQUIRED)
set(contract_client_libraries ${MARIADB_LIBRARY})
