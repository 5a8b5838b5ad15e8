// What the harness has to know of this server.
#pragma once

#include <map>

#include "plugin/contract/table_definition.h"

namespace rowsocket::engine::contract {

// Statements that read it write no rows, while SHOW STATUS writes rows of a temporary table.
inline constexpr char kStatusTable[] = "performance_schema.global_status";

/// The kinds of tables that this server has and another does not. None: the library serves InnoDB's
/// tables alone here, and MySQL has no system versioning.
inline std::map<NotMergeable, TableDefinition> OwnTables() { return {}; }

}  // namespace rowsocket::engine::contract
