#include "cascades.h"

#include <algorithm>
#include <utility>

#include "engine/server/foreign_keys.h"
#include "engine/server/statement.h"

namespace rowsocket::engine::server {

namespace {

/// Whether an update that sets these columns may change the column of this name.
bool MayChange(const TABLE& table, const std::vector<uint>& columns, const LEX_CSTRING& name) {
  if (HasName(table, columns, name)) return true;
  // An update also changes columns that it does not set.
  return std::any_of(table.field, table.field + table.s->fields, [&name](const Field* field) {
    return HasName(*field, name) && (IsGenerated(*field) || HasOnUpdate(*field));
  });
}

/// Looks for triggers of the tables that cascades change, one cascade after another.
class TriggerSearch {
 public:
  explicit TriggerSearch(const OpenTable& open) : open_(open) {}

  /// Whether cascades of the command, which is carried out on rows of the table, may reach a
  /// trigger.
  bool FindsTrigger(const TABLE& table, int sql_command, const std::vector<uint>& columns);

 private:
  using Parent = TABLE_SHARE_FOREIGN_KEY_PARENT_INFO;

  /// The open table whose rows a cascade of the key changes; null: there is none.
  const TABLE* ChildOf(const Parent& key) const;
  /// False if the cascade was looked at before: foreign keys may lead around a circle.
  bool IsNew(const Parent& key, int sql_command);

  const OpenTable& open_;
  std::vector<std::pair<const Parent*, int>> seen_;
};

const TABLE* TriggerSearch::ChildOf(const Parent& key) const {
  const auto child =
      std::find_if(open_.tables.begin(), open_.tables.end(), [&key](const TABLE* table) {
        const TABLE_SHARE& share = *table->s;
        return table->reginfo.lock_type == TL_WRITE &&
               my_strcasecmp(table_alias_charset, share.db.str, key.referencing_table_db.str) ==
                   0 &&
               my_strcasecmp(table_alias_charset, share.table_name.str,
                             key.referencing_table_name.str) == 0;
      });
  return child != open_.tables.end() ? *child : nullptr;
}

bool TriggerSearch::IsNew(const Parent& key, int sql_command) {
  const std::pair<const Parent*, int> cascade(&key, sql_command);
  if (std::find(seen_.begin(), seen_.end(), cascade) != seen_.end()) return false;
  seen_.push_back(cascade);
  return true;
}

/// The foreign key of the child by which it refers to its parent; null: there is none.
const TABLE_SHARE_FOREIGN_KEY_INFO* KeyOfChild(const TABLE& child, const LEX_CSTRING& name) {
  const auto* const first = child.s->foreign_key;
  const auto* const end = first + child.s->foreign_keys;
  const auto* const key = std::find_if(
      first, end, [&name](const auto& each) { return IsSameName(each.fk_name.str, name.str); });
  return key != end ? key : nullptr;
}

/// The columns that an ON ... SET NULL, or an ON UPDATE CASCADE, of the key changes in the child.
std::vector<uint> ColumnsOfKey(const TABLE& child, const TABLE_SHARE_FOREIGN_KEY_INFO& key) {
  std::vector<uint> columns;
  for (Field** field = child.field; *field != nullptr; ++field) {
    const auto* const names = key.referencing_column_names;
    const bool has = std::any_of(names, names + key.columns, [field](const LEX_CSTRING& name) {
      return HasName(**field, name);
    });
    if (has) columns.push_back(NumberOf(**field));
  }
  return columns;
}

bool TriggerSearch::FindsTrigger(const TABLE& table, int sql_command,
                                 const std::vector<uint>& columns) {
  const bool deletes = sql_command == SQLCOM_DELETE;
  for (uint i = 0; i < table.s->foreign_key_parents; ++i) {
    const Parent& parent = table.s->foreign_key_parent[i];
    const auto rule = deletes ? parent.delete_rule : parent.update_rule;
    if (RefusesChange(rule)) continue;
    const TABLE* const child = ChildOf(parent);
    const auto* const key = child != nullptr ? KeyOfChild(*child, parent.fk_name) : nullptr;
    // No open table has the key, so that the triggers of its table are unknown.
    if (key == nullptr) return true;
    const auto* const names = key->referenced_column_names;
    const bool follows =
        deletes || std::any_of(names, names + key->columns, [&](const LEX_CSTRING& name) {
          return MayChange(table, columns, name);
        });
    if (!follows) continue;
    const bool deletes_child = deletes && rule == dd::Foreign_key::RULE_CASCADE;
    const int command = deletes_child ? SQLCOM_DELETE : SQLCOM_UPDATE;
    if (HasTriggers(*child, command)) return true;
    if (IsNew(parent, sql_command) && FindsTrigger(*child, command, ColumnsOfKey(*child, *key))) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool ChangesChild(const TABLE_SHARE_FOREIGN_KEY_PARENT_INFO& key) {
  return !RefusesChange(key.update_rule) || !RefusesChange(key.delete_rule);
}

bool ChangesChildren(const TABLE& table) {
  const TABLE_SHARE_FOREIGN_KEY_PARENT_INFO* const first = table.s->foreign_key_parent;
  return std::any_of(first, first + table.s->foreign_key_parents, ChangesChild);
}

bool CascadesReachTriggers(const OpenTable& open, int sql_command,
                           const std::vector<uint>& columns) {
  if (sql_command == SQLCOM_INSERT || open.table->s->foreign_key_parents == 0) return false;
  const bool has_triggers =
      std::any_of(open.tables.begin(), open.tables.end(),
                  [](const TABLE* each) { return each->triggers != nullptr; });
  return has_triggers && TriggerSearch(open).FindsTrigger(*open.table, sql_command, columns);
}

}  // namespace rowsocket::engine::server
