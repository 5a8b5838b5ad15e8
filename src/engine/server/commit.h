// Begins, commits and rolls back the transaction of a turn, as durable as the server is told to be.
// What all servers do alike is in commit.cc, the rest in one commit.cc for each family.
//
// Flow: Begin, statements, then [ TakeCommitLock ] Commit or Rollback [ ReleaseCommitLock ].
// Threads: the session's.
// Errors: those that the server left in the diagnostics area.
#pragma once

#include "api.h"
#include "engine/server/session_thd.h"
#include "engine/server/tables.h"
#include "own.h"

namespace rowsocket::engine::server {

class Committer {
 public:
  /// `waits_for_locks`: a turn of the session may have waited.
  Committer(SessionThd& thd, Tables& tables, bool waits_for_locks)
      : thd_(thd), tables_(tables), waits_for_locks_(waits_for_locks) {}

  /// Begins a transaction that writes, or one view for all finds. After many turns that could write
  /// and changed nothing the transaction is read only (Tables::is_read_only), until one is rolled
  /// back.
  void Begin(bool writes);

  /// Whether other sessions see the rows of the transaction before its log is flushed.
  bool IsSeenBeforeItIsFlushed() const;
  /// Keeps backups from beginning until ReleaseCommitLock. Waits for a backup that is at work
  /// (BACKUP STAGE BLOCK_COMMIT, FLUSH TABLES WITH READ LOCK), as a commit of SQL does. Where the
  /// lock cannot be had here, the server's commit tries once more, and fails.
  void TakeCommitLock();
  /// The session calls this behind Commit or Rollback, also where the lock was not taken.
  void ReleaseCommitLock();

  struct Result {
    bool failed = false;
    bool unknown = false;  ///< The transaction may stand nevertheless, or a replica may lack it.
    /// The transaction is rolled back, because the binary log has no room for it, or because the
    /// server cannot leave out what was taken back.
    bool too_large = false;
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
  /// Has the server's next commit wait for the flush of its log, or not.
  void SetWaitsForFlush(bool waits);
  /// The server's own commit. True when it failed.
  bool EndTransaction();
  /// Makes what the turn has seen durable, as durable as commits are.
  void FlushSeen();
  /// Whether a commit failed because its log has no room for it. REQUIRES: it was rolled back.
  bool HadNoRoom() const;
  /// Whether the wait for a semi-synchronous replica was ended, and the commit has reported
  /// success. A SQL client does not see that, because the server has shut its socket down.
  bool WasCutOff() const;

  // All families share these:

  /// How long TakeCommitLock, and the server's commit, wait for a lock: longer than any backup
  /// takes.
  static constexpr unsigned long kLockWaitSeconds = 86400;
  /// After how many turns without a change the next is expected to change nothing.
  static constexpr unsigned kUnchangedTurnsMin = 16;

  SessionThd& thd_;
  Tables& tables_;
  const bool waits_for_locks_;
  /// How many turns that could write have changed nothing since the last one that did.
  unsigned unchanged_turns_ = 0;
  CommitterOwn own_;
};

/// Ends the statement that is open within the transaction. True when it failed.
bool CommitStatement(THD* thd);

}  // namespace rowsocket::engine::server
