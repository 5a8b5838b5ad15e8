// What MySQL's own commit asks of group replication, besides what all servers are asked
// (cluster.h).
//
// Threads: the session's own.
#pragma once

#include "api.h"

namespace rowsocket::engine::server {

/// Whether other members may carry out a transaction whose commit has failed here, because this
/// one hears them no more. REQUIRES: the commit's error has not been cleared.
bool MayStandInGroup(THD* thd);

}  // namespace rowsocket::engine::server
