// The client library with which tests speak SQL: the server has its functions, for replication.
#pragma once

#include "mysql.h"
