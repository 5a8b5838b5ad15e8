// Begins, commits and rolls back the transaction of a turn, as durable as the server is told to be.
//
// Flow: Begin, statements, then { HoldBackups } Commit or Rollback. Threads: the session's.
// Errors: those that the server left in the diagnostics area.
#pragma once

#include <vector>

#include "api.h"
#include "engine/server/tables.h"
#include "worker_thd.h"

namespace rowsocket::engine::server {

class Committer {
 public:
  Committer(WorkerThd& thd, Tables& tables) : thd_(thd), tables_(tables) {}

  /// Begins a transaction that writes, or one view for all finds.
  void Begin(bool writes);

  /// Whether other sessions see the rows of the transaction before its log is flushed.
  bool IsSeenBeforeItIsFlushed() const;
  /// Keeps backups from beginning until Commit or Rollback has ended. Waits for a backup that is at
  /// work.
  void HoldBackups();

  struct Result {
    bool failed = false;
    bool unknown = false;    ///< The transaction may stand nevertheless, or a replica may lack it.
    bool too_large = false;  ///< The binary log has no room for it: it is rolled back.
  };
  /// REQUIRES: Begin(true). `must_flush`: a client is told of more than relaxed writes.
  Result Commit(bool must_flush);
  void RollbackStatement();
  void RollbackTransaction();
  void LetBackupsGo();

 private:
  void NoteSeen();
  void FlushSeen();
  bool WasCutOff() const;

  WorkerThd& thd_;
  Tables& tables_;
  MDL_request commit_lock_;        ///< MDL_BACKUP_COMMIT, from HoldBackups on.
  std::vector<handlerton*> seen_;  ///< The engines whose rows a turn has locked and not changed.
};

/// Ends the statement that is open within the transaction. True when it failed.
bool CommitStatement(THD* thd);

}  // namespace rowsocket::engine::server
