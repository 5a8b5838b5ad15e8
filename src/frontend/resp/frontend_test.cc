#include "frontend/resp/frontend.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "engine/fake/session.h"
#include "frontend/resp/key.h"

namespace rowsocket::frontend {
namespace {

using exec::Item;
using Parsed = exec::Frontend::Parsed;

class RespTest : public ::testing::Test {
 protected:
  RespTest() {
    store_.CreateTable({"shop.t", {"id", "v", "w"}, {{"PRIMARY", {0}}}},
                       {{"1", "10", std::nullopt}, {"2", "20", "b"}});
    store_.CreateTable({"rowsocket.store", {"k", "v", "expires"}, {{"PRIMARY", {0}}}});
    settings_.schema = "shop";
    frontend_.emplace(settings_);
  }

  /// Parses one inline command as a worker does: indexes that are asked for are opened.
  Item Parse(const std::string& line, bool behind_requests = false) {
    for (int attempt = 0; attempt < 5; ++attempt) {
      Item item;
      const exec::Frontend::Step step = frontend_->Parse(line, behind_requests, arena_, &item);
      parsed_ = step.parsed;
      if (!item.is_silent()) return item;
      std::shared_ptr<engine::Index> index;
      const engine::Outcome outcome = session_.OpenIndex(*item.names, &index);
      frontend_->Opened(item, outcome, std::move(index));
      frontend_->Rewind();
    }
    ADD_FAILURE() << line << " asks for indexes without end";
    return {};
  }

  /// The reply to one command, which is executed in a turn of its own.
  std::string Ask(const std::string& command) {
    const Item item = Parse(command + "\r\n");
    return Run(item);
  }
  std::string Run(const Item& item) {
    base::Buffer out;
    if (item.kind == Item::Kind::kRequest) {
      session_.BeginTurn(item.request.is_write());
      const engine::Outcome outcome = frontend_->Execute(item, session_, out);
      if (outcome.transaction_lost)
        session_.Rollback();
      else
        session_.Commit();
      frontend_->Finished(item, outcome.error);
    } else {
      frontend_->Reply(item, out);
    }
    return std::string(out.view());
  }

