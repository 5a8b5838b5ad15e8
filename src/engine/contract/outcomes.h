// The outcomes that the contract names, in one place for all tests of the suite.
#pragma once

#include "engine/session.h"

namespace rowsocket::engine::contract {

inline const model::Error kDuplicateKey = model::Error::Engine(121);
inline const model::Error kLockWaitTimeout = {model::ErrorCode::kLockWait};
inline const model::Error kDeadlock = {model::ErrorCode::kDeadlock};
inline const model::Error kOutOfRange = model::Error::Engine(1264);

inline bool IsBusy(const Outcome& outcome) { return outcome.result == Outcome::Result::kBusy; }
inline bool IsLost(const Outcome& outcome) { return !outcome.ok() && outcome.transaction_lost; }

}  // namespace rowsocket::engine::contract
