#include "table_locks.h"

namespace rowsocket::engine::server {

Outcome LockFailure(WorkerThd& worker) {
  THD* thd = worker.get();
  Outcome outcome = Outcome::Fail(model::ErrorCode::kLockTables);
  if (IsKilled(*thd)) {
    outcome = Outcome::Fail(model::ErrorCode::kKilled);
  } else if (thd->is_error()) {
    const uint number = thd->get_stmt_da()->mysql_errno();
    if (number == ER_LOCK_DEADLOCK) outcome.result = Outcome::Result::kGivesWay;
    if (number == ER_LOCK_WAIT_TIMEOUT) outcome.result = Outcome::Result::kBusy;
  }
  worker.ClearStatement();
  return outcome;
}

Outcome TableLocks::TakeBackupLock(const TABLE&) {
  if (has_backup_lock_) return {};
  THD* thd = thd_.get();
  MDL_request request;
  MDL_REQUEST_INIT(&request, MDL_key::GLOBAL, "", "", MDL_INTENTION_EXCLUSIVE, MDL_STATEMENT);
  if (thd->mdl_context.acquire_lock(&request, thd->variables.lock_wait_timeout)) {
    return LockFailure(thd_);
  }
  has_backup_lock_ = true;
  return {};
}

void TableLocks::ReleaseBackupLocks() {
  if (!has_backup_lock_) return;
  thd_.get()->mdl_context.release_statement_locks();
  has_backup_lock_ = false;
}

bool TableLocks::SomebodyWaits() const {
  for (TABLE* table = thd_.get()->open_tables; table != nullptr; table = table->next) {
    if (table->s->has_old_version() || table->has_invalid_dict() || table->has_invalid_stats() ||
        (table->mdl_ticket != nullptr && table->mdl_ticket->has_pending_conflicting_lock())) {
      return true;
    }
  }
  return false;
}

void TableLocks::CloseTables() {
  THD* thd = thd_.get();
  close_thread_tables(thd);
  thd->mdl_context.release_transactional_locks();
}

}  // namespace rowsocket::engine::server
