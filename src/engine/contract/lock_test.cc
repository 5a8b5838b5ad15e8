// S4 to S6: locks that other sessions hold or want, and transactions that are lost.
#include "engine/contract/fixture.h"
#include "engine/contract/outcomes.h"

namespace rowsocket::engine::contract {
namespace {

using model::ErrorCode;

constexpr char kRows[] = "1,10,a;2,20,b;10,5,NULL;";

TEST_F(EngineContract, S4NeverWaitsForARow) {
  User user(*harness_, LockWait::kNever, {"v"});
  auto held = harness_->LockRow("2");
  user.BeginTurn(true);
  const Outcome one = user.Do(Command::Increment("2", "1"));
  EXPECT_TRUE(IsBusy(one));
  EXPECT_EQ(kLockWaitTimeout, one.error);
  EXPECT_TRUE(IsBusy(user.Do(Command::Delete("2"))));
  EXPECT_TRUE(IsBusy(user.BeginRow(Command::Increment("2", "1")).outcome));
  EXPECT_EQ("10,20,5,", user.SeeAll());  // finds need no lock
  held.reset();
  EXPECT_TRUE(user.Do(Command::Delete("2")).ok());
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_EQ("1,10,a;10,5,NULL;", harness_->Dump());
}

TEST_F(EngineContract, S4BusyStatementHasChangedNothing) {
  User user(*harness_, LockWait::kNever, {"v"});
  auto held = harness_->LockRow("2");
  user.BeginTurn(true);
  // The statement comes to row 1 before it comes to the locked row 2.
  EXPECT_TRUE(IsBusy(user.Do(Command::Modify(Modification::kDelete, "1", "", CompareOp::kGe, 9))));
  EXPECT_EQ("10,20,5,", user.SeeAll());
  EXPECT_TRUE(user.Do(Command::Increment("10", "1")).ok());
  EXPECT_TRUE(user.Commit().ok());
  held.reset();
  EXPECT_EQ("1,10,a;2,20,b;10,6,NULL;", harness_->Dump());
}

TEST_F(EngineContract, S4NeverWaitsForATable) {
  User user(*harness_, LockWait::kNever, {"v"});
  user.ReleaseTables();
  auto held = harness_->LockTable();
  std::shared_ptr<Index> index;
  EXPECT_TRUE(IsBusy(user.Open({kDatabase, kTable, "by_v", {"id"}, {}}, &index)));
  EXPECT_EQ(nullptr, index);
  user.BeginTurn(true);
  EXPECT_TRUE(IsBusy(user.Do(Command::Find(CompareOp::kEq, "1"))));
  EXPECT_TRUE(IsBusy(user.Do(Command::Increment("1", "1"))));
  const RowOpening opening = user.BeginRow(Command::Increment("1", "1"));
  EXPECT_FALSE(opening.opened());
  EXPECT_TRUE(IsBusy(opening.outcome));
  held.reset();
  EXPECT_TRUE(user.Do(Command::Increment("1", "1")).ok());
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_EQ("1,11,a;2,20,b;10,5,NULL;", harness_->Dump());
}

TEST_F(EngineContract, S4NeverWaitsForARowThatAnotherSessionInserts) {
  User user(*harness_, LockWait::kNever);
  auto held = harness_->InsertRow("5");
  user.BeginTurn(true);
  EXPECT_TRUE(IsBusy(user.Do(Command::Insert({"5", "2"}))));
  held.reset();
  EXPECT_EQ(kDuplicateKey, user.Do(Command::Insert({"5", "2"})).error);
  EXPECT_TRUE(user.Commit().ok());
}

TEST_F(EngineContract, S4TwoSessionsDoNotInsertTheSameKey) {
  User one(*harness_, LockWait::kNever);
  User two(*harness_, LockWait::kNever);
  one.BeginTurn(true);
  two.BeginTurn(true);
  EXPECT_TRUE(one.Do(Command::Insert({"5", "1"})).ok());
  EXPECT_TRUE(IsBusy(two.Do(Command::Insert({"5", "2"}))));
  EXPECT_TRUE(one.Commit().ok());
  EXPECT_EQ(kDuplicateKey, two.Do(Command::Insert({"5", "2"})).error);
  EXPECT_TRUE(two.Commit().ok());
}

TEST_F(EngineContract, WaitEndsWhenTheLockIsReleased) {
  User user(*harness_, LockWait::kServer, {"v"});
  auto held = harness_->LockRow("2");
  user.BeginTurn(true);
  std::future<Outcome> outcome = user.Start(Command::Increment("2", "2"));
  EXPECT_TRUE(harness_->AwaitWaiting());
  held.reset();
  EXPECT_TRUE(outcome.get().ok());
  EXPECT_TRUE(user.Commit().ok());
}

TEST_F(EngineContract, WaitEndsByItsTimeout) {
  harness_->ShortenLockWait();
  User user(*harness_, LockWait::kServer);
  auto held = harness_->LockRow("2");
  user.BeginTurn(true);
  const Outcome outcome = user.Do(Command::Delete("2"));
  EXPECT_EQ(kLockWaitTimeout, outcome.error);
  EXPECT_FALSE(IsBusy(outcome));
  EXPECT_FALSE(IsLost(outcome));
  EXPECT_TRUE(user.Commit().ok());
  held.reset();
  EXPECT_EQ(kRows, harness_->Dump());
}

TEST_F(EngineContract, InterruptEndsAWait) {
  User user(*harness_, LockWait::kServer);
  auto held = harness_->LockRow("2");
  user.BeginTurn(true);
  std::future<Outcome> outcome = user.Start(Command::Delete("2"));
  EXPECT_TRUE(harness_->AwaitWaiting());
  user.Interrupt();
  EXPECT_EQ(ErrorCode::kKilled, outcome.get().error.code);
  EXPECT_EQ("1,10,", user.SeeRow("1"));
  EXPECT_TRUE(user.Commit().ok());
  held.reset();
  EXPECT_EQ(kRows, harness_->Dump());
}

TEST_F(EngineContract, InterruptIsForgottenByTheNextTurn) {
  User user(*harness_, LockWait::kServer, {"v"});
  user.Interrupt();
  user.BeginTurn(true);
  EXPECT_TRUE(user.Do(Command::Increment("2", "1")).ok());
  user.Interrupt();
  EXPECT_EQ(ErrorCode::kKilled, user.Do(Command::Find(CompareOp::kEq, "1")).error.code);
  EXPECT_TRUE(user.Do(Command::Find(CompareOp::kEq, "1")).ok());
  EXPECT_TRUE(user.Commit().ok());
}

TEST_F(EngineContract, S5RowLocksEndWithTheTurn) {
  User user(*harness_, LockWait::kNever, {"v"});
  for (const bool commits : {true, false}) {
    user.BeginTurn(true);
    ASSERT_TRUE(user.Do(Command::Increment("2", "0")).ok());
    ASSERT_TRUE(user.Do(Command::Increment("1", "1")).ok());
    EXPECT_FALSE(harness_->CanLockRow("1"));
    if (commits) {
      EXPECT_TRUE(user.Commit().ok());
    } else {
      user.Rollback();
    }
    EXPECT_TRUE(harness_->CanLockRow("1"));
    EXPECT_TRUE(harness_->CanLockRow("2"));
  }
}

TEST_F(EngineContract, S5TablesAreGivenBack) {
  User user(*harness_, LockWait::kNever, {"v"});
  for (const bool writes : {false, true}) {
    user.BeginTurn(writes);
    EXPECT_EQ("10,", user.SeeRow("1"));
    if (writes) {
      EXPECT_TRUE(user.Do(Command::Increment("1", "0")).ok());
    }
    EXPECT_TRUE(user.HasToRelease());
    EXPECT_FALSE(harness_->CanLockTable());
    EXPECT_TRUE(user.Commit().ok());
    user.ReleaseTables();
    EXPECT_FALSE(user.HasToRelease());
    EXPECT_TRUE(harness_->CanLockTable());
  }
}

TEST_F(EngineContract, S5TablesAreGivenBackAfterABusyTurn) {
  User user(*harness_, LockWait::kNever, {"v"});
  auto held = harness_->LockRow("2");
  user.BeginTurn(true);
  EXPECT_TRUE(IsBusy(user.Do(Command::Increment("2", "1"))));
  user.Rollback();
  held.reset();
  user.ReleaseTables();
  EXPECT_TRUE(harness_->CanLockTable());
}

TEST_F(EngineContract, S6DeadlockRollsTheTurnBack) {
  User user(*harness_, LockWait::kServer, {"v"});
  user.BeginTurn(true);
  ASSERT_TRUE(user.Do(Command::Increment("1", "1")).ok());
  auto deadlock = harness_->PrepareDeadlock("1", "2");
  const Outcome outcome = user.Do(Command::Increment("2", "1"));
  EXPECT_TRUE(IsLost(outcome));
  EXPECT_EQ(kDeadlock, outcome.error);
  deadlock.reset();  // row 1 is no longer locked, so the other side has got it
  EXPECT_TRUE(harness_->CanLockRow("1"));
  EXPECT_EQ(kRows, harness_->Dump());
  user.Rollback();
  user.BeginTurn(true);
  EXPECT_TRUE(user.Do(Command::Increment("1", "1")).ok());
  EXPECT_TRUE(user.Do(Command::Increment("2", "1")).ok());
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_EQ("1,11,a;2,21,b;10,5,NULL;", harness_->Dump());
}

TEST_F(EngineContract, S6DeadlockAtARowRollsTheTurnBack) {
  User user(*harness_, LockWait::kServer, {"v"});
  user.BeginTurn(true);
  ASSERT_TRUE(user.Do(Command::Increment("1", "1")).ok());
  auto deadlock = harness_->PrepareDeadlock("1", "2");
  const RowOpening opening = user.BeginRow(Command::Increment("2", "1"));
  EXPECT_FALSE(opening.opened());
  EXPECT_TRUE(IsLost(opening.outcome));
  deadlock.reset();
  user.Rollback();
  EXPECT_EQ(kRows, harness_->Dump());
}

// An engine may expect the next turn to do what many turns before it did, and lose it once when it
// is wrong.
TEST_F(EngineContract, S6ATurnThatIsLostAfterManyWithoutAChangeSucceedsTheNextTime) {
  constexpr int kTurns = 100;
  User user(*harness_, LockWait::kNever, {"v"});
  for (const bool in_unit : {false, true}) {
    for (int i = 0; i < kTurns; ++i) {
      user.BeginTurn(true);
      EXPECT_TRUE(user.Do(Command::Increment("absent", "1")).ok());
      EXPECT_TRUE(user.Commit().ok());
    }
    int lost = 0;
    for (bool is_done = false; !is_done; ++lost) {
      ASSERT_LT(lost, 2);
      user.BeginTurn(true);
      if (in_unit) {
        ASSERT_TRUE(user.BeginUnit().ok());
      }
      const Outcome outcome = user.Do(Command::Increment("1", "1"));
      is_done = outcome.ok();
      if (is_done) {
        EXPECT_TRUE(!in_unit || user.EndUnit(true).ok());
        EXPECT_TRUE(user.Commit().ok());
      } else {
        EXPECT_TRUE(IsLost(outcome));
        EXPECT_EQ(kDeadlock, outcome.error);
        EXPECT_EQ(Outcome::Result::kDeadlock, outcome.result);
        user.Rollback();
      }
    }
  }
  EXPECT_EQ("1,12,a;2,20,b;10,5,NULL;", harness_->Dump());
}

TEST_F(EngineContract, KillOfAStatementEndsThatStatement) {
  User user(*harness_, LockWait::kServer, {"v"});
  user.Describe("to be killed");
  auto held = harness_->LockRow("2");
  user.BeginTurn(true);
  ASSERT_TRUE(user.Do(Command::Increment("1", "1")).ok());
  std::future<Outcome> killed = user.Start(Command::Increment("2", "1"));
  EXPECT_TRUE(harness_->AwaitWaiting());
  harness_->KillStatement("to be killed");
  const Outcome outcome = killed.get();
  EXPECT_EQ(ErrorCode::kKilled, outcome.error.code);
  EXPECT_FALSE(IsLost(outcome));
  EXPECT_TRUE(user.Commit().ok());
  held.reset();
  EXPECT_EQ("1,11,a;2,20,b;10,5,NULL;", harness_->Dump());
}

// A frontend's question within a turn must not begin another transaction unnoticed.
TEST_F(EngineContract, S6NothingThatIsAskedWithinATurnOutlivesItsKill) {
  User user(*harness_, LockWait::kNever, {"v"});
  user.Describe("to be killed");
  user.BeginTurn(true);
  ASSERT_TRUE(user.Do(Command::Increment("1", "1")).ok());
  harness_->KillSession("to be killed");
  user.Inspect();
  const bool is_kept = user.Commit().ok();
  EXPECT_EQ(is_kept ? "1,11,a;2,20,b;10,5,NULL;" : kRows, harness_->Dump());
  EXPECT_TRUE(harness_->CanLockRow("1"));
}

TEST_F(EngineContract, S6KillOfASessionRollsTheTurnBack) {
  User user(*harness_, LockWait::kServer, {"v"});
  user.Describe("to be killed");
  user.BeginTurn(true);
  ASSERT_TRUE(user.Do(Command::Increment("1", "1")).ok());
  harness_->KillSession("to be killed");
  const Outcome outcome = user.Do(Command::Increment("2", "1"));
  EXPECT_EQ(ErrorCode::kKilled, outcome.error.code);
  EXPECT_TRUE(IsLost(outcome));
  user.Rollback();
  EXPECT_EQ(kRows, harness_->Dump());
  EXPECT_TRUE(harness_->CanLockRow("1"));
  user.BeginTurn(true);
  EXPECT_TRUE(user.Do(Command::Increment("1", "1")).ok());
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_EQ("1,11,a;2,20,b;10,5,NULL;", harness_->Dump());
}

}  // namespace
}  // namespace rowsocket::engine::contract
