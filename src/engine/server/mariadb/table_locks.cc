#include "engine/server/table_locks.h"

#include "api.h"

namespace rowsocket::engine::server {

Outcome TableLocks::TakeBackupLock(const TABLE& table) {
  static const MDL_key key(MDL_key::BACKUP, "", "");
  return table.s->online_backup ? Take(key, MDL_BACKUP_TRANS_DML, 1u << 0)
                                : Take(key, MDL_BACKUP_DML, 1u << 1);
}

Outcome TableLocks::TakeStatementCommitLock(OpenTable& open) {
  THD* thd = thd_.get();
  MDL_request request;
  MDL_REQUEST_INIT(&request, MDL_key::BACKUP, "", "", MDL_BACKUP_COMMIT, MDL_EXPLICIT);
  if (thd->mdl_context.acquire_lock(&request, thd->variables.lock_wait_timeout)) {
    return LockFailure(thd_);
  }
  open.own.statement_commit_lock = request.ticket;
  return {};
}

void TableLocks::ReleaseStatementCommitLock(OpenTable& open) {
  if (open.own.statement_commit_lock != nullptr)
    thd_.get()->mdl_context.release_lock(open.own.statement_commit_lock);
  open.own.statement_commit_lock = nullptr;
}

}  // namespace rowsocket::engine::server
