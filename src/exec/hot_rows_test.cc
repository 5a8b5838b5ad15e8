#include "exec/hot_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>

#include "exec/turn.h"
#include "exec/unit.h"

namespace rowsocket::exec {
namespace {

HotRowName Named(const std::string& key) { return {"shop", "product", "PRIMARY", key}; }

uint64_t RequestsOf(const HotRows::Rows& rows, const std::string& key) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.first.key == key; });
  return found == rows.end() ? 0 : found->second.requests;
}

TEST(HotRowsTest, RowsAreShownInTheOrderOfTheirRequests) {
  HotRows rows;
  rows.Add({{Named("1"), {3}}, {Named("2"), {9, 4}}, {Named("1"), {1}}}, 1000);
  const HotRows::Rows top = rows.Top(10, 1000);
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(top[0].first.key, "2");
  EXPECT_EQ(top[0].second.merged, 4u);
  EXPECT_EQ(top[1].second.requests, 4u);
}

TEST(HotRowsTest, AWindowForgetsWhatIsOlder) {
  HotRows rows;
  rows.Add({{Named("old"), {5}}}, 100'000);
  rows.Add({{Named("new"), {5}}}, 130'000);
  EXPECT_EQ(RequestsOf(rows.Top(10, 130'000), "old"), 0u);
  EXPECT_EQ(RequestsOf(rows.Top(10, 130'000), "new"), 5u);
  EXPECT_EQ(RequestsOf(rows.Top(60, 130'000), "old"), 5u);
  EXPECT_EQ(RequestsOf(rows.Top(600, 690'000), "old"), 5u);
  EXPECT_EQ(RequestsOf(rows.Top(600, 711'000), "old"), 0u);
}

TEST(HotRowsTest, TheSliceUnderWayTakesNothingFromTheLongestWindow) {
  HotRows rows;
  rows.Add({{Named("old"), {5}}}, 100'000);
  rows.Add({{Named("new"), {3}}}, 705'000);
  EXPECT_EQ(RequestsOf(rows.Top(600, 705'000), "old"), 5u);
  EXPECT_EQ(RequestsOf(rows.Top(600, 705'000), "new"), 3u);
}

TEST(HotRowsTest, TheSliceThatEndedLastIsShownAloneAndWhole) {
  HotRows rows;
  rows.Add({{Named("old"), {9}}}, 100'000);
  rows.Add({{Named("a"), {3}}, {Named("b"), {5}}}, 119'999);
  rows.Add({{Named("c"), {7}}}, 120'000);
  const HotRows::Rows last = rows.OfLastSlice(120'000);
  ASSERT_EQ(last.size(), 2u);
  EXPECT_EQ(last[0].first.key, "b");
  EXPECT_EQ(last[1].second.requests, 3u);
  EXPECT_TRUE(rows.OfLastSlice(100'000).empty());
  EXPECT_EQ(rows.OfLastSlice(139'999).size(), 1u);
  rows.Clear();
  EXPECT_TRUE(rows.OfLastSlice(120'000).empty());
  EXPECT_TRUE(rows.Top(600, 120'000).empty());
}

TEST(HotRowsTest, AHiddenKeyIsTheSameForTheSameRowAlone) {
  const std::string one = HiddenKey(Named("1"));
  EXPECT_EQ(one, HiddenKey(Named("1")));
  EXPECT_NE(one, HiddenKey(Named("2")));
  EXPECT_EQ(one.size(), 17u);
}

TEST(HotRowsTest, AHiddenKeyTellsWhereTheNamesOfItsRowEnd) {
  const auto hidden = [](const char* schema, const char* table, const char* key) {
    return HiddenKey({schema, table, "PRIMARY", key});
  };
  EXPECT_NE(hidden("a.b", "c", "1"), hidden("a", "b.c", "1"));
  EXPECT_NE(hidden("a", "b", "c.1"), hidden("a", "b.c", "1"));
  EXPECT_NE(hidden("a", "b", ""), hidden("a", "", "b"));
}

// By Zipf's law over 100,000 rows, of which a slice keeps 256.
TEST(HotRowsTest, TheHottestRowsOfASkewedStreamAreFoundWithTheirErrors) {
  constexpr int kRows = 100'000, kRequests = 200'000;
  std::vector<double> weights(kRows);
  for (int i = 0; i < kRows; ++i) weights[static_cast<size_t>(i)] = 1.0 / (i + 1);
  std::discrete_distribution<int> zipf(weights.begin(), weights.end());
  std::mt19937 random(5);
  std::map<std::string, uint64_t> exact;
  HotRows rows;
  for (int i = 0; i < kRequests; ++i) {
    const std::string key = std::to_string(zipf(random));
    ++exact[key];
    rows.Add({{Named(key), {1}}}, 1000);
  }
  const HotRows::Rows top = rows.Top(10, 1000);
  ASSERT_EQ(top.size(), HotRows::kTop);
  for (int i = 0; i < 20; ++i) EXPECT_NE(RequestsOf(top, std::to_string(i)), 0u) << i;
  for (const auto& [name, counts] : top) {
    EXPECT_LE(exact[name.key], counts.requests) << name.key;
    EXPECT_GE(exact[name.key], counts.requests - counts.overcount) << name.key;
  }
}

// What Space-Saving promises: the counts include all requests, and a count is too high at most by
// what it has taken over.
TEST(HotRowsTest, ASketchKeepsTheSumAndTheBoundsOfItsCounts) {
  constexpr size_t kRows = 8;
  HotRowSketch sketch(kRows, &HotRowCounts::requests);
  std::map<std::string, uint64_t> truth;
  std::minstd_rand random(7);
  for (uint64_t i = 1, total = 0; i <= 5000; ++i) {
    const std::string key = std::to_string(random() % 5 == 0 ? random() % 3 : random() % 60);
    const uint64_t count = 1 + random() % 4;
    sketch.Add(Named(key), {count});
    truth[key] += count;
    total += count;
    uint64_t sum = 0;
    for (const auto& [name, counts] : sketch.rows()) {
      sum += counts.requests;
      ASSERT_GE(counts.requests, truth[name.key]);
      ASSERT_LE(counts.requests - counts.overcount, truth[name.key]);
    }
    ASSERT_EQ(sum, total);
    ASSERT_EQ(sketch.rows().count(Named(key)), 1u);
    ASSERT_LE(sketch.rows().size(), kRows);
  }
  sketch.Clear();
  sketch.Add(Named("a"), {1});
  EXPECT_EQ(sketch.rows().size(), 1u);
}

// Rows that come only once push out neither a hot row nor its count.
TEST(HotRowsTest, AHotRowStaysAfterAStreamOfRowsThatComeOnce) {
  HotRows rows;
  for (int i = 0; i < 20'000; ++i) {
    rows.Add({{Named("once" + std::to_string(i)), {1}}}, 1000);
    if (i % 10 == 0) rows.Add({{Named("hot"), {1}}}, 1000);
  }
  const HotRows::Rows top = rows.Top(10, 1000);
  EXPECT_EQ(top[0].first.key, "hot");
  EXPECT_GE(top[0].second.requests, 2000u);
  EXPECT_LE(top[0].second.requests - top[0].second.overcount, 2000u);
}

TEST(HotRowsTest, LockWaitsHaveAnOrderOfTheirOwn) {
  HotRows rows;
  for (int i = 0; i < 200; ++i) rows.Add({{Named("busy" + std::to_string(i)), {100}}}, 1000);
  rows.Add({{Named("locked"), {0, 0, 1, 5'000}}}, 1000);
  const HotRows::Rows top = rows.Top(10, 1000);
  EXPECT_EQ(top.size(), HotRows::kTop + 1);
  EXPECT_EQ(top.back().first.key, "locked");
  EXPECT_EQ(top.back().second.lock_ns, 5'000u);
}

class HotRowSamplerTest : public testing::Test {
 protected:
  /// A turn of finds of the row with this key.
  void Run(const std::string& key, size_t count) {
    const model::Value value{std::string_view(key)};
    std::vector<TurnItem> items(count);
    for (TurnItem& item : items) {
      item.client = &client_;
      item.progress = TurnItem::Progress::kFinished;
      item.item.kind = Item::Kind::kRequest;
      item.item.index = &index_;
      item.item.request.find = FindOf(value);
    }
    sampler_.AddTurn(turn_, items);
  }
  /// Turns of one item each, which finds the row with this key `count` times.
  void RunUnits(const std::string& key, size_t count, int turns) {
    const model::Value value{std::string_view(key)};
    std::vector<UnitRequest> requests(count);
    for (UnitRequest& one : requests) {
      one.index = &index_;
      one.request.find = FindOf(value);
    }
    Unit unit;
    unit.requests = requests;
    std::vector<TurnItem> items(1);
    items[0].client = &client_;
    items[0].progress = TurnItem::Progress::kFinished;
    items[0].item.kind = Item::Kind::kRequest;
    items[0].item.unit = &unit;
    for (int i = 0; i < turns; ++i) sampler_.AddTurn(turn_, items);
  }
  static model::Find FindOf(const model::Value& key) {
    model::Find find;
    find.op = model::CompareOp::kEq;
    find.limit = 1;
    find.key = {&key, 1};
    find.key_parts_given = 1;
    return find;
  }

  engine::Index index_{{"shop", "product", "", {"name"}, {}}, 1, 1};
  TurnClient client_;
  StatRegistry registry_;
  StatBlock stats_{registry_};
  CommitBoard commits_;
  Turn turn_{stats_, commits_};
  HotRows rows_;
  HotRowSampler sampler_{&rows_};
};

TEST_F(HotRowSamplerTest, FewRequestsAreAllCounted) {
  sampler_.Flush(1000);
  for (int i = 0; i < 50; ++i) Run("a", 1);
  Run("b", 7);
  sampler_.Flush(1100);
  const HotRows::Rows top = rows_.Top(10, 1100);
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(top[0].first, (HotRowName{"shop", "product", "PRIMARY", "a"}));
  EXPECT_EQ(RequestsOf(top, "a"), 50u);
  EXPECT_EQ(RequestsOf(top, "b"), 7u);
}

TEST_F(HotRowSamplerTest, OfManyRequestsAFewAreLookedAtAndCountForAll) {
  sampler_.Flush(1000);
  constexpr int kPeriods = 50;
  for (int period = 1; period <= kPeriods; ++period) {
    for (int i = 0; i < 100; ++i) {
      Run("often", 90);
      Run("seldom", 10);
    }
    sampler_.Flush(1000 + 100 * period);
  }
  const HotRows::Rows top = rows_.Top(10, 1000 + 100 * kPeriods);
  EXPECT_NEAR(static_cast<double>(RequestsOf(top, "often")), 9000.0 * kPeriods, 40'000);
  EXPECT_NEAR(static_cast<double>(RequestsOf(top, "seldom")), 1000.0 * kPeriods, 10'000);
}

// After a pause all requests are looked at, until there are many.
TEST_F(HotRowSamplerTest, ABurstIsCountedWithoutMemoryForEachRequest) {
  sampler_.Flush(1000);
  for (int i = 0; i < 5'000; ++i) Run("burst", 100);
  EXPECT_LT(sampler_.kept(), 2'000u);
  sampler_.Flush(1100);
  EXPECT_EQ(sampler_.kept(), 0u);
  EXPECT_NEAR(static_cast<double>(RequestsOf(rows_.Top(10, 1100), "burst")), 500'000, 100'000);
}

// A sampler with many rows before its next Flush chooses fewer items, and after the Flush more
// again.
TEST_F(HotRowSamplerTest, ItemsOfManyRowsCountForAll) {
  sampler_.Flush(1000);
  constexpr int kPeriods = 500, kItems = 200, kRowsOfItem = 100;
  for (int period = 1; period <= kPeriods; ++period) {
    RunUnits("a", kRowsOfItem, kItems);
    sampler_.Flush(1000 + 100 * period);
  }
  const HotRows::Rows top = rows_.Top(600, 1000 + 100 * kPeriods);
  constexpr double kTruth = 1.0 * kPeriods * kItems * kRowsOfItem;
  EXPECT_NEAR(static_cast<double>(RequestsOf(top, "a")), kTruth, kTruth / 10);
}

TEST_F(HotRowSamplerTest, FewRequestsAreAllCountedAgainAfterABurst) {
  sampler_.Flush(1000);
  for (int i = 0; i < 5'000; ++i) Run("burst", 100);
  sampler_.Flush(1100);
  sampler_.Flush(1200);
  for (int i = 0; i < 50; ++i) Run("slow", 1);
  sampler_.Flush(1300);
  EXPECT_EQ(RequestsOf(rows_.Top(10, 1300), "slow"), 50u);
}

TEST_F(HotRowSamplerTest, ALockWaitCountsForItsRow) {
  const model::Value key{std::string_view("7")};
  Item item;
  item.kind = Item::Kind::kRequest;
  item.index = &index_;
  item.request.find = FindOf(key);
  sampler_.AddLockWait(item, 4'000, /*is_handed_back=*/false);
  sampler_.Flush(1000);
  const HotRows::Rows top = rows_.Top(10, 1000);
  ASSERT_EQ(top.size(), 1u);
  EXPECT_EQ(top[0].second.lock_waits, 1u);
  EXPECT_EQ(top[0].second.lock_ns, 4'000u);
}

TEST_F(HotRowSamplerTest, AKeyIsShownAsCharactersWhateverItsBytesAre) {
  Run("caf\xc3\xa9", 1);
  Run("\xff\x01z\xc3", 1);
  Run("\xf0\x9f\x98\x80", 1);  // Four bytes: information_schema has no such characters.
  Run(std::string(500, 'x'), 1);
  sampler_.Flush(1000);
  const HotRows::Rows top = rows_.Top(10, 1000);
  EXPECT_EQ(RequestsOf(top, "caf\xc3\xa9"), 1u);
  EXPECT_EQ(RequestsOf(top, "\\xFF\\x01z\\xC3"), 1u);
  EXPECT_EQ(RequestsOf(top, "\\xF0\\x9F\\x98\\x80"), 1u);
  EXPECT_EQ(RequestsOf(top, std::string(model::kHotKeyBytesMax, 'x')), 1u);
}

}  // namespace
}  // namespace rowsocket::exec
