#include "keyspace/row_key.h"

#include <algorithm>

#include "keyspace/codec.h"

namespace rowsocket::keyspace {

namespace {

/// Whether an integer is written as its column shows it, so that no two keys name the same row.
bool IsCanonicalInteger(std::string_view text) {
  if (text.starts_with('-'))
    text.remove_prefix(1);
  else if (text == "0")
    return true;
  if (text.empty() || text[0] == '0') return false;
  return std::all_of(text.begin(), text.end(),
                     [](char byte) { return byte >= '0' && byte <= '9'; });
}

bool CanBeKey(const model::Value& value, const KeyPart& part) {
  if (value.is_null()) return false;
  const std::string_view text = value.text();
  if (part.is_integer) return IsCanonicalInteger(text);
  return !(part.pads && text.ends_with(' '));
}

}  // namespace

bool ParseRowKey(std::string_view text, const Container& container, base::Arena& arena,
                 RowKey* key) {
  const std::span<model::Value> columns = arena.Allocate<model::Value>(container.key.size());
  if (columns.size() == 1) {
    columns[0] = model::Value(text);
  } else if (!SplitColumns(text, container.separator, arena, columns)) {
    return false;
  }
  key->columns = key->parts = columns;
  bool can_be = true;
  for (size_t i = 0; i < columns.size(); ++i) {
    can_be = can_be && CanBeKey(columns[i], container.key[i]);
  }
  if (columns.size() == 1) return can_be;
  const std::span<model::Value> parts = arena.Allocate<model::Value>(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) parts[container.key[i].index_part] = columns[i];
  key->parts = parts;
  return can_be;
}

}  // namespace rowsocket::keyspace
