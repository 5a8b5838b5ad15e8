// Reads the facts of an index out of an open table.
//
// Threads: the session's.
#pragma once

#include <vector>

#include "engine/facts.h"
#include "engine/server/mariadb/api.h"

namespace rowsocket::engine::mariadb {

/// `key` is one of the table's keys, `fields` are numbers of its columns.
IndexFacts FactsOf(const TABLE& table, const KEY& key, const std::vector<uint>& fields);

}  // namespace rowsocket::engine::mariadb
