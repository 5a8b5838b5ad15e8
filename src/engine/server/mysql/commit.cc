#include "engine/server/commit.h"

#include "wait_hook.h"

namespace rowsocket::engine::server {

// If the binary log gets rows of the transaction, the transaction is prepared, which flushes the
// engine's log, and the binary log is synced, before any other session sees the changes. It gets no
// rows of a schema that it ignores.
bool Committer::IsSeenBeforeItIsFlushed() const {
  return changes_.has_changed_rows() &&
         (!mysql_bin_log.is_open() || thd_.get()->is_binlog_cache_empty(/*is_transactional=*/true));
}

// With this lock held, the server's commit gets its own at once.
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

// Only InnoDB itself copies a table for an ALTER while sessions may write. The server then has no
// list of changes, so that nothing that was rolled back can be carried out.
bool Committer::HasUndoneChanges() const { return false; }

// Nothing to note: FlushSeen flushes InnoDB, the only engine that is served here.
void Committer::NoteSeen() {}

void Committer::SetWaitsForFlush(bool waits) {
  thd_.get()->durability_property = waits ? HA_REGULAR_DURABILITY : HA_IGNORE_DURABILITY;
}

// A commit may rotate the binary log, which writes to mysql.gtid_executed. If the wait for a lock
// there were canceled, as the wait for a row is, the server would end (binlog_error_action).
bool Committer::EndTransaction() {
  struct Allowed {
    THD* const refusing = WaitHook::AllowWaits();
    ~Allowed() { WaitHook::RefuseWaits(refusing); }
  } allowed;
  return trans_commit(thd_.get());
}

// A flush for the binary log's group does what innodb_flush_log_at_trx_commit says about a commit.
void Committer::FlushSeen() { innodb_hton->flush_logs(innodb_hton, /*binlog_group_flush=*/true); }

// If the log's cache has no room for the last events, the server reports no error.
bool Committer::HadNoRoom() const { return !thd_.get()->is_error(); }

}  // namespace rowsocket::engine::server
