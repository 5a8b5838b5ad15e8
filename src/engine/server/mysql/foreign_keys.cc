#include "engine/server/foreign_keys.h"

#include <algorithm>

#include "cascades.h"

namespace rowsocket::engine::server {

namespace {

/// Whether one of the columns is among `names`.
bool HasAny(const TABLE& table, const std::vector<uint>& fields, const LEX_CSTRING* names,
            uint count) {
  return std::any_of(names, names + count,
                     [&](const LEX_CSTRING& name) { return HasName(table, fields, name); });
}

}  // namespace

bool ReferencesChanged(THD*, const OpenTable&) { return false; }

bool IsInForeignKey(THD*, const TABLE& table, const std::vector<uint>& fields) {
  const TABLE_SHARE& share = *table.s;
  for (uint i = 0; i < share.foreign_keys; ++i) {
    const TABLE_SHARE_FOREIGN_KEY_INFO& key = share.foreign_key[i];
    if (HasAny(table, fields, key.referencing_column_names, key.columns)) return true;
  }
  // A table's definition does not say to which of its columns other tables refer, so each may be
  // one of them.
  return share.foreign_key_parents != 0;
}

bool DeleteReachesChildren(THD*, const TABLE& table) {
  const TABLE_SHARE_FOREIGN_KEY_PARENT_INFO* const first = table.s->foreign_key_parent;
  return std::any_of(first, first + table.s->foreign_key_parents,
                     [](const TABLE_SHARE_FOREIGN_KEY_PARENT_INFO& key) {
                       return !RefusesChange(key.delete_rule);
                     });
}

bool HasForeignKey(THD*, const TABLE& table) {
  return table.s->foreign_keys != 0 || table.s->foreign_key_parents != 0;
}

}  // namespace rowsocket::engine::server
