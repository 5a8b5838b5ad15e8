#include "exec/item_runs.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "exec/test_frontend.h"
#include "exec/turn.h"
#include "exec/unit.h"

namespace rowsocket::exec {
namespace {

class ItemRunsTest : public testing::Test {
 protected:
  TurnItem Find(TurnClient& client, uint64_t rows = 1) {
    TurnItem item;
    item.client = &client;
    item.progress = TurnItem::Progress::kFinished;
    item.rows = rows;
    item.item.kind = Item::Kind::kRequest;
    item.item.index = &stock_;
    item.item.verb = 1;
    return item;
  }

  TurnItem Delete(TurnClient& client) {
    TurnItem item = Find(client, 3);
    item.item.request.find.modification = model::Modification::kDelete;
    return item;
  }

  std::vector<ItemRun> Runs(const std::vector<TurnItem>& items) {
    Fill(&turn_, items);
    runs_.Take(turn_);
    return {runs_.begin(), runs_.end()};
  }

  engine::Index stock_{{"shop", "stock", "", {"n"}, {}}, 0, 1};
  engine::Index orders_{{"shop", "orders", "", {"n"}, {}}, 0, 2};
  SilentFrontend first_frontend_, second_frontend_;
  TurnClient first_ = ClientOf(first_frontend_), second_ = ClientOf(second_frontend_);
  StatRegistry registry_;
  StatBlock stats_{registry_};
  CommitBoard commits_;
  Turn turn_{stats_, commits_};
  ItemRuns runs_;
};

TEST_F(ItemRunsTest, WhatCameTogetherIsOneGroupForAllClients) {
  first_.Begin(7, 0);
  second_.Begin(7, 0);
  const auto runs =
      Runs({Find(first_), Find(first_, 2), Find(second_), Delete(second_), Find(first_)});
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].index, &stock_);
  EXPECT_EQ(runs[0].since_ns, 7);
  EXPECT_EQ(runs[0].verb, 1u);
  EXPECT_EQ(runs[0].items, 5u);
  EXPECT_EQ(runs[0].writes, 1u);
  EXPECT_EQ(runs[0].rows_read, 5u);
  EXPECT_EQ(runs[0].rows_changed, 3u);
  EXPECT_EQ(runs[0].errors, 0u);
}

TEST_F(ItemRunsTest, AnotherTimeAccountIndexOrVerbBeginsAGroup) {
  second_.Begin(9, 0);
  EXPECT_EQ(Runs({Find(first_), Find(second_), Find(first_)}).size(), 3u);
  second_.Begin(0, 0);
  EXPECT_EQ(Runs({Find(first_), Find(second_)}).size(), 1u);
  second_frontend_.SetAccount(std::make_shared<model::Account>("ann", "%"));
  const auto by_account = Runs({Find(first_), Find(second_)});
  ASSERT_EQ(by_account.size(), 2u);
  EXPECT_EQ(by_account[1].account, second_frontend_.account());
  std::vector<TurnItem> items = {Find(first_), Find(first_), Find(first_)};
  items[1].item.index = &orders_;
  items[2].item.index = &orders_;
  items[2].item.verb = 2;
  EXPECT_EQ(Runs(items).size(), 3u);
}

TEST_F(ItemRunsTest, AClientWhoseRepliesAreHeldHasItsOwnGroup) {
  second_.NoteUndurable();
  const auto runs = Runs({Find(first_), Find(second_), Find(second_), Find(first_)});
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].held, nullptr);
  EXPECT_EQ(runs[1].held, &second_);
  EXPECT_EQ(runs[1].items, 2u);
}

TEST_F(ItemRunsTest, WhatFollowsAnItemThatHasWaitedIsOfItsClientAlone) {
  first_.Begin(7, /*in_lane_ns=*/5);
  second_.Begin(7, 0);
  std::vector<TurnItem> items = {Find(first_), Find(first_), Find(first_), Find(second_)};
  items[1].input_begin = 10;
  items[2].input_begin = 20;
  const auto runs = Runs(items);
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].lock_ns, 5);
  EXPECT_EQ(runs[0].items, 1u);
  EXPECT_EQ(runs[1].lock_ns, 0);
  EXPECT_EQ(runs[1].items, 2u);
  EXPECT_EQ(runs[2].items, 1u);
}

TEST_F(ItemRunsTest, ErrorsAreCountedAndItemsWithoutAnAnswerAreNot) {
  std::vector<TurnItem> items = {Find(first_), Find(first_), Find(first_)};
  items[0].answer.code = model::ErrorCode::kDenied;
  items[1].progress = TurnItem::Progress::kExecuted;
  const auto runs = Runs(items);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].items, 2u);
  EXPECT_EQ(runs[0].errors, 1u);
}

TEST_F(ItemRunsTest, AUnitAndAnItemThatIsNoRequestAreGroupsByThemselves) {
  Unit unit;
  std::vector<TurnItem> items = {Find(first_), Find(first_), Find(first_), Find(first_)};
  items[1].item.unit = &unit;
  items[2].item.unit = &unit;
  items[2].item.kind = Item::Kind::kReply;
  const auto runs = Runs(items);
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(runs[1].unit, &unit);
  EXPECT_EQ(runs[2].unit, nullptr);
  EXPECT_EQ(runs[2].index, nullptr);
  EXPECT_EQ(runs[2].items, 1u);
}

}  // namespace
}  // namespace rowsocket::exec
