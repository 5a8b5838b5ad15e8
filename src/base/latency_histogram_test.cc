#include "base/latency_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

namespace rowsocket::base {
namespace {

TEST(LatencyHistogramTest, EveryPowerOfTwoMicrosecondsIsABound) {
  for (unsigned i = 0; i < kLatencyDoublings; ++i) {
    const double us = std::pow(2, i);
    const size_t bucket = LatencyBucket(static_cast<int64_t>(us * 1000));
    EXPECT_EQ(LatencyBucketEndUs(bucket - 1), us) << us;
    EXPECT_EQ(LatencyBucket(static_cast<int64_t>(us * 1000) - 1), bucket - 1) << us;
  }
}

TEST(LatencyHistogramTest, ATimeIsInsideOfItsBucketWhichIsNarrow) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 100'000; ++i) {
    const double us = std::pow(10, std::uniform_real_distribution<double>(0, 8)(random));
    const auto ns = static_cast<int64_t>(us * 1000);
    const size_t bucket = LatencyBucket(ns);
    const double begin = LatencyBucketEndUs(bucket - 1), end = LatencyBucketEndUs(bucket);
    const double value = static_cast<double>(ns) / 1000;
    ASSERT_LE(begin, value * (1 + 1e-5)) << ns;
    ASSERT_GT(end, value * (1 - 1e-5)) << ns;
    ASSERT_LE(std::abs((begin + end) / 2 - value) / value, 0.032) << ns;
  }
}

TEST(LatencyHistogramTest, TimesBeyondTheEndsAreInTheFirstAndTheLastBucket) {
  EXPECT_EQ(LatencyBucket(-5), 0u);
  EXPECT_EQ(LatencyBucket(0), 0u);
  EXPECT_EQ(LatencyBucket(999), 0u);
  EXPECT_EQ(LatencyBucket(1000), 1u);
  EXPECT_EQ(LatencyBucket(135'000'000'000), kLatencyBuckets - 1);
  EXPECT_EQ(LatencyBucket(INT64_MAX), kLatencyBuckets - 1);
}

// Readers tell the buckets by their ends.
TEST(LatencyHistogramTest, EndsRiseFromBucketToBucket) {
  for (size_t i = 1; i < kLatencyBuckets; ++i) {
    EXPECT_GT(LatencyBucketEndUs(i), LatencyBucketEndUs(i - 1)) << i;
  }
  EXPECT_EQ(LatencyBucketEndUs(kLatencyBuckets - 1), std::pow(2, kLatencyDoublings + 1));
}

// Compares with the exact quantiles of the same times.
TEST(LatencyHistogramTest, QuantilesAreWithinThreePointTwoPercent) {
  std::mt19937_64 random(11);
  std::lognormal_distribution<double> times(5, 2);
  const auto histogram = std::make_unique<LatencyHistogram>();
  std::vector<double> exact;
  for (int i = 0; i < 20'000; ++i) {
    const double us = std::clamp(times(random), 1.0, 1e8);
    exact.push_back(us);
    histogram->Add(static_cast<int64_t>(us * 1000), 1);
  }
  std::sort(exact.begin(), exact.end());
  LatencyCounts counts;
  histogram->AddTo(&counts);
  EXPECT_EQ(counts.count(), exact.size());
  for (const unsigned permille : {500u, 900u, 990u, 999u}) {
    const double wanted = exact[exact.size() * permille / 1000 - 1];
    EXPECT_NEAR(counts.QuantileUs(permille) / wanted, 1, 0.033) << permille;
  }
  EXPECT_NEAR(counts.MaxUs() / exact.back(), 1, 0.064);
}

TEST(LatencyHistogramTest, AnEarlierStateIsTakenAway) {
  const auto histogram = std::make_unique<LatencyHistogram>();
  histogram->Add(5'000, 3);
  LatencyCounts before, after;
  histogram->AddTo(&before);
  histogram->Add(7'000, 2);
  histogram->AddTo(&after);
  after -= before;
  EXPECT_EQ(after.count(), 2u);
  EXPECT_EQ(after.sum_ns, 14'000u);
  EXPECT_NEAR(after.QuantileUs(500), 7, 0.25);
  after += before;
  EXPECT_EQ(after.count(), 5u);
}

TEST(LatencyHistogramTest, NothingCountedIsZero) {
  EXPECT_EQ(LatencyCounts().QuantileUs(990), 0);
  EXPECT_EQ(LatencyCounts().MaxUs(), 0);
}

}  // namespace
}  // namespace rowsocket::base
