// The foreign keys that refer to a table, as the table's engine lists them.
//
// Threads: the session's.
#pragma once

#include <string>

#include "api.h"

namespace rowsocket::engine::server {

/// Lists the foreign keys that refer to the table, and writes a text that changes when they change.
/// False when memory runs out.
bool ListReferences(THD* thd, TABLE* table, List<FOREIGN_KEY_INFO>* keys, std::string* text);

}  // namespace rowsocket::engine::server
