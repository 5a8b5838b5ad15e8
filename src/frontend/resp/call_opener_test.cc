// Tables that commands need and do not get: those that are absent or locked, or that the server
// cannot open; and how many indexes a connection has open.
#include "frontend/resp/call_opener.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/resp/call_maker.h"
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
    frontend_.emplace(shared_);
    EXPECT_EQ("-ERR the server cannot open the table (1812)\r\n", Ask(command)) << command;
  }
  EXPECT_EQ("", store_.Dump("rowsocket.store"));
  store_.SetHook({});
  EXPECT_EQ("$2\r\n10\r\n", Ask("HGET t:1 v"));
  EXPECT_EQ("+OK\r\n", Ask("SET none:1 x")) << "a table that is not there leaves its keys";
}

TEST_F(RespTest, ColumnsThatHaveGoneAreNoMistakeOfAClientThatDoesNotNeedThem) {
  const auto execute = [](model::ErrorCode code) {
    return [code](const Call& call) {
      return call.kind == Call::Kind::kExecute ? Outcome::Fail(code) : Outcome();
    };
  };
  store_.SetHook(execute(model::ErrorCode::kFld));
  for (const char* command : {"HGETALL t:1", "HLEN t:1", "HKEYS t:1", "HVALS t:1", "HSCAN t:1 0",
                              "HRANDFIELD t:1", "MEMORY USAGE t:1", "HGET t:1 v"}) {
    EXPECT_EQ("-TRYAGAIN not done: the table's columns have changed since the command before\r\n",
              Ask(command))
        << command;
  }
  for (const char* command : {"HSET t:1 v 1", "HINCRBY t:1 v 1", "HDEL t:1 v"}) {
    EXPECT_TRUE(Ask(command).starts_with("-NOFIELD the table has no column")) << command;
  }
  store_.SetHook(execute(model::ErrorCode::kSequence));
  EXPECT_TRUE(Ask("HSET t:9 v 1").starts_with("-CONSTRAINT a column's DEFAULT is NEXTVAL(...)"));
  store_.SetHook(FailToOpen("t", {model::ErrorCode::kSequence}));
  frontend_.emplace(shared_);
  EXPECT_EQ("-NOTABLE this is a sequence: use SQL\r\n", Ask("HGETALL t:1"));
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

TEST_F(RespTest, AKeyWhoseTableIsNotThereIsLookedForInTheStoreNext) {
  const RespState state;
  const RespKeyLocator locator(shared_);
  RespCallMaker maker(shared_, state, locator);
  RespIndexFinder finder;
  RespRepeatedRequests requests;
  RespCallOpener opener(finder, requests);
  const std::vector<std::string_view> words = {"get", "none:1"};
  std::vector<std::string> asked;
  std::string error;
  std::span<RespCall> calls;
  while (asked.size() < 5) {
    finder.BeginParse(/*after_requests=*/false, /*now_ms=*/0);
    finder.CountParsed(words[1].size());
    calls = maker.Make(*FindRespCommand("get"), words, /*may_name_tables=*/true, arena_, &error);
    exec::Item item;
    if (opener.Open(calls, /*account=*/nullptr, arena_, &item, &error)) break;
    finder.EndParse(/*asks_for_index=*/true);
    ASSERT_EQ(exec::Item::Kind::kSilentOpen, item.kind);
    asked.push_back(item.names->db + "." + item.names->table);
    std::shared_ptr<engine::Index> index;
    const engine::Outcome outcome = session_.OpenIndex(*item.names, &index);
    finder.Opened(outcome, std::move(index));
  }
  EXPECT_EQ("", error);
  EXPECT_EQ((std::vector<std::string>{"shop.none", "rowsocket.store"}), asked);
  ASSERT_EQ(1u, calls.size());
  EXPECT_TRUE(calls[0].is_string);
  EXPECT_NE(nullptr, calls[0].index);
}

/// A command with `fields` fields, of which the first `number` are `w`: each `number` needs another
/// index.
std::string GetFields(size_t fields, size_t number) {
  std::string command = "HMGET t:2";
  for (size_t i = 0; i < fields; ++i) command += i < number ? " w" : " v";
  return command;
}

TEST_F(RespTest, ACommandNamesNoMoreFieldsThanAnIndexIsOpenedWith) {
  const auto repeat = [](const std::string& text) {
    std::string texts;
    for (size_t i = 0; i < model::kColumnsMax; ++i) texts += text;
    return texts;
  };
  const std::string refusal = "-TOOLARGE a command names at most 4096 fields\r\n";
  EXPECT_TRUE(Ask("HMGET t:2" + repeat(" v")).starts_with("*4096\r\n$2\r\n20\r\n"));
  EXPECT_EQ(":0\r\n", Ask("HSET t:2" + repeat(" v 20")));
  const uint64_t opened = store_.calls(Call::Kind::kOpenIndex);
  EXPECT_EQ(refusal, Ask("HMGET t:2" + repeat(" v") + " v"));
  EXPECT_EQ(refusal, Ask("HDEL t:2" + repeat(" v") + " v"));
  EXPECT_EQ(refusal, Ask("HSET t:2" + repeat(" v 20") + " v 20"));
  EXPECT_EQ(refusal, Ask("HMSET t:2" + repeat(" v 20") + " v 20"));
  EXPECT_EQ(opened, store_.calls(Call::Kind::kOpenIndex));
}

TEST_F(RespTest, TheColumnsThatATransactionOpensAreLimited) {
  constexpr size_t kFields = 4000;
  attempts_max_ = 100;
  const auto transaction = [](size_t commands) {
    std::string text = "MULTI\r\n";
    for (size_t i = 0; i < commands; ++i) text += GetFields(kFields, i) + "\r\n";
    return text + "EXEC";
  };
  const size_t most = model::kRespCommandColumnsMax / kFields;
  EXPECT_NE(std::string::npos, Ask(transaction(most)).find("\r\n*16\r\n*4000\r\n"));
  frontend_.emplace(shared_);
  const std::string refused = Ask(transaction(2 * most));
  EXPECT_NE(std::string::npos,
            refused.find("-EXECABORT nothing was done: command 18: TOOLARGE the commands of a "
                         "transaction open at most 65536 columns together"))
      << refused;
  EXPECT_NE(std::string::npos, Ask(transaction(most)).find("\r\n*16\r\n*4000\r\n"))
      << "what was opened before is closed first";
}

TEST_F(RespTest, ManyOpenIndexesAreClosedBeforeTheNextTurn) {
  constexpr size_t kFields = 4000;
  Parse("HGET t:1 v\r\n");
  size_t number = 0;
  while (parsed_ == exec::Frontend::Parsed::kItem && number < kFields) {
    Parse(GetFields(kFields, number++) + "\r\n", /*after_requests=*/true);
  }
  EXPECT_EQ(exec::Frontend::Parsed::kLater, parsed_) << "items of the turn use the open indexes";
  EXPECT_EQ(model::kRespOpenIndexColumnsMax / kFields + 1, number);
  frontend_->Rewind();
  EXPECT_TRUE(Ask(GetFields(kFields, number)).starts_with("*4000\r\n"));
  EXPECT_LT(frontend_->held_bytes(), 2 * kFields * 100) << "only this one is open";
}

TEST_F(RespTest, TheMemoryOfManyOpenIndexesIsHeld) {
  constexpr size_t kFields = 4000, kNameBytes = 30;
  Ask("HGET t:1 v");
  Ask("HMGET t:1 v w");
  EXPECT_EQ(0u, frontend_->held_bytes());
  size_t before = 0;
  for (size_t number = 1; number < 5; ++number) {
    Ask(GetFields(kFields, number));
    EXPECT_LT(before + kFields * kNameBytes, frontend_->held_bytes());
    before = frontend_->held_bytes();
  }
}

/// Commands with different fields that the table lacks: each command looks for two indexes.
std::vector<std::string> LongCommands(size_t count, size_t bytes) {
  std::vector<std::string> commands;
  const std::string rest = "\r\n$" + std::to_string(bytes) + "\r\n" + std::string(bytes, 'x');
  for (size_t i = 0; i < count; ++i) {
    const std::string field = std::to_string(1000 + i);
    commands.push_back("*4\r\n$5\r\nHMGET\r\n$3\r\nt:1\r\n$4\r\n" + field + rest + "\r\n");
  }
  return commands;
}

std::string WholeOf(const std::vector<std::string>& commands) {
  std::string text = "MULTI\r\n";
  for (const std::string& command : commands) text += command;
  return text + "EXEC";
}

TEST_F(RespTest, TheBytesThatAreParsedForATransactionAreLimited) {
  attempts_max_ = 1000;
  const std::string longest =
      WholeOf(LongCommands(model::kRespIndexesOpenedMin / 2, size_t{1} << 20));
  EXPECT_NE(std::string::npos, Ask(longest).find("\r\n*8\r\n*2\r\n$-1\r\n$-1\r\n"));
  EXPECT_LT(model::kRespBytesParsedMax, bytes_parsed_) << "the longest may have several tables";

  frontend_.emplace(shared_);
  bytes_parsed_ = 0;
  const std::vector<std::string> commands = LongCommands(100, size_t{16} << 10);
  const std::string many = WholeOf(commands);
  EXPECT_NE(std::string::npos, Ask(many).find(": TOOLARGE the command is too long for the tables"));
  EXPECT_LT(bytes_parsed_, model::kRespBytesParsedMax + 2 * many.size());

  frontend_.emplace(shared_);
  Ask("MULTI");
  for (const std::string& command : commands) EXPECT_EQ("+QUEUED\r\n", Ask(command));
  const uint64_t before = store_.calls(Call::Kind::kOpenIndex);
  EXPECT_NE(std::string::npos, Ask("EXEC").find(": TOOLARGE the command is too long"));
  const uint64_t opened = store_.calls(Call::Kind::kOpenIndex) - before;
  EXPECT_LT(opened * many.size(), model::kRespBytesParsedMax + 2 * many.size());
}

}  // namespace
}  // namespace rowsocket::frontend
