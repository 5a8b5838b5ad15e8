// A secret whose comparison takes a time that tells nothing about the secret.
//
// Threads: immutable once set.
// Lifetime: the destructor wipes the memory.
// Limits: kSecretBytesMax bytes; a longer one cannot be set, and a longer guess never matches.
#pragma once

#include <string.h>

#include <array>
#include <cstddef>
#include <string_view>

namespace rowsocket::base {

class Secret {
 public:
  static constexpr size_t kSecretBytesMax = 1024;

  Secret() = default;
  ~Secret() { Wipe(padded_); }
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;

  /// Sets the secret. Returns false and changes nothing when `text` is too long.
  bool Set(std::string_view text) {
    if (text.size() > kSecretBytesMax) return false;
    size_ = text.size();
    Pad(text, padded_);
    return true;
  }

  /// True when no secret is set: the caller decides what that means.
  bool empty() const { return size_ == 0; }

  /// Every comparison looks at all kSecretBytesMax bytes of both sides, so the time depends neither
  /// on where the two differ nor on the secret's length, only on the guess's length, which its
  /// sender knows.
  bool Matches(std::string_view guess) const {
    if (guess.size() > kSecretBytesMax) return false;
    Padded padded_guess;
    Pad(guess, padded_guess);
    size_t difference = guess.size() ^ size_;
    for (size_t i = 0; i < kSecretBytesMax; ++i) {
      // volatile: the compiler may not leave the loop early.
      const volatile unsigned char& ours = padded_[i];
      const volatile unsigned char& theirs = padded_guess[i];
      difference |= static_cast<size_t>(ours ^ theirs);
    }
    Wipe(padded_guess);
    return difference == 0;
  }

 private:
  using Padded = std::array<unsigned char, kSecretBytesMax>;

  static void Pad(std::string_view text, Padded& padded) {
    padded.fill(0);
    if (!text.empty()) memcpy(padded.data(), text.data(), text.size());
  }
  static void Wipe(Padded& padded) { explicit_bzero(padded.data(), padded.size()); }

  Padded padded_{};
  size_t size_ = 0;
};

}  // namespace rowsocket::base
