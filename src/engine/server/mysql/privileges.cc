#include "engine/server/privileges.h"

#include "find_account.h"

/// The part of the server's class that this file uses. The header that defines the class would need
/// the library boost.
class Acl_cache {
 public:
  uint64 version();
};
Acl_cache* get_global_acl_cache();

namespace rowsocket::engine::server {

namespace {

bool Find(THD* thd, const model::Account& account, const std::string& db, Security_context* found,
          std::string* address) {
  return CanBeAccount(account) && !SkipsGrantTables() &&
         FindExactly(thd, found, account.user(), account.host(),
                     CanHaveGrants(db) ? db.c_str() : nullptr, address);
}

/// Keeps what the server says about a missing privilege out of the session.
class Silence final : public Internal_error_handler {
 public:
  explicit Silence(THD* thd) : thd_(thd) { thd_->push_internal_handler(this); }
  ~Silence() override { thd_->pop_internal_handler(); }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

  bool handle_condition(THD*, uint, const char*, Sql_condition::enum_severity_level*,
                        const char*) override {
    return true;
  }

 private:
  THD* const thd_;
};

}  // namespace

// The server's own look would wait for the lock of the grants for up to an hour, and calls an
// account absent if that wait is ended by KILL.
std::optional<bool> HasAccount(const model::Account& account) {
  const std::string no_database;
  PrivilegeReader reader;
  bool found = false;
  if (!reader.TryLook(account, no_database, &found)) return std::nullopt;
  return found;
}

std::optional<std::string> DefaultRole(const model::Account&) { return ""; }

// A statement that changes grants raises the version while it holds the lock that PrivilegeReader
// needs to look anything up. So the next call of this function finds the version changed, whatever
// was looked up before the change. Before the first look there is no version to compare with, and
// none is made here, because Session::Rollback calls this function.
bool PrivilegeReader::MayHaveChanged() {
  if (own_ == nullptr) return true;
  PrivilegeReaderOwn& last = *own_;
  const PrivilegeReaderOwn::Version now = {
      get_global_acl_cache()->version(), mysqld_partial_revokes(),
      opt_always_activate_granted_roles, opt_activate_mandatory_roles};
  const bool may_have = now != last.version || last.has_missed;
  last.version = now;
  last.has_missed = false;
  return may_have;
}

bool PrivilegeReader::TryLook(const model::Account& account, const std::string& db, bool* found) {
  on_database_ = 0;
  *found = false;
  if (!TryLock()) return false;
  db_ = &db;
  Security_context& context = own_->account.emplace();
  *found = Find(current_thd, account, db, &context, &own_->address);
  if (*found) {
    ActivateRolesOfLogin(&context);
    on_database_ = BitsOf(CanHaveGrants(db) ? OnDatabase(context, db) : context.master_access(db));
  }
  own_->has_missed = own_->has_missed || !*found;
  Unlock();
  return true;
}

// The session itself gets the lock, so that the server's functions find it held and do not wait for
// it.
bool PrivilegeReader::TryLock() {
  const MDL_key key(MDL_key::ACL_CACHE, "", "");
  MDL_request request;
  MDL_REQUEST_INIT_BY_KEY(&request, &key, MDL_SHARED, MDL_EXPLICIT);
  own().lock = current_thd->mdl_context.try_acquire_lock(&request) ? nullptr : request.ticket;
  return own_->lock != nullptr;
}

void PrivilegeReader::Unlock() {
  if (own_ == nullptr || own_->lock == nullptr) return;
  current_thd->mdl_context.release_lock(own_->lock);
  own_->lock = nullptr;
}

// check_grant answers for a table or some column of it, and notes the privileges on the table. Its
// notes about the grants themselves may be freed once the lock is free, so that each look reads the
// grants anew.
void PrivilegeReader::LookAtTable(const std::string& table) {
  on_table_ = on_some_column_ = on_database_;
  own_->table.reset();
  if (!CanHaveGrants(*db_) || !CanHaveGrants(table)) return;
  Table_ref& asked = own_->table.emplace(db_->c_str(), db_->size(), table.c_str(), table.size(),
                                         table.c_str(), TL_READ);
  Security_context& context = *own_->account;
  asked.security_ctx = &context;
  asked.grant.privilege = OnDatabase(context, *db_);
  for (const PrivilegeBit& each : kPrivilegeBits) {
    const bool has = !check_grant(current_thd, each.of_server, &asked, false, 1, true);
    if (has) on_some_column_ |= each.bit;
  }
  on_table_ = BitsOf(asked.grant.privilege);
}

Privileges PrivilegeReader::on_column(const Field& field) {
  Privileges bits = on_table_;
  if ((on_some_column_ & ~bits) == 0) return bits;
  THD* const thd = current_thd;
  const Silence silence(thd);
  const std::string_view name = NameOf(field);
  Table_ref& asked = *own_->table;
  for (const PrivilegeBit& each : kPrivilegeBits) {
    if ((each.bit & on_some_column_ & ~on_table_) == 0) continue;
    const bool has = !check_grant_column(thd, &asked.grant, asked.db, asked.table_name, name.data(),
                                         name.size(), &*own_->account, each.of_server);
    if (has) bits |= each.bit;
  }
  return bits;
}

}  // namespace rowsocket::engine::server
