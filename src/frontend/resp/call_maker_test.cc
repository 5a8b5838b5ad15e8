// The calls of a command, without a connection: which keys they have, and which commands have no
// calls.
#include "frontend/resp/call_maker.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rowsocket::frontend {
namespace {

class RespCallMakerTest : public ::testing::Test {
 protected:
  RespCallMakerTest() { shared_.schema = "shop"; }

  std::span<RespCall> Make(const std::vector<std::string_view>& words) {
    words_ = words;
    error_.clear();
    return maker_.Make(*FindRespCommand(words_[0]), words_, /*may_name_tables=*/true, arena_,
                       &error_);
  }

  RespShared shared_;
  RespState state_;
  RespKeyLocator locator_{shared_};
  RespCallMaker maker_{shared_, state_, locator_};
  base::Arena arena_;
  std::vector<std::string_view> words_;
  std::string error_;
};

TEST_F(RespCallMakerTest, ACommandOfSeveralKeysHasACallForEach) {
  const std::span<RespCall> calls = Make({"mset", "a", "1", "b", "2"});
  ASSERT_EQ(2u, calls.size()) << error_;
  EXPECT_EQ(1u, calls[0].key_at);
  EXPECT_EQ(3u, calls[1].key_at);
  EXPECT_TRUE(calls[0].is_first && !calls[0].is_last);
  EXPECT_TRUE(!calls[1].is_first && calls[1].is_last);
  EXPECT_TRUE(calls[0].is_string && calls[1].is_string) << "no such key is a table's";
  EXPECT_EQ(nullptr, calls[0].index);
}

TEST_F(RespCallMakerTest, AStringIsOfTheDatabaseThatIsSelected) {
  state_.database = kRespDatabases[3];
  EXPECT_EQ("3", Make({"get", "a"})[0].database);
  const std::span<RespCall> calls = Make({"copy", "a", "b", "db", "7"});
  ASSERT_EQ(2u, calls.size()) << error_;
  EXPECT_EQ("3", calls[0].database);
  EXPECT_EQ("7", calls[1].database);
}

TEST_F(RespCallMakerTest, AKeyThatIsSetTwiceByOneCommandIsMarked) {
  const std::span<RespCall> calls = Make({"msetnx", "a", "1", "b", "2", "a", "3"});
  ASSERT_EQ(3u, calls.size()) << error_;
  EXPECT_FALSE(calls[0].string_command->repeats_key);
  EXPECT_FALSE(calls[1].string_command->repeats_key);
  EXPECT_TRUE(calls[2].string_command->repeats_key);
}

TEST_F(RespCallMakerTest, ACommandThatIsWrongHasNoCalls) {
  EXPECT_TRUE(Make({"mset", "a", "1", "b"}).empty());
  EXPECT_EQ("ERR wrong number of arguments for 'mset' command", error_);
  EXPECT_TRUE(Make({"hget", "none", "v"}).empty());
  EXPECT_TRUE(error_.starts_with("NOTABLE ")) << error_;
  EXPECT_TRUE(Make({"copy", "a", "b", "db", "16"}).empty());
  EXPECT_EQ("ERR DB index is out of range", error_);
}

TEST_F(RespCallMakerTest, ATextThatWasThereBeforeIsGone) {
  const std::vector<std::vector<std::string_view>> commands = {
      {"rename", "a", "b"}, {"copy", "a", "b"}, {"mget", "a", "b"}, {"get", "a"}};
  for (const auto& words : commands) {
    std::vector<RespCall> calls;
    std::string error = "an earlier error";
    EXPECT_TRUE(maker_.Add(*FindRespCommand(words[0]), words, /*may_name_tables=*/true, arena_,
                           &calls, &error))
        << words[0] << ": " << error;
    EXPECT_EQ("", error) << words[0];
  }
}

TEST_F(RespCallMakerTest, TheKeysOfOneCommandAreLimited) {
  const RespCommand& command = *FindRespCommand("mget");
  std::vector<std::string_view> words(model::kRespUnitKeysMax + 1, "mget");
  std::vector<RespCall> calls;
  EXPECT_TRUE(maker_.Add(command, words, /*may_name_tables=*/true, arena_, &calls, &error_))
      << error_;
  words.push_back("one more");
  EXPECT_FALSE(maker_.Add(command, words, /*may_name_tables=*/true, arena_, &calls, &error_));
  EXPECT_TRUE(error_.starts_with("TOOLARGE ")) << error_;
}

}  // namespace
}  // namespace rowsocket::frontend
