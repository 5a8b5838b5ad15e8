// The start of every test of the contract suite: a table of three rows, and users of the table.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/contract/command.h"
#include "engine/contract/harness.h"
#include "engine/contract/user_thread.h"

namespace rowsocket::engine::contract {

/// A session on a thread of its own, with one opened index of the table. The calls are those of
/// engine::Session.
class User {
 public:
  User(Harness& harness, LockWait wait, std::vector<std::string> columns = {"id", "v"},
       std::string index_name = "")
      : harness_(harness) {
    const bool opened = thread_.Run([&] {
      session_ = harness.factory().Create(wait);
      return session_ != nullptr &&
             session_->OpenIndex({kDatabase, kTable, index_name, columns, {}}, &index_).ok();
    });
    EXPECT_TRUE(opened);
  }
  ~User() {
    thread_.Run([this] {
      if (in_turn_) session_->Rollback();
      index_.reset();
      session_.reset();
    });
  }
  User(const User&) = delete;
  User& operator=(const User&) = delete;

  void BeginTurn(bool writes) {
    in_turn_ = true;
    thread_.Run([&] { session_->BeginTurn(writes); });
  }
  Outcome Do(Command command) { return Start(std::move(command)).get(); }
  /// Starts a call without waiting for its outcome. REQUIRES: the user makes no other call before
  /// the outcome is there.
  std::future<Outcome> Start(Command command) {
    return thread_.Start([this, command = std::move(command)]() mutable {
      sink.text.clear();
      return session_->Execute(*index_, command.Get(), sink);
    });
  }
  /// The rows that a find in this turn sees.
  std::string See(Command command) {
    EXPECT_TRUE(Do(std::move(command)).ok());
    return sink.text;
  }
  std::string SeeAll() { return See(Command::Find(CompareOp::kGe, "0", 100)); }
  std::string SeeRow(std::string id) { return See(Command::Find(CompareOp::kEq, std::move(id))); }

  RowOpening BeginRow(Command command) {
    return thread_.Run([&] { return session_->BeginRow(*index_, command.Get()); });
  }
  NotMergeable RowTakes(Command command) {
    return thread_.Run([&] { return session_->RowTakes(command.Get()); });
  }
  Outcome EndRow() {
    return thread_.Run([&] { return session_->EndRow(); });
  }
  Outcome CloseRowsReachedBy(Command command) {
    return thread_.Run([&] { return session_->CloseRowsReachedBy(*index_, command.Get()); });
  }
  Outcome CloseRows() {
    OpenRowTally tally;
    return thread_.Run([&] { return session_->CloseRows(&tally); });
  }
  Outcome BeginUnit() {
    return thread_.Run([&] { return session_->BeginUnit(); });
  }
  Outcome EndUnit(bool keep) {
    return thread_.Run([&] { return session_->EndUnit(keep); });
  }
  void RefuseWaits(bool refuse) {
    thread_.Run([&] { session_->RefuseWaits(refuse); });
  }
  bool HoldsRows() {
    return thread_.Run([&] { return session_->HoldsRows(); });
  }
  bool PrepareCommit() {
    return thread_.Run([&] { return session_->PrepareCommit(); });
  }
  Outcome Commit() {
    in_turn_ = false;
    return thread_.Run([&] { return session_->Commit(); });
  }
  void Rollback() { StartRollback().get(); }
  /// Starts a Rollback without waiting for its end. REQUIRES: as for Start.
  std::future<void> StartRollback() {
    in_turn_ = false;
    return thread_.Start([this] { session_->Rollback(); });
  }
  void ReleaseTables() {
    thread_.Run([&] { session_->ReleaseTables(); });
  }
  bool HasToRelease() {
    return thread_.Run([&] { return session_->HasToRelease(); });
  }
  Outcome MayOpen(const IndexNames& names, const model::Account& account) {
    return thread_.Run([&] { return session_->MayOpen(names, account); });
  }
  Outcome Open(const IndexNames& names, std::shared_ptr<Index>* index) {
    return thread_.Run([&] { return session_->OpenIndex(names, index); });
  }
  void FailCommit() {
    thread_.Run([&] { harness_.FailCommitOfThisTurn(); });
  }
  Outcome Inspect() {
    IndexFacts facts;
    return thread_.Run([&] { return session_->Inspect(*index_, &facts); });
  }
  Outcome InspectAtOnce() {
    IndexFacts facts;
    return thread_.Run([&] { return session_->InspectAtOnce(*index_, &facts); });
  }
  void Describe(const std::string& text) {
    thread_.Run([&] { session_->Describe(text); });
  }
  void Interrupt() { session_->Interrupt(); }

  const std::shared_ptr<Index>& index() const { return index_; }
  void set_index(std::shared_ptr<Index> index) { index_ = std::move(index); }

  TextSink sink;

 private:
  Harness& harness_;
  bool in_turn_ = false;
  std::unique_ptr<engine::Session> session_;
  std::shared_ptr<Index> index_;
  UserThread thread_;
};

class EngineContract : public ::testing::Test {
 protected:
  EngineContract() : harness_(MakeHarness()) { CreateTable(); }

  void CreateTable(const TableKind& kind = {}) {
    harness_->CreateTable(kind, {{"1", "10", "a"}, {"2", "20", "b"}, {"10", "5", std::nullopt}});
  }

  const std::unique_ptr<Harness> harness_;
};

}  // namespace rowsocket::engine::contract
