#include "base/secret_text.h"

#include <gtest/gtest.h>

#include <new>
#include <string>

namespace rowsocket::base {
namespace {

TEST(SecretText, KeepsAText) {
  SecretText secret;
  EXPECT_TRUE(secret.Set("sesame"));
  EXPECT_EQ("sesame", secret.view());
  EXPECT_STREQ("sesame", secret.c_str());
  EXPECT_TRUE(secret.Set(""));
  EXPECT_EQ("", secret.view());
  EXPECT_STREQ("", secret.c_str());
}

TEST(SecretText, RefusesWhatItCannotKeep) {
  SecretText secret;
  EXPECT_TRUE(secret.Set(std::string(SecretText::kBytesMax, 'x')));
  EXPECT_FALSE(secret.Set(std::string(SecretText::kBytesMax + 1, 'x')));
  EXPECT_EQ("", secret.view());
  EXPECT_FALSE(secret.Set({"a\0b", 3}));
}

TEST(SecretText, ShorterTextLeavesNothingOfALongerOne) {
  SecretText secret;
  EXPECT_TRUE(secret.Set("sesame"));
  EXPECT_TRUE(secret.Set("x"));
  const std::string bytes(reinterpret_cast<const char*>(&secret), sizeof(secret));
  EXPECT_EQ(std::string::npos, bytes.find("same"));
}

TEST(SecretText, DestructorWipes) {
  alignas(SecretText) char memory[sizeof(SecretText)];
  auto* const secret = new (memory) SecretText();
  EXPECT_TRUE(secret->Set("sesame"));
  secret->~SecretText();
  EXPECT_EQ(std::string::npos, std::string(memory, sizeof(memory)).find("sesame"));
}

}  // namespace
}  // namespace rowsocket::base
