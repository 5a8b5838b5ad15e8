#include "base/counter_info.h"

#include <gtest/gtest.h>

namespace rowsocket::base {
namespace {

TEST(CounterInfo, APluginIsShownByItsWholeName) {
  EXPECT_TRUE(IsShownBy("one", "one"));
  EXPECT_TRUE(IsShownBy("one,two", "one"));
  EXPECT_TRUE(IsShownBy("one,two", "two"));
  EXPECT_FALSE(IsShownBy("one,two", "o"));
  EXPECT_FALSE(IsShownBy("one,two", "ne"));
  EXPECT_FALSE(IsShownBy("one,two", "one,two"));
  EXPECT_FALSE(IsShownBy("", "one"));
}

TEST(CounterInfo, AnAverageOfNothingIsZero) {
  EXPECT_EQ(0u, Average(5, 0));
  EXPECT_EQ(2u, Average(5, 2));
}

}  // namespace
}  // namespace rowsocket::base
