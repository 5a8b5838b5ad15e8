// Begins, commits and rolls back the transaction of a turn, with the durability that the server is
// configured for. What all servers do alike is in commit.cc, the rest in one commit.cc for each
// family.
//
// Flow: Begin, statements, then [ TakeCommitLock ] Commit or Rollback [ ReleaseCommitLock ].
// Threads: the session's.
// Errors: those that the server left in the diagnostics area.
#pragma once

#include "api.h"
#include "engine/server/session_thd.h"
#include "engine/server/turn_changes.h"
#include "own.h"

namespace rowsocket::engine::server {

class Committer {
 public:
  /// `waits_for_locks`: a turn of the session may have waited.
  Committer(SessionThd& thd, TurnChanges& changes, bool waits_for_locks)
      : thd_(thd), changes_(changes), waits_for_locks_(waits_for_locks) {}

  /// Begins a transaction that writes, or one view for all finds. After many turns that could write
  /// and changed nothing, transactions are read only (TurnChanges::is_read_only), until one is
  /// rolled back.
  void Begin(bool writes);

  /// Whether other sessions see the rows of the transaction before its log is flushed.
  bool IsSeenBeforeItIsFlushed() const;
  /// Keeps backups from beginning until ReleaseCommitLock. Waits for a backup that is at work
  /// (BACKUP STAGE BLOCK_COMMIT, FLUSH TABLES WITH READ LOCK), as a commit of SQL does. If that
  /// wait fails, the server's commit tries once more, and fails.
  void TakeCommitLock();
  /// Gives the lock back. Call it after Commit or Rollback, even if TakeCommitLock has not got the
  /// lock.
  void ReleaseCommitLock();

  struct Result {
    bool failed = false;
    bool unknown = false;  ///< The transaction may have been committed nevertheless, or a replica
                           ///< may lack it.
    /// The transaction is rolled back, because the binary log has no room for it, or because the
    /// server cannot leave out what was taken back.
    bool must_split = false;
  };
  /// Commits the transaction. `must_flush`: a client is told of more than relaxed writes. REQUIRES:
  /// Begin(true).
  Result Commit(bool must_flush);
  void RollbackStatement();
  void RollbackTransaction();

 private:
  // Each family defines these, and IsSeenBeforeItIsFlushed, TakeCommitLock and ReleaseCommitLock:

  /// Whether the server's commit would carry out changes that were taken back.
  bool HasUndoneChanges() const;
  /// Notes the engines whose rows the turn has locked, for FlushSeen.
  void NoteSeen();
  /// Sets whether the server's next commit waits for the flush of its log.
  void SetWaitsForFlush(bool waits);
  /// Runs the server's own commit. True when it failed.
  bool EndTransaction();
  /// Flushes what the turn has seen, so that it is as durable as a commit.
  void FlushSeen();
  /// Whether a commit failed because its log has no room for it. REQUIRES: it was rolled back.
  bool HadNoRoom() const;
  /// Whether the wait for a semi-synchronous replica was cut off, although the commit has reported
  /// success. (A SQL client does not see such a success, because the server has shut its socket
  /// down.)
  bool WasCutOff() const;

  // All families share these:

  /// How long TakeCommitLock and the server's commit wait for a lock: longer than any backup takes.
  static constexpr unsigned long kLockWaitSeconds = 86400;
  /// After this many turns without a change, the next one is expected to change nothing.
  static constexpr unsigned kUnchangedTurnsMin = 16;

  SessionThd& thd_;
  TurnChanges& changes_;
  const bool waits_for_locks_;
  /// How many turns that could write have changed nothing since the last one that did.
  unsigned unchanged_turns_ = 0;
  CommitterOwn own_;
};

/// Ends the statement that is open within the transaction. True when it failed.
bool CommitStatement(THD* thd);

}  // namespace rowsocket::engine::server
