#include "frontend/resp/frontend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "frontend/resp/cursors.h"
#include "frontend/resp/key.h"
#include "frontend/resp/numbers.h"
#include "frontend/resp/resp_fixture.h"

namespace rowsocket::frontend {
namespace {

using exec::Item;
using Parsed = exec::Frontend::Parsed;

TEST_F(RespTest, RowsAreHashes) {
  EXPECT_EQ("$2\r\n10\r\n", Ask("HGET t:1 v"));
  EXPECT_EQ("$-1\r\n", Ask("HGET shop.t:1 w"));
  EXPECT_EQ("*2\r\n$1\r\nv\r\n$2\r\n10\r\n", Ask("HGETALL t:1"));
  EXPECT_EQ("*2\r\n$1\r\nb\r\n$2\r\n20\r\n", Ask("HMGET t:2 w v"));
  EXPECT_EQ("*4\r\n$-1\r\n$2\r\n20\r\n$-1\r\n$1\r\nb\r\n", Ask("HMGET t:2 x v x w"));
  EXPECT_EQ("*4\r\n$-1\r\n$2\r\n20\r\n$-1\r\n$-1\r\n", Ask("HMGET t:2 \"\" v \"\" \"\""));
  EXPECT_EQ("$-1\r\n", Ask("HGET t:2 x"));
  EXPECT_EQ(":0\r\n", Ask("HEXISTS t:2 x"));
  EXPECT_EQ(":0\r\n", Ask("HDEL t:2 x"));
  EXPECT_EQ("-NOFIELD the table has no column of this name beside its key\r\n",
            Ask("HSET t:2 v 1 x 2"));
  EXPECT_EQ("-NOFIELD the table has no column of this name beside its key\r\n",
            Ask("HSET t:1 v 1 id 2"));
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

TEST_F(RespTest, ARepliesBytesAreLimited) {
  shared_.limits.reply_bytes_max = 150;
  const std::string value(100, 'x');
  EXPECT_EQ("+OK\r\n", Ask("SET a " + value));
  EXPECT_EQ("+OK\r\n", Ask("SET large " + value + value));
  EXPECT_EQ("$100\r\n" + value + "\r\n", Ask("GET a"));
  EXPECT_EQ("-TOOLARGE the reply is larger than resp_reply_max_bytes\r\n", Ask("GET large"));
  EXPECT_EQ("-TOOLARGE the reply is larger than resp_reply_max_bytes\r\n", Ask("MGET a a"));
  Ask("MULTI");
  Ask("GET a");
  Ask("GETSET a b");
  EXPECT_EQ(
      "-EXECABORT undone: command 2: TOOLARGE the reply is larger than resp_reply_max_bytes\r\n",
      Ask("EXEC"));
  EXPECT_EQ("$100\r\n" + value + "\r\n", Ask("GETSET a b"));
}

/// The command as clients send it.
std::string Array(const std::string& words) {
  std::string array;
  size_t count = 0;
  for (size_t at = 0; at < words.size(); ++count) {
    const size_t end = std::min(words.find(' ', at), words.size());
    array += "$" + std::to_string(end - at) + "\r\n" + words.substr(at, end - at) + "\r\n";
    at = end + 1;
  }
  return "*" + std::to_string(count) + "\r\n" + array;
}

// A connection keeps what it has found about its last command.
TEST_F(RespTest, ACommandThatComesAgainIsTheSameCommand) {
  store_.CreateTable({"shop.u", {"id", "v", "w"}, {{"PRIMARY", {0}}}}, {{"1", "other", "x"}});
  store_.CreateTable({"elsewhere.t", {"id", "v"}, {{"PRIMARY", {0}}}}, {{"1", "far"}});
  const std::vector<std::string> commands = {
      "HGET t:1 v",           "HGET t:2 v",      "HGET shop.t:1 v", "HGET u:1 v",
      "HGET elsewhere.t:1 v", "HGET t:1 w",      "HGET t:1 x",      "HGET none:1 v",
      "HGET t:9 v",           "HGET t:1:2 v",    "HGET t:007 v",    "HMGET t:1 v w",
      "HMGET t:2 v w",        "HMGET u:1 v w",   "HMGET t:1 w v x", "HGETALL t:1",
      "HGETALL u:1",          "GET a",           "GET t:1",         "TTL t:1",
      "HINCRBY t:1 v 0",      "HINCRBY u:1 v 0", "SELECT 1",        "hget t:1 v"};
  std::vector<std::string> alone;
  for (const std::string& command : commands) {
    frontend_.emplace(shared_);
    alone.push_back(Run(Parse(Array(command))));
  }
  frontend_.emplace(shared_);
  for (size_t i = 0; i < commands.size(); ++i) {
    for (size_t k = 0; k < commands.size(); ++k) {
      for (const size_t next : {i, i, k, i, k, k, k}) {
        EXPECT_EQ(alone[next], Run(Parse(Array(commands[next])))) << commands[i] << commands[next];
      }
    }
  }
}

TEST_F(RespTest, ACommandThatComesAgainIsServedAfterALoginToo) {
  const std::string command = Array("HGET t:1 v");
  for (int i = 0; i < 4; ++i) EXPECT_EQ("$2\r\n10\r\n", Run(Parse(command)));
  base::Buffer out;
  frontend_->LoginEnded({}, out);
  EXPECT_EQ("+OK\r\n", out.view());
  for (int i = 0; i < 4; ++i) EXPECT_EQ("$2\r\n10\r\n", Run(Parse(command)));
}

TEST_F(RespTest, ACommandThatComesAgainSeesWhatHasBecomeOfItsTable) {
  const std::string command = Array("HGET t:1 v");
  for (int i = 0; i < 4; ++i) EXPECT_EQ("$2\r\n10\r\n", Run(Parse(command)));
  store_.DropTable("shop.t");
  store_.CreateTable({"shop.t", {"id", "w", "v"}, {{"PRIMARY", {0}}}}, {{"1", "no", "yes"}});
  EXPECT_EQ("$3\r\nyes\r\n", Run(Parse(command)));
  Ask("MULTI");
  EXPECT_EQ("+QUEUED\r\n", Run(Parse(command)));
  EXPECT_EQ("*1\r\n$3\r\nyes\r\n", Ask("EXEC"));
  Ask("CLIENT REPLY SKIP");
  EXPECT_EQ("", Run(Parse(command)));
  EXPECT_EQ("$3\r\nyes\r\n", Run(Parse(command)));
}

TEST_F(RespTest, ACommandMayNameManyKeys) {
  std::string mset = "MSET", mget = "MGET", del = "DEL";
  std::string values = "*1000\r\n";
  for (int i = 0; i < 1000; ++i) {
    const std::string number = std::to_string(i);
    mset += " k" + number + " v" + number;
    mget += " k" + number;
    del += " k" + number;
    values += "$" + std::to_string(1 + number.size()) + "\r\nv" + number + "\r\n";
  }
  EXPECT_EQ("+OK\r\n", Ask(mset));
  EXPECT_EQ(values, Ask(mget));
  EXPECT_EQ(":1000\r\n", Ask(del));
  EXPECT_EQ(":0\r\n", Ask(del));
  std::string too_many = "DEL";
  for (size_t i = 0; i <= model::kRespUnitKeysMax; ++i) too_many += " t:9";
  EXPECT_EQ("-TOOLARGE at most 10000 keys are served together\r\n", Ask(too_many));
}

// Commands with the same columns share what was found about the table.
TEST_F(RespTest, WhatIsNotThereIsMissedByEachCommandInItsWay) {
  EXPECT_EQ("+OK\r\n", Ask("WATCH sess:1"));
  EXPECT_EQ("-NOTABLE no table of this name is served here: keys are schema.table:key\r\n",
            Ask("HGETALL sess:1"));
  EXPECT_EQ("$-1\r\n", Ask("HGET t:2 x"));
  for (const char* write : {"HSETNX t:2 x 1", "HSET t:2 x 1", "HINCRBY t:2 x 1"}) {
    EXPECT_EQ("-NOFIELD the table has no column of this name beside its key\r\n", Ask(write));
  }
  EXPECT_EQ(":0\r\n", Ask("HDEL t:2 x"));
}

TEST_F(RespTest, InfoTellsWhatWasRefused) {
  Ask("LPUSH a b");
  Ask("lpush a b");
  Ask("ZADD a 1 b");
  for (int i = 0; i < 3; ++i) Ask("GET a");
  const std::string info = Ask("INFO");
  EXPECT_NE(std::string::npos, info.find("\r\nrefused_lpush:2\r\nrefused_zadd:1\r\n")) << info;
  EXPECT_NE(std::string::npos, info.find("total_commands_processed:6\r\n")) << info;
  EXPECT_NE(std::string::npos, info.find("\r\nrun_id:" + info_.run_id())) << info;
}

TEST_F(RespTest, InfoTellsHowManyKeysWereFound) {
  Ask("SET a 1");
  Ask("GETSET a 2");
  for (const char* read : {"GET a", "STRLEN a", "HGET t:1 v", "HGETALL t:1", "MGET a a"}) Ask(read);
  for (const char* read : {"GET b", "HGET t:9 v", "MGET b a", "EXISTS t:9 t:1"}) Ask(read);
  Ask("MULTI\r\nGET a\r\nGET b\r\nHINCRBY t:1 v 1\r\nROW.REQUIRE t:1 v > 0\r\nEXEC");
  const std::string info = Ask("INFO stats");
  EXPECT_NE(std::string::npos, info.find("\r\nkeyspace_hits:9\r\nkeyspace_misses:5\r\n")) << info;
}

TEST_F(RespTest, AStringBelongsToTheDatabaseThatIsSelected) {
  Ask("SET a 1");
  EXPECT_EQ("+OK\r\n", Ask("SELECT 3"));
  EXPECT_EQ("$-1\r\n", Ask("GET a"));
  Ask("SET a 3");
  EXPECT_EQ("$2\r\n10\r\n", Ask("HGET t:1 v"));
  EXPECT_EQ("-ERR DB index is out of range\r\n", Ask("SELECT 16"));
  EXPECT_EQ("-ERR value is not an integer or out of range\r\n", Ask("SELECT x"));
  Ask("RESET");
  EXPECT_EQ("$1\r\n1\r\n", Ask("GET a"));
}

TEST_F(RespTest, ScriptsOfLocksAreDone) {
  const std::string release =
      "'if redis.call(\"GET\", KEYS[1]) == ARGV[1] then return redis.call(\"del\",KEYS[1]) else "
      "return 0 end'";
  Ask("SET lock mine PX 60000");
  EXPECT_EQ(":0\r\n", Ask("EVAL " + release + " 1 lock other"));
  EXPECT_EQ(":1\r\n", Ask("EVAL " + release + " 1 lock mine"));
  EXPECT_EQ("$-1\r\n", Ask("GET lock"));
  EXPECT_EQ('$', Ask("SCRIPT LOAD " + release).front());
  EXPECT_EQ('-', Ask("EVAL 'return 1' 0").front());
  EXPECT_EQ("-NOSCRIPT No matching script. Please use EVAL.\r\n", Ask("EVALSHA 00 1 lock x"));
  EXPECT_EQ("-ERR the script has one key, and more arguments\r\n",
            Ask("EVAL " + release + " 1 lock"));
  EXPECT_EQ("-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
            Ask("EVAL " + release + " 1 t:1 mine"));
}

TEST(RespScriptsTest, BlanksQuotesAndCaseDoNotCount) {
  EXPECT_EQ(NormalScript("return  redis.call('del', KEYS[1]);\n"),
            NormalScript("return redis.call(\"DEL\",KEYS[1])"));
  EXPECT_EQ("if a then", NormalScript("\n if\ta  then "));
  EXPECT_NE(NormalScript("a b"), NormalScript("ab"));
  EXPECT_EQ("", NormalScript("'a\"b'"));
  EXPECT_EQ("da39a3ee5e6b4b0d3255bfef95601890afd80709", Sha1(""));
}

TEST(RespScriptsTest, OneClientDoesNotTakeTheScriptsOfOthersAway) {
  const std::string add =
      "return redis.call('exists',KEYS[1])<1 and redis.call('setex',KEYS[1],ARGV[2],ARGV[1])";
  RespScripts scripts;
  std::string sha1;
  for (size_t i = 0; i < 2 * model::kRespScriptsMax; ++i) {
    ASSERT_EQ(RespScript::kSetIfAbsentOrNil, scripts.Load(add + std::string(i + 1, ' '), &sha1));
    ASSERT_EQ(RespScript::kSetIfAbsentOrNil, scripts.Find(sha1))
        << "what was brought last is known";
  }
  EXPECT_EQ(RespScript::kNone, scripts.Find(Sha1(add + " "))) << "and the oldest is not";
}

TEST_F(RespTest, SeveralKeysAreSetWhereNoneIsThere) {
  EXPECT_EQ(":1\r\n", Ask("MSETNX a 1 b 2 a 3"));
  EXPECT_EQ("*2\r\n$1\r\n3\r\n$1\r\n2\r\n", Ask("MGET a b"));
  EXPECT_EQ(":0\r\n", Ask("MSETNX c 1 b 9"));
  EXPECT_EQ("*2\r\n$-1\r\n$1\r\n2\r\n", Ask("MGET c b"));
}

TEST_F(RespTest, FractionsAreAdded) {
  EXPECT_EQ("$4\r\n10.5\r\n", Ask("INCRBYFLOAT f 10.5"));
  EXPECT_EQ("$3\r\n4.1\r\n", Ask("INCRBYFLOAT f -6.4"));
  EXPECT_EQ("-ERR value is not a valid float\r\n", Ask("INCRBYFLOAT f x"));
  EXPECT_EQ("-ERR increment would produce NaN or Infinity\r\n", Ask("INCRBYFLOAT f inf"));
  EXPECT_EQ("-ERR value is NaN or Infinity\r\n", Ask("HINCRBYFLOAT t:1 v -inf"));
  EXPECT_EQ("$4\r\n10.5\r\n", Ask("HINCRBYFLOAT t:1 v 0.5"));
  EXPECT_EQ("-ERR hash value is not a float\r\n", Ask("HINCRBYFLOAT t:2 w 0.5"));
}

TEST_F(RespTest, KeysAreListedPageByPage) {
  for (const char* key : {"a", "b", "c:1", "c:2", "d"}) Ask(std::string("SET ") + key + " x");
  std::string listed;
  std::string cursor = "0";
  int pages = 0;
  do {
    const std::string reply = Ask("SCAN " + cursor + " COUNT 2");
    const size_t begin = reply.find("\r\n", 4) + 2;
    cursor = reply.substr(begin, reply.find("\r\n", begin) - begin);
    listed += reply.substr(reply.find('*', begin));
    ++pages;
  } while (cursor != "0" && pages < 9);
  EXPECT_EQ(3, pages);
  EXPECT_EQ("*2\r\n$1\r\na\r\n$1\r\nb\r\n*2\r\n$3\r\nc:1\r\n$3\r\nc:2\r\n*1\r\n$1\r\nd\r\n",
            listed);
  EXPECT_EQ("*2\r\n$1\r\n0\r\n*2\r\n$3\r\nt:1\r\n$3\r\nt:2\r\n", Ask("SCAN 0 MATCH t:*"));
  EXPECT_EQ("*2\r\n$1\r\n0\r\n*0\r\n", Ask("SCAN 0 TYPE hash"));
  EXPECT_EQ("*2\r\n$3\r\nc:1\r\n$3\r\nc:2\r\n", Ask("KEYS c:*"));
  EXPECT_EQ(":5\r\n", Ask("DBSIZE"));
  for (const char* cursor_of_none : {"1", "x", "-1"}) {
    EXPECT_EQ("-ERR invalid cursor\r\n", Ask(std::string("SCAN ") + cursor_of_none));
  }
  EXPECT_EQ("+OK\r\n", Ask("FLUSHDB"));
  EXPECT_EQ(":0\r\n", Ask("DBSIZE"));
  EXPECT_EQ("1,10,NULL;2,20,b;", store_.Dump("shop.t"));
}

TEST_F(RespTest, AWatchedKeyThatHasChangedEndsTheTransaction) {
  for (const char* key : {"t:1", "t:9", "s"}) {
    EXPECT_EQ("+OK\r\n", Ask(std::string("WATCH ") + key));
    Ask("MULTI");
    Ask("HINCRBY t:2 v 1");
    EXPECT_EQ('*', Ask("EXEC").front()) << key;
  }
  for (const auto& [key, change] : {std::pair<std::string, std::string>{"t:1", "HSET t:1 w z"},
                                    {"t:9", "HSET t:9 v 1"},
                                    {"s", "SET s 1"}}) {
    Ask("WATCH " + key + " t:2");
    Ask(change);
    Ask("MULTI");
    Ask("HINCRBY t:2 v 1");
    EXPECT_EQ("*-1\r\n", Ask("EXEC")) << key;
    Ask("MULTI");
    EXPECT_EQ("*0\r\n", Ask("EXEC")) << "the keys are watched no more";
  }
  EXPECT_EQ("$2\r\n23\r\n", Ask("HGET t:2 v"));
  Ask("WATCH t:1");
  Ask("HSET t:1 w y");
  Ask("UNWATCH");
  Ask("MULTI");
  EXPECT_EQ("-ERR WATCH inside MULTI is not allowed\r\n", Ask("WATCH t:1"));
  Ask("HGET t:1 w");
  EXPECT_EQ("*1\r\n$1\r\ny\r\n", Ask("EXEC"));
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
  EXPECT_EQ("*1\r\n:11\r\n", Run(item));
  EXPECT_EQ("-ERR EXEC without MULTI\r\n", Ask("EXEC"));
  EXPECT_EQ("$2\r\n11\r\n", Ask("HGET t:1 v"));
}

// The worker refuses a request whose account has used up its share.
TEST_F(RespTest, AnExecThatIsRefusedIsOver) {
  Ask("MULTI");
  Ask("HINCRBY t:1 v 1");
  Item exec = Parse("EXEC\r\n");
  frontend_->Refuse(exec, {model::ErrorCode::kAccountRate}, arena_);
  EXPECT_EQ(
      "-EXECABORT nothing was done: RATE the account has made more requests than "
      "resp_account_requests_per_second\r\n",
      Run(exec));
  Parse("PING\r\n");
  frontend_->Rewind();
  EXPECT_EQ("+PONG\r\n", Ask("PING"));
  EXPECT_EQ("-ERR EXEC without MULTI\r\n", Ask("EXEC"));
}

TEST_F(RespTest, WatchedKeysAreBounded) {
  for (int i = 0; i < 100; ++i) EXPECT_EQ("+OK\r\n", Ask("WATCH k" + std::to_string(i)));
  Ask("MULTI");
  Ask("SET a 1");
  EXPECT_EQ(
      "-EXECABORT nothing was done: ERR at most 64 keys are watched together, of 1048576 "
      "bytes\r\n",
      Ask("EXEC"));
  Ask("MULTI");
  Ask("SET a 1");
  EXPECT_EQ("*1\r\n+OK\r\n", Ask("EXEC"));
}

TEST_F(RespTest, ScriptsCountAsKeysOfATransaction) {
  const std::string add =
      "EVAL \"return redis.call('exists',KEYS[1])<1 and "
      "redis.call('setex',KEYS[1],ARGV[2],ARGV[1])\" 1 k v 9";
  std::string many = "DEL";
  for (size_t i = 0; i + 1 < model::kRespUnitKeysMax; ++i) many += " k" + std::to_string(i);
  Ask("MULTI");
  for (const std::string& command : {many, add}) EXPECT_EQ("+QUEUED\r\n", Ask(command));
  EXPECT_EQ("-TOOLARGE at most 10000 keys are served together\r\n", Ask(add));
  EXPECT_EQ("-EXECABORT Transaction discarded because of previous errors.\r\n", Ask("EXEC"));
}

TEST_F(RespTest, WhatChangesTheConnectionWaitsForTheRequestsBeforeIt) {
  for (const char* command :
       {"CLIENT SETNAME x", "RESET", "QUIT", "AUTH x", "HELLO 3 SETNAME y AUTH u p"}) {
    Parse(std::string(command) + "\r\n", true);
    EXPECT_EQ(Parsed::kLater, parsed_) << command;
    frontend_->Rewind();
  }
  EXPECT_EQ("+PONG\r\n", Ask("PING"));
}

TEST_F(RespTest, PatternsAreBounded) {
  const std::string longest(model::kRespPatternBytesMax, 'a');
  for (const std::string command :
       {"SCAN 0 MATCH ", "HSCAN t:1 0 MATCH ", "CONFIG GET ", "COMMAND LIST FILTERBY PATTERN "}) {
    EXPECT_EQ(0u, Ask(command + longest + "a").find("-TOOLARGE a pattern has at most")) << command;
    EXPECT_EQ(std::string::npos, Ask(command + longest).find("TOOLARGE")) << command;
  }
  const std::string longest_of_keys(model::kRespKeysPatternBytesMax, 'a');
  EXPECT_EQ("*0\r\n", Ask("KEYS " + longest_of_keys));
  EXPECT_EQ(0u, Ask("KEYS " + longest_of_keys + "a").find("-TOOLARGE the pattern of KEYS"));
}

TEST(RespPatternTest, MatchesAsRedisDoes) {
  for (const auto& [pattern, text] :
       std::initializer_list<std::pair<const char*, const char*>>{{"h[ae]llo", "hello"},
                                                                  {"h[^e]llo", "hallo"},
                                                                  {"h[a-b]llo", "hbllo"},
                                                                  {"[b-a]", "a"},
                                                                  {"[\\]]", "]"},
                                                                  {"[\\a-c]", "-"},
                                                                  {"[+-]]", "A"},
                                                                  {"a\\*", "a*"}}) {
    EXPECT_TRUE(MatchesPattern(pattern, text)) << pattern;
  }
  for (const auto& [pattern, text] : std::initializer_list<std::pair<const char*, const char*>>{
           {"h[^e]llo", "hello"}, {"[\\a-c]", "b"}, {"a\\*", "ab"}, {"[", "a"}, {"[a", "b"}}) {
    EXPECT_FALSE(MatchesPattern(pattern, text)) << pattern;
  }
}

TEST(RespCursorsTest, AScanThatGoesOnHasTwoPositions) {
  RespCursors cursors;
  uint64_t cursor = 0;
  for (int i = 0; i < 100; ++i) {
    RespCursors::Position position;
    if (cursor != 0) {
      ASSERT_TRUE(cursors.Find(cursor, &position));
      ASSERT_EQ(std::to_string(i - 1), *position.key[0]);
    }
    cursor = cursors.Keep({"s", {std::to_string(i)}}, cursor);
    EXPECT_LE(cursors.size(), 2U);
  }
  RespCursors::Position position;
  EXPECT_TRUE(cursors.Find(cursor, &position)) << "a reply may have been lost";
  EXPECT_TRUE(cursors.Find(cursor, &position));
  EXPECT_FALSE(cursors.Find(cursor + 1, &position));
}

TEST(RespCursorsTest, ThePositionUsedLongestAgoIsForgotten) {
  RespCursors cursors;
  const uint64_t first = cursors.Keep({"s", {"1"}}, 0);
  const uint64_t second = cursors.Keep({"s", {"2"}}, 0);
  RespCursors::Position position;
  ASSERT_TRUE(cursors.Find(first, &position));
  for (size_t i = 2; i <= model::kRespCursorsMax; ++i) cursors.Keep({"s", {"x"}}, 0);
  EXPECT_EQ(model::kRespCursorsMax, cursors.size());
  EXPECT_FALSE(cursors.Find(second, &position));
  EXPECT_TRUE(cursors.Find(first, &position));
}

TEST(RespNumbersTest, DecimalsAreExact) {
  const auto add = [](std::string_view a, std::string_view b) {
    std::string sum;
    return AddDecimals(a, b, &sum) ? sum : std::string("none");
  };
  EXPECT_EQ("10.75", add("10.50", "0.25"));
  EXPECT_EQ("11", add("10.50", ".50"));
  EXPECT_EQ("-0.01", add("0.99", "-1"));
  EXPECT_EQ("0", add("0.00", "-0.0"));
  EXPECT_EQ("12345678901234567890123456789012345.02",
            add("12345678901234567890123456789012345.01", "0.01"));
  for (const char* text : {"", "1e3", "1.2.3", "x", "-", "12345678901234567890123456789012345678"})
    EXPECT_EQ("none", add(text, "1")) << text;
  EXPECT_EQ(2U, DecimalsOf("1.25"));
  long double number = 0;
  for (const char* text : {"", "nan", " 1", "1x", "0x", "in", "1e99999"})
    EXPECT_FALSE(ParseFloat(text, &number)) << text;
  EXPECT_TRUE(ParseFloat("-Inf", &number));
  EXPECT_TRUE(ParseFloat("0x10", &number)) << "as in Redis";
  EXPECT_EQ("3", FormatFloat(3.0L));
  EXPECT_EQ("0", FormatFloat(-0.0L));
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
  for (const char* text : {"0", "7", "-7", "10"}) EXPECT_FALSE(IsUncanonicalNumber(text)) << text;
  for (const char* text : {"", "007", "+7", "7.0", "-0", "-", " 7", "x"})
    EXPECT_TRUE(IsUncanonicalNumber(text)) << text;
}

}  // namespace
}  // namespace rowsocket::frontend
