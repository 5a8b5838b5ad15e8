#include "engine/server/commit.h"

#include "engine/server/cluster.h"

namespace rowsocket::engine::server {

bool CommitStatement(THD* thd) { return trans_commit_stmt(thd); }

// When a stock is sold out, turn after turn locks its row and changes nothing. With ids of their
// own, these transactions would make the engine write and flush its log all the time, so they are
// read only. Turns of a session that waits are not: they may have waited for their locks, and would
// lose them when they change a row after all.
void Committer::Begin(bool writes) {
  THD* thd = thd_.get();
  changes_.SetReadOnly(kLogsTransactionIds && writes && !waits_for_locks_ &&
                       unchanged_turns_ >= kUnchangedTurnsMin);
  // InnoDB reads the isolation level with the first table that the turn locks. Because rows are
  // logged, writes need no locks on the gaps next to them: a search for a row that is missing
  // delays no insert of another session. The finds of a turn share one view all the same.
  thd->tx_isolation = writes ? ISO_READ_COMMITTED : ISO_REPEATABLE_READ;
  ExpectRegularDurability(thd);
  if (!writes) return;
  // trans_begin() would release the metadata locks of the tables that stay open between turns.
  thd->variables.option_bits |= OPTION_BEGIN;
  thd->server_status |= SERVER_STATUS_IN_TRANS;
  NoteTransactionStart(thd);
}

// InnoDB lets go of a row before the commit that wrote it is flushed. A turn that changes something
// flushes that commit with its own. A turn that changes nothing ("not applied", a key that exists
// already) has no flush of its own, and would be answered too soon, so the log is flushed for its
// answers. If the whole log is flushed already, as when a stock is sold out and nobody writes, the
// engine returns at once.
Committer::Result Committer::Commit(bool must_flush) {
  const bool changes = changes_.has_changed_rows();
  unchanged_turns_ = changes ? 0 : unchanged_turns_ + 1;
  // The requests run again, each in a transaction of its own.
  if (changes && HasUndoneChanges()) return {.failed = true, .must_split = true};
  THD* thd = thd_.get();
  thd->variables.lock_wait_timeout = kLockWaitSeconds;
  const bool flushes_seen = must_flush && !changes;
  if (flushes_seen) NoteSeen();
  const auto rollbacks_before = thd->status_var.ha_rollback_count;
  Result result;
  SetWaitsForFlush(must_flush);
  result.failed = EndTransaction();
  SetWaitsForFlush(true);
  if (!result.failed) {
    if (flushes_seen) FlushSeen();
    result.unknown = WasCutOff();
    return result;
  }
  // A failed commit that has rolled no engine back may stand: it failed after it was decided,
  // because the binary log could not be rotated, for example.
  const bool stays = thd->status_var.ha_rollback_count == rollbacks_before;
  result.unknown = stays || Cluster::MayStandElsewhere(thd);
  result.must_split = !stays && HadNoRoom();
  return result;
}

void Committer::RollbackStatement() { trans_rollback_stmt(thd_.get()); }

void Committer::RollbackTransaction() {
  unchanged_turns_ = 0;
  trans_rollback(thd_.get());
}

}  // namespace rowsocket::engine::server
