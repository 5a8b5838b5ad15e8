// How this server and others copy each other's changes.
//
// Threads: any. No function waits for a lock that a statement may hold for long.
#pragma once

#include <string>

#include "model/health.h"

namespace rowsocket::engine::server {

/// Whether a replication source is configured (CHANGE REPLICATION SOURCE), also where its threads
/// are stopped.
bool HasReplicationSource();

/// There is no Galera in MySQL.
inline bool IsGaleraNode() { return false; }
inline bool IsFirstGaleraNode() { return false; }
inline bool HoldsClusterOrder() { return false; }

/// What the server says of itself, from its memory alone. How far a replica is behind is unknown.
model::Health ReadHealth();

/// Positions are MariaDB's, of domain, server and number, which MySQL's transactions do not have.
inline std::string BinlogPosition() { return {}; }
inline bool HasExecuted(const model::Gtid&) { return false; }

}  // namespace rowsocket::engine::server
