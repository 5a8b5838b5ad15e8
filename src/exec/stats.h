// What is counted, for SHOW GLOBAL STATUS and `stats`; one block of counters a thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/counters.h"
#include "engine/session.h"
#include "model/error.h"

namespace rowsocket::exec {

enum class Stat : uint8_t {
  kConnections,  ///< Open now.
  kConnectionsAccepted,
  kConnectionsRefused,   ///< Over connections_max, or no file descriptor.
  kConnectionsTimedOut,  ///< Idle, not authenticated in time, or replies never read.
  kConnectionsLost,      ///< Closed without an answer: see Loss.
  kConnectionsMoved,     ///< From one worker to another.
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
  kBatches,        ///< Turns with at least one write.
  kBatchRequests,  ///< Requests in them.
  kCommits,
  kCommitFailures,
  kBatchRetries,    ///< Batches that a deadlock made run again.
  kLockWaits,       ///< Requests that waited for another session's lock.
  kMergedRows,      ///< Changes of rows, each by several requests of a batch.
  kMergedRequests,  ///< Those requests.
  kUnmergedFirst,   ///< Requests for a shared row that ran by themselves, by NotMergeable.
  kUnmergedLast = kUnmergedFirst + static_cast<uint8_t>(engine::NotMergeable::kCount) - 2,
  kErrorsFirst,  ///< One counter an ErrorCode from here on.
  kErrorsLast = kErrorsFirst + model::kErrorCodes - 1,
  kCount
};

using StatRegistry = base::CounterRegistry<Stat>;
using StatBlock = base::CounterBlock<Stat>;

constexpr Stat ErrorStat(model::ErrorCode code) {
  return static_cast<Stat>(static_cast<unsigned>(Stat::kErrorsFirst) + static_cast<unsigned>(code));
}

constexpr Stat UnmergedStat(engine::NotMergeable reason) {
  return static_cast<Stat>(static_cast<unsigned>(Stat::kUnmergedFirst) +
                           static_cast<unsigned>(reason) - 1);
}

}  // namespace rowsocket::exec
