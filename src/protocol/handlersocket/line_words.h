// The words of a line, and the numbers and values that they hold.
//
// Flow: construct with a line; Next until it says false. A copy looks ahead.
// Lifetime: words are views of the line; values are views of the line, too, or lie in the arena.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/arena.h"
#include "model/value.h"
#include "protocol/handlersocket/escape.h"

namespace rowsocket::handlersocket {

class LineWords {
 public:
  explicit LineWords(std::string_view line) : rest_(line) {}

  /// Takes the next word; returns false when the line has no more words. (A line has at least one
  /// word, which may be empty; an HT at the end of the line is followed by an empty word.)
  bool Next(std::string_view* word) {
    if (at_end_) return false;
    const size_t size = FindByte(rest_, '\t');
    *word = rest_.substr(0, size);
    if (size == rest_.size())
      at_end_ = true;
    else
      rest_.remove_prefix(size + 1);
    return true;
  }

  /// Takes the next word; if there is none, an empty one, because everything missing at the end of
  /// a line reads as empty.
  std::string_view NextOrEmpty() {
    std::string_view word;
    Next(&word);
    return word;
  }

  /// Whether the line has no more words.
  bool at_end() const { return at_end_; }

  /// The first byte of the next word; 0x00 if the word is empty or missing.
  char PeekByte() const {
    return at_end_ || rest_.empty() || rest_.front() == '\t' ? '\0' : rest_.front();
  }

  /// Skips `count` words, or the rest of the line.
  void Skip(uint64_t count) {
    std::string_view word;
    while (count > 0 && Next(&word)) --count;
  }

  /// The number of words that are left.
  size_t CountRest() const {
    if (at_end_) return 0;
    size_t count = 1;
    for (const char byte : rest_) count += byte == '\t' ? 1 : 0;
    return count;
  }

 private:
  std::string_view rest_;
  bool at_end_ = false;
};

/// Whether a word stands for NULL.
inline bool IsNullWord(std::string_view word) { return word.size() == 1 && word[0] == '\0'; }

/// The value that a word stands for, with its escapes undone in the arena.
inline model::Value WordValue(std::string_view word, base::Arena& arena) {
  return IsNullWord(word) ? model::Value() : model::Value(Unescape(word, arena));
}

/// Reads an unsigned decimal number of at most 64 bits. Leading zeros are allowed; signs and blanks
/// are not.
inline std::optional<uint64_t> ParseNumber(std::string_view word) {
  constexpr size_t kSafeDigits = 19;  // 19 digits cannot overflow 64 bits.
  if (word.empty()) return std::nullopt;
  uint64_t number = 0;
  for (size_t i = 0; i < word.size(); ++i) {
    const unsigned digit = static_cast<unsigned char>(word[i]) - unsigned{'0'};
    if (digit > 9) return std::nullopt;
    if (i < kSafeDigits) {
      number = number * 10 + digit;
    } else if (__builtin_mul_overflow(number, uint64_t{10}, &number) ||
               __builtin_add_overflow(number, uint64_t{digit}, &number)) {
      return std::nullopt;
    }
  }
  return number;
}

}  // namespace rowsocket::handlersocket
