// S1 to S3: the rows that a turn sees, the rows that a failed statement leaves, and the effect of a
// commit.
#include "engine/contract/fixture.h"
#include "engine/contract/outcomes.h"

namespace rowsocket::engine::contract {
namespace {

TEST_F(EngineContract, S1FindsOfATurnSeeOneState) {
  for (const bool writes : {false, true}) {
    CreateTable();
    User user(*harness_, LockWait::kNever);
    user.BeginTurn(writes);
    EXPECT_EQ("1,10,", user.SeeRow("1"));
    harness_->SetV("1", "11");
    harness_->SetV("2", "21");
    EXPECT_EQ("1,10,", user.SeeRow("1"));
    EXPECT_EQ("2,20,", user.SeeRow("2"));
    EXPECT_EQ("1,10,2,20,10,5,", user.SeeAll());
    ASSERT_TRUE(user.Commit().ok());
    user.BeginTurn(writes);
    EXPECT_EQ("1,11,2,21,10,5,", user.SeeAll());
    EXPECT_TRUE(user.Commit().ok());
  }
}

TEST_F(EngineContract, S1FindsOfATurnSeeOneStateThroughEveryIndex) {
  User user(*harness_, LockWait::kNever);
  std::shared_ptr<Index> by_v;
  ASSERT_TRUE(user.Open({kDatabase, kTable, "by_v", {"id"}, {}}, &by_v).ok());
  user.BeginTurn(false);
  EXPECT_EQ("1,10,", user.SeeRow("1"));
  harness_->SetV("1", "30");
  user.set_index(by_v);
  EXPECT_EQ("10,1,2,", user.SeeAll());
  EXPECT_TRUE(user.Commit().ok());
}

TEST_F(EngineContract, S1FindAfterAWriteSeesTheWrite) {
  User user(*harness_, LockWait::kNever);
  user.BeginTurn(true);
  EXPECT_TRUE(user.Do(Command::Insert({"3", "30"})).ok());
  EXPECT_EQ("1,10,2,20,3,30,10,5,", user.SeeAll());
  EXPECT_TRUE(user.Do(Command::Delete("2")).ok());
  EXPECT_EQ("1,10,3,30,10,5,", user.SeeAll());
  EXPECT_TRUE(user.Do(Command::Insert({"2", "21"})).ok());
  EXPECT_EQ("2,21,", user.SeeRow("2"));
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_EQ("1,10,a;2,21,NULL;3,30,NULL;10,5,NULL;", harness_->Dump());
}

TEST_F(EngineContract, S1FindsAfterAWriteSeeTheStateOfTheFindsBeforeIt) {
  User user(*harness_, LockWait::kNever);
  user.BeginTurn(true);
  EXPECT_EQ("1,10,2,20,10,5,", user.SeeAll());
  harness_->SetV("1", "11");
  ASSERT_TRUE(user.Do(Command::Insert({"3", "30"})).ok());
  EXPECT_EQ("1,10,2,20,3,30,10,5,", user.SeeAll());
  harness_->SetV("10", "6");
  ASSERT_TRUE(user.Do(Command::Delete("2")).ok());
  EXPECT_EQ("1,10,3,30,10,5,", user.SeeAll());
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_EQ("1,11,a;3,30,NULL;10,6,NULL;", harness_->Dump());
}

TEST_F(EngineContract, S1ChangesOfAnOpenTurnAreSeenByNoOtherSession) {
  User writer(*harness_, LockWait::kNever);
  User reader(*harness_, LockWait::kNever);
  writer.BeginTurn(true);
  ASSERT_TRUE(writer.Do(Command::Insert({"3", "30"})).ok());
  ASSERT_TRUE(writer.Do(Command::Delete("1")).ok());
  reader.BeginTurn(false);
  EXPECT_EQ("1,10,2,20,10,5,", reader.SeeAll());
  EXPECT_TRUE(reader.Commit().ok());
  EXPECT_TRUE(writer.Commit().ok());
}

TEST_F(EngineContract, S2FailedStatementLeavesNothingOfItself) {
  User user(*harness_, LockWait::kNever, {"id"});
  user.BeginTurn(true);
  // The statement gives all rows one key: the second row fails after the first row was changed.
  const Outcome outcome =
      user.Do(Command::Modify(Modification::kUpdate, "1", "50", CompareOp::kGe, 9));
  EXPECT_EQ(kDuplicateKey, outcome.error);
  EXPECT_EQ("1,2,10,", user.SeeAll());
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_EQ("1,10,a;2,20,b;10,5,NULL;", harness_->Dump());
}

TEST_F(EngineContract, S2StatementsBeforeAndAfterAFailedOneStand) {
  User user(*harness_, LockWait::kNever, {"id"});
  user.BeginTurn(true);
  ASSERT_TRUE(user.Do(Command::Insert({"7"})).ok());
  EXPECT_FALSE(user.Do(Command::Modify(Modification::kUpdate, "1", "50", CompareOp::kGe, 9)).ok());
  EXPECT_EQ(kDuplicateKey, user.Do(Command::Insert({"7"})).error);
  ASSERT_TRUE(user.Do(Command::Insert({"8"})).ok());
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_EQ("1,10,a;2,20,b;7,NULL,NULL;8,NULL,NULL;10,5,NULL;", harness_->Dump());
}

TEST_F(EngineContract, S2StatementThatItsReplyStopsLeavesNothing) {
  User user(*harness_, LockWait::kNever);
  user.sink.bytes_max = 4;
  Command erase = Command::Modify(Modification::kDelete, "1", "", CompareOp::kGe, 9);
  erase.request.find.wants_before_images = true;
  user.BeginTurn(true);
  EXPECT_EQ(model::ErrorCode::kResultsize, user.Do(erase).error.code);
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_EQ("1,10,a;2,20,b;10,5,NULL;", harness_->Dump());
}

// In a server the rows of the turn are one statement, which goes on after a request that fails.
TEST_F(EngineContract, S2AnInterruptHidesNoChangeThatTheLogHasLost) {
  harness_->ShrinkLog();
  User user(*harness_, LockWait::kNever, {"w"});
  unsigned tried = 0;
  user.sink.bytes_max = 10'000;
  user.sink.on_cell = [&] {
    ++tried;
    user.Interrupt();
  };
  user.BeginTurn(true);
  std::string stored = "a;";
  bool is_refused = false, is_lost = false;
  for (int i = 0; i < 40 && !is_refused; ++i) {
    const std::string text = std::to_string(i) + ":" + std::string(1000, 'w');
    Command update = Command::Modify(Modification::kUpdate, "1", text);
    update.request.find.wants_before_images = true;
    const unsigned tried_before = tried;
    const Outcome outcome = user.Do(update);
    // An interrupt during one request ends the next one, which is not executed.
    is_refused = !outcome.ok() && tried != tried_before;
    is_lost = IsLost(outcome);
    if (outcome.ok()) stored = text.substr(0, 10);
  }
  if (is_lost) user.Rollback();
  if (is_lost || !user.Commit().ok()) stored = "a;";
  EXPECT_TRUE(harness_->Dump().starts_with("1,10," + stored)) << harness_->Dump().substr(0, 20);
}

TEST_F(EngineContract, S3ChangesAreThereWhenCommitReturns) {
  for (const bool prepares : {false, true}) {
    CreateTable();
    User user(*harness_, LockWait::kNever);
    user.BeginTurn(true);
    ASSERT_TRUE(user.Do(Command::Insert({"3", "30"})).ok());
    ASSERT_TRUE(user.Do(Command::Delete("1")).ok());
    EXPECT_EQ("1,10,a;2,20,b;10,5,NULL;", harness_->Dump());
    if (prepares) user.PrepareCommit();
    ASSERT_TRUE(user.Commit().ok());
    EXPECT_EQ("2,20,b;3,30,NULL;10,5,NULL;", harness_->Dump());
  }
}

TEST_F(EngineContract, S3NothingIsThereWhenCommitFails) {
  for (const bool prepares : {false, true}) {
    User user(*harness_, LockWait::kNever);
    user.BeginTurn(true);
    ASSERT_TRUE(user.Do(Command::Insert({"3", "30"})).ok());
    ASSERT_TRUE(user.Do(Command::Delete("1")).ok());
    user.FailCommit();
    if (prepares) user.PrepareCommit();
    const Outcome outcome = user.Commit();
    EXPECT_EQ(Outcome::Result::kFailed, outcome.result);
    EXPECT_EQ("1,10,a;2,20,b;10,5,NULL;", harness_->Dump());
    EXPECT_TRUE(harness_->CanLockRow("1"));
    // The session is usable after the failure.
    user.BeginTurn(true);
    ASSERT_TRUE(user.Do(Command::Insert({"4", "40"})).ok());
    ASSERT_TRUE(user.Do(Command::Delete("4")).ok());
    EXPECT_TRUE(user.Commit().ok());
  }
}

TEST_F(EngineContract, S3NothingIsThereAfterRollback) {
  User user(*harness_, LockWait::kNever);
  user.BeginTurn(true);
  ASSERT_TRUE(user.Do(Command::Insert({"3", "30"})).ok());
  ASSERT_TRUE(user.Do(Command::Delete("1")).ok());
  user.Rollback();
  EXPECT_EQ("1,10,a;2,20,b;10,5,NULL;", harness_->Dump());
}

}  // namespace
}  // namespace rowsocket::engine::contract
