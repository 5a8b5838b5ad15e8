// Requests of which only a part has come, which a turn runs again, or which are answered elsewhere.
#include "exec/turn.h"

#include "frontend/memcached/memcached_fixture.h"
#include "keyspace/time.h"

namespace rowsocket::frontend {
namespace {

// The data of an item that is too large is not kept, so that it cannot wait. An item that shares a
// row meets the lock of the row before Execute is called, and waits.
TEST_F(MemcachedTest, AnItemThatIsTooLargeSharesNoRow) {
  shared_->keyspaces->catalog.RefreshNow(session_);
  base::Arena arena;
  Item item;
  std::string header{'\x80', 1, 0, 1, 8, 0, 0, 0, 0, 0x20, 0, 0};
  header.resize(24);
  EXPECT_EQ(Parsed::kItem,
            frontend_->Parse(header + std::string(8, '\0') + "k123", false, arena, &item).parsed);
  EXPECT_EQ(Item::Kind::kRequest, item.kind);
  EXPECT_TRUE(item.request.is_write());
  EXPECT_TRUE(item.is_composite);
}

/// One client's requests in one turn.
class MemcachedTurnTest : public MemcachedTest {
 protected:
  void Add(std::string_view bytes, bool after_requests = false) {
    client_.frontend = frontend_.get();
    client_.out = &out_;
    Item& item = turn_.Add(client_).item;
    ASSERT_EQ(Parsed::kItem, frontend_->Parse(bytes, after_requests, arena_of_turn_, &item).parsed);
    turn_.Added();
  }

