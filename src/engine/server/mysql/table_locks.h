// The locks beside those of the tables themselves: against backups, and for sessions that wait for
// a table.
//
// Threads: the session's. Errors: lock_tables, killed; busy or gives way.
#pragma once

#include "engine/server/open_table.h"
#include "engine/session.h"
#include "worker_thd.h"

namespace rowsocket::engine::server {

/// The outcome when a lock could not be had.
Outcome LockFailure(WorkerThd& thd);

class TableLocks {
 public:
  explicit TableLocks(WorkerThd& thd) : thd_(thd) {}

  /// Takes the lock that FLUSH TABLES WITH READ LOCK and SET GLOBAL read_only wait for, or hold.
  Outcome TakeBackupLock(const TABLE& table);
  void ReleaseBackupLocks();

  /// Nothing: every table that is served takes part in transactions.
  Outcome TakeCommitLock(OpenTable&) { return {}; }
  void ReleaseCommitLock(OpenTable&) {}

  /// Whether a table of the session is out of date, or another session waits for one.
  bool SomebodyWaits() const;
  /// REQUIRES: no table is locked.
  void CloseTables();

 private:
  WorkerThd& thd_;
  bool has_backup_lock_ = false;
};

}  // namespace rowsocket::engine::server
