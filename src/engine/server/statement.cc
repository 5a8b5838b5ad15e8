#include "engine/server/statement.h"

#include "api.h"
#include "engine/server/cluster.h"
#include "engine/server/engine_error.h"
#include "engine/server/new_row.h"

namespace rowsocket::engine::server {

using model::ErrorCode;

bool HasTriggers(const TABLE& table, int sql_command) {
  if (table.triggers == nullptr) return false;
  const TriggerEvent event = sql_command == SQLCOM_INSERT   ? TRG_EVENT_INSERT
                             : sql_command == SQLCOM_UPDATE ? TRG_EVENT_UPDATE
                                                            : TRG_EVENT_DELETE;
  return table.triggers->has_triggers(event, TRG_ACTION_BEFORE) ||
         table.triggers->has_triggers(event, TRG_ACTION_AFTER);
}

bool Statement::LostEvents(const Outcome& outcome) {
  return outcome.error == model::Error::Engine(ER_TRANS_CACHE_FULL) ||
         outcome.error == model::Error::Engine(ER_STMT_CACHE_FULL) ||
         outcome.error == model::Error::Engine(ER_ERROR_ON_WRITE) ||
         outcome.error == model::Error::Engine(HA_ERR_RBR_LOGGING_FAILED);
}

Outcome Statement::Failure(int handler_error) {
  // Whatever error the THD has, it is a consequence of giving up.
  if (thd_.TakeBusy()) return Outcome::Fail(ErrorCode::kLockWait);
  model::Error error = handler_error != kReported ? EngineError(handler_error) : thd_.TakeError();
  if (error.ok()) error = {ErrorCode::kInternal};
  const Outcome outcome = Outcome::Of(error);
  // After lost events, or a deadlock in Galera, the row may have been changed all the same.
  const bool may_be_changed = LostEvents(outcome) || error.code == ErrorCode::kDeadlock;
  return thd_.killed() && !may_be_changed ? Outcome::Fail(ErrorCode::kKilled) : outcome;
}

Outcome Statement::Begin(OpenTable& open, int sql_command) {
  thd_.StartStatement(sql_command);
  THD* thd = thd_.get();
  Outcome outcome = tables_.Lock(open);
  if (outcome.ok()) {
    thd->lock = open.lock;
    if (!Announce(open)) outcome = ServerFailure();
  }
  if (!outcome.ok()) {
    thd_.ClearStatement();
    return outcome;
  }
  had_changed_rows_ = changes_.has_changed_rows();
  has_changed_rows_ = false;
  if (!changes_.in_unit()) changes_.own().BeginChanges();
  for (TABLE* each : open.tables) {
    each->query_id = thd->query_id;
    // Under LOCK TABLES, too, this tells the engine where a rollback of this statement goes back
    // to.
    if (open.rolls_back) each->file->start_stmt(thd, each->reginfo.lock_type);
    BeginStatementOfVectorIndexTable(thd, each);
  }
  PrepareForRows(open);
  // Tables of a transaction that is read only could be neither opened nor locked for writing.
  // InnoDB asks when the first row is read.
  thd->tx_read_only = changes_.is_read_only();
  return {};
}

int Statement::RefuseChange(TABLE* table, int sql_command) {
  if (!changes_.is_read_only()) [[likely]]
    return CheckForeignKeys(table, sql_command);
  thd_.get()->transaction_rollback_request = true;
  return HA_ERR_LOCK_DEADLOCK;
}

int Statement::WriteRow(TABLE* table) {
  const int refused = RefuseChange(table, SQLCOM_INSERT);
  if (refused != 0) return refused;
  return NoteWrite(*table, table->file->ha_write_row(table->record[0]));
}

int Statement::UpdateRow(TABLE* table) {
  const int refused = RefuseChange(table, SQLCOM_UPDATE);
  if (refused != 0) return refused;
  return NoteWrite(*table, table->file->ha_update_row(table->record[1], table->record[0]));
}

int Statement::DeleteRow(TABLE* table) {
  const int refused = RefuseChange(table, SQLCOM_DELETE);
  if (refused != 0) return refused;
  return NoteWrite(*table, table->file->ha_delete_row(table->record[0]));
}

int Statement::NoteWrite(const TABLE& table, int error) {
  if (error != 0) return error;
  has_changed_rows_ = true;
  const bool rolls_back = RollsBack(table);
  if (rolls_back) changes_.SetChangedRows(true);
  NoteForCommit(table, rolls_back);
  return 0;
}

bool Statement::NoteFullTextChange(const OpenTable& open, const Outcome& outcome) {
  if (!open.has_full_text || !has_changed_rows_) return false;
  const bool is_taken_back = !outcome.ok() && !changes_.in_unit();
  if (!is_taken_back) changes_.CountFullTextChange();
  return is_taken_back && changes_.has_full_text_changes();
}

void Statement::End(OpenTable& open, Outcome* outcome) {
  THD* thd = thd_.get();
  thd->tx_read_only = false;
  TABLE* table = open.table;
  table->file->ha_index_or_rnd_end();
  table->file->ha_release_auto_increment();
  NewRow::EndInsert(table);
  FlushRowEvents(open, outcome);
  if (outcome->ok() && !changes_.in_unit() && trans_commit_stmt(thd)) {
    *outcome = Cluster::ConflictOf(thd);
    if (outcome->ok()) *outcome = ServerFailure();
  }
  const bool loses_full_text_changes = NoteFullTextChange(open, *outcome);
  const bool runs_again = loses_full_text_changes && outcome->result == Outcome::Result::kFailed &&
                          outcome->error.code != ErrorCode::kKilled;
  if (LostEvents(*outcome) || runs_again) outcome->result = Outcome::Result::kMustSplit;
  // The statement itself may have succeeded, but is gone with its transaction: it may run again.
  if (thd->transaction_rollback_request && outcome->ok()) {
    *outcome = Outcome::Make(Outcome::Result::kDeadlock, {ErrorCode::kDeadlock});
  }
  outcome->transaction_lost = thd->transaction_rollback_request || loses_full_text_changes ||
                              outcome->result == Outcome::Result::kConflict ||
                              outcome->result == Outcome::Result::kMustSplit;
  // A unit is taken back as a whole, by its own end.
  if (!outcome->ok() && !changes_.in_unit()) {
    trans_rollback_stmt(thd);
    // SQL does the same between statements. Otherwise a handler that has marked the transaction as
    // one that writes would not mark it again, and the commit would leave out its two phases.
    for (TABLE* each : open.tables) each->file->ha_reset();
    changes_.own().TakeBackChanges();
    changes_.SetChangedRows(had_changed_rows_);
  }
  open.changed = true;
  // A query id of 0 gives the tables back: the server takes a table with a query id for one that a
  // statement uses, and refuses cascades that reach it.
  for (TABLE* each : open.tables) each->query_id = 0;
  Close(open, outcome);
  thd_.ClearStatement();
}

void Statement::SetCommand(int sql_command) {
  thd_.get()->lex->sql_command = static_cast<enum_sql_command>(sql_command);
}

}  // namespace rowsocket::engine::server
