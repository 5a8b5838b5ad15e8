#include "engine/server/commit.h"

namespace rowsocket::engine::server {

bool CommitStatement(THD* thd) { return trans_commit_stmt(thd); }

// Where a stock is sold out, turn after turn locks its row and changes nothing. With ids of their
// own, these transactions would have the engine write and flush its log all the time. A turn of a
// session that waits is not given up for that: it may have waited for its locks.
void Committer::Begin(bool writes) {
  THD* thd = thd_.get();
  tables_.SetReadOnly(kLogsTransactionIds && writes && !waits_for_locks_ &&
                      unchanged_turns_ >= kUnchangedTurnsMin);
  // InnoDB reads the isolation level with the first table that the turn locks. Rows are logged, so
  // that writes need no locks on the gaps beside them: a search for a row that is missing delays no
  // insert of another session. The finds of a turn share one view all the same.
  thd->tx_isolation = writes ? ISO_READ_COMMITTED : ISO_REPEATABLE_READ;
  ExpectRegularDurability(thd);
  if (!writes) return;
  // trans_begin() would release the metadata locks of the tables that stay open between turns.
  thd->variables.option_bits |= OPTION_BEGIN;
  thd->server_status |= SERVER_STATUS_IN_TRANS;
  NoteTransactionStart(thd);
}

void Committer::RollbackStatement() { trans_rollback_stmt(thd_.get()); }

void Committer::RollbackTransaction() {
  unchanged_turns_ = 0;
  trans_rollback(thd_.get());
}

}  // namespace rowsocket::engine::server
