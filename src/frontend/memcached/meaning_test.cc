// What the order of flags, an expired row and the counters mean.
#include <tuple>

#include "frontend/memcached/memcached_fixture.h"
#include "frontend/memcached/replies.h"

namespace rowsocket::frontend {
namespace {

TEST_F(MemcachedTest, AnExpiredRowIsMadeAnew) {
  store_.CreateTable(
      {"test.more",
       {"id", "value", "expires", "unmapped"},
       {{"PRIMARY", {0}}},
       false,
       false,
       {{"expires", Of(Kind::kInteger, 0, true)}}},
      {{"e", "1", "1000", "kept"}, {"a", "1", "1000", "kept"}, {"l", "1", "0", "kept"}});
  Define({{"default", "test", "more", "id", "value", "0", "0", "expires", "PRIMARY"}});
  EXPECT_EQ("STORED\r\n", Set("e", "2", "0"));
  EXPECT_EQ("STORED\r\n", Ask("add a 0 0 1\r\n2\r\n"));
  EXPECT_EQ("STORED\r\n", Set("l", "2", "0"));
  EXPECT_EQ("a,2,NULL,NULL;e,2,NULL,NULL;l,2,0,kept;", store_.Dump("test.more"));
}

TEST_F(MemcachedTest, FlagsAreCarriedOutInTheirTurn) {
  EXPECT_EQ("HD t-1 W\r\n", Ask("mg a t N30 T60\r\n"));
  EXPECT_EQ("HD\r\n", Ask("ms b 1\r\nx\r\n"));
  EXPECT_EQ("HD t60\r\n", Ask("mg b T60 t\r\n"));
  EXPECT_EQ("HD t60 Z\r\n", Ask("mg a t\r\n"));
  EXPECT_EQ("HD t30 W\r\n", Ask("mg c T60 N30 t\r\n"));
  EXPECT_EQ("HD t60\r\n", Ask("mg b t T90\r\n"));
  EXPECT_EQ("HD W\r\n", Ask("mg b R100 T200\r\n"));
  EXPECT_EQ("HD\r\n", Ask("ms d 1 T50\r\nx\r\n"));
  EXPECT_EQ("HD\r\n", Ask("mg d T200 R100\r\n"));
  EXPECT_EQ("HD t60\r\n", Ask("ma n N30 T60 t\r\n"));
  EXPECT_EQ("HD t60\r\n", Ask("ma n t T90\r\n"));
  EXPECT_EQ("HD t30\r\n", Ask("ma m T60 N30 t\r\n"));
}

TEST_F(MemcachedTest, ACasIsNoConditionOfAGet) {
  EXPECT_EQ("EN\r\n", Ask("mg a C1 T30\r\n"));
  EXPECT_EQ("HD W\r\n", Ask("mg a C1 N30\r\n"));
  Set("b", "1", "0");
  EXPECT_EQ("HD\r\n", Ask("mg b C1 T30\r\n"));
  EXPECT_EQ("VA 1\r\n1\r\n", Ask("mg b C1 T30 v\r\n"));
  EXPECT_EQ("HD\r\n", Ask("mg b C" + Cas("b") + " T30 v\r\n"));
}

TEST_F(MemcachedTest, AGetComparesACasThatItDoesNotTell) {
  Set("a", "1", "0");
  EXPECT_EQ("HD\r\n", Ask("mg a v C" + Cas("a") + "\r\n"));
  EXPECT_EQ("VA 1\r\n1\r\n", Ask("mg a v C1\r\n"));
  EXPECT_EQ("VA 1\r\n1\r\n", Ask("mg a v C0\r\n"));
}

TEST_F(MemcachedTest, AnItemThatWasJustMadeHasNotBeenRead) {
  EXPECT_EQ("HD h0 l0 W\r\n", Ask("mg a N30 h l\r\n"));
  EXPECT_EQ("HD h1 Z\r\n", Ask("mg a h\r\n"));
  EXPECT_EQ("HD h0 W\r\n", Ask("mg b N30 h u\r\n"));
  EXPECT_EQ("HD h0 Z\r\n", Ask("mg b h\r\n"));
}

TEST_F(MemcachedTest, AStaleItemIsReadOrNotAsBefore) {
  EXPECT_EQ("HD\r\nHD h0\r\nHD\r\n", Ask("ms a 1\r\n5\r\nmg a h\r\nmd a I T30\r\n"));
  EXPECT_EQ("VA 1 h1 X W\r\n5\r\n", Ask("mg a h v\r\n"));
  EXPECT_EQ("HD\r\nHD\r\n", Ask("ms a 1\r\n5\r\nmd a I T30\r\n"));
  EXPECT_EQ("VA 1 h0 X W\r\n5\r\n", Ask("mg a h v\r\n"));
  EXPECT_EQ("HD\r\nHD h0 X W\r\n", Ask("md a I x\r\nmg a h u\r\n"));
}

TEST_F(MemcachedTest, ANumberThatIsChangedKeepsItsMarks) {
  Ask("ms a 1\r\n5\r\nmd a I T30\r\nma a\r\n");
  EXPECT_EQ("VA 1 X W\r\n6\r\n", Ask("mg a v\r\n"));
  EXPECT_EQ("10\r\n", Ask("incr a 4\r\n"));
  EXPECT_EQ("VA 2 Z X\r\n10\r\n", Ask("mg a v\r\n"));
  // A number that was absent has no marks to keep.
  Ask("delete a\r\nma a N0 J5\r\n");
  EXPECT_EQ("VA 1\r\n5\r\n", Ask("mg a v\r\n"));
}

TEST_F(MemcachedTest, ANumberKeepsItsMarksWhenItsBatchRunsAgain) {
  Ask("ms a 1\r\n5\r\nmd a I T30\r\n");
  base::Arena arena;
  base::Buffer out;
  Item item;
  frontend_->Parse("ma a\r\n", false, arena, &item);
  for (int run = 0; run < 3; ++run) {
    session_.BeginTurn(true);
    EXPECT_TRUE(frontend_->Execute(item, session_, out).ok());
    session_.Rollback();
  }
  Execute(item, out);
  EXPECT_EQ("VA 1 X W\r\n6\r\n", Ask("mg a v\r\n"));
}

// Sessions that read meanwhile have the row, and its marks, as they were.
TEST_F(MemcachedTest, MarksAreKeptWhileACommitIsUnderWay) {
  engine::fake::Session other(store_, engine::LockWait::kNever);
  MemcachedFrontend reader(*shared_);
  Ask("ms a 1\r\n5\r\n");
  session_.BeginTurn(true);
  ExecuteIn(session_, *frontend_, "md a I T30\r\n");
  EXPECT_EQ("VA 1 h0\r\n5\r\n", Read(other, reader, "mg a h v\r\n"));
  EXPECT_EQ("VA 1 h1\r\n5\r\n", Read(other, reader, "mg a h v\r\n"));
  ASSERT_TRUE(session_.Commit().ok());
  EXPECT_EQ("VA 1 X W\r\n5\r\n", Read(other, reader, "mg a v\r\n"));
  session_.BeginTurn(true);
  ExecuteIn(session_, *frontend_, "ma a\r\n");
  EXPECT_EQ("VA 1 Z X\r\n5\r\n", Read(other, reader, "mg a v\r\n"));
  session_.Rollback();
  EXPECT_EQ("VA 1 Z X\r\n5\r\n", Read(other, reader, "mg a v\r\n"));
}

// The batch has changed the row twice, and noted its marks; other sessions still read the old row.
TEST_F(MemcachedTest, MarksAreKeptWhileABatchIsUnderWay) {
  engine::fake::Session other(store_, engine::LockWait::kNever);
  MemcachedFrontend reader(*shared_);
  Ask("ms a 1\r\n5\r\nmg a h\r\n");
  session_.BeginTurn(true);
  EXPECT_EQ("HD\r\n", ExecuteIn(session_, *frontend_, "md a I T30\r\n"));
  EXPECT_EQ("HD\r\n", ExecuteIn(session_, *frontend_, "ma a\r\n"));
  EXPECT_EQ("VA 1 X W\r\n6\r\n", ExecuteIn(session_, *frontend_, "mg a v\r\n"));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ("VA 1 h1\r\n5\r\n", Read(other, reader, "mg a h v\r\n"));
  }
  ASSERT_TRUE(session_.Commit().ok());
  EXPECT_EQ("VA 1 Z X\r\n6\r\n", Ask("mg a v\r\n"));
}

TEST_F(MemcachedTest, AValueThatIsStoredWithTheCasOfAMarkHasNone) {
  Ask("ms a 1 E100\r\n5\r\nmd a I T30 E101\r\n");
  EXPECT_EQ("HD X W\r\n", Ask("mg a\r\n"));
  EXPECT_EQ("HD\r\nHD\r\n", Ask("ms a 1 E101\r\n6\r\nmg a\r\n"));
}

// Without a cas_column the cas of the same content is the same.
TEST_F(MemcachedTest, ContentThatIsStoredAgainHasNoMarks) {
  store_.CreateTable(
      {"test.numbers", {"id", "v"}, {{"PRIMARY", {0}}}, false, false, {{"v", Of(Kind::kInteger)}}});
  for (const char* table : {"demo", "numbers"}) {
    const char* value = table == std::string("demo") ? "value" : "v";
    Define({{"default", "test", table, "id", value, "0", "0", "0", "PRIMARY"}});
    Connect();
    const std::string mark = "ms a 1\r\n5\r\nmd a I\r\nmg a v\r\n";
    const std::string marked = "HD\r\nHD\r\nVA 1 X W\r\n5\r\n", unmarked = "VA 1\r\n5\r\n";
    EXPECT_EQ(marked, Ask(mark)) << table;
    EXPECT_EQ("HD\r\n" + unmarked, Ask("ms a 1\r\n5\r\nmg a v\r\n")) << table;
    EXPECT_EQ(marked, Ask(mark)) << table;
    EXPECT_EQ("DELETED\r\nSTORED\r\n" + unmarked,
              Ask("delete a\r\nset a 0 0 1\r\n5\r\nmg a v\r\n"));
    EXPECT_EQ(marked, Ask(mark)) << table;
    EXPECT_EQ("HD\r\n5\r\n" + unmarked, Ask("ms a 1\r\n3\r\nincr a 2\r\nmg a v\r\n")) << table;
    // Adding nothing to a number is no reason to lose its marks.
    EXPECT_EQ(marked, Ask(mark)) << table;
    EXPECT_EQ("5\r\nVA 1 Z X\r\n5\r\n", Ask("incr a 0\r\nmg a v\r\n")) << table;
  }
  EXPECT_EQ("VA 0 W\r\n\r\nHD\r\nVA 0\r\n\r\n", Ask("mg n N30 v\r\nms n 0\r\n\r\nmg n v\r\n"));
}

TEST_F(MemcachedTest, AMarkOfAChangeThatWasTakenBackIsInNoClientsWay) {
  Ask("ms a 1 T10\r\n5\r\n");
  session_.BeginTurn(true);
  ExecuteIn(session_, *frontend_, "md a I T30\r\n");
  session_.Rollback();
  EXPECT_EQ("HD W\r\nHD Z\r\nHD Z\r\n", Ask("mg a R30\r\nmg a R30\r\nmg a R30\r\n"));
}

TEST_F(MemcachedTest, AMarkOfALargerCasIsInNoClientsWay) {
  Ask("ms a 1 T100 E9000000000000000\r\n5\r\nmg a h\r\ndelete a\r\nms a 1 T10\r\n5\r\n");
  EXPECT_EQ("HD h0\r\nHD h1\r\n", Ask("mg a h\r\nmg a h\r\n"));
  EXPECT_EQ("HD W\r\nHD Z\r\n", Ask("mg a R30\r\nmg a R30\r\n"));
}

TEST_F(MemcachedTest, ARequestThatStoresNothingLeavesTheMarks) {
  Ask("ms a 1\r\n5\r\nmd a I T30\r\n");
  EXPECT_EQ("EX\r\nNS\r\n", Ask("ms a 1 C1 E7\r\n6\r\nms a 1 ME E7\r\n6\r\n"));
  EXPECT_EQ("VA 1 X W\r\n5\r\n", Ask("mg a v\r\n"));
}

TEST_F(MemcachedTest, AnEmptiedItemHasTheGivenFlags) {
  Set("a", "1", "0");
  EXPECT_EQ("HD\r\n", Ask("md a x F7\r\n"));
  EXPECT_EQ("VALUE a 7 0\r\n\r\nEND\r\n", Ask("get a\r\n"));
  // Without a cas_column the flags are part of the cas, by which the mark is found.
  Define({{"default", "test", "demo", "id", "value", "flags", "0", "0", "PRIMARY"}});
  Connect();
  EXPECT_EQ("HD\r\nHD\r\n", Ask("ms a 1\r\nx\r\nmd a x I F7\r\n"));
  EXPECT_EQ("VA 0 f7 X W\r\n\r\n", Ask("mg a f v\r\n"));
}

TEST_F(MemcachedTest, ARowHasItsMarksHoweverItsContainerIsNamed) {
  Ask("set m 0 0 1\r\nx\r\nmd @@default.m I\r\n");
  EXPECT_EQ("VA 1 X W\r\nx\r\n", Ask("mg m v\r\n"));
  EXPECT_EQ("VA 1 Z X\r\nx\r\n", Ask("mg @@default.m v\r\n"));
  EXPECT_EQ("VA 0 W\r\n\r\n", Ask("mg @@default.n N30 v\r\n"));
  EXPECT_EQ("VA 0 Z\r\n\r\n", Ask("mg n N30 v\r\n"));
  // The key in base64, and a connection whose own container it is.
  EXPECT_EQ("HD Z X\r\n", Ask("mg bQ== b\r\n"));
  Ask("get @@default\r\n");
  EXPECT_EQ("HD Z X\r\n", Ask("mg m\r\n"));
  EXPECT_EQ("HD\r\nHD\r\n", Ask("ms @@default.m 1\r\ny\r\nmg m\r\n"));
}

TEST_F(MemcachedTest, AGetThatWritesNeedsThePolicyOfSetsToo) {
  Set("a", "1", "0");
  SetPolicies("innodb_only", "disabled", "disabled", "disabled");
  const std::string refused =
      "SERVER_ERROR set_policy of innodb_memcache.cache_policies does not allow this command\r\n";
  for (const char* command :
       {"gat -1 a", "gats -1 a b", "touch a 9", "mg a T9", "mg new N0", "incr a 1"})
    EXPECT_EQ(refused, Ask(command + std::string("\r\n"))) << command;
  EXPECT_EQ("VA 1 t-1\r\n1\r\n", Ask("mg a t v\r\n"));
  EXPECT_EQ(0u, Ask("me a\r\n").find("ME a exp=-1"));
  EXPECT_EQ("a,1,0,", store_.Dump("test.demo").substr(0, 6));
  EXPECT_EQ(1u, store_.RowCount("test.demo"));
  SetPolicies("disabled", "innodb_only", "innodb_only", "innodb_only");
  for (const char* command : {"get a", "gat 9 a", "mg new N0", "me a"}) {
    EXPECT_EQ(0u, Ask(command + std::string("\r\n")).find("SERVER_ERROR get_policy")) << command;
  }
  EXPECT_EQ("TOUCHED\r\n", Ask("touch a 9\r\n"));
}

TEST_F(MemcachedTest, ARefusalNamesThePolicyOfItsVerb) {
  SetPolicies("cache_only", "caching", "disabled", "caching");
  const std::string caching = "SERVER_ERROR innodb_memcache.cache_policies says ";
  EXPECT_EQ(0u, Ask("get a\r\n").find(caching + "cache_only for get:"));
  EXPECT_EQ(0u, Set("a", "1", "0").find(caching + "caching for set:"));
  EXPECT_EQ(0u, Ask("delete a\r\n").find("SERVER_ERROR delete_policy of"));
  EXPECT_EQ(0u, Ask("flush_all\r\n").find(caching + "caching for flush:"));
}

TEST_F(MemcachedTest, ABinaryRequestThatIsRefusedBeforeItRunsHasOneStatus) {
  // Opcode, extras, whether it has a key.
  const std::tuple<char, std::string, bool> requests[] = {
      {0x00, "", true}, {0x01, std::string(8, '\0'), true}, {0x04, "", true}, {0x08, "", false}};
  const auto expect_invalid_arguments = [&](const char* why) {
    for (const auto& [opcode, extras, has_key] : requests) {
      const std::string body = extras + (has_key ? "a" : "");
      std::string packet(24, '\0');
      packet[0] = '\x80';
      packet[1] = opcode;
      packet[3] = has_key;
      packet[4] = static_cast<char>(extras.size());
      packet[11] = static_cast<char>(body.size());
      frontend_ = std::make_unique<MemcachedFrontend>(*shared_);
      const std::string reply = Ask(packet + body);
      ASSERT_LE(24u, reply.size());
      EXPECT_EQ(std::string("\0\4", 2), reply.substr(6, 2)) << why << int{opcode};
      EXPECT_NE(std::string::npos, reply.find(why)) << int{opcode};
    }
  };
  SetPolicies("disabled", "disabled", "disabled", "disabled");
  expect_invalid_arguments("_policy of innodb_memcache.cache_policies");
  SetPolicies("innodb_only", "innodb_only", "innodb_only", "innodb_only");
  Define({{"default", "test", "demo", "id", "nothing", "flags", "cas", "expires", "PRIMARY"}});
  shared_->keyspaces->catalog.RefreshNow(session_);
  expect_invalid_arguments("container default is disabled");
}

TEST_F(MemcachedTest, AContainerCountsItsRequests) {
  Set("a", "1", "0");
  const auto& counters = shared_->keyspaces->catalog.current()->Find("default")->state->counters;
  EXPECT_EQ(1u, counters.writes);
  base::Arena arena;
  base::Buffer out;
  Item item;
  frontend_->Parse("set a 0 0 1\r\n2\r\n", false, arena, &item);
  for (int run = 0; run < 3; ++run) Execute(item, out);
  EXPECT_EQ(1u, counters.writes);
  frontend_->Finished(item, {model::ErrorCode::kDeadlock});
  EXPECT_EQ(1u, counters.writes);
  EXPECT_EQ(1u, counters.errors);
  Ask("get a b\r\n");
  EXPECT_EQ(1u, counters.hits);
  EXPECT_EQ(1u, counters.misses);
  Ask("incr a x\r\nset a x 0 1\r\n1\r\n");
  EXPECT_EQ(2u, shared_->counters.Sum(MemcachedStat::kCmdSet));
}

TEST_F(MemcachedTest, AFlushIsForTheTableThatWasMappedWhenItWasAskedFor) {
  keyspace::Housekeeper housekeeper(*shared_->keyspaces, sessions_, Purging(0));
  Set("a", "1", "0");
  EXPECT_EQ("OK\r\n", Ask("flush_all 10\r\n"));
  store_.CreateTable({"test.other", {"id", "value"}, {{"PRIMARY", {0}}}}, {{"a", "kept"}});
  Define({{"default", "test", "other", "id", "value", "0", "0", "0", "PRIMARY"}});
  shared_->keyspaces->catalog.RefreshNow(session_);
  MoveClock(11);
  housekeeper.RunOnce(session_);
  housekeeper.AwaitFlush();
  EXPECT_EQ(1u, store_.RowCount("test.other"));
}

// The server would round an expiry to the nearest tenth of a second, which may be earlier.
TEST_F(MemcachedTest, AnExpiryThatTheColumnCannotHoldIsStoredAsALaterOne) {
  for (const uint32_t decimals : {1u, 2u}) {
    store_.CreateTable({"test.tenths",
                        {"k", "v", "e"},
                        {{"PRIMARY", {0}}},
                        false,
                        false,
                        {{"e", Of(Kind::kDecimal, decimals, true)}}});
    Define({{"tenths", "test", "tenths", "k", "v", "0", "0", "e", "PRIMARY"}});
    shared_->keyspaces->catalog.RefreshNow(session_);
    for (int i = 0; i < 30; ++i) {
      const int64_t least_ms = shared_->keyspaces->NowMs() + 1000;
      EXPECT_EQ("STORED\r\n", Set("k", "v", "1"));
      const std::string row = store_.Dump("test.tenths");
      const size_t begin = row.rfind(',') + 1;
      const std::string cell = row.substr(begin, row.size() - 1 - begin);
      const size_t point = cell.find('.');
      ASSERT_NE(std::string::npos, point) << row;
      EXPECT_EQ(std::string(3 - decimals, '0'), cell.substr(point + 1 + decimals)) << row;
      EXPECT_GE(std::stoll(cell.substr(0, point)) * 1000 + std::stoll(cell.substr(point + 1)),
                least_ms);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

TEST_F(MemcachedTest, NoKeyBreaksALineOfTheDump) {
  Ask("stats detail on\r\n");
  // x, CR, LF, END, CR, LF, and so on in base64.
  EXPECT_EQ("EN\r\n", Ask("mg eA0KRU5EDQp5OjE= b v\r\n"));
  EXPECT_EQ("END\r\n", Ask("get plain:1\r\n"));
  EXPECT_EQ("PREFIX plain get 1 hit 0 set 0 del 0\r\nEND\r\n", Ask("stats detail dump\r\n"));
}

TEST_F(MemcachedTest, SettingsTellWhetherClientsLogIn) {
  for (const bool accounts : {false, true}) {
    settings_.accounts = accounts;
    Connect();
    MemcachedWork work;
    work.command.stats_arguments = "settings";
    base::Buffer out;
    AppendStats(*shared_, work, nullptr, out);
    const std::string told =
        std::string("STAT auth_enabled_sasl ") + (accounts ? "yes" : "no") + "\r\n";
    EXPECT_NE(std::string_view::npos, out.view().find(told)) << accounts;
  }
}

TEST_F(MemcachedTest, ADefaultOfASequenceIsNamed) {
  store_.SetHook([](const engine::fake::Call& call) {
    const bool is_edit = call.kind == engine::fake::Call::Kind::kExecute &&
                         call.request->verb == model::Request::Verb::kEdit;
    return is_edit ? engine::Outcome::Fail(model::ErrorCode::kSequence) : engine::Outcome();
  });
  EXPECT_EQ("SERVER_ERROR a column's DEFAULT is NEXTVAL(...), which is not run\r\n",
            Set("a", "1", "0"));
}

TEST_F(MemcachedTest, AnErrorThatPassesIsWorthAnotherTry) {
  for (const model::ErrorCode code :
       {model::ErrorCode::kLockTables, model::ErrorCode::kOffline, model::ErrorCode::kNotReady}) {
    EXPECT_EQ(memcached::BinaryStatus::kTemporaryFailure, StatusOf(model::Error{code}))
        << model::Name(code);
  }
  EXPECT_EQ(memcached::BinaryStatus::kInternalError,
            StatusOf(model::Error{model::ErrorCode::kTrigger}));
}

}  // namespace
}  // namespace rowsocket::frontend
