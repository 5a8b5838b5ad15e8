// What the purge and flush_all remove if some rows stay.
#include <atomic>
#include <new>

#include "exec/test_notification.h"
#include "frontend/memcached/memcached_fixture.h"

namespace rowsocket::frontend {
namespace {

constexpr unsigned kRowsPerSecond = 1000;  // 100 in a round.
constexpr int kForeignKey = 152;           // HA_ERR_ROW_IS_REFERENCED

class PurgeTest : public MemcachedTest {
 protected:
  /// Rows are {a, b, v, e}; their key is (a, b).
  static engine::fake::TableDefinition Many(const std::string& expiry_index, bool nullable) {
    ColumnFacts expiry = Of(Kind::kInteger, 0, nullable);
    expiry.index = expiry_index;
    return {"test.many",
            {"a", "b", "v", "e"},
            {{"PRIMARY", {0, 1}}, {expiry_index.empty() ? "by_e" : expiry_index, {3}}},
            false,
            false,
            {{"b", Of(Kind::kInteger)}, {"e", expiry}}};
  }
  void Fill(const std::vector<Row>& rows, const std::string& expiry_index, bool nullable = false) {
    store_.CreateTable(Many(expiry_index, nullable), rows);
    Define({{"many", "test", "many", "a,b", "v", "0", "0", "e", "PRIMARY"}});
    shared_->keyspaces->catalog.RefreshNow(session_);
  }
  /// Runs rounds until there is no more to do; returns their number without the last.
  unsigned Purge() {
    unsigned rounds = 0;
    while (housekeeper_.RunOnce(session_) && rounds < 100) ++rounds;
    return rounds;
  }
  size_t rows() const { return store_.RowCount("test.many"); }
  /// Makes edits fail with this error: those of rows whose key begins with `first`, or all.
  void FailEdits(model::Error error, const std::string& first = "") {
    edits_ = 0;
    store_.SetHook([this, error, first](const engine::fake::Call& call) {
      engine::Outcome outcome;
      if (call.kind != engine::fake::Call::Kind::kExecute ||
          call.request->verb != model::Request::Verb::kEdit) {
        return outcome;
      }
      ++edits_;
      if (first.empty() || engine::fake::FirstValue(*call.request) == first)
        outcome = engine::Outcome::Of(error);
      return outcome;
    });
  }

  /// Sessions with this lock wait run out of memory whenever they execute a request.
  void ExhaustExecute(engine::LockWait lock_wait = engine::LockWait::kNever) {
    store_.SetHook([lock_wait](const engine::fake::Call& call) {
      const bool is_out =
          call.kind == engine::fake::Call::Kind::kExecute && call.lock_wait == lock_wait;
      if (is_out) throw std::bad_alloc();
      return engine::Outcome();
    });
  }

