// Keys that meta commands send in base64 (flag b): RFC 4648, with its padding.
#pragma once

#include <optional>
#include <string_view>

#include "base/arena.h"

namespace rowsocket::memcached {

/// The bytes that `text` stands for, in the arena; nothing if it is not base64 or stands for none.
/// Bits that the last group does not need are ignored.
std::optional<std::string_view> DecodeBase64(std::string_view text, base::Arena& arena);

}  // namespace rowsocket::memcached
