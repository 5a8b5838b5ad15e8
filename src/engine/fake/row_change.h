// What single requests make of single rows of the in-memory engine.
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

/// Sends the cells. False: the reply has reached its limit.
bool Push(const Row& row, const std::vector<uint32_t>& columns, model::RowSink& sink);

/// Whether these are all parts of the primary key, of the index that was opened.
bool IsPrimaryKey(const Resolved& resolved, std::span<const model::Value> key);

/// Why this request is not executed on a row in memory; kNone: it is.
NotMergeable WhyNotMerged(const Resolved& resolved, const model::Request& request);

/// A modification of a row that its find is about. `*counts`: as the protocol counts.
model::Error ModifyRow(const model::Find& find, const std::vector<uint32_t>& columns,
                       model::RowSink& sink, std::optional<Row>* row, bool* counts);

model::Error EditRow(const model::Edit& edit, const TableDefinition& table,
                     const std::vector<uint32_t>& columns, std::optional<Row>* row, bool* counts);

/// A find, with a modification perhaps, where this row is all that there is of its key.
Outcome FindOnRow(const Resolved& resolved, const model::Find& find, model::RowSink& sink,
                  std::optional<Row>* row);

}  // namespace rowsocket::engine::fake
