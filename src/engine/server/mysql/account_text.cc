#include "engine/server/account_text.h"

#include <memory>
#include <string_view>

#include "engine/server/login_thd.h"
#include "engine/server/session_thd.h"

namespace rowsocket::engine::server {

namespace {

constexpr uint kHost = 0;
constexpr uint kUser = 1;

bool IsPrivilege(std::string_view name) { return name.ends_with("_priv"); }

std::string TextOfRow(const TABLE& table) {
  std::string text;
  for (uint i = kUser + 1; i < table.s->fields; ++i) {
    Field& field = *table.field[i];
    if (IsPrivilege(NameOf(field))) continue;
    char space[256];
    String value(space, sizeof(space), &my_charset_bin);
    const String* const shown = field.is_null() ? nullptr : field.val_str(&value);
    text += '\n';
    text += NameOf(field);
    if (shown != nullptr) text.append(1, '=').append(shown->ptr(), shown->length());
  }
  return text;
}

std::string RowOf(TABLE* table, const std::string& user, const std::string& host) {
  if (table->s->fields <= kUser || table->s->primary_key != 0) return {};
  table->use_all_columns();
  const auto store = [table](uint field, const std::string& value) {
    table->field[field]->store(value.data(), value.size(), system_charset_info);
  };
  store(kHost, host);
  store(kUser, user);
  uchar key[MAX_KEY_LENGTH];
  key_copy(key, table->record[0], table->key_info, table->key_info->key_length);
  const int error =
      table->file->ha_index_read_idx_map(table->record[0], 0, key, HA_WHOLE_KEY, HA_READ_KEY_EXACT);
  return error == 0 ? TextOfRow(*table) : std::string();
}

}  // namespace

struct AccountText::Own {};

AccountText::AccountText() = default;
AccountText::~AccountText() = default;

// A thread that has a THD reads with it.
std::string AccountText::Of(const std::string& user, const std::string& host) {
  std::unique_ptr<LoginThd> own;
  if (current_thd == nullptr) own = std::make_unique<LoginThd>();
  THD* const thd = current_thd;
  if (ServerStopping()) return {};
  Table_ref list(STRING_WITH_LEN("mysql"), STRING_WITH_LEN("user"), "user", TL_READ);
  if (open_trans_system_tables_for_read(thd, &list)) {
    thd->clear_error();
    return {};
  }
  std::string text = RowOf(list.table, user, host);
  close_trans_system_tables(thd);
  return text;
}

}  // namespace rowsocket::engine::server
