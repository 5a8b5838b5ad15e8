#include "keyspace/codec.h"

#include <cstring>

namespace rowsocket::keyspace {

namespace {

constexpr char kEscape = '\\';
constexpr std::string_view kNull = "\\N";

/// Where the first column of `text` ends; the column has `*escapes` escaped bytes.
size_t ColumnEnd(std::string_view text, char separator, size_t* escapes) {
  *escapes = 0;
  size_t end = 0;
  for (; end < text.size() && text[end] != separator; ++end) {
    if (text[end] != kEscape) continue;
    ++*escapes;
    ++end;  // The byte after a backslash is no separator.
  }
  return end < text.size() ? end : text.size();
}

/// Removes the escapes from a column. Null data: a backslash stands before another byte.
std::string_view Unescape(std::string_view column, size_t escapes, char separator,
                          base::Arena& arena) {
  const std::span<char> bytes = arena.Allocate<char>(column.size() - escapes + 1);
  size_t size = 0;
  for (size_t i = 0; i < column.size(); ++i) {
    if (column[i] == kEscape) {
      ++i;
      if (i == column.size() || (column[i] != kEscape && column[i] != separator)) return {};
    }
    bytes[size++] = column[i];
  }
  return {bytes.data(), size};
}

}  // namespace

bool SplitColumns(std::string_view text, char separator, base::Arena& arena,
                  std::span<model::Value> parts) {
  for (size_t i = 0; i < parts.size(); ++i) {
    size_t escapes = 0;
    const size_t end = ColumnEnd(text, separator, &escapes);
    const std::string_view column = text.substr(0, end);
    const bool is_last = i + 1 == parts.size();
    if (is_last != (end == text.size())) return false;
    if (!is_last) text.remove_prefix(end + 1);
    if (column == kNull) {
      parts[i] = model::Value();
    } else if (escapes == 0) {
      parts[i] = model::Value(column);
    } else {
      const std::string_view plain = Unescape(column, escapes, separator, arena);
      if (plain.data() == nullptr) return false;
      parts[i] = model::Value(plain);
    }
  }
  return true;
}

void AppendColumn(const model::Value& value, char separator, base::Buffer& out) {
  if (value.is_null()) {
    out.Append(kNull);
    return;
  }
  std::string_view rest = value.text();
  while (!rest.empty()) {
    size_t plain = 0;
    while (plain < rest.size() && rest[plain] != kEscape && rest[plain] != separator) ++plain;
    out.Append(rest.substr(0, plain));
    if (plain == rest.size()) return;
    out.Append(kEscape);
    out.Append(rest[plain]);
    rest.remove_prefix(plain + 1);
  }
}

}  // namespace rowsocket::keyspace
