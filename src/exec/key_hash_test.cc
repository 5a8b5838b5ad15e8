#include "exec/key_hash.h"

#include <gtest/gtest.h>

#include <string>
#include <unordered_set>

namespace rowsocket::exec {
namespace {

// In a hash without a secret, some differences cancel each other, whatever else the text has: in
// the former hash, bits 63 and 31 of a word and bits 63 and 34 of the next one.
TEST(KeyHashTest, TextsThatDifferByChosenBitsHaveHashesOfTheirOwn) {
  constexpr unsigned kPairs = 13;
  std::unordered_set<uint64_t> hashes;
  for (unsigned chosen = 0; chosen < (1u << kPairs); ++chosen) {
    std::string text;
    for (unsigned pair = 0; pair < kPairs; ++pair) {
      const bool differs = (chosen >> pair & 1) != 0;
      const uint64_t words[] = {differs ? (1ull << 63 | 1ull << 31) : 0,
                                differs ? (1ull << 63 | 1ull << 34) : 0};
      text.append(reinterpret_cast<const char*>(words), sizeof(words));
    }
    hashes.insert(HashText(0, text));
  }
  EXPECT_EQ(1u << kPairs, hashes.size());
}

TEST(KeyHashTest, EqualTextsHaveOneHash) {
  EXPECT_EQ(HashText(7, "abcdefghij"), HashText(7, std::string("abcdefghij")));
  EXPECT_NE(HashText(7, "abcdefghij"), HashText(8, "abcdefghij"));
  EXPECT_NE(HashText(7, "abcdefgh"), HashText(7, std::string_view("abcdefgh\0", 9)));
}

}  // namespace
}  // namespace rowsocket::exec
