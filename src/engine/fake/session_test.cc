#include <gtest/gtest.h>

#include <thread>

#include "engine/fake/session_fixture.h"

namespace rowsocket::engine::fake {
namespace {

using model::Error;
using model::ErrorCode;

TEST_F(FakeSession, FindsByIndexInItsOrder) {
  User user(store_, LockWait::kNever, {"id", "v", "w"});
  User by_v(store_, LockWait::kNever, {"id"}, "by_v");
  user.session.BeginTurn(false);
  by_v.session.BeginTurn(false);
  EXPECT_EQ("2,20,b,", user.See(Command::Find(CompareOp::kEq, "2")));
  EXPECT_EQ("", user.See(Command::Find(CompareOp::kEq, "3")));
  EXPECT_EQ("2,20,b,10,5,NULL,", user.See(Command::Find(CompareOp::kGt, "1", 9)));
  EXPECT_EQ("2,20,b,1,10,a,", user.See(Command::Find(CompareOp::kLt, "10", 9)));
  EXPECT_EQ("10,1,2,", by_v.See(Command::Find(CompareOp::kGe, "0", 9)));
  EXPECT_TRUE(user.session.Commit().ok());
  EXPECT_TRUE(by_v.session.Commit().ok());
}

TEST_F(FakeSession, FindsWithInFiltersOffset) {
  User user(store_, LockWait::kNever, {"id"});
  const std::vector<Value> in = {Value("10"), Value("3"), Value("1")};
  Command command = Command::Find(CompareOp::kEq, "filler", 9);
  command.request.find.has_in = true;
  command.request.find.in_values = in;
  user.session.BeginTurn(false);
  EXPECT_EQ("10,1,", user.See(command));
  command.request.find.offset = 1;
  EXPECT_EQ("1,", user.See(command));

  std::shared_ptr<engine::Index> filtered;
  ASSERT_TRUE(user.session.Commit().ok());
  ASSERT_TRUE(user.session.OpenIndex({"test", "t", "", {"id"}, {"v"}}, &filtered).ok());
  user.index = filtered;
  const std::vector<model::Filter> at_least_10 = {{false, CompareOp::kGe, 0, Value("10")}};
  Command all = Command::Find(CompareOp::kGe, "0", 9);
  all.request.find.filters = at_least_10;
  user.session.BeginTurn(false);
  EXPECT_EQ("1,2,", user.See(all));
  const std::vector<model::Filter> while_below_20 = {{true, CompareOp::kLt, 0, Value("20")}};
  all.request.find.filters = while_below_20;
  EXPECT_EQ("1,", user.See(all));
  EXPECT_TRUE(user.session.Commit().ok());
}

TEST_F(FakeSession, NamesThatAreNotThereAreErrors) {
  Session session(store_, LockWait::kNever);
  std::shared_ptr<engine::Index> index;
  const auto open = [&](const IndexNames& names) {
    return session.OpenIndex(names, &index).error.code;
  };
  EXPECT_EQ(ErrorCode::kOpenTable, open({"test", "none", "", {}, {}}));
  EXPECT_EQ(ErrorCode::kIdxnum, open({"test", "t", "none", {}, {}}));
  EXPECT_EQ(ErrorCode::kIdxnum, open({"test", "t", "2", {}, {}}));
  EXPECT_EQ(ErrorCode::kFld, open({"test", "t", "1", {"none"}, {}}));
  EXPECT_EQ(nullptr, index);
  EXPECT_EQ(ErrorCode::kNone, open({"test", "t", "1", {"w"}, {}}));
  const auto first = index;
  EXPECT_EQ(ErrorCode::kNone, open({"test", "t", "1", {"w"}, {}}));
  EXPECT_EQ(first, index);
}

TEST_F(FakeSession, S1TurnSeesOneStateAndItsOwnWrites) {
  User reader(store_, LockWait::kNever);
  User writer(store_, LockWait::kNever);
  reader.session.BeginTurn(true);
  writer.session.BeginTurn(true);
  EXPECT_TRUE(writer.Do(Command::Insert({"3", "30"})).ok());
  EXPECT_TRUE(writer.session.Commit().ok());
  EXPECT_EQ("1,10,2,20,10,5,", reader.SeeAll());
  EXPECT_TRUE(reader.Do(Command::Modify(Modification::kDelete, "2", "")).ok());
  EXPECT_EQ("1,10,10,5,", reader.SeeAll());
  EXPECT_TRUE(reader.Do(Command::Insert({"2", "21"})).ok());
  EXPECT_EQ("1,10,2,21,10,5,", reader.SeeAll());
  EXPECT_TRUE(reader.session.Commit().ok());
}

TEST_F(FakeSession, S2FailedStatementLeavesNothing) {
  User user(store_, LockWait::kNever, {"id"});
  user.session.BeginTurn(true);
  ASSERT_TRUE(user.Do(Command::Insert({"7"})).ok());
  // All rows to one key: the second row fails, the first must not stay changed.
  const Outcome outcome =
      user.Do(Command::Modify(Modification::kUpdate, "1", "50", CompareOp::kGe, 9));
  EXPECT_EQ(Error::Engine(121), outcome.error);
  EXPECT_TRUE(user.session.Commit().ok());
  EXPECT_EQ("1,10,a;2,20,b;7,NULL,NULL;10,5,NULL;", store_.Dump(kTable));
}

TEST_F(FakeSession, S3CommitIsAllOrNothing) {
  User user(store_, LockWait::kNever);
  store_.SetHook(FailCommits(1, Error::Engine(5)));
  user.session.BeginTurn(true);
  ASSERT_TRUE(user.Do(Command::Insert({"3", "30"})).ok());
  EXPECT_EQ(Error::Engine(5), user.session.Commit().error);
  EXPECT_EQ(3u, store_.RowCount(kTable));
  user.session.BeginTurn(true);
  ASSERT_TRUE(user.Do(Command::Insert({"3", "30"})).ok());
  EXPECT_EQ(3u, store_.RowCount(kTable));
  EXPECT_TRUE(user.session.Commit().ok());
  EXPECT_EQ(4u, store_.RowCount(kTable));
  user.session.BeginTurn(true);
  ASSERT_TRUE(user.Do(Command::Insert({"4", "40"})).ok());
  user.session.Rollback();
  EXPECT_EQ(4u, store_.RowCount(kTable));
}

TEST_F(FakeSession, S4NeverWaitsForARow) {
  User user(store_, LockWait::kNever);
  auto held = store_.LockRow(kTable, {"2"});
  user.session.BeginTurn(true);
  const Outcome outcome =
      user.Do(Command::Modify(Modification::kDelete, "1", "", CompareOp::kGe, 9));
  EXPECT_EQ(Outcome::Result::kBusy, outcome.result);
  EXPECT_EQ(ErrorCode::kLockWait, outcome.error.code);
  EXPECT_EQ("1,10,2,20,10,5,", user.SeeAll());  // Nothing was changed, and reads do not mind.
  held.reset();
  EXPECT_TRUE(user.Do(Command::Modify(Modification::kDelete, "2", "")).ok());
  EXPECT_TRUE(user.session.Commit().ok());
  EXPECT_EQ("1,10,a;10,5,NULL;", store_.Dump(kTable));
}

TEST_F(FakeSession, S4NeverWaitsForATable) {
  User user(store_, LockWait::kNever);
  auto held = store_.LockTable(kTable);
  std::shared_ptr<engine::Index> index;
  EXPECT_EQ(Outcome::Result::kBusy,
            user.session.OpenIndex({"test", "t", "", {}, {}}, &index).result);
  user.session.BeginTurn(false);
  EXPECT_EQ(Outcome::Result::kBusy, user.Do(Command::Find(CompareOp::kEq, "1")).result);
  held.reset();
  EXPECT_TRUE(user.Do(Command::Find(CompareOp::kEq, "1")).ok());
  EXPECT_TRUE(user.session.Commit().ok());
}

TEST_F(FakeSession, TwoSessionsDoNotInsertTheSameKey) {
  User one(store_, LockWait::kNever);
  User two(store_, LockWait::kNever);
  one.session.BeginTurn(true);
  two.session.BeginTurn(true);
  EXPECT_TRUE(one.Do(Command::Insert({"5", "1"})).ok());
  EXPECT_EQ(Outcome::Result::kBusy, two.Do(Command::Insert({"5", "2"})).result);
  EXPECT_TRUE(one.session.Commit().ok());
  EXPECT_EQ(Error::Engine(121), two.Do(Command::Insert({"5", "2"})).error);
  EXPECT_TRUE(two.session.Commit().ok());
}

TEST_F(FakeSession, ServerWaitEndsWhenTheLockIsReleased) {
  User user(store_, LockWait::kServer);
  auto held = store_.LockRow(kTable, {"2"});
  std::thread releases([&] {
    EXPECT_TRUE(store_.AwaitWaiting(1));
    held.reset();
  });
  user.session.BeginTurn(true);
  EXPECT_TRUE(user.Do(Command::Modify(Modification::kIncrement, "2", "2")).ok());
  EXPECT_TRUE(user.session.Commit().ok());
  releases.join();
  EXPECT_EQ("1,10,a;4,20,b;10,5,NULL;", store_.Dump(kTable));
}

TEST_F(FakeSession, ServerWaitEndsByItsTimeout) {
  store_.SetLockWaitMs(5);
  User user(store_, LockWait::kServer);
  auto held = store_.LockRow(kTable, {"2"});
  user.session.BeginTurn(true);
  const Outcome outcome = user.Do(Command::Modify(Modification::kDelete, "2", ""));
  EXPECT_EQ(ErrorCode::kLockWait, outcome.error.code);
  EXPECT_EQ(Outcome::Result::kFailed, outcome.result);
  EXPECT_TRUE(user.session.Commit().ok());
}

TEST_F(FakeSession, InterruptEndsAWait) {
  for (const LockWait wait : {LockWait::kServer, LockWait::kNever}) {
    User user(store_, wait);
    auto held =
        wait == LockWait::kServer ? store_.LockRow(kTable, {"2"}) : store_.DelayRow(kTable, {"2"});
    std::thread interrupts([&] {
      EXPECT_TRUE(store_.AwaitWaiting(1));
      user.session.Interrupt();
    });
    user.session.BeginTurn(true);
    EXPECT_EQ(ErrorCode::kKilled,
              user.Do(Command::Modify(Modification::kDelete, "2", "")).error.code);
    interrupts.join();
    EXPECT_TRUE(user.Do(Command::Find(CompareOp::kEq, "1")).ok());
    EXPECT_TRUE(user.session.Commit().ok());
  }
}

TEST_F(FakeSession, InterruptIsForgottenByTheNextTurn) {
  User user(store_, LockWait::kServer);
  user.session.Interrupt();
  user.session.BeginTurn(true);
  EXPECT_TRUE(user.Do(Command::Modify(Modification::kDelete, "2", "")).ok());
  user.session.Interrupt();
  EXPECT_EQ(ErrorCode::kKilled, user.Do(Command::Find(CompareOp::kEq, "1")).error.code);
  EXPECT_TRUE(user.session.Commit().ok());
}

TEST_F(FakeSession, S5RowLocksEndWithTheTurnAndTablesAreCounted) {
  {
    User user(store_, LockWait::kNever);
    EXPECT_TRUE(user.session.HoldsTables());
    user.session.ReleaseTables();
    EXPECT_EQ(0u, store_.sessions_with_tables());
    user.session.BeginTurn(true);
    EXPECT_TRUE(user.Do(Command::Modify(Modification::kDelete, "2", "")).ok());
    EXPECT_EQ(1u, store_.sessions_with_tables());
    EXPECT_TRUE(user.session.Commit().ok());
    EXPECT_NE(nullptr, store_.LockRow(kTable, {"2"}));
    EXPECT_EQ(1u, store_.sessions());
  }
  EXPECT_EQ(0u, store_.sessions_with_tables());
  EXPECT_EQ(0u, store_.sessions());
}

TEST_F(FakeSession, S6DeadlockRollsTheTurnBack) {
  User user(store_, LockWait::kNever);
  store_.SetHook(DeadlockAt({2}));
  user.session.BeginTurn(true);
  EXPECT_TRUE(user.Do(Command::Insert({"3", "30"})).ok());
  const Outcome outcome = user.Do(Command::Insert({"4", "40"}));
  EXPECT_TRUE(outcome.transaction_lost);
  EXPECT_EQ(ErrorCode::kDeadlock, outcome.error.code);
  EXPECT_NE(nullptr, store_.LockRow(kTable, {"3"}));  // Its locks are gone already.
  user.session.Rollback();
  user.session.BeginTurn(true);
  EXPECT_TRUE(user.Do(Command::Insert({"4", "40"})).ok());
  EXPECT_TRUE(user.session.Commit().ok());
  EXPECT_EQ("1,10,a;2,20,b;4,40,NULL;10,5,NULL;", store_.Dump(kTable));
}

TEST_F(FakeSession, PermanentTableKeepsWhatAStatementDid) {
  store_.CreateTable({"test.t", {"id", "v"}, {{"PRIMARY", {0}}}, false, true}, {{"1", "10"}});
  User user(store_, LockWait::kNever);
  user.session.BeginTurn(true);
  EXPECT_TRUE(user.Do(Command::Insert({"2", "20"})).permanent);
  EXPECT_TRUE(user.Do(Command::Insert({"2", "20"})).permanent);
  EXPECT_EQ("1,10,2,20,", user.SeeAll());
  user.session.Rollback();
  EXPECT_EQ("1,10;2,20;", store_.Dump(kTable));
}

TEST_F(FakeSession, GeneratesIds) {
  User user(store_, LockWait::kNever);
  user.session.BeginTurn(true);
  EXPECT_EQ(11u, user.Do(Command::Insert({"", "1"})).insert_id);
  EXPECT_EQ(0u, user.Do(Command::Insert({"12", "1"})).insert_id);
  EXPECT_EQ(13u, user.Do(Command::Insert({"0", "1"})).insert_id);
  EXPECT_TRUE(user.session.Commit().ok());
}

TEST_F(FakeSession, IncrementsAndDecrements) {
  User user(store_, LockWait::kNever, {"v"});
  user.session.BeginTurn(true);
  EXPECT_EQ(1u, user.Do(Command::Modify(Modification::kDecrement, "1", "10")).rows);
  EXPECT_EQ(0u, user.Do(Command::Modify(Modification::kDecrement, "2", "21")).rows);
  Command pre_image = Command::Modify(Modification::kIncrement, "10", "7");
  pre_image.request.find.wants_pre_images = true;
  EXPECT_EQ("5,", user.See(pre_image));
  EXPECT_TRUE(user.Do(Command::Modify(Modification::kUpdate, "2", "9223372036854775807")).ok());
  EXPECT_EQ(Error::Engine(1264),
            user.Do(Command::Modify(Modification::kIncrement, "2", "1")).error);
  EXPECT_TRUE(user.session.Commit().ok());
  EXPECT_EQ("1,0,a;2,9223372036854775807,b;10,12,NULL;", store_.Dump(kTable));
}

TEST_F(FakeSession, RepliesHaveALimit) {
  User user(store_, LockWait::kNever);
  user.sink.bytes_max = 4;
  user.session.BeginTurn(false);
  EXPECT_EQ(ErrorCode::kResultsize, user.Do(Command::Find(CompareOp::kGe, "0", 9)).error.code);
  EXPECT_TRUE(user.session.Commit().ok());
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
