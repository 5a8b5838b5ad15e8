// Several requests of one connection with one outcome: all of them are done, or none is
// (engine/session.h, S11).
//
// A required request stops the unit where it finds, changes or inserts no row: the unit is then not
// applied, which is no error. An optional request goes on.
//
// A unit that meets the lock of another session waits for it in the lane, and holds nothing
// meanwhile: there it first takes the locks that it has had to wait for, in the order in which it
// has met them, and then runs without waiting. Where it meets another lock, its transaction is
// given up, and it begins anew with one more lock to take first.
//
// Threads: one at a time. Lifetime: in the arena of the item that has it. Limits: kUnitRequestsMax
// requests, of RESP kUnitKeysMax; kUnitWaitsMax locks of others: a unit that meets more ends as
// after a deadlock.
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
  uint64_t rows = 0;  ///< Rows that the request has sent or changed, where the unit was applied.
};

struct Unit {
  enum class End : uint8_t {
    kNotRun,
    kApplied,
    kStopped,  ///< By the request at `position`.
    kFailed,   ///< Because of the request at `position`, or as a whole where that is 0.
  };
  std::span<UnitRequest> requests;
  uint32_t named = 0;  ///< The request that the item shows as its own: the first that writes.
  bool writes = false;
  End end = End::kNotRun;
  uint32_t position = 0;   ///< From 1; 0: none.
  uint64_t rows = 0;       ///< Rows that its requests have sent or changed.
  bool is_merged = false;  ///< A request was executed on a row that it shares with others.
  std::array<uint16_t, model::kUnitWaitsMax> waits{};  ///< Requests that have met others' locks.
  uint32_t waits_count = 0;

  void NoteWait(uint32_t request);
  /// Whether it has met a lock other than that of its named request's row.
  bool WaitsElsewhere() const;
};

/// Executes the request with this index in the unit, appends its reply, and takes back what it had
/// appended where `appends` is false.
using ExecuteInUnit = std::function<engine::Outcome(uint32_t request, bool appends)>;

/// Executes the unit: judges each request, then runs `body`, which calls RunRequests, and keeps
/// what has been done where the unit was applied. The outcome is ok where the unit was applied or
/// has stopped. REQUIRES: a turn is open, that writes where the unit does.
engine::Outcome ExecuteUnit(Unit& unit, engine::Session& session, const ExecuteInUnit& execute,
                            const std::function<engine::Outcome()>& body);

/// Executes the requests one after the other; Unit::end and position say how that has ended. The
/// outcome is that of the request at which it ended.
engine::Outcome RunRequests(Unit& unit, engine::Session& session, const ExecuteInUnit& execute);

}  // namespace rowsocket::exec
