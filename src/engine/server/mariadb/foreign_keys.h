// The foreign keys of a table, as its engine tells of them.
//
// Threads: the session's.
#pragma once

#include <string>
#include <vector>

#include "api.h"
#include "engine/server/open_table.h"

namespace rowsocket::engine::server {

/// Lists the foreign keys that refer to the table, and writes a text that differs when they do.
/// False when memory runs out.
bool ListReferences(THD* thd, TABLE* table, List<FOREIGN_KEY_INFO>* keys, std::string* text);

/// Whether the foreign keys that refer to a table of this instance have changed since it was
/// opened. The engine relies on each child being open, and cannot cascade to another one.
bool ReferencesChanged(THD* thd, const OpenTable& open);

/// Whether a foreign key of the table, or one that refers to it, has one of these columns.
bool IsInForeignKey(THD* thd, const TABLE& table, const std::vector<uint>& fields);

bool HasForeignKey(THD* thd, const TABLE& table);

}  // namespace rowsocket::engine::server
