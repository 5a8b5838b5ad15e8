#include "exec/unit.h"

#include <algorithm>

namespace rowsocket::exec {

using engine::Outcome;
using Result = engine::Outcome::Result;

namespace {

/// Tells the turn to run again, without the locks that it holds.
Outcome BeginAnew() {
  Outcome outcome = Outcome::Make(Result::kDeadlock, {model::ErrorCode::kDeadlock});
  outcome.transaction_lost = true;
  return outcome;
}

/// Tells the lane to run the unit again a moment later, when it has let go of its locks.
Outcome GiveWay(bool transaction_lost = false) {
  Outcome outcome = Outcome::Make(Result::kGivesWay, {model::ErrorCode::kLockWait});
  outcome.transaction_lost = transaction_lost;
  return outcome;
}

Outcome MayExecuteAll(Unit& unit, engine::Session& session) {
  for (uint32_t i = 0; i < unit.requests.size(); ++i) {
    const Outcome outcome = session.MayExecute(*unit.requests[i].index, unit.requests[i].request);
    if (outcome.ok()) continue;
    unit.ended_at = i + 1;
    return outcome;
  }
  return {};
}

/// Takes the locks that the unit has had to wait for: each request is executed and taken back,
/// after which its locks stay. Only the first lock is waited for: otherwise the unit would hold a
/// row that batches need while it waits for another lock. If a later lock is not free, the unit
/// lets go of all, and takes that lock first in its next attempt, a moment later.
Outcome TakeLocks(Unit& unit, engine::Session& session, const ExecuteInUnit& execute) {
  if (session.HoldsRows()) {
    if (!unit.HasMetLockElsewhere()) return {};
    // Other items of this turn hold rows that batches need: the unit runs without these items, a
    // moment later.
    return GiveWay();
  }
  for (uint32_t i = 0; i < unit.met_locks_count; ++i) {
    Outcome outcome = session.BeginUnit();
    if (!outcome.ok()) return outcome;
    {
      const engine::RefusedWaits refused(session, i != 0);
      outcome = execute(unit.met_locks[i], false);
    }
    if (i != 0 && outcome.result == Result::kBusy) {
      std::rotate(unit.met_locks.begin(), unit.met_locks.begin() + i,
                  unit.met_locks.begin() + i + 1);
      // With innodb_rollback_on_timeout the lock that is not free has cost the transaction.
      if (outcome.transaction_lost) return GiveWay(/*transaction_lost=*/true);
      const Outcome taken_back = session.EndUnit(false);
      return taken_back.ok() ? GiveWay() : taken_back;
    }
    if (outcome.transaction_lost) return outcome;
    const Outcome taken_back = session.EndUnit(false);
    if (!taken_back.ok()) return taken_back;
    if (model::EndsWait(outcome.error)) {
      unit.ended_at = unit.met_locks[i] + 1u;
      outcome.waits_elsewhere = unit.met_locks[i] != unit.named_index;
      return outcome;
    }
  }
  return {};
}

Outcome CloseRowsReachedByRequests(const Unit& unit, engine::Session& session) {
  const engine::RefusedWaits refused(session);
  Outcome outcome;
  for (size_t i = 0; i < unit.requests.size() && outcome.ok(); ++i) {
    outcome = session.CloseRowsReachedBy(*unit.requests[i].index, unit.requests[i].request);
  }
  return outcome;
}

Outcome RunInUnit(Unit& unit, engine::Session& session,
                  const std::function<engine::Outcome()>& body) {
  Outcome outcome = CloseRowsReachedByRequests(unit, session);
  if (!outcome.ok()) return outcome;
  outcome = session.BeginUnit();
  if (!outcome.ok()) return outcome;
  outcome = body();
  if (outcome.transaction_lost) return outcome;
  const Outcome ended = session.EndUnit(outcome.ok() && unit.end == Unit::End::kApplied);
  if (ended.ok()) return outcome;
  unit.end = Unit::End::kFailed;
  unit.ended_at = 0;
  return ended;
}

}  // namespace

bool Unit::HasMetLock(uint32_t request) const {
  const auto end = met_locks.begin() + met_locks_count;
  return std::find(met_locks.begin(), end, request) != end;
}

void Unit::NoteMetLock(uint32_t request) {
  if (HasMetLock(request) || met_locks_count == met_locks.size()) return;
  met_locks[met_locks_count++] = static_cast<uint16_t>(request);
}

bool Unit::HasMetLockElsewhere() const {
  return std::any_of(met_locks.begin(), met_locks.begin() + met_locks_count,
                     [this](uint16_t request) { return request != named_index; });
}

Outcome ExecuteUnit(Unit& unit, engine::Session& session, const ExecuteInUnit& execute,
                    const std::function<Outcome()>& body) {
  unit.end = Unit::End::kFailed;
  unit.ended_at = 0;
  unit.rows = 0;
  unit.is_merged = unit.is_tried = false;
  Outcome outcome = MayExecuteAll(unit, session);
  if (!outcome.ok()) return outcome;
  unit.is_tried = true;
  if (!unit.writes) return body();
  const bool waits = session.WaitsForLocks();
  if (waits) outcome = TakeLocks(unit, session, execute);
  if (!outcome.ok()) return outcome;
  const uint32_t met_before = unit.met_locks_count;
  outcome = RunInUnit(unit, session, body);
  if (outcome.result != Result::kBusy) return outcome;
  outcome.waits_elsewhere = unit.ended_at != unit.named_index + 1;
  if (!waits) return outcome;
  // The request meets this lock only after the requests before it have run (the lock of a parent
  // row, for instance), so that TakeLocks cannot take it first. A wait here would hold the rows of
  // those requests: the unit gives way, and tries again.
  const bool is_known = unit.met_locks_count == met_before && unit.ended_at != 0 &&
                        unit.HasMetLock(unit.ended_at - 1);
  if (!is_known) return BeginAnew();
  outcome.result = Result::kGivesWay;
  return outcome;
}

Outcome RunRequests(Unit& unit, engine::Session& session, const ExecuteInUnit& execute) {
  unit.end = Unit::End::kFailed;
  unit.rows = 0;
  unit.is_merged = false;
  const engine::RefusedWaits refused(session, unit.writes);
  Outcome outcome;
  for (uint32_t i = 0; i < unit.requests.size(); ++i) {
    unit.ended_at = i + 1;
    outcome = execute(i, true);
    if (outcome.result == Result::kBusy) unit.NoteMetLock(i);
    if (!outcome.ok()) break;
    unit.rows += outcome.rows;
    unit.is_merged = unit.is_merged || outcome.on_open_row;
    unit.requests[i].rows = outcome.rows;
    if (unit.requests[i].is_required && outcome.rows == 0) {
      unit.end = Unit::End::kStopped;
      break;
    }
  }
  if (outcome.ok() && unit.end != Unit::End::kStopped) {
    unit.end = Unit::End::kApplied;
    unit.ended_at = 0;
  }
  outcome.rows = unit.rows;
  return outcome;
}

}  // namespace rowsocket::exec
