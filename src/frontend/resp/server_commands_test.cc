// What tools ask of a server, without a connection.
#include "frontend/resp/server_commands.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace rowsocket::frontend {
namespace {

class RespServerCommandsTest : public ::testing::Test {
 protected:
  RespServerCommandsTest() { shared_.info = &info_; }

  /// The reply to the command; "none" if it is not one of the server's.
  std::string Ask(const std::vector<std::string_view>& words) {
    base::Buffer out;
    item_ = {};
    const RespVerb verb = FindRespCommand(words[0])->verb;
    return server_.Append(verb, words, /*account=*/nullptr, out, &item_) ? std::string(out.view())
                                                                         : "none";
  }

  RespInfo info_;
  RespShared shared_;
  RespState state_;
  RespKeyLocator locator_{shared_};
  RespMonitor monitor_{shared_};
  RespOwnClient own_client_{shared_};
  RespServerCommands server_{shared_, state_, locator_, monitor_, own_client_};
  exec::Item item_;
};

TEST_F(RespServerCommandsTest, OnlyWhatIsAboutTheServerIsAnswered) {
  EXPECT_EQ("+PONG\r\n", Ask({"ping"}));
  EXPECT_EQ("$7\r\ndefault\r\n", Ask({"acl", "WHOAMI"}));
  for (const std::string_view command : {"get", "select", "multi", "auth", "lpush"}) {
    EXPECT_EQ("none", Ask({command, "a", "b"})) << command;
  }
}

TEST_F(RespServerCommandsTest, ClientsAreListedInTheirOrderWhateverThatOfTheIds) {
  RespClients clients;
  shared_.clients = &clients;
  const RespActivity activity;
  for (uint64_t id = 1; id <= 4; ++id) clients.Show(id, RespFacts(), activity);
  const std::string lines = Ask({"client", "LIST", "ID", "4", "9", "1", "4", "-3"});
  EXPECT_LT(lines.find("id=1 "), lines.find("\nid=4 "));
  EXPECT_LT(lines.find("\nid=4 "), lines.size());
  EXPECT_EQ(lines.rfind("id=4 "), lines.find("id=4 "));
  for (const char* const other : {"id=2 ", "id=3 "})
    EXPECT_EQ(std::string::npos, lines.find(other));
}

TEST_F(RespServerCommandsTest, ConfigHasTheLimitsInTheShapeOfTheProtocol) {
  shared_.limits.idle_timeout_s = 17;
  EXPECT_EQ("*2\r\n$7\r\ntimeout\r\n$2\r\n17\r\n", Ask({"config", "GET", "timeou?"}));
  state_.version = resp::Version::k3;
  EXPECT_EQ("%1\r\n$7\r\nTimeout\r\n$2\r\n17\r\n", Ask({"config", "GET", "Timeout"}));
}

TEST_F(RespServerCommandsTest, AServerThatTakesNoWritesIsAReplica) {
  EXPECT_TRUE(Ask({"role"}).starts_with("*3\r\n$6\r\nmaster\r\n"));
  shared_.health = [] {
    model::Health health;
    health.writes = false;
    return health;
  };
  EXPECT_TRUE(Ask({"role"}).starts_with("*5\r\n$5\r\nslave\r\n"));
}

TEST_F(RespServerCommandsTest, TrackingCanBeSwitchedOffAlone) {
  EXPECT_EQ("+OK\r\n", Ask({"client", "TRACKING", "Off"}));
  EXPECT_TRUE(Ask({"client", "TRACKING", "ON"}).starts_with("-ERR CLIENT TRACKING is not served"));
  EXPECT_EQ("-ERR wrong number of arguments for 'client|tracking' command\r\n",
            Ask({"client", "TRACKING"}));
}

TEST_F(RespServerCommandsTest, WhatLooksAtAllConnectionsIsCostly) {
  Ask({"info"});
  EXPECT_TRUE(item_.is_costly);
  Ask({"ping"});
  EXPECT_FALSE(item_.is_costly);
}

}  // namespace
}  // namespace rowsocket::frontend
