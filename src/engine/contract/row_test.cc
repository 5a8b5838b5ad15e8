// S7 to S9: requests that are merged into one change of a row.
#include "engine/contract/fixture.h"
#include "engine/contract/outcomes.h"

namespace rowsocket::engine::contract {
namespace {

TEST_F(EngineContract, S7RequestsOfARowSeeThoseBefore) {
  User user(*harness_, LockWait::kNever, {"v"});
  user.BeginTurn(true);
  ASSERT_TRUE(user.BeginRow(Command::Increment("1", "5")).opened());
  EXPECT_EQ(1u, user.Do(Command::Increment("1", "5")).rows);
  EXPECT_EQ(0u, user.Do(Command::Modify(Modification::kDecrement, "1", "16")).rows);
  Command before_image = Command::Increment("1", "1");
  before_image.request.find.wants_before_images = true;
  EXPECT_EQ("15,", user.See(before_image));
  EXPECT_EQ("16,", user.SeeRow("1"));
  EXPECT_EQ(1u, user.Do(Command::Delete("1")).rows);
  EXPECT_EQ(0u, user.Do(Command::Increment("1", "1")).rows);
  EXPECT_EQ("", user.SeeRow("1"));
  Editor insert(Decision::kStore, "7");
  EXPECT_EQ(1u, user.Do(Command::Edit("1", insert)).rows);
  EXPECT_EQ("absent", insert.seen);
  EXPECT_EQ("7,", user.SeeRow("1"));
  EXPECT_TRUE(user.EndRow().ok());
  EXPECT_EQ("7,", user.SeeRow("1"));
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_EQ("1,7,NULL;2,20,b;10,5,NULL;", harness_->Dump());
}

TEST_F(EngineContract, S7FailedRequestOfARowChangesNothingOfIt) {
  User user(*harness_, LockWait::kNever, {"v"});
  user.BeginTurn(true);
  ASSERT_TRUE(user.BeginRow(Command::Increment("1", "1")).opened());
  EXPECT_TRUE(user.Do(Command::Increment("1", "1")).ok());
  EXPECT_EQ(kOutOfRange, user.Do(Command::Increment("1", "9223372036854775807")).error);
  EXPECT_EQ("11,", user.SeeRow("1"));
  EXPECT_TRUE(user.Do(Command::Increment("1", "1")).ok());
  EXPECT_TRUE(user.EndRow().ok());
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_EQ("1,12,a;2,20,b;10,5,NULL;", harness_->Dump());
}

TEST_F(EngineContract, S7RowThatIsAbsentCanBeOpened) {
  User user(*harness_, LockWait::kNever, {"v"});
  Editor insert(Decision::kStore, "30");
  user.BeginTurn(true);
  ASSERT_TRUE(user.BeginRow(Command::Edit("3", insert)).opened());
  EXPECT_EQ("", user.SeeRow("3"));
  EXPECT_EQ(1u, user.Do(Command::Edit("3", insert)).rows);
  EXPECT_EQ("absent", insert.seen);
  EXPECT_EQ(1u, user.Do(Command::Increment("3", "1")).rows);
  EXPECT_TRUE(user.EndRow().ok());
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_EQ("1,10,a;2,20,b;3,31,NULL;10,5,NULL;", harness_->Dump());
}

TEST_F(EngineContract, S8OpenRowIsLocked) {
  User user(*harness_, LockWait::kNever, {"v"});
  User other(*harness_, LockWait::kNever, {"v"});
  user.BeginTurn(true);
  other.BeginTurn(true);
  ASSERT_TRUE(user.BeginRow(Command::Increment("1", "1")).opened());
  EXPECT_FALSE(harness_->CanLockRow("1"));
  EXPECT_TRUE(IsBusy(other.BeginRow(Command::Increment("1", "1")).outcome));
  EXPECT_TRUE(IsBusy(other.Do(Command::Increment("1", "1"))));
  EXPECT_TRUE(user.Do(Command::Increment("1", "1")).ok());
  EXPECT_TRUE(user.EndRow().ok());
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_TRUE(other.Do(Command::Increment("1", "1")).ok());
  EXPECT_TRUE(other.Commit().ok());
  EXPECT_EQ("1,12,a;2,20,b;10,5,NULL;", harness_->Dump());
}

TEST_F(EngineContract, S8RowIsReadWhenItIsLocked) {
  User user(*harness_, LockWait::kNever, {"v"});
  user.BeginTurn(true);
  EXPECT_EQ("20,", user.SeeRow("2"));  // the finds of the turn see the state of this moment
  harness_->SetV("1", "100");
  ASSERT_TRUE(user.BeginRow(Command::Increment("1", "1")).opened());
  EXPECT_TRUE(user.Do(Command::Increment("1", "1")).ok());
  EXPECT_TRUE(user.EndRow().ok());
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_EQ("1,101,a;2,20,b;10,5,NULL;", harness_->Dump());
}

TEST_F(EngineContract, S8RowIsWrittenOnce) {
  User user(*harness_, LockWait::kNever, {"v"});
  user.BeginTurn(true);
  ASSERT_TRUE(user.BeginRow(Command::Increment("1", "1")).opened());
  const uint64_t before = harness_->RowsWritten();
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(user.Do(Command::Increment("1", "1")).ok());
  EXPECT_EQ(before, harness_->RowsWritten());
  EXPECT_TRUE(user.EndRow().ok());
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_EQ(before + 1, harness_->RowsWritten());
  EXPECT_EQ("1,20,a;2,20,b;10,5,NULL;", harness_->Dump());
}

TEST_F(EngineContract, S8RowThatHasNotChangedIsNotWritten) {
  User user(*harness_, LockWait::kNever, {"v"});
  const uint64_t before = harness_->RowsWritten();
  user.BeginTurn(true);
  ASSERT_TRUE(user.BeginRow(Command::Increment("1", "1")).opened());
  EXPECT_EQ(1u, user.Do(Command::Increment("1", "7")).rows);
  EXPECT_EQ(1u, user.Do(Command::Modify(Modification::kDecrement, "1", "7")).rows);
  EXPECT_TRUE(user.EndRow().ok());
  ASSERT_TRUE(user.BeginRow(Command::Increment("3", "1")).opened());
  EXPECT_EQ(0u, user.Do(Command::Increment("3", "7")).rows);
  EXPECT_TRUE(user.EndRow().ok());
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_EQ(before, harness_->RowsWritten());
}

TEST_F(EngineContract, S8FailedEndOfARowLeavesNothingAfterRollback) {
  TableKind narrow;
  narrow.is_narrow = true;
  CreateTable(narrow);
  harness_->FailEndRow();
  User user(*harness_, LockWait::kNever, {"w"});
  user.BeginTurn(true);
  ASSERT_TRUE(user.Do(Command::Modify(Modification::kUpdate, "2", "c")).ok());
  const Command wide = Command::Modify(Modification::kUpdate, "1", std::string(800, 'x'));
  ASSERT_TRUE(user.BeginRow(wide).opened());
  EXPECT_TRUE(user.Do(wide).ok());
  EXPECT_FALSE(user.EndRow().ok());
  user.Rollback();
  EXPECT_EQ("1,10,a;2,20,b;10,5,NULL;", harness_->Dump());
  EXPECT_TRUE(harness_->CanLockRow("1"));
  // The turn runs again without rows: the request that was not at fault succeeds.
  user.BeginTurn(true);
  EXPECT_TRUE(user.Do(Command::Modify(Modification::kUpdate, "2", "c")).ok());
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_EQ("1,10,a;2,20,c;10,5,NULL;", harness_->Dump());
}

TEST_F(EngineContract, RollbackEndsARow) {
  User user(*harness_, LockWait::kNever, {"v"});
  user.BeginTurn(true);
  ASSERT_TRUE(user.BeginRow(Command::Increment("1", "1")).opened());
  EXPECT_TRUE(user.Do(Command::Increment("1", "1")).ok());
  user.Rollback();
  EXPECT_TRUE(harness_->CanLockRow("1"));
  user.BeginTurn(true);
  EXPECT_EQ("10,", user.SeeRow("1"));
  EXPECT_TRUE(user.Commit().ok());
}

TEST_F(EngineContract, S9RequestsThatNameNoRowAreNotMerged) {
  User user(*harness_, LockWait::kNever, {"v"});
  User by_v(*harness_, LockWait::kNever, {"w"}, "by_v");
  user.BeginTurn(true);
  by_v.BeginTurn(true);
  const auto reason = [](User& who, Command command) {
    return who.BeginRow(std::move(command)).reason;
  };
  Editor keep(Decision::kKeep);
  EXPECT_EQ(NotMergeable::kRequest, reason(user, Command::Insert({"1"})));
  EXPECT_EQ(NotMergeable::kRequest,
            reason(user, Command::Modify(Modification::kDelete, "1", "", CompareOp::kGe)));
  EXPECT_NE(NotMergeable::kNone, reason(by_v, Command::Edit("10", keep)));
  EXPECT_EQ(NotMergeable::kRequest, reason(by_v, Command::Delete("10")));
  for (const char* id : {"1", "2", "10"}) EXPECT_TRUE(harness_->CanLockRow(id));
  // The refusals did nothing, so both sessions execute the requests one by one.
  EXPECT_TRUE(user.Do(Command::Increment("1", "1")).ok());
  EXPECT_TRUE(by_v.Do(Command::Delete("20")).ok());
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_TRUE(by_v.Commit().ok());
  EXPECT_EQ("1,11,a;10,5,NULL;", harness_->Dump());
}

TEST_F(EngineContract, S9OpenRowTellsWhichRequestsItTakes) {
  User user(*harness_, LockWait::kNever, {"id", "v"});
  user.BeginTurn(true);
  EXPECT_EQ(NotMergeable::kUniqueKey, user.BeginRow(Command::Increment("1", "1")).reason);
  EXPECT_TRUE(harness_->CanLockRow("1"));
  ASSERT_TRUE(user.BeginRow(Command::Delete("1")).opened());
  EXPECT_EQ(NotMergeable::kUniqueKey, user.RowTakes(Command::Increment("1", "1")));
  EXPECT_EQ(NotMergeable::kRequest,
            user.RowTakes(Command::Modify(Modification::kDelete, "1", "", CompareOp::kGe)));
  EXPECT_EQ(NotMergeable::kNone, user.RowTakes(Command::Find(CompareOp::kEq, "1")));
  EXPECT_EQ(NotMergeable::kNone, user.RowTakes(Command::Delete("1")));
  EXPECT_EQ("1,10,", user.SeeRow("1"));
  EXPECT_TRUE(user.EndRow().ok());
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_EQ("1,10,a;2,20,b;10,5,NULL;", harness_->Dump());
}

TEST_F(EngineContract, S9RowsOfTablesThatCannotBeMergedAreNotOpened) {
  for (const NotMergeable reason : harness_->reasons()) {
    SCOPED_TRACE(static_cast<int>(reason));
    TableKind kind;
    kind.not_mergeable = reason;
    CreateTable(kind);
    User user(*harness_, LockWait::kNever, {"v"});
    user.BeginTurn(true);
    const RowOpening opening = user.BeginRow(Command::Increment("1", "1"));
    EXPECT_EQ(reason, opening.reason) << Name(opening.outcome.error.code);
    EXPECT_TRUE(harness_->CanLockRow("1"));
    user.Rollback();
    EXPECT_EQ("1,10,a;2,20,b;10,5,NULL;", harness_->Dump());
  }
}

}  // namespace
}  // namespace rowsocket::engine::contract
