#include "engine/server/writer.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "engine/server/foreign_keys.h"

namespace rowsocket::engine::server {

using model::Decision;
using model::ErrorCode;
using model::Modification;
using model::Request;

namespace {

/// How many times an edit is decided anew because another session has inserted the row.
constexpr int kEditRetriesMax = 3;
/// Stands in place of a handler's number: the find has more rows than may be changed together.
constexpr int kTooManyRows = Statement::kReported + 1;

int SqlCommand(const Request& request) {
  if (request.verb == Request::Verb::kInsert) return SQLCOM_INSERT;
  return request.find.modification == Modification::kDelete ? SQLCOM_DELETE : SQLCOM_UPDATE;
}

/// Refuses a request that the table does not allow. Of an edit only the table's versioning counts
/// here: the path of EditOnce that it takes checks the rest, because only its editor, who has to
/// see the row, says what it does.
Outcome CheckBeforeStatement(const OpenTable& open, const IndexState& index,
                             const Request& request) {
  if (request.verb != Request::Verb::kEdit) {
    return Statement::CheckTable(open, SqlCommand(request), index.column_fields());
  }
  return IsSystemVersioned(*open.table) ? Outcome::Fail(ErrorCode::kVersioned) : Outcome();
}

/// Whether the key and these changes give all columns of the table.
bool IsWhole(const TABLE& table, const IndexState& index,
             std::span<const model::CellChange> changes) {
  return UserKeyParts(table.key_info[index.key()]).count + changes.size() == table.s->fields;
}

/// Whether a request may give the AUTO_INCREMENT column a value of its own: InnoDB notes such a
/// value after it has changed the row; if it does not get the lock for that, it fails and leaves
/// the row changed.
bool MaySetAutoIncrement(const TABLE& table, const IndexState& index, const Request& request) {
  const Field* const field = table.found_next_number_field;
  if (field == nullptr) return false;
  const std::vector<uint>& columns = index.column_fields();
  if (std::find(columns.begin(), columns.end(), NumberOf(*field)) != columns.end()) return true;
  if (request.verb != Request::Verb::kEdit) return false;
  const KeyParts parts = UserKeyParts(table.key_info[index.key()]);
  return std::any_of(parts.first, parts.first + parts.count, [field](const KEY_PART_INFO& part) {
    return part.fieldnr == NumberOf(*field) + 1u;
  });
}

}  // namespace

Writer::Kind Writer::KindOf(const OpenTable& open, IndexState& index, const Request& request) {
  const TABLE& table = *open.table;
  if (!open.rolls_back || IsPartitioned(table) || open.tables.size() != 1 ||
      HasServersUniqueKeys(table) || !IsInnodb(table) || HasVectorIndexTable(table) ||
      ServerChecksForeignKeys(table)) {
    return Kind::kAlone;
  }
  if (request.verb == Request::Verb::kInsert) {
    return table.found_next_number_field == nullptr ? Kind::kInsert : Kind::kAlone;
  }
  if (!request.asks_by_one_key() || !NamesOneRow(index.key_info(open), request.key())) {
    return Kind::kAlone;
  }
  // A statement that changes rows does not read generated columns.
  if (!request.is_write() && HasGenerated(table)) return Kind::kAlone;
  const bool deletes = request.find.modification == Modification::kDelete;
  if (!deletes && ReplicasLookUpRowsTogether(table)) return Kind::kAlone;
  if ((request.verb == Request::Verb::kEdit || !deletes) &&
      MaySetAutoIncrement(table, index, request)) {
    return Kind::kAlone;
  }
  if (request.verb == Request::Verb::kEdit) return Kind::kEdit;
  // A larger limit leaves the handler as reading by position needs it, and a FLOAT key may name
  // several rows.
  if (request.find.limit != 1) return Kind::kAlone;
  return deletes ? Kind::kDelete : Kind::kUpdate;
}

bool Writer::Joins(const OpenTable& open, const IndexState& index, Kind kind,
                   const Request& request) const {
  const OpenStatement& now = open_statement_;
  return kind != Kind::kAlone && now.open_table == &open && now.index == &index &&
         now.kind == kind && !now.spent &&
         (kind != Kind::kInsert || now.values == request.insert.values.size());
}

Outcome Writer::Execute(IndexState& index, const Request& request, model::RowSink& sink) {
  OpenTable* open = nullptr;
  Outcome outcome = index.ResolveForWrite(tables_, &open);
  if (!outcome.ok()) return outcome;
  if (changes_.in_unit() && !open->rolls_back) return Outcome::Fail(ErrorCode::kGroup);
  if (request.is_write()) outcome = CheckBeforeStatement(*open, index, request);
  if (!outcome.ok()) return outcome;
  const Kind kind = KindOf(*open, index, request);
  if (Joins(*open, index, kind, request)) return Join(*open, index, request, sink);
  outcome = Seal();
  if (!outcome.ok()) return outcome;
  outcome = statement_.Begin(*open, SqlCommand(request));
  if (!outcome.ok()) return outcome;
  open_statement_ = {open, &index, kind, request.insert.values.size(), kind == Kind::kAlone};
  outcome = ExecuteStatement(*open, index, request, sink);
  if (outcome.ok() && !open_statement_.spent && !thd_.get()->transaction_rollback_request) {
    thd_.ClearStatement();
    return outcome;
  }
  open_statement_ = {};
  statement_.End(*open, &outcome);
  return outcome;
}

Outcome Writer::Join(OpenTable& open, IndexState& index, const Request& request,
                     model::RowSink& sink) {
  THD* thd = thd_.get();
  statement_.SetCommand(SqlCommand(request));
  if (open.depends_on_time) thd_.SetTime();
  thd_.SetStrict(true);
  Outcome outcome;
  if (request.verb == Request::Verb::kInsert) {
    outcome = new_row_.InsertAnother(open.table, index, request.insert.values)
                  ? WriteRow(open.table)
                  : statement_.ServerFailure();
  } else if (request.verb == Request::Verb::kEdit) {
    outcome = Edit(open, index, request.edit);
  } else {
    outcome = FindAndModify(open, index, request.find, sink);
  }
  // Galera refuses a row with a deadlock, and without a rollback, when the engine has changed it.
  const bool left_changed = !outcome.ok() && (open_statement_.deleted_not_reinserted ||
                                              outcome.error.code == ErrorCode::kDeadlock);
  if (thd->transaction_rollback_request || Statement::LostEvents(outcome) || left_changed) {
    open_statement_ = {};
    statement_.End(open, &outcome);
    outcome.transaction_lost = outcome.transaction_lost || left_changed;
    return outcome;
  }
  // A failed request has changed nothing; the requests before it stand.
  thd_.ClearStatement();
  if (!open_statement_.spent) return outcome;
  const Outcome sealed = Seal();
  return sealed.ok() ? outcome : sealed;
}

Outcome Writer::Seal() {
  Outcome outcome;
  OpenTable* open = std::exchange(open_statement_, {}).open_table;
  if (open == nullptr) return outcome;
  statement_.End(*open, &outcome);
  // The rollback has undone changes whose requests are answered already.
  if (!outcome.ok()) outcome.transaction_lost = true;
  return outcome;
}

void Writer::Abandon() {
  Outcome outcome = Outcome::Fail(ErrorCode::kKilled);
  OpenTable* open = std::exchange(open_statement_, {}).open_table;
  if (open != nullptr) statement_.End(*open, &outcome);
}

Outcome Writer::ExecuteStatement(OpenTable& open, IndexState& index, const Request& request,
                                 model::RowSink& sink) {
  switch (request.verb) {
    case Request::Verb::kInsert:
      return Insert(open, index, request.insert);
    case Request::Verb::kEdit:
      return Edit(open, index, request.edit);
    case Request::Verb::kFind:
      break;
  }
  return Modify(open, index, request.find, sink);
}

Outcome Writer::Insert(OpenTable& open, IndexState& index, const model::Insert& insert) {
  TABLE* table = open.table;
  if (!new_row_.Insert(table, index, insert.values)) return statement_.ServerFailure();
  return WriteRow(table);
}

// InnoDB returns the same error where the AUTO_INCREMENT numbers of a column are used up and where
// it does not get their lock, because an INSERT ... SELECT has it.
int Writer::AutoIncrementError(TABLE* table) {
  handler* file = table->file;
  const Field* column = table->found_next_number_field;
  const bool is_used_up = column == nullptr || file->info(HA_STATUS_AUTO) != 0 ||
                          file->stats.auto_increment_value >= column->get_max_int_value();
  const bool waits = IsInnodb(*table) && !is_used_up;
  return waits ? HA_ERR_LOCK_WAIT_TIMEOUT : HA_ERR_AUTOINC_ERANGE;
}

Outcome Writer::WriteRow(TABLE* table) {
  int error = statement_.WriteRow(table);
  if (error == HA_ERR_AUTOINC_READ_FAILED) error = AutoIncrementError(table);
  if (error != 0) return statement_.Failure(error);
  Outcome outcome;
  outcome.rows = 1;
  outcome.has_insert_id = table->found_next_number_field != nullptr;
  outcome.insert_id = table->file->insert_id_for_cur_row;
  return outcome;
}

Outcome Writer::Modify(OpenTable& open, IndexState& index, const model::Find& find,
                       model::RowSink& sink) {
  TABLE* table = open.table;
  if (find.modification == Modification::kDelete) {
    bitmap_set_all(table->read_set);
    MarkForDelete(*table);
  } else {
    new_row_.PrepareUpdate(table, index);
    if (find.modification == Modification::kNone) {
      for (const uint field : index.column_fields()) MarkForReading(*table->field[field]);
    }
  }
  if (PrepareToWrite(*table->file, /*sets_fields=*/true) != 0) return statement_.ServerFailure();
  const int error = table->file->ha_index_init(index.key(), true);
  return error == 0 ? FindAndModify(open, index, find, sink) : statement_.Failure(error);
}

Outcome Writer::FindAndModify(OpenTable& open, IndexState& index, const model::Find& find,
                              model::RowSink& sink) {
  // The values of key and filters are only compared: a conversion that loses something is no error.
  thd_.SetStrict(false);
  const ErrorCode wrong = finder_.Prepare(thd_.get(), open, index, find);
  if (wrong != ErrorCode::kNone) return Outcome::Fail(wrong);
  return finder_.is_single_row() ? ModifyFirst(open, index, find, sink)
                                 : ModifyAll(open, index, find, sink);
}

Outcome Writer::ModifyFirst(OpenTable& open, IndexState& index, const model::Find& find,
                            model::RowSink& sink) {
  Outcome outcome;
  const int error = finder_.Next();
  if (error == HA_ERR_END_OF_FILE) return outcome;
  if (error != 0) return statement_.Failure(error);
  bool counts = false;
  outcome = ModifyRow(open, index, find, sink, &counts);
  outcome.rows = counts;
  return outcome;
}

// First all rows are found (and locked), then changed: a change can move a row within the index
// that is being read, and every row is to be changed once.
Outcome Writer::ModifyAll(OpenTable& open, IndexState& index, const model::Find& find,
                          model::RowSink& sink) {
  struct Freed {  // Frees a large list when the request ends, however it ends.
    std::vector<uchar>& bytes;
    ~Freed() {
      if (bytes.capacity() > model::kKeptValueBytesMax) std::vector<uchar>().swap(bytes);
    }
  } freed{positions_};
  handler* file = open.table->file;
  int error = CollectRows(open, find.has_in);
  if (error == kTooManyRows) return Outcome::Fail(ErrorCode::kResultsize);
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
    bool counts = false;
    outcome = ModifyRow(open, index, find, sink, &counts);
    rows += counts;
  }
  outcome.rows = rows;
  return outcome;
}

