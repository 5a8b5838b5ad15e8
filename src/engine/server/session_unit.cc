// How a session keeps or takes back requests together (S11, S12).
#include "base/require.h"
#include "engine/server/session.h"

namespace rowsocket::engine::server {

using model::ErrorCode;

// In a unit that writes, the row by which a request decides must not change before the unit is
// committed: if it cannot be locked, the request fails.
Outcome ServerSession::FindWhetherItLocks(IndexState& index, const model::Request& request,
                                          bool in_unit, bool* locks) {
  if (!in_unit || !request.asks_by_one_key()) return {};
  OpenTable* open = nullptr;
  Outcome outcome = index.ResolveForWrite(tables_, &open);
  if (!outcome.ok()) return outcome;
  *locks = open->rolls_back && NamesOneRow(index.key_info(*open), request.key());
  return {};
}

Outcome ServerSession::BeginUnit() {
  ROWSOCKET_REQUIRE(stage_ == Stage::kInTurn && writes_);
  Outcome outcome = writer_.Seal();
  if (outcome.ok()) outcome = open_rows_.BeginUnit();
  if (outcome.ok()) {
    stage_ = Stage::kInUnit;
    changes_.BeginUnit();
    Cluster::MarkBegin(thd_.get());
  }
  Classify(&outcome);
  return outcome;
}

// To the server, all statements of the unit are one: the engines and the binary log go back to the
// place where the last statement before the unit was committed.
Outcome ServerSession::EndUnit(bool keep) {
  ROWSOCKET_REQUIRE(stage_ == Stage::kInUnit);
  stage_ = Stage::kInTurn;
  Outcome outcome = writer_.Seal();
  changes_.EndUnit();
  if (keep && outcome.ok() && CommitStatement(thd_.get())) {
    outcome = Cluster::ConflictOf(thd_.get());
    if (outcome.ok()) outcome = Outcome::Of(thd_.TakeError());
    if (outcome.ok()) outcome = Outcome::Fail(ErrorCode::kInternal);
    outcome.transaction_lost = true;
  }
  const bool is_kept = keep && outcome.ok();
  if (!is_kept) {
    committer_.RollbackStatement();
    changes_.TakeBackUnit();
    tables_.ResetWriters();
  }
  thd_.ClearStatement();
  Classify(&outcome);
  const bool is_row_lost = !open_rows_.EndUnit(is_kept);
  const bool are_full_text_changes_lost = !is_kept && changes_.has_lost_full_text_changes();
  if ((is_row_lost || are_full_text_changes_lost) && !outcome.transaction_lost) {
    using Result = Outcome::Result;
    outcome = Outcome::Make(are_full_text_changes_lost ? Result::kMustSplit : Result::kRowLost,
                            {ErrorCode::kInternal});
    outcome.transaction_lost = true;
  }
  return outcome;
}

void ServerSession::RefuseWaits(bool refuse) {
  if (lock_wait_ != LockWait::kServer) return;
  refuses_waits_ = refuse;
  thd_.RefuseWaits(refuse);
}

}  // namespace rowsocket::engine::server
