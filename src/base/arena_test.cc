#include "base/arena.h"

#include <gtest/gtest.h>

#include <cstring>

namespace rowsocket::base {
namespace {

TEST(Arena, AllocationsDoNotOverlapAndStayUntilReset) {
  Arena arena;
  std::vector<char*> pieces;
  for (size_t i = 1; i < 1000; ++i) {
    char* const piece = arena.AllocateBytes(i);
    std::memset(piece, static_cast<char>(i), i);
    pieces.push_back(piece);
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    for (size_t j = 0; j <= i; ++j) ASSERT_EQ(pieces[i][j], static_cast<char>(i + 1)) << i;
  }
}

TEST(Arena, LargerThanABlock) {
  Arena arena;
  const size_t bytes = 1 << 20;
  std::memset(arena.AllocateBytes(bytes), 1, bytes);
  std::memset(arena.AllocateBytes(bytes), 2, bytes);
}

TEST(Arena, ElementsAreAlignedAndValueInitialized) {
  struct Element {
    uint64_t number = 7;
  };
  Arena arena;
  arena.AllocateBytes(3);
  for (int round = 0; round < 3; ++round) {
    const std::span<Element> elements = arena.Allocate<Element>(1000);
    ASSERT_EQ(elements.size(), 1000u);
    ASSERT_EQ(reinterpret_cast<uintptr_t>(elements.data()) % alignof(Element), 0u);
    for (Element& element : elements) {
      ASSERT_EQ(element.number, 7u);
      element.number = 0;
    }
    arena.AllocateBytes(1);
  }
}

TEST(Arena, NothingOfNoElements) {
  Arena arena;
  EXPECT_TRUE(arena.Allocate<uint64_t>(0).empty());
}

TEST(Arena, ResetKeepsTheFirstBlock) {
  Arena arena;
  arena.Reset();
  char* const first = arena.AllocateBytes(10);
  arena.AllocateBytes(1 << 20);
  arena.Reset();
  EXPECT_EQ(arena.AllocateBytes(10), first);
}

}  // namespace
}  // namespace rowsocket::base
