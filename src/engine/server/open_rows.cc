#include "engine/server/open_rows.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/server/foreign_keys.h"
#include "model/limits.h"

namespace rowsocket::engine::server {

using model::Modification;
using model::Request;

namespace {

/// Larger rows do not stay open, because a session keeps the memory of as many rows as it has ever
/// had open.
constexpr size_t kRowBytesMax = 8192;

bool HasKey(const OpenRow& row, std::span<const model::Value> key) {
  return std::equal(key.begin(), key.end(), row.key.begin(), row.key.end(),
                    [](const model::Value& value, const std::string& text) {
                      return !value.is_null() && value.text() == text;
                    });
}

bool IsSameTable(const IndexState& one, const IndexState& other) {
  return &one == &other ||
         (one.names().table == other.names().table && one.names().db == other.names().db);
}

std::string_view NameOf(const TABLE& table) {
  return {table.s->table_cache_key.str, table.s->table_cache_key.length};
}

/// Whether a write to the instance may read or change rows of the table by foreign keys.
bool Reaches(const OpenTable& written, const TABLE& table) {
  return std::any_of(written.tables.begin(), written.tables.end(),
                     [&](const TABLE* each) { return NameOf(*each) == NameOf(table); });
}

bool Erases(const Request& request) {
  return request.verb == Request::Verb::kFind && request.find.modification == Modification::kDelete;
}

}  // namespace

// A row that was deleted in memory must not be found by a foreign key of another table. BLOBs and
// generated columns have bytes outside of the record, which the next statement frees.
bool OpenRows::MayStay(IndexState& index, const Request& request, OpenTable** open) {
  if (!request.asks_by_one_key() || !index.ResolveForWrite(tables_, open).ok()) return false;
  const TABLE& table = *(*open)->table;
  if (table.s->blob_fields != 0 || HasGenerated(table)) return false;
  if (table.s->reclength > kRowBytesMax) return false;
  if (index.merge_rules(tables_, **open).Of(request) != NotMergeable::kNone) return false;
  if (!NamesOneRow(index.key_info(**open), request.key())) return false;
  return !Erases(request) || !HasForeignKey(table.in_use, table);
}

OpenRow* OpenRows::Find(const IndexState& index, const Request& request) {
  if (!request.asks_by_one_key()) return nullptr;
  for (size_t i = 0; i < count_; ++i) {
    OpenRow& row = *rows_[i];
    if (row.index != &index || !HasKey(row, request.key())) continue;
    OpenTable* open = nullptr;
    return MayStay(*row.index, request, &open) ? &row : nullptr;
  }
  return nullptr;
}

bool OpenRows::HasRowOf(const IndexState& index) const {
  return std::any_of(rows_.begin(), rows_.begin() + static_cast<ptrdiff_t>(count_),
                     [&](const auto& row) { return IsSameTable(*row->index, index); });
}

Outcome OpenRows::CloseRowsReachedBy(IndexState& index, const Request& request, bool locks) {
  OpenTable* written = nullptr;
  for (size_t i = 0; i < count_;) {
    const OpenRow& row = *rows_[i];
    std::optional<ClosedBy> reason;
    OpenTable* open = nullptr;
    if (IsSameTable(*row.index, index)) {
      if (!locks)
        reason = ClosedBy::kFind;
      else if (!MayStay(index, request, &open))
        reason = ClosedBy::kWrite;
    } else if (request.is_write()) {
      // If the table cannot be opened, nobody knows whether the request reaches an open row: the
      // request fails, or comes here again when it is executed.
      if (written == nullptr) {
        const Outcome outcome = index.ResolveForWrite(tables_, &written);
        if (!outcome.ok()) return outcome;
      }
      if (Reaches(*written, *row.open->table)) reason = ClosedBy::kForeignKey;
    }
    if (!reason) {
      ++i;
      continue;
    }
    const Outcome outcome = Close(i, *reason);
    if (!outcome.ok()) return outcome;
  }
  return {};
}

size_t OpenRows::At(const std::vector<uchar>& position, const OpenTable* open) const {
  size_t i = 0;
  while (i < count_ && (rows_[i]->open != open || rows_[i]->position != position)) ++i;
  return i;
}

Outcome OpenRows::Open(IndexState& index, const Request& request, OpenRow** row) {
  OpenTable* open = nullptr;
  if (!MayStay(index, request, &open)) return {};
  if (count_ == model::kOpenRowsMax) {
    const Outcome outcome = CloseAll(ClosedBy::kLimit);
    if (!outcome.ok()) return outcome;
  }
  if (count_ == rows_.size()) rows_.push_back(std::make_unique<OpenRow>());
  OpenRow& opened = *rows_[count_];
  for (;;) {
    const RowOpening opening = row_.Begin(index, request);
    // The text of a FLOAT may name several rows, some of which may be open.
    if (opening.reason != NotMergeable::kNone) return CloseAll(ClosedBy::kWrite);
    if (!opening.outcome.ok()) return opening.outcome;
    opened.open = nullptr;
    const Outcome outcome = row_.PutAside(&opened);
    if (!outcome.ok() || opened.open == nullptr) return outcome;
    const size_t other = At(opened.position, opened.open);
    if (other == count_) break;
    // The row that was read is older than the one in memory.
    const Outcome closed = Close(other, ClosedBy::kSameRow);
    if (!closed.ok()) return closed;
    std::swap(rows_[count_], rows_[count_ + 1]);
  }
  opened.key.clear();
  for (const model::Value& value : request.key()) opened.key.emplace_back(value.text());
  opened.unit = 0;
  opened.opened_in = in_unit_ ? unit_ : 0;
  opened.requests = 0;
  ++count_;
  *row = &opened;
  return {};
}

Outcome OpenRows::Execute(OpenRow& row, const Request& request, model::RowSink& sink) {
  if (in_unit_ && row.unit != unit_) {
    row.unit = unit_;
    row.before_unit = row.now;
  }
  ++row.requests;
  Outcome outcome = row_.ExecuteOn(row, request, sink);
  outcome.on_open_row = true;
  return outcome;
}

Outcome OpenRows::Close(size_t at, ClosedBy reason) {
  OpenRow& row = *rows_[at];
  if (in_unit_) {
    is_lost_ = is_lost_ || row.IsChanged(row.unit == unit_ ? row.before_unit : row.now);
  }
  ++tally_.closed[static_cast<size_t>(reason)];
  Outcome outcome = row_.WriteBack(row);
  Drop(at);
  if (!outcome.ok() && !outcome.transaction_lost) {
    outcome.result = Outcome::Result::kRowLost;
    outcome.transaction_lost = true;
  }
  return outcome;
}

void OpenRows::Drop(size_t at) {
  if (rows_[at]->requests > 1) {
    ++tally_.rows;
    tally_.requests += rows_[at]->requests;
  }
  std::swap(rows_[at], rows_[--count_]);
}

Outcome OpenRows::CloseAll(ClosedBy reason) {
  while (count_ != 0) {
    const Outcome outcome = Close(count_ - 1, reason);
    if (!outcome.ok()) return outcome;
  }
  return {};
}

void OpenRows::Abandon() {
  count_ = 0;
  in_unit_ = is_lost_ = false;
  tally_ = {};
}

// A unit of up to kGroupRequestsMax requests may open as many rows as it has requests. A larger
// unit closes rows as it goes.
Outcome OpenRows::BeginUnit() {
  static_assert(model::kOpenRowsMax >= 2 * model::kGroupRequestsMax);
  if (count_ > model::kOpenRowsMax - model::kGroupRequestsMax) {
    const Outcome outcome = CloseAll(ClosedBy::kLimit);
    if (!outcome.ok()) return outcome;
  }
  ++unit_;
  in_unit_ = true;
  is_lost_ = false;
  return {};
}

bool OpenRows::EndUnit(bool keep) {
  in_unit_ = false;
  if (keep) return true;
  for (size_t i = 0; i < count_;) {
    OpenRow& row = *rows_[i];
    if (row.opened_in == unit_) {
      // A row that was read within the unit may be one that the unit has written.
      Drop(i);
      continue;
    }
    if (row.unit == unit_) std::swap(row.now, row.before_unit);
    ++i;
  }
  return !std::exchange(is_lost_, false);
}

OpenRowTally OpenRows::TakeTally() { return std::exchange(tally_, {}); }

}  // namespace rowsocket::engine::server
