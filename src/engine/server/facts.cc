#include "engine/server/facts.h"

#include "engine/server/index.h"

namespace rowsocket::engine::server {

namespace {

using Kind = ColumnFacts::Kind;

Kind KindOf(const Field& field) {
  if (!IsTraditional(field)) return Kind::kOther;
  if (IsInteger(field)) return Kind::kInteger;
  switch (field.real_type()) {
    case MYSQL_TYPE_NEWDECIMAL:
      return Kind::kDecimal;
    case MYSQL_TYPE_FLOAT:
    case MYSQL_TYPE_DOUBLE:
      return Kind::kFloat;
    case MYSQL_TYPE_DATETIME:
    case MYSQL_TYPE_DATETIME2:
      return Kind::kDateTime;
    case MYSQL_TYPE_TIMESTAMP:
    case MYSQL_TYPE_TIMESTAMP2:
      return Kind::kTimestamp;
    case MYSQL_TYPE_STRING:
      return field.charset() == &my_charset_bin ? Kind::kPaddedBytes : Kind::kText;
    case MYSQL_TYPE_VARCHAR:
    case MYSQL_TYPE_BLOB:
      return field.charset() == &my_charset_bin ? Kind::kBytes : Kind::kText;
    default:
      return Kind::kOther;
  }
}

/// Whether the index has the order of its columns; a hash has none.
bool IsOrdered(const TABLE& table, const KEY& key) {
  const auto number = static_cast<uint>(&key - table.key_info);
  return !IsHash(key) &&
         (table.file->index_flags(number, 0, /*all_parts=*/true) & HA_READ_ORDER) != 0;
}

/// The name of an index that has the column in its order, unlike partial and full-text indexes;
/// empty when there is none.
std::string IndexThatBeginsWith(const TABLE& table, const Field& field) {
  for (uint i = 0; i < table.s->keys; ++i) {
    const KEY& key = table.key_info[i];
    const KEY_PART_INFO& first = key.key_part[0];
    if (!IsSearchable(key) || !IsOrdered(table, key)) continue;
    if (first.fieldnr != NumberOf(field) + 1u || (first.key_part_flag & HA_REVERSE_SORT)) continue;
    if ((first.key_part_flag & HA_PART_KEY_SEG) == 0) return std::string(NameOf(key));
  }
  return {};
}

/// Computes IndexFacts::has_key_that_follows.
bool HasKeyThatFollows(const TABLE& table) {
  for (Field** field = table.field; *field != nullptr; ++field) {
    const bool follows = IsGenerated(**field) || HasOnUpdate(**field);
    if (follows && !(*field)->part_of_key.is_clear_all()) return true;
  }
  return false;
}

ColumnFacts FactsOfColumn(const TABLE& table, const Field& field) {
  ColumnFacts facts;
  facts.kind = KindOf(field);
  facts.is_unsigned = field.is_unsigned();
  facts.is_nullable = IsNullable(field);
  facts.is_generated = IsGenerated(field);
  facts.is_binary = facts.kind != Kind::kText || (field.charset()->state & MY_CS_BINSORT) != 0;
  facts.pads = facts.kind == Kind::kText &&
               (field.real_type() == MYSQL_TYPE_STRING || !ComparesBlanks(*field.charset()));
  facts.updates_itself = HasOnUpdate(field);
  facts.is_in_key = !field.part_of_key.is_clear_all();
  if (facts.kind == Kind::kInteger) facts.bytes = field.pack_length();
  if (IsZerofill(field)) facts.zerofill_digits = field.field_length;
  facts.decimals = field.decimals();
  facts.index = IndexThatBeginsWith(table, field);
  return facts;
}

}  // namespace

bool IsInteger(const Field& field) {
  switch (field.real_type()) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
      return true;
    default:
      return false;
  }
}

IndexFacts FactsOf(const TABLE& table, const KEY& key, const std::vector<uint>& fields) {
  IndexFacts facts;
  facts.is_unique = (key.flags & HA_NOSAME) != 0 || IsHash(key);
  facts.is_ordered = IsOrdered(table, key);
  facts.is_referenced = IsReferenced(table);
  facts.has_key_that_follows = HasKeyThatFollows(table);
  const KeyParts parts = UserKeyParts(key);
  for (uint i = 0; i < parts.count; ++i) {
    const KEY_PART_INFO& part = parts.first[i];
    const Field& field = *table.field[part.fieldnr - 1];
    if (IsRowEnd(field)) continue;
    facts.has_prefix = facts.has_prefix || (part.key_part_flag & HA_PART_KEY_SEG) != 0;
    facts.key_names.emplace_back(NameOf(field));
    facts.key.push_back(FactsOfColumn(table, field));
  }
  for (const uint field : fields)
    facts.columns.push_back(FactsOfColumn(table, *table.field[field]));
  return facts;
}

}  // namespace rowsocket::engine::server
