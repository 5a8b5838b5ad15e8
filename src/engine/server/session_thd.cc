#include "engine/server/session_thd.h"

#include "engine/server/engine_error.h"
#include "engine/server/server_log.h"

namespace rowsocket::engine::server {

bool SessionThd::Create() {
  THD* thd = NewThd();
  thd->thread_stack = reinterpret_cast<char*>(&thd);
  thd->store_globals();
  if (!LayoutMatches(thd)) {
    LogError(
        "the server was built with other options than rowsocket.so, which would misread its data: "
        "build rowsocket.so with the server's own source and options");
    FreeThd(thd);
    return false;
  }
  SetLogging(thd);
  SetTransactions(thd);
  SetThd(thd);
  Enter(thd);
  RefreshVariables();
  ClearStatement();
  FreeStatementMemory();
  return true;
}

void SessionThd::SetThd(THD* thd) {
  const base::MutexLock lock(mutex_);
  thd_ = thd;
}

void SessionThd::SetLogging(THD* thd) {
  thd->variables.option_bits |= OPTION_BIN_LOG;
  // With relaxed unique checks, InnoDB may buffer inserts, and would find a duplicate too late.
  thd->variables.option_bits &=
      ~(OPTION_NOT_AUTOCOMMIT | OPTION_BEGIN | OPTION_RELAXED_UNIQUE_CHECKS);
  thd->variables.binlog_format = BINLOG_FORMAT_ROW;
  thd->set_current_stmt_binlog_format_row();
}

// Ports decide what may be written, so transactions are never read only: the server refuses writes
// of such a transaction when it opens a table, which this library does in its own way, and InnoDB
// would have no rollback segment to write to.
void SessionThd::SetTransactions(THD* thd) {
  SetTransactionVariables(*thd, ISO_REPEATABLE_READ, /*is_read_only=*/false);
  thd->tx_isolation = ISO_REPEATABLE_READ;
  thd->tx_read_only = false;
}

bool SessionThd::RefreshVariables() {
  const auto& global = global_system_variables;
  auto& mine = thd_->variables;
  sql_mode_t mode = global.sql_mode | MODE_STRICT_TRANS_TABLES | MODE_STRICT_ALL_TABLES;
  if (!user_.shows_padding) mode &= ~MODE_PAD_CHAR_TO_FULL_LENGTH;
  Time_zone* const time_zone = global.time_zone;
  bool changed = mine.sql_mode != mode || mine.time_zone != time_zone ||
                 mine.lc_time_names != global.lc_time_names ||
                 mine.default_week_format != global.default_week_format ||
                 mine.div_precincrement != global.div_precincrement ||
                 ((mine.option_bits ^ global.option_bits) & kCheckOptions) != 0;
  mine.sql_mode = mode;
  mine.time_zone = time_zone;
  mine.lc_time_names = global.lc_time_names;
  mine.default_week_format = global.default_week_format;
  mine.div_precincrement = global.div_precincrement;
  mine.max_allowed_packet = global.max_allowed_packet;
  mine.option_bits = (mine.option_bits & ~kCheckOptions) | (global.option_bits & kCheckOptions);
  mine.auto_increment_increment = global.auto_increment_increment;
  mine.auto_increment_offset = global.auto_increment_offset;
  mine.binlog_row_image = global.binlog_row_image;
  changed |= FollowOwnVariables(*thd_);
  RestoreLockWait();
  if (timeouts_.waits_for_rows) FollowRowLockWait();
  return changed;
}

void SessionThd::RefuseWaits(bool refuse) {
  if (!timeouts_.waits_for_rows) return;
  WaitForTables(!refuse);
  RefuseRowWaits(refuse);
}

void SessionThd::StartStatement(int sql_command) {
  own_.BeginStatement();
  thd_->lex->sql_command = static_cast<enum_sql_command>(sql_command);
  if (sql_command == SQLCOM_SELECT) return;
  SetTime();
  thd_->set_current_stmt_binlog_format_row();
  ForgetGivenValues(*thd_);
  SetStrict(true);
}

void SessionThd::ClearStatement() {
  SetStrict(false);
  Diagnostics_area* const area = thd_->get_stmt_da();
  if (area->is_set()) area->reset_diagnostics_area();
  ForgetConditions(*thd_);
  // The server asks for a rollback even when only a further table could not be opened; a session
  // that has really lost its transaction has been told by now.
  thd_->transaction_rollback_request = false;
  thd_->is_fatal_sub_stmt_error = false;
  own_.RestoreDescription(thd_);
}

unsigned long long SessionThd::id() const { return thd_get_thread_id(thd_); }

void SessionThd::Interrupt() {
  const base::MutexLock lock(mutex_);
  if (thd_ != nullptr) KillQuery(*thd_);
}

void SessionThd::WaitForTables(bool waits) {
  thd_->variables.lock_wait_timeout = waits ? timeouts_.table_lock_s : 0;
}

void SessionThd::RestoreLockWait() { thd_->variables.lock_wait_timeout = timeouts_.table_lock_s; }

// The server computes NOW() and similar functions once for each query id.
void SessionThd::SetTime() {
  thd_->set_time();
  thd_->set_query_id(next_query_id());
}

model::Error SessionThd::TakeError() {
  const unsigned number = ErrorNumberOf(*thd_);
  return number == 0 ? model::Error() : EngineError(static_cast<int>(number));
}

bool SessionThd::killed() const { return IsKilled(*thd_); }

}  // namespace rowsocket::engine::server
