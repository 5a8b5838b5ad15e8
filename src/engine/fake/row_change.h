// The effect of single requests on single rows of the in-memory engine.
//
// Threads: pure functions.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/fake/store.h"
#include "engine/fake/table.h"
#include "model/row_sink.h"

namespace rowsocket::engine::fake {

Outcome FailEngine(int number);

/// Sends the cells. Returns false when the reply has reached its limit.
bool Push(const Row& row, const std::vector<uint32_t>& columns, model::RowSink& sink);

/// Whether `key` has all parts of the primary key, and the opened index is the primary key.
bool IsPrimaryKey(const Resolved& resolved, std::span<const model::Value> key);

/// Why this request is not executed on a row in memory; kNone: it is executed there.
NotMergeable WhyNotMerged(const Resolved& resolved, const model::Request& request);

/// Carries out the modification of a find on a row that the find matches. `*counts`: whether the
/// protocol counts the row as changed.
model::Error ModifyRow(const model::Find& find, const std::vector<uint32_t>& columns,
                       model::RowSink& sink, std::optional<Row>* row, bool* counts);

model::Error EditRow(const model::Edit& edit, const TableDefinition& table,
                     const std::vector<uint32_t>& columns, std::optional<Row>* row, bool* counts);

/// Executes a find, perhaps with a modification, on the only row of its key.
Outcome FindOnRow(const Resolved& resolved, const model::Find& find, model::RowSink& sink,
                  std::optional<Row>* row);

}  // namespace rowsocket::engine::fake
