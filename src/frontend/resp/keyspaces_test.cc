// Keys with a prefix of rowsocket.keyspaces, on the engine in memory.
#include "keyspace/keyspaces.h"

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "exec/turn.h"
#include "frontend/resp/resp_fixture.h"
#include "keyspace/time.h"

namespace rowsocket::frontend {
namespace {

/// EVAL of the script of rate-limit-redis, without its key and argument.
constexpr const char* kCountInWindow =
    "EVAL 'local windowMs = tonumber(ARGV[1]) "
    "local timeToExpire = redis.call(\"PTTL\", KEYS[1]) "
    "if timeToExpire <= 0 then "
    "redis.call(\"SET\", KEYS[1], 1, \"PX\", windowMs) "
    "return { 1, windowMs } end "
    "local totalHits = redis.call(\"INCR\", KEYS[1]) "
    "return { totalHits, timeToExpire }' 1 ";
/// EVAL of the scripts by which redis-py lets a lock expire anew, without their key and arguments.
constexpr const char* kReacquire =
    "EVAL 'if redis.call(\"get\",KEYS[1]) == ARGV[1] then "
    "return redis.call(\"pexpire\",KEYS[1],ARGV[2]) else return 0 end' 1 ";
constexpr const char* kExtend =
    "EVAL 'local token = redis.call(\"get\", KEYS[1]) "
    "if not token or token ~= ARGV[1] then return 0 end "
    "local expiration = redis.call(\"pttl\", KEYS[1]) "
    "if not expiration then expiration = 0 end "
    "if expiration < 0 then return 0 end "
    "local newttl = ARGV[2] "
    "if ARGV[3] == \"0\" then newttl = ARGV[2] + expiration end "
    "redis.call(\"pexpire\", KEYS[1], newttl) "
    "return 1' 1 ";

/// `i:` is the prefix of a container whose items neither expire nor have flags or tokens, `e:` that
/// of one whose items expire, `n:` that of one whose keys are integers, `p/` that of rows with the
/// fields v and gone, which is no column, `i:p/` that of the same rows with all fields, `s/` that
/// of rows that expire.
class RespKeyspacesTest : public RespTest {
 protected:
  RespKeyspacesTest() {
    MakeItems({});
    MakeNumbers({{"7", "1"}});
    MakeExpiring("shop.passing", "value", {});
    MakeExpiring("shop.session", "user", {});
    store_.CreateTable(
        {"innodb_memcache.containers",
         {"name", "db_schema", "db_table", "key_columns", "value_columns", "flags", "cas_column",
          "expire_time_column", "unique_idx_name_on_key"},
         {{"PRIMARY", {0}}}},
        {{"items", "shop", "items", "id", "value", "0", "0", "0", "PRIMARY"},
         {"numbers", "shop", "numbers", "id", "value", "0", "0", "0", "PRIMARY"},
         {"passing", "shop", "passing", "id", "value", "0", "0", "expires", "PRIMARY"}});
    MakeKeyspaces(/*items_read_only=*/false);
    SetPolicies("innodb_only", "innodb_only", "innodb_only");
    shared_.keyspaces = &keyspaces_;
    frontend_.emplace(shared_);
  }

  void MakeItems(const std::vector<engine::fake::Row>& rows) {
    store_.CreateTable({"shop.items", {"id", "value"}, {{"PRIMARY", {0}}}}, rows);
  }
  void MakeNumbers(const std::vector<engine::fake::Row>& rows) {
    engine::ColumnFacts integer;
    integer.kind = engine::ColumnFacts::Kind::kInteger;
    store_.CreateTable(
        {"shop.numbers", {"id", "value"}, {{"PRIMARY", {0}}}, false, false, {{"id", integer}}},
        rows);
  }
  /// Rows are {id, column, expires}.
  void MakeExpiring(const std::string& table, const std::string& column,
                    const std::vector<engine::fake::Row>& rows) {
    engine::ColumnFacts seconds;
    seconds.kind = engine::ColumnFacts::Kind::kDecimal;
    seconds.decimals = 3;
    seconds.is_nullable = true;
    store_.CreateTable({table,
                        {"id", column, "expires"},
                        {{"PRIMARY", {0}}},
                        false,
                        false,
                        {{"expires", seconds}}},
                       rows);
  }