  engine::fake::Store store_;
  engine::fake::Session session_{store_, engine::LockWait::kNever};
  RespSettings settings_;
  base::Arena arena_;
  Parsed parsed_ = Parsed::kNeedMore;
  std::optional<Resp> frontend_;
};

TEST_F(RespTest, RowsAreHashes) {
  EXPECT_EQ("$2\r\n10\r\n", Ask("HGET t:1 v"));
  EXPECT_EQ("$-1\r\n", Ask("HGET shop.t:1 w"));
  EXPECT_EQ("*2\r\n$1\r\nv\r\n$2\r\n10\r\n", Ask("HGETALL t:1"));
  EXPECT_EQ("*2\r\n$1\r\nb\r\n$2\r\n20\r\n", Ask("HMGET t:2 w v"));
  EXPECT_EQ(":2\r\n", Ask("HSET t:3 v 1 w 2"));
  EXPECT_EQ(":1\r\n", Ask("HSET t:1 v 11 w x"));
  EXPECT_EQ(":16\r\n", Ask("HINCRBY t:1 v 5"));
  EXPECT_EQ("-ERR hash value is not an integer\r\n", Ask("HINCRBY t:1 w 5"));
  EXPECT_EQ(":2\r\n", Ask("DEL t:2 t:3 t:9"));
  EXPECT_EQ("1,16,x;", store_.Dump("shop.t"));
}

TEST_F(RespTest, StringsAreInTheStore) {
  EXPECT_EQ("$-1\r\n", Ask("GET page:1"));
  EXPECT_EQ("+OK\r\n", Ask("SET page:1 a"));
  EXPECT_EQ("$1\r\na\r\n", Ask("GET page:1"));
  EXPECT_EQ("-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
            Ask("GET t:1"));
  EXPECT_EQ(":1\r\n", Ask("INCR n"));
  EXPECT_EQ("*3\r\n$1\r\na\r\n$-1\r\n$1\r\n1\r\n", Ask("MGET page:1 none n"));
}

TEST_F(RespTest, ATransactionIsDoneAsAWhole) {
  EXPECT_EQ("+OK\r\n", Ask("MULTI"));
  EXPECT_EQ("+QUEUED\r\n", Ask("HINCRBY t:1 v 1"));
  EXPECT_EQ("+QUEUED\r\n", Ask("PING"));
  EXPECT_EQ("+QUEUED\r\n", Ask("HSET t:5 v 1"));
  EXPECT_EQ("*3\r\n:11\r\n+PONG\r\n:1\r\n", Ask("EXEC"));
  Ask("MULTI");
  Ask("HINCRBY t:1 v 1");
  Ask("HINCRBY t:2 w 1");
  EXPECT_EQ("-EXECABORT undone: command 2: ERR hash value is not an integer\r\n", Ask("EXEC"));
  Ask("MULTI");
  Ask("HINCRBY t:1 v 1");
  Ask("ROW.REQUIRE t:9 v = 1");
  EXPECT_EQ("*-1\r\n", Ask("EXEC"));
  EXPECT_EQ("1,11,NULL;2,20,b;5,1,NULL;", store_.Dump("shop.t"));
}

// A worker drops an EXEC that it may not execute yet, and gives its bytes again.
TEST_F(RespTest, AnExecThatIsParsedAgainHasItsCommands) {
  Ask("MULTI");
  Ask("HINCRBY t:1 v 1");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Item::Kind::kRequest, Parse("EXEC\r\n").kind);
    frontend_->Rewind();
  }
  const Item item = Parse("EXEC\r\n");
  Parse("HGET t:1 v\r\n", true);
  EXPECT_EQ(Parsed::kLater, parsed_) << "EXEC is the last of its connection in a turn";
  frontend_->Rewind();
  EXPECT_EQ("*1\r\n:11\r\n", Run(item));
  EXPECT_EQ("-ERR EXEC without MULTI\r\n", Ask("EXEC"));
  EXPECT_EQ("$2\r\n11\r\n", Ask("HGET t:1 v"));
}

TEST_F(RespTest, WhatChangesTheConnectionWaitsForTheRequestsBeforeIt) {
  for (const char* command : {"MULTI", "HELLO 3", "CLIENT SETNAME x", "RESET", "QUIT"}) {
    Parse(std::string(command) + "\r\n", true);
    EXPECT_EQ(Parsed::kLater, parsed_) << command;
    frontend_->Rewind();
  }
  EXPECT_EQ("+PONG\r\n", Ask("PING"));
}

TEST(RespKeyTest, TablesIndexesAndParts) {
  base::Arena arena;
  const auto parse = [&](std::string_view text, std::string_view schema) {
    RespKey key;
    if (!ParseRespKey(text, schema, arena, &key)) return std::string("none");
    std::string shown(key.db);
    shown.append("/").append(key.table).append("/").append(key.index);
    for (const model::Value& part : key.parts) shown.append("|").append(part.text());
    return shown;
  };
  EXPECT_EQ("a/b/|1", parse("a.b:1", ""));
  EXPECT_EQ("s/b/|1|2", parse("b:1:2", "s"));
  EXPECT_EQ("a/b/i|x:y|\\|", parse("a.b@i:x\\:y:\\\\:", ""));
  EXPECT_EQ("a/b/|", parse("a.b:", ""));
  for (const char* none : {"", "a", "b:1", ":1", ".b:1", "a.:1"})
    EXPECT_EQ("none", parse(none, ""));
}

TEST(RespKeyTest, NumbersAreWrittenAsTheServerWritesThem) {
  for (const char* text : {"0", "7", "-7", "10"}) EXPECT_FALSE(IsOtherNumber(text)) << text;
  for (const char* text : {"", "007", "+7", "7.0", "-0", "-", " 7", "x"})
    EXPECT_TRUE(IsOtherNumber(text)) << text;
}

}  // namespace
}  // namespace rowsocket::frontend
