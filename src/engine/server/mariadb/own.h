// What the classes of engine/server keep in MariaDB alone. Each family of servers has such a file, with
// the same classes. Common code calls RestoreDescription; all else is for this folder's files.
#pragma once

#include <vector>

#include "api.h"

namespace rowsocket::engine::server {

class SessionThdOwn {
 public:
  /// Nothing: no function of the server replaces the text of Describe for good.
  void RestoreDescription(THD*) {}
  /// Finds the variable's own place in memory, which stays valid: InnoDB is loaded as long as the
  /// server runs.
  void FindFlushAtCommit(THD* thd);
  /// @@global.innodb_flush_log_at_trx_commit; 1 where the server has no InnoDB.
  unsigned long flush_at_commit() const {
    return flush_at_commit_ != nullptr ? *flush_at_commit_ : 1;
  }

 private:
  const unsigned long* flush_at_commit_ = nullptr;
};

struct CommitterOwn {
  MDL_request commit_lock;        ///< MDL_BACKUP_COMMIT, from TakeBackupLock on.
  std::vector<handlerton*> seen;  ///< The engines whose rows a turn has locked and not changed.
};

}  // namespace rowsocket::engine::server
