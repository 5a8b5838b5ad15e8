#include "protocol/handlersocket/escape.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/test_guarded_bytes.h"

namespace rowsocket::handlersocket {
namespace {

using namespace std::string_literals;

std::string Escaped(std::string_view text) {
  base::Buffer buffer;
  AppendEscaped(text, &buffer);
  return std::string(buffer.view());
}

std::string Unescaped(std::string_view word) {
  base::Arena arena;
  return std::string(Unescape(word, arena));
}

TEST(Escape, EachByte) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text(1, static_cast<char>(byte));
    const std::string escaped = byte < 0x10 ? "\x01"s + static_cast<char>(byte + 0x40) : text;
    EXPECT_EQ(Escaped(text), escaped) << byte;
    EXPECT_EQ(Unescaped(escaped), text) << byte;
    EXPECT_EQ(EscapeCount(text), byte < 0x10 ? 1u : 0u) << byte;
  }
}

// The fast path goes eight bytes at a time: every byte at every place, at the end of a page.
TEST(Escape, EachByteAtEachPlace) {
  base::GuardedBytes guarded(64);
  for (size_t length = 1; length <= 40; ++length) {
    for (size_t at = 0; at < length; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string text(length, 'a');
        text[at] = static_cast<char>(byte);
        const std::string_view placed = guarded.Place(text);
        const std::string escaped = Escaped(placed);
        ASSERT_EQ(escaped.size(), length + (byte < 0x10 ? 1 : 0));
        ASSERT_EQ(EscapeCount(placed), byte < 0x10 ? 1u : 0u);
        ASSERT_EQ(Unescaped(guarded.Place(escaped)), text);
      }
    }
  }
}

TEST(Escape, RoundTripOfRandomTexts) {
  std::mt19937 random(20100203);  // NOLINT: the same texts each time.
  for (int round = 0; round < 2000; ++round) {
    std::string text(random() % 300, '\0');
    const unsigned low_share = random() % 20;
    for (char& byte : text) {
      byte = static_cast<char>(random() % 20 < low_share ? random() % 16 : random() % 256);
    }
    ASSERT_EQ(Unescaped(Escaped(text)), text);
  }
}

// Above some size, cells are counted first and get no more room than they need.
TEST(Escape, LargeTextsTakeNoMoreRoomThanTheyNeed) {
  for (const size_t bytes : {4095u, 4096u, 4097u, 1'000'000u}) {
    std::string text(bytes, 'x');
    text[bytes / 2] = '\t';
    text.back() = '\n';
    ASSERT_EQ(Unescaped(Escaped(text)), text);
  }
  base::Buffer buffer;
  AppendEscaped(std::string(1'000'000, 'x'), &buffer);
  EXPECT_LT(buffer.capacity(), 1'100'000u);
}

TEST(Escape, AppendsToWhatIsThere) {
  base::Buffer buffer;
  buffer.Append("before ");
  AppendEscaped("a\tb", &buffer);
  AppendEscaped("", &buffer);
  EXPECT_EQ(buffer.view(), "before a\x01Ib");
}

TEST(Unescape, IsAViewWhenThereIsNothingToDo) {
  base::Arena arena;
  const std::string word = "no escape \x02\x0f here";
  EXPECT_EQ(Unescape(word, arena).data(), word.data());
}

TEST(Unescape, HighBytesAreTakenLess0x40) {
  EXPECT_EQ(Unescaped("\x01\x50"), "\x10");
  EXPECT_EQ(Unescaped("\x01\xff"), "\xbf");
  EXPECT_EQ(Unescaped("a\x01\x7f"s + "b"), "a?b");
}

TEST(Unescape, ABadEscapeEndsTheText) {
  EXPECT_EQ(Unescaped("\x01"), "");
  EXPECT_EQ(Unescaped("ab\x01"), "ab");
  EXPECT_EQ(Unescaped("ab\x01\x3f"
                      "cd"),
            "ab");
  EXPECT_EQ(Unescaped("ab\x01\x01"
                      "Acd"),
            "ab");
  EXPECT_EQ(Unescaped("a\x01"
                      "A\x01"),
            "a\x01");
  EXPECT_EQ(Unescaped("ab\x01\x00"s + "cd"), "ab");
}

TEST(Unescape, IsNeverNull) {
  base::Arena arena;
  EXPECT_NE(Unescape("\x01", arena).data(), nullptr);
}

}  // namespace
}  // namespace rowsocket::handlersocket
