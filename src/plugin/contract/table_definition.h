// What makes a table of the contract suite one whose requests are not merged.
#pragma once

#include <string>

#include "engine/session.h"

namespace rowsocket::engine::contract {

/// The columns and indexes of the table after `w`, and its options.
struct TableDefinition {
  std::string more;
  std::string options;
};

}  // namespace rowsocket::engine::contract
