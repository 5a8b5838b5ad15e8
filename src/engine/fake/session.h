// engine::Session on the in-memory engine: what the layers above are tested against.
//
// How it satisfies the contract of engine/session.h:
//   S1  A turn reads the rows that were committed when it began, with its own changes on top.
//   S2  A statement collects its changes apart and adds them to the turn's only when it succeeds.
//   S3  Commit puts all changes of the turn into the store at once, or, when a hook fails it, none.
//   S4  With kNever a row or table that somebody else holds is kBusy (DelayRow aside, which is
//       there to make a session stand still).
//   S5  Row locks end with the turn. That tables are held is only counted: nobody waits for it.
//   S6  A hook that loses the transaction rolls the turn back here; only Rollback may follow.
// `permanent` tables are as those of engines without transactions: statements on them stand at
// once, whatever becomes of the turn.
// Reads take no row locks; writes look at the latest committed rows, and lock those they change.
// Like the server's, an Interrupt is forgotten by the next BeginTurn or OpenIndex.
// The grammar of calls is asserted.
//
// Threads: as engine/session.h says. Lifetime: the store outlives its sessions.
#pragma once

#include <map>
#include <memory>

#include "engine/fake/store.h"
#include "engine/session.h"

namespace rowsocket::engine::fake {

class Session final : public engine::Session {
 public:
  Session(Store& store, LockWait lock_wait);
  ~Session() override;

  Outcome OpenIndex(const IndexNames& names, std::shared_ptr<engine::Index>* index) override;
  Outcome Inspect(engine::Index& index, IndexFacts* facts) override;
  void BeginTurn(bool writes) override;
  Outcome Execute(engine::Index& index, const model::Request& request,
                  model::RowSink& sink) override;
  Outcome Commit() override;
  void Rollback() override;
  void ReleaseTables() override { HoldTables(false); }
  bool HoldsTables() const override { return holds_tables_; }
  bool ShouldStop() const override { return store_.shuts_down(); }
  void Describe(std::string_view) override {}
  void Interrupt() override;

 private:
  using Resolved = Store::Resolved;
  enum class State : uint8_t { kIdle, kInTurn, kLost };

  Outcome Statement(engine::Index& index, const model::Request& request, model::RowSink& sink);
  Outcome Find(const Resolved& resolved, const model::Find& find, model::RowSink& sink);
  Outcome FindModify(const Resolved& resolved, const model::Find& find, model::RowSink& sink);
  Outcome Insert(const Resolved& resolved, const model::Insert& insert);
  void MakePermanent(const Resolved& resolved, Outcome* outcome);

  /// Locks what the find is about; `*rows` are its rows once nothing has changed meanwhile.
  Outcome LockMatching(const Resolved& resolved, const model::Find& find, std::vector<Row>* rows);
  Outcome LockRow(const Table& table, const Row& primary_key);
  Outcome PassRow(const Table& table, const Row& primary_key);
  Outcome PassTable(const std::string& name);
  Outcome NotGranted(Locks::Granted granted);

  /// `rows` with this turn's changes on top.
  std::shared_ptr<const Rows> WithOwn(const Resolved& resolved,
                                      std::shared_ptr<const Rows> rows) const;
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
};

class SessionFactory final : public engine::SessionFactory {
 public:
  explicit SessionFactory(Store& store) : store_(store) {}
  std::unique_ptr<engine::Session> Create(LockWait lock_wait) override;

 private:
  Store& store_;
};

}  // namespace rowsocket::engine::fake
