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

}  // namespace
}  // namespace rowsocket::frontend
