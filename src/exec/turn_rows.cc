// How the requests of a batch that name the same row are executed on one copy of it.
#include <utility>

#include "exec/turn.h"
#include "exec/unit.h"

namespace rowsocket::exec {

namespace {

using engine::NotMergeable;
using Result = engine::Outcome::Result;

/// Whether the reason lies in the table, so that later requests for its rows are not tried. (If
/// a trigger is for another verb, or a delete needs no CHECK, one of them could be merged; such
/// tables are few, and each try costs.)
bool ConcernsTable(NotMergeable reason) {
  return reason == NotMergeable::kEngine || reason == NotMergeable::kTable ||
         reason == NotMergeable::kTrigger || reason == NotMergeable::kVersioned ||
         reason == NotMergeable::kCheck;
}

}  // namespace

bool Turn::RunsWithItsRow(const TurnItem& item) {
  if (item.shared_row == SharedRow::kNone || item.is_settled() || item.waits()) return false;
  return rows_.at(item.shared_row).runs_as_one_statement() && item.is_write() &&
         HasRoomFor(*item.client);
}

bool Turn::IsNext(const TurnItem& item) const {
  if (&item == items_.data()) return true;
  const TurnItem& previous = *(&item - 1);
  return previous.client != item.client || previous.is_executed();
}

bool Turn::ExecuteAsOneRow(engine::Session& session, TurnItem& first) {
  SharedRow& row = rows_.at(first.shared_row);
  if (!first.client->frontend->MayShareRow(first.item, session))
    return ExecuteItem(session, first, false);
  if (row.reason != NotMergeable::kNone) {
    first.ran_alone = RanAloneFor(row.reason);
    return ExecuteItem(session, first, false);
  }
  const engine::RowOpening opening = session.BeginRow(*first.item.index, first.item.request);
  if (opening.opened()) return ExecuteItemsOfRow(session, first);
  if (opening.reason != NotMergeable::kNone) {
    first.ran_alone = RanAloneFor(opening.reason);
    if (ConcernsTable(opening.reason)) row.reason = opening.reason;
    return ExecuteItem(session, first, false);
  }
  const bool is_locked =
      opening.outcome.result == Result::kBusy && !opening.outcome.waits_elsewhere;
  if (opening.outcome.transaction_lost) {
    OnLost(first, opening.outcome, false);
    // With innodb_rollback_on_timeout each request for this row would cost a transaction. All of
    // them are stopped now, and are known to wait when the batch runs again.
    if (is_locked) StopRow(first, opening.outcome.error);
    return false;
  }
  if (is_locked) {
    StopRow(first, opening.outcome.error);
    return !first.is_settled() || ExecuteItem(session, first, false);
  }
  const model::Error error = opening.outcome.error;
  const bool is_killed = error.code == model::ErrorCode::kKilled;
  const bool gives_way = opening.outcome.result == Result::kGivesWay;
  if (is_killed ||
      (wait_policy_ == WaitPolicy::kAllForOneLock && !gives_way && model::EndsWait(error))) {
    first.Settle(error);
    AnswerCommonWait(first, opening.outcome);
  }
  // Each request gets the error that it would have had by itself.
  return ExecuteItem(session, first, false);
}

// Requests that do not fit the open row run later, at their own place in the turn.
bool Turn::ExecuteItemsOfRow(engine::Session& session, TurnItem& first) {
  uint64_t requests = 0;
  for (TurnItem* item = &first; item != nullptr; item = item->next_in_row) {
    if (item->is_executed() || item->is_settled() || item->client->stopped() || !IsNext(*item))
      continue;
    if (item != &first) {
      const NotMergeable reason = session.RowTakes(item->item.request);
      if (item->is_write()) item->ran_alone = RanAloneFor(reason);
      if (reason != NotMergeable::kNone) continue;
    }
    if (!ExecuteItem(session, *item, false)) return false;
    if (item->client->stopped()) continue;
    item->progress = TurnItem::Progress::kExecuted;
    ++requests;
  }
  const engine::Outcome outcome = session.EndRow();
  if (!outcome.ok()) {
    // The row was not written, so that none of the answers is true. Run one by one, each request
    // gets an answer of its own.
    StopMerging();
    return false;
  }
  if (requests > 1) {
    ++merged_rows_;
    merged_requests_ += requests;
  }
  return true;
}

// Writes the rows that stay open. If one cannot be written, the batch runs again without merging;
// after a deadlock or a conflict it runs again as it is. A lock in the way is not waited for: units
// wait before they begin, and would wait a second time when they run again.
bool Turn::CloseRows(engine::Session& session) {
  const engine::RefusedWaits refused(session);
  const engine::Outcome outcome = session.CloseRows(&open_rows_);
  if (outcome.ok()) return true;
  was_conflict_ = outcome.result == Result::kConflict;
  must_split_ = outcome.result == Result::kMustSplit;
  if (outcome.result != Result::kDeadlock && !was_conflict_) StopMerging();
  return false;
}

// Several items may fit one by one. A unit that takes its locks first executes its requests and
// takes them back. In MariaDB a transaction with rows taken back is not committed while an ALTER
// copies their table. So the unit runs once more without taking locks first, because the locks that
// it has waited for were free. If one of them is held again, the unit runs as before, and in the
// end is answered as after a deadlock.
bool Turn::MayFitNextTime(std::span<TurnItem> items) {
  if (items.size() > 1) return true;
  Unit* const unit = items.front().item.unit;
  return unit != nullptr && std::exchange(unit->met_locks_count, 0) != 0;
}

// Makes the requests of the batch run one by one when the batch runs again.
void Turn::StopMerging() {
  if (!merges_) return;
  merges_ = false;
  KeepRowsApart(items_);
  for (TurnItem& item : items_) {
    if (item.shared_row == SharedRow::kNone || !item.is_write() || item.is_settled()) continue;
    if (rows_.at(item.shared_row).plain_writes > 1) item.ran_alone = RanAlone::kRerun;
  }
}

// The next requests for this row wait for the same lock, so that asking once for all of them is
// enough. An item that must not be stopped gets the error as its answer.
void Turn::StopRow(TurnItem& first, model::Error error) {
  for (TurnItem* item = &first; item != nullptr; item = item->next_in_row) {
    if (item->is_executed() || item->is_settled() || item->client->stopped() || !IsNext(*item))
      continue;
    if (IsBeforePermanent(*item)) {
      item->Settle(error);
      continue;
    }
    item->wait = TurnItem::Wait::kForItsRow;
    item->client->stopped_at = item;
  }
}

}  // namespace rowsocket::exec
