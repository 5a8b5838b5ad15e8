// information_schema.ROWSOCKET_HOT_ROWS: the rows with the most requests, and with the longest lock
// waits, of the last 10 s, minute and 10 minutes.
//
// Threads: any session's.
// Errors: a user without the privilege PROCESS sees no row; a user who may not read all tables sees
// a number in place of each key.
#pragma once

#include "declare.h"

namespace rowsocket::plugin {

class Daemon;

/// The declaration of the table. `daemons` ends with a null pointer, and is static.
PluginDeclaration HotRowsTable(Daemon* const* daemons);

}  // namespace rowsocket::plugin
