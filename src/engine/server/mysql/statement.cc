#include "statement.h"

#include <algorithm>

#include "engine/server/cluster.h"
#include "engine/server/engine_error.h"
#include "foreign_keys.h"

namespace rowsocket::engine::server {

using model::ErrorCode;

bool HasTriggers(const TABLE& table, int sql_command) {
  if (table.triggers == nullptr) return false;
  const enum_trigger_event_type event = sql_command == SQLCOM_INSERT   ? TRG_EVENT_INSERT
                                        : sql_command == SQLCOM_UPDATE ? TRG_EVENT_UPDATE
                                                                       : TRG_EVENT_DELETE;
  return table.triggers->has_triggers(event, TRG_ACTION_BEFORE) ||
         table.triggers->has_triggers(event, TRG_ACTION_AFTER);
}

namespace {

/// Whether the server would run triggers of a table that cascades change.
bool HasTriggersOfCascades(const OpenTable& open, int sql_command) {
  if (sql_command == SQLCOM_INSERT) return false;
  return std::any_of(open.tables.begin(), open.tables.end(), [&open](const TABLE* table) {
    return table != open.table && table->reginfo.lock_type == TL_WRITE &&
           (HasTriggers(*table, SQLCOM_UPDATE) || HasTriggers(*table, SQLCOM_DELETE));
  });
}

/// Lets the server's checks of foreign keys find the tables that are locked for this statement, and
/// no others that the session has open for the same keys.
void ShowForeignKeyTables(const OpenTable& open, bool show) {
  for (TABLE* table : open.tables) {
    table->open_for_fk_name = show ? table->pos_in_table_list->open_for_fk_name : nullptr;
  }
}

}  // namespace

Outcome Statement::CheckTable(const TABLE& table, int sql_command) {
  if (HasTriggers(table, sql_command)) return Outcome::Fail(ErrorCode::kTrigger);
  return {};
}

bool Statement::LostEvents(const Outcome& outcome) {
  return outcome.error == model::Error::Engine(ER_TRANS_CACHE_FULL) ||
         outcome.error == model::Error::Engine(ER_STMT_CACHE_FULL) ||
         outcome.error == model::Error::Engine(ER_ERROR_ON_WRITE) ||
         outcome.error == model::Error::Engine(HA_ERR_RBR_LOGGING_FAILED);
}

Outcome Statement::Failure(int handler_error) {
  // The error is then the one that follows from giving up, whichever it is.
  if (thd_.TakeBusy()) return Outcome::Fail(ErrorCode::kLockWait);
  model::Error error = handler_error > 0 ? EngineError(handler_error) : thd_.TakeError();
  if (error.ok()) error = {ErrorCode::kInternal};
  if (thd_.killed()) error = {ErrorCode::kKilled};
  return Outcome::Of(error);
}

Outcome Statement::Begin(OpenTable& open, int sql_command) {
  thd_.StartStatement(sql_command);
  THD* thd = thd_.get();
  Outcome outcome = HasTriggersOfCascades(open, sql_command) ? Outcome::Fail(ErrorCode::kTrigger)
                                                             : tables_.Lock(open);
  thd->lock = open.lock;
  if (outcome.ok() &&
      (thd->decide_logging_format(&open.list.front()) != 0 || !RunHookBefore(open))) {
    outcome = ServerFailure();
  }
  if (!outcome.ok()) {
    thd_.ClearStatement();
    return outcome;
  }
  had_changed_rows_ = tables_.has_changed_rows();
  for (TABLE* each : open.tables) {
    each->query_id = thd->query_id;
    // As under LOCK TABLES, this tells the engine where a rollback of this statement goes back to.
    each->file->start_stmt(thd, each->reginfo.lock_type);
    each->default_column_bitmaps();
    each->clear_column_bitmaps();
  }
  ShowForeignKeyTables(open, true);
  return {};
}

// Group replication's hook refuses a session that has a table without a primary key among its open
// tables. While it runs, the session shows the tables of this statement alone: others merely stay
// open.
bool Statement::RunHookBefore(const OpenTable& open) {
  THD* thd = thd_.get();
  TABLE* const all = thd->open_tables;
  nexts_.clear();
  TABLE* first = nullptr;
  mysql_mutex_lock(&thd->LOCK_thd_data);
  for (TABLE* each : open.tables) {
    nexts_.push_back(each->next);
    each->next = first;
    first = each;
  }
  thd->open_tables = first;
  mysql_mutex_unlock(&thd->LOCK_thd_data);
  const bool failed = run_before_dml_hook(thd) != 0;
  mysql_mutex_lock(&thd->LOCK_thd_data);
  for (size_t i = 0; i < nexts_.size(); ++i) open.tables[i]->next = nexts_[i];
  thd->open_tables = all;
  mysql_mutex_unlock(&thd->LOCK_thd_data);
  return !failed;
}

void Statement::SetCommand(int sql_command) {
  thd_.get()->lex->sql_command = static_cast<enum_sql_command>(sql_command);
}

// The order is that of the server's own statements: the other tables of foreign keys first.
int Statement::WriteRow(TABLE* table) {
  THD* thd = thd_.get();
  if (ServerChecksForeignKeys(*table) &&
      check_all_parent_fk_ref(thd, table, enum_fk_dml_type::FK_INSERT)) {
    return ForeignKeyError(*table);
  }
  return Wrote(table->file->ha_write_row(table->record[0]));
}

int Statement::UpdateRow(TABLE* table) {
  THD* thd = thd_.get();
  if (ServerChecksForeignKeys(*table) &&
      (check_all_child_fk_ref(thd, table, enum_fk_dml_type::FK_UPDATE) ||
       check_all_parent_fk_ref(thd, table, enum_fk_dml_type::FK_UPDATE))) {
    return ForeignKeyError(*table);
  }
  return Wrote(table->file->ha_update_row(table->record[1], table->record[0]));
}

int Statement::DeleteRow(TABLE* table) {
  THD* thd = thd_.get();
  if (ServerChecksForeignKeys(*table) &&
      check_all_child_fk_ref(thd, table, enum_fk_dml_type::FK_DELETE)) {
    return ForeignKeyError(*table);
  }
  return Wrote(table->file->ha_delete_row(table->record[0]));
}

// The server forgets the handler's number where a cascade cannot change a row.
int Statement::ForeignKeyError(const TABLE& table) {
  THD* thd = thd_.get();
  if (!thd->is_error()) {
    return thd->transaction_rollback_request ? HA_ERR_LOCK_DEADLOCK : HA_ERR_LOCK_WAIT_TIMEOUT;
  }
  const uint number = thd->get_stmt_da()->mysql_errno();
  const bool is_referenced = number == ER_ROW_IS_REFERENCED || number == ER_ROW_IS_REFERENCED_2;
  // A cascade that was refused half way is taken back with the whole statement.
  if (!is_referenced || ChangesChildren(table)) return kReported;
  thd->clear_error();
  return HA_ERR_ROW_IS_REFERENCED;
}

int Statement::Wrote(int error) {
  if (error == 0) tables_.SetChangedRows(true);
  return error;
}

// Writes the events of this statement out of the pending buffer, with the mark that ends a
// statement. When the log has no room for them, a replica would lack rows.
void Statement::FlushRowEvents(Outcome* outcome) {
  if (!outcome->ok()) return;
  if (thd_.get()->binlog_flush_pending_rows_event(/*stmt_end=*/true, /*is_transactional=*/true)) {
    *outcome = ServerFailure();
  }
}

void Statement::End(OpenTable& open, Outcome* outcome) {
  THD* thd = thd_.get();
  TABLE* table = open.table;
  ShowForeignKeyTables(open, false);
  table->file->ha_index_or_rnd_end();
  table->file->ha_release_auto_increment();
  table->next_number_field = nullptr;
  SetGivesAutoIncrement(*table, false);
  FlushRowEvents(outcome);
  if (outcome->ok() && !tables_.in_unit() && trans_commit_stmt(thd)) {
    *outcome = Cluster::HasRefused(thd)
                   ? Outcome::Make(Outcome::Result::kConflict, {ErrorCode::kDeadlock})
                   : ServerFailure();
  }
  if (LostEvents(*outcome)) outcome->result = Outcome::Result::kTooLarge;
  // The statement itself may have succeeded, but is gone with its transaction: it may run again.
  if (thd->transaction_rollback_request && outcome->ok()) {
    *outcome = Outcome::Make(Outcome::Result::kDeadlock, {ErrorCode::kDeadlock});
  }
  outcome->transaction_lost = thd->transaction_rollback_request ||
                              outcome->result == Outcome::Result::kConflict ||
                              outcome->result == Outcome::Result::kTooLarge;
  // A unit is taken back as a whole, by its own end.
  if (!outcome->ok() && !tables_.in_unit()) {
    trans_rollback_stmt(thd);
    // SQL does the same between statements. Otherwise a handler that has marked the transaction as
    // one that writes would not mark it again, and the commit would leave out its two phases.
    for (TABLE* each : open.tables) each->file->ha_reset();
    tables_.SetChangedRows(had_changed_rows_);
  }
  for (TABLE* each : open.tables) each->cleanup_value_generator_items();
  open.changed = true;
  thd_.ClearStatement();
}

}  // namespace rowsocket::engine::server
