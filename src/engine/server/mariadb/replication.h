// How this server and others copy each other's changes.
//
// Threads: any. No function waits for a lock that a statement may hold for long.
#pragma once

#include <string>

#include "model/health.h"

namespace rowsocket::engine::server {

/// Whether a replication source is configured (CHANGE MASTER), also where its threads are stopped.
/// RESET SLAVE ALL removes it.
bool HasReplicationSource();

/// What the server says of itself, from its memory alone.
model::Health ReadHealth();

/// The last transaction of each replication domain in this server's binary log, as
/// @@gtid_binlog_pos. Empty where there is none.
std::string BinlogPosition();

/// Whether this server has executed the transaction, or a later one of its domain.
bool HasExecuted(const model::Gtid& gtid);
/// Transactions with a UUID are MySQL's.
inline bool HasExecutedRange(const model::GtidRange&) { return false; }

}  // namespace rowsocket::engine::server
