// Decodes the keys that meta commands send in base64 (flag b): RFC 4648, with its padding.
#pragma once

#include <optional>
#include <string_view>

#include "base/arena.h"

namespace rowsocket::memcached {

/// The decoded bytes of `text`, in the arena; nothing if `text` is not base64 or decodes to no
/// bytes. Bits that the last group does not need are ignored.
std::optional<std::string_view> DecodeBase64(std::string_view text, base::Arena& arena);

}  // namespace rowsocket::memcached
