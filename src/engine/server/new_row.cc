#include "engine/server/new_row.h"

#include <algorithm>

namespace rowsocket::engine::server {

using model::Modification;

namespace {

/// Tells whether a cell is exactly these bytes.
struct ComparingSink final : model::RowSink {
  explicit ComparingSink(std::string_view wanted) : wanted(wanted) {}
  bool Cell(std::string_view text) override {
    equal = text == wanted;
    return true;
  }
  bool NullCell() override { return true; }

  std::string_view wanted;
  bool equal = false;
};

/// Whether the server may store a value shorter or longer without an error: CHAR and BINARY, and
/// blanks beyond the end of a VARCHAR.
bool MayPadOrTrim(const Field* field, std::string_view text) {
  if (field->real_type() == MYSQL_TYPE_STRING) return true;
  return ComparesAsText(*field) && text.ends_with(' ');
}

}  // namespace

bool NewRow::Insert(TABLE* table, const ServerIndex& index, std::span<const model::Value> values) {
  const std::vector<uint>& fields = index.column_fields();
  const size_t given = std::min(fields.size(), values.size());
  for (size_t i = 0; i < given; ++i) bitmap_set_bit(table->write_set, fields[i]);
  return PrepareInsert(table) && FillInsert(table, index, values);
}

bool NewRow::InsertAnother(TABLE* table, const ServerIndex& index,
                           std::span<const model::Value> values) {
  return StartInsert(table) && FillInsert(table, index, values);
}

bool NewRow::FillInsert(TABLE* table, const ServerIndex& index,
                        std::span<const model::Value> values) {
  const std::vector<uint>& fields = index.column_fields();
  for (size_t i = 0; i < std::min(fields.size(), values.size()); ++i) {
    if (!StoreCell(thd_.get(), table->field[fields[i]], values[i])) return false;
  }
  return CompleteInsert(table);
}

bool NewRow::InsertEdited(TABLE* table, const ServerIndex& index, const model::Edit& edit,
                          std::span<const model::CellChange> changes) {
  const std::vector<uint>& fields = index.column_fields();
  const KeyParts parts = UserKeyParts(table->key_info[index.key()]);
  for (uint i = 0; i < parts.count; ++i)
    bitmap_set_bit(table->write_set, parts.first[i].fieldnr - 1);
  for (const model::CellChange& change : changes) {
    bitmap_set_bit(table->write_set, fields[change.column]);
  }
  if (!PrepareInsert(table)) return false;
  for (uint i = 0; i < parts.count; ++i) {
    if (!StoreExactly(table->field[parts.first[i].fieldnr - 1], edit.key[i])) return false;
  }
  for (const model::CellChange& change : changes) {
    if (!StoreChange(table->field[fields[change.column]], change)) return false;
  }
  return CompleteInsert(table);
}

// As in SQL, a VIRTUAL column is computed only where something needs it: a column whose expression
// fails is no reason to refuse the row.
void NewRow::PrepareUpdate(TABLE* table, const ServerIndex& index) {
  for (Field** field = table->field; *field != nullptr; ++field) {
    if (!IsGenerated(**field)) bitmap_set_bit(table->read_set, NumberOf(**field));
  }
  index.MarkOrderForReading(*table);
  for (const uint field : index.filter_fields()) MarkForReading(*table->field[field]);
  for (const uint field : index.column_fields()) bitmap_set_bit(table->write_set, field);
  MarkUpdate(table);
}

NewRow::Made NewRow::Modify(TABLE* table, const ServerIndex& index, const model::Find& find) {
  BeginUpdate(table);
  Made made = StoreNewValues(table, index, find);
  return made == Made::kChanged ? CompleteUpdate(table) : made;
}

NewRow::Made NewRow::Change(TABLE* table, const ServerIndex& index,
                            std::span<const model::CellChange> changes) {
  BeginUpdate(table);
  Made made = Made::kChanged;
  for (const model::CellChange& change : changes) {
    Field* field = table->field[index.column_fields()[change.column]];
    if (change.keeps) {
      MarkAsGiven(*field);
      continue;
    }
    if (!StoreChange(field, change)) made = Made::kRefused;
    if (made == Made::kRefused) break;
  }
  return made == Made::kChanged ? CompleteUpdate(table) : made;
}

void NewRow::BeginUpdate(TABLE* table) {
  store_record(table, record[1]);
  ForgetGiven(*table);
  thd_.SetStrict(true);
}

NewRow::Made NewRow::StoreNewValues(TABLE* table, const ServerIndex& index,
                                    const model::Find& find) {
  const std::vector<uint>& fields = index.column_fields();
  for (size_t i = 0; i < fields.size(); ++i) {
    Field* field = table->field[fields[i]];
    const bool given = i < find.modifications.size();
    if (find.modification == Modification::kUpdate) {
      // The protocol reads values that are missing at the end of a line as empty strings.
      const model::Value value = given ? find.modifications[i] : model::Value(std::string_view(""));
      if (!StoreCell(thd_.get(), field, value)) return Made::kRefused;
      continue;
    }
    if (!given) break;
    switch (AddTo(field, find, i)) {
      case Step::kApplied:
        break;
      case Step::kLeftAlone:
        return Made::kLeftAlone;
      case Step::kRefused:
        return IsLeftAlone(table, fields, find, i) ? Made::kLeftAlone : Made::kRefused;
    }
  }
  return Made::kChanged;
}

Step NewRow::AddTo(Field* field, const model::Find& find, size_t i) {
  const bool subtract = find.modification == Modification::kDecrement;
  return AddToField(thd_.get(), field, find.modifications[i], subtract);
}

// `-` leaves a row alone as a whole where any of its columns would change its sign, so that the
// answer does not depend on the order of the columns: one behind the refused one is asked, and the
// refusal is told anew if there is none.
bool NewRow::IsLeftAlone(TABLE* table, const std::vector<uint>& fields, const model::Find& find,
                         size_t refused) {
  if (find.modification != Modification::kDecrement) return false;
  for (size_t i = refused + 1; i < std::min(fields.size(), find.modifications.size()); ++i) {
    thd_.get()->clear_error();
    if (AddTo(table->field[fields[i]], find, i) == Step::kLeftAlone) return true;
  }
  thd_.get()->clear_error();
  AddTo(table->field[fields[refused]], find, refused);
  return false;
}

bool NewRow::StoreChange(Field* field, const model::CellChange& change) {
  if (change.may_be_padded) return StoreCell(thd_.get(), field, change.value);
  return StoreExactly(field, change.value);
}

bool NewRow::StoreExactly(Field* field, const model::Value& value) {
  if (!StoreCell(thd_.get(), field, value)) return false;
  if (value.is_null() || !MayPadOrTrim(field, value.text())) return true;
  ComparingSink stored(value.text());
  SendCell(field, cells_, stored);
  if (!stored.equal) my_error(ER_DATA_TOO_LONG, MYF(0), NameText(*field), 1L);
  return stored.equal;
}

}  // namespace rowsocket::engine::server
