#include "base/secret.h"

#include <gtest/gtest.h>

#include <string>

namespace rowsocket::base {
namespace {

Secret Make(std::string_view text) {
  Secret secret;
  EXPECT_TRUE(secret.Set(text));
  return secret;
}

TEST(Secret, MatchesItselfOnly) {
  const Secret secret = Make("correct horse");
  EXPECT_FALSE(secret.empty());
  EXPECT_TRUE(secret.Matches("correct horse"));
  for (const std::string_view guess : {"", "c", "correct hors", "correct horse ", "Correct horse",
                                       "correct horsf", "correcthorse"}) {
    EXPECT_FALSE(secret.Matches(guess)) << guess;
  }
}

TEST(Secret, EveryByteAndBitCounts) {
  std::string text(Secret::kSecretBytesMax, 'k');
  const Secret secret = Make(text);
  EXPECT_TRUE(secret.Matches(text));
  for (char& byte : text) {
    for (int bit = 0; bit < 8; ++bit) {
      byte = static_cast<char>(byte ^ (1 << bit));
      ASSERT_FALSE(secret.Matches(text));
      byte = static_cast<char>(byte ^ (1 << bit));
    }
  }
  EXPECT_TRUE(secret.Matches(text));
}

TEST(Secret, ZeroBytesAreNotPadding) {
  const std::string with_zero("a\0", 2);
  EXPECT_FALSE(Make("a").Matches(with_zero));
  EXPECT_FALSE(Make(with_zero).Matches("a"));
  EXPECT_TRUE(Make(with_zero).Matches(with_zero));
  EXPECT_FALSE(Make("").Matches(std::string_view("\0", 1)));
}

TEST(Secret, LengthDifferenceOfAMultipleOf256Counts) {
  const std::string text(10, '\0');
  EXPECT_FALSE(Make(text).Matches(std::string(10 + 256, '\0')));
}

TEST(Secret, TooLongIsRefusedAndNeverMatches) {
  const std::string too_long(Secret::kSecretBytesMax + 1, 'k');
  Secret secret = Make("before");
  EXPECT_FALSE(secret.Set(too_long));
  EXPECT_TRUE(secret.Matches("before"));
  EXPECT_FALSE(Make(too_long.substr(1)).Matches(too_long));
}

TEST(Secret, ShorterSecretLeavesNothingOfTheLonger) {
  Secret secret = Make("a long one");
  ASSERT_TRUE(secret.Set("a"));
  EXPECT_TRUE(secret.Matches("a"));
  EXPECT_FALSE(secret.Matches("a long one"));
  ASSERT_TRUE(secret.Set(""));
  EXPECT_TRUE(secret.empty());
  EXPECT_TRUE(secret.Matches(""));
}

}  // namespace
}  // namespace rowsocket::base
