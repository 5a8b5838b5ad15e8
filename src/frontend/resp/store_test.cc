// What commands on strings read of the store.
#include "frontend/resp/store.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "frontend/resp/resp_fixture.h"

namespace rowsocket::frontend {
namespace {

TEST_F(RespTest, WhatAsksForTheExpiryAloneDoesNotReadTheValue) {
  Ask("SET a x");
  Ask("SET b x PXAT 4102444800000");
  std::vector<std::string> read;
  store_.SetHook([&read](const engine::fake::Call& call) {
    if (call.kind == engine::fake::Call::Kind::kExecute) read = call.names->columns;
    return engine::Outcome();
  });
  const std::pair<const char*, const char*> replies[] = {{"EXISTS a", ":1\r\n"},
                                                         {"EXISTS none", ":0\r\n"},
                                                         {"TOUCH b a", ":2\r\n"},
                                                         {"TTL a", ":-1\r\n"},
                                                         {"PTTL none", ":-2\r\n"},
                                                         {"EXPIRETIME b", ":4102444800\r\n"},
                                                         {"PEXPIRETIME b", ":4102444800000\r\n"},
                                                         {"TYPE b", "+string\r\n"}};
  for (const auto& [command, reply] : replies) {
    read.clear();
    EXPECT_EQ(reply, Ask(command));
    EXPECT_EQ(std::vector<std::string>{"expires"}, read) << command;
  }
  EXPECT_EQ("$1\r\nx\r\n", Ask("GET b"));
  EXPECT_EQ((std::vector<std::string>{"v", "expires"}), read);
}

// The counters of HandlerSocket's words are not for what only RESP refuses.
TEST_F(RespTest, ARefusalThatOnlyRespHasWordsForHasACauseOfItsOwn) {
  Ask("SET a text");
  EXPECT_EQ(model::ErrorCode::kNone, answer_.code);
  EXPECT_EQ("-ERR value is not an integer or out of range\r\n", Ask("INCR a"));
  EXPECT_EQ(model::ErrorCode::kRefused, answer_.code);
  EXPECT_EQ("-ERR no such key\r\n", Ask("RENAME none b"));
  EXPECT_EQ(model::ErrorCode::kRefused, answer_.code);
  EXPECT_EQ("-EXECABORT undone: command 1: ERR value is not an integer or out of range\r\n",
            (Ask("MULTI"), Ask("INCR a"), Ask("EXEC")));
  EXPECT_EQ(model::ErrorCode::kRefused, answer_.code);
}

}  // namespace
}  // namespace rowsocket::frontend
