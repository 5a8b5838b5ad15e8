#include "exec/unit.h"

#include <algorithm>

namespace rowsocket::exec {

using engine::Outcome;
using Result = engine::Outcome::Result;

namespace {

/// Whether the turn is to run again, without the locks that it holds.
Outcome BeginAnew() {
  Outcome outcome = Outcome::Make(Result::kDeadlock, {model::ErrorCode::kDeadlock});
  outcome.transaction_lost = true;
  return outcome;
}

Outcome Judge(Unit& unit, engine::Session& session) {
  for (uint32_t i = 0; i < unit.requests.size(); ++i) {
    const Outcome outcome = session.MayExecute(*unit.requests[i].index, unit.requests[i].request);
    if (outcome.ok()) continue;
    unit.position = i + 1;
    return outcome;
  }
  return {};
}

/// Takes the locks that the unit has had to wait for, and waits for them: each request is executed
/// and taken back, after which its locks stay.
Outcome TakeLocks(Unit& unit, engine::Session& session, const ExecuteInUnit& execute) {
  if (session.HoldsRows()) {
    if (!unit.WaitsElsewhere()) return {};
    // Other items of this turn hold rows that batches need: the unit runs without these items, a
    // moment later.
    return Outcome::Make(Result::kGivesWay, {model::ErrorCode::kLockWait});
  }
  for (uint32_t i = 0; i < unit.waits_count; ++i) {
    Outcome outcome = session.BeginUnit();
    if (!outcome.ok()) return outcome;
    outcome = execute(unit.waits[i], false);
    if (outcome.transaction_lost) return outcome;
    const Outcome taken_back = session.EndUnit(false);
    if (!taken_back.ok()) return taken_back;
    if (model::EndsWait(outcome.error)) {
      unit.position = unit.waits[i] + 1u;
      return outcome;
    }
  }
  return {};
}

Outcome CloseRowsReachedByRequests(const Unit& unit, engine::Session& session) {
  const bool refuses = session.WaitsForLocks();
  if (refuses) session.RefuseWaits(true);
  Outcome outcome;
  for (size_t i = 0; i < unit.requests.size() && outcome.ok(); ++i) {
    outcome = session.CloseRowsReachedBy(*unit.requests[i].index, unit.requests[i].request);
  }
  if (refuses) session.RefuseWaits(false);
  return outcome;
}

Outcome RunOnce(Unit& unit, engine::Session& session,
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
  unit.position = 0;
  return ended;
}

}  // namespace

void Unit::NoteWait(uint32_t request) {
  const auto end = waits.begin() + waits_count;
  if (std::find(waits.begin(), end, request) != end || waits_count == waits.size()) return;
  waits[waits_count++] = static_cast<uint16_t>(request);
}

bool Unit::WaitsElsewhere() const {
  return std::any_of(waits.begin(), waits.begin() + waits_count,
                     [this](uint16_t request) { return request != named; });
}

Outcome ExecuteUnit(Unit& unit, engine::Session& session, const ExecuteInUnit& execute,
                    const std::function<Outcome()>& body) {
  unit.end = Unit::End::kFailed;
  unit.position = 0;
  unit.rows = 0;
  unit.is_merged = false;
  Outcome outcome = Judge(unit, session);
  if (!outcome.ok()) return outcome;
  if (!unit.writes) return body();
  const bool waits = session.WaitsForLocks();
  if (waits) outcome = TakeLocks(unit, session, execute);
  if (!outcome.ok()) return outcome;
  outcome = RunOnce(unit, session, body);
  const bool is_busy = outcome.result == Result::kBusy;
  if (is_busy) outcome.waits_elsewhere = unit.position != unit.named + 1;
  return waits && is_busy ? BeginAnew() : outcome;
}

Outcome RunRequests(Unit& unit, engine::Session& session, const ExecuteInUnit& execute) {
  unit.end = Unit::End::kFailed;
  unit.rows = 0;
  unit.is_merged = false;
  const bool refuses = unit.writes && session.WaitsForLocks();
  if (refuses) session.RefuseWaits(true);
  Outcome outcome;
  for (uint32_t i = 0; i < unit.requests.size(); ++i) {
    unit.position = i + 1;
    outcome = execute(i, true);
    if (outcome.result == Result::kBusy) unit.NoteWait(i);
    if (!outcome.ok()) break;
    unit.rows += outcome.rows;
    unit.is_merged = unit.is_merged || outcome.on_open_row;
    unit.requests[i].rows = outcome.rows;
    if (unit.requests[i].is_required && outcome.rows == 0) {
      unit.end = Unit::End::kStopped;
      break;
    }
  }
  if (refuses) session.RefuseWaits(false);
  if (outcome.ok() && unit.end != Unit::End::kStopped) {
    unit.end = Unit::End::kApplied;
    unit.position = 0;
  }
  outcome.rows = unit.rows;
  return outcome;
}

}  // namespace rowsocket::exec
