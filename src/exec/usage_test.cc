#include "exec/usage.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "exec/item_runs.h"
#include "exec/test_frontend.h"
#include "exec/turn.h"
#include "exec/unit.h"

namespace rowsocket::exec {
namespace {

uint64_t Of(const UsageCounts& counts, Used what) { return counts[static_cast<size_t>(what)]; }

class UsageTest : public testing::Test {
 protected:
  UsageTest() {
    ann_.SetAccount(std::make_shared<model::Account>("ann", "%"));
    for (TurnClient* const client : {&nobody_, &of_ann_}) client->Begin(1000, 0);
  }

  TurnItem Request(TurnClient& client, engine::Index& index, uint64_t rows, bool writes = false) {
    TurnItem item;
    item.client = &client;
    item.progress = TurnItem::Progress::kFinished;
    item.rows = rows;
    item.item.kind = Item::Kind::kRequest;
    item.item.index = &index;
    if (writes) item.item.request.find.modification = model::Modification::kDelete;
    return item;
  }

  void AddTurn(UsageBlock& block, const std::vector<TurnItem>& items, int64_t answered_ns) {
    Fill(&turn_, items);
    runs_.Take(turn_);
    block.AddTurn(runs_, answered_ns);
  }

  engine::Index stock_{{"shop", "stock", "", {"n"}, {}}, 0, 1};
  engine::Index orders_{{"shop", "orders", "by_user", {"id"}, {}}, 1, 2};
  SilentFrontend none_, ann_;
  TurnClient nobody_ = ClientOf(none_), of_ann_ = ClientOf(ann_);
  StatRegistry registry_;
  StatBlock stats_{registry_};
  CommitBoard commits_;
  Turn turn_{stats_, commits_};
  ItemRuns runs_;
  Usage usage_;
  UsageBlock block_{&usage_, "wr"};
};

TEST_F(UsageTest, RequestsCountForTheirIndexAndAccount) {
  std::vector<TurnItem> items = {Request(nobody_, stock_, 1), Request(nobody_, stock_, 2),
                                 Request(of_ann_, stock_, 1, true), Request(of_ann_, orders_, 0)};
  items[3].answer.code = model::ErrorCode::kDenied;
  AddTurn(block_, items, 1500);
  const Usage::Indexes indexes = usage_.indexes();
  ASSERT_EQ(indexes.size(), 2u);
  const UsageCounts& stock = indexes.at({"shop", "stock", "PRIMARY"});
  EXPECT_EQ(Of(stock, Used::kRequests), 3u);
  EXPECT_EQ(Of(stock, Used::kRowsRead), 3u);
  EXPECT_EQ(Of(stock, Used::kWrites), 1u);
  EXPECT_EQ(Of(stock, Used::kRowsChanged), 1u);
  EXPECT_EQ(Of(stock, Used::kErrors), 0u);
  EXPECT_EQ(Of(stock, Used::kWholeNs), 1500u);
  EXPECT_EQ(Of(indexes.at({"shop", "orders", "by_user"}), Used::kErrors), 1u);
  const Usage::Accounts accounts = usage_.accounts();
  ASSERT_EQ(accounts.size(), 2u);
  EXPECT_EQ(Of(accounts.at({"wr", "", ""}), Used::kRequests), 2u);
  EXPECT_EQ(Of(accounts.at({"wr", "ann", "%"}), Used::kRequests), 2u);
  EXPECT_EQ(Of(accounts.at({"wr", "ann", "%"}), Used::kErrors), 1u);
}

TEST_F(UsageTest, EachRequestOfAUnitCountsForItsOwnIndex) {
  std::array<UnitRequest, 2> requests{{{&stock_, {}, true, 1}, {&orders_, {}, true, 1}}};
  requests[0].request.find.modification = model::Modification::kDelete;
  Unit unit;
  unit.requests = requests;
  unit.writes = true;
  std::vector<TurnItem> items = {Request(of_ann_, orders_, 4), Request(of_ann_, stock_, 2, true)};
  items[1].item.unit = &unit;
  unit.end = Unit::End::kApplied;
  AddTurn(block_, items, 1500);
  unit.end = Unit::End::kStopped;
  AddTurn(block_, {items[1]}, 1500);
  unit.end = Unit::End::kFailed;
  unit.ended_at = 2;
  AddTurn(block_, {items[1]}, 1500);
  const Usage::Indexes indexes = usage_.indexes();
  const UsageCounts& stock = indexes.at({"shop", "stock", "PRIMARY"});
  const UsageCounts& orders = indexes.at({"shop", "orders", "by_user"});
  EXPECT_EQ(Of(stock, Used::kRequests), 3u);
  EXPECT_EQ(Of(stock, Used::kWrites), 3u);
  EXPECT_EQ(Of(stock, Used::kRowsChanged), 1u) << "what was not applied has changed nothing";
  EXPECT_EQ(Of(stock, Used::kErrors), 0u);
  EXPECT_EQ(Of(orders, Used::kRequests), 4u);
  EXPECT_EQ(Of(orders, Used::kRowsRead), 5u);
  EXPECT_EQ(Of(orders, Used::kErrors), 1u);
  EXPECT_EQ(Of(usage_.accounts().at({"wr", "ann", "%"}), Used::kRequests), 7u);
}

TEST_F(UsageTest, AUnitWhoseCommitFailedHasChangedNothingAndIsAnError) {
  std::array<UnitRequest, 2> requests{{{&stock_, {}, true, 1}, {&orders_, {}, true, 1}}};
  requests[0].request.find.modification = model::Modification::kDelete;
  Unit unit;
  unit.requests = requests;
  unit.writes = true;
  TurnItem item = Request(of_ann_, stock_, 2, true);
  item.item.unit = &unit;
  item.answer = model::Error::Engine(5);
  unit.end = Unit::End::kApplied;
  AddTurn(block_, {item}, 1500);
  unit.end = Unit::End::kStopped;
  unit.ended_at = 2;
  AddTurn(block_, {item}, 1500);
  unit.end = Unit::End::kApplied;
  unit.ended_at = 0;
  block_.AddWaited(item.item, ann_.account(), 2, /*is_error=*/true, 300, 400);
  const Usage::Indexes indexes = usage_.indexes();
  const UsageCounts& stock = indexes.at({"shop", "stock", "PRIMARY"});
  const UsageCounts& orders = indexes.at({"shop", "orders", "by_user"});
  EXPECT_EQ(Of(stock, Used::kRequests), 3u);
  EXPECT_EQ(Of(stock, Used::kRowsChanged), 0u);
  EXPECT_EQ(Of(stock, Used::kErrors), 3u);
  EXPECT_EQ(Of(orders, Used::kRequests), 3u);
  EXPECT_EQ(Of(orders, Used::kRowsRead), 0u);
  EXPECT_EQ(Of(orders, Used::kErrors), 0u);
}

TEST_F(UsageTest, AWaitForALockCounts) {
  block_.AddWaited(Request(of_ann_, stock_, 0, true).item, ann_.account(), 1, false, 300, 400);
  const Usage::Indexes indexes = usage_.indexes();
  const UsageCounts& stock = indexes.at({"shop", "stock", "PRIMARY"});
  EXPECT_EQ(Of(stock, Used::kLockWaits), 1u);
  EXPECT_EQ(Of(stock, Used::kLockNs), 300u);
  EXPECT_EQ(Of(stock, Used::kWholeNs), 400u);
  EXPECT_EQ(Of(stock, Used::kRowsChanged), 1u);
}

TEST_F(UsageTest, CountsOutliveTheirWorker) {
  {
    UsageBlock gone(&usage_, "rd");
    AddTurn(gone, {Request(nobody_, stock_, 1)}, 1500);
  }
  AddTurn(block_, {Request(nobody_, stock_, 1)}, 1500);
  EXPECT_EQ(Of(usage_.indexes().at({"shop", "stock", "PRIMARY"}), Used::kRequests), 2u);
  EXPECT_EQ(Of(usage_.accounts().at({"rd", "", ""}), Used::kRequests), 1u) << "each port's own";
}

TEST_F(UsageTest, NamesAreLimited) {
  for (uint64_t i = 0; i < model::kUsageNamesMax + 100; ++i) {
    engine::Index index({"shop", "t" + std::to_string(i), "", {}, {}}, 0, i + 10);
    AddTurn(block_, {Request(nobody_, index, 1)}, 1500);
  }
  const Usage::Indexes indexes = usage_.indexes();
  EXPECT_EQ(indexes.size(), model::kUsageNamesMax + 1);
  EXPECT_EQ(Of(indexes.at({}), Used::kRequests), 100u);
}

}  // namespace
}  // namespace rowsocket::exec
