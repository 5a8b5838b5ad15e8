// What the harness has to know of this server.
#pragma once

#include <map>

#include "plugin/contract/table_definition.h"

namespace rowsocket::engine::contract {

inline constexpr char kStatusTable[] = "information_schema.GLOBAL_STATUS";

/// The kinds of tables that this server has and another does not.
inline std::map<NotMergeable, TableDefinition> OwnTables() {
  return {{NotMergeable::kEngine, {"", "ENGINE=MyISAM"}},
          {NotMergeable::kVersioned, {"", "WITH SYSTEM VERSIONING"}}};
}

}  // namespace rowsocket::engine::contract
