// The housekeeper beside tables that are altered, beside a cluster that holds it up, and beside a
// clock that is moved.
#include "keyspace/housekeeper.h"

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "frontend/memcached/memcached_fixture.h"
#include "keyspace/time.h"

namespace rowsocket::frontend {
namespace {

constexpr unsigned kRowsPerSecond = 1000;

class HousekeeperTest : public MemcachedTest {
 protected:
  /// Makes the demo container's table anew, with one row; `expiry_index` may be empty.
  void MakeDemo(const std::string& expiry_index) {
    ColumnFacts expiry = Of(Kind::kDecimal, 3, true);
    expiry.index = expiry_index;
    store_.CreateTable(
        {"test.demo",
         {"id", "value", "flags", "cas", "expires"},
         {{"PRIMARY", {0}}, {"by_expires", {4}}},
         false,
         false,
         {{"flags", Of(Kind::kInteger)}, {"cas", Of(Kind::kDateTime, 6)}, {"expires", expiry}}},
        {{"a", "1", "0", "2026-01-01 00:00:00.000000", std::nullopt}});
  }
};

// ALTER TABLE may change the table after the catalog has looked at it: requests then fail until the
// catalog looks at it again. The fake engine knows no pins, so that the hook fails them.
TEST_F(HousekeeperTest, AFlushThatMeetsAnAlteredTableIsTriedAgainWithTheTableAsItIs) {
  for (const model::ErrorCode code :
       {model::ErrorCode::kOpenTable, model::ErrorCode::kIdxnum, model::ErrorCode::kFld}) {
    Connect();
    MakeDemo("");
    EXPECT_EQ("VALUE a 0 1\r\n1\r\nEND\r\n", Ask("get a\r\n"));
    EXPECT_EQ("OK\r\n", Ask("flush_all 10\r\n"));
    MoveClock(11);
    MakeDemo("by_expires");
    keyspace::Housekeeper housekeeper{*shared_->keyspaces, sessions_, Purging(kRowsPerSecond)};
    const uint64_t version = shared_->keyspaces->catalog.version();
    store_.SetHook([&](const engine::fake::Call& call) {
      const bool is_flush = call.kind == engine::fake::Call::Kind::kExecute &&
                            call.lock_wait == engine::LockWait::kServer;
      const bool is_old = shared_->keyspaces->catalog.version() == version;
      return is_flush && is_old ? engine::Outcome::Fail(code) : engine::Outcome();
    });
    for (int i = 0; i < 2; ++i) {
      housekeeper.RunOnce(session_);
      housekeeper.AwaitFlush();
      MoveClock(2);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    store_.SetHook({});
    EXPECT_EQ(0u, store_.RowCount("test.demo")) << model::Name(code);
  }
}

TEST_F(HousekeeperTest, AFlushThatTheClusterHoldsUpForAWhileIsCarriedOutAfterwards) {
  const auto rows_left_after = [this](engine::NoHousekeeping reason, int64_t seconds) {
    engine::NoHousekeeping now;
    why_no_housekeeping_ = [&now] { return now; };
    Connect();
    MakeDemo("");
    keyspace::Housekeeper housekeeper{*shared_->keyspaces, sessions_, Purging(kRowsPerSecond)};
    const auto round = [&] {
      housekeeper.RunOnce(session_);
      housekeeper.AwaitFlush();
    };
    round();
    EXPECT_EQ("OK\r\n", Ask("flush_all 10\r\n"));
    now = reason;
    MoveClock(11);
    round();
    MoveClock(seconds);
    round();
    EXPECT_EQ(1u, store_.RowCount("test.demo"));
    now = {};
    round();
    return store_.RowCount("test.demo");
  };
  EXPECT_EQ(0u, rows_left_after({"no primary", /*may_pass=*/true}, 1));
  EXPECT_EQ(1u, rows_left_after({"no primary", /*may_pass=*/true}, 600));
  EXPECT_EQ(1u, rows_left_after({"another node does it"}, 1));
}

TEST_F(HousekeeperTest, AFlushOnANodeThatIsNotReadyIsTriedAgain) {
  MakeDemo("");
  keyspace::Housekeeper housekeeper{*shared_->keyspaces, sessions_, Purging(kRowsPerSecond)};
  housekeeper.RunOnce(session_);
  EXPECT_EQ("OK\r\n", Ask("flush_all 10\r\n"));
  MoveClock(11);
  store_.SetHook([](const engine::fake::Call& call) {
    return call.kind == engine::fake::Call::Kind::kExecute
               ? engine::Outcome::Fail(model::ErrorCode::kNotReady)
               : engine::Outcome();
  });
  housekeeper.RunOnce(session_);
  housekeeper.AwaitFlush();
  store_.SetHook({});
  MoveClock(2);
  housekeeper.RunOnce(session_);
  housekeeper.AwaitFlush();
  EXPECT_EQ(0u, store_.RowCount("test.demo"));
}

TEST_F(HousekeeperTest, TheLogSaysOnceThatATableKeepsItsExpiredRows) {
  std::vector<std::string> lines;
  log_ = [&lines](const std::string& line) {
    if (line.starts_with("expired rows of ")) lines.push_back(line);
  };
  keyspace::Housekeeper housekeeper{*shared_->keyspaces, sessions_, Purging(kRowsPerSecond)};
  for (const auto& [code, why] :
       {std::pair(model::ErrorCode::kTrigger, "or a table that refers to it has a trigger"),
        std::pair(model::ErrorCode::kVersioned, "is system-versioned")}) {
    lines.clear();
    Set("a", "1", "1");
    MoveClock(2);
    store_.SetHook([code = code](const engine::fake::Call& call) {
      const bool is_edit = call.kind == engine::fake::Call::Kind::kExecute &&
                           call.request->verb == model::Request::Verb::kEdit;
      return is_edit ? engine::Outcome::Fail(code) : engine::Outcome();
    });
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(housekeeper.RunOnce(session_));
    ASSERT_EQ(1u, lines.size());
    EXPECT_NE(std::string::npos,
              lines[0].find("container default stay: test.demo " + std::string(why)));
    store_.SetHook({});
    housekeeper.RunOnce(session_);
    EXPECT_EQ(0u, store_.RowCount("test.demo"));
  }
}

// Commands on strings of the store do not follow the clock's offset, either.
TEST_F(HousekeeperTest, RowsOfTheStoreExpireByTheSystemsClock) {
  const int64_t now_ms = keyspace::WallClockMs();
  for (const int64_t offset_s : {7200, -7200}) {
    store_.CreateTable({"rowsocket.store",
                        {"db", "k", "v", "expires"},
                        {{"PRIMARY", {0, 1}}},
                        false,
                        false,
                        {{"db", Of(Kind::kInteger)}, {"expires", Of(Kind::kInteger, 0, true)}}},
                       {{"0", "hour", "v", std::to_string(now_ms + 3'600'000)},
                        {"0", "old", "v", std::to_string(now_ms - 1000)},
                        {"0", "lasts", "v", std::nullopt}});
    Connect();
    shared_->keyspaces->catalog.FollowStore();
    shared_->keyspaces->catalog.RefreshNow(session_);
    MoveClock(offset_s);
    keyspace::Housekeeper housekeeper{
        *shared_->keyspaces, sessions_, {{}, Purging(kRowsPerSecond).containers}};
    housekeeper.RunOnce(session_);
    MoveClock(-offset_s);
    EXPECT_EQ(2u, store_.RowCount("rowsocket.store")) << offset_s;
    EXPECT_EQ(std::string::npos, store_.Dump("rowsocket.store").find("old")) << offset_s;
  }
}

}  // namespace
}  // namespace rowsocket::frontend
