// The failures that a test asks for, and the counts, which only the in-memory engine has. The suite
// of engine/contract tests the contract that this engine keeps.
#include "engine/fake/session.h"

#include <gtest/gtest.h>

#include <thread>

#include "engine/contract/command.h"

namespace rowsocket::engine::fake {
namespace {

using contract::Command;
using contract::CompareOp;
using model::Error;
using model::ErrorCode;

constexpr char kTable[] = "test.t";

class FakeSession : public ::testing::Test {
 protected:
  FakeSession() {
    store_.CreateTable({kTable, {"id", "v"}, {{"PRIMARY", {0}}}},
                       {{"1", "10"}, {"2", "20"}, {"10", "5"}});
  }
  /// A session with the index (id; v) of the table, opened.
  struct User {
    User(Store& store, LockWait wait) : session(store, wait) {
      EXPECT_TRUE(session.OpenIndex({"test", "t", "", {"v"}, {}}, &index).ok());
    }
    Outcome Do(Command command) { return session.Execute(*index, command.Get(), sink); }

    Session session;
    std::shared_ptr<engine::Index> index;
    contract::TextSink sink;
  };
  Store store_;
};

TEST_F(FakeSession, HookFailsTheCommitsThatItIsToldTo) {
  User user(store_, LockWait::kNever);
  store_.SetHook(FailCommits(1, Error::Engine(5)));
  for (const Error& expected : {Error::Engine(5), Error()}) {
    user.session.BeginTurn(true);
    ASSERT_TRUE(user.Do(Command::Delete("2")).ok());
    EXPECT_EQ(expected, user.session.Commit().error);
  }
  EXPECT_EQ("1,10;10,5;", store_.Dump(kTable));
}

TEST_F(FakeSession, HookLosesTheTransactionAtTheStatementsThatItIsToldTo) {
  User user(store_, LockWait::kNever);
  store_.SetHook(DeadlockAt({2}));
  user.session.BeginTurn(true);
  EXPECT_TRUE(user.Do(Command::Delete("1")).ok());
  EXPECT_TRUE(user.Do(Command::Delete("2")).transaction_lost);
  EXPECT_NE(nullptr, store_.LockRow(kTable, {"1"}, LockWait::kNever));
  user.session.Rollback();
  EXPECT_EQ(3u, store_.RowCount(kTable));
}

TEST_F(FakeSession, HookLosesTheTransactionInAnOpenRow) {
  User user(store_, LockWait::kNever);
  store_.SetHook(DeadlockAt({2}));
  user.session.BeginTurn(true);
  ASSERT_TRUE(user.session.BeginRow(*user.index, Command::Increment("1", "1").Get()).opened());
  EXPECT_TRUE(user.Do(Command::Increment("1", "1")).ok());
  EXPECT_TRUE(user.Do(Command::Increment("1", "1")).transaction_lost);
  user.session.Rollback();
  EXPECT_EQ("1,10;2,20;10,5;", store_.Dump(kTable));
}

TEST_F(FakeSession, DelayedRowStopsASessionThatNeverWaits) {
  User user(store_, LockWait::kNever);
  auto delayed = store_.DelayRow(kTable, {"2"});
  std::thread interrupts([&] {
    EXPECT_TRUE(store_.AwaitWaiting(1));
    user.session.Interrupt();
  });
  user.session.BeginTurn(true);
  EXPECT_EQ(ErrorCode::kKilled, user.Do(Command::Delete("2")).error.code);
  interrupts.join();
  EXPECT_TRUE(user.Do(Command::Find(CompareOp::kEq, "1")).ok());
  EXPECT_TRUE(user.session.Commit().ok());
}

TEST_F(FakeSession, SessionsAndThoseThatHoldTablesAreCounted) {
  {
    User user(store_, LockWait::kNever);
    EXPECT_EQ(1u, store_.sessions());
    EXPECT_EQ(1u, store_.sessions_with_tables());
    user.session.ReleaseTables();
    EXPECT_EQ(0u, store_.sessions_with_tables());
    user.session.BeginTurn(true);
    EXPECT_TRUE(user.Do(Command::Delete("2")).ok());
    EXPECT_EQ(1u, store_.sessions_with_tables());
    EXPECT_TRUE(user.session.Commit().ok());
  }
  EXPECT_EQ(0u, store_.sessions_with_tables());
  EXPECT_EQ(0u, store_.sessions());
}

TEST_F(FakeSession, NoSessionsAfterShutDown) {
  SessionFactory factory(store_);
  const auto session = factory.Create(LockWait::kNever);
  EXPECT_FALSE(session->ShouldStop());
  store_.ShutDown();
  EXPECT_TRUE(session->ShouldStop());
  EXPECT_EQ(nullptr, factory.Create(LockWait::kNever));
}

}  // namespace
}  // namespace rowsocket::engine::fake
