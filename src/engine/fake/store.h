// The database of the in-memory engine: tables and locks that sessions share, and the failures that
// a test asks for.
//
// Flow: CreateTable, hand the Store to Sessions (session.h), then look at it with Dump.
// Failures: a Hook is asked before every call of a session and may fail it; LockRow and LockTable
// take locks as a SQL session does, DelayRow makes even a session that never waits stand still.
// Threads: all.
// Lifetime: outlives its sessions and holdings.
#pragma once

#include <array>
#include <atomic>
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
    kJudge,  ///< The check of rights in MayOpen and MayExecute, and of requests with an account.
    kBeginTurn,
    kExecute,
    kBeginRow,
    kEndRow,
    kCloseRows,  ///< In a turn in which requests share rows.
    kCommit,
    kEndSession,
    kInterrupt,  ///< On the interrupting thread, after the interrupt.
    kCount
  };
  Kind kind;
  LockWait lock_wait;   ///< The session's way to wait.
  uint64_t number = 0;  ///< The number of calls of this kind since the hook was set, from 1.
  const IndexNames* names = nullptr;        ///< Set for kOpenIndex, kJudge, kExecute, kBeginRow.
  const model::Request* request = nullptr;  ///< Set for kExecute, kBeginRow, kJudge of MayExecute.
  bool writes = false;                      ///< Set for kBeginTurn.
  const model::Account* account = nullptr;  ///< Set for kJudge.
};

/// A function that decides about calls: an outcome that is not ok becomes the call's outcome, and
/// the call is not carried out (except kBeginTurn, kEndSession and kInterrupt, which cannot fail).
/// A hook runs on the session's thread, on several threads at once, and may block.
using Hook = std::function<Outcome(const Call&)>;

/// The statement's transaction is lost to a deadlock.
Outcome Deadlock();
/// The turn does not fit into one transaction (1197, ER_TRANS_CACHE_FULL).
Outcome MustSplit();
/// KILL QUERY ended the statement.
Outcome Killed();
/// KILL ended the session's connection, and with it the turn.
Outcome KilledTurn();
/// Fails each of the statements with these numbers by a deadlock.
Hook DeadlockAt(std::vector<uint64_t> statements);
/// Fails the next `count` commits with this error.
Hook FailCommits(uint64_t count, model::Error error);
/// The first value of the request's key, or of the row that the request inserts; empty if there is
/// neither.
std::string FirstValue(const model::Request& request);

/// The present meaning of an index's names.
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
  /// Removes the table. Sessions with an opened index of the table find that out at the next use.
  void DropTable(const std::string& name);

  /// Committed rows in the order of their primary key, as `a,b,NULL;c,d,e;`.
  std::string Dump(const std::string& table) const;
  size_t RowCount(const std::string& table) const;

  /// Replaces the hook; an empty one ends all failures.
  void SetHook(Hook hook);
  /// Locks the row as a SQL session does. Null: the lock is held elsewhere (kNever), or stays so
  /// for the time that a test has.
  [[nodiscard]] std::unique_ptr<Holding> LockRow(const std::string& table, const Row& primary_key,
                                                 LockWait wait = LockWait::kServer);
  /// Locks the table as ALTER or LOCK TABLES does.
  [[nodiscard]] std::unique_ptr<Holding> LockTable(const std::string& table,
                                                   LockWait wait = LockWait::kServer);
  /// Every session that comes to this row stands still until the Holding is destroyed, or the
  /// session is interrupted.
  [[nodiscard]] std::unique_ptr<Holding> DelayRow(const std::string& table, const Row& primary_key);
  /// Milliseconds that sessions with LockWait::kServer wait for a lock.
  void SetLockWaitMs(int64_t ms);
  /// KILL QUERY for the session with this description (Session::Describe).
  void KillStatement(const std::string& description);
  /// Shuts the server down: sessions should stop, and no new session is made.
  void ShutDown();
  bool shuts_down() const;

  /// From now on requests that take so long are slow (Session::slow_us).
  void SetSlow(int64_t us) { slow_us_.store(us); }
  int64_t slow_us() const { return slow_us_.load(); }
  void LogSlow(const SlowRequest& request);
  /// From now on an audit plugin asks of tables (Session::WantsAccesses).
  void WantAccesses() { wants_accesses_.store(true); }
  bool wants_accesses() const { return wants_accesses_.load(); }
  void TellAccess(const TableAccess& access);
  /// What was told: "user read schema.table".
  std::vector<std::string> Accesses() const;
  /// The texts of the requests that sessions have logged as slow.
  std::vector<std::string> SlowTexts() const;

  /// Waits until `count` sessions wait for a lock or a delayed row; false when that takes too long.
  bool AwaitWaiting(unsigned count) const { return locks_.AwaitWaiting(count); }
  size_t sessions() const;
  size_t sessions_with_tables() const;
  /// The number of calls carried out so far, including calls that failed.
  uint64_t calls(Call::Kind kind) const;
  /// The number of rows that commits have inserted, updated or deleted.
  uint64_t rows_written() const;

 private:
  friend class Session;
  using Snapshot = std::map<std::shared_ptr<Table>, std::shared_ptr<const Rows>>;

  Outcome Ask(Call call);
  std::unique_ptr<Holding> Hold(const std::string& lock_name, LockWait wait);
  /// Gives the owner a description, until the next Describe or Forget.
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
  std::atomic<int64_t> slow_us_{INT64_MAX};
  std::atomic<bool> wants_accesses_{false};
  mutable std::mutex mutex_;  ///< Guards all members below; never held while waiting or in a hook.
  std::vector<std::string> slow_texts_, accesses_;
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

/// The name of a row's lock; the name of a table's lock is the table's name.
std::string RowLock(const std::string& table, const Row& primary_key);

}  // namespace rowsocket::engine::fake
