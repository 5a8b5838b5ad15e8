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

/// What the server says of itself, from its memory alone.
model::Health ReadHealth();

/// The transactions that this server has executed, as @@gtid_executed without line breaks. Empty
/// where there is none.
std::string BinlogPosition();

/// Transactions with a domain are MariaDB's.
inline bool HasExecuted(const model::Gtid&) { return false; }
/// Whether this server has executed all transactions of the range.
bool HasExecutedRange(const model::GtidRange& range);

}  // namespace rowsocket::engine::server
