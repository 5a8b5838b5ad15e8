// S13: rows that stay open while other statements and units run.
#include "engine/contract/fixture.h"
#include "engine/contract/outcomes.h"

namespace rowsocket::engine::contract {
namespace {

/// The columns of a user of these tests. Requests that may set the key are not merged, so additions
/// use another index, with only v.
const std::vector<std::string> kColumns = {"v", "id"};

/// Rows with BLOBs may be written at once.
class CompactRows : public EngineContract {
 protected:
  CompactRows() {
    TableKind compact;
    compact.is_compact = true;
    CreateTable(compact);
  }
};

class OpenRowContract : public CompactRows {
 protected:
  OpenRowContract() : user_(*harness_, LockWait::kNever, kColumns) {
    EXPECT_TRUE(user_.Open({kDatabase, kTable, "by_v", kColumns, {}}, &by_v_).ok());
    EXPECT_TRUE(user_.Open({kDatabase, kTable, "", {"v"}, {}}, &v_by_id_).ok());
    user_.BeginTurn(true);
  }
  ~OpenRowContract() override {
    by_v_.reset();
    v_by_id_.reset();
  }

  static Command Add(const std::string& id, const std::string& by) {
    return Command::Increment(id, by).Sharing();
  }
  Outcome DoAdd(const std::string& id, const std::string& by) {
    return By(v_by_id_, [&] { return user_.Do(Add(id, by)); });
  }
  Outcome CloseRowsReachedByAdd(const std::string& id, const std::string& by) {
    return By(v_by_id_, [&] { return user_.CloseRowsReachedBy(Add(id, by)); });
  }

  /// The outcome of a call that executes through this index.
  template <typename Call>
  Outcome By(const std::shared_ptr<Index>& index, Call call) {
    const std::shared_ptr<Index> before = user_.index();
    user_.set_index(index);
    const Outcome outcome = call();
    user_.set_index(before);
    return outcome;
  }

  /// A unit that adds to a shared row and inserts a row.
  void Unit(const std::string& id, const std::string& inserted, bool keep) {
    ASSERT_TRUE(CloseRowsReachedByAdd(id, "1").ok());
    ASSERT_TRUE(user_.CloseRowsReachedBy(Command::Insert({"0", inserted})).ok());
    ASSERT_TRUE(user_.BeginUnit().ok());
    EXPECT_TRUE(DoAdd(id, "1").ok());
    EXPECT_TRUE(user_.Do(Command::Insert({"0", inserted})).ok());
    ASSERT_TRUE(user_.EndUnit(keep).ok());
  }
  void Take(const std::string& id, bool keep) {
    ASSERT_TRUE(CloseRowsReachedByAdd(id, "1").ok());
    ASSERT_TRUE(user_.BeginUnit().ok());
    EXPECT_TRUE(DoAdd(id, "1").ok());
    ASSERT_TRUE(user_.EndUnit(keep).ok());
  }
  /// Executes the command through the index by_v.
  Outcome DoByV(Command command) {
    return By(by_v_, [&] { return user_.Do(std::move(command)); });
  }
  std::string End() {
    EXPECT_TRUE(user_.CloseRows().ok());
    EXPECT_TRUE(user_.Commit().ok());
    return harness_->Dump();
  }

