#include "protocol/memcached/base64.h"

#include <cstdint>

namespace rowsocket::memcached {

namespace {

/// The six bits that a character stands for, or -1.
int BitsOf(char character) {
  if (character >= 'A' && character <= 'Z') return character - 'A';
  if (character >= 'a' && character <= 'z') return character - 'a' + 26;
  if (character >= '0' && character <= '9') return character - '0' + 52;
  if (character == '+') return 62;
  if (character == '/') return 63;
  return -1;
}

}  // namespace

std::optional<std::string_view> DecodeBase64(std::string_view text, base::Arena& arena) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  size_t padding = 0;
  while (padding < 2 && text[text.size() - 1 - padding] == '=') ++padding;
  const size_t bytes = text.size() / 4 * 3 - padding;
  char* const out = arena.AllocateBytes(bytes);
  size_t written = 0;
  for (size_t i = 0; i < text.size(); i += 4) {
    uint32_t group = 0;
    for (size_t j = i; j < i + 4; ++j) {
      const int bits = j >= text.size() - padding ? 0 : BitsOf(text[j]);
      if (bits < 0) return std::nullopt;
      group = group << 6 | static_cast<uint32_t>(bits);
    }
    for (int shift = 16; shift >= 0 && written < bytes; shift -= 8) {
      out[written++] = static_cast<char>(group >> shift & 0xff);
    }
  }
  return std::string_view(out, bytes);
}

}  // namespace rowsocket::memcached
