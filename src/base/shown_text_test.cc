// Readers go on reading a ShownText while its owner changes it, and after its owner has gone.
#include "base/shown_text.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace rowsocket::base {
namespace {

/// The text as a reader sees it while its owner may write it; it has more than kBytesMax bytes if
/// the reader finds no end.
std::string ReadBesideItsOwner(const char* text) {
  std::string read;
  while (read.size() <= ShownText::kBytesMax) {
    const char byte =
        std::atomic_ref(const_cast<char&>(text[read.size()])).load(std::memory_order_relaxed);
    if (byte == '\0') break;
    read.push_back(byte);
  }
  return read;
}

TEST(ShownTextTest, IsThereWhenItsOwnerIsGone) {
  const char* seen = nullptr;
  {
    ShownText text;
    seen = text.Set("mode=lock wait, idle");
  }
  EXPECT_STREQ("mode=lock wait, idle", seen);
}

TEST(ShownTextTest, ATextStaysUntilTheNextButOne) {
  ShownText text;
  const char* const first = text.Set("first");
  const char* const second = text.Set("second");
  EXPECT_STREQ("first", first);
  EXPECT_STREQ("second", second);
  EXPECT_EQ(second, text.Set("second"));
  EXPECT_STREQ("first", first);
  EXPECT_EQ(first, text.Set("third"));
  EXPECT_STREQ("third", first);
}

TEST(ShownTextTest, TheNextOwnerLeavesTheLastTextAloneAtFirst) {
  const char* seen = nullptr;
  {
    ShownText text;
    seen = text.Set("of one that has ended");
  }
  ShownText next;
  EXPECT_NE(seen, next.Set("of its successor"));
  EXPECT_STREQ("of one that has ended", seen);
}

TEST(ShownTextTest, ATextThatIsTooLongIsCut) {
  ShownText text;
  EXPECT_EQ(std::string(ShownText::kBytesMax, 'x'), text.Set(std::string(1000, 'x')));
  EXPECT_STREQ("", text.Set(""));
}

TEST(ShownTextTest, ShortLivedTextsShareTheirMemory) {
  std::set<const char*> places;
  for (int i = 0; i < 1000; ++i) {
    ShownText text;
    places.insert(text.Set(std::to_string(i)));
  }
  EXPECT_LE(places.size(), 2u);
}

TEST(ShownTextTest, OwnersAtATimeHaveMemoryOfTheirOwn) {
  constexpr int kOwners = 10;
  std::vector<std::unique_ptr<ShownText>> owners;
  std::vector<const char*> texts;
  for (int i = 0; i < kOwners; ++i) {
    owners.push_back(std::make_unique<ShownText>());
    texts.push_back(owners.back()->Set(std::to_string(i)));
  }
  for (int i = 0; i < kOwners; ++i) EXPECT_EQ(std::to_string(i), texts[static_cast<size_t>(i)]);
}

TEST(ShownTextTest, HasAnEndAtEveryMoment) {
  ShownText text;
  const char* const seen[] = {text.Set("a"), text.Set("b")};
  std::atomic<bool> stopping{false};
  std::thread owner([&] {
    for (size_t i = 0; !stopping; ++i) text.Set(std::string(i * 37 % 200, "xyz"[i % 3]));
  });
  for (int i = 0; i < 20'000; ++i) {
    EXPECT_LE(ReadBesideItsOwner(seen[i % 2]).size(), ShownText::kBytesMax);
  }
  stopping = true;
  owner.join();
}

}  // namespace
}  // namespace rowsocket::base