// Collects the rows, each of them once: an IN list can name a row twice.
int Writer::CollectRows(OpenTable& open, bool may_repeat) {
  handler* file = open.table->file;
  positions_.clear();
  std::set<std::string> seen;         // Not by a hash: clients choose the keys that positions have.
  constexpr size_t kSeenBytes = 100;  // What the set takes for a position, about.
  const size_t row_bytes = file->ref_length + (may_repeat ? kSeenBytes : 0);
  size_t bytes = 0;
  for (;;) {
    const int error = finder_.Next();
    if (error == HA_ERR_END_OF_FILE) return 0;
    if (error != 0) return error;
    finder_.StorePosition();
    const std::string_view position(reinterpret_cast<const char*>(file->ref), file->ref_length);
    if (may_repeat && !seen.emplace(position).second) continue;
    bytes += row_bytes;
    if (bytes > model::kFoundPositionsBytesMax) return kTooManyRows;
    positions_.insert(positions_.end(), file->ref, file->ref + file->ref_length);
  }
}

Outcome Writer::ModifyRow(OpenTable& open, IndexState& index, const model::Find& find,
                          model::RowSink& sink, bool* counts) {
  TABLE* table = open.table;
  if (find.wants_before_images || find.modification == Modification::kNone) {
    for (const uint field : index.column_fields()) {
      if (!SendCell(table->field[field], cells_, sink))
        return Outcome::Fail(ErrorCode::kResultsize);
    }
  }
  Outcome outcome;
  *counts = find.modification == Modification::kNone;
  if (*counts) return outcome;
  if (find.modification == Modification::kDelete) {
    outcome = DeleteRow(table);
    *counts = outcome.ok();
    return outcome;
  }
  const NewRow::Made made = new_row_.Modify(table, index, find);
  outcome = FinishUpdate(table, made);
  *counts = outcome.ok() && made != NewRow::Made::kLeftAlone;
  return outcome;
}

