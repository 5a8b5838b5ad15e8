// A row of one of the library's tables in information_schema.
//
// Threads and lifetime: the session's whose statement reads the table, while it fills the row.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "information_schema.h"

namespace rowsocket::plugin {

/// Stores values into the columns of a row, from the first on.
class SchemaRow {
 public:
  explicit SchemaRow(TABLE* table) : next_(table->field) {
    restore_record(table, s->default_values);
  }

  void Text(std::string_view text) {
    (*next_++)->store(text.data(), static_cast<uint>(text.size()), system_charset_info);
  }
  /// An empty text is NULL.
  void TextOrNull(std::string_view text) {
    Field& field = **next_;
    if (text.empty())
      field.set_null();
    else
      field.set_notnull();
    Text(text);
  }
  void Number(uint64_t number) {
    (*next_++)->store(static_cast<longlong>(number), /*unsigned_val=*/true);
  }
  void Fraction(double number) { (*next_++)->store(number); }

 private:
  Field** next_;
};

}  // namespace rowsocket::plugin
