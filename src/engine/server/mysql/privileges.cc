#include "privileges.h"

#include <optional>

#include "find_account.h"

/// As far as it is used here: the server's header that defines it needs the library boost.
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

Privileges BitsOf(Access_bitmask all) {
  Privileges bits = 0;
  for (const Bit& each : kBits) bits |= (all & each.of_server) != 0 ? each.bit : 0;
  return bits;
}

/// The server keeps grants by texts that end with a NUL, so that a name with a NUL in it would be
/// taken for a shorter one.
bool CanBeName(const std::string& name) {
  return !name.empty() && name.size() <= NAME_LEN && name.find('\0') == std::string::npos;
}

bool Find(THD* thd, const model::Account& account, const std::string& db, Security_context* found,
          std::string* address) {
  const bool can_be = !account.user().empty() && account.user().size() < USERNAME_LENGTH &&
                      !account.host().empty() && account.host().size() <= HOSTNAME_LENGTH;
  return can_be && !skip_grant_tables() &&
         FindExactly(thd, found, account.user(), account.host(),
                     CanBeName(db) ? db.c_str() : nullptr, address);
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
  std::optional<Security_context> account;
  std::string address;  ///< What `account` shows as its address.
  std::optional<Table_ref> table;
};

std::string WhyNoRights() {
  return skip_grant_tables() ? "the server runs with skip-grant-tables" : "";
}

bool HasAccount(const model::Account& account) {
  Security_context found;
  std::string address;
  return Find(current_thd, account, "", &found, &address);
}

PrivilegeReader::PrivilegeReader() = default;

PrivilegeReader::~PrivilegeReader() { Close(); }

void PrivilegeReader::Close() {
  Unlock();
  state_.reset();
}

// A statement that changes grants counts while it holds the lock without which nothing can be
// looked up: a look that sees the change is behind a count that this function compares at the next
// call.
bool PrivilegeReader::MayHaveChanged() {
  const Version now = {get_global_acl_cache()->version(), mysqld_partial_revokes(),
                       opt_always_activate_granted_roles, opt_activate_mandatory_roles};
  const bool may_have = now != version_ || has_missed_;
  version_ = now;
  has_missed_ = false;
  return may_have;
}

bool PrivilegeReader::TryLook(const model::Account& account, const std::string& db, bool* found) {
  on_database_ = 0;
  *found = false;
  if (!TryLock()) return false;
  if (state_ == nullptr) state_ = std::make_unique<State>();
  db_ = &db;
  Security_context& context = state_->account.emplace();
  *found = Find(current_thd, account, db, &context, &state_->address);
  if (*found) {
    ActivateRolesOfLogin(&context);
    on_database_ = BitsOf(CanBeName(db) ? OnDatabase(context, db) : context.master_access(db));
  }
  has_missed_ = has_missed_ || !*found;
  Unlock();
  return true;
}

// The lock is the session's own, by which the server's functions know that they need not wait for
// it.
bool PrivilegeReader::TryLock() {
  const MDL_key key(MDL_key::ACL_CACHE, "", "");
  MDL_request request;
  MDL_REQUEST_INIT_BY_KEY(&request, &key, MDL_SHARED, MDL_EXPLICIT);
  lock_ = current_thd->mdl_context.try_acquire_lock(&request) ? nullptr : request.ticket;
  return lock_ != nullptr;
}

void PrivilegeReader::Unlock() {
  if (lock_ == nullptr) return;
  current_thd->mdl_context.release_lock(lock_);
  lock_ = nullptr;
}

// check_grant answers for a table or some column of it, and notes the privileges on the table. What
// it has noted of the grants themselves may be freed once the lock is free, so that each look reads
// them anew.
void PrivilegeReader::LookAtTable(const std::string& table) {
  on_table_ = on_some_column_ = on_database_;
  state_->table.reset();
  if (!CanBeName(*db_) || !CanBeName(table)) return;
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
