#include "engine/server/account_text.h"

#include <memory>
#include <optional>
#include <string_view>

#include "engine/server/session_thd.h"

namespace rowsocket::engine::server {

namespace {

constexpr uint kHost = 0;
constexpr uint kUser = 1;
/// How long each of a login's three tries (ServerLogins::Check) waits for a session that has locked
/// mysql.user: together longer than GRANT waits for a replica by default.
constexpr unsigned long kLoginWaitS = 5;
/// How long a thread that reads again and again waits for such a session: not long, because others
/// wait for the thread to end.
constexpr unsigned long kReaderWaitS = 2;

bool IsPrivilege(std::string_view name) { return name.ends_with("_priv"); }

/// Appends what the column User_attributes holds, but for what partial revokes have taken away:
/// that is judged with the privileges. A column that holds nothing else is as one that is NULL.
bool AppendAttributes(const Field_json& field, std::string* text) {
  Json_wrapper attributes;
  if (field.val_json(&attributes)) return false;
  if (attributes.type() != enum_json_type::J_OBJECT) return true;
  for (const auto& [name, value] : Json_object_wrapper(attributes)) {
    if (name == "Restrictions") continue;
    char space[256];
    String shown(space, sizeof(space), &my_charset_utf8mb4_bin);
    shown.length(0);
    if (value.to_string(&shown, /*json_quoted=*/true, "", [] {})) return false;
    text->append(1, ';').append(name).append(1, '=').append(shown.ptr(), shown.length());
  }
  return true;
}

std::optional<std::string> TextOfRow(const TABLE& table) {
  std::string text;
  for (uint i = kUser + 1; i < table.s->fields; ++i) {
    Field& field = *table.field[i];
    if (IsPrivilege(NameOf(field))) continue;
    text += '\n';
    text += NameOf(field);
    if (field.is_null()) continue;
    if (field.type() == MYSQL_TYPE_JSON) {
      if (!AppendAttributes(static_cast<const Field_json&>(field), &text)) return std::nullopt;
      continue;
    }
    char space[256];
    String value(space, sizeof(space), &my_charset_bin);
    const String* const shown = field.val_str(&value);
    if (shown != nullptr) text.append(1, '=').append(shown->ptr(), shown->length());
  }
  return text;
}

std::optional<std::string> RowOf(TABLE* table, const std::string& user, const std::string& host) {
  if (table->s->fields <= kUser || table->s->primary_key != 0) return std::nullopt;
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
  if (error == HA_ERR_KEY_NOT_FOUND || error == HA_ERR_END_OF_FILE) return std::string();
  if (error != 0) return std::nullopt;
  return TextOfRow(*table);
}

/// Keeps other sessions from locking mysql.user. The server's function that opens this table would
/// wait for such sessions for a year, whatever lock_wait_timeout says.
class UserTableLock {
 public:
  UserTableLock(THD* thd, unsigned long wait_s) : context_(thd->mdl_context) {
    MDL_request request;
    MDL_REQUEST_INIT(&request, MDL_key::TABLE, "mysql", "user", MDL_SHARED_READ, MDL_EXPLICIT);
    if (!context_.acquire_lock(&request, wait_s)) ticket_ = request.ticket;
  }
  ~UserTableLock() {
    if (ticket_ != nullptr) context_.release_lock(ticket_);
  }
  UserTableLock(const UserTableLock&) = delete;
  UserTableLock& operator=(const UserTableLock&) = delete;

  bool is_held() const { return ticket_ != nullptr; }

 private:
  MDL_context& context_;
  MDL_ticket* ticket_ = nullptr;
};

std::optional<std::string> ReadUserTable(THD* thd, unsigned long wait_s, const std::string& user,
                                         const std::string& host) {
  if (ServerStopping()) return std::nullopt;
  const UserTableLock lock(thd, wait_s);
  Table_ref list(STRING_WITH_LEN("mysql"), STRING_WITH_LEN("user"), "user", TL_READ);
  if (!lock.is_held() || open_trans_system_tables_for_read(thd, &list)) {
    thd->clear_error();
    return std::nullopt;
  }
  const struct Closing {
    THD* const thd;
    ~Closing() { close_trans_system_tables(thd); }
  } closing{thd};
  return RowOf(list.table, user, host);
}

}  // namespace

/// The THD of a thread that reads again and again. The thread keeps one THD, because each new one
/// would take a number, which the server's variable Connections counts. Between two reads the
/// server does not know the THD, because a shutdown waits for all that it knows.
class ReadingThd {
 public:
  ReadingThd() : thd_(new THD(/*enable_plugins=*/true)) {
    thd_->thread_stack = static_cast<char*>(__builtin_frame_address(0));
    thd_->set_new_thread_id();
    thd_->store_globals();
    thd_->variables.option_bits &= ~OPTION_BIN_LOG;
    MEM_ROOT* const of_statements = thd_->mem_root;
    thd_->mem_root = &lex_memory_;
    lex_start(thd_);
    thd_->mem_root = of_statements;
    thd_->restore_globals();
  }
  ~ReadingThd() {
    thd_->thread_stack = static_cast<char*>(__builtin_frame_address(0));
    thd_->store_globals();
    thd_->release_resources();
    delete thd_;
  }
  ReadingThd(const ReadingThd&) = delete;
  ReadingThd& operator=(const ReadingThd&) = delete;

  /// Whether KILL has ended the THD, which then reads nothing more.
  bool killed() const { return thd_->killed != THD::NOT_KILLED; }

  /// For one read, makes the THD the thread's current one, and known to the server.
  class Read {
   public:
    explicit Read(THD* thd) : thd_(thd) {
      thd_->thread_stack = static_cast<char*>(__builtin_frame_address(0));
      thd_->store_globals();
      thd_->set_time();
      Global_THD_manager::get_instance()->add_thd(thd_);
    }
    ~Read() {
      Global_THD_manager::get_instance()->remove_thd(thd_);
      ForgetConditions(*thd_);
      thd_->cleanup_after_query();
      thd_->mem_root->ClearForReuse();
      thd_->restore_globals();
    }
    Read(const Read&) = delete;
    Read& operator=(const Read&) = delete;

   private:
    THD* const thd_;
  };
  THD* get() const { return thd_; }

 private:
  /// The memory of the THD's LEX, which outlives reads.
  MEM_ROOT lex_memory_{PSI_NOT_INSTRUMENTED, 4096};
  THD* const thd_;
};

struct AccountText::Own {
  std::unique_ptr<ReadingThd> reader;
};

AccountText::AccountText() : own_(std::make_unique<Own>()) {}
AccountText::~AccountText() = default;

// A thread that has a THD already reads with that one.
std::optional<std::string> AccountText::Of(const std::string& user, const std::string& host) {
  if (current_thd != nullptr) return ReadUserTable(current_thd, kLoginWaitS, user, host);
  std::unique_ptr<ReadingThd>& reader = own_->reader;
  if (reader == nullptr || reader->killed()) {
    reader.reset();
    reader = std::make_unique<ReadingThd>();
  }
  const ReadingThd::Read read(reader->get());
  return ReadUserTable(reader->get(), kReaderWaitS, user, host);
}

void AccountText::Leave() { own_->reader.reset(); }

}  // namespace rowsocket::engine::server
