#include "engine/server/statement.h"

#include <algorithm>
#include <vector>

#include "cascades.h"
#include "engine/server/cluster.h"

namespace rowsocket::engine::server {

using model::ErrorCode;

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

// Group replication's hook refuses a session that has a table without a primary key among its open
// tables. While it runs, the session shows the tables of this statement alone: others merely stay
// open.
bool RunHookBefore(THD* thd, const OpenTable& open, std::vector<TABLE*>* nexts) {
  TABLE* const all = thd->open_tables;
  nexts->clear();
  TABLE* first = nullptr;
  mysql_mutex_lock(&thd->LOCK_thd_data);
  for (TABLE* each : open.tables) {
    nexts->push_back(each->next);
    each->next = first;
    first = each;
  }
  thd->open_tables = first;
  mysql_mutex_unlock(&thd->LOCK_thd_data);
  const bool failed = run_before_dml_hook(thd) != 0;
  mysql_mutex_lock(&thd->LOCK_thd_data);
  for (size_t i = 0; i < nexts->size(); ++i) open.tables[i]->next = (*nexts)[i];
  thd->open_tables = all;
  mysql_mutex_unlock(&thd->LOCK_thd_data);
  return !failed;
}

// The server forgets the handler's number where a cascade cannot change a row.
int ForeignKeyError(THD* thd, const TABLE& table) {
  if (!thd->is_error()) {
    return thd->transaction_rollback_request ? HA_ERR_LOCK_DEADLOCK : HA_ERR_LOCK_WAIT_TIMEOUT;
  }
  const uint number = thd->get_stmt_da()->mysql_errno();
  const bool is_referenced = number == ER_ROW_IS_REFERENCED || number == ER_ROW_IS_REFERENCED_2;
  // A cascade that was refused half way is taken back with the whole statement.
  if (!is_referenced || ChangesChildren(table)) return Statement::kReported;
  thd->clear_error();
  return HA_ERR_ROW_IS_REFERENCED;
}

}  // namespace

Outcome Statement::CheckTable(const OpenTable& open, int sql_command) {
  const bool has_triggers =
      HasTriggers(*open.table, sql_command) || HasTriggersOfCascades(open, sql_command);
  return has_triggers ? Outcome::Fail(ErrorCode::kTrigger) : Outcome();
}

Outcome Statement::Begin(OpenTable& open, int sql_command) {
  thd_.StartStatement(sql_command);
  THD* thd = thd_.get();
  Outcome outcome = tables_.Lock(open);
  thd->lock = open.lock;
  if (outcome.ok() && (thd->decide_logging_format(&open.list.front()) != 0 ||
                       !RunHookBefore(thd, open, &thd_.own().nexts))) {
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

// The order is that of the server's own statements: the other tables of foreign keys first.
int Statement::WriteRow(TABLE* table) {
  THD* thd = thd_.get();
  if (ServerChecksForeignKeys(*table) &&
      check_all_parent_fk_ref(thd, table, enum_fk_dml_type::FK_INSERT)) {
    return ForeignKeyError(thd, *table);
  }
  return Wrote(*table, table->file->ha_write_row(table->record[0]));
}

int Statement::UpdateRow(TABLE* table) {
  THD* thd = thd_.get();
  if (ServerChecksForeignKeys(*table) &&
      (check_all_child_fk_ref(thd, table, enum_fk_dml_type::FK_UPDATE) ||
       check_all_parent_fk_ref(thd, table, enum_fk_dml_type::FK_UPDATE))) {
    return ForeignKeyError(thd, *table);
  }
  return Wrote(*table, table->file->ha_update_row(table->record[1], table->record[0]));
}

int Statement::DeleteRow(TABLE* table) {
  THD* thd = thd_.get();
  if (ServerChecksForeignKeys(*table) &&
      check_all_child_fk_ref(thd, table, enum_fk_dml_type::FK_DELETE)) {
    return ForeignKeyError(thd, *table);
  }
  return Wrote(*table, table->file->ha_delete_row(table->record[0]));
}

int Statement::Wrote(const TABLE&, int error) {
  if (error == 0) tables_.SetChangedRows(true);
  return error;
}

// Writes the events of this statement out of the pending buffer, with the mark that ends a
// statement. When the log has no room for them, a replica would lack rows.
void Statement::FlushRowEvents(OpenTable&, Outcome* outcome) {
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
  FlushRowEvents(open, outcome);
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
