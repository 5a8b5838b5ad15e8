#include "keyspace/purge.h"

#include <algorithm>
#include <optional>
#include <span>

#include "keyspace/time.h"
#include "keyspace/turn_end.h"
#include "model/error_number.h"
#include "model/limits.h"
#include "model/request.h"

namespace rowsocket::keyspace {

using engine::Outcome;
using model::CompareOp;

namespace {

constexpr model::Value kZero{std::string_view("0")};

/// Deletes the row if it still has expired.
class PurgeEditor final : public model::RowEditor {
 public:
  PurgeEditor(const Container& container, int64_t now_ms)
      : container_(container), now_ms_(now_ms) {}

  model::Decision Decide(std::span<const model::Value> row,
                         std::span<const model::CellChange>*) override {
    if (row.empty()) return model::Decision::kKeep;
    const bool expired = ExpiryFromCell(row[container_.full_layout.expiry], container_) <= now_ms_;
    return expired ? model::Decision::kDelete : model::Decision::kKeep;
  }

 private:
  const Container& container_;
  const int64_t now_ms_;
};

model::Value ExpiryCell(const FoundKey& row) {
  return row.expiry ? model::Value(std::string_view(*row.expiry)) : model::Value();
}

/// Whether an edit may delete the row: no edit can name a row with a NULL in its key.
bool MayDelete(const FoundKey& row, const Container& container, int64_t now_ms) {
  return ExpiryFromCell(ExpiryCell(row), container) <= now_ms && !row.has_null();
}

/// Whether other rows would fail like this one. Unknown failures count as failures of the row: a
/// round may then cost one failure for each row, but no row keeps later ones from being deleted.
bool IsOfTheTable(const Outcome& failed) {
  using model::ErrorCode;
  const ErrorCode code = failed.error.code;
  if (code == ErrorCode::kLockWait || code == ErrorCode::kDeadlock ||
      code == ErrorCode::kInternal) {
    return false;
  }
  if (code != ErrorCode::kEngine) return true;
  return model::IsOfTable(failed.error.number);
}

/// The moment as the column holds it, rounded down, so that no later moment counts as passed.
model::Value NowToCell(int64_t now_ms, const Container& container, TextRoom* room) {
  constexpr int64_t kMsPerSecond = 1000;
  if (container.expiry == ExpiryKind::kSeconds) now_ms -= now_ms % kMsPerSecond;
  return ExpiryToCell(now_ms, container, room);
}

Outcome DeleteRow(engine::Session& session, const Container& container, const FoundKey& row,
                  model::RowEditor& editor) {
  model::NoRows none;
  const std::vector<model::Value> key = row.Values();
  model::Request request;
  request.verb = model::Request::Verb::kEdit;
  request.edit.key = key;
  request.edit.editor = &editor;
  return session.Execute(*container.full_index, request, none);
}

struct Deletion {
  uint64_t rows = 0;
  bool is_whole = false;    ///< All rows were tried.
  bool must_split = false;  ///< Not to be done in one transaction: max_binlog_cache_size.
  /// The position of a row whose lock, held by another session, has cost the transaction.
  std::optional<size_t> lost_at = std::nullopt;
  model::ErrorCode ended_by = model::ErrorCode::kNone;  ///< The error of the table.
};

/// Deletes the rows from `begin` to `end` in one transaction. An edit that succeeds may have
/// deleted nothing: another session was faster, or the text of the key does not find the row (a
/// FLOAT, a TIMESTAMP in an hour that comes twice). Such a row counts as one that stays, because
/// otherwise each round would find it again.
Deletion DeletePart(engine::Session& session, const Container& container, int64_t now_ms,
                    std::span<const FoundKey> rows, size_t begin, size_t end,
                    std::vector<bool>* is_gone) {
  PurgeEditor editor(container, now_ms);
  Deletion deletion{.is_whole = true};
  session.BeginTurn(true);
  for (size_t i = begin; i < end && deletion.is_whole; ++i) {
    (*is_gone)[i] = false;
    if (!MayDelete(rows[i], container, now_ms)) continue;
    const Outcome one = DeleteRow(session, container, rows[i], editor);
    if (one.transaction_lost) {
      session.Rollback();
      deletion = {.must_split = one.result == Outcome::Result::kMustSplit};
      if (one.result == Outcome::Result::kBusy) deletion.lost_at = i;
      return deletion;
    }
    (*is_gone)[i] = one.ok() && one.rows != 0;
    if (one.ok()) deletion.rows += one.rows;
    deletion.is_whole = one.ok() || !IsOfTheTable(one);
    if (!deletion.is_whole) deletion.ended_by = one.error.code;
  }
  const Outcome commit = session.Commit();
  if (commit.ok()) return deletion;
  return {.must_split = commit.result == Outcome::Result::kMustSplit};
}

/// Deletes the rows in one transaction. With innodb_rollback_on_timeout a row that another session
/// has locked costs the transaction: the rows before it are then deleted again, in a transaction of
/// their own, and those after it in the next one.
Deletion DeleteRows(engine::Session& session, const Container& container, int64_t now_ms,
                    std::span<const FoundKey> rows, std::vector<bool>* is_gone) {
  Deletion all{.is_whole = true};
  size_t begin = 0;
  size_t end = rows.size();
  while (begin < rows.size()) {
    const Deletion part = DeletePart(session, container, now_ms, rows, begin, end, is_gone);
    if (part.lost_at && *part.lost_at != begin) {
      end = *part.lost_at;
      continue;
    }
    all.rows += part.rows;
    if (!part.lost_at && !part.is_whole)
      return {.rows = all.rows, .must_split = part.must_split, .ended_by = part.ended_by};
    // The row that is left out is the one that has cost the transaction.
    begin = part.lost_at ? begin + 1 : end + 1;
    end = rows.size();
  }
  return all;
}

}  // namespace

Purge::Done Purge::Round(engine::Session& session, const Container& container, int64_t now_ms,
                         size_t rows_max) {
  const engine::Index& index =
      container.expiry_index ? *container.expiry_index : *container.key_index;
  if (index.serial() != index_serial_) {
    position_ = {};
    stuck_.clear();
  }
  index_serial_ = index.serial();
  const Position before = position_;
  Chunk chunk;
  const size_t limit = std::max<size_t>(1, rows_max / parts_);
  if (!Find(session, container, now_ms, limit, &chunk)) {
    position_ = before;
    return {};
  }
  Deletion deletion{.is_whole = true};
  chunk.is_gone.resize(chunk.rows.size());
  const auto may_delete = [&container, now_ms](const FoundKey& row) {
    return MayDelete(row, container, now_ms);
  };
  if (std::ranges::any_of(chunk.rows, may_delete)) {
    deletion = DeleteRows(session, container, now_ms, chunk.rows, &chunk.is_gone);
  }
  // A row that alone is too large for a transaction stays: SQL has to delete it.
  const bool stays = deletion.must_split && limit == 1;
  if (!deletion.is_whole && !stays) {
    position_ = before;
    if (deletion.must_split) parts_ *= 2;
    return {
        .deleted = deletion.rows, .has_more = deletion.must_split, .ended_by = deletion.ended_by};
  }
  if (stays) chunk.is_gone.assign(chunk.rows.size(), false);
  parts_ = std::max<size_t>(1, parts_ / 2);
  GoOnAfter(container, chunk, before, now_ms);
  return {.deleted = deletion.rows, .has_more = !chunk.is_last};
}

// Only in an index of expiry are the rows of a moment next to each other.
void Purge::GoOnAfter(const Container& container, const Chunk& chunk, const Position& before,
                      int64_t now_ms) {
  const bool by_expiry = container.expiry_index != nullptr;
  const FoundKey* last = before.last ? &*before.last : nullptr;
  uint64_t rows_staying = before.rows_staying;
  for (size_t i = 0; i < chunk.rows.size(); ++i) {
    const FoundKey& row = chunk.rows[i];
    if (last != nullptr && last->expiry != row.expiry) {
      if (by_expiry) EndMoment(*last, rows_staying, now_ms);
      rows_staying = 0;
    }
    rows_staying += !chunk.is_gone[i];
    last = &row;
  }
  const bool is_past_moment = chunk.is_last || chunk.left_out;
  if (by_expiry && is_past_moment && last != nullptr) EndMoment(*last, rows_staying, now_ms);
  const bool is_past_zero = position_.is_past_zero;
  if (chunk.is_last)
    position_ = {};
  else if (chunk.left_out)
    position_ = {.last = chunk.left_out, .is_past_zero = is_past_zero, .is_past_moment = true};
  else
    position_ = {.last = *last, .rows_staying = rows_staying, .is_past_zero = is_past_zero};
}

// If there is no room for another moment, the one that was noted first is forgotten.
void Purge::EndMoment(const FoundKey& row, uint64_t rows_staying, int64_t now_ms) {
  if (rows_staying < model::kPurgeStuckRows) return;
  const auto same = std::ranges::find(stuck_, row.expiry, &StuckMoment::expiry);
  if (same != stuck_.end()) {
    same->since_ms = now_ms;
    same->pause_ms = std::min(2 * same->pause_ms, model::kPurgeStuckPauseMsMax);
    return;
  }
  if (stuck_.size() == model::kPurgeStuckMomentsMax)
    stuck_.erase(std::ranges::min_element(stuck_, {}, &StuckMoment::since_ms));
  stuck_.push_back(
      {.expiry = row.expiry, .since_ms = now_ms, .pause_ms = model::kPurgeStuckPauseMs});
}

// A clock that was set back ends the pause.
bool Purge::IsLeftOut(const FoundKey& row, int64_t now_ms) const {
  return std::ranges::any_of(stuck_, [&](const StuckMoment& moment) {
    return moment.expiry == row.expiry && now_ms >= moment.since_ms &&
           now_ms - moment.since_ms < moment.pause_ms;
  });
}

bool Purge::EndBeforeLeftOut(int64_t now_ms, std::vector<FoundKey>* rows, Chunk* chunk) const {
  const auto first =
      std::ranges::find_if(*rows, [&](const FoundKey& row) { return IsLeftOut(row, now_ms); });
  if (first == rows->end()) return false;
  chunk->left_out = std::move(*first);
  rows->erase(first, rows->end());
  return true;
}

bool Purge::Find(engine::Session& session, const Container& container, int64_t now_ms,
                 size_t rows_max, Chunk* chunk) {
  session.BeginTurn(false);
  const Outcome outcome = container.expiry_index != nullptr
                              ? FindByExpiry(session, container, now_ms, rows_max, chunk)
                              : FindByKey(session, container, now_ms, rows_max, chunk);
  return CommitOrRollBack(session, outcome);
}

// Searches two ranges of the index: moments before 1970, which only SQL writes, and moments since.
// Between them are the rows that never expire. In a column of milliseconds 0 is a moment like
// others, so that there is one range.
Outcome Purge::FindByExpiry(engine::Session& session, const Container& container, int64_t now_ms,
                            size_t rows_max, Chunk* chunk) {
  KeyCollector found(container);
  model::Filter until{.stops_scan = true, .op = CompareOp::kLt, .value = kZero};
  const bool is_before_zero =
      container.expiry != ExpiryKind::kMilliseconds && !position_.is_past_zero;
  Outcome outcome;
  if (is_before_zero) outcome = FindUntil(session, container, until, rows_max, found);
  if (outcome.ok() && !EndBeforeLeftOut(now_ms, &found.rows, chunk) &&
      found.rows.size() < rows_max) {
    if (is_before_zero) position_ = {.last = std::nullopt, .is_past_zero = true};
    TextRoom room;
    until.op = CompareOp::kLe;
    until.value = NowToCell(now_ms, container, &room);
    outcome = FindUntil(session, container, until, rows_max - found.rows.size(), found);
    EndBeforeLeftOut(now_ms, &found.rows, chunk);
  }
  chunk->is_last = !chunk->left_out && found.rows.size() < rows_max;
  chunk->rows = std::move(found.rows);
  return outcome;
}

Outcome Purge::FindUntil(engine::Session& session, const Container& container,
                         const model::Filter& until, size_t limit, KeyCollector& found) {
  model::Value from;  // Rows with NULL never expire, and come before all others.
  if (position_.last)
    from = ExpiryCell(*position_.last);
  else if (position_.is_past_zero)
    from = kZero;
  model::Request request;
  request.find.op = position_.last && !position_.is_past_moment ? CompareOp::kGe : CompareOp::kGt;
  request.find.key = {&from, 1};
  if (from.is_null() && !container.expiry_is_nullable) {
    request.find.op = CompareOp::kGe;
    request.find.key = {};
  }
  request.find.key_parts_given = static_cast<uint32_t>(request.find.key.size());
  request.find.offset = position_.rows_staying;
  request.find.limit = limit;
  request.find.filters = {&until, 1};
  return session.Execute(*container.expiry_index, request, found);
}

Outcome Purge::FindByKey(engine::Session& session, const Container& container, int64_t now_ms,
                         size_t rows_max, Chunk* chunk) {
  std::vector<model::Value> key;
  if (position_.last) key = position_.last->Values();
  model::Request request;
  request.find.op = position_.last ? CompareOp::kGt : CompareOp::kGe;
  request.find.key = key;
  request.find.key_parts_given = static_cast<uint32_t>(key.size());
  request.find.limit = model::kPurgeScanRows;
  KeyCollector found(container);
  const Outcome outcome = session.Execute(*container.key_index, request, found);
  chunk->is_last = found.rows.size() < model::kPurgeScanRows;
  size_t candidates = 0;
  for (size_t i = 0; i < found.rows.size(); ++i) {
    candidates += MayDelete(found.rows[i], container, now_ms);
    if (candidates < rows_max) continue;
    found.rows.resize(i + 1);
    chunk->is_last = false;
    break;
  }
  chunk->rows = std::move(found.rows);
  return outcome;
}

}  // namespace rowsocket::keyspace
