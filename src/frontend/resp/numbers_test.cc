#include "frontend/resp/numbers.h"

#include <gtest/gtest.h>

#include <string>

namespace rowsocket::frontend {
namespace {

TEST(RespNumbers, ADecimalIsWrittenWithoutAnExponent) {
  EXPECT_EQ(PlainDecimal("1.5e3"), "1500");
  EXPECT_EQ(PlainDecimal("-15E-1"), "-1.5");
  EXPECT_EQ(PlainDecimal("+5e-3"), "0.005");
  EXPECT_EQ(PlainDecimal("0x10"), "");
}

TEST(RespNumbers, AnExponentBeyondTheDigitsGivesNoDecimal) {
  for (const char* exponent :
       {"39", "-39", "2147483647", "-2147483647", "-2147483648", "2147483648", "-2147483649"}) {
    EXPECT_EQ(PlainDecimal("0e" + std::string(exponent)), "") << exponent;
  }
  EXPECT_EQ(PlainDecimal("0e38").size(), 39u);
}

TEST(RespNumbers, ACursorMayHaveAPlus) {
  uint64_t cursor = 1;
  EXPECT_TRUE(ParseCursor("+0", &cursor));
  EXPECT_EQ(cursor, 0u);
  EXPECT_TRUE(ParseCursor("18446744073709551615", &cursor));
  EXPECT_EQ(cursor, UINT64_MAX);
  for (const char* none : {"", "+", "++1", "+-1", "-1", " 1", "1 ", "18446744073709551616"}) {
    EXPECT_FALSE(ParseCursor(none, &cursor)) << none;
  }
}

}  // namespace
}  // namespace rowsocket::frontend
