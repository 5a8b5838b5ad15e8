// A short text that nobody else may learn, such as a password on its way to be checked.
//
// Threads: one owner at a time.
// Lifetime: the destructor wipes the memory; there is no copy.
// Limits: kBytesMax bytes.
#pragma once

#include <string.h>

#include <array>
#include <cstddef>
#include <string_view>

namespace rowsocket::base {

/// Wipes the bytes of a view. REQUIRES: they are in memory that may be written.
inline void Wipe(std::string_view bytes) {
  if (!bytes.empty()) explicit_bzero(const_cast<char*>(bytes.data()), bytes.size());
}

class SecretText {
 public:
  static constexpr size_t kBytesMax = 1024;

  SecretText() = default;
  ~SecretText() { Wipe({text_.data(), text_.size()}); }
  SecretText(const SecretText&) = delete;
  SecretText& operator=(const SecretText&) = delete;

  /// Sets the text. False, and nothing is kept, if it is too long or has a byte of value 0.
  bool Set(std::string_view text) {
    Wipe({text_.data(), text_.size()});
    size_ = 0;
    if (text.size() > kBytesMax || text.find('\0') != std::string_view::npos) return false;
    if (!text.empty()) memcpy(text_.data(), text.data(), text.size());
    size_ = text.size();
    return true;
  }

  std::string_view view() const { return {text_.data(), size_}; }
  /// The text, followed by a byte of value 0.
  const char* c_str() const { return text_.data(); }

 private:
  std::array<char, kBytesMax + 1> text_{};
  size_t size_ = 0;
};

}  // namespace rowsocket::base
