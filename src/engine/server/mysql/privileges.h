// The privileges of the server's accounts on rows, as GRANT and REVOKE have left them.
//
// Flow: TryLook -> on_database() -> TryLock LookAtTable { on_table() | on_some_column() |
// on_column() } Unlock
// An account has what a SQL session of it has right after its login: by its own grants, and by the
// roles that the server activates at a login (default roles, mandatory ones, or all). Partial
// revokes count. The server has changed its grants in memory before it answers the statement that
// changed them, so that a look that begins behind the answer sees the change.
// Threads: the owner's, which has a THD. Locks: the metadata lock of the accounts' caches, which
// every look needs, is only tried: a GRANT holds it until its event is in the binary log.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "api.h"
#include "model/account.h"

namespace rowsocket::engine::server {

/// Privileges as bits.
using Privileges = uint32_t;
inline constexpr Privileges kSelect = 1;
inline constexpr Privileges kInsert = 2;
inline constexpr Privileges kUpdate = 4;
inline constexpr Privileges kDelete = 8;

/// Why no account's rights can be known here; empty where they can.
std::string WhyNoRights();

/// Whether the server has the account. False where the server does not look at accounts at all
/// (skip-grant-tables). Waits for a statement that changes accounts.
bool HasAccount(const model::Account& account);

/// None: the roles are looked up with the grants.
inline std::string DefaultRole(const model::Account&) { return {}; }

class PrivilegeReader {
 public:
  PrivilegeReader();
  ~PrivilegeReader();
  PrivilegeReader(const PrivilegeReader&) = delete;
  PrivilegeReader& operator=(const PrivilegeReader&) = delete;

  /// Whether grants may have changed since the last call. The server counts changes before it
  /// answers them.
  bool MayHaveChanged();

  /// Looks at the account and its roles. `*found` is false where there is no such account any more,
  /// so that it has no privileges. The names must live until Unlock. False: a statement that
  /// changes grants is under way.
  bool TryLook(const model::Account& account, const std::string& db, bool* found);
  /// The privileges on all tables of the database.
  Privileges on_database() const { return on_database_; }

  /// False: a statement that changes grants is under way.
  bool TryLock();
  // REQUIRES for those below: locked, and an account was found.
  void LookAtTable(const std::string& table);
  Privileges on_table() const { return on_table_; }
  /// The privileges on the table or on one of its columns at least.
  Privileges on_some_column() const { return on_some_column_; }
  Privileges on_column(const Field& field);
  void Unlock();

  /// Frees what the server keeps for it. Call on the owner's thread, before that has no THD.
  void Close();

 private:
  struct State;
  /// What decides about rights besides the names: the count of changes, and global variables.
  struct Version {
    uint64_t changes = 0;
    bool revokes_partially = false, activates_all = false, activates_mandatory = false;
    bool operator==(const Version&) const = default;
  };

  std::unique_ptr<State> state_;
  Privileges on_database_ = 0;
  Privileges on_table_ = 0;
  Privileges on_some_column_ = 0;
  const std::string* db_ = nullptr;
  MDL_ticket* lock_ = nullptr;
  Version version_;
  bool has_missed_ = false;  ///< An account was not found: CREATE USER is not counted.
};

}  // namespace rowsocket::engine::server
