// Tokens of transactions, without the connection that has them.
#include "frontend/resp/tokens.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/resp/resp_fixture.h"

namespace rowsocket::frontend {
namespace {

using Words = std::vector<std::string_view>;

std::string IdentityOf(const RespState& state, const std::vector<Words>& commands) {
  const std::vector<RespArguments> arguments(commands.begin(), commands.end());
  return RespTokens::IdentityOf(state, arguments);
}

TEST(RespTokensTest, TransactionsHaveOneIdentityWhereTheirWordsAreTheSame) {
  const RespState state;
  const std::string identity = IdentityOf(state, {{"set", "a", "bc"}});
  EXPECT_EQ(identity, IdentityOf(state, {{"set", "a", "bc"}}));
  EXPECT_NE(identity, IdentityOf(state, {{"set", "ab", "c"}}));
  EXPECT_NE(identity, IdentityOf(state, {{"set"}, {"a", "bc"}}));
  RespState other = state;
  other.database = kRespDatabases[1];
  EXPECT_NE(identity, IdentityOf(other, {{"set", "a", "bc"}}));
  other = state;
  other.version = resp::Version::k3;
  EXPECT_NE(identity, IdentityOf(other, {{"set", "a", "bc"}}));
}

TEST_F(RespTest, ATokenAsksForTheIndexesOfItsTableFirst) {
  RespTokens tokens(shared_.tokens);
  RespWork work;
  std::string error;
  for (int index = 0; index < 2; ++index) {
    exec::Item item;
    item.detail = &work;
    EXPECT_FALSE(tokens.AsksFor(item));
    EXPECT_EQ(nullptr, tokens.Prepare("a", "identity", arena_, &item, &error));
    EXPECT_EQ("", error);
    ASSERT_EQ(exec::Item::Kind::kSilentOpen, item.kind);
    EXPECT_TRUE(tokens.AsksFor(item));
    std::shared_ptr<engine::Index> opened;
    const engine::Outcome outcome = session_.OpenIndex(*item.names, &opened);
    tokens.Opened(outcome, std::move(opened));
  }
  exec::Item item;
  exec::TokenedRequest* const tokened = tokens.Prepare("a", "identity", arena_, &item, &error);
  ASSERT_NE(nullptr, tokened) << error;
  EXPECT_EQ(exec::Item::Kind::kReply, item.kind);
}

TEST_F(RespTest, ATokenWhoseTableIsMissingIsRefusedOnceAndTriedAgain) {
  RespTokens tokens(shared_.tokens);
  std::string error;
  exec::Item item;
  EXPECT_EQ(nullptr, tokens.Prepare("a", "identity", arena_, &item, &error));
  tokens.Opened(engine::Outcome::Fail(model::ErrorCode::kOpenTable), nullptr);
  exec::Item again;
  EXPECT_EQ(nullptr, tokens.Prepare("a", "identity", arena_, &again, &error));
  EXPECT_TRUE(error.starts_with("NOTOKENS ")) << error;
  EXPECT_EQ(exec::Item::Kind::kReply, again.kind);
  error.clear();
  EXPECT_EQ(nullptr, tokens.Prepare("a", "identity", arena_, &again, &error));
  EXPECT_EQ(exec::Item::Kind::kSilentOpen, again.kind);
}

}  // namespace
}  // namespace rowsocket::frontend
