#include "engine/server/table_locks.h"

#include "api.h"

namespace rowsocket::engine::server {

Outcome TableLocks::TakeBackupLock(const TABLE&) {
  static const MDL_key key(MDL_key::GLOBAL, "", "");
  return Take(key, MDL_INTENTION_EXCLUSIVE, 1u << 0);
}

Outcome TableLocks::TakeStatementCommitLock(OpenTable&) { return {}; }
void TableLocks::ReleaseStatementCommitLock(OpenTable&) {}

}  // namespace rowsocket::engine::server
