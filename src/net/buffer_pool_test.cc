#include "net/buffer_pool.h"

#include <gtest/gtest.h>

#include "net/test_allocations.h"

namespace rowsocket::net {
namespace {

TEST(BufferPool, GivenBufferComesBackEmpty) {
  BufferPool pool;
  base::Buffer buffer = pool.Take();
  EXPECT_GE(buffer.capacity(), BufferPool::kBufferBytes);
  buffer.Append("left over");
  const char* memory = buffer.view().data();
  pool.Give(buffer);
  EXPECT_EQ(0u, buffer.capacity());
  EXPECT_TRUE(buffer.empty());
  EXPECT_GE(pool.kept_bytes(), BufferPool::kBufferBytes);

  base::Buffer again = pool.Take();
  EXPECT_TRUE(again.empty());
  again.Append("x");
  EXPECT_EQ(memory, again.view().data());
  EXPECT_EQ(0u, pool.kept_bytes());
}

TEST(BufferPool, BufferThatHasGrownTooLargeIsFreed) {
  BufferPool pool;
  base::Buffer buffer = pool.Take();
  buffer.Room(BufferPool::kBufferBytesMax + 1);
  pool.Give(buffer);
  EXPECT_EQ(0u, pool.kept_bytes());
}

TEST(BufferPool, BufferWithoutMemoryIsNotKept) {
  BufferPool pool;
  base::Buffer buffer;
  pool.Give(buffer);
  buffer.Append("small");
  pool.Give(buffer);
  EXPECT_EQ(0u, pool.kept_bytes());
}

// Connections end, and give their buffers back, because there is no memory.
TEST(BufferPool, BufferThatThereIsNoMemoryToKeepIsFreed) {
  BufferPool pool;
  std::vector<base::Buffer> taken;
  for (int i = 0; i < 100; ++i) taken.push_back(pool.Take());
  {
    const NoAllocations none;
    for (base::Buffer& buffer : taken) pool.Give(buffer);
  }
  EXPECT_EQ(0u, pool.kept_bytes());
  for (const base::Buffer& buffer : taken) EXPECT_EQ(0u, buffer.capacity());
  base::Buffer buffer = pool.Take();
  pool.Give(buffer);
  EXPECT_EQ(BufferPool::kBufferBytes, pool.kept_bytes());
}

TEST(BufferPool, KeepsNoMoreThanItsLimit) {
  BufferPool pool;
  constexpr size_t kMany = BufferPool::kKeptBytesMax / BufferPool::kBufferBytes + 100;
  std::vector<base::Buffer> taken;
  for (size_t i = 0; i < kMany; ++i) taken.push_back(pool.Take());
  for (base::Buffer& buffer : taken) pool.Give(buffer);
  EXPECT_LE(pool.kept_bytes(), BufferPool::kKeptBytesMax);
  EXPECT_GT(pool.kept_bytes(), BufferPool::kKeptBytesMax / 2);
}

// When many connections have gone, their buffers are freed; buffers that are used now and then
// stay.
TEST(BufferPool, TrimFreesBuffersThatNobodyHasTakenSinceTheLastTrim) {
  BufferPool pool;
  std::vector<base::Buffer> taken;
  for (int i = 0; i < 100; ++i) taken.push_back(pool.Take());
  for (base::Buffer& buffer : taken) pool.Give(buffer);
  pool.Trim();
  EXPECT_EQ(100 * BufferPool::kBufferBytes, pool.kept_bytes());
  taken.clear();
  for (int i = 0; i < 10; ++i) taken.push_back(pool.Take());
  for (base::Buffer& buffer : taken) pool.Give(buffer);
  pool.Trim();
  EXPECT_EQ(10 * BufferPool::kBufferBytes, pool.kept_bytes());
  pool.Trim();
  EXPECT_EQ(0u, pool.kept_bytes());
}

}  // namespace
}  // namespace rowsocket::net
