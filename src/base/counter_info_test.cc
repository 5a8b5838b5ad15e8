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

}  // namespace
}  // namespace rowsocket::base
