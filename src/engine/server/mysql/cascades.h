// Which foreign keys change rows of the tables that refer to a table, and whether such cascades
// reach triggers, which this library does not run. MySQL runs them in the server, so that a write
// which would reach one is refused.
//
// Threads: the session's.
#pragma once

#include <vector>

#include "api.h"
#include "engine/server/open_table.h"

namespace rowsocket::engine::server {

/// Whether a foreign key with this rule refuses the change of a row that other rows refer to,
/// instead of changing or deleting those.
inline bool RefusesChange(dd::Foreign_key::enum_rule rule) {
  return rule == dd::Foreign_key::RULE_NO_ACTION || rule == dd::Foreign_key::RULE_RESTRICT;
}

/// Whether a change of a parent row may change rows of the table that refers to it.
bool ChangesChild(const TABLE_SHARE_FOREIGN_KEY_PARENT_INFO& key);
/// Whether a change of a row of the table may change rows of other tables.
bool ChangesChildren(const TABLE& table);
/// Whether a write with this SQLCOM_ command may change rows of other tables, or other rows of its
/// own table, for which there are triggers. `columns`: the columns that an update sets.
bool CascadesReachTriggers(const OpenTable& open, int sql_command,
                           const std::vector<uint>& columns);

}  // namespace rowsocket::engine::server
