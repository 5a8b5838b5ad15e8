#include "protocol/handlersocket/tokens.h"

namespace rowsocket::handlersocket {

std::optional<uint64_t> ParseNumber(std::string_view token) {
  if (token.empty()) return std::nullopt;
  uint64_t number = 0;
  for (const char byte : token) {
    if (byte < '0' || byte > '9') return std::nullopt;
    if (__builtin_mul_overflow(number, uint64_t{10}, &number) ||
        __builtin_add_overflow(number, static_cast<uint64_t>(byte - '0'), &number)) {
      return std::nullopt;
    }
  }
  return number;
}

}  // namespace rowsocket::handlersocket
