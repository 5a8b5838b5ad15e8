// Which foreign keys change rows of other tables.
//
// Threads: the session's.
#pragma once

#include "api.h"

namespace rowsocket::engine::server {

/// Whether a change of a parent row may change rows of the table that refers to it.
bool ChangesChild(const TABLE_SHARE_FOREIGN_KEY_PARENT_INFO& key);
/// Whether a change of a row of the table may change rows of other tables.
bool ChangesChildren(const TABLE& table);

}  // namespace rowsocket::engine::server
