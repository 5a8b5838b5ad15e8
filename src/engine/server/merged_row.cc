#include "engine/server/merged_row.h"

#include <cstring>

namespace rowsocket::engine::server {

using model::Decision;
using model::ErrorCode;
using model::Modification;
using model::Request;

RowOpening MergedRow::Begin(IndexState& index, const Request& request) {
  if (!request.asks_by_one_key()) return RowOpening::Refused(NotMergeable::kRequest);
  OpenTable* open = nullptr;
  RowOpening opening;
  opening.outcome = index.ResolveForWrite(tables_, &open);
  if (!opening.outcome.ok()) return opening;
  // The table's own reason, which holds for every request, counts before that of the key.
  opening.reason = index.merge_rules(tables_, *open).Of(request);
  if (opening.reason != NotMergeable::kNone) return opening;
  if (!NamesOneRow(index.key_info(*open), request.key())) {
    return RowOpening::Refused(NotMergeable::kRequest);
  }
  opening.outcome = statement_.Begin(*open, SQLCOM_UPDATE);
  return opening.outcome.ok() ? Open(*open, index, request.key()) : opening;
}

RowOpening MergedRow::Open(OpenTable& open, IndexState& index, std::span<const model::Value> key) {
  open_ = &open;
  index_ = &index;
  inserted_ = false;
  TABLE* table = open.table;
  RowOpening opening;
  MarkColumns();
  int error = 0;
  if (PrepareToWrite(*table->file, /*sets_fields=*/true) != 0) {
    opening.outcome = Close(statement_.ServerFailure());
    return opening;
  }
  error = table->file->ha_index_init(index.key(), true);
  if (error == 0) {
    model::Find find;
    find.key = key;
    find.key_parts_given = static_cast<uint32_t>(key.size());
    find.limit = 2;  // With a limit of 1 is_single_row() would be true for every key.
    thd_.SetStrict(false);
    const ErrorCode wrong = finder_.Prepare(thd_.get(), open, index, find);
    if (wrong != ErrorCode::kNone || !finder_.is_single_row()) {
      opening.outcome = Close({});
      return opening.outcome.ok() ? RowOpening::Refused(NotMergeable::kRequest) : opening;
    }
    error = finder_.Next();
  }
  if (error != 0 && error != HA_ERR_END_OF_FILE) {
    opening.outcome = Close(statement_.Failure(error));
    return opening;
  }
  existed_ = exists_ = error == 0;
  if (existed_) read_.assign(table->record[0], table->record[0] + table->s->reclength);
  if (blobs_.size() < index.column_fields().size()) blobs_.resize(index.column_fields().size());
  return opening;
}

void MergedRow::MarkColumns() {
  TABLE* table = open_->table;
  table->default_column_bitmaps();
  table->clear_column_bitmaps();
  new_row_.PrepareUpdate(table, *index_);
}

NotMergeable MergedRow::Takes(const Request& request) const {
  if (!request.asks_by_one_key()) return NotMergeable::kRequest;
  return index_->merge_rules(tables_, *open_).Of(request);
}

Outcome MergedRow::Execute(const Request& request, model::RowSink& sink) {
  if (open_->depends_on_time) thd_.SetTime();
  Outcome outcome =
      request.verb == Request::Verb::kEdit ? Edit(request.edit) : Find(request.find, sink);
  thd_.ClearStatement();
  return outcome;
}

Outcome MergedRow::Matches(const model::Find& find, bool* found) {
  *found = exists_;
  if (find.filters.empty()) return {};
  // Comparing a filter's value puts it into its column for a moment.
  TABLE* table = open_->table;
  if (exists_) store_record(table, record[1]);
  const ErrorCode wrong = finder_.PrepareFilters(thd_.get(), *open_, *index_, find);
  if (exists_) restore_record(table, record[1]);
  *found = exists_ && wrong == ErrorCode::kNone && finder_.Passes();
  return Outcome::Of(wrong);
}

Outcome MergedRow::Find(const model::Find& find, model::RowSink& sink) {
  bool found = false;
  Outcome outcome = Matches(find, &found);
  if (!outcome.ok() || !found) return outcome;
  if (find.modification == Modification::kNone || find.wants_before_images) {
    for (const uint field : index_->column_fields()) {
      if (!SendCell(open_->table->field[field], cells_, sink)) {
        return Outcome::Fail(ErrorCode::kResultsize);
      }
    }
  }
  if (find.modification == Modification::kNone) {
    outcome.rows = 1;
  } else if (find.modification == Modification::kDelete) {
    exists_ = false;
    outcome.rows = 1;
  } else {
    outcome = Finish(new_row_.Modify(open_->table, *index_, find));
  }
  return outcome;
}

Outcome MergedRow::Finish(NewRow::Made made) {
  Outcome outcome;
  outcome.rows = made != NewRow::Made::kLeftAlone;
  if (made == NewRow::Made::kRefused) outcome = statement_.ServerFailure();
  if (made == NewRow::Made::kChanged)
    KeepBlobs(/*all=*/false);
  else
    restore_record(open_->table, record[1]);
  thd_.SetStrict(false);
  return outcome;
}

// A BLOB column keeps the pointer to the last value that it was given. The next request for this
// row must not overwrite these bytes, because it may be refused. `all`: after an insert, where
// MySQL has checked that no column is missing, and has then forgotten which columns were given.
void MergedRow::KeepBlobs(bool all) {
  TABLE* table = open_->table;
  for (size_t i = 0; i < index_->column_fields().size(); ++i) {
    Field* field = table->field[index_->column_fields()[i]];
    if (!IsBlob(*field) || field->is_null()) continue;
    auto* blob = static_cast<Field_blob*>(field);
    BlobBytes& kept = blobs_[i];
    const std::string& now = kept.bytes[kept.current];
    const uchar* data = BlobOf(*blob);
    if (data == reinterpret_cast<const uchar*>(now.data()) || !(all || WasGiven(*blob))) continue;
    kept.current = 1 - kept.current;
    std::string& next = kept.bytes[kept.current];
    next.assign(reinterpret_cast<const char*>(data), blob->get_length());
    SetBlob(*blob, next);
  }
}

Outcome MergedRow::Edit(const model::Edit& edit) {
  TABLE* table = open_->table;
  std::span<const model::CellChange> changes;
  const Decision decision =
      edit.editor->Decide(row_cells_.Read(table, exists_, index_->column_fields()), &changes);
  Outcome outcome;
  if (decision == Decision::kKeep) return outcome;
  if (!NewRow::KeepsKey(*table, *index_, edit, changes)) return Outcome::Fail(ErrorCode::kFld);
  // Edits are merged only in tables without foreign keys (WhyNotMergeEdits), so that deleting the
  // row reaches no other.
  if (decision == Decision::kDelete || decision == Decision::kClear) {
    outcome.rows = exists_;
    exists_ = false;
    return outcome;
  }
  if (!exists_ || decision == Decision::kRenew) return InsertEdited(edit, changes);
  return Finish(new_row_.Change(table, *index_, changes));
}

Outcome MergedRow::InsertEdited(const model::Edit& edit,
                                std::span<const model::CellChange> changes) {
  TABLE* table = open_->table;
  if (exists_) renewed_.assign(table->record[0], table->record[0] + table->s->reclength);
  table->default_column_bitmaps();
  table->clear_column_bitmaps();
  thd_.SetStrict(true);
  Outcome outcome;
  if (new_row_.InsertEdited(table, *index_, edit, changes)) {
    KeepBlobs(/*all=*/true);
    exists_ = inserted_ = true;
    outcome.rows = 1;
  } else {
    outcome = statement_.ServerFailure();
    if (exists_) memcpy(table->record[0], renewed_.data(), renewed_.size());
  }
  NewRow::EndInsert(table);
  MarkColumns();
  return outcome;
}

// Writes one change at most, from the row as it was read to the row as it is now.
int MergedRow::Write() {
  TABLE* table = open_->table;
  if (!existed_) return exists_ ? WriteInserted() : 0;
  if (!exists_) {
    memcpy(table->record[0], read_.data(), read_.size());
    statement_.SetCommand(SQLCOM_DELETE);
    MarkForDelete(*table);
    return statement_.DeleteRow(table);
  }
  if (memcmp(table->record[0], read_.data(), read_.size()) == 0) return 0;
  memcpy(table->record[1], read_.data(), read_.size());
  if (inserted_) {
    bitmap_set_all(table->write_set);
    MarkForUpdate(*table);
  }
  const int error = statement_.UpdateRow(table);
  return error == HA_ERR_RECORD_IS_THE_SAME ? 0 : error;
}

int MergedRow::WriteInserted() {
  TABLE* table = open_->table;
  statement_.SetCommand(SQLCOM_INSERT);
  table->file->ha_index_or_rnd_end();
  bitmap_set_all(table->write_set);
  table->next_number_field = table->found_next_number_field;
  SetGivesAutoIncrement(*table, true);
  MarkForInsert(*table);
  const ExplicitZero explicit_zero(thd_.get());
  return statement_.WriteRow(table);
}

Outcome MergedRow::End() {
  thd_.SetStrict(true);
  const int error = Write();
  return Close(error == 0 ? Outcome() : statement_.Failure(error));
}

Outcome MergedRow::PutAside(OpenRow* row) {
  TABLE* table = open_->table;
  if (exists_) {
    row->open = open_;
    row->index = index_;
    finder_.StorePosition();
    row->position.assign(table->file->ref, table->file->ref + table->file->ref_length);
    row->read = read_;
    row->now = {true, false, read_};
  }
  return Close({});
}

void MergedRow::TakeUp(const OpenRow& row) {
  open_ = row.open;
  index_ = row.index;
  existed_ = true;
  exists_ = row.now.exists;
  inserted_ = row.now.inserted;
  MarkColumns();
}

Outcome MergedRow::ExecuteOn(OpenRow& row, const Request& request, model::RowSink& sink) {
  uchar* const record = row.open->table->record[0];
  thd_.StartStatement(SQLCOM_UPDATE);
  thd_.SetStrict(false);
  // Sets open_ to null even if memory runs out, because there is then no statement that Abandon
  // could end.
  struct Ending {
    ~Ending() { open = nullptr; }
    OpenTable*& open;
  };
  const Ending ending{open_};
  TakeUp(row);
  memcpy(record, row.now.bytes.data(), row.now.bytes.size());
  const Outcome outcome = Execute(request, sink);
  row.now.exists = exists_;
  row.now.inserted = inserted_;
  memcpy(row.now.bytes.data(), record, row.now.bytes.size());
  return outcome;
}

Outcome MergedRow::WriteBack(OpenRow& row) {
  if (!row.IsChanged(row.now)) return {};
  const Outcome outcome = statement_.Begin(*row.open, SQLCOM_UPDATE);
  if (!outcome.ok()) return outcome;
  TakeUp(row);
  int error = FindAgain(row);
  if (error == 0) {
    read_ = row.read;
    memcpy(row.open->table->record[0], row.now.bytes.data(), row.now.bytes.size());
    thd_.SetStrict(true);
    error = Write();
  }
  return Close(error == 0 ? Outcome() : statement_.Failure(error));
}

int MergedRow::FindAgain(const OpenRow& row) {
  TABLE* table = row.open->table;
  if (PrepareToWrite(*table->file, /*sets_fields=*/true) != 0) return Statement::kReported;
  const int error = table->file->ha_rnd_init(false);
  if (error != 0) return error;
  return table->file->ha_rnd_pos(table->record[0], const_cast<uchar*>(row.position.data()));
}

void MergedRow::Abandon() {
  if (is_open()) Close(Outcome::Fail(ErrorCode::kKilled));
}

Outcome MergedRow::Close(Outcome outcome) {
  statement_.End(*open_, &outcome);
  open_ = nullptr;
  for (BlobBytes& kept : blobs_) {
    for (std::string& bytes : kept.bytes) {
      if (bytes.capacity() > model::kKeptValueBytesMax) std::string().swap(bytes);
    }
  }
  return outcome;
}

}  // namespace rowsocket::engine::server
