// Numbers in the text of memcached's clients, and big-endian numbers.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "protocol/memcached/command.h"

namespace rowsocket::memcached {

/// Reads a decimal number of at most 64 bits, with or without a `+`, and no other byte.
inline bool ParseUnsigned(std::string_view text, uint64_t* number) {
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.empty()) return false;
  uint64_t sum = 0;
  for (const char character : text) {
    if (character < '0' || character > '9') return false;
    const auto digit = static_cast<uint64_t>(character - '0');
    if (sum > (kMax - digit) / 10) return false;
    sum = sum * 10 + digit;
  }
  *number = sum;
  return true;
}

/// Reads the number that incr and decr see in a stored value: white space (of the C locale) may
/// come before the number, and white space after it ends it, whatever follows.
inline bool ParseStoredNumber(std::string_view value, uint64_t* number) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const size_t begin = value.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return false;
  value.remove_prefix(begin);
  return ParseUnsigned(value.substr(0, value.find_first_of(kSpace)), number);
}

/// Reads a decimal number of at most 63 bits, with or without a sign, and no other byte.
inline bool ParseSigned(std::string_view text, int64_t* number) {
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (negative && text.starts_with('+')) return false;
  uint64_t magnitude = 0;
  if (!ParseUnsigned(text, &magnitude) || magnitude > kMax) return false;
  *number = negative ? -static_cast<int64_t>(magnitude) : static_cast<int64_t>(magnitude);
  return true;
}

/// Reads an exptime of the text and meta dialects. A client that keeps an exptime in 32 bits
/// without a sign (libmemcached 1.0) sends -1 as 2^32 - 1. The last numbers below 2^32, as many as
/// a span may have seconds, are therefore read as the negative numbers that they were.
inline bool ParseExptime(std::string_view text, int64_t* exptime) {
  constexpr int64_t kEnd = int64_t{1} << 32;
  if (!ParseSigned(text, exptime)) return false;
  if (*exptime < kEnd && *exptime >= kEnd - kRelativeExptimeMax) *exptime -= kEnd;
  return true;
}

inline bool ParseUnsigned32(std::string_view text, uint32_t* number) {
  uint64_t wide = 0;
  if (!ParseUnsigned(text, &wide) || wide > std::numeric_limits<uint32_t>::max()) return false;
  *number = static_cast<uint32_t>(wide);
  return true;
}

/// Reads client flags: a number of 64 bits, of which the lower 32 are kept, as in memcached.
inline bool ParseClientFlags(std::string_view text, uint32_t* flags) {
  uint64_t wide = 0;
  if (!ParseUnsigned(text, &wide)) return false;
  *flags = static_cast<uint32_t>(wide);
  return true;
}

/// Reads a big-endian number. REQUIRES: sizeof(T) bytes from `bytes` on.
template <typename T>
T LoadBigEndian(const char* bytes) {
  T number = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    number =
        static_cast<T>(static_cast<uint64_t>(number) << 8 | static_cast<unsigned char>(bytes[i]));
  }
  return number;
}

/// Writes a big-endian number, and returns its end. REQUIRES: room for sizeof(T) bytes from `to`
/// on.
template <typename T>
char* StoreBigEndian(T number, char* to) {
  for (size_t i = sizeof(T); i > 0; --i) {
    to[i - 1] = static_cast<char>(number & 0xff);
    number = static_cast<T>(static_cast<uint64_t>(number) >> 8);
  }
  return to + sizeof(T);
}

}  // namespace rowsocket::memcached
