// How this server and others copy each other's changes. What all servers answer alike is in
// replication.cc, the rest in one replication.cc for each family.
//
// Threads: any. No function waits for a lock that a statement may hold for long.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "model/health.h"

namespace rowsocket::engine::server {

/// Whether a replication source is configured (CHANGE MASTER, CHANGE REPLICATION SOURCE), even if
/// its threads are stopped. RESET SLAVE ALL or RESET REPLICA ALL removes it.
bool HasReplicationSource();

/// What the server says about itself, without a look at tables.
model::Health ReadHealth();

/// MariaDB: the last transaction of each replication domain in this server's binary log, as
/// @@gtid_binlog_pos. MySQL: the transactions that this server has executed, as @@gtid_executed
/// without line breaks. Empty if there is none.
std::string BinlogPosition();

/// Whether this server has executed the transaction, or a later one of its domain. False in MySQL,
/// whose transactions have no domain.
bool HasExecuted(const model::Gtid& gtid);
/// Whether this server has executed all transactions of the range. False in MariaDB, whose
/// transactions have no UUID.
bool HasExecutedRange(const model::GtidRange& range);

/// How a source is doing; a later state is worse.
enum class SourceState : uint32_t { kNone, kRunning, kConnecting, kStopped };

inline constexpr uint32_t kUnknownLag = std::numeric_limits<uint32_t>::max();

/// All sources together: the worst state of a source, and the longest lag.
struct Sources {
  SourceState state = SourceState::kNone;
  uint32_t lag_s = 0;

  void Add(SourceState state_of_one, uint32_t lag_of_one_s) {
    state = std::max(state, state_of_one);
    lag_s = std::max(lag_s, lag_of_one_s);
  }
};

/// The present state of the sources, from each family's replication.cc; without a value while a
/// statement (STOP REPLICA, STOP ALL SLAVES) holds their lock. `last` is what the last call has
/// returned: a source whose own lock is held keeps the lag of that call.
std::optional<Sources> TryReadSources(const Sources& last);
/// How many seconds the change that is executed here is behind its source's, as SHOW REPLICA STATUS
/// works it out. `stamp` is when the source made the change, by its own clock, which is
/// `difference` seconds behind this server's; 0: no change is being executed.
uint32_t LagSince(int64_t stamp, int64_t difference);

}  // namespace rowsocket::engine::server
