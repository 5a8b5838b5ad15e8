#include "engine/server/table_locks.h"

#include "api.h"
#include "engine/server/innodb_read_only.h"
#include "model/error_number.h"

namespace rowsocket::engine::server {

Outcome LockFailure(SessionThd& session) {
  const THD& thd = *session.get();
  Outcome outcome = Outcome::Fail(model::ErrorCode::kLockTables);
  if (IsKilled(thd)) {
    outcome = Outcome::Fail(model::ErrorCode::kKilled);
  } else {
    const uint number = ErrorNumberOf(thd);
    if (number == ER_LOCK_DEADLOCK) outcome.result = Outcome::Result::kGivesWay;
    if (number == ER_LOCK_WAIT_TIMEOUT) outcome.result = Outcome::Result::kBusy;
    auto error = static_cast<int>(number);
    // Where InnoDB takes no writes at all, it says the same as of one table.
    if (error == model::kTableIsReadOnly && InnodbIsReadOnly())
      error = ER_OPTION_PREVENTS_STATEMENT;
    if (model::IsOfReadOnly(error)) outcome.error = model::Error::ServerReadOnly(error);
  }
  session.ClearStatement();
  return outcome;
}

Outcome TableLocks::Take(const MDL_key& key, enum_mdl_type type, unsigned lock) {
  if (backup_locks_ & lock) return {};
  THD* thd = thd_.get();
  MDL_request request;
  MDL_REQUEST_INIT_BY_KEY(&request, &key, type, MDL_STATEMENT);
  if (thd->mdl_context.acquire_lock(&request, thd->variables.lock_wait_timeout)) {
    return LockFailure(thd_);
  }
  backup_locks_ |= lock;
  return {};
}

void TableLocks::ReleaseBackupLocks() {
  if (backup_locks_ == 0) return;
  thd_.get()->mdl_context.release_statement_locks();
  backup_locks_ = 0;
}

void TableLocks::CloseTables() {
  THD* thd = thd_.get();
  close_thread_tables(thd);
  ReleaseTableMetadataLocks(thd);
}

bool TableLocks::OthersWaitForTables() const {
  for (const TABLE* table = thd_.get()->open_tables; table != nullptr; table = table->next) {
    if (IsOutOfDate(*table) ||
        (table->mdl_ticket != nullptr && table->mdl_ticket->has_pending_conflicting_lock())) {
      return true;
    }
  }
  return false;
}

}  // namespace rowsocket::engine::server
