#include "bench/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace rowsocket::bench {
namespace {

TEST(Histogram, SmallValuesAreExact) {
  Histogram histogram;
  for (uint64_t value = 1; value <= 1000; ++value) histogram.Record(value);
  EXPECT_EQ(histogram.count(), 1000u);
  EXPECT_EQ(histogram.Percentile(50), 500u);
  EXPECT_EQ(histogram.Percentile(99), 990u);
  EXPECT_EQ(histogram.Percentile(99.9), 999u);
  EXPECT_EQ(histogram.Percentile(100), 1000u);
  EXPECT_EQ(histogram.max(), 1000u);
  EXPECT_DOUBLE_EQ(histogram.mean(), 500.5);
}

TEST(Histogram, PercentilesAreWithinATenthOfAPercentOfTheSortedValues) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> latency(11, 2);
  std::vector<uint64_t> values(20'000);
  Histogram histogram;
  for (uint64_t& value : values) {
    value = static_cast<uint64_t>(latency(random)) + 1;
    histogram.Record(value);
  }
  std::sort(values.begin(), values.end());
  for (const double percent : {0.1, 10.0, 50.0, 90.0, 99.0, 99.9, 99.99}) {
    const auto rank =
        static_cast<size_t>(std::lround(percent / 100 * static_cast<double>(values.size())));
    const auto exact = static_cast<double>(values[rank - 1]);
    const auto found = static_cast<double>(histogram.Percentile(percent));
    EXPECT_GE(found, exact) << percent;
    EXPECT_LE(found, exact * 1.001 + 1) << percent;
  }
  EXPECT_EQ(histogram.max(), values.back());
}

TEST(Histogram, MergingIsRecordingEverythingInOne) {
  Histogram one;
  Histogram other;
  Histogram all;
  for (uint64_t value = 3; value < 1'000'000'000; value = value * 5 / 3) {
    (value % 2 == 0 ? one : other).Record(value);
    all.Record(value);
  }
  one.Merge(other);
  EXPECT_EQ(one.count(), all.count());
  EXPECT_EQ(one.max(), all.max());
  EXPECT_DOUBLE_EQ(one.mean(), all.mean());
  for (int percent = 1; percent <= 100; ++percent) {
    EXPECT_EQ(one.Percentile(percent), all.Percentile(percent));
  }
}

TEST(Histogram, TheListHoldsEveryValueOnceInOrder) {
  Histogram histogram;
  for (uint64_t value = 1; value < 5'000'000; value += 997) histogram.Record(value);
  uint64_t sum = 0;
  uint64_t before = 0;
  histogram.ForEach([&](uint64_t value, uint64_t count) {
    EXPECT_GT(value, before);
    before = value;
    sum += count;
  });
  EXPECT_EQ(sum, histogram.count());
  EXPECT_EQ(before, histogram.max());
}

TEST(Histogram, AValueBeyondTheLastCounterIsKeptAtTheEnd) {
  Histogram histogram;
  histogram.Record(5);
  histogram.Record(~uint64_t{0} >> 1);
  EXPECT_EQ(histogram.Percentile(50), 5u);
  EXPECT_EQ(histogram.Percentile(100), Histogram::kValueMax);
  EXPECT_EQ(histogram.max(), ~uint64_t{0} >> 1);
}

TEST(Histogram, WithoutValuesEverythingIsZero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.Percentile(99), 0u);
  EXPECT_EQ(histogram.max(), 0u);
  EXPECT_DOUBLE_EQ(histogram.mean(), 0);
  histogram.ForEach([](uint64_t, uint64_t) { FAIL(); });
}

}  // namespace
}  // namespace rowsocket::bench
