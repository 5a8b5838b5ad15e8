// Begins, commits and rolls back the transaction of a turn, as durable as the server is told to be.
// What all servers do alike is in commit.cc, the rest in one commit.cc for each family.
//
// Flow: Begin, statements, then { HoldBackups } Commit or Rollback. Threads: the session's.
// Errors: those that the server left in the diagnostics area.
#pragma once

#include "api.h"
#include "engine/server/session_thd.h"
#include "engine/server/tables.h"
#include "own.h"

namespace rowsocket::engine::server {

class Committer {
 public:
  Committer(SessionThd& thd, Tables& tables) : thd_(thd), tables_(tables) {}

  /// Begins a transaction that writes, or one view for all finds.
  void Begin(bool writes);

  /// Whether other sessions see the rows of the transaction before its log is flushed.
  bool IsSeenBeforeItIsFlushed() const;
  /// Keeps backups from beginning until Commit or Rollback has ended. Waits for a backup that is at
  /// work (BACKUP STAGE BLOCK_COMMIT, FLUSH TABLES WITH READ LOCK), as a commit of SQL does. Where
  /// the lock cannot be had here, the server's commit tries once more, and fails.
  void HoldBackups();
  void LetBackupsGo();

  struct Result {
    bool failed = false;
    bool unknown = false;  ///< The transaction may stand nevertheless, or a replica may lack it.
    /// The binary log has no room for it, or the server cannot leave out what was taken back: it
    /// is rolled back.
    bool too_large = false;
  };
  /// REQUIRES: Begin(true). `must_flush`: a client is told of more than relaxed writes.
  Result Commit(bool must_flush);
  void RollbackStatement();
  void RollbackTransaction();

 private:
  /// Longer than any backup.
  static constexpr unsigned long kLockWaitSeconds = 86400;

  /// Whether the wait for a semi-synchronous replica was ended, and the commit has reported
  /// success. A SQL client does not see that, because the server has shut its socket down.
  bool WasCutOff() const;

  SessionThd& thd_;
  Tables& tables_;
  CommitterOwn own_;
};

/// Ends the statement that is open within the transaction. True when it failed.
bool CommitStatement(THD* thd);

}  // namespace rowsocket::engine::server
