#include "engine/server/foreign_keys.h"

#include "references.h"

namespace rowsocket::engine::server {

bool ListReferences(THD* thd, TABLE* table, List<FOREIGN_KEY_INFO>* keys, std::string* text) {
  text->clear();
  if (!IsReferenced(*table)) return true;
  table->file->get_parent_foreign_key_list(thd, keys);
  if (thd->is_error()) return false;
  List_iterator<FOREIGN_KEY_INFO> next(*keys);
  while (const FOREIGN_KEY_INFO* key = next++) {
    for (const LEX_CSTRING* name : {key->foreign_db, key->foreign_table, key->foreign_id}) {
      text->append(name->str, name->length).append(1, '/');
    }
    text->append(1, static_cast<char>('0' + key->delete_method));
    text->append(1, static_cast<char>('0' + key->update_method));
  }
  return true;
}

bool ReferencesChanged(THD* thd, const OpenTable& open) {
  std::string now;
  for (const References& known : open.own.references) {
    List<FOREIGN_KEY_INFO> keys;
    if (!ListReferences(thd, known.table, &keys, &now) || now != known.keys) return true;
  }
  return false;
}

bool IsInForeignKey(THD* thd, const TABLE& table, const std::vector<uint>& fields) {
  List<FOREIGN_KEY_INFO> of_child, of_parent;
  table.file->get_foreign_key_list(thd, &of_child);
  table.file->get_parent_foreign_key_list(thd, &of_parent);
  const auto has = [&](List<LEX_CSTRING>& names) {
    List_iterator<LEX_CSTRING> next(names);
    while (const LEX_CSTRING* name = next++) {
      if (HasName(table, fields, *name)) return true;
    }
    return false;
  };
  List_iterator<FOREIGN_KEY_INFO> next_child(of_child);
  while (FOREIGN_KEY_INFO* key = next_child++) {
    if (has(key->foreign_fields)) return true;
  }
  List_iterator<FOREIGN_KEY_INFO> next_parent(of_parent);
  while (FOREIGN_KEY_INFO* key = next_parent++) {
    if (has(key->referenced_fields)) return true;
  }
  return false;
}

bool DeleteReachesChildren(THD* thd, const TABLE& table) {
  if (!IsReferenced(table)) return false;
  List<FOREIGN_KEY_INFO> keys;
  table.file->get_parent_foreign_key_list(thd, &keys);
  List_iterator<FOREIGN_KEY_INFO> next(keys);
  while (const FOREIGN_KEY_INFO* key = next++) {
    const bool refuses = key->delete_method == FK_OPTION_UNDEF ||
                         key->delete_method == FK_OPTION_RESTRICT ||
                         key->delete_method == FK_OPTION_NO_ACTION;
    if (!refuses) return true;
  }
  return false;
}

bool HasForeignKey(THD* thd, const TABLE& table) {
  List<FOREIGN_KEY_INFO> keys;
  table.file->get_foreign_key_list(thd, &keys);
  return !keys.is_empty() || IsReferenced(table);
}

}  // namespace rowsocket::engine::server
