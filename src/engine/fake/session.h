// engine::Session on the in-memory engine, on which tests of the layers above run.
//
// How it satisfies the contract of engine/session.h:
//   S1  A turn reads the rows that were committed when it began, with its own changes on top.
//   S2  A statement collects its changes apart and adds them to the turn's only when it succeeds.
//   S3  Commit puts all changes of the turn into the store at once, or, when a hook fails it, none.
//   S4  With kNever a row or table that another owner holds is kBusy (DelayRow aside, which is
//       there to make a session stand still).
//   S5  Row locks end with the turn. Tables that a session holds are only counted: no other owner
//       waits for them.
//   S6  A hook that loses the transaction rolls the turn back here; only Rollback may follow.
//   S7  A row is a value that requests change one after the other.
//   S8  EndRow adds the row to the changes of the turn, as one change.
//   S9  Only rows by the primary key are merged, and no change of the key itself.
//   S11 A unit keeps a copy of the turn's changes, to which EndUnit goes back.
//   S12 In a unit, a find by the primary key takes the path of a change.
//   S13 No row stays open: requests that share one are executed one by one.
//   S10 A hook judges (Call::Kind::kJudge); without one, every account may do everything.
//
// `permanent` tables are as those of engines without transactions: statements on them stand at
// once, whatever happens to the turn. Reads take no row locks; writes look at the latest committed
// rows, and lock the rows that they change. The next BeginTurn or OpenIndex forgets an Interrupt,
// as in the server. The grammar of calls is asserted.
//
// Threads: as engine/session.h says.
// Lifetime: the store outlives its sessions.
#pragma once

#include <map>
#include <memory>
#include <new>

#include "engine/fake/row_change.h"
#include "engine/fake/store.h"
#include "engine/session.h"

namespace rowsocket::engine::fake {

class Session : public engine::Session {
 public:
  Session(Store& store, LockWait lock_wait);
  ~Session() override;

  Outcome OpenIndex(const IndexNames& names, std::shared_ptr<engine::Index>* index) override;
  Outcome MayOpen(const IndexNames& names, const model::Account& account) override;
  Outcome Inspect(engine::Index& index, IndexFacts* facts) override;
  Outcome EstimateRows(engine::Index& index, uint64_t* rows) override;
  void BeginTurn(bool writes) override;
  Outcome Execute(engine::Index& index, const model::Request& request,
                  model::RowSink& sink) override;
  Outcome MayExecute(engine::Index& index, const model::Request& request) override;
  RowOpening BeginRow(engine::Index& index, const model::Request& request) override;
  NotMergeable RowTakes(const model::Request& request) const override;
  Outcome EndRow() override;
  Outcome CloseRowsReachedBy(engine::Index&, const model::Request&) override { return {}; }
  Outcome CloseRows(OpenRowTally* tally) override;
  Outcome BeginUnit() override;
  Outcome EndUnit(bool keep) override;
  void RefuseWaits(bool refuse) override { refuses_waits_ = refuse; }
  bool HoldsRows() const override { return holds_rows_; }
  bool PrepareCommit() override { return true; }
  Outcome Commit() override;
  void Rollback() override;
  void ReleaseTables() override { HoldTables(false); }
  bool HasToRelease() const override { return holds_tables_; }
  bool WaitsForLocks() const override { return lock_wait_ == LockWait::kServer; }
  int64_t row_wait_ms() const override { return store_.lock_wait_ms(); }
  int64_t slow_us() const override { return store_.slow_us(); }
  void LogSlow(const SlowRequest& request) override { store_.LogSlow(request); }
  bool WantsAccesses() const override { return store_.wants_accesses(); }
  void TellAccess(const TableAccess& access) override { store_.TellAccess(access); }
  void EndAccesses() override {}
  bool ShouldStop() const override { return store_.shuts_down(); }
  void Describe(std::string_view text) override { store_.Describe(owner_, text); }
  void Interrupt() override;

 private:
  enum class State : uint8_t { kIdle, kInTurn, kInRow, kLost };
  /// A row that BeginRow has opened.
  struct OpenRow {
    Resolved resolved;
    std::vector<std::string> key;  ///< The key as it was given.
    std::optional<Row> read;       ///< The row as BeginRow read it; without a value: absent.
    std::optional<Row> now;
  };

  Outcome Resolve(const IndexNames& names, Resolved* resolved);
  Outcome Statement(engine::Index& index, const model::Request& request, model::RowSink& sink);
  Outcome Find(const Resolved& resolved, const model::Find& find, model::RowSink& sink);
  Outcome FindModify(const Resolved& resolved, const model::Find& find, model::RowSink& sink);
  Outcome Insert(const Resolved& resolved, const model::Insert& insert);
  Outcome Edit(const Resolved& resolved, const model::Edit& edit);
  Outcome ExecuteOnRow(const model::Request& request, model::RowSink& sink);
  /// Locks the row that the key names, absent or not, and reads it.
  Outcome LockOne(const Resolved& resolved, std::span<const model::Value> key,
                  std::optional<Row>* row);
  void MakePermanent(const Resolved& resolved, Outcome* outcome);

  /// Locks the rows that the find matches; `*rows` are these rows once nothing has changed
  /// meanwhile.
  Outcome LockMatching(const Resolved& resolved, const model::Find& find, std::vector<Row>* rows);
  Outcome LockRow(const Table& table, const Row& primary_key);
  Outcome PassRow(const Table& table, const Row& primary_key);
  Outcome PassTable(const std::string& name);
  Outcome NotGranted(Locks::Granted granted);

  /// `rows` with the changes of this turn on top.
  std::shared_ptr<const Rows> WithOwn(const Resolved& resolved,
                                      std::shared_ptr<const Rows> rows) const;
  LockWait lock_wait() const { return refuses_waits_ ? LockWait::kNever : lock_wait_; }
  void HoldTables(bool holds);
  void EndTurn(State state);

  Store& store_;
  const LockWait lock_wait_;
  Locks::Owner owner_;
  State state_ = State::kIdle;
  bool writes_ = false;
  bool holds_tables_ = false;
  Store::Snapshot snapshot_;
  std::map<std::shared_ptr<Table>, Changes> changes_;
  bool refuses_waits_ = false;
  bool holds_rows_ = false;
  bool shares_rows_ = false;  ///< Requests of the turn share rows.
  /// The turn's changes before the unit that is open.
  std::optional<std::map<std::shared_ptr<Table>, Changes>> before_unit_;
  std::optional<OpenRow> row_;  ///< Has a value in the state kInRow.
};

class SessionFactory final : public engine::SessionFactory {
 public:
  explicit SessionFactory(Store& store) : store_(store) {}
  std::unique_ptr<engine::Session> Create(LockWait lock_wait) override;
  bool IsStopping() const override { return store_.shuts_down(); }

 private:
  Store& store_;
};

/// Has no memory for any session.
class NoSessions final : public engine::SessionFactory {
 public:
  std::unique_ptr<engine::Session> Create(LockWait) override { throw std::bad_alloc(); }
};

}  // namespace rowsocket::engine::fake
