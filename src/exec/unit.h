// Several requests of one connection with one outcome: all of them take effect, or none does
// (engine/session.h, S11).
//
// A required request that finds, changes or inserts no row stops the unit: the unit is then not
// applied, which is no error. After an optional request the unit goes on.
//
// A unit that meets the lock of another session waits for it in the lane. There it first takes
// every lock that it has met before. It waits only for the first of these locks, so that it holds
// no row while it waits, and then runs its requests without waiting. If it meets one more lock,
// its transaction is given up, and the unit begins anew with that lock among those to take first. A
// lock that a request meets only because requests before it have run (such as the lock of the
// parent of a row that they have inserted) cannot be taken first: the unit lets go of everything,
// and tries again a moment later, for as long as a wait for a row may take.
//
// Threads: one at a time.
// Lifetime: in the arena of the item that has it.
// Limits: kGroupRequestsMax requests of HandlerSocket; of RESP kRespUnitKeysMax, and
// kRespWatchedKeysMax for watched keys; kUnitMetLocksMax met locks (a unit that meets more ends as
// after a deadlock).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>

#include "engine/session.h"
#include "model/limits.h"
#include "model/request.h"

namespace rowsocket::exec {

struct UnitRequest {
  engine::Index* index = nullptr;
  model::Request request;
  bool is_required = true;
  uint64_t rows = 0;  ///< Rows that the request has sent or changed, if the unit was applied.
};

struct Unit {
  enum class End : uint8_t {
    kNotRun,
    kApplied,
    kStopped,  ///< The request `ended_at` has stopped the unit.
    kFailed,   ///< The request `ended_at` has failed; where that is 0, the unit as a whole.
  };
  std::span<UnitRequest> requests;
  /// The index of the request that the item shows as its own: the first that writes.
  uint32_t named_index = 0;
  bool writes = false;
  End end = End::kNotRun;
  /// The request, from 1, that `end` is about; 0: the unit as a whole, or none.
  uint32_t ended_at = 0;
  bool is_tried = false;   ///< The account may do all of it, so that its execution has begun.
  uint64_t rows = 0;       ///< Rows that the requests of the unit have sent or changed.
  bool is_merged = false;  ///< A request was executed on a row that it shares with others.
  /// The indexes of the requests that have met locks of other sessions.
  std::array<uint16_t, model::kUnitMetLocksMax> met_locks{};
  static_assert(model::kRespUnitKeysMax + model::kRespWatchedKeysMax <= UINT16_MAX);
  uint32_t met_locks_count = 0;

  /// Notes that the request with this index has met a lock of another session.
  void NoteMetLock(uint32_t request);
  /// Whether it is noted that the request with this index has met a lock.
  bool HasMetLock(uint32_t request) const;
  /// Whether the unit has met a lock other than that of its named request's row.
  bool HasMetLockElsewhere() const;
};

/// Executes the request with the index `request` in Unit::requests, and appends its reply. Where
/// `appends` is false, nothing stays appended.
using ExecuteInUnit = std::function<engine::Outcome(uint32_t request, bool appends)>;

/// Executes the unit: judges each request, then runs `body`, which calls RunRequests, and takes all
/// changes back unless the unit was applied. The outcome is ok if the unit was applied or has
/// stopped. REQUIRES: a turn is open, and it writes if the unit does.
engine::Outcome ExecuteUnit(Unit& unit, engine::Session& session, const ExecuteInUnit& execute,
                            const std::function<engine::Outcome()>& body);

/// Executes the requests one after the other; Unit::end and ended_at say how that has ended. The
/// outcome is that of the request at which it ended.
engine::Outcome RunRequests(Unit& unit, engine::Session& session, const ExecuteInUnit& execute);

}  // namespace rowsocket::exec
