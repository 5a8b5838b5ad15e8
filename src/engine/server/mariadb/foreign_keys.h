// The foreign keys of a table, as its engine tells of them.
//
// Threads: the session's.
#pragma once

#include <string>
#include <vector>

#include "api.h"
#include "engine/server/open_table.h"

namespace rowsocket::engine::server {

/// The foreign keys that refer to the table, and a text that differs when they do. False: out of
/// memory.
bool ListReferences(THD* thd, TABLE* table, List<FOREIGN_KEY_INFO>* keys, std::string* text);

/// Whether other foreign keys refer to a table of this instance than when it was opened. A child
/// that is not open cannot be cascaded to; the engine relies on it.
bool ReferencesChanged(THD* thd, const OpenTable& open);

/// Whether a foreign key of the table, or one that refers to it, has one of these columns.
bool IsInForeignKey(THD* thd, const TABLE& table, const std::vector<uint>& fields);

bool HasForeignKey(THD* thd, const TABLE& table);

}  // namespace rowsocket::engine::server