  exec::StatBlock stats_{exec_stats_};
  exec::CommitBoard commits_;
  exec::Turn turn_{stats_, commits_};
  exec::TurnClient client_;
  net::GatedOutput out_;
  base::Arena arena_of_turn_;
};

// An engine that cannot take a change back keeps its answer when the batch runs again: no reply.
TEST_F(MemcachedTurnTest, QuietSuccessStaysQuietWhereItStands) {
  MakePairs(/*permanent=*/true);
  Ask("get a\r\n");
  Add("ms @@pairs.x|1 3 q\r\na|b\r\n");
  Add("ms y 1\r\nz\r\n");
  Add("mn\r\n");
  store_.SetHook([lost = false](const engine::fake::Call& call) mutable {
    const bool is_second = call.kind == engine::fake::Call::Kind::kExecute &&
                           call.names->table == "demo" && call.request->is_write();
    return is_second && !std::exchange(lost, true) ? engine::fake::Deadlock() : engine::Outcome();
  });
  turn_.Run(session_);
  EXPECT_EQ("HD\r\nMN\r\n", out_.sendable());
}

// A server takes `007` for the key of row 7. Requests that can find no row wait for no lock.
TEST_F(MemcachedTurnTest, RequestsForAKeyThatNoRowCanHaveLockNoRow) {
  store_.CreateTable({"test.numbers",
                      {"id", "value"},
                      {{"PRIMARY", {0}}},
                      false,
                      false,
                      {{"id", Of(Kind::kInteger)}}},
                     {{"7", "v"}});
  Define({{"default", "test", "numbers", "id", "value", "0", "0", "0", "PRIMARY"}});
  Connect();
  EXPECT_EQ("VALUE 7 0 1\r\nv\r\nEND\r\n", Ask("get 7\r\n"));
  const auto held = store_.LockRow("test.numbers", {"7"});
  const auto held_by_its_text = store_.LockRow("test.numbers", {"007"});
  const uint64_t rows_begun = store_.calls(engine::fake::Call::Kind::kBeginRow);
  Add("delete 007\r\n");
  Add("delete 007\r\n", /*after_requests=*/true);
  turn_.Run(session_);
  EXPECT_EQ("NOT_FOUND\r\nNOT_FOUND\r\n", out_.sendable());
  EXPECT_EQ(rows_begun, store_.calls(engine::fake::Call::Kind::kBeginRow));
}

TEST_F(MemcachedTest, NoRequestIsAfterDataThatIsYetToBeSwallowed) {
  base::Arena arena;
  Item item;
  const std::string too_large = "set a 0 0 2000000\r\nget a\r\n";
  EXPECT_EQ(Parsed::kLater, frontend_->Parse(too_large, true, arena, &item).parsed);
  frontend_->Rewind();
  const exec::Frontend::Step step = frontend_->Parse(too_large, false, arena, &item);
  EXPECT_EQ(Parsed::kItem, step.parsed);
  EXPECT_EQ(too_large.size(), step.consumed);
  const std::string rest = std::string(2'000'002 - 7, 'x') + "get a\r\n";
  const exec::Frontend::Step swallowed = frontend_->Parse(rest, false, arena, &item);
  EXPECT_EQ(Parsed::kItem, swallowed.parsed);
  EXPECT_EQ(2'000'002u - 7, swallowed.consumed);
  base::Buffer out;
  frontend_->Reply(item, out);
  EXPECT_TRUE(out.empty());
  EXPECT_EQ("END\r\n", Ask(rest.substr(swallowed.consumed)));
}

// Input that the lane has answered is never parsed again: the input after it is parsed from its
// first byte.
TEST_F(MemcachedTest, ARequestThatCameInPartsAndWasAnsweredElsewhereLeavesNothingBehind) {
  using Parts = std::pair<std::string, std::string>;
  for (const auto& [first, rest] :
       {Parts("incr k 1            ", "\r\n"), Parts("set k 0 0 10\r\n01234", "56789\r\n")}) {
    const std::string line = first + rest;
    Connect();
    Ask("get k\r\n");
    base::Arena arena;
    Item item;
    EXPECT_EQ(Parsed::kNeedMore, frontend_->Parse(first, false, arena, &item).parsed);
    for (int times = 0; times < 2; ++times) {
      EXPECT_EQ(line.size(), frontend_->Parse(line, false, arena, &item).consumed) << line;
      frontend_->Rewind();
    }
    const std::string next = "mn\r\nversion\r\n";
    EXPECT_EQ(4u, frontend_->Parse(next, false, arena, &item).consumed) << line;
  }
}

// A write is parsed once among the finds, and again in the batch.
TEST_F(MemcachedTest, StatsHasTheAveragesOfLatencies) {
  using memcached::Verb;
  exec::LatencyBlock block(&latency_, "mode=rw");
  const auto add = [&block](Verb verb, exec::Phase phase, int64_t us) {
    block.Add(static_cast<uint32_t>(verb), phase, us * 1000);
  };
  add(Verb::kGet, exec::Phase::kWhole, 10);
  add(Verb::kGet, exec::Phase::kWhole, 30);
  add(Verb::kGet, exec::Phase::kQueue, 1000);
  add(Verb::kSet, exec::Phase::kWhole, 400);
  add(Verb::kDelete, exec::Phase::kWhole, 600);
  add(Verb::kVersion, exec::Phase::kWhole, 9000);
  const std::string stats = Ask("stats\r\n");
  EXPECT_NE(std::string::npos, stats.find("STAT get_latency_us 20\r\n"));
  EXPECT_NE(std::string::npos, stats.find("STAT set_latency_us 500\r\n"));
}

TEST_F(MemcachedTest, UptimeDoesNotFollowAWallClockThatStepsBack) {
  {
    const keyspace::StillClock ahead(keyspace::WallClockMs() + 3'600'000);
    Connect();
  }
  const std::string stats = Ask("stats\r\n");
  EXPECT_NE(std::string::npos, stats.find("STAT uptime 0\r\n")) << stats;
}

TEST_F(MemcachedTest, OnlyAReplyThatHoldsTheValueIsTooLargeForIt) {
  settings_.limits.reply_bytes_max = 1024;
  Connect();
  EXPECT_EQ("STORED\r\n", Ask("set a 0 0 2000\r\n" + std::string(2000, 'x') + "\r\n"));
  EXPECT_EQ("HD s2000\r\n", Ask("mg a s\r\n"));
  EXPECT_TRUE(Ask("mg a s v\r\n").starts_with("SERVER_ERROR "));
  EXPECT_TRUE(Ask("get a\r\n").starts_with("SERVER_ERROR "));
}

// An expired item that is not purged yet is read, too, so its bytes count.
TEST_F(MemcachedTest, TheBytesThatAGetReadsAreLimited) {
  constexpr size_t kValueBytes = size_t{1} << 20;
  settings_.limits.reply_bytes_max = kValueBytes / 2;
  Connect();
  EXPECT_EQ("STORED\r\n", Set("a", std::string(kValueBytes, 'x'), "1"));
  MoveClock(2);
  const auto get = [this](size_t times) {
    std::string command = "get";
    for (size_t i = 0; i < times; ++i) command += " a";
    return Ask(command + "\r\n");
  };
  const size_t most = model::kReadBytesMax / kValueBytes;
  EXPECT_EQ("END\r\n", get(most));
  EXPECT_EQ(0u, get(most + 1).find("SERVER_ERROR a get reads values of at most 256 MiB"));
  EXPECT_EQ("END\r\n", get(1));
}

TEST_F(MemcachedTest, AnErrorIsNoHitOfItsPrefix) {
  Ask("set p:a 0 0 1\r\n1\r\nstats detail on\r\n");
  base::Arena arena;
  base::Buffer out;
  Item item;
  ASSERT_EQ(Parsed::kItem, frontend_->Parse("get p:a\r\n", false, arena, &item).parsed);
  Execute(item, out);
  frontend_->Finished(item, model::Error::Engine(1));
  EXPECT_EQ("PREFIX p get 1 hit 0 set 0 del 0\r\nEND\r\n", Ask("stats detail dump\r\n"));
}

TEST_F(MemcachedTest, AnAnswerAboutOneTableSwitchesToNoOther) {
  shared_->keyspaces->catalog.RefreshNow(session_);
  frontend_->SetAccount(std::make_shared<model::Account>("app", "localhost"));
  base::Arena arena;
  const auto parse = [&] {
    Item item;
    frontend_->Parse("get @@pairs\r\n", false, arena, &item);
    return item;
  };
  Item asks = parse();
  ASSERT_EQ(Item::Kind::kSilentOpen, asks.kind);
  EXPECT_EQ("pairs", asks.names->table);
  frontend_->Opened(asks, engine::Outcome(), nullptr);
  Define({{"pairs", "test", "demo", "id", "value", "flags", "cas", "expires", "PRIMARY"}});
  shared_->keyspaces->catalog.RefreshNow(session_);
  asks = parse();
  ASSERT_EQ(Item::Kind::kSilentOpen, asks.kind);
  EXPECT_EQ("demo", asks.names->table);
  frontend_->Opened(asks, engine::Outcome::Fail(model::ErrorCode::kDenied), nullptr);
  EXPECT_EQ(Item::Kind::kReply, parse().kind);
}

TEST_F(MemcachedTest, AConnectionHasTheNameThatItWasGivenLast) {
  EXPECT_EQ("OK\r\n", Ask("client_name web-3\r\n"));
  EXPECT_EQ("web-3", frontend_->name());
  EXPECT_EQ("CLIENT_ERROR bad command line format\r\n", Ask("client_name a\tb\r\n"));
  EXPECT_EQ("web-3", frontend_->name());
  base::Arena arena;
  Item item;
  const auto late = frontend_->Parse("client_name late\r\n", true, arena, &item);
  EXPECT_EQ(exec::Frontend::Parsed::kLater, late.parsed);
  EXPECT_EQ("web-3", frontend_->name());
  frontend_->Rewind();
  EXPECT_EQ("", Ask("client_name web-4 noreply\r\n"));
  EXPECT_EQ("web-4", frontend_->name());
  EXPECT_EQ("OK\r\n", Ask("client_name\r\n"));
  EXPECT_EQ("", frontend_->name());
}

}  // namespace
}  // namespace rowsocket::frontend
