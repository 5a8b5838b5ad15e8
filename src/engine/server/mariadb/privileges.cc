#include "privileges.h"

#include <climits>

#include "find_account.h"
#include "local_sql.h"

namespace rowsocket::engine::server {

namespace {

Privileges BitsOf(privilege_t all) {
  const auto bit = [all](privilege_t privilege, Privileges bit) {
    return (all & privilege) == NO_ACL ? 0 : bit;
  };
  return bit(SELECT_ACL, kSelect) | bit(INSERT_ACL, kInsert) | bit(UPDATE_ACL, kUpdate) |
         bit(DELETE_ACL, kDelete);
}

/// The server keeps grants by texts that end with a NUL, so that a name with a NUL in it would be
/// taken for a shorter one.
bool CanBeName(const std::string& name) {
  return !name.empty() && name.size() <= NAME_LEN && name.find('\0') == std::string::npos;
}

bool Find(const model::Account& account, Security_context* found, std::string* address) {
  const bool can_be = !account.user().empty() && account.user().size() < USERNAME_LENGTH &&
                      !account.host().empty() && account.host().size() < MAX_HOSTNAME;
  return can_be && !opt_noacl && FindExactly(found, account.user(), account.host(), address);
}

}  // namespace

/// The functions of the server take the account from a THD. This one is in no list, so that no
/// other thread looks at it.
struct PrivilegeReader::State {
  State() : thd(new THD(0)) {}
  ~State() {
    thd->security_ctx = &thd->main_security_ctx;
    delete thd;
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  THD* const thd;
  Security_context account;
  std::string address;  ///< What `account` shows as its address.
  GRANT_INFO grant;
};

std::string WhyNoRights() { return opt_noacl ? "the server runs with skip-grant-tables" : ""; }

bool HasAccount(const model::Account& account) {
  Security_context found;
  std::string address;
  return Find(account, &found, &address);
}

std::string DefaultRole(const model::Account& account) {
  const auto literal = [](const std::string& name) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    std::string digits;
    for (const char each : name) {
      const auto byte = static_cast<unsigned char>(each);
      digits += {kDigits[byte >> 4], kDigits[byte & 15]};
    }
    return "CONVERT(X'" + digits + "' USING utf8mb3)";
  };
  LocalSql sql;
  return sql
      .Value("SELECT JSON_VALUE(Priv, '$.default_role') FROM mysql.global_priv WHERE User = " +
             literal(account.user()) + " AND LOWER(Host) = LOWER(" + literal(account.host()) + ")")
      .value_or("");
}

PrivilegeReader::PrivilegeReader() = default;

PrivilegeReader::~PrivilegeReader() { Close(); }

void PrivilegeReader::Close() {
  Unlock();
  state_.reset();
}

PrivilegeReader::State& PrivilegeReader::state() {
  if (state_ == nullptr) state_ = std::make_unique<State>();
  return *state_;
}

bool PrivilegeReader::Look(const model::Account& account, const std::string& db) {
  on_database_ = 0;
  Security_context& found = state().account;
  if (!Find(account, &found, &state().address)) return false;
  state().thd->security_ctx = &found;
  if (!account.role().empty()) TakeRole(account.role());
  db_ = &db;
  privilege_t all = found.master_access;
  if (CanBeName(db)) all |= acl_get_all3(&found, db.c_str(), false);
  on_database_ = BitsOf(all);
  return true;
}

// A role that was revoked, or dropped, gives nothing. The server's message goes to the THD of this
// thread, which has no use for it.
void PrivilegeReader::TakeRole(const std::string& role) {
  Security_context& account = state().account;
  privilege_t access(NO_ACL);
  if (role.size() < USERNAME_LENGTH && CheckRole(state().thd, role, &access) == 0) {
    account.master_access = access;
    strmake_buf(account.priv_role, role.c_str());
    return;
  }
  if (current_thd != nullptr) current_thd->clear_error();
}

bool PrivilegeReader::TryLock() {
  is_locked_ = mysql_rwlock_tryrdlock(&LOCK_grant) == 0;
  return is_locked_;
}

void PrivilegeReader::Unlock() {
  if (!is_locked_) return;
  is_locked_ = false;
  mysql_rwlock_unlock(&LOCK_grant);
}

// What the server has noted in a GRANT_INFO may be freed once LOCK_grant is free, so that each look
// reads it anew.
void PrivilegeReader::LookAtTable(const std::string& table) {
  table_ = &table;
  GRANT_INFO& grant = state().grant;
  grant = GRANT_INFO();
  grant.grant_table_user = grant.grant_table_role = grant.grant_public = nullptr;
  grant.version = UINT_MAX;
  if (CanBeName(*db_) && CanBeName(table)) {
    fill_effective_table_privileges(state().thd, &grant, db_->c_str(), table.c_str());
  }
}

Privileges PrivilegeReader::on_table() const { return BitsOf(state_->grant.privilege); }

Privileges PrivilegeReader::on_some_column() { return BitsOf(state_->grant.all_privilege()); }

Privileges PrivilegeReader::on_column(const Field& field) {
  return BitsOf(
      ColumnPrivileges(state_->thd, &state_->grant, db_->c_str(), table_->c_str(), field));
}

}  // namespace rowsocket::engine::server
