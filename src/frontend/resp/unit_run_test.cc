// How much the commands of one unit read.
#include "frontend/resp/unit_run.h"

#include <gtest/gtest.h>

#include <string>

#include "frontend/resp/resp_fixture.h"

namespace rowsocket::frontend {
namespace {

constexpr size_t kValueBytes = size_t{8} << 20;
constexpr size_t kMost = model::kReadBytesMax / kValueBytes;

std::string Repeated(const std::string& text, size_t times) {
  std::string repeated;
  for (size_t i = 0; i < times; ++i) repeated += text;
  return repeated;
}

TEST_F(RespTest, TheBytesThatAUnitReadsAreLimited) {
  const std::string value(kValueBytes, 'x'), size = ":" + std::to_string(kValueBytes) + "\r\n";
  store_.CreateTable({"shop.large", {"id", "v"}, {{"PRIMARY", {0}}}}, {{"1", value}});
  store_.CreateTable({"rowsocket.store", {"db", "k", "v", "expires"}, {{"PRIMARY", {0, 1}}}},
                     {{"0", "large", value, std::nullopt}});
  shared_.limits.reply_bytes_max = kValueBytes / 2;
  const auto transaction = [](const std::string& command, size_t times) {
    return "MULTI\r\n" + Repeated(command + "\r\n", times) + "EXEC";
  };
  for (const std::string command : {"STRLEN large", "HSTRLEN large:1 v"}) {
    const std::string answered = Ask(transaction(command, kMost));
    EXPECT_TRUE(answered.ends_with("\r\n*32\r\n" + Repeated(size, kMost))) << command;
    EXPECT_NE(
        std::string::npos,
        Ask(transaction(command, kMost + 1))
            .find("-EXECABORT undone: command 33: TOOLARGE a command, or a transaction, reads"))
        << command;
  }
  EXPECT_EQ("+OK\r\n", Ask("WATCH" + Repeated(" large", kMost)));
  EXPECT_EQ(0u, Ask("WATCH" + Repeated(" large", kMost + 1)).find("-TOOLARGE a command"));
  EXPECT_EQ(":33\r\n", Ask("EXISTS" + Repeated(" large", kMost + 1)));
  EXPECT_EQ(size, Ask("STRLEN large"));
}

TEST_F(RespTest, TheBytesThatChangesReadAndMakeAreLimited) {
  const std::string value(kValueBytes, 'x');
  const std::string last = std::to_string(kValueBytes - 1);
  store_.CreateTable({"shop.large", {"id", "v"}, {{"PRIMARY", {0}}}}, {{"1", value}});
  store_.CreateTable({"rowsocket.store", {"db", "k", "v", "expires"}, {{"PRIMARY", {0, 1}}}},
                     {{"0", "large", value, std::nullopt}});
  shared_.limits.reply_bytes_max = kValueBytes / 2;
  const auto refused = [&](const std::string& commands) {
    const std::string reply = Ask("MULTI\r\n" + commands + "EXEC");
    return reply.find(": TOOLARGE a command, or a transaction, reads or makes") !=
           std::string::npos;
  };
  EXPECT_FALSE(refused(Repeated("PERSIST large\r\n", kMost)));
  for (const std::string command : {"PERSIST large", "HSETNX large:1 v x"})
    EXPECT_TRUE(refused(Repeated(command + "\r\n", kMost + 1))) << command;
  EXPECT_TRUE(refused(Repeated("APPEND large \"\"\r\n", kMost / 2 + 1))) << "reads it, makes it";
  std::string makes;
  for (size_t i = 0; i <= kMost; ++i)
    makes += "SETRANGE k" + std::to_string(i) + " " + last + " x\r\n";
  EXPECT_TRUE(refused(makes));
  EXPECT_EQ("*2\r\n$-1\r\n$-1\r\n", Ask("MGET k0 k32")) << "nothing is left of it";
  EXPECT_EQ(":" + std::to_string(kValueBytes) + "\r\n", Ask("SETRANGE k0 " + last + " x"));
}

// A key is deleted once, so that a client cannot make the server read more than it holds.
TEST_F(RespTest, ValuesThatAreDeletedDoNotCountAsRead) {
  const std::string value(kValueBytes, 'x');
  std::string keys;
  std::vector<engine::fake::Row> rows;
  for (size_t i = 0; i <= kMost; ++i) {
    const std::string key = "k" + std::to_string(10 + i);
    rows.push_back({"0", key, value, std::nullopt});
    keys += " " + key;
  }
  store_.CreateTable({"rowsocket.store", {"db", "k", "v", "expires"}, {{"PRIMARY", {0, 1}}}}, rows);
  shared_.limits.reply_bytes_max = kValueBytes / 2;
  EXPECT_EQ(":33\r\n", Ask("DEL" + keys));
}

}  // namespace
}  // namespace rowsocket::frontend
