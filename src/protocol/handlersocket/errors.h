// What HandlerSocket answers to a cause: the columns of spec/errors.tsv. No other code has the
// words and the numbers 146, 149 and 168.
#pragma once

#include <string_view>

#include "model/error.h"

namespace rowsocket::handlersocket {

namespace internal {
struct ErrorRow {
  unsigned char digit;
  std::string_view text;
};
inline constexpr ErrorRow kErrorRows[] = {
    {0, ""},
#define ROWSOCKET_ERROR(constant, name, code, text) {code, text},
#include "model/errors.inc"
#undef ROWSOCKET_ERROR
};
}  // namespace internal

/// The code at the beginning of a reply: 0 for kNone.
constexpr unsigned CodeDigit(model::ErrorCode code) {
  return internal::kErrorRows[static_cast<size_t>(code)].digit;
}

/// The word that a reply carries; empty for kNone, and for kEngine, whose text is its number.
constexpr std::string_view Text(model::ErrorCode code) {
  return internal::kErrorRows[static_cast<size_t>(code)].text;
}

}  // namespace rowsocket::handlersocket
