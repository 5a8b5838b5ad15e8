// The storage engine's numbers that the executor itself knows.
#pragma once

#include "model/error.h"

namespace rowsocket::exec {

/// HA_ERR_LOCK_WAIT_TIMEOUT
inline constexpr model::Error kLockWaitTimeout = model::Error::Engine(146);
/// HA_ERR_LOCK_DEADLOCK
inline constexpr model::Error kDeadlock = model::Error::Engine(149);

/// KILL, or a wait for a row or a table that took too long.
inline bool EndsWait(const model::Error& answer) {
  return answer == kLockWaitTimeout || answer.code == model::ErrorCode::kLockTables ||
         answer.code == model::ErrorCode::kKilled;
}

}  // namespace rowsocket::exec
