#include "engine/server/new_row.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "engine/server/facts.h"

namespace rowsocket::engine::server {

using model::CellChange;
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

/// A decimal number without leading and trailing zeros that do not count.
std::string_view Significant(std::string_view number, bool* is_negative) {
  *is_negative = number.starts_with('-');
  if (*is_negative) number.remove_prefix(1);
  while (number.size() > 1 && number[0] == '0' && number[1] != '.') number.remove_prefix(1);
  if (number.find('.') == std::string_view::npos) return number;
  while (number.ends_with('0')) number.remove_suffix(1);
  if (number.ends_with('.')) number.remove_suffix(1);
  return number;
}

/// Whether a DOUBLE is exactly this integer, although it may have rounded the last digits.
bool IsExactly(double number, std::string_view integer) {
  char digits[512];
  const int size = snprintf(digits, sizeof(digits), "%.0f", number);
  return integer == std::string_view(digits, static_cast<size_t>(size));
}

bool IsPlainInteger(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Tells whether a cell is this text, or shows this number.
struct SameNumberSink final : model::RowSink {
  SameNumberSink(std::string_view wanted, bool is_double) : wanted(wanted), is_double(is_double) {}
  bool Cell(std::string_view text) override {
    equal = text == wanted;
    if (equal) return true;
    const bool are_numbers = !text.empty() && !wanted.empty() &&
                             text.find_first_not_of(kOfNumbers) == std::string_view::npos &&
                             wanted.find_first_not_of(kOfNumbers) == std::string_view::npos;
    if (!are_numbers) return true;
    if (is_double) {
      const double number = strtod(std::string(wanted).c_str(), nullptr);
      equal = strtod(std::string(text).c_str(), nullptr) == number &&
              (wanted.find_first_of(".e") != std::string_view::npos || IsExactly(number, wanted));
      return true;
    }
    bool is_negative = false, wants_negative = false;
    equal = Significant(text, &is_negative) == Significant(wanted, &wants_negative) &&
            is_negative == wants_negative;
    return true;
  }
  bool NullCell() override { return true; }

  static constexpr std::string_view kOfNumbers = "0123456789.-+e";
  std::string_view wanted;
  const bool is_double;
  bool equal = false;
};

/// Whether the field holds bytes as they are given, which UUID, INET6 and the like do not.
bool HoldsBytes(const Field& field) {
  const auto type = field.real_type();
  return IsTraditional(field) &&
         (type == MYSQL_TYPE_STRING || type == MYSQL_TYPE_VARCHAR || type == MYSQL_TYPE_BLOB);
}

/// Whether the server may store a shorter or longer value without an error: in CHAR and BINARY, and
/// blanks beyond the end of a VARCHAR.
bool MayPadOrTrim(const Field* field, std::string_view text) {
  if (field->real_type() == MYSQL_TYPE_STRING) return true;
  return ComparesAsText(*field) && text.ends_with(' ');
}

}  // namespace

bool NewRow::Insert(TABLE* table, const IndexState& index, std::span<const model::Value> values) {
  const std::vector<uint>& fields = index.column_fields();
  const size_t given = std::min(fields.size(), values.size());
  for (size_t i = 0; i < given; ++i) bitmap_set_bit(table->write_set, fields[i]);
  return PrepareInsert(table) && FillInsert(table, index, values);
}

bool NewRow::InsertAnother(TABLE* table, const IndexState& index,
                           std::span<const model::Value> values) {
  return StartInsert(table) && FillInsert(table, index, values);
}

bool NewRow::FillInsert(TABLE* table, const IndexState& index,
                        std::span<const model::Value> values) {
  const std::vector<uint>& fields = index.column_fields();
  for (size_t i = 0; i < std::min(fields.size(), values.size()); ++i) {
    if (!StoreCell(thd_.get(), table->field[fields[i]], values[i])) return false;
  }
  return CompleteInsert(table);
}

bool NewRow::InsertEdited(TABLE* table, const IndexState& index, const model::Edit& edit,
                          std::span<const CellChange> changes) {
  const std::vector<uint>& fields = index.column_fields();
  const KeyParts parts = UserKeyParts(table->key_info[index.key()]);
  for (uint i = 0; i < parts.count; ++i)
    bitmap_set_bit(table->write_set, parts.first[i].fieldnr - 1);
  for (const CellChange& change : changes) {
    bitmap_set_bit(table->write_set, fields[change.column]);
  }
  if (!PrepareInsert(table)) return false;
  for (uint i = 0; i < parts.count; ++i) {
    if (!StoreKey(table->field[parts.first[i].fieldnr - 1], edit.key[i])) return false;
  }
  for (const CellChange& change : changes) {
    if (!StoreChange(table->field[fields[change.column]], change)) return false;
  }
  return CompleteInsert(table);
}

void NewRow::EndInsert(TABLE* table) {
  table->next_number_field = nullptr;
  SetGivesAutoIncrement(*table, false);
}

bool NewRow::KeepsKey(const TABLE& table, const IndexState& index, const model::Edit& edit,
                      std::span<const CellChange> changes) {
  if (!edit.keeps_key) return true;
  const KeyParts parts = UserKeyParts(table.key_info[index.key()]);
  return std::none_of(changes.begin(), changes.end(), [&](const CellChange& change) {
    const uint field = index.column_fields()[change.column];
    return std::any_of(parts.first, parts.first + parts.count,
                       [field](const auto& part) { return part.fieldnr == field + 1; });
  });
}

// As in SQL, a VIRTUAL column is computed only if something needs it: a column whose expression
// would fail is no reason to refuse the row.
void NewRow::PrepareUpdate(TABLE* table, const IndexState& index) {
  for (Field** field = table->field; *field != nullptr; ++field) {
    if (!IsGenerated(**field)) bitmap_set_bit(table->read_set, NumberOf(**field));
  }
  index.MarkOrderForReading(*table);
  for (const uint field : index.filter_fields()) MarkForReading(*table->field[field]);
  for (const uint field : index.column_fields()) bitmap_set_bit(table->write_set, field);
  MarkUpdate(table);
}

NewRow::Made NewRow::Modify(TABLE* table, const IndexState& index, const model::Find& find) {
  BeginUpdate(table);
  Made made = StoreNewValues(table, index, find);
  return made == Made::kChanged ? CompleteUpdate(table) : made;
}

NewRow::Made NewRow::Change(TABLE* table, const IndexState& index,
                            std::span<const CellChange> changes) {
  BeginUpdate(table);
  Made made = Made::kChanged;
  for (const CellChange& change : changes) {
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

NewRow::Made NewRow::StoreNewValues(TABLE* table, const IndexState& index,
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

// `-` leaves a whole row alone if any of its columns would change its sign. If a column is refused
// first, the columns after it are tried as well, so that the answer does not depend on their order.
// If none of them would change its sign, the refused column is tried once more, which puts its
// error into the diagnostics area again.
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

bool NewRow::StoreChange(Field* field, const CellChange& change) {
  switch (change.fit) {
    case CellChange::Fit::kAsInserted:
      return StoreCell(thd_.get(), field, change.value);
    case CellChange::Fit::kTold:
      return StoreTold(field, change.value);
    case CellChange::Fit::kBytes:
      break;
  }
  return StoreExactly(field, change.value);
}

// An integer that does not fit an integer column is refused anyway; only a fraction would be
// rounded.
bool NewRow::StoreTold(Field* field, const model::Value& value) {
  if (HoldsBytes(*field)) return StoreExactly(field, value);
  if (!StoreCell(thd_.get(), field, value)) return false;
  if (value.is_null()) return true;
  if (IsInteger(*field) && !IsZerofill(*field) && IsPlainInteger(value.text())) return true;
  SameNumberSink stored(value.text(), field->real_type() == MYSQL_TYPE_DOUBLE);
  SendCell(field, cells_, stored);
  return IsSame(field, stored.equal && field->real_type() != MYSQL_TYPE_FLOAT);
}

// Strict conversions accept values that `=` does not find again: an ENUM's number, digits that
// DECIMAL rounds. A text that has lost the blanks at its end is found if the collation ignores
// them.
bool NewRow::StoreKey(Field* field, const model::Value& value) {
  const bool may_lose_blanks = field->charset() != &my_charset_bin && value.text().ends_with(' ');
  if (HoldsBytes(*field) && !may_lose_blanks) return StoreExactly(field, value);
  thd_.SetStrict(false);
  key_.Prepare(thd_.get(), field, value);
  thd_.SetStrict(true);
  return StoreCell(thd_.get(), field, value) &&
         IsSame(field, key_.Holds(field, model::CompareOp::kEq));
}

bool NewRow::IsSame(const Field* field, bool is_same) {
  if (!is_same) my_error(ER_DATA_TOO_LONG, MYF(0), NameText(*field), 1L);
  return is_same;
}

bool NewRow::StoreExactly(Field* field, const model::Value& value) {
  if (!StoreCell(thd_.get(), field, value)) return false;
  if (value.is_null() || !MayPadOrTrim(field, value.text())) return true;
  ComparingSink stored(value.text());
  SendCell(field, cells_, stored);
  return IsSame(field, stored.equal);
}

}  // namespace rowsocket::engine::server
