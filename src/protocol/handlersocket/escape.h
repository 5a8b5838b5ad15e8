// The escape rule of values: a byte below 0x10 is sent as 0x01 and the byte + 0x40, other bytes as
// they are.
//
// Threads: pure functions.
// Errors: none, see Unescape.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

#include "base/arena.h"
#include "base/buffer.h"

namespace rowsocket::handlersocket {

/// The byte that stands before an escaped byte.
inline constexpr char kEscape = '\x01';
/// Bytes below this are escaped.
inline constexpr unsigned char kUnescapedMin = 0x10;
/// The number that is added to an escaped byte.
inline constexpr unsigned char kEscapeShift = 0x40;

/// The position of `byte`, or the size of the text when it has no such byte. Most words are short:
/// a call of memchr would cost more than the loop.
inline size_t FindByte(std::string_view text, char byte) {
  constexpr size_t kShort = 16;
  const size_t looked = text.size() < kShort ? text.size() : kShort;
  for (size_t i = 0; i < looked; ++i) {
    if (text[i] == byte) return i;
  }
  if (looked == text.size()) return looked;
  const void* const found = std::memchr(text.data() + looked, byte, text.size() - looked);
  return found == nullptr ? text.size()
                          : static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

/// The number of bytes of `text` that need an escape; the escaped length is text.size() +
/// EscapeCount(text).
size_t EscapeCount(std::string_view text);

/// Appends `text` escaped.
void AppendEscaped(std::string_view text, base::Buffer* out);

/// The text that `word` stands for: a view of the word when it holds no escape, otherwise a copy in
/// the arena. Never null. Three cases are as in the original HandlerSocket, and no client sends
/// them:
/// - a byte below 0x10 that is not escaped stands for itself;
/// - 0x01 and a byte from 0x50 to 0xff stands for that byte - 0x40;
/// - 0x01 at the end of the word, or before a byte below 0x40, ends the text.
std::string_view Unescape(std::string_view word, base::Arena& arena);

/// Writes `text` escaped and returns the end. REQUIRES: room for the escaped text at `to`.
char* WriteEscaped(std::string_view text, char* to);

}  // namespace rowsocket::handlersocket
