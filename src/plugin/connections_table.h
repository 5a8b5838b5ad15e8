// information_schema.ROWSOCKET_CONNECTIONS: the connections of all ports of the three plugins.
//
// Threads: any session's.
// Errors: a user without the privilege PROCESS sees no row, as in the process list.
#pragma once

#include "declare.h"

namespace rowsocket::plugin {

class Daemon;

/// The declaration of the table. `daemons` ends with a null pointer, and is static.
PluginDeclaration ConnectionsTable(Daemon* const* daemons);

}  // namespace rowsocket::plugin
