// Whether accounts may have their requests executed.
//
// An account's rights to an index are looked up once in a turn, at the first request of the account
// on that index: a request that was received after the answer to a GRANT or REVOKE is judged by the
// new grants. If the server tells whether its grants have changed, the look counts in later
// turns as well, until the grants change or the table is opened anew. A look never waits inside the
// server for a lock under which the server changes its grants. In MariaDB only a look at the
// table's own grants needs such a lock, LOCK_grant, which is not needed if the privileges on the
// whole database decide; in MySQL every look needs the metadata lock of the accounts' caches. If
// a lock is taken:
//
//   a session that does not wait    answers busy, so that the request goes to the lane
//   a session that waits            tries again and again, for as long as it waits for a table;
//                                   after other requests of a turn, whose locks it would keep from
//                                   others meanwhile, it gives way instead
//
// Threads: the session's.
#pragma once

#include <cstdint>

#include "engine/server/index.h"
#include "engine/server/privileges.h"
#include "engine/server/session_thd.h"
#include "engine/session.h"

namespace rowsocket::engine::server {

class Judge {
 public:
  Judge(SessionThd& thd, Tables& tables, LockWait lock_wait, unsigned wait_s)
      : thd_(thd), tables_(tables), waits_(lock_wait == LockWait::kServer), wait_s_(wait_s) {}

  /// Makes rights be looked up anew from now on, unless the server says that no grants have
  /// changed. In any case a wait for a lock may begin again, as at the first request of a turn.
  void LookAnew() {
    if (reader_.MayHaveChanged()) ++grants_seen_;
    is_first_ = true;
    gave_up_ = false;
  }
  /// Notes that the turn holds locks from now on.
  void HoldLocks() { is_first_ = false; }

  /// Whether the account may see the table (engine::Session::MayOpen).
  Outcome MayOpen(const IndexNames& names, const model::Account& account);
  Outcome MayExecute(IndexState& index, const model::Request& request) {
    const Rights& rights = index.rights().Of(request.account->id(), grants_seen_);
    const bool is_known = rights.account == request.account->id() &&
                          rights.grants_seen == grants_seen_ &&
                          rights.generation == tables_.generation() && !request.account->ended();
    if (is_known && (NeedsOf(request) & ~rights.on_all_opened) == 0) [[likely]]
      return {};
    return Decide(index, request, is_known);
  }

  /// Frees what looks have kept. Call on the session's thread, before its THD is gone.
  void Close() { reader_.Close(); }

 private:
  Outcome Decide(IndexState& index, const model::Request& request, bool is_known);
  Outcome LookUp(IndexState& index, const model::Request& request, Rights* rights);
  Outcome LookAtColumns(IndexState& index, Rights* rights);
  /// Looks at the account's privileges on the database. `*found`: whether there is such an account.
  Outcome Look(const model::Account& account, const std::string& db, bool* found);
  /// Locks the grants of tables.
  Outcome Lock();
  /// Tries again until no lock is in the way, for as long as this session may wait.
  template <class Action>
  Outcome TryUntilDone(Action action);

  SessionThd& thd_;
  Tables& tables_;
  const bool waits_;
  const unsigned wait_s_;
  PrivilegeReader reader_;
  /// Counts up when grants may have changed: what was looked up under an earlier number is looked
  /// up again.
  uint64_t grants_seen_ = 1;
  bool is_first_ = true;  ///< No request of the turn has been executed.
  bool gave_up_ = false;  ///< A wait of this turn has taken too long: no other wait begins.
};

}  // namespace rowsocket::engine::server
