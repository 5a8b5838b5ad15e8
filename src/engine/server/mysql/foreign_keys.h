// The foreign keys of a table, as its definition tells of them.
//
// Threads: the session's.
#pragma once

#include <vector>

#include "api.h"
#include "engine/server/open_table.h"

namespace rowsocket::engine::server {

/// Whether the foreign keys that refer to a table of this instance have changed since it was
/// opened. They cannot: a change of them waits for the metadata lock of the table that they refer
/// to.
inline bool ReferencesChanged(THD*, const OpenTable&) { return false; }

/// Whether a foreign key of the table, or one that refers to it, may have one of these columns.
bool IsInForeignKey(THD* thd, const TABLE& table, const std::vector<uint>& fields);

/// Whether a change of the row that is referred to may change rows of the table that refers to it.
bool ChangesChild(const TABLE_SHARE_FOREIGN_KEY_PARENT_INFO& key);
/// Whether a change of a row of the table may change rows of others.
bool ChangesChildren(const TABLE& table);

bool HasForeignKey(THD* thd, const TABLE& table);

}  // namespace rowsocket::engine::server
