// A row of one of the library's tables in information_schema.
//
// Threads: that of the session whose statement reads the table.
// Lifetime: while a row is filled.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "information_schema.h"

namespace rowsocket::plugin {

/// The most characters that names of plugins, tables and indexes have.
inline constexpr uint kNameMax = 64;

/// Whether the statement reads the column, counted from 0: COUNT(*) reads none.
inline bool ReadsColumn(const TABLE& table, uint column) { return IsRead(*table.field[column]); }

/// Gives all columns their defaults, once for all rows of a statement: columns that the statement
/// does not read keep them.
inline void ClearRow(TABLE* table) { restore_record(table, s->default_values); }

/// Stores values into the columns of a row, from the first to the last.
class SchemaRow {
 public:
  explicit SchemaRow(TABLE* table) : table_(*table) {}

  void Text(std::string_view text) {
    if (Field* const field = Next()) StoreText(*field, text);
  }
  /// Stores a text; an empty one becomes NULL.
  void TextOrNull(std::string_view text) {
    Field* const field = Next();
    if (field == nullptr) return;
    if (text.empty())
      field->set_null();
    else
      field->set_notnull();
    StoreText(*field, text);
  }
  void Number(uint64_t number) {
    if (Field* const field = Next())
      field->store(static_cast<longlong>(number), /*unsigned_val=*/true);
  }
  void Fraction(double number) {
    if (Field* const field = Next()) field->store(number);
  }

 private:
  /// Moves to the next column. Null: the statement does not read it.
  Field* Next() {
    const uint column = column_++;
    return ReadsColumn(table_, column) ? table_.field[column] : nullptr;
  }
  static void StoreText(Field& field, std::string_view text) {
    field.store(text.data(), static_cast<uint>(text.size()), system_charset_info);
  }

  const TABLE& table_;
  uint column_ = 0;
};

}  // namespace rowsocket::plugin