  User user_;
  std::shared_ptr<Index> by_v_;
  std::shared_ptr<Index> v_by_id_;
};

TEST_F(OpenRowContract, S13UnitsThatShareARowChangeItOnce) {
  const uint64_t written = harness_->RowsWritten();
  for (int i = 0; i < 20; ++i) Take("1", true);
  EXPECT_EQ("1,30,a;2,20,b;10,5,NULL;", End());
  EXPECT_EQ(written + 1, harness_->RowsWritten());
}

TEST_F(OpenRowContract, S13AUnitThatIsTakenBackLeavesTheRowAsTheUnitsBefore) {
  for (int i = 0; i < 9; ++i) Take("1", i % 3 != 0);
  EXPECT_EQ("1,16,a;2,20,b;10,5,NULL;", End());
}

TEST_F(OpenRowContract, S13TheFirstUnitOfARowIsTakenBack) {
  Take("1", false);
  EXPECT_EQ("1,10,a;2,20,b;10,5,NULL;", End());
}

TEST_F(OpenRowContract, S13UnitsThatReachTheTableOtherwise) {
  for (int i = 0; i < 6; ++i) Unit("1", std::to_string(100 + i), i % 2 == 0);
  EXPECT_EQ(0u, End().find("1,13,a;2,20,b;10,5,NULL;100,0,NULL;102,0,NULL;104,0,NULL;"));
}

TEST_F(OpenRowContract, S13SeveralRowsOfATableAreOpen) {
  for (int i = 0; i < 12; ++i) {
    ASSERT_TRUE(user_.BeginUnit().ok());
    EXPECT_TRUE(DoAdd("1", "1").ok());
    EXPECT_TRUE(DoAdd("2", "2").ok());
    EXPECT_TRUE(DoAdd("1", "10").ok());
    ASSERT_TRUE(user_.EndUnit(i % 4 == 0).ok());
  }
  EXPECT_EQ("1,43,a;2,26,b;10,5,NULL;", End());
}

TEST_F(OpenRowContract, S13ARangeSeesTheRow) {
  Take("1", true);
  EXPECT_EQ("11,1,20,2,5,10,", user_.SeeAll());
  Take("1", true);
  EXPECT_EQ(
      3u, user_.Do(Command::Modify(Modification::kIncrement, "0", "100", CompareOp::kGe, 9)).rows);
  Take("1", true);
  EXPECT_EQ("1,113,a;2,120,b;10,105,NULL;", End());
}

TEST_F(OpenRowContract, S13AFindWithoutLockSeesTheRow) {
  Take("1", true);
  EXPECT_EQ("11,1,", user_.SeeRow("1"));
  Take("1", true);
  EXPECT_EQ("12,1,", user_.SeeRow("1"));
  EXPECT_EQ("1,12,a;2,20,b;10,5,NULL;", End());
}

TEST_F(OpenRowContract, S13AnotherIndexReachesTheRow) {
  Take("1", true);
  EXPECT_EQ(0u, DoByV(Command::Modify(Modification::kIncrement, "10", "100")).rows);
  EXPECT_EQ(1u, DoByV(Command::Modify(Modification::kIncrement, "11", "100")).rows);
  Take("1", true);
  EXPECT_EQ(1u, DoByV(Command::Modify(Modification::kDelete, "112", "")).rows);
  EXPECT_EQ("2,20,b;10,5,NULL;", End());
}

TEST_F(OpenRowContract, S13ARequestThatDoesNotShareTheRowIsExecutedInOrder) {
  Take("1", true);
  EXPECT_TRUE(user_.Do(Command::Increment("1", "39")).ok());
  Take("1", true);
  EXPECT_EQ("1,51,a;2,20,b;10,5,NULL;", End());
}

TEST_F(OpenRowContract, S13ARowIsDeletedAndInsertedAnew) {
  Take("1", true);
  EXPECT_EQ(1u, user_.Do(Command::Delete("1").Sharing()).rows);
  EXPECT_EQ(0u, DoAdd("1", "1").rows);
  EXPECT_EQ("20,2,5,10,", user_.SeeAll());
  EXPECT_TRUE(user_.Do(Command::Insert({"7", "1"})).ok());
  Take("1", true);
  EXPECT_EQ("1,8,NULL;2,20,b;10,5,NULL;", End());
}

TEST_F(OpenRowContract, S13ARowThatIsClosedInAUnitIsNotLostInSilence) {
  Take("1", true);
  ASSERT_TRUE(user_.BeginUnit().ok());
  EXPECT_TRUE(DoAdd("1", "5").ok());
  EXPECT_EQ("16,1,20,2,5,10,", user_.SeeAll());
  const Outcome ended = user_.EndUnit(false);
  if (ended.ok()) {
    EXPECT_EQ("1,11,a;2,20,b;10,5,NULL;", End());
    return;
  }
  EXPECT_EQ(Outcome::Result::kRowLost, ended.result);
  EXPECT_TRUE(ended.transaction_lost);
  user_.Rollback();
  EXPECT_EQ("1,10,a;2,20,b;10,5,NULL;", harness_->Dump());
}

TEST_F(OpenRowContract, S13WayIsMadeForAUnitThatReachesTheTableOtherwise) {
  Take("1", true);
  const Command range = Command::Modify(Modification::kIncrement, "0", "100", CompareOp::kGe, 9);
  ASSERT_TRUE(CloseRowsReachedByAdd("1", "5").ok());
  ASSERT_TRUE(user_.CloseRowsReachedBy(range).ok());
  ASSERT_TRUE(user_.BeginUnit().ok());
  EXPECT_TRUE(DoAdd("1", "5").ok());
  EXPECT_EQ(3u, user_.Do(range).rows);
  ASSERT_TRUE(user_.EndUnit(false).ok());
  Take("1", true);
  EXPECT_EQ("1,12,a;2,20,b;10,5,NULL;", End());
}

TEST_F(OpenRowContract, S13ARowThatAUnitHasWrittenAndReadIsForgottenWithTheUnit) {
  ASSERT_TRUE(user_.BeginUnit().ok());
  EXPECT_EQ(
      3u, user_.Do(Command::Modify(Modification::kIncrement, "0", "100", CompareOp::kGe, 9)).rows);
  EXPECT_TRUE(DoAdd("1", "5").ok());
  ASSERT_TRUE(user_.EndUnit(false).ok());
  Take("1", true);
  EXPECT_EQ("1,11,a;2,20,b;10,5,NULL;", End());
}

TEST_F(OpenRowContract, S13ARequestThatFailsLeavesTheRow) {
  Take("1", true);
  EXPECT_FALSE(DoAdd("1", "9223372036854775807").ok());
  Take("1", true);
  EXPECT_EQ("1,12,a;2,20,b;10,5,NULL;", End());
}

// The text does not fit everywhere: where it does, the unit takes it back.
TEST_F(OpenRowContract, S13AnInsertOnTheRowLeavesNothingForTheNextRequest) {
  std::shared_ptr<Index> w, id;
  ASSERT_TRUE(user_.Open({kDatabase, kTable, "", {"w"}, {}}, &w).ok());
  ASSERT_TRUE(user_.Open({kDatabase, kTable, "", {"id"}, {}}, &id).ok());
  Editor renews(Decision::kRenew, std::string(300, 'w'));
  ASSERT_TRUE(user_.BeginUnit().ok());
  By(w, [&] { return user_.Do(Command::Edit("1", renews).Sharing()); });
  ASSERT_TRUE(user_.EndUnit(false).ok());
  const Outcome outcome = By(id, [&] { return user_.Do(Command::StoreNull("2")); });
  EXPECT_EQ(model::Error::Engine(1048), outcome.error);
  EXPECT_EQ("1,10,a;2,20,b;10,5,NULL;", End());
}

TEST_F(OpenRowContract, S13TheRowIsLocked) {
  Take("1", true);
  EXPECT_FALSE(harness_->CanLockRow("1"));
  EXPECT_TRUE(harness_->CanLockRow("2"));
  EXPECT_EQ("1,11,a;2,20,b;10,5,NULL;", End());
}

TEST_F(OpenRowContract, S13ALockedRowIsBusy) {
  const auto held = harness_->LockRow("1");
  ASSERT_TRUE(user_.BeginUnit().ok());
  EXPECT_TRUE(DoAdd("2", "1").ok());
  EXPECT_TRUE(IsBusy(DoAdd("1", "1")));
  ASSERT_TRUE(user_.EndUnit(false).ok());
  EXPECT_TRUE(DoAdd("2", "1").ok());
  EXPECT_EQ("1,10,a;2,21,b;10,5,NULL;", End());
}

TEST_F(OpenRowContract, S13ARollbackForgetsTheRow) {
  Take("1", true);
  user_.Rollback();
  user_.BeginTurn(true);
  Take("1", true);
  EXPECT_EQ("1,11,a;2,20,b;10,5,NULL;", End());
}

}  // namespace
}  // namespace rowsocket::engine::contract