// Writes the new row. A row that stays the same counts as modified, but is not written.
Outcome Writer::FinishUpdate(TABLE* table, NewRow::Made made) {
  Outcome outcome;
  if (made == NewRow::Made::kRefused) {
    outcome = statement_.ServerFailure();
  } else if (made == NewRow::Made::kChanged) {
    const int error = statement_.UpdateRow(table);
    if (error != 0 && error != HA_ERR_RECORD_IS_THE_SAME) outcome = statement_.Failure(error);
  }
  thd_.SetStrict(false);
  return outcome;
}

Outcome Writer::DeleteRow(TABLE* table) {
  const int error = statement_.DeleteRow(table);
  return error == 0 ? Outcome() : statement_.Failure(error);
}

Outcome Writer::Edit(OpenTable& open, IndexState& index, const model::Edit& edit) {
  if (!NamesOneRow(index.key_info(open), edit.key)) return Outcome::Fail(ErrorCode::kKpnum);
  Outcome outcome;
  bool again = true;
  for (int attempt = 0; again && attempt <= kEditRetriesMax; ++attempt) {
    again = false;
    const bool is_prepared = open.table->file->inited != handler::NONE;
    outcome = is_prepared ? Outcome() : PrepareEdit(open.table, index);
    if (outcome.ok()) outcome = EditOnce(open, index, edit, &again);
  }
  return outcome;
}

