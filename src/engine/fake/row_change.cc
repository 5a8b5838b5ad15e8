#include "engine/fake/row_change.h"

#include <algorithm>

#include "base/require.h"

namespace rowsocket::engine::fake {

using model::Decision;
using model::Error;
using model::ErrorCode;
using model::Modification;
using model::Request;

namespace {

constexpr int kOutOfRange = 1264;  // ER_WARN_DATA_OUT_OF_RANGE

bool IsKeyColumn(const TableDefinition& table, uint32_t column) {
  return std::ranges::count(table.indexes.front().columns, column) != 0;
}

}  // namespace

Outcome FailEngine(int number) { return Outcome::Of(Error::Engine(number)); }

bool Push(const Row& row, const std::vector<uint32_t>& columns, model::RowSink& sink) {
  for (const uint32_t column : columns) {
    const Cell& cell = row[column];
    if (!(cell ? sink.Cell(*cell) : sink.NullCell())) return false;
  }
  return true;
}

bool IsPrimaryKey(const Resolved& resolved, std::span<const model::Value> key) {
  const TableDefinition& table = resolved.table->definition;
  const bool has_null = std::any_of(key.begin(), key.end(),
                                    [](const model::Value& value) { return value.is_null(); });
  return resolved.index == &table.indexes.front() && key.size() == resolved.index->columns.size() &&
         !has_null;
}

NotMergeable WhyNotMerged(const Resolved& resolved, const Request& request) {
  if (!request.asks_by_one_key() || !IsPrimaryKey(resolved, request.key())) {
    return NotMergeable::kRequest;
  }
  const TableDefinition& table = resolved.table->definition;
  if (table.permanent) return NotMergeable::kEngine;
  if (table.not_mergeable != NotMergeable::kNone) return table.not_mergeable;
  const Modification modification = request.find.modification;
  if (request.verb == Request::Verb::kEdit || modification == Modification::kNone ||
      modification == Modification::kDelete) {
    return NotMergeable::kNone;
  }
  const auto is_key = [&](uint32_t column) {
    return std::find(resolved.index->columns.begin(), resolved.index->columns.end(), column) !=
           resolved.index->columns.end();
  };
  const bool changes_key = std::any_of(resolved.columns.begin(), resolved.columns.end(), is_key);
  return changes_key ? NotMergeable::kUniqueKey : NotMergeable::kNone;
}

Error ModifyRow(const model::Find& find, const std::vector<uint32_t>& columns, model::RowSink& sink,
                std::optional<Row>* row, bool* counts) {
  *counts = false;
  const bool only_reads = find.modification == Modification::kNone;
  if ((find.wants_before_images || only_reads) && !Push(**row, columns, sink))
    return {ErrorCode::kResultsize, 0};
  if (only_reads || find.modification == Modification::kDelete) {
    if (!only_reads) row->reset();
    *counts = true;
    return {};
  }
  Row changed = **row;
  const Change change = Modify(find, columns, &changed);
  if (change == Change::kOutOfRange) return Error::Engine(kOutOfRange);
  if (change == Change::kLeftAlone) return {};
  *row = std::move(changed);
  *counts = true;
  return {};
}

Error EditRow(const model::Edit& edit, const TableDefinition& table,
              const std::vector<uint32_t>& columns, std::optional<Row>* row, bool* counts) {
  std::vector<model::Value> cells;
  if (*row) {
    for (const uint32_t column : columns) {
      const Cell& cell = (**row)[column];
      cells.push_back(cell ? model::Value(std::string_view(*cell)) : model::Value());
    }
  }
  std::span<const model::CellChange> changes;
  const Decision decision = edit.editor->Decide(cells, &changes);
  if (decision == Decision::kKeep) {
    *counts = false;
    return {};
  }
  const auto changes_key = [&](const model::CellChange& change) {
    return IsKeyColumn(table, columns[change.column]);
  };
  if (edit.keeps_key && std::ranges::any_of(changes, changes_key)) return {ErrorCode::kFld, 0};
  const bool stores = decision == Decision::kStore || decision == Decision::kRenew;
  const bool deletes = decision == Decision::kDelete || decision == Decision::kClear;
  *counts = stores || (deletes && *row);
  if (deletes || decision == Decision::kRenew) row->reset();
  if (!stores) return {};
  Row changed = *row ? **row : Row(table.columns.size());
  if (!*row) {
    const std::vector<uint32_t>& key_columns = table.indexes.front().columns;
    for (size_t i = 0; i < key_columns.size(); ++i) changed[key_columns[i]] = ToCell(edit.key[i]);
  }
  for (const model::CellChange& change : changes) {
    if (change.keeps) continue;
    ROWSOCKET_REQUIRE(!changes_key(change));
    changed[columns[change.column]] = ToCell(change.value);
  }
  *row = std::move(changed);
  return {};
}

Outcome FindOnRow(const Resolved& resolved, const model::Find& find, model::RowSink& sink,
                  std::optional<Row>* row) {
  Outcome outcome;
  Rows rows;
  if (*row) rows[PrimaryKey(resolved.table->definition, **row)] = **row;
  if (Matching(rows, *resolved.index, resolved.filter_columns, find).empty()) return outcome;
  if (find.modification == Modification::kNone) {
    if (!Push(**row, resolved.columns, sink)) return Outcome::Fail(ErrorCode::kResultsize);
    outcome.rows = 1;
    return outcome;
  }
  bool counts = false;
  const Error error = ModifyRow(find, resolved.columns, sink, row, &counts);
  if (!error.ok()) return Outcome::Of(error);
  outcome.rows = counts;
  return outcome;
}

}  // namespace rowsocket::engine::fake
