#include "engine/server/commit.h"

namespace rowsocket::engine::server {

namespace {

/// The engines whose rows a turn has locked and not changed.
void NoteSeen(THD* thd, std::vector<handlerton*>* seen) {
  for (Ha_trx_info* each = thd->transaction->all.ha_list; each != nullptr; each = each->next()) {
    handlerton* const engine = EngineOf(each->ht());
    if (engine != nullptr && engine->flush_logs != nullptr) seen->push_back(engine);
  }
}

}  // namespace

// With the binary log on, or several engines, the transaction is prepared, which flushes the
// engine's log, and the binary log is synced, before any other session sees the changes.
bool Committer::IsSeenBeforeItIsFlushed() const {
  if (!tables_.has_changed_rows()) return false;
  if (tables_.own().has_unlogged_rows()) return true;
  unsigned writers = 0;
  for (const Ha_trx_info* each = thd_.get()->transaction->all.ha_list; each != nullptr;
       each = each->next()) {
    writers += each->is_trx_read_write();
  }
  return writers <= 1;
}

// The server's commit then neither takes the lock again nor releases it.
void Committer::TakeCommitLock() {
  THD* thd = thd_.get();
  thd->variables.lock_wait_timeout = kLockWaitSeconds;
  MDL_REQUEST_INIT(&own_.commit_lock, MDL_key::BACKUP, "", "", MDL_BACKUP_COMMIT, MDL_EXPLICIT);
  if (thd->mdl_context.acquire_lock(&own_.commit_lock, thd->variables.lock_wait_timeout)) return;
  thd->backup_commit_lock = &own_.commit_lock;
}

void Committer::ReleaseCommitLock() {
  THD* thd = thd_.get();
  if (thd->backup_commit_lock != &own_.commit_lock) return;
  thd->mdl_context.release_lock(own_.commit_lock.ticket);
  thd->backup_commit_lock = nullptr;
}

// KILL and shutdown end the wait.
bool Committer::WasCutOff() const { return rpl_semi_sync_master_enabled && thd_.must_end(); }

// InnoDB lets go of a row before the commit that wrote it is flushed. A turn that changes something
// flushes that commit with its own. A turn that changes nothing ("not applied", a key that is there
// already) has nothing to flush of its own, and without `seen` would be answered too soon. The
// engine returns at once where its whole log is flushed already: when a stock is sold out nobody
// writes.
Committer::Result Committer::CommitAsServerDoes(bool must_flush) {
  THD* thd = thd_.get();
  thd->variables.lock_wait_timeout = kLockWaitSeconds;
  own_.seen.clear();
  if (must_flush && !tables_.has_changed_rows()) NoteSeen(thd, &own_.seen);
  // The commit of a system thread waits for the flush. The commit of a NON_SYSTEM_THREAD does not
  // wait where another commit waits for the next flush already; the THD counts the flushes that it
  // is owed, and waits for them when it is destroyed.
  if (!must_flush) thd->system_thread = NON_SYSTEM_THREAD;
  // The commits of a group have their leader's query id, by which replicas tell groups apart.
  thd->set_query_id(next_query_id());
  const ulong rollbacks_before = thd->status_var.ha_rollback_count;
  Result result;
  // Changes that were taken back would come into the table that an ALTER makes. Where others stand
  // beside them, the requests run again, each in a transaction of its own.
  result.too_large = tables_.own().alter_has_undone_rows() && tables_.has_changed_rows();
  if (result.too_large)
    result.failed = true;
  else
    result.failed = tables_.own().alter_has_undone_rows() ? trans_rollback(thd) : trans_commit(thd);
  thd->system_thread = SYSTEM_THREAD_GENERIC;
  if (!result.failed) {
    for (handlerton* engine : own_.seen) FlushLogs(engine, thd_.own().flush_at_commit());
  }
  // A failed commit that rolled no engine back had been decided: the binary log could not be
  // rotated, for example.
  const bool stays =
      result.failed && !result.too_large && thd->status_var.ha_rollback_count == rollbacks_before;
  result.unknown = stays || (!result.failed && WasCutOff());
  return result;
}

}  // namespace rowsocket::engine::server