  void MakeKeyspaces(bool items_read_only) {
    const char* const read_only = items_read_only ? "1" : "0";
    store_.CreateTable({"rowsocket.keyspaces",
                        {"prefix", "kind", "container", "db_schema", "db_table", "db_index",
                         "fields", "if_absent", "read_only", "expires"},
                        {{"PRIMARY", {0}}}},
                       {{"i:", "value", "items", "", "", "", "", "insert", read_only, ""},
                        {"e:", "value", "passing", "", "", "", "", "insert", "0", ""},
                        {"i:p/", "row", "", "shop", "t", "", "", "insert", "0", ""},
                        {"n:", "value", "numbers", "", "", "", "", "insert", "0", ""},
                        {"p/", "row", "", "shop", "t", "", "v,gone", "insert", "0", ""},
                        {"s/", "row", "", "shop", "session", "", "", "insert", "0", "expires"}});
    keyspaces_.catalog.RefreshNow(session_);
  }

  /// A turn parses the text as one request, and stops at it. The wait lane then has to refuse it,
  /// because `i:` has become read only, and throws it away.
  void RefuseInLane(const std::string& text) {
    EXPECT_EQ(exec::Item::Kind::kRequest, Parse(text).kind) << text;
    frontend_->Rewind();
    MakeKeyspaces(/*items_read_only=*/true);
    exec::Item item;
    frontend_->ParseForLane(text, arena_, &item);
    EXPECT_EQ(exec::Item::Kind::kReply, item.kind) << text;
    frontend_->Rewind();
  }
  /// A command of another client.
  void DoElsewhere(const std::string& command) {
    const std::string line = command + "\r\n";
    RespFrontend other(shared_);
    exec::Item item;
    other.Parse(line, /*after_requests=*/false, arena_, &item);
    ASSERT_EQ(exec::Item::Kind::kRequest, item.kind) << command;
    base::Buffer out;
    session_.BeginTurn(/*writes=*/true);
    EXPECT_TRUE(other.Execute(item, session_, out).ok()) << command;
    session_.Commit();
    other.Finished(item, {});
  }

  void SetPolicies(const std::string& get, const std::string& set, const std::string& remove) {
    store_.CreateTable(
        {"innodb_memcache.cache_policies",
         {"policy_name", "get_policy", "set_policy", "delete_policy", "flush_policy"},
         {{"PRIMARY", {0}}}},
        {{"cache_policy", get, set, remove, "innodb_only"}});
    keyspaces_.catalog.RefreshNow(session_);
  }

