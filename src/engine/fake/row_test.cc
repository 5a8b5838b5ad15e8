// Edits, and requests that are merged into one change of a row (S7 to S9).
#include <gtest/gtest.h>

#include "engine/fake/session_fixture.h"

namespace rowsocket::engine::fake {
namespace {

using model::Decision;
using model::Error;
using model::ErrorCode;

/// Stores one value in the first opened column, and remembers what it saw.
struct Editor final : model::RowEditor {
  explicit Editor(Decision decision, std::string value = "")
      : decision(decision), value(std::move(value)) {}
  Decision Decide(std::span<const Value> row,
                  std::span<const model::CellChange>* changes) override {
    seen = row.empty() ? "absent" : "";
    for (const Value& cell : row) seen.append(cell.is_null() ? "NULL" : cell.text()).append(1, ',');
    change = {0, Value(value)};
    *changes = {&change, 1};
    return decision;
  }

  Decision decision;
  std::string value, seen;
  model::CellChange change;
};

class FakeRow : public ::testing::Test {
 protected:
  FakeRow() { CreateTable(); }
  void CreateTable(NotMergeable why = NotMergeable::kNone) {
    TableDefinition table{kTable, {"id", "v", "w"}, {{"PRIMARY", {0}}, {"by_v", {1}}}};
    table.not_mergeable = why;
    store_.CreateTable(table, {{"1", "10", "a"}, {"2", "20", "b"}});
  }
  static Command Increment(std::string key, std::string by) {
    return Command::Modify(Modification::kIncrement, std::move(key), std::move(by));
  }
  NotMergeable Reason(User& user, Command command) {
    return user.session.BeginRow(*user.index, command.Get()).reason;
  }
  Store store_;
};

TEST_F(FakeRow, EditUpdatesInsertsDeletesOrKeeps) {
  User user(store_, LockWait::kNever, {"v", "w"});
  user.session.BeginTurn(true);
  Editor update(Decision::kStore, "11"), insert(Decision::kStore, "30");
  EXPECT_EQ(1u, user.Do(Command::Edit("1", update)).rows);
  EXPECT_EQ("10,a,", update.seen);
  EXPECT_EQ(1u, user.Do(Command::Edit("3", insert)).rows);
  EXPECT_EQ("absent", insert.seen);
  Editor keep(Decision::kKeep), erase(Decision::kDelete);
  EXPECT_EQ(0u, user.Do(Command::Edit("3", keep)).rows);
  EXPECT_EQ("30,NULL,", keep.seen);
  EXPECT_EQ(1u, user.Do(Command::Edit("2", erase)).rows);
  EXPECT_EQ(0u, user.Do(Command::Edit("2", erase)).rows);
  EXPECT_TRUE(user.session.Commit().ok());
  EXPECT_EQ("1,11,a;3,30,NULL;", store_.Dump(kTable));
}

TEST_F(FakeRow, EditNeedsTheWholePrimaryKey) {
  User user(store_, LockWait::kNever, {"w"}, "by_v");
  Editor keep(Decision::kKeep);
  user.session.BeginTurn(true);
  EXPECT_EQ(ErrorCode::kKpnum, user.Do(Command::Edit("10", keep)).error.code);
  EXPECT_EQ(NotMergeable::kRequest, Reason(user, Command::Edit("10", keep)));
  EXPECT_TRUE(user.session.Commit().ok());
}

TEST_F(FakeRow, S7RequestsOfARowSeeThoseBefore) {
  User user(store_, LockWait::kNever, {"v"});
  user.session.BeginTurn(true);
  ASSERT_TRUE(user.session.BeginRow(*user.index, Increment("1", "5").Get()).opened());
  EXPECT_EQ(1u, user.Do(Increment("1", "5")).rows);
  EXPECT_EQ(0u, user.Do(Command::Modify(Modification::kDecrement, "1", "16")).rows);
  EXPECT_EQ(Error::Engine(1264), user.Do(Increment("1", "9223372036854775807")).error);
  Command pre_image = Increment("1", "1");
  pre_image.request.find.wants_pre_images = true;
  EXPECT_EQ("15,", user.See(pre_image));
  EXPECT_EQ("16,", user.See(Command::Find(CompareOp::kEq, "1")));
  EXPECT_EQ(1u, user.Do(Command::Modify(Modification::kDelete, "1", "")).rows);
  EXPECT_EQ(0u, user.Do(Increment("1", "1")).rows);
  EXPECT_EQ("", user.See(Command::Find(CompareOp::kEq, "1")));
  Editor insert(Decision::kStore, "7");
  EXPECT_EQ(1u, user.Do(Command::Edit("1", insert)).rows);
  EXPECT_EQ("absent", insert.seen);
  EXPECT_EQ("7,", user.See(Command::Find(CompareOp::kEq, "1")));
  EXPECT_TRUE(user.session.EndRow().ok());
  EXPECT_EQ("7,", user.See(Command::Find(CompareOp::kEq, "1")));
  EXPECT_TRUE(user.session.Commit().ok());
  EXPECT_EQ("1,7,NULL;2,20,b;", store_.Dump(kTable));
}

TEST_F(FakeRow, S8RowIsLockedAndWrittenOnce) {
  User user(store_, LockWait::kNever, {"v"});
  User other(store_, LockWait::kNever, {"v"});
  user.session.BeginTurn(true);
  other.session.BeginTurn(true);
  ASSERT_TRUE(user.session.BeginRow(*user.index, Increment("1", "1").Get()).opened());
  EXPECT_EQ(Outcome::Result::kBusy,
            other.session.BeginRow(*other.index, Increment("1", "1").Get()).outcome.result);
  EXPECT_EQ(Outcome::Result::kBusy, other.Do(Increment("1", "1")).result);
  EXPECT_TRUE(user.Do(Increment("1", "1")).ok());
  EXPECT_TRUE(user.session.EndRow().ok());
  EXPECT_TRUE(user.session.Commit().ok());
  EXPECT_TRUE(other.Do(Increment("1", "1")).ok());
  EXPECT_TRUE(other.session.Commit().ok());
  EXPECT_EQ("1,12,a;2,20,b;", store_.Dump(kTable));
}

TEST_F(FakeRow, S8FailedEndLeavesNothingAfterRollback) {
  User user(store_, LockWait::kNever, {"v"});
  store_.SetHook([](const Call& call) {
    return call.kind == Call::Kind::kEndRow ? FailEngine(5) : Outcome();
  });
  user.session.BeginTurn(true);
  ASSERT_TRUE(user.session.BeginRow(*user.index, Increment("1", "1").Get()).opened());
  EXPECT_TRUE(user.Do(Increment("1", "1")).ok());
  EXPECT_EQ(Error::Engine(5), user.session.EndRow().error);
  user.session.Rollback();
  EXPECT_EQ("1,10,a;2,20,b;", store_.Dump(kTable));
  EXPECT_NE(nullptr, store_.LockRow(kTable, {"1"}));
}

TEST_F(FakeRow, RollbackEndsARow) {
  User user(store_, LockWait::kNever, {"v"});
  user.session.BeginTurn(true);
  ASSERT_TRUE(user.session.BeginRow(*user.index, Increment("1", "1").Get()).opened());
  EXPECT_TRUE(user.Do(Increment("1", "1")).ok());
  user.session.Rollback();
  user.session.BeginTurn(true);
  EXPECT_EQ("10,", user.See(Command::Find(CompareOp::kEq, "1")));
  EXPECT_TRUE(user.session.Commit().ok());
}

TEST_F(FakeRow, S9WhatCannotBeMergedIsSaid) {
  User user(store_, LockWait::kNever, {"v"});
  User with_key(store_, LockWait::kNever, {"id", "v"});
  for (User* each : {&user, &with_key}) each->session.BeginTurn(true);
  EXPECT_EQ(NotMergeable::kRequest, Reason(user, Command::Insert({"1"})));
  EXPECT_EQ(NotMergeable::kRequest,
            Reason(user, Command::Modify(Modification::kDelete, "1", "", CompareOp::kGe)));
  EXPECT_EQ(NotMergeable::kUniqueKey, Reason(with_key, Increment("1", "1")));
  ASSERT_TRUE(with_key.session
                  .BeginRow(*with_key.index, Command::Modify(Modification::kDelete, "1", "").Get())
                  .opened());
  EXPECT_EQ(NotMergeable::kUniqueKey, with_key.session.RowTakes(Increment("1", "1").Get()));
  EXPECT_EQ(NotMergeable::kNone,
            with_key.session.RowTakes(Command::Find(CompareOp::kEq, "1").Get()));
  EXPECT_TRUE(with_key.session.EndRow().ok());
  CreateTable(NotMergeable::kCheck);
  EXPECT_EQ(NotMergeable::kCheck, Reason(user, Increment("1", "1")));
  for (User* each : {&user, &with_key}) EXPECT_TRUE(each->session.Commit().ok());
}

TEST_F(FakeRow, S6DeadlockInARowLosesTheTurn) {
  User user(store_, LockWait::kNever, {"v"});
  store_.SetHook(DeadlockAt({2}));
  user.session.BeginTurn(true);
  ASSERT_TRUE(user.session.BeginRow(*user.index, Increment("1", "1").Get()).opened());
  EXPECT_TRUE(user.Do(Increment("1", "1")).ok());
  EXPECT_TRUE(user.Do(Increment("1", "1")).transaction_lost);
  user.session.Rollback();
  EXPECT_EQ("1,10,a;2,20,b;", store_.Dump(kTable));
}

}  // namespace
}  // namespace rowsocket::engine::fake