void Writer::MarkForEdit(TABLE* table, IndexState& index) {
  table->default_column_bitmaps();
  table->clear_column_bitmaps();
  new_row_.PrepareUpdate(table, index);
}

Outcome Writer::PrepareEdit(TABLE* table, IndexState& index) {
  MarkForEdit(table, index);
  if (PrepareToWrite(*table->file, /*sets_fields=*/true) != 0) return statement_.ServerFailure();
  const int error = table->file->ha_index_init(index.key(), true);
  return error == 0 ? Outcome() : statement_.Failure(error);
}

Outcome Writer::EditOnce(OpenTable& open, IndexState& index, const model::Edit& edit, bool* again) {
  TABLE* table = open.table;
  statement_.SetCommand(SQLCOM_UPDATE);
  model::Find find;
  find.key = edit.key;
  find.key_parts_given = static_cast<uint32_t>(edit.key.size());
  thd_.SetStrict(false);
  const ErrorCode wrong = finder_.Prepare(thd_.get(), open, index, find);
  if (wrong != ErrorCode::kNone) return Outcome::Fail(wrong);
  const int error = finder_.Next();
  if (error != 0 && error != HA_ERR_END_OF_FILE) return statement_.Failure(error);
  const bool exists = error == 0;
  std::span<const model::CellChange> changes;
  Decision decision =
      edit.editor->Decide(row_cells_.Read(table, exists, index.column_fields()), &changes);
  Outcome outcome;
  if (decision == Decision::kClear) {
    if (exists && DeleteReachesChildren(thd_.get(), *table)) return outcome;
    decision = Decision::kDelete;
  }
  if (decision == Decision::kKeep || (decision == Decision::kDelete && !exists)) return outcome;
  if (!NewRow::KeepsKey(*table, index, edit, changes)) return Outcome::Fail(ErrorCode::kFld);
  if (decision == Decision::kDelete) return DeleteEdited(open);
  if (!exists) return InsertEdited(open, index, edit, changes, again);
  const bool renews = decision == Decision::kRenew && !IsWhole(*table, index, changes);
  return renews ? Renew(open, index, edit, changes, again) : UpdateEdited(open, index, changes);
}

