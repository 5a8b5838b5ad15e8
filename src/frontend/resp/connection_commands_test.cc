// Commands that change their connection, without the connection.
#include "frontend/resp/connection_commands.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace rowsocket::frontend {
namespace {

class RespConnectionCommandsTest : public ::testing::Test {
 protected:
  RespConnectionCommandsTest() { item_.detail = &work_; }

  /// The reply to the command; "none" if it is not one of the connection's.
  std::string Ask(const std::vector<std::string_view>& words) {
    base::Buffer out;
    const RespVerb verb = FindRespCommand(words[0])->verb;
    const bool is_one = connection_.Append(verb, words, /*account=*/nullptr, arena_, out, &item_);
    return is_one ? std::string(out.view()) : "none";
  }

  RespShared shared_;
  RespState state_;
  RespOwnClient own_client_{shared_};
  RespWatchedKeys watched_;
  RespStateChanges changes_{state_, own_client_, watched_};
  RespLogin login_{shared_, state_, own_client_};
  RespConnectionCommands connection_{state_, changes_, own_client_, login_};
  base::Arena arena_;
  RespWork work_;
  exec::Item item_;
};

TEST_F(RespConnectionCommandsTest, SelectChangesTheDatabase) {
  EXPECT_EQ("+OK\r\n", Ask({"select", "15"}));
  EXPECT_EQ("15", state_.database);
  EXPECT_EQ("-ERR DB index is out of range\r\n", Ask({"select", "16"}));
  EXPECT_TRUE(Ask({"select", "x"}).starts_with("-ERR value is not an integer"));
  EXPECT_EQ("15", state_.database);
}

TEST_F(RespConnectionCommandsTest, DiscardEndsTheTransactionWithItsWatch) {
  EXPECT_EQ("-ERR DISCARD without MULTI\r\n", Ask({"discard"}));
  EXPECT_EQ("+OK\r\n", Ask({"multi"}));
  EXPECT_EQ("-ERR MULTI calls can not be nested\r\n", Ask({"multi"}));
  EXPECT_TRUE(state_.in_multi);
  watched_.Fail();
  EXPECT_EQ("+OK\r\n", Ask({"discard"}));
  EXPECT_FALSE(state_.in_multi);
  EXPECT_FALSE(watched_.has_failed());
}

TEST_F(RespConnectionCommandsTest, ALoginIsAskedForWhereClientsHaveAccounts) {
  shared_.accounts = true;
  EXPECT_EQ("", Ask({"auth", "user", "secret"}));
  EXPECT_EQ(exec::Item::Kind::kAuthenticate, item_.kind);
}

TEST_F(RespConnectionCommandsTest, OtherCommandsAreNotTheConnections) {
  for (const std::string_view command : {"ping", "get", "reset"})
    EXPECT_EQ("none", Ask({command, "a"})) << command;
}

}  // namespace
}  // namespace rowsocket::frontend
