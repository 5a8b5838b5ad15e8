// Reads the facts of an index out of an open table.
//
// Threads: the session's.
#pragma once

#include <vector>

#include "api.h"
#include "engine/facts.h"

namespace rowsocket::engine::server {

/// Whether the column is of one of the five types of integers, which YEAR and BIT are not.
bool IsInteger(const Field& field);

/// The facts of an index and of columns: `key` is one of the table's keys, `fields` are numbers of
/// its columns.
IndexFacts FactsOf(const TABLE& table, const KEY& key, const std::vector<uint>& fields);

}  // namespace rowsocket::engine::server
