#include "exec/latency.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "exec/item_runs.h"
#include "exec/test_frontend.h"
#include "exec/turn.h"

namespace rowsocket::exec {
namespace {

constexpr uint32_t kFind = 1, kUpdate = 2, kVerbs = 3;
constexpr int64_t kUs = 1000;

class LatencyTest : public testing::Test {
 protected:
  TurnItem ItemOf(TurnClient& client, uint32_t verb) {
    TurnItem item;
    item.client = &client;
    item.item.kind = Item::Kind::kRequest;
    item.item.index = &index_;
    item.item.verb = static_cast<uint16_t>(verb);
    item.progress = TurnItem::Progress::kFinished;
    return item;
  }

  static void AddTurn(LatencyBlock& block, const std::vector<TurnItem>& items,
                      const TurnTimes& times, int64_t sent_ns) {
    StatRegistry stats;
    StatBlock stat_block(stats);
    CommitBoard commits;
    ItemRuns runs;
    Turn turn(stat_block, commits);
    Fill(&turn, items);
    runs.Take(turn);
    block.AddTurn(runs, times, sent_ns);
  }

  /// "mode verb phase count sum_us", one line for each row.
  std::string Shown() const {
    std::string text;
    for (const LatencyRow& row : registry_.Read()) {
      text += row.mode + " " + std::to_string(row.verb) + " " +
              kPhaseNames[static_cast<size_t>(row.phase)] + " " +
              std::to_string(row.counts.count()) + " " + std::to_string(row.counts.sum_ns / kUs) +
              "\n";
    }
    return text;
  }

  engine::Index index_{{"shop", "stock", "", {"n"}, {}}, 0, 1};
  SilentFrontend frontend_;
  unsigned long since_ = 0;
  LatencyRegistry registry_{kVerbs, &since_};
};

TEST_F(LatencyTest, ItemsShareTheTimesOfTheirTurn) {
  LatencyBlock block(&registry_, "rd");
  TurnClient early = ClientOf(frontend_), late = ClientOf(frontend_);
  early.Begin(10 * kUs, 0);
  late.Begin(20 * kUs, 0);
  const std::vector<TurnItem> items = {ItemOf(early, kFind), ItemOf(early, kFind),
                                       ItemOf(late, kFind)};
  AddTurn(block, items, {30 * kUs, 37 * kUs, 37 * kUs}, 40 * kUs);
  EXPECT_EQ(Shown(),
            "rd 1 queue 3 50\n"
            "rd 1 execute 3 21\n"
            "rd 1 whole 3 80\n");
}

TEST_F(LatencyTest, ACommitIsThatOfAllItemsOfTheTurn) {
  LatencyBlock block(&registry_, "wr");
  TurnClient client = ClientOf(frontend_);
  client.Begin(10 * kUs, 0);
  const std::vector<TurnItem> items = {ItemOf(client, kFind), ItemOf(client, kUpdate)};
  AddTurn(block, items, {12 * kUs, 15 * kUs, 115 * kUs, /*commits=*/true}, 120 * kUs);
  EXPECT_EQ(Shown(),
            "wr 1 queue 1 2\nwr 1 execute 1 3\nwr 1 commit 1 100\nwr 1 whole 1 110\n"
            "wr 2 queue 1 2\nwr 2 execute 1 3\nwr 2 commit 1 100\nwr 2 whole 1 110\n");
}

TEST_F(LatencyTest, AnItemThatIsNotAnsweredYetIsNotCounted) {
  LatencyBlock block(&registry_, "wr");
  TurnClient client = ClientOf(frontend_);
  std::vector<TurnItem> items = {ItemOf(client, kFind)};
  items[0].progress = TurnItem::Progress::kExecuted;
  AddTurn(block, items, {}, 5 * kUs);
  EXPECT_EQ(Shown(), "");
}

TEST_F(LatencyTest, HeldRepliesAreCountedWhenTheyLeave) {
  LatencyBlock block(&registry_, "rd");
  TurnClient client = ClientOf(frontend_);
  client.Begin(10 * kUs, 0);
  client.NoteUndurable();
  AddTurn(block, {ItemOf(client, kFind), ItemOf(client, kFind)}, {12 * kUs, 15 * kUs, 15 * kUs},
          20 * kUs);
  EXPECT_EQ(Shown(), "rd 1 queue 2 4\nrd 1 execute 2 6\n");
  block.AddHeld(client, 1010 * kUs);
  block.AddHeld(client, 2000 * kUs);  // Nothing is held any more.
  EXPECT_EQ(Shown(), "rd 1 queue 2 4\nrd 1 execute 2 6\nrd 1 held 2 1990\nrd 1 whole 2 2000\n");
}

TEST_F(LatencyTest, WhatABlockHasCountedStaysWhenItIsGone) {
  {
    LatencyBlock block(&registry_, "rd");
    block.Add(kFind, Phase::kWhole, 7 * kUs, 2);
  }
  LatencyBlock other(&registry_, "rd");
  other.Add(kFind, Phase::kWhole, 1 * kUs);
  EXPECT_EQ(Shown(), "rd 1 whole 3 15\n");
  EXPECT_EQ(registry_.Whole().count(), 3u);
}

TEST_F(LatencyTest, AFlushBeginsAnew) {
  EXPECT_NE(since_, 0u);
  LatencyBlock block(&registry_, "rd");
  block.Add(kFind, Phase::kWhole, 7 * kUs, 2);
  since_ = 0;  // As FLUSH STATUS does.
  block.LookForFlush();
  EXPECT_NE(since_, 0u);
  EXPECT_EQ(Shown(), "");
  block.Add(kFind, Phase::kWhole, 3 * kUs);
  EXPECT_EQ(Shown(), "rd 1 whole 1 3\n");
}

TEST_F(LatencyTest, AVerbThatTheProtocolDoesNotHaveIsNotCounted) {
  LatencyBlock block(&registry_, "rd");
  block.Add(kVerbs, Phase::kWhole, 7 * kUs);
  EXPECT_EQ(Shown(), "");
}

TEST_F(LatencyTest, WithoutARegistryNothingIsCounted) {
  LatencyBlock block(nullptr, "rd");
  TurnClient client = ClientOf(frontend_);
  AddTurn(block, {ItemOf(client, kFind)}, {}, 5 * kUs);
  block.LookForFlush();
}

}  // namespace
}  // namespace rowsocket::exec
