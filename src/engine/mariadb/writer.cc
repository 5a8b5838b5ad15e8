#include "engine/mariadb/writer.h"

#include <cstring>
#include <string>
#include <unordered_set>

#include "engine/mariadb/arithmetic.h"

namespace rowsocket::engine::mariadb {

using model::ErrorCode;
using model::Modification;

namespace {

int SqlCommand(const model::Request& request) {
  if (request.verb == model::Request::Verb::kInsert) return SQLCOM_INSERT;
  return request.find.modification == Modification::kDelete ? SQLCOM_DELETE : SQLCOM_UPDATE;
}

}  // namespace

Outcome Writer::Failure(int handler_error) {
  Outcome outcome;
  outcome.error = handler_error != 0 ? EngineError(handler_error) : thd_.TakeError();
  if (outcome.error.ok()) outcome.error = model::Error::Engine(HA_ERR_GENERIC);
  if (thd_.killed()) outcome.error = model::Error{ErrorCode::kKilled, 0};
  return outcome;
}

/// The statement itself went well, and is gone with the transaction: it may run again.
Outcome Writer::LostTransaction() {
  Outcome outcome;
  outcome.error = model::Error::Engine(HA_ERR_LOCK_DEADLOCK);
  outcome.transaction_lost = true;
  return outcome;
}

Outcome Writer::CheckTable(const OpenTable& open, int sql_command) const {
  TABLE* table = open.table;
  if (table->triggers != nullptr) {
    const trg_event_type event = sql_command == SQLCOM_INSERT   ? TRG_EVENT_INSERT
                                 : sql_command == SQLCOM_UPDATE ? TRG_EVENT_UPDATE
                                                                : TRG_EVENT_DELETE;
    if (table->triggers->has_triggers(event, TRG_ACTION_BEFORE) ||
        table->triggers->has_triggers(event, TRG_ACTION_AFTER)) {
      return Outcome::Fail(ErrorCode::kTrigger);
    }
  }
  if (table->versioned()) return Outcome::Fail(ErrorCode::kVersioned);
  // DEFAULT NEXTVAL(...) would have to write to the sequence's own table.
  if (sql_command == SQLCOM_INSERT && table->internal_tables != nullptr) {
    return Outcome::Fail(ErrorCode::kSequence);
  }
  return {};
}

Outcome Writer::Execute(MariaIndex& index, const model::Request& request, model::RowSink& sink) {
  if (request.verb == model::Request::Verb::kEdit) return Outcome::Fail(ErrorCode::kNotimpl);
  OpenTable* open = nullptr;
  Outcome outcome = index.ResolveForWrite(tables_, &open);
  if (!outcome.ok()) return outcome;
  const int sql_command = SqlCommand(request);
  outcome = CheckTable(*open, sql_command);
  if (!outcome.ok()) return outcome;
  thd_.StartStatement(sql_command);
  outcome = tables_.Lock(*open);
  if (outcome.ok()) {
    BeginStatement(*open);
    outcome = request.verb == model::Request::Verb::kInsert
                  ? Insert(*open, index, request.insert)
                  : Modify(*open, index, request.find, sink);
    EndStatement(*open, &outcome);
  }
  thd_.ClearStatement();
  return outcome;
}

void Writer::BeginStatement(OpenTable& open) {
  THD* thd = thd_.get();
  TABLE* table = open.table;
  thd->lock = open.lock;
  for (TABLE* each : open.tables) {
    each->query_id = thd->query_id;
    // As under LOCK TABLES: tells the engine where a rollback of this statement goes back to.
    if (open.rolls_back) each->file->start_stmt(thd, each->reginfo.lock_type);
  }
  table->default_column_bitmaps();
  table->clear_column_bitmaps();
  table->reset_default_fields();
  table->file->prepare_for_row_logging();
}

// The events of this statement leave the pending buffer with the mark that ends a statement.
void Writer::FlushRowEvents(OpenTable& open, Outcome* outcome) {
  THD* thd = thd_.get();
  if (!mysql_bin_log.is_open() || !open.table->file->row_logging) return;
  if (!outcome->ok() && !thd->transaction->stmt.modified_non_trans_table) return;
  const int error = thd->binlog_query(THD::ROW_QUERY_TYPE, "", 0, open.rolls_back,
                                      /*direct=*/false, /*suppress_use=*/false, 0);
  if (error > 0 && outcome->ok()) *outcome = ServerFailure();
}

void Writer::EndStatement(OpenTable& open, Outcome* outcome) {
  THD* thd = thd_.get();
  TABLE* table = open.table;
  table->file->ha_index_or_rnd_end();
  table->file->ha_release_auto_increment();
  table->next_number_field = nullptr;
  table->auto_increment_field_not_null = false;
  FlushRowEvents(open, outcome);
  if (outcome->ok() && trans_commit_stmt(thd)) *outcome = ServerFailure();
  outcome->too_large = outcome->error == model::Error::Engine(ER_TRANS_CACHE_FULL);
  outcome->transaction_lost = thd->transaction_rollback_request || outcome->too_large;
  if (outcome->transaction_lost && outcome->ok()) *outcome = LostTransaction();
  if (!outcome->ok()) trans_rollback_stmt(thd);
  table->file->row_logging = table->file->row_logging_init = false;
  open.changed = true;
  if (open.rolls_back) return;
  outcome->permanent = true;
  tables_.Unlock(open);
}

Outcome Writer::Insert(OpenTable& open, MariaIndex& index, const model::Insert& insert) {
  THD* thd = thd_.get();
  TABLE* table = open.table;
  const std::vector<uint>& fields = index.column_fields();
  const size_t given = std::min(fields.size(), insert.values.size());
  for (size_t i = 0; i < given; ++i) bitmap_set_bit(table->write_set, fields[i]);
  bitmap_set_all(table->read_set);
  if (table->file->prepare_for_insert(1)) return ServerFailure();
  table->next_number_field = table->found_next_number_field;
  table->mark_columns_needed_for_insert();
  if (check_that_all_fields_are_given_values(thd, table, table->pos_in_table_list) ||
      table->validate_default_values_of_unset_fields(thd)) {
    return ServerFailure();
  }
  restore_record(table, s->default_values);
  table->reset_default_fields();
  for (size_t i = 0; i < given; ++i) {
    if (!StoreCell(thd, table->field[fields[i]], insert.values[i])) return ServerFailure();
  }
  if ((table->default_field != nullptr && table->update_default_fields(false)) ||
      (table->vfield != nullptr &&
       table->update_virtual_fields(table->file, VCOL_UPDATE_FOR_WRITE)) ||
      thd->is_error() || table->verify_constraints(false) != VIEW_CHECK_OK) {
    return ServerFailure();
  }
  const int error = table->file->ha_write_row(table->record[0]);
  if (error != 0) return Failure(error);
  Outcome outcome;
  outcome.rows = 1;
  outcome.has_insert_id = table->found_next_number_field != nullptr;
  outcome.insert_id = table->file->insert_id_for_cur_row;
  return outcome;
}

void Writer::PrepareModify(OpenTable& open, MariaIndex& index, const model::Find& find) {
  TABLE* table = open.table;
  bitmap_set_all(table->read_set);
  if (find.modification == Modification::kDelete) {
    table->mark_columns_needed_for_delete();
    return;
  }
  for (const uint field : index.column_fields()) bitmap_set_bit(table->write_set, field);
  table->mark_columns_needed_for_update();
}

Outcome Writer::Modify(OpenTable& open, MariaIndex& index, const model::Find& find,
                       model::RowSink& sink) {
  PrepareModify(open, index, find);
  if (open.table->file->prepare_for_insert(1)) return ServerFailure();
  const int error = open.table->file->ha_index_init(index.key(), true);
  if (error != 0) return Failure(error);
  // The values of key and filters are no values of the row: nothing about them is an error.
  thd_.SetStrict(false);
  const ErrorCode wrong = finder_.Prepare(thd_.get(), open, index, find);
  if (wrong != ErrorCode::kNone) return Outcome::Fail(wrong);
  return finder_.is_single_row() ? ModifyFirst(open, index, find, sink)
                                 : ModifyAll(open, index, find, sink);
}

Outcome Writer::ModifyFirst(OpenTable& open, MariaIndex& index, const model::Find& find,
                            model::RowSink& sink) {
  Outcome outcome;
  const int error = finder_.Next();
  if (error == HA_ERR_END_OF_FILE) return outcome;
  if (error != 0) return Failure(error);
  bool changed = false;
  outcome = ModifyRow(open, index, find, sink, &changed);
  outcome.rows = changed;
  return outcome;
}

// First all rows are found (and locked), then changed: a change can move a row within the index
// that is being read, and every row is to be changed once.
Outcome Writer::ModifyAll(OpenTable& open, MariaIndex& index, const model::Find& find,
                          model::RowSink& sink) {
  handler* file = open.table->file;
  int error = CollectRows(open);
  if (error != 0) return Failure(error);
  file->ha_index_end();
  error = file->ha_rnd_init(false);
  if (error != 0) return Failure(error);
  Outcome outcome;
  uint64_t rows = 0;
  for (size_t at = 0; at < positions_.size() && outcome.ok(); at += file->ref_length) {
    error = file->ha_rnd_pos(open.table->record[0], positions_.data() + at);
    if (error == HA_ERR_RECORD_DELETED || error == HA_ERR_KEY_NOT_FOUND) continue;
    if (error != 0) return Failure(error);
    bool changed = false;
    outcome = ModifyRow(open, index, find, sink, &changed);
    rows += changed;
  }
  outcome.rows = rows;
  return outcome;
}

int Writer::CollectRows(OpenTable& open) {
  handler* file = open.table->file;
  positions_.clear();
  std::unordered_set<std::string> seen;
  for (;;) {
    const int error = finder_.Next();
    if (error == HA_ERR_END_OF_FILE) return 0;
    if (error != 0) return error;
    file->position(open.table->record[0]);
    const std::string position(reinterpret_cast<const char*>(file->ref), file->ref_length);
    if (!seen.insert(position).second) continue;
    positions_.insert(positions_.end(), file->ref, file->ref + file->ref_length);
  }
}

Outcome Writer::ModifyRow(OpenTable& open, MariaIndex& index, const model::Find& find,
                          model::RowSink& sink, bool* changed) {
  TABLE* table = open.table;
  if (find.wants_pre_images) {
    for (const uint field : index.column_fields()) {
      if (!SendCell(table->field[field], cells_, sink)) return Outcome::Fail(ErrorCode::kResultsize);
    }
  }
  if (find.modification == Modification::kDelete) {
    const int error = table->file->ha_delete_row(table->record[0]);
    if (error != 0) return Failure(error);
    *changed = true;
    return {};
  }
  store_record(table, record[1]);
  table->reset_default_fields();
  thd_.SetStrict(true);
  bool left_alone = false;
  Outcome outcome = StoreNewValues(table, index, find, &left_alone);
  if (outcome.ok() && !left_alone) {
    outcome = WriteUpdatedRow(table);
    *changed = outcome.ok();
  }
  thd_.SetStrict(false);
  return outcome;
}

Outcome Writer::StoreNewValues(TABLE* table, MariaIndex& index, const model::Find& find,
                               bool* left_alone) {
  const std::vector<uint>& fields = index.column_fields();
  for (size_t i = 0; i < fields.size(); ++i) {
    Field* field = table->field[fields[i]];
    const bool given = i < find.modifications.size();
    if (find.modification == Modification::kUpdate) {
      // Values that are missing at the end of a line are empty strings, as everywhere.
      const model::Value value = given ? find.modifications[i] : model::Value(std::string_view(""));
      if (!StoreCell(thd_.get(), field, value)) return ServerFailure();
      continue;
    }
    if (!given) break;
    const bool subtract = find.modification == Modification::kDecrement;
    switch (AddToField(thd_.get(), field, find.modifications[i], subtract)) {
      case Step::kApplied: break;
      case Step::kLeftAlone: *left_alone = true; return {};
      case Step::kRefused: return ServerFailure();
    }
  }
  return {};
}

Outcome Writer::WriteUpdatedRow(TABLE* table) {
  table->evaluate_update_default_function();
  if (table->vfield != nullptr &&
      table->update_virtual_fields(table->file, VCOL_UPDATE_FOR_WRITE)) {
    return ServerFailure();
  }
  if (thd_.get()->is_error()) return ServerFailure();
  // A row that stays the same counts as modified, but is not written.
  if (records_are_comparable(table) && !compare_record(table)) return {};
  if (table->verify_constraints(false) != VIEW_CHECK_OK) return ServerFailure();
  const int error = table->file->ha_update_row(table->record[1], table->record[0]);
  if (error != 0 && error != HA_ERR_RECORD_IS_THE_SAME) return Failure(error);
  return {};
}

}  // namespace rowsocket::engine::mariadb
