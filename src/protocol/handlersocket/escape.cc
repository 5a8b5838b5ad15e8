#include "protocol/handlersocket/escape.h"

#include <cstdint>
#include <cstring>

namespace rowsocket::handlersocket {

namespace {

constexpr size_t kWordBytes = sizeof(uint64_t);
constexpr uint64_t kEachByte = ~uint64_t{0} / 0xff;
/// Texts below this size get room for their longest escaped form; in longer texts the escapes are
/// counted first.
constexpr size_t kCountedMin = 4096;

constexpr bool IsEscaped(char byte) { return static_cast<unsigned char>(byte) < kUnescapedMin; }

/// Whether one of the eight bytes is below kUnescapedMin.
constexpr bool HasEscaped(uint64_t word) {
  return ((word - kEachByte * kUnescapedMin) & ~word & (kEachByte * 0x80)) != 0;
}

constexpr bool HasEscaped(uint32_t word) {
  constexpr uint32_t kEach = static_cast<uint32_t>(kEachByte);
  return ((word - kEach * kUnescapedMin) & ~word & (kEach * 0x80)) != 0;
}

/// Copies `size` bytes in two words that may overlap. Returns false when one of the bytes needs an
/// escape; the caller then writes them again. REQUIRES: sizeof(Word) <= size <= 2 * sizeof(Word).
template <typename Word>
bool CopyUnescaped(const char* from, size_t size, char* to) {
  Word first, last;
  std::memcpy(&first, from, sizeof(Word));
  std::memcpy(&last, from + size - sizeof(Word), sizeof(Word));
  std::memcpy(to, &first, sizeof(Word));
  std::memcpy(to + size - sizeof(Word), &last, sizeof(Word));
  return !HasEscaped(first) && !HasEscaped(last);
}

uint64_t LoadWord(const char* from) {
  uint64_t word;
  std::memcpy(&word, from, kWordBytes);
  return word;
}

char* WriteByte(char byte, char* to) {
  if (IsEscaped(byte)) {
    *to++ = kEscape;
    byte = static_cast<char>(byte + kEscapeShift);
  }
  *to++ = byte;
  return to;
}

}  // namespace

char* WriteEscaped(std::string_view text, char* to) {
  const char* from = text.data();
  size_t left = text.size();
  for (; left > 2 * kWordBytes; left -= kWordBytes, from += kWordBytes) {
    const uint64_t word = LoadWord(from);
    if (!HasEscaped(word)) [[likely]] {
      std::memcpy(to, &word, kWordBytes);
      to += kWordBytes;
    } else {
      for (size_t i = 0; i < kWordBytes; ++i) to = WriteByte(from[i], to);
    }
  }
  if (left >= kWordBytes) {
    if (CopyUnescaped<uint64_t>(from, left, to)) return to + left;
  } else if (left >= sizeof(uint32_t)) {
    if (CopyUnescaped<uint32_t>(from, left, to)) return to + left;
  }
  for (size_t i = 0; i < left; ++i) to = WriteByte(from[i], to);
  return to;
}

size_t EscapeCount(std::string_view text) {
  size_t count = 0;
  const char* from = text.data();
  const char* const end = from + text.size();
  while (from != end) {
    if (static_cast<size_t>(end - from) >= kWordBytes && !HasEscaped(LoadWord(from))) {
      from += kWordBytes;
    } else {
      count += IsEscaped(*from++) ? 1 : 0;
    }
  }
  return count;
}

void AppendEscaped(std::string_view text, base::Buffer* out) {
  const size_t escapes_max = text.size() < kCountedMin ? text.size() : EscapeCount(text);
  char* const begin = out->Room(text.size() + escapes_max);
  out->Commit(static_cast<size_t>(WriteEscaped(text, begin) - begin));
}

std::string_view Unescape(std::string_view word, base::Arena& arena) {
  const size_t first = FindByte(word, kEscape);
  if (first == word.size()) return word;
  char* const begin = arena.AllocateBytes(word.size());
  std::memcpy(begin, word.data(), first);
  char* to = begin + first;
  for (size_t i = first; i < word.size(); ++i) {
    char byte = word[i];
    if (byte == kEscape) {
      if (++i == word.size()) break;
      const auto shifted = static_cast<unsigned char>(word[i]);
      if (shifted < kEscapeShift) break;
      byte = static_cast<char>(shifted - kEscapeShift);
    }
    *to++ = byte;
  }
  return {begin, static_cast<size_t>(to - begin)};
}

}  // namespace rowsocket::handlersocket
