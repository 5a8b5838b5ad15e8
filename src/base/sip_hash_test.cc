#include "base/sip_hash.h"

#include <gtest/gtest.h>

#include <string>

namespace rowsocket::base {
namespace {

/// The key of the published vectors: the bytes 0 to 15.
constexpr SipKey kSipKey{0x0706050403020100u, 0x0f0e0d0c0b0a0908u};

/// The text of a published vector: `count` bytes, counting from 0.
std::string Counting(size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += static_cast<char>(i);
  return text;
}

// The vector of 15 bytes stands in the paper (appendix A), the others in the authors' vectors.h.
TEST(SipHashTest, PublishedVectors) {
  EXPECT_EQ(0x726fdb47dd0e0e31u, SipHash(kSipKey, ""));
  EXPECT_EQ(0x74f839c593dc67fdu, SipHash(kSipKey, Counting(1)));
  EXPECT_EQ(0xab0200f58b01d137u, SipHash(kSipKey, Counting(7)));
  EXPECT_EQ(0x93f5f5799a932462u, SipHash(kSipKey, Counting(8)));
  EXPECT_EQ(0xa129ca6149be45e5u, SipHash(kSipKey, Counting(15)));
  EXPECT_EQ(0x958a324ceb064572u, SipHash(kSipKey, Counting(63)));
}

TEST(SipHashTest, EachHalfOfTheKeyCounts) {
  const std::string text = Counting(20);
  EXPECT_NE(SipHash(kSipKey, text), SipHash({kSipKey.k0 ^ 1, kSipKey.k1}, text));
  EXPECT_NE(SipHash(kSipKey, text), SipHash({kSipKey.k0, kSipKey.k1 ^ 1}, text));
}

TEST(SipHashTest, RandomKeysDiffer) {
  const auto one = SipKey::Random(), another = SipKey::Random();
  ASSERT_TRUE(one && another);
  EXPECT_NE(one->k0, another->k0);
  EXPECT_NE(one->k1, another->k1);
  EXPECT_NE(SipHash(*one, "text"), SipHash(*another, "text"));
}

}  // namespace
}  // namespace rowsocket::base
