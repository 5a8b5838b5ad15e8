// S11 and S12: requests with one outcome.
#include "engine/contract/fixture.h"
#include "engine/contract/outcomes.h"

namespace rowsocket::engine::contract {
namespace {

/// The columns of a user of these tests, so that an increment is one of v.
const std::vector<std::string> kColumns = {"v", "id"};

constexpr char kUnchanged[] = "1,10,a;2,20,b;10,5,NULL;";

TEST_F(EngineContract, S11AUnitThatIsKeptIsCommittedWithItsTurn) {
  User user(*harness_, LockWait::kNever, kColumns);
  user.BeginTurn(true);
  ASSERT_TRUE(user.BeginUnit().ok());
  EXPECT_TRUE(user.Do(Command::Increment("1", "1")).ok());
  EXPECT_TRUE(user.Do(Command::Insert({"30", "3"})).ok());
  EXPECT_EQ("11,1,20,2,30,3,5,10,", user.SeeAll());
  ASSERT_TRUE(user.EndUnit(true).ok());
  EXPECT_EQ(kUnchanged, harness_->Dump());
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_EQ("1,11,a;2,20,b;3,30,NULL;10,5,NULL;", harness_->Dump());
}

TEST_F(EngineContract, S11AUnitThatIsTakenBackLeavesTheTurnAsItWas) {
  User user(*harness_, LockWait::kNever, kColumns);
  user.BeginTurn(true);
  EXPECT_TRUE(user.Do(Command::Increment("2", "1")).ok());
  ASSERT_TRUE(user.BeginUnit().ok());
  EXPECT_TRUE(user.Do(Command::Increment("2", "5")).ok());
  EXPECT_TRUE(user.Do(Command::Increment("1", "1")).ok());
  EXPECT_TRUE(user.Do(Command::Delete("10")).ok());
  EXPECT_TRUE(user.Do(Command::Insert({"30", "3"})).ok());
  ASSERT_TRUE(user.EndUnit(false).ok());
  EXPECT_EQ("10,1,21,2,5,10,", user.SeeAll());
  ASSERT_TRUE(user.BeginUnit().ok());
  EXPECT_TRUE(user.Do(Command::Insert({"31", "3"})).ok());
  ASSERT_TRUE(user.EndUnit(true).ok());
  EXPECT_TRUE(user.Do(Command::Increment("1", "7")).ok());
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_EQ("1,17,a;2,21,b;3,31,NULL;10,5,NULL;", harness_->Dump());
}

TEST_F(EngineContract, S11ARequestThatFailsIsTakenBackWithItsUnit) {
  User user(*harness_, LockWait::kNever, kColumns);
  user.BeginTurn(true);
  ASSERT_TRUE(user.BeginUnit().ok());
  EXPECT_TRUE(user.Do(Command::Increment("1", "1")).ok());
  EXPECT_EQ(kDuplicateKey, user.Do(Command::Insert({"30", "2"})).error);
  ASSERT_TRUE(user.EndUnit(false).ok());
  EXPECT_TRUE(user.Do(Command::Increment("2", "1")).ok());
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_EQ("1,10,a;2,21,b;10,5,NULL;", harness_->Dump());
}

TEST_F(EngineContract, S11ManyUnitsOfATurnAreKeptAndTakenBackOneByOne) {
  User user(*harness_, LockWait::kNever, kColumns);
  user.BeginTurn(true);
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(user.BeginUnit().ok());
    EXPECT_TRUE(user.Do(Command::Increment("1", "1")).ok());
    EXPECT_TRUE(user.Do(Command::Insert({"0", std::to_string(100 + i)})).ok());
    ASSERT_TRUE(user.EndUnit(i % 2 == 0).ok());
  }
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_EQ(0u, harness_->Dump().find("1,35,a;"));
}

TEST_F(EngineContract, S11ARollbackEndsAUnit) {
  User user(*harness_, LockWait::kNever, kColumns);
  user.BeginTurn(true);
  ASSERT_TRUE(user.BeginUnit().ok());
  EXPECT_TRUE(user.Do(Command::Increment("1", "1")).ok());
  user.Rollback();
  user.BeginTurn(true);
  ASSERT_TRUE(user.BeginUnit().ok());
  ASSERT_TRUE(user.EndUnit(true).ok());
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_EQ(kUnchanged, harness_->Dump());
}

TEST_F(EngineContract, S12AFindByAUniqueKeyInAUnitLocksItsRow) {
  User user(*harness_, LockWait::kNever, kColumns);
  User other(*harness_, LockWait::kNever, kColumns);
  user.BeginTurn(true);
  EXPECT_EQ("20,2,", user.SeeRow("2"));
  EXPECT_FALSE(user.HoldsRows());
  harness_->SetV("1", "11");
  ASSERT_TRUE(user.BeginUnit().ok());
  EXPECT_EQ("11,1,", user.SeeRow("1")) << "the newest version";
  EXPECT_TRUE(user.HoldsRows());
  other.BeginTurn(true);
  EXPECT_TRUE(IsBusy(other.Do(Command::Increment("1", "1"))));
  EXPECT_TRUE(other.Do(Command::Increment("2", "1")).ok());
  EXPECT_TRUE(other.Commit().ok());
  ASSERT_TRUE(user.EndUnit(true).ok());
  EXPECT_TRUE(user.Commit().ok());
}

TEST_F(EngineContract, S4AUnitMeetsTheLockOfAnotherSession) {
  User holder(*harness_, LockWait::kNever, kColumns);
  holder.BeginTurn(true);
  EXPECT_TRUE(holder.Do(Command::Increment("2", "1")).ok());
  for (const LockWait wait : {LockWait::kNever, LockWait::kServer}) {
    User user(*harness_, wait, kColumns);
    user.BeginTurn(true);
    ASSERT_TRUE(user.BeginUnit().ok());
    EXPECT_TRUE(user.Do(Command::Increment("1", "1")).ok());
    user.RefuseWaits(true);
    EXPECT_TRUE(IsBusy(user.Do(Command::Increment("2", "1"))));
    user.RefuseWaits(false);
    ASSERT_TRUE(user.EndUnit(false).ok());
    EXPECT_TRUE(user.Commit().ok());
  }
  EXPECT_TRUE(holder.Commit().ok());
  EXPECT_EQ("1,10,a;2,21,b;10,5,NULL;", harness_->Dump());
}

}  // namespace
}  // namespace rowsocket::engine::contract
