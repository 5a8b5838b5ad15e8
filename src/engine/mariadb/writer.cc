#include "engine/mariadb/writer.h"

#include <string>
#include <unordered_set>

namespace rowsocket::engine::mariadb {

using model::Decision;
using model::ErrorCode;
using model::Modification;

namespace {

/// Times that an edit is decided anew because another session has inserted the row.
constexpr int kEditRetriesMax = 3;

int SqlCommand(const model::Request& request) {
  if (request.verb == model::Request::Verb::kInsert) return SQLCOM_INSERT;
  return request.find.modification == Modification::kDelete ? SQLCOM_DELETE : SQLCOM_UPDATE;
}

Outcome CheckTable(const TABLE& table, const model::Request& request) {
  if (request.verb != model::Request::Verb::kEdit) {
    return Statement::CheckTable(table, SqlCommand(request));
  }
  for (const int sql_command : {SQLCOM_INSERT, SQLCOM_UPDATE, SQLCOM_DELETE}) {
    const Outcome outcome = Statement::CheckTable(table, sql_command);
    if (!outcome.ok()) return outcome;
  }
  return {};
}

}  // namespace

Outcome Writer::Execute(MariaIndex& index, const model::Request& request, model::RowSink& sink) {
  OpenTable* open = nullptr;
  Outcome outcome = index.ResolveForWrite(tables_, &open);
  if (!outcome.ok()) return outcome;
  outcome = CheckTable(*open->table, request);
  if (!outcome.ok()) return outcome;
  outcome = statement_.Begin(*open, SqlCommand(request));
  if (!outcome.ok()) return outcome;
  outcome = ExecuteStatement(*open, index, request, sink);
  statement_.End(*open, &outcome);
  return outcome;
}

Outcome Writer::ExecuteStatement(OpenTable& open, MariaIndex& index, const model::Request& request,
                                 model::RowSink& sink) {
  switch (request.verb) {
    case model::Request::Verb::kInsert: return Insert(open, index, request.insert);
    case model::Request::Verb::kEdit: return Edit(open, index, request.edit);
    default: return Modify(open, index, request.find, sink);
  }
}

Outcome Writer::Insert(OpenTable& open, MariaIndex& index, const model::Insert& insert) {
  TABLE* table = open.table;
  if (!new_row_.Insert(table, index, insert.values)) return statement_.ServerFailure();
  return WriteRow(table);
}

Outcome Writer::WriteRow(TABLE* table) {
  const int error = table->file->ha_write_row(table->record[0]);
  if (error != 0) return statement_.Failure(error);
  Outcome outcome;
  outcome.rows = 1;
  outcome.has_insert_id = table->found_next_number_field != nullptr;
  outcome.insert_id = table->file->insert_id_for_cur_row;
  return outcome;
}

Outcome Writer::Modify(OpenTable& open, MariaIndex& index, const model::Find& find,
                       model::RowSink& sink) {
  TABLE* table = open.table;
  bitmap_set_all(table->read_set);
  if (find.modification == Modification::kDelete) table->mark_columns_needed_for_delete();
  else new_row_.PrepareUpdate(table, index);
  if (table->file->prepare_for_insert(1)) return statement_.ServerFailure();
  const int error = table->file->ha_index_init(index.key(), true);
  if (error != 0) return statement_.Failure(error);
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
  if (error != 0) return statement_.Failure(error);
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
  if (error != 0) return statement_.Failure(error);
  file->ha_index_end();
  error = file->ha_rnd_init(false);
  if (error != 0) return statement_.Failure(error);
  Outcome outcome;
  uint64_t rows = 0;
  for (size_t at = 0; at < positions_.size() && outcome.ok(); at += file->ref_length) {
    error = file->ha_rnd_pos(open.table->record[0], positions_.data() + at);
    if (error == HA_ERR_RECORD_DELETED || error == HA_ERR_KEY_NOT_FOUND) continue;
    if (error != 0) return statement_.Failure(error);
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
  Outcome outcome;
  if (find.modification == Modification::kDelete) {
    outcome = DeleteRow(table);
    *changed = outcome.ok();
    return outcome;
  }
  const NewRow::Made made = new_row_.Modify(table, index, find);
  outcome = FinishUpdate(table, made);
  *changed = outcome.ok() && made != NewRow::Made::kLeftAlone;
  return outcome;
}

// A row that stays the same counts as modified, but is not written.
Outcome Writer::FinishUpdate(TABLE* table, NewRow::Made made) {
  Outcome outcome;
  if (made == NewRow::Made::kRefused) {
    outcome = statement_.ServerFailure();
  } else if (made == NewRow::Made::kChanged) {
    const int error = table->file->ha_update_row(table->record[1], table->record[0]);
    if (error != 0 && error != HA_ERR_RECORD_IS_THE_SAME) outcome = statement_.Failure(error);
  }
  thd_.SetStrict(false);
  return outcome;
}

Outcome Writer::DeleteRow(TABLE* table) {
  const int error = table->file->ha_delete_row(table->record[0]);
  return error == 0 ? Outcome() : statement_.Failure(error);
}

Outcome Writer::Edit(OpenTable& open, MariaIndex& index, const model::Edit& edit) {
  if (!NamesOneRow(index.key_info(open), edit.key)) return Outcome::Fail(ErrorCode::kKpnum);
  Outcome outcome;
  bool again = true;
  for (int attempt = 0; again && attempt <= kEditRetriesMax; ++attempt) {
    again = false;
    outcome = EditOnce(open, index, edit, &again);
  }
  return outcome;
}

Outcome Writer::EditOnce(OpenTable& open, MariaIndex& index, const model::Edit& edit,
                         bool* again) {
  TABLE* table = open.table;
  statement_.SetCommand(SQLCOM_UPDATE);
  table->default_column_bitmaps();
  table->clear_column_bitmaps();
  bitmap_set_all(table->read_set);
  new_row_.PrepareUpdate(table, index);
  if (table->file->prepare_for_insert(1)) return statement_.ServerFailure();
  int error = table->file->ha_index_init(index.key(), true);
  if (error != 0) return statement_.Failure(error);
  model::Find find;
  find.key = edit.key;
  find.key_parts_given = static_cast<uint32_t>(edit.key.size());
  thd_.SetStrict(false);
  const ErrorCode wrong = finder_.Prepare(thd_.get(), open, index, find);
  if (wrong != ErrorCode::kNone) return Outcome::Fail(wrong);
  error = finder_.Next();
  if (error != 0 && error != HA_ERR_END_OF_FILE) return statement_.Failure(error);
  const bool exists = error == 0;
  std::span<const model::CellChange> changes;
  const Decision decision =
      edit.editor->Decide(row_cells_.Read(table, exists, index.column_fields()), &changes);
  Outcome outcome;
  if (decision == Decision::kKeep || (decision == Decision::kDelete && !exists)) return outcome;
  if (decision == Decision::kDelete) {
    statement_.SetCommand(SQLCOM_DELETE);
    table->mark_columns_needed_for_delete();
    outcome = DeleteRow(table);
  } else if (exists) {
    outcome = FinishUpdate(table, new_row_.Change(table, index, changes));
  } else {
    return InsertEdited(open, index, edit, changes, again);
  }
  outcome.rows = outcome.ok();
  return outcome;
}

Outcome Writer::InsertEdited(OpenTable& open, MariaIndex& index, const model::Edit& edit,
                             std::span<const model::CellChange> changes, bool* again) {
  TABLE* table = open.table;
  statement_.SetCommand(SQLCOM_INSERT);
  table->file->ha_index_or_rnd_end();
  table->default_column_bitmaps();
  table->clear_column_bitmaps();
  thd_.SetStrict(true);
  if (!new_row_.InsertEdited(table, index, edit, changes)) return statement_.ServerFailure();
  const ExplicitZero explicit_zero(thd_.get());
  const Outcome outcome = WriteRow(table);
  *again = outcome.error == model::Error::Engine(HA_ERR_FOUND_DUPP_KEY);
  return outcome;
}

}  // namespace rowsocket::engine::mariadb
