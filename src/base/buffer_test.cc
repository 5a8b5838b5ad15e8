#include "base/buffer.h"

#include <gtest/gtest.h>

#include <string>

namespace rowsocket::base {
namespace {

TEST(Buffer, AppendsAndConsumes) {
  Buffer buffer;
  EXPECT_TRUE(buffer.empty());
  buffer.Append("abc");
  buffer.Append('d');
  EXPECT_EQ(buffer.view(), "abcd");
  buffer.Consume(3);
  EXPECT_EQ(buffer.view(), "d");
  buffer.Consume(1);
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(buffer.size(), 0u);
}

TEST(Buffer, RoomIsWritableAndCommitted) {
  Buffer buffer;
  buffer.Append("x");
  std::memcpy(buffer.Room(5000), std::string(5000, 'y').data(), 5000);
  EXPECT_GE(buffer.room(), 5000u);
  buffer.Commit(4000);
  EXPECT_EQ(buffer.view(), "x" + std::string(4000, 'y'));
}

TEST(Buffer, TruncateCutsTheEndAlsoAfterConsume) {
  Buffer buffer;
  buffer.Append("0123456789");
  buffer.Consume(4);
  buffer.Truncate(2);
  EXPECT_EQ(buffer.view(), "45");
  buffer.Append("x");
  EXPECT_EQ(buffer.view(), "45x");
}

TEST(Buffer, ReleaseGivesTheMemoryBack) {
  Buffer buffer;
  buffer.Append(std::string(100'000, 'a'));
  buffer.Release();
  EXPECT_EQ(buffer.capacity(), 0u);
  buffer.Append("again");
  EXPECT_EQ(buffer.view(), "again");
}

// A queue that never holds more than a few bytes must not take more and more memory.
TEST(Buffer, CapacityIsBoundedByTheContentNotByTheTraffic) {
  Buffer buffer;
  std::string expected;
  for (int i = 0; i < 100'000; ++i) {
    const std::string piece(static_cast<size_t>(i % 37), static_cast<char>('a' + i % 26));
    buffer.Append(piece);
    expected += piece;
    if (expected.size() > 1000) {
      buffer.Consume(900);
      expected.erase(0, 900);
    }
    ASSERT_EQ(buffer.view(), expected);
  }
  EXPECT_LE(buffer.capacity(), 8192u);
}

}  // namespace
}  // namespace rowsocket::base
