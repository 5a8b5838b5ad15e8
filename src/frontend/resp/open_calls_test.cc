// Tables that commands need and do not get: those that are absent or locked, or that the server
// cannot open.
#include <gtest/gtest.h>

#include <string>

#include "frontend/resp/resp_fixture.h"

namespace rowsocket::frontend {
namespace {

using engine::Outcome;
using engine::fake::Call;
using model::Error;

/// Fails each look at the table `name` with `error`.
engine::fake::Hook FailToOpen(std::string name, Error error) {
  return [name, error](const Call& call) {
    const bool fails = call.kind == Call::Kind::kOpenIndex && call.names->table == name;
    return fails ? Outcome::Of(error) : Outcome();
  };
}

TEST_F(RespTest, AKeyOfATableThatCannotBeOpenedIsNoString) {
  store_.SetHook(FailToOpen("t", Error::CannotOpen(1812)));
  for (const char* command : {"EXISTS t:1", "DEL t:1", "SET t:1 x", "GET t:1", "MGET t:1",
                              "TYPE t:1", "WATCH t:1", "HGETALL t:1", "SCAN 0 MATCH shop.t:*"}) {
    frontend_.emplace(settings_);
    EXPECT_EQ("-ERR the server cannot open the table (1812)\r\n", Ask(command)) << command;
  }
  EXPECT_EQ("", store_.Dump("rowsocket.store"));
  store_.SetHook({});
  EXPECT_EQ("$2\r\n10\r\n", Ask("HGET t:1 v"));
  EXPECT_EQ("+OK\r\n", Ask("SET none:1 x")) << "a table that is not there leaves its keys";
}

TEST_F(RespTest, AStoreThatCannotBeOpenedIsNotMissing) {
  store_.SetHook(FailToOpen("store", Error::CannotOpen(1812)));
  EXPECT_EQ("-ERR the server cannot open the table (1812)\r\n", Ask("SET a x"));
  store_.SetHook({});
  store_.DropTable("rowsocket.store");
  EXPECT_TRUE(Ask("SET a x").starts_with("-NOSTORE"));
}

TEST_F(RespTest, ATableOfTokensThatIsLockedIsNotMissing) {
  const std::string once = "MULTI\r\nROW.ONCE a\r\nHSET t:1 v 11\r\nEXEC";
  const std::string nothing = "+OK\r\n+QUEUED\r\n+QUEUED\r\n-EXECABORT nothing was done: ";
  const std::string locked =
      "TRYAGAIN not done: the table was locked for longer than resp_wrlock_timeout\r\n";
  store_.SetHook(FailToOpen("tokens", {model::ErrorCode::kLockTables}));
  EXPECT_EQ(nothing + locked, Ask(once));
  EXPECT_EQ("-" + locked, Ask("ROW.OUTCOME a"));
  store_.SetHook(FailToOpen("tokens", {model::ErrorCode::kOpenTable}));
  EXPECT_TRUE(Ask(once).starts_with(nothing + "NOTOKENS "));
  EXPECT_TRUE(Ask("ROW.OUTCOME a").starts_with("-NOTOKENS "));
  store_.SetHook({});
  EXPECT_EQ("+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n:0\r\n", Ask(once));
}

}  // namespace
}  // namespace rowsocket::frontend
