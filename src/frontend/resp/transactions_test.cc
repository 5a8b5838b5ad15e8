#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/resp/resp_fixture.h"

namespace rowsocket::frontend {
namespace {

using engine::Outcome;
using exec::Item;
using Parsed = exec::Frontend::Parsed;

TEST_F(RespTest, ExecTellsWhichCommandCannotBeDone) {
  for (const auto& [command, error] : std::vector<std::pair<std::string, std::string>>{
           {"HSET t:1 none 1", "NOFIELD the table has no column of this name beside its key"},
           {"SET t:1 a", "WRONGTYPE Operation against a key holding the wrong kind of value"},
           {"ROW.REQUIRE t:1 v like 1", "ERR the operator of ROW.REQUIRE is one of = != > >= < <="},
           {"HGET shop.none:1 v",
            "NOTABLE no table of this name is served here: keys are schema.table:key"}}) {
    Ask("MULTI");
    Ask("PING");
    Ask("HINCRBY t:1 v 1");
    Ask(command);
    EXPECT_EQ("-EXECABORT nothing was done: command 3: " + error + "\r\n", Ask("EXEC")) << command;
  }
  EXPECT_EQ("$2\r\n10\r\n", Ask("HGET t:1 v"));
}

TEST_F(RespTest, AnErrorOfOneCommandUndoesTheTransaction) {
  Ask("MULTI");
  Ask("SET a 1");
  Ask("OBJECT FREQ a");
  EXPECT_EQ(0u, Ask("EXEC").find("-EXECABORT undone: command 2: ERR An LFU maxmemory policy"));
  EXPECT_EQ("$-1\r\n", Ask("GET a"));
}

TEST_F(RespTest, AWatchedRowIsComparedCellByCell) {
  const std::pair<const char*, const char*> changes[] = {
      {"HSET t:5 v 1 w 23", "HSET t:5 v 12 w 3"},
      {"HSET t:5 v - w 1", "HDEL t:5 v"},
      {"HSET t:5 v 1:a w b", "HSET t:5 v 1 w a:b"}};
  for (const auto& [before, after] : changes) {
    for (const bool is_changed : {false, true}) {
      Ask(before);
      EXPECT_EQ("+OK\r\n", Ask("WATCH t:5"));
      if (is_changed) Ask(after);
      Ask("MULTI");
      Ask("HGET t:1 v");
      EXPECT_EQ(is_changed ? "*-1\r\n" : "*1\r\n$2\r\n10\r\n", Ask("EXEC")) << after;
    }
  }
}

TEST_F(RespTest, AnExecWithArgumentsEndsTheWatch) {
  for (const bool is_in_multi : {false, true}) {
    Ask("HSET t:5 v 1");
    EXPECT_EQ("+OK\r\n", Ask("WATCH t:5"));
    if (is_in_multi) Ask("MULTI");
    EXPECT_EQ(0u, Ask("EXEC x").find("-EXECABORT Transaction discarded because of: wrong number"));
    Ask("HSET t:5 v 2");
    Ask("MULTI");
    Ask("HGET t:5 v");
    EXPECT_EQ("*1\r\n$1\r\n2\r\n", Ask("EXEC")) << is_in_multi;
  }
}

// A number that is not written as the server writes it is no row's key.
TEST_F(RespTest, ACommandOnAKeyThatCannotBeThereIsDone) {
  engine::fake::TableDefinition definition{"shop.n", {"id", "v"}, {{"PRIMARY", {0}}}};
  definition.facts["id"].kind = engine::ColumnFacts::Kind::kInteger;
  store_.CreateTable(definition, {{"7", "70"}});
  EXPECT_EQ(":0\r\n", Ask("HDEL n:007 v"));
  EXPECT_EQ(":0\r\n", Ask("DEL n:007"));
  EXPECT_EQ(0u, Ask("HSET n:007 v 1").find("-CONSTRAINT "));
  EXPECT_EQ("+OK\r\n", Ask("WATCH n:007"));
  Ask("MULTI");
  Ask("DEL n:007");
  EXPECT_EQ("*1\r\n:0\r\n", Ask("EXEC"));
  EXPECT_EQ("$2\r\n70\r\n", Ask("HGET n:7 v"));
}

// A write that meets no row locks nothing, so that another session may insert the row after it.
TEST_F(RespTest, ARowThatAppearsAfterAWriteThatMetNoneEndsTheWatch) {
  const engine::fake::TableDefinition rows{"shop.t", {"id", "v", "w"}, {{"PRIMARY", {0}}}};
  const engine::fake::TableDefinition strings{
      "rowsocket.store", {"db", "k", "v", "expires"}, {{"PRIMARY", {0, 1}}}};
  const auto exec_of = [&](const std::string& key, const std::vector<std::string>& commands) {
    store_.SetHook({});
    store_.CreateTable(rows);
    store_.CreateTable(strings);
    EXPECT_EQ("+OK\r\n", Ask("WATCH " + key));
    Ask("MULTI");
    for (const std::string& command : commands) EXPECT_EQ("+QUEUED\r\n", Ask(command));
    const Item exec = Parse("EXEC\r\n");
    // The comparison is the first statement, the write that meets no row the second one.
    store_.SetHook([&](const engine::fake::Call& call) {
      if (call.kind == engine::fake::Call::Kind::kExecute && call.number == 3) {
        store_.CreateTable(rows, {{"5", "50", std::nullopt}});
        store_.CreateTable(strings, {{"0", "s", "50", std::nullopt}});
      }
      return Outcome();
    });
    const std::string reply = Run(exec);
    store_.SetHook({});
    return reply;
  };
  for (const char* const first : {"HDEL t:5 v", "DEL t:5"}) {
    EXPECT_EQ("*-1\r\n", exec_of("t:5", {first, "HSET t:5 v 1"})) << first;
    EXPECT_EQ("5,50,NULL;", store_.Dump("shop.t")) << first;
  }
  for (const char* const first : {"DEL s", "GETDEL s", "EXPIRE s 10", "PERSIST s", "GETEX s EX 10",
                                  "SET s 1 XX", "SETRANGE s 0 \"\""}) {
    EXPECT_EQ("*-1\r\n", exec_of("s", {first, "SET s 1"})) << first;
    EXPECT_EQ("0,s,50,NULL;", store_.Dump("rowsocket.store")) << first;
  }
}

TEST_F(RespTest, ARowThatAppearsEndsTheWatchBeforeAWriteByTheOtherNameOfThePrimaryKey) {
  const engine::fake::TableDefinition rows{"shop.t", {"id", "v", "w"}, {{"PRIMARY", {0}}}};
  for (const auto& [watched, written] : {std::pair{"t:5", "t@PRIMARY:5"}, {"t@PRIMARY:5", "t:5"}}) {
    store_.CreateTable(rows);
    EXPECT_EQ("+OK\r\n", Ask(std::string("WATCH ") + watched));
    Ask("MULTI");
    EXPECT_EQ("+QUEUED\r\n", Ask(std::string("HSET ") + written + " v 1"));
    const Item exec = Parse("EXEC\r\n");
    store_.SetHook([&](const engine::fake::Call& call) {
      if (call.kind == engine::fake::Call::Kind::kExecute && call.number == 2)
        store_.CreateTable(rows, {{"5", "50", std::nullopt}});
      return Outcome();
    });
    EXPECT_EQ("*-1\r\n", Run(exec)) << watched;
    store_.SetHook({});
    EXPECT_EQ("5,50,NULL;", store_.Dump("shop.t")) << watched;
  }
}

TEST_F(RespTest, ACommandThatReadsIsNotToBlameWhereTheServerTakesNoWrites) {
  const auto exec_of = [&](const std::vector<std::string>& commands, uint64_t first,
                           model::Error error) {
    Ask("MULTI");
    for (const std::string& command : commands) EXPECT_EQ("+QUEUED\r\n", Ask(command));
    const Item exec = Parse("EXEC\r\n");
    store_.SetHook([=](const engine::fake::Call& call) {
      const bool fails = call.kind == engine::fake::Call::Kind::kExecute && call.number >= first;
      return fails ? Outcome::Of(error) : Outcome();
    });
    const std::string reply = Run(exec);
    store_.SetHook({});
    return reply;
  };
  const std::string why =
      "READONLY the server takes no writes now: read_only, or the schema is READ ONLY\r\n";
  const model::Error read_only = model::Error::ServerReadOnly(1290);
  using model::ErrorCode;
  EXPECT_EQ("-EXECABORT nothing was done: " + why,
            exec_of({"HGET t:1 v", "HINCRBY t:2 v 1"}, 1, read_only));
  EXPECT_EQ("-EXECABORT nothing was done: OFFLINE the server's offline_mode is ON\r\n",
            exec_of({"HINCRBY t:1 v 1", "HINCRBY t:2 v 1"}, 1, model::Error{ErrorCode::kOffline}));
  EXPECT_EQ("-EXECABORT nothing was done: command 1: " + why,
            exec_of({"HINCRBY t:1 v 1", "HINCRBY t:2 v 1"}, 1, read_only));
  EXPECT_EQ("-EXECABORT undone: command 2: " + why,
            exec_of({"HINCRBY t:1 v 1", "HINCRBY t:2 v 1"}, 2, read_only));
  EXPECT_EQ("-EXECABORT undone: command 2: CONSTRAINT the table is read only (1036)\r\n",
            exec_of({"HGET t:1 v", "HINCRBY t:2 v 1"}, 2,
                    model::Error::ServerReadOnly(model::kTableIsReadOnly)));
  EXPECT_TRUE(exec_of({"HGET t:1 v", "HGET t:2 v"}, 1, model::Error{ErrorCode::kLockTables})
                  .starts_with("-EXECABORT undone: command 1: TRYAGAIN"));
}

TEST_F(RespTest, ARowThatTheTransactionItselfMakesEndsNoWatch) {
  Ask("WATCH t:5 s");
  Ask("MULTI");
  for (const char* const command : {"DEL t:5", "HSET t:5 v 1", "HINCRBY t:5 v 1", "DEL t:5",
                                    "HSET t:5 v 3", "DEL s", "SET s 1", "APPEND s 2"}) {
    EXPECT_EQ("+QUEUED\r\n", Ask(command));
  }
  EXPECT_EQ("*8\r\n:0\r\n:1\r\n:2\r\n:1\r\n:1\r\n:0\r\n+OK\r\n:2\r\n", Ask("EXEC"));
}

TEST_F(RespTest, EmptyArgumentsTakeRoomInATransaction) {
  shared_.limits.line_bytes_max = 4096;
  frontend_.emplace(shared_);
  Ask("MULTI");
  std::string command = "HMGET t:1";
  for (int i = 0; i < 200; ++i) command += " \"\"";
  EXPECT_EQ(0u, Ask(command).find("-TOOLARGE ")) << "200 empty arguments are 200 strings";
}

TEST_F(RespTest, WatchedKeysHaveBytesTogether) {
  const std::string key(model::kRespWatchedBytesMax / 4, 'k');
  const std::string watch =
      "*2\r\n$5\r\nWATCH\r\n$" + std::to_string(key.size()) + "\r\n" + key + "\r\n";
  for (int i = 0; i < 5; ++i) EXPECT_EQ("+OK\r\n", Run(Parse(watch)));
  Ask("MULTI");
  Ask("SET a 1");
  EXPECT_EQ(0u, Ask("EXEC").find("-EXECABORT nothing was done: ERR at most 64 keys"));
  EXPECT_EQ("+OK\r\n", Ask("WATCH a"));
  Ask("MULTI");
  Ask("SET a 1");
  EXPECT_EQ("*1\r\n+OK\r\n", Ask("EXEC"));
}

// The turn sets Request::shares_row if a transaction of the turn changes the row, too.
TEST_F(RespTest, ACommandSharesItsRowWithTransactions) {
  for (const bool shares : {true, false}) {
    for (const char* const command : {"HINCRBY t:1 v 1", "HSET t:1 v 1", "SET a 1", "DEL t:2"}) {
      bool has_shared = !shares;
      store_.SetHook([&](const engine::fake::Call& call) {
        if (call.kind == engine::fake::Call::Kind::kExecute) has_shared = call.request->shares_row;
        return Outcome();
      });
      Item item = Parse(command + std::string("\r\n"));
      item.request.shares_row = shares;
      Run(item);
      EXPECT_EQ(shares, has_shared) << command;
    }
  }
}

// Clients send a transaction as a whole; people type it command by command.
TEST_F(RespTest, ATransactionIsTheSameInOnePieceAndInMany) {
  const std::vector<std::vector<std::string>> transactions = {
      {},
      {"PING"},
      {"HGET t:1 v", "PING x", "HINCRBY t:1 v 1", "SET a 1", "GET a"},
      {"ECHO x", "PUBLISH a b", "UNWATCH", "HINCRBY t:1 v 1"},
      {"PING x y", "HINCRBY t:1 v 1"},
      {"ROW.REQUIRE t:1 v >= 100", "HINCRBY t:1 v 1"},
      {"HINCRBY t:1 v 1", "HINCRBY t:1 w x"},
      {"HINCRBY t:1 v 1", "HSET t:1 x 1"},
      {"NONE", "HINCRBY t:1 v 1"},
      {"HINCRBY t:1", "HINCRBY t:1 v 1"},
      {"LPUSH a 1", "PING"},
      {"WATCH t:1", "HINCRBY t:1 v 1"},
      {"SELECT 1", "HINCRBY t:1 v 1"},
      {"MULTI", "HINCRBY t:1 v 1"},
      {"DISCARD", "HGET t:1 v"},
      {"ROW.ONCE a", "ROW.ONCE b", "HINCRBY t:1 v 1"},
      {"ROW.ONCE c", "HINCRBY t:1 v 1"},
      std::vector<std::string>(64, "HGET t:1 v"),
      std::vector<std::string>(65, "HGET t:1 v"),
  };
  for (const std::vector<std::string>& commands : transactions) {
    std::string text = "MULTI\r\n";
    for (const std::string& command : commands) text += command + "\r\n";
    text += "EXEC\r\n";
    const auto all = [&](bool in_one_piece) {
      store_.DropTable("rowsocket.tokens");
      store_.CreateTable({"rowsocket.tokens",
                          {"token", "request", "answer", "created"},
                          {{"PRIMARY", {0}}, {"created", {3}}}});
      Ask("HSET t:1 v 10");
      std::string replies;
      for (std::string_view left = text; !left.empty();) {
        const std::string given(in_one_piece ? left : left.substr(0, left.find('\n') + 1));
        const Item item = Parse(given);
        replies += Run(item);
        left.remove_prefix(consumed_);
      }
      return replies + "EXEC left: " + Ask("HGET t:1 v");
    };
    EXPECT_EQ(all(false), all(true)) << text;
  }
}

TEST_F(RespTest, RepliesAreLeftOutAsTheClientAsks) {
  EXPECT_EQ("", Ask("CLIENT REPLY OFF"));
  EXPECT_EQ("", Ask("HINCRBY t:1 v 1"));
  EXPECT_EQ("", Ask("HINCRBY t:1 w 1"));
  EXPECT_EQ("", Ask("NONE"));
  EXPECT_EQ("", Ask("CLIENT REPLY SKIP"));
  EXPECT_EQ("", Ask("MULTI\r\nHINCRBY t:1 v 1\r\nEXEC"));
  EXPECT_EQ("", Ask("GET none"));
  EXPECT_EQ("+OK\r\n", Ask("CLIENT REPLY ON"));
  EXPECT_EQ("$2\r\n12\r\n", Ask("HGET t:1 v"));
  EXPECT_EQ("-ERR syntax error\r\n", Ask("CLIENT REPLY MAYBE"));
  for (const char* skipped : {"HINCRBY t:1 v 1", "PING", "HGET t:1 x y", "HINCRBY t:1 v 1"}) {
    EXPECT_EQ("", Ask("CLIENT REPLY SKIP"));
    EXPECT_EQ("", Ask(skipped)) << skipped;
    EXPECT_EQ("+PONG\r\n", Ask("PING"));
  }
  EXPECT_EQ("", Ask("CLIENT REPLY SKIP"));
  EXPECT_EQ("", Ask("CLIENT REPLY SKIP"));
  EXPECT_EQ("", Ask("MULTI"));
  EXPECT_EQ("+QUEUED\r\n", Ask("HGET t:1 v"));
  EXPECT_EQ("*1\r\n$2\r\n14\r\n", Ask("EXEC"));
  EXPECT_EQ("", Ask("CLIENT REPLY OFF"));
  EXPECT_EQ("+RESET\r\n", Ask("RESET"));
  EXPECT_EQ("+PONG\r\n", Ask("PING"));
}

// The command after the one that is skipped is parsed when that one has its answer.
TEST_F(RespTest, ASkipIsForOneCommandThatMayBeParsedAgain) {
  Ask("CLIENT REPLY SKIP");
  Item first = Parse("HGET t:1 v\r\n");
  Item later;
  EXPECT_EQ(Parsed::kLater, frontend_->Parse("PING\r\n", true, arena_, &later).parsed);
  frontend_->Rewind();
  EXPECT_EQ(Parsed::kLater, frontend_->Parse("PING\r\n", true, arena_, &later).parsed);
  frontend_->Rewind();
  // The first command is stopped, and sent again.
  frontend_->Rewind();
  first = Parse("HGET t:1 v\r\n");
  EXPECT_EQ("", Run(first));
  EXPECT_EQ("$2\r\n10\r\n", Ask("HGET t:1 v"));
}

// A connection that has several transactions in flight has them executed together.
TEST_F(RespTest, TransactionsOfOneConnectionShareATurn) {
  const std::string text = "MULTI\r\nHINCRBY t:1 v 1\r\nEXEC\r\n";
  for (const bool after_requests : {false, true}) {
    const Item item = Parse(text, after_requests);
    EXPECT_EQ(Parsed::kItem, parsed_);
    EXPECT_EQ(Item::Kind::kRequest, item.kind);
    EXPECT_EQ(text.size(), consumed_);
  }
}

TEST_F(RespTest, ACommandWithTooManyWordsEndsNoConnection) {
  std::string words = "*20003\r\n$4\r\nMSET\r\n";
  for (int i = 0; i < 20'002; ++i) words += "$1\r\nx\r\n";
  const std::string refusal = "-TOOLARGE a command has at most 20002 words\r\n";
  const Item item = Parse(words);
  EXPECT_FALSE(item.closes);
  EXPECT_EQ(words.size(), consumed_);
  EXPECT_EQ(refusal, Run(item));
  EXPECT_EQ("+PONG\r\n", Ask("PING"));
  const std::string text = "MULTI\r\n" + words + "EXEC\r\n";
  std::string replies;
  for (std::string_view left = text; !left.empty(); left.remove_prefix(consumed_))
    replies += Run(Parse(std::string(left)));
  EXPECT_EQ(
      "+OK\r\n" + refusal + "-EXECABORT Transaction discarded because of previous errors.\r\n",
      replies);
  EXPECT_EQ("", store_.Dump("rowsocket.store"));
}

TEST_F(RespTest, WhatIsQueuedOrWatchedIsHeld) {
  shared_.limits.line_bytes_max = 2000;
  frontend_.emplace(shared_);
  const std::string value(1000, 'x');
  Ask("MULTI");
  EXPECT_EQ(0u, frontend_->held_bytes());
  EXPECT_EQ("+QUEUED\r\n", Ask("SET a " + value));
  const size_t held = frontend_->held_bytes();
  EXPECT_LT(value.size(), held);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Ask("SET a " + value).starts_with("-TOOLARGE"));
  EXPECT_EQ(held, frontend_->held_bytes()) << "what was refused is not kept";
  Ask("DISCARD");
  EXPECT_EQ(0u, frontend_->held_bytes());
  Ask("WATCH " + value);
  EXPECT_LT(value.size(), frontend_->held_bytes());
  Ask("MULTI");
  Ask("SET a " + value);
  EXPECT_LT(2 * value.size(), frontend_->held_bytes());
  Ask("EXEC");
  EXPECT_EQ(0u, frontend_->held_bytes()) << "few open indexes do not count";
}

TEST_F(RespTest, ATransactionWithATokenTakesEffectOnce) {
  const auto transaction = [&](std::vector<std::string> commands) {
    Ask("MULTI");
    for (const std::string& command : commands) Ask(command);
    return Ask("EXEC");
  };
  const std::vector<std::string> sale = {"ROW.ONCE t-1", "HINCRBY t:1 v -1", "HSET t:9 v 1"};
  EXPECT_EQ("*3\r\n+OK\r\n:9\r\n:1\r\n", transaction(sale));
  EXPECT_EQ("*3\r\n+OK\r\n:9\r\n:1\r\n", transaction(sale)) << "the kept reply";
  EXPECT_EQ("1,9,NULL;2,20,b;9,1,NULL;", store_.Dump("shop.t"));
  EXPECT_EQ(
      "-EXECABORT undone: TOKENDIFFERS the token was used for another transaction; nothing was "
      "done\r\n",
      transaction({"ROW.ONCE t-1", "HINCRBY t:1 v -2"}));
  EXPECT_EQ("-EXECABORT nothing was done: ERR ROW.ONCE is for transactions that write\r\n",
            transaction({"ROW.ONCE t-2", "HGET t:1 v"}));
  // What was not applied keeps no token.
  EXPECT_EQ("*-1\r\n",
            transaction({"ROW.ONCE t-3", "ROW.REQUIRE t:1 v >= 10", "HINCRBY t:1 v -10"}));
  EXPECT_EQ("*2\r\n$7\r\nunknown\r\n$-1\r\n", Ask("ROW.OUTCOME t-3"));
  EXPECT_EQ("*3\r\n+OK\r\n+OK\r\n:0\r\n",
            transaction({"ROW.ONCE t-3", "ROW.REQUIRE t:1 v >= 9", "HINCRBY t:1 v -9"}));
  EXPECT_EQ("*2\r\n$4\r\ndone\r\n*3\r\n+OK\r\n+OK\r\n:0\r\n", Ask("ROW.OUTCOME t-3"));
  // A fence: the transaction, which may be on its way, never takes effect.
  EXPECT_EQ("*2\r\n$5\r\nnever\r\n$-1\r\n", Ask("ROW.OUTCOME t-4 FENCE"));
  EXPECT_EQ("*2\r\n$5\r\nnever\r\n$-1\r\n", Ask("ROW.OUTCOME t-4"));
  EXPECT_EQ(
      "-EXECABORT undone: TOKENDIFFERS the token was used for another transaction; nothing was "
      "done\r\n",
      transaction({"ROW.ONCE t-4", "HINCRBY t:2 v 1"}));
  EXPECT_EQ("1,0,NULL;2,20,b;9,1,NULL;", store_.Dump("shop.t"));
}

// The limit of an account counts requests that name it.
TEST_F(RespTest, WhoAsksForATokenIsCountedAndJudgedByNoRights) {
  shared_.account = std::make_shared<model::Account>("app", "%");
  frontend_.emplace(shared_);
  unsigned judged = 0;
  store_.SetHook([&judged](const engine::fake::Call& call) {
    judged += call.kind == engine::fake::Call::Kind::kJudge;
    return Outcome();
  });
  EXPECT_EQ("*2\r\n$7\r\nunknown\r\n$-1\r\n", Ask("ROW.OUTCOME t-1"));
  EXPECT_EQ(0u, judged);
  store_.SetHook({});
  Item item = Parse("ROW.OUTCOME t-1\r\n");
  EXPECT_EQ(Item::Kind::kRequest, item.kind);
  EXPECT_EQ(shared_.account.get(), item.request.account);
  frontend_->Refuse(item, {model::ErrorCode::kAccountRate}, arena_);
  EXPECT_EQ(0u, Run(item).find("-RATE "));
}

TEST_F(RespTest, WatchedKeysAreNoneOfATransactionsKeys) {
  std::string all = "DEL", one_less = "DEL";
  for (size_t i = 0; i < model::kRespUnitKeysMax; ++i) {
    all += " k" + std::to_string(i);
    if (i + 1 < model::kRespUnitKeysMax) one_less += " k" + std::to_string(i);
  }
  for (const std::string& commands : {"PING\r\n" + all, one_less + "\r\nSET a 1"}) {
    Ask("WATCH a b");
    const std::string whole = Ask("MULTI\r\n" + commands + "\r\nEXEC");
    EXPECT_NE(std::string::npos, whole.find("*2\r\n")) << whole;
  }
  Ask("WATCH a");
  Ask("MULTI");
  EXPECT_EQ("+QUEUED\r\n", Ask(all));
  EXPECT_EQ("+QUEUED\r\n", Ask("PING"));
  EXPECT_EQ("-TOOLARGE at most 10000 keys are served together\r\n", Ask("SET a 1"));
  EXPECT_EQ("-EXECABORT Transaction discarded because of previous errors.\r\n", Ask("EXEC"));
}

TEST_F(RespTest, AReplyThatNoTokenIsKeptWithNamesThatLimit) {
  Ask("SETRANGE large " + std::to_string(model::kTokenAnswerBytesMax) + " x");
  Ask("MULTI");
  Ask("ROW.ONCE t-1");
  Ask("HINCRBY t:1 v 1");
  Ask("GET large");
  EXPECT_EQ(
      "-EXECABORT undone: command 3: TOOLARGE the reply is larger than the 64 KiB that are kept "
      "with a token: read in another transaction\r\n",
      Ask("EXEC"));
}

TEST_F(RespTest, AMissingRightIsFoundBeforeAnythingIsDone) {
  shared_.account = std::make_shared<model::Account>("app", "%");
  frontend_.emplace(shared_);
  Ask("MULTI");
  Ask("HINCRBY t:1 v 1");
  Ask("HINCRBY t:2 v 1");
  const Item exec = Parse("EXEC\r\n");
  unsigned judged = 0;
  store_.SetHook([&judged](const engine::fake::Call& call) {
    const bool is_denied = call.kind == engine::fake::Call::Kind::kJudge && ++judged == 2;
    return is_denied ? Outcome::Fail(model::ErrorCode::kDenied) : Outcome();
  });
  const std::string reply = Run(exec);
  store_.SetHook({});
  EXPECT_TRUE(reply.starts_with("-EXECABORT nothing was done: command 2: NOPERM")) << reply;
}

TEST_F(RespTest, ATokenIsRefusedWhereItCannotBe) {
  EXPECT_EQ("-ERR ROW.ONCE without MULTI\r\n", Ask("ROW.ONCE t-1"));
  for (const std::string& token : {std::string("\"\""), std::string(65, 'x')}) {
    Ask("MULTI");
    EXPECT_EQ("-ERR a transaction has one token, of 1 to 64 bytes\r\n", Ask("ROW.ONCE " + token));
    EXPECT_EQ("-EXECABORT Transaction discarded because of previous errors.\r\n", Ask("EXEC"));
  }
  Ask("MULTI");
  EXPECT_EQ("+QUEUED\r\n", Ask("ROW.ONCE a"));
  EXPECT_EQ("-ERR a transaction has one token, of 1 to 64 bytes\r\n", Ask("ROW.ONCE b"));
  Ask("DISCARD");
  for (const char* wrong : {"ROW.OUTCOME \"\"", "ROW.OUTCOME a b", "ROW.OUTCOME a FENCE b"}) {
    EXPECT_EQ("-ERR syntax error: ROW.OUTCOME token [FENCE], a token of 1 to 64 bytes\r\n",
              Ask(wrong));
  }
}

// A kept reply is in one version of the protocol.
TEST_F(RespTest, ATokenIsOfOneVersionOfTheProtocol) {
  Ask("MULTI");
  Ask("ROW.ONCE t-1");
  Ask("HINCRBY t:1 v 1");
  EXPECT_EQ("*2\r\n+OK\r\n:11\r\n", Ask("EXEC"));
  Ask("HELLO 3");
  EXPECT_EQ("*2\r\n$4\r\ndone\r\n$14\r\n*2\r\n+OK\r\n:11\r\n\r\n", Ask("ROW.OUTCOME t-1"));
  Ask("MULTI");
  Ask("ROW.ONCE t-1");
  Ask("HINCRBY t:1 v 1");
  EXPECT_TRUE(Ask("EXEC").starts_with("-EXECABORT undone: TOKENDIFFERS"));
}

}  // namespace
}  // namespace rowsocket::frontend
