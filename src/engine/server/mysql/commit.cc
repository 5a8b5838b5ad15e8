#include "engine/server/commit.h"

#include "group_member.h"

namespace rowsocket::engine::server {

// With the binary log on, the transaction is prepared, which flushes the engine's log, and the
// binary log is synced, before any other session sees the changes.
bool Committer::IsSeenBeforeItIsFlushed() const {
  return tables_.has_changed_rows() && !mysql_bin_log.is_open();
}

// The server's commit then has the lock at once.
void Committer::TakeCommitLock() {
  THD* thd = thd_.get();
  thd->variables.lock_wait_timeout = kLockWaitSeconds;
  MDL_request request;
  MDL_REQUEST_INIT(&request, MDL_key::COMMIT, "", "", MDL_INTENTION_EXCLUSIVE, MDL_EXPLICIT);
  if (!thd->mdl_context.acquire_lock(&request, kLockWaitSeconds)) {
    own_.commit_lock = request.ticket;
  }
}

void Committer::ReleaseCommitLock() {
  if (own_.commit_lock == nullptr) return;
  thd_.get()->mdl_context.release_lock(own_.commit_lock);
  own_.commit_lock = nullptr;
}

// Shutdown ends the wait, KILL does not.
bool Committer::WasCutOff() const {
  if (!thd_.must_end() || !ServerStopping()) return false;
  return LookAtVariable(thd_.get(), "rpl_semi_sync_source_enabled", OPT_GLOBAL,
                        [](const uchar* place) { return place != nullptr && *place != 0; });
}

// InnoDB lets go of a row before the commit that wrote it is flushed. A turn that changes something
// flushes that commit with its own. A turn that changes nothing ("not applied", a key that is there
// already) has nothing to flush of its own, so that the log is flushed for its answers. The engine
// returns at once where its whole log is flushed already.
Committer::Result Committer::CommitAsServerDoes(bool must_flush) {
  THD* thd = thd_.get();
  thd->variables.lock_wait_timeout = kLockWaitSeconds;
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
      stays || (!result.failed && WasCutOff()) || (result.failed && MayStandInGroup(thd));
  // The log's cache has no room for the last events. The server tells no reason there.
  result.too_large = result.failed && !stays && !thd->is_error();
  return result;
}

}  // namespace rowsocket::engine::server
