#include "table_locks.h"

namespace rowsocket::engine::server {

Outcome LockFailure(WorkerThd& worker) {
  THD* thd = worker.get();
  Outcome outcome = Outcome::Fail(model::ErrorCode::kLockTables);
  if (thd->killed != NOT_KILLED) {
    outcome = Outcome::Fail(model::ErrorCode::kKilled);
  } else if (thd->is_error()) {
    const uint number = thd->get_stmt_da()->sql_errno();
    if (number == ER_LOCK_DEADLOCK) outcome.result = Outcome::Result::kGivesWay;
    if (number == ER_LOCK_WAIT_TIMEOUT) outcome.result = Outcome::Result::kBusy;
  }
  worker.ClearStatement();
  return outcome;
}

Outcome TableLocks::TakeBackupLock(const TABLE& table) {
  return table.s->online_backup ? Take(MDL_BACKUP_TRANS_DML, 1u << 0)
                                : Take(MDL_BACKUP_DML, 1u << 1);
}

Outcome TableLocks::Take(enum_mdl_type type, unsigned bit) {
  if (backup_locks_ & bit) return {};
  THD* thd = thd_.get();
  MDL_request request;
  MDL_REQUEST_INIT(&request, MDL_key::BACKUP, "", "", type, MDL_STATEMENT);
  if (thd->mdl_context.acquire_lock(&request, thd->variables.lock_wait_timeout)) {
    return LockFailure(thd_);
  }
  backup_locks_ |= bit;
  return {};
}

void TableLocks::ReleaseBackupLocks() {
  if (backup_locks_ == 0) return;
  thd_.get()->mdl_context.release_statement_locks();
  backup_locks_ = 0;
}

Outcome TableLocks::TakeCommitLock(OpenTable& open) {
  THD* thd = thd_.get();
  MDL_request request;
  MDL_REQUEST_INIT(&request, MDL_key::BACKUP, "", "", MDL_BACKUP_COMMIT, MDL_EXPLICIT);
  if (thd->mdl_context.acquire_lock(&request, thd->variables.lock_wait_timeout)) {
    return LockFailure(thd_);
  }
  open.commits = request.ticket;
  return {};
}

void TableLocks::ReleaseCommitLock(OpenTable& open) {
  if (open.commits != nullptr) thd_.get()->mdl_context.release_lock(open.commits);
  open.commits = nullptr;
}

bool TableLocks::SomebodyWaits() const {
  for (TABLE* table = thd_.get()->open_tables; table != nullptr; table = table->next) {
    // needs_reopen() does not tell of FLUSH TABLES and OPTIMIZE.
    if (table->needs_reopen() || table->s->tdc->flushed ||
        (table->mdl_ticket != nullptr && table->mdl_ticket->has_pending_conflicting_lock())) {
      return true;
    }
  }
  return false;
}

void TableLocks::CloseTables() {
  THD* thd = thd_.get();
  close_thread_tables(thd);
  thd->mdl_context.release_transactional_locks(thd);
}

}  // namespace rowsocket::engine::server
