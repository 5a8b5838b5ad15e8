// What is counted, for SHOW GLOBAL STATUS and `stats`; one block of counters a thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/counters.h"
#include "model/error.h"

namespace rowsocket::exec {

enum class Stat : uint8_t {
  kConnections,          ///< Open now.
  kConnectionsAccepted,
  kConnectionsRefused,   ///< Over connections_max, or no file descriptor.
  kConnectionsTimedOut,  ///< Idle, not authenticated in time, or replies never read.
  kBytesReceived,
  kBytesSent,
  kOpens,
  kAuths,
  kFinds,
  kInserts,
  kUpdates,
  kDeletes,
  kIncrements,
  kRowsRead,
  kRowsWritten,
  kTurns,
  kBatches,              ///< Turns with at least one write.
  kBatchRequests,        ///< Requests in them.
  kCommits,
  kCommitFailures,
  kBatchRetries,         ///< Batches that a deadlock made run again.
  kLockWaits,            ///< Requests that waited for another session's lock.
  kErrorsFirst,          ///< One counter an ErrorCode from here on.
  kErrorsLast = kErrorsFirst + model::kErrorCodes - 1,
  kCount
};

using StatRegistry = base::CounterRegistry<Stat>;
using StatBlock = base::CounterBlock<Stat>;

constexpr Stat ErrorStat(model::ErrorCode code) {
  return static_cast<Stat>(static_cast<unsigned>(Stat::kErrorsFirst) +
                           static_cast<unsigned>(code));
}

}  // namespace rowsocket::exec
