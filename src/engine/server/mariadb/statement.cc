#include "engine/server/statement.h"

#include "api.h"
#include "engine/server/cluster.h"
#include "galera.h"

namespace rowsocket::engine::server {

using model::ErrorCode;

// A cascade of InnoDB runs no triggers, whatever columns an update sets.
Outcome Statement::CheckTable(const OpenTable& open, int sql_command, const std::vector<uint>&) {
  const TABLE& table = *open.table;
  if (HasTriggers(table, sql_command)) return Outcome::Fail(ErrorCode::kTrigger);
  if (IsSystemVersioned(table)) return Outcome::Fail(ErrorCode::kVersioned);
  // DEFAULT NEXTVAL(...) would have to write to the sequence's own table.
  if (sql_command == SQLCOM_INSERT && HasSequences(table)) {
    return Outcome::Fail(ErrorCode::kSequence);
  }
  return {};
}

bool Statement::Announce(OpenTable& open) {
  THD* thd = thd_.get();
  if (!AppendChildren(thd, open)) return false;
  // With this mark, an event that cannot be written becomes an incident in the log, not half an
  // event.
  if (!open.rolls_back) thd->lex->set_stmt_accessed_table(LEX::STMT_WRITES_NON_TRANS_TABLE);
  return true;
}

void Statement::PrepareForRows(const OpenTable& open) {
  if (!changes_.in_unit()) Cluster::MarkBegin(thd_.get());
  TABLE* table = open.table;
  table->default_column_bitmaps();
  table->clear_column_bitmaps();
  ForgetGiven(*table);
  table->file->prepare_for_row_logging();
}

int Statement::CheckForeignKeys(TABLE*, int) { return 0; }

void Statement::NoteForCommit(const TABLE& table, bool rolls_back) {
  if (!rolls_back) {
    thd_.get()->transaction->stmt.modified_non_trans_table = true;
    return;
  }
  if (IsCopiedByAlter(table)) changes_.own().NoteRowForAlter();
  if (!table.file->row_logging) changes_.own().NoteUnloggedRows();
}

void Statement::FlushRowEvents(OpenTable& open, Outcome* outcome) {
  THD* thd = thd_.get();
  const bool collects = mysql_bin_log.is_open() || CollectsRowEvents(thd);
  if (!collects || !open.table->file->row_logging) return;
  if (!outcome->ok() && !thd->transaction->stmt.modified_non_trans_table) return;
  const int error = thd->binlog_query(THD::ROW_QUERY_TYPE, "", 0, open.rolls_back,
                                      /*direct=*/false, /*suppress_use=*/false, 0);
  if (error > 0 && outcome->ok()) *outcome = ServerFailure();
}

void Statement::Close(OpenTable& open, Outcome* outcome) {
  handler* const file = open.table->file;
  file->row_logging = file->row_logging_init = false;
  if (open.rolls_back) return;
  outcome->permanent = true;
  tables_.Unlock(open);
  thd_.get()->lex->reset_query_tables_list(/*init=*/false);  // Takes the mark of Announce back.
}

}  // namespace rowsocket::engine::server
