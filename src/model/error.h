// The errors that a request can be answered with: one table, spec/errors.tsv, in check order.
//
// Flow: a parser collects the wrongs it sees in an ErrorSet, the frontend adds those that only it
// knows (unauth, stmtnum, readonly ...) and answers First(), which is the one that the protocol
// checks first. The engine reports a single Error.
// Threads: plain values.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace rowsocket::model {

enum class ErrorCode : uint8_t {
  kNone,
#define ROWSOCKET_ERROR(constant, name, code, text) constant,
#include "model/errors.inc"
#undef ROWSOCKET_ERROR
};

namespace internal {
struct ErrorRow {
  std::string_view name;
  uint8_t code;
  std::string_view text;
};
inline constexpr ErrorRow kErrorRows[] = {
    {"none", 0, ""},
#define ROWSOCKET_ERROR(constant, name, code, text) {name, code, text},
#include "model/errors.inc"
#undef ROWSOCKET_ERROR
};
}  // namespace internal

/// The number of values of ErrorCode, kNone included: the size of a table by code.
inline constexpr size_t kErrorCodes = std::size(internal::kErrorRows);
static_assert(kErrorCodes <= 64, "ErrorSet keeps one bit an error");

/// The code that a reply begins with: 0 for kNone.
constexpr unsigned CodeDigit(ErrorCode code) {
  return internal::kErrorRows[static_cast<size_t>(code)].code;
}

/// The word that a reply carries; empty for kNone, and for kEngine, whose text is its number.
constexpr std::string_view Text(ErrorCode code) {
  return internal::kErrorRows[static_cast<size_t>(code)].text;
}

/// The name in spec/errors.tsv, for counters, logs and tests.
constexpr std::string_view Name(ErrorCode code) {
  return internal::kErrorRows[static_cast<size_t>(code)].name;
}

/// What went wrong with one request, or nothing.
struct Error {
  ErrorCode code = ErrorCode::kNone;
  int number = 0;  ///< With kEngine only: the storage engine's or server's number.

  constexpr bool ok() const { return code == ErrorCode::kNone; }
  static constexpr Error Engine(int number) { return {ErrorCode::kEngine, number}; }
  friend constexpr bool operator==(const Error&, const Error&) = default;
};

/// Several wrongs of one request.
class ErrorSet {
 public:
  /// Adding kNone changes nothing.
  constexpr void Add(ErrorCode code) { bits_ |= uint64_t{1} << static_cast<unsigned>(code); }
  constexpr bool Has(ErrorCode code) const { return (bits_ >> static_cast<unsigned>(code)) & 1; }
  /// The wrong that is checked first; kNone when there is none.
  constexpr ErrorCode First() const {
    const uint64_t wrongs = bits_ & ~uint64_t{1};
    return wrongs == 0 ? ErrorCode::kNone : static_cast<ErrorCode>(std::countr_zero(wrongs));
  }
  constexpr bool empty() const { return First() == ErrorCode::kNone; }

 private:
  uint64_t bits_ = 0;  ///< Bit n: ErrorCode n.
};

}  // namespace rowsocket::model
