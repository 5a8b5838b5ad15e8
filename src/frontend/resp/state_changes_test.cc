// What a connection takes back when a turn stops before an item; tested without a connection.
#include "frontend/resp/state_changes.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace rowsocket::frontend {
namespace {

class RespStateChangesTest : public ::testing::Test {
 protected:
  RespStateChangesTest() { item_.detail = &work_; }

  RespShared shared_;
  RespState state_;
  RespOwnClient own_client_{shared_};
  RespWatchedKeys watched_;
  RespStateChanges changes_{state_, own_client_, watched_};
  RespWork work_;
  exec::Item item_;
};

TEST_F(RespStateChangesTest, AnItemThatTheTurnHasNotComeToChangesNothing) {
  own_client_.SetName("before");
  changes_.BeginParse(/*after_requests=*/true);
  ASSERT_TRUE(changes_.MayComeToNothing());
  changes_.Note(item_);
  state_.BeginMulti();
  own_client_.SetName("behind");
  EXPECT_TRUE(changes_.Undo());
  EXPECT_FALSE(state_.in_multi);
  EXPECT_EQ("before", own_client_.name());
  EXPECT_FALSE(changes_.Undo());
}

TEST_F(RespStateChangesTest, AnItemThatHasItsAnswerHasChangedTheConnection) {
  changes_.BeginParse(/*after_requests=*/true);
  changes_.Note(item_);
  state_.BeginMulti();
  EXPECT_FALSE(changes_.Finished(work_, {}));
  EXPECT_FALSE(changes_.Undo());
  EXPECT_TRUE(state_.in_multi);
}

TEST_F(RespStateChangesTest, AWatchFailsAtOnceWhereNothingIsBeforeIt) {
  changes_.BeginParse(/*after_requests=*/false);
  changes_.FailWatch(item_);
  EXPECT_FALSE(work_.fails_watch);
  changes_.Undo();
  EXPECT_TRUE(watched_.has_failed());
  changes_.EndWatch(item_);
  EXPECT_FALSE(watched_.has_failed());
}

TEST_F(RespStateChangesTest, AWatchAfterOtherItemsFailsWithItsAnswer) {
  changes_.BeginParse(/*after_requests=*/true);
  changes_.FailWatch(item_);
  EXPECT_TRUE(work_.fails_watch);
  EXPECT_TRUE(watched_.has_failed()) << "an EXEC behind it in the turn is told";
  changes_.Undo();
  EXPECT_FALSE(watched_.has_failed()) << "the turn has not come to it";
  EXPECT_TRUE(changes_.Finished(work_, {}));
  EXPECT_TRUE(watched_.has_failed());
}

TEST_F(RespStateChangesTest, ALoginIsParsedWhenTheItemsBeforeItHaveTheirAnswers) {
  const auto must_be_later = [&](std::vector<std::string_view> words) {
    return changes_.MustBeLater(*FindRespCommand(words[0]), words);
  };
  EXPECT_TRUE(must_be_later({"auth", "secret"}));
  EXPECT_TRUE(must_be_later({"hello", "3", "AUTH", "user", "secret"}));
  EXPECT_FALSE(must_be_later({"hello", "3"}));
  EXPECT_FALSE(must_be_later({"select", "1"}));
  EXPECT_TRUE(must_be_later({"reset"}));
  state_.BeginMulti();
  EXPECT_TRUE(must_be_later({"auth", "secret"})) << "MULTI refuses it, so that it is wiped";
}

}  // namespace
}  // namespace rowsocket::frontend
