// The tables that one session keeps open between turns, and their locks.
//
// A table is open at most twice: once for reads (consistent, without row locks) and once for
// writes. Opening takes a metadata lock, which is what DDL waits for; CloseIfWanted gives
// everything back as soon as another session waits (ticket by ticket,
// MDL_ticket::has_pending_conflicting_lock) or a FLUSH asks for it.
//
// The lock of an InnoDB table only notes its use: sessions that wait for the table wait for the
// metadata lock. Between turns that only read the lock stays, and with it the handler's
// initialization; a turn then begins as a statement under LOCK TABLES does (handler::start_stmt),
// and still has a read view and a commit of its own.
//
// Threads: the session's.
// Lifetime: an OpenTable is valid until CloseAll; generation() tells.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/server/open_table.h"
#include "engine/server/session_thd.h"
#include "engine/server/table_locks.h"
#include "engine/session.h"

namespace rowsocket::engine::server {

/// Whether the schema is one of the server's own, whose tables are not served.
bool IsSystemSchema(std::string_view db);

class Tables {
 public:
  explicit Tables(SessionThd& thd) : thd_(thd), locks_(thd) {}

  /// Gives the open instance, and opens it first if it is not open.
  /// Errors: those of table_opener.h (a table that is missing, or of a kind that is not served), or
  /// busy when a lock is in the way.
  Outcome Open(const std::string& db, const std::string& name, Access access, OpenTable** out);

  /// Begins a turn that writes, or one that only reads.
  void BeginTurn(bool writes);

  /// Locks the instance for the rest of the turn.
  Outcome Lock(OpenTable& open) {
    if (open.lock == nullptr || open.used_in != turn_) [[unlikely]]
      return TakeLock(open);
    return {};
  }

  /// Releases one instance's lock before the turn's end (engines without transactions).
  void Unlock(OpenTable& open);
  /// Releases the locks of the turn, except those that may stay; the tables stay open.
  void EndTurn();
  /// Makes EndTurn release all locks, because something has gone wrong in this turn.
  void KeepNoLocksBeyondTurn() { locks_stay_ = false; }

  /// Resets the handlers that write, as SQL does when it takes a statement back. A handler that has
  /// marked the transaction as one that writes would not mark it again, and the commit would leave
  /// out its two phases.
  void ResetWriters();
  /// Ends the initialization of the handlers whose locks do not stay. REQUIRED before a commit.
  void EndScans();

  /// Gives everything back when another session waits for a table or a table is out of date.
  void CloseIfWanted();
  void CloseAll();
  /// Whether another session waits at this moment for a table of this one, or a table is out of
  /// date.
  bool OthersWaitForTables() const { return locks_.OthersWaitForTables(); }

  bool empty() const { return by_name_.empty(); }
  uint64_t generation() const { return generation_; }

 private:
  bool Stays(const OpenTable& open) const { return locks_stay_ && open.stays_locked; }
  Outcome TakeLock(OpenTable& open);
  int Resume(OpenTable& open);
  void ReleaseLock(OpenTable& open);
  void UnlockAll();
  void FlushStatistics(int64_t now_ms);

  SessionThd& thd_;
  TableLocks locks_;
  std::unordered_map<std::string, std::unique_ptr<OpenTable>> by_name_;
  std::vector<OpenTable*> locked_;
  uint64_t generation_ = 1;
  uint64_t turn_ = 0;
  bool locks_stay_ = false;
  bool out_of_date_ = false;  ///< All tables are to be closed at the end of the turn.
  /// Expressions of a table keep what they took from the session when it was opened. So all tables
  /// are closed at the end of the turn, as SQL opens such a table anew for each statement.
  bool has_session_expressions_ = false;
  int64_t looked_ms_ = 0;  ///< When CloseIfWanted last looked whether sessions wait.
  int64_t statistics_flushed_s_ = 0;
};

}  // namespace rowsocket::engine::server
