// How a session executes requests on rows in memory, and closes these rows before anything else
// needs their tables (S7 to S9, S13).
#include "base/require.h"
#include "engine/server/session.h"

namespace rowsocket::engine::server {

RowOpening ServerSession::BeginRow(Index& index, const model::Request& request) {
  ROWSOCKET_REQUIRE(stage_ == Stage::kInTurn && writes_);
  IndexState& index_state = IndexStateOf(index);
  RowOpening opening;
  opening.outcome = cluster_.refusal(/*is_write=*/true);
  if (opening.outcome.ok()) opening.outcome = MayExecute(index, request);
  if (opening.outcome.ok()) opening.outcome = writer_.Seal();
  // A row that is open here could be the one that `request` names by another name.
  if (opening.outcome.ok() && open_rows_.HasRowOf(index_state)) [[unlikely]]
    opening.outcome = open_rows_.CloseAll(ClosedBy::kWrite);
  if (opening.outcome.ok() && !open_rows_.empty()) [[unlikely]]
    opening.outcome = open_rows_.CloseRowsReachedBy(index_state, request, /*locks=*/true);
  if (opening.outcome.ok()) opening = row_.Begin(index_state, request);
  if (row_.is_open()) stage_ = Stage::kInRow;
  holds_rows_ = true;
  judge_.HoldLocks();
  Classify(&opening.outcome);
  return opening;
}

Outcome ServerSession::EndRow() {
  ROWSOCKET_REQUIRE(stage_ == Stage::kInRow);
  stage_ = Stage::kInTurn;
  Outcome outcome = row_.End();
  Classify(&outcome);
  return outcome;
}

Outcome ServerSession::ExecuteOnTable(IndexState& index, const model::Request& request,
                                      model::RowSink& sink) {
  bool locks = request.is_write();
  Outcome outcome;
  if (!locks) outcome = FindWhetherItLocks(index, request, changes_.in_unit(), &locks);
  if (!outcome.ok()) return outcome;
  holds_rows_ = holds_rows_ || locks;
  if (request.shares_row || !open_rows_.empty()) {
    bool is_done = false;
    outcome = ExecuteOnOpenRow(index, request, locks, sink, &is_done);
    if (is_done || !outcome.ok()) return outcome;
  }
  return locks ? writer_.Execute(index, request, sink) : Read(index, request.find, sink);
}

// If a row of the table is open, the request's row is opened as well, even if no other request may
// share it: closing the open rows first would cost as much.
Outcome ServerSession::ExecuteOnOpenRow(IndexState& index, const model::Request& request,
                                        bool locks, model::RowSink& sink, bool* is_done) {
  Outcome outcome = writer_.Seal();
  if (!outcome.ok()) return outcome;
  locks = locks || request.shares_row;
  OpenRow* row = locks ? open_rows_.Find(index, request) : nullptr;
  locks = locks && (row != nullptr || request.is_write() || changes_.in_unit());
  outcome = open_rows_.CloseRowsReachedBy(index, request, locks);
  const bool opens = row == nullptr && locks && (request.shares_row || open_rows_.HasRowOf(index));
  if (outcome.ok() && opens) outcome = open_rows_.Open(index, request, &row);
  if (!outcome.ok() || row == nullptr) return outcome;
  *is_done = true;
  return open_rows_.Execute(*row, request, sink);
}

Outcome ServerSession::CloseRowsReachedBy(Index& index, const model::Request& request) {
  ROWSOCKET_REQUIRE(stage_ == Stage::kInTurn && writes_);
  // In a killed session the request fails when it is executed, so nothing is written back first.
  if (open_rows_.empty() || thd_.killed()) return {};
  IndexState& index_state = IndexStateOf(index);
  Outcome outcome = writer_.Seal();
  bool locks = request.is_write();
  if (outcome.ok() && !locks)
    outcome = FindWhetherItLocks(index_state, request, /*in_unit=*/true, &locks);
  if (outcome.ok()) outcome = open_rows_.CloseRowsReachedBy(index_state, request, locks);
  // Whether the request names an open row by another name shows only when its row is opened.
  OpenRow* row = nullptr;
  if (outcome.ok() && locks && open_rows_.HasRowOf(index_state) &&
      open_rows_.Find(index_state, request) == nullptr) {
    outcome = open_rows_.Open(index_state, request, &row);
    holds_rows_ = true;
    judge_.HoldLocks();
  }
  // What keeps the row from being locked or opened here fails the request as well, once the request
  // is executed. Classify would forget a KILL QUERY, which is to end the request.
  const bool is_killed = outcome.error.code == model::ErrorCode::kKilled;
  if (!is_killed || outcome.transaction_lost || thd_.must_end()) Classify(&outcome);
  return outcome.transaction_lost ? outcome : Outcome();
}

Outcome ServerSession::CloseRows(OpenRowTally* tally) {
  ROWSOCKET_REQUIRE(stage_ == Stage::kInTurn && writes_);
  Outcome outcome = open_rows_.empty() ? Outcome() : writer_.Seal();
  if (outcome.ok()) outcome = open_rows_.CloseAll(ClosedBy::kTurnEnd);
  *tally = open_rows_.TakeTally();
  Classify(&outcome);
  return outcome;
}

}  // namespace rowsocket::engine::server
