// The in-memory engine's database: tables and locks that sessions share, and the failures that a
// test wants.
//
// Flow: CreateTable, hand the Store to Sessions (session.h), then look at it with Dump.
// Failures: a Hook is asked before every call of a session and may fail it; LockRow and LockTable
// are what a SQL session would hold, DelayRow makes even a session that never waits stand still.
// Threads: all.
// Lifetime: outlives its sessions and holdings.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/fake/locks.h"
#include "engine/fake/table.h"
#include "engine/session.h"

namespace rowsocket::engine::fake {

/// A call of a session that is about to be carried out.
struct Call {
  enum class Kind : uint8_t {
    kOpenIndex,
    kBeginTurn,
    kExecute,
    kBeginRow,
    kEndRow,
    kCommit,
    kEndSession,
    kInterrupt,  ///< On the thread that interrupts, when it has.
    kCount
  };
  Kind kind;
  LockWait lock_wait;                       ///< The session's.
  uint64_t number = 0;                      ///< Calls of this kind since the hook was set, from 1.
  const IndexNames* names = nullptr;        ///< kOpenIndex, kExecute, kBeginRow.
  const model::Request* request = nullptr;  ///< kExecute, kBeginRow.
  bool writes = false;                      ///< kBeginTurn.
};

/// An outcome that is not ok becomes the call's, which is not carried out (but for kBeginTurn,
/// kEndSession and kInterrupt, which cannot fail). It runs on the session's thread, several at
/// once, and may block.
using Hook = std::function<Outcome(const Call&)>;

/// The statement's transaction is lost to a deadlock.
Outcome Deadlock();
/// The turn does not fit into one transaction (1197, ER_TRANS_CACHE_FULL).
Outcome TooLarge();
/// KILL QUERY ended the statement.
Outcome Killed();
/// KILL ended the session's connection, and with it the turn.
Outcome KilledTurn();
/// A deadlock at each of these statements.
Hook DeadlockAt(std::vector<uint64_t> statements);
/// The next `count` commits fail with this error.
Hook FailCommits(uint64_t count, model::Error error);
/// The first value of the request's key, or of the row that it inserts; empty for neither.
std::string FirstValue(const model::Request& request);

/// What the names of an index mean at the moment.
struct Resolved {
  std::shared_ptr<Table> table;
  const IndexDefinition* index = nullptr;
  std::vector<uint32_t> columns;
  std::vector<uint32_t> filter_columns;
};

class Store {
 public:
  /// The rows are in the order of the definition's columns.
  void CreateTable(const TableDefinition& definition, const std::vector<Row>& rows = {});
  /// Sessions that opened an index of it find out when they use it.
  void DropTable(const std::string& name);

  /// Committed rows in the order of their primary key, as `a,b,NULL;c,d,e;`.
  std::string Dump(const std::string& table) const;
  size_t RowCount(const std::string& table) const;

  /// Replaces the hook; an empty one ends all failures.
  void SetHook(Hook hook);
  /// As a SQL session does. Null: the lock was not to be had at once (kNever), or in the time that
  /// a test has.
  [[nodiscard]] std::unique_ptr<Holding> LockRow(const std::string& table, const Row& primary_key,
                                                 LockWait wait = LockWait::kServer);
  /// ALTER or LOCK TABLES.
  [[nodiscard]] std::unique_ptr<Holding> LockTable(const std::string& table,
                                                   LockWait wait = LockWait::kServer);
  /// Whoever comes to this row stands still until it is given back, or is interrupted.
  [[nodiscard]] std::unique_ptr<Holding> DelayRow(const std::string& table, const Row& primary_key);
  /// Milliseconds that sessions with LockWait::kServer wait for a lock.
  void SetLockWaitMs(int64_t ms);
  /// KILL QUERY for the session that has described itself so (Session::Describe).
  void KillStatement(const std::string& description);
  /// The server shuts down: sessions should stop, and no new one is made.
  void ShutDown();
  bool shuts_down() const;

  /// Until that many sessions wait for a lock or a delayed row; false when it takes too long.
  bool AwaitWaiting(unsigned count) const { return locks_.AwaitWaiting(count); }
  size_t sessions() const;
  size_t sessions_with_tables() const;
  /// Carried out so far, those that failed included.
  uint64_t calls(Call::Kind kind) const;
  /// Rows that commits have inserted, updated or deleted.
  uint64_t rows_written() const;

 private:
  friend class Session;
  using Snapshot = std::map<std::shared_ptr<Table>, std::shared_ptr<const Rows>>;

  Outcome Ask(Call call);
  std::unique_ptr<Holding> Hold(const std::string& lock_name, LockWait wait);
  /// The owner is described by the text, until the next call or Forget.
  void Describe(Locks::Owner& owner, std::string_view text);
  void Forget(Locks::Owner& owner);
  model::ErrorCode Resolve(const IndexNames& names, Resolved* resolved) const;
  Snapshot TakeSnapshot() const;
  std::shared_ptr<const Rows> Committed(const Table& table) const;
  uint64_t NextId(Table& table);
  void Commit(const std::map<std::shared_ptr<Table>, Changes>& changes);
  void Count(int sessions, int with_tables);
  int64_t lock_wait_ms() const;

  Locks locks_;
  IndexRegistry indexes_;
  mutable std::mutex mutex_;  ///< Guards all below; never held while waiting or in a hook.
  std::map<std::string, std::shared_ptr<Table>> tables_;
  std::shared_ptr<const Hook> hook_;
  std::array<uint64_t, static_cast<size_t>(Call::Kind::kCount)> hook_calls_{};
  std::array<uint64_t, static_cast<size_t>(Call::Kind::kCount)> calls_{};
  std::map<Locks::Owner*, std::string> descriptions_;
  uint64_t rows_written_ = 0;
  int64_t lock_wait_ms_ = 20'000;
  int sessions_ = 0;
  int sessions_with_tables_ = 0;
  bool shuts_down_ = false;
};

/// The lock of a row; that of a table is the table's name.
std::string RowLock(const std::string& table, const Row& primary_key);

}  // namespace rowsocket::engine::fake
