#include "engine/server/privileges.h"

#include <optional>

#include "find_account.h"

/// The part of the server's class that this file uses: the header that defines the class needs the
/// library boost.
class Acl_cache {
 public:
  uint64 version();
};
Acl_cache* get_global_acl_cache();

namespace rowsocket::engine::server {

namespace {

struct Bit {
  Access_bitmask of_server;
  Privileges bit;
};
constexpr Bit kBits[] = {
    {SELECT_ACL, kSelect}, {INSERT_ACL, kInsert}, {UPDATE_ACL, kUpdate}, {DELETE_ACL, kDelete}};

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

struct PrivilegeReader::State {
  /// What decides about rights besides the names: the count of changes, and global variables.
  struct Version {
    uint64_t changes = 0;
    bool revokes_partially = false, activates_all = false, activates_mandatory = false;
    bool operator==(const Version&) const = default;
  };

  std::optional<Security_context> account;
  std::string address;  ///< What `account` shows as its address.
  std::optional<Table_ref> table;
  MDL_ticket* lock = nullptr;
  Version version;
  bool has_missed = false;  ///< An account was not found: CREATE USER is not counted.
};

bool HasAccount(const model::Account& account) {
  Security_context found;
  std::string address;
  return Find(current_thd, account, "", &found, &address);
}

std::string DefaultRole(const model::Account&) { return {}; }

PrivilegeReader::PrivilegeReader() = default;
PrivilegeReader::~PrivilegeReader() { Close(); }

void PrivilegeReader::Close() {
  Unlock();
  state_.reset();
}

// A statement that changes grants raises the version while it holds the lock that PrivilegeReader
// needs to look anything up. So whatever was looked up after the change was made under a version
// that the next call of this function finds changed.
bool PrivilegeReader::MayHaveChanged() {
  if (state_ == nullptr) state_ = std::make_unique<State>();
  const State::Version now = {get_global_acl_cache()->version(), mysqld_partial_revokes(),
                              opt_always_activate_granted_roles, opt_activate_mandatory_roles};
  const bool may_have = now != state_->version || state_->has_missed;
  state_->version = now;
  state_->has_missed = false;
  return may_have;
}

bool PrivilegeReader::TryLook(const model::Account& account, const std::string& db, bool* found) {
  on_database_ = 0;
  *found = false;
  if (state_ == nullptr) state_ = std::make_unique<State>();
  if (!TryLock()) return false;
  db_ = &db;
  Security_context& context = state_->account.emplace();
  *found = Find(current_thd, account, db, &context, &state_->address);
  if (*found) {
    ActivateRolesOfLogin(&context);
    on_database_ = BitsOf(CanHaveGrants(db) ? OnDatabase(context, db) : context.master_access(db));
  }
  state_->has_missed = state_->has_missed || !*found;
  Unlock();
  return true;
}

// The lock is the session's own, by which the server's functions know that they need not wait for
// it.
bool PrivilegeReader::TryLock() {
  const MDL_key key(MDL_key::ACL_CACHE, "", "");
  MDL_request request;
  MDL_REQUEST_INIT_BY_KEY(&request, &key, MDL_SHARED, MDL_EXPLICIT);
  state_->lock = current_thd->mdl_context.try_acquire_lock(&request) ? nullptr : request.ticket;
  return state_->lock != nullptr;
}

void PrivilegeReader::Unlock() {
  if (state_ == nullptr || state_->lock == nullptr) return;
  current_thd->mdl_context.release_lock(state_->lock);
  state_->lock = nullptr;
}

// check_grant answers for a table or some column of it, and notes the privileges on the table. What
// it has noted of the grants themselves may be freed once the lock is free, so that each look reads
// them anew.
void PrivilegeReader::LookAtTable(const std::string& table) {
  on_table_ = on_some_column_ = on_database_;
  state_->table.reset();
  if (!CanHaveGrants(*db_) || !CanHaveGrants(table)) return;
  Table_ref& asked = state_->table.emplace(db_->c_str(), db_->size(), table.c_str(), table.size(),
                                           table.c_str(), TL_READ);
  Security_context& context = *state_->account;
  asked.security_ctx = &context;
  asked.grant.privilege = OnDatabase(context, *db_);
  for (const Bit& each : kBits) {
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
  Table_ref& asked = *state_->table;
  for (const Bit& each : kBits) {
    if ((each.bit & on_some_column_ & ~on_table_) == 0) continue;
    const bool has = !check_grant_column(thd, &asked.grant, asked.db, asked.table_name, name.data(),
                                         name.size(), &*state_->account, each.of_server);
    if (has) bits |= each.bit;
  }
  return bits;
}

}  // namespace rowsocket::engine::server
