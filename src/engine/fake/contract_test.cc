// The harness with which the contract suite runs on the in-memory engine.
#include <gtest/gtest.h>

#include <utility>

#include "engine/contract/command.h"
#include "engine/contract/harness.h"
#include "engine/fake/session.h"

namespace rowsocket::engine::contract {
namespace {

using fake::Call;
using fake::Holding;
using fake::Store;

const std::string kName = std::string(kDatabase) + "." + kTable;

/// A lock that the Store has given to a user other than its sessions.
class LockHold final : public Hold {
 public:
  explicit LockHold(std::unique_ptr<Holding> holding) : holding_(std::move(holding)) {
    EXPECT_NE(nullptr, holding_);
  }

 private:
  const std::unique_ptr<Holding> holding_;
};

/// Sets a hook, and removes it when the object is destroyed.
class HookHold final : public Hold {
 public:
  HookHold(Store& store, fake::Hook hook) : store_(store) { store.SetHook(std::move(hook)); }
  ~HookHold() override { store_.SetHook({}); }

 private:
  Store& store_;
};

/// Another user: a turn of a session, which commits when the object is destroyed.
class TurnHold final : public Hold {
 public:
  explicit TurnHold(Store& store) : session_(store, LockWait::kServer) {
    EXPECT_TRUE(session_.OpenIndex({kDatabase, kTable, "", {"id"}, {}}, &ids_).ok());
    EXPECT_TRUE(session_.OpenIndex({kDatabase, kTable, "", {"v"}, {}}, &values_).ok());
    session_.BeginTurn(true);
  }
  ~TurnHold() override { EXPECT_TRUE(session_.Commit().ok()); }

  void Insert(const std::string& id) { Execute(*ids_, Command::Insert({id})); }
  void SetV(const std::string& id, const std::string& v) {
    Execute(*values_, Command::Modify(Modification::kUpdate, id, v));
  }

 private:
  void Execute(Index& index, Command command) {
    model::NoRows no_rows;
    EXPECT_EQ(1u, session_.Execute(index, command.Get(), no_rows).rows);
  }

  fake::Session session_;
  std::shared_ptr<Index> ids_, values_;
};

/// Whether the request is an UPDATE of the column v. REQUIRES: its index has only that column.
bool ChangesV(const model::Request* request) {
  return request != nullptr && request->verb == model::Request::Verb::kFind &&
         request->find.modification != model::Modification::kDelete;
}

class FakeHarness final : public Harness {
 public:
  SessionFactory& factory() override { return factory_; }
  std::vector<NotMergeable> reasons() const override { return ReasonsOfTables(); }
  void CreateTable(const TableKind& kind, const std::vector<Row>& rows) override {
    fake::TableDefinition table{kName, {"id", "v", "w"}, {{"PRIMARY", {0}}, {"by_v", {1}}}, true};
    table.permanent = kind.not_mergeable == NotMergeable::kEngine;
    table.not_mergeable = kind.not_mergeable;
    store_.CreateTable(table, rows);
    rows_ = rows;
  }
  void AddColumn() override {
    for (Row& row : rows_) row.emplace_back();
    store_.CreateTable({kName, {"id", "v", "w", "x"}, {{"PRIMARY", {0}}, {"by_v", {1}}}, true},
                       rows_);
  }
  std::string Dump() override { return store_.Dump(kName); }
  uint64_t RowsWritten() override { return store_.rows_written(); }
  void SetV(const std::string& id, const std::string& v) override { TurnHold(store_).SetV(id, v); }
  std::unique_ptr<Hold> InsertRow(const std::string& id) override {
    auto turn = std::make_unique<TurnHold>(store_);
    turn->Insert(id);
    return turn;
  }
  std::unique_ptr<Hold> LockRow(const std::string& id) override {
    return std::make_unique<LockHold>(store_.LockRow(kName, {id}));
  }
  std::unique_ptr<Hold> LockTable() override {
    return std::make_unique<LockHold>(store_.LockTable(kName));
  }
  bool CanLockRow(const std::string& id) override {
    return store_.LockRow(kName, {id}, LockWait::kNever) != nullptr;
  }
  bool CanLockTable() override {
    return store_.sessions_with_tables() == 0 &&
           store_.LockTable(kName, LockWait::kNever) != nullptr;
  }
  bool AwaitWaiting() override { return store_.AwaitWaiting(1); }
  void ShortenLockWait() override { store_.SetLockWaitMs(5); }

  // The engine does not look for deadlocks, so a hook reports one.
  std::unique_ptr<Hold> PrepareDeadlock(const std::string&, const std::string& wanted) override {
    return std::make_unique<HookHold>(store_, [wanted](const Call& call) {
      const bool hit = call.request != nullptr && fake::FirstValue(*call.request) == wanted;
      return hit ? fake::Deadlock() : Outcome();
    });
  }
  void FailCommitOfThisTurn() override {
    store_.SetHook(fake::FailCommits(1, model::Error::Engine(5)));
  }
  void FailEndRow() override {
    store_.SetHook([](const Call& call) {
      return call.kind == Call::Kind::kEndRow ? fake::FailEngine(139) : Outcome();
    });
  }
  void ShrinkLog() override {}
  void SetRights(const model::Account&, Rights rights) override {
    store_.SetHook([rights](const Call& call) {
      if (call.kind != Call::Kind::kJudge) return Outcome();
      const bool is_on_it = call.names->db == kDatabase && call.names->table == kTable;
      const bool is_update = call.request != nullptr && call.request->is_write();
      const bool may_update = rights == Rights::kSelectAndUpdateV && ChangesV(call.request);
      const bool may = is_on_it && rights != Rights::kNone && (!is_update || may_update);
      return may ? Outcome() : Outcome::Fail(model::ErrorCode::kDenied);
    });
  }
  void KillStatement(const std::string& description) override { store_.KillStatement(description); }
  void KillSession(const std::string&) override {
    store_.SetHook([](const Call& call) {
      const bool hit = call.kind == Call::Kind::kExecute && call.number == 1;
      return hit ? fake::KilledTurn() : Outcome();
    });
  }

 private:
  Store store_;
  fake::SessionFactory factory_{store_};
  std::vector<Row> rows_;  ///< the rows with which the table was made
};

}  // namespace

std::unique_ptr<Harness> MakeHarness() { return std::make_unique<FakeHarness>(); }

}  // namespace rowsocket::engine::contract
