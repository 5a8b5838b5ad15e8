// What clients see of marks while other sessions still see the old row, when a turn fails, and when
// there are more marks than are kept.
#include "frontend/memcached/marks.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "base/clock.h"
#include "frontend/memcached/memcached_fixture.h"

namespace rowsocket::frontend {
namespace {

TEST_F(MemcachedTest, ASessionThatSeesAnOldRowLeavesTheMarksOfLaterChanges) {
  engine::fake::Session other(store_, engine::LockWait::kNever);
  MemcachedFrontend reader(*shared_);
  for (const std::string_view old_read : {"mg a v\r\n", "mg a v R30\r\n", "mg a h v\r\n"}) {
    Ask("ms a 1 T10\r\n0\r\n");
    session_.BeginTurn(true);
    ExecuteIn(session_, *frontend_, "ms a 1\r\n1\r\n");
    ExecuteIn(session_, *frontend_, "md a I T30\r\n");
    EXPECT_EQ(0u, Read(other, reader, old_read).find("VA 1")) << old_read;
    ASSERT_TRUE(session_.Commit().ok());
    EXPECT_EQ("VA 1 X W\r\n1\r\n", Ask("mg a v\r\n")) << old_read;
  }
}

TEST_F(MemcachedTest, TheMarksOfARowThatOthersHaveChangedGo) {
  Ask("ms a 1\r\n5\r\nmd a I T30\r\nms a 1\r\n6\r\n");
  EXPECT_EQ("VA 1\r\n6\r\n", Ask("mg a v\r\n"));
  EXPECT_TRUE(shared_->marks.empty());
}

TEST_F(MemcachedTest, MetaDebugWinsNothing) {
  Ask("ms a 1\r\n5\r\nmd a I T30\r\n");
  EXPECT_EQ(0u, Ask("me a\r\n").find("ME a "));
  EXPECT_EQ("VA 1 X W\r\n5\r\n", Ask("mg a v\r\n"));
}

TEST_F(MemcachedTest, AWinThatFailsIsTheNextOnes) {
  Ask("ms a 1\r\n5\r\nmd a I T30\r\n");
  base::Arena arena;
  base::Buffer out;
  Item item;
  frontend_->Parse("mg a v\r\n", false, arena, &item);
  session_.BeginTurn(false);
  EXPECT_TRUE(frontend_->Execute(item, session_, out).ok());
  EXPECT_EQ("VA 1 X W\r\n5\r\n", out.view());
  session_.Rollback();
  frontend_->Finished(item, {model::ErrorCode::kKilled});
  EXPECT_EQ("VA 1 X W\r\n5\r\n", Ask("mg a v\r\n"));
  EXPECT_EQ("VA 1 Z X\r\n5\r\n", Ask("mg a v\r\n"));
}

// The cas is a hash of the content, so that it is the same before and after the changes.
TEST_F(MemcachedTest, AChangeThatIsNotCommittedLeavesTheMarkOfACasThatStays) {
  Define({{"default", "test", "demo", "id", "value", "flags", "0", "expires", "PRIMARY"}});
  Connect();
  const auto execute = [&](std::string_view command, Item* item, base::Arena& arena) {
    base::Buffer out;
    EXPECT_EQ(Parsed::kItem, frontend_->Parse(command, false, arena, item).parsed) << command;
    session_.BeginTurn(true);
    EXPECT_TRUE(frontend_->Execute(*item, session_, out).ok()) << command;
  };
  const auto lose = [&](std::string_view command) {
    base::Arena arena;
    Item item;
    execute(command, &item, arena);
    session_.Rollback();
    frontend_->Rewind();
  };
  const auto fail = [&](std::string_view command) {
    base::Arena arena;
    Item item;
    execute(command, &item, arena);
    store_.SetHook(engine::fake::FailCommits(1, {model::ErrorCode::kInternal}));
    EXPECT_FALSE(session_.Commit().ok());
    store_.SetHook({});
    frontend_->Finished(item, {model::ErrorCode::kInternal});
  };
  const std::string invalidate = "md a I T30\r\n", get = "mg a v\r\n";
  Ask("ms a 1\r\n5\r\n");
  fail(invalidate);
  EXPECT_EQ("VA 1\r\n5\r\n", Ask(get));
  for (int run = 0; run < 4; ++run) lose(invalidate);
  fail(invalidate);
  EXPECT_EQ("VA 1\r\n5\r\n", Ask(get));
  EXPECT_EQ("HD\r\n", Ask(invalidate));
  fail("set a 0 0 1\r\n5\r\n");
  EXPECT_EQ("VA 1 X W\r\n5\r\n", Ask(get));
  for (const char* command : {"ms a 1\r\n5\r\n", "md a I\r\n"}) {
    fail(command);
    EXPECT_EQ("VA 1 Z X\r\n5\r\n", Ask(get)) << command;
  }
  EXPECT_EQ("HD\r\nVA 1\r\n5\r\n", Ask("ms a 1\r\n5\r\n" + get));
}

// A batch is lost, and runs again; a lock stops its client before the request that had won, which
// is then parsed anew.
TEST_F(MemcachedTest, AWinOfALostTurnStaysWithItsRequest) {
  const std::string set = "ms x 1\r\n1\r\n", get = "mg a v\r\n";
  Ask("ms a 1\r\n5\r\nmd a I T30\r\n");
  base::Arena arena;
  Item first, second;
  ASSERT_EQ(Parsed::kItem, frontend_->Parse(set, false, arena, &first).parsed);
  ASSERT_EQ(Parsed::kItem, frontend_->Parse(get, true, arena, &second).parsed);
  base::Buffer out;
  session_.BeginTurn(true);
  EXPECT_TRUE(frontend_->Execute(first, session_, out).ok());
  EXPECT_TRUE(frontend_->Execute(second, session_, out).ok());
  EXPECT_EQ("HD\r\nVA 1 X W\r\n5\r\n", out.view());
  session_.Rollback();
  frontend_->Rewind();
  EXPECT_EQ("HD\r\nVA 1 X W\r\n5\r\n", Ask(set + get));
  EXPECT_EQ("VA 1 Z X\r\n5\r\n", Ask(get));
}

TEST_F(MemcachedTest, NoTwoRequestsThatAreUnderWayHaveOneNumber) {
  MemcachedFrontend other(*shared_);
  Ask("get a\r\n");
  base::Arena arena;
  const auto number = [&arena](MemcachedFrontend& frontend, bool after_requests) {
    Item item;
    EXPECT_EQ(Parsed::kItem, frontend.Parse("mg a v\r\n", after_requests, arena, &item).parsed);
    return MemcachedWorkOf(item).serial;
  };
  const uint64_t first = number(*frontend_, false);
  const uint64_t second = number(*frontend_, true);
  frontend_->Rewind();  // As for a write after finds that are not answered yet.
  const uint64_t again = number(*frontend_, true);
  EXPECT_NE(first, second);
  EXPECT_NE(first, again);
  EXPECT_NE(first, number(other, false));
}

// A cas that is ahead of the clock is counted up, so that the next change gets the cas of a change
// that was taken back.
TEST_F(MemcachedTest, AFreshValueIsNotStaleBecauseAnotherChangeWasTakenBack) {
  Ask("ms a 1 E9000000000000000\r\n5\r\n");
  session_.BeginTurn(true);
  ExecuteIn(session_, *frontend_, "md a I T30\r\n");
  session_.Rollback();
  EXPECT_EQ("HD\r\nVA 1\r\n6\r\n", Ask("ms a 1\r\n6\r\nmg a v\r\n"));
}

TEST_F(MemcachedTest, AnInvalidationThatHasExpiredDeletesWhereNothingExpires) {
  Define({{"default", "test", "demo", "id", "value", "flags", "cas", "0", "PRIMARY"}});
  Connect();
  EXPECT_EQ("HD\r\nHD\r\nEN\r\n", Ask("ms a 1\r\n5\r\nmd a I T-1\r\nmg a v\r\n"));
  EXPECT_EQ("HD\r\nHD\r\nEN\r\n", Ask("ms a 1\r\n5\r\nmd a x T-1\r\nmg a v\r\n"));
  EXPECT_EQ("HD\r\nHD\r\nVA 1 X W\r\n5\r\n", Ask("ms a 1\r\n5\r\nmd a I T30\r\nmg a v\r\n"));
}

TEST(MemcachedMarks, RowsThatWereOnlyReadMakeRoomForOthers) {
  MemcachedMarks marks;
  constexpr uint64_t kContainer = 1;
  const auto read = [&](const std::string& key) {
    marks.With(kContainer, key, 1, true, [](MemcachedMark& mark) { mark.was_read = true; });
  };
  const size_t many = 2 * size_t{model::kMemcachedMarksMax};
  for (size_t i = 0; i < many; ++i) read("read" + std::to_string(i));
  constexpr int kStale = 200;
  for (int i = 0; i < kStale; ++i) {
    MemcachedMark mark;
    mark.cas = 2;
    mark.stale = true;
    marks.Move(kContainer, "stale" + std::to_string(i), 1, mark);
  }
  for (size_t i = 0; i < many; ++i) read("again" + std::to_string(i));
  for (int i = 0; i < kStale; ++i) {
    EXPECT_TRUE(marks.Of(kContainer, "stale" + std::to_string(i), 2).stale) << i;
  }
  // Rows that were read of late are known as well.
  int known = 0;
  for (size_t i = many - 1000; i < many; ++i) {
    known += marks.Of(kContainer, "again" + std::to_string(i), 1).was_read;
  }
  EXPECT_LT(900, known);
}

// A new container may have the memory of one that is gone.
TEST(MemcachedMarks, ANewContainerHasNoMarksOfTheOneThatWasInItsPlace) {
  MemcachedMarks marks;
  std::optional<keyspace::ContainerState> state(std::in_place);
  MemcachedMark mark;
  mark.cas = 2;
  mark.stale = true;
  marks.Move(state->serial, "k", 1, mark);
  EXPECT_TRUE(marks.Of(state->serial, "k", 2).stale);
  state.emplace();
  EXPECT_FALSE(marks.Of(state->serial, "k", 2).stale);
}

// One read of the mapping tables answers all that has been received by then.
TEST_F(MemcachedTest, RequestsThatCameTogetherHaveTheMappingReadOnce) {
  EXPECT_EQ("END\r\n", Ask("get k\r\n"));
  const auto refreshes = [&](std::string_view input) {
    int count = 0;
    while (!input.empty()) {
      base::Arena arena;
      Item item;
      const exec::Frontend::Step step = frontend_->Parse(input, false, arena, &item);
      count += item.kind == Item::Kind::kRefresh;
      if (item.kind == Item::Kind::kRefresh) frontend_->Rewind();
      input.remove_prefix(step.consumed);
    }
    return count;
  };
  EXPECT_EQ(1, refreshes("get @@none.a\r\nget @@none.b\r\nget k\r\nget @@broken.c\r\n"));
  EXPECT_EQ(1, refreshes("get @@none.a\r\n"));
}

TEST_F(MemcachedTest, ADisabledContainerIsLookedUpSeldomAndFollowed) {
  constexpr int kAsks = 2000;
  const std::string why = "SERVER_ERROR container broken is disabled";
  EXPECT_TRUE(Ask("get @@broken.k\r\n").starts_with(why));
  const int64_t begun_ms = base::CoarseNowMs();
  int64_t refreshes = 0;
  for (int i = 0; i < kAsks; ++i) {
    base::Arena arena;
    Item item;
    frontend_->Parse("get @@broken.k\r\n", false, arena, &item);
    if (item.kind != Item::Kind::kRefresh) continue;
    ++refreshes;
    frontend_->Rewind();
    shared_->keyspaces->catalog.RefreshNow(session_);
    frontend_->Parse("get @@broken.k\r\n", false, arena, &item);
  }
  EXPECT_GE((base::CoarseNowMs() - begun_ms) / 5 + 1, refreshes);
  const Row whole = {"broken", "test", "demo", "id", "value", "0", "0", "0", "PRIMARY"};
  Define({whole});
  std::string reply;
  do {
    reply = Ask("get @@broken.k\r\n");
  } while (reply.starts_with(why) && base::CoarseNowMs() - begun_ms < 20'000);
  EXPECT_EQ("END\r\n", reply);
}

TEST_F(MemcachedTest, AFlushThatFailsLeavesTheOneThatIsToCome) {
  keyspace::Housekeeper housekeeper(*shared_->keyspaces, sessions_, Purging(1000));
  const auto flush_in_vain = [&](std::string_view command) {
    base::Arena arena;
    base::Buffer out;
    Item item;
    frontend_->Parse(command, false, arena, &item);
    session_.BeginTurn(true);
    EXPECT_TRUE(frontend_->Execute(item, session_, out).ok());
    session_.Rollback();
    frontend_->Finished(item, {model::ErrorCode::kKilled});
  };
  Set("a", "1", "0");
  flush_in_vain("flush_all 5\r\n");
  MoveClock(6);
  housekeeper.RunOnce(session_);
  housekeeper.AwaitFlush();
  EXPECT_EQ(1u, store_.RowCount("test.demo"));
  EXPECT_EQ("OK\r\n", Ask("flush_all 5\r\n"));
  flush_in_vain("flush_all\r\n");
  MoveClock(6);
  housekeeper.RunOnce(session_);
  housekeeper.AwaitFlush();
  EXPECT_EQ(0u, store_.RowCount("test.demo"));
}

// A flush that stayed due would delete items that are written until the reason is gone.
TEST_F(MemcachedTest, ADelayedFlushWhoseRowsCannotBeDeletedIsDropped) {
  keyspace::Housekeeper housekeeper(*shared_->keyspaces, sessions_, Purging(1000));
  const auto rows_left_after = [&](const model::Error& error) {
    Set("a", "1", "0");
    EXPECT_EQ("OK\r\n", Ask("flush_all 10\r\n"));
    store_.SetHook([error](const engine::fake::Call& call) {
      const bool is_it =
          call.kind == engine::fake::Call::Kind::kExecute && call.request->is_write();
      return is_it ? engine::Outcome::Of(error) : engine::Outcome();
    });
    MoveClock(11);
    housekeeper.RunOnce(session_);
    housekeeper.AwaitFlush();
    store_.SetHook({});
    MoveClock(2);
    housekeeper.RunOnce(session_);
    housekeeper.AwaitFlush();
    return store_.RowCount("test.demo");
  };
  EXPECT_EQ(1u, rows_left_after(model::Error::Engine(152))) << "a foreign key refers to a row";
  EXPECT_EQ(1u, rows_left_after({model::ErrorCode::kTrigger}));
  EXPECT_EQ(0u, rows_left_after({model::ErrorCode::kLockWait}));
}

TEST_F(MemcachedTest, ADelayedFlushIsDroppedWhereItsContainerIsDisabled) {
  keyspace::Housekeeper housekeeper(*shared_->keyspaces, sessions_, Purging(1000));
  const Row demo = {"default", "test", "demo", "id", "value", "flags", "cas", "expires", "PRIMARY"};
  Row broken = demo;
  broken[4] = "nothing";
  Set("a", "1", "0");
  EXPECT_EQ("OK\r\n", Ask("flush_all 10\r\n"));
  Define({broken});
  shared_->keyspaces->catalog.RefreshNow(session_);
  MoveClock(11);
  housekeeper.RunOnce(session_);
  Define({demo});
  shared_->keyspaces->catalog.RefreshNow(session_);
  housekeeper.RunOnce(session_);
  housekeeper.AwaitFlush();
  EXPECT_EQ(1u, store_.RowCount("test.demo"));
}

// The mapping has changed while the table was locked: nothing says that the container is wrong.
TEST_F(MemcachedTest, ADelayedFlushWaitsForAContainerWhoseTableIsLocked) {
  keyspace::Housekeeper housekeeper(*shared_->keyspaces, sessions_, Purging(1000));
  Set("a", "1", "0");
  EXPECT_EQ("OK\r\n", Ask("flush_all 10\r\n"));
  Define({{"default", "test", "demo", "id", "value", "flags", "cas", "0", "PRIMARY"}});
  store_.SetHook([](const engine::fake::Call& call) {
    const bool is_it =
        call.kind == engine::fake::Call::Kind::kOpenIndex && call.names->table == "demo";
    return is_it ? engine::Outcome::Make(engine::Outcome::Result::kBusy,
                                         {model::ErrorCode::kLockTables})
                 : engine::Outcome();
  });
  shared_->keyspaces->catalog.RefreshNow(session_);
  MoveClock(11);
  housekeeper.RunOnce(session_);
  store_.SetHook({});
  shared_->keyspaces->catalog.MarkStale();
  shared_->keyspaces->catalog.RefreshNow(session_);
  housekeeper.RunOnce(session_);
  housekeeper.AwaitFlush();
  EXPECT_EQ(0u, store_.RowCount("test.demo"));
}

}  // namespace
}  // namespace rowsocket::frontend
