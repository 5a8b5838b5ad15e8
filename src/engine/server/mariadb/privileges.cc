#include "engine/server/privileges.h"

#include <climits>

#include "find_account.h"
#include "local_sql.h"

namespace rowsocket::engine::server {

namespace {

bool Find(const model::Account& account, Security_context* found, std::string* address) {
  return CanBeAccount(account) && !SkipsGrantTables() &&
         FindExactly(found, account.user(), account.host(), address);
}

}  // namespace

std::optional<bool> HasAccount(const model::Account& account) {
  Security_context found;
  std::string address;
  return Find(account, &found, &address);
}

// MAX makes one row whatever there is, so that only a failure has no value.
std::optional<std::string> DefaultRole(const model::Account& account) {
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
  return sql.Value(
      "SELECT IFNULL(MAX(JSON_VALUE(Priv, '$.default_role')), '') FROM mysql.global_priv"
      " WHERE User = " +
      literal(account.user()) + " AND LOWER(Host) = LOWER(" + literal(account.host()) + ")");
}

bool PrivilegeReader::MayHaveChanged() { return true; }

// Never false: the look needs only the mutex of the accounts, for which it waits while a statement
// writes the grant tables.
bool PrivilegeReader::TryLook(const model::Account& account, const std::string& db, bool* found) {
  on_database_ = 0;
  Security_context& context = own().account;
  *found = Find(account, &context, &own_->address);
  if (!*found) return true;
  own_->thd->security_ctx = &context;
  if (!account.role().empty()) own_->TakeRole(account.role());
  db_ = &db;
  privilege_t all = context.master_access;
  if (CanHaveGrants(db)) all |= acl_get_all3(&context, db.c_str(), false);
  on_database_ = BitsOf(all);
  return true;
}

// A role that was revoked, or dropped, gives no privileges. The server's message about it goes to
// the THD of this thread, which drops it.
void PrivilegeReaderOwn::TakeRole(const std::string& role) {
  privilege_t access(NO_ACL);
  if (role.size() < USERNAME_LENGTH && CheckRole(thd, role, &access) == 0) {
    account.master_access = access;
    strmake_buf(account.priv_role, role.c_str());
    return;
  }
  if (current_thd != nullptr) current_thd->clear_error();
}

bool PrivilegeReader::TryLock() {
  own_->is_locked = mysql_rwlock_tryrdlock(&LOCK_grant) == 0;
  return own_->is_locked;
}

void PrivilegeReader::Unlock() {
  if (own_ == nullptr || !own_->is_locked) return;
  own_->is_locked = false;
  mysql_rwlock_unlock(&LOCK_grant);
}

// The server's notes in a GRANT_INFO may be freed once LOCK_grant is free, so that each look reads
// them anew.
void PrivilegeReader::LookAtTable(const std::string& table) {
  own_->table = &table;
  GRANT_INFO& grant = own_->grant;
  grant = GRANT_INFO();
  grant.grant_table_user = grant.grant_table_role = grant.grant_public = nullptr;
  grant.version = UINT_MAX;
  if (CanHaveGrants(*db_) && CanHaveGrants(table)) {
    fill_effective_table_privileges(own_->thd, &grant, db_->c_str(), table.c_str());
  }
  on_table_ = BitsOf(grant.privilege);
  on_some_column_ = BitsOf(grant.all_privilege());
}

Privileges PrivilegeReader::on_column(const Field& field) {
  return BitsOf(
      ColumnPrivileges(own_->thd, &own_->grant, db_->c_str(), own_->table->c_str(), field));
}

}  // namespace rowsocket::engine::server
