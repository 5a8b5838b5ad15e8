#include "engine/server/commit.h"

#include "wait_hook.h"

namespace rowsocket::engine::server {

// Where the binary log has rows of the transaction, it is prepared, which flushes the engine's log,
// and the binary log is synced, before any other session sees the changes. Of a schema that the
// binary log ignores it has none.
bool Committer::IsSeenBeforeItIsFlushed() const {
  return tables_.has_changed_rows() &&
         (!mysql_bin_log.is_open() || thd_.get()->is_binlog_cache_empty(/*is_transactional=*/true));
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

// While sessions may write, only InnoDB itself copies a table for an ALTER. The server has no list
// of changes for it, so that nothing that was rolled back can be carried out.
bool Committer::HasUndoneChanges() const { return false; }

// FlushSeen flushes InnoDB, the only engine that is served here, so that no list of engines is
// kept.
void Committer::NoteSeen() {}

void Committer::SetWaitsForFlush(bool waits) {
  thd_.get()->durability_property = waits ? HA_REGULAR_DURABILITY : HA_IGNORE_DURABILITY;
}

// A commit may rotate the binary log, which writes to mysql.gtid_executed: canceled as a wait for a
// row is, the wait for a lock there would end the server (binlog_error_action).
bool Committer::EndTransaction() {
  struct Allowed {
    THD* const refusing = WaitHook::AllowWaits();
    ~Allowed() { WaitHook::RefuseWaits(refusing); }
  } allowed;
  return trans_commit(thd_.get());
}

// With true, InnoDB does what innodb_flush_log_at_trx_commit says of a commit.
void Committer::FlushSeen() { innodb_hton->flush_logs(innodb_hton, true); }

// The log's cache has no room for the last events. The server tells no reason there.
bool Committer::HadNoRoom() const { return !thd_.get()->is_error(); }

}  // namespace rowsocket::engine::server
