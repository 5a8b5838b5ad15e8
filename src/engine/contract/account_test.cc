// S10: requests of accounts.
#include "engine/contract/fixture.h"
#include "engine/contract/outcomes.h"

namespace rowsocket::engine::contract {
namespace {

using model::ErrorCode;
using Rights = Harness::Rights;

class AccountContract : public EngineContract {
 protected:
  void SetRights(Rights rights) { harness_->SetRights(account_, rights); }
  Command Of(Command command) const {
    command.request.account = &account_;
    return command;
  }
  Command FindRow(const std::string& id) const { return Of(Command::Find(CompareOp::kEq, id)); }
  Command AddOne(const std::string& id) const { return Of(Command::Increment(id, "1")); }

  const model::Account account_{"contract", "localhost"};
};

TEST_F(AccountContract, S10WhatAnAccountMayNotDoIsDeniedAndDoesNothing) {
  User user(*harness_, LockWait::kNever, {"v"});
  SetRights(Rights::kNone);
  user.BeginTurn(true);
  EXPECT_EQ(ErrorCode::kDenied, user.Do(FindRow("1")).error.code);
  EXPECT_EQ(ErrorCode::kDenied, user.Do(AddOne("1")).error.code);
  EXPECT_EQ("", user.sink.text);
  EXPECT_TRUE(harness_->CanLockRow("1"));
  EXPECT_TRUE(user.Do(Command::Increment("2", "1")).ok()) << "a request without an account";
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_EQ("1,10,a;2,21,b;10,5,NULL;", harness_->Dump());
}

TEST_F(AccountContract, S10EachKindOfRequestNeedsItsOwnRight) {
  User user(*harness_, LockWait::kNever, {"v"});
  SetRights(Rights::kSelect);
  user.BeginTurn(true);
  EXPECT_EQ("10,", user.See(FindRow("1")));
  EXPECT_EQ(ErrorCode::kDenied, user.Do(AddOne("1")).error.code);
  EXPECT_TRUE(harness_->CanLockRow("1"));
  EXPECT_TRUE(user.Commit().ok());
  SetRights(Rights::kSelectAndUpdateV);
  user.BeginTurn(true);
  EXPECT_EQ(1u, user.Do(AddOne("1")).rows);
  EXPECT_EQ(ErrorCode::kDenied, user.Do(Of(Command::Delete("1"))).error.code);
  EXPECT_EQ(ErrorCode::kDenied, user.Do(Of(Command::Insert({"7"}))).error.code);
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_EQ("1,11,a;2,20,b;10,5,NULL;", harness_->Dump());
}

TEST_F(AccountContract, S10TheRightsAreThoseAfterBeginTurn) {
  User user(*harness_, LockWait::kNever, {"v"});
  SetRights(Rights::kSelectAndUpdateV);
  user.BeginTurn(true);
  EXPECT_EQ(1u, user.Do(AddOne("1")).rows);
  EXPECT_TRUE(user.Commit().ok());
  SetRights(Rights::kSelect);
  user.BeginTurn(true);
  EXPECT_EQ(ErrorCode::kDenied, user.Do(AddOne("1")).error.code);
  EXPECT_TRUE(user.Commit().ok());
  SetRights(Rights::kSelectAndUpdateV);
  user.BeginTurn(true);
  EXPECT_EQ(1u, user.Do(AddOne("1")).rows);
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_EQ("1,12,a;2,20,b;10,5,NULL;", harness_->Dump());
}

TEST_F(AccountContract, S10NoRowIsOpenedForAnAccountThatMayNotChangeIt) {
  User user(*harness_, LockWait::kNever, {"v"});
  SetRights(Rights::kSelect);
  user.BeginTurn(true);
  const RowOpening opening = user.BeginRow(AddOne("1"));
  EXPECT_FALSE(opening.opened());
  EXPECT_EQ(ErrorCode::kDenied, opening.outcome.error.code);
  EXPECT_TRUE(harness_->CanLockRow("1"));
  EXPECT_TRUE(user.Commit().ok());
  EXPECT_EQ("1,10,a;2,20,b;10,5,NULL;", harness_->Dump());
}

TEST_F(AccountContract, S10ATableThatTheAccountMayNotSeeIsAsOneThatIsNotThere) {
  User user(*harness_, LockWait::kNever, {"v"});
  user.ReleaseTables();
  SetRights(Rights::kNone);
  const auto may_open = [&](const char* table) {
    return user.MayOpen({kDatabase, table, "", {"v"}, {}}, account_).error.code;
  };
  EXPECT_EQ(ErrorCode::kDenied, may_open(kTable));
  EXPECT_EQ(ErrorCode::kDenied, may_open("none"));
  SetRights(Rights::kSelect);
  EXPECT_EQ(ErrorCode::kNone, may_open(kTable));
  EXPECT_EQ(ErrorCode::kDenied, may_open("none"));
  EXPECT_FALSE(user.HasToRelease());
}

}  // namespace
}  // namespace rowsocket::engine::contract
