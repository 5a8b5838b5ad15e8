// Scripts of rate limiters, on strings of the store.
#include "frontend/resp/scripts.h"

#include <gtest/gtest.h>

#include <string>

#include "frontend/resp/resp_fixture.h"

namespace rowsocket::frontend {
namespace {

TEST_F(RespTest, CashewsLetsACounterExpireFromOneOn) {
  const std::string count =
      "EVAL 'local current_count = redis.call(\"INCRBY\", KEYS[1], ARGV[1]) "
      "if current_count == 1 then redis.call(\"PEXPIRE\", KEYS[1], ARGV[2]) end "
      "return current_count' 1 ";
  EXPECT_EQ(":1\r\n", Ask(count + "n 1 60000"));
  EXPECT_EQ(":60\r\n", Ask("TTL n"));
  EXPECT_EQ(":3\r\n", Ask(count + "n 2 900000"));
  EXPECT_EQ(":60\r\n", Ask("TTL n"));
  EXPECT_EQ(":2\r\n", Ask(count + "two 2 60000"));
  EXPECT_EQ(":-1\r\n", Ask("TTL two"));
  EXPECT_EQ(":1\r\n", Ask(count + "two -1 60000"));
  EXPECT_EQ(":60\r\n", Ask("TTL two"));
  Ask("SET gone 7 PXAT 1");
  EXPECT_EQ(":2\r\n", Ask(count + "gone 2 60000")) << "what has expired counts as 0";
  EXPECT_EQ(":-1\r\n", Ask("TTL gone")) << "and its expiry as none";
  EXPECT_EQ("-ERR value is not an integer or out of range\r\n", Ask(count + "n x 60000"));
}

}  // namespace
}  // namespace rowsocket::frontend
