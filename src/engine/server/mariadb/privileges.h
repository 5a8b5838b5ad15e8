// The privileges of the server's accounts on rows, as GRANT and REVOKE have left them.
//
// Flow: TryLook -> on_database() -> TryLock LookAtTable { on_table() | on_some_column() |
// on_column()
// }
//       Unlock
// The server has changed its grants in memory before it answers the statement that changed them, so
// that a look that begins behind the answer sees the change.
// Threads: the owner's, which has a THD. Locks: TryLook waits for the mutex of the accounts alone,
// which statements hold while they write the grant tables. LOCK_grant is only tried: a GRANT holds
// it until a replica has acknowledged, if replication is semi-synchronous.
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
/// (skip-grant-tables).
bool HasAccount(const model::Account& account);

/// The role that a login of the account would set; empty: none. Asks by SQL, and may wait for a
/// statement that locks the grant tables.
std::string DefaultRole(const model::Account& account);

class PrivilegeReader {
 public:
  PrivilegeReader();
  ~PrivilegeReader();
  PrivilegeReader(const PrivilegeReader&) = delete;
  PrivilegeReader& operator=(const PrivilegeReader&) = delete;

  /// Whether grants may have changed since the last call. The server does not tell.
  static bool MayHaveChanged() { return true; }

  /// Looks at the account, its role and PUBLIC. `*found` is false where there is no such account
  /// any more, so that it has no privileges. The names must live until Unlock. Never false: the
  /// look needs no lock that is held for long.
  bool TryLook(const model::Account& account, const std::string& db, bool* found) {
    *found = Look(account, db);
    return true;
  }
  /// The privileges on all tables of the database.
  Privileges on_database() const { return on_database_; }

  /// False: a statement that changes grants is under way.
  bool TryLock();
  // REQUIRES for those below: locked, and an account was found.
  void LookAtTable(const std::string& table);
  Privileges on_table() const;
  /// The privileges on the table or on one of its columns at least.
  Privileges on_some_column();
  Privileges on_column(const Field& field);
  void Unlock();

  /// Frees what the server keeps for it. Call on the owner's thread, before that has no THD.
  void Close();

 private:
  struct State;
  State& state();
  bool Look(const model::Account& account, const std::string& db);
  void TakeRole(const std::string& role);

  std::unique_ptr<State> state_;
  Privileges on_database_ = 0;
  const std::string* db_ = nullptr;
  const std::string* table_ = nullptr;
  bool is_locked_ = false;
};

}  // namespace rowsocket::engine::server
