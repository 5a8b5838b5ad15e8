#include "commit.h"

#include "engine/server/cluster.h"

namespace rowsocket::engine::server {

namespace {

/// Longer than any backup: a commit waits for FLUSH TABLES WITH READ LOCK as SQL does.
constexpr ulong kCommitLockWaitSeconds = 86400;

}  // namespace

bool CommitStatement(THD* thd) { return trans_commit_stmt(thd); }

void Committer::Begin(bool writes) {
  THD* thd = thd_.get();
  // InnoDB reads the isolation level with the first table that the turn locks. Rows are logged, so
  // that writes need no locks on the gaps beside them: a search for a row that is missing delays no
  // insert of another session. The finds of a turn share one view all the same.
  thd->tx_isolation = writes ? ISO_READ_COMMITTED : ISO_REPEATABLE_READ;
  // A group commit of the binary log leaves another value behind.
  thd->durability_property = HA_REGULAR_DURABILITY;
  if (!writes) return;
  // trans_begin() would release the metadata locks of the tables that stay open between turns.
  thd->variables.option_bits |= OPTION_BEGIN;
  thd->server_status |= SERVER_STATUS_IN_TRANS;
}

// With the binary log on, the transaction is prepared, which flushes the engine's log, and the
// binary log is synced, before any other session sees the changes.
bool Committer::IsSeenBeforeItIsFlushed() const {
  return tables_.has_changed_rows() && !mysql_bin_log.is_open();
}

// Takes the lock against FLUSH TABLES WITH READ LOCK before the commit, which then has it at once.
// Where the lock cannot be had here, the server's commit tries once more, and fails.
void Committer::HoldBackups() {
  THD* thd = thd_.get();
  thd->variables.lock_wait_timeout = kCommitLockWaitSeconds;
  MDL_request request;
  MDL_REQUEST_INIT(&request, MDL_key::COMMIT, "", "", MDL_INTENTION_EXCLUSIVE, MDL_EXPLICIT);
  if (!thd->mdl_context.acquire_lock(&request, kCommitLockWaitSeconds)) {
    commit_lock_ = request.ticket;
  }
}

void Committer::LetBackupsGo() {
  if (commit_lock_ == nullptr) return;
  thd_.get()->mdl_context.release_lock(commit_lock_);
  commit_lock_ = nullptr;
}

// Shutdown ends the wait for a semi-synchronous replica, and the commit reports success. A SQL
// client does not see that, because the server has shut its socket down. KILL does not end the
// wait.
bool Committer::WasCutOff() const {
  if (!thd_.must_end() || !ServerStopping()) return false;
  mysql_rwlock_rdlock(&LOCK_system_variables_hash);
  sys_var* const enabled = intern_find_sys_var("rpl_semi_sync_source_enabled", 0);
  const bool waits = enabled != nullptr && *reinterpret_cast<const bool*>(enabled->value_ptr(
                                               thd_.get(), thd_.get(), OPT_GLOBAL, {}));
  mysql_rwlock_unlock(&LOCK_system_variables_hash);
  return waits;
}

// InnoDB lets go of a row before the commit that wrote it is flushed. A turn that changes something
// flushes that commit with its own. A turn that changes nothing ("not applied", a key that is there
// already) has nothing to flush of its own, so that the log is flushed for its answers. The engine
// returns at once where its whole log is flushed already.
Committer::Result Committer::Commit(bool must_flush) {
  THD* thd = thd_.get();
  thd->variables.lock_wait_timeout = kCommitLockWaitSeconds;
  const bool flushes_seen = must_flush && !tables_.has_changed_rows();
  if (!must_flush) thd->durability_property = HA_IGNORE_DURABILITY;
  const ulonglong rollbacks_before = thd->status_var.ha_rollback_count;
  Result result;
  result.failed = trans_commit(thd);
  thd->durability_property = HA_REGULAR_DURABILITY;
  // With true, InnoDB does what innodb_flush_log_at_trx_commit says of a commit.
  if (!result.failed && flushes_seen) innodb_hton->flush_logs(innodb_hton, true);
  // A failed commit that rolled no engine back had been decided: the binary log could not be
  // rotated, for example.
  const bool stays = result.failed && thd->status_var.ha_rollback_count == rollbacks_before;
  result.unknown =
      stays || (!result.failed && WasCutOff()) || (result.failed && Cluster::MayStand(thd));
  // The log's cache has no room for the last events. The server tells no reason there.
  result.too_large = result.failed && !stays && !thd->is_error();
  return result;
}

void Committer::RollbackStatement() { trans_rollback_stmt(thd_.get()); }

void Committer::RollbackTransaction() { trans_rollback(thd_.get()); }

}  // namespace rowsocket::engine::server
