// information_schema.ROWSOCKET_TABLE_STATISTICS and ROWSOCKET_USER_STATISTICS: what the ports have
// done for each index of a table, and for each account, since their plugin's start.
//
// Threads: any session's.
// Errors: a user without the privilege PROCESS sees no row.
#pragma once

#include "declare.h"

namespace rowsocket::plugin {

class Daemon;

/// The declarations of the tables. `daemons` ends with a null pointer, and is static.
PluginDeclaration TableStatistics(Daemon* const* daemons);
PluginDeclaration UserStatistics(Daemon* const* daemons);

}  // namespace rowsocket::plugin