  keyspace::Keyspaces keyspaces_{
      keyspace::KeyspacesSettings{[](const std::string&) {}, nullptr, nullptr}};
};

TEST_F(RespKeyspacesTest, NoKeyIsTakenForTheStoresBeforeTheKeyspacesAreRead) {
  keyspace::Keyspaces unread{
      keyspace::KeyspacesSettings{[](const std::string&) {}, nullptr, nullptr}};
  shared_.keyspaces = &unread;
  frontend_.emplace(shared_);
  for (const char* command : {"SET i:a 1", "GET i:a", "MGET i:a i:b", "SCAN 0", "RENAME i:a i:b"}) {
    EXPECT_TRUE(Ask(command).starts_with("-TRYAGAIN ")) << command;
  }
  Ask("MULTI");
  EXPECT_TRUE(Ask("SET i:a 1").starts_with("-TRYAGAIN "));
  EXPECT_TRUE(Ask("EXEC").starts_with("-EXECABORT "));
  unread.catalog.RefreshNow(session_);
  EXPECT_EQ("+OK\r\n", Ask("SET i:a 1"));
  EXPECT_EQ("a,1;", store_.Dump("shop.items"));
}

TEST_F(RespKeyspacesTest, AServerThatTakesNothingIsOfflineAlsoBeforeTheKeyspacesAreRead) {
  using engine::fake::Call;
  using model::ErrorCode;
  keyspace::Keyspaces unread{
      keyspace::KeyspacesSettings{[](const std::string&) {}, nullptr, nullptr}};
  shared_.keyspaces = &unread;
  frontend_.emplace(shared_);
  for (const auto& [code, answer] :
       {std::pair(ErrorCode::kOffline, "-OFFLINE "), std::pair(ErrorCode::kNotReady, "-OFFLINE "),
        std::pair(ErrorCode::kLockWait, "-TRYAGAIN ")}) {
    store_.SetHook([code = code](const Call& call) {
      return call.kind == Call::Kind::kExecute ? engine::Outcome::Fail(code) : engine::Outcome();
    });
    unread.catalog.RefreshNow(session_);
    EXPECT_TRUE(Ask("GET i:a").starts_with(answer)) << Ask("GET i:a");
    Ask("MULTI");
    EXPECT_TRUE(Ask("SET i:a 1").starts_with(answer));
    Ask("DISCARD");
  }
  store_.SetHook({});
  unread.catalog.RefreshNow(session_);
  EXPECT_EQ("+OK\r\n", Ask("SET i:a 1"));
}

TEST_F(RespKeyspacesTest, AKeyOfTheStoreThatMeansAnItemIsNotListed) {
  store_.CreateTable({"rowsocket.store", {"db", "k", "v", "expires"}, {{"PRIMARY", {0, 1}}}},
                     {{"0", "plain", "1", std::nullopt}, {"0", "i:old", "1", std::nullopt}});
  EXPECT_EQ("*2\r\n$1\r\n0\r\n*1\r\n$5\r\nplain\r\n", Ask("SCAN 0"));
  EXPECT_EQ("*1\r\n$5\r\nplain\r\n", Ask("KEYS *"));
  for (int i = 0; i < 20; ++i) EXPECT_EQ("$5\r\nplain\r\n", Ask("RANDOMKEY"));
  EXPECT_EQ(":2\r\n", Ask("DBSIZE"));
}

TEST_F(RespKeyspacesTest, ADefaultOfASequenceMakesNoSequenceOfTheContainer) {
  store_.SetHook([](const engine::fake::Call& call) {
    return call.kind == engine::fake::Call::Kind::kExecute && call.request->edit.may_insert
               ? engine::Outcome::Fail(model::ErrorCode::kSequence)
               : engine::Outcome();
  });
  for (const char* command : {"SET i:a 1", "SETNX i:a 1", "INCR i:a", "APPEND i:a x", "SET :a 1"}) {
    EXPECT_TRUE(Ask(command).starts_with("-CONSTRAINT a column's DEFAULT is NEXTVAL(...)"))
        << command;
  }
  EXPECT_EQ("$-1\r\n", Ask("GET i:a"));
}

TEST_F(RespKeyspacesTest, ACommandThatTellsAnItemAndChangesItNeedsBothPolicies) {
  const std::string release =
      "EVAL 'if redis.call(\"get\",KEYS[1]) == ARGV[1] then return redis.call(\"del\",KEYS[1]) "
      "else return 0 end' 1 i:a token";
  const std::string time_left =
      "EVAL 'if redis.call(\"get\", KEYS[1]) == ARGV[1] then return redis.call(\"pttl\", KEYS[1]) "
      "else return -3 end' 1 i:a token";
  const std::string read_window =
      "EVAL 'local totalHits = redis.call(\"GET\", KEYS[1]) "
      "local timeToExpire = redis.call(\"PTTL\", KEYS[1]) "
      "return { totalHits, timeToExpire }' 1 i:a";
  const std::string count_in_window = std::string(kCountInWindow) + "e:a 60000";
  const std::string add_in_window =
      "EVAL 'redis.call(\"set\", KEYS[1], 0, \"EX\", ARGV[2], \"NX\") "
      "local consumed = redis.call(\"incrby\", KEYS[1], ARGV[1]) "
      "local ttl = redis.call(\"pttl\", KEYS[1]) "
      "if ttl == -1 then redis.call(\"expire\", KEYS[1], ARGV[2]) ttl = 1000 * ARGV[2] end "
      "return {consumed, ttl}' 1 e:b 3 60";
  const std::vector<std::pair<std::string, std::string>> needs = {
      {"GET i:a", "get"},
      {"SCAN 0 MATCH i:*", "get"},
      {"KEYS i:*", "get"},
      {"TTL i:a", "get"},
      {"MGET i:a i:b", "get"},
      {"SET i:a 1", "set"},
      {"SET i:a get", "set"},
      {"SET i:a 1 GET", "get set"},
      {"SET i:a 1 XX get", "get set"},
      {"GETSET i:a 1", "get set"},
      {"GETEX i:a", "get set"},
      {"INCR i:n", "set"},
      {"PERSIST i:a", "set"},
      {"DEL i:a", "delete"},
      {"GETDEL i:a", "get delete"},
      {"RENAME i:a i:b", "get set delete"},
      {"COPY i:b i:a", "get set"},
      {release, "delete"},
      {time_left, "get set"},
      {read_window, "get set"},
      {count_in_window, "get set"},
      {add_in_window, "get set"},
  };
  for (const std::string policy : {"none", "get", "set", "delete"}) {
    const auto value = [&policy](const char* name) {
      return std::string(policy == name ? "disabled" : "innodb_only");
    };
    SetPolicies("innodb_only", "innodb_only", "innodb_only");
    Ask("SET i:a 1");
    SetPolicies(value("get"), value("set"), value("delete"));
    for (const auto& [command, policies] : needs) {
      const std::string reply = Ask(command);
      EXPECT_FALSE(reply.starts_with("-NOSTORE ") || reply.starts_with("-NOTABLE ")) << reply;
      EXPECT_FALSE(reply.starts_with("-NOTSERVED ")) << command;
      const bool is_refused =
          reply.starts_with("-NOPERM " + policy + "_policy of innodb_memcache.");
      EXPECT_EQ(policies.find(policy) != std::string::npos, is_refused) << command << reply;
    }
  }
}

// Between its parse and its execution a command may wait for the lock of its row.
TEST_F(RespKeyspacesTest, ATimeCountsFromWhenTheCommandIsExecuted) {
  struct Case {
    std::string before, command, key, reply;
  };
  const std::string reacquire = kReacquire, extend = kExtend, count = kCountInWindow;
  const std::vector<Case> cases = {
      {"DEL a", "SET a v NX PX 10", "a", "+OK\r\n"},
      {"SET a v", "PSETEX a 10 w", "a", "+OK\r\n"},
      {"SET a v", "GETEX a PX 10", "a", "$1\r\nv\r\n"},
      {"SET a v PX 60000", "PEXPIRE a 10 LT", "a", ":1\r\n"},
      {"SET a v", reacquire + "a v 10", "a", ":1\r\n"},
      {"SET a v PX 60000", extend + "a v 10 1", "a", ":1\r\n"},
      {"DEL a", count + "a 10", "a", "*2\r\n:1\r\n:10\r\n"},
      {"DEL e:a", "SET e:a v NX PX 10", "e:a", "+OK\r\n"},
      {"SET e:a v", "PEXPIRE e:a 10", "e:a", ":1\r\n"},
      {"HSET s/a user 1", "PEXPIRE s/a 10", "s/a", ":1\r\n"},
  };
  const auto wait = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  for (const Case& one : cases) {
    Ask(one.before);
    const exec::Item item = Parse(one.command + "\r\n");
    wait();
    const keyspace::StillClock still;
    EXPECT_EQ(one.reply, Run(item)) << one.command;
    EXPECT_EQ(":10\r\n", Ask("PTTL " + one.key)) << one.command;
  }
  const int64_t at_ms = keyspace::WallClockMs() + 60'000;
  Ask("SET a v PXAT " + std::to_string(at_ms));
  const exec::Item extends = Parse(extend + "a v 10 0\r\n");
  wait();
  EXPECT_EQ(":1\r\n", Run(extends));
  EXPECT_EQ(":" + std::to_string(at_ms + 10) + "\r\n", Ask("PEXPIRETIME a"));
  for (const char* const line : {"MULTI", "SET a v PX 10", "GET a"}) Ask(line);
  const exec::Item exec = Parse("EXEC\r\n");
  wait();
  EXPECT_EQ("*2\r\n+OK\r\n$1\r\nv\r\n", Run(exec));
}

/// Runs this command twice, sent at once, and returns the replies.
std::string RunTwice(const std::string& command, RespFrontend& frontend, engine::Session& session) {
  const std::string line = command + "\r\n";
  exec::StatRegistry registry;
  exec::StatBlock stats(registry);
  exec::CommitBoard commits;
  exec::Turn turn(stats, commits);
  exec::TurnClient client;
  net::GatedOutput out;
  client.frontend = &frontend;
  client.out = &out;
  base::Arena arena;
  for (int i = 0; i < 2; ++i) {
    exec::Item& item = turn.Add(client).item;
    frontend.Parse(line, /*after_requests=*/i != 0, arena, &item);
    EXPECT_EQ(exec::Item::Kind::kRequest, item.kind) << command;
    turn.Added();
  }
  turn.Run(session);
  return std::string(out.sendable());
}

// A server takes `007` for the key of row 7. Commands that can find no row wait for no lock.
TEST_F(RespKeyspacesTest, CommandsOnAKeyThatNoRowCanHaveLockNoRow) {
  const std::string no_item = "-CONSTRAINT the key's columns cannot hold this key as it is\r\n";
  const std::string no_row =
      "-CONSTRAINT a number in the key is not written as the server writes it\r\n";
  const std::vector<std::pair<std::string, std::string>> commands = {
      {"DEL n:007", ":0\r\n"},
      {"GETDEL n:007", "$-1\r\n"},
      {"EXPIRE n:007 5", ":0\r\n"},
      {"SET n:007 v", no_item},
      {"INCR n:007", no_item},
      {"DEL numbers:007", ":0\r\n"},
      {"HINCRBY numbers:007 value 1", no_row},
      {"HSET numbers:007 value 1", no_row},
  };
  // The indexes are open by then.
  for (const auto& [command, reply] : commands) EXPECT_EQ(reply, Ask(command)) << command;
  Ask("HINCRBY t:007 v 1");
  const auto held = store_.LockRow("shop.numbers", {"7"});
  const auto held_by_its_text = store_.LockRow("shop.numbers", {"007"});
  const auto begun = [this] { return store_.calls(engine::fake::Call::Kind::kBeginRow); };
  const uint64_t before = begun();
  for (const auto& [command, reply] : commands) {
    EXPECT_EQ(reply + reply, RunTwice(command, *frontend_, session_)) << command;
  }
  EXPECT_EQ(before, begun());
  RunTwice("HINCRBY t:007 v 1", *frontend_, session_);
  EXPECT_LT(before, begun()) << "a key of text is shared";
}

// The lane throws a request away that it has to refuse, and the input is parsed anew, with its
// former transaction and watch.
TEST_F(RespKeyspacesTest, AnExecThatTheLaneRefusesKeepsItsTransactionAndItsWatch) {
  const std::string whole = "MULTI\r\nSET i:a mine\r\nEXEC\r\n";
  const auto queue = [this] {
    for (const char* const line : {"WATCH i:a", "MULTI", "SET i:a mine"}) Ask(line);
  };
  queue();
  RefuseInLane("EXEC\r\n");
  const std::string refused = Ask("EXEC");
  EXPECT_TRUE(refused.starts_with("-EXECABORT nothing was done: ")) << refused;
  EXPECT_NE(std::string::npos, refused.find("read only")) << refused;
  EXPECT_EQ("-ERR EXEC without MULTI\r\n", Ask("EXEC"));
  MakeKeyspaces(/*items_read_only=*/false);
  queue();
  RefuseInLane("EXEC\r\n");
  MakeKeyspaces(/*items_read_only=*/false);
  DoElsewhere("SET i:a 1");
  EXPECT_EQ("*-1\r\n", Ask("EXEC"));
  Ask("WATCH i:a");
  RefuseInLane(whole);
  MakeKeyspaces(/*items_read_only=*/false);
  DoElsewhere("SET i:a 2");
  EXPECT_EQ("+OK\r\n+QUEUED\r\n*-1\r\n", Run(Parse(whole)));
  EXPECT_EQ("$1\r\n2\r\n", Ask("GET i:a"));
  EXPECT_EQ("+OK\r\n+QUEUED\r\n*1\r\n+OK\r\n", Run(Parse(whole)));
}

// A foreign key may refer to the row: deleting it would fail, or would delete or change other rows.
TEST_F(RespKeyspacesTest, ACommandThatDeletesLeavesWhatHasExpired) {
  for (const char* const command : {"EXISTS s/a", "EXISTS e:a", "EXISTS a"}) Ask(command);
  MakeExpiring("shop.session", "user", {{"a", "1", "1"}});
  MakeExpiring("shop.passing", "value", {{"a", "v", "1"}});
  store_.CreateTable({"rowsocket.store", {"db", "k", "v", "expires"}, {{"PRIMARY", {0, 1}}}},
                     {{"0", "a", "v", "1"}});
  for (const char* const command : {"DEL s/a", "UNLINK s/a", "EXPIRE s/a -1", "DEL e:a",
                                    "UNLINK e:a", "EXPIRE e:a -1", "DEL a", "DEL s/a e:a a"}) {
    EXPECT_EQ(":0\r\n", Ask(command)) << command;
  }
  for (const char* const command : {"GETDEL e:a", "GETDEL a"}) {
    EXPECT_EQ("$-1\r\n", Ask(command)) << command;
  }
  for (const char* const table : {"shop.session", "shop.passing", "rowsocket.store"}) {
    EXPECT_EQ(1u, store_.RowCount(table)) << table;
  }
  Ask("HSET s/b user 1");
  Ask("SET e:b v");
  EXPECT_EQ(":2\r\n", Ask("DEL s/a s/b e:a e:b"));
  EXPECT_EQ("a,1,1;", store_.Dump("shop.session"));
}

TEST_F(RespKeyspacesTest, AKeyOfAPrefixIsListedAsCommandsFindItsRow) {
  MakeNumbers({{"00000", "1"}, {"00042", "2"}});
  EXPECT_EQ("*2\r\n$1\r\n0\r\n*2\r\n$3\r\nn:0\r\n$4\r\nn:42\r\n", Ask("SCAN 0 MATCH n:*"));
  EXPECT_EQ("*1\r\n$4\r\nn:42\r\n", Ask("KEYS n:42"));
  MakeItems({{"a", "1"}, {"p/1", "2"}});
  EXPECT_EQ("*2\r\n$1\r\n0\r\n*1\r\n$3\r\ni:a\r\n", Ask("SCAN 0 MATCH i:*"))
      << "i:p/1 is the key of a row of t";
  EXPECT_EQ("*2\r\n$5\r\ni:p/1\r\n$5\r\ni:p/2\r\n", Ask("KEYS i:p/*"));
}

TEST_F(RespKeyspacesTest, AConditionOnAColumnThatIsNotThereSaysWhereItMayBe) {
  const std::string no_column =
      "NOFIELD the table has no column of this name beside its key, or `fields` of "
      "rowsocket.keyspaces leaves it out\r\n";
  Ask("MULTI");
  EXPECT_EQ("+QUEUED\r\n", Ask("ROW.REQUIRE p/1 gone > 1"));
  EXPECT_EQ("-EXECABORT nothing was done: command 1: " + no_column, Ask("EXEC"));
  Ask("MULTI");
  EXPECT_EQ("-" + no_column, Ask("ROW.REQUIRE p/1 w > 1"));
  Ask("DISCARD");
  EXPECT_EQ(
      "-NOFIELD `fields` of rowsocket.keyspaces has a column that the table does not have\r\n",
      Ask("HGETALL p/1"));
}

}  // namespace
}  // namespace rowsocket::frontend
