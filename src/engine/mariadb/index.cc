#include "engine/mariadb/index.h"

#include <algorithm>
#include <charconv>

#include "engine/mariadb/merge_rules.h"

namespace rowsocket::engine::mariadb {

using model::ErrorCode;

MariaIndex::~MariaIndex() {
  if (read_set_.bitmap != nullptr) my_bitmap_free(&read_set_);
}

KeyParts UserKeyParts(const KEY& key) {
  if (key.algorithm != HA_KEY_ALG_LONG_HASH) {
    return {key.key_part, key.user_defined_key_parts, false};
  }
  // The server puts the columns that the user named in front of the hidden hash column.
  const auto* hash = static_cast<const Item_func_hash*>(key.key_part->field->vcol_info->expr);
  const uint count = hash->argument_count();
  return {key.key_part - count, count, true};
}

bool NamesOneRow(const KEY& key, std::span<const model::Value> values) {
  const KeyParts parts = UserKeyParts(key);
  return (parts.is_hash || (key.flags & HA_NOSAME)) && values.size() == parts.count &&
         std::none_of(values.begin(), values.end(),
                      [](const model::Value& value) { return value.is_null(); });
}

Outcome MariaIndex::ResolveForRead(Tables& tables, OpenTable** open) {
  return Resolve(tables, Access::kRead, open);
}

Outcome MariaIndex::ResolveForWrite(Tables& tables, OpenTable** open) {
  return Resolve(tables, Access::kWrite, open);
}

Outcome MariaIndex::Resolve(Tables& tables, Access access, OpenTable** open) {
  const auto slot = static_cast<size_t>(access);
  if (generations_[slot] == tables.generation()) {
    *open = opens_[slot];
    return {};
  }
  OpenTable* found = nullptr;
  const Outcome outcome = tables.Open(names().db, names().table, access, &found);
  if (!outcome.ok()) return outcome;
  // Both instances are of one table definition within a generation: a change of the definition
  // needs an exclusive metadata lock, which makes us close everything first.
  if (generations_[1 - slot] != tables.generation()) {
    const ErrorCode error = LookUp(found->table);
    if (error != ErrorCode::kNone) return Outcome::Fail(error);
  }
  opens_[slot] = found;
  generations_[slot] = tables.generation();
  *open = found;
  return {};
}

ErrorCode MariaIndex::LookUp(TABLE* table) {
  if (!LookUpKey(table)) return ErrorCode::kIdxnum;
  if (!LookUpFields(table, names().columns, &column_fields_) ||
      !LookUpFields(table, names().filter_columns, &filter_fields_)) {
    return ErrorCode::kFld;
  }
  return MakeReadSet(table) ? ErrorCode::kNone : ErrorCode::kOpenTable;
}

bool MariaIndex::LookUpKey(const TABLE* table) {
  const std::string& name = names().index;
  const uint keys = table->s->keys;
  key_ = keys;
  if (name.empty() || name == "PRIMARY") {
    key_ = table->s->primary_key;
  } else if (name[0] >= '0' && name[0] <= '9') {
    const char* end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data(), end, key_);
    if (parsed.ec != std::errc() || parsed.ptr != end) return false;
  } else {
    for (uint i = 0; i < keys; ++i) {
      const LEX_CSTRING& key_name = table->key_info[i].name;
      if (name == std::string_view(key_name.str, key_name.length)) key_ = i;
    }
  }
  if (key_ >= keys) return false;
  return (table->key_info[key_].flags & (HA_FULLTEXT | HA_SPATIAL)) == 0;
}

bool MariaIndex::LookUpFields(const TABLE* table, const std::vector<std::string>& field_names,
                              std::vector<uint>* fields) {
  fields->clear();
  for (const std::string& name : field_names) {
    Field** field = table->field;
    for (; *field != nullptr; ++field) {
      const LEX_CSTRING& field_name = (*field)->field_name;
      if ((*field)->invisible < INVISIBLE_FULL &&
          name == std::string_view(field_name.str, field_name.length)) {
        break;
      }
    }
    if (*field == nullptr) return false;
    fields->push_back((*field)->field_index);
  }
  return true;
}

const MergeRules& MariaIndex::merge_rules(Tables& tables, const OpenTable& open) {
  if (merge_rules_generation_ != tables.generation()) {
    merge_rules_ = FindMergeRules(open, *this);
    merge_rules_generation_ = tables.generation();
  }
  return merge_rules_;
}

bool MariaIndex::MakeReadSet(TABLE* table) {
  if (read_set_.bitmap != nullptr) my_bitmap_free(&read_set_);
  if (my_bitmap_init(&read_set_, nullptr, table->s->fields)) return false;
  MY_BITMAP* const previous = table->read_set;
  table->read_set = &read_set_;
  const KeyParts parts = UserKeyParts(table->key_info[key_]);
  for (uint i = 0; i < parts.count; ++i) parts.first[i].field->register_field_in_read_map();
  for (uint field : column_fields_) table->field[field]->register_field_in_read_map();
  for (uint field : filter_fields_) table->field[field]->register_field_in_read_map();
  if (table->versioned()) table->vers_end_field()->register_field_in_read_map();
  table->read_set = previous;
  return true;
}

}  // namespace rowsocket::engine::mariadb
