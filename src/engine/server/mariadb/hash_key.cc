#include "engine/server/hash_key.h"

#include "base/require.h"

namespace rowsocket::engine::server {

KeyParts HashKeyParts(const KEY& key) {
  ROWSOCKET_REQUIRE(IsHash(key));
  const auto* hash = static_cast<const Item_func_hash*>(key.key_part->field->vcol_info->expr);
  const uint count = hash->argument_count();
  const KEY_PART_INFO* const first = key.key_part - count;
  return {first, count - (IsRowEnd(*first[count - 1].field) ? 1u : 0u), true};
}

// Does not use TABLE::update_virtual_field, which would compute generated columns of the key anew:
// they would overwrite the values just stored with values of an earlier request in record[0].
void StoreHash(THD* thd, TABLE* table, const KEY& key) {
  ROWSOCKET_REQUIRE(IsHash(key));
  Field* const hash = key.key_part->field;
  if (IsSystemVersioned(*table)) SetRowEndOfCurrent(*table);
  Query_arena backup;
  thd->set_n_backup_active_arena(table->expr_arena, &backup);
  hash->vcol_info->expr->save_in_field(hash, /*no_conversions=*/false);
  thd->restore_active_arena(table->expr_arena, &backup);
}

}  // namespace rowsocket::engine::server
