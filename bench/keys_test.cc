#include "bench/keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace rowsocket::bench {
namespace {

TEST(Random, TheSameSeedGivesTheSameNumbersAndAnotherSeedOthers) {
  Random one(1);
  Random same(1);
  Random other(2);
  int equal = 0;
  for (int i = 0; i < 100; ++i) {
    const uint64_t number = one.Next();
    EXPECT_EQ(number, same.Next());
    equal += number == other.Next();
  }
  EXPECT_EQ(equal, 0);
}

TEST(Random, BelowReachesEveryNumberAboutEquallyOften) {
  Random random(3);
  std::map<uint64_t, int> seen;
  for (int i = 0; i < 70'000; ++i) ++seen[random.Below(7)];
  ASSERT_EQ(seen.size(), 7u);
  EXPECT_EQ(seen.rbegin()->first, 6u);
  for (const auto& [number, count] : seen) EXPECT_NEAR(count, 10'000, 500) << number;
}

TEST(Zipf, RanksComeAsOftenAsTheLawSays) {
  constexpr int kDraws = 200'000;
  constexpr int kRanks = 1000;
  const Zipf zipf(kRanks, 0.9);
  Random random(5);
  std::map<uint64_t, int> seen;
  for (int i = 0; i < kDraws; ++i) ++seen[zipf.Next(&random)];
  double zeta = 0;
  for (int rank = 1; rank <= kRanks; ++rank) zeta += 1 / std::pow(rank, 0.9);
  // The method is exact for the first two ranks and close for the others.
  EXPECT_NEAR(seen[1], kDraws / zeta, 0.03 * kDraws / zeta);
  EXPECT_NEAR(seen[2], kDraws / zeta / std::pow(2, 0.9), 0.04 * kDraws / zeta);
  int first_hundred = 0;
  double expected = 0;
  for (int rank = 1; rank <= 100; ++rank) {
    first_hundred += seen[rank];
    expected += kDraws / zeta / std::pow(rank, 0.9);
  }
  EXPECT_NEAR(first_hundred, expected, 0.05 * expected);
  EXPECT_GE(seen.begin()->first, 1u);
  EXPECT_LE(seen.rbegin()->first, static_cast<uint64_t>(kRanks));
}

TEST(Zipf, WorksForTheSmallestTables) {
  Random random(6);
  for (const uint64_t rows : {1, 2, 3}) {
    const Zipf zipf(rows, 0.99);
    for (int i = 0; i < 100; ++i) {
      const uint64_t rank = zipf.Next(&random);
      EXPECT_GE(rank, 1u);
      EXPECT_LE(rank, rows);
    }
  }
}

TEST(Keys, KnowsItsTexts) {
  EXPECT_EQ(ParseKeys("uniform")->kind, Keys::Kind::kUniform);
  EXPECT_EQ(ParseKeys("zipf")->kind, Keys::Kind::kZipf);
  EXPECT_DOUBLE_EQ(ParseKeys("zipf:0.5")->theta, 0.5);
  EXPECT_EQ(ParseKeys("hot:10000")->hot_rows, 10'000u);
  for (const char* wrong : {"", "uniform:1", "zipf:", "zipf:1", "zipf:0", "zipf:0.5x", "hot",
                            "hot:", "hot:0", "hot:-1", "warm"}) {
    EXPECT_FALSE(ParseKeys(wrong).has_value()) << wrong;
  }
}

TEST(KeyChooser, StaysWithinItsRowsAndReachesThemAll) {
  for (const char* text : {"uniform", "hot:20"}) {
    KeyChooser chooser(*ParseKeys(text), 20, 9);
    std::set<uint64_t> seen;
    for (int i = 0; i < 2000; ++i) seen.insert(chooser.Next());
    EXPECT_EQ(seen.size(), 20u) << text;
    EXPECT_EQ(*seen.begin(), 1u) << text;
    EXPECT_EQ(*seen.rbegin(), 20u) << text;
  }
}

TEST(KeyChooser, HotKeysAreTheFirstRowsOnly) {
  KeyChooser chooser(*ParseKeys("hot:3"), 1000, 9);
  for (int i = 0; i < 1000; ++i) EXPECT_LE(chooser.Next(), 3u);
}

TEST(KeyChooser, PopularZipfKeysAreSpreadOverTheTable) {
  constexpr uint64_t kRows = 100'000;
  KeyChooser chooser(*ParseKeys("zipf"), kRows, 11);
  std::map<uint64_t, int> seen;
  for (size_t i = 0; i < KeyChooser::kDrawnKeys / 4; ++i) ++seen[chooser.Next()];
  EXPECT_GE(seen.begin()->first, 1u);
  EXPECT_LE(seen.rbegin()->first, kRows);
  std::vector<std::pair<int, uint64_t>> popular;
  for (const auto& [key, count] : seen) popular.emplace_back(count, key);
  std::sort(popular.rbegin(), popular.rend());
  // The ten most popular rows get far more than an even share, and are not neighbors.
  std::vector<uint64_t> keys;
  for (int i = 0; i < 10; ++i) {
    EXPECT_GT(popular[i].first, 1000);
    keys.push_back(popular[i].second);
  }
  std::sort(keys.begin(), keys.end());
  for (size_t i = 1; i < keys.size(); ++i) EXPECT_GT(keys[i] - keys[i - 1], 100u);
}

}  // namespace
}  // namespace rowsocket::bench
