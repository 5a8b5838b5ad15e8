#include "engine/server/cells.h"

#include "model/limits.h"

namespace rowsocket::engine::server {

namespace {

/// The column's text; null where the column is NULL.
const String* ReadCell(Field* field, CellBuffers& buffers) {
  if (field->is_null()) return nullptr;
  if (buffers.text.alloced_length() > model::kKeptValueBytesMax) buffers.text.free();
  const String* text = field->val_str(&buffers.text);
  if (text == nullptr || IsWireText(field)) return text;
  if (buffers.converted.alloced_length() > model::kKeptValueBytesMax) buffers.converted.free();
  uint errors = 0;
  buffers.converted.copy(text->ptr(), text->length(), text->charset(), &my_charset_utf8mb4_bin,
                         &errors);
  return &buffers.converted;
}

}  // namespace

bool IsWireText(const Field* field) {
  if (field->cmp_type() != STRING_RESULT) return true;
  const CHARSET_INFO* charset = field->charset();
  return charset == &my_charset_bin || charset->cs_name.str == my_charset_utf8mb4_bin.cs_name.str ||
         charset->cs_name.str == my_charset_utf8mb3_bin.cs_name.str;
}

CHARSET_INFO* WireCharset(const Field* field) {
  const bool is_bytes =
      field->charset() == &my_charset_bin && (IsTraditional(*field) || IsVector(*field));
  return is_bytes || field->real_type() == MYSQL_TYPE_GEOMETRY ? &my_charset_bin
                                                               : &my_charset_utf8mb4_general_ci;
}

bool SendCell(Field* field, CellBuffers& buffers, model::RowSink& sink) {
  const String* text = ReadCell(field, buffers);
  return text == nullptr ? sink.NullCell() : sink.Cell({text->ptr(), text->length()});
}

std::span<const model::Value> RowCells::Read(TABLE* table, bool exists,
                                             const std::vector<uint>& fields) {
  values_.clear();
  if (!exists) return values_;
  if (buffers_.size() < fields.size()) buffers_.resize(fields.size());
  for (size_t i = 0; i < fields.size(); ++i) {
    const String* text = ReadCell(table->field[fields[i]], buffers_[i]);
    values_.push_back(text == nullptr
                          ? model::Value()
                          : model::Value(std::string_view(text->ptr(), text->length())));
  }
  return values_;
}

bool StoreCell(THD* thd, Field* field, const model::Value& value) {
  TABLE* table = field->table;
  if (field == table->next_number_field) table->auto_increment_field_not_null = true;
  if (IsGenerated(*field)) {
    if (value.is_null()) return true;  // SQL takes NULL for no value; the column is computed later.
    my_error(ER_WARNING_NON_DEFAULT_VALUE_FOR_GENERATED_COLUMN, MYF(0), NameText(*field),
             table->s->table_name.str);
    return false;
  }
  if (value.is_null()) {
    if (set_field_to_null_with_conversions(field, false) < 0 && !thd->is_error()) {
      my_error(ER_BAD_NULL_ERROR, MYF(0), NameText(*field));
    }
  } else {
    field->set_notnull();
    const std::string_view text = value.text();
    field->store(text.data(), text.size(), WireCharset(field));
  }
  field->set_has_explicit_value();
  return !thd->is_error();
}

}  // namespace rowsocket::engine::server
