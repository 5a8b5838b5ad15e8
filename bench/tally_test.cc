#include "bench/tally.h"

#include <gtest/gtest.h>

#include <string>

namespace rowsocket::bench {
namespace {

TEST(Tally, CountsByVerdict) {
  Tally tally;
  tally.Count(Verdict::kRight, 16);
  tally.Count(Verdict::kApplied, 1);
  tally.Count(Verdict::kNotApplied, 1);
  tally.Count(Verdict::kError, 5);
  tally.Count(Verdict::kMismatch, 5);
  tally.CountError("2\t1\tcmd");
  tally.CountMismatch(7, "0\t1\tx\n");
  Tally other;
  other.CountError("2\t1\tcmd");
  other.CountError("1\t1\t121");
  tally.Merge(other);
  EXPECT_EQ(tally.requests, 5u);
  EXPECT_EQ(tally.rows, 18u);
  EXPECT_EQ(tally.applied, 1u);
  EXPECT_EQ(tally.not_applied, 1u);
  EXPECT_EQ(tally.errors, 3u);
  EXPECT_EQ(tally.error_texts.at("2\t1\tcmd"), 2u);
  EXPECT_EQ(tally.error_texts.at("1\t1\t121"), 1u);
  ASSERT_EQ(tally.mismatch_examples.size(), 1u);
  EXPECT_EQ(tally.mismatch_examples[0], "row 7: 0 1 x?");
}

TEST(Tally, ExamplesAndTextsHaveALimitAndCountsHaveNone) {
  Tally tally;
  for (int i = 0; i < 1000; ++i) {
    tally.CountError(std::to_string(i));
    tally.CountMismatch(1, std::string(10'000, 'x'));
  }
  EXPECT_EQ(tally.errors, 1000u);
  EXPECT_EQ(tally.mismatches, 1000u);
  EXPECT_EQ(tally.error_texts.size(), kErrorTextsMax);
  EXPECT_EQ(tally.mismatch_examples.size(), kExamplesMax);
  EXPECT_LE(tally.mismatch_examples[0].size(), kExampleBytesMax + 32);
}

TEST(BeforeImages, FindsTheSameValueTwiceInOneRowOnly) {
  BeforeImages images;
  for (uint64_t value = 4; value <= 100; ++value) images.Add(1, value);
  for (uint64_t value = 50; value <= 60; ++value) images.Add(2, value);
  BeforeImages::Result result = images.Check();
  EXPECT_EQ(result.collected, 108u);
  EXPECT_EQ(result.distinct, 108u);
  EXPECT_EQ(result.rows, 2u);
  EXPECT_EQ(result.least, 4u);
  EXPECT_EQ(result.most, 100u);
  EXPECT_TRUE(result.without_gaps);

  BeforeImages other;
  other.Add(2, 55);
  images.Merge(other);
  result = images.Check();
  EXPECT_EQ(result.collected, 109u);
  EXPECT_EQ(result.distinct, 108u);
  EXPECT_TRUE(result.without_gaps);
}

TEST(BeforeImages, SeesAGap) {
  BeforeImages images;
  for (const uint64_t value : {9, 7, 6}) images.Add(3, value);
  const BeforeImages::Result result = images.Check();
  EXPECT_EQ(result.distinct, 3u);
  EXPECT_FALSE(result.without_gaps);
}

TEST(BeforeImages, KeepsTheLargestRowAndValue) {
  BeforeImages images;
  images.Add(BeforeImages::kRowMax, BeforeImages::kValueMax);
  const BeforeImages::Result result = images.Check();
  EXPECT_EQ(result.most, BeforeImages::kValueMax);
  EXPECT_EQ(result.rows, 1u);
}

TEST(BeforeImages, NoValuesAreNoMistake) {
  BeforeImages images;
  const BeforeImages::Result result = images.Check();
  EXPECT_EQ(result.collected, 0u);
  EXPECT_TRUE(result.without_gaps);
}

}  // namespace
}  // namespace rowsocket::bench
