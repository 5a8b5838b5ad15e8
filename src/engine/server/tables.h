// The tables that one session keeps open between turns, and their locks.
//
// A table is open at most twice: once for reads (consistent, without row locks) and once for
// writes. Opening takes a metadata lock, which is what DDL waits for; EndTurn gives everything
// back as soon as anybody waits (ticket by ticket, MDL_ticket::has_pending_conflicting_lock) or a
// FLUSH asks for it.
//
// The lock of an InnoDB table is a mere mark of use: who waits for the table waits for the metadata
// lock. Between turns that only read it stays, and with it the handler's initialization; a turn
// then begins as a statement under LOCK TABLES does (handler::start_stmt), and still has a read
// view and a commit of its own. Threads: the session's. Lifetime: an OpenTable is valid until
// CloseAll; generation() tells.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "api.h"
#include "engine/session.h"
#include "worker_thd.h"

namespace rowsocket::engine::server {

enum class Access : uint8_t { kRead, kWrite };

/// The foreign keys that refer to a table, as a text that differs when they do.
struct References {
  TABLE* table;
  std::string keys;
};

/// One open instance of a table.
struct OpenTable {
  TABLE* table = nullptr;
  Access access = Access::kRead;
  bool rolls_back = false;        ///< The engine can take a statement back (InnoDB).
  bool changed = false;           ///< Written to in this turn.
  MYSQL_LOCK* lock = nullptr;     ///< Held from its first use in a turn to its end, or longer.
  MDL_ticket* commits = nullptr;  ///< With `lock`, for writes that cannot be taken back.
  uint64_t used_in = 0;           ///< The last turn that locked it.
  bool stays_locked = false;      ///< Between turns that only read.
  bool is_innodb = false;         ///< And not partitioned.
  bool tells_time = false;  ///< A row may depend on when it is written (ON UPDATE, DEFAULT ...).
  /// Serial of the Index that the handler is initialized for; 0: none.
  uint64_t positioned_for = 0;
  bool reads_key = false;  ///< And whether it reads the parts of the key.

  /// What must outlive the TABLEs: the instance itself, then the children of its foreign keys.
  std::deque<TABLE_LIST> list;
  std::vector<std::unique_ptr<std::string>> names;
  std::vector<TABLE*> tables;
  /// For writes: of each table whose rows may change. Such a key comes without the table's being
  /// locked for it (CREATE TABLE of a child).
  std::vector<References> references;

  /// Ends the initialization of the handler.
  void EndScan();
};

/// Whether its engine, or that of its partitions, can take a statement back.
bool RollsBack(const TABLE& table);

class Tables {
 public:
  explicit Tables(WorkerThd& thd) : thd_(thd) {}

  /// The open instance, opened when need be. Outcome errors: open_table, view, sequence,
  /// system_table, trigger..., or busy when a lock is in the way.
  Outcome Open(const std::string& db, const std::string& name, Access access, OpenTable** out);

  /// A turn of this kind begins.
  void BeginTurn(bool writes);

  /// Locks an instance for the rest of the turn.
  Outcome Lock(OpenTable& open) {
    if (open.lock == nullptr || open.used_in != turn_) [[unlikely]]
      return TakeLock(open);
    return {};
  }

  /// Releases one instance's lock before the turn's end (engines without transactions).
  void Unlock(OpenTable& open);
  /// Releases the locks of the turn, but for those that may stay; the tables stay open.
  void EndTurn();
  /// No lock stays beyond this turn: something has gone wrong in it.
  void LetGo() { locks_stay_ = false; }

  /// Ends the initialization of the handlers whose locks do not stay. REQUIRED before a commit.
  void EndScans();

  /// Gives everything back when somebody waits for it or it is out of date.
  void CloseIfWanted();
  void CloseAll();

  bool empty() const { return by_name_.empty(); }
  uint64_t generation() const { return generation_; }

  /// Rows of engines with transactions have been changed in this turn, and not taken back.
  void SetChangedRows(bool changed) { has_changed_rows_ = changed; }
  bool has_changed_rows() const { return has_changed_rows_; }
  /// And some perhaps that the binary log does not have, if there is one.
  void NoteUnloggedRows() { has_unlogged_rows_ = true; }
  bool has_unlogged_rows() const { return has_unlogged_rows_; }

 private:
  Outcome OpenInstance(const std::string& db, const std::string& name, OpenTable* open);
  Outcome OpenOne(OpenTable* open, std::string_view db, std::string_view name, thr_lock_type lock,
                  bool for_foreign_key, TABLE** table);
  Outcome OpenForeignKeyChildren(OpenTable* open, TABLE* parent, bool deletes, bool updates,
                                 unsigned depth);
  bool ReferencesChanged(const OpenTable& open);
  Outcome TakeBackupLock(const TABLE& table);
  Outcome TakeBackupLock(enum_mdl_type type, unsigned bit);
  Outcome TakeCommitLock(OpenTable& open);
  Outcome LockFailure();
  bool Stays(const OpenTable& open) const { return locks_stay_ && open.stays_locked; }
  Outcome TakeLock(OpenTable& open);
  int Resume(OpenTable& open);
  void ReleaseLock(OpenTable& open);
  void UnlockAll();
  void FlushStatistics();

  WorkerThd& thd_;
  std::unordered_map<std::string, std::unique_ptr<OpenTable>> by_name_;
  std::vector<OpenTable*> locked_;
  unsigned backup_locks_ = 0;  ///< Bit by kind: taken in this turn.
  uint64_t generation_ = 1;
  uint64_t turn_ = 0;
  bool locks_stay_ = false;
  bool has_changed_rows_ = false;
  bool has_unlogged_rows_ = false;
  bool out_of_date_ = false;  ///< All is to be closed at the end of the turn.
  int64_t looked_ms_ = 0;     ///< When CloseIfWanted last looked who waits.
  uint64_t statistics_flushed_s_ = 0;
};

}  // namespace rowsocket::engine::server
