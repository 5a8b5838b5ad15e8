#include "engine/server/cells.h"

#include "model/limits.h"

namespace rowsocket::engine::server {

namespace {

/// The column's text; null if the column is NULL.
const String* ReadCell(Field* field, CellBuffers& buffers) {
  if (field->is_null()) return nullptr;
  if (buffers.text.alloced_length() > model::kKeptValueBytesMax) FreeBytes(buffers.text);
  const String* text = TextOf(*field, &buffers.text);
  if (text == nullptr || IsWireText(field)) return text;
  if (buffers.converted.alloced_length() > model::kKeptValueBytesMax) FreeBytes(buffers.converted);
  uint errors = 0;
  buffers.converted.copy(text->ptr(), text->length(), text->charset(), &my_charset_utf8mb4_bin,
                         &errors);
  return &buffers.converted;
}

}  // namespace

bool IsWireText(const Field* field) {
  if (!ComparesAsText(*field)) return true;
  const CHARSET_INFO* charset = field->charset();
  return charset == &my_charset_bin || IsUtf8(*charset);
}

const CHARSET_INFO* WireCharset(const Field* field) {
  return TakesBytes(*field) ? &my_charset_bin : &my_charset_utf8mb4_general_ci;
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
  if (field == table->next_number_field) SetGivesAutoIncrement(*table, true);
  if (IsGenerated(*field)) {
    if (value.is_null() && kNullLeavesGenerated) return true;  // The column is computed later.
    RaiseGivenGenerated(*field);
    return false;
  }
  if (value.is_null()) {
    if (!StoreNull(field) && !thd->is_error()) {
      my_error(ER_BAD_NULL_ERROR, MYF(0), NameText(*field));
    }
  } else {
    field->set_notnull();
    const std::string_view text = value.text();
    field->store(text.data(), text.size(), WireCharset(field));
  }
  MarkAsGiven(*field);
  return !thd->is_error();
}

}  // namespace rowsocket::engine::server
