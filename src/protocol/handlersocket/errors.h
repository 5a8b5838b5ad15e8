// HandlerSocket's answer to each cause: its word and its number, from spec/errors.tsv.
//
// Flow: the parser collects the errors of a request in an ErrorSet, the frontend adds the errors
// that only the frontend can know (unauth, stmtnum, readonly ...) and answers First(), the error
// that the protocol checks first. The engine reports a single Error.
// Threads: plain values.
#pragma once

#include <bit>
#include <cstdint>
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
#define ROWSOCKET_ERROR(constant, name, code, text, ...) {code, text},
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

static_assert(model::kErrorCodes <= 64, "ErrorSet keeps one bit an error");

/// The errors of one request, of which it may have several. HandlerSocket checks them in the order
/// of spec/errors.tsv.
class ErrorSet {
 public:
  /// Adding kNone changes nothing.
  constexpr void Add(model::ErrorCode code) { bits_ |= uint64_t{1} << static_cast<unsigned>(code); }
  constexpr bool Has(model::ErrorCode code) const {
    return (bits_ >> static_cast<unsigned>(code)) & 1;
  }
  /// The error that is checked first; kNone when there is none.
  constexpr model::ErrorCode First() const {
    const uint64_t wrongs = bits_ & ~uint64_t{1};
    return wrongs == 0 ? model::ErrorCode::kNone
                       : static_cast<model::ErrorCode>(std::countr_zero(wrongs));
  }
  constexpr bool empty() const { return First() == model::ErrorCode::kNone; }

 private:
  uint64_t bits_ = 0;  ///< Bit n stands for ErrorCode n.
};

}  // namespace rowsocket::handlersocket
