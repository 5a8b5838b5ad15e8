#include "engine/server/statement.h"

#include "api.h"
#include "engine/server/cluster.h"

namespace rowsocket::engine::server {

using model::ErrorCode;

Outcome Statement::CheckTable(const OpenTable& open, int sql_command) {
  const TABLE& table = *open.table;
  if (HasTriggers(table, sql_command)) return Outcome::Fail(ErrorCode::kTrigger);
  if (table.versioned()) return Outcome::Fail(ErrorCode::kVersioned);
  // DEFAULT NEXTVAL(...) would have to write to the sequence's own table.
  if (sql_command == SQLCOM_INSERT && table.internal_tables != nullptr) {
    return Outcome::Fail(ErrorCode::kSequence);
  }
  return {};
}

Outcome Statement::Begin(OpenTable& open, int sql_command) {
  thd_.StartStatement(sql_command);
  THD* thd = thd_.get();
  Outcome outcome = tables_.Lock(open);
  if (outcome.ok() && !Cluster::AppendChildren(thd, open)) outcome = ServerFailure();
  if (!outcome.ok()) {
    thd_.ClearStatement();
    return outcome;
  }
  TABLE* table = open.table;
  had_changed_rows_ = tables_.has_changed_rows();
  thd->lock = open.lock;
  // With this mark, an event that cannot be written becomes an incident in the log, not half an
  // event.
  if (!open.rolls_back) thd->lex->set_stmt_accessed_table(LEX::STMT_WRITES_NON_TRANS_TABLE);
  for (TABLE* each : open.tables) {
    each->query_id = thd->query_id;
    // As under LOCK TABLES, this tells the engine where a rollback of this statement goes back to.
    if (open.rolls_back) each->file->start_stmt(thd, each->reginfo.lock_type);
    BeginStatementOfIndexBeside(thd, each);
  }
  if (!tables_.in_unit()) Cluster::MarkBegin(thd);
  table->default_column_bitmaps();
  table->clear_column_bitmaps();
  table->reset_default_fields();
  table->file->prepare_for_row_logging();
  return {};
}

int Statement::WriteRow(TABLE* table) {
  return Wrote(*table, table->file->ha_write_row(table->record[0]));
}

int Statement::UpdateRow(TABLE* table) {
  return Wrote(*table, table->file->ha_update_row(table->record[1], table->record[0]));
}

int Statement::DeleteRow(TABLE* table) {
  return Wrote(*table, table->file->ha_delete_row(table->record[0]));
}

int Statement::Wrote(const TABLE& table, int error) {
  if (error != 0) return error;
  if (!RollsBack(table)) {
    thd_.get()->transaction->stmt.modified_non_trans_table = true;
    return 0;
  }
  tables_.SetChangedRows(true);
  if (!table.file->row_logging) tables_.NoteUnloggedRows();
  return 0;
}

// Writes the events of this statement out of the pending buffer, with the mark that ends a
// statement.
void Statement::FlushRowEvents(OpenTable& open, Outcome* outcome) {
  THD* thd = thd_.get();
  const bool collects = mysql_bin_log.is_open() || Cluster::CollectsRowEvents(thd);
  if (!collects || !open.table->file->row_logging) return;
  if (!outcome->ok() && !thd->transaction->stmt.modified_non_trans_table) return;
  const int error = thd->binlog_query(THD::ROW_QUERY_TYPE, "", 0, open.rolls_back,
                                      /*direct=*/false, /*suppress_use=*/false, 0);
  if (error > 0 && outcome->ok()) *outcome = ServerFailure();
}

void Statement::End(OpenTable& open, Outcome* outcome) {
  THD* thd = thd_.get();
  TABLE* table = open.table;
  table->file->ha_index_or_rnd_end();
  table->file->ha_release_auto_increment();
  table->next_number_field = nullptr;
  table->auto_increment_field_not_null = false;
  FlushRowEvents(open, outcome);
  if (outcome->ok() && !tables_.in_unit() && trans_commit_stmt(thd)) *outcome = ServerFailure();
  if (LostEvents(*outcome)) outcome->result = Outcome::Result::kTooLarge;
  // The statement itself may have succeeded, but is gone with its transaction: it may run again.
  if (thd->transaction_rollback_request && outcome->ok()) {
    *outcome = Outcome::Make(Outcome::Result::kDeadlock, {ErrorCode::kDeadlock});
  }
  outcome->transaction_lost =
      thd->transaction_rollback_request || outcome->result == Outcome::Result::kTooLarge;
  // A unit is taken back as a whole, by its own end.
  if (!outcome->ok() && !tables_.in_unit()) {
    trans_rollback_stmt(thd);
    // SQL does the same between statements. Otherwise a handler that has marked the transaction as
    // one that writes would not mark it again, and the commit would leave out its two phases.
    for (TABLE* each : open.tables) each->file->ha_reset();
    tables_.SetChangedRows(had_changed_rows_);
  }
  table->file->row_logging = table->file->row_logging_init = false;
  open.changed = true;
  if (!open.rolls_back) {
    outcome->permanent = true;
    tables_.Unlock(open);
    thd->lex->reset_query_tables_list(/*init=*/false);  // Takes back the mark of Begin.
  }
  thd_.ClearStatement();
}

}  // namespace rowsocket::engine::server
