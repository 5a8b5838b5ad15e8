#include "engine/server/commit.h"

namespace rowsocket::engine::server {

// With the binary log on, or several engines, the transaction is prepared, which flushes the
// engine's log, and the binary log is synced, before any other session sees the changes.
bool Committer::IsSeenBeforeItIsFlushed() const {
  if (!changes_.has_changed_rows()) return false;
  if (changes_.own().has_unlogged_rows()) return true;
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

// KILL and shutdown end the wait for a semi-synchronous replica.
bool Committer::WasCutOff() const { return rpl_semi_sync_master_enabled && thd_.must_end(); }

// A commit gives an ALTER that copies the table all changes that the transaction has noted for it.
bool Committer::HasUndoneChanges() const { return changes_.own().alter_has_undone_rows(); }

void Committer::NoteSeen() {
  own_.seen.clear();
  for (Ha_trx_info* each = thd_.get()->transaction->all.ha_list; each != nullptr;
       each = each->next()) {
    handlerton* const engine = EngineOf(each->ht());
    if (engine != nullptr && engine->flush_logs != nullptr) own_.seen.push_back(engine);
  }
}

// The commit of a system thread waits for the flush. The commit of a NON_SYSTEM_THREAD does not
// wait if another commit already waits for the next flush; the THD counts the flushes for which it
// has still to wait, and does so when it is destroyed.
void Committer::SetWaitsForFlush(bool waits) {
  thd_.get()->system_thread = waits ? SYSTEM_THREAD_GENERIC : NON_SYSTEM_THREAD;
}

// A transaction all of whose changes were undone is rolled back, because a commit would give these
// changes to the ALTER.
bool Committer::EndTransaction() {
  THD* thd = thd_.get();
  // All commits of a group get their leader's query id, by which replicas tell groups apart, so
  // each commit needs an id of its own.
  thd->set_query_id(next_query_id());
  return HasUndoneChanges() ? trans_rollback(thd) : trans_commit(thd);
}

void Committer::FlushSeen() {
  for (handlerton* engine : own_.seen) FlushLogs(engine, thd_.own().flush_at_commit());
}

// Always false: MariaDB reports a full cache of the binary log when the statement writes its rows,
// so that no commit fails for lack of room.
bool Committer::HadNoRoom() const { return false; }

}  // namespace rowsocket::engine::server
