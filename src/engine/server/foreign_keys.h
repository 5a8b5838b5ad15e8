// The foreign keys of a table. One .cc for each family of servers: MariaDB asks the table's engine,
// MySQL the table's definition.
//
// Threads: the session's.
#pragma once

#include <algorithm>
#include <vector>

#include "api.h"
#include "engine/server/open_table.h"

namespace rowsocket::engine::server {

/// Whether foreign keys that refer to a table of this instance have changed since it was opened.
/// MariaDB's engine can only cascade to children that are open; in MySQL a change of a foreign key
/// waits for the metadata lock of the table that it refers to.
bool ReferencesChanged(THD* thd, const OpenTable& open);

/// Whether one of these columns has the name.
inline bool HasName(const TABLE& table, const std::vector<uint>& fields, const LEX_CSTRING& name) {
  return std::any_of(fields.begin(), fields.end(),
                     [&](uint field) { return HasName(*table.field[field], name); });
}

/// Whether a foreign key of the table, or one that refers to it, may have one of these columns.
bool IsInForeignKey(THD* thd, const TABLE& table, const std::vector<uint>& fields);

/// Whether a delete of a row may delete or change rows that refer to it, as ON DELETE CASCADE and
/// SET NULL do.
bool DeleteReachesChildren(THD* thd, const TABLE& table);

/// Whether the table has a foreign key, or is referred to by one.
bool HasForeignKey(THD* thd, const TABLE& table);

}  // namespace rowsocket::engine::server