Outcome Writer::DeleteEdited(OpenTable& open) {
  TABLE* table = open.table;
  Outcome outcome = Statement::CheckTable(open, SQLCOM_DELETE, {});
  if (!outcome.ok()) return outcome;
  statement_.SetCommand(SQLCOM_DELETE);
  open_statement_.spent = true;  // A delete marks other columns than an update.
  MarkForDelete(*table);
  outcome = DeleteRow(table);
  outcome.rows = outcome.ok();
  return outcome;
}

Outcome Writer::UpdateEdited(OpenTable& open, IndexState& index,
                             std::span<const model::CellChange> changes) {
  Outcome outcome = Statement::CheckTable(open, SQLCOM_UPDATE, index.column_fields());
  if (!outcome.ok()) return outcome;
  outcome = FinishUpdate(open.table, new_row_.Change(open.table, index, changes));
  outcome.rows = outcome.ok();
  return outcome;
}

// A row that other rows refer to is changed in place: deleting it would fail, or would delete or
// change those rows, and nobody has checked whether the account may do that.
Outcome Writer::Renew(OpenTable& open, IndexState& index, const model::Edit& edit,
                      std::span<const model::CellChange> changes, bool* again) {
  TABLE* table = open.table;
  if (!DeleteReachesChildren(thd_.get(), *table)) {
    // Checked before the row is deleted, because a row that is refused is not deleted either.
    for (const int sql_command : {SQLCOM_DELETE, SQLCOM_INSERT}) {
      const Outcome outcome = Statement::CheckTable(open, sql_command, {});
      if (!outcome.ok()) return outcome;
    }
    statement_.SetCommand(SQLCOM_DELETE);
    open_statement_.spent = true;
    MarkForDelete(*table);
    const int error = statement_.DeleteRow(table);
    open_statement_.deleted_not_reinserted = error == 0;
    if (error == 0) return InsertEdited(open, index, edit, changes, again);
    if (error != HA_ERR_ROW_IS_REFERENCED) return statement_.Failure(error);
    statement_.SetCommand(SQLCOM_UPDATE);
    MarkForEdit(table, index);
  }
  return UpdateEdited(open, index, changes);
}

Outcome Writer::InsertEdited(OpenTable& open, IndexState& index, const model::Edit& edit,
                             std::span<const model::CellChange> changes, bool* again) {
  TABLE* table = open.table;
  const Outcome checked = Statement::CheckTable(open, SQLCOM_INSERT, {});
  if (!checked.ok()) return checked;
  statement_.SetCommand(SQLCOM_INSERT);
  open_statement_.spent = true;
  table->file->ha_index_or_rnd_end();
  table->default_column_bitmaps();
  table->clear_column_bitmaps();
  thd_.SetStrict(true);
  if (!new_row_.InsertEdited(table, index, edit, changes)) return statement_.ServerFailure();
  const ExplicitZero explicit_zero(thd_.get());
  const Outcome outcome = WriteRow(table);
  // Another session has inserted the row meanwhile, unless the server says that the value of
  // another unique index is there already.
  if (outcome.error == model::Error::Engine(HA_ERR_FOUND_DUPP_KEY)) {
    const uint key = table->file->get_dup_key(HA_ERR_FOUND_DUPP_KEY);
    *again = key == index.key() || key >= table->s->keys;
  }
  NewRow::EndInsert(table);
  return outcome;
}

}  // namespace rowsocket::engine::server
