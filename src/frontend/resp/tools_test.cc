// What tools ask a server of Redis for: which commands there are, and how much is in it.
#include <memory>
#include <set>
#include <utility>

#include "frontend/resp/command.h"
#include "frontend/resp/error_text.h"
#include "frontend/resp/resp_fixture.h"
#include "model/limits.h"

namespace rowsocket::frontend {
namespace {

std::string KeyspaceOf(const std::string& reply) {
  const size_t begin = reply.find("# Keyspace\r\n");
  return begin == std::string::npos ? "(none)" : reply.substr(begin + 12);
}

TEST_F(RespTest, InfoHasTheKeysOfEachDatabase) {
  EXPECT_EQ("\r\n", KeyspaceOf(Ask("INFO keyspace")));
  for (const char* key : {"a", "b", "c"})
    EXPECT_EQ("+OK\r\n", Ask(std::string("SET ") + key + " 1"));
  EXPECT_EQ("+OK\r\n", Ask("SELECT 3"));
  EXPECT_EQ("+OK\r\n", Ask("SET d 1"));
  EXPECT_EQ(":1\r\n", Ask("EXPIRE d 1000"));
  const std::string both = KeyspaceOf(Ask("INFO keyspace"));
  const std::string before = "db0:keys=3,expires=0,avg_ttl=0\r\ndb3:keys=1,expires=1,avg_ttl=";
  ASSERT_EQ(before, both.substr(0, before.size()));
  const long ttl_ms = std::stol(both.substr(before.size()));
  EXPECT_TRUE(ttl_ms > 900'000 && ttl_ms <= 1'000'000) << ttl_ms;
  EXPECT_EQ(both.substr(0, 30), KeyspaceOf(Ask("INFO")).substr(0, 30));
  EXPECT_EQ("(none)", KeyspaceOf(Ask("INFO server")));
  EXPECT_EQ("+OK\r\n", Ask("FLUSHALL"));
  EXPECT_EQ("\r\n", KeyspaceOf(Ask("INFO keyspace")));
}

// The rest of a database with many keys is estimated, and the databases after it are counted.
TEST_F(RespTest, InfoPassesOverTheRestOfALargeDatabase) {
  std::vector<engine::fake::Row> rows;
  for (uint64_t i = 0; i < 2 * model::kRespInfoKeysMax; ++i) {
    rows.push_back({"0", std::to_string(i), "v", std::nullopt});
  }
  store_.DropTable("rowsocket.store");
  store_.CreateTable({"rowsocket.store", {"db", "k", "v", "expires"}, {{"PRIMARY", {0, 1}}}}, rows);
  EXPECT_EQ("+OK\r\n", Ask("SELECT 7"));
  EXPECT_EQ("+OK\r\n", Ask("SET a 1"));
  const std::string lines = KeyspaceOf(Ask("INFO keyspace"));
  EXPECT_EQ(0u, lines.find("db0:keys=4000,expires=0,avg_ttl=0\r\ndb7:keys=1,expires=0")) << lines;
}

TEST_F(RespTest, InfoIsThereWithoutTheStore) {
  store_.DropTable("rowsocket.store");
  const std::string reply = Ask("INFO");
  EXPECT_EQ('$', reply.front());
  EXPECT_EQ("\r\n", KeyspaceOf(reply));
}

TEST_F(RespTest, AFailedCountLeavesInfoWithoutKeys) {
  EXPECT_EQ("+OK\r\n", Ask("SET a 1"));
  EXPECT_EQ("db0:keys=1,expires=0,avg_ttl=0\r\n\r\n", KeyspaceOf(Ask("INFO keyspace")));
  store_.SetHook([](const engine::fake::Call& call) {
    if (call.kind != engine::fake::Call::Kind::kExecute) return engine::Outcome();
    return engine::Outcome::Fail(model::ErrorCode::kDenied);
  });
  EXPECT_EQ("\r\n", KeyspaceOf(Ask("INFO keyspace")));
}

TEST_F(RespTest, InfoDoesNotWaitForTheStore) {
  EXPECT_EQ("+OK\r\n", Ask("SET a 1"));
  store_.SetHook([](const engine::fake::Call& call) {
    if (call.kind != engine::fake::Call::Kind::kExecute) return engine::Outcome();
    return engine::Outcome::Make(engine::Outcome::Result::kBusy, {model::ErrorCode::kLockTables});
  });
  EXPECT_EQ("\r\n", KeyspaceOf(Ask("INFO keyspace")));
  store_.SetHook({});
  EXPECT_EQ("db0:keys=1,expires=0,avg_ttl=0\r\n\r\n", KeyspaceOf(Ask("INFO keyspace")));
}

TEST_F(RespTest, TheLastMomentThereIsIsRounded) {
  EXPECT_EQ("+OK\r\n", Ask("SET a 1 PXAT 9223372036854775806"));
  EXPECT_EQ(":9223372036854776\r\n", Ask("EXPIRETIME a"));
  EXPECT_EQ(":9223372036854775806\r\n", Ask("PEXPIRETIME a"));
}

TEST_F(RespTest, HelpNamesTheSubcommands) {
  for (const char* command : {"CLIENT", "COMMAND", "LATENCY", "SCRIPT", "SLOWLOG"}) {
    const std::string help = Ask(std::string(command) + " HELP");
    EXPECT_EQ('*', help.front()) << help;
    EXPECT_NE(std::string::npos, help.find("+" + std::string(command) +
                                           " <subcommand> [<arg> [value] [opt] ...]. "
                                           "Subcommands are:\r\n"))
        << help;
    EXPECT_EQ("-ERR unknown subcommand 'x'. Try " + std::string(command) + " HELP.\r\n",
              Ask(std::string(command) + " x"));
  }
  EXPECT_NE(std::string::npos, Ask("CLIENT HELP").find("+SETNAME <name>\r\n"));
  for (const char* command : {"ACL", "CONFIG", "FUNCTION", "MEMORY", "OBJECT"}) {
    const std::string help = Ask(std::string(command) + " help");
    EXPECT_EQ('*', help.front()) << help;
    EXPECT_NE(std::string::npos, help.find("+" + std::string(command) + " <subcommand> ")) << help;
    EXPECT_EQ(0u, Ask(std::string(command) + " x").find("-NOTSERVED "));
  }
  EXPECT_EQ("$-1\r\n", Ask("GET help"));
}

// MGET never fails, as in Redis.
TEST_F(RespTest, MgetPassesOverRows) {
  EXPECT_EQ("+OK\r\n", Ask("SET a 1"));
  EXPECT_EQ("*4\r\n$-1\r\n$1\r\n1\r\n$-1\r\n$-1\r\n", Ask("MGET t:1 a t:7 none"));
  EXPECT_EQ("-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
            Ask("GET t:1"));
}

std::string LineOf(const std::string& reply, const std::string& begin) {
  const size_t at = reply.find(begin);
  return at == std::string::npos ? "(none)" : reply.substr(at, reply.find("\r\n", at) - at);
}

TEST_F(RespTest, InfoCountsFailedAndRejectedCallsOfACommand) {
  Ask("GET t:1");        // WRONGTYPE
  Ask("GET");            // The number of arguments.
  Ask("LPUSH l 1");      // Not served.
  Ask("INCRBY a text");  // No number.
  Ask("nothing of this name");
  Ask("MULTI");
  Ask("SCAN 0");  // Not between MULTI and EXEC.
  Ask("EXEC");
  const std::string info = Ask("INFO all");
  const std::string nothing = ":calls=0,usec=0,usec_per_call=0.00,";
  EXPECT_EQ("cmdstat_get" + nothing + "rejected_calls=1,failed_calls=1",
            LineOf(info, "cmdstat_get:"));
  EXPECT_EQ("cmdstat_lpush" + nothing + "rejected_calls=1,failed_calls=0",
            LineOf(info, "cmdstat_lpush:"));
  EXPECT_EQ("cmdstat_incrby" + nothing + "rejected_calls=0,failed_calls=1",
            LineOf(info, "cmdstat_incrby:"));
  EXPECT_EQ("cmdstat_scan" + nothing + "rejected_calls=1,failed_calls=0",
            LineOf(info, "cmdstat_scan:"));
  EXPECT_EQ("cmdstat_exec" + nothing + "rejected_calls=0,failed_calls=1",
            LineOf(info, "cmdstat_exec:"));
  EXPECT_EQ("errorstat_ERR:count=4", LineOf(info, "errorstat_ERR:"));
  EXPECT_EQ("errorstat_WRONGTYPE:count=1", LineOf(info, "errorstat_WRONGTYPE:"));
  EXPECT_EQ("errorstat_NOTSERVED:count=1", LineOf(info, "errorstat_NOTSERVED:"));
  EXPECT_EQ("errorstat_EXECABORT:count=1", LineOf(info, "errorstat_EXECABORT:"));
  EXPECT_EQ("total_error_replies:7", LineOf(info, "total_error_replies:"));
}

TEST_F(RespTest, ErrorsAreCountedByTheWordsOfAListAlone) {
  EXPECT_EQ(RespErrorOf("-ERR syntax error"), RespErrorOf("ERR other"));
  EXPECT_NE(RespErrorOf("ERR other"), RespErrorOf("OOM other"));
  EXPECT_EQ(RespErrorOf("MOVED other"), RespErrorOf("OOM"));
  info_.AddError(RespErrorOf("OOM"), 1, false, 0);
  EXPECT_EQ("errorstat_OTHER:count=1\r\n", info_.ErrorLines(0));
  EXPECT_EQ("", info_.ErrorLines(1)) << "a flush";
}

TEST(RespErrorTest, AnErrorThatIsNoFaultOfTheRowIsNoConstraint) {
  using model::ErrorCode;
  const std::pair<ErrorCode, std::string_view> words[] = {
      {ErrorCode::kUnserved, "NOTSERVED"}, {ErrorCode::kFilterblob, "NOTSERVED"},
      {ErrorCode::kGalera, "NOTSERVED"},   {ErrorCode::kOffline, "OFFLINE"},
      {ErrorCode::kNotReady, "OFFLINE"},   {ErrorCode::kKilled, "KILLED"},
      {ErrorCode::kInternal, "ERR"}};
  for (const auto& [code, word] : words) {
    const std::string text = RespErrorText({code}, RespWork());
    EXPECT_EQ(std::string(word) + " ", text.substr(0, word.size() + 1));
    EXPECT_NE(RespErrorOf("OOM"), RespErrorOf(text)) << text;
  }
  EXPECT_EQ("CONSTRAINT stmtnum", RespErrorText({ErrorCode::kStmtnum}, RespWork()));
}

// Clients have one table of numbers, which is that of the server's errors.
TEST(RespErrorTest, AnErrorOfAKeyHasTheNumberThatSqlHas) {
  const std::pair<int, std::string_view> numbers[] = {
      {121, "CONSTRAINT another row has this value in a unique index (1062)"},
      {151, "CONSTRAINT a foreign key has no such parent row (1452)"},
      {152, "CONSTRAINT a foreign key refers to this row (1451)"},
      {1048, "CONSTRAINT a column cannot be NULL (1048)"}};
  for (const auto& [number, text] : numbers) {
    EXPECT_EQ(text, RespErrorText(model::Error::Engine(number), RespWork()));
  }
}

TEST_F(RespTest, NoCommandIsOfAModuleOrACategory) {
  EXPECT_EQ("*0\r\n", Ask("COMMAND LIST FILTERBY MODULE x"));
  EXPECT_EQ("*0\r\n", Ask("command list filterby aclcat read"));
  EXPECT_EQ("-ERR syntax error\r\n", Ask("COMMAND LIST FILTERBY MODULE"));
  EXPECT_EQ("-ERR syntax error\r\n", Ask("COMMAND LIST FILTERBY x y"));
}

TEST_F(RespTest, ARequestThatIsKilledHasFailedAndOneOfAServerThatIsOfflineIsRejected) {
  model::ErrorCode code = model::ErrorCode::kKilled;
  store_.SetHook([&code](const engine::fake::Call& call) {
    if (call.kind != engine::fake::Call::Kind::kExecute) return engine::Outcome();
    return engine::Outcome::Fail(code);
  });
  EXPECT_EQ("-KILLED not done: KILL, or the server's shutdown, ended the request\r\n",
            Ask("HGET t:1 v"));
  code = model::ErrorCode::kOffline;
  EXPECT_EQ("-OFFLINE the server's offline_mode is ON\r\n", Ask("HGET t:1 v"));
  store_.SetHook({});
  const std::string info = Ask("INFO all");
  EXPECT_EQ("errorstat_KILLED:count=1", LineOf(info, "errorstat_KILLED:"));
  EXPECT_EQ("errorstat_OFFLINE:count=1", LineOf(info, "errorstat_OFFLINE:"));
  EXPECT_NE(std::string::npos,
            LineOf(info, "cmdstat_hget:").find("rejected_calls=1,failed_calls=1"));
}

TEST_F(RespTest, TheGrantThatIsMissingIsAllThatARenameNeeds) {
  shared_.account = std::make_shared<model::Account>("app", "%");
  frontend_.emplace(shared_);
  store_.SetHook([](const engine::fake::Call& call) {
    if (call.kind != engine::fake::Call::Kind::kJudge) return engine::Outcome();
    return engine::Outcome::Fail(model::ErrorCode::kDenied);
  });
  const std::string begin = "-NOPERM a privilege is missing: GRANT SELECT, INSERT, UPDATE";
  const std::string end = " ON `rowsocket`.`store` TO 'app'@'%'\r\n";
  EXPECT_EQ(begin + ", DELETE" + end, Ask("RENAME a b"));
  EXPECT_EQ(begin + ", DELETE" + end, Ask("RENAMENX a b"));
  EXPECT_EQ(begin + end, Ask("COPY a b"));
}

TEST_F(RespTest, FlushAllNeedsDeleteAloneAndItsRefusalSaysSo) {
  shared_.account = std::make_shared<model::Account>("app", "%");
  frontend_.emplace(shared_);
  bool reads = false;
  store_.SetHook([&reads](const engine::fake::Call& call) {
    if (call.kind != engine::fake::Call::Kind::kJudge) return engine::Outcome();
    if (call.request != nullptr)
      reads = !call.request->find.key.empty() || call.request->find.wants_before_images;
    return engine::Outcome::Fail(model::ErrorCode::kDenied);
  });
  const std::string end = "DELETE ON `rowsocket`.`store` TO 'app'@'%'\r\n";
  EXPECT_EQ("-NOPERM a privilege is missing: GRANT " + end, Ask("FLUSHALL"));
  EXPECT_FALSE(reads);
  EXPECT_EQ("-NOPERM a privilege is missing: GRANT SELECT, " + end, Ask("FLUSHDB"));
  EXPECT_TRUE(reads);
}

TEST_F(RespTest, InfoHasTheTimeOnProcessors) {
  const std::string info = Ask("INFO");
  EXPECT_NE(std::string::npos, info.find("# CPU\r\nused_cpu_sys:"));
  const auto seconds = [&info](const std::string& name) {
    return std::stod(LineOf(info, name).substr(name.size()));
  };
  // The time of a process that has just begun may all be the kernel's.
  EXPECT_GT(seconds("used_cpu_user:") + seconds("used_cpu_sys:"), 0);
}

TEST_F(RespTest, ClientListTellsWhoWaitsAndWhoIsInATransaction) {
  shared_.clients = &clients_;
  frontend_.emplace(shared_);
  frontend_->SetConnectionId(7);
  RespFrontend other(shared_);
  other.SetConnectionId(8);
  Ask("MULTI");
  Ask("GET a");
  frontend_->ShowWaits(true);
  base::Buffer out;
  exec::Item item;
  other.Parse("CLIENT LIST\r\n", false, arena_, &item);
  other.Reply(item, out);
  const std::string list(out.view());
  const std::string sizes = " qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=";
  const std::string rest = " obl=0 oll=0 omem=0 tot-mem=0 events=r cmd=";
  const std::string x = " flags=xb db=0 sub=0 psub=0 ssub=0 multi=1" + sizes +
                        std::to_string(2 * sizeof(std::string) + 4) + rest + "get ";
  EXPECT_NE(std::string::npos, list.find(x)) << list;
  const std::string n = " flags=N db=0 sub=0 psub=0 ssub=0 multi=-1" + sizes + "0" + rest;
  EXPECT_NE(std::string::npos, list.find(n + "client ")) << list;
  EXPECT_EQ(1u, clients_.CountWaiting());
  Ask("DISCARD");
  EXPECT_NE(std::string::npos, Ask("CLIENT INFO").find(" multi-mem=0 "));
  frontend_->ShowWaits(false);
  EXPECT_NE(std::string::npos, Ask("INFO").find("blocked_clients:0"));
  frontend_.reset();
}

// SQL takes any bytes for the name of a user, and tools split lines at blanks.
TEST_F(RespTest, ClientListHasOneLineForEachClientWhateverItsUserIsCalled) {
  shared_.clients = &clients_;
  shared_.account = std::make_shared<model::Account>("a b\nid=9 \xc3\xa4", "%");
  frontend_.emplace(shared_);
  frontend_->SetConnectionId(7);
  for (const char* const command : {"CLIENT LIST", "CLIENT INFO"}) {
    const std::string line = Ask(command);
    EXPECT_NE(std::string::npos, line.find(" user=a_b_id=9___ redir=-1 ")) << line;
  }
  EXPECT_EQ(":0\r\n", Ask("CLIENT KILL USER \"a b\\nid=9 \\xc3\\xa4\""));
  EXPECT_EQ(0u, Ask("CLIENT KILL USER a_b_id=9___").find("-ERR No such user"));
  frontend_.reset();
}

TEST_F(RespTest, ClientListTellsTheLastCommand) {
  shared_.clients = &clients_;
  frontend_.emplace(shared_);
  frontend_->SetConnectionId(7);
  Ask("GET a");
  const std::string line = Ask("CLIENT LIST");
  EXPECT_NE(std::string::npos, line.find(" idle=0 ")) << line;
  EXPECT_NE(std::string::npos, line.find(" cmd=client ")) << line;
  frontend_.reset();
  EXPECT_TRUE(clients_.All().empty());
}

TEST_F(RespTest, AClientThatHasBeenEndedIsListedNoMoreThoughItsWorkerHasNotSeenIt) {
  shared_.clients = &clients_;
  frontend_.emplace(shared_);
  frontend_->SetConnectionId(7);
  const RespActivity activity;
  clients_.Show(8, RespFacts(), activity);
  EXPECT_NE(std::string::npos, Ask("CLIENT LIST").find("id=8 "));
  clients_.NoteEnded(8);
  clients_.Show(8, RespFacts(), activity);
  EXPECT_EQ(std::string::npos, Ask("CLIENT LIST").find("id=8 "));
  frontend_.reset();
}

TEST_F(RespTest, KeysTellWhatTheyTake) {
  EXPECT_EQ("+OK\r\n", Ask("SET a 12"));
  EXPECT_EQ("+OK\r\n", Ask("SET bb text"));
  EXPECT_EQ(":3\r\n", Ask("MEMORY USAGE a"));
  EXPECT_EQ(":6\r\n", Ask("memory usage bb samples 5"));
  EXPECT_EQ("$-1\r\n", Ask("MEMORY USAGE none"));
  EXPECT_EQ(":13\r\n", Ask("MEMORY USAGE shop.t:2")) << "the key, v with 20, and w with b";
  EXPECT_EQ("$3\r\nint\r\n", Ask("OBJECT ENCODING a"));
  EXPECT_EQ("$6\r\nembstr\r\n", Ask("OBJECT ENCODING bb"));
  EXPECT_EQ("$8\r\nlistpack\r\n", Ask("OBJECT ENCODING t:1"));
  EXPECT_EQ("$-1\r\n", Ask("OBJECT ENCODING t:9"));
  EXPECT_EQ("-ERR wrong number of arguments for 'memory|usage' command\r\n", Ask("MEMORY USAGE"));
  EXPECT_EQ("-ERR syntax error\r\n", Ask("MEMORY USAGE a b"));
  EXPECT_EQ(0u, Ask("MEMORY DOCTOR").find("-NOTSERVED only MEMORY USAGE is served: "));
  for (const char* subcommand : {"IDLETIME", "REFCOUNT"}) {
    EXPECT_EQ(0u, Ask("OBJECT " + std::string(subcommand) + " a")
                      .find("-NOTSERVED only OBJECT ENCODING and OBJECT FREQ are served: "));
  }
  EXPECT_EQ(0u, Ask("OBJECT FREQ a").find("-ERR An LFU maxmemory policy"));
  EXPECT_EQ(0u, Ask("OBJECT FREQ t:1").find("-ERR An LFU maxmemory policy"));
  EXPECT_EQ("$-1\r\n", Ask("OBJECT FREQ none"));
  EXPECT_EQ("-ERR wrong number of arguments for 'object|freq' command\r\n", Ask("OBJECT FREQ"));
}

// The fields that are chosen from are kept until the row has ended.
TEST_F(RespTest, RandomFieldsWithValuesAreOfARowOfLimitedBytes) {
  shared_.limits.reply_bytes_max = 150;
  const std::string value(100, 'x');
  EXPECT_EQ(":2\r\n", Ask("HSET t:9 v " + value + " w " + value));
  EXPECT_EQ("-TOOLARGE the reply is larger than resp_reply_max_bytes\r\n",
            Ask("HRANDFIELD t:9 1 WITHVALUES"));
  EXPECT_EQ(0u, Ask("HRANDFIELD t:9 1").find("*1\r\n$1\r\n"));
  EXPECT_EQ("*2\r\n$1\r\nv\r\n$2\r\n10\r\n", Ask("HRANDFIELD t:1 1 WITHVALUES"));
}

TEST_F(RespTest, ARandomKeyIsOneOfTheDatabase) {
  EXPECT_EQ("$-1\r\n", Ask("RANDOMKEY"));
  std::set<std::string> seen;
  for (const char* key : {"a", "b", "c"}) Ask(std::string("SET ") + key + " 1");
  Ask("SELECT 1");
  Ask("SET d 1");
  EXPECT_EQ("$1\r\nd\r\n", Ask("RANDOMKEY"));
  Ask("SELECT 0");
  for (int i = 0; i < 1000 && seen.size() < 3; ++i) seen.insert(Ask("RANDOMKEY"));
  EXPECT_EQ(3u, seen.size());
}

TEST_F(RespTest, ARandomKeyMayBeAnywhereInALargeDatabase) {
  std::vector<engine::fake::Row> rows;
  for (uint64_t i = 0; i < model::kRespRandomOfAllMax + 200; ++i) {
    rows.push_back({"0", std::string("k:") + static_cast<char>('a' + i % 8) + std::to_string(i),
                    "v", std::nullopt});
  }
  rows.push_back({"1", "other", "v", std::nullopt});
  store_.DropTable("rowsocket.store");
  store_.CreateTable({"rowsocket.store", {"db", "k", "v", "expires"}, {{"PRIMARY", {0, 1}}}}, rows);
  std::set<std::string> parts;
  for (int i = 0; i < 1000 && parts.size() < 4; ++i) {
    const std::string key = Ask("RANDOMKEY");
    ASSERT_NE(std::string::npos, key.find("k:")) << key;
    parts.insert(key.substr(key.find("k:"), 3));
  }
  EXPECT_EQ(4u, parts.size());
}

// A key is matched in time of the product of both lengths.
TEST_F(RespTest, AScanLooksAtFewerRowsWhereItsPatternIsLong) {
  std::vector<engine::fake::Row> rows;
  for (int i = 0; i < 1000; ++i) {
    rows.push_back({"0", "k" + std::to_string(i), "v", std::nullopt});
  }
  store_.DropTable("rowsocket.store");
  store_.CreateTable({"rowsocket.store", {"db", "k", "v", "expires"}, {{"PRIMARY", {0, 1}}}}, rows);
  const auto scan_all = [&](const std::string& pattern) {
    std::string cursor = "0";
    size_t scans = 0, keys = 0;
    do {
      const std::string reply = Ask("SCAN " + cursor + " COUNT 10000 MATCH " + pattern);
      const size_t begin = reply.find("\r\n", 4) + 2;
      cursor = reply.substr(begin, reply.find("\r\n", begin) - begin);
      for (size_t at = reply.find("\r\nk"); at != std::string::npos;
           at = reply.find("\r\nk", at + 1)) {
        ++keys;
      }
      ++scans;
    } while (cursor != "0" && scans < 100);
    EXPECT_EQ(1000u, keys) << pattern;
    return scans;
  };
  EXPECT_EQ(1u, scan_all("k[0-9]*"));
  EXPECT_EQ(5u, scan_all("k[" + std::string(900, 'x') + "0-9]*"));
}

TEST_F(RespTest, ConfigGetTakesNotAllPatternsThereAre) {
  std::string command = "CONFIG GET";
  for (size_t i = 0; i < model::kRespConfigPatternsMax; ++i) command += " save";
  EXPECT_EQ("*2\r\n$4\r\nsave\r\n$0\r\n\r\n", Ask(command));
  EXPECT_EQ("-TOOLARGE CONFIG GET takes 64 patterns at most\r\n", Ask(command + " save"));
}

TEST_F(RespTest, CommandTellsTheKeysOfACommand) {
  EXPECT_EQ("*1\r\n$1\r\na\r\n", Ask("COMMAND GETKEYS get a"));
  EXPECT_EQ("*2\r\n$1\r\na\r\n$1\r\nb\r\n", Ask("COMMAND GETKEYS MSET a 1 b 2"));
  EXPECT_EQ("*2\r\n$1\r\na\r\n$1\r\nb\r\n", Ask("COMMAND GETKEYS eval text 2 a b c"));
  EXPECT_EQ("*0\r\n", Ask("COMMAND GETKEYS eval text 2 a"));
  EXPECT_EQ("-ERR The command has no key arguments\r\n", Ask("COMMAND GETKEYS ping a"));
  EXPECT_EQ("-ERR Invalid number of arguments specified for command\r\n",
            Ask("COMMAND GETKEYS get a b"));
  // The key of these commands comes after a subcommand, and may be missing.
  for (const char* const command : {"object encoding", "memory usage", "object freq"}) {
    EXPECT_EQ("-ERR Invalid number of arguments specified for command\r\n",
              Ask(std::string("COMMAND GETKEYS ") + command))
        << command;
    EXPECT_EQ("*1\r\n$1\r\na\r\n", Ask(std::string("COMMAND GETKEYS ") + command + " a"))
        << command;
  }
}

// Rows that have expired wait for their purge, which a replica leaves to its source.
TEST_F(RespTest, ARandomKeyIsFoundAfterManyThatHaveExpired) {
  std::vector<engine::fake::Row> rows;
  for (uint64_t i = 0; i < model::kRespRandomOfAllMax; ++i) {
    rows.push_back({"0", "a" + std::to_string(i), "v", "1"});
  }
  rows.push_back({"0", "z", "v", std::nullopt});
  store_.DropTable("rowsocket.store");
  store_.CreateTable({"rowsocket.store", {"db", "k", "v", "expires"}, {{"PRIMARY", {0, 1}}}}, rows);
  for (int i = 0; i < 10; ++i) EXPECT_EQ("$1\r\nz\r\n", Ask("RANDOMKEY"));
}

TEST_F(RespTest, ReadOfALockedTableMayBeTriedAgain) {
  EXPECT_EQ("$2\r\n10\r\n", Ask("HGET t:1 v"));
  EXPECT_EQ(":0\r\n", Ask("HSET t:1 v 10"));
  store_.SetHook([](const engine::fake::Call& call) {
    const bool is_request = call.kind == engine::fake::Call::Kind::kExecute ||
                            call.kind == engine::fake::Call::Kind::kBeginRow;
    return is_request ? engine::Outcome::Fail(model::ErrorCode::kLockTables) : engine::Outcome();
  });
  EXPECT_EQ("-TRYAGAIN not done: the table was locked for longer than resp_wrlock_timeout\r\n",
            Ask("HGET t:1 v"));
  const std::string written = Ask("HSET t:1 v 11");
  EXPECT_TRUE(written.starts_with("-READONLY ")) << written;
}

TEST_F(RespTest, AHistogramHasCallsOfMinutesUnderAnEndOfTheirOwn) {
  exec::LatencyRegistry latency(kRespCommandNumbers, nullptr);
  shared_.latency = &latency;
  frontend_.emplace(shared_);
  exec::LatencyBlock block(&latency, "");
  for (const int64_t seconds : {132, 150}) {
    block.Add(NumberOf(*FindRespCommand("get")), exec::Phase::kWhole, seconds * 1'000'000'000);
  }
  EXPECT_EQ(
      "*2\r\n$3\r\nget\r\n*4\r\n$5\r\ncalls\r\n:2\r\n$14\r\nhistogram_usec\r\n"
      "*4\r\n:134217728\r\n:1\r\n:268435456\r\n:2\r\n",
      Ask("LATENCY HISTOGRAM get"));
}

TEST_F(RespTest, CommandsThatLookAtAllConnectionsOrLatenciesAreCostly) {
  shared_.clients = &clients_;
  frontend_.emplace(shared_);
  for (const char* const line :
       {"CLIENT LIST", "CLIENT KILL LADDR x:1", "INFO commandstats", "LATENCY HISTOGRAM"})
    EXPECT_TRUE(Parse(std::string(line) + "\r\n").is_costly) << line;
  for (const char* const line : {"CLIENT ID", "PING", "GET a"})
    EXPECT_FALSE(Parse(std::string(line) + "\r\n").is_costly) << line;
}

TEST_F(RespTest, EveryCommandTellsItsKeysOrWhyNot) {
  for (const RespCommand& command : RespCommands()) {
    for (const char* const arguments : {"", " a", " a b", " a b c", " a 1 b"}) {
      const std::string reply =
          Ask("COMMAND GETKEYS " + std::string(command.name) + std::string(arguments));
      EXPECT_TRUE(reply.starts_with('*') || reply.starts_with("-ERR "))
          << command.name << arguments;
    }
  }
}

}  // namespace
}  // namespace rowsocket::frontend
