// The escape rule of values: a byte below 0x10 goes as 0x01 and the byte + 0x40, others as they
// are.
//
// Threads: pure functions. Errors: none, see Unescape.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/arena.h"
#include "base/buffer.h"

namespace rowsocket::handlersocket {

/// The byte that announces an escaped one.
inline constexpr char kEscape = '\x01';
/// Bytes below this are escaped.
inline constexpr unsigned char kUnescapedMin = 0x10;
/// What an escaped byte is moved by.
inline constexpr unsigned char kEscapeShift = 0x40;

/// Bytes of `text` that are escaped; its escaped length is text.size() + EscapeCount(text).
size_t EscapeCount(std::string_view text);

/// Appends `text` escaped.
void AppendEscaped(std::string_view text, base::Buffer* out);

/// The text that `token` stands for: a view of the token when it holds no escape, else a copy in
/// the arena. Never null. As the original has it, and no client sends it:
/// - a byte below 0x10 that is not escaped stands for itself;
/// - 0x01 and a byte from 0x50 to 0xff stands for that byte - 0x40;
/// - 0x01 at the end of the token, or before a byte below 0x40, ends the text.
std::string_view Unescape(std::string_view token, base::Arena& arena);

}  // namespace rowsocket::handlersocket
