// Why a request fails: the causes, by names that belong to no protocol. Each protocol has its own
// table of answers to the causes (spec/errors.tsv for HandlerSocket, replies.cc for memcached).
//
// Flow: a parser collects the errors of a request in an ErrorSet, the frontend adds the errors that
// only the frontend can know (unauth, stmtnum, readonly ...) and answers First(), the error that
// the protocol checks first. The engine reports a single Error. Threads: plain values.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace rowsocket::model {

/// In the order of spec/errors.tsv, in which the errors of one request are checked.
enum class ErrorCode : uint8_t {
  kNone,
#define ROWSOCKET_ERROR(constant, name, code, text) constant,
#include "model/errors.inc"
#undef ROWSOCKET_ERROR
};

namespace internal {
inline constexpr std::string_view kErrorNames[] = {
    "none",
#define ROWSOCKET_ERROR(constant, name, code, text) name,
#include "model/errors.inc"
#undef ROWSOCKET_ERROR
};
}  // namespace internal

/// The number of values of ErrorCode, kNone included: the size of a table by code.
inline constexpr size_t kErrorCodes = std::size(internal::kErrorNames);
static_assert(kErrorCodes <= 64, "ErrorSet keeps one bit an error");

/// The name in spec/errors.tsv, for counters, logs and tests.
constexpr std::string_view Name(ErrorCode code) {
  return internal::kErrorNames[static_cast<size_t>(code)];
}

/// The error of one request, or no error.
struct Error {
  ErrorCode code = ErrorCode::kNone;
  int number = 0;  ///< With kEngine only: the number of the storage engine's or the server's error.

  constexpr bool ok() const { return code == ErrorCode::kNone; }
  static constexpr Error Engine(int number) { return {ErrorCode::kEngine, number}; }
  friend constexpr bool operator==(const Error&, const Error&) = default;
};

/// Whether the error is KILL, or a wait for a row or a table that took too long: every request that
/// waits for the same thing has the same answer.
constexpr bool EndsWait(const Error& error) {
  return error.code == ErrorCode::kLockWait || error.code == ErrorCode::kLockTables ||
         error.code == ErrorCode::kKilled;
}

/// The errors of one request, of which it may have several.
class ErrorSet {
 public:
  /// Adding kNone changes nothing.
  constexpr void Add(ErrorCode code) { bits_ |= uint64_t{1} << static_cast<unsigned>(code); }
  constexpr bool Has(ErrorCode code) const { return (bits_ >> static_cast<unsigned>(code)) & 1; }
  /// The error that is checked first; kNone when there is none.
  constexpr ErrorCode First() const {
    const uint64_t wrongs = bits_ & ~uint64_t{1};
    return wrongs == 0 ? ErrorCode::kNone : static_cast<ErrorCode>(std::countr_zero(wrongs));
  }
  constexpr bool empty() const { return First() == ErrorCode::kNone; }

 private:
  uint64_t bits_ = 0;  ///< Bit n stands for ErrorCode n.
};

}  // namespace rowsocket::model
