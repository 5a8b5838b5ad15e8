#include "protocol/memcached/error.h"

#include <gtest/gtest.h>

namespace rowsocket::memcached {
namespace {

TEST(Error, EveryErrorHasATextAndAStatus) {
  for (int i = 1; i <= static_cast<int>(Error::kNoSuchStats); ++i) {
    const auto error = static_cast<Error>(i);
    EXPECT_NE(TextOf(error), "") << i;
    EXPECT_NE(StatusOf(error), BinaryStatus::kOk) << i;
    EXPECT_NE(TextOf(StatusOf(error)), "") << i;
    EXPECT_EQ(TextOf(error).find_first_of("\r\n"), std::string_view::npos) << i;
  }
}

// memccapable compares this text byte by byte, with its two blanks.
TEST(Error, DeleteWithATimeAsMemcached1618) {
  EXPECT_EQ(TextOf(Error::kDeleteUsage),
            "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]");
}

}  // namespace
}  // namespace rowsocket::memcached
