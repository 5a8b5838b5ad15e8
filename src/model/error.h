// Why a request fails, whichever protocol it came over. Most causes are named by HandlerSocket's
// word for them. Each protocol has its own table of answers to the causes: spec/errors.tsv for
// HandlerSocket, src/frontend/memcached/replies.cc for memcached, src/frontend/resp/error_text.cc
// for RESP.
// Threads: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace rowsocket::model {

/// In the order of spec/errors.tsv.
enum class ErrorCode : uint8_t {
  kNone,
#define ROWSOCKET_ERROR(constant, ...) constant,
#include "model/errors.inc"
#undef ROWSOCKET_ERROR
};

namespace internal {
inline constexpr std::string_view kErrorNames[] = {
    "none",
#define ROWSOCKET_ERROR(constant, name, ...) name,
#include "model/errors.inc"
#undef ROWSOCKET_ERROR
};
}  // namespace internal

/// The number of values of ErrorCode, kNone included: the size of a table by code.
inline constexpr size_t kErrorCodes = std::size(internal::kErrorNames);

/// The name in spec/errors.tsv, for counters, logs and tests.
constexpr std::string_view Name(ErrorCode code) {
  return internal::kErrorNames[static_cast<size_t>(code)];
}

/// ER_OPEN_AS_READONLY, the server's number where one table is read only: a packed table of MyISAM,
/// or one whose files are.
inline constexpr int kTableIsReadOnly = 1036;

/// The error of one request, or no error.
struct Error {
  ErrorCode code = ErrorCode::kNone;
  /// kEngine: the number of the storage engine's or the server's error. kOpenTable: the server's
  /// number for a table that it cannot open, although it may exist; 0: it does not exist.
  /// kLockTables: the server's number where it is read only, or the table is (kTableIsReadOnly); 0:
  /// the table is locked.
  int number = 0;

  constexpr bool ok() const { return code == ErrorCode::kNone; }
  static constexpr Error Engine(int number) { return {ErrorCode::kEngine, number}; }
  static constexpr Error CannotOpen(int number) { return {ErrorCode::kOpenTable, number}; }
  static constexpr Error ServerReadOnly(int number) { return {ErrorCode::kLockTables, number}; }
  friend constexpr bool operator==(const Error&, const Error&) = default;
};

/// Whether the table does not exist. (A table that cannot be opened now may exist.)
constexpr bool IsNoTable(const Error& error) {
  return error.code == ErrorCode::kOpenTable && error.number == 0;
}

/// Whether a table cannot be locked for a write because the server, or the schema, is read only.
constexpr bool IsServerReadOnly(const Error& error) {
  return error.code == ErrorCode::kLockTables && error.number != 0 &&
         error.number != kTableIsReadOnly;
}

/// Whether the table cannot be locked for a write because it is read only, and others are not.
constexpr bool IsTableReadOnly(const Error& error) {
  return error.code == ErrorCode::kLockTables && error.number == kTableIsReadOnly;
}

/// Whether the error is KILL, or a wait for a row or a table that took too long: every request that
/// waits for the same thing has the same answer.
constexpr bool EndsWait(const Error& error) {
  return error.code == ErrorCode::kLockWait || error.code == ErrorCode::kLockTables ||
         error.code == ErrorCode::kKilled;
}

}  // namespace rowsocket::model