  keyspace::Housekeeper housekeeper_{*shared_->keyspaces, sessions_, Purging(kRowsPerSecond)};
  unsigned edits_ = 0;
};

Row Numbered(const char* a, int b, const char* expiry) {
  return {a, std::to_string(b), "v", expiry};
}

/// With an index of expiry, and without.
class PurgeByIndexOrScanTest : public PurgeTest,
                               public ::testing::WithParamInterface<const char*> {};

TEST_P(PurgeByIndexOrScanTest, RowsThatCannotBeDeletedKeepNoOthersBack) {
  std::vector<Row> all;
  for (int i = 0; i < 250; ++i) all.push_back(Numbered("kept", i, "1000"));
  for (int i = 0; i < 50; ++i) all.push_back(Numbered("same", i, "1000"));
  for (int i = 0; i < 50; ++i) all.push_back(Numbered("then", i, "2000"));
  for (int i = 0; i < 20; ++i) all.push_back(Numbered("zero", i, "0"));
  Fill(all, GetParam());
  FailEdits(model::Error::Engine(kForeignKey), "kept");
  EXPECT_EQ(3u, Purge());
  EXPECT_EQ(270u, rows());
  EXPECT_EQ(350u, edits_) << "each row is tried once";
  store_.SetHook({});
  Purge();
  EXPECT_EQ(20u, rows());
}

INSTANTIATE_TEST_SUITE_P(Indexes, PurgeByIndexOrScanTest,
                         ::testing::Values("by_e", "", "2024_e", "0"));

// Rows of two containers have expired; the stop comes in the middle of the first one's, which ends
// without a change. The session is interrupted more than once, because it may forget an interrupt.
TEST_F(PurgeTest, StopEndsTheRoundAfterTheContainerUnderWay) {
  Fill({Numbered("k", 1, "1000")}, "by_e");
  store_.CreateTable({"test.more",
                      {"a", "v", "e"},
                      {{"PRIMARY", {0}}},
                      false,
                      false,
                      {{"a", Of(Kind::kBytes)}, {"e", Of(Kind::kInteger)}}},
                     {{"k", "v", "1000"}});
  Define({{"many", "test", "many", "a,b", "v", "0", "0", "e", "PRIMARY"},
          {"more", "test", "more", "a", "v", "0", "0", "e", "PRIMARY"}});
  shared_->keyspaces->catalog.RefreshNow(session_);
  exec::Notification begun, interrupted;
  std::atomic<int> interrupts{0};
  store_.SetHook([&](const engine::fake::Call& call) {
    if (call.kind == engine::fake::Call::Kind::kInterrupt && ++interrupts == 3)
      interrupted.Notify();
    if (call.kind == engine::fake::Call::Kind::kExecute &&
        call.request->verb == model::Request::Verb::kEdit) {
      begun.Notify();
      EXPECT_TRUE(interrupted.Wait());
    }
    return engine::Outcome();
  });
  ASSERT_TRUE(housekeeper_.Start());
  ASSERT_TRUE(begun.Wait());
  housekeeper_.Stop();
  store_.SetHook({});
  EXPECT_EQ(2u, rows() + store_.RowCount("test.more"));
}

// daemon_memcached_clock_offset may put the clock before 1970.
TEST_F(PurgeTest, APauseEndsWhenTheNextFlushIsDueWhateverTheClockSays) {
  using keyspace::Housekeeper;
  for (const int64_t now_ms : {int64_t{-8'000'000'000'000}, int64_t{1'700'000'000'000}}) {
    EXPECT_EQ(model::kPurgeIdleMs, Housekeeper::PauseMs(keyspace::kNever, now_ms, false));
    EXPECT_EQ(model::kPurgeTickMs, Housekeeper::PauseMs(keyspace::kNever, now_ms, true));
    EXPECT_EQ(20, Housekeeper::PauseMs(now_ms + 20, now_ms, true));
    EXPECT_EQ(1, Housekeeper::PauseMs(now_ms, now_ms, true));
    EXPECT_EQ(1, Housekeeper::PauseMs(now_ms - 5000, now_ms, false));
  }
}

// max_binlog_cache_size limits a transaction. One row alone is too large for it.
TEST_F(PurgeTest, ChunkThatIsTooLargeForATransactionIsHalved) {
  std::vector<Row> all;
  for (int i = 0; i < 150; ++i) all.push_back(Numbered("k", i, "1000"));
  all.push_back(Numbered("large", 1, "1000"));
  all.push_back(Numbered("m", 1, "1000"));
  Fill(all, "by_e");
  unsigned in_turn = 0;
  store_.SetHook([&in_turn](const engine::fake::Call& call) {
    engine::Outcome outcome;
    if (call.kind == engine::fake::Call::Kind::kBeginTurn) in_turn = 0;
    if (call.kind != engine::fake::Call::Kind::kExecute ||
        call.request->verb != model::Request::Verb::kEdit) {
      return outcome;
    }
    if (++in_turn > 10 || engine::fake::FirstValue(*call.request) == "large") {
      outcome = engine::fake::MustSplit();
    }
    return outcome;
  });
  Purge();
  store_.SetHook({});
  EXPECT_EQ("large,1,v,1000;", store_.Dump("test.many"));
}

TEST_F(PurgeTest, RowsThatAreLockedArePassedOver) {
  std::vector<Row> all;
  for (int i = 0; i < 30; ++i) all.push_back(Numbered("k", i, "1000"));
  Fill(all, "by_e");
  auto held = store_.LockRow("test.many", {"k", "3"});
  Purge();
  EXPECT_EQ("k,3,v,1000;", store_.Dump("test.many"));
  held.reset();
  Purge();
  EXPECT_EQ(0u, rows());
}

// innodb_rollback_on_timeout: a row that is locked costs the deletions before it.
TEST_F(PurgeTest, RowsThatAreLockedArePassedOverWhereEachCostsTheTransaction) {
  std::vector<Row> all;
  for (int i = 0; i < 30; ++i) all.push_back(Numbered("k", i, std::to_string(1000 + i).c_str()));
  for (const char* index : {"by_e", ""}) {
    Fill(all, index);
    edits_ = 0;
    store_.SetHook([this](const engine::fake::Call& call) {
      engine::Outcome outcome;
      if (call.kind != engine::fake::Call::Kind::kExecute ||
          call.request->verb != model::Request::Verb::kEdit) {
        return outcome;
      }
      ++edits_;
      const std::string_view number = call.request->key()[1].text();
      if (number != "0" && number != "7" && number != "8" && number != "29") return outcome;
      outcome =
          engine::Outcome::Make(engine::Outcome::Result::kBusy, {model::ErrorCode::kLockWait});
      outcome.transaction_lost = true;
      return outcome;
    });
    Purge();
    EXPECT_EQ("k,0,v,1000;k,7,v,1007;k,8,v,1008;k,29,v,1029;", store_.Dump("test.many")) << index;
    EXPECT_GE(60u, edits_) << "no row is tried more than twice";
    store_.SetHook({});
    Purge();
    EXPECT_EQ(0u, rows());
  }
}

TEST_F(PurgeTest, AnErrorOfTheTableEndsTheRound) {
  std::vector<Row> all;
  for (int i = 0; i < 250; ++i) all.push_back(Numbered("k", i, "1000"));
  Fill(all, "by_e");
  for (const model::Error error :
       {model::Error{model::ErrorCode::kLockTables, 0}, model::Error{model::ErrorCode::kKilled, 0},
        model::Error::Engine(135), model::Error::Engine(165)}) {
    FailEdits(error);
    EXPECT_FALSE(housekeeper_.RunOnce(session_));
    EXPECT_EQ(1u, edits_);
  }
  store_.SetHook({});
  EXPECT_EQ(2u, Purge());
  EXPECT_EQ(0u, rows());
}

TEST_F(PurgeTest, WhatIsDeletedBeforeAnErrorOfTheTableIsCounted) {
  std::vector<Row> all;
  for (int i = 0; i < 50; ++i) all.push_back(Numbered("k", i, "1000"));
  Fill(all, "by_e");
  uint64_t counted = 0;
  keyspace::HousekeeperRules rules = Purging(kRowsPerSecond);
  rules.containers.on_purged = [&counted](uint64_t rows) { counted += rows; };
  keyspace::Housekeeper housekeeper(*shared_->keyspaces, sessions_, rules);
  store_.SetHook([this](const engine::fake::Call& call) {
    const bool is_edit = call.kind == engine::fake::Call::Kind::kExecute &&
                         call.request->verb == model::Request::Verb::kEdit;
    if (!is_edit || ++edits_ <= 9) return engine::Outcome();
    return engine::Outcome::Of(model::Error::Engine(135));
  });
  housekeeper.RunOnce(session_);
  EXPECT_EQ(41u, rows());
  EXPECT_EQ(9u, counted);
}

TEST_F(PurgeTest, TheRoundAfterOneThatRanOutOfMemoryGoesOn) {
  std::vector<Row> all;
  for (int i = 0; i < 50; ++i) all.push_back(Numbered("k", i, "1000"));
  Fill(all, "by_e");
  ExhaustExecute();
  EXPECT_TRUE(housekeeper_.RunOnce(session_));
  EXPECT_EQ(50u, rows());
  store_.SetHook({});
  for (int i = 0; i < 2; ++i) Purge();
  EXPECT_EQ(0u, rows());
}

TEST_F(PurgeTest, AFlushThatRanOutOfMemoryIsTriedAgain) {
  Set("a", "1", "0");
  EXPECT_EQ("OK\r\n", Ask("flush_all 10\r\n"));
  MoveClock(11);
  ExhaustExecute(engine::LockWait::kServer);
  housekeeper_.RunOnce(session_);
  housekeeper_.AwaitFlush();
  store_.SetHook({});
  EXPECT_EQ(1u, store_.RowCount("test.demo"));
  MoveClock(2);
  housekeeper_.RunOnce(session_);
  housekeeper_.AwaitFlush();
  EXPECT_EQ(0u, store_.RowCount("test.demo"));
}

// There are ten rounds a second: each keeps its part of a row for the next round.
TEST_F(PurgeTest, FewRowsASecondStayFew) {
  std::vector<Row> all;
  for (int i = 0; i < 50; ++i) all.push_back(Numbered("old", i, "1000"));
  Fill(all, "by_e");
  keyspace::Housekeeper one{*shared_->keyspaces, sessions_, Purging(1)};
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(one.RunOnce(session_));
  EXPECT_EQ(40u, rows());
  keyspace::Housekeeper nineteen{*shared_->keyspaces, sessions_, Purging(19)};
  for (int i = 0; i < 20; ++i) nineteen.RunOnce(session_);
  EXPECT_EQ(2u, rows());
}

TEST_F(PurgeTest, OtherRulesHoldFromTheNextRoundOn) {
  std::vector<Row> all;
  for (int i = 0; i < 50; ++i) all.push_back(Numbered("old", i, "1000"));
  Fill(all, "by_e");
  keyspace::Housekeeper keeper{*shared_->keyspaces, sessions_, {{}, Purging(1000).containers}};
  EXPECT_FALSE(keeper.RunOnce(session_));
  EXPECT_EQ(50u, rows()) << "the rules for RESP rule no container";
  keeper.Follow(Purging(100));
  EXPECT_TRUE(keeper.RunOnce(session_));
  EXPECT_EQ(40u, rows());
  keeper.Follow(Purging(0));
  EXPECT_FALSE(keeper.RunOnce(session_));
  EXPECT_EQ(40u, rows());
}

TEST_F(PurgeTest, TheRoundAfterAnErrorGoesOnWhereItWas) {
  std::vector<Row> all;
  for (int i = 0; i < 150; ++i) all.push_back(Numbered("kept", i, "1000"));
  for (int i = 0; i < 150; ++i) all.push_back(Numbered("then", i, "2000"));
  Fill(all, "by_e");
  FailEdits(model::Error::Engine(kForeignKey), "kept");
  EXPECT_TRUE(housekeeper_.RunOnce(session_));
  FailEdits(model::Error{model::ErrorCode::kLockTables, 0});
  EXPECT_FALSE(housekeeper_.RunOnce(session_));
  FailEdits(model::Error::Engine(kForeignKey), "kept");
  Purge();
  EXPECT_EQ(150u, rows());
  EXPECT_EQ(200u, edits_);
}

TEST_F(PurgeTest, TheRoundAfterAFindThatFailedGoesOnWhereItWas) {
  std::vector<Row> all;
  for (int i = 0; i < 150; ++i) all.push_back(Numbered("kept", i, "1000"));
  for (int i = 0; i < 50; ++i) all.push_back(Numbered("then", i, "2000"));
  Fill(all, "by_e");
  FailEdits(model::Error::Engine(kForeignKey), "kept");
  EXPECT_TRUE(housekeeper_.RunOnce(session_));
  EXPECT_EQ(100u, edits_);
  store_.SetHook([](const engine::fake::Call& call) {
    return call.kind == engine::fake::Call::Kind::kExecute
               ? engine::Outcome::Fail(model::ErrorCode::kLockTables)
               : engine::Outcome();
  });
  EXPECT_FALSE(housekeeper_.RunOnce(session_));
  FailEdits(model::Error::Engine(kForeignKey), "kept");
  housekeeper_.RunOnce(session_);
  EXPECT_EQ(150u, rows());
  EXPECT_EQ(100u, edits_);
}

TEST_F(PurgeTest, RowsWithANullInTheirKeyArePassedOver) {
  std::vector<Row> all;
  for (int i = 0; i < 150; ++i) all.push_back({std::nullopt, std::to_string(i), "v", "1000"});
  for (int i = 0; i < 30; ++i) all.push_back(Numbered("k", i, i % 2 != 0 ? "1000" : "2000"));
  for (const char* index : {"by_e", ""}) {
    Fill(all, index);
    Purge();
    EXPECT_EQ(150u, rows()) << index;
  }
}

// A user who names a container may give it the title of a keyspace.
TEST_F(PurgeTest, AContainerWithTheTitleOfAKeyspaceIsPurgedByItself) {
  std::vector<Row> all;
  for (int i = 0; i < 150; ++i) all.push_back(Numbered("kept", i, "1000"));
  for (int i = 0; i < 50; ++i) all.push_back(Numbered("then", i, "2000"));
  Fill(all, "by_e");
  store_.CreateTable({"test.more",
                      {"a", "e"},
                      {{"PRIMARY", {0}}},
                      false,
                      false,
                      {{"a", Of(Kind::kBytes)}, {"e", Of(Kind::kInteger)}}},
                     {{"k", "1000"}});
  store_.CreateTable({"rowsocket.keyspaces",
                      {"prefix", "kind", "container", "db_schema", "db_table", "db_index", "fields",
                       "if_absent", "read_only", "expires"},
                      {{"PRIMARY", {0}}}},
                     {{"x", "row", "", "test", "more", "", "", "insert", "0", "e"}});
  Define({{"keyspace 'x'", "test", "many", "a,b", "v", "0", "0", "e", "PRIMARY"}});
  shared_->keyspaces->catalog.RefreshNow(session_);
  FailEdits(model::Error::Engine(kForeignKey), "kept");
  const keyspace::HousekeeperSettings settings = Purging(kRowsPerSecond).containers;
  keyspace::Housekeeper both{*shared_->keyspaces, sessions_, {settings, settings}};
  for (int i = 0; i < 5; ++i) both.RunOnce(session_);
  EXPECT_EQ(150u, rows());
  EXPECT_EQ(0u, store_.RowCount("test.more"));
}

// The housekeeper runs before the port's first worker has asked the server for the account's role.
TEST_F(PurgeTest, NoRowIsDeletedBeforeTheRoleOfTheAccountIsKnown) {
  const auto account = std::make_shared<model::Account>("shop", "%");
  account->AwaitRole();
  settings_.account = account;
  Fill({Numbered("k", 1, "1000")}, "by_e");
  std::vector<std::string> judged_by;
  store_.SetHook([&](const engine::fake::Call& call) {
    if (call.kind == engine::fake::Call::Kind::kJudge) judged_by.push_back(call.account->role());
    return engine::Outcome();
  });
  keyspace::Housekeeper by_account{*shared_->keyspaces, sessions_, Purging(kRowsPerSecond)};
  by_account.RunOnce(session_);
  EXPECT_TRUE(judged_by.empty());
  EXPECT_EQ(1u, rows());
  account->SetRole("cashier");
  by_account.RunOnce(session_);
  EXPECT_EQ(std::vector<std::string>{"cashier"}, judged_by);
  EXPECT_EQ(0u, rows());
}

// Each search among rows of one moment passes over those that stay.
TEST_F(PurgeTest, AMomentOfWhichManyRowsStayIsLeftOutForAWhile) {
  constexpr unsigned kKept = model::kPurgeStuckRows;
  std::vector<Row> all;
  for (unsigned i = 0; i < kKept; ++i) all.push_back(Numbered("kept", static_cast<int>(i), "1000"));
  for (int i = 0; i < 50; ++i) all.push_back(Numbered("then", i, "2000"));
  all.push_back(Numbered("first", 1, "500"));
  Fill(all, "by_e");
  const auto edits_of_a_pass = [this](const std::string& failing) {
    FailEdits(model::Error::Engine(kForeignKey), failing);
    Purge();
    return edits_;
  };
  EXPECT_EQ(kKept + 51, edits_of_a_pass("")) << "all rows stay";
  EXPECT_EQ(51u, edits_of_a_pass("kept"));
  EXPECT_EQ(kKept, rows()) << "rows before and behind the moment are deleted";
  constexpr int64_t kPauseS = model::kPurgeStuckPauseMs / 1000;
  MoveClock(kPauseS);
  EXPECT_EQ(kKept, edits_of_a_pass("kept")) << "the pause is over";
  MoveClock(kPauseS);
  EXPECT_EQ(0u, edits_of_a_pass("kept")) << "the next pause is longer";
  MoveClock(kPauseS);
  store_.SetHook({});
  Purge();
  EXPECT_EQ(0u, rows());
}

// As with a FLOAT in the key: finds see the rows, and edits by their keys find none.
TEST_F(PurgeTest, RowsThatTheirKeysDoNotFindArePassedOver) {
  std::vector<Row> all;
  for (int i = 0; i < 150; ++i) all.push_back(Numbered("k", i, "1000"));
  Fill(all, "by_e");
  store_.SetHook([this, &all](const engine::fake::Call& call) {
    if (call.kind == engine::fake::Call::Kind::kBeginTurn)
      store_.CreateTable(Many("by_e", false), call.writes ? std::vector<Row>() : all);
    return engine::Outcome();
  });
  EXPECT_EQ(1u, Purge());
  store_.SetHook({});
}

TEST_F(PurgeTest, RowsThatExpiredBefore1970AreRemovedAndRowsThatNeverExpireStay) {
  std::vector<Row> all;
  for (int i = 0; i < 130; ++i) all.push_back(Numbered("negative", i, i % 2 != 0 ? "-5" : "-7"));
  for (int i = 0; i < 130; ++i) all.push_back(Numbered("never", i, "0"));
  for (int i = 0; i < 130; ++i) all.push_back(Numbered("expired", i, "1000"));
  Fill(all, "by_e");
  EXPECT_EQ(2u, Purge());
  EXPECT_EQ(130u, rows());
  for (int i = 0; i < 130; ++i) all.push_back({"null", std::to_string(i), "v", std::nullopt});
  Fill(all, "by_e", true);
  Purge();
  EXPECT_EQ(260u, rows());
}

TEST_F(PurgeTest, RowsWithANullInTheirKeyAreFlushedWithTheOthers) {
  std::vector<Row> all;
  for (uint64_t i = 0; i < model::kFlushChunkRows; ++i) {
    all.push_back({std::nullopt, std::to_string(i), "v", "0"});
  }
  for (int i = 0; i < 5; ++i) all.push_back(Numbered("k", i, "0"));
  Fill(all, "");
  EXPECT_EQ("OK\r\n", Ask("flush_all\r\n"));
  EXPECT_EQ(0u, rows());
}

}  // namespace
}  // namespace rowsocket::frontend
