// The locks that a turn needs besides those of its tables: those against backups. Also looks
// whether other sessions wait for a table. What all servers do alike is in table_locks.cc, the rest
// in one table_locks.cc for each family.
//
// Threads: the session's.
// Errors: lock_tables, killed; busy or gives way.
#pragma once

#include "engine/server/open_table.h"
#include "engine/server/session_thd.h"
#include "engine/session.h"

namespace rowsocket::engine::server {

/// The outcome of a failed attempt to take a lock.
Outcome LockFailure(SessionThd& thd);

class TableLocks {
 public:
  explicit TableLocks(SessionThd& thd) : thd_(thd) {}

  /// Takes the lock that keeps FLUSH TABLES WITH READ LOCK, BACKUP STAGE and, in MySQL, SET GLOBAL
  /// read_only out, or waits for them.
  Outcome TakeBackupLock(const TABLE& table);
  void ReleaseBackupLocks();

  /// Takes the lock that a commit takes, before a change in a table of an engine without
  /// transactions: the change cannot be taken back, so that its commit must not have to wait. The
  /// lock is taken after that of the table and held no longer than that, because all other commits
  /// of the server may wait for it. Does nothing in MySQL, where every table that is served takes
  /// part in transactions.
  Outcome TakeStatementCommitLock(OpenTable& open);
  void ReleaseStatementCommitLock(OpenTable& open);

  /// Whether a table of the session is out of date, or another session waits for one.
  bool OthersWaitForTables() const;
  /// Closes the tables. REQUIRES: no table is locked.
  void CloseTables();

 private:
  /// `lock`: the lock's own bit in backup_locks_.
  Outcome Take(const MDL_key& key, enum_mdl_type type, unsigned lock);

  SessionThd& thd_;
  unsigned backup_locks_ = 0;  ///< One bit for each kind of lock taken in this turn.
};

}  // namespace rowsocket::engine::server
