#include "engine/server/merge_rules.h"

#include <algorithm>
#include <vector>

#include "api.h"
#include "engine/server/foreign_keys.h"
#include "engine/server/index.h"
#include "engine/server/statement.h"
#include "engine/server/tables.h"

namespace rowsocket::engine::server {

using model::Modification;
using model::Request;

namespace {

using Fields = std::vector<uint>;

bool Contains(const Fields& fields, uint field) {
  return std::find(fields.begin(), fields.end(), field) != fields.end();
}

bool HasAnyTrigger(const TABLE& table) {
  return HasTriggers(table, SQLCOM_INSERT) || HasTriggers(table, SQLCOM_UPDATE) ||
         HasTriggers(table, SQLCOM_DELETE);
}

/// Whether a unique key other than number `except_key` has one of these columns. `except_key` is
/// s->keys to leave no key out.
bool IsInUniqueKey(const TABLE& table, const Fields& fields, uint except_key) {
  for (uint i = 0; i < table.s->keys; ++i) {
    const KEY& key = table.key_info[i];
    const KeyParts parts = UserKeyParts(key);
    if (i == except_key || !(parts.is_hash || (key.flags & HA_NOSAME))) continue;
    for (uint part = 0; part < parts.count; ++part) {
      if (Contains(fields, parts.first[part].fieldnr - 1)) return true;
    }
  }
  return false;
}

bool HasOtherUniqueKey(const TABLE& table, uint except_key) {
  for (uint i = 0; i < table.s->keys; ++i) {
    const KEY& key = table.key_info[i];
    if (i != except_key && (UserKeyParts(key).is_hash || (key.flags & HA_NOSAME))) return true;
  }
  return false;
}

/// Whether a generated column depends on one of these columns, or is a BLOB, whose bytes are kept
/// in the column and not in the row.
bool IsGeneratedFrom(TABLE* table, const Fields& fields) {
  if (!HasGenerated(*table)) return false;
  MY_BITMAP needed;
  if (!MakeBitmap(&needed, table->s->fields)) return true;
  bool has_blob = false;
  for (Field** field = table->vfield; *field != nullptr; ++field) {
    MarkWithBaseColumns(**field, &needed);
    has_blob = has_blob || IsBlob(**field);
  }
  const bool depends = std::any_of(fields.begin(), fields.end(),
                                   [&](uint field) { return bitmap_is_set(&needed, field); });
  FreeBitmap(&needed);
  return has_blob || depends;
}

bool GeneratesOtherThan(const TABLE& table, const Fields& key) {
  return table.found_next_number_field != nullptr &&
         !Contains(key, NumberOf(*table.found_next_number_field));
}

NotMergeable WhyNotMergeAny(const OpenTable& open) {
  const TABLE& table = *open.table;
  if (!open.rolls_back) return NotMergeable::kEngine;
  if (IsSystemVersioned(table)) return NotMergeable::kVersioned;
  if (IsPartitioned(table) || HasPeriod(table) || HasVectorIndexTable(table)) {
    return NotMergeable::kTable;
  }
  return NotMergeable::kNone;
}

/// The columns that an update of these columns changes, with those that have ON UPDATE.
Fields ChangedWith(const TABLE& table, const Fields& columns) {
  Fields changed = columns;
  for (Field** field = table.field; *field != nullptr; ++field) {
    if (HasOnUpdate(**field)) changed.push_back(NumberOf(**field));
  }
  return changed;
}

NotMergeable WhyNotMergeModifies(THD* thd, TABLE* table, const Fields& opened) {
  const Fields columns = ChangedWith(*table, opened);
  if (HasTriggers(*table, SQLCOM_UPDATE)) return NotMergeable::kTrigger;
  if (IsInUniqueKey(*table, columns, table->s->keys)) return NotMergeable::kUniqueKey;
  if (IsInForeignKey(thd, *table, columns)) return NotMergeable::kForeignKey;
  if (IsGeneratedFrom(table, columns)) return NotMergeable::kGenerated;
  return HasChecks(*table) ? NotMergeable::kCheck : NotMergeable::kNone;
}

NotMergeable WhyNotMergeErases(const TABLE& table) {
  if (HasTriggers(table, SQLCOM_DELETE)) return NotMergeable::kTrigger;
  return IsReferenced(table) ? NotMergeable::kForeignKey : NotMergeable::kNone;
}

NotMergeable WhyNotMergeEdits(THD* thd, const TABLE& table, uint key_number, const Fields& key) {
  if (HasAnyTrigger(table)) return NotMergeable::kTrigger;
  if (HasOtherUniqueKey(table, key_number)) return NotMergeable::kUniqueKey;
  if (HasForeignKey(thd, table)) return NotMergeable::kForeignKey;
  if (HasGenerated(table)) return NotMergeable::kGenerated;
  if (HasChecks(table)) return NotMergeable::kCheck;
  const bool generates = HasSequences(table) || GeneratesOtherThan(table, key);
  return generates ? NotMergeable::kTable : NotMergeable::kNone;
}

}  // namespace

NotMergeable MergeRules::Of(const Request& request) const {
  if (request.verb == Request::Verb::kEdit) return edit;
  switch (request.find.modification) {
    case Modification::kNone:
      return find;
    case Modification::kDelete:
      return erase;
    case Modification::kUpdate:
    case Modification::kIncrement:
    case Modification::kDecrement:
      break;
  }
  return modify;
}

MergeRules FindMergeRules(const OpenTable& open, const IndexState& index) {
  TABLE* table = open.table;
  THD* thd = table->in_use;
  const NotMergeable whole = WhyNotMergeAny(open);
  if (whole != NotMergeable::kNone) return {whole, whole, whole, whole};
  const KeyParts parts = UserKeyParts(table->key_info[index.key()]);
  if (parts.is_hash) {
    const NotMergeable reason = NotMergeable::kRequest;
    return {reason, reason, reason, reason};
  }
  Fields key;
  for (uint i = 0; i < parts.count; ++i) key.push_back(parts.first[i].fieldnr - 1);
  MergeRules rules;
  rules.modify = WhyNotMergeModifies(thd, table, index.column_fields());
  rules.erase = WhyNotMergeErases(*table);
  rules.edit = WhyNotMergeEdits(thd, *table, index.key(), key);
  return rules;
}

}  // namespace rowsocket::engine::server
