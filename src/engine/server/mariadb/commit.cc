#include "commit.h"

namespace rowsocket::engine::server {

namespace {

/// Longer than any backup: a commit waits for BACKUP STAGE BLOCK_COMMIT as SQL does.
constexpr ulong kCommitLockWaitSeconds = 86400;

}  // namespace

bool CommitStatement(THD* thd) { return trans_commit_stmt(thd); }

void Committer::Begin(bool writes) {
  THD* thd = thd_.get();
  // InnoDB reads the isolation level with the first table that the turn locks. Rows are logged, so
  // that writes need no locks on the gaps beside them: a search for a row that is missing delays no
  // insert of another session. The finds of a turn share one view all the same.
  thd->tx_isolation = writes ? ISO_READ_COMMITTED : ISO_REPEATABLE_READ;
  if (!writes) return;
  // trans_begin() would release the metadata locks of the tables that stay open between turns.
  thd->variables.option_bits |= OPTION_BEGIN;
  thd->server_status |= SERVER_STATUS_IN_TRANS;
  thd->transaction->start_time.reset(thd);  // For mysql.transaction_registry.
}

// With the binary log on, or several engines, the transaction is prepared, which flushes the
// engine's log, and the binary log is synced, before any other session sees the changes.
bool Committer::IsSeenBeforeItIsFlushed() const {
  if (!tables_.has_changed_rows()) return false;
  if (tables_.has_unlogged_rows()) return true;
  unsigned writers = 0;
  for (const Ha_trx_info* each = thd_.get()->transaction->all.ha_list; each != nullptr;
       each = each->next()) {
    writers += each->is_trx_read_write();
  }
  return writers <= 1;
}

// Takes the lock against backups before the commit. The server's commit then neither takes the lock
// again nor releases it. Where the lock cannot be had here, the server's commit tries once more,
// and fails.
void Committer::HoldBackups() {
  THD* thd = thd_.get();
  thd->variables.lock_wait_timeout = kCommitLockWaitSeconds;
  MDL_REQUEST_INIT(&commit_lock_, MDL_key::BACKUP, "", "", MDL_BACKUP_COMMIT, MDL_EXPLICIT);
  if (thd->mdl_context.acquire_lock(&commit_lock_, thd->variables.lock_wait_timeout)) return;
  thd->backup_commit_lock = &commit_lock_;
}

void Committer::LetBackupsGo() {
  THD* thd = thd_.get();
  if (thd->backup_commit_lock != &commit_lock_) return;
  thd->mdl_context.release_lock(commit_lock_.ticket);
  thd->backup_commit_lock = nullptr;
}

// InnoDB lets go of a row before the commit that wrote it is flushed. A turn that changes something
// flushes that commit with its own. A turn that changes nothing ("not applied", a key that is there
// already) has nothing to flush of its own, and without these notes would be answered too soon.
void Committer::NoteSeen() {
  for (Ha_trx_info* each = thd_.get()->transaction->all.ha_list; each != nullptr;
       each = each->next()) {
    handlerton* const engine = EngineOf(each->ht());
    if (engine != nullptr && engine->flush_logs != nullptr) seen_.push_back(engine);
  }
}

// The engine returns at once where its whole log is flushed already: when a stock is sold out
// nobody writes.
void Committer::FlushSeen() {
  for (handlerton* engine : seen_) FlushLogs(engine, thd_.flush_at_commit());
}

// KILL and shutdown end the wait for a semi-synchronous replica, and the commit reports success. A
// SQL client does not see that, because the server has shut its socket down.
bool Committer::WasCutOff() const { return rpl_semi_sync_master_enabled && thd_.must_end(); }

Committer::Result Committer::Commit(bool must_flush) {
  THD* thd = thd_.get();
  thd->variables.lock_wait_timeout = kCommitLockWaitSeconds;
  seen_.clear();
  if (must_flush && !tables_.has_changed_rows()) NoteSeen();
  // The commit of a system thread waits for the flush. The commit of a NON_SYSTEM_THREAD does not
  // wait where another commit waits for the next flush already; the THD counts the flushes that it
  // is owed, and waits for them when it is destroyed.
  if (!must_flush) thd->system_thread = NON_SYSTEM_THREAD;
  // The commits of a group have their leader's query id, by which replicas tell groups apart.
  thd->set_query_id(next_query_id());
  const ulong rollbacks_before = thd->status_var.ha_rollback_count;
  Result result;
  result.failed = trans_commit(thd);
  thd->system_thread = SYSTEM_THREAD_GENERIC;
  if (!result.failed) FlushSeen();
  // A failed commit that rolled no engine back had been decided: the binary log could not be
  // rotated, for example.
  const bool stays = result.failed && thd->status_var.ha_rollback_count == rollbacks_before;
  result.unknown = stays || (!result.failed && WasCutOff());
  return result;
}

void Committer::RollbackStatement() { trans_rollback_stmt(thd_.get()); }

void Committer::RollbackTransaction() { trans_rollback(thd_.get()); }

}  // namespace rowsocket::engine::server
