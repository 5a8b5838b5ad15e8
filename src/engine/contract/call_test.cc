// The contract for single calls: opening, finding, inserting, editing.
#include <algorithm>

#include "engine/contract/fixture.h"
#include "engine/contract/outcomes.h"

namespace rowsocket::engine::contract {
namespace {

using model::ErrorCode;

TEST_F(EngineContract, FindsAreInTheOrderOfTheirIndex) {
  User user(*harness_, LockWait::kNever, {"id", "v", "w"});
  User by_v(*harness_, LockWait::kNever, {"id"}, "by_v");
  user.BeginTurn(false);
  by_v.BeginTurn(false);
  EXPECT_EQ("2,20,b,", user.SeeRow("2"));
  EXPECT_EQ("", user.SeeRow("3"));
  EXPECT_EQ("2,20,b,10,5,NULL,", user.See(Command::Find(CompareOp::kGt, "1", 9)));
  EXPECT_EQ("2,20,b,1,10,a,", user.See(Command::Find(CompareOp::kLt, "10", 9)));
  EXPECT_EQ("10,1,2,", by_v.SeeAll());
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_TRUE(by_v.Commit().ok());
}

TEST_F(EngineContract, FindsWithInAndOffset) {
  User user(*harness_, LockWait::kNever, {"id"});
  const std::vector<Value> in = {Value("10"), Value("3"), Value("1")};
  Command command = Command::Find(CompareOp::kEq, "7", 9);
  command.request.find.has_in = true;
  command.request.find.in_values = in;
  user.BeginTurn(false);
  EXPECT_EQ("10,1,", user.See(command));
  command.request.find.offset = 1;
  EXPECT_EQ("1,", user.See(command));
  EXPECT_TRUE(user.Commit().ok());
}

TEST_F(EngineContract, FindsWithFilters) {
  User user(*harness_, LockWait::kNever, {"id"});
  std::shared_ptr<Index> filtered;
  ASSERT_TRUE(user.Open({kDatabase, kTable, "", {"id"}, {"v"}}, &filtered).ok());
  user.set_index(filtered);
  const std::vector<model::Filter> at_least_10 = {{false, CompareOp::kGe, 0, Value("10")}};
  Command all = Command::Find(CompareOp::kGe, "0", 9);
  all.request.find.filters = at_least_10;
  user.BeginTurn(false);
  EXPECT_EQ("1,2,", user.See(all));
  const std::vector<model::Filter> while_below_20 = {{true, CompareOp::kLt, 0, Value("20")}};
  all.request.find.filters = while_below_20;
  EXPECT_EQ("1,", user.See(all));
  EXPECT_TRUE(user.Commit().ok());
}

TEST_F(EngineContract, NamesThatAreNotThereAreErrors) {
  User user(*harness_, LockWait::kNever);
  std::shared_ptr<Index> index;
  const auto open = [&](const IndexNames& names) { return user.Open(names, &index).error.code; };
  EXPECT_EQ(ErrorCode::kOpenTable, open({kDatabase, "none", "", {}, {}}));
  EXPECT_EQ(ErrorCode::kIdxnum, open({kDatabase, kTable, "none", {}, {}}));
  EXPECT_EQ(ErrorCode::kIdxnum, open({kDatabase, kTable, "2", {}, {}}));
  EXPECT_EQ(ErrorCode::kFld, open({kDatabase, kTable, "1", {"none"}, {}}));
  EXPECT_EQ(nullptr, index);
}

TEST_F(EngineContract, ANameThatBeginsWithADigitIsNoNumberWhereItIsSaidToBeAName) {
  User user(*harness_, LockWait::kNever);
  std::shared_ptr<Index> index;
  for (const char* digits : {"0", "1"}) {
    IndexNames names{kDatabase, kTable, digits, {"w"}, {}};
    EXPECT_EQ(ErrorCode::kNone, user.Open(names, &index).error.code) << digits;
    names.index_is_name = true;
    EXPECT_EQ(ErrorCode::kIdxnum, user.Open(names, &index).error.code) << digits;
    names.lists = IndexNames::Lists::kKey;
    EXPECT_EQ(ErrorCode::kIdxnum, user.Open(names, &index).error.code) << digits;
  }
}

TEST_F(EngineContract, EqualNamesAreOneIndexInAllSessions) {
  User one(*harness_, LockWait::kNever, {"w"});
  User other(*harness_, LockWait::kServer, {"w"});
  EXPECT_EQ(one.index(), other.index());
  std::shared_ptr<Index> by_v;
  ASSERT_TRUE(one.Open({kDatabase, kTable, "by_v", {"w"}, {}}, &by_v).ok());
  EXPECT_NE(one.index(), by_v);
  // A session uses an index that another session has opened.
  other.set_index(by_v);
  other.BeginTurn(false);
  EXPECT_EQ("b,", other.See(Command::Find(CompareOp::kEq, "20")));
  EXPECT_TRUE(other.Commit().ok());
}

TEST_F(EngineContract, IndexStaysUsableWhenTheTableIsAltered) {
  User user(*harness_, LockWait::kNever);
  user.BeginTurn(true);
  EXPECT_EQ("1,10,", user.SeeRow("1"));
  EXPECT_TRUE(user.Commit().ok());
  user.ReleaseTables();
  harness_->AddColumn();
  user.BeginTurn(true);
  EXPECT_EQ("1,10,", user.SeeRow("1"));
  EXPECT_TRUE(user.Do(Command::Insert({"3", "30"})).ok());
  EXPECT_EQ("3,30,", user.SeeRow("3"));
  EXPECT_TRUE(user.Commit().ok());
}

TEST_F(EngineContract, GeneratesIds) {
  User user(*harness_, LockWait::kNever);
  User without_id(*harness_, LockWait::kNever, {"v"});
  without_id.BeginTurn(true);
  const Outcome generated = without_id.Do(Command::Insert({"1"}));
  EXPECT_TRUE(generated.has_insert_id);
  EXPECT_EQ(11u, generated.insert_id);
  EXPECT_TRUE(without_id.Commit().ok());
  user.BeginTurn(true);
  EXPECT_EQ(0u, user.Do(Command::Insert({"12", "1"})).insert_id);
  EXPECT_EQ(13u, user.Do(Command::Insert({"0", "1"})).insert_id);
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_EQ("1,10,a;2,20,b;10,5,NULL;11,1,NULL;12,1,NULL;13,1,NULL;", harness_->Dump());
}

TEST_F(EngineContract, IncrementsAndDecrements) {
  User user(*harness_, LockWait::kNever, {"v"});
  user.BeginTurn(true);
  EXPECT_EQ(1u, user.Do(Command::Modify(Modification::kDecrement, "1", "10")).rows);
  EXPECT_EQ(0u, user.Do(Command::Modify(Modification::kDecrement, "2", "21")).rows);
  Command before_image = Command::Increment("10", "7");
  before_image.request.find.wants_before_images = true;
  EXPECT_EQ("5,", user.See(before_image));
  EXPECT_TRUE(user.Do(Command::Modify(Modification::kUpdate, "2", "9223372036854775807")).ok());
  EXPECT_EQ(kOutOfRange, user.Do(Command::Increment("2", "1")).error);
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_EQ("1,0,a;2,9223372036854775807,b;10,12,NULL;", harness_->Dump());
}

TEST_F(EngineContract, EditUpdatesInsertsDeletesOrKeeps) {
  User user(*harness_, LockWait::kNever, {"v", "w"});
  user.BeginTurn(true);
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
  Editor clear(Decision::kClear);
  EXPECT_EQ(1u, user.Do(Command::Edit("10", clear)).rows);
  EXPECT_EQ(0u, user.Do(Command::Edit("10", clear)).rows);
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_EQ("1,11,a;3,30,NULL;", harness_->Dump());
}

TEST_F(EngineContract, EditThatKeepsItsKeyDoesNotChangeIt) {
  User user(*harness_, LockWait::kNever);
  Editor insert(Decision::kStore, "3"), update(Decision::kStore, "4");
  user.BeginTurn(true);
  for (const auto& [id, editor] : {std::pair("3", &insert), std::pair("1", &update)}) {
    Command edit = Command::Edit(id, *editor);
    edit.request.edit.keeps_key = true;
    EXPECT_EQ(ErrorCode::kFld, user.Do(edit).error.code) << id;
  }
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_EQ("1,10,a;2,20,b;10,5,NULL;", harness_->Dump());
}

TEST_F(EngineContract, EditsAndFindsOfAWholeKeyNeedEveryPartOfAUniqueKey) {
  User user(*harness_, LockWait::kNever, {"w"}, "by_v");
  Editor keep(Decision::kKeep);
  user.BeginTurn(true);
  EXPECT_EQ(ErrorCode::kKpnum, user.Do(Command::Edit("10", keep)).error.code);
  Command find = Command::Find(CompareOp::kEq, "10");
  EXPECT_TRUE(user.Do(find).ok());
  find.request.find.whole_key = true;
  EXPECT_EQ(ErrorCode::kKpnum, user.Do(find).error.code);
  EXPECT_TRUE(user.Commit().ok());
}

TEST_F(EngineContract, RepliesHaveALimit) {
  User user(*harness_, LockWait::kNever);
  user.sink.bytes_max = 4;
  user.BeginTurn(false);
  EXPECT_EQ(ErrorCode::kResultsize, user.Do(Command::Find(CompareOp::kGe, "0", 9)).error.code);
  EXPECT_TRUE(user.Commit().ok());
}

TEST_F(EngineContract, StatementThatCannotBeTakenBackIsPermanent) {
  const std::vector<NotMergeable> reasons = harness_->reasons();
  if (std::find(reasons.begin(), reasons.end(), NotMergeable::kEngine) == reasons.end()) {
    GTEST_SKIP() << "every table of this engine can take a statement back";
  }
  TableKind kind;
  kind.not_mergeable = NotMergeable::kEngine;
  CreateTable(kind);
  User user(*harness_, LockWait::kNever);
  user.BeginTurn(true);
  EXPECT_TRUE(user.Do(Command::Insert({"3", "30"})).permanent);
  EXPECT_TRUE(user.Do(Command::Insert({"3", "30"})).permanent);
  EXPECT_EQ("3,30,", user.SeeRow("3"));
  user.Rollback();
  EXPECT_EQ("1,10,a;2,20,b;3,30,NULL;10,5,NULL;", harness_->Dump());
}

}  // namespace
}  // namespace rowsocket::engine::contract
