// information_schema.ROWSOCKET_LATENCY: how long the requests of all ports have taken since the
// last FLUSH STATUS, by port, verb and phase.
//
// Threads: any session's.
// Errors: a user without the privilege PROCESS sees no row.
#pragma once

#include "declare.h"

namespace rowsocket::plugin {

class Daemon;

/// The declaration of the table. `daemons` ends with a null pointer, and is static.
PluginDeclaration LatencyTable(Daemon* const* daemons);

}  // namespace rowsocket::plugin
