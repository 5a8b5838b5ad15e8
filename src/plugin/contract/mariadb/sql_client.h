// The client library with which tests speak SQL: Connector/C, whose functions the server does not
// have under these names. Its header does not go with the server's own mysql.h, so that a file that
// includes it includes no header of the server.
#pragma once

#include <mariadb/mysql.h>
