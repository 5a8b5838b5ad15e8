#include "exec/write_set.h"
#include "frontend/memcached/memcached_fixture.h"

namespace rowsocket::frontend {
namespace {

TEST_F(MemcachedTest, EveryVerbOfText) {
  EXPECT_EQ("END\r\n", Ask("get a\r\n"));
  EXPECT_EQ("STORED\r\n", Ask("set a 5 0 4\r\nx\r\ny\r\n"));
  EXPECT_EQ("VALUE a 5 4\r\nx\r\ny\r\nEND\r\n", Ask("get a b\r\n"));
  EXPECT_EQ("NOT_STORED\r\n", Ask("add a 0 0 1\r\nz\r\n"));
  EXPECT_EQ("NOT_STORED\r\n", Ask("replace b 0 0 1\r\nz\r\n"));
  EXPECT_EQ("NOT_STORED\r\n", Ask("append b 0 0 1\r\nz\r\n"));
  EXPECT_EQ("STORED\r\n", Ask("replace a 1 0 1\r\nm\r\n"));
  EXPECT_EQ("STORED\r\n", Ask("append a 9 9 1\r\nr\r\n"));
  EXPECT_EQ("STORED\r\n", Ask("prepend a 9 9 1\r\nl\r\n"));
  EXPECT_EQ("VALUE a 1 3\r\nlmr\r\nEND\r\n", Ask("get a\r\n"));
  EXPECT_EQ("DELETED\r\nNOT_FOUND\r\n", Ask("delete a\r\ndelete a\r\n"));
  EXPECT_EQ("NOT_FOUND\r\n", Ask("touch a 0\r\n"));
  EXPECT_EQ("VERSION 1.6.45\r\n", Ask("version\r\n"));
}

TEST_F(MemcachedTest, GatWhoseReplyIsTooLargeChangesNothing) {
  settings_.limits.reply_bytes_max = 1024;
  Connect();
  for (const char* key : {"a", "b"}) Set(key, std::string(600, 'x'), "0");
  // The turn takes the part of the reply back, and answers with the error.
  EXPECT_EQ("", Ask("gat -1 a b\r\n"));
  EXPECT_EQ(0u, Ask("get a\r\n").find("VALUE a 0 600\r\n"));
  EXPECT_EQ(0u, Ask("get b\r\n").find("VALUE b 0 600\r\n"));
}

// For exec::CommitBoard: a get waits only for the commit of a row that it may have read.
TEST_F(MemcachedTest, GetKnowsWhichWritesItMayHaveSeen) {
  Ask("get a\r\n");  // Reads the containers.
  base::Arena arena;
  const auto parse = [&](std::string_view input) {
    Item item;
    EXPECT_EQ(Parsed::kItem, frontend_->Parse(input, false, arena, &item).parsed);
    return item;
  };
  const Item set = parse("set b 0 0 1\r\nx\r\n");
  engine::IndexFacts facts;
  facts.key_names = {"id"};
  facts.key.resize(1);
  const exec::KeyColumns key(*set.index, facts);
  exec::WriteSet writes;
  writes.Add(*set.index, set.request, key);
  EXPECT_FALSE(frontend_->MayConcern(parse("get a\r\n"), writes));
  EXPECT_TRUE(frontend_->MayConcern(parse("get b\r\n"), writes));
  EXPECT_TRUE(frontend_->MayConcern(parse("get a c b\r\n"), writes));
  EXPECT_FALSE(frontend_->MayConcern(parse("get a c @@pairs.b|1\r\n"), writes));
  EXPECT_TRUE(frontend_->MayConcern(parse("mg b v\r\n"), writes));
  const Item flush = parse("flush_all\r\n");
  writes.Clear();
  writes.Add(*flush.index, flush.request, key);
  EXPECT_TRUE(frontend_->MayConcern(parse("get a\r\n"), writes));
}

TEST_F(MemcachedTest, NumbersHave64BitsAndStopAtZero) {
  Set("n", "18446744073709551615", "0");
  EXPECT_EQ("0\r\n", Ask("incr n 1\r\n"));
  EXPECT_EQ("10000000000\r\n", Ask("incr n 10000000000\r\n"));
  EXPECT_EQ("0\r\n", Ask("decr n 18446744073709551615\r\n"));
  EXPECT_EQ("VALUE n 0 1\r\n0\r\nEND\r\n", Ask("get n\r\n"));
  Set("n", "12 ", "0");
  EXPECT_EQ("13\r\n", Ask("incr n 1\r\n"));
  for (const char* value : {" 5", "\t\n\v\f\r +5", "5\t", "5 x", " 5\r\nx", "5\v6"}) {
    Set("n", value, "0");
    EXPECT_EQ("6\r\n", Ask("incr n 1\r\n")) << value;
  }
  Set("n", "  ", "0");
  EXPECT_EQ("CLIENT_ERROR cannot increment or decrement non-numeric value\r\n",
            Ask("incr n 1\r\n"));
  Set("n", "x", "0");
  EXPECT_EQ("CLIENT_ERROR cannot increment or decrement non-numeric value\r\n",
            Ask("incr n 1\r\n"));
  EXPECT_EQ("NOT_FOUND\r\n", Ask("incr gone 1\r\n"));
}

TEST_F(MemcachedTest, NoreplySilencesAnswersThatAreNoErrors) {
  EXPECT_EQ("VALUE a 0 1\r\n2\r\nEND\r\n",
            Ask("set a 0 0 1 noreply\r\n1\r\nadd a 0 0 1 noreply\r\nx\r\nincr a 1 noreply\r\n"
                "delete b noreply\r\nget a\r\n"));
}

TEST_F(MemcachedTest, AnExpiredRowIsAbsentForEveryVerb) {
  const auto expire = [&](const char* value) {
    Set("e", value, "10");
    MoveClock(11);
  };
  expire("1");
  EXPECT_EQ("END\r\n", Ask("get e\r\n"));
  EXPECT_EQ("NOT_FOUND\r\n", Ask("incr e 1\r\n"));
  expire("1");
  EXPECT_EQ("NOT_STORED\r\n", Ask("append e 0 0 1\r\nx\r\n"));
  expire("1");
  EXPECT_EQ("NOT_STORED\r\n", Ask("replace e 0 0 1\r\nx\r\n"));
  expire("1");
  EXPECT_EQ("NOT_FOUND\r\n", Ask("touch e 100\r\n"));
  expire("1");
  EXPECT_EQ("NOT_FOUND\r\n", Ask("delete e\r\n"));
  expire("1");
  EXPECT_EQ("END\r\n", Ask("gat 100 e\r\n"));
  expire("1");
  EXPECT_EQ("NOT_FOUND\r\n", Ask("cas e 0 0 1 1\r\nx\r\n"));
  expire("1");
  EXPECT_EQ("EN\r\n", Ask("mg e v\r\n"));
  EXPECT_EQ("STORED\r\n", Ask("add e 0 0 1\r\nx\r\n"));
  EXPECT_EQ("VALUE e 0 1\r\nx\r\nEND\r\n", Ask("get e\r\n"));
}

TEST_F(MemcachedTest, ExpiryIsTheMomentThatWasAskedFor) {
  Set("e", "1", "10");
  MoveClock(9);
  EXPECT_EQ("VA 1 t1\r\n1\r\n", Ask("mg e t v\r\n"));
  MoveClock(2);
  EXPECT_EQ("EN\r\n", Ask("mg e t v\r\n"));
  Set("e", "1", "-1");
  EXPECT_EQ("END\r\n", Ask("get e\r\n"));
  EXPECT_EQ(0u, store_.RowCount("test.demo"));
  Set("e", "1", "9000000000000000");
  EXPECT_EQ("VALUE e 0 1\r\n1\r\nEND\r\n", Ask("get e\r\n"));
}

TEST_F(MemcachedTest, ACasChangesWithTheContentAndGrows) {
  Set("a", "1", "0");
  const std::string first = Cas("a");
  EXPECT_EQ("STORED\r\n", Set("a", "1", "0"));
  const std::string second = Cas("a");
  EXPECT_GT(std::stoull(second), std::stoull(first));
  EXPECT_EQ("TOUCHED\r\n", Ask("touch a 100\r\n"));
  EXPECT_EQ(second, Cas("a"));
  Ask("gat 200 a\r\n");
  EXPECT_EQ(second, Cas("a"));
  Ask("incr a 1\r\n");
  EXPECT_NE(second, Cas("a"));
}

TEST_F(MemcachedTest, CasComparesAndZeroNeverMatches) {
  Set("a", "1", "0");
  const std::string cas = Cas("a");
  EXPECT_EQ("EXISTS\r\n", Ask("cas a 0 0 1 0\r\n2\r\n"));
  EXPECT_EQ("EXISTS\r\n", Ask("cas a 0 0 1 1\r\n2\r\n"));
  EXPECT_EQ("STORED\r\n", Ask("cas a 0 0 1 " + cas + "\r\n2\r\n"));
  EXPECT_EQ("EXISTS\r\n", Ask("cas a 0 0 1 " + cas + "\r\n3\r\n"));
  EXPECT_EQ("NOT_FOUND\r\n", Ask("cas b 0 0 1 1\r\n2\r\n"));
}

TEST_F(MemcachedTest, AClientsOwnCasIsKept) {
  EXPECT_EQ("HD c1234\r\n", Ask("ms a 1 E1234 c\r\nx\r\n"));
  EXPECT_EQ("HD c1234\r\n", Ask("mg a c\r\n"));
  EXPECT_EQ("EX\r\n", Ask("ms a 1 C1233\r\ny\r\n"));
  EXPECT_EQ("HD\r\n", Ask("ms a 1 C1234 E2000\r\ny\r\n"));
  EXPECT_EQ("HD\r\n", Ask("ms a 1 I C1999 E3000\r\nz\r\n"));
  EXPECT_EQ("EX\r\n", Ask("ms a 1 I C3001\r\nz\r\n"));
  EXPECT_NE(std::string::npos,
            Ask("ms a 1 E18446744073709551615\r\nz\r\n").find("cannot hold this cas"));
}

TEST_F(MemcachedTest, AfterTheLargestCasComesTheClocksCas) {
  struct Column {
    Kind kind;
    bool is_unsigned;
    uint64_t largest;
  };
  utc_offset_s_ = [](int64_t) { return 3600; };
  const std::string refusal = "SERVER_ERROR the cas_column cannot hold this cas\r\n";
  for (const Column& column :
       {Column{Kind::kDateTime, false, 253'402'300'799'999'999},
        Column{Kind::kTimestamp, false, 2'147'483'647'999'999 + 3'600'000'000},
        Column{Kind::kInteger, false, INT64_MAX}, Column{Kind::kInteger, true, UINT64_MAX}}) {
    ColumnFacts facts = Of(column.kind, 6);
    facts.is_unsigned = column.is_unsigned;
    store_.CreateTable(
        {"test.max", {"id", "v", "c"}, {{"PRIMARY", {0}}}, false, false, {{"c", facts}}});
    Define({{"default", "test", "max", "id", "v", "0", "c", "0", "PRIMARY"}});
    Connect();
    const std::string largest = std::to_string(column.largest);
    EXPECT_EQ("HD c" + largest + "\r\n", Ask("ms a 1 c E" + largest + "\r\n1\r\n"));
    if (column.largest != UINT64_MAX) {
      const std::string more = std::to_string(column.largest + 1);
      EXPECT_EQ(refusal, Ask("ms a 1 E" + more + "\r\nx\r\n"));
    }
    EXPECT_EQ(refusal, Ask("ms a 1 E0\r\nx\r\n"));
    EXPECT_EQ("2\r\n", Ask("incr a 1\r\n")) << largest;
    const uint64_t cas = std::stoull(Cas("a"));
    EXPECT_LT(cas, column.largest);
    EXPECT_GT(cas, 1'700'000'000'000'000u);
    Set("a", "3", "0");
    EXPECT_GT(std::stoull(Cas("a")), cas);
  }
}

TEST_F(MemcachedTest, AStaleItemIsWonOnce) {
  Set("a", "1", "0");
  EXPECT_EQ("HD\r\n", Ask("md a I T30\r\n"));
  EXPECT_NE(std::string::npos, Ask("mg a v\r\n").find("W"));
  const std::string second = Ask("mg a v\r\n");
  EXPECT_EQ(std::string::npos, second.find("W"));
  EXPECT_NE(std::string::npos, second.find("Z"));
  EXPECT_NE(std::string::npos, second.find("X"));
  Set("a", "2", "0");
  EXPECT_EQ("VA 1\r\n2\r\n", Ask("mg a v\r\n"));
}

TEST_F(MemcachedTest, AMissingItemIsMadeForTheFirstClient) {
  EXPECT_EQ("VA 0 W\r\n\r\n", Ask("mg a v N30\r\n"));
  EXPECT_EQ("VA 0 Z\r\n\r\n", Ask("mg a v N30\r\n"));
  EXPECT_EQ("HD\r\n", Ask("ms a 1\r\nx\r\n"));
  EXPECT_EQ("VA 1\r\nx\r\n", Ask("mg a v N30\r\n"));
}

TEST_F(MemcachedTest, AGuardedDecrementStopsAtItsGuard) {
  Set("stock", "4", "0");
  EXPECT_EQ("VA 1\r\n3\r\n", Ask("ma stock MD D1 G3 v\r\n"));
  EXPECT_EQ("NS\r\n", Ask("ma stock MD D1 G3 v\r\n"));
  EXPECT_EQ("VALUE stock 0 1\r\n3\r\nEND\r\n", Ask("get stock\r\n"));
}

TEST_F(MemcachedTest, SeveralColumnsKeepTheirPlace) {
  EXPECT_EQ("STORED\r\n", Ask("set @@pairs.x|7 0 0 2\r\n|b\r\n"));
  EXPECT_EQ("x,7,,b;", store_.Dump("test.pairs"));
  EXPECT_EQ("STORED\r\n", Ask("set @@pairs.x|7 0 0 7\r\na\\|b|\\N\r\n"));
  EXPECT_EQ("x,7,a|b,NULL;", store_.Dump("test.pairs"));
  EXPECT_EQ("VALUE @@pairs.x|7 0 7\r\na\\|b|\\N\r\nEND\r\n", Ask("get @@pairs.x|7\r\n"));
  EXPECT_EQ("SERVER_ERROR the value is not 2 columns joined by |\r\n",
            Ask("set @@pairs.x|7 0 0 1\r\na\r\n"));
  EXPECT_EQ("x,7,a|b,NULL;", store_.Dump("test.pairs"));
}

TEST_F(MemcachedTest, AnIntegerKeyHasOneForm) {
  EXPECT_EQ("STORED\r\n", Ask("set @@pairs.x|7 0 0 3\r\na|b\r\n"));
  EXPECT_EQ("END\r\n", Ask("get @@pairs.x|07\r\n"));
  EXPECT_EQ("NOT_FOUND\r\n", Ask("delete @@pairs.x|+7\r\n"));
  EXPECT_NE(std::string::npos,
            Ask("set @@pairs.x|07 0 0 3\r\na|b\r\n").find("cannot hold this key as it is"));
}

TEST_F(MemcachedTest, APrefixWorksInEveryVerbAndSwitches) {
  EXPECT_EQ("STORED\r\n", Ask("set @@default.n 0 0 1\r\n5\r\n"));
  EXPECT_EQ("6\r\n5\r\n", Ask("incr @@default.n 1\r\ndecr @@default.n 1\r\n"));
  EXPECT_EQ("STORED\r\n", Ask("set @@pairs.x|7 0 0 3\r\na|b\r\n"));
  EXPECT_EQ("VALUE n 0 1\r\n5\r\nVALUE @@pairs.x|7 0 3\r\na|b\r\nEND\r\n",
            Ask("get n @@pairs.x|7\r\n"));
  EXPECT_EQ("VALUE @@pairs 0 10\r\ntest/pairs\r\nEND\r\n", Ask("get @@pairs\r\n"));
  EXPECT_EQ("VALUE x|7 0 3\r\na|b\r\nEND\r\n", Ask("get x|7\r\n"));
  EXPECT_EQ("DELETED\r\n", Ask("delete @@pairs.x|7\r\n"));
}

TEST_F(MemcachedTest, AnEmptyNameDoesNotNameTheConnectionsContainer) {
  Ask("get @@default\r\n");
  EXPECT_EQ("SERVER_ERROR there is no container \r\n", Ask("get @@\r\n"));
  EXPECT_EQ("SERVER_ERROR there is no container \r\n", Ask("get @@.k\r\n"));
  // The connection's container has a name, but the container is gone.
  Define({{"other", "test", "demo", "id", "value", "flags", "cas", "expires", "PRIMARY"}});
  shared_->keyspaces->catalog.RefreshNow(session_);
  EXPECT_EQ("SERVER_ERROR there is no container default\r\n", Ask("get k\r\n"));
}

TEST_F(MemcachedTest, AContainerThatCannotBeUsedSaysWhy) {
  EXPECT_EQ("SERVER_ERROR there is no container gone\r\n", Ask("get @@gone.k\r\n"));
  EXPECT_EQ("SERVER_ERROR container broken is disabled: test.demo has no column nothing\r\n",
            Ask("get @@broken.k\r\n"));
  EXPECT_EQ(2u, frontend_->errors());
  EXPECT_EQ("STORED\r\n", Set("k", "v", "0"));
  EXPECT_EQ(2u, frontend_->errors());
}

// A reply that needs no engine is written at the end of the turn, and an unknown name makes the
// connection take a new snapshot within a turn.
TEST_F(MemcachedTest, ARepliesContainerMayBeGoneWhenItIsWritten) {
  EXPECT_EQ("END\r\n", Ask("get k\r\n"));
  base::Arena arena;
  Item stats, name, other;
  frontend_->Parse("stats\r\n", false, arena, &stats);
  frontend_->Parse("get @@pairs\r\n", false, arena, &name);
  Define({{"new", "test", "demo", "id", "value", "flags", "cas", "expires", "PRIMARY"}});
  frontend_->Parse("get @@new.k\r\n", false, arena, &other);
  ASSERT_EQ(Item::Kind::kRefresh, other.kind);
  frontend_->Rewind();
  shared_->keyspaces->catalog.RefreshNow(session_);
  other = {};
  frontend_->Parse("get @@new.k\r\n", false, arena, &other);
  EXPECT_EQ(Item::Kind::kRequest, other.kind);
  base::Buffer out;
  frontend_->Reply(stats, out);
  EXPECT_NE(std::string::npos, out.view().find("STAT container:new:table test.demo\r\n"));
  out.Truncate(0);
  frontend_->Reply(name, out);
  EXPECT_EQ("VALUE @@pairs 0 10\r\ntest/pairs\r\nEND\r\n", out.view());
}

TEST_F(MemcachedTest, WithoutACasColumnTheContentIsTheCas) {
  Ask("set @@pairs.x|7 0 0 3\r\na|b\r\n");
  const std::string cas = Cas("@@pairs.x|7");
  EXPECT_EQ("EXISTS\r\n", Ask("cas @@pairs.x|7 0 0 3 0\r\na|c\r\n"));
  EXPECT_EQ("STORED\r\n", Ask("cas @@pairs.x|7 0 0 3 " + cas + "\r\na|c\r\n"));
  EXPECT_EQ("EXISTS\r\n", Ask("cas @@pairs.x|7 0 0 3 " + cas + "\r\na|d\r\n"));
  EXPECT_NE(std::string::npos, Ask("ms @@pairs.x|7 3 E5\r\na|d\r\n").find("no cas_column"));
}

TEST_F(MemcachedTest, WithoutAFlagsColumnTheCasIsOfNoFlags) {
  const std::string stored = Ask("ms @@pairs.x|7 3 F5 c\r\na|b\r\n");
  EXPECT_EQ("HD c" + Cas("@@pairs.x|7") + "\r\n", stored);
}

TEST_F(MemcachedTest, ACasOfTheContentIsOfTheStoredColumns) {
  store_.CreateTable(
      {"test.numbers", {"id", "v"}, {{"PRIMARY", {0}}}, false, false, {{"v", Of(Kind::kInteger)}}});
  Define({{"default", "test", "numbers", "id", "v", "0", "0", "0", "PRIMARY"}});
  EXPECT_EQ("END\r\n", Ask("get a\r\n"));
  const uint64_t executed = store_.calls(engine::fake::Call::Kind::kExecute);
  EXPECT_EQ("STORED\r\n", Set("a", "5", "0"));
  EXPECT_EQ(executed + 1, store_.calls(engine::fake::Call::Kind::kExecute));
  const std::string stored = Ask("ms a 1 c\r\n5\r\n");
  EXPECT_EQ(executed + 3, store_.calls(engine::fake::Call::Kind::kExecute));
  EXPECT_EQ("HD c" + Cas("a") + "\r\n", stored);
}

TEST_F(MemcachedTest, TheRequestOfAnItemByItselfLeavesItsRowAsItIs) {
  Set("a", "1", "0");
  base::Arena arena;
  Item item;
  frontend_->Parse("set a 0 0 1\r\n2\r\n", false, arena, &item);
  session_.BeginTurn(true);
  model::NoRows none;
  EXPECT_TRUE(session_.Execute(*item.index, item.request, none).ok());
  EXPECT_TRUE(session_.Commit().ok());
  EXPECT_EQ("VALUE a 0 1\r\n1\r\nEND\r\n", Ask("get a\r\n"));
}

TEST_F(MemcachedTest, AHeldRowIsBusyAndNoMiss) {
  Set("a", "1", "0");
  const auto held = store_.LockRow("test.demo", {"a"});
  base::Arena arena;
  base::Buffer out;
  Item item;
  frontend_->Parse("incr a 1\r\n", false, arena, &item);
  session_.BeginTurn(true);
  EXPECT_EQ(engine::Outcome::Result::kBusy, frontend_->Execute(item, session_, out).result);
  EXPECT_TRUE(out.empty());
  session_.Rollback();
  frontend_->ReplyError(item, {model::ErrorCode::kLockWait}, out);
  EXPECT_EQ("SERVER_ERROR lock wait timeout, innodb_lock_wait_timeout has passed (146)\r\n",
            out.view());
}

TEST_F(MemcachedTest, FlushAllIsOffUnlessEnabled) {
  Set("a", "1", "0");
  settings_.may_flush = false;
  Connect();
  EXPECT_EQ("CLIENT_ERROR flush_all not allowed\r\n", Ask("flush_all\r\n"));
  EXPECT_EQ(1u, store_.RowCount("test.demo"));
}

TEST_F(MemcachedTest, FlushAllDeletesTheConnectionsContainerAlone) {
  Set("a", "1", "0");
  Set("b", "1", "0");
  Ask("set @@pairs.x|7 0 0 3\r\na|b\r\n");
  EXPECT_EQ("OK\r\n", Ask("flush_all\r\n"));
  EXPECT_EQ(0u, store_.RowCount("test.demo"));
  EXPECT_EQ(1u, store_.RowCount("test.pairs"));
}

TEST_F(MemcachedTest, ADelayedFlushComesWhenItIsDueAndALaterOneReplacesIt) {
  keyspace::Housekeeper housekeeper(*shared_->keyspaces, sessions_, Purging(1000));
  Set("a", "1", "0");
  EXPECT_EQ("OK\r\n", Ask("flush_all 100\r\n"));
  EXPECT_EQ("OK\r\n", Ask("flush_all 10\r\n"));
  housekeeper.RunOnce(session_);
  EXPECT_EQ(1u, store_.RowCount("test.demo"));
  MoveClock(11);
  housekeeper.RunOnce(session_);
  housekeeper.AwaitFlush();
  EXPECT_EQ(0u, store_.RowCount("test.demo"));
  Set("a", "1", "0");
  MoveClock(100);
  housekeeper.RunOnce(session_);
  housekeeper.AwaitFlush();
  EXPECT_EQ(1u, store_.RowCount("test.demo"));
}

TEST_F(MemcachedTest, AReplicaRemovesNothingBeforeItIsPromoted) {
  engine::NoHousekeeping why{"a source"};
  why_no_housekeeping_ = [&why] { return why; };
  Connect();
  keyspace::Housekeeper housekeeper(*shared_->keyspaces, sessions_, Purging(1000));
  Set("a", "1", "10");
  MoveClock(11);
  EXPECT_FALSE(housekeeper.RunOnce(session_));
  EXPECT_EQ("END\r\n", Ask("get a\r\n"));
  EXPECT_EQ(1u, store_.RowCount("test.demo"));
  why = {};
  housekeeper.RunOnce(session_);
  EXPECT_EQ(0u, store_.RowCount("test.demo"));
}

TEST_F(MemcachedTest, AReplicaRefusesADelayedFlushAndDropsOneThatBecomesDue) {
  engine::NoHousekeeping why;
  why_no_housekeeping_ = [&why] { return why; };
  Connect();
  keyspace::Housekeeper housekeeper(*shared_->keyspaces, sessions_, Purging(1000));
  Set("a", "1", "0");
  EXPECT_EQ("OK\r\n", Ask("flush_all 10\r\n"));
  why = {"a source"};
  EXPECT_EQ("SERVER_ERROR no delayed flush is carried out: a source\r\n", Ask("flush_all 10\r\n"));
  MoveClock(11);
  housekeeper.RunOnce(session_);
  why = {};
  housekeeper.RunOnce(session_);
  housekeeper.AwaitFlush();
  EXPECT_EQ(1u, store_.RowCount("test.demo"));
  why = {"a source"};
  EXPECT_EQ("OK\r\n", Ask("flush_all\r\n"));
  EXPECT_EQ(0u, store_.RowCount("test.demo"));
}

TEST_F(MemcachedTest, ThePurgeRemovesExpiredRowsAndCountsThem) {
  keyspace::Housekeeper housekeeper(*shared_->keyspaces, sessions_, Purging(1000));
  for (int i = 0; i < 30; ++i) Set("e" + std::to_string(i), "1", "10");
  Set("stays", "1", "0");
  Set("later", "1", "1000");
  MoveClock(11);
  while (housekeeper.RunOnce(session_)) {
  }
  EXPECT_EQ(2u, store_.RowCount("test.demo"));
  EXPECT_EQ(30u, shared_->counters.Sum(MemcachedStat::kPurged));
  EXPECT_NE(std::string::npos, Ask("stats\r\n").find("STAT container:default:purged 30\r\n"));
}

TEST_F(MemcachedTest, StatsCountAndAreReset) {
  Set("a", "1", "0");
  Ask("get a\r\nget b\r\n");
  const std::string stats = Ask("stats\r\n");
  for (const char* line : {"STAT cmd_get 2\r\n", "STAT cmd_set 1\r\n", "STAT get_hits 1\r\n",
                           "STAT get_misses 1\r\n", "STAT container:default:hits 1\r\n"}) {
    EXPECT_NE(std::string::npos, stats.find(line)) << line << stats;
  }
  EXPECT_NE(std::string::npos, stats.find("STAT container:broken:error test.demo has no column"));
  EXPECT_EQ("RESET\r\n", Ask("stats reset\r\n"));
  EXPECT_NE(std::string::npos, Ask("stats\r\n").find("STAT cmd_get 0\r\n"));
  EXPECT_EQ("END\r\n", Ask("stats items\r\n"));
  EXPECT_EQ("STAT sizes_status disabled\r\nEND\r\n", Ask("stats sizes\r\n"));
}

TEST_F(MemcachedTest, StatsIgnoresWordsThatItDoesNotNeed) {
  for (const char* what : {"settings x", " settings  x y"}) {
    EXPECT_EQ(0u, Ask(std::string("stats ") + what + "\r\n").find("STAT maxbytes 0\r\n"));
  }
  EXPECT_EQ("END\r\nRESET\r\n", Ask("stats items x\r\nstats reset x\r\n"));
  EXPECT_EQ("OK\r\n", Ask("stats detail on x\r\n"));
  EXPECT_EQ("EN\r\nPREFIX p get 1 hit 0 set 0 del 0\r\nEND\r\n",
            Ask("mg p:1\r\nstats  detail   dump x\r\n"));
  EXPECT_EQ("CLIENT_ERROR usage: stats detail on|off|dump\r\n", Ask("stats detail x on\r\n"));
  EXPECT_EQ("ERROR\r\n", Ask("stats x settings\r\n"));
}

TEST_F(MemcachedTest, StatsRowsocketSaysWhatTheServerTakes) {
  model::Health health;
  health.role = model::Health::Role::kGalera;
  health.state = "donor";
  health.writes = false;
  health.lag_s = std::nullopt;
  settings_.health = [&] { return health; };
  Connect();
  EXPECT_EQ(
      "STAT role galera\r\nSTAT state donor\r\nSTAT reads 1\r\nSTAT writes 0\r\n"
      "STAT server_version \r\nSTAT lag NULL\r\nEND\r\n",
      Ask("stats rowsocket\r\n"));
}

TEST_F(MemcachedTest, BinaryReadsAndWritesTheSameRows) {
  Set("a", "12", "0");
  const std::string get(
      "\x80\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x2a"
      "\x00\x00\x00\x00\x00\x00\x00\x00"
      "a",
      25);
  frontend_ = std::make_unique<MemcachedFrontend>(*shared_);
  const std::string reply = Ask(get);
  ASSERT_EQ(24u + 4 + 2, reply.size());
  EXPECT_EQ("12", reply.substr(28));
  EXPECT_NE(std::string(8, '\0'), reply.substr(16, 8));
}

TEST_F(MemcachedTest, CommandsThatCloseSaySo) {
  base::Arena arena;
  Item item;
  frontend_->Parse("quit\r\n", false, arena, &item);
  EXPECT_TRUE(item.closes);
}

}  // namespace
}  // namespace rowsocket::frontend
