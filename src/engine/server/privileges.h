// The privileges of the server's accounts on rows, as GRANT and REVOKE have left them. What all
// servers do alike is in privileges.cc, the rest in one privileges.cc for each family.
//
// Flow: TryLook -> on_database() -> TryLock LookAtTable { on_table() | on_some_column() |
//       on_column() } Unlock.
//
// An account has what a SQL session of it has right after its login: by its own grants; in MariaDB
// by PUBLIC and by the Account's role; in MySQL by the roles that a login activates (default roles,
// mandatory ones, or all), less what was revoked partially. The server has changed its grants in
// memory before it answers the statement that changed them, so that a look that begins after the
// answer sees the change.
//
// Threads: the owner's, which has a THD. Locks: a lock that a GRANT holds until a replica has
// acknowledged, or until its event is in the binary log, is never waited for. In MariaDB that is
// LOCK_grant, which TryLook does not need; in MySQL it is the metadata lock of the accounts'
// caches, which every look needs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "api.h"
#include "model/account.h"
#include "own.h"

namespace rowsocket::engine::server {

/// Privileges as bits.
using Privileges = uint32_t;
inline constexpr Privileges kSelect = 1;
inline constexpr Privileges kInsert = 2;
inline constexpr Privileges kUpdate = 4;
inline constexpr Privileges kDelete = 8;

/// A privilege as the server has it, and as this library has it.
struct PrivilegeBit {
  ServerPrivileges of_server;
  Privileges bit;
};
inline constexpr PrivilegeBit kPrivilegeBits[] = {
    {SELECT_ACL, kSelect}, {INSERT_ACL, kInsert}, {UPDATE_ACL, kUpdate}, {DELETE_ACL, kDelete}};

/// Why the rights of accounts cannot be known on this server; empty if they can.
std::string WhyNoRights();

/// Whether the server has the account. False if the server does not look at accounts at all
/// (skip-grant-tables). Without a value: a statement that changes grants is under way. Only in
/// MariaDB, may wait for a statement that changes accounts.
std::optional<bool> HasAccount(const model::Account& account);

/// The role that a login of the account would set; empty: no role, and always in MySQL, where roles
/// are looked up with the grants. Asks by SQL, and may wait for a few seconds for a statement that
/// locks the grant tables. Without a value: the server does not say.
std::optional<std::string> DefaultRole(const model::Account& account);

class PrivilegeReader {
 public:
  PrivilegeReader() = default;
  ~PrivilegeReader() { Close(); }
  PrivilegeReader(const PrivilegeReader&) = delete;
  PrivilegeReader& operator=(const PrivilegeReader&) = delete;

  /// Whether grants may have changed since the last call. True if the server does not tell, and
  /// before the first look. Does not throw.
  bool MayHaveChanged();

  /// Looks at the account and its roles. `*found` is false if the account is gone, and so has no
  /// privileges. The names must live until Unlock. False: a statement that changes grants is under
  /// way.
  bool TryLook(const model::Account& account, const std::string& db, bool* found);
  /// The privileges on all tables of the database.
  Privileges on_database() const { return on_database_; }

  /// Locks the grants of tables. False: a statement that changes grants is under way.
  bool TryLock();
  // REQUIRES of each function down to Unlock: TryLock was true, and TryLook has found the account.

  /// Looks at the privileges on the table.
  void LookAtTable(const std::string& table);
  Privileges on_table() const { return on_table_; }
  /// The privileges on the table, or on at least one of its columns.
  Privileges on_some_column() const { return on_some_column_; }
  Privileges on_column(const Field& field);
  void Unlock();

  /// Frees what the server keeps for the reader. Call on the owner's thread, while that thread
  /// still has a THD.
  void Close();

 private:
  /// The family's own part: how the server itself represents the account and its rights. Made when
  /// it is first asked for, on the owner's thread.
  PrivilegeReaderOwn& own();

  std::unique_ptr<PrivilegeReaderOwn> own_;
  const std::string* db_ = nullptr;
  Privileges on_database_ = 0;
  Privileges on_table_ = 0;
  Privileges on_some_column_ = 0;
};

// Functions that privileges.cc and the families' privileges.cc share.

/// Whether there can be grants for a thing of this name. The server keeps grants by texts that end
/// with a NUL, so that a name with a NUL in it would be taken for a shorter one.
bool CanHaveGrants(const std::string& name);
/// Whether the server can have an account of these names.
bool CanBeAccount(const model::Account& account);
/// This library's privileges for those of the server's GRANT.
Privileges BitsOf(ServerPrivileges all);

}  // namespace rowsocket::engine::server
